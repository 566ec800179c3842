/*
 * A bound is asked for after each token of a mask, and each time the cheapest names that are left
 * are looked for. Which names are the cheapest depends on the state and the class alone: lists of
 * them are kept, and made longer, twice as long each time, where all of one are in use.
 */
#include "name_lists.h"

#include "cache.h"

enum { N_BUCKETS = 1024, FIRST_NAMES = 8, MOST_NAMES = 4096 };

typedef struct known_name {
    const uint8_t *text;
    uint32_t n, cost;
} known_name;

typedef struct name_list {
    const struct name_list *next; /* shorter lists of the same come after longer ones */
    const tf_content_state *state;
    uint32_t class;
    uint32_t n;
    bool whole; /* there are no more */
    known_name names[];
} name_list;

struct tf_name_lists {
    _Atomic(const name_list *) buckets[N_BUCKETS];
};

static struct tf_name_lists *lists_of(tf_machine *m)
{
    struct tf_name_lists *lists = atomic_load_explicit(&m->name_lists, memory_order_acquire);
    if (lists != NULL)
        return lists;
    struct tf_name_lists *fresh = tf_allocate(&m->allocator, sizeof *fresh);
    if (fresh == NULL)
        return NULL;
    memset(fresh, 0, sizeof *fresh);
    if (atomic_compare_exchange_strong_explicit(&m->name_lists, &lists, fresh, memory_order_acq_rel,
                                                memory_order_acquire))
        return fresh;
    tf_release(&m->allocator, fresh); /* another thread was first */
    return lists;
}

void tf_name_lists_free(tf_machine *m, const tokfsm_allocator *allocator)
{
    tf_release(allocator, atomic_load_explicit(&m->name_lists, memory_order_acquire));
}

static uint32_t bucket_of(const tf_content_state *state, uint32_t class)
{
    uint64_t hash = ((uint64_t)state->id << 32 | class) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ state->content->id) * 0xC2B2AE3D27D4EB4Fu;
    return (uint32_t)(hash >> 40) % N_BUCKETS;
}

/* ---- making one ---- */

typedef struct collecting {
    known_name *names;
    uint32_t n, most;
} collecting;

static bool collect(void *context, const uint8_t *bytes, uint32_t n)
{
    collecting *c = context;
    if (c->n < c->most)
        c->names[c->n++] = (known_name){bytes, n, 0};
    return false;
}

/* In the run's memory; NULL: run->call.status. */
static name_list *make_list(tf_run *run, const tf_content_state *state, uint32_t class, uint32_t most)
{
    name_list *list = tf_arena_zero(run->arena, sizeof *list + most * sizeof list->names[0]);
    uint32_t *costs = tf_arena_take(run->arena, most * sizeof *costs), n_text;
    const uint8_t *text;
    if (list == NULL || costs == NULL) {
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a bound");
        return NULL;
    }
    collecting c = {list->names, 0, most};
    tf_content_walker walker = tf_content_walker_of(run);
    list->state = state;
    list->class = class;
    list->n = tf_name_cheapest(&walker, state, class, collect, &c, 0, most, costs, &text, &n_text);
    list->whole = list->n < most;
    for (uint32_t i = 0; i < list->n; i++)
        list->names[i].cost = costs[i];
    if (walker.failed && run->call.status == TOKFSM_OK)
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a bound");
    return run->call.status == TOKFSM_OK ? list : NULL;
}

/* A copy that lives as long as the masks, where there is room for it. */
static void keep_list(tf_machine *m, struct tf_name_lists *lists, const name_list *list)
{
    size_t n_bytes = sizeof *list + list->n * sizeof list->names[0], n_text = 0;
    for (uint32_t i = 0; i < list->n; i++)
        n_text += list->names[i].n;
    name_list *kept = lists == NULL ? NULL : tf_cache_block(m, n_bytes + n_text);
    if (kept == NULL)
        return;
    memcpy(kept, list, n_bytes);
    uint8_t *text = (uint8_t *)kept + n_bytes;
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->names[i].n > 0)
            memcpy(text, list->names[i].text, list->names[i].n);
        kept->names[i].text = text;
        text += list->names[i].n;
    }
    _Atomic(const name_list *) *bucket = &lists->buckets[bucket_of(list->state, list->class)];
    kept->next = atomic_load_explicit(bucket, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(bucket, &kept->next, kept, memory_order_release,
                                                  memory_order_relaxed))
        ;
}

/* ---- looking in them ---- */

/* The first names of the list that may be used; true: enough, or all that there are. */
static bool take(const name_list *list, tf_name_used used, void *context, uint32_t n_wanted,
                 uint32_t *costs, const known_name **first, uint32_t *found)
{
    *found = 0;
    for (uint32_t i = 0; i < list->n && *found < n_wanted; i++) {
        if (used(context, list->names[i].text, list->names[i].n))
            continue;
        if (*found == 0)
            *first = &list->names[i];
        costs[(*found)++] = list->names[i].cost;
    }
    return *found == n_wanted || list->whole;
}

uint32_t tf_names_cheapest(tf_run *run, const tf_content_state *state, uint32_t class,
                           tf_name_used used, void *context, uint64_t n_used, uint32_t n_wanted,
                           uint32_t *costs, const uint8_t **text, uint32_t *n_text)
{
    struct tf_name_lists *lists = lists_of(run->m);
    const known_name *first = NULL;
    uint32_t found = 0, most = FIRST_NAMES;
    *text = NULL;
    *n_text = 0;
    const name_list *list = lists == NULL ? NULL
                            : atomic_load_explicit(&lists->buckets[bucket_of(state, class)],
                                                   memory_order_acquire);
    while (list != NULL && (list->state != state || list->class != class))
        list = list->next; /* the first one is the longest */
    if (list != NULL)
        most = list->n;
    while (list == NULL || !take(list, used, context, n_wanted, costs, &first, &found)) {
        while (most < n_wanted || (list != NULL && most <= list->n))
            most *= 2;
        if (most > MOST_NAMES) {
            tf_content_walker walker = tf_content_walker_of(run);
            found = tf_name_cheapest(&walker, state, class, used, context, n_used, n_wanted, costs,
                                     text, n_text);
            if (walker.failed && run->call.status == TOKFSM_OK)
                run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a bound");
            return found;
        }
        const name_list *made = make_list(run, state, class, most);
        if (made == NULL)
            return 0;
        keep_list(run->m, lists, made);
        list = made;
    }
    if (found > 0) {
        *text = first->text;
        *n_text = first->n;
    }
    return found;
}
