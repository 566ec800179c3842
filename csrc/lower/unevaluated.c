#include "unevaluated.h"

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
}

/* ---- once the records are read ---- */

static uint32_t evaluates_itself(const tf_schema *s)
{
    uint32_t marks = 0;
    if (s->n_properties > 0 || s->n_pattern_properties > 0 || s->additional != TF_NO_SCHEMA ||
        s->unevaluated_properties != TF_NO_SCHEMA)
        marks |= TF_EVALUATES_MEMBERS;
    if (s->n_prefix > 0 || s->items != TF_NO_SCHEMA || s->unevaluated_items != TF_NO_SCHEMA ||
        (s->contains != TF_NO_SCHEMA && s->contains_evaluates))
        marks |= TF_EVALUATES_ITEMS;
    return marks;
}

/* Of what applies in place, by marks that are known. */
static uint32_t evaluates_in_place(const tf_schema *s, const uint8_t *marks)
{
    uint32_t found = 0;
    for (uint32_t i = 0;; i++) {
        uint32_t child = tf_in_place(s, i);
        if (child == TF_NO_SCHEMA)
            return found;
        found |= marks[child] & (TF_EVALUATES_MEMBERS | TF_EVALUATES_ITEMS);
    }
}

/* Depth-first with an explicit stack: a schema after all that it applies in place. */
static tokfsm_status mark_evaluating(tf_build *b, uint8_t *marks, uint32_t *path, uint32_t *next)
{
    enum { VISITED = 128 };
    const tf_ir *ir = &b->ir;
    for (uint32_t start = 0; start < ir->n_schemas; start++) {
        uint32_t depth = 0;
        if (!(marks[start] & VISITED)) {
            marks[start] |= VISITED;
            path[depth++] = start;
        }
        while (depth > 0) {
            TF_TRY(tf_spend(b->budget, b->err));
            uint32_t at = path[depth - 1], child = tf_in_place(&ir->schemas[at], next[at]++);
            if (child == TF_NO_SCHEMA) {
                marks[at] |= (uint8_t)(evaluates_itself(&ir->schemas[at]) |
                                       evaluates_in_place(&ir->schemas[at], marks));
                depth--;
            } else if (!(marks[child] & VISITED)) {
                marks[child] |= VISITED;
                path[depth++] = child;
            }
        }
    }
    for (uint32_t i = 0; i < ir->n_schemas; i++)
        marks[i] &= (uint8_t)~VISITED;
    return TOKFSM_OK;
}

/* Mark what applies in place with schema `start`. */
static tokfsm_status mark_watched(tf_build *b, uint8_t *marks, uint32_t *path, uint32_t start,
                                  uint8_t mark)
{
    uint32_t depth = 0;
    path[depth++] = start;
    marks[start] |= mark;
    while (depth > 0) {
        const tf_schema *s = &b->ir.schemas[path[--depth]];
        for (uint32_t i = 0;; i++) {
            TF_TRY(tf_spend(b->budget, b->err));
            uint32_t child = tf_in_place(s, i);
            if (child == TF_NO_SCHEMA)
                break;
            if (marks[child] & mark)
                continue;
            marks[child] |= mark;
            path[depth++] = child;
        }
    }
    return TOKFSM_OK;
}

static bool says_nothing(const tf_ir *ir, uint32_t id)
{
    const tf_schema *s = &ir->schemas[id];
    return tf_is_bare(s) && s->reference == TF_NO_SCHEMA;
}

