/*
 * A matcher that cannot go back to its start copies what it can still reach into a store of its
 * own and drops the old one, once that is mostly dead. What forks share stays with them.
 *
 * In: the configurations within max_rollback, oldest first. Out: the same, pointing into fresh
 * memory, what they share copied once; texts are joined to a node for each place that something
 * points to. Where items are compared (unique.h) nothing is copied: their values are trees of
 * another kind, and most of them stay in reach.
 *
 * Cost: the live part, when at least as much was taken since: O(1) a token.
 *
 * Source: C. J. Cheney, A nonrecursive list compacting algorithm, CACM 13 (11), 1970 (the idea of
 * copying what is live; the lists here are walked from their newest end instead).
 */
#include "../engine/counters.h"
#include "../engine/text.h"
#include "matcher.h"

enum { MOST_NODES = 1024 };

typedef struct moved {
    const void *from;
    const void *to;
} moved;

typedef struct compaction {
    tf_arena *to;
    tf_arena scratch;
    moved *table; /* by address, open; `from` NULL: free */
    uint32_t n_moved, n_slots;
} compaction;

/* ---- what has been copied ---- */

static moved *slot_of(const compaction *c, const void *from)
{
    uint32_t at = (uint32_t)((uintptr_t)from >> 4) * 0x9E3779B1u;
    at ^= at >> 15;
    while (c->table[at & (c->n_slots - 1)].from != NULL &&
           c->table[at & (c->n_slots - 1)].from != from)
        at++;
    return &c->table[at & (c->n_slots - 1)];
}

static const void *moved_to(const compaction *c, const void *from) { return slot_of(c, from)->to; }

static bool note(compaction *c, const void *from, const void *to)
{
    if (to == NULL)
        return false;
    if (c->n_moved * 2 >= c->n_slots) {
        moved *old = c->table;
        uint32_t n_old = c->n_slots;
        c->n_slots *= 2;
        c->table = tf_arena_zero(&c->scratch, c->n_slots * sizeof *c->table);
        if (c->table == NULL)
            return false;
        for (uint32_t i = 0; i < n_old; i++)
            if (old[i].from != NULL)
                *slot_of(c, old[i].from) = old[i];
    }
    *slot_of(c, from) = (moved){from, to};
    c->n_moved++;
    return true;
}

/* ---- copies; false: no memory ---- */

static bool copy_block(compaction *c, const void **block, size_t n_bytes)
{
    const void *to = *block == NULL ? NULL : moved_to(c, *block);
    if (*block != NULL && to == NULL) {
        void *fresh = tf_arena_take(c->to, n_bytes);
        if (fresh != NULL)
            memcpy(fresh, *block, n_bytes);
        if (!note(c, *block, fresh))
            return false;
        to = fresh;
    }
    *block = to;
    return true;
}

static bool copy_bits(compaction *c, tf_bits *bits, uint32_t n_words)
{
    if (n_words <= 1)
        return true;
    const void *words = bits->words;
    bool copied = copy_block(c, &words, n_words * sizeof *bits->words);
    bits->words = words;
    return copied;
}

static bool copy_text(compaction *c, const tf_text **text)
{
    const tf_text *newest = *text, *known = newest;
    uint32_t n = 0;
    for (; known != NULL && moved_to(c, known) == NULL; known = known->previous)
        n += known->n;
    if (known == newest) {
        *text = newest == NULL ? NULL : moved_to(c, newest);
        return true;
    }
    tf_text *made = tf_arena_take(c->to, sizeof *made);
    uint8_t *bytes = n <= sizeof made->bytes && made != NULL ? made->bytes
                                                             : tf_arena_take(c->to, n);
    if (made == NULL || bytes == NULL)
        return false;
    made->previous = known == NULL ? NULL : moved_to(c, known);
    made->more = bytes == made->bytes ? NULL : bytes;
    made->length = newest->length;
    made->hash = newest->hash;
    made->n = n;
    for (const tf_text *part = newest; part != known; part = part->previous) {
        n -= part->n;
        memcpy(bytes + n, part->more != NULL ? part->more : part->bytes, part->n);
    }
    *text = made;
    return note(c, newest, made);
}

