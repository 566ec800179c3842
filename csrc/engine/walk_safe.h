/* The insides of tf_walk_safe: tokens that stay in the string, and those that close it. */
#ifndef TF_WALK_SAFE_H
#define TF_WALK_SAFE_H

#include "safe.h"
#include "walk.h"

typedef struct tf_safe_level {
    const tf_content_state *state;
    uint64_t n;
    uint32_t next, end; /* children */
    uint32_t n_path; /* decoded bytes on the way */
    uint8_t sub;
    bool in_row;         /* nothing but safe characters so far: the row has the tokens */
    const tf_safe *safe; /* of the place that `since` counts from, if since then nothing else came */
    uint64_t since;
} tf_safe_level;

typedef struct tf_safe_walk {
    tf_run *run;
    const tf_configuration *from;
    const tf_text *text; /* at `from` */
    tf_safe safe;
    tf_wanted wanted;
    const uint8_t (*strings)[256];
    bool minimal; /* escapes="minimal" */
    bool by_state; /* nothing but the content state decides what stays and what may close */
    tf_safe_level *levels;
    uint8_t *path; /* decoded bytes on the way to the level */
    tf_edits *edits;
    const tf_content_state *asked; /* of which it is known whether an escape can begin there */
    uint64_t asked_n;
    bool may_escape;
} tf_safe_walk;

enum { TF_BEFORE_WORDS = TF_MAX_BEFORES / 64, TF_MOST_OUTCOMES = 16 };

/* Strings before a quote after which the content accepts the same. */
typedef struct tf_outcome {
    const uint64_t *accepts;
    uint64_t n;      /* characters so far, for one of them */
    uint32_t at;     /* the break that holds for so many */
    uint64_t befores[TF_BEFORE_WORDS];
    uint32_t one; /* of them */
    const tf_content_state *state;
    tf_configuration c; /* behind an escape; else made of `state` */
    bool has_place;
} tf_outcome;

typedef struct tf_outcomes {
    uint32_t n;
    tf_outcome items[TF_MOST_OUTCOMES];
} tf_outcomes;

/* The place after `n` decoded bytes, at a state; false: no memory. */
bool tf_safe_place(tf_safe_walk *w, const tf_content_state *state, uint8_t sub, uint64_t chars,
                   const uint8_t *bytes, uint32_t n, tf_configuration *c);
/* What the string can be before a quote; false: too many outcomes, or run->call.status. */
bool tf_safe_outcomes(tf_safe_walk *w, tf_outcomes *found);
/* The tokens that close it so. False: run->call.status. */
bool tf_safe_close(tf_safe_walk *w, tf_outcomes *found);

/* The state after a byte, without a call where it is known; NULL: nothing is live. */
static inline const tf_content_state *tf_step_content(tf_run *run, const tf_content_state *state,
                                                   uint8_t byte)
{
    tf_content_state *from = (tf_content_state *)(uintptr_t)state; /* an atomic is read */
    const tf_content_state *next = atomic_load_explicit(
        &from->next[state->content->byte_class[byte]], memory_order_acquire);
    if (next == NULL)
        return tf_content_step(run, state, byte);
    return next == &tf_content_dead ? NULL : next;
}

#endif