/* Move a keyword to where its simpler sibling stands, if that says the same; or drop it. */
static void reduce(const tf_ir *ir, tf_schema *s, const uint8_t *marks)
{
    uint32_t around = evaluates_in_place(s, marks);
    uint32_t u = s->unevaluated_properties;
    if (u != TF_NO_SCHEMA) {
        s->has_object = 1;
        if (s->additional == TF_NO_SCHEMA &&
            (says_nothing(ir, u) || !(around & TF_EVALUATES_MEMBERS)))
            s->additional = u;
        if (s->additional != TF_NO_SCHEMA)
            s->unevaluated_properties = TF_NO_SCHEMA;
    }
    u = s->unevaluated_items;
    if (u != TF_NO_SCHEMA) {
        s->has_array = 1;
        bool contains = s->contains != TF_NO_SCHEMA && s->contains_evaluates;
        if (s->items == TF_NO_SCHEMA &&
            (says_nothing(ir, u) || (!(around & TF_EVALUATES_ITEMS) && !contains)))
            s->items = u;
        if (s->items != TF_NO_SCHEMA)
            s->unevaluated_items = TF_NO_SCHEMA;
    }
}

/* Sets of `contains` that can evaluate items together. */
enum { MAX_MADE_SCHEMAS = 512 };

tokfsm_status tf_unevaluated_begin(tf_build *b)
{
    tf_ir *ir = &b->ir;
    bool asked = false;
    b->n_records = ir->n_schemas;
    for (uint32_t i = 0; i < ir->n_schemas; i++)
        asked |= ir->schemas[i].unevaluated_properties != TF_NO_SCHEMA ||
                 ir->schemas[i].unevaluated_items != TF_NO_SCHEMA;
    if (!asked)
        return TOKFSM_OK;
    tokfsm_status status = TOKFSM_OK;
    uint32_t n_all = ir->n_schemas + MAX_MADE_SCHEMAS;
    uint8_t *marks = tf_take(b, n_all, &status);
    uint32_t *path = tf_take(b, ir->n_schemas * sizeof *path, &status);
    uint32_t *next = tf_take(b, ir->n_schemas * sizeof *next, &status);
    if (status != TOKFSM_OK)
        return status;
    TF_TRY(mark_evaluating(b, marks, path, next));
    asked = false;
    bool contains = false;
    for (uint32_t i = 0; i < ir->n_schemas; i++) {
        tf_schema *s = &ir->schemas[i];
        reduce(ir, s, marks);
        contains |= s->contains != TF_NO_SCHEMA && s->contains_evaluates;
        if (s->unevaluated_properties != TF_NO_SCHEMA)
            TF_TRY(mark_watched(b, marks, path, i, TF_WATCHED_MEMBERS));
        if (s->unevaluated_items != TF_NO_SCHEMA)
            TF_TRY(mark_watched(b, marks, path, i, TF_WATCHED_ITEMS));
        asked |= s->unevaluated_properties != TF_NO_SCHEMA || s->unevaluated_items != TF_NO_SCHEMA;
    }
    if (asked)
        b->marks = marks;
    /* Room for the schemas of items_or_unevaluated, so that records never move. */
    while (contains && ir->capacity < n_all)
        if (!tf_grow(&ir->arena->allocator, (void **)&ir->schemas, ir->capacity, &ir->capacity,
                     sizeof *ir->schemas))
            return no_memory(b);
    return TOKFSM_OK;
}

/* ---- who contributes ---- */

typedef struct walk {
    expansion *e;
    const partial *p;
    uint32_t scope; /* the schema that asks */
    struct { uint32_t *items; size_t n, capacity; } seen; /* schemas that hold, in order found */
} walk;

static tokfsm_status reach(walk *w, uint32_t id)
{
    for (size_t i = 0; i < w->seen.n; i++)
        if (w->seen.items[i] == id)
            return TOKFSM_OK;
    if (!tf_grow(&w->e->b->arena.allocator, (void **)&w->seen.items, w->seen.n, &w->seen.capacity,
                 sizeof *w->seen.items))
        return no_memory(w->e->b);
    w->seen.items[w->seen.n++] = id;
    return tf_spend(w->e->b->budget, w->e->b->err);
}

static tokfsm_status reach_if_held(walk *w, uint32_t id)
{
    return id != TF_NO_SCHEMA && tf_is_done(w->e, DONE_HELD, id) ? reach(w, id) : TOKFSM_OK;
}

