/*
 * Schemas as records. In: the tape of a schema text, and the documents that its references lead
 * to. Out: one record for each reachable subschema and each dynamic scope that it is read under,
 * references resolved, the dialect's differences gone. Every refusal that depends on syntax
 * alone comes from here, with keyword and JSON Pointer.
 *
 * Absent from here on: drafts, $ref and its siblings' rules, keyword names.
 * Source: JSON Schema 2020-12 Core §8, §10 and Validation §6; draft-07 §6, §8.
 */
#ifndef TF_IR_H
#define TF_IR_H

#include "decimal.h"
#include "documents.h"
#include "scope.h"
#include "tape.h"

/* Types as bits. INTEGER without NUMBER admits integers only. */
enum {
    TF_TYPE_NULL = 1, TF_TYPE_BOOLEAN = 2, TF_TYPE_INTEGER = 4, TF_TYPE_NUMBER = 8,
    TF_TYPE_STRING = 16, TF_TYPE_ARRAY = 32, TF_TYPE_OBJECT = 64, TF_TYPE_ALL = 127
};

#define TF_NO_SCHEMA UINT32_MAX
#define TF_UNLIMITED UINT64_MAX

typedef struct tf_property {
    const char *name;
    uint32_t n_name;
    uint32_t schema;
    uint32_t node; /* of the schema on the tape */
} tf_property;

typedef struct tf_name {
    const char *text;
    uint32_t n;
} tf_name;

/* Where `name` is there, `required` must be too and `schema` (or TF_NO_SCHEMA) must hold. */
typedef struct tf_dependent {
    tf_name name;
    const tf_name *required;
    uint32_t n_required;
    uint32_t schema;
} tf_dependent;

/* Members whose name the pattern matches anywhere meet `schema`. */
typedef struct tf_pattern_property {
    tf_name pattern;
    uint32_t node;   /* of the pattern's name on the tape */
    uint32_t schema;
    uint32_t number; /* lower/patterns.c: the pattern's */
} tf_pattern_property;

typedef struct tf_schema {
    uint32_t node;     /* on the tape */
    uint32_t resource, scope; /* that it was read under; see documents.h, scope.h */
    uint32_t types;    /* TF_TYPE_* */
    uint8_t pointed_is_no_integer; /* draft 4 tells integers by their spelling: 1.0 is none */
    uint8_t is_false;  /* no value */
    uint8_t has_object, has_array, has_string; /* constrains values of that type */
    uint8_t has_properties;
    /* in-place applicators */
    uint32_t reference; /* or TF_NO_SCHEMA */
    const uint32_t *any_of;
    uint32_t n_any_of; /* with has_any_of and n 0: no value */
    uint8_t has_any_of;
    const uint32_t *all_of;
    uint32_t n_all_of;
    const uint32_t *one_of;
    uint32_t n_one_of;
    uint8_t has_one_of;
    uint32_t not_schema, if_schema, then_schema, else_schema; /* or TF_NO_SCHEMA */
    const struct tf_dependent *dependents; /* dependentRequired, dependentSchemas, dependencies */
    uint32_t n_dependents;
    /* enum and const: tape nodes */
    uint8_t has_values;
    const uint32_t *values;
    uint32_t n_values;
    /* objects */
    const tf_property *properties; /* in text order */
    uint32_t n_properties;
    uint32_t properties_node; /* on the tape, for look-up by name; or TF_TAPE_NONE */
    const tf_name *required;
    uint32_t n_required;
    uint32_t additional; /* or TF_NO_SCHEMA: absent */
    uint64_t min_properties, max_properties;
    const tf_pattern_property *pattern_properties; /* in text order */
    uint32_t n_pattern_properties;
    uint32_t property_names; /* or TF_NO_SCHEMA */
    uint32_t unevaluated_properties; /* or TF_NO_SCHEMA */
    /* arrays */
    const uint32_t *prefix;
    uint32_t n_prefix;
    uint32_t items; /* or TF_NO_SCHEMA */
    uint64_t min_items, max_items;
    uint32_t contains; /* or TF_NO_SCHEMA; then min_contains to max_contains items meet it */
    uint64_t min_contains, max_contains;
    uint8_t contains_evaluates; /* for unevaluatedItems: from 2020-12 on */
    uint8_t unique_items;
    uint32_t unevaluated_items; /* or TF_NO_SCHEMA */
    /* numbers; NULL: absent */
    const tf_decimal *minimum, *maximum, *exclusive_minimum, *exclusive_maximum, *multiple_of;
    uint8_t has_number;
    /* strings, in code points */
    uint64_t min_length, max_length;
    tf_name pattern;       /* ECMA-262, searched; text NULL: absent */
    uint32_t pattern_node; /* on the tape */
    tf_name format;        /* one that is to be asserted; text NULL: absent */
    uint32_t format_node;
    uint32_t foreign_node; /* name of a keyword that may be of a vocabulary that is required, but
                              not supported; or TF_TAPE_NONE */
} tf_schema;

