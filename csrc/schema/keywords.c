/*
 * Keywords into records: reads every reachable subschema once, from a queue, so that nothing
 * recurses on the depth of a schema. Keywords that speak of values of one type are read in
 * keywords_typed.c. See ir.h.
 */
#include "keywords.h"
#include "refs.h"

uint32_t tf_keyword(const reader *r, const char *name)
{
    return tf_tape_get(r->ir->tape, r->node, name, strlen(name));
}

tokfsm_status tf_keyword_no_memory(tokfsm_error *err)
{
    return tf_fail(err, TOKFSM_E_NOMEM, "no memory for the schema");
}

/* A new schema is queued by being appended. */
tokfsm_status tf_schema_at(tf_ir *ir, uint32_t node, const char *keyword, uint32_t *id,
                           tokfsm_error *err)
{
    uint32_t type = NODE(node)->type;
    if (type != TF_JSON_OBJECT && type != TF_JSON_TRUE && type != TF_JSON_FALSE)
        return tf_fail_node(err, TOKFSM_E_SCHEMA, ir->tape, node, keyword,
                            "a schema must be an object or a boolean");
    if (ir->schema_of_node[node] == TF_NO_SCHEMA) {
        tokfsm_allocator *a = &ir->arena->allocator;
        if (!tf_grow(a, (void **)&ir->schemas, ir->n_schemas, &ir->capacity, sizeof *ir->schemas))
            return tf_keyword_no_memory(err);
        tf_schema *s = &ir->schemas[ir->n_schemas];
        memset(s, 0, sizeof *s);
        s->node = node;
        ir->schema_of_node[node] = ir->n_schemas++;
    }
    *id = ir->schema_of_node[node];
    return TOKFSM_OK;
}

tokfsm_status tf_schema_list(tf_ir *ir, uint32_t array, const char *keyword, const uint32_t **ids,
                             uint32_t *n, tokfsm_error *err)
{
    uint32_t *list = tf_arena_take(ir->arena, NODE(array)->n * sizeof *list);
    if (list == NULL)
        return tf_keyword_no_memory(err);
    uint32_t i = 0;
    for (uint32_t child = array + 1; child < NODE(array)->next; child = NODE(child)->next)
        TF_TRY(tf_schema_at(ir, child, keyword, &list[i++], err));
    *ids = list;
    *n = i;
    return TOKFSM_OK;
}

tokfsm_status tf_keyword_malformed(const reader *r, uint32_t value, const char *keyword,
                                   const char *wanted)
{
    return tf_fail_node(r->err, TOKFSM_E_SCHEMA, r->ir->tape, value, keyword, "%s must be %s",
                        keyword, wanted);
}

static const struct {
    const char *name;
    uint32_t bit;
} type_names[] = {
    {"null", TF_TYPE_NULL},     {"boolean", TF_TYPE_BOOLEAN}, {"integer", TF_TYPE_INTEGER},
    {"number", TF_TYPE_NUMBER}, {"string", TF_TYPE_STRING},   {"array", TF_TYPE_ARRAY},
    {"object", TF_TYPE_OBJECT},
};

static bool type_bit(const tf_tape_node *name, uint32_t *bit)
{
    if (name->type != TF_JSON_STRING)
        return false;
    for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++)
        if (strcmp(name->text, type_names[i].name) == 0 && strlen(type_names[i].name) == name->n) {
            *bit |= type_names[i].bit;
            return true;
        }
    return false;
}

static tokfsm_status read_type(reader *r, uint32_t value)
{
    tf_ir *ir = r->ir;
    uint32_t types = 0;
    bool known;
    if (NODE(value)->type == TF_JSON_ARRAY) {
        known = NODE(value)->n > 0;
        for (uint32_t child = value + 1; known && child < NODE(value)->next;
             child = NODE(child)->next)
            known = type_bit(NODE(child), &types);
    } else {
        known = type_bit(NODE(value), &types);
    }
    if (!known)
        return tf_keyword_malformed(r, value, "type",
                                    "the name of a type, or a non-empty array of them");
    if (types & TF_TYPE_NUMBER)
        types |= TF_TYPE_INTEGER;
    r->s->types = types;
    return TOKFSM_OK;
}

