/*
 * Counters as registers: which signs a child may have, what it was counted as, and what is still
 * needed after it. A sign is open
 * where the children after it can still meet all counters, within the order and number that the
 * alternative admits. What is met stays met, so that a sign is not asked for what it adds no more.
 */
#include "bound_names.h"
#include "counters.h"

#include "../base/bits.h"

static const tf_counter *counters_of(const tf_kind *kind, uint32_t a)
{
    return kind->counting->counters + kind->counting->first_counter[a];
}

static void read_counts(const tf_frame *frame, uint32_t a, uint64_t *counts)
{
    uint32_t from = frame->kind->counting->first_counter[a], k = tf_n_counters(frame->kind, a);
    for (uint32_t i = 0; i < k; i++)
        counts[i] = frame->counts == NULL ? 0 : frame->counts[from + i];
}

/* Count a child; false: a counter goes over. */
static bool add_sign(const tf_counter *counters, uint32_t k, uint32_t sign, uint64_t *counts)
{
    for (uint32_t i = 0; i < k; i++) {
        if (!(sign >> i & 1u))
            continue;
        if (counts[i] < tf_counter_cap(&counters[i]))
            counts[i]++;
        else if (counters[i].max != TF_UNCOUNTED)
            return false;
    }
    return true;
}

/* Counters that another child would not change. */
static uint32_t full(const tf_counter *counters, uint32_t k, const uint64_t *counts)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < k; i++)
        if (counters[i].max == TF_UNCOUNTED && counts[i] >= counters[i].min)
            found |= 1u << i;
    return found;
}

/* All counters that some sign of the set has. */
static uint32_t all_of(uint64_t signs)
{
    uint32_t found = 0;
    for (uint32_t s = 0; signs != 0; s++, signs >>= 1)
        if (signs & 1u)
            found |= s;
    return found;
}

uint32_t tf_unmet(const tf_frame *frame, uint32_t a)
{
    uint32_t k = tf_n_counters(frame->kind, a), found = 0;
    if (k == 0)
        return 0;
    uint64_t counts[TF_MAX_COUNTERS];
    read_counts(frame, a, counts);
    const tf_counter *counters = counters_of(frame->kind, a);
    for (uint32_t i = 0; i < k; i++)
        if (counts[i] < counters[i].min)
            found |= 1u << i;
    return found;
}

bool tf_counters_met(const tf_frame *frame, uint32_t a) { return tf_unmet(frame, a) == 0; }

bool tf_count_child(tf_run *run, const tf_frame *frame, const uint64_t *outcome, uint64_t *kept,
                    const uint64_t **counts)
{
    const tf_kind *kind = frame->kind;
    const tf_counting *counting = kind->counting;
    const uint64_t *alive = tf_frame_alive(frame);
    uint64_t *after = NULL;
    *counts = NULL;
    if (counting != NULL) {
        after = tf_arena_zero(run->arena, counting->n_counters * sizeof *after);
        if (after == NULL) {
            run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for counts");
            return false;
        }
        *counts = after;
    }
    for (uint32_t a = tf_words_next(alive, kind->alternative_words, 0); a != UINT32_MAX;
         a = tf_words_next(alive, kind->alternative_words, a + 1)) {
        uint32_t k = tf_n_counters(kind, a), sign = 0;
        const uint32_t *signs = tf_edge_signs(kind, frame->edge, a);
        bool any = false;
        /* Another alternative may have looked through the same obligation. */
        uint64_t open = k == 0             ? 1
                        : kind->is_object ? tf_name_signs(run, frame, a, frame->last - 1, true)
                                          : tf_item_signs(run, frame, a, frame->count - 1);
        for (uint32_t s = 0; s < 1u << k; s++)
            if (signs[s] != TF_NONE && tf_word_bit(outcome, signs[s])) {
                any |= open >> s & 1u;
                sign |= s;
            }
        if (any && k > 0) {
            uint64_t *mine = after + counting->first_counter[a];
            read_counts(frame, a, mine);
            any = add_sign(counters_of(kind, a), k, sign, mine);
            if (!any)
                memset(mine, 0, k * sizeof *mine);
        }
        if (any)
            tf_word_set(kept, a);
    }
    return true;
}

/* ---- items ---- */

typedef struct items {
    tf_run *run;
    const tf_kind *kind;
    uint32_t a;
    uint32_t depth;
} items;

static uint64_t possible(const tf_kind *kind, uint32_t edge, uint32_t a)
{
    const tf_counting *c = kind->counting;
    return c->possible[(size_t)edge * c->n_rows + c->row[a]];
}

