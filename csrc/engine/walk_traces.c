/*
 * The walk over traces (vocab/traces.h): outside strings, behind a quote, and in numbers. The
 * same steps as everywhere; but a run of white space is one step, and where a string is free or
 * a number takes any digits, all that stays in it is taken at once.
 *
 * Only where every completion can be spelled with single bytes: then what a step leaves alive
 * is live.
 */
#include "content.h"
#include "emitted.h"
#include "glance.h"
#include "safe.h"
#include "step.h"
#include "unique.h"
#include "walk.h"

typedef struct level {
    tf_configuration c;
    uint32_t end;
    bool literals; /* tf_only_literals */
} level;

enum { NEAR_LEVELS = 24, FEW_IDS = 16, VISITS_A_UNIT = 16 };
/* Digits looked ahead; those that a state which leads to itself takes, more than a token has. */
enum { FEW_DIGITS = 3, MOST_DIGITS = UINT16_MAX };

typedef struct trace_walk {
    tf_run *run;
    const tf_traces *traces;
    tf_close_span close;
    tf_edits *edits;
    tf_ids *set;
    uint32_t lead, longest; /* white space that there is room for */
    bool whole;             /* room enough for all but what stands below TF_MARK_LONG */
    bool any_close;         /* the span holds all tokens that close */
    bool by_ids;            /* no pieces: ids are looked at one by one later */
    const tf_strings *starts_of;
    uint64_t starts[4]; /* bytes that the literals of `starts_of` begin with, and the quote */
    level near[NEAR_LEVELS];
    level *levels;
    uint32_t n_levels;
} trace_walk;

static bool no_memory(tf_run *run)
{
    if (run->call.status == TOKFSM_OK)
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a mask");
    return false;
}

static bool fits(const trace_walk *w, uint32_t i)
{
    const tf_traces *t = w->traces;
    if (t->chars != NULL && (t->chars[i] < w->close.low || t->chars[i] >= w->close.high ||
                             (w->close.minimal && !t->minimal[i])))
        return false;
    if (w->close.befores != NULL && !tf_word_bit(w->close.befores, t->before[i]))
        return false;
    return t->lead[i] <= w->lead && t->longest[i] <= w->longest;
}

/* Entries first .. end - 1, or the piece that they are. */
static bool take(trace_walk *w, uint32_t first, uint32_t end, const tf_piece *piece, bool whole)
{
    tf_run *run = w->run;
    const tf_traces *t = w->traces;
    if (first == end)
        return true;
    if (whole && w->any_close) {
        tf_edits *edits = w->edits;
        if (piece != NULL && !w->by_ids && edits->n_pieces < TF_MAX_PIECES) {
            edits->pieces[edits->n_pieces++] = piece;
            if (w->set == &edits->before)
                edits->n_before_pieces = edits->n_pieces;
            return true;
        }
        return tf_ids_add(w->set, run->arena, t->trie.ids + first, end - first) || no_memory(run);
    }
    for (uint32_t i = first; i < end; i++)
        if (fits(w, i) && !tf_ids_add(w->set, run->arena, t->trie.ids + i, 1))
            return no_memory(run);
    return true;
}

static bool take_node(trace_walk *w, uint32_t node, bool whole)
{
    const tf_trace_node *at = &w->traces->nodes[node];
    return at->first == at[1].first || take(w, at->first, at[1].first, w->traces->piece[node], whole);
}

static bool take_below(trace_walk *w, uint32_t mark, bool whole)
{
    const tf_trie *trie = &w->traces->trie;
    return take(w, trie->first[mark], trie->first[trie->end[mark]], w->traces->piece[mark], whole);
}

static bool compared(const tf_configuration *c) { return c->top != NULL && c->top->collects; }

