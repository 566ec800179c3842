#include "unique.h"

#include "../base/bits.h"
#include "counters.h"

/* ---- an item ends ---- */

static bool set_twins(tf_run *run, tf_frame *frame, uint32_t a)
{
    uint32_t n_words = frame->kind->alternative_words;
    tf_scratch_words words;
    memset(words.words, 0, n_words * sizeof *words.words);
    if (n_words == 1)
        words.words[0] = frame->twins.word;
    else if (frame->twins.words != NULL)
        memcpy(words.words, frame->twins.words, n_words * sizeof *words.words);
    tf_word_set(words.words, a);
    return tf_bits_keep(run, words.words, n_words, &frame->twins);
}

/* Whether item i may be one of the pair's two items. */
static bool stands_for(uint32_t place, uint32_t tail, uint64_t i)
{
    return place < tail ? i == place : i >= tail;
}

bool tf_twins_last_chance(const tf_frame *frame, uint32_t a)
{
    const tf_twins *twins = &frame->kind->twins[a];
    uint64_t i = frame->count - 1;
    if (twins->second < twins->tail)
        return i == twins->second;
    return i >= twins->tail && frame->count >= frame->kind->max_items[a];
}

/* What `frame`, which has just got an item, does to alternatives `kept`. */
static bool compare_items(tf_run *run, tf_frame *frame, uint64_t *kept)
{
    const tf_kind *kind = frame->kind;
    const tf_item *item = frame->children->value;
    uint64_t i = frame->count - 1, k = i;
    tf_scratch_words found; /* alternatives that have their two items with this one */
    memset(found.words, 0, kind->alternative_words * sizeof *found.words);
    bool any = false;
    for (const tf_child *other = frame->children->previous; other != NULL; other = other->previous) {
        k--;
        if (other->value->hash != item->hash || !tf_item_equal(run, other->value, item)) {
            if (run->call.status != TOKFSM_OK)
                return false;
            continue;
        }
        any = true;
        for (uint32_t a = 0; kind->twins != NULL && a < kind->n_alternatives; a++) {
            const tf_twins *t = &kind->twins[a];
            if (t->second != TF_NONE && stands_for(t->first, t->tail, k) &&
                stands_for(t->second, t->tail, i))
                tf_word_set(found.words, a);
        }
    }
    for (uint32_t a = tf_words_next(kept, kind->alternative_words, 0); a != UINT32_MAX;
         a = tf_words_next(kept, kind->alternative_words, a + 1)) {
        bool dies = false;
        if (kind->unique != NULL && tf_word_bit(kind->unique, a)) {
            dies = any || (kind->matched != NULL && tf_word_bit(kind->matched, a) &&
                           !tf_match_items(run, frame, a));
        } else if (kind->twins != NULL && tf_twins_wanting(frame, a)) {
            if (!tf_word_bit(found.words, a))
                dies = tf_twins_last_chance(frame, a);
            else if (!set_twins(run, frame, a))
                return false;
        }
        if (dies)
            kept[a >> 6] &= ~((uint64_t)1 << (a & 63u));
    }
    return run->call.status == TOKFSM_OK;
}

bool tf_unique_finish(tf_run *run, tf_configuration *c, const uint64_t *outcome)
{
    const tf_frame *frame = c->top;
    const tf_kind *kind = frame->kind;
    uint32_t n_words = kind->alternative_words;
    const uint64_t *counts;
    tf_scratch_words kept;
    memset(kept.words, 0, n_words * sizeof *kept.words);
    if (!tf_count_child(run, frame, outcome, kept.words, &counts))
        return false;
    tf_frame *copy = tf_frame_copy(run, frame);
    if (copy == NULL || !tf_item_add(run, copy, c->item))
        return false;
    copy->counts = counts;
    c->item = NULL;
    if ((kind->unique != NULL || kind->twins != NULL) && !copy->unchecked && run->searching < 2 &&
        !compare_items(run, copy, kept.words))
        return false;
    c->top = copy;
    return tf_words_any(kept.words, n_words) &&
           tf_bits_keep(run, kept.words, n_words, &copy->alive);
}

