/*
 * Numbers found by hash: open addressing in an arena. Whoever looks compares what the numbers
 * stand for; each step costs a work unit, so that equal hashes cannot cost more than the limit.
 */
#ifndef TF_ID_TABLE_H
#define TF_ID_TABLE_H

#include "../base/alloc.h"
#include "../base/budget.h"

typedef struct tf_id_slot {
    uint32_t hash, id; /* id + 1; 0: free */
} tf_id_slot;

typedef struct tf_id_table {
    tf_id_slot *slots;
    uint32_t n_slots; /* a power of two, or 0 */
    uint32_t n;
} tf_id_table;

#define TF_NO_ID UINT32_MAX

/* The next number with this hash, *at counting the steps from 0; or TF_NO_ID. */
static inline tokfsm_status tf_id_next(const tf_id_table *t, tf_budget *budget, uint32_t hash,
                                       uint32_t *at, uint32_t *id, tokfsm_error *err)
{
    *id = TF_NO_ID;
    while (t->n_slots > 0) {
        const tf_id_slot *slot = &t->slots[(hash + (*at)++) & (t->n_slots - 1)];
        if (slot->id == 0)
            break;
        TF_TRY(tf_spend(budget, err));
        if (slot->hash == hash) {
            *id = slot->id - 1;
            break;
        }
    }
    return TOKFSM_OK;
}

static inline void tf_id_put(tf_id_table *t, tf_id_slot added)
{
    uint32_t at = added.hash & (t->n_slots - 1);
    while (t->slots[at].id != 0)
        at = (at + 1) & (t->n_slots - 1);
    t->slots[at] = added;
}

/* false: no memory. */
static inline bool tf_id_add(tf_id_table *t, tf_arena *arena, uint32_t hash, uint32_t id)
{
    if (t->n_slots == 0 || t->n >= t->n_slots / 2) {
        tf_id_table grown = {NULL, t->n_slots == 0 ? 16 : t->n_slots * 2, t->n};
        if (grown.n_slots == 0)
            return false;
        grown.slots = tf_arena_zero(arena, grown.n_slots * sizeof *grown.slots);
        if (grown.slots == NULL)
            return false;
        for (uint32_t i = 0; i < t->n_slots; i++)
            if (t->slots[i].id != 0)
                tf_id_put(&grown, t->slots[i]);
        *t = grown;
    }
    tf_id_put(t, (tf_id_slot){hash, id + 1});
    t->n++;
    return true;
}

#endif
