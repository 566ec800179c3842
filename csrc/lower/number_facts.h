/*
 * What the number keywords of a position compare a value with: bounds and divisors, followed digit
 * by digit, exactly. However many there are, the state is small: the bounds whose digits are those
 * so far stand side by side in a sorted list, and the divisors of one number of places are looked
 * at through the remainder by their least common multiple.
 */
#ifndef TF_NUMBER_FACTS_H
#define TF_NUMBER_FACTS_H

#include "build.h"

/* Digits of a number's plain spelling, before the point and after it. */
#define TF_MAX_NUMBER_DIGITS 10000u

typedef struct tf_bound {
    tf_decimal value;               /* as in the schema */
    uint32_t n_integer, n_fraction; /* digits of its plain spelling */
    uint32_t at_spelled, at_sized;  /* its places in the two lists */
} tf_bound;

/* A value is a multiple of number / 10^n_fraction. */
typedef struct tf_divisor {
    tf_decimal value;
    uint64_t number;
    uint32_t n_fraction;
    uint32_t modulus; /* of `moduli`: a multiple of `number` with as many places */
} tf_divisor;

typedef struct tf_modulus {
    uint64_t number;
    uint32_t n_fraction;
} tf_modulus;

typedef struct tf_number_facts {
    tf_bound *bounds; /* by value, each once */
    tf_divisor *divisors;
    tf_modulus *moduli;
    /* The bounds by their digits: as texts, a text before those that it begins; and by magnitude. */
    uint32_t *spelled, *sized;
    uint32_t n_bounds, n_divisors, n_moduli;
    /* Most digits that any of them looks at; before the point, of numbers that are negative or not:
       the sign alone decides against the other bounds. */
    uint32_t n_integer[2], n_fraction;
} tf_number_facts;

/* A divisor as an integer over a power of ten; false: it has over 18 digits, or too many
   places. */
bool tf_divisor_of(const tf_decimal *value, tf_divisor *divisor);
/* The facts of all schemas in place. E_LIMIT for a divisor that is too large. */
tokfsm_status tf_number_facts_of(tf_build *b, const tf_value *value, tf_number_facts *facts);
/* One more digit at `position` of the integer part or the fraction. */
void tf_number_facts_digit(const tf_number_facts *facts, uint64_t *state, bool negative, bool fraction,
                           uint32_t position, uint32_t digit);
/* The integer part has ended after n digits. */
void tf_number_facts_point(const tf_number_facts *facts, uint64_t *state, uint32_t n);
/* -1, 0, 1: the value that ends here against bound i; `n` digits of the part it is in. */
int tf_number_facts_compare(const tf_number_facts *facts, const uint64_t *state, uint32_t i,
                            bool negative, bool zero, bool fraction, uint32_t n);
/* Whether the value that ends here is a multiple of divisor i. */
bool tf_number_facts_divides(const tf_number_facts *facts, const uint64_t *state, uint32_t i,
                             bool fraction, uint32_t n);
/* Words of state: the bounds whose digits agree, as a range of a list; a remainder a modulus. */
static inline uint32_t tf_number_facts_words(const tf_number_facts *facts)
{
    return (facts->n_bounds > 0) + facts->n_moduli;
}
/* The bound that equals `value`; one does. */
uint32_t tf_number_facts_bound(const tf_number_facts *facts, const tf_decimal *value);
uint32_t tf_number_facts_divisor(const tf_number_facts *facts, const tf_decimal *value);

#endif
