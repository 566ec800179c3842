/* Loosen the records around what cannot be honoured. See relax.h. */
#include "keywords.h"
#include "relax.h"

/* Schemas reached upwards, and for which cause: index + 1. */
typedef struct rising {
    tf_flood flood;
    uint32_t *cause; /* [n] */
} rising;

typedef struct loosening {
    tf_relax *relax;
    tf_ir *ir;
    tf_budget *budget;
    tokfsm_error *err;
    tf_arena scratch;
    uint32_t n; /* records as read */
    tf_parents parents;
    rising wider;          /* what is, or leads to, a cause */
    uint32_t *members, *items; /* [n] schemas that evaluate more than they did; a cause + 1 */
    bool evaluates;        /* somebody asks what is evaluated */
    bool closed;           /* additional_properties="closed" does */
    /* With it: schemas that turn something round, or evaluate members, or lead to such; and those
       by whose loosening less may be said of other members than before: a cause + 1. */
    tf_flood turning, evaluating;
    uint32_t *unclosing; /* [n] */
} loosening;

static tf_cause *cause_of(loosening *l, const rising *r, uint32_t schema)
{
    return &l->relax->causes.items[r->cause[schema] - 1];
}

static tokfsm_status note(loosening *l, uint32_t schema, uint32_t node, const char *keyword,
                          const char *reason, tf_cause *cause)
{
    tf_loosened what = {.schema = schema, .node = node, .keyword = keyword, .reason = reason};
    return tf_relax_note(l->relax, l->ir->tape, what, cause, l->budget, l->err);
}

/* The same of a keyword by its name. */
static tokfsm_status note_keyword(loosening *l, uint32_t schema, const char *keyword,
                                  const char *reason, tf_cause *cause)
{
    uint32_t node = l->ir->schemas[schema].node;
    uint32_t value = tf_tape_get(l->ir->tape, node, keyword, strlen(keyword));
    return note(l, schema, value == TF_TAPE_NONE ? node : value, keyword, reason, cause);
}

/* ---- upwards ---- */

static tokfsm_status rising_begin(loosening *l, rising *r)
{
    r->cause = tf_arena_zero(&l->scratch, l->ir->n_schemas * sizeof *r->cause);
    return r->cause != NULL && tf_flood_begin(&r->flood, l->ir, &l->scratch)
               ? TOKFSM_OK : tf_keyword_no_memory(l->err);
}

static void rise_from(rising *r, uint32_t schema, size_t cause)
{
    if (r->cause[schema] == 0)
        r->cause[schema] = (uint32_t)cause + 1;
    tf_flood_add(&r->flood, schema, true);
}

static tokfsm_status rise(loosening *l, tf_flood *flood, uint32_t *cause, bool in_place)
{
    while (flood->at < flood->n) {
        uint32_t child = flood->queue[flood->at++];
        for (size_t i = l->parents.first[child]; i < l->parents.first[child + 1]; i++) {
            TF_TRY(tf_spend(l->budget, l->err));
            uint32_t parent = l->parents.items[i] / 2;
            if (in_place && l->parents.items[i] % 2 == 0)
                continue;
            if (cause != NULL && cause[parent] == 0)
                cause[parent] = cause[child];
            tf_flood_add(flood, parent, true);
        }
    }
    return TOKFSM_OK;
}

