/*
 * Which obligations of a position a scalar meets. Most of many name the values that they admit: an
 * index of these by hash leaves few to be evaluated.
 */
#include <stdlib.h>

#include "build.h"

enum { MANY = 24, MOST_NAMED = 16 };

typedef struct named {
    uint64_t hash; /* of a value that the obligation admits; of others that are named it admits none */
    uint32_t obligation;
} named;

struct tf_holding {
    uint32_t n_named, n_rest;
    named *named;   /* by hash */
    uint32_t *rest; /* obligations that name no values */
};

static int compare_named(const void *a, const void *b)
{
    const named *x = a, *y = b;
    return x->hash != y->hash ? (x->hash < y->hash ? -1 : 1)
                              : (x->obligation > y->obligation) - (x->obligation < y->obligation);
}

/* The values, one of which the value must be, that some obligation of the set names. */
static const uint32_t *values_of(const tf_build *b, const tf_oset *oset, uint32_t *one, uint32_t *n)
{
    for (uint32_t i = 0; i < oset->n; i++) {
        uint32_t index = tf_obligation_index(oset->items[i]);
        if (tf_obligation_tag(oset->items[i]) == TF_EQUALS) {
            *one = index;
            *n = 1;
            return one;
        }
        const tf_schema *s = &b->ir.schemas[index];
        if (tf_obligation_tag(oset->items[i]) == TF_HOLDS && s->has_values &&
            s->n_values <= MOST_NAMED) {
            *n = s->n_values;
            return s->values;
        }
    }
    return NULL;
}

static tokfsm_status make_index(tf_build *b, const tf_value *value, tf_holding **made)
{
    tokfsm_status status = TOKFSM_OK;
    uint32_t n_named = 0, n, one;
    for (uint32_t i = 0; i < value->n; i++)
        n_named += values_of(b, tf_value_oset(b, value, i), &one, &n) != NULL ? n : 0;
    tf_holding *h = *made = tf_take(b, sizeof *h, &status);
    named *all = tf_take(b, n_named * sizeof *all, &status);
    uint32_t *rest = tf_take(b, value->n * sizeof *rest, &status);
    if (status != TOKFSM_OK)
        return status;
    for (uint32_t i = 0; i < value->n; i++) {
        const uint32_t *values = values_of(b, tf_value_oset(b, value, i), &one, &n);
        if (values == NULL)
            rest[h->n_rest++] = i;
        for (uint32_t k = 0; values != NULL && k < n; k++)
            all[h->n_named++] = (named){tf_tape_hash(&b->tape, values[k]), i};
    }
    if (h->n_named > 1)
        qsort(all, h->n_named, sizeof *all, compare_named);
    h->named = all;
    h->rest = rest;
    return TOKFSM_OK;
}

static tokfsm_status evaluate(tf_build *b, const tf_value *value, const tf_scalar *scalar,
                              uint32_t i, uint64_t *words)
{
    bool holds;
    TF_TRY(tf_evaluate(b, tf_value_oset(b, value, i), scalar, &holds));
    if (holds)
        tf_word_set(words, i);
    return TOKFSM_OK;
}

tokfsm_status tf_value_holding(tf_build *b, const tf_value *value, const tf_scalar *scalar,
                               uint64_t *words)
{
    if (value->n < MANY) {
        for (uint32_t i = 0; i < value->n; i++)
            TF_TRY(evaluate(b, value, scalar, i, words));
        return TOKFSM_OK;
    }
    while (b->holding.n <= value->id) {
        if (!tf_grow(&b->arena.allocator, (void **)&b->holding.items, b->holding.n,
                     &b->holding.capacity, sizeof *b->holding.items))
            return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
        b->holding.items[b->holding.n++] = NULL;
    }
    tf_holding *h = b->holding.items[value->id];
    if (h == NULL) {
        TF_TRY(make_index(b, value, &h));
        b->holding.items[value->id] = h;
    }
    for (uint32_t i = 0; i < h->n_rest; i++)
        TF_TRY(evaluate(b, value, scalar, h->rest[i], words));
    if (scalar->node == TF_TAPE_NONE)
        return TOKFSM_OK; /* no value that is named */
    uint64_t hash = tf_tape_hash(&b->tape, scalar->node);
    uint32_t low = 0, high = h->n_named;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (h->named[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < h->n_named && h->named[low].hash == hash; low++)
        TF_TRY(evaluate(b, value, scalar, h->named[low].obligation, words));
    return TOKFSM_OK;
}
