/*
 * Masks ahead of their first use: the text that a model is most likely to write is rehearsed, all
 * members in their order, an item or two of each array, breadth first, and the masks on the way
 * are made and kept.
 */
#ifndef TF_REHEARSE_H
#define TF_REHEARSE_H

#include "build.h"

/*
 * TF_REHEARSED_MASKS at the most. Where a limit is met the rest is left to first use; it fails
 * only for lack of memory, or cancelled.
 */
enum { TF_REHEARSED_MASKS = 700 };
tokfsm_status tf_rehearse(tf_build *b, const tokfsm_cancel *cancel, tokfsm_error *err);

#endif
