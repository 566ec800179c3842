/*
 * The keywords of one schema object into its record, but for references. Keywords that speak of
 * values of one type are read in keywords_typed.c. See ir.h.
 */
#include "keywords.h"

uint32_t tf_keyword(const reader *r, const char *name)
{
    if (r->dialect.vocabularies != TF_VOCABULARY_ALL && !tf_dialect_knows(r->dialect, name))
        return TF_TAPE_NONE;
    return tf_tape_get(r->ir->tape, r->node, name, strlen(name));
}

tokfsm_status tf_keyword_no_memory(tokfsm_error *err)
{
    return tf_fail(err, TOKFSM_E_NOMEM, "no memory for the schema");
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
    return tf_schema_list(r, value, "anyOf", &r->s->any_of, &r->s->n_any_of);
}

static tokfsm_status read_all_of(reader *r, uint32_t value)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_ARRAY || NODE(value)->n == 0)
        return tf_keyword_malformed(r, value, "allOf", "a non-empty array of schemas");
    return tf_schema_list(r, value, "allOf", &r->s->all_of, &r->s->n_all_of);
}

static tokfsm_status read_one_of(reader *r, uint32_t value)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_ARRAY || NODE(value)->n == 0)
        return tf_keyword_malformed(r, value, "oneOf", "a non-empty array of schemas");
    r->s->has_one_of = 1;
    return tf_schema_list(r, value, "oneOf", &r->s->one_of, &r->s->n_one_of);
}

tokfsm_status tf_keywords_read(reader *r)
{
    uint32_t value = tf_keyword(r, "type");
    if (value != TF_TAPE_NONE)
        TF_TRY(read_type(r, value));
    if ((value = tf_keyword(r, "enum")) != TF_TAPE_NONE)
        TF_TRY(read_values(r, value));
    if (r->draft >= TOKFSM_DRAFT_6 && (value = tf_keyword(r, "const")) != TF_TAPE_NONE)
        TF_TRY(read_const(r, value));
    if ((value = tf_keyword(r, "allOf")) != TF_TAPE_NONE)
        TF_TRY(read_all_of(r, value));
    if ((value = tf_keyword(r, "anyOf")) != TF_TAPE_NONE)
        TF_TRY(read_any_of(r, value));
    if ((value = tf_keyword(r, "oneOf")) != TF_TAPE_NONE)
        TF_TRY(read_one_of(r, value));
    if ((value = tf_keyword(r, "not")) != TF_TAPE_NONE)
        TF_TRY(tf_schema_at(r, value, "not", &r->s->not_schema));
    if (r->draft >= TOKFSM_DRAFT_7 && (value = tf_keyword(r, "if")) != TF_TAPE_NONE) {
        TF_TRY(tf_schema_at(r, value, "if", &r->s->if_schema));
        if ((value = tf_keyword(r, "then")) != TF_TAPE_NONE)
            TF_TRY(tf_schema_at(r, value, "then", &r->s->then_schema));
        if ((value = tf_keyword(r, "else")) != TF_TAPE_NONE)
            TF_TRY(tf_schema_at(r, value, "else", &r->s->else_schema));
    }
    TF_TRY(tf_keywords_object(r));
    TF_TRY(tf_keywords_array(r));
    TF_TRY(tf_keywords_number(r));
    return tf_keywords_string(r);
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
tokfsm_status tf_refuse_cycles(tf_ir *ir, tokfsm_error *err)
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
