/*
 * Keywords into records: reads every reachable subschema once, from a queue, so that nothing
 * recurses on the depth of a schema. See ir.h.
 */
#include "ir.h"
#include "refs.h"

/* A keyword's reader: `value` is the tape node of the keyword's value. */
typedef struct reader {
    tf_ir *ir;
    tf_schema *s; /* the record that is read; not yet in ir->schemas */
    uint32_t node;
    tokfsm_error *err;
} reader;

#define NODE(i) (&ir->tape->nodes[i])

static tokfsm_status no_memory(tokfsm_error *err)
{
    return tf_fail(err, TOKFSM_E_NOMEM, "no memory for the schema");
}

/* The id of the schema at a tape node; a new one is queued by being appended. */
static tokfsm_status schema_at(tf_ir *ir, uint32_t node, const char *keyword, uint32_t *id,
                               tokfsm_error *err)
{
    uint32_t type = NODE(node)->type;
    if (type != TF_JSON_OBJECT && type != TF_JSON_TRUE && type != TF_JSON_FALSE)
        return tf_fail_node(err, TOKFSM_E_SCHEMA, ir->tape, node, keyword,
                            "a schema must be an object or a boolean");
    if (ir->schema_of_node[node] == TF_NO_SCHEMA) {
        tokfsm_allocator *a = &ir->arena->allocator;
        if (!tf_grow(a, (void **)&ir->schemas, ir->n_schemas, &ir->capacity, sizeof *ir->schemas))
            return no_memory(err);
        tf_schema *s = &ir->schemas[ir->n_schemas];
        memset(s, 0, sizeof *s);
        s->node = node;
        ir->schema_of_node[node] = ir->n_schemas++;
    }
    *id = ir->schema_of_node[node];
    return TOKFSM_OK;
}

static tokfsm_status schema_list(tf_ir *ir, uint32_t array, const char *keyword,
                                 const uint32_t **ids, uint32_t *n, tokfsm_error *err)
{
    uint32_t *list = tf_arena_take(ir->arena, NODE(array)->n * sizeof *list);
    if (list == NULL)
        return no_memory(err);
    uint32_t i = 0;
    for (uint32_t child = array + 1; child < NODE(array)->next; child = NODE(child)->next)
        TF_TRY(schema_at(ir, child, keyword, &list[i++], err));
    *ids = list;
    *n = i;
    return TOKFSM_OK;
}

static tokfsm_status malformed(const reader *r, uint32_t value, const char *keyword,
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
        return malformed(r, value, "type", "the name of a type, or a non-empty array of them");
    if (types & TF_TYPE_NUMBER)
        types |= TF_TYPE_INTEGER;
    r->s->types = types;
    return TOKFSM_OK;
}

static tokfsm_status read_properties(reader *r, uint32_t value)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_OBJECT)
        return malformed(r, value, "properties", "an object");
    tf_property *list = tf_arena_take(ir->arena, NODE(value)->n * sizeof *list);
    if (list == NULL)
        return no_memory(r->err);
    uint32_t n = 0;
    for (uint32_t name = value + 1; name < NODE(value)->next; name = NODE(name + 1)->next) {
        list[n].name = NODE(name)->text;
        list[n].n_name = NODE(name)->n;
        TF_TRY(schema_at(ir, name + 1, "properties", &list[n].schema, r->err));
        n++;
    }
    r->s->properties = list;
    r->s->n_properties = n;
    r->s->properties_node = value;
    r->s->has_properties = 1;
    r->s->has_object = 1;
    return TOKFSM_OK;
}

static tokfsm_status read_names(reader *r, uint32_t value, const char *keyword,
                                const tf_name **names, uint32_t *n)
{
    tf_ir *ir = r->ir;
    tf_name *list = tf_arena_take(ir->arena, NODE(value)->n * sizeof *list);
    if (list == NULL)
        return no_memory(r->err);
    *n = 0;
    for (uint32_t child = value + 1; child < NODE(value)->next; child = NODE(child)->next) {
        if (NODE(child)->type != TF_JSON_STRING)
            return malformed(r, child, keyword, "an array of strings");
        list[(*n)++] = (tf_name){NODE(child)->text, NODE(child)->n};
    }
    *names = list;
    return TOKFSM_OK;
}

static tokfsm_status read_required(reader *r, uint32_t value)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_ARRAY)
        return malformed(r, value, "required", "an array of strings");
    TF_TRY(read_names(r, value, "required", &r->s->required, &r->s->n_required));
    if (r->s->n_required > 0)
        r->s->has_object = 1;
    return TOKFSM_OK;
}

static tokfsm_status read_additional(reader *r, uint32_t value)
{
    r->s->has_object = 1;
    return schema_at(r->ir, value, "additionalProperties", &r->s->additional, r->err);
}

