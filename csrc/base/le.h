/* Little-endian integers at any address. */
#ifndef TF_LE_H
#define TF_LE_H

#include <stdint.h>

static inline void tf_le32_store(uint8_t *to, uint32_t v)
{
    to[0] = (uint8_t)v;
    to[1] = (uint8_t)(v >> 8);
    to[2] = (uint8_t)(v >> 16);
    to[3] = (uint8_t)(v >> 24);
}

static inline uint32_t tf_le32_load(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

#endif
