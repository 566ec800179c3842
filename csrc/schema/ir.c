/*
 * Reads every reachable subschema once, from a queue, so that nothing recurses on the depth of a
 * schema. Under a dynamic scope a schema is read once more, as a record of its own: references
 * by dynamic anchors lead elsewhere there. What such anchors references ask for shows as they are
 * read; when a new one does, all is read again with scopes that heed it. See ir.h, scope.h.
 */
#include "ir.h"

#include "keywords.h"
#include "refs.h"
#include "tape_hash.h"

/* Obligations have 29 bits for a schema. */
enum { MAX_SCHEMAS = 1 << 29 };

/* ---- records ---- */

static tokfsm_status map_nodes(tf_ir *ir, tokfsm_error *err)
{
    uint32_t n = ir->tape->n_nodes;
    if (n > ir->mapped_capacity) {
        ir->schema_of_node = tf_tape_enlarge(ir->arena, ir->schema_of_node, ir->n_mapped, n,
                                             &ir->mapped_capacity, sizeof *ir->schema_of_node);
        if (ir->schema_of_node == NULL)
            return tf_keyword_no_memory(err);
    }
    memset(ir->schema_of_node + ir->n_mapped, 0xFF,
           (n - ir->n_mapped) * sizeof *ir->schema_of_node);
    ir->n_mapped = n;
    return TOKFSM_OK;
}

/* A new schema is queued by being appended. */
static tokfsm_status append(tf_ir *ir, uint32_t node, uint32_t resource, uint32_t scope,
                            uint32_t *id, tokfsm_error *err)
{
    uint64_t most = ir->documents.limits->automaton_bytes;
    if (scope != 0 && ir->n_schemas > most / sizeof *ir->schemas)
        return tf_fail_node(err, TOKFSM_E_LIMIT, ir->tape, node, "",
                            "schemas by dynamic scope go over limits.automaton_bytes = %llu",
                            (unsigned long long)most);
    if (ir->n_schemas >= MAX_SCHEMAS)
        return tf_fail_node(err, TOKFSM_E_LIMIT, ir->tape, node, "", "over %d schemas", MAX_SCHEMAS);
    if (!tf_grow(&ir->arena->allocator, (void **)&ir->schemas, ir->n_schemas, &ir->capacity,
                 sizeof *ir->schemas))
        return tf_keyword_no_memory(err);
    tf_schema *s = &ir->schemas[ir->n_schemas];
    memset(s, 0, sizeof *s);
    s->node = node;
    s->resource = resource;
    s->scope = scope;
    *id = ir->n_schemas++;
    return TOKFSM_OK;
}

/* The record of a node under a scope, which has the node's resource entered. */
static tokfsm_status record_of(tf_ir *ir, uint32_t node, uint32_t resource, uint32_t scope,
                               uint32_t *id, tokfsm_error *err)
{
    if (scope == 0) {
        if (node >= ir->n_mapped)
            TF_TRY(map_nodes(ir, err));
        *id = ir->schema_of_node[node];
        if (*id != TF_NO_SCHEMA)
            return TOKFSM_OK;
        TF_TRY(append(ir, node, resource, scope, id, err));
        ir->schema_of_node[node] = *id;
        return TOKFSM_OK;
    }
    uint32_t at = 0;
    uint32_t hash = (uint32_t)(tf_hash_end(tf_hash_step(node, scope)) >> 32);
    for (;;) {
        TF_TRY(tf_id_next(&ir->scoped, ir->documents.budget, hash, &at, id, err));
        if (*id == TF_NO_ID)
            break;
        if (ir->schemas[*id].node == node && ir->schemas[*id].scope == scope)
            return TOKFSM_OK;
    }
    TF_TRY(append(ir, node, resource, scope, id, err));
    return tf_id_add(&ir->scoped, ir->arena, hash, *id) ? TOKFSM_OK : tf_keyword_no_memory(err);
}

tokfsm_status tf_schema_at(const reader *r, uint32_t node, const char *keyword, uint32_t *id)
{
    tf_ir *ir = r->ir;
    uint32_t type = NODE(node)->type;
    if (type != TF_JSON_OBJECT && type != TF_JSON_TRUE && type != TF_JSON_FALSE)
        return tf_fail_node(r->err, TOKFSM_E_SCHEMA, ir->tape, node, keyword,
                            "a schema must be an object or a boolean");
    uint32_t resource = tf_documents_resource_of(&ir->documents, node), scope = r->s->scope;
    if (resource != r->s->resource)
        TF_TRY(tf_scope_enter(&ir->scopes, &ir->documents, scope, resource, &scope, r->err));
    return record_of(ir, node, resource, scope, id, r->err);
}

