#include "cache.h"

#include "../base/bits.h"
#include "../vocab/traces.h"
#include "content.h"
#include "counters.h"
#include "emitted.h"
#include "far.h"
#include "frames.h"
#include "kept_masks.h"

enum { N_BUCKETS = 1024 };

typedef struct entry {
    struct entry *next;
    uint64_t hash;
    tf_edits edits;
    uint64_t most; /* of a far signature: the greatest length */
    uint32_t n_words, outer, order;
    uint64_t words[]; /* the signature; the ids of the edits follow it */
} entry;

typedef struct block {
    struct block *next;
    max_align_t bytes[];
} block;

struct tf_cache {
    atomic_ullong n_masks, n_bytes;
    _Atomic(block *) blocks;
    _Atomic(entry *) buckets[N_BUCKETS];
};

/* ---- signatures ---- */

static void put(tf_signature *s, uint64_t word)
{
    if (s->n < TF_MAX_SIGNATURE)
        s->words[s->n] = word;
    s->n++;
}

static void put_words(tf_signature *s, const uint64_t *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        put(s, words[i]);
}

/* Beyond this many characters or items no token reaches. */
static uint64_t reach(const tf_machine *m) { return (uint64_t)m->pack->max_token_bytes + 1; }

/* Characters so far, as far as a break of the outcome is within a token's reach. */
static uint64_t clipped_length(const tf_machine *m, const tf_configuration *c)
{
    const tf_strings *s = c->at;
    uint32_t i = s->n_breaks;
    uint64_t n = c->n;
    if (i > 1 && s->content != NULL)
        return n; /* what the content admits can depend on a length far off: far.h */
    while (i > 1 && s->breaks[i - 1].from > n)
        i--;
    if (i < s->n_breaks && s->breaks[i].from - n <= reach(m))
        return n;
    return UINT64_MAX - i;
}

/* Members so far, the same: where none of the limits is within reach, no number of them matters. */
static uint64_t clipped_members(const tf_machine *m, const tf_frame *frame)
{
    const tf_kind *kind = frame->kind;
    uint64_t near = reach(m), n = frame->count, met = 0;
    if (!kind->counts)
        return n > 0;
    if (kind->counting != NULL || kind->rank != NULL || kind->n_alternatives > 32)
        return n;
    const uint64_t *alive = tf_frame_alive(frame);
    for (uint32_t a = tf_words_next(alive, kind->alternative_words, 0); a != UINT32_MAX;
         a = tf_words_next(alive, kind->alternative_words, a + 1)) {
        uint64_t min = kind->min_items[a], max = kind->max_items[a];
        if ((n < min && min - n <= near) ||
            (max != UINT64_MAX && n + tf_still_required(frame, a, kind->n_names) + near >= max))
            return n;
        met = met * 2 + (n >= min);
    }
    return UINT64_MAX ^ met << 1 ^ (n > 0);
}

/* What is counted, the same: where nothing has a greatest number only what is wanting matters. */
static uint64_t clipped_counter(const tf_machine *m, const tf_frame *frame, uint32_t k)
{
    const tf_kind *kind = frame->kind;
    uint64_t n = frame->counts == NULL ? 0 : frame->counts[k], min = kind->counting->counters[k].min;
    if (kind->is_object || !kind->counting->endless)
        return n;
    return n >= min ? UINT64_MAX : min - n > reach(m) ? UINT64_MAX - 1 : n;
}

/* Items so far, as far as something changes within a token's reach. */
static uint64_t clipped_count(const tf_machine *m, const tf_frame *frame)
{
    const tf_kind *kind = frame->kind;
    uint64_t near = reach(m), n = frame->count;
    if (kind->is_object)
        return clipped_members(m, frame);
    if (kind->counting != NULL) /* how many items are left decides what they may be */
        near += kind->counting->span;
    uint32_t class = tf_item_class(kind, n);
    if (class + 1 < kind->n_classes && kind->first[class + 1] - n <= near)
        return n;
    if (n < kind->first[class] + 1)
        return n; /* the next item is the first of its class */
    const uint64_t *alive = tf_frame_alive(frame);
    uint64_t met = 0;
    for (uint32_t a = tf_words_next(alive, kind->alternative_words, 0); a != UINT32_MAX;
         a = tf_words_next(alive, kind->alternative_words, a + 1)) {
        uint64_t min = kind->min_items[a];
        if (n < min && min - n <= near)
            return n;
        met = met * 2 + (n >= min);
        if (kind->n_alternatives > 32)
            return n;
    }
    return (UINT64_MAX - class) ^ met << 16;
}

