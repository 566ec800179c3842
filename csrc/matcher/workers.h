/* Threads that help a caller through the pieces of one job. */
#ifndef TF_WORKERS_H
#define TF_WORKERS_H

#include "../base/alloc.h"

/*
 * piece(context, i) for each i < n, in any order, on the caller's thread and at most `n_helpers`
 * of the workers; all are done on return. `workers` may be NULL. Unless `at_once`, they are woken
 * only when the caller alone has been at it for longer than that costs.
 */
void tf_workers_run(tokfsm_workers *workers, uint32_t n_helpers, bool at_once, size_t n,
                    void (*piece)(void *context, size_t i), void *context);

#endif
