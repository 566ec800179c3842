/* What a frame still needs, for bound.c: layout, members and items to come. */
#ifndef TF_BOUND_MEMBERS_H
#define TF_BOUND_MEMBERS_H

#include "counters.h"

/* Bytes of a gap that are still to be written, of which `done` are. */
uint32_t tf_gap_rest(const tf_machine *m, const tf_frame *frame, uint8_t gap, uint64_t done);
/* What alternative a asks of a child with this sign. */
uint32_t tf_edge_cost(tf_run *run, const tf_frame *frame, const tf_edge *edge, uint32_t a,
                      uint32_t sign);
/* The colon and its gap, after the quote of the name begun last. */
uint32_t tf_colon_cost(tf_run *run, const tf_frame *frame);
/*
 * What alternative a still needs after the member or item in progress, which has this sign.
 * `taken`: a name that counts as seen, or TF_NONE; `gap_done`: white space after it, so far;
 * `begun`: the frame does not count the member yet, of which `in_progress` is the name's length,
 * and `but` the name, where patterns tell names apart.
 */
uint32_t tf_rest_after(tf_run *run, const tf_frame *frame, uint32_t a, uint32_t taken,
                       uint64_t gap_done, bool begun, uint32_t in_progress, uint32_t sign,
                       const tf_known_name *but);
static inline bool tf_indented(const tf_machine *m)
{
    return m->options.whitespace == TOKFSM_WHITESPACE_INDENT;
}

#endif