tokfsm_status tf_schema_list(const reader *r, uint32_t array, const char *keyword,
                             const uint32_t **ids, uint32_t *n)
{
    tf_ir *ir = r->ir;
    uint32_t *list = tf_arena_take(ir->arena, NODE(array)->n * sizeof *list);
    if (list == NULL)
        return tf_keyword_no_memory(r->err);
    uint32_t i = 0;
    for (uint32_t child = array + 1; child < NODE(array)->next; child = NODE(child)->next)
        TF_TRY(tf_schema_at(r, child, keyword, &list[i++]));
    *ids = list;
    *n = i;
    return TOKFSM_OK;
}

/* A schema that says nothing. */
static tf_schema empty_schema(uint32_t node)
{
    tf_schema s;
    memset(&s, 0, sizeof s);
    s.node = node;
    s.types = TF_TYPE_ALL;
    s.reference = s.additional = s.items = TF_NO_SCHEMA;
    s.property_names = s.unevaluated_properties = TF_NO_SCHEMA;
    s.contains = s.unevaluated_items = TF_NO_SCHEMA;
    s.max_contains = TF_UNLIMITED;
    s.properties_node = s.foreign_node = TF_TAPE_NONE;
    s.max_items = s.max_length = s.max_properties = TF_UNLIMITED;
    s.not_schema = s.if_schema = s.then_schema = s.else_schema = TF_NO_SCHEMA;
    return s;
}

/* ---- references ---- */

enum { STATIC, DYNAMIC, RECURSIVE };

/* The schema that the reference at `value` leads to under the scope of r. */
static tokfsm_status read_reference(reader *r, uint32_t value, const char *keyword, int kind,
                                    uint32_t *id)
{
    tf_ir *ir = r->ir;
    uint32_t target, anchor;
    if (kind == RECURSIVE)
        TF_TRY(tf_refs_recursive(ir, r->s->resource, value, &target, &anchor, r->err));
    else
        TF_TRY(tf_refs_resolve(ir, r->s->resource, value, keyword, &target, &anchor, r->err));
    if (kind != STATIC && anchor != TF_NO_ID) {
        tf_span text = ir->documents.identifiers[anchor].text;
        uint32_t name = tf_scope_name(&ir->scopes, text);
        if (name == TF_NO_ID) {
            ir->names_missed = true;
            return tf_scope_ask(&ir->scopes, ir->arena, text) ? TOKFSM_OK
                                                              : tf_keyword_no_memory(r->err);
        }
        uint32_t bound = tf_scope_binding(&ir->scopes, r->s->scope, name);
        target = bound != TF_TAPE_NONE ? bound : target;
    }
    return tf_schema_at(r, target, keyword, id);
}

/* All but the first reference join allOf, which says the same. */
static tokfsm_status add_references(reader *r, const uint32_t *ids, uint32_t n)
{
    tf_schema *s = r->s;
    if (n == 0)
        return TOKFSM_OK;
    s->reference = ids[0];
    if (n == 1)
        return TOKFSM_OK;
    uint32_t *all = tf_arena_take(r->ir->arena, (s->n_all_of + n - 1) * sizeof *all);
    if (all == NULL)
        return tf_keyword_no_memory(r->err);
    memcpy(all, ids + 1, (n - 1) * sizeof *all);
    if (s->n_all_of > 0)
        memcpy(all + n - 1, s->all_of, s->n_all_of * sizeof *all);
    s->all_of = all;
    s->n_all_of += n - 1;
    return TOKFSM_OK;
}

static tokfsm_status read_object(reader *r)
{
    static const struct {
        const char *keyword;
        int kind;
        uint32_t from, to;
    } kinds[] = {
        {"$ref", STATIC, TOKFSM_DRAFT_4, TOKFSM_DRAFT_2020_12},
        {"$dynamicRef", DYNAMIC, TOKFSM_DRAFT_2020_12, TOKFSM_DRAFT_2020_12},
        {"$recursiveRef", RECURSIVE, TOKFSM_DRAFT_2019_09, TOKFSM_DRAFT_2019_09},
    };
    uint32_t ids[3], n = 0;
    for (size_t i = 0; i < 3; i++) {
        uint32_t value = tf_keyword(r, kinds[i].keyword);
        if (value == TF_TAPE_NONE || r->draft < kinds[i].from || r->draft > kinds[i].to)
            continue;
        ids[n] = TF_NO_SCHEMA;
        TF_TRY(read_reference(r, value, kinds[i].keyword, kinds[i].kind, &ids[n]));
        n += ids[n] != TF_NO_SCHEMA;
        if (r->draft <= TOKFSM_DRAFT_7) { /* draft-07 §8.3: siblings are ignored */
            r->s->reference = ids[0];
            return TOKFSM_OK;
        }
    }
    TF_TRY(tf_keywords_read(r));
    return add_references(r, ids, n);
}

