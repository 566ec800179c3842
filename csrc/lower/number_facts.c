#include "number_facts.h"

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling numbers");
}

typedef struct gathering {
    struct { tf_bound *items; size_t n, capacity; } bounds;
    struct { tf_divisor *items; size_t n, capacity; } divisors;
} gathering;

/* Digit i of the integer part or the fraction of a plain spelling. */
static uint32_t digit_of(const tf_decimal *value, bool fraction, uint32_t i)
{
    int64_t at = fraction ? (int64_t)value->point + i : value->point <= 0 ? -1 : (int64_t)i;
    return at < 0 || at >= value->n_digits ? 0 : value->digits[at];
}

static tokfsm_status add_bound(tf_build *b, gathering *g, const tf_decimal *value)
{
    if (value == NULL)
        return TOKFSM_OK;
    for (size_t i = 0; i < g->bounds.n; i++)
        if (tf_decimal_compare(&g->bounds.items[i].value, value) == 0)
            return TOKFSM_OK;
    if (!tf_grow(&b->arena.allocator, (void **)&g->bounds.items, g->bounds.n, &g->bounds.capacity,
                 sizeof *g->bounds.items))
        return no_memory(b);
    tf_bound bound = {.value = *value};
    bound.n_integer = value->point > 0 ? (uint32_t)value->point : 1;
    int64_t fraction = (int64_t)value->n_digits - value->point;
    bound.n_fraction = fraction > 0 ? (uint32_t)fraction : 0;
    if (bound.n_integer > TF_MAX_NUMBER_DIGITS || bound.n_fraction > TF_MAX_NUMBER_DIGITS)
        return tf_fail(b->err, TOKFSM_E_LIMIT, "a bound of over %u digits", TF_MAX_NUMBER_DIGITS);
    g->bounds.items[g->bounds.n++] = bound;
    return TOKFSM_OK;
}

bool tf_divisor_of(const tf_decimal *value, tf_divisor *divisor)
{
    *divisor = (tf_divisor){.value = *value};
    int64_t fraction = (int64_t)value->n_digits - value->point;
    divisor->n_fraction = fraction > 0 ? (uint32_t)fraction : 0;
    if (fraction > TF_MAX_NUMBER_DIGITS)
        return false;
    int64_t n = value->n_digits;
    if (value->point > n)
        n = value->point;
    for (int64_t i = 0; i < n; i++) {
        if (divisor->number > UINT64_C(99999999999999999)) /* times ten fits, and once more */
            return false;
        divisor->number = divisor->number * 10 + (i < value->n_digits ? value->digits[i] : 0);
    }
    return true;
}

static tokfsm_status add_divisor(tf_build *b, gathering *g, const tf_schema *s)
{
    const tf_decimal *value = s->multiple_of;
    if (value == NULL)
        return TOKFSM_OK;
    for (size_t i = 0; i < g->divisors.n; i++)
        if (tf_decimal_compare(&g->divisors.items[i].value, value) == 0)
            return TOKFSM_OK;
    tf_divisor divisor;
    if (!tf_divisor_of(value, &divisor))
        return tf_fail_node(b->err, TOKFSM_E_LIMIT, &b->tape, s->node, "multipleOf",
                            "a divisor of over 18 digits, or of over %u places", TF_MAX_NUMBER_DIGITS);
    if (!tf_grow(&b->arena.allocator, (void **)&g->divisors.items, g->divisors.n,
                 &g->divisors.capacity, sizeof *g->divisors.items))
        return no_memory(b);
    g->divisors.items[g->divisors.n++] = divisor;
    return TOKFSM_OK;
}

static tokfsm_status gather_schema(tf_build *b, void *context, const tf_schema *s)
{
    gathering *g = context;
    TF_TRY(add_bound(b, g, s->minimum));
    TF_TRY(add_bound(b, g, s->maximum));
    TF_TRY(add_bound(b, g, s->exclusive_minimum));
    TF_TRY(add_bound(b, g, s->exclusive_maximum));
    return add_divisor(b, g, s);
}

static tokfsm_status gather_node(tf_build *b, void *context, uint32_t node)
{
    (void)b, (void)context, (void)node;
    return TOKFSM_OK;
}

static void widen(uint32_t *most, uint32_t n)
{
    if (n > *most)
        *most = n;
}

