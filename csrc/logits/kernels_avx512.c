/* Kernels of 64-byte vectors: a word of the row is the mask of a store, and nothing is read. */
#include "kernels.h"

#if defined(TF_KERNELS_X86)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw")))

AVX512 static void apply_16(const uint32_t *words, size_t n, char *logits, uint16_t refused)
{
    const __m512i fill = _mm512_set1_epi16((short)refused);
    for (size_t w = 0; w < n / 32; w++)
        if (words[w] != UINT32_MAX)
            _mm512_mask_storeu_epi16(logits + w * 64, ~words[w], fill);
    tf_apply_rest_16(words, n / 32 * 32, n, logits, refused);
}

AVX512 static void apply_32(const uint32_t *words, size_t n, char *logits, uint32_t refused)
{
    const __m512i fill = _mm512_set1_epi32((int)refused);
    for (size_t w = 0; w < n / 32; w++) {
        const uint32_t clear = ~words[w];
        if (clear == 0)
            continue;
        _mm512_mask_storeu_epi32(logits + w * 128, (__mmask16)clear, fill);
        _mm512_mask_storeu_epi32(logits + w * 128 + 64, (__mmask16)(clear >> 16), fill);
    }
    tf_apply_rest_32(words, n / 32 * 32, n, logits, refused);
}

AVX512 static void apply_64(const uint32_t *words, size_t n, char *logits, uint64_t refused)
{
    const __m512i fill = _mm512_set1_epi64((long long)refused);
    for (size_t w = 0; w < n / 32; w++) {
        const uint32_t clear = ~words[w];
        if (clear == 0)
            continue;
        for (int part = 0; part < 4; part++)
            _mm512_mask_storeu_epi64(logits + w * 256 + 64 * part, (__mmask8)(clear >> (8 * part)), fill);
    }
    tf_apply_rest_64(words, n / 32 * 32, n, logits, refused);
}

static bool runs(void)
{
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0;
}

const tf_kernels tf_kernels_avx512 = {"avx512", runs, apply_16, apply_32, apply_64};
#else
typedef int tf_kernels_avx512_absent; /* a file needs one declaration */
#endif
