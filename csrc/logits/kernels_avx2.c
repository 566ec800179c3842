/* Kernels of 32-byte vectors. Allowed elements are read and written back as they are. */
#include "kernels.h"

#if defined(TF_KERNELS_X86)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

AVX2 static void apply_16(const uint32_t *words, size_t n, char *logits, uint16_t refused)
{
    const __m256i fill = _mm256_set1_epi16((short)refused);
    const __m256i lane = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096,
                                           8192, 16384, (short)0x8000);
    for (size_t w = 0; w < n / 32; w++) {
        const uint32_t word = words[w];
        __m256i *at = (__m256i *)(void *)(logits + w * 64);
        if (word == UINT32_MAX)
            continue;
        for (int half = 0; half < 2; half++) {
            const __m256i bits = _mm256_set1_epi16((short)(word >> (16 * half)));
            const __m256i keep = _mm256_cmpeq_epi16(_mm256_and_si256(bits, lane), lane);
            __m256i old = fill;
            if (word != 0)
                old = _mm256_blendv_epi8(fill, _mm256_loadu_si256(at + half), keep);
            _mm256_storeu_si256(at + half, old);
        }
    }
    tf_apply_rest_16(words, n / 32 * 32, n, logits, refused);
}

AVX2 static void apply_32(const uint32_t *words, size_t n, char *logits, uint32_t refused)
{
    const __m256i fill = _mm256_set1_epi32((int)refused);
    const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    for (size_t w = 0; w < n / 32; w++) {
        const uint32_t word = words[w];
        __m256i *at = (__m256i *)(void *)(logits + w * 128);
        if (word == UINT32_MAX)
            continue;
        for (int part = 0; part < 4; part++) {
            const __m256i bits = _mm256_set1_epi32((int)(word >> (8 * part)));
            const __m256i keep = _mm256_cmpeq_epi32(_mm256_and_si256(bits, lane), lane);
            __m256i old = fill;
            if (word != 0)
                old = _mm256_blendv_epi8(fill, _mm256_loadu_si256(at + part), keep);
            _mm256_storeu_si256(at + part, old);
        }
    }
    tf_apply_rest_32(words, n / 32 * 32, n, logits, refused);
}

AVX2 static void apply_64(const uint32_t *words, size_t n, char *logits, uint64_t refused)
{
    const __m256i fill = _mm256_set1_epi64x((long long)refused);
    const __m256i lane = _mm256_setr_epi64x(1, 2, 4, 8);
    for (size_t w = 0; w < n / 32; w++) {
        const uint32_t word = words[w];
        __m256i *at = (__m256i *)(void *)(logits + w * 256);
        if (word == UINT32_MAX)
            continue;
        for (int part = 0; part < 8; part++) {
            const __m256i bits = _mm256_set1_epi64x((long long)(word >> (4 * part)));
            const __m256i keep = _mm256_cmpeq_epi64(_mm256_and_si256(bits, lane), lane);
            __m256i old = fill;
            if (word != 0)
                old = _mm256_blendv_epi8(fill, _mm256_loadu_si256(at + part), keep);
            _mm256_storeu_si256(at + part, old);
        }
    }
    tf_apply_rest_64(words, n / 32 * 32, n, logits, refused);
}

static bool runs(void) { return __builtin_cpu_supports("avx2") != 0; }

const tf_kernels tf_kernels_avx2 = {"avx2", runs, apply_16, apply_32, apply_64};
#else
typedef int tf_kernels_avx2_absent; /* a file needs one declaration */
#endif