/* A string was begun: whether all that stays in it is allowed. */
static bool all_stay(trace_walk *w, const tf_configuration *c, uint32_t mark)
{
    uint64_t room;
    uint32_t most = w->traces->most_left[mark];
    return w->run->m->options.escapes != TOKFSM_ESCAPES_MINIMAL &&
           tf_free_room(w->run, c, &room) && room >= most &&
           (!compared(c) || tf_unique_stays(w->run, c, most));
}

/* One token that stays in the string begun at `c`, by its content; with an escape by real steps. */
static bool stays_live(trace_walk *w, const tf_wanted *wanted, uint32_t i, bool escaped)
{
    const tf_content_state *state = wanted->c->content;
    uint64_t chars = wanted->c->n;
    uint32_t n;
    const uint8_t *bytes = tf_pack_token(w->run->m->pack, w->traces->trie.ids[i], &n);
    tf_configuration c = *wanted->c;
    for (uint32_t k = w->traces->stay_from[i]; k < n; k++) {
        if (escaped) {
            if (!tf_step(w->run, &c, bytes[k]))
                return false;
            continue;
        }
        chars += tf_byte_group[bytes[k]] != TF_GROUP_NONE;
        state = tf_content_step(w->run, state, bytes[k]);
        if (!tf_wanted_live(wanted, state, chars))
            return false;
    }
    return true;
}

/* A string was begun whose content is not settled: tokens that stay in it. *done: all of them. */
static bool take_content(trace_walk *w, const tf_configuration *c, uint32_t mark, bool whole,
                         bool *done)
{
    tf_run *run = w->run;
    const tf_traces *traces = w->traces;
    const tf_trie *trie = &traces->trie;
    const tf_strings *s = c->at;
    uint32_t first = trie->first[mark], end = trie->first[trie->end[mark]];
    tf_wanted wanted;
    tf_safe safe;
    *done = false;
    if (s->content == NULL || compared(c) || c->literal == TF_ON || end - first < FEW_IDS ||
        (c->mode == TF_IN_NAME && s->content->has_counts && c->top->emitted != NULL) ||
        !tf_wanted_of(run, c, &wanted))
        return run->call.status == TOKFSM_OK;
    if (!tf_safe_of(run, &wanted, &safe))
        return false;
    const bool near = traces->most_left[mark] <= safe.most;
    for (uint32_t i = first; i < end; i++) {
        uint64_t groups = traces->stay_groups[i], outside = groups & ~safe.inside;
        bool escaped = (groups & TF_GROUP_BIT('\\')) != 0;
        bool live = outside == 0 && near;
        if (!live && (escaped || (outside & safe.leaving) != 0 || (!near && !safe.hard) ||
                      outside == 0))
            live = stays_live(w, &wanted, i, escaped);
        if (run->call.status != TOKFSM_OK || (live && !take(w, i, i + 1, NULL, whole)))
            return false;
    }
    *done = true;
    return tf_run_spend(run);
}

/* A string was begun: whether a token that closes it may have anything in it, all the same. */
static bool any_inside(trace_walk *w, const tf_configuration *c)
{
    const tf_machine *m = w->run->m;
    const tf_trace_set *traces = m->pack->traces;
    const tf_strings *s = c->at;
    uint64_t room;
    if (!traces->has_free || compared(c) || m->options.escapes == TOKFSM_ESCAPES_MINIMAL ||
        !tf_free_room(w->run, c, &room) || room < traces->whole.most || tf_literal_whole(m, s))
        return false;
    if (c->mode == TF_IN_STRING)
        return s->n_breaks == 1;
    return !tf_names_meet(m, s) && !tf_emitted_whole(c->top) &&
           (s->content == NULL || !s->content->has_counts);
}

/* ---- digits ---- */

/* As tf_number_step, without a call where the state is known. */
static inline const tf_nstate *step_digit(tf_run *run, const tf_nstate *state, uint8_t digit)
{
    tf_nstate *from = (tf_nstate *)(uintptr_t)state; /* an atomic is read */
    const tf_nstate *next =
        atomic_load_explicit(&from->next[digit - '0'], memory_order_acquire);
    return next != NULL ? next : tf_number_step(run->m, state, digit, &run->call);
}

