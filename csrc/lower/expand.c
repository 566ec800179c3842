/*
 * The expansion of an obligation set into alternatives for objects or arrays: a disjunctive
 * normal form, one level deep, with a limit instead of a blow-up. What is left of an alternative
 * are atoms: schemas' own object or array keywords, values to equal, and facts.
 *
 * Not of any schema is pushed inwards; what it comes down to are facts (negate.c).
 */
#include "expand.h"

#include "witnesses.h"
#include "disjoint.h"
#include "name_classes.h"

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
}

static tokfsm_status push(expansion *e, partial *p, task t)
{
    if (!tf_arena_grow(&e->scratch, (void **)&p->tasks, p->n_tasks, &p->tasks_capacity, 1,
                       sizeof t))
        return no_memory(e->b);
    p->tasks[p->n_tasks++] = t;
    return TOKFSM_OK;
}

static tokfsm_status add_atom(expansion *e, partial *p, tf_obligation atom)
{
    for (uint32_t i = 0; i < p->n_atoms; i++)
        if (p->atoms[i] == atom)
            return TOKFSM_OK;
    if (!tf_arena_grow(&e->scratch, (void **)&p->atoms, p->n_atoms, &p->atoms_capacity, 1,
                       sizeof atom))
        return no_memory(e->b);
    p->atoms[p->n_atoms++] = atom;
    return TOKFSM_OK;
}

/* One unit of work, and memory within what one automaton may have. */
static tokfsm_status check_size(expansion *e)
{
    if (e->scratch.n_bytes > e->b->machine.limits.automaton_bytes)
        return tf_fail(e->b->err, TOKFSM_E_LIMIT,
                       "expanding alternatives goes over limits.automaton_bytes = %llu",
                       (unsigned long long)e->b->machine.limits.automaton_bytes);
    return tf_spend(e->b->budget, e->b->err);
}

/* ---- choices ---- */

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
        e->status = check_size(e);
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
    if (e->status == TOKFSM_OK)
        e->status = tf_fact_of(e->b, &fact, &index);
    tf_option_task(e, o, (task){TASK_FACT, index, NULL});
}

/* p goes on with each option of c in turn, at the end of the queue. */
static tokfsm_status split(expansion *e, const partial *p, const choice *c)
{
    for (uint32_t i = 0; i < c->n_options; i++) {
        TF_TRY(check_size(e));
        partial *copy = tf_arena_take(&e->scratch, sizeof *copy);
        if (copy == NULL)
            return no_memory(e->b);
        *copy = *p;
        copy->tasks_capacity = copy->n_tasks; /* so that growing does not touch what is shared */
        copy->atoms_capacity = copy->n_atoms;
        copy->next = NULL;
        for (uint32_t k = c->options[i].n_tasks; k-- > 0;)
            TF_TRY(push(e, copy, c->options[i].tasks[k]));
        *e->queue_end = copy;
        e->queue_end = &copy->next;
    }
    return TOKFSM_OK;
}

static tokfsm_status push_choice(expansion *e, partial *p, choice *c)
{
    TF_TRY(e->status);
    if (c->n_options == 1) {
        for (uint32_t k = c->options[0].n_tasks; k-- > 0;)
            TF_TRY(push(e, p, c->options[0].tasks[k]));
        return TOKFSM_OK;
    }
    return push(e, p, (task){TASK_CHOOSE, 0, c});
}

/* ---- a schema that must hold ---- */

static choice *any_of_choice(expansion *e, const tf_schema *s)
{
    choice *c = tf_choice_new(e);
    for (uint32_t i = 0; i < s->n_any_of; i++)
        tf_option_task(e, tf_choice_option(e, c), (task){TASK_HOLDS, s->any_of[i], NULL});
    return c;
}

/* Branch i, and none of the others that it can meet. */
static choice *one_of_choice(expansion *e, const tf_schema *s)
{
    choice *c = tf_choice_new(e);
    for (uint32_t i = 0; i < s->n_one_of; i++) {
        option *o = tf_choice_option(e, c);
        tf_option_task(e, o, (task){TASK_HOLDS, s->one_of[i], NULL});
        for (uint32_t j = 0; j < s->n_one_of; j++)
            if (j != i && !tf_disjoint(e->b, s->one_of[i], s->one_of[j], e->types))
                tf_option_task(e, o, (task){TASK_FAILS, s->one_of[j], NULL});
    }
    return c;
}

static choice *if_choice(expansion *e, const tf_schema *s)
{
    choice *c = tf_choice_new(e);
    option *o = tf_choice_option(e, c);
    tf_option_task(e, o, (task){TASK_HOLDS, s->if_schema, NULL});
    if (s->then_schema != TF_NO_SCHEMA)
        tf_option_task(e, o, (task){TASK_HOLDS, s->then_schema, NULL});
    o = tf_choice_option(e, c);
    tf_option_task(e, o, (task){TASK_FAILS, s->if_schema, NULL});
    if (s->else_schema != TF_NO_SCHEMA)
        tf_option_task(e, o, (task){TASK_HOLDS, s->else_schema, NULL});
    return c;
}

