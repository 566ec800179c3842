/*
 * How a matcher gets back: for each token the words of the configuration that it changed, as they
 * were. Most tokens change one or two of eleven. Records lie in chunks, each behind the other and
 * read from the end; forks share chunks and go on in ones of their own.
 *
 * Cost: O(1) a token, there and back.
 */
#ifndef TF_HISTORY_H
#define TF_HISTORY_H

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "../base/le.h"
#include "../engine/configuration.h"

typedef struct tf_node {
    tf_configuration c;
    uint32_t n_accepted;
    uint16_t stopped; /* a stop token came */
    uint16_t final;   /* nothing can follow (looked at where there is no stop token) */
} tf_node;

typedef struct tf_undo {
    atomic_uint references;
    uint32_t capacity, previous_at; /* bytes; where the records of `previous` end */
    struct tf_undo *previous;
    uint8_t records[];
} tf_undo;

typedef struct tf_history {
    tf_undo *chunk; /* the newest, or NULL; counted */
    uint32_t at;    /* where its records end */
    size_t n_bytes; /* of the chunks that this history made */
} tf_history;

/*
 * A record: the changed words of 4 bytes as they were, in the order of the configuration; where the
 * token took memory, arena->next as it was; then 3 bytes that say what is there.
 */
enum {
    TF_UNDO_WORDS = sizeof(tf_configuration) / 4,
    TF_UNDO_HEAD = 3,
    TF_UNDO_MEMORY = 1 << TF_UNDO_WORDS,
    TF_UNDO_FINAL = TF_UNDO_MEMORY << 1,
    TF_UNDO_MOST = TF_UNDO_WORDS * 4 + 8 + 4
};
_Static_assert(TF_UNDO_WORDS == 22 && TF_UNDO_FINAL < 1 << 8 * TF_UNDO_HEAD, "a record");

/* Bit i: word i of the two differs. */
static inline uint32_t tf_undo_differing(const tf_configuration *a, const tf_configuration *b)
{
    const char *x = (const char *)a, *y = (const char *)b;
#if defined(__SSE2__)
    __m128i same[6];
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t at = i < 5 ? 16 * i : 4 * TF_UNDO_WORDS - 16; /* the last four overlap */
        same[i] = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(const void *)(x + at)),
                                  _mm_loadu_si128((const __m128i *)(const void *)(y + at)));
    }
    __m128i first = _mm_packs_epi16(_mm_packs_epi32(same[0], same[1]),
                                    _mm_packs_epi32(same[2], same[3]));
    __m128i rest = _mm_packs_epi16(_mm_packs_epi32(same[4], same[5]), same[5]);
    uint32_t more = (uint32_t)_mm_movemask_epi8(rest);
    uint32_t set = (uint32_t)_mm_movemask_epi8(first) | (more & 15u) << 16 | (more & 0xC0u) << 14;
    return ~set & ((1u << TF_UNDO_WORDS) - 1);
#else
    uint32_t set = 0;
    for (uint32_t i = 0; i < TF_UNDO_WORDS; i++)
        set |= (uint32_t)(memcmp(x + 4 * i, y + 4 * i, 4) != 0) << i;
    return set;
#endif
}

/* Index of the lowest bit of a set that is not empty. */
static inline uint32_t tf_undo_lowest(uint32_t set)
{
#if defined(__GNUC__)
    return (uint32_t)__builtin_ctz(set);
#else
    uint32_t i = 0;
    while ((set >> i & 1u) == 0)
        i++;
    return i;
#endif
}

/* A record, at most TF_UNDO_MOST bytes; how many. The byte behind it may be written to. */
static inline uint32_t tf_undo_write(uint8_t *record, const tf_node *from, const tf_node *node,
                                     char *before, char *behind)
{
    uint8_t *to = record;
    uint32_t head = tf_undo_differing(&from->c, &node->c);
    for (uint32_t left = head; left != 0; left &= left - 1, to += 4)
        memcpy(to, (const char *)&from->c + 4 * tf_undo_lowest(left), 4);
    if (before != behind) {
        memcpy(to, &before, sizeof before);
        to += sizeof before;
        head |= TF_UNDO_MEMORY;
    }
    head |= (uint32_t)from->final << (TF_UNDO_WORDS + 1);
    tf_le32_store(to, head); /* of which TF_UNDO_HEAD bytes are kept */
    return (uint32_t)(to + TF_UNDO_HEAD - record);
}

/* tf_history_push where there is no chunk of its own with room for any record. */
bool tf_history_push_slow(tf_history *h, const tokfsm_allocator *a, const tf_node *from,
                          const tf_node *node, char *before, char *behind);
/*
 * Note what leads from `node` back to `from`. `before` is arena->next as it was before the token,
 * `behind` as it is now. False: no memory, nothing changed.
 */
static inline bool tf_history_push(tf_history *h, const tokfsm_allocator *a, const tf_node *from,
                                   const tf_node *node, char *before, char *behind)
{
    /* A chunk that another history may read is not written to. */
    if (h->chunk == NULL || TF_UNDO_MOST > h->chunk->capacity - h->at ||
        atomic_load_explicit(&h->chunk->references, memory_order_acquire) != 1)
        return tf_history_push_slow(h, a, from, node, before, behind);
    h->at += tf_undo_write(h->chunk->records + h->at, from, node, before, behind);
    return true;
}

/* Go back by one record, of which there must be one. *before: arena->next to go back to, where the
   token took memory; else it is not written. */
void tf_history_pop(tf_history *h, const tokfsm_allocator *a, tf_node *node, char **before);
/* Another owner of the same records. */
tf_history tf_history_share(const tf_history *h);
void tf_history_free(tf_history *h, const tokfsm_allocator *a);

#endif
