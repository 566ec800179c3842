/*
 * Exact decimals: the text of a JSON number as sign, digits and exponent. The value is
 * (-1)^negative * 0.d1 d2 ... dn * 10^point, without leading or trailing zero digits; zero has
 * n_digits 0, negative 0, point 0. So equal values have equal records.
 */
#ifndef TF_DECIMAL_H
#define TF_DECIMAL_H

#include "../base/alloc.h"

typedef struct tf_decimal {
    const uint8_t *digits; /* 0..9, in the arena */
    uint32_t n_digits;
    int32_t point;
    uint32_t negative; /* 0 or 1 */
} tf_decimal;

/* From the text of a JSON number (checked already). E_LIMIT where the exponent is past
   +-1,000,000 or there are more than 1,000,000 digits, both as written; E_NOMEM. */
tokfsm_status tf_decimal_read(tf_decimal *value, const char *text, size_t n_bytes,
                              tf_arena *arena, tokfsm_error *err);
/* -1, 0, 1 */
int tf_decimal_compare(const tf_decimal *a, const tf_decimal *b);
bool tf_decimal_is_integer(const tf_decimal *value);
/* The value as a non-negative integer of at most 64 bits; false if it is none. 5.0 is 5. */
bool tf_decimal_to_u64(const tf_decimal *value, uint64_t *out);
uint64_t tf_decimal_hash(const tf_decimal *value);

/* Equality and hash by value straight from texts: no memory, no limit on the exponent. The
   hash is that of tf_decimal_hash. */
bool tf_decimal_text_equal(const char *a, size_t n_a_bytes, const char *b, size_t n_b_bytes);
uint64_t tf_decimal_text_hash(const char *text, size_t n_bytes);

#endif
