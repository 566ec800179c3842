/* Which dialect a schema speaks: its draft, and with what vocabularies (Core §8.1). */
#include <stdarg.h>
#include <stdio.h>

#include "ir.h"

static const struct {
    const char *name; /* without scheme and without an empty fragment */
    uint32_t draft;
} metaschemas[] = {
    {"json-schema.org/draft-04/schema", TOKFSM_DRAFT_4},
    {"json-schema.org/draft-06/schema", TOKFSM_DRAFT_6},
    {"json-schema.org/draft-07/schema", TOKFSM_DRAFT_7},
    {"json-schema.org/draft/2019-09/schema", TOKFSM_DRAFT_2019_09},
    {"json-schema.org/draft/2020-12/schema", TOKFSM_DRAFT_2020_12},
    /* "the latest draft", as it was used while draft 4 was the latest */
    {"json-schema.org/schema", TOKFSM_DRAFT_2020_12},
};

/* The vocabularies of 2019-09 and 2020-12. Those of annotations alone have no bit. */
static const struct {
    const char *name; /* without the scheme */
    uint32_t draft, bits;
    uint32_t core;
} vocabularies[] = {
    {"json-schema.org/draft/2019-09/vocab/core", TOKFSM_DRAFT_2019_09, 0, 1},
    {"json-schema.org/draft/2019-09/vocab/applicator", TOKFSM_DRAFT_2019_09,
     TF_VOCABULARY_APPLICATOR | TF_VOCABULARY_UNEVALUATED, 0},
    {"json-schema.org/draft/2019-09/vocab/validation", TOKFSM_DRAFT_2019_09,
     TF_VOCABULARY_VALIDATION, 0},
    {"json-schema.org/draft/2019-09/vocab/format", TOKFSM_DRAFT_2019_09, TF_VOCABULARY_FORMAT, 0},
    {"json-schema.org/draft/2019-09/vocab/meta-data", TOKFSM_DRAFT_2019_09, 0, 0},
    {"json-schema.org/draft/2019-09/vocab/content", TOKFSM_DRAFT_2019_09, 0, 0},
    {"json-schema.org/draft/2020-12/vocab/core", TOKFSM_DRAFT_2020_12, 0, 1},
    {"json-schema.org/draft/2020-12/vocab/applicator", TOKFSM_DRAFT_2020_12,
     TF_VOCABULARY_APPLICATOR, 0},
    {"json-schema.org/draft/2020-12/vocab/unevaluated", TOKFSM_DRAFT_2020_12,
     TF_VOCABULARY_UNEVALUATED, 0},
    {"json-schema.org/draft/2020-12/vocab/validation", TOKFSM_DRAFT_2020_12,
     TF_VOCABULARY_VALIDATION, 0},
    {"json-schema.org/draft/2020-12/vocab/format-annotation", TOKFSM_DRAFT_2020_12,
     TF_VOCABULARY_FORMAT, 0},
    {"json-schema.org/draft/2020-12/vocab/format-assertion", TOKFSM_DRAFT_2020_12,
     TF_VOCABULARY_FORMAT, 0},
    {"json-schema.org/draft/2020-12/vocab/meta-data", TOKFSM_DRAFT_2020_12, 0, 0},
    {"json-schema.org/draft/2020-12/vocab/content", TOKFSM_DRAFT_2020_12, 0, 0},
};

/* Keywords by vocabulary; what is not here, and does not begin with '$', is an applicator. */
static const struct {
    const char *name;
    uint32_t bit;
} keywords[] = {
    {"type", TF_VOCABULARY_VALIDATION}, {"enum", TF_VOCABULARY_VALIDATION},
    {"const", TF_VOCABULARY_VALIDATION}, {"multipleOf", TF_VOCABULARY_VALIDATION},
    {"minimum", TF_VOCABULARY_VALIDATION}, {"maximum", TF_VOCABULARY_VALIDATION},
    {"exclusiveMinimum", TF_VOCABULARY_VALIDATION}, {"exclusiveMaximum", TF_VOCABULARY_VALIDATION},
    {"minLength", TF_VOCABULARY_VALIDATION}, {"maxLength", TF_VOCABULARY_VALIDATION},
    {"pattern", TF_VOCABULARY_VALIDATION}, {"minItems", TF_VOCABULARY_VALIDATION},
    {"maxItems", TF_VOCABULARY_VALIDATION}, {"uniqueItems", TF_VOCABULARY_VALIDATION},
    {"minContains", TF_VOCABULARY_VALIDATION}, {"maxContains", TF_VOCABULARY_VALIDATION},
    {"minProperties", TF_VOCABULARY_VALIDATION}, {"maxProperties", TF_VOCABULARY_VALIDATION},
    {"required", TF_VOCABULARY_VALIDATION}, {"dependentRequired", TF_VOCABULARY_VALIDATION},
    {"format", TF_VOCABULARY_FORMAT},
    {"unevaluatedItems", TF_VOCABULARY_UNEVALUATED},
    {"unevaluatedProperties", TF_VOCABULARY_UNEVALUATED},
};

