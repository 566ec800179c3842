/* Dynamic scopes as numbers: equal bindings have one number. See scope.h. */
#include "scope.h"

#include "tape_hash.h"

uint32_t tf_scope_name(const tf_scopes *scopes, tf_span name)
{
    for (uint32_t i = 0; i < scopes->n_names; i++)
        if (tf_span_equal(scopes->names[i], name))
            return i;
    return TF_NO_ID;
}

bool tf_scope_ask(tf_scopes *scopes, tf_arena *arena, tf_span name)
{
    for (uint32_t i = scopes->n_names; i < scopes->n_asked; i++)
        if (tf_span_equal(scopes->names[i], name))
            return true;
    if (!tf_arena_grow(arena, (void **)&scopes->names, scopes->n_asked, &scopes->names_capacity, 4,
                       sizeof name))
        return false;
    scopes->names[scopes->n_asked++] = name;
    return true;
}

static uint32_t *row(const tf_scopes *scopes, uint32_t scope)
{
    return scopes->bindings + (size_t)scope * scopes->n_names;
}

bool tf_scopes_begin(tf_scopes *scopes, tf_arena *arena)
{
    scopes->n = scopes->capacity = 0;
    scopes->n_names = scopes->n_asked;
    scopes->table = (tf_id_table){NULL, 0, 0};
    size_t n_bytes = scopes->n_names * sizeof(uint32_t);
    scopes->entered = tf_arena_take(arena, n_bytes);
    if (scopes->entered == NULL || !tf_arena_grow(arena, (void **)&scopes->bindings, 0,
                                                  &scopes->capacity, 4, n_bytes))
        return false;
    memset(scopes->bindings, 0xFF, n_bytes);
    scopes->n = 1;
    return true;
}

tokfsm_status tf_scope_enter(tf_scopes *scopes, const tf_documents *d, uint32_t scope,
                             uint32_t resource, uint32_t *entered, tokfsm_error *err)
{
    *entered = scope;
    if (scopes->n_names == 0 || d->resources[resource].dynamic_anchors == 0)
        return TOKFSM_OK;
    size_t n_bytes = scopes->n_names * sizeof(uint32_t);
    memcpy(scopes->entered, row(scopes, scope), n_bytes);
    bool changed = false;
    uint32_t next = d->resources[resource].dynamic_anchors;
    for (; next != 0; next = d->identifiers[next - 1].next_dynamic) {
        TF_TRY(tf_spend(d->budget, err));
        const tf_identifier *anchor = &d->identifiers[next - 1];
        uint32_t name = tf_scope_name(scopes, anchor->text);
        if (name == TF_NO_ID || scopes->entered[name] != TF_TAPE_NONE)
            continue; /* the outermost stays */
        scopes->entered[name] = anchor->node;
        changed = true;
    }
    if (!changed)
        return TOKFSM_OK;
    uint32_t hash = (uint32_t)(tf_hash_bytes(scopes->entered, n_bytes) >> 32), at = 0;
    for (;;) {
        TF_TRY(tf_id_next(&scopes->table, d->budget, hash, &at, entered, err));
        if (*entered == TF_NO_ID)
            break;
        if (memcmp(row(scopes, *entered), scopes->entered, n_bytes) == 0)
            return TOKFSM_OK;
    }
    if (d->arena->n_bytes > d->limits->automaton_bytes)
        return tf_fail(err, TOKFSM_E_LIMIT,
                       "schemas by dynamic scope go over limits.automaton_bytes = %llu",
                       (unsigned long long)d->limits->automaton_bytes);
    if (!tf_arena_grow(d->arena, (void **)&scopes->bindings, scopes->n, &scopes->capacity, 4,
                       n_bytes) ||
        !tf_id_add(&scopes->table, d->arena, hash, scopes->n))
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for dynamic scopes");
    *entered = scopes->n++;
    memcpy(row(scopes, *entered), scopes->entered, n_bytes);
    return TOKFSM_OK;
}
