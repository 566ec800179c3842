/*
 * What the number keywords of a position compare a value with: bounds and divisors. Each is
 * followed digit by digit with a few bits of state, exactly.
 */
#ifndef TF_NUMBER_FACTS_H
#define TF_NUMBER_FACTS_H

#include "build.h"

/* Digits of a number's plain spelling, before the point and after it. */
#define TF_MAX_NUMBER_DIGITS 10000u

typedef struct tf_bound {
    tf_decimal value;               /* as in the schema */
    uint32_t n_integer, n_fraction; /* digits of its plain spelling */
} tf_bound;

/* A value is a multiple of number / 10^n_fraction. */
typedef struct tf_divisor {
    tf_decimal value;
    uint64_t number;
    uint32_t n_fraction;
} tf_divisor;

typedef struct tf_number_facts {
    tf_bound *bounds;
    tf_divisor *divisors;
    uint32_t n_bounds, n_divisors;
    uint32_t n_integer, n_fraction; /* most digits that any of them looks at */
} tf_number_facts;

/* Digits against the bounds: how the digits so far relate to as many of the bound's. */
enum { TF_SAME, TF_LESS, TF_MORE };

/* A divisor as an integer over a power of ten; false: it has over 18 digits, or too many
   places. */
bool tf_divisor_of(const tf_decimal *value, tf_divisor *divisor);
/* The facts of all schemas in place. E_LIMIT for a divisor that is too large. */
tokfsm_status tf_number_facts_of(tf_build *b, const tf_value *value, tf_number_facts *facts);
/* One more digit at `position` of the integer part or the fraction. */
void tf_number_facts_digit(const tf_number_facts *facts, uint64_t *state, bool fraction,
                           uint32_t position, uint32_t digit);
/* The integer part has ended after n digits. */
void tf_number_facts_point(const tf_number_facts *facts, uint64_t *state, uint32_t n);
/* -1, 0, 1: the value that ends here against bound i; `n` digits of the part it is in. */
int tf_number_facts_compare(const tf_number_facts *facts, const uint64_t *state, uint32_t i,
                            bool negative, bool zero, bool fraction, uint32_t n);
/* Whether the value that ends here is a multiple of divisor i. */
bool tf_number_facts_divides(const tf_number_facts *facts, const uint64_t *state, uint32_t i,
                             bool fraction, uint32_t n);
/* Words of state: one a bound, one a divisor. */
static inline uint32_t tf_number_facts_words(const tf_number_facts *facts)
{
    return facts->n_bounds + facts->n_divisors;
}

#endif
