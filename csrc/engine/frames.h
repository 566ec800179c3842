/* Frames: making, restricting and closing them. Shared by step and bound. */
#ifndef TF_FRAMES_H
#define TF_FRAMES_H

#include "configuration.h"

/* Room for n_words words while a call lasts. */
typedef struct tf_scratch_words {
    uint64_t words[TF_MAX_WORDS];
} tf_scratch_words;

/* `words` as bits; more than one word goes to the arena. False: no memory. */
bool tf_bits_keep(tf_run *run, const uint64_t *words, uint32_t n_words, tf_bits *bits);
/* A copy of `frame` to be changed before it is published; NULL: no memory. */
tf_frame *tf_frame_copy(tf_run *run, const tf_frame *frame);
/* A fresh frame of `kind` over `parent` with these alternatives. */
tf_frame *tf_frame_new(tf_run *run, const tf_frame *parent, const tf_kind *kind, tf_bits alive);
/* The alternatives that item i may come for. */
bool tf_item_open(tf_run *run, const tf_frame *frame, const tf_edge *edge, uint64_t i,
                  uint64_t *alive);
/* Obligations of edge->value that the alternatives `alive` look through at item i, or at the
   member under name i, begun last. False: failed. */
bool tf_edge_obligations(tf_run *run, const tf_frame *frame, const tf_edge *edge, uint64_t i,
                         const uint64_t *alive, tf_bits *obligations);
/* Class of item i. */
uint32_t tf_item_class(const tf_kind *kind, uint64_t i);

static inline const uint64_t *tf_frame_alive(const tf_frame *frame)
{
    return tf_words(&frame->alive, frame->kind->alternative_words);
}
/* Names that are required and not there, `name` left out. */
uint64_t tf_still_required(const tf_frame *frame, uint32_t a, uint32_t name);
/* A comma and the gap behind it, in tokens. */
uint32_t tf_comma_cost(const tf_machine *m, const tf_frame *frame);
/* Whether these alternatives of an array look at equal items. */
bool tf_unique_begins(const tf_kind *kind, const tf_bits *alive);
/* Whether alternative a still lacks two equal items; kind->twins is there. */
static inline bool tf_twins_wanting(const tf_frame *frame, uint32_t a)
{
    return frame->kind->twins[a].second != TF_NONE &&
           (frame->kind->alternative_words == 1
                ? !(frame->twins.word >> a & 1u)
                : frame->twins.words == NULL || !tf_word_bit(frame->twins.words, a));
}
/*
 * Items that alternative a must come to: one more while two equal ones are wanting. An item of
 * which nothing is written can be the second of them; of one that is begun it is not known here.
 */
static inline uint64_t tf_least_items(const tf_frame *frame, uint32_t a)
{
    const tf_kind *kind = frame->kind;
    uint64_t least = kind->min_items[a];
    if (kind->twins != NULL && !frame->fresh && least <= frame->count &&
        frame->count < kind->max_items[a] && kind->twins[a].second >= kind->twins[a].tail &&
        tf_twins_wanting(frame, a))
        least = frame->count + 1;
    return least;
}
static inline void tf_meet(uint64_t *out, const uint64_t *a, const uint64_t *b, uint32_t n_words)
{
    for (uint32_t i = 0; i < n_words; i++)
        out[i] = a[i] & b[i];
}

#endif
