/* SHA-256 (FIPS 180-4), for fingerprints. */
#ifndef TF_SHA256_H
#define TF_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tf_sha256 {
    uint32_t state[8];
    uint64_t n_bytes;
    uint8_t block[64];
    bool fast; /* the processor has instructions for it */
} tf_sha256;

void tf_sha256_init(tf_sha256 *hash);
/* The same without the processor's instructions, whose results tests compare. */
void tf_sha256_init_portable(tf_sha256 *hash);
void tf_sha256_update(tf_sha256 *hash, const void *data, size_t n_bytes);
void tf_sha256_final(tf_sha256 *hash, uint8_t digest[32]);

#endif
