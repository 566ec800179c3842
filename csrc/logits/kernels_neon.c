/* Kernels of 16-byte vectors. Allowed elements are read and written back as they are. */
#include "kernels.h"

#if defined(TF_KERNELS_NEON)
#include <arm_neon.h>

static void apply_16(const uint32_t *words, size_t n, char *logits, uint16_t refused)
{
    static const uint16_t LANES[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    const uint16x8_t fill = vdupq_n_u16(refused), lane = vld1q_u16(LANES);
    for (size_t w = 0; w < n / 32; w++) {
        const uint32_t word = words[w];
        uint8_t *at = (uint8_t *)logits + w * 64;
        if (word == UINT32_MAX)
            continue;
        for (uint32_t part = 0; part < 4; part++, at += 16) {
            const uint16x8_t keep = vtstq_u16(vdupq_n_u16((uint16_t)(word >> (8 * part) & 0xFFu)), lane);
            const uint16x8_t old = vreinterpretq_u16_u8(vld1q_u8(at));
            vst1q_u8(at, vreinterpretq_u8_u16(vbslq_u16(keep, old, fill)));
        }
    }
    tf_apply_rest_16(words, n / 32 * 32, n, logits, refused);
}

static void apply_32(const uint32_t *words, size_t n, char *logits, uint32_t refused)
{
    static const uint32_t LANES[4] = {1, 2, 4, 8};
    const uint32x4_t fill = vdupq_n_u32(refused), lane = vld1q_u32(LANES);
    for (size_t w = 0; w < n / 32; w++) {
        const uint32_t word = words[w];
        uint8_t *at = (uint8_t *)logits + w * 128;
        if (word == UINT32_MAX)
            continue;
        for (uint32_t part = 0; part < 8; part++, at += 16) {
            const uint32x4_t keep = vtstq_u32(vdupq_n_u32(word >> (4 * part)), lane);
            const uint32x4_t old = vreinterpretq_u32_u8(vld1q_u8(at));
            vst1q_u8(at, vreinterpretq_u8_u32(vbslq_u32(keep, old, fill)));
        }
    }
    tf_apply_rest_32(words, n / 32 * 32, n, logits, refused);
}

static void apply_64(const uint32_t *words, size_t n, char *logits, uint64_t refused)
{
    static const uint64_t LANES[2] = {1, 2};
    const uint64x2_t fill = vdupq_n_u64(refused), lane = vld1q_u64(LANES);
    for (size_t w = 0; w < n / 32; w++) {
        const uint32_t word = words[w];
        uint8_t *at = (uint8_t *)logits + w * 256;
        if (word == UINT32_MAX)
            continue;
        for (uint32_t part = 0; part < 16; part++, at += 16) {
            const uint64x2_t keep = vtstq_u64(vdupq_n_u64(word >> (2 * part)), lane);
            const uint64x2_t old = vreinterpretq_u64_u8(vld1q_u8(at));
            vst1q_u8(at, vreinterpretq_u8_u64(vbslq_u64(keep, old, fill)));
        }
    }
    tf_apply_rest_64(words, n / 32 * 32, n, logits, refused);
}

static bool runs(void) { return true; } /* every 64-bit Arm has it */

const tf_kernels tf_kernels_neon = {"neon", runs, apply_16, apply_32, apply_64};
#else
typedef int tf_kernels_neon_absent; /* a file needs one declaration */
#endif