static void free_signs(uint64_t signs, uint32_t k, tf_cost *by_sign)
{
    for (uint32_t s = 0; s < 1u << k; s++)
        by_sign[s] = signs >> s & 1u ? (tf_cost){0, 0} : tf_no_cost();
}

static bool item_is_possible(void *context, uint32_t class, tf_cost by_sign[TF_MAX_SIGNS])
{
    const items *at = context;
    free_signs(possible(at->kind, class, at->a), tf_n_counters(at->kind, at->a), by_sign);
    return true;
}

static bool item_cost(void *context, uint32_t class, tf_cost by_sign[TF_MAX_SIGNS])
{
    const items *at = context;
    const tf_edge *edge = tf_kind_edge(at->run->m, at->kind, class, &at->run->call);
    const tf_cost *cost = NULL;
    if (edge != NULL && edge->value != NULL)
        cost = tf_value_cost(at->run->m, edge->value, &at->run->call);
    if (edge == NULL || (edge->value != NULL && cost == NULL))
        return false;
    const uint32_t *signs = tf_edge_signs(at->kind, edge, at->a);
    for (uint32_t s = 0; s < 1u << tf_n_counters(at->kind, at->a); s++) {
        by_sign[s] = tf_no_cost();
        if (cost != NULL && signs[s] != TF_NONE)
            by_sign[s].base = tf_cost_at(cost[signs[s]], at->depth);
    }
    return true;
}

static bool spend_item(void *context)
{
    const items *at = context;
    return tf_run_spend(at->run);
}

/* A plan for what comes after `n` items, with nothing counted. */
static tf_items_plan items_plan(const tf_kind *kind, uint32_t a, uint64_t n, items *context)
{
    tf_items_plan plan = {.counters = counters_of(kind, a), .k = tf_n_counters(kind, a), .at = n,
                          .min = kind->min_items[a], .max = kind->max_items[a],
                          .n_classes = kind->n_classes, .first = kind->first,
                          .costs = item_is_possible, .spend = spend_item, .context = context};
    return plan;
}

void tf_counters_note_endless(const tf_kind *kind, tf_counting *counting)
{
    counting->endless = !kind->is_object;
    for (uint32_t a = 0; a < kind->n_alternatives && counting->endless; a++) {
        uint32_t k = tf_n_counters(kind, a);
        if (k == 0)
            continue;
        const tf_counter *counters = counters_of(kind, a);
        uint32_t wanted = (1u << k) - 1;
        for (uint32_t i = 0; i < k; i++)
            counting->endless &= counters[i].max == TF_UNCOUNTED;
        counting->endless &= kind->max_items[a] == TF_UNCOUNTED &&
                             (wanted & ~all_of(possible(kind, kind->n_classes - 1, a))) == 0;
    }
}

/* No limit is near, and the items without end can meet what is not met. */
static bool plainly_feasible(const tf_items_plan *plan, const tf_kind *kind, uint32_t a)
{
    if (plan->max != TF_UNCOUNTED)
        return false;
    for (uint32_t i = 0; i < plan->k; i++)
        if (plan->counters[i].max != TF_UNCOUNTED)
            return false;
    uint32_t wanted = ((1u << plan->k) - 1) & ~full(plan->counters, plan->k, plan->counts);
    return (wanted & ~all_of(possible(kind, kind->n_classes - 1, a))) == 0;
}

uint64_t tf_item_signs(tf_run *run, const tf_frame *frame, uint32_t a, uint64_t i)
{
    const tf_kind *kind = frame->kind;
    if (i >= kind->max_items[a])
        return 0;
    items context = {run, kind, a, 0};
    tf_items_plan plan = items_plan(kind, a, i + 1, &context);
    uint64_t before[TF_MAX_COUNTERS], open = 0;
    read_counts(frame, a, before);
    uint32_t idle = full(plan.counters, plan.k, before);
    uint64_t signs = possible(kind, tf_item_class(kind, i), a);
    for (uint32_t s = 0; s < 1u << plan.k; s++) {
        if (!(signs >> s & 1u) || (s & idle))
            continue;
        memcpy(plan.counts, before, sizeof before);
        if (!add_sign(plan.counters, plan.k, s, plan.counts))
            continue;
        tf_cost cost = {0, 0};
        if (!plainly_feasible(&plan, kind, a) && !tf_items_plan_cost(&plan, &cost))
            return 0;
        if (cost.base != TF_COST_NONE)
            open |= (uint64_t)1 << s;
    }
    return open;
}

