/*
 * The records as a graph: which schema leads to which, forwards and backwards. No recursion; a
 * step costs a work unit. See relax.h.
 */
#include "keywords.h"
#include "relax.h"

static void visit_one(uint32_t child, bool in_place, tf_child_visitor visit, void *context)
{
    if (child != TF_NO_SCHEMA)
        visit(context, child, in_place);
}

static void visit_list(const uint32_t *list, uint32_t n, bool in_place, tf_child_visitor visit,
                       void *context)
{
    for (uint32_t i = 0; i < n; i++)
        visit(context, list[i], in_place);
}

void tf_each_child(const tf_schema *s, tf_child_visitor visit, void *context)
{
    const uint32_t here[] = {s->reference, s->not_schema, s->if_schema, s->then_schema,
                             s->else_schema};
    for (size_t i = 0; i < sizeof here / sizeof *here; i++)
        visit_one(here[i], true, visit, context);
    visit_list(s->all_of, s->n_all_of, true, visit, context);
    visit_list(s->any_of, s->n_any_of, true, visit, context);
    visit_list(s->one_of, s->n_one_of, true, visit, context);
    for (uint32_t i = 0; i < s->n_dependents; i++)
        visit_one(s->dependents[i].schema, true, visit, context);
    const uint32_t below[] = {s->additional, s->property_names, s->unevaluated_properties, s->items,
                              s->contains, s->unevaluated_items};
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        visit_one(below[i], false, visit, context);
    for (uint32_t i = 0; i < s->n_properties; i++)
        visit(context, s->properties[i].schema, false);
    for (uint32_t i = 0; i < s->n_pattern_properties; i++)
        visit(context, s->pattern_properties[i].schema, false);
    visit_list(s->prefix, s->n_prefix, false, visit, context);
}

void tf_each_turned(const tf_schema *s, tf_child_visitor visit, void *context)
{
    visit_one(s->not_schema, true, visit, context);
    visit_one(s->if_schema, true, visit, context);
    visit_list(s->one_of, s->n_one_of, true, visit, context);
    if (s->max_contains != TF_UNLIMITED)
        visit_one(s->contains, false, visit, context);
}

/* ---- backwards ---- */

typedef struct filling {
    tf_parents *parents;
    uint32_t parent;
    bool counting;
} filling;

static void fill(void *context, uint32_t child, bool in_place)
{
    filling *f = context;
    if (f->counting)
        f->parents->first[child + 1]++;
    else
        f->parents->items[f->parents->first[child]++] = f->parent * 2 + in_place;
}

tokfsm_status tf_parents_find(tf_parents *parents, const tf_ir *ir, tf_arena *arena,
                              tf_budget *budget, tokfsm_error *err)
{
    uint32_t n = ir->n_schemas;
    parents->first = tf_arena_zero(arena, ((size_t)n + 2) * sizeof *parents->first);
    if (parents->first == NULL)
        return tf_keyword_no_memory(err);
    filling f = {parents, 0, true};
    for (uint32_t id = 0; id < n; id++) {
        TF_TRY(tf_spend(budget, err));
        tf_each_child(&ir->schemas[id], fill, &f);
    }
    for (uint32_t id = 0; id < n; id++)
        parents->first[id + 1] += parents->first[id];
    size_t n_bytes;
    if (!tf_size_mul_add(parents->first[n], sizeof *parents->items, 0, &n_bytes) ||
        (parents->items = tf_arena_take(arena, n_bytes)) == NULL)
        return tf_keyword_no_memory(err);
    f.counting = false;
    for (f.parent = 0; f.parent < n; f.parent++)
        tf_each_child(&ir->schemas[f.parent], fill, &f);
    /* Filling has moved each beginning to the next one. */
    memmove(parents->first + 1, parents->first, n * sizeof *parents->first);
    parents->first[0] = 0;
    return TOKFSM_OK;
}

/* ---- floods ---- */

bool tf_flood_begin(tf_flood *flood, const tf_ir *ir, tf_arena *arena)
{
    *flood = (tf_flood){.ir = ir};
    flood->in = tf_arena_zero(arena, ir->n_schemas * sizeof *flood->in);
    flood->queue = tf_arena_take(arena, ir->n_schemas * sizeof *flood->queue);
    return flood->in != NULL && flood->queue != NULL;
}

void tf_flood_add(void *flood_, uint32_t schema, bool in_place)
{
    tf_flood *flood = flood_;
    (void)in_place;
    if (flood->in[schema])
        return;
    flood->in[schema] = 1;
    flood->queue[flood->n++] = schema;
}

tokfsm_status tf_flood_down(tf_flood *flood, tf_budget *budget, tokfsm_error *err)
{
    while (flood->at < flood->n) {
        TF_TRY(tf_spend(budget, err));
        tf_each_child(&flood->ir->schemas[flood->queue[flood->at++]], tf_flood_add, flood);
    }
    return TOKFSM_OK;
}
