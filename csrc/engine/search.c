/*
 * Depth-first over what can be written, byte by byte, with real steps that do not look ahead.
 * Of the spellings of a value mostly one is tried: no white space but what the layout demands,
 * no escape where the character will do, no zeros behind a fraction, no exponent where digits
 * do, members in one order. So a small language is walked whole, and in a large one there is
 * soon a value that will do. What a place tries first is the cheapest way to the end
 * (tf_bound_plain), so that no way is followed without end.
 *
 * The order depends on the place alone: what is found first from a place is found first from
 * every place on the way to it.
 */
#include "text.h"
#include "unique.h"

#include "step.h"

typedef struct level {
    tf_configuration c;
    tf_arena_mark mark;
    uint32_t n, next;
    uint8_t moves[TF_MAX_MOVES];
} level;

typedef struct listing {
    tf_run *run;
    const tf_configuration *c;
    uint8_t *moves;
    uint32_t n;
    uint32_t rated[TF_MAX_MOVES];
} listing;

static void add(listing *l, uint8_t byte)
{
    if (l->n < TF_MAX_MOVES && tf_has_byte(l->run->m, byte))
        l->moves[l->n++] = byte;
}

/* Add a byte in its place, by the cost of what follows. */
static void add_rated(listing *l, uint8_t byte)
{
    if (l->n == TF_MAX_MOVES || !tf_has_byte(l->run->m, byte))
        return;
    tf_configuration after = *l->c;
    if (!tf_step(l->run, &after, byte))
        return;
    uint32_t cost = tf_bound_plain(l->run, &after);
    if (cost == TF_COST_NONE)
        return;
    uint32_t at = l->n++;
    for (; at > 0 && l->rated[at - 1] > cost; at--) {
        l->rated[at] = l->rated[at - 1];
        l->moves[at] = l->moves[at - 1];
    }
    l->rated[at] = cost;
    l->moves[at] = byte;
}

static void add_gap(listing *l)
{
    uint32_t layout = l->run->m->options.whitespace;
    if (layout == TOKFSM_WHITESPACE_INDENT)
        add_rated(l, '\n');
    if (layout == TOKFSM_WHITESPACE_INDENT || layout == TOKFSM_WHITESPACE_SPACED)
        add_rated(l, ' ');
}

/* ---- numbers ---- */

static void number_text(const tf_text *text, bool *pointed, bool *exponent, bool *nonzero,
                        uint32_t *n_after_point)
{
    *pointed = *exponent = *nonzero = false;
    *n_after_point = 0;
    uint32_t n = 0;
    for (; text != NULL; text = text->previous) {
        uint8_t byte = text->bytes[0];
        if (byte == '.') {
            *pointed = true;
            *n_after_point = n;
        }
        if ((byte | 0x20) == 'e') {
            *exponent = true;
            *nonzero = false;
            n = 0;
            continue;
        }
        *nonzero |= byte >= '1' && byte <= '9';
        n++;
    }
}

/* Whether behind zeros from this state on some other digit can come. */
static bool digit_behind_zeros(tf_run *run, const tf_configuration *c)
{
    const tf_nstate *slow = c->at, *fast = c->at;
    const uint64_t *alive = tf_words(&c->alive, slow->rules->n_words);
    for (uint32_t i = 0;; i++) {
        for (uint8_t byte = '1'; byte <= '9'; byte++) {
            const tf_nstate *next = tf_number_step(run->m, fast, byte, &run->call);
            if (next == NULL)
                return false;
            if (next != &tf_number_dead && tf_has_byte(run->m, byte) &&
                tf_words_meet(next->live, alive, next->rules->n_words))
                return true;
        }
        fast = tf_number_step(run->m, fast, '0', &run->call);
        if (fast == NULL || fast == &tf_number_dead || !tf_run_spend(run))
            return false;
        if (i % 2 == 1)
            slow = tf_number_step(run->m, slow, '0', &run->call);
        if (slow == fast)
            return false;
    }
}