static tokfsm_status read_values(reader *r, uint32_t value)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_ARRAY)
        return malformed(r, value, "enum", "an array");
    uint32_t *values = tf_arena_take(ir->arena, NODE(value)->n * sizeof *values);
    if (values == NULL)
        return no_memory(r->err);
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
        return no_memory(r->err);
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
        return malformed(r, value, "anyOf", "a non-empty array of schemas");
    r->s->has_any_of = 1;
    return schema_list(ir, value, "anyOf", &r->s->any_of, &r->s->n_any_of, r->err);
}

static tokfsm_status read_all_of(reader *r, uint32_t value)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_ARRAY || NODE(value)->n == 0)
        return malformed(r, value, "allOf", "a non-empty array of schemas");
    return schema_list(ir, value, "allOf", &r->s->all_of, &r->s->n_all_of, r->err);
}

static tokfsm_status read_one_of(reader *r, uint32_t value)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_ARRAY || NODE(value)->n == 0)
        return malformed(r, value, "oneOf", "a non-empty array of schemas");
    r->s->has_one_of = 1;
    return schema_list(ir, value, "oneOf", &r->s->one_of, &r->s->n_one_of, r->err);
}

/* One member of dependentRequired, dependentSchemas or dependencies (draft-07 §6.5.7). */
static tokfsm_status read_dependent(reader *r, uint32_t name, const char *keyword,
                                    tf_dependent *dependent)
{
    tf_ir *ir = r->ir;
    uint32_t value = name + 1;
    *dependent = (tf_dependent){.name = {NODE(name)->text, NODE(name)->n}, .schema = TF_NO_SCHEMA};
    bool names = NODE(value)->type == TF_JSON_ARRAY && strcmp(keyword, "dependentSchemas") != 0;
    if (names)
        return read_names(r, value, keyword, &dependent->required, &dependent->n_required);
    if (strcmp(keyword, "dependentRequired") == 0)
        return malformed(r, value, keyword, "an object of arrays of strings");
    return schema_at(ir, value, keyword, &dependent->schema, r->err);
}

static tokfsm_status read_dependents(reader *r)
{
    static const struct {
        const char *name;
        uint32_t from, to;
    } keywords[] = {
        {"dependentRequired", TOKFSM_DRAFT_2019_09, TOKFSM_DRAFT_2020_12},
        {"dependentSchemas", TOKFSM_DRAFT_2019_09, TOKFSM_DRAFT_2020_12},
        /* gone from 2019-09 on, but still read there, as the specification suggests */
        {"dependencies", TOKFSM_DRAFT_4, TOKFSM_DRAFT_7},
    };
    tf_ir *ir = r->ir;
    struct { tf_dependent *items; size_t n, capacity; } all = {0};
    tokfsm_status status = TOKFSM_OK;
    for (size_t k = 0; k < 3 && status == TOKFSM_OK; k++) {
        uint32_t value = tf_tape_get(ir->tape, r->node, keywords[k].name, strlen(keywords[k].name));
        if (value == TF_TAPE_NONE || ir->draft < keywords[k].from || ir->draft > keywords[k].to)
            continue;
        if (NODE(value)->type != TF_JSON_OBJECT) {
            status = malformed(r, value, keywords[k].name, "an object");
            break;
        }
        for (uint32_t name = value + 1; name < NODE(value)->next && status == TOKFSM_OK;
             name = NODE(name + 1)->next) {
            if (!tf_grow(&ir->arena->allocator, (void **)&all.items, all.n, &all.capacity,
                         sizeof *all.items))
                status = no_memory(r->err);
            else
                status = read_dependent(r, name, keywords[k].name, &all.items[all.n++]);
        }
    }
    tf_dependent *kept = tf_arena_take(ir->arena, all.n * sizeof *kept);
    if (status == TOKFSM_OK && kept == NULL)
        status = no_memory(r->err);
    if (status == TOKFSM_OK && all.n > 0)
        memcpy(kept, all.items, all.n * sizeof *kept);
    r->s->dependents = kept;
    r->s->n_dependents = (uint32_t)all.n;
    tf_release(&ir->arena->allocator, all.items);
    return status;
}

static tokfsm_status read_prefix_items(reader *r, uint32_t value, const char *keyword)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_ARRAY)
        return malformed(r, value, keyword, "an array of schemas");
    r->s->has_array = 1;
    return schema_list(ir, value, keyword, &r->s->prefix, &r->s->n_prefix, r->err);
}

