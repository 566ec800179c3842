#if defined(__linux__)
#define _DEFAULT_SOURCE /* madvise */
#endif
#include "alloc.h"

#include <stdlib.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

/*
 * A pack's arrays have megabytes and are walked all over: in huge pages they cost a few page
 * faults, not thousands. A hint: where the system gives none nothing changes.
 */
static void hint_huge(void *block, size_t n_bytes)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    enum { HUGE_BYTES = 1 << 21, PAGE = 1 << 16 };
    if (block == NULL || n_bytes < 2 * (size_t)HUGE_BYTES)
        return;
    uintptr_t first = ((uintptr_t)block + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)block + n_bytes) & ~(uintptr_t)(PAGE - 1);
    (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
#else
    (void)block, (void)n_bytes;
#endif
}

static void *default_allocate(void *context, size_t n_bytes)
{
    (void)context;
    void *block = malloc(n_bytes);
    hint_huge(block, n_bytes);
    return block;
}

static void default_release(void *context, void *block)
{
    (void)context;
    free(block);
}

tokfsm_allocator tf_allocator(const tokfsm_allocator *allocator)
{
    if (allocator != NULL)
        return *allocator;
    return (tokfsm_allocator){default_allocate, default_release, NULL};
}

void *tf_allocate(const tokfsm_allocator *a, size_t n_bytes)
{
    return a->allocate(a->context, n_bytes == 0 ? 1 : n_bytes);
}

void tf_release(const tokfsm_allocator *a, void *block)
{
    if (block != NULL)
        a->release(a->context, block);
}

struct tf_arena_block {
    tf_arena_block *previous;
    size_t n_bytes;
};

/* A header of 16 bytes keeps what follows aligned. */
enum { HEADER_BYTES = 16, FIRST_BLOCK_BYTES = 4096, SMALL_BLOCK_BYTES = 496, MAX_BLOCK_BYTES = 1 << 20 };
_Static_assert(sizeof(struct tf_arena_block) <= HEADER_BYTES, "block header too wide");

void tf_arena_init(tf_arena *arena, const tokfsm_allocator *a)
{
    memset(arena, 0, sizeof *arena);
    arena->allocator = *a;
}

void tf_arena_init_small(tf_arena *arena, const tokfsm_allocator *a)
{
    tf_arena_init(arena, a);
    arena->in_order = true;
}

void tf_arena_free(tf_arena *arena)
{
    tf_arena_block *block = arena->blocks;
    while (block != NULL) {
        tf_arena_block *previous = block->previous;
        tf_release(&arena->allocator, block);
        block = previous;
    }
    arena->blocks = NULL;
    arena->next = arena->end = NULL;
    arena->n_bytes = 0;
}

void tf_arena_back(tf_arena *arena, tf_arena_mark mark)
{
    while (arena->blocks != mark.blocks) {
        tf_arena_block *previous = arena->blocks->previous;
        tf_release(&arena->allocator, arena->blocks);
        arena->blocks = previous;
    }
    arena->next = mark.next;
    arena->end = mark.end;
    arena->n_bytes = mark.n_bytes;
}

void tf_arena_back_to(tf_arena *arena, char *next)
{
    if (next == NULL) { /* before its first block */
        tf_arena_free(arena);
        return;
    }
    tf_arena_block *block = arena->blocks;
    while (block != NULL &&
           (next < (char *)block + HEADER_BYTES || next > (char *)block + block->n_bytes))
        block = block->previous;
    if (block == NULL)
        return;
    while (arena->blocks != block) {
        tf_arena_block *previous = arena->blocks->previous;
        arena->n_bytes -= arena->blocks->n_bytes;
        tf_release(&arena->allocator, arena->blocks);
        arena->blocks = previous;
    }
    arena->next = next;
    arena->end = (char *)block + block->n_bytes;
}

void tf_arena_reset(tf_arena *arena)
{
    tf_arena_block *kept = arena->blocks;
    if (kept == NULL)
        return;
    tf_arena_block *block = kept->previous;
    while (block != NULL) {
        tf_arena_block *previous = block->previous;
        tf_release(&arena->allocator, block);
        block = previous;
    }
    kept->previous = NULL;
    arena->n_bytes = kept->n_bytes;
    arena->next = (char *)kept + HEADER_BYTES;
    arena->end = (char *)kept + kept->n_bytes;
}

void *tf_arena_slow(tf_arena *arena, size_t n_bytes)
{
    size_t least = arena->in_order ? SMALL_BLOCK_BYTES : FIRST_BLOCK_BYTES;
    size_t want = arena->n_bytes / (arena->in_order ? 4 : 2);
    if (want < least)
        want = least;
    if (want > MAX_BLOCK_BYTES)
        want = MAX_BLOCK_BYTES;
    if (n_bytes > SIZE_MAX - HEADER_BYTES - 16)
        return NULL;
    size_t rounded = (n_bytes + 15u) & ~(size_t)15u;
    if (arena->in_order && rounded > want)
        want = rounded;
    bool big = !arena->in_order && rounded > want / 4; /* keeps its own block; the current one stays open */
    size_t size = HEADER_BYTES + (big ? rounded : want);
    tf_arena_block *block = tf_allocate(&arena->allocator, size);
    if (block == NULL)
        return NULL;
    block->n_bytes = size;
    arena->n_bytes += size;
    block->previous = arena->blocks;
    arena->blocks = block;
    char *data = (char *)block + HEADER_BYTES;
    if (!big || arena->next == arena->end) {
        arena->next = data + rounded;
        arena->end = (char *)block + size;
    }
    return data;
}

bool tf_grow(const tokfsm_allocator *a, void **items, size_t n, size_t *capacity,
             size_t item_bytes)
{
    if (n < *capacity)
        return true;
    size_t grown = *capacity < 8 ? 8 : *capacity * 2;
    size_t n_bytes;
    if (grown < *capacity || !tf_size_mul_add(grown, item_bytes, 0, &n_bytes))
        return false;
    void *fresh = tf_allocate(a, n_bytes);
    if (fresh == NULL)
        return false;
    if (*items != NULL)
        memcpy(fresh, *items, n * item_bytes);
    void *old = *items;
    *items = fresh; /* before the old block goes: a fork() in between must find one of them */
    *capacity = grown;
    tf_release(a, old);
    return true;
}

bool tf_arena_grow(tf_arena *arena, void **items, uint32_t n, uint32_t *capacity, uint32_t first,
                   size_t item_bytes)
{
    if (n < *capacity)
        return true;
    uint32_t grown = *capacity == 0 ? first : *capacity * 2;
    void *fresh = tf_arena_take(arena, grown * item_bytes);
    if (fresh == NULL)
        return false;
    if (n > 0)
        memcpy(fresh, *items, n * item_bytes);
    *items = fresh;
    *capacity = grown;
    return true;
}
