/*
 * What the number schemas of a value position say, read once: the enum values (constants), the
 * outcomes of all other numbers, and the rules of spelling (docs/spelling.md (d)). Numbers are
 * compared by exact value. The states over them are number_states.c.
 */
#include <stdlib.h>

#include "numbers.h"

tokfsm_status tf_numbers_no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling numbers");
}

uint32_t tf_constant_digit(const constant *c, bool fraction, uint32_t i)
{
    int64_t at;
    if (fraction)
        at = (int64_t)c->value.point + i;
    else if (c->value.point <= 0)
        return 0;
    else
        at = i;
    return at < 0 || at >= c->value.n_digits ? 0 : c->value.digits[at];
}

static void set_lengths(constant *c)
{
    c->n_integer = c->value.point > 0 ? (uint32_t)c->value.point : 1;
    int64_t fraction = (int64_t)c->value.n_digits - c->value.point;
    c->n_fraction = fraction > 0 ? (uint32_t)fraction : 0;
}

/* ---- the position's constants and outcomes ---- */

typedef struct gathering {
    struct { constant *items; size_t n, capacity; } constants;
} gathering;

static tokfsm_status gather_node(tf_build *b, void *context, uint32_t node)
{
    gathering *g = context;
    const tf_tape_node *n = &b->tape.nodes[node];
    if (n->type != TF_JSON_NUMBER)
        return TOKFSM_OK;
    constant c;
    memset(&c, 0, sizeof c);
    c.node = node;
    TF_TRY(tf_decimal_read(&c.value, n->text, n->n, &b->arena, b->err));
    set_lengths(&c);
    if (c.n_integer > TF_MAX_NUMBER_DIGITS || c.n_fraction > TF_MAX_NUMBER_DIGITS)
        return tf_fail_node(b->err, TOKFSM_E_LIMIT, &b->tape, node, "",
                            "a number of over %u digits", TF_MAX_NUMBER_DIGITS);
    if (!tf_grow(&b->arena.allocator, (void **)&g->constants.items, g->constants.n,
                 &g->constants.capacity, sizeof c))
        return tf_numbers_no_memory(b);
    g->constants.items[g->constants.n++] = c;
    return TOKFSM_OK;
}

static tokfsm_status gather_schema(tf_build *b, void *context, const tf_schema *s)
{
    for (uint32_t i = 0; i < s->n_values; i++)
        TF_TRY(gather_node(b, context, s->values[i]));
    return TOKFSM_OK;
}

/* A number of the schema, for evaluation. */
static int compare_decimal(const void *context, const tf_decimal *bound)
{
    return tf_decimal_compare(context, bound);
}

/* By writing the number down digit by digit. */
static bool decimal_divides(const void *context, const tf_decimal *divisor)
{
    const tf_decimal *value = context;
    tf_divisor one;
    if (!tf_divisor_of(divisor, &one))
        return false; /* refused when the position's facts were gathered */
    tf_modulus modulus = {one.number, one.n_fraction};
    tf_number_facts facts = {.divisors = &one, .n_divisors = 1, .moduli = &modulus, .n_moduli = 1};
    uint64_t state = 0;
    constant c = {.value = *value};
    set_lengths(&c);
    for (uint32_t i = 0; i < c.n_integer; i++)
        tf_number_facts_digit(&facts, &state, false, false, i, tf_constant_digit(&c, false, i));
    for (uint32_t i = 0; i < c.n_fraction; i++)
        tf_number_facts_digit(&facts, &state, false, true, i, tf_constant_digit(&c, true, i));
    return tf_number_facts_divides(&facts, &state, 0, true, c.n_fraction);
}

/* A number of the schema, and whether a divisor was met that is refused elsewhere. */
typedef struct cautious {
    const tf_decimal *value;
    bool *unsure;
} cautious;

static int cautious_compare(const void *context, const tf_decimal *bound)
{
    return tf_decimal_compare(((const cautious *)context)->value, bound);
}

static bool cautious_divides(const void *context, const tf_decimal *divisor)
{
    const cautious *c = context;
    tf_divisor one;
    if (!tf_divisor_of(divisor, &one))
        *c->unsure = true;
    return decimal_divides(c->value, divisor);
}

tokfsm_status tf_numbers_may_equal(tf_build *b, const tf_oset *oset, uint32_t node, bool *may)
{
    tf_arena arena;
    tf_arena_init(&arena, &b->arena.allocator);
    constant c = {.node = node};
    const tf_tape_node *n = &b->tape.nodes[node];
    tokfsm_status status = tf_decimal_read(&c.value, n->text, n->n, &arena, b->err);
    *may = true;
    if (status == TOKFSM_OK) {
        set_lengths(&c);
        bool unsure = c.n_integer > TF_MAX_NUMBER_DIGITS || c.n_fraction > TF_MAX_NUMBER_DIGITS;
        cautious context = {&c.value, &unsure};
        tf_scalar scalar = {.type = TF_JSON_NUMBER, .node = node,
                            .is_integer = tf_decimal_is_integer(&c.value), .context = &context,
                            .compare = cautious_compare, .divides = cautious_divides};
        if (!unsure)
            status = tf_evaluate(b, oset, &scalar, may);
        if (status == TOKFSM_OK && !*may && b->ir.pointed_is_no_integer) {
            scalar.pointed = true;
            status = tf_evaluate(b, oset, &scalar, may);
        }
        if (unsure)
            *may = true;
    }
    tf_arena_free(&arena);
    return status;
}

