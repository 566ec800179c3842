/* Putting words behind one another; shared by write.c and write_content.c. */
#ifndef TF_PUT_H
#define TF_PUT_H

#include "../base/le.h"
#include "format.h"

#define READ(field) atomic_load_explicit(&(field), memory_order_acquire)

typedef struct buffer {
    const tokfsm_allocator *a;
    uint8_t *bytes;
    size_t n, capacity;
    bool failed;
} buffer;

static inline uint8_t *tf_reserve(buffer *out, size_t n)
{
    if (out->failed)
        return NULL;
    if (n > out->capacity - out->n) {
        size_t grown = out->capacity < 4096 ? 4096 : out->capacity;
        while (grown - out->n < n)
            grown *= 2;
        uint8_t *fresh = tf_allocate(out->a, grown);
        if (fresh == NULL) {
            out->failed = true;
            return NULL;
        }
        if (out->n > 0)
            memcpy(fresh, out->bytes, out->n);
        tf_release(out->a, out->bytes);
        out->bytes = fresh;
        out->capacity = grown;
    }
    out->n += n;
    return out->bytes + out->n - n;
}

static inline void tf_put_bytes(buffer *out, const void *bytes, size_t n)
{
    uint8_t *to = tf_reserve(out, n);
    if (to != NULL && n > 0)
        memcpy(to, bytes, n);
}

static inline void tf_put(buffer *out, uint32_t word)
{
    uint8_t *to = tf_reserve(out, 4);
    if (to != NULL)
        tf_le32_store(to, word);
}

static inline void tf_put64(buffer *out, uint64_t word)
{
    tf_put(out, (uint32_t)word);
    tf_put(out, (uint32_t)(word >> 32));
}

static inline void tf_put_set(buffer *out, const uint64_t *words, uint32_t n_words)
{
    for (uint32_t w = 0; w < n_words; w++)
        tf_put64(out, words[w]);
}

/* write_content.c: a content that is explored to its end. */
void tf_write_content(buffer *out, const tf_content *content);
/* write_masks.c: masks made on the machine that these two sections describe. */
tokfsm_status tf_write_masks(buffer *out, const tokfsm_automaton *automaton, const buffer *machine,
                             const buffer *text, const tokfsm_cancel *cancel, tokfsm_error *err);

#endif