/* ---- all of it ---- */

static tokfsm_status read_schema(tf_ir *ir, uint32_t id, tokfsm_error *err)
{
    tf_schema s = empty_schema(ir->schemas[id].node);
    s.resource = ir->schemas[id].resource;
    s.scope = ir->schemas[id].scope;
    s.is_false = NODE(s.node)->type == TF_JSON_FALSE;
    if (NODE(s.node)->type == TF_JSON_OBJECT) {
        tf_dialect dialect = ir->documents.resources[s.resource].dialect;
        reader r = {ir, &s, s.node, dialect, dialect.draft, err};
        s.pointed_is_no_integer = dialect.draft == TOKFSM_DRAFT_4;
        ir->pointed_is_no_integer |= s.pointed_is_no_integer;
        if (dialect.unmet)
            s.foreign_node = tf_dialect_foreign(dialect, ir->tape, s.node);
        TF_TRY(read_object(&r));
    }
    ir->negates |= tf_schema_negates(&s);
    ir->schemas[id] = s; /* the array may have moved while this was read */
    return TOKFSM_OK;
}

static tokfsm_status read_all(tf_ir *ir, tokfsm_error *err)
{
    uint32_t resource = ir->documents.states[0].resource, scope;
    ir->names_missed = false;
    ir->n_schemas = ir->n_mapped = 0;
    ir->negates = ir->pointed_is_no_integer = 0;
    ir->scoped = (tf_id_table){NULL, 0, 0};
    TF_TRY(map_nodes(ir, err));
    if (!tf_scopes_begin(&ir->scopes, ir->arena))
        return tf_keyword_no_memory(err);
    TF_TRY(tf_scope_enter(&ir->scopes, &ir->documents, 0, resource, &scope, err));
    tf_schema before = {.resource = resource, .scope = scope};
    reader r = {.ir = ir, .s = &before, .err = err};
    TF_TRY(tf_schema_at(&r, 0, "", &ir->root));
    for (uint32_t id = 0; id < ir->n_schemas; id++) {
        TF_TRY(tf_spend(ir->documents.budget, err));
        TF_TRY(read_schema(ir, id, err));
    }
    return TOKFSM_OK;
}

tokfsm_status tf_ir_read(tf_ir *ir, tf_tape *tape, const tokfsm_resource *resources,
                         size_t n_resources, const tokfsm_options *options,
                         const tokfsm_limits *limits, tf_budget *budget, tf_arena *arena,
                         tokfsm_error *err)
{
    memset(ir, 0, sizeof *ir);
    ir->tape = tape;
    ir->arena = arena;
    ir->options = options;
    TF_TRY(tf_documents_begin(&ir->documents, tape, options, resources, n_resources, limits,
                              budget, arena, err));
    do /* at most once for each name that references ask for */
        TF_TRY(read_all(ir, err));
    while (ir->names_missed);
    TF_TRY(tf_refuse_cycles(ir, err));
    if (!tf_grow(&arena->allocator, (void **)&ir->schemas, ir->n_schemas, &ir->capacity,
                 sizeof *ir->schemas))
        return tf_keyword_no_memory(err);
    ir->true_schema = ir->n_schemas;
    ir->schemas[ir->n_schemas++] = empty_schema(0);
    ir->documents.budget = NULL; /* the caller's, as are these */
    ir->documents.limits = NULL;
    ir->documents.given = NULL;
    return TOKFSM_OK;
}

void tf_ir_free(tf_ir *ir)
{
    if (ir->arena != NULL)
        tf_release(&ir->arena->allocator, ir->schemas);
    ir->schemas = NULL;
}

uint32_t tf_ir_property(const tf_ir *ir, const tf_schema *s, const char *name, uint32_t n)
{
    if (s->properties_node == TF_TAPE_NONE)
        return TF_NO_SCHEMA;
    uint32_t value = tf_tape_get(ir->tape, s->properties_node, name, n);
    if (value == TF_TAPE_NONE)
        return TF_NO_SCHEMA;
    if (ir->scopes.n_names == 0)
        return ir->schema_of_node[value];
    uint32_t low = 0, high = s->n_properties; /* in text order, so in that of their nodes */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (s->properties[middle].node <= value)
            low = middle;
        else
            high = middle;
    }
    return s->properties[low].schema;
}
