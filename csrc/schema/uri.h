/* URI references (RFC 3986): a reference and its base -> a URI. */
#ifndef TF_URI_H
#define TF_URI_H

#include "../base/alloc.h"

/* Bytes of a text that lives elsewhere. */
typedef struct tf_span {
    const char *text;
    size_t n;
} tf_span;

static inline bool tf_span_equal(tf_span a, tf_span b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.text, b.text, a.n) == 0);
}

/* What stands before the first '#', and what behind it; false where there is none. */
bool tf_uri_split(tf_span reference, tf_span *before, tf_span *fragment);

/*
 * Resolve a reference (RFC 3986 §5.2); neither it nor the base has a fragment. A base that is
 * relative or empty is legal: the result is relative then. The result is NUL-terminated, in
 * the arena; false: no memory.
 */
bool tf_uri_resolve(tf_arena *arena, tf_span base, tf_span reference, tf_span *resolved);

/* Undo percent-encoding into `decoded`, which has room for as many bytes; false: malformed. */
bool tf_uri_decode(tf_span encoded, char *decoded, size_t *n);

#endif
