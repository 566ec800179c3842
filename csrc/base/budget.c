#include "budget.h"

#include "alloc.h"

void tokfsm_limits_default(tokfsm_limits *limits)
{
    limits->work_units = 200u * 1000u * 1000u;
    limits->automaton_bytes = (uint64_t)64 << 20;
    limits->schema_bytes = (uint64_t)64 << 20;
    limits->depth = 100000;
    limits->reserved = 0;
}

void tf_budget_init(tf_budget *budget, const tokfsm_limits *limits,
                    const tokfsm_cancel *cancel)
{
    tokfsm_limits defaults;
    if (limits == NULL) {
        tokfsm_limits_default(&defaults);
        limits = &defaults;
    }
    budget->left = budget->limit = limits->work_units;
    budget->cancel = cancel;
}

tokfsm_status tf_budget_check(tf_budget *budget, tokfsm_error *err)
{
    if (budget->cancel != NULL && tokfsm_cancel_is_set(budget->cancel))
        return tf_fail(err, TOKFSM_E_CANCELLED, "cancelled");
    if (budget->left == 0)
        return tf_fail(err, TOKFSM_E_LIMIT, "over limits.work_units = %llu",
                       (unsigned long long)budget->limit);
    return TOKFSM_OK;
}

tokfsm_status tokfsm_cancel_new(const tokfsm_allocator *allocator, tokfsm_cancel **cancel,
                                tokfsm_error *err)
{
    if (cancel == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "cancel is NULL");
    tokfsm_allocator a = tf_allocator(allocator);
    tokfsm_cancel *made = tf_allocate(&a, sizeof *made);
    if (made == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for a cancel flag");
    atomic_init(&made->set, 0);
    made->allocator = a;
    *cancel = made;
    return TOKFSM_OK;
}

void tokfsm_cancel_set(tokfsm_cancel *cancel)
{
    atomic_store_explicit(&cancel->set, 1, memory_order_relaxed);
}

int32_t tokfsm_cancel_is_set(const tokfsm_cancel *cancel)
{
    return atomic_load_explicit(&cancel->set, memory_order_relaxed);
}

void tokfsm_cancel_free(tokfsm_cancel *cancel)
{
    if (cancel != NULL) {
        tokfsm_allocator a = cancel->allocator;
        tf_release(&a, cancel);
    }
}