/* Whether what is emitted in `frame`, c's or one around it, which is something, matters to the mask
   of c. */
static bool emitted_matters(const tf_machine *m, const tf_configuration *c, const tf_frame *frame)
{
    const tf_content *content = frame->kind->names.content;
    const bool counted = content != NULL && content->has_counts;
    if (frame->kind->name_sets > 0 || (counted && !tf_emitted_few(frame)))
        return true; /* how many names are left */
    if (c->mode == TF_IN_NAME && frame == c->top)
        return counted || tf_names_meet(m, &frame->kind->names) || tf_emitted_ahead(m, c);
    return tf_emitted_whole(frame);
}

void tf_cache_kind(const tf_machine *m, tf_kind *kind)
{
    const tf_vocab_facts *facts = &m->pack->traces->facts;
    const tf_strings *names = &kind->names;
    kind->names_apart = 0;
    if (!kind->is_object || kind->counts || kind->rank != NULL || kind->counting != NULL ||
        kind->name_sets > 0 || (names->content != NULL && names->content->has_counts) ||
        names->hard_names || facts->names_pair)
        return;
    for (uint32_t i = 0; i < kind->n_names; i++) {
        uint8_t first = names->literals[i].n_spelled == 0 ? '"' : names->literals[i].spelled[0];
        if (tf_word_bit(facts->after_comma, first))
            return;
    }
    kind->names_apart = 1;
}

/*
 * How many members of a set of names are wanting: none, one, more. A name that is being written can
 * be the one; then it matters which one that is.
 */
enum { WANTING_NONE, WANTING_MORE, WANTING_ONE /* + its index */ };
enum { FEW_ALTERNATIVES = 8 };
#define ANY_LENGTH (UINT64_MAX / 2) /* in the place of a length */
#define RAW_NAMES UINT64_MAX /* in the place of what is left */
#define STAYS UINT64_MAX     /* in the place of the mode */

/* What is wanting once one of the names low .. high - 1 is there, too. */
static uint64_t wanting(uint32_t n, uint32_t one, uint32_t low, uint32_t high)
{
    if (n == 1 && one >= low && one < high)
        return WANTING_ONE + (uint64_t)one;
    return n == 0 ? WANTING_NONE : WANTING_MORE;
}

static uint32_t lowest_bit(uint32_t bits)
{
    uint32_t i = 0;
    while (!(bits >> i & 1u))
        i++;
    return i;
}

/* Of declared names that may still come in alternative a; false: an edge is not made. */
static bool find_left(const tf_frame *frame, uint32_t a, uint32_t low, uint32_t high, uint64_t *left)
{
    const tf_kind *kind = frame->kind;
    uint32_t n = 0, one = 0;
    for (uint32_t w = 0; w < kind->name_words && n < 2; w++) {
        uint32_t bits = ~frame->seen[w];
        if (w == kind->n_names / 32)
            bits &= ((uint32_t)1 << (kind->n_names & 31u)) - 1;
        for (; bits != 0 && n < 2; bits &= bits - 1) {
            uint32_t i = w * 32 + lowest_bit(bits);
            const tf_edge *edge = atomic_load_explicit(&kind->edges[i], memory_order_acquire);
            if (edge == NULL)
                return false;
            if (!tf_word_bit(edge->admits, a))
                continue;
            one = i;
            n++;
        }
    }
    *left = wanting(n, one, low, high);
    return true;
}

