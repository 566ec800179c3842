/*
 * The values of JSON Schema's `format` that are regular languages, each as a pattern of
 * parse.h and a greatest length. A string conforms if and only if the pattern matches it
 * and it has at most max_length code points.
 *
 * Narrower than their sources on purpose, because what decides is not regular:
 *   hostname, idn-hostname, email, idn-email: no label `xn--...` (it would have to be
 *     decoded). `hostname` is else RFC 1123.
 *   idn-hostname, idn-email: a label with other than ASCII characters has at most 14 code
 *     points, or 40 if no more than four are not ASCII, so that its A-label surely has at
 *     most 63.
 *   idn-hostname: no character that may compose with the one before, no two reordering
 *     marks in a row (both stand for NFC). idn-email takes labels without NFC.
 */
#ifndef TF_FORMATS_H
#define TF_FORMATS_H

#include <stddef.h>
#include <stdint.h>

#define TF_FORMAT_ANY_LENGTH UINT64_MAX

typedef struct tf_format {
    const char *name;
    const char *pattern;
    uint64_t max_length;
} tf_format;

/* NULL: not a format that is known. `regex` is known to be not regular, and not here. */
const tf_format *tf_format_find(const char *name, size_t n);
/* The i-th, or NULL past the last. */
const tf_format *tf_format_at(size_t i);

#endif
