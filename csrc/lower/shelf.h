/*
 * The contents that a pack keeps from one schema to the next: those of a single pattern or
 * format, by far the most. What one automaton has found out of `date-time`, all others of the
 * pack know.
 *
 * A shared content has a build of its own, with the lock, the memory and the limits of one. It
 * lives as long as an automaton uses it or the pack keeps it. The pack keeps those used last, as
 * many as TF_SHELF_CONTENTS and TF_SHELF_BYTES allow.
 */
#ifndef TF_SHELF_H
#define TF_SHELF_H

#include "patterns.h"

enum { TF_SHELF_CONTENTS = 256, TF_SHELF_BYTES = 64 << 20 };

typedef struct tf_shared {
    tf_build build; /* first: a shared content's owner is its build's machine */
    atomic_uint references;
    struct tf_shared *next;
    uint8_t has_lengths;
    const tf_content *content;
} tf_shared;

/* The content of this pattern, made where the pack has none; held for the caller. */
tokfsm_status tf_shelf_take(tf_build *b, const tf_pattern_record *pattern, uint8_t has_lengths,
                            tf_shared **shared);
void tf_shared_release(tf_shared *shared);
static inline tf_shared *tf_shared_of(tf_machine *owner) { return (tf_shared *)(void *)owner; }

#endif
