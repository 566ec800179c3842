/* Rows of bits: uint32 words, least significant bit first. */
#ifndef TF_BITS_H
#define TF_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t tf_n_words(size_t n_bits) { return (n_bits + 31u) / 32u; }
static inline bool tf_bit(const uint32_t *row, size_t i)
{
    return (row[i >> 5] >> (i & 31u)) & 1u;
}
static inline void tf_set(uint32_t *row, size_t i) { row[i >> 5] |= (uint32_t)1 << (i & 31u); }
static inline void tf_clear(uint32_t *row, size_t i)
{
    row[i >> 5] &= ~((uint32_t)1 << (i & 31u));
}
/* Ask for the cache line at `address`, to be there when it is read. */
static inline void tf_fetch(const void *address)
{
#if defined(__GNUC__)
    __builtin_prefetch(address);
#else
    (void)address;
#endif
}

#endif
