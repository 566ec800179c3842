/*
 * What must come: the longest text with which every completion begins, and the tokens that could
 * reach from such a text into what follows it.
 *
 * A byte is forced where the value is not complete and one byte alone can follow. Where every byte
 * is a token by itself, what a step takes is live. Else a byte that is no token, or behind which
 * single bytes do not lead to an end, can still come inside a longer token, begun there or before;
 * the trie tells.
 *
 * Cost: up to 256 steps a forced byte.
 */
#include "../engine/walk.h"
#include "../base/bits.h"
#include "matcher.h"

/* The trie's node for a text; 0: no token begins so. */
static uint32_t find(const tf_trie *trie, const uint8_t *text, size_t n)
{
    if (n == 0 || n > trie->depth || trie->n_nodes == 0)
        return 0;
    uint32_t node = trie->root[text[0]];
    for (size_t i = 1; i < n && node != 0; i++) {
        uint32_t end = trie->end[node], child = node + 1;
        while (child < end && trie->byte[child] < text[i])
            child = trie->end[child];
        node = child < end && trie->byte[child] == text[i] ? child : 0;
    }
    return node;
}

/* The nodes for the ends of a text, from the longest that a token can begin with. */
static size_t first_start(const tf_trie *trie, size_t n)
{
    return n > trie->depth ? n - trie->depth : 0;
}

/* Whether a token that begins somewhere in `text` and has its last byte in it, or goes on behind
   it, leads from there to a live place; `c` stands behind the text. */
static bool spelled(tokfsm_matcher *matcher, tf_run *run, const uint8_t *text, size_t n,
                    const tf_configuration *c)
{
    const tf_trie *trie = &run->m->pack->all;
    for (size_t start = first_start(trie, n); start < n; start++) {
        uint32_t node = find(trie, text + start, n - start);
        tf_ids ids = {0};
        if (node == 0)
            continue;
        if (!tf_walk_from(run, trie, node, c, &ids))
            return false;
        for (uint32_t i = 0; i < ids.n; i++)
            if (!tf_matcher_stops(matcher, ids.items[i]))
                return true;
    }
    return false;
}

typedef struct forced {
    tokfsm_matcher *matcher;
    tf_scratch_run s;
    uint8_t *bytes; /* the text so far, with room for one more */
    size_t n, capacity;
} forced;

/* Whether the byte is by itself a token that may come: then it, and what is behind it, is possible
   without a look at longer ones. */
static bool surely(forced *f, uint8_t byte, const tf_configuration *c)
{
    return tf_has_byte(f->s.run.m, byte) && tf_is_live(&f->s.run, c);
}

static bool possible(forced *f, uint8_t byte, const tf_configuration *c)
{
    if (surely(f, byte, c))
        return true;
    if (f->s.run.call.status != TOKFSM_OK)
        return false;
    f->bytes[f->n] = byte;
    return spelled(f->matcher, &f->s.run, f->bytes, f->n + 1, c);
}

/* The one byte that can follow, and *c behind it; -1: none, or several. */
static int next_byte(forced *f, tf_configuration *c)
{
    tf_run *run = &f->s.run;
    tf_configuration only = *c;
    int found = -1;
    for (int byte = 0; byte < 256; byte++) {
        tf_configuration next = *c;
        tf_arena_mark before = tf_arena_here(run->arena);
        f->s.budget.left = f->s.budget.limit; /* the limit is a step's, not the text's */
        bool taken = tf_step(run, &next, (uint8_t)byte) && possible(f, (uint8_t)byte, &next);
        if (run->call.status != TOKFSM_OK)
            return -1;
        if (!taken) {
            tf_arena_back(run->arena, before);
            continue;
        }
        if (found >= 0)
            return -1;
        found = byte;
        only = next;
    }
    *c = only;
    return found;
}