static tokfsm_status read_values(reader *r, uint32_t value)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_ARRAY)
        return tf_keyword_malformed(r, value, "enum", "an array");
    uint32_t *values = tf_arena_take(ir->arena, NODE(value)->n * sizeof *values);
    if (values == NULL)
        return tf_keyword_no_memory(r->err);
    uint32_t n = 0;
    for (uint32_t child = value + 1; child < NODE(value)->next; child = NODE(child)->next)
        values[n++] = child;
    r->s->values = values;
    r->s->n_values = n;
    r->s->has_values = 1;
    return TOKFSM_OK;
}

/* `const` beside `enum` narrows it; alone it is an enum of one value. */
static tokfsm_status read_const(reader *r, uint32_t value)
{
    tf_ir *ir = r->ir;
    tf_schema *s = r->s;
    bool admitted = !s->has_values;
    for (uint32_t i = 0; i < s->n_values && !admitted; i++)
        admitted = tf_tape_equal(ir->tape, s->values[i], ir->tape, value);
    uint32_t *one = tf_arena_take(ir->arena, sizeof *one);
    if (one == NULL)
        return tf_keyword_no_memory(r->err);
    *one = value;
    s->values = one;
    s->n_values = admitted ? 1 : 0;
    s->has_values = 1;
    return TOKFSM_OK;
}

static tokfsm_status read_any_of(reader *r, uint32_t value)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_ARRAY || NODE(value)->n == 0)
        return tf_keyword_malformed(r, value, "anyOf", "a non-empty array of schemas");
    r->s->has_any_of = 1;
    return tf_schema_list(ir, value, "anyOf", &r->s->any_of, &r->s->n_any_of, r->err);
}

static tokfsm_status read_all_of(reader *r, uint32_t value)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_ARRAY || NODE(value)->n == 0)
        return tf_keyword_malformed(r, value, "allOf", "a non-empty array of schemas");
    return tf_schema_list(ir, value, "allOf", &r->s->all_of, &r->s->n_all_of, r->err);
}

static tokfsm_status read_one_of(reader *r, uint32_t value)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_ARRAY || NODE(value)->n == 0)
        return tf_keyword_malformed(r, value, "oneOf", "a non-empty array of schemas");
    r->s->has_one_of = 1;
    return tf_schema_list(ir, value, "oneOf", &r->s->one_of, &r->s->n_one_of, r->err);
}

/*
 * Keywords of the specification that are not honoured yet: each is refused by name, unless
 * the types beside it make it say nothing or its value does.
 */
static const struct {
    const char *name;
    uint32_t types;     /* the only types of value that it speaks of */
    uint32_t from, to;  /* drafts that know it */
} unsupported[] = {
    {"patternProperties", TF_TYPE_OBJECT, TOKFSM_DRAFT_4, TOKFSM_DRAFT_2020_12},
    {"propertyNames", TF_TYPE_OBJECT, TOKFSM_DRAFT_6, TOKFSM_DRAFT_2020_12},
    {"contains", TF_TYPE_ARRAY, TOKFSM_DRAFT_6, TOKFSM_DRAFT_2020_12},
    {"uniqueItems", TF_TYPE_ARRAY, TOKFSM_DRAFT_4, TOKFSM_DRAFT_2020_12},
    {"pattern", TF_TYPE_STRING, TOKFSM_DRAFT_4, TOKFSM_DRAFT_2020_12},
    {"$dynamicRef", TF_TYPE_ALL, TOKFSM_DRAFT_2020_12, TOKFSM_DRAFT_2020_12},
    {"$recursiveRef", TF_TYPE_ALL, TOKFSM_DRAFT_2019_09, TOKFSM_DRAFT_2019_09},
};

static const char *const formats[] = {
    "date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname",
    "ipv4", "ipv6", "uri", "uri-reference", "iri", "iri-reference", "uuid", "uri-template",
    "json-pointer", "relative-json-pointer", "regex",
};

static bool says_nothing(const tf_ir *ir, const char *keyword, uint32_t value)
{
    const tf_tape_node *v = NODE(value);
    if (strcmp(keyword, "uniqueItems") == 0)
        return v->type == TF_JSON_FALSE;
    if (strcmp(keyword, "patternProperties") == 0)
        return v->type == TF_JSON_OBJECT && v->n == 0;
    return false;
}

