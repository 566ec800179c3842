/* Whole alternatives: those that are part of no other one are kept. */
#include <stdlib.h>

#include "expand.h"
#include "witnesses.h"

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
}

static int compare_obligations(const void *a, const void *b)
{
    tf_obligation x = *(const tf_obligation *)a, y = *(const tf_obligation *)b;
    return x < y ? -1 : x > y;
}

/* Whether all atoms of a are among those of b. */
static bool is_part(const finished *a, const finished *b)
{
    uint32_t n = a->alternative.n_atoms, m = b->alternative.n_atoms, k = 0;
    if (n > m || (a->signature & ~b->signature) != 0)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        while (k < m && b->sorted[k] < a->sorted[i])
            k++;
        if (k == m || b->sorted[k] != a->sorted[i])
            return false;
    }
    return true;
}

tokfsm_status tf_add_alternative(void *expansion_, const tf_alternative *alternative)
{
    expansion *e = expansion_;
    const tf_obligation *atoms = alternative->atoms;
    uint32_t n = alternative->n_atoms;
    tf_build *b = e->b;
    tf_obligation *kept = tf_arena_take(&e->scratch, n * sizeof *kept);
    finished w = {.sorted = tf_arena_take(&e->scratch, n * sizeof *w.sorted)};
    if (kept == NULL || w.sorted == NULL)
        return no_memory(b);
    if (n > 0) {
        memcpy(kept, atoms, n * sizeof *kept);
        memcpy(w.sorted, atoms, n * sizeof *kept);
    }
    if (n > 1)
        qsort(w.sorted, n, sizeof *w.sorted, compare_obligations);
    w.alternative = (tf_alternative){.n_atoms = n, .atoms = kept};
    for (uint32_t i = 0; i < n; i++)
        w.signature |= UINT64_C(1) << (atoms[i] * 2654435761u >> 26);
    size_t m = 0;
    for (size_t i = 0; i < e->found.n; i++) {
        TF_TRY(tf_spend(b->budget, b->err));
        if (is_part(&e->found.items[i], &w))
            return TOKFSM_OK; /* nothing was dropped: that would be a part of it, too */
        if (!is_part(&w, &e->found.items[i]))
            e->found.items[m++] = e->found.items[i];
    }
    e->found.n = m;
    if (e->found.n >= TF_MAX_ALTERNATIVES)
        return tf_fail(b->err, TOKFSM_E_LIMIT, "over %u alternatives for one value",
                       TF_MAX_ALTERNATIVES);
    if (!tf_grow(&b->arena.allocator, (void **)&e->found.items, e->found.n, &e->found.capacity,
                 sizeof *e->found.items))
        return no_memory(b);
    e->found.items[e->found.n++] = w;
    return TOKFSM_OK;
}
tokfsm_status tf_keep_alternatives(expansion *e, const tf_alternatives **kept)
{
    tokfsm_status status = TOKFSM_OK;
    tf_build *b = e->b;
    tf_alternatives *list = tf_take(b, sizeof *list, &status);
    const tf_alternative **items = tf_take(b, e->found.n * sizeof *items, &status);
    for (size_t i = 0; i < e->found.n && status == TOKFSM_OK; i++) {
        const tf_alternative *from = &e->found.items[i].alternative;
        tf_alternative *made = tf_take(b, sizeof *made, &status);
        tf_obligation *atoms = tf_take(b, from->n_atoms * sizeof *atoms, &status);
        if (status != TOKFSM_OK)
            break;
        if (from->n_atoms > 0)
            memcpy(atoms, from->atoms, from->n_atoms * sizeof *atoms);
        *made = (tf_alternative){.n_atoms = from->n_atoms, .atoms = atoms};
        TF_TRY(tf_counters_find(b, made, e->object));
        if (!e->object)
            TF_TRY(tf_unique_uncounted(b, made));
        items[i] = made;
    }
    if (status != TOKFSM_OK)
        return status;
    *list = (tf_alternatives){(uint32_t)e->found.n, items};
    *kept = list;
    return TOKFSM_OK;
}
