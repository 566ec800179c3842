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

static void set_ids(const tf_ids *list, uint32_t *row)
{
    const uint32_t n = list->n, *const items = list->items;
    for (uint32_t i = 0; i < n; i++)
        tf_set(row, items[i]);
}

static void clear_ids(const tf_ids *list, uint32_t *row)
{
    const uint32_t n = list->n, *const items = list->items;
    for (uint32_t i = 0; i < n; i++)
        tf_clear(row, items[i]);
}

void tf_edits_apply(const tf_edits *edits, uint32_t *row, size_t n_words)
{
    /* The edits are read while the row is on its way. */
    for (uint32_t i = 0; i < edits->n_pieces; i++) {
        tf_fetch(edits->pieces[i]->word);
        tf_fetch(edits->pieces[i]->bits);
    }
    tf_fetch(edits->before.items);
    tf_fetch(edits->set.items);
    if (edits->base == NULL)
        memset(row, 0, n_words * sizeof *row);
    else if (edits->narrowed == NULL)
        memcpy(row, edits->base, n_words * sizeof *row);
    else
        for (size_t w = 0; w < n_words; w++)
            row[w] = edits->base[w] & edits->narrowed[w];
    set_ids(&edits->before, row);
    for (uint32_t i = 0; i < edits->n_before_pieces; i++)
        tf_piece_set(edits->pieces[i], row);
    clear_ids(&edits->cleared, row);
    set_ids(&edits->set, row);
    for (uint32_t i = edits->n_before_pieces; i < edits->n_pieces; i++)
        tf_piece_set(edits->pieces[i], row);
}
