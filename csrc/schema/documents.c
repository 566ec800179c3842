/*
 * The table of identifiers, and reading documents on demand. What identifiers a document has is
 * found in resources.c. A URI means, in this order: what the document at hand or one read before
 * calls by it, a document given under it, a metaschema, and last an identifier inside a given
 * document that nothing has led to so far.
 */
#include "documents.h"

#include <stdio.h>

#include "metaschemas.h"
#include "resources.h"
#include "tape_hash.h"

tokfsm_status tf_documents_no_memory(tokfsm_error *err)
{
    return tf_fail(err, TOKFSM_E_NOMEM, "no memory for the documents of a schema");
}

static uint32_t hash_of(uint32_t within, tf_span text)
{
    return (uint32_t)(tf_hash_end(tf_hash_step(tf_hash_bytes(text.text, text.n), within)) >> 32);
}

static tokfsm_status look_up(const tf_documents *d, uint32_t within, tf_span text,
                             uint32_t *identifier, tokfsm_error *err)
{
    uint32_t hash = hash_of(within, text), at = 0;
    for (;;) {
        TF_TRY(tf_id_next(&d->table, d->budget, hash, &at, identifier, err));
        if (*identifier == TF_NO_ID)
            return TOKFSM_OK;
        const tf_identifier *found = &d->identifiers[*identifier];
        if (found->within == within && tf_span_equal(found->text, text))
            return TOKFSM_OK;
    }
}

static tokfsm_status add(tf_documents *d, tf_identifier made, uint32_t *identifier,
                         tokfsm_error *err)
{
    if (!tf_arena_grow(d->arena, (void **)&d->identifiers, d->n_identifiers,
                       &d->identifiers_capacity, 16, sizeof made) ||
        !tf_id_add(&d->table, d->arena, hash_of(made.within, made.text), d->n_identifiers))
        return tf_documents_no_memory(err);
    *identifier = d->n_identifiers;
    d->identifiers[d->n_identifiers++] = made;
    return TOKFSM_OK;
}

tokfsm_status tf_documents_name(tf_documents *d, tf_span uri, uint32_t resource,
                                tokfsm_error *err)
{
    uint32_t node = d->resources[resource].node, id;
    uint32_t document = tf_tape_document_of(d->tape, node);
    TF_TRY(look_up(d, TF_NO_RESOURCE, uri, &id, err));
    if (id == TF_NO_ID)
        return add(d, (tf_identifier){.within = TF_NO_RESOURCE, .text = uri, .node = node,
                                      .resource = resource, .document = document,
                                      .given = TF_NO_ID}, &id, err);
    tf_identifier *known = &d->identifiers[id];
    if (known->given != TF_NO_ID && document == 0) { /* the schema's own identifiers win */
        known->node = node;
        known->resource = resource;
        known->document = document;
        known->given = TF_NO_ID;
    } else if (known->given == TF_NO_ID && known->document == document && known->node != node) {
        known->ambiguous = true;
    }
    return TOKFSM_OK;
}

tokfsm_status tf_documents_name_anchor(tf_documents *d, uint32_t resource, tf_span name,
                                       uint32_t node, bool dynamic, tokfsm_error *err)
{
    uint32_t id;
    TF_TRY(look_up(d, resource, name, &id, err));
    if (id == TF_NO_ID)
        TF_TRY(add(d, (tf_identifier){.within = resource, .text = name, .node = node,
                                      .resource = resource, .given = TF_NO_ID}, &id, err));
    tf_identifier *known = &d->identifiers[id];
    known->ambiguous |= known->node != node;
    if (dynamic && !known->dynamic) {
        known->dynamic = true;
        known->next_dynamic = d->resources[resource].dynamic_anchors;
        d->resources[resource].dynamic_anchors = id + 1;
    }
    return TOKFSM_OK;
}

/* ---- reading ---- */

/* Errors of a text say which text. */
static tokfsm_status append(tf_documents *d, const char *uri, const uint8_t *text, size_t n_bytes,
                            uint32_t *root, tokfsm_error *err)
{
    tokfsm_status status = tf_tape_append(d->tape, uri, text, n_bytes, d->limits, d->budget, root, err);
    if (status == TOKFSM_OK) {
        if (!tf_arena_grow(d->arena, (void **)&d->states, d->n_states, &d->states_capacity, 4,
                           sizeof *d->states))
            return tf_documents_no_memory(err);
        d->states[d->n_states++] = (struct tf_document_state){TF_NO_RESOURCE, false};
    } else if (err != NULL && status == TOKFSM_E_JSON) {
        char what[sizeof err->message];
        snprintf(what, sizeof what, "%s", err->message);
        snprintf(err->pointer, sizeof err->pointer, "%s#", uri);
        snprintf(err->message, sizeof err->message, "in the document \"%.300s\": %.600s", uri, what);
    }
    return status;
}