/* A count: a non-negative integer, 2.0 too; past 64 bits it stands for "no limit". */
static tokfsm_status read_count(reader *r, uint32_t value, const char *keyword, uint64_t *count)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_NUMBER)
        return malformed(r, value, keyword, "a non-negative integer");
    tf_decimal number;
    TF_TRY(tf_decimal_read(&number, NODE(value)->text, NODE(value)->n, ir->arena, r->err));
    if (number.negative || !tf_decimal_is_integer(&number))
        return malformed(r, value, keyword, "a non-negative integer");
    if (!tf_decimal_to_u64(&number, count))
        *count = TF_UNLIMITED;
    return TOKFSM_OK;
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
    {"unevaluatedProperties", TF_TYPE_OBJECT, TOKFSM_DRAFT_2019_09, TOKFSM_DRAFT_2020_12},
    {"contains", TF_TYPE_ARRAY, TOKFSM_DRAFT_6, TOKFSM_DRAFT_2020_12},
    {"uniqueItems", TF_TYPE_ARRAY, TOKFSM_DRAFT_4, TOKFSM_DRAFT_2020_12},
    {"unevaluatedItems", TF_TYPE_ARRAY, TOKFSM_DRAFT_2019_09, TOKFSM_DRAFT_2020_12},
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

static uint32_t keyword(const reader *r, const char *name)
{
    return tf_tape_get(r->ir->tape, r->node, name, strlen(name));
}

static tokfsm_status read_array_keywords(reader *r)
{
    tf_ir *ir = r->ir;
    tf_schema *s = r->s;
    uint32_t items = keyword(r, "items"), rest = TF_TAPE_NONE, prefix = TF_TAPE_NONE;
    if (ir->draft >= TOKFSM_DRAFT_2020_12) {
        prefix = keyword(r, "prefixItems");
        rest = items;
    } else if (items != TF_TAPE_NONE && NODE(items)->type == TF_JSON_ARRAY) {
        prefix = items;
        rest = keyword(r, "additionalItems");
    } else {
        rest = items;
    }
    if (prefix != TF_TAPE_NONE)
        TF_TRY(read_prefix_items(r, prefix, prefix == items ? "items" : "prefixItems"));
    if (rest != TF_TAPE_NONE) {
        s->has_array = 1;
        TF_TRY(schema_at(ir, rest, rest == items ? "items" : "additionalItems", &s->items, r->err));
    }
    uint32_t value = keyword(r, "minItems");
    if (value != TF_TAPE_NONE)
        TF_TRY(read_count(r, value, "minItems", &s->min_items));
    value = keyword(r, "maxItems");
    if (value != TF_TAPE_NONE)
        TF_TRY(read_count(r, value, "maxItems", &s->max_items));
    if (s->min_items > 0 || s->max_items != TF_UNLIMITED)
        s->has_array = 1;
    return TOKFSM_OK;
}

static tokfsm_status read_decimal(reader *r, uint32_t value, const char *keyword,
                                  const tf_decimal **decimal)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_NUMBER)
        return malformed(r, value, keyword, "a number");
    tf_decimal *made = tf_arena_take(ir->arena, sizeof *made);
    if (made == NULL)
        return no_memory(r->err);
    TF_TRY(tf_decimal_read(made, NODE(value)->text, NODE(value)->n, ir->arena, r->err));
    *decimal = made;
    r->s->has_number = 1;
    return TOKFSM_OK;
}

/* `exclusive` is a number of its own, or in draft 4 a boolean that speaks of `bound`. */
static tokfsm_status read_bound(reader *r, const char *bound, const char *exclusive,
                                const tf_decimal **inclusive, const tf_decimal **strict)
{
    tf_ir *ir = r->ir;
    uint32_t value = keyword(r, bound), flag = keyword(r, exclusive);
    if (value != TF_TAPE_NONE)
        TF_TRY(read_decimal(r, value, bound, inclusive));
    if (flag == TF_TAPE_NONE)
        return TOKFSM_OK;
    if (ir->draft != TOKFSM_DRAFT_4)
        return read_decimal(r, flag, exclusive, strict);
    if (NODE(flag)->type != TF_JSON_TRUE && NODE(flag)->type != TF_JSON_FALSE)
        return malformed(r, flag, exclusive, "a boolean in draft 4");
    if (NODE(flag)->type == TF_JSON_TRUE && *inclusive != NULL) {
        *strict = *inclusive;
        *inclusive = NULL;
    }
    return TOKFSM_OK;
}

static tokfsm_status read_number_keywords(reader *r)
{
    tf_schema *s = r->s;
    TF_TRY(read_bound(r, "minimum", "exclusiveMinimum", &s->minimum, &s->exclusive_minimum));
    TF_TRY(read_bound(r, "maximum", "exclusiveMaximum", &s->maximum, &s->exclusive_maximum));
    uint32_t value = keyword(r, "multipleOf");
    if (value == TF_TAPE_NONE)
        return TOKFSM_OK;
    TF_TRY(read_decimal(r, value, "multipleOf", &s->multiple_of));
    if (s->multiple_of->negative || s->multiple_of->n_digits == 0)
        return malformed(r, value, "multipleOf", "greater than 0");
    return TOKFSM_OK;
}