static tokfsm_status refuse_unsupported(reader *r)
{
    tf_ir *ir = r->ir;
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++) {
        const char *name = unsupported[i].name;
        if (ir->draft < unsupported[i].from || ir->draft > unsupported[i].to)
            continue;
        uint32_t value = tf_tape_get(ir->tape, r->node, name, strlen(name));
        if (value == TF_TAPE_NONE || (r->s->types & unsupported[i].types) == 0 ||
            says_nothing(ir, name, value))
            continue;
        return tf_fail_node(r->err, TOKFSM_E_UNSUPPORTED, ir->tape, value, name,
                            "the keyword %s is not supported", name);
    }
    uint32_t format = tf_tape_get(ir->tape, r->node, "format", 6);
    if (format != TF_TAPE_NONE && ir->options->format == TOKFSM_FORMAT_ASSERT &&
        (r->s->types & TF_TYPE_STRING) && NODE(format)->type == TF_JSON_STRING)
        for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
            if (strcmp(NODE(format)->text, formats[i]) == 0)
                return tf_fail_node(r->err, TOKFSM_E_UNSUPPORTED, ir->tape, format, "format",
                                    "the format %s is not supported", formats[i]);
    return TOKFSM_OK;
}

/* Everything of a schema object but its reference. */
static tokfsm_status read_keywords(reader *r)
{
    tf_ir *ir = r->ir;
    uint32_t value = tf_keyword(r, "type");
    if (value != TF_TAPE_NONE)
        TF_TRY(read_type(r, value));
    TF_TRY(refuse_unsupported(r));
    if ((value = tf_keyword(r, "enum")) != TF_TAPE_NONE)
        TF_TRY(read_values(r, value));
    if (ir->draft >= TOKFSM_DRAFT_6 && (value = tf_keyword(r, "const")) != TF_TAPE_NONE)
        TF_TRY(read_const(r, value));
    if ((value = tf_keyword(r, "allOf")) != TF_TAPE_NONE)
        TF_TRY(read_all_of(r, value));
    if ((value = tf_keyword(r, "anyOf")) != TF_TAPE_NONE)
        TF_TRY(read_any_of(r, value));
    if ((value = tf_keyword(r, "oneOf")) != TF_TAPE_NONE)
        TF_TRY(read_one_of(r, value));
    if ((value = tf_keyword(r, "not")) != TF_TAPE_NONE)
        TF_TRY(tf_schema_at(ir, value, "not", &r->s->not_schema, r->err));
    if (ir->draft >= TOKFSM_DRAFT_7 && (value = tf_keyword(r, "if")) != TF_TAPE_NONE) {
        TF_TRY(tf_schema_at(ir, value, "if", &r->s->if_schema, r->err));
        if ((value = tf_keyword(r, "then")) != TF_TAPE_NONE)
            TF_TRY(tf_schema_at(ir, value, "then", &r->s->then_schema, r->err));
        if ((value = tf_keyword(r, "else")) != TF_TAPE_NONE)
            TF_TRY(tf_schema_at(ir, value, "else", &r->s->else_schema, r->err));
    }
    TF_TRY(tf_keywords_object(r));
    TF_TRY(tf_keywords_array(r));
    TF_TRY(tf_keywords_number(r));
    return tf_keywords_string(r);
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
    s.properties_node = TF_TAPE_NONE;
    s.max_items = s.max_length = s.max_properties = TF_UNLIMITED;
    s.not_schema = s.if_schema = s.then_schema = s.else_schema = TF_NO_SCHEMA;
    return s;
}

static tokfsm_status read_schema(tf_ir *ir, uint32_t id, tokfsm_error *err)
{
    tf_schema s = empty_schema(ir->schemas[id].node);
    s.is_false = NODE(s.node)->type == TF_JSON_FALSE;
    if (NODE(s.node)->type == TF_JSON_OBJECT) {
        reader r = {ir, &s, s.node, err};
        uint32_t value = tf_keyword(&r, "$ref");
        bool alone = false;
        if (value != TF_TAPE_NONE) {
            uint32_t target;
            TF_TRY(tf_refs_resolve(ir, s.node, value, &target, err));
            TF_TRY(tf_schema_at(ir, target, "$ref", &s.reference, err));
            alone = ir->draft <= TOKFSM_DRAFT_7; /* draft-07 §8.3: siblings are ignored */
        }
        if (!alone)
            TF_TRY(read_keywords(&r));
    }
    if (s.has_one_of || s.not_schema != TF_NO_SCHEMA || s.if_schema != TF_NO_SCHEMA)
        ir->negates = 1;
    ir->schemas[id] = s; /* the array may have moved while this was read */
    return TOKFSM_OK;
}