/* ---- while an item goes on ---- */

enum { TYPED = 1 << 30 }; /* all that is written is as it is */

bool tf_item_at_hand(const tf_configuration *c, const tf_frame *frame)
{
    if (frame != c->top)
        return true;
    switch (c->mode) {
    case TF_AT_VALUE: return c->gap != TF_GAP_OPEN;
    case TF_IN_STRING:
    case TF_IN_NUMBER:
    case TF_IN_LITERAL: return true;
    default: return false;
    }
}

static bool is_watched(const tf_frame *frame)
{
    const tf_kind *kind = frame->kind;
    if ((kind->unique == NULL && kind->twins == NULL) || frame->unchecked)
        return false;
    const uint64_t *alive = tf_frame_alive(frame);
    uint32_t n_words = kind->alternative_words;
    if (kind->unique != NULL && frame->children != NULL && tf_words_meet(kind->unique, alive, n_words))
        return true;
    if (kind->matched != NULL && tf_words_meet(kind->matched, alive, n_words))
        return true;
    for (uint32_t a = 0; kind->twins != NULL && a < kind->n_alternatives; a++)
        if (tf_word_bit(alive, a) && tf_twins_wanting(frame, a) && tf_twins_last_chance(frame, a))
            return true;
    return false;
}

const tf_frame *tf_unique_watch(const tf_configuration *c)
{
    const tf_frame *outermost = NULL;
    for (const tf_frame *frame = c->top; frame != NULL && frame->collects; frame = frame->parent)
        if (tf_item_at_hand(c, frame) && is_watched(frame))
            outermost = frame;
    return outermost;
}

/* Whether the item at hand of `frame` can still come to be equal to an earlier one. */
static bool may_be_equal(tf_run *run, const tf_configuration *c, const tf_frame *frame)
{
    for (const tf_child *child = frame->children; child != NULL; child = child->previous)
        if (tf_item_reachable(run, c, frame, child->value, TYPED))
            return true;
    return false;
}

bool tf_unique_apart(tf_run *run, const tf_configuration *c)
{
    for (const tf_frame *frame = c->top; frame != NULL && frame->collects; frame = frame->parent) {
        if (!tf_item_at_hand(c, frame) || !is_watched(frame))
            continue;
        if (frame->kind->twins != NULL || frame->kind->matched != NULL ||
            may_be_equal(run, c, frame))
            return false;
    }
    return run->call.status == TOKFSM_OK;
}

/* Whether some alternative of `frame` lives only if its item at hand is equal to an earlier one;
   *all: every one that is alive does. */
static bool wants_twin(const tf_configuration *c, const tf_frame *frame, bool *all)
{
    bool some = false;
    *all = true;
    if (frame->kind->twins == NULL || frame->unchecked || !tf_item_at_hand(c, frame)) {
        *all = false;
        return false;
    }
    for (uint32_t a = 0; a < frame->kind->n_alternatives; a++) {
        if (!tf_word_bit(tf_frame_alive(frame), a))
            continue;
        bool last = tf_twins_wanting(frame, a) && tf_twins_last_chance(frame, a);
        some |= last;
        *all &= last;
    }
    return some;
}

/* By writing the item at hand of some frame to its end so that it is equal to an earlier one. */
static bool some_twin_fits(tf_run *run, const tf_configuration *c, const tf_frame *watch,
                           tf_search *search)
{
    for (const tf_frame *frame = c->top; frame != NULL && frame->depth >= watch->depth;
         frame = frame->parent) {
        bool all;
        if (!wants_twin(c, frame, &all))
            continue;
        for (const tf_child *child = frame->children; child != NULL; child = child->previous) {
            *search = (tf_search){.start = c, .base = watch->depth, .of = frame,
                                  .target = child->value};
            if (tf_search_run(run, search))
                return true;
            if (run->call.status != TOKFSM_OK)
                return false;
        }
    }
    return false;
}

/* A copy of c from `watch` on, without the alternatives that need a twin now; false: none is
   left, or no memory. */
