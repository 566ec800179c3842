#include "distances.h"

#include <string.h>

enum { N_BUCKETS = 1 << 14 };

typedef struct block {
    struct block *next;
    tf_distance items[];
} block;

struct tf_distances {
    atomic_ullong n_bytes;
    _Atomic(block *) blocks;
    _Atomic(const tf_distance *) buckets[N_BUCKETS];
};

static uint32_t bucket_of(const tf_content_state *state, uint32_t language, uint64_t least,
                          uint64_t most)
{
    uint64_t hash = ((uint64_t)state->id << 32 | language) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ (uint64_t)state->content->id ^ least) * 0xC2B2AE3D27D4EB4Fu;
    hash = (hash ^ (hash >> 29) ^ most) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(hash >> 40) % N_BUCKETS;
}

bool tf_distances_find(tf_machine *m, const tf_content_state *state, uint32_t language,
                       uint64_t least, uint64_t most, uint32_t *cost)
{
    struct tf_distances *d = atomic_load_explicit(&m->distances, memory_order_acquire);
    if (d == NULL)
        return false;
    const tf_distance *at = atomic_load_explicit(
        &d->buckets[bucket_of(state, language, least, most)], memory_order_acquire);
    for (; at != NULL; at = at->next)
        if (at->state == state && at->language == language && at->least == least &&
            at->most == most) {
            *cost = at->cost;
            return true;
        }
    return false;
}

static struct tf_distances *distances_of(tf_machine *m)
{
    struct tf_distances *d = atomic_load_explicit(&m->distances, memory_order_acquire);
    if (d != NULL)
        return d;
    struct tf_distances *fresh = tf_allocate(&m->allocator, sizeof *fresh);
    if (fresh == NULL)
        return NULL;
    memset(fresh, 0, sizeof *fresh);
    if (atomic_compare_exchange_strong_explicit(&m->distances, &d, fresh, memory_order_acq_rel,
                                                memory_order_acquire))
        return fresh;
    tf_release(&m->allocator, fresh); /* another thread was first */
    return d;
}

tf_distance *tf_distances_room(tf_machine *m, uint32_t n)
{
    struct tf_distances *d = distances_of(m);
    if (d == NULL)
        return NULL;
    size_t n_bytes = sizeof(block) + n * sizeof(tf_distance);
    if (atomic_load_explicit(&d->n_bytes, memory_order_relaxed) + n_bytes >
        m->limits.automaton_bytes)
        return NULL;
    block *made = tf_allocate(&m->allocator, n_bytes);
    if (made == NULL)
        return NULL;
    atomic_fetch_add_explicit(&d->n_bytes, n_bytes, memory_order_relaxed);
    made->next = atomic_load_explicit(&d->blocks, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&d->blocks, &made->next, made,
                                                  memory_order_release, memory_order_relaxed))
        ;
    return made->items;
}

void tf_distances_keep(tf_machine *m, tf_distance *items, uint32_t n)
{
    struct tf_distances *d = atomic_load_explicit(&m->distances, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++) {
        tf_distance *fresh = &items[i];
        _Atomic(const tf_distance *) *bucket =
            &d->buckets[bucket_of(fresh->state, fresh->language, fresh->least, fresh->most)];
        fresh->next = atomic_load_explicit(bucket, memory_order_relaxed);
        /* Two threads may keep one twice: they are equal, and the first one is found. */
        while (!atomic_compare_exchange_weak_explicit(bucket, &fresh->next, fresh,
                                                      memory_order_release, memory_order_relaxed))
            ;
    }
}

void tf_distances_free(tf_machine *m, const tokfsm_allocator *allocator)
{
    struct tf_distances *d = atomic_load_explicit(&m->distances, memory_order_acquire);
    if (d == NULL)
        return;
    for (block *at = atomic_load_explicit(&d->blocks, memory_order_relaxed); at != NULL;) {
        block *next = at->next;
        tf_release(allocator, at);
        at = next;
    }
    tf_release(allocator, d);
}
