/*
 * unsupported="relax": what cannot be honoured is left out of the records, so that the language
 * gets wider, never narrower, and a list says what was loosened.
 *
 * In: the records as they were read, and *causes*: what of them cannot be honoured. A schema that
 * gets wider makes those around it wider, but for four keywords that ask that a schema fails:
 * around a cause `not` is left out, `oneOf` is taken for anyOf, `if` for a choice between its
 * branches, and contains loses its maxContains. Names that a pattern left out could match may be
 * what the pattern, or what additionalProperties says of them, and no unevaluatedProperties
 * around counts them.
 *
 * The choice of what is loosened depends on the schema's text alone, and is coarse: all that
 * leads to a cause by any way is loosened. Source: JSON Schema 2020-12 Core §10, §11.
 */
#ifndef TF_RELAX_H
#define TF_RELAX_H

#include "ir.h"

typedef struct tf_cause {
    enum {
        TF_CAUSE_PATTERN, TF_CAUSE_FORMAT, TF_CAUSE_UNIQUE,
        TF_CAUSE_NAMES,   /* pattern `index` of patternProperties */
        TF_CAUSE_FAILING, /* uniqueItems is honoured, but cannot be made to fail */
        TF_CAUSE_FOREIGN  /* a keyword that may be of a vocabulary that is not supported */
    } what;
    uint32_t schema;
    uint32_t node;  /* on the tape, of the keyword */
    uint32_t index;
    const char *reason;
    const char *since; /* what is said of other keywords for it; made when first asked for */
} tf_cause;

typedef struct tf_loosened {
    uint32_t schema; /* TF_NO_SCHEMA: of a metaschema */
    uint32_t node;   /* on the tape, of what was loosened */
    uint32_t order;
    const char *keyword, *reason;
} tf_loosened;

typedef struct tf_relax {
    tf_arena arena;
    struct { tf_cause *items; size_t n, capacity; } causes; /* by schema, then those of uniqueItems */
    struct { tf_loosened *items; size_t n, capacity; } list; /* in order of the text */
    bool looked; /* for causes that are plain from the records */
} tf_relax;

void tf_relax_begin(tf_relax *relax, const tokfsm_allocator *a);
void tf_relax_end(tf_relax *relax);

/* `reason` is copied. */
tokfsm_status tf_relax_add(tf_relax *relax, tf_cause cause, tokfsm_error *err);
/* uniqueItems of a record that must hold - or, TF_NO_SCHEMA, of some that must fail - is refused.
   `classes`: nodes of one class are written alike, or NULL. *added: 0, nothing new is known. */
tokfsm_status tf_relax_unique(tf_relax *relax, const tf_ir *ir, uint32_t schema,
                              const uint32_t *classes, const char *reason, tf_budget *budget,
                              size_t *added, tokfsm_error *err);
/* Loosen the records, as tf_ir_read left them, and make the list. */
tokfsm_status tf_relax_apply(tf_relax *relax, tf_ir *ir, tf_budget *budget, tokfsm_error *err);
/* The list as texts, three of each: pointer, keyword, reason, each with its NUL. *text is owned. */
tokfsm_status tf_relax_text(const tf_relax *relax, const tf_tape *tape, tf_budget *budget,
                            char **text, size_t *n_bytes, tokfsm_error *err);

/* relax_list.c: one thing loosened, and what for; with `reason` NULL that of the cause itself.
   Costs a walk from the root. */
tokfsm_status tf_relax_note(tf_relax *relax, const tf_tape *tape, tf_loosened what, tf_cause *cause,
                            tf_budget *budget, tokfsm_error *err);
/* Each thing once, in order of the text, without what nothing `in` leads to. */
void tf_relax_settle(tf_relax *relax, const uint8_t *in);

/* record_graph.c: every schema that a schema leads to. */
typedef void (*tf_child_visitor)(void *context, uint32_t child, bool in_place);
void tf_each_child(const tf_schema *s, tf_child_visitor visit, void *context);
/* Those of them that must fail where the schema holds, or may have to. */
void tf_each_turned(const tf_schema *s, tf_child_visitor visit, void *context);

/* From which schemas one is led to. */
typedef struct tf_parents {
    size_t *first; /* [n + 1] */
    uint32_t *items; /* parent * 2 + in place */
} tf_parents;
tokfsm_status tf_parents_find(tf_parents *parents, const tf_ir *ir, tf_arena *arena,
                              tf_budget *budget, tokfsm_error *err);

/* A set of schemas that grows along edges. */
typedef struct tf_flood {
    const tf_ir *ir;
    uint8_t *in;     /* [n] */
    uint32_t *queue; /* [n] */
    uint32_t n, at;
} tf_flood;
bool tf_flood_begin(tf_flood *flood, const tf_ir *ir, tf_arena *arena); /* false: no memory */
void tf_flood_add(void *flood_, uint32_t schema, bool in_place); /* a tf_child_visitor */
/* Add all that they lead to. */
tokfsm_status tf_flood_down(tf_flood *flood, tf_budget *budget, tokfsm_error *err);

#endif
