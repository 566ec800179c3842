#include "number_facts.h"

#include <stdlib.h>

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

static int compare_values(const void *a, const void *b)
{
    const tf_bound *x = a, *y = b;
    return tf_decimal_compare(&x->value, &y->value);
}

/* Digits of the fraction, and where they are the same as they stand: the two lists agree on
   bounds whose integer parts are equal. */
static int compare_fractions(const tf_bound *x, const tf_bound *y)
{
    uint32_t n = x->n_fraction > y->n_fraction ? x->n_fraction : y->n_fraction;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t a = digit_of(&x->value, true, i), b = digit_of(&y->value, true, i);
        if (a != b)
            return a < b ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

static int compare_spelled(const void *a, const void *b)
{
    const tf_bound *x = *(const tf_bound *const *)a, *y = *(const tf_bound *const *)b;
    for (uint32_t i = 0; i < x->n_integer && i < y->n_integer; i++) {
        uint32_t p = digit_of(&x->value, false, i), q = digit_of(&y->value, false, i);
        if (p != q)
            return p < q ? -1 : 1;
    }
    if (x->n_integer != y->n_integer)
        return x->n_integer < y->n_integer ? -1 : 1;
    return compare_fractions(x, y);
}

static int compare_sized(const void *a, const void *b)
{
    const tf_bound *x = *(const tf_bound *const *)a, *y = *(const tf_bound *const *)b;
    if (x->n_integer != y->n_integer)
        return x->n_integer < y->n_integer ? -1 : 1;
    return compare_spelled(a, b);
}

static tokfsm_status sort_bounds(tf_build *b, tf_number_facts *facts)
{
    tokfsm_status status = TOKFSM_OK;
    uint32_t n = facts->n_bounds;
    facts->spelled = tf_take(b, n * sizeof *facts->spelled, &status);
    facts->sized = tf_take(b, n * sizeof *facts->sized, &status);
    const tf_bound **order = tf_take(b, n * sizeof *order, &status);
    if (status != TOKFSM_OK || n == 0)
        return status;
    for (uint32_t i = 0; i < n; i++)
        order[i] = &facts->bounds[i];
    qsort(order, n, sizeof *order, compare_spelled);
    for (uint32_t i = 0; i < n; i++) {
        facts->spelled[i] = (uint32_t)(order[i] - facts->bounds);
        facts->bounds[facts->spelled[i]].at_spelled = i;
    }
    qsort(order, n, sizeof *order, compare_sized);
    for (uint32_t i = 0; i < n; i++) {
        facts->sized[i] = (uint32_t)(order[i] - facts->bounds);
        facts->bounds[facts->sized[i]].at_sized = i;
    }
    return TOKFSM_OK;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Remainders by more could not take another digit. */
#define MAX_MODULUS UINT64_C(1000000000000000000)

/* The least common multiple, or 0: it is too large. */
static uint64_t common_multiple(uint64_t a, uint64_t b)
{
    a /= common_divisor(a, b);
    return a > MAX_MODULUS / b ? 0 : a * b;
}

/* The divisor's modulus: the first of its places that has room for it. */
static void join_modulus(tf_number_facts *facts, tf_divisor *divisor)
{
    for (uint32_t i = 0; i < facts->n_moduli; i++) {
        tf_modulus *known = &facts->moduli[i];
        uint64_t both = common_multiple(known->number, divisor->number);
        if (known->n_fraction != divisor->n_fraction || both == 0)
            continue;
        known->number = both;
        divisor->modulus = i;
        return;
    }
    divisor->modulus = facts->n_moduli;
    facts->moduli[facts->n_moduli++] = (tf_modulus){divisor->number, divisor->n_fraction};
}

tokfsm_status tf_number_facts_of(tf_build *b, const tf_value *value, tf_number_facts *facts)
{
    gathering g = {0};
    memset(facts, 0, sizeof *facts);
    tokfsm_status status = tf_visit_in_place(b, value, gather_schema, gather_node, &g);
    facts->bounds = tf_take(b, g.bounds.n * sizeof *facts->bounds, &status);
    facts->divisors = tf_take(b, g.divisors.n * sizeof *facts->divisors, &status);
    facts->moduli = tf_take(b, g.divisors.n * sizeof *facts->moduli, &status);
    if (status == TOKFSM_OK) {
        if (g.bounds.n > 1)
            qsort(g.bounds.items, g.bounds.n, sizeof *g.bounds.items, compare_values);
        for (size_t i = 0; i < g.bounds.n; i++) {
            if (i > 0 && compare_values(&g.bounds.items[i - 1], &g.bounds.items[i]) == 0)
                continue;
            facts->bounds[facts->n_bounds++] = g.bounds.items[i];
            if (g.bounds.items[i].value.n_digits > 0)
                widen(&facts->n_integer[g.bounds.items[i].value.negative != 0],
                      g.bounds.items[i].n_integer + 1);
            widen(&facts->n_fraction, g.bounds.items[i].n_fraction + 1);
        }
        status = sort_bounds(b, facts);
        for (size_t i = 0; i < g.divisors.n; i++) {
            facts->divisors[facts->n_divisors] = g.divisors.items[i];
            join_modulus(facts, &facts->divisors[facts->n_divisors]);
            widen(&facts->n_fraction, facts->divisors[facts->n_divisors++].n_fraction + 1);
        }
    }
    tf_release(&b->arena.allocator, g.bounds.items);
    tf_release(&b->arena.allocator, g.divisors.items);
    return status;
}

uint32_t tf_number_facts_bound(const tf_number_facts *facts, const tf_decimal *value)
{
    uint32_t low = 0, high = facts->n_bounds;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (tf_decimal_compare(&facts->bounds[middle].value, value) <= 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint32_t tf_number_facts_divisor(const tf_number_facts *facts, const tf_decimal *value)
{
    uint32_t i = 0;
    while (tf_decimal_compare(&facts->divisors[i].value, value) != 0)
        i++;
    return i;
}

/* Sticky mark in a remainder's word: a digit past the last place is not zero. */
#define OFF_PLACE (UINT64_C(1) << 63)

static uint64_t *remainders(const tf_number_facts *facts, uint64_t *state)
{
    return state + (facts->n_bounds > 0);
}

typedef struct range {
    uint32_t low, high;
} range;

static range range_of(const uint64_t *state)
{
    return (range){(uint32_t)*state, (uint32_t)(*state >> 32)};
}

/* The first in the range whose next digit is at least `digit`; bounds that have none there come
   first. */
static uint32_t first_at_least(const tf_number_facts *facts, range in, bool fraction,
                               uint32_t position, uint32_t digit)
{
    const uint32_t *list = fraction ? facts->sized : facts->spelled;
    while (in.low < in.high) {
        uint32_t middle = in.low + (in.high - in.low) / 2;
        const tf_bound *bound = &facts->bounds[list[middle]];
        if ((fraction || position < bound->n_integer) &&
            digit_of(&bound->value, fraction, position) >= digit)
            in.high = middle;
        else
            in.low = middle + 1;
    }
    return in.low;
}

static void follow_bounds(const tf_number_facts *facts, uint64_t *state, bool negative, bool fraction,
                          uint32_t position, uint32_t digit)
{
    range in = range_of(state);
    if (!fraction && position == 0)
        in = (range){0, facts->n_bounds};
    if (facts->n_integer[negative] == 0 || (!fraction && position + 1 >= facts->n_integer[negative])) {
        *state = 0; /* longer than every bound of its sign */
        return;
    }
    uint32_t low = first_at_least(facts, in, fraction, position, digit);
    in.low = low;
    uint32_t high = first_at_least(facts, in, fraction, position, digit + 1);
    /* Shorter ones are less wherever they stand: where no bound is left, one place for all. */
    while (!fraction && low == high && low > 0 &&
           facts->bounds[facts->spelled[low - 1]].n_integer <= position)
        high = --low;
    *state = low | (uint64_t)high << 32;
}

void tf_number_facts_digit(const tf_number_facts *facts, uint64_t *state, bool negative, bool fraction,
                           uint32_t position, uint32_t digit)
{
    if (facts->n_bounds > 0)
        follow_bounds(facts, state, negative, fraction, position, digit);
    for (uint32_t i = 0; i < facts->n_moduli; i++) {
        const tf_modulus *modulus = &facts->moduli[i];
        uint64_t *rest = &remainders(facts, state)[i];
        if (fraction && position >= modulus->n_fraction) {
            if (digit != 0)
                *rest = OFF_PLACE;
            continue;
        }
        *rest = (*rest * 10 + digit) % modulus->number;
    }
}

void tf_number_facts_point(const tf_number_facts *facts, uint64_t *state, uint32_t n)
{
    if (facts->n_bounds > 0) {
        /* From texts to magnitudes: bounds of fewer digits, then those of as many before it. */
        range in = range_of(state);
        uint32_t low = 0, high = facts->n_bounds, same = in.low;
        while (same < in.high && facts->bounds[facts->spelled[same]].n_integer == n)
            same++;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            const tf_bound *bound = &facts->bounds[facts->sized[middle]];
            if (bound->n_integer < n || (bound->n_integer == n && bound->at_spelled < in.low))
                low = middle + 1;
            else
                high = middle;
        }
        *state = low | (uint64_t)(low + (same - in.low)) << 32;
    }
    /* Of divisors without places only whether they divide matters from here on: to what all that
       do have in common. */
    for (uint32_t i = 0; i < facts->n_moduli; i++) {
        uint64_t *rest = &remainders(facts, state)[i], common = 1;
        if (facts->moduli[i].n_fraction > 0)
            continue;
        for (uint32_t k = 0; k < facts->n_divisors; k++)
            if (facts->divisors[k].modulus == i && *rest % facts->divisors[k].number == 0)
                common = common_multiple(common, facts->divisors[k].number);
        *rest = common;
    }
}

/* How the digits so far stand to as many of the bound's. */
static int magnitude_against(const tf_bound *bound, const uint64_t *state, bool fraction, uint32_t n)
{
    range in = range_of(state);
    uint32_t at = fraction ? bound->at_sized : bound->at_spelled;
    if (!fraction && n != bound->n_integer)
        return n < bound->n_integer ? -1 : 1;
    if (at < in.low || at >= in.high)
        return at < in.low ? 1 : -1;
    /* The last digit of a fraction is not zero. */
    return (fraction ? n : 0) < bound->n_fraction ? -1 : 0;
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
    int sign = magnitude_against(bound, state, fraction, n);
    return negative ? -sign : sign;
}

bool tf_number_facts_divides(const tf_number_facts *facts, const uint64_t *state, uint32_t i,
                             bool fraction, uint32_t n)
{
    const tf_divisor *divisor = &facts->divisors[i];
    uint64_t rest = state[(facts->n_bounds > 0) + divisor->modulus];
    if (rest & OFF_PLACE)
        return false;
    for (uint32_t k = fraction ? n : 0; k < divisor->n_fraction; k++)
        rest = rest * 10 % facts->moduli[divisor->modulus].number;
    return rest % divisor->number == 0;
}