typedef struct tf_ir {
    tf_tape *tape;
    tf_arena *arena;
    const tokfsm_options *options;
    tf_documents documents;
    tf_scopes scopes;
    bool names_missed; /* a reference asked for a dynamic anchor that scopes did not heed */
    tf_schema *schemas;
    uint32_t n_schemas;
    size_t capacity;
    uint32_t *schema_of_node; /* [n_mapped], or TF_NO_SCHEMA; of scope 0 */
    uint32_t n_mapped, mapped_capacity;
    tf_id_table scoped; /* schemas of other scopes, by node and scope */
    uint32_t root;
    uint32_t negates;     /* 1: some keyword asks for a schema to fail */
    uint32_t pointed_is_no_integer; /* 1: for some schema; see there */
    uint32_t unclosed;    /* 1: additional_properties="closed" is not heeded; see relax.h */
    uint32_t true_schema; /* one that says nothing; not on the tape */
} tf_ir;

/* Whether it has keywords that ask for a schema to fail. */
static inline bool tf_schema_negates(const tf_schema *s)
{
    return s->has_one_of || s->not_schema != TF_NO_SCHEMA || s->if_schema != TF_NO_SCHEMA ||
           (s->contains != TF_NO_SCHEMA && s->max_contains != TF_UNLIMITED);
}

static inline bool tf_constrains_strings(const tf_schema *s)
{
    return s->min_length > 0 || s->max_length != TF_UNLIMITED || s->pattern.text != NULL ||
           s->format.text != NULL;
}

/* Read every reachable subschema of the tape's root; other documents join the tape. `resources`
   is borrowed. */
tokfsm_status tf_ir_read(tf_ir *ir, tf_tape *tape, const tokfsm_resource *resources,
                         size_t n_resources, const tokfsm_options *options,
                         const tokfsm_limits *limits, tf_budget *budget, tf_arena *arena,
                         tokfsm_error *err);
void tf_ir_free(tf_ir *ir);

/* Fill `err` with the pointer of a tape node. */
tokfsm_status tf_fail_node(tokfsm_error *err, tokfsm_status code, const tf_tape *tape,
                           uint32_t node, const char *keyword, const char *format, ...)
    TF_PRINTF(6, 7);

/* Schema of `name` among the properties of s, or TF_NO_SCHEMA. */
uint32_t tf_ir_property(const tf_ir *ir, const tf_schema *s, const char *name, uint32_t n);

/* The i-th schema that s applies to the same value, or TF_NO_SCHEMA past the last. */
uint32_t tf_in_place(const tf_schema *s, uint32_t i);

/* Whether s says nothing but what it refers to, and whether it says nothing at all. */
static inline bool tf_is_bare(const tf_schema *s)
{
    return s->types == TF_TYPE_ALL && !s->is_false && !s->has_object && !s->has_array &&
           !s->has_string && !s->has_number && !s->has_any_of && !s->has_values && s->n_all_of == 0 &&
           !s->has_one_of && s->not_schema == TF_NO_SCHEMA && s->if_schema == TF_NO_SCHEMA &&
           s->n_dependents == 0 && s->unevaluated_properties == TF_NO_SCHEMA &&
           s->unevaluated_items == TF_NO_SCHEMA;
}

#endif
