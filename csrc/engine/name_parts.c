#include "name_parts.h"

#include "../base/bits.h"
#include "cache.h"
#include "frames.h"
#include "step.h"

enum { FEW_NAMES = 6, MOST_LISTS = 4, MOST_ONES = 16, NEAR_LEVELS = 32 };

typedef struct part {
    uint32_t low, high;   /* names that begin so */
    uint32_t first, n;    /* of the list's ids */
    uint32_t quote;       /* 0, or the node of the quote that closes the name `low` */
    bool alone;           /* closing it is walked: it was the only one that was wanting */
} part;

typedef struct tf_name_parts {
    const struct tf_name_parts *next;
    uint32_t n_parts, n_ids, n_cleared, n_words;
    const part *parts;
    const uint32_t *ids, *cleared;
    const uint32_t *open; /* [name_words] names that may come while they are not there */
    uint64_t words[];     /* the signature of what the parts depend on, but for names */
} tf_name_parts;

typedef struct level {
    uint32_t node, low, high, pos;
    uint32_t next; /* of low .. high - 1: not looked at yet */
} level;

typedef struct list_build {
    tf_run *run;
    tf_configuration c; /* its frame can be written */
    tf_frame *frame;
    const tf_literal *literals;
    const uint32_t *ones;
    uint32_t n_ones;
    struct { part *items; uint32_t n, capacity; } parts;
    tf_ids ids, cleared;
} list_build;

static bool no_memory(tf_run *run)
{
    if (run->call.status == TOKFSM_OK)
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a mask");
    return false;
}

static bool is_one(const uint32_t *ones, uint32_t n_ones, uint32_t name)
{
    for (uint32_t i = 0; i < n_ones; i++)
        if (ones[i] == name)
            return true;
    return false;
}

/* ---- a list is made ---- */

static bool add_part(list_build *b, part made, const uint32_t *ids, uint32_t n)
{
    made.first = b->ids.n;
    made.n = n;
    if (!tf_ids_add(&b->ids, b->run->arena, ids, n) ||
        !tf_arena_grow(b->run->arena, (void **)&b->parts.items, b->parts.n, &b->parts.capacity, 64,
                       sizeof made))
        return no_memory(b->run);
    b->parts.items[b->parts.n++] = made;
    return true;
}

/* The name ends at the node: tokens that close it, as if it were not there yet. */
static bool close_at(list_build *b, uint32_t node, uint32_t name)
{
    tf_run *run = b->run;
    const tf_trie *trie = &run->m->pack->all;
    uint32_t quote = tf_trie_child(&run->m->pack->traces->all, node, '"');
    if (quote == 0)
        return true;
    uint32_t first = trie->first[quote], end = trie->first[trie->end[quote]];
    if (!tf_ids_add(&b->cleared, run->arena, trie->ids + first, end - first))
        return no_memory(run);
    part made = {.low = name, .high = name + 1, .quote = quote,
                 .alone = is_one(b->ones, b->n_ones, name)};
    tf_ids closing = {0};
    bool there = tf_bit(b->frame->seen, name);
    tf_clear(b->frame->seen, name);
    bool walked = made.alone || tf_walk_closing(run, &b->c, quote, name, &closing);
    if (there)
        tf_set(b->frame->seen, name);
    return walked && add_part(b, made, closing.items, closing.n);
}

static bool arrive(list_build *b, level *at)
{
    const tf_trie *trie = &b->run->m->pack->all;
    uint32_t first = trie->first[at->node], end = trie->first[at->node + 1];
    if (at->node != 0 && first < end &&
        !add_part(b, (part){.low = at->low, .high = at->high}, trie->ids + first, end - first))
        return false;
    if (at->low == at->high || b->literals[at->low].n_spelled != at->pos)
        return true;
    at->next = at->low + 1;
    return close_at(b, at->node, at->low);
}

static bool next_place(const list_build *b, level *at, level *to)
{
    const tf_branches *branches = &b->run->m->pack->traces->all;
    while (at->next < at->high) {
        const uint32_t first = at->next;
        const uint8_t byte = b->literals[first].spelled[at->pos];
        uint32_t end = first + 1;
        while (end < at->high && b->literals[end].spelled[at->pos] == byte)
            end++;
        at->next = end;
        uint32_t child = tf_trie_child(branches, at->node, byte);
        if (child != 0) {
            *to = (level){child, first, end, at->pos + 1, first};
            return true;
        }
    }
    return false;
}

static bool walk_names(list_build *b, uint32_t n_names)
{
    level near[NEAR_LEVELS], *levels = near;
    uint32_t depth = 0, wanted = b->run->m->pack->all.depth + 2;
    if (wanted > NEAR_LEVELS) {
        levels = tf_arena_take(b->run->arena, wanted * sizeof *levels);
        if (levels == NULL)
            return no_memory(b->run);
    }
    levels[0] = (level){0, 0, n_names, 0, 0};
    for (;;) {
        if (!tf_run_spend(b->run))
            return false;
        if (next_place(b, &levels[depth], &levels[depth + 1])) {
            if (!arrive(b, &levels[++depth]))
                return false;
        } else if (depth-- == 0) {
            return b->run->call.status == TOKFSM_OK;
        }
    }
}

static bool find_open(list_build *b, uint32_t *open)
{
    const tf_kind *kind = b->frame->kind;
    tf_scratch_words alive;
    for (uint32_t name = 0; name < kind->n_names; name++) {
        bool there = tf_bit(b->frame->seen, name);
        tf_clear(b->frame->seen, name);
        if (tf_name_open(b->run, b->frame, name, alive.words))
            tf_set(open, name);
        if (there)
            tf_set(b->frame->seen, name);
    }
    return b->run->call.status == TOKFSM_OK;
}

