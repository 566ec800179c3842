/* Objects and arrays of a value position, and what their members and items are held against. */
#include <stdlib.h>

#include "../engine/cache.h"
#include "name_classes.h"
#include "witnesses.h"

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
}

/* ---- alternatives ---- */

typedef struct alternatives {
    const tf_alternative **items;
    uint64_t **outcome;
    uint32_t n;
} alternatives;

/* The satisfiable alternatives of all obligations; equal ones share one place. */
static tokfsm_status collect(tf_build *b, const tf_value *value, bool object, alternatives *all)
{
    size_t n_most = 0;
    for (uint32_t i = 0; i < value->n; i++) {
        const tf_alternatives *found;
        TF_TRY(tf_expand(b, tf_value_oset(b, value, i), object, &found));
        n_most += found->n;
    }
    tokfsm_status status = TOKFSM_OK;
    all->items = tf_take(b, n_most * sizeof *all->items, &status);
    all->outcome = tf_take(b, n_most * sizeof *all->outcome, &status);
    if (status != TOKFSM_OK)
        return status;
    for (uint32_t i = 0; i < value->n; i++) {
        const tf_alternatives *found;
        TF_TRY(tf_expand(b, tf_value_oset(b, value, i), object, &found));
        for (uint32_t k = 0; k < found->n; k++) {
            TF_TRY(tf_spend(b->budget, b->err));
            uint32_t at = 0;
            while (at < all->n && !tf_same_alternative(all->items[at], found->items[k]))
                at++;
            if (at == all->n) {
                bool satisfiable;
                TF_TRY(tf_alternative_satisfiable(b, found->items[k], object, &satisfiable));
                if (!satisfiable)
                    continue;
                if (all->n >= TF_MAX_ALTERNATIVES)
                    return tf_fail(b->err, TOKFSM_E_LIMIT, "over %u alternatives for one value",
                                   TF_MAX_ALTERNATIVES);
                all->items[at] = found->items[k];
                all->outcome[at] = tf_take(b, value->n_words * sizeof **all->outcome, &status);
                if (status != TOKFSM_OK)
                    return status;
                all->n++;
            }
            tf_word_set(all->outcome[at], i);
        }
    }
    return TOKFSM_OK;
}

/* ---- names ---- */

typedef struct name_list {
    tf_build *b;
    struct { tf_literal *items; size_t n, capacity; } names;
} name_list;

static tokfsm_status add_name(void *context, const char *text, uint32_t n)
{
    name_list *list = context;
    tf_build *b = list->b;
    if (!tf_grow(&b->arena.allocator, (void **)&list->names.items, list->names.n,
                 &list->names.capacity, sizeof *list->names.items))
        return no_memory(b);
    tf_literal *name = &list->names.items[list->names.n++];
    memset(name, 0, sizeof *name);
    name->text = (const uint8_t *)text;
    name->n_text = n;
    return tf_spend(b->budget, b->err);
}

static tokfsm_status make_names(tf_build *b, const alternatives *all, tf_kind *kind)
{
    name_list list = {.b = b};
    tokfsm_status status = TOKFSM_OK;
    for (uint32_t a = 0; a < all->n && status == TOKFSM_OK; a++)
        status = tf_each_name(b, all->items[a], add_name, &list);
    for (size_t i = 0; i < list.names.n && status == TOKFSM_OK; i++) {
        tf_literal *name = &list.names.items[i];
        status = tf_spell(b, (const char *)name->text, name->n_text, &name->spelled,
                          &name->n_spelled);
    }
    if (status == TOKFSM_OK && list.names.n > 1)
        qsort(list.names.items, list.names.n, sizeof *list.names.items, tf_compare_literals);
    uint32_t n = 0;
    for (size_t i = 0; i < list.names.n; i++)
        if (n == 0 || tf_compare_literals(&list.names.items[n - 1], &list.names.items[i]) != 0)
            list.names.items[n++] = list.names.items[i];
    tf_literal *names = tf_take(b, n * sizeof *names, &status);
    kind->names.literal_costs = tf_take(b, n * sizeof *kind->names.literal_costs, &status);
    if (status == TOKFSM_OK && n > 0)
        memcpy(names, list.names.items, n * sizeof *names);
    tf_release(&b->arena.allocator, list.names.items);
    if (status != TOKFSM_OK)
        return status;
    for (uint32_t i = 0; i < n; i++)
        kind->names.hard_names |=
            tf_has_escaped_closer(b, (const char *)names[i].text, names[i].n_text);
    kind->names.literals = names;
    kind->names.n_literals = kind->n_names = n;
    kind->name_words = (n + 31) / 32;
    return TOKFSM_OK;
}

