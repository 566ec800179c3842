/*
 * Ahead of time: every part that is reachable from the root position, breadth-first, so that
 * a frozen copy of the machine never asks for one. Finite, because neither the stack nor a
 * register is part of a part.
 */
#include "explore.h"

#include "patterns.h"

static tokfsm_status check_size(const tf_build *b)
{
    if (b->arena.n_bytes > b->machine.limits.automaton_bytes)
        return tf_fail(b->err, TOKFSM_E_LIMIT,
                       "exploring ahead of time goes over limits.automaton_bytes = %llu",
                       (unsigned long long)b->machine.limits.automaton_bytes);
    return tf_spend(b->budget, b->err);
}

static tokfsm_status literal_costs(tf_build *b, const tf_strings *s, bool name)
{
    for (uint32_t i = 0; i < s->n_literals; i++) {
        const uint32_t *cost = atomic_load_explicit(&s->literal_costs[i], memory_order_relaxed);
        if (cost != NULL)
            continue;
        TF_TRY(tf_build_literal_cost(b, s, i, name, &cost));
        atomic_store_explicit(&s->literal_costs[i], cost, memory_order_release);
        TF_TRY(check_size(b));
    }
    return TOKFSM_OK;
}

static tokfsm_status explore_kind(tf_build *b, const tf_kind *kind)
{
    if (kind->name_sets > 0)
        return tf_fail(b->err, TOKFSM_E_LIMIT,
                       "the names of an object are told apart by %u patterns that overlap: too "
                       "many kinds of names to make ahead of time", kind->name_sets);
    uint32_t n = tf_kind_n_edges(kind);
    for (uint32_t i = 0; i < n; i++) {
        const tf_edge *edge;
        TF_TRY(tf_build_edge(b, kind, i, &edge));
        TF_TRY(check_size(b));
    }
    if (kind->is_object)
        return literal_costs(b, &kind->names, true);
    tf_kind *k = (tf_kind *)(uintptr_t)kind;
    const tf_items_cost *cost = atomic_load_explicit(&k->items_cost, memory_order_relaxed);
    if (cost == NULL) {
        TF_TRY(tf_build_items_cost(b, kind, &cost));
        atomic_store_explicit(&k->items_cost, cost, memory_order_release);
    }
    return TOKFSM_OK;
}

static tokfsm_status explore_value(tf_build *b, tf_value *value)
{
    const tf_strings *strings;
    const tf_nstate *start;
    const tf_kind *kind;
    TF_TRY(tf_build_strings(b, value, &strings));
    TF_TRY(literal_costs(b, strings, false));
    TF_TRY(tf_build_number(b, value, &start));
    TF_TRY(tf_build_kind(b, value, true, &kind));
    if (kind != &tf_no_kind)
        TF_TRY(explore_kind(b, kind));
    TF_TRY(tf_build_kind(b, value, false, &kind));
    if (kind != &tf_no_kind)
        TF_TRY(explore_kind(b, kind));
    const tf_cost *cost = atomic_load_explicit(&value->cost, memory_order_relaxed);
    if (cost == NULL) {
        TF_TRY(tf_build_value_cost(b, value, &cost));
        atomic_store_explicit(&value->cost, cost, memory_order_release);
    }
    return check_size(b);
}

static tokfsm_status explore_number(tf_build *b, tf_nstate *state)
{
    for (uint32_t class = 0; class < TF_N_CLASSES; class++) {
        const tf_nstate *next;
        TF_TRY(tf_build_number_next(b, state, class, &next));
    }
    const uint32_t *cost = atomic_load_explicit(&state->cost, memory_order_relaxed);
    if (cost == NULL) {
        TF_TRY(tf_build_number_cost(b, state, &cost));
        atomic_store_explicit(&state->cost, cost, memory_order_release);
    }
    return check_size(b);
}

/* States of all contents made so far; more of them are made on the way. */
static tokfsm_status explore_contents(tf_build *b)
{
    for (size_t i = 0; i < b->contents.n; i++)
        for (uint32_t k = 0;; k++) {
            tf_content_state *state = tf_build_content_state(b, (uint32_t)i, k);
            if (state == NULL)
                break;
            for (uint32_t class = 0; class < state->content->n_classes; class++) {
                const tf_content_state *next;
                TF_TRY(tf_build_content_next(b, state, class, &next));
            }
            const uint32_t *cost = atomic_load_explicit(&state->cost, memory_order_relaxed);
            if (cost == NULL) {
                TF_TRY(tf_build_content_cost(b, state, &cost));
                atomic_store_explicit(&state->cost, cost, memory_order_release);
            }
            TF_TRY(check_size(b));
        }
    return TOKFSM_OK;
}

tokfsm_status tf_explore_containers(tf_build *b)
{
    for (size_t i = 0; i < b->values.n; i++) {
        for (int object = 0; object < 2; object++) {
            const tf_kind *kind;
            TF_TRY(tf_build_kind(b, b->values.items[i], object, &kind));
            if (kind == &tf_no_kind)
                continue;
            uint32_t n = tf_kind_n_edges(kind);
            for (uint32_t k = 0; k < n; k++) {
                const tf_edge *edge;
                TF_TRY(tf_build_edge(b, kind, k, &edge));
                TF_TRY(check_size(b));
            }
        }
    }
    return TOKFSM_OK;
}

static tokfsm_status explore_parts(tf_build *b, tf_value *value)
{
    const tf_strings *strings;
    const tf_nstate *start;
    TF_TRY(tf_build_strings(b, value, &strings));
    TF_TRY(tf_build_number(b, value, &start));
    for (int object = 0; object < 2; object++) {
        const tf_kind *kind;
        TF_TRY(tf_build_kind(b, value, object, &kind));
        for (uint32_t i = 0; kind != &tf_no_kind && i < tf_kind_n_edges(kind); i++) {
            const tf_edge *edge;
            TF_TRY(tf_build_edge(b, kind, i, &edge));
            TF_TRY(tf_spend(b->budget, b->err));
        }
    }
    return tf_spend(b->budget, b->err);
}

tokfsm_status tf_explore_some(tf_build *b, const tokfsm_cancel *cancel, tokfsm_error *err)
{
    tf_budget some = {TF_EAGER_UNITS, TF_EAGER_UNITS, cancel}, *budget = b->budget;
    tokfsm_error local, *outer = b->err;
    tokfsm_status status = TOKFSM_OK;
    b->budget = &some;
    b->err = &local;
    for (size_t i = 0; i < b->values.n && status == TOKFSM_OK; i++)
        status = explore_parts(b, b->values.items[i]);
    b->budget = budget;
    b->err = outer;
    if (status == TOKFSM_OK || status == TOKFSM_E_LIMIT)
        return TOKFSM_OK;
    if (err != NULL)
        *err = local;
    return status;
}

tokfsm_status tf_explore(tf_build *b, tf_budget *budget, tokfsm_error *err)
{
    b->budget = budget;
    b->err = err;
    tokfsm_status status = TOKFSM_OK;
    /* Both lists grow while they are walked; what satisfiability made besides is in them too. */
    size_t value = 0, state = 0;
    while (status == TOKFSM_OK && (value < b->values.n || state < b->nstates.n)) {
        if (value < b->values.n)
            status = explore_value(b, b->values.items[value++]);
        else
            status = explore_number(b, b->nstates.items[state++]);
    }
    if (status == TOKFSM_OK)
        status = explore_contents(b);
    b->budget = NULL;
    b->err = NULL;
    return status;
}