/* Everything of a schema object but its reference. */
static tokfsm_status read_keywords(reader *r)
{
    tf_ir *ir = r->ir;
    uint32_t value = keyword(r, "type");
    if (value != TF_TAPE_NONE)
        TF_TRY(read_type(r, value));
    TF_TRY(refuse_unsupported(r));
    if ((value = keyword(r, "enum")) != TF_TAPE_NONE)
        TF_TRY(read_values(r, value));
    if (ir->draft >= TOKFSM_DRAFT_6 && (value = keyword(r, "const")) != TF_TAPE_NONE)
        TF_TRY(read_const(r, value));
    if ((value = keyword(r, "allOf")) != TF_TAPE_NONE)
        TF_TRY(read_all_of(r, value));
    if ((value = keyword(r, "anyOf")) != TF_TAPE_NONE)
        TF_TRY(read_any_of(r, value));
    if ((value = keyword(r, "oneOf")) != TF_TAPE_NONE)
        TF_TRY(read_one_of(r, value));
    if ((value = keyword(r, "not")) != TF_TAPE_NONE)
        TF_TRY(schema_at(ir, value, "not", &r->s->not_schema, r->err));
    if (ir->draft >= TOKFSM_DRAFT_7 && (value = keyword(r, "if")) != TF_TAPE_NONE) {
        TF_TRY(schema_at(ir, value, "if", &r->s->if_schema, r->err));
        if ((value = keyword(r, "then")) != TF_TAPE_NONE)
            TF_TRY(schema_at(ir, value, "then", &r->s->then_schema, r->err));
        if ((value = keyword(r, "else")) != TF_TAPE_NONE)
            TF_TRY(schema_at(ir, value, "else", &r->s->else_schema, r->err));
    }
    TF_TRY(read_dependents(r));
    if ((value = keyword(r, "minProperties")) != TF_TAPE_NONE)
        TF_TRY(read_count(r, value, "minProperties", &r->s->min_properties));
    if ((value = keyword(r, "maxProperties")) != TF_TAPE_NONE)
        TF_TRY(read_count(r, value, "maxProperties", &r->s->max_properties));
    if (r->s->min_properties > 0 || r->s->max_properties != TF_UNLIMITED)
        r->s->has_object = 1;
    if ((value = keyword(r, "properties")) != TF_TAPE_NONE)
        TF_TRY(read_properties(r, value));
    if ((value = keyword(r, "required")) != TF_TAPE_NONE)
        TF_TRY(read_required(r, value));
    if ((value = keyword(r, "additionalProperties")) != TF_TAPE_NONE)
        TF_TRY(read_additional(r, value));
    TF_TRY(read_array_keywords(r));
    TF_TRY(read_number_keywords(r));
    if ((value = keyword(r, "minLength")) != TF_TAPE_NONE)
        TF_TRY(read_count(r, value, "minLength", &r->s->min_length));
    if ((value = keyword(r, "maxLength")) != TF_TAPE_NONE)
        TF_TRY(read_count(r, value, "maxLength", &r->s->max_length));
    r->s->has_string = r->s->min_length > 0 || r->s->max_length != TF_UNLIMITED;
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
        uint32_t value = keyword(&r, "$ref");
        bool alone = false;
        if (value != TF_TAPE_NONE) {
            uint32_t target;
            TF_TRY(tf_refs_resolve(ir, s.node, value, &target, err));
            TF_TRY(schema_at(ir, target, "$ref", &s.reference, err));
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

/*
 * A schema that applies itself to the same value never ends. Depth-first over in-place
 * applicators with an explicit stack; state 1 is "on the path", 2 is "done".
 */
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

static tokfsm_status refuse_cycles(tf_ir *ir, tokfsm_error *err)
{
    uint8_t *state = tf_arena_zero(ir->arena, ir->n_schemas);
    uint32_t *path = tf_arena_take(ir->arena, ir->n_schemas * sizeof *path);
    uint32_t *next = tf_arena_zero(ir->arena, ir->n_schemas * sizeof *next);
    if (state == NULL || path == NULL || next == NULL)
        return no_memory(err);
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
        return no_memory(err);
    memset(ir->schema_of_node, 0xFF, n_bytes);
    TF_TRY(schema_at(ir, 0, "", &ir->root, err));
    for (uint32_t id = 0; id < ir->n_schemas; id++) {
        TF_TRY(tf_spend(budget, err));
        TF_TRY(read_schema(ir, id, err));
    }
    TF_TRY(refuse_cycles(ir, err));
    if (!tf_grow(&arena->allocator, (void **)&ir->schemas, ir->n_schemas, &ir->capacity,
                 sizeof *ir->schemas))
        return no_memory(err);
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
