/*
 * Distinct values for the items that an array still must have: a matching of positions with
 * values (augmenting paths). A position with as many values as the array must have items can be
 * left out, since all others together cannot take all of them; so each list is short.
 */
#include "unique.h"

/* To list the values of an item is to search, and to search can be to match: the C stack holds
   so many of them. */
enum { MOST_NESTED = 4 };

typedef struct domain {
    const tf_item **items;
    uint32_t n, most;
} domain;

static bool collect(void *context, tf_run *run, const tf_configuration *c)
{
    domain *d = context;
    const tf_item *item = c->top->children->value;
    for (uint32_t i = 0; i < d->n; i++)
        if (tf_item_equal(run, d->items[i], item))
            return run->call.status != TOKFSM_OK;
    d->items[d->n++] = item;
    return d->n >= d->most;
}

/* The values of item i for alternative a, `most` at most. */
static bool list_domain(tf_run *run, const tf_frame *frame, uint32_t a, uint64_t i, domain *d)
{
    const tf_kind *kind = frame->kind;
    tf_scratch_words alive;
    memset(alive.words, 0, kind->alternative_words * sizeof *alive.words);
    tf_word_set(alive.words, a);
    tf_frame *alone = tf_frame_copy(run, frame);
    d->n = 0;
    d->items = tf_arena_take(run->arena, d->most * sizeof *d->items);
    if (alone == NULL || d->items == NULL ||
        !tf_bits_keep(run, alive.words, kind->alternative_words, &alone->alive)) {
        if (run->call.status == TOKFSM_OK)
            run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for items");
        return false;
    }
    alone->edge = tf_kind_edge(run->m, kind, tf_item_class(kind, i), &run->call);
    if (alone->edge == NULL)
        return false;
    if (!tf_word_bit(alone->edge->admits, a))
        return true;
    alone->count = i + 1;
    alone->children = NULL;
    alone->unchecked = 1;
    tf_configuration c;
    memset(&c, 0, sizeof c);
    c.top = alone;
    c.mode = TF_AT_VALUE;
    c.gap = TF_GAP_COMMA;
    c.value = alone->edge->value;
    if (!tf_edge_obligations(run, alone, alone->edge, i, alive.words, &c.alive))
        return false;
    tf_search search = {.start = &c, .base = alone->depth, .leaf = collect, .context = d};
    tf_search_run(run, &search);
    return run->call.status == TOKFSM_OK;
}

typedef struct matching {
    uint32_t n_values;
    const uint8_t *may; /* [n_positions][n_values] */
    uint32_t *of_value; /* the position that has it, or TF_NONE */
    uint8_t *visited;
    uint32_t *path, *at; /* a stack of positions and what each tries next */
} matching;

/* Give `position` a value, moving others if need be. */
static bool augment(matching *m, uint32_t position)
{
    memset(m->visited, 0, m->n_values);
    uint32_t depth = 0;
    m->path[0] = position;
    m->at[0] = 0;
    for (;;) {
        uint32_t p = m->path[depth], v = m->at[depth];
        while (v < m->n_values && (m->visited[v] || !m->may[(size_t)p * m->n_values + v]))
            v++;
        m->at[depth] = v;
        if (v == m->n_values) {
            if (depth == 0)
                return false;
            m->at[--depth]++;
            continue;
        }
        m->visited[v] = 1;
        if (m->of_value[v] != TF_NONE) {
            m->path[++depth] = m->of_value[v];
            m->at[depth] = 0;
            continue;
        }
        for (uint32_t i = 0; i <= depth; i++)
            m->of_value[m->at[i]] = m->path[i];
        return true;
    }
}

bool tf_match_lists(tf_run *run, const tf_item_list *lists, uint32_t n, const tf_child *taken)
{
    size_t total = 0;
    uint32_t n_values = 0;
    for (uint32_t p = 0; p < n; p++)
        total += lists[p].n;
    const tf_item **values = tf_arena_take(run->arena, total * sizeof *values);
    uint8_t *may = tf_arena_zero(run->arena, n * total);
    matching m = {.may = may};
    m.of_value = tf_arena_take(run->arena, total * sizeof *m.of_value);
    m.visited = tf_arena_take(run->arena, total);
    m.path = tf_arena_take(run->arena, ((size_t)n + 1) * sizeof *m.path);
    m.at = tf_arena_take(run->arena, ((size_t)n + 1) * sizeof *m.at);
    if (values == NULL || may == NULL || m.of_value == NULL || m.visited == NULL ||
        m.path == NULL || m.at == NULL) {
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for items");
        return false;
    }
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t p = 0; p < n; p++)
            for (uint32_t k = 0; k < lists[p].n; k++) {
                const tf_item *item = lists[p].items[k];
                bool gone = false;
                for (const tf_child *child = taken; child != NULL && !gone; child = child->previous)
                    gone = tf_item_equal(run, child->value, item);
                uint32_t v = 0;
                while (v < n_values && !tf_item_equal(run, values[v], item))
                    v++;
                if (pass == 0 && !gone && v == n_values)
                    values[n_values++] = item;
                else if (pass == 1 && !gone)
                    may[(size_t)p * n_values + v] = 1;
                if (!tf_run_spend(run))
                    return false;
            }
    m.n_values = n_values;
    memset(m.of_value, 0xFF, n_values * sizeof *m.of_value);
    for (uint32_t p = 0; p < n; p++)
        if (!tf_run_spend(run) || !augment(&m, p))
            return false;
    return run->call.status == TOKFSM_OK;
}

static bool match(tf_run *run, const tf_frame *frame, uint32_t a)
{
    const tf_kind *kind = frame->kind;
    uint64_t min = kind->min_items[a];
    if (min > 4096) { /* refused when compiling */
        run->call.status = tf_fail(run->call.err, TOKFSM_E_LIMIT, "over 4096 items to match");
        return false;
    }
    uint32_t most = (uint32_t)min;
    uint32_t n_left = (uint32_t)(min - frame->count);
    domain *domains = tf_arena_zero(run->arena, n_left * sizeof *domains);
    if (domains == NULL)
        goto no_memory;
    tf_item_list *lists = tf_arena_take(run->arena, n_left * sizeof *lists);
    if (lists == NULL)
        goto no_memory;
    uint32_t n = 0, last_class = TF_NONE;
    for (uint32_t i = 0; i < n_left; i++) {
        uint32_t class = tf_item_class(kind, frame->count + i);
        domain d = {.most = most};
        if (n > 0 && class == last_class)
            d = domains[n - 1];
        else if (!list_domain(run, frame, a, frame->count + i, &d))
            return false;
        if (d.n >= most)
            continue;
        last_class = class;
        domains[n] = d;
        lists[n++] = (tf_item_list){d.items, d.n};
    }
    return tf_match_lists(run, lists, n, frame->children);
no_memory:
    run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for items");
    return false;
}

bool tf_match_items(tf_run *run, const tf_frame *frame, uint32_t a)
{
    if (frame->count >= frame->kind->min_items[a])
        return true;
    if (run->matching == MOST_NESTED) {
        run->call.status = tf_fail(run->call.err, TOKFSM_E_LIMIT,
                                   "items that must differ hold items that must differ, over %d "
                                   "levels deep", MOST_NESTED);
        return false;
    }
    tf_arena_mark mark = tf_arena_here(run->arena);
    run->matching++;
    bool matched = match(run, frame, a);
    run->matching--;
    tf_arena_back(run->arena, mark);
    return matched;
}
