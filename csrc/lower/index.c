#include "index.h"

static void put(tf_index *index, uint32_t hash, uint32_t number)
{
    uint32_t mask = index->n_slots - 1, slot = hash & mask;
    while (index->slots[slot].number != 0)
        slot = (slot + 1) & mask;
    index->slots[slot].hash = hash;
    index->slots[slot].number = number + 1;
}

tokfsm_status tf_index_add(tf_build *b, tf_index *index, uint32_t hash, uint32_t number)
{
    if ((uint64_t)number * 2 >= index->n_slots) {
        uint32_t n = index->n_slots == 0 ? 64 : index->n_slots * 4;
        tf_index wider = {tf_allocate(&b->arena.allocator, n * sizeof *wider.slots), n};
        if (wider.slots == NULL)
            return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
        memset(wider.slots, 0, n * sizeof *wider.slots);
        for (uint32_t i = 0; i < index->n_slots; i++)
            if (index->slots[i].number != 0)
                put(&wider, index->slots[i].hash, index->slots[i].number - 1);
        tf_index old = *index;
        *index = wider;
        tf_release(&b->arena.allocator, old.slots);
    }
    put(index, hash, number);
    return TOKFSM_OK;
}
