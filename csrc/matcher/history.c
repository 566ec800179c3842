#include "history.h"

enum { FIRST_BYTES = 208, OTHER_BYTES = 464 };

/* A chunk behind the last one. */
static bool grow(tf_history *h, const tokfsm_allocator *a)
{
    uint32_t capacity = h->chunk == NULL ? FIRST_BYTES : OTHER_BYTES;
    tf_undo *made = tf_allocate(a, sizeof *made + capacity);
    if (made == NULL)
        return false;
    atomic_init(&made->references, 1);
    made->capacity = capacity;
    made->previous = h->chunk;
    made->previous_at = h->at;
    h->chunk = made;
    h->at = 0;
    h->n_bytes += sizeof *made + capacity;
    return true;
}

bool tf_history_push_slow(tf_history *h, const tokfsm_allocator *a, const tf_node *from,
                          const tf_node *node, char *before, char *behind)
{
    uint8_t record[TF_UNDO_MOST];
    uint32_t n = tf_undo_write(record, from, node, before, behind);
    if ((h->chunk == NULL || n > h->chunk->capacity - h->at ||
         atomic_load_explicit(&h->chunk->references, memory_order_acquire) != 1) &&
        !grow(h, a))
        return false;
    memcpy(h->chunk->records + h->at, record, n);
    h->at += n;
    return true;
}

static void drop(tf_undo *chunk, const tokfsm_allocator *a)
{
    while (chunk != NULL && atomic_fetch_sub(&chunk->references, 1) == 1) {
        tf_undo *previous = chunk->previous;
        tf_release(a, chunk);
        chunk = previous;
    }
}

/* From a chunk whose records are all taken back to the one before it. */
static void step_back(tf_history *h, const tokfsm_allocator *a)
{
    tf_undo *chunk = h->chunk, *previous = chunk->previous;
    h->at = chunk->previous_at;
    h->chunk = previous;
    if (atomic_load_explicit(&chunk->references, memory_order_acquire) == 1) {
        size_t n_bytes = sizeof *chunk + chunk->capacity;
        h->n_bytes -= h->n_bytes < n_bytes ? h->n_bytes : n_bytes;
        tf_release(a, chunk); /* its hold on `previous` is this history's now */
        return;
    }
    if (previous != NULL)
        atomic_fetch_add_explicit(&previous->references, 1, memory_order_relaxed);
    drop(chunk, a);
}

void tf_history_pop(tf_history *h, const tokfsm_allocator *a, tf_node *node, char **before)
{
    uint32_t head = 0;
    while (h->at == 0)
        step_back(h, a);
    const uint8_t *from = h->chunk->records + h->at - TF_UNDO_HEAD;
    for (uint32_t i = 0; i < TF_UNDO_HEAD; i++)
        head |= (uint32_t)from[i] << 8 * i;
    if (head & TF_UNDO_MEMORY) {
        from -= sizeof *before;
        memcpy(before, from, sizeof *before);
    }
    for (uint32_t i = TF_UNDO_WORDS; i-- > 0;)
        if (head >> i & 1u) {
            from -= 4;
            memcpy((char *)&node->c + 4 * i, from, 4);
        }
    node->n_accepted--;
    node->stopped = 0; /* nothing comes behind a stop token */
    node->final = (head & TF_UNDO_FINAL) != 0;
    h->at = (uint32_t)(from - h->chunk->records);
}

tf_history tf_history_share(const tf_history *h)
{
    if (h->chunk != NULL)
        atomic_fetch_add_explicit(&h->chunk->references, 1, memory_order_relaxed);
    return (tf_history){h->chunk, h->at, 0};
}

void tf_history_free(tf_history *h, const tokfsm_allocator *a)
{
    drop(h->chunk, a);
    memset(h, 0, sizeof *h);
}
