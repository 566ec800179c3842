/* The JSON spelling of a literal: docs/spelling.md (b). */
#ifndef TF_SPELLING_H
#define TF_SPELLING_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the spelling of `text`, without quotes. */
size_t tf_spelled_length(const uint8_t *text, uint32_t n);
/* Write them. */
void tf_spelled_write(const uint8_t *text, uint32_t n, uint8_t *out);

#endif
