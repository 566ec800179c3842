/*
 * Work and cancellation: one counter a call. Work is counted in units that do not
 * depend on the clock, so that a limit is reached at the same place every time.
 */
#ifndef TF_BUDGET_H
#define TF_BUDGET_H

#include <stdatomic.h>

#include "status.h"

struct tokfsm_cancel {
    atomic_int set;
    tokfsm_allocator allocator;
};

typedef struct tf_budget {
    uint64_t left;
    uint64_t limit;
    const tokfsm_cancel *cancel;
} tf_budget;

void tf_budget_init(tf_budget *budget, const tokfsm_limits *limits,
                    const tokfsm_cancel *cancel);
tokfsm_status tf_budget_check(tf_budget *budget, tokfsm_error *err);

/* Spend one unit; the flag is read every 1,024 units. */
static inline tokfsm_status tf_spend(tf_budget *budget, tokfsm_error *err)
{
    if (budget->left > 0 && (--budget->left & 1023u) != 0)
        return TOKFSM_OK;
    return tf_budget_check(budget, err);
}

#endif
