/* Not, pushed inwards by one level: the ways in which an object or array fails. */
#include "unevaluated.h"

static void way(expansion *e, choice *ways, tf_fact fact)
{
    tf_option_fact(e, tf_choice_option(e, ways), fact);
}

static void way_task(expansion *e, choice *ways, int what, uint32_t index)
{
    tf_option_task(e, tf_choice_option(e, ways), (task){what, index, NULL});
}

static tf_fact member(tf_name name, tf_obligation obligation)
{
    return (tf_fact){.kind = TF_MEMBER, .name = name.text, .n_name = name.n,
                     .obligation = obligation};
}

static tf_fact lacks(tf_name name)
{
    return (tf_fact){.kind = TF_LACKS, .name = name.text, .n_name = name.n};
}

static tf_fact if_there(tf_name name, tf_obligation obligation)
{
    return (tf_fact){.kind = TF_IF_THERE, .name = name.text, .n_name = name.n,
                     .obligation = obligation};
}

static bool is_required(const tf_schema *s, tf_name name)
{
    for (uint32_t i = 0; i < s->n_required; i++)
        if (s->required[i].n == name.n &&
            (name.n == 0 || memcmp(s->required[i].text, name.text, name.n) == 0))
            return true;
    return false;
}

static tf_fact range(int kind, uint64_t min, uint64_t max)
{
    return (tf_fact){.kind = kind, .min = min, .max = max};
}

/* min to max items from `from` on meet the obligation. */
static tf_fact some_items(uint32_t from, tf_obligation obligation, uint64_t min, uint64_t max)
{
    return (tf_fact){.kind = TF_SOME_ITEMS, .index = from, .obligation = obligation, .min = min,
                     .max = max};
}

static tf_fact some_member(uint32_t id, uint32_t names, tf_obligation obligation)
{
    return (tf_fact){.kind = TF_SOME_MEMBER, .index = id, .names = names,
                     .obligation = obligation, .min = 1, .max = TF_UNLIMITED};
}

static void object_ways(expansion *e, const tf_schema *s, uint32_t id, choice *ways)
{
    /* A name that must be there and is declared fails in one way, not in two. */
    for (uint32_t i = 0; i < s->n_required; i++) {
        tf_name name = s->required[i];
        uint32_t declared = tf_ir_property(&e->b->ir, s, name.text, name.n);
        way(e, ways, declared == TF_NO_SCHEMA
                         ? lacks(name)
                         : if_there(name, tf_obligation_of(declared, TF_FAILS)));
    }
    for (uint32_t i = 0; i < s->n_properties; i++) {
        tf_name name = {s->properties[i].name, s->properties[i].n_name};
        if (!is_required(s, name))
            way(e, ways, member(name, tf_obligation_of(s->properties[i].schema, TF_FAILS)));
    }
    if (s->additional != TF_NO_SCHEMA && s->additional != e->b->ir.true_schema)
        way(e, ways, some_member(id, TF_NAMES_OUTSIDE, tf_obligation_of(s->additional, TF_FAILS)));
    for (uint32_t i = 0; i < s->n_pattern_properties; i++)
        way(e, ways, some_member(id, TF_NAMES_MATCHING + i,
                                 tf_obligation_of(s->pattern_properties[i].schema, TF_FAILS)));
    if (s->property_names != TF_NO_SCHEMA)
        way(e, ways, some_member(id, TF_NAMES_REFUSED,
                                 tf_obligation_of(e->b->ir.true_schema, TF_HOLDS)));
    if (s->min_properties > 0)
        way(e, ways, range(TF_COUNT, 0, s->min_properties - 1));
    if (s->max_properties != TF_UNLIMITED)
        way(e, ways, range(TF_COUNT, s->max_properties + 1, TF_UNLIMITED));
    for (uint32_t i = 0; i < s->n_dependents; i++) {
        const tf_dependent *d = &s->dependents[i];
        for (uint32_t k = 0; k < d->n_required; k++) {
            option *o = tf_choice_option(e, ways);
            tf_option_fact(e, o, member(d->name, tf_obligation_of(e->b->ir.true_schema, TF_HOLDS)));
            tf_option_fact(e, o, lacks(d->required[k]));
        }
        if (d->schema != TF_NO_SCHEMA) {
            option *o = tf_choice_option(e, ways);
            tf_option_fact(e, o, member(d->name, tf_obligation_of(e->b->ir.true_schema, TF_HOLDS)));
            tf_option_task(e, o, (task){TASK_FAILS, d->schema, NULL});
        }
    }
}

static void array_ways(expansion *e, const tf_schema *s, choice *ways)
{
    tf_build *b = e->b;
    for (uint32_t i = 0; i < s->n_prefix; i++)
        way(e, ways, (tf_fact){.kind = TF_ITEM, .index = i,
                               .obligation = tf_obligation_of(s->prefix[i], TF_FAILS)});
    if (s->unique_items)
        way(e, ways, (tf_fact){.kind = TF_TWINS});
    if (s->min_items > 0)
        way(e, ways, range(TF_LENGTH, 0, s->min_items - 1));
    if (s->max_items != TF_UNLIMITED)
        way(e, ways, range(TF_LENGTH, s->max_items + 1, TF_UNLIMITED));
    if (s->contains != TF_NO_SCHEMA) {
        tf_obligation meets = tf_obligation_of(s->contains, TF_HOLDS);
        if (s->min_contains > 0)
            way(e, ways, some_items(0, meets, 0, s->min_contains - 1));
        if (s->max_contains != TF_UNLIMITED)
            way(e, ways, some_items(0, meets, s->max_contains + 1, TF_UNLIMITED));
    }
    if (s->items == TF_NO_SCHEMA || s->items == b->ir.true_schema)
        return;
    if (b->ir.schemas[s->items].is_false)
        way(e, ways, range(TF_LENGTH, (uint64_t)s->n_prefix + 1, TF_UNLIMITED));
    else
        way(e, ways, some_items(s->n_prefix, tf_obligation_of(s->items, TF_FAILS), 1, TF_UNLIMITED));
}

