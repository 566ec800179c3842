/*
 * The keywords that speak of values of one type - objects, arrays, numbers, strings - into the
 * record of their schema. Dialects differ here most: what a keyword is called and what it takes
 * ends in this file. See ir.h.
 */
#include "keywords.h"

/* A count: a non-negative integer, 2.0 too; past 64 bits it stands for "no limit". */
static tokfsm_status read_count(reader *r, uint32_t value, const char *keyword, uint64_t *count)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_NUMBER)
        return tf_keyword_malformed(r, value, keyword, "a non-negative integer");
    tf_decimal number;
    TF_TRY(tf_decimal_read(&number, NODE(value)->text, NODE(value)->n, ir->arena, r->err));
    if (number.negative || !tf_decimal_is_integer(&number))
        return tf_keyword_malformed(r, value, keyword, "a non-negative integer");
    if (!tf_decimal_to_u64(&number, count))
        *count = TF_UNLIMITED;
    return TOKFSM_OK;
}

/* ---- objects ---- */

static tokfsm_status read_properties(reader *r, uint32_t value)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_OBJECT)
        return tf_keyword_malformed(r, value, "properties", "an object");
    tf_property *list = tf_arena_take(ir->arena, NODE(value)->n * sizeof *list);
    if (list == NULL)
        return tf_keyword_no_memory(r->err);
    uint32_t n = 0;
    for (uint32_t name = value + 1; name < NODE(value)->next; name = NODE(name + 1)->next) {
        list[n].name = NODE(name)->text;
        list[n].n_name = NODE(name)->n;
        list[n].node = name + 1;
        TF_TRY(tf_schema_at(r, name + 1, "properties", &list[n].schema));
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
        return tf_keyword_no_memory(r->err);
    *n = 0;
    for (uint32_t child = value + 1; child < NODE(value)->next; child = NODE(child)->next) {
        if (NODE(child)->type != TF_JSON_STRING)
            return tf_keyword_malformed(r, child, keyword, "an array of strings");
        list[(*n)++] = (tf_name){NODE(child)->text, NODE(child)->n};
    }
    *names = list;
    return TOKFSM_OK;
}

static tokfsm_status read_required(reader *r, uint32_t value)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_ARRAY)
        return tf_keyword_malformed(r, value, "required", "an array of strings");
    TF_TRY(read_names(r, value, "required", &r->s->required, &r->s->n_required));
    if (r->s->n_required > 0)
        r->s->has_object = 1;
    return TOKFSM_OK;
}

static tokfsm_status read_additional(reader *r, uint32_t value)
{
    r->s->has_object = 1;
    return tf_schema_at(r, value, "additionalProperties", &r->s->additional);
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
        return tf_keyword_malformed(r, value, keyword, "an object of arrays of strings");
    return tf_schema_at(r, value, keyword, &dependent->schema);
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
        {"dependencies", TOKFSM_DRAFT_4, TOKFSM_DRAFT_2020_12},
    };
    tf_ir *ir = r->ir;
    struct { tf_dependent *items; size_t n, capacity; } all = {0};
    tokfsm_status status = TOKFSM_OK;
    for (size_t k = 0; k < 3 && status == TOKFSM_OK; k++) {
        uint32_t value = tf_keyword(r, keywords[k].name);
        if (value == TF_TAPE_NONE || r->draft < keywords[k].from || r->draft > keywords[k].to)
            continue;
        if (NODE(value)->type != TF_JSON_OBJECT) {
            status = tf_keyword_malformed(r, value, keywords[k].name, "an object");
            break;
        }
        for (uint32_t name = value + 1; name < NODE(value)->next && status == TOKFSM_OK;
             name = NODE(name + 1)->next) {
            if (!tf_grow(&ir->arena->allocator, (void **)&all.items, all.n, &all.capacity,
                         sizeof *all.items))
                status = tf_keyword_no_memory(r->err);
            else
                status = read_dependent(r, name, keywords[k].name, &all.items[all.n++]);
        }
    }
    tf_dependent *kept = tf_arena_take(ir->arena, all.n * sizeof *kept);
    if (status == TOKFSM_OK && kept == NULL)
        status = tf_keyword_no_memory(r->err);
    if (status == TOKFSM_OK && all.n > 0)
        memcpy(kept, all.items, all.n * sizeof *kept);
    r->s->dependents = kept;
    r->s->n_dependents = (uint32_t)all.n;
    tf_release(&ir->arena->allocator, all.items);
    return status;
}