/* Look through a document for its resources, once. `uri` is what it was found under. */
static tokfsm_status look_through(tf_documents *d, uint32_t document, tf_span uri,
                                  uint32_t *resource, tokfsm_error *err)
{
    if (d->states[document].resource == TF_NO_RESOURCE)
        TF_TRY(tf_resources_of_document(d, document, uri, err));
    *resource = d->states[document].resource;
    return TOKFSM_OK;
}

/* Read the document of an identifier that is given. */
static tokfsm_status read_given(tf_documents *d, uint32_t id, tokfsm_error *err)
{
    const tf_identifier *known = &d->identifiers[id];
    if (known->node != TF_TAPE_NONE || known->given == TF_NO_ID)
        return TOKFSM_OK;
    const tokfsm_resource *given = &d->given[known->given];
    uint32_t root;
    TF_TRY(append(d, known->text.text, given->schema, given->n_schema, &root, err));
    d->identifiers[id].node = root;
    d->identifiers[id].document = d->n_states - 1;
    return TOKFSM_OK;
}

tokfsm_status tf_documents_given(tf_documents *d, tf_span uri, uint32_t *root, tokfsm_error *err)
{
    uint32_t id;
    *root = TF_TAPE_NONE;
    TF_TRY(look_up(d, TF_NO_RESOURCE, uri, &id, err));
    if (id == TF_NO_ID)
        return TOKFSM_OK;
    TF_TRY(read_given(d, id, err));
    *root = d->identifiers[id].node;
    return TOKFSM_OK;
}

static tokfsm_status find_known(tf_documents *d, tf_span uri, uint32_t *resource, tokfsm_error *err)
{
    uint32_t id;
    *resource = TF_NO_RESOURCE;
    TF_TRY(look_up(d, TF_NO_RESOURCE, uri, &id, err));
    if (id == TF_NO_ID)
        return TOKFSM_OK;
    if (d->identifiers[id].ambiguous)
        return tf_fail_schema(err, TOKFSM_E_SCHEMA, "", NULL,
                              "the identifier \"%.300s\" is given to two schemas of one document",
                              uri.text);
    TF_TRY(read_given(d, id, err));
    if (d->identifiers[id].given != TF_NO_ID)
        return look_through(d, d->identifiers[id].document, d->identifiers[id].text, resource, err);
    *resource = d->identifiers[id].resource;
    return TOKFSM_OK;
}

/* What follows "http://" or "https://"; the metaschemas are known under both. */
static tf_span without_scheme(tf_span uri)
{
    for (size_t n = 7; n <= 8; n++)
        if (uri.n > n && memcmp(uri.text, n == 7 ? "http://" : "https://", n) == 0)
            return (tf_span){uri.text + n, uri.n - n};
    return (tf_span){"", 0};
}

static tokfsm_status find_metaschema(tf_documents *d, tf_span uri, uint32_t *resource,
                                     tokfsm_error *err)
{
    tf_span name = without_scheme(uri);
    for (uint32_t i = 0; i < tf_n_metaschemas; i++) {
        const tf_metaschema *m = &tf_metaschemas[i];
        if (!tf_span_equal(name, (tf_span){m->uri, strlen(m->uri)}))
            continue;
        uint8_t *text = tf_arena_take(d->arena, m->n_bytes);
        if (text == NULL)
            return tf_documents_no_memory(err);
        size_t n = 0;
        for (size_t k = 0; k < m->n_lines; k++) {
            size_t n_line = strlen(m->lines[k]);
            memcpy(text + n, m->lines[k], n_line);
            n += n_line;
        }
        uint32_t root;
        TF_TRY(append(d, uri.text, text, n, &root, err));
        TF_TRY(look_through(d, d->n_states - 1, uri, resource, err));
        return tf_documents_name(d, uri, *resource, err);
    }
    return TOKFSM_OK;
}

tokfsm_status tf_documents_find(tf_documents *d, tf_span uri, uint32_t *resource, tokfsm_error *err)
{
    TF_TRY(find_known(d, uri, resource, err));
    if (*resource == TF_NO_RESOURCE)
        TF_TRY(find_metaschema(d, uri, resource, err));
    if (*resource != TF_NO_RESOURCE || d->all_read)
        return TOKFSM_OK;
    d->all_read = true;
    for (uint32_t id = 0; id < d->n_identifiers; id++) {
        uint32_t read;
        TF_TRY(read_given(d, id, err));
        if (d->identifiers[id].given != TF_NO_ID)
            TF_TRY(look_through(d, d->identifiers[id].document, d->identifiers[id].text, &read, err));
    }
    return find_known(d, uri, resource, err);
}