typedef struct marking {
    tf_build *b;
    const tf_kind *kind;
    uint32_t *required; /* words of names to mark */
    uint32_t *rank;     /* by name, or NULL */
    uint32_t next_rank;
} marking;

/* Index of a name by its spelling: binary search over spelled order. */
static tokfsm_status name_index(tf_build *b, const tf_kind *kind, const char *text, uint32_t n,
                                uint32_t *index)
{
    tf_literal wanted = {0};
    TF_TRY(tf_spell(b, text, n, &wanted.spelled, &wanted.n_spelled));
    uint32_t low = 0, high = kind->n_names;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (tf_compare_literals(&kind->names.literals[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == kind->n_names || tf_compare_literals(&kind->names.literals[low], &wanted) != 0)
        return tf_fail(b->err, TOKFSM_E_INTERNAL, "a name is not among its kind's");
    *index = low;
    return TOKFSM_OK;
}

static tokfsm_status mark_required(void *context, const char *text, uint32_t n)
{
    marking *mark = context;
    uint32_t index;
    TF_TRY(name_index(mark->b, mark->kind, text, n, &index));
    mark->required[index / 32] |= (uint32_t)1 << (index % 32);
    return TOKFSM_OK;
}

static tokfsm_status mark_rank(void *context, const char *text, uint32_t n)
{
    marking *mark = context;
    uint32_t index;
    TF_TRY(name_index(mark->b, mark->kind, text, n, &index));
    if (mark->rank[index] == TF_NONE)
        mark->rank[index] = mark->next_rank++;
    return TOKFSM_OK;
}

static tokfsm_status make_object(tf_build *b, const alternatives *all, tf_kind *kind,
                                 tf_kind_build *build)
{
    TF_TRY(make_names(b, all, kind));
    bool counted = false;
    for (uint32_t a = 0; a < all->n; a++) {
        uint64_t least, most;
        tf_member_counts(b, all->items[a], &least, &most);
        counted |= least > 0 || most != TF_UNLIMITED || all->items[a]->counters != NULL;
    }
    TF_TRY(tf_name_classes_of(b, all->items, all->n, kind->names.literals, kind->n_names, counted,
                              &build->name_classes));
    kind->names.content = build->name_classes->content;
    kind->n_others = build->name_classes->n;
    kind->name_sets = build->name_classes->n_sets;
    tokfsm_status status = TOKFSM_OK;
    bool ordered = b->machine.options.property_order == TOKFSM_ORDER_SCHEMA;
    uint64_t table = (uint64_t)all->n * kind->n_names * (ordered ? sizeof(uint32_t) : 1);
    if (table > b->machine.limits.automaton_bytes)
        return tf_fail(b->err, TOKFSM_E_LIMIT,
                       "%u alternatives of %u names go over limits.automaton_bytes = %llu", all->n,
                       kind->n_names, (unsigned long long)b->machine.limits.automaton_bytes);
    uint32_t *required = tf_take(b, (size_t)all->n * kind->name_words * sizeof *required, &status);
    uint32_t *rank = NULL;
    if (ordered)
        rank = tf_take(b, (size_t)all->n * kind->n_names * sizeof *rank, &status);
    kind->edges = tf_take(b, tf_kind_n_edges(kind) * sizeof *kind->edges, &status);
    uint64_t *min = tf_take(b, all->n * sizeof *min, &status);
    uint64_t *max = tf_take(b, all->n * sizeof *max, &status);
    if (status != TOKFSM_OK)
        return status;
    uint32_t *spoken = tf_take(b, (size_t)all->n * kind->name_words * sizeof *spoken, &status);
    if (status != TOKFSM_OK)
        return status;
    for (uint32_t a = 0; a < all->n; a++) {
        marking mark = {b, kind, spoken + (size_t)a * kind->name_words, NULL, 0};
        TF_TRY(tf_each_name(b, all->items[a], mark_required, &mark));
        tf_member_counts(b, all->items[a], &min[a], &max[a]);
        kind->counts |= min[a] > 0 || max[a] != TF_UNLIMITED;
    }
    kind->min_items = min;
    kind->max_items = max;
    kind->spoken = spoken;
    if (rank != NULL)
        memset(rank, 0xFF, (size_t)all->n * kind->n_names * sizeof *rank);
    for (uint32_t a = 0; a < all->n; a++) {
        marking mark = {b, kind, required + (size_t)a * kind->name_words,
                        rank == NULL ? NULL : rank + (size_t)a * kind->n_names, 0};
        TF_TRY(tf_each_required(b, all->items[a], mark_required, &mark));
        if (ordered)
            TF_TRY(tf_each_declared(b, all->items[a], mark_rank, &mark));
    }
    kind->required = required;
    kind->rank = rank;
    return TOKFSM_OK;
}

/* ---- arrays ---- */

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The most items that alternative a can have. */
static tokfsm_status feasible_items(tf_build *b, const tf_alternative *alternative, uint64_t *most)
{
    uint64_t least;
    tf_item_counts(b, alternative, &least, most);
    uint32_t n_prefix = tf_prefix_length(b, alternative);
    for (uint64_t i = 0; i <= n_prefix && i < *most; i++) {
        tf_oset *oset;
        bool satisfiable = false;
        TF_TRY(tf_item_oset(b, alternative, i, &oset));
        if (oset != NULL)
            TF_TRY(tf_satisfiable(b, oset, &satisfiable));
        if (!satisfiable)
            *most = i;
    }
    return TOKFSM_OK;
}

static tokfsm_status make_array(tf_build *b, const alternatives *all, tf_kind *kind)
{
    tokfsm_status status = TOKFSM_OK;
    uint64_t *min = tf_take(b, all->n * sizeof *min, &status);
    uint64_t *max = tf_take(b, all->n * sizeof *max, &status);
    kind->min_items = min;
    kind->max_items = max;
    size_t n_first = 1;
    for (uint32_t a = 0; a < all->n; a++)
        n_first += (size_t)tf_prefix_length(b, all->items[a]) + 2;
    uint64_t *first = tf_take(b, n_first * sizeof *first, &status);
    if (status != TOKFSM_OK)
        return status;
    size_t n = 0;
    first[n++] = 0;
    for (uint32_t a = 0; a < all->n; a++) {
        uint64_t most;
        tf_item_counts(b, all->items[a], &min[a], &most);
        TF_TRY(feasible_items(b, all->items[a], &max[a]));
        uint32_t n_prefix = tf_prefix_length(b, all->items[a]);
        for (uint32_t i = 1; i <= n_prefix; i++)
            first[n++] = i;
        if (max[a] != TF_UNLIMITED)
            first[n++] = max[a];
    }
    qsort(first, n, sizeof *first, compare_u64);
    uint32_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (m == 0 || first[m - 1] != first[i])
            first[m++] = first[i];
    kind->first = first;
    kind->n_classes = m;
    kind->edges = tf_take(b, m * sizeof *kind->edges, &status);
    return status == TOKFSM_OK ? tf_unique_kind(b, all->items, kind) : status;
}

/* ---- kinds and edges ---- */

tokfsm_status tf_build_kind(tf_build *b, const tf_value *value, bool object, const tf_kind **kind)
{
    tf_value *v = (tf_value *)(uintptr_t)value;
    _Atomic(const tf_kind *) *slot = object ? &v->object : &v->array;
    *kind = atomic_load_explicit(slot, memory_order_relaxed);
    if (*kind != NULL)
        return TOKFSM_OK;
    alternatives all = {0};
    TF_TRY(collect(b, value, object, &all));
    if (all.n == 0) {
        *kind = &tf_no_kind;
        atomic_store_explicit(slot, *kind, memory_order_release);
        return TOKFSM_OK;
    }
    tokfsm_status status = TOKFSM_OK;
    tf_kind *made = tf_take(b, sizeof *made, &status);
    tf_kind_build *build = tf_take(b, sizeof *build, &status);
    if (status != TOKFSM_OK)
        return status;
    made->value = value;
    made->is_object = object;
    made->n_alternatives = all.n;
    made->alternative_words = tf_words_for(all.n);
    made->outcome = (const uint64_t *const *)all.outcome;
    build->alternatives = all.items;
    made->build = build;
    TF_TRY(object ? make_object(b, &all, made, build) : make_array(b, &all, made));
    TF_TRY(tf_build_counting(b, made, all.items));
    tf_cache_kind(&b->machine, made);
    if (!tf_grow(&b->arena.allocator, (void **)&b->kinds.items, b->kinds.n, &b->kinds.capacity,
                 sizeof *b->kinds.items))
        return no_memory(b);
    made->id = (uint32_t)b->kinds.n;
    b->kinds.items[b->kinds.n++] = made;
    *kind = made;
    atomic_store_explicit(slot, *kind, memory_order_release);
    return TOKFSM_OK;
}

tokfsm_status tf_kind_child(tf_build *b, const tf_kind *kind, uint32_t a, uint32_t index,
                            tf_oset *by_sign[TF_MAX_SIGNS])
{
    const tf_kind_build *build = kind->build;
    const tf_alternative *alternative = build->alternatives[a];
    uint32_t n_signs = 1u << tf_n_counters(kind, a);
    tf_child_view child = {.object = kind->is_object};
    for (uint32_t s = 0; s < n_signs; s++)
        by_sign[s] = NULL;
    if (kind->is_object && index < kind->n_names) {
        child.name.text = (const char *)kind->names.literals[index].text;
        child.name.n = kind->names.literals[index].n_text;
    } else if (kind->is_object) {
        child.name.classes = build->name_classes;
        child.name.class = index - kind->n_names;
    } else {
        if (kind->first[index] >= kind->max_items[a])
            return TOKFSM_OK;
        child.item = kind->first[index];
    }
    TF_TRY(tf_child_osets(b, alternative, &child, by_sign));
    for (uint32_t s = 0; s < n_signs; s++) {
        bool satisfiable = false;
        if (by_sign[s] != NULL)
            TF_TRY(tf_satisfiable(b, by_sign[s], &satisfiable));
        if (!satisfiable)
            by_sign[s] = NULL;
    }
    return TOKFSM_OK;
}

tokfsm_status tf_build_edge(tf_build *b, const tf_kind *kind, uint32_t index, const tf_edge **edge)
{
    *edge = atomic_load_explicit(&kind->edges[index], memory_order_relaxed);
    if (*edge != NULL)
        return TOKFSM_OK;
    tokfsm_status status = TOKFSM_OK;
    tf_edge *made = tf_take(b, sizeof *made, &status);
    uint32_t n_signs = kind->counting == NULL ? kind->n_alternatives : kind->counting->n_signs;
    uint32_t *obligation = tf_take(b, n_signs * sizeof *obligation, &status);
    uint64_t *admits = tf_take(b, kind->alternative_words * sizeof *admits, &status);
    tf_oset **osets = tf_allocate(&b->arena.allocator, n_signs * sizeof *osets);
    if (osets == NULL)
        return no_memory(b);
    uint32_t n = 0, *next = obligation;
    for (uint32_t a = 0; a < kind->n_alternatives && status == TOKFSM_OK; a++) {
        tf_oset *by_sign[TF_MAX_SIGNS];
        status = tf_kind_child(b, kind, a, index, by_sign);
        for (uint32_t s = 0; s < 1u << tf_n_counters(kind, a) && status == TOKFSM_OK; s++) {
            *next++ = TF_NONE;
            if (by_sign[s] == NULL)
                continue;
            uint32_t at = 0;
            while (at < n && osets[at] != by_sign[s])
                at++;
            if (at == n)
                osets[n++] = by_sign[s];
            next[-1] = at;
            tf_word_set(admits, a);
        }
    }
    if (status == TOKFSM_OK && n > 0)
        status = tf_value_of(b, osets, n, &made->value);
    tf_release(&b->arena.allocator, osets);
    if (status != TOKFSM_OK)
        return status;
    made->obligation = obligation;
    made->admits = admits;
    made->index = index;
    *edge = made;
    atomic_store_explicit(&kind->edges[index], *edge, memory_order_release);
    return TOKFSM_OK;
}
