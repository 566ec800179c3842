/*
 * Dynamic scopes (Core §7.1, §8.2.3.2), reduced to what can matter: for each dynamic anchor that
 * some reference asks for, the outermost resource entered so far that has it. Scope 0 is the one
 * in which nothing is bound; where no reference is dynamic there is no other.
 */
#ifndef TF_SCOPE_H
#define TF_SCOPE_H

#include "documents.h"

typedef struct tf_scopes {
    tf_span *names; /* of dynamic anchors that references ask for */
    uint32_t n_asked, names_capacity;
    uint32_t n_names; /* of them: those that the scopes made so far heed */
    uint32_t *bindings; /* [n][n_names], nodes; TF_TAPE_NONE: not bound */
    uint32_t n, capacity;
    tf_id_table table;
    uint32_t *entered; /* scratch: [n_names] */
} tf_scopes;

/* The number of a name that scopes heed, or TF_NO_ID. */
uint32_t tf_scope_name(const tf_scopes *scopes, tf_span name);
/* A reference asks for a name; scopes heed it from the next beginning on. false: no memory. */
bool tf_scope_ask(tf_scopes *scopes, tf_arena *arena, tf_span name);
/* Forget all scopes; make scope 0. false: no memory. */
bool tf_scopes_begin(tf_scopes *scopes, tf_arena *arena);
/* The scope after entering a resource. */
tokfsm_status tf_scope_enter(tf_scopes *scopes, const tf_documents *d, uint32_t scope,
                             uint32_t resource, uint32_t *entered, tokfsm_error *err);
/* What a name is bound to, or TF_TAPE_NONE. */
static inline uint32_t tf_scope_binding(const tf_scopes *scopes, uint32_t scope, uint32_t name)
{
    return scopes->bindings[(size_t)scope * scopes->n_names + name];
}

#endif
