/*
 * Hashes of bytes and words for tables in memory. Fast, equal on all machines, not
 * collision-resistant: whoever uses one bounds the cost of collisions by other means.
 */
#ifndef TF_TAPE_HASH_H
#define TF_TAPE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define TF_HASH_MULTIPLIER UINT64_C(0x9E3779B97F4A7C15)
#define TF_HASH_INVERSE UINT64_C(0xF1DE83E19937733D) /* of the multiplier, modulo 2^64 */

/* Eight bytes, least significant first. */
static inline uint64_t tf_hash_load(const void *bytes)
{
    const uint8_t *p = bytes;
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

static inline uint64_t tf_hash_step(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * TF_HASH_MULTIPLIER;
    return hash ^ hash >> 32;
}

static inline uint64_t tf_hash_end(uint64_t hash)
{
    hash = (hash ^ hash >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    return hash ^ hash >> 32;
}

/* Words of eight bytes, the last one padded with zeros, then the length. */
static inline uint64_t tf_hash_bytes(const void *bytes, size_t n_bytes)
{
    const uint8_t *p = bytes;
    uint64_t hash = TF_HASH_MULTIPLIER;
    size_t left = n_bytes;
    for (; left >= 8; left -= 8, p += 8)
        hash = tf_hash_step(hash, tf_hash_load(p));
    if (left > 0) {
        uint64_t word = 0;
        for (size_t k = 0; k < left; k++)
            word |= (uint64_t)p[k] << (8 * k);
        hash = tf_hash_step(hash, word);
    }
    return tf_hash_end(tf_hash_step(hash, n_bytes));
}

#endif