static void number_moves(listing *l, const tf_search *search)
{
    bool aimed = search->target != NULL;
    const tf_configuration *c = l->c;
    bool pointed, exponent, nonzero;
    uint32_t n_after_point;
    number_text(c->text, &pointed, &exponent, &nonzero, &n_after_point);
    if (c->top != NULL && c->top->depth != search->base) {
        add_rated(l, c->top->kind->is_object ? '}' : ']');
        if (l->run->m->options.whitespace == TOKFSM_WHITESPACE_INDENT)
            add_rated(l, '\n');
        add_rated(l, ',');
    }
    uint32_t n_ends = l->n;
    if (exponent && !nonzero && !aimed) {
        add(l, '0'); /* all that can come is zero: one way to the end is enough */
        const tf_nstate *state = c->at;
        if (tf_words_meet(state->end, tf_words(&c->alive, state->rules->n_words), state->rules->n_words))
            l->n = n_ends;
        return;
    }
    for (uint8_t byte = '1'; byte <= '9'; byte++)
        add_rated(l, byte);
    if (!pointed && !exponent)
        add_rated(l, '.');
    if (!pointed || exponent || aimed || n_after_point == 0 || digit_behind_zeros(l->run, c))
        add_rated(l, '0');
    if (!exponent && (aimed || l->run->m->options.max_digits != TOKFSM_UNBOUNDED))
        add(l, 'e');
    if (exponent) {
        add(l, '-');
        if (aimed)
            add(l, '+');
    }
}

/* ---- strings ---- */

static void string_moves(listing *l)
{
    const tf_configuration *c = l->c;
    const tf_strings *s = c->at;
    bool name = c->mode == TF_IN_NAME;
    uint8_t listed[32] = {0};
    if (c->sub == TF_STR_NORMAL) {
        add_rated(l, '"');
        listed['"' / 8] |= 1u << ('"' % 8);
    }
    if (c->literal == TF_ON)
        for (uint32_t i = c->low; i < c->high; i++) {
            if (s->literals[i].n_spelled <= c->pos)
                continue;
            uint8_t byte = s->literals[i].spelled[c->pos];
            if (!((uint32_t)listed[byte / 8] >> (byte % 8) & 1u))
                add_rated(l, byte);
            listed[byte / 8] |= (uint8_t)(1u << (byte % 8));
        }
    if (!name && s->n_breaks == 0 && c->literal != TF_MAYBE)
        return;
    if (s->content != NULL) { /* what may come leads to the end by different ways */
        for (uint32_t byte = 0; byte < 256; byte++)
            if (!((uint32_t)listed[byte / 8] >> (byte % 8) & 1u) &&
                tf_string_table()[c->sub][byte] < TF_N_STR)
                add_rated(l, (uint8_t)byte);
        return;
    }
    /* One free character in its place; the others behind, in any order. */
    static const char likely[] = "a0A";
    for (uint32_t i = 0; c->sub == TF_STR_NORMAL && likely[i] != '\0'; i++) {
        uint8_t byte = (uint8_t)likely[i];
        if (!((uint32_t)listed[byte / 8] >> (byte % 8) & 1u))
            add_rated(l, byte);
        listed[byte / 8] |= (uint8_t)(1u << (byte % 8));
    }
    for (uint32_t k = 0; k < 256; k++) {
        uint8_t byte = (uint8_t)(k < 0x9F ? k + 0x61 : k - 0x9F);
        if (byte != '\\' && tf_string_table()[c->sub][byte] < TF_N_STR &&
            !((uint32_t)listed[byte / 8] >> (byte % 8) & 1u))
            add(l, byte);
    }
    if (tf_string_table()[c->sub]['\\'] < TF_N_STR)
        add(l, '\\');
}

