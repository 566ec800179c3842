/*
 * Small sets: rows of 64-bit words whose width the owner knows. One word is held in
 * place, more by pointer, so that the common case of few alternatives costs no memory.
 */
#ifndef TF_WORDS_H
#define TF_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef union tf_bits {
    uint64_t word;         /* one word */
    const uint64_t *words; /* more */
} tf_bits;

static inline uint32_t tf_words_for(uint32_t n_bits) { return n_bits <= 64 ? 1 : (n_bits + 63) / 64; }

static inline const uint64_t *tf_words(const tf_bits *bits, uint32_t n_words)
{
    return n_words == 1 ? &bits->word : bits->words;
}

static inline bool tf_word_bit(const uint64_t *words, uint32_t i)
{
    return (words[i >> 6] >> (i & 63u)) & 1u;
}

static inline void tf_word_set(uint64_t *words, uint32_t i)
{
    words[i >> 6] |= (uint64_t)1 << (i & 63u);
}

static inline bool tf_words_meet(const uint64_t *a, const uint64_t *b, uint32_t n_words)
{
    for (uint32_t i = 0; i < n_words; i++)
        if (a[i] & b[i])
            return true;
    return false;
}

static inline bool tf_words_any(const uint64_t *a, uint32_t n_words)
{
    for (uint32_t i = 0; i < n_words; i++)
        if (a[i])
            return true;
    return false;
}

/* Lowest set bit at or after i, or UINT32_MAX. */
static inline uint32_t tf_words_next(const uint64_t *a, uint32_t n_words, uint32_t i)
{
    for (uint32_t w = i >> 6; w < n_words; w++) {
        uint64_t word = a[w];
        if (w == i >> 6)
            word &= ~(uint64_t)0 << (i & 63u);
        if (word) {
            uint32_t bit = w << 6;
            while (!(word & 1u)) {
                word >>= 1;
                bit++;
            }
            return bit;
        }
    }
    return UINT32_MAX;
}

#endif