/* Ways to fail what one schema says, but not what it refers to or its allOf. */
static tokfsm_status schema_ways(expansion *e, uint32_t id, choice *c)
{
    const tf_schema *s = &e->b->ir.schemas[id];
    if (e->object)
        object_ways(e, s, id, c);
    else
        array_ways(e, s, c);
    if (e->object ? s->unevaluated_properties != TF_NO_SCHEMA : s->unevaluated_items != TF_NO_SCHEMA)
        TF_TRY(tf_unevaluated_ways(e, id, c));
    if (s->has_values) {
        option *o = tf_choice_option(e, c);
        for (uint32_t i = 0; i < s->n_values; i++)
            tf_option_task(e, o, (task){TASK_DIFFERS, s->values[i], NULL});
    }
    if (s->not_schema != TF_NO_SCHEMA)
        way_task(e, c, TASK_HOLDS, s->not_schema);
    if (s->has_any_of) {
        option *o = tf_choice_option(e, c);
        for (uint32_t i = 0; i < s->n_any_of; i++)
            tf_option_task(e, o, (task){TASK_FAILS, s->any_of[i], NULL});
    }
    if (s->has_one_of) {
        option *o = tf_choice_option(e, c);
        for (uint32_t i = 0; i < s->n_one_of; i++)
            tf_option_task(e, o, (task){TASK_FAILS, s->one_of[i], NULL});
        for (uint32_t i = 0; i < s->n_one_of; i++)
            for (uint32_t j = i + 1; j < s->n_one_of; j++) {
                o = tf_choice_option(e, c);
                tf_option_task(e, o, (task){TASK_HOLDS, s->one_of[i], NULL});
                tf_option_task(e, o, (task){TASK_HOLDS, s->one_of[j], NULL});
            }
    }
    if (s->if_schema != TF_NO_SCHEMA) {
        const uint32_t then[2] = {s->then_schema, s->else_schema};
        for (int k = 0; k < 2; k++) {
            if (then[k] == TF_NO_SCHEMA)
                continue;
            option *o = tf_choice_option(e, c);
            tf_option_task(e, o, (task){k == 0 ? TASK_HOLDS : TASK_FAILS, s->if_schema, NULL});
            tf_option_task(e, o, (task){TASK_FAILS, then[k], NULL});
        }
    }
    return e->status;
}

typedef struct conjuncts {
    uint32_t *items;
    uint32_t n, capacity;
} conjuncts;

static void add_conjunct(expansion *e, conjuncts *all, uint32_t id)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (all->items[i] == id)
            return;
    if (e->status == TOKFSM_OK)
        e->status = tf_expand_check(e);
    if (e->status != TOKFSM_OK)
        return;
    if (tf_arena_grow(&e->scratch, (void **)&all->items, all->n, &all->capacity, 4,
                      sizeof *all->items))
        all->items[all->n++] = id;
    else
        e->status = tf_fail(e->b->err, TOKFSM_E_NOMEM, "no memory while compiling");
}

/* Ways to fail any conjunct are ways to fail the schema: one choice, however deep they stand. */
tokfsm_status tf_negate_schema(expansion *e, uint32_t id, choice **ways, bool *met)
{
    conjuncts all = {0};
    *met = false;
    choice *c = *ways = tf_choice_new(e);
    add_conjunct(e, &all, id);
    for (uint32_t i = 0; i < all.n; i++) {
        const tf_schema *s = &e->b->ir.schemas[all.items[i]];
        *met = s->is_false || !(s->types & e->types);
        if (*met)
            return e->status;
        if (s->reference != TF_NO_SCHEMA)
            add_conjunct(e, &all, s->reference);
        for (uint32_t k = 0; k < s->n_all_of; k++)
            add_conjunct(e, &all, s->all_of[k]);
    }
    for (uint32_t i = 0; i < all.n; i++)
        TF_TRY(schema_ways(e, all.items[i], c));
    return e->status;
}

tokfsm_status tf_negate_value(expansion *e, uint32_t node, choice **ways, bool *met)
{
    const tf_tape_node *nodes = e->b->tape.nodes;
    *met = nodes[node].type != (e->object ? TF_JSON_OBJECT : TF_JSON_ARRAY);
    if (*met)
        return TOKFSM_OK;
    choice *c = *ways = tf_choice_new(e);
    uint64_t n = nodes[node].n;
    if (e->object) {
        /* Fewer or other names lack one of these; more names are counted. */
        for (uint32_t at = node + 1; at < nodes[node].next; at = nodes[at + 1].next) {
            tf_name name = {nodes[at].text, nodes[at].n};
            way(e, c, if_there(name, tf_obligation_of(at + 1, TF_DIFFERS)));
        }
        way(e, c, range(TF_COUNT, n + 1, TF_UNLIMITED));
        return e->status;
    }
    uint32_t i = 0;
    for (uint32_t at = node + 1; at < nodes[node].next; at = nodes[at].next)
        way(e, c, (tf_fact){.kind = TF_ITEM, .index = i++,
                            .obligation = tf_obligation_of(at, TF_DIFFERS)});
    if (n > 0)
        way(e, c, range(TF_LENGTH, 0, n - 1));
    way(e, c, range(TF_LENGTH, n + 1, TF_UNLIMITED));
    return e->status;
}