static bool leads_to_itself(tf_run *run, const tf_nstate *state)
{
    for (uint8_t digit = '0'; digit <= '9'; digit++)
        if (step_digit(run, state, digit) != state)
            return false;
    return true;
}

/*
 * How many digits may follow, at most `most`, whatever they are, with all that is live in the state
 * live behind them. What is found is kept: that many at least, and whether it is known to be all.
 */
static uint32_t any_digits(tf_run *run, const tf_nstate *state, uint32_t most)
{
    tf_nstate *kept = (tf_nstate *)(uintptr_t)state;
    uint32_t note = atomic_load_explicit(&kept->any_digits, memory_order_relaxed);
    uint32_t n = note >> 2;
    bool known = (note & 1u) != 0, all = (note & 2u) != 0;
    if (known && (all || n >= most))
        return n < most ? n : most;
    n = most;
    if (leads_to_itself(run, state)) {
        n = MOST_DIGITS;
    } else {
        for (uint8_t digit = '0'; digit <= '9' && n > 0; digit++) {
            const tf_nstate *next = step_digit(run, state, digit);
            if (next == NULL)
                return 0;
            if (next == &tf_number_dead ||
                memcmp(next->live, state->live, state->rules->n_words * sizeof *next->live) != 0) {
                n = 0;
            } else if (n > 1) {
                uint32_t after = 1 + any_digits(run, next, n - 1);
                n = after < n ? after : n;
            }
        }
    }
    if (run->call.status == TOKFSM_OK)
        atomic_store_explicit(&kept->any_digits, n << 2 | (n < most ? 2u : 0) | 1u,
                              memory_order_relaxed);
    return n < most ? n : most;
}

/* Whether all that is below the node is of digits that may follow. */
static bool takes_below(const trace_walk *w, const tf_nstate *state, uint32_t node)
{
    uint32_t left = w->traces->most_left[node];
    return left <= FEW_DIGITS ? any_digits(w->run, state, left) == left
                              : leads_to_itself(w->run, state);
}

/* Tokens of nothing but digits: the number's state moves, and nothing else. */
static bool walk_digits(trace_walk *w, const tf_configuration *c, uint32_t mark, bool whole)
{
    struct { const tf_nstate *state; uint32_t end; } levels[NEAR_LEVELS];
    tf_run *run = w->run;
    const tf_trie *trie = &w->traces->trie;
    const tf_nstate *state = c->at;
    uint32_t n_words = state->rules->n_words, depth = 0, node = mark + 1, visits = 0;
    const uint64_t *alive = tf_words(&c->alive, n_words);
    if (takes_below(w, state, mark))
        return run->call.status == TOKFSM_OK && take_below(w, mark, whole);
    levels[0].state = state;
    levels[0].end = trie->end[mark];
    while (run->call.status == TOKFSM_OK && node < trie->end[mark]) {
        while (node >= levels[depth].end)
            depth--;
        const tf_nstate *next = step_digit(run, levels[depth].state, trie->byte[node]);
        if ((++visits % VISITS_A_UNIT == 0 && !tf_run_spend(run)) || next == NULL)
            return false;
        if (next == &tf_number_dead ||
            (n_words == 1 ? (next->live[0] & alive[0]) == 0
                          : !tf_words_meet(next->live, alive, n_words))) {
            node = trie->end[node];
            continue;
        }
        if (w->traces->most_left[node] > 0 && takes_below(w, next, node)) {
            if (!take_below(w, node, whole))
                return false;
            node = trie->end[node];
            continue;
        }
        uint32_t first = trie->first[node], end = trie->first[node + 1];
        if (!take(w, first, end, NULL, whole))
            return false;
        if (depth + 1 == NEAR_LEVELS) { /* digits by the dozen: few, and one after the other */
            tf_configuration deep = *c;
            deep.at = next;
            if (!walk_digits(w, &deep, node, whole))
                return false;
            node = trie->end[node];
            continue;
        }
        levels[++depth].state = next;
        levels[depth].end = trie->end[node];
        node++;
    }
    return run->call.status == TOKFSM_OK;
}