/* The schemas that apply in place with s, hold on this way, and hand on what they evaluate. */
static tokfsm_status reach_from(walk *w, const tf_schema *s)
{
    if (s->reference != TF_NO_SCHEMA)
        TF_TRY(reach(w, s->reference));
    for (uint32_t i = 0; i < s->n_all_of; i++)
        TF_TRY(reach(w, s->all_of[i]));
    for (uint32_t i = 0; i < s->n_any_of; i++)
        TF_TRY(reach_if_held(w, s->any_of[i]));
    for (uint32_t i = 0; i < s->n_one_of; i++)
        TF_TRY(reach_if_held(w, s->one_of[i]));
    if (s->if_schema != TF_NO_SCHEMA && tf_is_done(w->e, DONE_HELD, s->if_schema)) {
        TF_TRY(reach(w, s->if_schema));
        TF_TRY(reach_if_held(w, s->then_schema));
    } else if (s->if_schema != TF_NO_SCHEMA && tf_is_done(w->e, DONE_FAILED, s->if_schema)) {
        TF_TRY(reach_if_held(w, s->else_schema));
    }
    for (uint32_t i = 0; i < s->n_dependents && w->e->object; i++) {
        const tf_dependent *d = &s->dependents[i];
        bool there;
        TF_TRY(tf_name_list_has(&w->e->view.required, d->name.text, d->name.n, &there));
        if (there)
            TF_TRY(reach_if_held(w, d->schema));
    }
    return TOKFSM_OK;
}

/* Whether every name that s declares is declared by one of the list. */
static bool declared_by(const tf_ir *ir, const tf_schema *s, const uint32_t *list, uint32_t n)
{
    for (uint32_t i = 0; i < s->n_properties; i++) {
        bool found = false;
        for (uint32_t k = 0; k < n && !found; k++)
            found = tf_ir_property(ir, &ir->schemas[list[k]], s->properties[i].name,
                                   s->properties[i].n_name) != TF_NO_SCHEMA;
        if (!found)
            return false;
    }
    return true;
}

typedef tokfsm_status (*fact_adder)(expansion *, const tf_fact *);

static tokfsm_status member_fact(walk *w, uint32_t unevaluated, fact_adder add)
{
    const tf_ir *ir = &w->e->b->ir;
    uint32_t *list = w->seen.items, n = 0;
    for (size_t i = 0; i < w->seen.n; i++) {
        uint32_t id = list[i];
        const tf_schema *s = &ir->schemas[id];
        if (s->additional != TF_NO_SCHEMA ||
            (s->unevaluated_properties != TF_NO_SCHEMA && id != w->scope))
            return TOKFSM_OK; /* everything is evaluated */
        if (s->n_pattern_properties > 0 || !declared_by(ir, s, list, n))
            list[n++] = id;
    }
    tf_fact fact = {.kind = TF_UNEVALUATED, .list = list, .n_list = n,
                    .obligation = tf_obligation_of(unevaluated, TF_HOLDS)};
    return add(w->e, &fact);
}

tokfsm_status tf_schema_of_any(tf_build *b, const uint32_t *list, uint32_t n, uint32_t *id)
{
    tf_ir *ir = &b->ir;
    for (uint32_t i = ir->true_schema + 1; i < ir->n_schemas; i++)
        if (ir->schemas[i].n_any_of == n &&
            memcmp(ir->schemas[i].any_of, list, n * sizeof *list) == 0) {
            *id = i;
            return TOKFSM_OK;
        }
    if (ir->n_schemas >= b->n_records + MAX_MADE_SCHEMAS || ir->n_schemas >= ir->capacity)
        return tf_fail(b->err, TOKFSM_E_LIMIT, "over %d sets of contains beside unevaluatedItems",
                       MAX_MADE_SCHEMAS - 1);
    uint32_t *kept = tf_arena_take(&b->arena, n * sizeof *kept);
    if (kept == NULL)
        return no_memory(b);
    memcpy(kept, list, n * sizeof *kept);
    tf_schema *made = &ir->schemas[ir->n_schemas];
    *made = ir->schemas[ir->true_schema];
    made->has_any_of = 1;
    made->any_of = kept;
    made->n_any_of = n;
    *id = ir->n_schemas++;
    return TOKFSM_OK;
}

