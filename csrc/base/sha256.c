/*
 * FIPS 180-4, §6.2. About 250 MB/s; with the processor's own instructions, where it has them
 * and the compiler can ask for that, six times as fast.
 */
#include "sha256.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define SHA_INSTRUCTIONS
#include <immintrin.h>
#endif

static const uint32_t ROUND[64] = {
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u,
    0x923f82a4u, 0xab1c5ed5u, 0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u,
    0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u, 0xe49b69c1u, 0xefbe4786u,
    0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
    0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u,
    0x06ca6351u, 0x14292967u, 0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u,
    0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u, 0xa2bfe8a1u, 0xa81a664bu,
    0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
    0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au,
    0x5b9cca4fu, 0x682e6ff3u, 0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u,
    0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u};

static inline uint32_t rotate(uint32_t x, unsigned n) { return x >> n | x << (32u - n); }

static void compress_one(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64];
    for (unsigned i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | (uint32_t)block[4 * i + 3];
    for (unsigned i = 16; i < 64; i++) {
        uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (unsigned i = 0; i < 64; i++) {
        uint32_t t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                      ((e & f) ^ (~e & g)) + ROUND[i] + w[i];
        uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                      ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

#ifdef SHA_INSTRUCTIONS
/*
 * The instructions keep the state as (a b e f) and (c d g h), highest first, and do two rounds
 * at a time; four words of the schedule come from the sixteen before.
 */
#define TARGET __attribute__((target("sha,sse4.1,ssse3")))

TARGET static inline __m128i load(const void *from)
{
    return _mm_loadu_si128((const __m128i *)from);
}

#define FOUR_ROUNDS(i, message)                                                            \
    do {                                                                                   \
        __m128i both = _mm_add_epi32(message, load(ROUND + (i)));                          \
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, both);                                    \
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(both, 0x0E));           \
    } while (0)

TARGET static void compress_fast(uint32_t state[8], const uint8_t *blocks, size_t n_blocks)
{
    const __m128i order = _mm_set_epi64x(0x0C0D0E0F08090A0BLL, 0x0405060700010203LL);
    __m128i abcd = _mm_shuffle_epi32(load(state), 0xB1);
    __m128i efgh = _mm_shuffle_epi32(load(state + 4), 0x1B);
    __m128i abef = _mm_alignr_epi8(abcd, efgh, 8), cdgh = _mm_blend_epi16(efgh, abcd, 0xF0);
    for (; n_blocks > 0; blocks += 64, n_blocks--) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
        for (unsigned i = 0; i < 4; i++) {
            w[i] = _mm_shuffle_epi8(load(blocks + 16 * i), order);
            FOUR_ROUNDS(4 * i, w[i]);
        }
        for (unsigned i = 4; i < 16; i++) {
            __m128i *oldest = &w[i & 3u], last = w[(i + 3) & 3u];
            __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(*oldest, w[(i + 1) & 3u]),
                                        _mm_alignr_epi8(last, w[(i + 2) & 3u], 4));
            *oldest = _mm_sha256msg2_epu32(sum, last);
            FOUR_ROUNDS(4 * i, *oldest);
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(feba, dchg, 0xF0));
    _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

static bool has_instructions(void)
{
    return __builtin_cpu_supports("sha") && __builtin_cpu_supports("sse4.1");
}
#else
static void compress_fast(uint32_t state[8], const uint8_t *blocks, size_t n_blocks)
{
    for (; n_blocks > 0; blocks += 64, n_blocks--)
        compress_one(state, blocks);
}

static bool has_instructions(void) { return false; }
#endif

static void compress(tf_sha256 *hash, const uint8_t *blocks, size_t n_blocks)
{
    if (hash->fast) {
        compress_fast(hash->state, blocks, n_blocks);
        return;
    }
    for (; n_blocks > 0; blocks += 64, n_blocks--)
        compress_one(hash->state, blocks);
}

void tf_sha256_init_portable(tf_sha256 *hash)
{
    static const uint32_t START[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                                      0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
    memcpy(hash->state, START, sizeof START);
    hash->n_bytes = 0;
    hash->fast = false;
}

void tf_sha256_init(tf_sha256 *hash)
{
    tf_sha256_init_portable(hash);
    hash->fast = has_instructions();
}

void tf_sha256_update(tf_sha256 *hash, const void *data, size_t n_bytes)
{
    const uint8_t *from = data;
    size_t filled = (size_t)(hash->n_bytes & 63u);
    hash->n_bytes += n_bytes;
    if (filled > 0) {
        size_t room = 64 - filled;
        if (n_bytes < room) {
            if (n_bytes > 0)
                memcpy(hash->block + filled, from, n_bytes);
            return;
        }
        memcpy(hash->block + filled, from, room);
        compress(hash, hash->block, 1);
        from += room;
        n_bytes -= room;
    }
    if (n_bytes >= 64)
        compress(hash, from, n_bytes / 64);
    if (n_bytes % 64 > 0)
        memcpy(hash->block, from + (n_bytes & ~(size_t)63), n_bytes % 64);
}

void tf_sha256_final(tf_sha256 *hash, uint8_t digest[32])
{
    uint64_t n_bits = hash->n_bytes * 8u;
    size_t filled = (size_t)(hash->n_bytes & 63u);
    hash->block[filled++] = 0x80;
    if (filled > 56) {
        memset(hash->block + filled, 0, 64 - filled);
        compress(hash, hash->block, 1);
        filled = 0;
    }
    memset(hash->block + filled, 0, 56 - filled);
    for (unsigned i = 0; i < 8; i++)
        hash->block[56 + i] = (uint8_t)(n_bits >> (56u - 8u * i));
    compress(hash, hash->block, 1);
    for (unsigned i = 0; i < 8; i++) {
        digest[4 * i] = (uint8_t)(hash->state[i] >> 24);
        digest[4 * i + 1] = (uint8_t)(hash->state[i] >> 16);
        digest[4 * i + 2] = (uint8_t)(hash->state[i] >> 8);
        digest[4 * i + 3] = (uint8_t)hash->state[i];
    }
}