/* ---- the walk ---- */

static bool go_deeper(trace_walk *w)
{
    /* The deepest token is known: at most one move to a wider place. */
    uint32_t wanted = w->traces->trie.depth + 2;
    level *wider = tf_arena_take(w->run->arena, wanted * sizeof *wider);
    if (wider == NULL)
        return no_memory(w->run);
    memcpy(wider, w->levels, w->n_levels * sizeof *wider);
    w->levels = wider;
    w->n_levels = wanted;
    return true;
}

typedef enum { OVER, BELOW, FAILED } way;

/* A mark: the place stays. OVER: what is below it is done. */
static way visit_mark(trace_walk *w, const level *here, uint32_t node, bool whole)
{
    uint8_t mark = w->traces->trie.byte[node];
    const tf_configuration *c = &here->c;
    if (c->literals_only && mark == TF_MARK_FREE)
        return OVER;
    bool done = false, stays = mark == TF_MARK_STAYS && !c->literals_only;
    if (stays && all_stay(w, c, node))
        return take_below(w, node, whole) ? OVER : FAILED;
    if (stays && !take_content(w, c, node, whole, &done))
        return FAILED;
    if (done)
        return OVER;
    if ((mark == TF_MARK_FREE || mark == TF_MARK_CLOSES) && !c->literals_only &&
        any_inside(w, c) != (mark == TF_MARK_FREE))
        return w->run->call.status == TOKFSM_OK ? OVER : FAILED;
    if (mark == TF_MARK_DIGITS && !compared(c))
        return walk_digits(w, c, node, whole) ? OVER : FAILED;
    /* A token that ends with the opening quote stays in the string, too. */
    const tf_trie *trie = &w->traces->trie;
    return w->run->call.status == TOKFSM_OK &&
                   take(w, trie->first[node], trie->first[node + 1], NULL, whole)
               ? BELOW
               : FAILED;
}

/* From a place that keeps to the literals: where one is closed, other walks took it for another. */
static bool leave_literal(trace_walk *w, uint32_t node, tf_configuration *next)
{
    const tf_trie *trie = &w->traces->trie;
    uint32_t first = trie->first[node], end = trie->first[trie->end[node]];
    if (!next->closed_literal)
        return true;
    next->literals_only = 0;
    return tf_ids_add(&w->edits->cleared, w->run->arena, trie->ids + first, end - first) ||
           no_memory(w->run);
}

/* Whether a declared name can begin with the byte, or end at once: of many names few bytes are. */
static bool may_start(trace_walk *w, const tf_configuration *c, uint8_t byte)
{
    const tf_strings *names = c->at;
    if (w->starts_of != names) {
        w->starts_of = names;
        memset(w->starts, 0, sizeof w->starts);
        tf_word_set(w->starts, '"');
        for (uint32_t i = 0; i < names->n_literals; i++)
            if (names->literals[i].n_spelled > 0)
                tf_word_set(w->starts, names->literals[i].spelled[0]);
    }
    return tf_word_bit(w->starts, byte);
}

