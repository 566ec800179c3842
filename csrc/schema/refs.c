/*
 * References (Core §8.2.3): a URI reference, resolved against the URI of the resource that it
 * stands in, then a fragment: none, a JSON Pointer from the root of that resource, or an anchor.
 * What is not found is an error, never "anything goes".
 */
#include "refs.h"

static tokfsm_status find_resource(tf_ir *ir, uint32_t own, uint32_t reference,
                                   const char *keyword, tf_span before, uint32_t *resource,
                                   tokfsm_error *err)
{
    tf_documents *d = &ir->documents;
    tf_span base = d->resources[own].uri, uri;
    if (!tf_uri_resolve(ir->arena, base, before, &uri))
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for a reference");
    if (tf_span_equal(uri, base)) {
        *resource = own;
        return TOKFSM_OK;
    }
    tokfsm_status status = tf_documents_find(d, uri, resource, err);
    if (status == TOKFSM_E_SCHEMA && err != NULL && err->pointer[0] == '\0') {
        char message[sizeof err->message]; /* found twice: say who asks */
        memcpy(message, err->message, sizeof message);
        return tf_fail_node(err, status, ir->tape, reference, keyword, "%s", message);
    }
    if (status != TOKFSM_OK || *resource != TF_NO_RESOURCE)
        return status;
    return tf_fail_node(err, TOKFSM_E_SCHEMA, ir->tape, reference, keyword,
                        "the reference \"%.200s\" leads to the document \"%.300s\", which is not "
                        "known; give it in the argument resources",
                        ir->tape->nodes[reference].text, uri.text);
}

static tokfsm_status nowhere(const tf_ir *ir, uint32_t resource, uint32_t reference,
                             const char *keyword, const char *what, tokfsm_error *err)
{
    tf_span uri = ir->documents.resources[resource].uri;
    return tf_fail_node(err, TOKFSM_E_SCHEMA, ir->tape, reference, keyword,
                        "the reference \"%.200s\" leads nowhere: %s%.300s%s has no such %s",
                        ir->tape->nodes[reference].text, uri.n > 0 ? "\"" : "",
                        uri.n > 0 ? uri.text : "the schema", uri.n > 0 ? "\"" : "", what);
}

static tokfsm_status find_anchor(tf_ir *ir, uint32_t resource, uint32_t reference,
                                 const char *keyword, tf_span name, uint32_t *target,
                                 uint32_t *anchor, tokfsm_error *err)
{
    tf_documents *d = &ir->documents;
    uint32_t id;
    tokfsm_status status = tf_documents_anchor(d, resource, name, &id, err);
    if (status == TOKFSM_E_SCHEMA && err != NULL) {
        char message[sizeof err->message];
        memcpy(message, err->message, sizeof message);
        return tf_fail_node(err, status, ir->tape, reference, keyword, "%s", message);
    }
    if (status != TOKFSM_OK)
        return status;
    if (id == TF_NO_ID)
        return nowhere(ir, resource, reference, keyword, "anchor", err);
    *target = d->identifiers[id].node;
    if (d->identifiers[id].dynamic)
        *anchor = id;
    return TOKFSM_OK;
}

tokfsm_status tf_refs_resolve(tf_ir *ir, uint32_t resource, uint32_t reference,
                              const char *keyword, uint32_t *target, uint32_t *anchor,
                              tokfsm_error *err)
{
    const tf_tape_node text = ir->tape->nodes[reference];
    *anchor = TF_NO_ID;
    if (text.type != TF_JSON_STRING)
        return tf_fail_node(err, TOKFSM_E_SCHEMA, ir->tape, reference, keyword,
                            "%s must be a string", keyword);
    tf_span before, fragment;
    tf_uri_split((tf_span){text.text, text.n}, &before, &fragment);
    if (before.n > 0)
        TF_TRY(find_resource(ir, resource, reference, keyword, before, &resource, err));
    *target = ir->documents.resources[resource].node;
    if (fragment.n == 0)
        return TOKFSM_OK;
    size_t n;
    char *decoded = tf_arena_take(ir->arena, fragment.n + 1);
    if (decoded == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for a reference");
    if (!tf_uri_decode(fragment, decoded, &n))
        return tf_fail_node(err, TOKFSM_E_SCHEMA, ir->tape, reference, keyword,
                            "malformed percent-encoding in \"%.200s\"", text.text);
    decoded[n] = '\0';
    if (decoded[0] != '/')
        return find_anchor(ir, resource, reference, keyword, (tf_span){decoded, n}, target, anchor,
                           err);
    *target = tf_tape_resolve(ir->tape, *target, decoded, n);
    if (*target == TF_TAPE_NONE)
        return nowhere(ir, resource, reference, keyword, "place", err);
    return tf_documents_enter(&ir->documents, *target, err);
}

tokfsm_status tf_refs_recursive(tf_ir *ir, uint32_t resource, uint32_t reference, uint32_t *target,
                                uint32_t *anchor, tokfsm_error *err)
{
    const tf_tape_node *text = &ir->tape->nodes[reference];
    if (text->type != TF_JSON_STRING || text->n != 1 || text->text[0] != '#')
        return tf_fail_node(err, TOKFSM_E_SCHEMA, ir->tape, reference, "$recursiveRef",
                            "$recursiveRef must be \"#\"");
    *target = ir->documents.resources[resource].node;
    return tf_documents_anchor(&ir->documents, resource, (tf_span){"", 0}, anchor, err);
}