static bool without_twins(tf_run *run, const tf_configuration *c, const tf_frame *watch,
                          tf_configuration *rest)
{
    uint32_t n = c->top->depth - watch->depth + 1;
    const tf_frame **frames = tf_arena_take(run->arena, n * sizeof *frames);
    if (frames == NULL) {
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for an item");
        return false;
    }
    const tf_frame *at = c->top;
    for (uint32_t i = n; i-- > 0; at = at->parent)
        frames[i] = at;
    *rest = *c;
    const tf_frame *parent = watch->parent;
    tf_bits asked = {0}; /* obligations of the frame's own position */
    for (uint32_t i = 0; i < n; i++) {
        const tf_kind *kind = frames[i]->kind;
        tf_scratch_words alive;
        memset(alive.words, 0, kind->alternative_words * sizeof *alive.words);
        for (uint32_t a = 0; a < kind->n_alternatives; a++) {
            if (!tf_word_bit(tf_frame_alive(frames[i]), a))
                continue;
            if (i > 0 && !tf_words_meet(kind->outcome[a], tf_words(&asked, kind->value->n_words),
                                        kind->value->n_words))
                continue;
            if (kind->twins != NULL && tf_item_at_hand(c, frames[i]) &&
                tf_twins_wanting(frames[i], a) && tf_twins_last_chance(frames[i], a))
                continue;
            tf_word_set(alive.words, a);
        }
        tf_frame *copy = tf_frame_copy(run, frames[i]);
        if (copy == NULL || !tf_words_any(alive.words, kind->alternative_words) ||
            !tf_bits_keep(run, alive.words, kind->alternative_words, &copy->alive))
            return false;
        copy->parent = parent;
        parent = copy;
        if (copy->edge != NULL && copy->edge->value != NULL &&
            !tf_edge_obligations(run, copy, copy->edge,
                                 kind->is_object     ? copy->last - 1
                                 : copy->count == 0 ? 0
                                                    : copy->count - 1,
                                 alive.words,
                                 &asked))
            return false;
    }
    rest->top = parent;
    if (c->mode == TF_IN_STRING || c->mode == TF_IN_NUMBER || c->mode == TF_IN_LITERAL ||
        (c->mode == TF_AT_VALUE && c->value != NULL)) {
        tf_scratch_words met;
        tf_meet(met.words, tf_words(&asked, c->value->n_words),
                tf_words(&c->alive, c->value->n_words), c->value->n_words);
        return tf_words_any(met.words, c->value->n_words) &&
               tf_bits_keep(run, met.words, c->value->n_words, &rest->alive);
    }
    return true;
}

/* A way to the end of the item at hand of `watch`, by searching; *twins: some alternative needs
   two equal items now. */
static bool find(tf_run *run, const tf_configuration *c, const tf_frame *watch, bool *twins,
                 tf_search *search)
{
    bool all = false;
    *twins = false;
    for (const tf_frame *frame = c->top; frame != NULL && frame->depth >= watch->depth;
         frame = frame->parent) {
        bool here;
        *twins |= wants_twin(c, frame, &here);
        all |= here;
    }
    if (*twins && some_twin_fits(run, c, watch, search))
        return true;
    if (all || run->call.status != TOKFSM_OK)
        return false;
    tf_configuration rest = *c;
    if (*twins && !without_twins(run, c, watch, &rest))
        return false;
    *search = (tf_search){.start = &rest, .base = watch->depth};
    return tf_search_run(run, search);
}

/* The item at hand of `frame` made equal to an earlier one, where that helps an alternative. */
static bool aim(tf_run *run, const tf_configuration *c, const tf_frame *frame, uint32_t base,
                tf_search *search)
{
    const tf_kind *kind = frame->kind;
    uint64_t i = frame->count - 1, k = i;
    for (const tf_child *child = frame->children; child != NULL; child = child->previous) {
        bool helps = false;
        k--;
        for (uint32_t a = 0; a < kind->n_alternatives && !helps; a++) {
            const tf_twins *t = &kind->twins[a];
            helps = tf_word_bit(tf_frame_alive(frame), a) && tf_twins_wanting(frame, a) &&
                    stands_for(t->first, t->tail, k) && stands_for(t->second, t->tail, i);
        }
        if (!helps || !tf_item_reachable(run, c, frame, child->value, TYPED))
            continue;
        *search = (tf_search){.start = c, .base = base, .of = frame, .target = child->value};
        if (tf_search_run(run, search) && tf_unique_alive(run, &search->end))
            return true;
        if (run->call.status != TOKFSM_OK)
            return false;
    }
    return false;
}

