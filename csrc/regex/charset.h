/*
 * Sets of code points as sorted, disjoint, non-adjacent ranges; Unicode's properties as
 * such sets. Growing buffers come from an arena.
 */
#ifndef TF_CHARSET_H
#define TF_CHARSET_H

#include "../base/alloc.h"

#define TF_CODE_POINT_MAX 0x10FFFFu

typedef struct tf_range {
    uint32_t low, high; /* both inside */
} tf_range;

/* Ranges in any order until tf_charset_settle. */
typedef struct tf_charset {
    tf_range *ranges;
    uint32_t n, capacity;
} tf_charset;

/* false: no memory. */
bool tf_charset_add(tf_arena *arena, tf_charset *set, uint32_t low, uint32_t high);
bool tf_charset_add_all(tf_arena *arena, tf_charset *set, const tf_charset *other);
void tf_charset_settle(tf_charset *set);
/* The complement in 0..10FFFF of a settled set. */
bool tf_charset_invert(tf_arena *arena, tf_charset *set);
/* Add what folds to a member (simple case folding); settles. */
bool tf_charset_close_case(tf_arena *arena, tf_charset *set);
/* Take the surrogates out of a settled set: no well-formed text has them. */
bool tf_charset_drop_surrogates(tf_arena *arena, tf_charset *set);
bool tf_charset_has(const tf_charset *set, uint32_t c);

#endif