uint32_t tf_search_moves(tf_run *run, const tf_search *search, const tf_configuration *c,
                         uint8_t moves[TF_MAX_MOVES])
{
    listing l = {.run = run, .c = c, .moves = moves};
    uint8_t before = run->searching;
    run->searching = 1;
    tf_arena_mark mark = tf_arena_here(run->arena);
    switch (c->mode) {
    case TF_AT_VALUE:
        if (c->gap == TF_GAP_OPEN)
            add_rated(&l, ']');
        add_gap(&l);
        for (const char *byte = "0ntf\"[{123456789-"; *byte != '\0'; byte++)
            add_rated(&l, (uint8_t)*byte);
        break;
    case TF_AT_NAME:
        if (c->gap == TF_GAP_OPEN)
            add_rated(&l, '}');
        add_gap(&l);
        add_rated(&l, '"');
        break;
    case TF_AT_COLON:
        add(&l, ':');
        break;
    case TF_AT_AFTER:
        add_rated(&l, c->top->kind->is_object ? '}' : ']');
        add_gap(&l);
        add_rated(&l, ',');
        break;
    case TF_IN_LITERAL: {
        static const char *const text[TF_N_LITERALS] = {"null", "false", "true"};
        add(&l, (uint8_t)text[c->low][c->n]);
        break;
    }
    case TF_IN_NUMBER: number_moves(&l, search); break;
    case TF_IN_NAME:
    case TF_IN_STRING: string_moves(&l); break;
    default: break;
    }
    tf_arena_back(run->arena, mark);
    run->searching = before;
    return l.n;
}

bool tf_search_ends(tf_run *run, const tf_configuration *c)
{
    return run->m->bytes_complete || tf_bound_plain(run, c) != TF_COST_NONE;
}

/* ---- the search ---- */

/* Whether the search itself began member `count` of the frame, counted from 1. */
static bool begun_here(const tf_search *search, const tf_frame *at, uint64_t count)
{
    const tf_frame *frame = search->start->top;
    while (frame != NULL && frame->depth > at->depth)
        frame = frame->parent;
    return frame == NULL || frame->depth < at->depth || frame->kind != at->kind ||
           count > frame->count + (search->start->mode == TF_IN_NAME &&
                                   frame == search->start->top);
}

/* Whether some alternative requires none of the first `end` names that are not there. */
static bool none_passed(const tf_frame *frame, uint32_t end)
{
    const tf_kind *kind = frame->kind;
    const uint64_t *alive = tf_frame_alive(frame);
    for (uint32_t a = tf_words_next(alive, kind->alternative_words, 0); a != UINT32_MAX;
         a = tf_words_next(alive, kind->alternative_words, a + 1)) {
        const uint32_t *required = kind->required + (size_t)a * kind->name_words;
        bool passed = false;
        for (uint32_t w = 0; w * 32 < end && !passed; w++) {
            uint32_t missing = required[w] & ~frame->seen[w];
            if (end - w * 32 < 32)
                missing &= ((uint32_t)1 << (end & 31u)) - 1;
            passed = missing != 0;
        }
        if (!passed)
            return true;
    }
    return false;
}

/*
 * Members that the search itself begins come in ascending order, so that each set of them comes
 * once, then those under other names, in any order. What is passed over does not come any more:
 * without a look at that a search would go on and on to more names, and to longer ones.
 */
static bool in_order(const tf_search *search, const tf_configuration *c, const tf_configuration *next)
{
    const tf_frame *frame = next->top;
    if (c->mode != TF_IN_NAME || frame->kind->rank != NULL)
        return true;
    const uint32_t n_names = frame->kind->n_names;
    if (next->mode == TF_IN_NAME)
        return next->literal == TF_ON || !begun_here(search, frame, frame->count + 1) ||
               none_passed(frame, n_names);
    if (!begun_here(search, frame, frame->count))
        return true;
    if (frame->last > n_names)
        return none_passed(frame, n_names);
    return none_passed(frame, frame->last - 1) &&
           (c->top->last < frame->last || !begun_here(search, c->top, c->top->count));
}