uint32_t tf_items_rest(tf_run *run, const tf_frame *frame, uint32_t a, uint32_t sign)
{
    const tf_kind *kind = frame->kind;
    items context = {run, kind, a, frame->depth};
    tf_items_plan plan = items_plan(kind, a, frame->count, &context);
    read_counts(frame, a, plan.counts);
    plan.min = tf_least_items(frame, a);
    tf_cost cost;
    if (!add_sign(plan.counters, plan.k, sign, plan.counts))
        return TF_COST_NONE;
    plan.costs = item_cost;
    plan.comma.base = tf_comma_cost(run->m, frame);
    return tf_items_plan_cost(&plan, &cost) ? cost.base : TF_COST_NONE;
}

/* ---- members ---- */

bool tf_comes_after(const tf_kind *kind, uint32_t a, uint32_t k, uint32_t name)
{
    if (kind->rank == NULL || name == TF_NONE)
        return true;
    const uint32_t *rank = kind->rank + (size_t)a * kind->n_names;
    uint32_t reached = name < kind->n_names ? rank[name] : TF_NONE;
    return reached == TF_NONE ? rank[k] == TF_NONE : rank[k] > reached;
}

/* Members that may follow n. */
static uint64_t room_after(const tf_kind *kind, uint32_t a, uint64_t n)
{
    return kind->max_items[a] == TF_UNCOUNTED ? TF_UNCOUNTED : kind->max_items[a] - n;
}

/* Whether members after `name`, at most `room` of them not required, meet these counters. */
static bool members_meet(tf_run *run, const tf_frame *frame, uint32_t a, uint32_t name, bool begun,
                         uint32_t unmet, uint64_t room)
{
    const tf_kind *kind = frame->kind;
    uint32_t n_unmet = 0;
    for (uint32_t left = unmet; left != 0; left &= left - 1)
        n_unmet++;
    uint64_t others = 0; /* signs of undeclared members of which there is no end */
    for (uint32_t j = 0; j < kind->n_others; j++)
        if (tf_others_left(frame, j) == UINT64_MAX)
            others |= possible(kind, kind->n_names + j, a);
    if (unmet == 0 || ((unmet & ~all_of(others)) == 0 && room >= n_unmet))
        return true;
    tf_cost of[(TF_MAX_COUNTERS + 1) * TF_MAX_SIGNS], by_sign[TF_MAX_SIGNS];
    tf_members_plan plan = {.k = tf_n_counters(kind, a), .unmet = unmet, .n_optional = n_unmet,
                            .room = room, .of = of};
    tf_members_plan_begin(&plan);
    const uint32_t *required = kind->required + (size_t)a * kind->name_words;
    for (uint32_t k = 0; k < kind->n_names; k++) {
        uint64_t signs = possible(kind, k, a);
        if (k == name || tf_bit(frame->seen, k) || (all_of(signs) & unmet) == 0)
            continue;
        if (!tf_bit(required, k) && !tf_comes_after(kind, a, k, name))
            continue;
        if (!tf_run_spend(run))
            return false;
        free_signs(signs, plan.k, by_sign);
        tf_members_plan_add(&plan, tf_bit(required, k), by_sign);
    }
    for (uint32_t j = 0; j < kind->n_others; j++) {
        uint64_t left = tf_others_left(frame, j), signs = possible(kind, kind->n_names + j, a);
        if (left == UINT64_MAX || (all_of(signs) & unmet) == 0)
            continue;
        left -= left > 0 && !begun && name == kind->n_names + j;
        free_signs(signs, plan.k, by_sign);
        for (uint64_t i = 0; i < left && i < n_unmet; i++)
            tf_members_plan_add(&plan, false, by_sign);
    }
    free_signs(others, plan.k, by_sign);
    return tf_members_plan_cost(&plan, others == 0 ? NULL : by_sign).base != TF_COST_NONE;
}

uint64_t tf_name_signs(tf_run *run, const tf_frame *frame, uint32_t a, uint32_t name, bool begun)
{
    const tf_kind *kind = frame->kind;
    const tf_counter *counters = counters_of(kind, a);
    uint32_t k = tf_n_counters(kind, a);
    uint64_t counts[TF_MAX_COUNTERS], open = 0, signs = possible(kind, name, a);
    read_counts(frame, a, counts);
    uint32_t idle = full(counters, k, counts), wanted = ((1u << k) - 1) & ~idle;
    uint64_t n = frame->count + !begun + tf_still_required(frame, a, name);
    if (n > kind->max_items[a])
        return 0;
    uint64_t room = room_after(kind, a, n);
    for (uint32_t s = 0; s < 1u << k; s++)
        if ((signs >> s & 1u) && !(s & idle) &&
            members_meet(run, frame, a, name, begun, wanted & ~s, room))
            open |= (uint64_t)1 << s;
    return open;
}

