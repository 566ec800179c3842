/* The insides of numbers, shared by numbers.c and number_states.c. */
#ifndef TF_NUMBERS_H
#define TF_NUMBERS_H

#include "number_facts.h"

/* A number among the enum values of the position. */
typedef struct constant {
    tf_decimal value;
    uint32_t node;
    uint32_t n_integer, n_fraction; /* digits of the plain spelling; fraction without zeros */
    const uint64_t *plain;    /* outcome when spelled without a point */
    const uint64_t *pointed;  /* ... with one */
} constant;

typedef struct outcome_table outcome_table; /* number_outcomes.c */
enum { N_TABLE_HEADS = 64 };                /* a power of two */

/* What all states of one position share. */
typedef struct numbers {
    tf_number_rules rules;
    const tf_value *value;
    constant *constants;
    uint32_t n_constants;
    tf_number_facts facts;
    /* Outcomes of numbers that are no constant; without bounds and divisors (else each end is
       evaluated): of 2, of 2.0, of 2.5. */
    const uint64_t *integer, *pointed, *fraction;
    const uint64_t *nothing; /* an outcome: no obligation */
    outcome_table *tables[N_TABLE_HEADS];
    uint32_t id;
} numbers;

/* A number that ends, where something compares. */
typedef struct tf_ending {
    const uint64_t *facts; /* see number_facts.h */
    uint32_t digits;       /* of the part it is in */
    bool is_integer, pointed, negative, zero, fraction;
} tf_ending;

/* Whether bounds or divisors are in place. */
static inline bool tf_numbers_compare(const numbers *of)
{
    return tf_number_facts_words(&of->facts) > 0;
}

tokfsm_status tf_numbers_no_memory(tf_build *b);
/* Digit i of the integer or fraction part of a constant's plain spelling. */
uint32_t tf_constant_digit(const constant *c, bool fraction, uint32_t i);
/* Strike out of `integers_only` who admits a number that the schema writes with a point. */
tokfsm_status tf_numbers_pointed(tf_build *b, const tf_value *value, uint64_t *integers_only);

/* number_outcomes.c: the obligations that it meets if it is no constant; with `any_divisor` as if
   every divisor divided it. */
tokfsm_status tf_number_outcome(tf_build *b, numbers *of, const tf_ending *e, bool any_divisor,
                                const uint64_t **outcome);

/* number_states.c: the state before the first byte, or &tf_number_dead. Where something
   compares, all states but those of exponents are made, and the rules are written. */
tokfsm_status tf_number_start(tf_build *b, numbers *of, const tf_nstate **start);

/* With max_digits: obligations that constrain a number are none that any number satisfies. */
tokfsm_status tf_numbers_constrained(tf_build *b, const numbers *of);

#endif
