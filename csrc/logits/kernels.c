/* Which kernels there are, and those for any processor. */
#include "kernels.h"

/* A word at a time: most words of a mask are all of one kind, and allowed ones are not read. */
#define APPLY(bits)                                                                               \
    static void apply_##bits(const uint32_t *words, size_t n, char *logits, uint##bits##_t refused) \
    {                                                                                             \
        for (size_t w = 0; w < n / 32; w++) {                                                     \
            const uint32_t word = words[w];                                                       \
            char *at = logits + w * 32 * sizeof refused;                                          \
            if (word == 0)                                                                        \
                for (size_t j = 0; j < 32; j++)                                                   \
                    memcpy(at + j * sizeof refused, &refused, sizeof refused);                    \
            else if (word != UINT32_MAX)                                                          \
                for (uint32_t j = 0; j < 32; j++) { /* without a branch: half of them would miss */ \
                    uint##bits##_t old;                                                           \
                    const uint##bits##_t keep = (uint##bits##_t) - (uint##bits##_t)(word >> j & 1u); \
                    memcpy(&old, at + j * sizeof old, sizeof old);                                \
                    old = (uint##bits##_t)((old & keep) | (refused & ~keep));                     \
                    memcpy(at + j * sizeof old, &old, sizeof old);                                \
                }                                                                                 \
        }                                                                                         \
        tf_apply_rest_##bits(words, n / 32 * 32, n, logits, refused);                             \
    }

APPLY(16)
APPLY(32)
APPLY(64)

static bool runs(void) { return true; }

const tf_kernels tf_kernels_portable = {"portable", runs, apply_16, apply_32, apply_64};

static const tf_kernels *const all[] = {
#if defined(TF_KERNELS_X86)
    &tf_kernels_avx512, &tf_kernels_avx2,
#elif defined(TF_KERNELS_NEON)
    &tf_kernels_neon,
#endif
    &tf_kernels_portable};

const tf_kernels *tf_kernels_at(size_t i)
{
    return i < sizeof all / sizeof *all ? all[i] : NULL;
}

const tf_kernels *tf_kernels_best(void)
{
    size_t i = 0;
    while (!all[i]->runs())
        i++;
    return all[i];
}