static tokfsm_status item_fact(walk *w, uint32_t unevaluated, fact_adder add)
{
    tf_build *b = w->e->b;
    uint32_t *list = w->seen.items, n = 0, n_prefix = 0;
    uint32_t contains = 0;
    for (size_t i = 0; i < w->seen.n; i++) {
        uint32_t id = list[i];
        const tf_schema *s = &b->ir.schemas[id];
        if (s->items != TF_NO_SCHEMA || (s->unevaluated_items != TF_NO_SCHEMA && id != w->scope))
            return TOKFSM_OK;
        n_prefix = s->n_prefix > n_prefix ? s->n_prefix : n_prefix;
        contains += s->contains != TF_NO_SCHEMA && s->contains_evaluates;
    }
    for (size_t i = 0; i < w->seen.n && contains > 0; i++) {
        const tf_schema *s = &b->ir.schemas[list[i]];
        bool known = s->contains == TF_NO_SCHEMA || !s->contains_evaluates;
        for (uint32_t k = 0; k < n && !known; k++)
            known = list[k] == s->contains;
        if (!known)
            list[n++] = s->contains;
    }
    if (n > 0) {
        if (!tf_grow(&b->arena.allocator, (void **)&w->seen.items, n, &w->seen.capacity,
                     sizeof *w->seen.items))
            return no_memory(b);
        w->seen.items[n++] = unevaluated;
        TF_TRY(tf_schema_of_any(b, w->seen.items, n, &unevaluated));
    }
    tf_fact fact = {.kind = TF_ITEMS_FROM, .index = n_prefix,
                    .obligation = tf_obligation_of(unevaluated, TF_HOLDS)};
    return add(w->e, &fact);
}

tokfsm_status tf_unevaluated_facts(expansion *e, const partial *p, fact_adder add)
{
    walk w = {.e = e, .p = p};
    tokfsm_status status = TOKFSM_OK;
    for (uint32_t i = 0; i < p->n && status == TOKFSM_OK; i++) {
        const task *t = &p->tasks[i];
        if (t->what != DONE_HELD &&
            (t->what != DONE_ATOM || tf_obligation_tag(t->index) != TF_HOLDS))
            continue;
        w.scope = t->what == DONE_HELD ? t->index : tf_obligation_index(t->index);
        const tf_schema *s = &e->b->ir.schemas[w.scope];
        uint32_t u = e->object ? s->unevaluated_properties : s->unevaluated_items;
        if (u == TF_NO_SCHEMA)
            continue;
        w.seen.n = 0;
        status = reach(&w, w.scope);
        for (size_t k = 0; k < w.seen.n && status == TOKFSM_OK; k++)
            status = reach_from(&w, &e->b->ir.schemas[w.seen.items[k]]);
        if (status == TOKFSM_OK)
            status = e->object ? member_fact(&w, u, add) : item_fact(&w, u, add);
    }
    tf_release(&e->b->arena.allocator, w.seen.items);
    return status;
}

/* ---- what a fact asks ---- */

tokfsm_status tf_is_evaluated(tf_build *b, const tf_fact *fact, const tf_name_view *name,
                              bool *evaluated)
{
    *evaluated = false;
    for (uint32_t i = 0; i < fact->n_list && !*evaluated; i++) {
        const tf_schema *s = &b->ir.schemas[fact->list[i]];
        *evaluated = name->text != NULL &&
                     tf_ir_property(&b->ir, s, name->text, name->n) != TF_NO_SCHEMA;
        for (uint32_t k = 0; k < s->n_pattern_properties && !*evaluated; k++)
            TF_TRY(tf_name_matches(b, name, s->pattern_properties[k].number, evaluated));
    }
    return TOKFSM_OK;
}
