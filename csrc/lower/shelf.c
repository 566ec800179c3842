#include "shelf.h"

#include "../base/lock.h"
#include "../engine/cache.h"

typedef struct tf_shelf {
    atomic_uint lock;
    tokfsm_allocator allocator;
    tf_shared *first; /* the one used last; each held once */
} tf_shelf;

/* ---- the shelf of a pack ---- */

static void free_shelf(tf_shelf *shelf)
{
    for (tf_shared *shared = shelf->first; shared != NULL;) {
        tf_shared *next = shared->next;
        tf_shared_release(shared);
        shared = next;
    }
    tf_release(&shelf->allocator, shelf);
}

static tf_shelf *shelf_of(tokfsm_pack *pack)
{
    tf_shelf *shelf = atomic_load_explicit(&pack->shelf, memory_order_acquire);
    if (shelf != NULL)
        return shelf;
    tf_shelf *fresh = tf_allocate(&pack->allocator, sizeof *fresh);
    if (fresh == NULL)
        return NULL;
    memset(fresh, 0, sizeof *fresh);
    fresh->allocator = pack->allocator;
    atomic_store_explicit(&pack->free_shelf, free_shelf, memory_order_relaxed); /* before the shelf */
    if (atomic_compare_exchange_strong_explicit(&pack->shelf, &shelf, fresh, memory_order_acq_rel,
                                                memory_order_acquire))
        return fresh;
    tf_release(&pack->allocator, fresh); /* another thread was first */
    return shelf;
}

/* Whether `shared` is the content of this pattern as b needs it: what its bytes cost and how much
   memory it may take are part of it. */
static bool is_wanted(const tf_shared *shared, const tf_build *b, const tf_pattern_record *pattern,
                      uint8_t has_lengths)
{
    const tf_pattern_record *own = shared->build.patterns.items;
    const tf_machine *m = &shared->build.machine, *wanted = &b->machine;
    return own->n == pattern->n && shared->has_lengths == has_lengths &&
           (own->n == 0 || memcmp(own->text, pattern->text, own->n) == 0) &&
           m->options.escapes == wanted->options.escapes &&
           m->limits.automaton_bytes == wanted->limits.automaton_bytes &&
           memcmp(m->byte_set, wanted->byte_set, sizeof m->byte_set) == 0;
}

/* Take the one that is wanted to the front, held once more; the shelf is locked. */
static tf_shared *find(tf_shelf *shelf, const tf_build *b, const tf_pattern_record *pattern,
                       uint8_t has_lengths)
{
    tf_shared **link = &shelf->first, *found;
    while (*link != NULL && !is_wanted(*link, b, pattern, has_lengths))
        link = &(*link)->next;
    if ((found = *link) == NULL)
        return NULL;
    *link = found->next;
    found->next = shelf->first;
    shelf->first = found;
    atomic_fetch_add_explicit(&found->references, 1u, memory_order_relaxed);
    return found;
}

static size_t bytes_of(tf_shared *shared)
{
    tf_build *b = &shared->build;
    uint64_t n_masks, n_bytes;
    tf_machine_lock(&b->machine);
    tf_cache_count(&b->machine, &n_masks, &n_bytes);
    size_t bytes = sizeof *shared + b->arena.n_bytes + (size_t)n_bytes;
    for (const tf_pattern_set *set = b->pattern_sets; set != NULL; set = set->next)
        bytes += tf_dfa_n_bytes(set->dfa);
    tf_machine_unlock(&b->machine);
    return bytes;
}

/* Unlink what is more than the shelf has room for. */
static tf_shared *take_excess(tf_shelf *shelf)
{
    size_t n_bytes = 0;
    uint32_t n = 0;
    for (tf_shared **link = &shelf->first; *link != NULL; link = &(*link)->next) {
        n_bytes += bytes_of(*link);
        if (++n > 1 && (n > TF_SHELF_CONTENTS || n_bytes > TF_SHELF_BYTES)) {
            tf_shared *excess = *link;
            *link = NULL;
            return excess;
        }
    }
    return NULL;
}

/* ---- a shared content ---- */