bool tf_unique_way(tf_run *run, const tf_configuration *c, bool *applies, tf_configuration *end,
                   uint32_t *n_bytes)
{
    const tf_frame *watch = tf_unique_watch(c);
    tf_search search = {0};
    bool found = true, must = false, all;
    *applies = false;
    for (const tf_frame *frame = c->top; frame != NULL && frame->collects && !*applies;
         frame = frame->parent) {
        if (frame->kind->twins == NULL || !tf_item_at_hand(c, frame))
            continue;
        uint32_t base = watch != NULL && watch->depth < frame->depth ? watch->depth : frame->depth;
        *applies = aim(run, c, frame, base, &search);
        must |= wants_twin(c, frame, &all);
    }
    if (!*applies && must && run->call.status == TOKFSM_OK)
        found = find(run, c, watch, applies, &search);
    *applies |= must;
    *end = search.end;
    *n_bytes = search.n_bytes;
    return found && run->call.status == TOKFSM_OK;
}

bool tf_unique_path(tf_run *run, const tf_configuration *c, tf_search *search)
{
    const tf_frame *watch = tf_unique_watch(c);
    bool twins;
    search->path = NULL;
    if (watch == NULL || tf_room_suffices(run, c, watch))
        return run->call.status == TOKFSM_OK;
    return find(run, c, watch, &twins, search);
}

bool tf_unique_alive(tf_run *run, const tf_configuration *c)
{
    if (c->top == NULL || !c->top->collects || run->searching ||
        (!run->m->bytes_complete && !run->exact))
        return run->call.status == TOKFSM_OK;
    const tf_frame *watch = tf_unique_watch(c);
    if (watch == NULL || tf_room_suffices(run, c, watch))
        return run->call.status == TOKFSM_OK;
    tf_arena_mark mark = tf_arena_here(run->arena);
    bool twins;
    tf_search search;
    bool found = find(run, c, watch, &twins, &search);
    tf_arena_back(run->arena, mark);
    return found && run->call.status == TOKFSM_OK;
}

bool tf_unique_live(tf_run *run, const tf_configuration *c)
{
    if (c->literals_only && c->mode == TF_IN_STRING)
        return true;
    return tf_unique_alive(run, c);
}

bool tf_unique_pairs(tf_machine *m, tf_arena *arena)
{
    const tf_trie *quote = &m->pack->quote;
    uint32_t n_ids = quote->n_nodes == 0 ? 0 : quote->first[quote->n_nodes];
    uint32_t *pairs = tf_arena_zero(arena, m->pack->n_words * sizeof *pairs);
    uint32_t *whole = tf_arena_zero(arena, m->pack->n_words * sizeof *whole);
    if (pairs == NULL || whole == NULL)
        return false;
    for (uint32_t i = 0; i < n_ids; i++) {
        uint32_t n, at = 0;
        const uint8_t *bytes = tf_pack_token(m->pack, quote->ids[i], &n);
        while (at < n && bytes[at] != '"')
            at++;
        while (at < n && bytes[at] != ',')
            at++;
        for (at++; at < n && (bytes[at] == ' ' || (bytes[at] >= '\t' && bytes[at] <= '\r')); at++)
            ;
        if (at < n)
            tf_set(pairs, quote->ids[i]);
        if (at < n && (bytes[at] != '"' || memchr(bytes + at + 1, '"', n - at - 1) != NULL))
            tf_set(whole, quote->ids[i]);
    }
    m->pairs = pairs;
    m->whole_pairs = whole;
    return true;
}
