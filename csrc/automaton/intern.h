/* Hash-consing: rows of uint32 to dense ids, 0 upwards. Rows never move. */
#ifndef TF_INTERN_H
#define TF_INTERN_H

#include "../base/alloc.h"

typedef struct tf_interned {
    const uint32_t *words;
    uint32_t n, hash;
} tf_interned;

typedef struct tf_interner {
    tf_arena *arena;
    tf_interned *items;
    uint32_t *table; /* id + 1, or 0 */
    uint32_t n, capacity, table_size;
} tf_interner;

static inline void tf_intern_init(tf_interner *in, tf_arena *arena)
{
    memset(in, 0, sizeof *in);
    in->arena = arena;
}
/* false: no memory. *fresh: it was not there. */
bool tf_intern_row(tf_interner *in, const uint32_t *words, uint32_t n, uint32_t *id, bool *fresh);

/*
 * Records that never move, so that they can be read while others are made: page i holds
 * 64 << i of them.
 */
typedef struct tf_paged {
    char *pages[26];
} tf_paged;

static inline char *tf_paged_at(const tf_paged *paged, uint32_t i, size_t item_bytes)
{
    uint32_t page = 0, left = i, size = 64;
    while (left >= size) {
        left -= size;
        size <<= 1;
        page++;
    }
    return paged->pages[page] + left * item_bytes;
}
/* Make room for record i, cleared; all before it have room. */
bool tf_paged_room(tf_paged *paged, tf_arena *arena, uint32_t i, size_t item_bytes);

#endif