static tokfsm_status begin(loosening *l)
{
    TF_TRY(tf_parents_find(&l->parents, l->ir, &l->scratch, l->budget, l->err));
    TF_TRY(rising_begin(l, &l->wider));
    l->members = tf_arena_zero(&l->scratch, l->n * sizeof *l->members);
    l->items = tf_arena_zero(&l->scratch, l->n * sizeof *l->items);
    l->unclosing = tf_arena_zero(&l->scratch, l->n * sizeof *l->unclosing);
    if (l->members == NULL || l->items == NULL || l->unclosing == NULL ||
        !tf_flood_begin(&l->turning, l->ir, &l->scratch) ||
        !tf_flood_begin(&l->evaluating, l->ir, &l->scratch))
        return tf_keyword_no_memory(l->err);
    for (size_t i = 0; i < l->relax->causes.n; i++)
        rise_from(&l->wider, l->relax->causes.items[i].schema, i);
    l->closed = l->ir->options->additional_properties == TOKFSM_ADDITIONAL_CLOSED;
    l->evaluates = l->closed;
    for (uint32_t id = 0; id < l->n; id++) {
        const tf_schema *s = &l->ir->schemas[id];
        l->evaluates |= s->unevaluated_properties != TF_NO_SCHEMA ||
                        s->unevaluated_items != TF_NO_SCHEMA;
        if (l->closed && tf_schema_negates(s))
            tf_flood_add(&l->turning, id, true);
        if (l->closed && (s->has_properties || s->n_pattern_properties > 0 ||
                          s->additional != TF_NO_SCHEMA || s->unevaluated_properties != TF_NO_SCHEMA))
            tf_flood_add(&l->evaluating, id, true);
    }
    TF_TRY(rise(l, &l->turning, NULL, false));
    TF_TRY(rise(l, &l->evaluating, NULL, false));
    return rise(l, &l->wider.flood, l->wider.cause, false);
}

/* ---- new records ---- */

/* One that says nothing, beside schema `beside`. */
static tokfsm_status make(loosening *l, uint32_t beside, uint32_t *id)
{
    tf_ir *ir = l->ir;
    if (!tf_grow(&ir->arena->allocator, (void **)&ir->schemas, ir->n_schemas, &ir->capacity,
                 sizeof *ir->schemas))
        return tf_keyword_no_memory(l->err);
    tf_schema *s = &ir->schemas[ir->n_schemas];
    *s = ir->schemas[ir->true_schema];
    s->node = ir->schemas[beside].node;
    s->resource = ir->schemas[beside].resource;
    s->scope = ir->schemas[beside].scope;
    *id = ir->n_schemas++;
    return TOKFSM_OK;
}

static tokfsm_status make_any_of(loosening *l, uint32_t beside, const uint32_t *list, uint32_t n,
                                 uint32_t *id)
{
    uint32_t *kept = tf_arena_take(l->ir->arena, n * sizeof *kept);
    if (kept == NULL)
        return tf_keyword_no_memory(l->err);
    memcpy(kept, list, n * sizeof *kept);
    TF_TRY(make(l, beside, id));
    tf_schema *s = &l->ir->schemas[*id];
    s->has_any_of = 1;
    s->any_of = kept;
    s->n_any_of = n;
    return TOKFSM_OK;
}

static tokfsm_status join_all_of(loosening *l, uint32_t id, uint32_t added)
{
    tf_schema *s = &l->ir->schemas[id];
    uint32_t *all = tf_arena_take(l->ir->arena, ((size_t)s->n_all_of + 1) * sizeof *all);
    if (all == NULL)
        return tf_keyword_no_memory(l->err);
    if (s->n_all_of > 0)
        memcpy(all, s->all_of, s->n_all_of * sizeof *all);
    all[s->n_all_of] = added;
    s->all_of = all;
    s->n_all_of++;
    return TOKFSM_OK;
}

/* ---- who evaluates what ---- */

/* Any name may have been evaluated here: other members are free. */
static tokfsm_status open_members(loosening *l, uint32_t id, size_t cause)
{
    tf_schema *s = &l->ir->schemas[id];
    if (!l->evaluates || s->additional != TF_NO_SCHEMA)
        return TOKFSM_OK;
    s->additional = l->ir->true_schema;
    s->has_object = 1;
    l->members[id] = (uint32_t)cause + 1;
    return l->closed ? note_keyword(l, id, "additionalProperties",
                                    "does not close the object by its absence, since",
                                    &l->relax->causes.items[cause])
                     : TOKFSM_OK;
}

/*
 * additional_properties="closed" asks what is said of a value by all schemas together, so that to
 * say less can close an object. Where that may be, no object is closed by the option.
 */
static tokfsm_status note_unclosed(loosening *l, const uint8_t *reached)
{
    for (uint32_t id = 0; id < l->n && !l->ir->unclosed; id++) {
        if (l->unclosing[id] == 0 || !reached[id])
            continue;
        TF_TRY(note(l, id, l->ir->schemas[l->ir->root].node, "additionalProperties",
                    "closes no object by its absence, since",
                    &l->relax->causes.items[l->unclosing[id] - 1]));
        l->ir->unclosed = 1;
    }
    return TOKFSM_OK;
}