/* Of the names that alternative a requires. */
static uint64_t find_required(const tf_frame *frame, uint32_t a, uint32_t low, uint32_t high)
{
    const tf_kind *kind = frame->kind;
    const uint32_t *required = kind->required + (size_t)a * kind->name_words;
    uint32_t n = 0, one = 0;
    for (uint32_t w = 0; w < kind->name_words && n < 2; w++)
        for (uint32_t bits = required[w] & ~frame->seen[w]; bits != 0 && n < 2; bits &= bits - 1) {
            one = w * 32 + lowest_bit(bits);
            n++;
        }
    return wanting(n, one, low, high);
}

/*
 * Names that are there. Where no token spells the beginning of the next one together with what is
 * before it, they matter only through which alternatives may close and whether a name is left;
 * and in a name, which of those that it can become are there. False: they are to be put whole.
 */
static bool put_names(const tf_configuration *c, const tf_frame *frame, tf_signature *s)
{
    const tf_kind *kind = frame->kind;
    const uint64_t *alive = tf_frame_alive(frame);
    bool top = frame == c->top, in_name = top && c->mode == TF_IN_NAME && c->literal == TF_ON;
    uint32_t low = in_name ? c->low : 0, high = in_name ? c->high : 0;
    if (!kind->names_apart || kind->n_alternatives > FEW_ALTERNATIVES ||
        (top && c->mode == TF_AT_NAME && !c->others_only))
        return false;
    uint64_t wanted[FEW_ALTERNATIVES];
    for (uint32_t a = 0; a < kind->n_alternatives; a++) {
        uint64_t left = WANTING_MORE;
        if (tf_word_bit(alive, a) && !find_left(frame, a, low, high, &left))
            return false;
        wanted[a] = left << 32 | find_required(frame, a, low, high);
    }
    put_words(s, wanted, kind->n_alternatives);
    for (uint32_t w = low / 32; low < high && w <= (high - 1) / 32; w++) {
        uint32_t bits = frame->seen[w];
        if (w == low / 32)
            bits &= UINT32_MAX << (low & 31u);
        if (w == (high - 1) / 32)
            bits &= UINT32_MAX >> (31u - ((high - 1) & 31u));
        put(s, bits);
    }
    return true;
}

bool tf_names_wanting(const tf_frame *frame, uint32_t *names, uint32_t most, uint32_t *n)
{
    const tf_kind *kind = frame->kind;
    *n = 0;
    if (!kind->names_apart || kind->n_alternatives > FEW_ALTERNATIVES)
        return false;
    for (uint32_t a = 0; a < kind->n_alternatives; a++) {
        uint64_t left;
        if (!tf_word_bit(tf_frame_alive(frame), a))
            continue;
        if (!find_left(frame, a, 0, kind->n_names, &left))
            return false;
        const uint64_t wanted[2] = {left, find_required(frame, a, 0, kind->n_names)};
        for (int i = 0; i < 2; i++) {
            if (wanted[i] < WANTING_ONE)
                continue;
            if (*n == most)
                return false;
            names[(*n)++] = (uint32_t)(wanted[i] - WANTING_ONE);
        }
    }
    return true;
}

/*
 * The member or item begun last matters through its value's obligations, where there are several,
 * and through what it counts for; before its value comes it is that value.
 */
static uint64_t edge_word(const tf_configuration *c, const tf_frame *frame)
{
    const tf_edge *edge = frame->edge;
    bool of_place = frame == c->top && c->mode == TF_AT_COLON;
    bool over = frame == c->top && (c->mode == TF_AT_NAME || c->mode == TF_IN_NAME ||
                                    c->mode == TF_AT_AFTER);
    const uint64_t this_one = edge == NULL ? 0 : 2 + (uint64_t)edge->index;
    if (edge == NULL || frame->kind->counting != NULL)
        return this_one;
    bool one = edge->value != NULL && edge->value->n == 1;
    if (of_place) /* the value is not known otherwise */
        return one && frame->kind->n_alternatives == 1 ? UINT64_MAX - edge->value->id : this_one;
    return over || one ? 1 : this_one;
}