static tf_fact fact_of_name(int kind, tf_name name, tf_obligation obligation)
{
    return (tf_fact){.kind = kind, .name = name.text, .n_name = name.n, .obligation = obligation};
}

/* An obligation that every value meets: equal to nothing that could differ. */
static tf_obligation anything(const tf_build *b) { return tf_obligation_of(b->ir.true_schema, TF_HOLDS); }

static choice *dependent_choice(expansion *e, const tf_dependent *d)
{
    choice *c = tf_choice_new(e);
    tf_option_fact(e, tf_choice_option(e, c), fact_of_name(TF_LACKS, d->name, 0));
    option *o = tf_choice_option(e, c);
    tf_option_fact(e, o, fact_of_name(TF_MEMBER, d->name, anything(e->b)));
    for (uint32_t i = 0; i < d->n_required; i++)
        tf_option_fact(e, o, fact_of_name(TF_MEMBER, d->required[i], anything(e->b)));
    if (d->schema != TF_NO_SCHEMA)
        tf_option_task(e, o, (task){TASK_HOLDS, d->schema, NULL});
    return c;
}

static tokfsm_status expand_schema(expansion *e, partial *p, uint32_t id, bool *dead)
{
    const tf_schema *s = &e->b->ir.schemas[id];
    if (s->is_false || !(s->types & e->types)) {
        *dead = true;
        return TOKFSM_OK;
    }
    if (e->object ? s->has_object : s->has_array) {
        tf_obligation atom = tf_obligation_of(id, TF_HOLDS);
        for (uint32_t i = 0; i < p->n_atoms; i++)
            if (p->atoms[i] == atom)
                return TOKFSM_OK; /* met before on this way: all of it is there or to come */
        TF_TRY(add_atom(e, p, atom));
    }
    if (e->object)
        for (uint32_t i = s->n_dependents; i-- > 0;)
            TF_TRY(push_choice(e, p, dependent_choice(e, &s->dependents[i])));
    if (s->if_schema != TF_NO_SCHEMA &&
        (s->then_schema != TF_NO_SCHEMA || s->else_schema != TF_NO_SCHEMA))
        TF_TRY(push_choice(e, p, if_choice(e, s)));
    if (s->not_schema != TF_NO_SCHEMA)
        TF_TRY(push(e, p, (task){TASK_FAILS, s->not_schema, NULL}));
    if (s->has_one_of)
        TF_TRY(push_choice(e, p, one_of_choice(e, s)));
    if (s->has_any_of)
        TF_TRY(push_choice(e, p, any_of_choice(e, s)));
    if (s->has_values) {
        choice *c = tf_choice_new(e);
        for (uint32_t i = 0; i < s->n_values; i++)
            tf_option_task(e, tf_choice_option(e, c), (task){TASK_EQUALS, s->values[i], NULL});
        TF_TRY(e->status);
        if (c->n_options == 0)
            *dead = true;
        else
            TF_TRY(push_choice(e, p, c));
    }
    for (uint32_t i = s->n_all_of; i-- > 0;)
        TF_TRY(push(e, p, (task){TASK_HOLDS, s->all_of[i], NULL}));
    if (s->reference != TF_NO_SCHEMA)
        TF_TRY(push(e, p, (task){TASK_HOLDS, s->reference, NULL}));
    return TOKFSM_OK;
}

static tokfsm_status expand_equal(expansion *e, partial *p, uint32_t node, bool *dead)
{
    const tf_tape *tape = &e->b->tape;
    if (tape->nodes[node].type != (e->object ? TF_JSON_OBJECT : TF_JSON_ARRAY)) {
        *dead = true;
    } else if (p->equals == TF_TAPE_NONE) {
        p->equals = node;
        return add_atom(e, p, tf_obligation_of(node, TF_EQUALS));
    } else {
        *dead = !tf_tape_equal(tape, p->equals, tape, node);
    }
    return TOKFSM_OK;
}

/* ---- alternatives ---- */