static tokfsm_status force(forced *f, size_t most, tokfsm_error *err)
{
    const tf_node *at = f->matcher->at;
    const tokfsm_allocator *a = &f->matcher->allocator;
    tf_scratch_begin(&f->s, f->matcher, err);
    tf_configuration c = at->c;
    while (!at->stopped && f->n < most && !tf_is_complete(&c)) {
        void *items = f->bytes;
        bool grown = tf_grow(a, &items, f->n, &f->capacity, sizeof *f->bytes);
        f->bytes = items;
        if (!grown)
            return tf_fail(err, TOKFSM_E_NOMEM, "no memory for forced text");
        int byte = next_byte(f, &c);
        if (byte < 0)
            return f->s.run.call.status;
        f->bytes[f->n++] = (uint8_t)byte;
    }
    return TOKFSM_OK;
}

tokfsm_status tokfsm_matcher_forced_bytes(tokfsm_matcher *matcher, size_t most, uint8_t **bytes,
                                          size_t *n_bytes, tokfsm_error *err)
{
    if (bytes == NULL || n_bytes == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "an argument is NULL");
    TF_TRY(tf_matcher_enter(matcher, err));
    forced f = {.matcher = matcher};
    tokfsm_status status = force(&f, most, err);
    tf_matcher_trim(matcher);
    tf_matcher_leave(matcher);
    if (status != TOKFSM_OK) {
        tf_release(&matcher->allocator, f.bytes);
        return status;
    }
    *bytes = f.bytes;
    *n_bytes = f.n;
    return TOKFSM_OK;
}

/* Where the next n bytes of a text lead; false: not allowed, or the run's status. */
static bool go(tf_scratch_run *s, tf_configuration *c, const uint8_t *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s->budget.left = s->budget.limit;
        if (!tf_step(&s->run, c, text[i]))
            return false;
    }
    return true;
}

static tokfsm_status crossing(tokfsm_matcher *matcher, const uint8_t *text, size_t n_text,
                              size_t n_ahead, uint32_t *ids, uint32_t *lengths, size_t capacity,
                              size_t *n_found, tokfsm_error *err)
{
    const tokfsm_pack *pack = matcher->automaton->pack;
    tf_scratch_run s;
    tf_scratch_begin(&s, matcher, err);
    tf_configuration c = matcher->at->c;
    *n_found = 0;
    if (matcher->at->stopped || !go(&s, &c, text + (n_text - n_ahead), n_ahead))
        return s.run.call.status;
    for (size_t start = first_start(&pack->all, n_text); start < n_text; start++) {
        uint32_t node = find(&pack->all, text + start, n_text - start);
        tf_ids found = {0};
        if (node == 0)
            continue;
        s.budget.left = s.budget.limit;
        if (!tf_walk_from(&s.run, &pack->all, node, &c, &found))
            return s.run.call.status;
        for (uint32_t i = 0; i < found.n; i++) {
            uint32_t n;
            tf_pack_token(pack, found.items[i], &n);
            if (n <= n_text - start || tf_matcher_stops(matcher, found.items[i]))
                continue;
            if (*n_found < capacity) {
                ids[*n_found] = found.items[i];
                lengths[*n_found] = (uint32_t)(n_text - start);
            }
            ++*n_found;
        }
    }
    return TOKFSM_OK;
}

tokfsm_status tokfsm_matcher_crossing(tokfsm_matcher *matcher, const uint8_t *text, size_t n_text,
                                      size_t n_ahead, uint32_t *ids, uint32_t *lengths,
                                      size_t capacity, size_t *n_found, tokfsm_error *err)
{
    if ((text == NULL && n_text > 0) || n_found == NULL ||
        ((ids == NULL || lengths == NULL) && capacity > 0))
        return tf_fail(err, TOKFSM_E_ARGUMENT, "an argument is NULL");
    if (n_ahead > n_text)
        return tf_fail(err, TOKFSM_E_RANGE, "%zu bytes of %zu", n_ahead, n_text);
    TF_TRY(tf_matcher_enter(matcher, err));
    size_t n = 0;
    tokfsm_status status =
        crossing(matcher, text, n_text, n_ahead, ids, lengths, capacity, &n, err);
    tf_matcher_trim(matcher);
    tf_matcher_leave(matcher);
    if (status == TOKFSM_OK)
        *n_found = n;
    return status;
}
