#include "edits.h"

#include "../base/bits.h"

bool tf_ids_add(tf_ids *list, tf_arena *arena, const uint32_t *ids, uint32_t n)
{
    if (n > list->capacity - list->n) {
        uint32_t grown = list->capacity == 0 ? 64 : list->capacity * 2;
        while (grown - list->n < n)
            grown *= 2;
        uint32_t *items = tf_arena_take(arena, grown * sizeof *items);
        if (items == NULL)
            return false;
        if (list->n > 0)
            memcpy(items, list->items, list->n * sizeof *items);
        list->items = items;
        list->capacity = grown;
    }
    for (uint32_t i = 0; i < n; i++) /* mostly one or two */
        list->items[list->n + i] = ids[i];
    list->n += n;
    return true;
}

void tf_edits_apply(const tf_edits *edits, uint32_t *row, size_t n_words)
{
    if (edits->base == NULL)
        memset(row, 0, n_words * sizeof *row);
    else if (edits->narrowed == NULL)
        memcpy(row, edits->base, n_words * sizeof *row);
    else
        for (size_t w = 0; w < n_words; w++)
            row[w] = edits->base[w] & edits->narrowed[w];
    for (uint32_t i = 0; i < edits->before.n; i++)
        tf_set(row, edits->before.items[i]);
    for (uint32_t i = 0; i < edits->n_before_pieces; i++)
        tf_piece_set(edits->pieces[i], row);
    for (uint32_t i = 0; i < edits->cleared.n; i++)
        tf_clear(row, edits->cleared.items[i]);
    for (uint32_t i = 0; i < edits->set.n; i++)
        tf_set(row, edits->set.items[i]);
    for (uint32_t i = edits->n_before_pieces; i < edits->n_pieces; i++)
        tf_piece_set(edits->pieces[i], row);
}
