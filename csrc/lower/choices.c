/*
 * Choices of an expansion: between the branches of a schema that must hold, and between the ways
 * to fail. Each is made once and shared by all partials.
 */
#include "alike.h"
#include "hopeless.h"
#include "told_apart.h"
#include "unevaluated.h"

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
}

choice *tf_choice_new(expansion *e)
{
    choice *c = tf_arena_zero(&e->scratch, sizeof *c);
    if (c == NULL && e->status == TOKFSM_OK)
        e->status = no_memory(e->b);
    return c;
}

option *tf_choice_option(expansion *e, choice *c)
{
    if (c == NULL || !tf_arena_grow(&e->scratch, (void **)&c->options, c->n_options, &c->capacity, 1,
                                    sizeof *c->options)) {
        if (e->status == TOKFSM_OK)
            e->status = no_memory(e->b);
        e->nowhere = (option){0};
        return &e->nowhere;
    }
    option *o = &c->options[c->n_options++];
    *o = (option){0};
    return o;
}

void tf_option_task(expansion *e, option *o, task t)
{
    if (e->status == TOKFSM_OK)
        e->status = tf_expand_check(e);
    if (e->status != TOKFSM_OK)
        return;
    if (!tf_arena_grow(&e->scratch, (void **)&o->tasks, o->n_tasks, &o->capacity, 1, sizeof t))
        e->status = no_memory(e->b);
    else
        o->tasks[o->n_tasks++] = t;
}

void tf_option_fact(expansion *e, option *o, tf_fact fact)
{
    uint32_t index = 0;
    fact.obligation = tf_canonical(e->b, fact.obligation);
    if (e->status == TOKFSM_OK)
        e->status = tf_fact_of(e->b, &fact, &index);
    tf_option_task(e, o, (task){TASK_FACT, index, NULL});
}

/* ---- branches of a schema that must hold ---- */

/* Under a schema that asks what is unevaluated: the first evaluating branch that holds, and any
   of the later ones. */
static void watch_branches(expansion *e, const tf_schema *s, choice *c)
{
    for (uint32_t i = 0; i < s->n_any_of; i++) {
        if (!tf_is_watched(e, s->any_of[i]))
            continue;
        c->kept = true;
        choice *more = tf_choice_new(e);
        tf_option_task(e, tf_choice_option(e, more), (task){TASK_HOLDS, s->any_of[i], NULL});
        tf_choice_option(e, more);
        if (e->status != TOKFSM_OK)
            return;
        more->optional = more->kept = true;
        for (uint32_t k = 0; k < i; k++)
            if (tf_is_watched(e, s->any_of[k]))
                tf_option_task(e, &c->options[k], (task){TASK_CHOOSE, 0, more});
    }
}

static tokfsm_status any_of_choice(expansion *e, const tf_schema *s, choice *c)
{
    c->positive = true;
    for (uint32_t i = 0; i < s->n_any_of; i++)
        tf_option_task(e, tf_choice_option(e, c), (task){TASK_HOLDS, s->any_of[i], NULL});
    if (e->status == TOKFSM_OK && e->b->marks != NULL)
        watch_branches(e, s, c);
    return e->status;
}

/* Branch i, and none of the others that it can meet. */
static tokfsm_status one_of_choice(expansion *e, const tf_schema *s, choice *c)
{
    c->positive = true;
    tf_told_apart_by by = {0};
    if (e->object)
        TF_TRY(tf_told_apart(e->b, &e->scratch, s->one_of, s->n_one_of, &by));
    for (uint32_t i = 0; i < s->n_one_of; i++) {
        option *o = tf_choice_option(e, c);
        tf_option_task(e, o, (task){TASK_HOLDS, s->one_of[i], NULL});
        for (uint32_t j = 0; j < s->n_one_of; j++) {
            tf_obligation both[2] = {tf_obligation_of(s->one_of[i], TF_HOLDS),
                                     tf_obligation_of(s->one_of[j], TF_HOLDS)};
            bool disjoint = tf_are_told_apart(&by, i, j);
            if (j != i && !disjoint)
                TF_TRY(tf_hopeless(e->b, both, 2, e->types, &disjoint));
            if (j != i && !disjoint)
                tf_option_task(e, o, (task){TASK_FAILS, s->one_of[j], NULL});
        }
    }
    return e->status;
}

static tokfsm_status if_choice(expansion *e, const tf_schema *s, choice *c)
{
    c->positive = true;
    option *o = tf_choice_option(e, c);
    tf_option_task(e, o, (task){TASK_HOLDS, s->if_schema, NULL});
    if (s->then_schema == TF_NO_SCHEMA && s->else_schema == TF_NO_SCHEMA) {
        tf_choice_option(e, c);
        c->optional = c->kept = true;
        return e->status;
    }
    if (s->then_schema != TF_NO_SCHEMA)
        tf_option_task(e, o, (task){TASK_HOLDS, s->then_schema, NULL});
    o = tf_choice_option(e, c);
    tf_option_task(e, o, (task){TASK_FAILS, s->if_schema, NULL});
    if (s->else_schema != TF_NO_SCHEMA)
        tf_option_task(e, o, (task){TASK_HOLDS, s->else_schema, NULL});
    return e->status;
}

static tf_fact fact_of_name(int kind, tf_name name, tf_obligation obligation)
{
    return (tf_fact){.kind = kind, .name = name.text, .n_name = name.n, .obligation = obligation};
}

/* An obligation that every value meets: equal to nothing that could differ. */
static tf_obligation anything(const tf_build *b) { return tf_obligation_of(b->ir.true_schema, TF_HOLDS); }

