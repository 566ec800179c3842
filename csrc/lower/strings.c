/*
 * Strings of a value position: the literals of all enums in place, each with its exact
 * outcome, and the outcome of every other string by its length in code points.
 */
#include <stdlib.h>

#include "build.h"

typedef struct gathering {
    struct { uint32_t *items; size_t n, capacity; } nodes;   /* strings of enums */
    struct { uint64_t *items; size_t n, capacity; } lengths; /* where the outcome can change */
} gathering;

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling strings");
}

static tokfsm_status gather_node(tf_build *b, void *context, uint32_t node)
{
    gathering *g = context;
    if (b->tape.nodes[node].type != TF_JSON_STRING)
        return TOKFSM_OK;
    if (!tf_grow(&b->arena.allocator, (void **)&g->nodes.items, g->nodes.n, &g->nodes.capacity,
                 sizeof *g->nodes.items))
        return no_memory(b);
    g->nodes.items[g->nodes.n++] = node;
    return TOKFSM_OK;
}

static tokfsm_status gather_length(tf_build *b, gathering *g, uint64_t from)
{
    if (!tf_grow(&b->arena.allocator, (void **)&g->lengths.items, g->lengths.n,
                 &g->lengths.capacity, sizeof *g->lengths.items))
        return no_memory(b);
    g->lengths.items[g->lengths.n++] = from;
    return TOKFSM_OK;
}

static tokfsm_status gather_schema(tf_build *b, void *context, const tf_schema *s)
{
    gathering *g = context;
    for (uint32_t i = 0; i < s->n_values; i++)
        TF_TRY(gather_node(b, g, s->values[i]));
    if (s->min_length > 0)
        TF_TRY(gather_length(b, g, s->min_length));
    if (s->max_length != TF_UNLIMITED)
        TF_TRY(gather_length(b, g, s->max_length + 1));
    return TOKFSM_OK;
}

static int compare_lengths(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint64_t count_characters(const char *text, uint32_t n)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += ((uint8_t)text[i] & 0xC0u) != 0x80u;
    return count;
}

/* Which obligations of the position hold for a scalar. */
static tokfsm_status outcome_of(tf_build *b, const tf_value *value, const tf_scalar *scalar,
                                uint64_t **outcome)
{
    tokfsm_status status = TOKFSM_OK;
    *outcome = tf_take(b, value->n_words * sizeof **outcome, &status);
    for (uint32_t i = 0; i < value->n && status == TOKFSM_OK; i++) {
        bool holds;
        status = tf_evaluate(b, tf_value_oset(b, value, i), scalar, &holds);
        if (status == TOKFSM_OK && holds)
            tf_word_set(*outcome, i);
    }
    return status;
}

static tokfsm_status make_breaks(tf_build *b, const tf_value *value, gathering *g, tf_strings *s)
{
    TF_TRY(gather_length(b, g, 0));
    qsort(g->lengths.items, g->lengths.n, sizeof *g->lengths.items, compare_lengths);
    tokfsm_status status = TOKFSM_OK;
    tf_break *breaks = tf_take(b, g->lengths.n * sizeof *breaks, &status);
    uint32_t n = 0;
    bool any = false;
    for (size_t i = 0; i < g->lengths.n && status == TOKFSM_OK; i++) {
        uint64_t from = g->lengths.items[i];
        if (i > 0 && from == g->lengths.items[i - 1])
            continue;
        tf_scalar other = {.type = TF_JSON_STRING, .node = TF_TAPE_NONE, .n_chars = from};
        uint64_t *outcome;
        status = outcome_of(b, value, &other, &outcome);
        if (status != TOKFSM_OK)
            break;
        any |= tf_words_any(outcome, value->n_words);
        if (n > 0 && memcmp(breaks[n - 1].outcome, outcome, value->n_words * sizeof *outcome) == 0)
            continue;
        breaks[n++] = (tf_break){from, outcome};
    }
    s->breaks = breaks;
    s->n_breaks = any ? n : 0;
    return status;
}

static const uint64_t *outcome_by_length(const tf_strings *s, uint64_t n)
{
    uint32_t i = s->n_breaks;
    while (i > 1 && s->breaks[i - 1].from > n)
        i--;
    return s->n_breaks == 0 ? NULL : s->breaks[i - 1].outcome;
}

static tokfsm_status make_literals(tf_build *b, const tf_value *value, gathering *g, tf_strings *s)
{
    tokfsm_status status = TOKFSM_OK;
    tf_literal *literals = tf_take(b, g->nodes.n * sizeof *literals, &status);
    if (status != TOKFSM_OK)
        return status;
    uint32_t n = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const tf_tape_node *node = &b->tape.nodes[g->nodes.items[i]];
        uint64_t length = count_characters(node->text, node->n);
        tf_scalar scalar = {
            .type = TF_JSON_STRING, .node = g->nodes.items[i], .n_chars = length};
        uint64_t *end;
        TF_TRY(outcome_of(b, value, &scalar, &end));
        const uint64_t *other = outcome_by_length(s, length);
        if (other == NULL ? !tf_words_any(end, value->n_words)
                          : memcmp(other, end, value->n_words * sizeof *end) == 0)
            continue; /* no string, or one like all others */
        tf_literal *l = &literals[n++];
        l->text = (const uint8_t *)node->text;
        l->n_text = node->n;
        l->end = end;
        TF_TRY(tf_spell(b, node->text, node->n, &l->spelled, &l->n_spelled));
        s->hard_names |= tf_has_escaped_closer(b, node->text, node->n);
    }
    if (n > 1)
        qsort(literals, n, sizeof *literals, tf_compare_literals);
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) /* equal strings have equal outcomes */
        if (m == 0 || tf_compare_literals(&literals[m - 1], &literals[i]) != 0)
            literals[m++] = literals[i];
    s->literals = literals;
    s->n_literals = m;
    s->literal_costs = tf_take(b, m * sizeof *s->literal_costs, &status);
    return status;
}

static tokfsm_status build(tf_build *b, const tf_value *value, gathering *g,
                           const tf_strings **strings)
{
    TF_TRY(tf_visit_in_place(b, value, gather_schema, gather_node, g));
    tokfsm_status status = TOKFSM_OK;
    tf_strings *s = tf_take(b, sizeof *s, &status);
    if (status != TOKFSM_OK)
        return status;
    TF_TRY(make_breaks(b, value, g, s));
    TF_TRY(make_literals(b, value, g, s));
    *strings = s->n_breaks == 0 && s->n_literals == 0 ? &tf_no_strings : s;
    return TOKFSM_OK;
}

tokfsm_status tf_build_strings(tf_build *b, const tf_value *value, const tf_strings **strings)
{
    tf_value *v = (tf_value *)(uintptr_t)value;
    *strings = atomic_load_explicit(&v->strings, memory_order_relaxed);
    if (*strings != NULL)
        return TOKFSM_OK;
    gathering g = {0};
    tokfsm_status status = build(b, value, &g, strings);
    tf_release(&b->arena.allocator, g.nodes.items);
    tf_release(&b->arena.allocator, g.lengths.items);
    if (status == TOKFSM_OK)
        atomic_store_explicit(&v->strings, *strings, memory_order_release);
    return status;
}