static void open_items(loosening *l, uint32_t id, size_t cause)
{
    tf_schema *s = &l->ir->schemas[id];
    if (!l->evaluates || s->items != TF_NO_SCHEMA)
        return;
    s->items = l->ir->true_schema;
    s->has_array = 1;
    l->items[id] = (uint32_t)cause + 1;
}

/* The unevaluated keywords of the loosened records that see it. */
static tokfsm_status note_unevaluated(loosening *l)
{
    rising members, items;
    TF_TRY(tf_parents_find(&l->parents, l->ir, &l->scratch, l->budget, l->err));
    TF_TRY(rising_begin(l, &members));
    TF_TRY(rising_begin(l, &items));
    for (uint32_t id = 0; id < l->n; id++) {
        if (l->members[id] != 0)
            rise_from(&members, id, l->members[id] - 1);
        if (l->items[id] != 0)
            rise_from(&items, id, l->items[id] - 1);
    }
    TF_TRY(rise(l, &members.flood, members.cause, true));
    TF_TRY(rise(l, &items.flood, items.cause, true));
    for (uint32_t id = 0; id < l->n; id++) {
        const tf_schema s = l->ir->schemas[id];
        if (s.unevaluated_properties != TF_NO_SCHEMA && members.flood.in[id])
            TF_TRY(note_keyword(l, id, "unevaluatedProperties", "asks nothing of some members, since",
                                cause_of(l, &members, id)));
        if (s.unevaluated_items != TF_NO_SCHEMA && items.flood.in[id])
            TF_TRY(note_keyword(l, id, "unevaluatedItems", "asks nothing of some items, since",
                                cause_of(l, &items, id)));
    }
    return TOKFSM_OK;
}

/* ---- causes ---- */

/* What `other` asks of members, or what the patterns left out ask of theirs. */
static tokfsm_status widen(loosening *l, uint32_t id, uint32_t other, const uint32_t *subs, uint32_t n,
                           uint32_t *made)
{
    const tf_schema *o = &l->ir->schemas[other];
    if (o->is_false && n == 1) {
        *made = subs[0];
        return TOKFSM_OK;
    }
    uint32_t *list = tf_arena_take(&l->scratch, ((size_t)n + 1) * sizeof *list), m = 0;
    if (list == NULL)
        return tf_keyword_no_memory(l->err);
    if (!o->is_false)
        list[m++] = other;
    memcpy(list + m, subs, n * sizeof *list);
    return make_any_of(l, id, list, m + n, made);
}

static bool says_nothing(const tf_ir *ir, uint32_t id)
{
    return tf_is_bare(&ir->schemas[id]) && ir->schemas[id].reference == TF_NO_SCHEMA;
}

/* Patterns of one record: causes from `first` on, `n` of them. */
static tokfsm_status leave_out_names(loosening *l, size_t first, uint32_t n)
{
    tf_cause *causes = &l->relax->causes.items[first];
    uint32_t id = causes->schema, n_kept = 0, next = 0;
    tf_schema *s = &l->ir->schemas[id];
    tf_pattern_property *kept =
        tf_arena_take(l->ir->arena, s->n_pattern_properties * sizeof *kept);
    uint32_t *subs = tf_arena_take(&l->scratch, n * sizeof *subs);
    if (kept == NULL || subs == NULL)
        return tf_keyword_no_memory(l->err);
    for (uint32_t i = 0; i < s->n_pattern_properties; i++) {
        if (next < n && causes[next].index == i)
            subs[next++] = s->pattern_properties[i].schema;
        else
            kept[n_kept++] = s->pattern_properties[i];
    }
    for (uint32_t i = 0; i < n; i++)
        if (l->evaluating.in[subs[i]])
            l->unclosing[id] = (uint32_t)first + 1;
    s->pattern_properties = kept;
    s->n_pattern_properties = n_kept;
    for (uint32_t i = 0; i < n; i++)
        TF_TRY(note(l, id, causes[i].node, "patternProperties", NULL, &causes[i]));
    bool additional = s->additional != TF_NO_SCHEMA;
    uint32_t other = additional ? s->additional : s->unevaluated_properties, made;
    if (other == TF_NO_SCHEMA)
        return open_members(l, id, first);
    if (says_nothing(l->ir, other))
        return TOKFSM_OK;
    TF_TRY(widen(l, id, other, subs, n, &made));
    s = &l->ir->schemas[id];
    if (additional)
        s->additional = made;
    else
        s->unevaluated_properties = made;
    return note_keyword(l, id, additional ? "additionalProperties" : "unevaluatedProperties",
                        "takes what the pattern's members may be too, since", causes);
}