static tokfsm_status keep_alternative(void *context, const tf_alternative *wanted)
{
    expansion *e = context;
    tf_build *b = e->b;
    for (size_t i = 0; i < e->found.n; i++)
        if (tf_same_alternative(e->found.items[i], wanted))
            return TOKFSM_OK;
    if (e->found.n >= TF_MAX_ALTERNATIVES)
        return tf_fail(b->err, TOKFSM_E_LIMIT, "over %u alternatives for one value",
                       TF_MAX_ALTERNATIVES);
    tokfsm_status status = TOKFSM_OK;
    tf_alternative *made = tf_take(b, sizeof *made, &status);
    tf_obligation *atoms = tf_take(b, wanted->n_atoms * sizeof *atoms, &status);
    if (status != TOKFSM_OK)
        return status;
    if (wanted->n_atoms > 0)
        memcpy(atoms, wanted->atoms, wanted->n_atoms * sizeof *atoms);
    *made = (tf_alternative){.n_atoms = wanted->n_atoms, .atoms = atoms};
    TF_TRY(tf_counters_find(b, made, e->object));
    if (!e->object)
        TF_TRY(tf_unique_uncounted(b, made));
    if (!tf_grow(&b->arena.allocator, (void **)&e->found.items, e->found.n, &e->found.capacity,
                 sizeof *e->found.items))
        return no_memory(b);
    e->found.items[e->found.n++] = made;
    return TOKFSM_OK;
}

static tokfsm_status finish(expansion *e, const partial *p)
{
    tf_alternative whole = {.n_atoms = p->n_atoms, .atoms = p->atoms};
    return e->object ? keep_alternative(e, &whole)
                     : tf_unique_alternatives(e->b, &whole, keep_alternative, e);
}

/* Work p off until it is a whole alternative, is dead, or has been split. */
static tokfsm_status work_off(expansion *e, partial *p)
{
    tf_build *b = e->b;
    bool dead = false, split_up = false;
    while (!dead && !split_up) {
        TF_TRY(tf_spend(b->budget, b->err));
        if (p->n_tasks == 0)
            return finish(e, p);
        task t = p->tasks[--p->n_tasks];
        switch (t.what) {
        case TASK_HOLDS: TF_TRY(expand_schema(e, p, t.index, &dead)); break;
        case TASK_EQUALS: TF_TRY(expand_equal(e, p, t.index, &dead)); break;
        case TASK_FACT: TF_TRY(add_atom(e, p, tf_obligation_of(t.index, TF_FACT))); break;
        case TASK_FAILS:
        case TASK_DIFFERS: {
            choice *c = NULL;
            bool met = false;
            if (t.what == TASK_FAILS)
                TF_TRY(tf_negate_schema(e, t.index, &c, &met));
            else
                TF_TRY(tf_negate_value(e, t.index, &c, &met));
            TF_TRY(e->status);
            if (met)
                break;
            if (c->n_options == 0)
                dead = true;
            else
                TF_TRY(push_choice(e, p, c));
            break;
        }
        case TASK_CHOOSE:
            split_up = true;
            TF_TRY(split(e, p, t.choice));
            break;
        }
    }
    return TOKFSM_OK;
}

static tokfsm_status run_expansion(expansion *e, const tf_oset *oset)
{
    static const int tasks[] = {[TF_HOLDS] = TASK_HOLDS, [TF_FAILS] = TASK_FAILS,
                                [TF_EQUALS] = TASK_EQUALS, [TF_DIFFERS] = TASK_DIFFERS};
    partial *head = tf_arena_zero(&e->scratch, sizeof *head);
    if (head == NULL)
        return no_memory(e->b);
    head->equals = TF_TAPE_NONE;
    for (uint32_t i = oset->n; i-- > 0;) {
        tf_obligation o = oset->items[i];
        TF_TRY(push(e, head, (task){tasks[tf_obligation_tag(o)], tf_obligation_index(o), NULL}));
    }
    e->queue_end = &head->next;
    for (; head != NULL; head = head->next)
        TF_TRY(work_off(e, head));
    return TOKFSM_OK;
}

tokfsm_status tf_expand(tf_build *b, tf_oset *oset, bool object, const tf_alternatives **found)
{
    const tf_alternatives **memo = object ? &oset->object : &oset->array;
    if (*memo == NULL) {
        expansion e = {.b = b, .object = object,
                       .types = object ? TF_TYPE_OBJECT : TF_TYPE_ARRAY, .status = TOKFSM_OK};
        tf_arena_init(&e.scratch, &b->arena.allocator);
        tokfsm_status status = run_expansion(&e, oset);
        tf_alternatives *list = tf_take(b, sizeof *list, &status);
        const tf_alternative **items = tf_take(b, e.found.n * sizeof *items, &status);
        if (status == TOKFSM_OK) {
            if (e.found.n > 0)
                memcpy(items, e.found.items, e.found.n * sizeof *items);
            *list = (tf_alternatives){(uint32_t)e.found.n, items};
            *memo = list;
        }
        tf_release(&b->arena.allocator, e.found.items);
        tf_arena_free(&e.scratch);
        if (status != TOKFSM_OK)
            return status;
    }
    *found = *memo;
    return TOKFSM_OK;
}