static tokfsm_status read_pattern_properties(reader *r, uint32_t value)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_OBJECT)
        return tf_keyword_malformed(r, value, "patternProperties", "an object");
    tf_pattern_property *list = tf_arena_take(ir->arena, NODE(value)->n * sizeof *list);
    if (list == NULL)
        return tf_keyword_no_memory(r->err);
    uint32_t n = 0;
    for (uint32_t name = value + 1; name < NODE(value)->next; name = NODE(name + 1)->next) {
        list[n] = (tf_pattern_property){{NODE(name)->text, NODE(name)->n}, name, TF_NO_SCHEMA, 0};
        TF_TRY(tf_schema_at(r, name + 1, "patternProperties", &list[n].schema));
        n++;
    }
    r->s->pattern_properties = list;
    r->s->n_pattern_properties = n;
    if (n > 0)
        r->s->has_object = 1;
    return TOKFSM_OK;
}

tokfsm_status tf_keywords_object(reader *r)
{
    uint32_t value;
    TF_TRY(read_dependents(r));
    if ((value = tf_keyword(r, "minProperties")) != TF_TAPE_NONE)
        TF_TRY(read_count(r, value, "minProperties", &r->s->min_properties));
    if ((value = tf_keyword(r, "maxProperties")) != TF_TAPE_NONE)
        TF_TRY(read_count(r, value, "maxProperties", &r->s->max_properties));
    if (r->s->min_properties > 0 || r->s->max_properties != TF_UNLIMITED)
        r->s->has_object = 1;
    if ((value = tf_keyword(r, "properties")) != TF_TAPE_NONE)
        TF_TRY(read_properties(r, value));
    if ((value = tf_keyword(r, "required")) != TF_TAPE_NONE)
        TF_TRY(read_required(r, value));
    if ((value = tf_keyword(r, "additionalProperties")) != TF_TAPE_NONE)
        TF_TRY(read_additional(r, value));
    if ((value = tf_keyword(r, "patternProperties")) != TF_TAPE_NONE)
        TF_TRY(read_pattern_properties(r, value));
    if (r->draft >= TOKFSM_DRAFT_6 && (value = tf_keyword(r, "propertyNames")) != TF_TAPE_NONE) {
        r->s->has_object = 1;
        TF_TRY(tf_schema_at(r, value, "propertyNames", &r->s->property_names));
    }
    if (r->draft >= TOKFSM_DRAFT_2019_09 &&
        (value = tf_keyword(r, "unevaluatedProperties")) != TF_TAPE_NONE)
        TF_TRY(tf_schema_at(r, value, "unevaluatedProperties", &r->s->unevaluated_properties));
    return TOKFSM_OK;
}

/* ---- arrays ---- */

static tokfsm_status read_prefix_items(reader *r, uint32_t value, const char *keyword)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_ARRAY)
        return tf_keyword_malformed(r, value, keyword, "an array of schemas");
    r->s->has_array = 1;
    return tf_schema_list(r, value, keyword, &r->s->prefix, &r->s->n_prefix);
}

/* contains and what speaks of its count or of what it leaves: Validation §6.4.4, Core §10.3.1.3. */
static tokfsm_status read_contains(reader *r)
{
    tf_schema *s = r->s;
    uint32_t value = tf_keyword(r, "contains");
    if (r->draft < TOKFSM_DRAFT_6 || value == TF_TAPE_NONE)
        return TOKFSM_OK;
    s->has_array = 1;
    s->min_contains = 1;
    s->contains_evaluates = r->draft >= TOKFSM_DRAFT_2020_12;
    TF_TRY(tf_schema_at(r, value, "contains", &s->contains));
    if (r->draft < TOKFSM_DRAFT_2019_09)
        return TOKFSM_OK;
    if ((value = tf_keyword(r, "minContains")) != TF_TAPE_NONE)
        TF_TRY(read_count(r, value, "minContains", &s->min_contains));
    if ((value = tf_keyword(r, "maxContains")) != TF_TAPE_NONE)
        TF_TRY(read_count(r, value, "maxContains", &s->max_contains));
    return TOKFSM_OK;
}