static way visit(trace_walk *w, const level *here, uint32_t node, bool whole, level *next)
{
    const uint8_t byte = (uint8_t)w->traces->nodes[node].byte;
    tf_run *run = w->run;
    if (byte <= TF_MARK_DIGITS) {
        way found = visit_mark(w, here, node, whole);
        if (found == BELOW) {
            next->c = here->c;
            next->literals = here->literals;
        }
        return found;
    }
    if (!tf_glance(&here->c, here->literals, byte) ||
        (here->c.literals_only && here->c.mode == TF_IN_NAME && here->c.pos == 0 && !may_start(w, &here->c, byte)))
        return OVER;
    next->c = here->c;
    next->c.closed_literal = 0;
    bool alive = tf_step(run, &next->c, byte);
    if (run->call.status != TOKFSM_OK || (here->c.literals_only && !leave_literal(w, node, &next->c)))
        return FAILED;
    if (!alive)
        return OVER;
    if (!next->c.literals_only || (next->c.mode == TF_IN_NAME && tf_string_is_live(run, &next->c)))
        if (!take_node(w, node, whole))
            return FAILED;
    next->literals = here->literals;
    if (next->c.mode != here->c.mode &&
        (next->c.mode == TF_IN_STRING || next->c.mode == TF_IN_NAME))
        next->literals = tf_only_literals(run, &next->c);
    return run->call.status == TOKFSM_OK ? BELOW : FAILED;
}

static bool walk_subtree(trace_walk *w, const tf_configuration *c, uint32_t root, bool whole)
{
    const tf_trace_node *nodes = w->traces->nodes;
    const uint32_t stop = nodes[root].end;
    uint32_t depth = 0, node = root + 1;
    w->levels[0].c = *c;
    w->levels[0].end = stop;
    w->levels[0].literals = false;
    while (node < stop) {
        while (node >= w->levels[depth].end)
            depth--;
        if (depth + 1 == w->n_levels && !go_deeper(w))
            return false;
        if (root == 0 && nodes[node].byte == TF_MARK_LONG) {
            node = nodes[node].end; /* by itself: walk_subtree of it */
            continue;
        }
        level *next = &w->levels[depth + 1];
        switch (visit(w, &w->levels[depth], node, whole, next)) {
        case FAILED: return false;
        case OVER: node = nodes[node].end; break;
        case BELOW:
            next->end = nodes[node].end;
            depth++;
            node++;
            break;
        }
    }
    return true;
}

bool tf_walk_traces(tf_run *run, int which, const tf_configuration *c, const tf_close_span *close,
                    tf_edits *edits, tf_ids *set)
{
    const tokfsm_options *o = &run->m->options;
    bool flexible = o->whitespace == TOKFSM_WHITESPACE_FLEXIBLE;
    bool exact = !flexible && o->whitespace != TOKFSM_WHITESPACE_COMPACT;
    uint32_t most = flexible ? o->max_whitespace : TOKFSM_UNBOUNDED; /* else steps see to it */
    trace_walk w;
    w.run = run;
    w.traces = tf_traces_of(run->m->pack, which, exact);
    if (w.traces->trie.n_nodes == 0)
        return true;
    w.close = close == NULL ? (tf_close_span){0, UINT32_MAX, false, NULL} : *close;
    w.any_close = close == NULL || (close->low == 0 && !close->minimal && close->befores == NULL &&
                                    close->high > run->m->pack->max_close_chars);
    w.edits = edits;
    w.set = set;
    bool gap = c->mode == TF_AT_VALUE || c->mode == TF_AT_NAME || c->mode == TF_AT_COLON ||
               c->mode == TF_AT_AFTER;
    w.longest = w.lead = most;
    if (gap && most != TOKFSM_UNBOUNDED)
        w.lead = c->n < most ? most - (uint32_t)c->n : 0;
    w.whole = w.lead >= TF_SHORT_RUN && w.longest >= TF_SHORT_RUN;
    w.by_ids = run->m->unique != TF_UNIQUE_NEVER;
    w.starts_of = NULL;
    w.levels = w.near;
    w.n_levels = NEAR_LEVELS;
    uint32_t mark = w.traces->trie.root[TF_MARK_LONG];
    return (c->literals_only || take_node(&w, 0, w.whole)) && walk_subtree(&w, c, 0, w.whole) &&
           (mark == 0 || walk_subtree(&w, c, mark, w.lead == TOKFSM_UNBOUNDED));
}
