/*
 * A matcher: a pointer to a node of the history, each node a configuration. Nodes, frames and
 * texts live in stores; a fork shares the store of what it was forked from and appends to one
 * of its own, so that no thread ever appends to another's.
 */
#ifndef TF_MATCHER_H
#define TF_MATCHER_H

#include "../engine/automaton.h"

typedef struct tf_store {
    atomic_uint references;
    struct tf_store *parent; /* holds what this one points into; counted */
    tf_arena arena;
} tf_store;

typedef struct tf_node {
    const struct tf_node *previous;
    tf_configuration c;
    uint32_t n_accepted;
    uint16_t stopped; /* a stop token came */
    uint16_t final;   /* nothing can follow (looked at where there is no stop token) */
} tf_node;

struct tokfsm_matcher {
    atomic_uint busy;
    atomic_uint state;      /* TOKFSM_STATE_*, for readers that do not enter */
    atomic_uint n_undoable; /* tokens that rollback can undo */
    tokfsm_allocator allocator;
    tokfsm_automaton *automaton;
    tf_store *store;
    const tf_node *at;
    uint32_t *stop_ids; /* ascending */
    size_t n_stop_ids;
    uint32_t max_rollback;
    uint32_t floor;    /* n_accepted below which rollback may not go */
    uint32_t padded;   /* ids below this and past the vocabulary are refused, not errors */
    uint32_t stop_has_bytes; /* a stop token that the automaton did not know of has bytes */
    tf_arena scratch;  /* of fill; reset by each */
};

/* A run on the matcher's scratch memory; what the last one left there is gone. */
typedef struct tf_scratch_run {
    tf_budget budget;
    tokfsm_error local;
    tf_run run;
} tf_scratch_run;

void tf_scratch_begin(tf_scratch_run *s, tokfsm_matcher *matcher, tokfsm_error *err);

tf_store *tf_store_new(const tokfsm_allocator *a, tf_store *parent);
void tf_store_release(tf_store *store);
/* E_BUSY, or the matcher is this call's until tf_matcher_leave. */
tokfsm_status tf_matcher_enter(tokfsm_matcher *matcher, tokfsm_error *err);
void tf_matcher_leave(tokfsm_matcher *matcher);
/* Be at `to`. */
void tf_matcher_move(tokfsm_matcher *matcher, const tf_node *to);
/* tokfsm_matcher_fill for who has entered. */
tokfsm_status tf_matcher_fill(tokfsm_matcher *matcher, uint32_t *words, size_t n_words,
                              uint32_t budget, int32_t *need_apply, tokfsm_error *err);
bool tf_matcher_stops(const tokfsm_matcher *matcher, uint32_t id);

/*
 * The place behind token `id` after `from`, in the arena; *to is NULL where it is refused. The
 * matcher does not move.
 */
tokfsm_status tf_matcher_next(tokfsm_matcher *matcher, tf_arena *arena, const tf_node *from,
                              uint32_t id, const tf_node **to, tokfsm_error *err);

/* A mask for rows of one width: all that can fail is behind it, and nothing is written yet. */
typedef struct tf_made_mask {
    tf_edits edits;
    uint32_t *row; /* of the pack's width, stop tokens included; NULL: edits alone */
    bool complete;
} tf_made_mask;
tokfsm_status tf_matcher_make(tokfsm_matcher *matcher, tf_run *run, const tf_node *at,
                              size_t n_words, uint32_t budget, tf_made_mask *made,
                              tokfsm_error *err);
void tf_matcher_write(const tokfsm_matcher *matcher, const tf_made_mask *made, uint32_t *words,
                      size_t n_words);
/* A narrow row may only cut ids that are never allowed. */
tokfsm_status tf_matcher_check_width(const tokfsm_matcher *matcher, size_t n_words,
                                     tokfsm_error *err);
/* Ids in the padding of rows of this width are refused from here on, not errors. */
void tf_matcher_note_width(tokfsm_matcher *matcher, size_t n_words);
/* E_BUDGET where the bound at `at` is greater. */
tokfsm_status tf_matcher_check_budget(const tokfsm_matcher *matcher, tf_run *run,
                                      const tf_node *at, uint32_t budget, tokfsm_error *err);

#endif