tokfsm_status tf_number_facts_of(tf_build *b, const tf_value *value, tf_number_facts *facts)
{
    gathering g = {0};
    memset(facts, 0, sizeof *facts);
    tokfsm_status status = tf_visit_in_place(b, value, gather_schema, gather_node, &g);
    facts->bounds = tf_take(b, g.bounds.n * sizeof *facts->bounds, &status);
    facts->divisors = tf_take(b, g.divisors.n * sizeof *facts->divisors, &status);
    if (status == TOKFSM_OK) {
        facts->n_bounds = (uint32_t)g.bounds.n;
        facts->n_divisors = (uint32_t)g.divisors.n;
        for (size_t i = 0; i < g.bounds.n; i++) {
            facts->bounds[i] = g.bounds.items[i];
            widen(&facts->n_integer, facts->bounds[i].n_integer + 1);
            widen(&facts->n_fraction, facts->bounds[i].n_fraction + 1);
        }
        for (size_t i = 0; i < g.divisors.n; i++) {
            facts->divisors[i] = g.divisors.items[i];
            widen(&facts->n_fraction, facts->divisors[i].n_fraction + 1);
        }
    }
    tf_release(&b->arena.allocator, g.bounds.items);
    tf_release(&b->arena.allocator, g.divisors.items);
    return status;
}

/* Sticky mark in a divisor's word: a digit past its last place is not zero. */
#define OFF_PLACE (UINT64_C(1) << 63)

void tf_number_facts_digit(const tf_number_facts *facts, uint64_t *state, bool fraction,
                           uint32_t position, uint32_t digit)
{
    for (uint32_t i = 0; i < facts->n_bounds; i++) {
        const tf_bound *bound = &facts->bounds[i];
        if (!fraction && position >= bound->n_integer) {
            state[i] = TF_MORE; /* a longer integer part is judged by its length */
            continue;
        }
        if (state[i] != TF_SAME)
            continue;
        uint32_t other = digit_of(&bound->value, fraction, position);
        state[i] = digit < other ? TF_LESS : digit > other ? TF_MORE : TF_SAME;
    }
    for (uint32_t i = 0; i < facts->n_divisors; i++) {
        const tf_divisor *divisor = &facts->divisors[i];
        uint64_t *rest = &state[facts->n_bounds + i];
        if (fraction && position >= divisor->n_fraction) {
            if (digit != 0)
                *rest = OFF_PLACE;
            continue;
        }
        *rest = (*rest * 10 + digit) % divisor->number;
    }
}

void tf_number_facts_point(const tf_number_facts *facts, uint64_t *state, uint32_t n)
{
    for (uint32_t i = 0; i < facts->n_bounds; i++) {
        if (n < facts->bounds[i].n_integer)
            state[i] = TF_LESS;
        else if (n > facts->bounds[i].n_integer)
            state[i] = TF_MORE;
    }
    /* Of a divisor without places only whether it divides matters from here on. */
    for (uint32_t i = 0; i < facts->n_divisors; i++) {
        uint64_t *rest = &state[facts->n_bounds + i];
        if (facts->divisors[i].n_fraction == 0 && *rest != 0)
            *rest = OFF_PLACE;
    }
}

int tf_number_facts_compare(const tf_number_facts *facts, const uint64_t *state, uint32_t i,
                            bool negative, bool zero, bool fraction, uint32_t n)
{
    const tf_bound *bound = &facts->bounds[i];
    bool bound_zero = bound->value.n_digits == 0, bound_negative = bound->value.negative != 0;
    if (zero || bound_zero) {
        if (zero)
            return bound_zero ? 0 : bound_negative ? 1 : -1;
        return negative ? -1 : 1;
    }
    if (negative != bound_negative)
        return negative ? -1 : 1;
    uint64_t magnitude = state[i];
    if (!fraction)
        magnitude = n < bound->n_integer ? TF_LESS : n > bound->n_integer ? TF_MORE : magnitude;
    if (magnitude == TF_SAME && (fraction ? n : 0) < bound->n_fraction)
        magnitude = TF_LESS; /* the bound has digits left, the last of which is not zero */
    int sign = magnitude == TF_SAME ? 0 : magnitude == TF_LESS ? -1 : 1;
    return negative ? -sign : sign;
}

bool tf_number_facts_divides(const tf_number_facts *facts, const uint64_t *state, uint32_t i,
                             bool fraction, uint32_t n)
{
    const tf_divisor *divisor = &facts->divisors[i];
    uint64_t rest = state[facts->n_bounds + i];
    if (rest & OFF_PLACE)
        return false;
    for (uint32_t k = fraction ? n : 0; k < divisor->n_fraction; k++)
        rest = rest * 10 % divisor->number;
    return rest == 0;
}
