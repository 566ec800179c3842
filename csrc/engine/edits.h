/*
 * A mask as a wide row and few edits: (base AND narrowed) + before - cleared + set, in this order;
 * pieces are a part of `before` or of `set`. Made without touching the caller's row, so that a failure leaves it as it was.
 */
#ifndef TF_EDITS_H
#define TF_EDITS_H

#include "../base/alloc.h"
#include "../vocab/traces.h"

typedef struct tf_ids {
    uint32_t *items;
    uint32_t n, capacity;
} tf_ids;

/* What walks meet is a handful; more pieces than these are taken id by id. */
enum { TF_MAX_PIECES = 24 };

typedef struct tf_edits {
    const uint32_t *base;     /* a row of the pack, or of the mask's own; NULL: nothing */
    const uint32_t *narrowed; /* NULL: all of the base */
    uint64_t groups; /* not 0: the base is the row of the tokens of these (groups.h) */
    tf_ids before, cleared, set;
    uint32_t n_pieces, n_before_pieces;    /* the first ones are a part of `before` */
    const tf_piece *pieces[TF_MAX_PIECES]; /* of the pack; the last field */
} tf_edits;

/* Append ids; false: no memory. */
bool tf_ids_add(tf_ids *list, tf_arena *arena, const uint32_t *ids, uint32_t n);
/* Set the bits of a piece. */
static inline void tf_piece_set(const tf_piece *piece, uint32_t *row)
{
    const uint32_t n = piece->n, *const word = piece->word, *const bits = piece->bits;
    for (uint32_t i = 0; i < n; i++) /* n by itself: the row might be where the piece is */
        row[word[i]] |= bits[i];
}
/* Of the pieces only those that there are. */
static inline void tf_edits_copy(tf_edits *to, const tf_edits *from)
{
    memcpy(to, from, offsetof(tf_edits, pieces));
    for (uint32_t i = 0; i < from->n_pieces; i++)
        to->pieces[i] = from->pieces[i];
}
/* Write the mask into a row of n_words words. */
void tf_edits_apply(const tf_edits *edits, uint32_t *row, size_t n_words);
static inline bool tf_edits_empty(const tf_edits *edits)
{
    return edits->base == NULL && edits->before.n == 0 && edits->set.n == 0 &&
           edits->n_pieces == 0;
}

#endif