static void put_frames(const tf_machine *m, const tf_configuration *c, tf_signature *s)
{
    const tf_frame *frame = c->top;
    for (uint32_t i = 0; i <= m->pack->max_closes; i++, frame = frame->parent) {
        if (i == 1)
            s->outer = s->n;
        if (frame == NULL) {
            put(s, 0);
            return;
        }
        const tf_kind *kind = frame->kind;
        if (frame->emitted != NULL && emitted_matters(m, c, frame)) {
            s->n = TF_MAX_SIGNATURE + 1; /* depends on what was written */
            return;
        }
        put(s, 1 + (uint64_t)kind->id);
        put(s, edge_word(c, frame));
        put(s, clipped_count(m, frame));
        put_words(s, tf_frame_alive(frame), kind->alternative_words);
        for (uint32_t k = 0; kind->counting != NULL && k < kind->counting->n_counters; k++)
            put(s, clipped_counter(m, frame, k));
        if (kind->rank != NULL)
            put(s, frame->last);
        if (m->options.whitespace == TOKFSM_WHITESPACE_INDENT)
            put(s, frame->depth);
        if (put_names(c, frame, s))
            continue;
        put(s, RAW_NAMES);
        for (uint32_t w = 0; w < kind->name_words; w += 2)
            put(s, frame->seen[w] |
                       (uint64_t)(w + 1 < kind->name_words ? frame->seen[w + 1] : 0) << 32);
    }
}