/* Outcome of the number at a tape node; of one that is no constant, where nothing compares. */
static tokfsm_status outcome_of(tf_build *b, const numbers *of, const constant *c, bool is_integer,
                                bool pointed, const uint64_t **outcome)
{
    tokfsm_status status = TOKFSM_OK;
    uint64_t *words = tf_take(b, of->value->n_words * sizeof *words, &status);
    if (status != TOKFSM_OK)
        return status;
    tf_scalar scalar = {.type = TF_JSON_NUMBER, .node = TF_TAPE_NONE, .is_integer = is_integer,
                        .pointed = pointed};
    if (c != NULL) {
        scalar.node = c->node;
        scalar.context = &c->value;
        scalar.compare = compare_decimal;
        scalar.divides = decimal_divides;
    }
    *outcome = words;
    return tf_value_holding(b, of->value, &scalar, words);
}

static bool within_digits(const tf_build *b, const constant *c)
{
    uint32_t most = b->machine.options.max_digits;
    return c->n_integer <= most && c->n_fraction <= most;
}

/* By value, and equal ones as they stand in the schema. */
static int compare_constants(const void *a, const void *b)
{
    const constant *x = a, *y = b;
    int order = tf_decimal_compare(&x->value, &y->value);
    return order != 0 ? order : x->node < y->node ? -1 : x->node > y->node;
}

static tokfsm_status make_constants(tf_build *b, gathering *g, numbers *of)
{
    const tf_value *value = of->value;
    tokfsm_status status = TOKFSM_OK;
    of->constants = tf_take(b, g->constants.n * sizeof *of->constants, &status);
    const uint64_t *nothing = tf_take(b, value->n_words * sizeof *nothing, &status);
    if (status != TOKFSM_OK)
        return status;
    size_t n_bytes = value->n_words * sizeof(uint64_t);
    if (g->constants.n > 1)
        qsort(g->constants.items, g->constants.n, sizeof *g->constants.items, compare_constants);
    for (size_t i = 0; i < g->constants.n; i++) {
        constant c = g->constants.items[i];
        TF_TRY(tf_spend(b->budget, b->err));
        if (i > 0 && tf_decimal_compare(&g->constants.items[i - 1].value, &c.value) == 0)
            continue;
        bool is_integer = tf_decimal_is_integer(&c.value);
        TF_TRY(outcome_of(b, of, &c, is_integer, false, &c.plain));
        TF_TRY(outcome_of(b, of, &c, is_integer, true, &c.pointed));
        if (!within_digits(b, &c) || c.n_fraction > 0)
            c.plain = nothing;
        if (!within_digits(b, &c))
            c.pointed = nothing;
        /* Where something compares, every end is evaluated: a constant is one of them. */
        const uint64_t *plain = c.n_fraction > 0 ? nothing : of->integer;
        const uint64_t *pointed = is_integer ? of->pointed : of->fraction;
        if (!tf_numbers_compare(of) && memcmp(c.plain, plain, n_bytes) == 0 &&
            memcmp(c.pointed, pointed, n_bytes) == 0)
            continue; /* like all other numbers */
        of->constants[of->n_constants++] = c;
    }
    return TOKFSM_OK;
}

/* Obligation by obligation: an admitted number that the schema writes with a point, as 2.0, does
   not want an integer. */
typedef struct pointing {
    const tf_oset *oset;
    bool pointed;
} pointing;

static tokfsm_status point_node(tf_build *b, void *context, uint32_t node)
{
    pointing *p = context;
    const tf_tape_node *n = &b->tape.nodes[node];
    if (p->pointed || n->type != TF_JSON_NUMBER || memchr(n->text, '.', n->n) == NULL)
        return TOKFSM_OK;
    tf_decimal value;
    TF_TRY(tf_decimal_read(&value, n->text, n->n, &b->arena, b->err));
    constant spelled = {.value = value};
    set_lengths(&spelled);
    if (!within_digits(b, &spelled))
        return TOKFSM_OK;
    tf_scalar scalar = {.type = TF_JSON_NUMBER, .node = node,
                        .is_integer = tf_decimal_is_integer(&value), .context = &value,
                        .compare = compare_decimal, .divides = decimal_divides};
    return tf_evaluate(b, p->oset, &scalar, &p->pointed);
}

static tokfsm_status point_schema(tf_build *b, void *context, const tf_schema *s)
{
    for (uint32_t i = 0; i < s->n_values; i++)
        TF_TRY(point_node(b, context, s->values[i]));
    return TOKFSM_OK;
}