static tokfsm_status leave_out_causes(loosening *l)
{
    tf_cause *causes = l->relax->causes.items;
    size_t n = l->relax->causes.n;
    for (size_t i = 0; i < n; i++) {
        tf_cause *c = &causes[i];
        tf_schema *s = &l->ir->schemas[c->schema];
        uint32_t run = 1;
        switch (c->what) {
        case TF_CAUSE_PATTERN:
            s->pattern = (tf_name){NULL, 0};
            s->has_string = tf_constrains_strings(s);
            TF_TRY(note(l, c->schema, c->node, "pattern", NULL, c));
            break;
        case TF_CAUSE_FORMAT:
            s->format = (tf_name){NULL, 0};
            s->has_string = tf_constrains_strings(s);
            TF_TRY(note(l, c->schema, c->node, "format", NULL, c));
            break;
        case TF_CAUSE_UNIQUE:
            s->unique_items = 0;
            TF_TRY(note(l, c->schema, c->node, "uniqueItems", NULL, c));
            break;
        case TF_CAUSE_NAMES:
            while (i + run < n && causes[i + run].what == TF_CAUSE_NAMES &&
                   causes[i + run].schema == c->schema)
                run++;
            TF_TRY(leave_out_names(l, i, run));
            i += run - 1;
            break;
        case TF_CAUSE_FAILING: /* no more than that it stands where it need not fail */
            break;
        case TF_CAUSE_FOREIGN: /* it may apply schemas in place, which evaluate */
            TF_TRY(open_members(l, c->schema, i));
            open_items(l, c->schema, i);
            if (l->closed)
                l->unclosing[c->schema] = (uint32_t)i + 1;
            break;
        }
    }
    return TOKFSM_OK;
}

/* ---- keywords that turn round ---- */

static bool is_wider(const loosening *l, uint32_t id)
{
    return id != TF_NO_SCHEMA && l->wider.flood.in[id];
}

/* Of two branches of `id` one can now be met where the other is, and then is not looked at. */
static void may_unclose(loosening *l, uint32_t id, uint32_t branch, uint32_t wider)
{
    if (branch != TF_NO_SCHEMA && l->evaluating.in[branch])
        l->unclosing[id] = l->wider.cause[wider];
}

/* A keyword of `id` does not ask any more that `child` fails, which, with what is turned round in
   it once more, could come down to a schema that holds. */
static tokfsm_status turned(loosening *l, uint32_t id, const char *keyword, const char *reason,
                            uint32_t child)
{
    if (l->turning.in[child] && l->evaluating.in[child])
        l->unclosing[id] = l->wider.cause[child];
    return note_keyword(l, id, keyword, reason, cause_of(l, &l->wider, child));
}

static tokfsm_status loosen_one_of(loosening *l, uint32_t id)
{
    tf_schema *s = &l->ir->schemas[id];
    const uint32_t *list = s->one_of;
    uint32_t n = s->n_one_of, child = TF_NO_SCHEMA;
    for (uint32_t i = n; i-- > 0;)
        if (is_wider(l, list[i]))
            child = list[i];
    if (child == TF_NO_SCHEMA)
        return TOKFSM_OK;
    TF_TRY(turned(l, id, "oneOf", "is taken for anyOf, since", child));
    for (uint32_t i = 0; i < n; i++)
        may_unclose(l, id, list[i], child);
    s->has_one_of = 0;
    s->one_of = NULL;
    s->n_one_of = 0;
    if (!s->has_any_of) {
        s->has_any_of = 1;
        s->any_of = list;
        s->n_any_of = n;
        return TOKFSM_OK;
    }
    uint32_t made;
    TF_TRY(make_any_of(l, id, list, n, &made));
    return join_all_of(l, id, made);
}