bool tf_dialect_knows(tf_dialect dialect, const char *keyword)
{
    if (dialect.vocabularies == TF_VOCABULARY_ALL || keyword[0] == '$' ||
        strcmp(keyword, "definitions") == 0)
        return true;
    uint32_t bit = TF_VOCABULARY_APPLICATOR;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strcmp(keywords[i].name, keyword) == 0)
            bit = keywords[i].bit;
    return (dialect.vocabularies & bit) != 0;
}

/* Scheme and empty fragment off; the drafts' identifiers are written with both schemes. */
static tf_span bare_uri(const tf_tape_node *value)
{
    tf_span uri = {value->text, value->n};
    if (uri.n > 0 && uri.text[uri.n - 1] == '#')
        uri.n--;
    for (size_t n = 7; n <= 8; n++)
        if (uri.n >= n && memcmp(uri.text, n == 7 ? "http://" : "https://", n) == 0)
            return (tf_span){uri.text + n, uri.n - n};
    return uri;
}

static bool is(tf_span uri, const char *name)
{
    return tf_span_equal(uri, (tf_span){name, strlen(name)});
}

/* The draft whose metaschema the value of `$schema` names; *draft 0: none. */
static tokfsm_status standard_draft(const tf_tape *tape, uint32_t value, uint32_t *draft,
                                    tokfsm_error *err)
{
    tf_span uri = bare_uri(&tape->nodes[value]);
    *draft = 0;
    for (size_t i = 0; i < sizeof metaschemas / sizeof *metaschemas; i++)
        if (is(uri, metaschemas[i].name))
            *draft = metaschemas[i].draft;
    for (char early = '0'; early <= '3'; early++) {
        char name[] = "json-schema.org/draft-00/schema";
        name[sizeof "json-schema.org/draft-0" - 1] = early;
        if (is(uri, name))
            return tf_fail_node(err, TOKFSM_E_UNSUPPORTED, tape, value, "$schema",
                                "draft %c is not supported; draft 4 is the first that is", early);
    }
    return TOKFSM_OK;
}

/* Keywords of the applicator vocabularies, of annotations and of earlier drafts. */
static const char *const others[] = {
    "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "prefixItems",
    "items", "additionalItems", "contains", "properties", "patternProperties",
    "additionalProperties", "propertyNames", "dependencies", "definitions", "$id", "$schema",
    "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor",
    "$vocabulary", "$comment", "$defs", "title", "description", "default", "deprecated",
    "readOnly", "writeOnly", "examples", "contentEncoding", "contentMediaType", "contentSchema",
};

uint32_t tf_dialect_foreign(tf_dialect dialect, const tf_tape *tape, uint32_t node)
{
    const tf_tape_node *nodes = tape->nodes;
    for (uint32_t name = node + 1; name < nodes[node].next; name = nodes[name + 1].next) {
        tf_span text = {nodes[name].text, nodes[name].n};
        bool known = false;
        for (size_t i = 0; i < sizeof others / sizeof *others && !known; i++)
            known = is(text, others[i]) && tf_dialect_knows(dialect, others[i]);
        for (size_t i = 0; i < sizeof keywords / sizeof *keywords && !known; i++)
            known = is(text, keywords[i].name) && tf_dialect_knows(dialect, keywords[i].name);
        if (!known)
            return name;
    }
    return TF_TAPE_NONE;
}

/* With unsupported="relax": such a vocabulary is noted, once. */
static tokfsm_status add_unmet(tf_documents *d, uint32_t node, tokfsm_error *err)
{
    for (uint32_t i = 0; i < d->n_unmet; i++)
        if (d->unmet[i] == node)
            return TOKFSM_OK;
    if (!tf_arena_grow(d->arena, (void **)&d->unmet, d->n_unmet, &d->unmet_capacity, 4,
                       sizeof *d->unmet))
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for a vocabulary");
    d->unmet[d->n_unmet++] = node;
    return TOKFSM_OK;
}

