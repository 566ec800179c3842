/* Unicode's properties by name: General_Category, Script, Script_Extensions, binary ones. */
#ifndef TF_UNICODE_H
#define TF_UNICODE_H

#include "charset.h"

typedef enum tf_unicode_kind {
    TF_UNICODE_CATEGORY,
    TF_UNICODE_BINARY,
    TF_UNICODE_SCRIPT,
    TF_UNICODE_EXTENSIONS,
    TF_UNICODE_OTHER /* sets for formats.c, named `idna:...` and `iri:...` */
} tf_unicode_kind;

/* runs: lengths outside and inside in turn, base 128, from `offset` in tf_unicode_runs. */
typedef struct tf_unicode_property {
    const char *name, *long_name;
    uint32_t offset, n_runs;
    tf_unicode_kind kind;
} tf_unicode_property;

extern const uint8_t tf_unicode_runs[];
/* An orbit: its size, its first member less the first of the one before, then the steps. */
extern const uint8_t tf_unicode_folds[];
extern const uint32_t tf_unicode_n_folds;
extern const tf_unicode_property tf_unicode_properties[];
extern const uint32_t tf_unicode_n_properties;

typedef enum tf_unicode_found {
    TF_UNICODE_FOUND,
    TF_UNICODE_UNKNOWN,
    TF_UNICODE_NO_MEMORY
} tf_unicode_found;

/* Add what `\p{name}` stands for; `name` is the text between the braces, exact case. */
tf_unicode_found tf_unicode_add(tf_arena *arena, tf_charset *set, const char *name, size_t n);

#endif
