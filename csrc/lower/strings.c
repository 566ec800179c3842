/*
 * Strings of a value position: the literals of all enums in place, each with its exact
 * outcome, and the outcome of every other string by its length in code points and, where
 * patterns or formats speak of it, by its content.
 */
#include <stdlib.h>

#include "../engine/content.h"
#include "patterns.h"

enum { MOST_LENGTH_BYTES = 1 << 20 };

typedef struct refusal {
    uint32_t literal, obligation;
    uint64_t length;
} refusal;

typedef struct gathering {
    struct { uint32_t *items; size_t n, capacity; } nodes;   /* strings of enums */
    struct { uint64_t *items; size_t n, capacity; } lengths; /* where the outcome can change */
    struct { uint32_t *items; size_t n, capacity; } patterns;
    /* Literals that an obligation refuses although their content is in its language. */
    tf_literal *literals;
    refusal *refusals;
    uint32_t n_literals, literals_capacity, n_refusals, refusals_capacity;
    bool product; /* lengths are patterns beside the others: which ones a language has is too
                     much to know */
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

static tokfsm_status gather_pattern(tf_build *b, gathering *g, uint32_t pattern)
{
    if (pattern == TF_NO_PATTERN)
        return TOKFSM_OK;
    for (size_t i = 0; i < g->patterns.n; i++)
        if (g->patterns.items[i] == pattern)
            return TOKFSM_OK;
    if (!tf_grow(&b->arena.allocator, (void **)&g->patterns.items, g->patterns.n,
                 &g->patterns.capacity, sizeof *g->patterns.items))
        return no_memory(b);
    g->patterns.items[g->patterns.n++] = pattern;
    return TOKFSM_OK;
}

static tokfsm_status gather_schema(tf_build *b, void *context, const tf_schema *s)
{
    gathering *g = context;
    uint32_t id = (uint32_t)(s - b->ir.schemas);
    TF_TRY(gather_pattern(b, g, b->pattern_of[id]));
    TF_TRY(gather_pattern(b, g, b->format_of[id]));
    if (b->format_most[id] != TF_UNLIMITED)
        TF_TRY(gather_length(b, g, b->format_most[id] + 1));
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

/* Ascending, each once. */
static void sort_out(uint64_t *items, size_t *n)
{
    size_t m = 0;
    qsort(items, *n, sizeof *items, compare_lengths);
    for (size_t i = 0; i < *n; i++)
        if (m == 0 || items[m - 1] != items[i])
            items[m++] = items[i];
    *n = m;
}

static uint64_t count_characters(const char *text, uint32_t n)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += ((uint8_t)text[i] & 0xC0u) != 0x80u;
    return count;
}

/* Which obligations of the position hold for a string of the schema. */
static tokfsm_status outcome_of(tf_build *b, const tf_value *value, uint32_t node,
                                uint64_t **outcome)
{
    const tf_tape_node *text = &b->tape.nodes[node];
    tf_scalar scalar = {.type = TF_JSON_STRING, .node = node, .text = text->text, .n = text->n,
                        .n_chars = count_characters(text->text, text->n)};
    tokfsm_status status = TOKFSM_OK;
    *outcome = tf_take(b, value->n_words * sizeof **outcome, &status);
    return status == TOKFSM_OK ? tf_value_holding(b, value, &scalar, *outcome) : status;
}

/* ---- strings that are no literals ---- */

/* A language that is asked about: what an obligation says of strings of a length, less literals
   that it refuses. */
typedef struct asked {
    const tf_oset *oset;
    uint64_t length;
    uint32_t lengths; /* a pattern to be met as well, or TF_NO_PATTERN */
    uint32_t n_refused;
    const uint32_t *refused; /* literals of the set */
} asked;

static tokfsm_status asked_language(tf_build *b, const tf_content_spec *spec, uint32_t i,
                                    tf_dfa_language *language)
{
    const asked *a = (const asked *)spec->context + i;
    tf_scalar other = {.type = TF_JSON_STRING, .node = TF_TAPE_NONE, .n_chars = a->length,
                       .set = spec->set};
    TF_TRY(tf_evaluate_language(b, a->oset, &other, language));
    if (a->lengths != TF_NO_PATTERN && *language > 1) {
        tf_dfa_language both[2] = {*language, tf_pattern_set_language(spec->set, a->lengths)};
        TF_TRY(tf_dfa_and(spec->set->dfa, both, 2, b->budget, language, b->err));
    }
    for (uint32_t k = 0; k < a->n_refused; k++) {
        tf_dfa_language both[2] = {*language, 0};
        TF_TRY(tf_dfa_not(spec->set->dfa, spec->set->language[spec->set->n + a->refused[k]],
                          b->budget, &both[1], b->err));
        TF_TRY(tf_dfa_and(spec->set->dfa, both, 2, b->budget, language, b->err));
    }
    return TOKFSM_OK;
}

/* The languages of a position on their way into a content. */
typedef struct languages {
    tf_build *b;
    tf_pattern_set *set;
    asked *asked;
    tf_dfa_language *language;
    uint32_t n;
} languages;

/* One obligation at one length: always met, never, or a language that some string is in. */
static tokfsm_status ask(languages *l, const asked *a, bool *always, uint32_t *index)
{
    tf_build *b = l->b;
    tf_dfa_language language;
    tf_content_spec spec = {.set = l->set, .n = 1, .context = a};
    tf_dfa_state_id start;
    *index = TF_NONE;
    TF_TRY(asked_language(b, &spec, 0, &language));
    *always = language == 1;
    if (language <= 1)
        return TOKFSM_OK;
    TF_TRY(tf_dfa_start(l->set->dfa, language, b->budget, &start, b->err));
    if (start == TF_DFA_DEAD)
        return TOKFSM_OK;
    for (*index = 0; *index < l->n; ++*index)
        if (l->language[*index] == language)
            return TOKFSM_OK;
    l->asked[l->n] = *a;
    l->language[l->n++] = language;
    return TOKFSM_OK;
}

/* Literals that obligation i refuses although their text is in its language at that length. */
static tokfsm_status refused_of(tf_build *b, const gathering *g, uint32_t i, uint64_t from,
                                uint64_t last, uint32_t *refused, uint32_t *n)
{
    *n = 0;
    for (uint32_t k = 0; k < g->n_refusals; k++) {
        const refusal *r = &g->refusals[k];
        if (r->obligation == i && r->length >= from && r->length <= last)
            refused[(*n)++] = r->literal;
    }
    return tf_spend(b->budget, b->err);
}

/* Whether the lengths of all languages that must have a least one can be known with little
   memory. */
static tokfsm_status lengths_at_hand(tf_build *b, const languages *l, bool *at_hand)
{
    tf_dfa *dfa = l->set->dfa;
    tokfsm_status status = TOKFSM_OK;
    tokfsm_error err = {0};
    tf_dfa_limit_bytes(dfa, tf_dfa_n_bytes(dfa) + MOST_LENGTH_BYTES);
    for (uint32_t i = 0; i < l->n && status == TOKFSM_OK; i++) {
        const tf_dfa_lengths *lengths;
        tf_dfa_state_id start;
        status = tf_dfa_start(dfa, l->language[i], b->budget, &start, &err);
        if (status == TOKFSM_OK)
            status = tf_dfa_lengths_of(dfa, start, b->budget, &lengths, &err);
    }
    tf_dfa_limit_bytes(dfa, b->machine.limits.automaton_bytes);
    *at_hand = status != TOKFSM_E_LIMIT || b->budget->left == 0;
    if (!*at_hand)
        return TOKFSM_OK;
    if (status != TOKFSM_OK && b->err != NULL)
        *b->err = err;
    return status;
}

/* Patterns for the lengths of each break, and which is whose. */
static tokfsm_status length_patterns(tf_build *b, gathering *g, uint32_t **patterns)
{
    tokfsm_status status = TOKFSM_OK;
    *patterns = tf_take(b, g->lengths.n * sizeof **patterns, &status);
    for (size_t i = 0; i < g->lengths.n && status == TOKFSM_OK; i++) {
        uint64_t last = i + 1 < g->lengths.n ? g->lengths.items[i + 1] - 1 : TF_UNLIMITED;
        (*patterns)[i] = TF_NO_PATTERN;
        if (!g->product)
            continue;
        status = tf_pattern_of_lengths(b, g->lengths.items[i], last, &(*patterns)[i]);
        if (status == TOKFSM_OK)
            status = gather_pattern(b, g, (*patterns)[i]);
    }
    return status;
}

/*
 * Whether break a can ask for what the next one does: it is met by the same strings whatever
 * they hold, and those of the next one's languages are all too long for a. So a least length
 * that a language has anyway is none.
 */
static tokfsm_status same_before(tf_build *b, const tf_value *value, const languages *l,
                                 const tf_break *a, const tf_break *next, bool *same)
{
    *same = next->language != NULL &&
            memcmp(a->outcome, next->outcome, value->n_words * sizeof *a->outcome) == 0;
    for (uint32_t j = 0; j < value->n && *same; j++) {
        uint32_t own = a->language == NULL ? TF_NONE : a->language[j], index = next->language[j];
        tf_dfa_state_id start;
        uint64_t shortest;
        if (own == index)
            continue;
        if (own != TF_NONE) {
            *same = false;
            break;
        }
        TF_TRY(tf_dfa_start(l->set->dfa, l->language[index], b->budget, &start, b->err));
        TF_TRY(tf_dfa_shortest(l->set->dfa, start, b->budget, &shortest, b->err));
        *same = shortest >= next->from;
    }
    return TOKFSM_OK;
}

/* From the last on, so that what one takes over is told on. */
static tokfsm_status merge_breaks(tf_build *b, const tf_value *value, const languages *l,
                                  tf_break *breaks, uint32_t *n)
{
    for (uint32_t i = *n; i-- > 1;) {
        bool same;
        TF_TRY(same_before(b, value, l, &breaks[i - 1], &breaks[i], &same));
        if (!same)
            continue;
        breaks[i - 1].language = breaks[i].language;
        memmove(&breaks[i], &breaks[i + 1], (*n - i - 1) * sizeof *breaks);
        --*n;
    }
    return TOKFSM_OK;
}

static tokfsm_status make_breaks(tf_build *b, const tf_value *value, gathering *g, tf_strings *s)
{
    tokfsm_status status = TOKFSM_OK;
    size_t n_most = g->lengths.n * value->n;
    languages l = {.b = b};
    uint32_t *lengths;
    TF_TRY(length_patterns(b, g, &lengths));
    if (g->patterns.n > 0) {
        TF_TRY(tf_pattern_set_of(b, g->patterns.items, (uint32_t)g->patterns.n, g->literals,
                                 g->n_literals, &l.set));
        l.asked = tf_take(b, n_most * sizeof *l.asked, &status);
        l.language = tf_take(b, n_most * sizeof *l.language, &status);
    }
    tf_break *breaks = tf_take(b, g->lengths.n * sizeof *breaks, &status);
    uint32_t *refused = tf_take(b, g->n_refusals * sizeof *refused, &status);
    uint32_t n = 0;
    for (size_t i = 0; i < g->lengths.n && status == TOKFSM_OK; i++) {
        uint64_t from = g->lengths.items[i];
        uint64_t last = i + 1 < g->lengths.n ? g->lengths.items[i + 1] - 1 : TF_UNLIMITED;
        uint64_t *outcome = tf_take(b, value->n_words * sizeof *outcome, &status);
        uint32_t *language = NULL;
        if (l.set != NULL)
            language = tf_take(b, value->n * sizeof *language, &status);
        bool asks = false;
        for (uint32_t j = 0; j < value->n && status == TOKFSM_OK; j++) {
            asked a = {.oset = tf_value_oset(b, value, j), .length = from,
                       .lengths = lengths[i]};
            uint32_t n_refused;
            bool always;
            TF_TRY(refused_of(b, g, j, from, last, refused, &n_refused));
            if (n_refused > 0) {
                uint32_t *kept = tf_take(b, n_refused * sizeof *kept, &status);
                if (status != TOKFSM_OK)
                    return status;
                memcpy(kept, refused, n_refused * sizeof *kept);
                a.refused = kept;
                a.n_refused = n_refused;
            }
            if (language != NULL) {
                status = ask(&l, &a, &always, &language[j]);
                asks |= language[j] != TF_NONE;
            } else {
                tf_scalar other = {.type = TF_JSON_STRING, .node = TF_TAPE_NONE, .n_chars = from};
                status = tf_evaluate(b, a.oset, &other, &always);
            }
            if (status == TOKFSM_OK && always)
                tf_word_set(outcome, j);
        }
        if (status != TOKFSM_OK)
            break;
        if (!asks)
            language = NULL;
        if (n > 0 &&
            memcmp(breaks[n - 1].outcome, outcome, value->n_words * sizeof *outcome) == 0 &&
            (breaks[n - 1].language == NULL) == !asks &&
            (!asks ||
             memcmp(breaks[n - 1].language, language, value->n * sizeof *language) == 0))
            continue;
        breaks[n++] = (tf_break){from, outcome, language};
    }
    if (status == TOKFSM_OK && l.n > 0)
        status = merge_breaks(b, value, &l, breaks, &n);
    s->breaks = breaks;
    s->n_breaks = n;
    if (status == TOKFSM_OK && l.n > 0) {
        bool by_length = false, least = false;
        for (uint32_t i = 1; i < n; i++) {
            by_length |= breaks[i].language != NULL || breaks[i - 1].language != NULL;
            least |= breaks[i].language != NULL;
        }
        uint8_t known = g->product || !by_length ? TF_LENGTHS_NONE
                        : least                  ? TF_LENGTHS_ALL
                                                 : TF_LENGTHS_SHORTEST;
        bool at_hand = true;
        if (known == TF_LENGTHS_ALL)
            TF_TRY(lengths_at_hand(b, &l, &at_hand));
        if (!at_hand) {
            g->product = true;
            return make_breaks(b, value, g, s);
        }
        tf_content_spec spec = {l.set, l.n, asked_language, l.asked};
        uint8_t counts = known == TF_LENGTHS_NONE && b->machine.unique != TF_UNIQUE_NEVER
                             ? TF_COUNTS_FROM_BELOW
                             : TF_COUNTS_NONE;
        status = tf_content_of(b, &spec, known, counts, &s->content);
    }
    return status;
}

/* Whether some string that is no literal meets an obligation. */
static bool any_free(const tf_value *value, const tf_strings *s)
{
    for (uint32_t i = 0; i < s->n_breaks; i++) {
        if (tf_words_any(s->breaks[i].outcome, value->n_words))
            return true;
        for (uint32_t j = 0; s->breaks[i].language != NULL && j < value->n; j++)
            if (s->breaks[i].language[j] != TF_NONE &&
                tf_content_meets(s->content->start, s->breaks[i].language[j], 0,
                                 s->breaks[i].from, tf_break_last(s, i)))
                return true;
    }
    return false;
}

/* ---- literals ---- */

/* The outcome of the literal's text if it were none. */
static tokfsm_status outcome_if_free(tf_build *b, const tf_value *value, const tf_strings *s,
                                     const tf_tape_node *text, uint64_t *outcome)
{
    const tf_content_state *state = NULL;
    if (s->content != NULL)
        TF_TRY(tf_build_content_walk(b, s->content, text->text, text->n, &state));
    uint64_t length = count_characters(text->text, text->n);
    tf_break_outcome(s, tf_break_at(s, length), state, value, false, outcome);
    return TOKFSM_OK;
}

/* Note the obligations that refuse a literal although its content is in their language. */
static tokfsm_status note_refusals(tf_build *b, const tf_value *value, gathering *g,
                                   const tf_literal *l, const uint64_t *other)
{
    tokfsm_status status = TOKFSM_OK;
    bool any = false;
    for (uint32_t j = 0; j < value->n; j++)
        any |= tf_word_bit(other, j) && !tf_word_bit(l->end, j);
    if (!any)
        return TOKFSM_OK;
    for (uint32_t j = 0; j < value->n; j++) {
        if (!tf_word_bit(other, j) || tf_word_bit(l->end, j))
            continue;
        if (!tf_arena_grow(&b->arena, (void **)&g->refusals, g->n_refusals, &g->refusals_capacity,
                           4, sizeof *g->refusals))
            return no_memory(b);
        g->refusals[g->n_refusals++] = (refusal){
            g->n_literals, j, count_characters((const char *)l->text, l->n_text)};
    }
    if (!tf_arena_grow(&b->arena, (void **)&g->literals, g->n_literals, &g->literals_capacity, 4,
                       sizeof *g->literals))
        return no_memory(b);
    g->literals[g->n_literals++] = *l;
    return status;
}

static tokfsm_status make_literals(tf_build *b, const tf_value *value, gathering *g, tf_strings *s)
{
    tokfsm_status status = TOKFSM_OK;
    tf_literal *literals = tf_take(b, g->nodes.n * sizeof *literals, &status);
    uint64_t *other = tf_take(b, value->n_words * sizeof *other, &status);
    if (status != TOKFSM_OK)
        return status;
    uint32_t n = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const tf_tape_node *node = &b->tape.nodes[g->nodes.items[i]];
        uint64_t *end;
        TF_TRY(outcome_of(b, value, g->nodes.items[i], &end));
        TF_TRY(outcome_if_free(b, value, s, node, other));
        if (memcmp(other, end, value->n_words * sizeof *end) == 0)
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
    for (uint32_t i = 0; i < m && s->content != NULL; i++) {
        tf_tape_node text = {.text = (const char *)literals[i].text, .n = literals[i].n_text};
        TF_TRY(outcome_if_free(b, value, s, &text, other));
        TF_TRY(note_refusals(b, value, g, &literals[i], other));
    }
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
    TF_TRY(gather_length(b, g, 0));
    sort_out(g->lengths.items, &g->lengths.n);
    TF_TRY(make_breaks(b, value, g, s));
    TF_TRY(make_literals(b, value, g, s));
    if (g->n_refusals > 0) /* once more, without what is refused */
        TF_TRY(make_breaks(b, value, g, s));
    if (!any_free(value, s)) {
        s->n_breaks = 0;
        s->content = NULL;
    }
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
    tf_release(&b->arena.allocator, g.patterns.items);
    if (status == TOKFSM_OK)
        atomic_store_explicit(&v->strings, *strings, memory_order_release);
    return status;
}