tokfsm_status tf_numbers_pointed(tf_build *b, const tf_value *value, uint64_t *integers_only)
{
    for (uint32_t i = 0; i < value->n; i++) {
        tf_value one = {.n = 1, .build = &value->build[i]};
        pointing p = {tf_value_oset(b, value, i), false};
        if (tf_word_bit(integers_only, i))
            TF_TRY(tf_visit_in_place(b, &one, point_schema, point_node, &p));
        if (p.pointed)
            integers_only[i >> 6] &= ~((uint64_t)1 << (i & 63u));
    }
    return TOKFSM_OK;
}

static tokfsm_status make_numbers(tf_build *b, const tf_value *value, gathering *g, numbers **made)
{
    TF_TRY(tf_visit_in_place(b, value, gather_schema, gather_node, g));
    tokfsm_status status = TOKFSM_OK;
    numbers *of = tf_take(b, sizeof *of, &status);
    uint64_t *integers_only = tf_take(b, value->n_words * sizeof(uint64_t), &status);
    uint64_t *any_number = tf_take(b, value->n_words * sizeof(uint64_t), &status);
    if (status != TOKFSM_OK)
        return status;
    of->value = value;
    TF_TRY(tf_number_facts_of(b, value, &of->facts));
    if (tf_numbers_compare(of)) {
        /* The rules come from the whole automaton: see number_states.c. */
        of->rules = (tf_number_rules){value->n, value->n_words, integers_only, any_number};
        *made = of;
        return make_constants(b, g, of);
    }
    TF_TRY(outcome_of(b, of, NULL, true, false, &of->integer));
    TF_TRY(outcome_of(b, of, NULL, true, true, &of->pointed));
    TF_TRY(outcome_of(b, of, NULL, false, true, &of->fraction));
    TF_TRY(make_constants(b, g, of));
    for (uint32_t w = 0; w < value->n_words; w++) {
        /* A schema that asks for 2.0, not 2, has no other spelling. */
        integers_only[w] = ~of->fraction[w] & ~(of->pointed[w] & ~of->integer[w]);
        any_number[w] = of->fraction[w] & of->integer[w] & of->pointed[w];
    }
    for (uint32_t k = 0; k < of->n_constants; k++) {
        const constant *c = &of->constants[k];
        for (uint32_t w = 0; w < value->n_words; w++) {
            integers_only[w] &= ~(c->n_fraction > 0 ? c->pointed[w] : c->pointed[w] & ~c->plain[w]);
            if (within_digits(b, c)) /* what has no spelling cannot be missed */
                any_number[w] &= c->pointed[w];
        }
    }
    if (g->constants.n > 0)
        TF_TRY(tf_numbers_pointed(b, value, integers_only));
    of->rules = (tf_number_rules){value->n, value->n_words, integers_only, any_number};
    *made = of;
    return TOKFSM_OK;
}

tokfsm_status tf_build_number(tf_build *b, const tf_value *value, const tf_nstate **start)
{
    tf_value *v = (tf_value *)(uintptr_t)value;
    *start = atomic_load_explicit(&v->number, memory_order_relaxed);
    if (*start != NULL)
        return TOKFSM_OK;
    gathering g = {0};
    numbers *of = NULL;
    tokfsm_status status = make_numbers(b, value, &g, &of);
    tf_release(&b->arena.allocator, g.constants.items);
    if (status != TOKFSM_OK)
        return status;
    of->id = value->id;
    TF_TRY(tf_number_start(b, of, start));
    atomic_store_explicit(&v->number, *start, memory_order_release);
    return TOKFSM_OK;
}

typedef struct constraint {
    bool found;
} constraint;

static tokfsm_status note_constraint(tf_build *b, void *context, const tf_schema *s)
{
    constraint *c = context;
    c->found |= s->has_number;
    for (uint32_t i = 0; i < s->n_values; i++)
        c->found |= b->tape.nodes[s->values[i]].type == TF_JSON_NUMBER;
    return TOKFSM_OK;
}

static tokfsm_status note_constant(tf_build *b, void *context, uint32_t node)
{
    constraint *c = context;
    c->found |= b->tape.nodes[node].type == TF_JSON_NUMBER;
    return TOKFSM_OK;
}

/* With digits limited no digits may reach what constrains a number, but an exponent would. */
tokfsm_status tf_numbers_constrained(tf_build *b, const numbers *of)
{
    uint64_t *any_number = (uint64_t *)(uintptr_t)of->rules.any_number;
    for (uint32_t i = 0; i < of->rules.n; i++) {
        tf_oset *oset = tf_value_oset(b, of->value, i);
        const tf_value *one;
        constraint c = {false};
        if (!tf_word_bit(any_number, i))
            continue;
        TF_TRY(tf_value_of(b, &oset, 1, &one));
        TF_TRY(tf_visit_in_place(b, one, note_constraint, note_constant, &c));
        if (c.found)
            any_number[i >> 6] &= ~((uint64_t)1 << (i & 63u));
    }
    return TOKFSM_OK;
}