tokfsm_status tf_documents_anchor(tf_documents *d, uint32_t resource, tf_span name,
                                  uint32_t *identifier, tokfsm_error *err)
{
    TF_TRY(look_up(d, resource, name, identifier, err));
    if (*identifier != TF_NO_ID && d->identifiers[*identifier].ambiguous)
        return tf_fail_schema(err, TOKFSM_E_SCHEMA, "", NULL,
                              "the anchor \"%.300s\" is given to two schemas of one resource",
                              name.text);
    return TOKFSM_OK;
}

/* The URI without an empty fragment, its dot segments removed. */
static tokfsm_status add_given(tf_documents *d, uint32_t i, tokfsm_error *err)
{
    const tokfsm_resource *given = &d->given[i];
    tf_span before, fragment, uri;
    if (given->uri == NULL || (given->schema == NULL && given->n_schema > 0))
        return tf_fail(err, TOKFSM_E_ARGUMENT, "a resource is NULL");
    tf_uri_split((tf_span){given->uri, given->n_uri}, &before, &fragment);
    if (fragment.n > 0 || memchr(given->uri, '\0', given->n_uri) != NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT,
                       "the URI of a resource cannot have a fragment or U+0000: \"%.300s\"",
                       given->uri);
    if (!tf_uri_resolve(d->arena, (tf_span){"", 0}, before, &uri))
        return tf_documents_no_memory(err);
    uint32_t id;
    TF_TRY(look_up(d, TF_NO_RESOURCE, uri, &id, err));
    if (id != TF_NO_ID)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "two resources have the URI \"%.300s\"", uri.text);
    return add(d, (tf_identifier){.within = TF_NO_RESOURCE, .text = uri, .node = TF_TAPE_NONE,
                                  .resource = TF_NO_RESOURCE, .given = i}, &id, err);
}

/* Whether `$schema` of the schema's own root names a document that is given. */
static tokfsm_status names_given(tf_documents *d, bool *given, tokfsm_error *err)
{
    uint32_t value = tf_tape_get(d->tape, 0, "$schema", 7), root = TF_TAPE_NONE;
    if (value != TF_TAPE_NONE && d->tape->nodes[value].type == TF_JSON_STRING) {
        tf_span before, fragment;
        tf_uri_split((tf_span){d->tape->nodes[value].text, d->tape->nodes[value].n}, &before,
                     &fragment);
        TF_TRY(tf_documents_given(d, before, &root, err));
    }
    *given = root != TF_TAPE_NONE;
    return TOKFSM_OK;
}

tokfsm_status tf_documents_begin(tf_documents *d, tf_tape *tape, const tokfsm_options *options,
                                 const tokfsm_resource *given, size_t n_given,
                                 const tokfsm_limits *limits, tf_budget *budget, tf_arena *arena,
                                 tokfsm_error *err)
{
    uint32_t draft_option = options->draft;
    memset(d, 0, sizeof *d);
    d->tape = tape;
    d->relaxes = options->unsupported == TOKFSM_UNSUPPORTED_RELAX;
    d->arena = arena;
    d->limits = limits;
    d->budget = budget;
    d->given = given;
    d->n_given = n_given;
    if (n_given >= TF_NO_ID)
        return tf_fail(err, TOKFSM_E_LIMIT, "over 2^32 resources");
    if (!tf_arena_grow(arena, (void **)&d->states, 0, &d->states_capacity, 1, sizeof *d->states))
        return tf_documents_no_memory(err);
    d->states[d->n_states++] = (struct tf_document_state){TF_NO_RESOURCE, false};
    for (uint32_t i = 0; i < n_given; i++)
        TF_TRY(add_given(d, i, err));
    d->all_read = n_given == 0;
    d->dialect = (tf_dialect){draft_option == TOKFSM_DRAFT_AUTO ? TOKFSM_DRAFT_2020_12 : draft_option,
                              TF_VOCABULARY_ALL, false};
    bool heeded = draft_option == TOKFSM_DRAFT_AUTO;
    if (!heeded) /* $schema then says nothing but which vocabularies, if its metaschema is given */
        TF_TRY(names_given(d, &heeded, err));
    if (heeded)
        TF_TRY(tf_dialect_of(d, 0, d->dialect, &d->dialect, err));
    if (draft_option != TOKFSM_DRAFT_AUTO)
        d->dialect.draft = draft_option;
    uint32_t resource;
    return look_through(d, 0, (tf_span){"", 0}, &resource, err);
}
