/*
 * The walk along literals: names that are declared, strings of an enumeration. The trie of all
 * tokens is met with the spellings that are in reach, and nothing is stepped but the quote that
 * closes one and what comes after it.
 */
#include "step.h"
#include "walk.h"

typedef struct level {
    uint32_t node, low, high, pos;
    uint32_t next; /* of low .. high - 1: not looked at yet */
} level;

enum { NEAR_LEVELS = 32 };

typedef struct literal_walk {
    tf_run *run;
    const tf_configuration *from;
    const tf_literal *literals;
    tf_edits *edits;
    uint8_t *open; /* [high - low] whether it may be meant: found out on first use */
    int beside;             /* TF_BESIDE_* */
} literal_walk;

static bool no_memory(tf_run *run)
{
    if (run->call.status == TOKFSM_OK)
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a mask");
    return false;
}

static bool is_open(tf_run *run, const tf_configuration *c, uint32_t literal)
{
    if (c->mode == TF_IN_NAME) {
        tf_scratch_words alive;
        return tf_name_open(run, c->top, literal, alive.words);
    }
    const tf_strings *s = c->at;
    return tf_words_meet(s->literals[literal].end, tf_words(&c->alive, c->value->n_words),
                         c->value->n_words);
}

enum { UNKNOWN, OPEN, NOT_OPEN };

static bool any_open(literal_walk *w, uint32_t low, uint32_t high)
{
    for (uint32_t i = low; i < high; i++) {
        uint8_t *open = &w->open[i - w->from->low];
        if (*open == UNKNOWN)
            *open = is_open(w->run, w->from, i) ? OPEN : NOT_OPEN;
        if (*open == OPEN)
            return true;
    }
    return false;
}

/* The place behind the quote of a literal; false: it may not be meant, or a failure. */
static bool close_on(tf_run *run, const tf_configuration *c, uint32_t literal,
                     tf_configuration *closed)
{
    const tf_strings *s = c->at;
    *closed = *c;
    closed->low = literal;
    closed->high = literal + 1;
    closed->pos = s->literals[literal].n_spelled;
    closed->sub = TF_STR_NORMAL;
    closed->literals_only = 1;
    bool alive = tf_step(run, closed, '"');
    closed->literals_only = 0;
    return alive;
}

bool tf_walk_closing(tf_run *run, const tf_configuration *c, uint32_t quote, uint32_t literal,
                     tf_ids *set)
{
    tf_configuration closed;
    if (!close_on(run, c, literal, &closed))
        return run->call.status == TOKFSM_OK;
    return tf_walk_from(run, &run->m->pack->all, quote, &closed, set);
}

/* A literal ends at `node`: tokens that close it. */
static bool close_at(literal_walk *w, uint32_t node, uint32_t literal)
{
    tf_run *run = w->run;
    const tf_trie *trie = &run->m->pack->all;
    tf_configuration closed;
    uint32_t quote = tf_trie_child(&run->m->pack->traces->all, node, '"');
    if (quote == 0)
        return true;
    uint32_t first = trie->first[quote], end = trie->first[trie->end[quote]];
    if (w->beside >= (node == 0 ? TF_BESIDE_ANY : TF_BESIDE_LATER) &&
        !tf_ids_add(&w->edits->cleared, run->arena, trie->ids + first, end - first))
        return no_memory(run);
    if (node != 0)
        return tf_walk_closing(run, w->from, quote, literal, &w->edits->set);
    if (!close_on(run, w->from, literal, &closed))
        return run->call.status == TOKFSM_OK;
    return tf_walk_traces(run, TF_TRACE_CLOSE, &closed, &(tf_close_span){0, 1, false, NULL}, w->edits,
                          &w->edits->set);
}

/* The next byte of those literals that has a child: the place there. */
static bool next_place(literal_walk *w, level *at, level *to)
{
    const tf_branches *branches = &w->run->m->pack->traces->all;
    while (at->next < at->high) {
        const uint32_t first = at->next;
        const uint8_t byte = w->literals[first].spelled[at->pos];
        uint32_t end = first + 1;
        while (end < at->high && w->literals[end].spelled[at->pos] == byte)
            end++;
        at->next = end;
        uint32_t child = 0;
        if (w->beside != TF_BESIDE_NOTHING || any_open(w, first, end))
            child = tf_trie_child(branches, at->node, byte);
        if (child != 0) {
            *to = (level){child, first, end, at->pos + 1, first};
            return true;
        }
    }
    return false;
}

/*
 * A token spells the whole of a literal that may not be meant: whether the string can still become
 * another one. Where it has no room for more it cannot.
 */
static bool goes_on(literal_walk *w, const level *at)
{
    tf_configuration c = *w->from;
    for (uint32_t i = w->from->pos; i < at->pos; i++)
        if (!tf_step(w->run, &c, w->literals[at->low].spelled[i]))
            return false;
    return true;
}

/* What ends at a place, and the tokens that end there. */
static bool arrive(literal_walk *w, level *at)
{
    tf_run *run = w->run;
    const tf_trie *trie = &run->m->pack->all;
    if (at->node != 0 && any_open(w, at->low, at->high)) {
        uint32_t first = trie->first[at->node], end = trie->first[at->node + 1];
        if (first < end && !tf_ids_add(&w->edits->set, run->arena, trie->ids + first, end - first))
            return no_memory(run);
    }
    bool ends = at->low < at->high && w->literals[at->low].n_spelled == at->pos;
    if (ends && at->node != 0 && w->beside != TF_BESIDE_NOTHING && !any_open(w, at->low, at->high)) {
        uint32_t first = trie->first[at->node], end = trie->first[at->node + 1];
        if (first < end && !goes_on(w, at) &&
            !tf_ids_add(&w->edits->cleared, run->arena, trie->ids + first, end - first))
            return no_memory(run);
        if (run->call.status != TOKFSM_OK)
            return false;
    }
    if (ends) {
        at->next = at->low + 1;
        return close_at(w, at->node, at->low);
    }
    return true;
}

bool tf_walk_literals(tf_run *run, const tf_configuration *c, int beside, tf_edits *edits)
{
    literal_walk w = {.run = run, .from = c, .literals = ((const tf_strings *)c->at)->literals,
                      .edits = edits, .beside = beside};
    uint32_t depth = 0;
    level near[NEAR_LEVELS], *levels = near;
    if (run->m->pack->all.depth + 2 > NEAR_LEVELS) {
        levels = tf_arena_take(run->arena, (run->m->pack->all.depth + 2) * sizeof *levels);
        if (levels == NULL)
            return no_memory(run);
    }
    if (c->low == c->high)
        return true;
    w.open = tf_arena_zero(run->arena, c->high - c->low);
    if (w.open == NULL)
        return no_memory(run);
    levels[0] = (level){0, c->low, c->high, c->pos, c->low};
    if (!arrive(&w, &levels[0]))
        return false;
    for (;;) {
        if (!tf_run_spend(run))
            return false;
        if (next_place(&w, &levels[depth], &levels[depth + 1])) {
            if (!arrive(&w, &levels[++depth]))
                return false;
        } else if (depth-- == 0) {
            return run->call.status == TOKFSM_OK;
        }
    }
}