tokfsm_status tf_keywords_array(reader *r)
{
    tf_ir *ir = r->ir;
    tf_schema *s = r->s;
    uint32_t items = tf_keyword(r, "items"), rest = TF_TAPE_NONE, prefix = TF_TAPE_NONE;
    if (r->draft >= TOKFSM_DRAFT_2020_12) {
        prefix = tf_keyword(r, "prefixItems");
        rest = items;
    } else if (items != TF_TAPE_NONE && NODE(items)->type == TF_JSON_ARRAY) {
        prefix = items;
        rest = tf_keyword(r, "additionalItems");
    } else {
        rest = items;
    }
    if (prefix != TF_TAPE_NONE)
        TF_TRY(read_prefix_items(r, prefix, prefix == items ? "items" : "prefixItems"));
    if (rest != TF_TAPE_NONE) {
        s->has_array = 1;
        TF_TRY(tf_schema_at(r, rest, rest == items ? "items" : "additionalItems", &s->items));
    }
    uint32_t value = tf_keyword(r, "minItems");
    if (value != TF_TAPE_NONE)
        TF_TRY(read_count(r, value, "minItems", &s->min_items));
    value = tf_keyword(r, "maxItems");
    if (value != TF_TAPE_NONE)
        TF_TRY(read_count(r, value, "maxItems", &s->max_items));
    if (s->min_items > 0 || s->max_items != TF_UNLIMITED)
        s->has_array = 1;
    TF_TRY(read_contains(r));
    if ((value = tf_keyword(r, "uniqueItems")) != TF_TAPE_NONE) {
        if (NODE(value)->type != TF_JSON_TRUE && NODE(value)->type != TF_JSON_FALSE)
            return tf_keyword_malformed(r, value, "uniqueItems", "a boolean");
        s->unique_items = NODE(value)->type == TF_JSON_TRUE;
        s->has_array |= s->unique_items;
    }
    if (r->draft >= TOKFSM_DRAFT_2019_09 &&
        (value = tf_keyword(r, "unevaluatedItems")) != TF_TAPE_NONE)
        TF_TRY(tf_schema_at(r, value, "unevaluatedItems", &s->unevaluated_items));
    return TOKFSM_OK;
}

/* ---- numbers and strings ---- */

static tokfsm_status read_decimal(reader *r, uint32_t value, const char *keyword,
                                  const tf_decimal **decimal)
{
    tf_ir *ir = r->ir;
    if (NODE(value)->type != TF_JSON_NUMBER)
        return tf_keyword_malformed(r, value, keyword, "a number");
    tf_decimal *made = tf_arena_take(ir->arena, sizeof *made);
    if (made == NULL)
        return tf_keyword_no_memory(r->err);
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
    uint32_t value = tf_keyword(r, bound), flag = tf_keyword(r, exclusive);
    if (value != TF_TAPE_NONE)
        TF_TRY(read_decimal(r, value, bound, inclusive));
    if (flag == TF_TAPE_NONE)
        return TOKFSM_OK;
    if (r->draft != TOKFSM_DRAFT_4)
        return read_decimal(r, flag, exclusive, strict);
    if (NODE(flag)->type != TF_JSON_TRUE && NODE(flag)->type != TF_JSON_FALSE)
        return tf_keyword_malformed(r, flag, exclusive, "a boolean in draft 4");
    if (NODE(flag)->type == TF_JSON_TRUE && *inclusive != NULL) {
        *strict = *inclusive;
        *inclusive = NULL;
    }
    return TOKFSM_OK;
}

tokfsm_status tf_keywords_number(reader *r)
{
    tf_schema *s = r->s;
    TF_TRY(read_bound(r, "minimum", "exclusiveMinimum", &s->minimum, &s->exclusive_minimum));
    TF_TRY(read_bound(r, "maximum", "exclusiveMaximum", &s->maximum, &s->exclusive_maximum));
    uint32_t value = tf_keyword(r, "multipleOf");
    if (value == TF_TAPE_NONE)
        return TOKFSM_OK;
    TF_TRY(read_decimal(r, value, "multipleOf", &s->multiple_of));
    if (s->multiple_of->negative || s->multiple_of->n_digits == 0)
        return tf_keyword_malformed(r, value, "multipleOf", "greater than 0");
    return TOKFSM_OK;
}

tokfsm_status tf_keywords_string(reader *r)
{
    tf_ir *ir = r->ir;
    uint32_t value;
    if ((value = tf_keyword(r, "minLength")) != TF_TAPE_NONE)
        TF_TRY(read_count(r, value, "minLength", &r->s->min_length));
    if ((value = tf_keyword(r, "maxLength")) != TF_TAPE_NONE)
        TF_TRY(read_count(r, value, "maxLength", &r->s->max_length));
    if ((value = tf_keyword(r, "pattern")) != TF_TAPE_NONE) {
        if (NODE(value)->type != TF_JSON_STRING)
            return tf_keyword_malformed(r, value, "pattern", "a string");
        r->s->pattern = (tf_name){NODE(value)->text, NODE(value)->n};
        r->s->pattern_node = value;
    }
    if (ir->options->format == TOKFSM_FORMAT_ASSERT &&
        (value = tf_keyword(r, "format")) != TF_TAPE_NONE &&
        NODE(value)->type == TF_JSON_STRING) {
        r->s->format = (tf_name){NODE(value)->text, NODE(value)->n};
        r->s->format_node = value;
    }
    r->s->has_string = tf_constrains_strings(r->s);
    return TOKFSM_OK;
}