uint32_t tf_in_place(const tf_schema *s, uint32_t i)
{
    const uint32_t single[] = {s->reference, s->not_schema, s->if_schema, s->then_schema,
                               s->else_schema};
    for (size_t k = 0; k < sizeof single / sizeof *single; k++)
        if (single[k] != TF_NO_SCHEMA && i-- == 0)
            return single[k];
    const uint32_t *const lists[] = {s->all_of, s->any_of, s->one_of};
    const uint32_t lengths[] = {s->n_all_of, s->n_any_of, s->n_one_of};
    for (size_t k = 0; k < 3; k++) {
        if (i < lengths[k])
            return lists[k][i];
        i -= lengths[k];
    }
    for (uint32_t k = 0; k < s->n_dependents; k++)
        if (s->dependents[k].schema != TF_NO_SCHEMA && i-- == 0)
            return s->dependents[k].schema;
    return TF_NO_SCHEMA;
}

/*
 * A schema that applies itself to the same value never ends. Depth-first over in-place
 * applicators with an explicit stack; state 1 is "on the path", 2 is "done".
 */
static tokfsm_status refuse_cycles(tf_ir *ir, tokfsm_error *err)
{
    uint8_t *state = tf_arena_zero(ir->arena, ir->n_schemas);
    uint32_t *path = tf_arena_take(ir->arena, ir->n_schemas * sizeof *path);
    uint32_t *next = tf_arena_zero(ir->arena, ir->n_schemas * sizeof *next);
    if (state == NULL || path == NULL || next == NULL)
        return tf_keyword_no_memory(err);
    for (uint32_t start = 0; start < ir->n_schemas; start++) {
        if (state[start] != 0)
            continue;
        uint32_t depth = 0;
        path[depth++] = start;
        state[start] = 1;
        while (depth > 0) {
            uint32_t at = path[depth - 1];
            const tf_schema *s = &ir->schemas[at];
            uint32_t i = next[at]++;
            uint32_t child = tf_in_place(s, i);
            if (child == TF_NO_SCHEMA) {
                state[at] = 2;
                depth--;
                continue;
            }
            if (state[child] == 1)
                return tf_fail_node(err, TOKFSM_E_SCHEMA, ir->tape, s->node, "",
                                    "the schema refers to itself without a step into the value");
            if (state[child] == 0) {
                state[child] = 1;
                path[depth++] = child;
            }
        }
    }
    return TOKFSM_OK;
}

tokfsm_status tf_ir_read(tf_ir *ir, const tf_tape *tape, const tokfsm_options *options,
                         tf_budget *budget, tf_arena *arena, tokfsm_error *err)
{
    memset(ir, 0, sizeof *ir);
    ir->tape = tape;
    ir->arena = arena;
    ir->options = options;
    TF_TRY(tf_dialect_choose(tape, options->draft, &ir->draft, err));
    size_t n_bytes;
    if (!tf_size_mul_add(tape->n_nodes, sizeof *ir->schema_of_node, 0, &n_bytes) ||
        (ir->schema_of_node = tf_arena_take(arena, n_bytes)) == NULL)
        return tf_keyword_no_memory(err);
    memset(ir->schema_of_node, 0xFF, n_bytes);
    TF_TRY(tf_schema_at(ir, 0, "", &ir->root, err));
    for (uint32_t id = 0; id < ir->n_schemas; id++) {
        TF_TRY(tf_spend(budget, err));
        TF_TRY(read_schema(ir, id, err));
    }
    TF_TRY(refuse_cycles(ir, err));
    if (!tf_grow(&arena->allocator, (void **)&ir->schemas, ir->n_schemas, &ir->capacity,
                 sizeof *ir->schemas))
        return tf_keyword_no_memory(err);
    ir->true_schema = ir->n_schemas;
    ir->schemas[ir->n_schemas++] = empty_schema(0);
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
    return value == TF_TAPE_NONE ? TF_NO_SCHEMA : ir->schema_of_node[value];
}
