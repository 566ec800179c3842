/*
 * Kernels that lay a row of bits over contiguous logits: element i becomes `refused` where bit i
 * is 0 and keeps its bits, whatever they are, where it is 1. One set of functions for each
 * instruction set that the compiler can write for; which of them this processor runs is asked at
 * run time. Elements are told apart by their width alone; none need be aligned.
 */
#ifndef TF_KERNELS_H
#define TF_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../base/bits.h"

#if defined(__x86_64__) && (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 7))
#define TF_KERNELS_X86 1
#elif defined(__aarch64__) && defined(__ARM_NEON)
#define TF_KERNELS_NEON 1
#endif

typedef struct tf_kernels {
    const char *name;
    bool (*runs)(void); /* on this processor */
    /* `words` has a bit for each of the n elements; the bits past them are not looked at. */
    void (*apply_16)(const uint32_t *words, size_t n, char *logits, uint16_t refused);
    void (*apply_32)(const uint32_t *words, size_t n, char *logits, uint32_t refused);
    void (*apply_64)(const uint32_t *words, size_t n, char *logits, uint64_t refused);
} tf_kernels;

/* All that were compiled, the fastest first; the last one runs everywhere. NULL: no more. */
const tf_kernels *tf_kernels_at(size_t i);
/* The first that runs here. */
const tf_kernels *tf_kernels_best(void);

extern const tf_kernels tf_kernels_portable;
#if defined(TF_KERNELS_X86)
extern const tf_kernels tf_kernels_avx2, tf_kernels_avx512;
#elif defined(TF_KERNELS_NEON)
extern const tf_kernels tf_kernels_neon;
#endif

/* The elements from `from` on, one by one: what is left of a row behind its last whole word. */
static inline void tf_apply_rest_16(const uint32_t *words, size_t from, size_t n, char *logits,
                                    uint16_t refused)
{
    for (size_t i = from; i < n; i++)
        if (!tf_bit(words, i))
            memcpy(logits + i * sizeof refused, &refused, sizeof refused);
}
static inline void tf_apply_rest_32(const uint32_t *words, size_t from, size_t n, char *logits,
                                    uint32_t refused)
{
    for (size_t i = from; i < n; i++)
        if (!tf_bit(words, i))
            memcpy(logits + i * sizeof refused, &refused, sizeof refused);
}
static inline void tf_apply_rest_64(const uint32_t *words, size_t from, size_t n, char *logits,
                                    uint64_t refused)
{
    for (size_t i = from; i < n; i++)
        if (!tf_bit(words, i))
            memcpy(logits + i * sizeof refused, &refused, sizeof refused);
}

#endif
