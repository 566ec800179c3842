/*
 * How a schema fails by unevaluatedProperties or unevaluatedItems: some member or item that it
 * leaves unevaluated fails. What evaluates is guessed the other way round than where the schema
 * holds (unevaluated.h): too much. A branch either fails, or counts as one that evaluates,
 * whether it holds or not; so what is found unevaluated is.
 *
 * That the rest of the schema holds need not be said: where it does not, the schema fails too.
 */
#include "unevaluated.h"

enum { MAX_WAYS = 1024 };

/* One guess on its way. */
typedef struct guess {
    struct guess *next;
    uint32_t *left;  /* schemas that count as holding, not looked at yet; then those that were */
    uint32_t n_left, left_capacity;
    uint32_t at;
    task *tasks;     /* what the guess asks for */
    uint32_t n_tasks, tasks_capacity;
    uint32_t branch; /* where schema left[at] is at */
} guess;

typedef struct guessing {
    expansion *e;
    uint32_t scope;
    guess **end; /* of the queue */
    uint32_t n;
} guessing;

static tokfsm_status no_memory(expansion *e)
{
    return tf_fail(e->b->err, TOKFSM_E_NOMEM, "no memory while compiling");
}

static tokfsm_status add_schema(expansion *e, guess *g, uint32_t id)
{
    for (uint32_t i = 0; i < g->n_left; i++)
        if (g->left[i] == id)
            return TOKFSM_OK;
    if (id == TF_NO_SCHEMA)
        return TOKFSM_OK;
    if (!tf_arena_grow(&e->scratch, (void **)&g->left, g->n_left, &g->left_capacity, 8,
                       sizeof *g->left))
        return no_memory(e);
    g->left[g->n_left++] = id;
    return tf_expand_check(e);
}

static tokfsm_status add_task(expansion *e, guess *g, task t)
{
    if (!tf_arena_grow(&e->scratch, (void **)&g->tasks, g->n_tasks, &g->tasks_capacity, 4, sizeof t))
        return no_memory(e);
    g->tasks[g->n_tasks++] = t;
    return tf_expand_check(e);
}

/* A copy that asks for `t` besides goes to the end of the queue. */
static tokfsm_status fork_guess(guessing *all, const guess *g, task t, guess **made)
{
    expansion *e = all->e;
    if (++all->n > MAX_WAYS)
        return tf_fail_node(e->b->err, TOKFSM_E_LIMIT, &e->b->tape,
                            e->b->ir.schemas[all->scope].node,
                            e->object ? "unevaluatedProperties" : "unevaluatedItems",
                            "over %d guesses of what evaluates, where the schema must fail",
                            MAX_WAYS);
    guess *copy = tf_arena_take(&e->scratch, sizeof *copy);
    if (copy == NULL)
        return no_memory(e);
    *copy = *g;
    copy->left_capacity = copy->n_left; /* so that growing does not touch what is shared */
    copy->tasks_capacity = copy->n_tasks;
    copy->next = NULL;
    TF_TRY(add_task(e, copy, t));
    *all->end = copy;
    all->end = &copy->next;
    *made = copy;
    return TOKFSM_OK;
}

/* Branch k of what s applies where it holds; *none: there is no such branch. */
static tokfsm_status guess_branch(guessing *all, guess *g, const tf_schema *s, uint32_t k, bool *none)
{
    expansion *e = all->e;
    guess *other;
    *none = false;
    uint32_t branch = k < s->n_any_of                ? s->any_of[k]
                      : k - s->n_any_of < s->n_one_of ? s->one_of[k - s->n_any_of]
                                                      : TF_NO_SCHEMA;
    if (branch != TF_NO_SCHEMA) {
        if (!tf_is_watched(e, branch))
            return TOKFSM_OK;
        TF_TRY(fork_guess(all, g, (task){TASK_FAILS, branch, NULL}, &other));
        return add_schema(e, g, branch);
    }
    k -= s->n_any_of + s->n_one_of;
    if (k == 0) {
        const uint32_t parts[3] = {s->if_schema, s->then_schema, s->else_schema};
        bool matters = false;
        for (int i = 0; i < 3 && s->if_schema != TF_NO_SCHEMA; i++)
            matters |= parts[i] != TF_NO_SCHEMA && tf_is_watched(e, parts[i]);
        if (!matters)
            return TOKFSM_OK;
        TF_TRY(fork_guess(all, g, (task){TASK_FAILS, s->if_schema, NULL}, &other));
        TF_TRY(add_schema(e, other, s->else_schema));
        TF_TRY(add_task(e, g, (task){TASK_HOLDS, s->if_schema, NULL}));
        TF_TRY(add_schema(e, g, s->if_schema));
        return add_schema(e, g, s->then_schema);
    }
    k--;
    *none = !e->object || k >= s->n_dependents;
    if (*none || s->dependents[k].schema == TF_NO_SCHEMA ||
        !tf_is_watched(e, s->dependents[k].schema))
        return TOKFSM_OK;
    const tf_dependent *d = &s->dependents[k];
    uint32_t index;
    TF_TRY(tf_fact_of(e->b, &(tf_fact){.kind = TF_LACKS, .name = d->name.text, .n_name = d->name.n},
                      &index));
    TF_TRY(fork_guess(all, g, (task){TASK_FACT, index, NULL}, &other));
    return add_schema(e, g, d->schema);
}

