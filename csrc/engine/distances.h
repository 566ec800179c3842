/*
 * Distances that long searches have found (content_cost.c), by what they depend on: the place, and
 * the characters that must and may still come. A search keeps those of its whole path, so that
 * the next step along it, or off it and back, is a look.
 *
 * Append-only and lock-free, as the masks are (cache.h); past limits.automaton_bytes nothing more
 * is kept.
 */
#ifndef TF_DISTANCES_H
#define TF_DISTANCES_H

#include "machine.h"

typedef struct tf_distance {
    const struct tf_distance *next; /* in its bucket */
    const tf_content_state *state;
    uint64_t least, most; /* more characters; UINT64_MAX: no end */
    uint32_t language;
    uint32_t cost;
} tf_distance;

/* False: not there. */
bool tf_distances_find(tf_machine *m, const tf_content_state *state, uint32_t language,
                       uint64_t least, uint64_t most, uint32_t *cost);
/* Room for n of them, to be filled (`next` left alone) and given to tf_distances_keep; NULL where
   there is none, which is no error. */
tf_distance *tf_distances_room(tf_machine *m, uint32_t n);
void tf_distances_keep(tf_machine *m, tf_distance *items, uint32_t n);
void tf_distances_free(tf_machine *m, const tokfsm_allocator *allocator);

#endif
