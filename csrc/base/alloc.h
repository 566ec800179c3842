/*
 * Memory: the caller's allocator, checked sizes, and a bump arena that is freed whole.
 * Blocks are 16-byte aligned. An arena belongs to one thread at a time.
 */
#ifndef TF_ALLOC_H
#define TF_ALLOC_H

#include <stdbool.h>
#include <string.h>

#include "status.h"

/* The allocator as a value: `allocator` of the public calls with NULL resolved. */
tokfsm_allocator tf_allocator(const tokfsm_allocator *allocator);

void *tf_allocate(const tokfsm_allocator *a, size_t n_bytes); /* NULL: none left; n 0 is legal */
void tf_release(const tokfsm_allocator *a, void *block);      /* NULL is legal */

/* a * b + c; false on overflow. */
static inline bool tf_size_mul_add(size_t a, size_t b, size_t c, size_t *out)
{
    if (b != 0 && a > (SIZE_MAX - c) / b)
        return false;
    *out = a * b + c;
    return true;
}

typedef struct tf_arena_block tf_arena_block;
typedef struct tf_arena {
    tokfsm_allocator allocator;
    tf_arena_block *blocks;
    char *next, *end;
    size_t n_bytes; /* in blocks */
    bool in_order;  /* small: no piece has a block for itself, so that the last one is the newest */
} tf_arena;

void tf_arena_init(tf_arena *arena, const tokfsm_allocator *a);
/* One that begins small, grows slowly, and from which tf_arena_back_to can take back. */
void tf_arena_init_small(tf_arena *arena, const tokfsm_allocator *a);
void tf_arena_free(tf_arena *arena);
/* A point to go back to, as long as nothing taken since is in use. */
typedef struct tf_arena_mark {
    tf_arena_block *blocks;
    char *next, *end;
    size_t n_bytes;
} tf_arena_mark;
static inline tf_arena_mark tf_arena_here(const tf_arena *arena)
{
    return (tf_arena_mark){arena->blocks, arena->next, arena->end, arena->n_bytes};
}
void tf_arena_back(tf_arena *arena, tf_arena_mark mark);
/* Forget all that was taken since `next` was arena->next, of a small arena; nothing where that is a
   place of another arena. */
void tf_arena_back_to(tf_arena *arena, char *next);
/* Forget all that was taken; one block is kept, so that a steady user does not allocate. */
void tf_arena_reset(tf_arena *arena);
/* NULL: none left. Not cleared. */
void *tf_arena_slow(tf_arena *arena, size_t n_bytes);
static inline void *tf_arena_take(tf_arena *arena, size_t n_bytes)
{
    size_t room = (size_t)(arena->end - arena->next);
    if (n_bytes == 0)
        n_bytes = 1; /* so that NULL means "no memory" only */
    if (n_bytes <= room) {
        size_t rounded = (n_bytes + 15u) & ~(size_t)15u;
        void *block = arena->next;
        arena->next += rounded < room ? rounded : room;
        return block;
    }
    return tf_arena_slow(arena, n_bytes);
}
static inline void *tf_arena_zero(tf_arena *arena, size_t n_bytes)
{
    void *block = tf_arena_take(arena, n_bytes);
    if (block != NULL)
        memset(block, 0, n_bytes);
    return block;
}

/*
 * A growing array: struct { T *items; size_t n, capacity; }, through these two.
 * tf_grow makes room for one more item of `item_bytes`; false: no memory (array unchanged).
 */
bool tf_grow(const tokfsm_allocator *a, void **items, size_t n, size_t *capacity,
             size_t item_bytes);

/* The same in an arena, where the old array stays; `first` is the capacity begun with. */
bool tf_arena_grow(tf_arena *arena, void **items, uint32_t n, uint32_t *capacity, uint32_t first,
                   size_t item_bytes);

#endif