/* *made NULL: there is no memory where masks are kept. */
static bool make(tf_run *run, const tf_configuration *c, const tf_signature *signature,
                 const uint32_t *ones, uint32_t n_ones, const tf_name_parts **made)
{
    tf_kind *kind = (tf_kind *)(uintptr_t)c->top->kind; /* its list of lists is written */
    list_build b = {.run = run, .c = *c, .literals = kind->names.literals, .ones = ones,
                    .n_ones = n_ones};
    *made = NULL;
    b.frame = tf_frame_copy(run, c->top);
    if (b.frame == NULL)
        return false;
    b.c.top = b.frame;
    if (!walk_names(&b, kind->n_names))
        return false;
    size_t n_open = kind->name_words * sizeof(uint32_t);
    size_t n_words = signature->n * sizeof *signature->words;
    size_t n_parts = b.parts.n * sizeof *b.parts.items;
    size_t n_ids = ((size_t)b.ids.n + b.cleared.n) * sizeof(uint32_t);
    tf_name_parts *kept = tf_cache_block(run->m, sizeof *kept + n_words + n_parts + n_ids + n_open);
    if (kept == NULL)
        return true;
    part *parts = (part *)(void *)((char *)(kept + 1) + n_words);
    uint32_t *ids = (uint32_t *)(void *)((char *)parts + n_parts), *cleared = ids + b.ids.n;
    uint32_t *open = cleared + b.cleared.n;
    memset(open, 0, n_open);
    if (!find_open(&b, open))
        return false;
    *kept = (tf_name_parts){NULL, b.parts.n, b.ids.n, b.cleared.n, signature->n, parts, ids,
                            cleared, open};
    memcpy(kept->words, signature->words, n_words);
    if (b.parts.n > 0)
        memcpy(parts, b.parts.items, n_parts);
    if (b.ids.n > 0)
        memcpy(ids, b.ids.items, b.ids.n * sizeof *ids);
    if (b.cleared.n > 0)
        memcpy(cleared, b.cleared.items, b.cleared.n * sizeof *cleared);
    const tf_name_parts *head = atomic_load_explicit(&kind->name_parts, memory_order_acquire);
    do /* two threads may make one list twice: they are equal */
        kept->next = head;
    while (!atomic_compare_exchange_weak_explicit(&kind->name_parts, &head, kept,
                                                  memory_order_release, memory_order_acquire));
    *made = kept;
    return true;
}

/* ---- and taken from ---- */

static const tf_name_parts *find(const tf_kind *kind, const tf_signature *signature, uint32_t *n)
{
    const tf_name_parts *list =
        atomic_load_explicit(&((tf_kind *)(uintptr_t)kind)->name_parts, memory_order_acquire);
    for (*n = 0; list != NULL; list = list->next, ++*n)
        if (list->n_words == signature->n &&
            memcmp(list->words, signature->words, signature->n * sizeof *list->words) == 0)
            return list;
    return NULL;
}

static bool any_to_come(const tf_name_parts *list, const tf_frame *frame, uint32_t low,
                        uint32_t high)
{
    for (uint32_t w = low / 32; w <= (high - 1) / 32; w++) {
        uint32_t bits = list->open[w] & ~frame->seen[w];
        if (w == low / 32)
            bits &= UINT32_MAX << (low & 31u);
        if (w == (high - 1) / 32)
            bits &= UINT32_MAX >> (31u - ((high - 1) & 31u));
        if (bits != 0)
            return true;
    }
    return false;
}

static bool take(tf_run *run, const tf_configuration *c, const tf_name_parts *list,
                 const uint32_t *ones, uint32_t n_ones, tf_edits *edits)
{
    for (uint32_t i = 0; i < list->n_parts; i++) {
        const part *at = &list->parts[i];
        if (!any_to_come(list, c->top, at->low, at->high))
            continue;
        if (at->quote != 0 && (at->alone || is_one(ones, n_ones, at->low))) {
            if (!tf_walk_closing(run, c, at->quote, at->low, &edits->set))
                return false;
        } else if (!tf_ids_add(&edits->set, run->arena, list->ids + at->first, at->n)) {
            return no_memory(run);
        }
    }
    return tf_run_spend(run);
}

bool tf_walk_name_parts(tf_run *run, const tf_configuration *c, int beside, bool *done,
                        tf_edits *edits)
{
    uint32_t ones[MOST_ONES], n_ones, n_lists;
    tf_signature signature;
    *done = false;
    if (c->mode != TF_IN_NAME)
        return true;
    const tf_kind *kind = c->top->kind;
    if (c->literal != TF_ON || c->pos != 0 || c->high != kind->n_names ||
        kind->n_names < FEW_NAMES || c->top->emitted != NULL || c->top->collects ||
        kind->names.literals[0].n_spelled == 0 || !tf_names_wanting(c->top, ones, MOST_ONES, &n_ones))
        return true;
    tf_signature_of_others(run->m, c, &signature);
    if (signature.n == 0)
        return true;
    const tf_name_parts *list = find(kind, &signature, &n_lists);
    if (list == NULL && n_lists == MOST_LISTS)
        return true;
    if (list == NULL && (!make(run, c, &signature, ones, n_ones, &list) || list == NULL))
        return run->call.status == TOKFSM_OK;
    *done = true;
    if (beside != TF_BESIDE_NOTHING &&
        !tf_ids_add(&edits->cleared, run->arena, list->cleared, list->n_cleared))
        return no_memory(run);
    return take(run, c, list, ones, n_ones, edits);
}
