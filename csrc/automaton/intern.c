#include "intern.h"

static uint32_t hash_row(const uint32_t *words, uint32_t n)
{
    uint64_t h = 0x9E3779B97F4A7C15u ^ n;
    for (uint32_t i = 0; i < n; i++) {
        h = (h ^ words[i]) * 0xFF51AFD7ED558CCDu;
        h ^= h >> 32;
    }
    return (uint32_t)h;
}

static bool rehash(tf_interner *in)
{
    uint32_t size = in->table_size == 0 ? 64 : in->table_size * 2;
    uint32_t *table = tf_arena_zero(in->arena, size * sizeof *table);
    if (table == NULL)
        return false;
    for (uint32_t id = 0; id < in->n; id++) {
        uint32_t at = in->items[id].hash & (size - 1);
        while (table[at] != 0)
            at = (at + 1) & (size - 1);
        table[at] = id + 1;
    }
    in->table = table;
    in->table_size = size;
    return true;
}

bool tf_intern_row(tf_interner *in, const uint32_t *words, uint32_t n, uint32_t *id, bool *fresh)
{
    if (in->n * 4 >= in->table_size * 3 && !rehash(in))
        return false;
    uint32_t hash = hash_row(words, n), at = hash & (in->table_size - 1);
    for (; in->table[at] != 0; at = (at + 1) & (in->table_size - 1)) {
        const tf_interned *item = &in->items[in->table[at] - 1];
        if (item->hash == hash && item->n == n &&
            (n == 0 || memcmp(item->words, words, n * sizeof *words) == 0)) {
            *id = in->table[at] - 1;
            *fresh = false;
            return true;
        }
    }
    if (in->n == in->capacity) {
        uint32_t grown = in->capacity == 0 ? 32 : in->capacity * 2;
        tf_interned *items = tf_arena_take(in->arena, grown * sizeof *items);
        if (items == NULL)
            return false;
        if (in->n > 0)
            memcpy(items, in->items, in->n * sizeof *items);
        in->items = items;
        in->capacity = grown;
    }
    uint32_t *copy = tf_arena_take(in->arena, n * sizeof *copy);
    if (copy == NULL)
        return false;
    if (n > 0)
        memcpy(copy, words, n * sizeof *copy);
    in->items[in->n] = (tf_interned){copy, n, hash};
    in->table[at] = ++in->n;
    *id = in->n - 1;
    *fresh = true;
    return true;
}

bool tf_paged_room(tf_paged *paged, tf_arena *arena, uint32_t i, size_t item_bytes)
{
    uint32_t page = 0, size = 64;
    while (i >= size) {
        i -= size;
        size <<= 1;
        page++;
    }
    if (page >= sizeof paged->pages / sizeof *paged->pages)
        return false;
    if (paged->pages[page] == NULL)
        paged->pages[page] = tf_arena_zero(arena, size * item_bytes);
    return paged->pages[page] != NULL;
}
