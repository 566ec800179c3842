/*
 * Outcomes of numbers by where they stand among the bounds. The bounds cut the numbers into
 * regions: below the first, equal to it, between it and the next, and so on. What an obligation
 * says changes only at bounds that it speaks of itself, so a table of all regions takes few
 * evaluations of each; there is one for each kind of number: whole or not, its spelling, and which
 * divisors divide it.
 */
#include "numbers.h"

struct outcome_table {
    outcome_table *next;
    bool is_integer, pointed;
    uint64_t *divisible; /* a bit each divisor */
    uint64_t *rows;      /* [regions][n_words] */
};

/* A number of a region, for evaluation. */
typedef struct sample {
    const numbers *of;
    const outcome_table *table;
    uint32_t region;
} sample;

static uint32_t n_regions(const numbers *of) { return 2 * of->facts.n_bounds + 1; }

static int compare_sample(const void *context, const tf_decimal *bound)
{
    const sample *s = context;
    uint32_t at = 2 * tf_number_facts_bound(&s->of->facts, bound) + 1;
    return s->region < at ? -1 : s->region > at;
}

static bool sample_divides(const void *context, const tf_decimal *divisor)
{
    const sample *s = context;
    return tf_word_bit(s->table->divisible, tf_number_facts_divisor(&s->of->facts, divisor));
}

/* ---- which bounds an obligation speaks of ---- */

typedef struct marking {
    const tf_number_facts *facts;
    uint64_t *marks; /* a bit each bound */
} marking;

static tokfsm_status mark_bounds(tf_build *b, void *context, const tf_schema *s)
{
    (void)b;
    marking *m = context;
    const tf_decimal *const bounds[] = {s->minimum, s->maximum, s->exclusive_minimum,
                                        s->exclusive_maximum};
    for (int i = 0; i < 4; i++)
        if (bounds[i] != NULL)
            tf_word_set(m->marks, tf_number_facts_bound(m->facts, bounds[i]));
    return TOKFSM_OK;
}

static tokfsm_status ignore_node(tf_build *b, void *context, uint32_t node)
{
    (void)b, (void)context, (void)node;
    return TOKFSM_OK;
}

/* ---- tables ---- */

static tokfsm_status fill_obligation(tf_build *b, const numbers *of, const outcome_table *table,
                                     uint32_t i, uint64_t *marks)
{
    uint32_t n_words = of->rules.n_words, mark_words = tf_words_for(of->facts.n_bounds);
    tf_value one = {.n = 1, .n_words = 1, .build = &of->value->build[i]};
    marking m = {&of->facts, marks};
    memset(marks, 0, mark_words * sizeof *marks);
    TF_TRY(tf_visit_in_place(b, &one, mark_bounds, ignore_node, &m));
    sample at = {.of = of, .table = table};
    tf_scalar scalar = {.type = TF_JSON_NUMBER, .node = TF_TAPE_NONE,
                        .is_integer = table->is_integer, .pointed = table->pointed,
                        .compare = compare_sample, .divides = sample_divides, .context = &at};
    for (uint32_t from = 0; from < n_regions(of);) {
        uint32_t next = tf_words_next(marks, mark_words, from / 2);
        /* Up to the next bound of its own, then that one. */
        uint32_t end = next == UINT32_MAX ? n_regions(of) : from <= 2 * next ? 2 * next + 1 : from + 1;
        at.region = end - 1;
        bool holds;
        TF_TRY(tf_evaluate(b, tf_value_oset(b, of->value, i), &scalar, &holds));
        for (; from < end; from++)
            if (holds)
                tf_word_set(table->rows + (size_t)from * n_words, i);
    }
    return TOKFSM_OK;
}

static tokfsm_status make_table(tf_build *b, numbers *of, const outcome_table *wanted,
                                outcome_table **made)
{
    tokfsm_status status = TOKFSM_OK;
    uint32_t words = tf_words_for(of->facts.n_divisors);
    outcome_table *t = *made = tf_take(b, sizeof *t, &status);
    uint64_t *divisible = tf_take(b, words * sizeof *divisible, &status);
    uint64_t *marks = tf_take(b, tf_words_for(of->facts.n_bounds) * sizeof *marks, &status);
    uint64_t *rows = tf_take(b, (size_t)n_regions(of) * of->rules.n_words * sizeof *rows, &status);
    if (status != TOKFSM_OK)
        return status;
    *t = *wanted;
    if (words > 0)
        memcpy(divisible, wanted->divisible, words * sizeof *divisible);
    t->divisible = divisible;
    t->rows = rows;
    for (uint32_t i = 0; i < of->value->n; i++)
        TF_TRY(fill_obligation(b, of, t, i, marks));
    return TOKFSM_OK;
}

static bool same_kind(const outcome_table *a, const outcome_table *b, uint32_t words)
{
    return a->is_integer == b->is_integer && a->pointed == b->pointed &&
           (words == 0 || memcmp(a->divisible, b->divisible, words * sizeof *a->divisible) == 0);
}

/* The region of the number: below bound i, or equal to it. */
static uint32_t region_of(const tf_number_facts *facts, const tf_ending *e)
{
    uint32_t low = 0, high = facts->n_bounds;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = tf_number_facts_compare(facts, e->facts, middle, e->negative, e->zero,
                                            e->fraction, e->digits);
        if (order == 0)
            return 2 * middle + 1;
        if (order > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return 2 * low;
}

tokfsm_status tf_number_outcome(tf_build *b, numbers *of, const tf_ending *e, bool any_divisor,
                                const uint64_t **outcome)
{
    uint64_t few[4] = {0}, *divisible = few;
    uint32_t n = of->facts.n_divisors, words = tf_words_for(n);
    if (words > 4 && (divisible = tf_allocate(&b->arena.allocator, words * sizeof *few)) == NULL)
        return tf_numbers_no_memory(b);
    memset(divisible, 0, words * sizeof *divisible);
    uint64_t hash = (uint64_t)e->is_integer * 2 + e->pointed;
    for (uint32_t i = 0; i < n; i++)
        if (any_divisor || tf_number_facts_divides(&of->facts, e->facts, i, e->fraction, e->digits))
            tf_word_set(divisible, i);
    for (uint32_t w = 0; w < words; w++)
        hash = (hash ^ divisible[w]) * UINT64_C(0x9E3779B97F4A7C15);
    outcome_table wanted = {.is_integer = e->is_integer, .pointed = e->pointed,
                            .divisible = divisible};
    outcome_table **head = &of->tables[hash >> 32 & (N_TABLE_HEADS - 1)], *table = *head;
    while (table != NULL && !same_kind(table, &wanted, words))
        table = table->next;
    tokfsm_status status = TOKFSM_OK;
    if (table == NULL) {
        wanted.next = *head;
        status = make_table(b, of, &wanted, &table);
        if (status == TOKFSM_OK)
            *head = table;
    }
    if (divisible != few)
        tf_release(&b->arena.allocator, divisible);
    if (status == TOKFSM_OK)
        *outcome = table->rows + (size_t)region_of(&of->facts, e) * of->rules.n_words;
    return status;
}