static void hash_words(tf_signature *s)
{
    uint64_t hash = s->n;
    for (uint32_t i = 0; i < s->n; i++) {
        hash = (hash ^ s->words[i]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    s->hash = hash;
}

void tf_signature_of(const tf_machine *m, const tf_configuration *c, bool neutral, tf_signature *s)
{
    s->n = 0;
    s->far = false;
    bool string = c->mode == TF_IN_STRING || c->mode == TF_IN_NAME;
    if (c->top != NULL && c->top->collects && !(string && neutral))
        return; /* depends on what was written */
    if (!m->bytes_complete || (string && c->literal == TF_MAYBE) ||
        (c->mode == TF_IN_NAME && c->literal == TF_OFF && tf_names_meet(m, c->at)))
        return;
    /* What an earlier place has left behind is not put. */
    bool gap = c->mode == TF_AT_VALUE || c->mode == TF_AT_NAME;
    bool value = c->mode == TF_AT_VALUE || c->mode == TF_IN_STRING || c->mode == TF_IN_NUMBER ||
                 c->mode == TF_IN_LITERAL;
    put(s, c->mode | (uint64_t)c->others_only << 32 | (gap ? (uint64_t)c->gap << 8 : 0) |
               (string ? (uint64_t)c->sub << 16 | (uint64_t)c->literal << 24 : 0));
    if (value && c->value != NULL) {
        put(s, c->value->id);
        put_words(s, tf_words(&c->alive, c->value->n_words), c->value->n_words);
    }
    if (string) {
        const tf_strings *strings = c->at;
        bool any = tf_content_far(m, c); /* length will do */
        s->length_at = s->n;
        s->length = c->n;
        s->far = !any && c->mode == TF_IN_STRING && strings->n_breaks > 1 &&
                 strings->content != NULL && tf_far_eligible(c);
        put(s, c->mode == TF_IN_NAME ? 0
               : any                 ? ANY_LENGTH
               : s->far              ? UINT64_MAX - tf_break_at(strings, c->n)
                                     : clipped_length(m, c));
        put(s, c->sub == TF_STR_NORMAL ? 0 : c->hex);
        if (strings->content != NULL)
            put(s, c->content == NULL ? 0 : 1 + (uint64_t)c->content->id);
        if (c->literal == TF_ON) {
            put(s, c->low | (uint64_t)c->high << 32);
            put(s, c->pos);
        }
    } else {
        put(s, c->mode == TF_IN_NUMBER ? 0 : c->n);
        put(s, c->mode == TF_IN_LITERAL ? c->low : 0);
        put(s, c->mode == TF_IN_NUMBER ? ((const tf_nstate *)c->at)->id : 0);
    }
    s->outer = 0;
    put_frames(m, c, s);
    if (s->n > TF_MAX_SIGNATURE) {
        s->n = 0;
        s->far = false;
        return;
    }
    hash_words(s);
}

void tf_signature_of_others(const tf_machine *m, const tf_configuration *c, tf_signature *s)
{
    tf_configuration others = *c;
    others.others_only = 1;
    if (c->mode == TF_IN_NAME)
        others.literal = TF_OFF;
    tf_signature_of(m, &others, false, s);
}

void tf_signature_of_stay(const tf_content_state *state, const uint64_t *languages, uint32_t n_words,
                          tf_signature *s)
{
    s->n = s->outer = 0;
    s->far = false;
    put(s, STAYS);
    put(s, state->content->id);
    put(s, state->id);
    put_words(s, languages, n_words);
    if (s->n > TF_MAX_SIGNATURE)
        s->n = 0;
    else
        hash_words(s);
}

void tf_signature_near(tf_signature *s)
{
    s->far = false;
    s->words[s->length_at] = s->length;
    hash_words(s);
}

/* ---- the table ---- */

static bool find_kept(tf_machine *m, tf_arena *arena, const tf_signature *s, tf_edits *edits)
{
    uint64_t most;
    if (m->kept == NULL || s->n == 0 || !tf_kept_find(m, arena, s, &most, edits))
        return false;
    tf_cache_keep(m, s, most, false, edits);
    return true;
}

bool tf_cache_find(tf_machine *m, tf_arena *arena, const tf_signature *s, tf_edits *edits)
{
    tf_cache *cache = atomic_load_explicit(&m->cache, memory_order_acquire);
    if (cache == NULL || s->n == 0)
        return find_kept(m, arena, s, edits);
    const entry *e =
        atomic_load_explicit(&cache->buckets[s->hash % N_BUCKETS], memory_order_acquire);
    for (; e != NULL; e = e->next)
        if (e->hash == s->hash && e->n_words == s->n && (!s->far || s->length <= e->most) &&
            memcmp(e->words, s->words, s->n * sizeof *s->words) == 0) {
            tf_edits_copy(edits, &e->edits);
            return true;
        }
    return find_kept(m, arena, s, edits);
}

const tf_cached *tf_cache_list(const tf_machine *m, tf_arena *arena, uint32_t *n)
{
    tf_cache *cache = atomic_load_explicit(&((tf_machine *)(uintptr_t)m)->cache,
                                           memory_order_acquire);
    uint64_t n_masks = cache == NULL ? 0 : atomic_load(&cache->n_masks);
    tf_cached *list = tf_arena_take(arena, (size_t)n_masks * sizeof *list);
    *n = 0;
    for (uint32_t i = 0; list != NULL && cache != NULL && i < N_BUCKETS; i++)
        for (const entry *e = atomic_load_explicit(&cache->buckets[i], memory_order_relaxed);
             e != NULL; e = e->next)
            list[(*n)++] = (tf_cached){e->words, &e->edits, e->hash, e->most, e->n_words, e->outer,
                                       e->order};
    return list;
}

static tf_cache *cache_of(tf_machine *m, const tokfsm_allocator *a)
{
    tf_cache *cache = atomic_load_explicit(&m->cache, memory_order_acquire);
    if (cache != NULL)
        return cache;
    tf_cache *fresh = tf_allocate(a, sizeof *fresh);
    if (fresh == NULL) {
        atomic_store_explicit(&m->masks_lost, 1, memory_order_relaxed);
        return NULL;
    }
    memset(fresh, 0, sizeof *fresh);
    if (atomic_compare_exchange_strong_explicit(&m->cache, &cache, fresh, memory_order_acq_rel,
                                                memory_order_acquire))
        return fresh;
    tf_release(a, fresh); /* another thread was first */
    return cache;
}

void *tf_cache_block(tf_machine *m, size_t n_bytes)
{
    const tokfsm_allocator *a = &m->allocator;
    tf_cache *cache = cache_of(m, a);
    if (cache == NULL || atomic_load_explicit(&cache->n_bytes, memory_order_relaxed) + n_bytes >
                             m->limits.automaton_bytes)
        return NULL;
    block *made = tf_allocate(a, sizeof *made + n_bytes);
    if (made == NULL) {
        atomic_store_explicit(&m->masks_lost, 1, memory_order_relaxed);
        return NULL;
    }
    made->next = atomic_load_explicit(&cache->blocks, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&cache->blocks, &made->next, made,
                                                  memory_order_release, memory_order_relaxed))
        ;
    atomic_fetch_add_explicit(&cache->n_bytes, sizeof *made + n_bytes, memory_order_relaxed);
    return made->bytes;
}

static uint32_t *copy_ids(tf_ids *to, const tf_ids *from, uint32_t *room)
{
    to->items = room;
    to->n = to->capacity = from->n;
    if (from->n > 0)
        memcpy(room, from->items, from->n * sizeof *room);
    return room + from->n;
}

void tf_cache_keep(tf_machine *m, const tf_signature *s, uint64_t most, bool as_row,
                   const tf_edits *edits)
{
    if (s->n == 0)
        return;
    const tokfsm_allocator *a = &m->allocator;
    tf_cache *cache = cache_of(m, a);
    if (cache == NULL)
        return;
    size_t n_ids = (size_t)edits->before.n + edits->cleared.n + edits->set.n;
    as_row = as_row && n_ids > m->pack->n_words; /* less to keep, and far less to write */
    if (as_row)
        n_ids = m->pack->n_words;
    size_t n_bytes = sizeof(entry) + s->n * sizeof *s->words + n_ids * sizeof(uint32_t);
    if (atomic_load_explicit(&cache->n_bytes, memory_order_relaxed) + n_bytes >
        m->limits.automaton_bytes)
        return;
    entry *e = tf_allocate(a, n_bytes);
    if (e == NULL) {
        atomic_store_explicit(&m->masks_lost, 1, memory_order_relaxed);
        return;
    }
    e->hash = s->hash;
    e->n_words = s->n;
    e->outer = s->outer;
    e->edits = *edits;
    e->most = most;
    e->order = (uint32_t)atomic_fetch_add_explicit(&cache->n_masks, 1, memory_order_relaxed);
    memcpy(e->words, s->words, s->n * sizeof *s->words);
    uint32_t *room = (uint32_t *)(e->words + s->n);
    if (as_row) {
        tf_edits_apply(edits, room, m->pack->n_words);
        e->edits = (tf_edits){.base = room};
    } else {
        room = copy_ids(&e->edits.before, &edits->before, room);
        room = copy_ids(&e->edits.cleared, &edits->cleared, room);
        copy_ids(&e->edits.set, &edits->set, room);
    }
    _Atomic(entry *) *bucket = &cache->buckets[s->hash % N_BUCKETS];
    e->next = atomic_load_explicit(bucket, memory_order_relaxed);
    /* Two threads may keep one mask twice: the entries are equal, and the first one is found. */
    while (!atomic_compare_exchange_weak_explicit(bucket, &e->next, e, memory_order_release,
                                                  memory_order_relaxed))
        ;
    atomic_fetch_add_explicit(&cache->n_bytes, n_bytes, memory_order_relaxed);
}

void tf_cache_free(tf_machine *m, const tokfsm_allocator *allocator)
{
    tf_cache *cache = atomic_load_explicit(&m->cache, memory_order_acquire);
    if (cache == NULL)
        return;
    for (uint32_t i = 0; i < N_BUCKETS; i++)
        for (entry *e = atomic_load_explicit(&cache->buckets[i], memory_order_relaxed); e != NULL;) {
            entry *next = e->next;
            tf_release(allocator, e);
            e = next;
        }
    for (block *one = atomic_load_explicit(&cache->blocks, memory_order_relaxed); one != NULL;) {
        block *next = one->next;
        tf_release(allocator, one);
        one = next;
    }
    tf_release(allocator, cache);
}

void tf_cache_count(const tf_machine *m, uint64_t *n_masks, uint64_t *n_bytes)
{
    tf_cache *cache = atomic_load_explicit(&((tf_machine *)(uintptr_t)m)->cache,
                                           memory_order_acquire);
    *n_masks = cache == NULL ? 0 : atomic_load(&cache->n_masks);
    *n_bytes = cache == NULL ? 0 : atomic_load(&cache->n_bytes) + sizeof *cache;
}