void tf_shared_release(tf_shared *shared)
{
    if (shared == NULL ||
        atomic_fetch_sub_explicit(&shared->references, 1u, memory_order_acq_rel) != 1u)
        return;
    tokfsm_allocator a = shared->build.machine.allocator;
    tf_build_free(&shared->build);
    tf_release(&a, shared);
}

static tokfsm_status own_language(tf_build *b, const tf_content_spec *spec, uint32_t i,
                                  tf_dfa_language *language)
{
    (void)b;
    *language = spec->set->language[i];
    return TOKFSM_OK;
}

static tokfsm_status fill(tf_shared *shared, const tf_pattern_record *pattern)
{
    tf_build *b = &shared->build;
    tokfsm_status status = TOKFSM_OK;
    char *text = tf_take(b, pattern->n, &status);
    if (status != TOKFSM_OK)
        return status;
    memcpy(text, pattern->text, pattern->n);
    uint32_t number;
    TF_TRY(tf_pattern_intern(b, text, pattern->n, &number));
    tf_content_spec spec = {.n = 1, .language = own_language};
    TF_TRY(tf_pattern_set_of(b, &number, 1, NULL, 0, &spec.set));
    TF_TRY(tf_content_of(b, &spec, shared->has_lengths, TF_COUNTS_NONE, &shared->content));
    ((tf_content *)(uintptr_t)shared->content)->owner = &b->machine;
    return TOKFSM_OK;
}

static tokfsm_status make(const tf_build *for_build, const tf_pattern_record *pattern,
                          uint8_t has_lengths, tf_shared **made)
{
    const tf_machine *m = &for_build->machine;
    const tokfsm_allocator *a = &m->pack->allocator;
    tf_shared *shared = tf_allocate(a, sizeof *shared);
    if (shared == NULL)
        return tf_fail(for_build->err, TOKFSM_E_NOMEM, "no memory for the content of strings");
    memset(shared, 0, sizeof *shared);
    atomic_init(&shared->references, 1u);
    shared->has_lengths = has_lengths;
    tf_build *b = &shared->build;
    tf_build_begin(b, m->pack, &m->options, a, &m->limits, NULL, for_build->budget,
                   for_build->err);
    memcpy(b->machine.byte_set, m->byte_set, sizeof m->byte_set);
    memcpy(b->machine.string_rest_cost, m->string_rest_cost, sizeof m->string_rest_cost);
    b->machine.char_tokens = m->char_tokens;
    b->machine.char_unit = m->char_unit;
    tokfsm_status status = fill(shared, pattern);
    b->budget = NULL;
    b->err = NULL;
    if (status != TOKFSM_OK) {
        tf_shared_release(shared);
        return status;
    }
    *made = shared;
    return TOKFSM_OK;
}

tokfsm_status tf_shelf_take(tf_build *b, const tf_pattern_record *pattern, uint8_t has_lengths,
                            tf_shared **shared)
{
    tf_shelf *shelf = shelf_of(b->machine.pack);
    if (shelf == NULL)
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory for the content of strings");
    /* A child of fork() that takes the lock over finds a list that is whole, or lacks one. */
    tf_lock(&shelf->lock);
    *shared = find(shelf, b, pattern, has_lengths);
    tf_unlock(&shelf->lock);
    if (*shared != NULL)
        return TOKFSM_OK;
    tf_shared *fresh = NULL;
    TF_TRY(make(b, pattern, has_lengths, &fresh));
    tf_lock(&shelf->lock);
    *shared = find(shelf, b, pattern, has_lengths); /* another thread may have been first */
    tf_shared *excess = fresh;
    if (*shared == NULL) {
        atomic_fetch_add_explicit(&fresh->references, 1u, memory_order_relaxed);
        fresh->next = shelf->first;
        shelf->first = *shared = fresh;
        excess = take_excess(shelf);
    }
    tf_unlock(&shelf->lock);
    while (excess != NULL) {
        tf_shared *next = excess == fresh ? NULL : excess->next;
        tf_shared_release(excess);
        excess = next;
    }
    return TOKFSM_OK;
}