/* `$vocabulary` of a metaschema (2020-12 Core §8.1.2): what is not in it says nothing. */
static tokfsm_status read_vocabularies(tf_documents *d, uint32_t object, tf_dialect *dialect,
                                       tokfsm_error *err)
{
    const tf_tape *tape = d->tape;
    const tf_tape_node *nodes = tape->nodes;
    uint32_t bits = 0, draft = 0;
    bool has_core = false;
    dialect->unmet = false;
    for (uint32_t name = object + 1; name < nodes[object].next; name = nodes[name + 1].next) {
        tf_span uri = {nodes[name].text, nodes[name].n};
        bool known = false;
        for (size_t i = 0; i < sizeof vocabularies / sizeof *vocabularies; i++) {
            if (uri.n < 8 || memcmp(uri.text, "https://", 8) != 0 ||
                !is((tf_span){uri.text + 8, uri.n - 8}, vocabularies[i].name))
                continue;
            known = true;
            bits |= vocabularies[i].bits;
            if (!has_core)
                draft = vocabularies[i].draft;
            has_core |= vocabularies[i].core == 1;
        }
        if (known || nodes[name + 1].type != TF_JSON_TRUE)
            continue;
        if (!d->relaxes)
            return tf_fail_node(err, TOKFSM_E_UNSUPPORTED, tape, name + 1, "$vocabulary",
                                "the vocabulary \"%.200s\" is required, but not supported", uri.text);
        dialect->unmet = true;
        TF_TRY(add_unmet(d, name + 1, err));
    }
    dialect->vocabularies = bits;
    if (draft != 0)
        dialect->draft = draft;
    return TOKFSM_OK;
}

/* Metaschemas of metaschemas that are looked at for their draft. */
enum { MAX_METASCHEMAS = 16 };

tokfsm_status tf_dialect_of(tf_documents *d, uint32_t node, tf_dialect fallback,
                            tf_dialect *dialect, tokfsm_error *err)
{
    *dialect = fallback;
    for (uint32_t i = 0; i < MAX_METASCHEMAS; i++) {
        uint32_t value = tf_tape_get(d->tape, node, "$schema", 7), draft, root;
        if (value == TF_TAPE_NONE)
            return TOKFSM_OK;
        if (d->tape->nodes[value].type != TF_JSON_STRING)
            return tf_fail_node(err, TOKFSM_E_SCHEMA, d->tape, value, "$schema",
                                "$schema must be a string");
        TF_TRY(standard_draft(d->tape, value, &draft, err));
        if (draft != 0) {
            *dialect = (tf_dialect){draft, TF_VOCABULARY_ALL, false};
            return TOKFSM_OK;
        }
        /* Any other identifier names a metaschema that is given, or one that adds annotations. */
        tf_span before, fragment;
        tf_uri_split((tf_span){d->tape->nodes[value].text, d->tape->nodes[value].n}, &before,
                     &fragment);
        TF_TRY(tf_documents_given(d, before, &root, err));
        if (root == TF_TAPE_NONE || root == node)
            return TOKFSM_OK;
        uint32_t vocabulary = tf_tape_get(d->tape, root, "$vocabulary", 11);
        if (vocabulary != TF_TAPE_NONE && d->tape->nodes[vocabulary].type == TF_JSON_OBJECT) {
            tf_dialect read = fallback;
            TF_TRY(read_vocabularies(d, vocabulary, &read, err));
            dialect->draft = read.draft;
            dialect->vocabularies = i == 0 ? read.vocabularies : TF_VOCABULARY_ALL;
            dialect->unmet = i == 0 && read.unmet;
            return TOKFSM_OK;
        }
        dialect->vocabularies = TF_VOCABULARY_ALL;
        dialect->unmet = false;
        node = root;
    }
    return TOKFSM_OK;
}

tokfsm_status tf_fail_node(tokfsm_error *err, tokfsm_status code, const tf_tape *tape,
                           uint32_t node, const char *keyword, const char *format, ...)
{
    char message[sizeof err->message];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    char pointer[sizeof err->pointer];
    tf_tape_pointer(tape, node, pointer, sizeof pointer);
    tf_fail_schema(err, code, keyword, pointer, "%s", message);
    if (err != NULL)
        err->where = tape->nodes[node].where;
    return code;
}
