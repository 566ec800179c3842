/* The official metaschemas: read-only texts, read when a reference leads to one. */
#ifndef TF_METASCHEMAS_H
#define TF_METASCHEMAS_H

#include <stddef.h>
#include <stdint.h>

typedef struct tf_metaschema {
    const char *uri; /* without scheme and "//" */
    size_t n_bytes;  /* of all lines */
    const char *const *lines;
    size_t n_lines;
} tf_metaschema;

extern const tf_metaschema tf_metaschemas[];
extern const uint32_t tf_n_metaschemas;

#endif