/* The names of a class that may be wanted, each as a member by itself. */
static bool plan_class(tf_run *run, const tf_frame *frame, uint32_t a, uint32_t class,
                       const tf_known_name *but, tf_members_plan *plan)
{
    const tf_kind *kind = frame->kind;
    tf_cost by_sign[TF_MAX_SIGNS];
    const tf_edge *edge = tf_kind_edge(run->m, kind, kind->n_names + class, &run->call);
    uint32_t *names = tf_arena_take(run->arena, (size_t)plan->n_optional * sizeof *names);
    if (edge == NULL || names == NULL)
        return false;
    if (!tf_word_bit(edge->admits, a))
        return true;
    uint32_t n = tf_class_names_costs(run, frame, class, but, plan->n_optional, names);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t s = 0; s < 1u << plan->k; s++)
            by_sign[s] = (tf_cost){tf_cost_add(names[i], tf_other_member_cost(run, frame, edge, a, s)), 0};
        tf_members_plan_add(plan, false, by_sign);
    }
    return run->call.status == TOKFSM_OK;
}

uint32_t tf_members_rest(tf_run *run, const tf_frame *frame, uint32_t a, uint32_t taken, bool begun,
                         uint32_t in_progress, uint32_t sign, const tf_known_name *but)
{
    const tf_machine *m = run->m;
    const tf_kind *kind = frame->kind;
    uint32_t name = begun ? (taken == TF_NONE ? kind->n_names : taken) : frame->last - 1;
    uint64_t n = frame->count + begun + tf_still_required(frame, a, taken);
    if (n > kind->max_items[a])
        return TF_COST_NONE;
    uint32_t longest = tf_longest_name(frame, a);
    tf_members_plan plan = {.k = tf_n_counters(kind, a), .unmet = tf_unmet(frame, a) & ~sign,
                            .fill = kind->min_items[a] > n ? kind->min_items[a] - n : 0,
                            .room = room_after(kind, a, n),
                            .comma = {tf_comma_cost(m, frame), 0},
                            .longest = in_progress > longest ? in_progress : longest,
                            .char_tokens = m->char_tokens};
    uint64_t most = plan.fill > plan.k ? plan.fill : plan.k;
    if (kind->names.content == NULL && most > kind->n_names)
        most = kind->n_names;
    if (most > 1u << 16) {
        run->call.status = tf_fail(run->call.err, TOKFSM_E_LIMIT, "too many members for a bound");
        return TF_COST_NONE;
    }
    plan.n_optional = (uint32_t)most;
    plan.of = tf_arena_take(run->arena, ((size_t)plan.n_optional + 1) * sizeof *plan.of << plan.k);
    if (plan.of == NULL) {
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a bound");
        return TF_COST_NONE;
    }
    tf_members_plan_begin(&plan);
    const uint32_t *required = kind->required + (size_t)a * kind->name_words;
    uint32_t quote = tf_bytes_cost(m, "\"");
    tf_cost by_sign[TF_MAX_SIGNS];
    for (uint32_t k = 0; k < kind->n_names; k++) {
        if (tf_bit(frame->seen, k) || k == taken ||
            (!tf_bit(required, k) && !tf_comes_after(kind, a, k, name)))
            continue;
        for (uint32_t s = 0; s < 1u << plan.k; s++)
            by_sign[s] = (tf_cost){tf_cost_add(quote, tf_member_cost(run, frame, k, 0, a, s)), 0};
        tf_members_plan_add(&plan, tf_bit(required, k), by_sign);
    }
    for (uint32_t j = 0; kind->names.content != NULL && j < kind->n_others; j++)
        if (!plan_class(run, frame, a, j, but, &plan))
            return TF_COST_NONE;
    if (kind->names.content != NULL)
        return tf_members_plan_cost(&plan, NULL).base;
    const tf_edge *edge = tf_kind_edge(run->m, kind, kind->n_names, &run->call);
    if (edge == NULL)
        return TF_COST_NONE;
    for (uint32_t s = 0; s < 1u << plan.k; s++)
        by_sign[s] = (tf_cost){tf_other_member_cost(run, frame, edge, a, s), 0};
    return tf_members_plan_cost(&plan, tf_word_bit(edge->admits, a) ? by_sign : NULL).base;
}
