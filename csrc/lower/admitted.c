/*
 * A conjunction with a finite list of scalars in it is looked at through that list: each
 * obligation admits a set of its values, found once and kept as bits, and the sets are met. So a
 * discriminator that hundreds of conditions speak of costs a few words each.
 */
#include "admitted.h"

/* Short lists are looked at value by value: their sets would be many. */
enum { MIN_VALUES = 8, MAX_VALUES = 4096 };

struct tf_admitted_set {
    uint64_t key;   /* schema of the list, and obligation; 0: free */
    uint64_t *bits; /* of values that the obligation admits */
};

/* The shortest list of scalars that the conjunction has, by its schema. */
static uint32_t list_of(const tf_build *b, const tf_obligation *list, uint32_t n)
{
    uint32_t best = TF_NO_SCHEMA;
    for (uint32_t i = 0; i < n; i++) {
        if (tf_obligation_tag(list[i]) != TF_HOLDS)
            continue;
        uint32_t id = tf_obligation_index(list[i]);
        const tf_schema *s = &b->ir.schemas[id];
        if (s->has_values && s->n_values <= MAX_VALUES &&
            (best == TF_NO_SCHEMA || s->n_values < b->ir.schemas[best].n_values))
            best = id;
    }
    for (uint32_t i = 0; best != TF_NO_SCHEMA && i < b->ir.schemas[best].n_values; i++)
        if (b->tape.nodes[b->ir.schemas[best].values[i]].type >= TF_JSON_ARRAY)
            return TF_NO_SCHEMA;
    return best;
}

static size_t slot_of(const tf_build *b, uint64_t key)
{
    size_t mask = b->admitted.n_slots - 1;
    size_t at = (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & mask;
    while (b->admitted.items[at].key != 0 && b->admitted.items[at].key != key)
        at = (at + 1) & mask;
    return at;
}

static tokfsm_status widen(tf_build *b)
{
    if (b->admitted.n * 2 < b->admitted.n_slots)
        return TOKFSM_OK;
    tokfsm_status status = TOKFSM_OK;
    size_t n_old = b->admitted.n_slots, n_slots = n_old == 0 ? 64 : n_old * 4;
    struct tf_admitted_set *old = b->admitted.items;
    struct tf_admitted_set *items = tf_take(b, n_slots * sizeof *items, &status);
    if (status != TOKFSM_OK)
        return status;
    b->admitted.items = items;
    b->admitted.n_slots = n_slots;
    for (size_t i = 0; i < n_old; i++)
        if (old[i].key != 0)
            items[slot_of(b, old[i].key)] = old[i];
    return TOKFSM_OK;
}

static tokfsm_status set_of(tf_build *b, uint32_t id, tf_obligation o, const uint64_t **bits)
{
    uint64_t key = ((uint64_t)id << 32 | o) + 1;
    TF_TRY(widen(b));
    size_t at = slot_of(b, key);
    if (b->admitted.items[at].key == 0) {
        const tf_schema *s = &b->ir.schemas[id];
        tokfsm_status status = TOKFSM_OK;
        uint64_t *made = tf_take(b, tf_words_for(s->n_values) * sizeof *made, &status);
        if (status != TOKFSM_OK)
            return status;
        tf_oset one = {.items = &o, .n = 1};
        for (uint32_t i = 0; i < s->n_values; i++) {
            bool may;
            TF_TRY(tf_may_equal(b, &one, s->values[i], &may));
            if (may)
                tf_word_set(made, i);
        }
        b->admitted.items[at] = (struct tf_admitted_set){key, made};
        b->admitted.n++;
    }
    *bits = b->admitted.items[at].bits;
    return TOKFSM_OK;
}

/* Value by value. */
static tokfsm_status try_values(tf_build *b, const tf_schema *s, const tf_obligation *list, uint32_t n,
                                bool *none)
{
    tf_oset all = {.items = list, .n = n};
    *none = true;
    for (uint32_t i = 0; i < s->n_values && *none; i++) {
        bool may;
        TF_TRY(tf_may_equal(b, &all, s->values[i], &may));
        *none = !may;
    }
    return TOKFSM_OK;
}

tokfsm_status tf_admitted(tf_build *b, const tf_obligation *list, uint32_t n, bool *known, bool *none)
{
    uint32_t id = list_of(b, list, n);
    *none = false;
    *known = id != TF_NO_SCHEMA;
    if (!*known)
        return TOKFSM_OK;
    if (b->ir.schemas[id].n_values < MIN_VALUES)
        return try_values(b, &b->ir.schemas[id], list, n, none);
    uint32_t n_words = tf_words_for(b->ir.schemas[id].n_values);
    uint64_t left[MAX_VALUES / 64];
    for (uint32_t i = 0; i < n && !*none; i++) {
        const uint64_t *bits;
        uint64_t any = 0;
        TF_TRY(tf_spend(b->budget, b->err));
        TF_TRY(set_of(b, id, list[i], &bits));
        for (uint32_t w = 0; w < n_words; w++) {
            left[w] = i == 0 ? bits[w] : left[w] & bits[w];
            any |= left[w];
        }
        *none = any == 0;
    }
    return TOKFSM_OK;
}