static bool evaluates_all(const expansion *e, const tf_schema *s, bool is_scope)
{
    return e->object ? s->additional != TF_NO_SCHEMA ||
                           (s->unevaluated_properties != TF_NO_SCHEMA && !is_scope)
                     : s->items != TF_NO_SCHEMA ||
                           (s->unevaluated_items != TF_NO_SCHEMA && !is_scope);
}

/* A whole guess is a way to fail. */
static tokfsm_status add_way(guessing *all, const guess *g, choice *ways)
{
    expansion *e = all->e;
    const tf_schema *schemas = e->b->ir.schemas, *scope = &schemas[all->scope];
    option *o = tf_choice_option(e, ways);
    for (uint32_t i = 0; i < g->n_tasks; i++)
        tf_option_task(e, o, g->tasks[i]);
    uint32_t unevaluated = e->object ? scope->unevaluated_properties : scope->unevaluated_items;
    if (e->object) {
        tf_option_fact(e, o, (tf_fact){.kind = TF_SOME_MEMBER, .index = all->scope,
                                       .names = TF_NAMES_UNEVALUATED, .list = g->left,
                                       .n_list = g->n_left, .min = 1, .max = TF_UNLIMITED,
                                       .obligation = tf_obligation_of(unevaluated, TF_FAILS)});
        return e->status;
    }
    uint32_t n_prefix = 0, n = 0;
    uint32_t *meets = tf_arena_take(&e->scratch, (g->n_left + 1) * sizeof *meets);
    if (meets == NULL)
        return no_memory(e);
    for (uint32_t i = 0; i < g->n_left; i++) {
        const tf_schema *s = &schemas[g->left[i]];
        n_prefix = s->n_prefix > n_prefix ? s->n_prefix : n_prefix;
        if (s->contains != TF_NO_SCHEMA && s->contains_evaluates)
            meets[n++] = s->contains;
    }
    if (n == 0 && schemas[unevaluated].is_false) {
        tf_option_fact(e, o, (tf_fact){.kind = TF_LENGTH, .min = (uint64_t)n_prefix + 1,
                                       .max = TF_UNLIMITED});
        return e->status;
    }
    meets[n++] = unevaluated;
    if (n > 1)
        TF_TRY(tf_schema_of_any(e->b, meets, n, &unevaluated));
    tf_option_fact(e, o, (tf_fact){.kind = TF_SOME_ITEMS, .index = n_prefix, .min = 1,
                                   .max = TF_UNLIMITED,
                                   .obligation = tf_obligation_of(unevaluated, TF_FAILS)});
    return e->status;
}

tokfsm_status tf_unevaluated_ways(expansion *e, uint32_t id, choice *ways)
{
    guessing all = {.e = e, .scope = id};
    guess *g = tf_arena_zero(&e->scratch, sizeof *g);
    if (g == NULL)
        return no_memory(e);
    all.end = &g->next;
    TF_TRY(add_schema(e, g, id));
    for (; g != NULL; g = g->next) {
        bool all_evaluated = false;
        while (g->at < g->n_left && !all_evaluated) {
            const tf_schema *s = &e->b->ir.schemas[g->left[g->at]];
            bool none = false;
            if (g->branch == 0) {
                all_evaluated = evaluates_all(e, s, g->left[g->at] == id);
                TF_TRY(add_schema(e, g, s->reference));
                for (uint32_t i = 0; i < s->n_all_of; i++)
                    TF_TRY(add_schema(e, g, s->all_of[i]));
            }
            TF_TRY(tf_expand_check(e));
            if (!all_evaluated)
                TF_TRY(guess_branch(&all, g, s, g->branch++, &none));
            if (none) {
                g->at++;
                g->branch = 0;
            }
        }
        if (!all_evaluated)
            TF_TRY(add_way(&all, g, ways));
    }
    return TOKFSM_OK;
}
