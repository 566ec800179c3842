/* Interning: numbers of items by hash, as many as there are. Items are added and stay. */
#ifndef TF_INDEX_H
#define TF_INDEX_H

#include "build.h"

/* The number of the next item with the hash, from *at on, or TF_NONE; *at begins as TF_NONE. */
static inline uint32_t tf_index_next(const tf_index *index, uint32_t hash, uint32_t *at)
{
    if (index->n_slots == 0)
        return TF_NONE;
    uint32_t mask = index->n_slots - 1, slot = (*at == TF_NONE ? hash : *at + 1) & mask;
    for (; index->slots[slot].number != 0; slot = (slot + 1) & mask)
        if (index->slots[slot].hash == hash) {
            *at = slot;
            return index->slots[slot].number - 1;
        }
    return TF_NONE;
}

/* Add item `number`, which is the next one. */
tokfsm_status tf_index_add(tf_build *b, tf_index *index, uint32_t hash, uint32_t number);

#endif
