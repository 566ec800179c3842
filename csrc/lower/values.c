/* Value positions, interned by their ordered list of obligation sets. */
#include "index.h"

static tokfsm_status literal_outcome(tf_build *b, tf_value *value, uint32_t which, uint32_t type)
{
    tokfsm_status status = TOKFSM_OK;
    uint64_t *words = tf_take(b, value->n_words * sizeof *words, &status);
    for (uint32_t i = 0; i < value->n && status == TOKFSM_OK; i++) {
        const tf_oset *oset = tf_value_oset(b, value, i);
        /* An enum names these by a node of its own: find one of the same type. */
        tf_scalar scalar = {.type = type, .node = b->scalar_node[type]};
        bool holds;
        status = tf_evaluate(b, oset, &scalar, &holds);
        if (status == TOKFSM_OK && holds)
            tf_word_set(words, i);
    }
    value->literal[which] = words;
    return status;
}

tokfsm_status tf_value_of(tf_build *b, tf_oset *const *osets, uint32_t n, const tf_value **value)
{
    uint32_t hash = 2166136261u ^ n;
    for (uint32_t i = 0; i < n; i++)
        hash = (hash ^ osets[i]->id) * 16777619u;
    hash ^= hash >> 15;
    uint32_t at = TF_NONE;
    for (uint32_t i; (i = tf_index_next(&b->positions_index, hash, &at)) != TF_NONE;) {
        const tf_value *known = b->values.items[i];
        bool same = known->n == n;
        for (uint32_t k = 0; k < n && same; k++)
            same = known->build[k] == osets[k]->id;
        if (same) {
            *value = known;
            return TOKFSM_OK;
        }
    }
    TF_TRY(tf_spend(b->budget, b->err));
    tokfsm_status status = TOKFSM_OK;
    tf_value *made = tf_take(b, sizeof *made, &status);
    uint32_t *ids = tf_take(b, n * sizeof *ids, &status);
    if (status != TOKFSM_OK)
        return status;
    if (!tf_grow(&b->arena.allocator, (void **)&b->values.items, b->values.n, &b->values.capacity,
                 sizeof *b->values.items))
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
    for (uint32_t i = 0; i < n; i++)
        ids[i] = osets[i]->id;
    made->n = n;
    made->n_words = tf_words_for(n);
    made->build = ids;
    TF_TRY(literal_outcome(b, made, TF_NULL_LITERAL, TF_JSON_NULL));
    TF_TRY(literal_outcome(b, made, TF_FALSE_LITERAL, TF_JSON_FALSE));
    TF_TRY(literal_outcome(b, made, TF_TRUE_LITERAL, TF_JSON_TRUE));
    made->id = (uint32_t)b->values.n;
    TF_TRY(tf_index_add(b, &b->positions_index, hash, made->id));
    b->values.items[b->values.n++] = made;
    *value = made;
    return TOKFSM_OK;
}