/* `if` and `then` together, or `else`, or where there is no `else` anything. */
static tokfsm_status loosen_if(loosening *l, uint32_t id)
{
    const tf_schema s = l->ir->schemas[id];
    if (!is_wider(l, s.if_schema))
        return TOKFSM_OK;
    if (s.then_schema != TF_NO_SCHEMA || s.else_schema != TF_NO_SCHEMA)
        TF_TRY(turned(l, id, "if", "does not decide between then and else, since", s.if_schema));
    may_unclose(l, id, s.if_schema, s.if_schema);
    may_unclose(l, id, s.then_schema, s.if_schema);
    may_unclose(l, id, s.else_schema, s.if_schema);
    uint32_t options[2] = {s.if_schema, s.else_schema}, made;
    if (s.else_schema == TF_NO_SCHEMA)
        TF_TRY(make(l, id, &options[1]));
    if (s.then_schema != TF_NO_SCHEMA) {
        TF_TRY(make(l, id, &options[0]));
        TF_TRY(join_all_of(l, options[0], s.if_schema));
        TF_TRY(join_all_of(l, options[0], s.then_schema));
    }
    TF_TRY(make_any_of(l, id, options, 2, &made));
    TF_TRY(join_all_of(l, id, made));
    tf_schema *loosened = &l->ir->schemas[id];
    loosened->if_schema = loosened->then_schema = loosened->else_schema = TF_NO_SCHEMA;
    return TOKFSM_OK;
}

static tokfsm_status loosen_turned(loosening *l)
{
    for (uint32_t id = 0; id < l->n; id++) {
        if (!is_wider(l, id))
            continue;
        TF_TRY(tf_spend(l->budget, l->err));
        tf_schema *s = &l->ir->schemas[id];
        if (is_wider(l, s->not_schema)) {
            TF_TRY(turned(l, id, "not", "is left out, since", s->not_schema));
            s->not_schema = TF_NO_SCHEMA;
        }
        if (s->max_contains != TF_UNLIMITED && is_wider(l, s->contains)) {
            TF_TRY(turned(l, id, "maxContains", "is left out, since", s->contains));
            s->max_contains = TF_UNLIMITED;
        }
        TF_TRY(loosen_one_of(l, id));
        TF_TRY(loosen_if(l, id));
    }
    return TOKFSM_OK;
}

/* ---- all of it ---- */

static tokfsm_status loosen(loosening *l)
{
    tf_ir *ir = l->ir;
    for (uint32_t i = 0; i < ir->documents.n_unmet; i++) {
        uint32_t node = ir->documents.unmet[i];
        tf_cause cause = {.reason = "the vocabulary is required, but not supported: what it adds is not asked"};
        TF_TRY(note(l, TF_NO_SCHEMA, node, "$vocabulary", NULL, &cause));
    }
    if (l->relax->causes.n == 0)
        return TOKFSM_OK;
    TF_TRY(begin(l));
    TF_TRY(leave_out_causes(l));
    TF_TRY(loosen_turned(l));
    TF_TRY(note_unevaluated(l));
    tf_flood reached;
    if (!tf_flood_begin(&reached, ir, &l->scratch))
        return tf_keyword_no_memory(l->err);
    tf_flood_add(&reached, ir->root, true);
    TF_TRY(tf_flood_down(&reached, l->budget, l->err));
    ir->negates = 0;
    for (uint32_t i = 0; i < reached.n; i++)
        ir->negates |= tf_schema_negates(&ir->schemas[reached.queue[i]]);
    TF_TRY(note_unclosed(l, reached.in));
    tf_relax_settle(l->relax, reached.in);
    return TOKFSM_OK;
}

tokfsm_status tf_relax_apply(tf_relax *relax, tf_ir *ir, tf_budget *budget, tokfsm_error *err)
{
    loosening l = {.relax = relax, .ir = ir, .budget = budget, .err = err, .n = ir->n_schemas};
    tf_arena_init(&l.scratch, &relax->arena.allocator);
    relax->list.n = 0;
    tokfsm_status status = loosen(&l);
    tf_arena_free(&l.scratch);
    return status;
}
