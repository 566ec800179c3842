/*
 * A tour of a machine of which all parts are there: the masks at the places that a text can well
 * come to are made and kept, those nearest to the root first. More than lower/rehearse.c, which
 * has less time: every value position, each declared name first, in the middle, as the last one
 * that is required and as the last one of all, states of numbers and of contents.
 */
#ifndef TF_TOUR_H
#define TF_TOUR_H

#include "configuration.h"

/*
 * Until about n_bytes bytes of masks are there, or a fixed amount of work is done. What is made
 * depends on the machine alone, as long as nothing else uses it. Fails only for lack of memory,
 * or cancelled.
 */
tokfsm_status tf_tour(tf_machine *m, size_t n_bytes, const tokfsm_cancel *cancel, tokfsm_error *err);

#endif