/* The number at hand may be the whole item. */
static bool ends_number(tf_run *run, const tf_search *search, const tf_configuration *c,
                        tf_configuration *after)
{
    if (c->mode != TF_IN_NUMBER || c->top == NULL || c->top->depth != search->base)
        return false;
    *after = *c;
    return tf_step_end_number(run, after);
}

static bool fits(tf_run *run, const tf_search *search, const tf_configuration *c, uint32_t typed)
{
    if (search->target == NULL || c->top == NULL || c->top->depth < search->of->depth ||
        (c->top->depth == search->of->depth && c->mode == TF_AT_AFTER))
        return true;
    const tf_frame *frame = c->top;
    while (frame->depth > search->of->depth)
        frame = frame->parent;
    return frame->count != search->of->count ||
           tf_item_reachable(run, c, frame, search->target, typed);
}

static bool is_leaf(const tf_search *search, const tf_configuration *c)
{
    return c->mode == TF_AT_AFTER && c->top->depth == search->base;
}

static bool leaf(tf_run *run, tf_search *search, const tf_configuration *c, size_t n_bytes)
{
    search->end = *c;
    search->n_bytes = (uint32_t)n_bytes;
    return search->leaf == NULL || search->leaf(search->context, run, c);
}

static bool run_levels(tf_run *run, tf_search *search, level **levels, size_t *capacity)
{
    uint32_t typed = search->start->mode == TF_IN_NUMBER && search->start->text != NULL
                         ? search->start->text->length
                         : 0;
    size_t depth = 0;
    tf_configuration next = *search->start;
    bool enter = true;
    for (;;) {
        if (enter) {
            tf_configuration after;
            if (ends_number(run, search, &next, &after) && leaf(run, search, &after, depth))
                return true;
            if (!tf_grow(&run->m->allocator, (void **)levels, depth, capacity, sizeof **levels)) {
                run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a search");
                return false;
            }
            level *l = &(*levels)[depth++];
            l->c = next;
            l->mark = tf_arena_here(run->arena);
            l->next = 0;
            l->n = tf_search_moves(run, search, &l->c, l->moves);
            enter = false;
        }
        level *l = &(*levels)[depth - 1];
        if (run->call.status != TOKFSM_OK)
            return false;
        if (l->next == l->n) {
            if (--depth == 0)
                return false;
            continue;
        }
        if (search->leaf == NULL)
            tf_arena_back(run->arena, l->mark); /* leaves are kept by those who ask for them */
        next = l->c;
        if (!tf_step(run, &next, l->moves[l->next++]))
            continue;
        if (!in_order(search, &l->c, &next))
            continue;
        if (next.top == NULL || next.top->depth < search->base ||
            !fits(run, search, &next, next.mode == TF_IN_NUMBER && l->c.mode == TF_IN_NUMBER ? typed : 0))
            continue;
        if (!tf_search_ends(run, &next))
            continue;
        if (is_leaf(search, &next)) {
            if (leaf(run, search, &next, depth))
                return true;
            continue;
        }
        enter = true;
    }
}

bool tf_search_run(tf_run *run, tf_search *search)
{
    level *levels = NULL;
    size_t capacity = 0;
    uint8_t before = run->searching;
    run->searching = 1;
    bool found = run_levels(run, search, &levels, &capacity) && run->call.status == TOKFSM_OK;
    search->path = NULL;
    if (found && search->leaf == NULL) {
        uint8_t *path = tf_arena_take(run->arena, search->n_bytes);
        if (path == NULL) {
            run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a search");
            found = false;
        }
        for (uint32_t i = 0; found && i < search->n_bytes; i++)
            path[i] = levels[i].moves[levels[i].next - 1];
        search->path = path;
    }
    run->searching = before;
    tf_release(&run->m->allocator, levels);
    return found;
}
