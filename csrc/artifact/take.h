/* Taking words off the machine section, verified; shared by read_machine.c and read_content.c. */
#ifndef TF_TAKE_H
#define TF_TAKE_H

#include "../base/le.h"
#include "format.h"

typedef struct reader {
    const uint8_t *at, *end;
    const uint8_t *text;
    size_t n_text;
    tf_arena *arena;
    tokfsm_error *err;
    tokfsm_status status;
    uint32_t n_values, n_kinds, n_nstates, n_contents;
    tf_content *contents;
    tf_value *values;
    tf_kind *kinds;
    tf_nstate *nstates;
    uint64_t n_string_states;
    const tf_edge *nothing_admitted; /* one edge for all names that `nothing_of` does not admit */
    const tf_kind *nothing_of;
} reader;

static inline void tf_corrupt(reader *r, const char *what)
{
    if (r->status == TOKFSM_OK)
        r->status = tf_fail(r->err, TOKFSM_E_CORRUPT, "the artifact is damaged: %s", what);
}

static inline uint32_t tf_take(reader *r)
{
    if (r->end - r->at < 4) {
        tf_corrupt(r, "the machine section ends early");
        return 0;
    }
    uint32_t word = tf_le32_load(r->at);
    r->at += 4;
    return word;
}

static inline uint64_t tf_take64(reader *r)
{
    uint64_t low = tf_take(r);
    return low | (uint64_t)tf_take(r) << 32;
}

/* A number of things of which each takes at least so many words of what is left. */
static inline uint32_t tf_take_count(reader *r, uint64_t n_words_each)
{
    uint32_t n = tf_take(r);
    if ((uint64_t)n * n_words_each > (uint64_t)(r->end - r->at) / 4) {
        tf_corrupt(r, "a count is larger than the section");
        return 0;
    }
    return n;
}

static inline void *tf_room(reader *r, size_t n, size_t item_bytes)
{
    size_t n_bytes = 0;
    void *block = NULL;
    if (r->status != TOKFSM_OK)
        return NULL;
    if (tf_size_mul_add(n, item_bytes, 0, &n_bytes))
        block = tf_arena_zero(r->arena, n_bytes);
    if (block == NULL)
        r->status = tf_fail(r->err, TOKFSM_E_NOMEM, "no memory for an artifact");
    return block;
}

/* A set over n things, in n_words words. */
static inline const uint64_t *tf_take_set(reader *r, uint32_t n, uint32_t n_words)
{
    uint64_t *words = tf_room(r, n_words, sizeof *words);
    if (words == NULL)
        return NULL;
    for (uint32_t w = 0; w < n_words; w++)
        words[w] = tf_take64(r);
    if (n % 64 != 0 && words[n_words - 1] >> (n % 64) != 0)
        tf_corrupt(r, "a set has members that do not exist");
    return words;
}

/* A reference: 1 .. n, or 0 for none. */
static inline uint32_t tf_take_reference(reader *r, uint32_t n)
{
    uint32_t reference = tf_take(r);
    if (reference > n) {
        tf_corrupt(r, "a reference is out of range");
        return 0;
    }
    return reference;
}

/* read_content.c: one content; returns how many states it has. */
uint32_t tf_read_content(reader *r, tf_content *content, uint32_t id);

#endif
