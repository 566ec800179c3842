#include "automaton.h"

#include <stdlib.h>

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

tokfsm_status tf_stop_ids_copy(const tokfsm_allocator *a, const tokfsm_pack *pack,
                               const uint32_t *ids, size_t n, uint32_t **copy, size_t *n_copy,
                               tokfsm_error *err)
{
    if (n > 0 && ids == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "stop_ids is NULL");
    for (size_t i = 0; i < n; i++)
        if (ids[i] >= pack->vocab_size)
            return tf_fail(err, TOKFSM_E_RANGE, "stop id %u is outside the vocabulary of %u ids",
                           ids[i], pack->vocab_size);
    size_t n_bytes;
    uint32_t *kept = NULL;
    if (!tf_size_mul_add(n, sizeof *kept, 0, &n_bytes) || (kept = tf_allocate(a, n_bytes)) == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for stop ids");
    if (n > 0) {
        memcpy(kept, ids, n_bytes);
        qsort(kept, n, sizeof *kept, compare_ids);
    }
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (m == 0 || kept[m - 1] != kept[i])
            kept[m++] = kept[i];
    *copy = kept;
    *n_copy = m;
    return TOKFSM_OK;
}

bool tf_stop_ids_have(const uint32_t *ids, size_t n, uint32_t id)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && ids[low] == id;
}

tokfsm_status tf_automaton_set_relaxed(tokfsm_automaton *automaton, char *text, size_t n_bytes,
                                       tokfsm_error *err)
{
    size_t n_texts = 0, n_needed;
    automaton->relaxed_text = text;
    automaton->n_relaxed_bytes = n_bytes;
    for (size_t i = 0; i < n_bytes; i++)
        n_texts += text[i] == '\0';
    if (n_texts % 3 != 0 || (n_bytes > 0 && text[n_bytes - 1] != '\0'))
        return tf_fail(err, TOKFSM_E_CORRUPT, "the list of what was relaxed is malformed");
    if (!tf_size_mul_add(n_texts / 3, sizeof *automaton->relaxed, 0, &n_needed) ||
        (automaton->relaxed = tf_allocate(&automaton->allocator, n_needed)) == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for the list of what was relaxed");
    automaton->n_relaxed = n_texts / 3;
    const char *at = text;
    for (size_t i = 0; i < automaton->n_relaxed; i++) {
        const char *texts[3];
        for (size_t k = 0; k < 3; k++) {
            texts[k] = at;
            at += strlen(at) + 1;
        }
        automaton->relaxed[i] = (tokfsm_relaxed){texts[0], texts[1], texts[2]};
    }
    return TOKFSM_OK;
}

void tf_automaton_release(tokfsm_automaton *automaton)
{
    if (automaton == NULL || atomic_fetch_sub(&automaton->references, 1) != 1)
        return;
    tokfsm_allocator a = automaton->allocator;
    if (automaton->free_machine != NULL)
        automaton->free_machine(automaton);
    tokfsm_pack_free(automaton->pack);
    tf_release(&a, automaton->stop_ids);
    tf_release(&a, automaton->schema);
    tf_release(&a, automaton->relaxed);
    tf_release(&a, automaton->relaxed_text);
    tf_release(&a, automaton);
}