static bool copy_emitted(compaction *c, const tf_emitted **emitted)
{
    const tf_emitted *at = *emitted, **link = emitted;
    for (; at != NULL; at = at->previous) {
        const tf_emitted *known = moved_to(c, at);
        if (known != NULL) {
            *link = known;
            return true;
        }
        tf_emitted *made = tf_arena_take(c->to, sizeof *made);
        if (made == NULL)
            return false;
        *made = *at;
        if (!copy_text(c, &made->name) || !note(c, at, made))
            return false;
        *link = made;
        link = &made->previous;
    }
    return true;
}

static bool copy_frame(compaction *c, const tf_frame **frame)
{
    const tf_frame *at = *frame, **link = frame;
    for (; at != NULL; at = at->parent) {
        const tf_kind *kind = at->kind;
        const tf_frame *known = moved_to(c, at);
        if (known != NULL) {
            *link = known;
            return true;
        }
        size_t n_bytes = sizeof *at + kind->name_words * sizeof at->seen[0];
        tf_frame *made = tf_arena_take(c->to, n_bytes);
        if (made == NULL)
            return false;
        memcpy(made, at, n_bytes);
        const void *counts = made->counts;
        bool copied = copy_bits(c, &made->alive, kind->alternative_words) &&
                      copy_emitted(c, &made->emitted);
        if (copied && counts != NULL)
            copied = copy_block(c, &counts, kind->counting->n_counters * sizeof *made->counts);
        made->counts = counts;
        if (!copied || !note(c, at, made))
            return false;
        *link = made;
        link = &made->parent;
    }
    return true;
}

static bool copy_node(compaction *c, tf_node *node)
{
    tf_configuration *at = &node->c;
    at->item = NULL; /* nothing is collected */
    return copy_frame(c, &at->top) && copy_text(c, &at->text) &&
           (at->value == NULL || copy_bits(c, &at->alive, at->value->n_words));
}

/* ---- the matcher ---- */

/* Its configurations, oldest first, into nodes[0 .. n]; false: items are compared in one. */
static bool list_nodes(const tokfsm_matcher *matcher, tf_node *nodes, uint32_t n)
{
    tf_history back = tf_history_share(&matcher->history);
    bool neutral = true;
    char *unused;
    nodes[n] = *matcher->at;
    for (uint32_t i = n; i-- > 0;) {
        nodes[i] = nodes[i + 1];
        tf_history_pop(&back, &matcher->allocator, &nodes[i], &unused);
    }
    tf_history_free(&back, &matcher->allocator);
    for (uint32_t i = 0; i <= n; i++)
        neutral &= nodes[i].c.top == NULL || !nodes[i].c.top->collects;
    return neutral;
}

/* False: not now, or no memory; then nothing is changed. */
static bool compact(tokfsm_matcher *matcher, compaction *c, tf_store *fresh, tf_history *history)
{
    uint32_t n = matcher->at->n_accepted - matcher->floor;
    tf_node *nodes = tf_arena_take(&c->scratch, ((size_t)n + 1) * sizeof *nodes);
    c->n_slots = 64;
    c->table = tf_arena_zero(&c->scratch, c->n_slots * sizeof *c->table);
    if (nodes == NULL || c->table == NULL || !list_nodes(matcher, nodes, n))
        return false;
    c->to = &fresh->arena;
    for (uint32_t i = 0; i <= n; i++)
        if (!copy_node(c, &nodes[i]) ||
            (i > 0 && !tf_history_push(history, &matcher->allocator, &nodes[i - 1], &nodes[i],
                                       NULL, NULL)))
            return false;
    matcher->here = nodes[n];
    return true;
}

void tf_matcher_compact(tokfsm_matcher *matcher)
{
    const tokfsm_allocator *a = &matcher->allocator;
    size_t held = matcher->store->arena.n_bytes + matcher->history.n_bytes;
    matcher->held_most = held * 2;
    if (matcher->at->n_accepted - matcher->floor > MOST_NODES)
        return;
    tf_store *fresh = tf_store_new(a, NULL);
    if (fresh == NULL)
        return; /* it goes on as it is, and tries again later */
    compaction c = {0};
    tf_history history = {0};
    tf_arena_init(&c.scratch, a);
    if (compact(matcher, &c, fresh, &history)) {
        tf_store_release(matcher->store);
        tf_history_free(&matcher->history, a);
        matcher->store = fresh;
        matcher->history = history;
        held = fresh->arena.n_bytes + history.n_bytes;
        matcher->held_most = held * 2 < TF_LEAST_HELD ? TF_LEAST_HELD : held * 2;
    } else {
        tf_history_free(&history, a);
        tf_store_release(fresh);
    }
    tf_arena_free(&c.scratch);
}