/* Whether a schema says of an object no more than what its declared members must be. */
static bool only_properties(const tf_schema *s)
{
    tf_schema rest = *s;
    rest.has_object = 0;
    rest.types |= TF_TYPE_ALL;
    return s->has_properties && (s->types & TF_TYPE_OBJECT) && s->reference == TF_NO_SCHEMA &&
           tf_is_bare(&rest) && s->n_required == 0 && s->additional == TF_NO_SCHEMA &&
           s->min_properties == 0 && s->max_properties == TF_UNLIMITED &&
           s->n_pattern_properties == 0 && s->property_names == TF_NO_SCHEMA;
}

/*
 * The name is missing, or what depends on it is met. That the name is there need not be said,
 * unless somebody looks at which names the schema declares: then it declares them only beside it.
 */
static tokfsm_status dependent_choice(expansion *e, const tf_dependent *d, choice *c)
{
    const tokfsm_options *options = &e->b->machine.options;
    bool plain = options->additional_properties != TOKFSM_ADDITIONAL_CLOSED &&
                 options->property_order != TOKFSM_ORDER_SCHEMA &&
                 (d->schema == TF_NO_SCHEMA || !tf_is_watched(e, d->schema));
    tf_option_fact(e, tf_choice_option(e, c), fact_of_name(TF_LACKS, d->name, 0));
    option *o = tf_choice_option(e, c);
    if (!plain)
        tf_option_fact(e, o, fact_of_name(TF_MEMBER, d->name, anything(e->b)));
    for (uint32_t i = 0; i < d->n_required; i++)
        tf_option_fact(e, o, fact_of_name(TF_MEMBER, d->required[i], anything(e->b)));
    if (d->schema == TF_NO_SCHEMA)
        return e->status;
    const tf_schema *s = &e->b->ir.schemas[d->schema];
    if (!plain || !only_properties(s)) {
        tf_option_task(e, o, (task){TASK_HOLDS, d->schema, NULL});
        return e->status;
    }
    for (uint32_t i = 0; i < s->n_properties; i++) {
        tf_name name = {s->properties[i].name, s->properties[i].n_name};
        tf_option_fact(e, o, fact_of_name(TF_IF_THERE, name,
                                          tf_obligation_of(s->properties[i].schema, TF_HOLDS)));
    }
    return e->status;
}

static tokfsm_status values_choice(expansion *e, const tf_schema *s, choice *c)
{
    c->positive = true;
    for (uint32_t i = 0; i < s->n_values; i++)
        tf_option_task(e, tf_choice_option(e, c), (task){TASK_EQUALS, s->values[i], NULL});
    return e->status;
}
static tokfsm_status choose_from(expansion *e, int from, uint32_t id, uint32_t k, choice **c,
                                 bool *met)
{
    if (from == TF_FROM_FAILS)
        return tf_negate_schema(e, id, c, met);
    if (from == TF_FROM_DIFFERS)
        return tf_negate_value(e, id, c, met);
    const tf_schema *s = &e->b->ir.schemas[id];
    *c = tf_choice_new(e);
    TF_TRY(e->status);
    switch (from) {
    case TF_FROM_VALUES: return values_choice(e, s, *c);
    case TF_FROM_ANY: return any_of_choice(e, s, *c);
    case TF_FROM_ONE: return one_of_choice(e, s, *c);
    case TF_FROM_IF: return if_choice(e, s, *c);
    default: return dependent_choice(e, &s->dependents[k], *c);
    }
}

/* ---- once for all ---- */

typedef struct memo {
    uint64_t key; /* 0: free */
    choice *choice;
    bool met;
} memo;

static size_t slot_of(const expansion *e, uint64_t key)
{
    size_t at = (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (e->choices.n_slots - 1);
    while (e->choices.items[at].key != 0 && e->choices.items[at].key != key)
        at = (at + 1) & (e->choices.n_slots - 1);
    return at;
}

static tokfsm_status remember(expansion *e, int from, uint32_t id, uint32_t k, memo **found)
{
    uint64_t key = (((uint64_t)k << 32 | id) << 3) | (uint64_t)from;
    if (e->choices.n * 2 >= e->choices.n_slots) {
        uint32_t n_slots = e->choices.n_slots == 0 ? 16 : e->choices.n_slots * 2;
        memo *old = e->choices.items, *items = tf_arena_zero(&e->scratch, n_slots * sizeof *items);
        if (items == NULL)
            return no_memory(e->b);
        uint32_t n_old = e->choices.n_slots;
        e->choices.items = items;
        e->choices.n_slots = n_slots;
        for (uint32_t i = 0; i < n_old; i++)
            if (old[i].key != 0)
                items[slot_of(e, old[i].key)] = old[i];
    }
    *found = &e->choices.items[slot_of(e, key)];
    if ((*found)->key == 0) {
        (*found)->key = key;
        e->choices.n++;
    }
    return TOKFSM_OK;
}

tokfsm_status tf_choice_of(expansion *e, int from, uint32_t id, uint32_t k, choice **c, bool *met)
{
    memo *known;
    TF_TRY(remember(e, from, id, k, &known));
    if (known->choice == NULL && !known->met) {
        TF_TRY(choose_from(e, from, id, k, c, met));
        TF_TRY(e->status);
        TF_TRY(remember(e, from, id, k, &known)); /* it may have moved */
        known->choice = *c;
        known->met = *met;
    }
    *c = known->choice;
    *met = known->met;
    return TOKFSM_OK;
}
