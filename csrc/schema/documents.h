/*
 * Documents and the resources in them (Core §8.2, §9.3): identifiers -> places on the tape.
 *
 * A document is the schema's own text, one of those that the caller gives, or a metaschema;
 * the last two are read when a reference leads there. A *resource* is a document, or an object
 * in one that has an identifier; it has a URI, a dialect, and anchors. Identifiers count only
 * where keywords that the dialect knows hold schemas.
 */
#ifndef TF_DOCUMENTS_H
#define TF_DOCUMENTS_H

#include "id_table.h"
#include "tape.h"
#include "uri.h"

/* Vocabularies whose keywords are more than annotations. */
enum {
    TF_VOCABULARY_APPLICATOR = 1, TF_VOCABULARY_UNEVALUATED = 2, TF_VOCABULARY_VALIDATION = 4,
    TF_VOCABULARY_FORMAT = 8, TF_VOCABULARY_ALL = 15
};

typedef struct tf_dialect {
    uint32_t draft;        /* TOKFSM_DRAFT_*, never AUTO */
    uint32_t vocabularies; /* TF_VOCABULARY_* */
    bool unmet; /* with unsupported="relax": it requires a vocabulary that is not supported */
} tf_dialect;

#define TF_NO_RESOURCE UINT32_MAX

typedef struct tf_resource {
    uint32_t node;
    tf_dialect dialect;
    tf_span uri;             /* without fragment; relative where no base is known */
    uint32_t dynamic_anchors; /* identifier + 1 of the first, 0: none */
} tf_resource;

/* A URI, or an anchor within a resource. */
typedef struct tf_identifier {
    uint32_t within; /* the resource; TF_NO_RESOURCE: a URI */
    tf_span text;    /* "" is $recursiveAnchor */
    uint32_t node;   /* TF_TAPE_NONE: of a document that is given but not read */
    uint32_t resource, document, given;
    uint32_t next_dynamic;   /* of the same resource: identifier + 1, 0: none */
    bool dynamic, ambiguous; /* ambiguous: two places of one document have it */
} tf_identifier;

typedef struct tf_documents {
    tf_tape *tape;
    tf_arena *arena;
    const tokfsm_limits *limits;
    tf_budget *budget;
    const tokfsm_resource *given;
    size_t n_given;
    bool all_read; /* of the given ones */
    tf_dialect dialect; /* of the schema's own document */
    bool relaxes;       /* unsupported="relax" */
    uint32_t *unmet;    /* then: nodes of vocabularies that are required, but not supported */
    uint32_t n_unmet, unmet_capacity;
    struct tf_document_state {
        uint32_t resource; /* of its root; TF_NO_RESOURCE: not looked through yet */
        bool plain;        /* no identifier below the root */
    } *states; /* by the tape's number of the document */
    uint32_t n_states, states_capacity;
    tf_resource *resources;
    uint32_t n_resources, resources_capacity;
    tf_identifier *identifiers;
    uint32_t n_identifiers, identifiers_capacity;
    tf_id_table table;
    uint32_t *resource_at; /* [n_marked] of each schema object of documents that are not plain */
    uint32_t n_marked, marked_capacity;
} tf_documents;

/* The tape holds the schema's own text. `given` is borrowed. */
tokfsm_status tf_documents_begin(tf_documents *d, tf_tape *tape, const tokfsm_options *options,
                                 const tokfsm_resource *given, size_t n_given,
                                 const tokfsm_limits *limits, tf_budget *budget, tf_arena *arena,
                                 tokfsm_error *err);
/* The resource of a URI, read if need be; TF_NO_RESOURCE: not known. */
tokfsm_status tf_documents_find(tf_documents *d, tf_span uri, uint32_t *resource, tokfsm_error *err);
/* The root of a document that is given under the URI, read if need be; TF_TAPE_NONE: none is. */
tokfsm_status tf_documents_given(tf_documents *d, tf_span uri, uint32_t *root, tokfsm_error *err);
/* An anchor of the resource; TF_NO_ID: it has none of that name. */
tokfsm_status tf_documents_anchor(tf_documents *d, uint32_t resource, tf_span name,
                                  uint32_t *identifier, tokfsm_error *err);
/* A reference leads to the node: it is a schema, wherever it stands. */
tokfsm_status tf_documents_enter(tf_documents *d, uint32_t node, tokfsm_error *err);
/* The innermost resource that the node is in. */
uint32_t tf_documents_resource_of(const tf_documents *d, uint32_t node);

/* dialect.c: the dialect that `$schema` of the object names; without it, `fallback`. */
tokfsm_status tf_dialect_of(tf_documents *d, uint32_t node, tf_dialect fallback,
                            tf_dialect *dialect, tokfsm_error *err);
/* The name of the first keyword of an object that no vocabulary which the dialect has here
   knows, or TF_TAPE_NONE. */
uint32_t tf_dialect_foreign(tf_dialect dialect, const tf_tape *tape, uint32_t node);
/* Whether the keyword is one of the dialect's vocabularies. */
bool tf_dialect_knows(tf_dialect dialect, const char *keyword);

#endif
