/*
 * What it costs to bring a string's content to acceptance: shortest paths over content states
 * by single bytes, a character's bytes raw or in an escape. Places are states with the
 * characters so far, as far as the lengths asked for tell them apart. Those are taken up first
 * whose cost, with a token for each character that must still come, is least: most characters
 * cost just that, so that few places are taken up that do not lie on the way.
 * Sources: Dial, "Algorithm 360: shortest-path forest with topological ordering" (1969); Hart,
 * Nilsson, Raphael, "A Formal Basis for the Heuristic Determination of Minimum Cost Paths" (1968).
 */
#include "content.h"

#include "distances.h"
#include "text.h"

enum { N_BUCKETS = 16, SURROGATES = 12, ESCAPE = 6 }; /* the dearest step is a pair of surrogates */
enum { LONG = 64 }; /* places taken up: what a longer search has found is kept */

typedef struct place {
    const tf_content_state *state;
    uint64_t n_chars;
    uint32_t cost;
    uint32_t next; /* in its bucket; 1 + index */
    uint32_t from; /* 1 + index */
    bool done;
} place;

typedef struct search {
    tf_content_walker *walker;
    const tf_content *content;
    uint64_t least, most;
    uint32_t language;
    place *places;
    uint32_t n, capacity;
    uint32_t *slots; /* 1 + index of a place */
    uint32_t n_slots;
    uint64_t total; /* what the places that are taken up now cost, with what must still come */
    uint32_t n_waiting, n_taken;
    uint32_t buckets[N_BUCKETS];
    uint32_t best, best_at; /* the cheapest way that is known to the end, and a place on it, from
                               where on its cost was known before */
} search;

static uint32_t slot_of(const search *s, const tf_content_state *state, uint64_t n_chars)
{
    uint64_t hash = ((uint64_t)state->id * 0x9E3779B97F4A7C15u) ^ (n_chars * 0xC2B2AE3D27D4EB4Fu);
    uint32_t at = (uint32_t)(hash >> 32) & (s->n_slots - 1);
    while (s->slots[at] != 0) {
        const place *p = &s->places[s->slots[at] - 1];
        if (p->state == state && p->n_chars == n_chars)
            break;
        at = (at + 1) & (s->n_slots - 1);
    }
    return at;
}

static bool widen(search *s)
{
    uint32_t n_slots = s->n_slots == 0 ? 64 : s->n_slots * 2;
    uint32_t *slots = tf_arena_zero(s->walker->arena, n_slots * sizeof *slots);
    if (slots == NULL)
        return false;
    s->slots = slots;
    s->n_slots = n_slots;
    for (uint32_t i = 0; i < s->n; i++)
        slots[slot_of(s, s->places[i].state, s->places[i].n_chars)] = i + 1;
    return true;
}

/* Can the place still lead to a text of a length that will do? */
static bool hopeful(const search *s, const tf_content_state *state, uint64_t n_chars)
{
    return tf_content_meets(state, s->language, n_chars, s->least, s->most);
}

/* Characters that must still come, a token each at least. */
static uint64_t to_come(const search *s, const tf_content_state *state, uint64_t n_chars)
{
    uint64_t least = n_chars < s->least ? s->least - n_chars : 0;
    uint64_t shortest = state->lengths == NULL ? 0 : state->lengths[s->language]->shortest;
    return shortest > least && shortest != UINT64_MAX ? shortest : least;
}

/* One far ahead waits in the last bucket that is there, and is put off when its turn comes. */
static void enqueue(search *s, uint32_t index)
{
    place *p = &s->places[index - 1];
    uint64_t total = p->cost + to_come(s, p->state, p->n_chars), last = s->total + N_BUCKETS - 1;
    uint32_t *bucket = &s->buckets[(total < last ? total : last) % N_BUCKETS];
    p->next = *bucket;
    *bucket = index;
    s->n_waiting++;
}

static bool reach(search *s, const tf_content_state *state, uint64_t n_chars, uint32_t cost,
                  uint32_t from)
{
    if (!hopeful(s, state, n_chars))
        return true;
    if (s->most == UINT64_MAX && n_chars > s->least)
        n_chars = s->least; /* more are alike */
    if (s->n * 2 >= s->n_slots && !widen(s))
        return false;
    uint32_t slot = slot_of(s, state, n_chars);
    if (s->slots[slot] == 0) {
        if (!tf_arena_grow(s->walker->arena, (void **)&s->places, s->n, &s->capacity, 32,
                           sizeof *s->places))
            return false;
        s->places[s->n] = (place){state, n_chars, TF_COST_NONE, 0, 0, false};
        s->slots[slot] = ++s->n;
    }
    uint32_t index = s->slots[slot];
    place *p = &s->places[index - 1];
    if (p->done || cost >= p->cost)
        return true;
    if (p->cost != TF_COST_NONE) { /* it stands in a bucket already: a second entry */
        if (!tf_arena_grow(s->walker->arena, (void **)&s->places, s->n, &s->capacity, 32,
                           sizeof *s->places))
            return false;
        p = &s->places[index - 1];
        p->done = true; /* the old entry is void */
        place again = *p;
        again.done = false;
        s->places[s->n] = again;
        index = s->slots[slot] = ++s->n;
        p = &s->places[index - 1];
    }
    p->cost = cost;
    p->from = from;
    enqueue(s, index);
    return true;
}

/* Some lead byte of a character past ASCII is no token by itself: such characters may only be
   escaped. */
static bool leads_missing(const tf_machine *m)
{
    for (uint32_t byte = 0xC2; byte <= 0xF4; byte++)
        if (!tf_has_byte(m, (uint8_t)byte))
            return true;
    return false;
}

static const tf_content_state *step(tf_content_walker *w, const tf_content_state *state,
                                    uint32_t class)
{
    const tf_content_state *next = w->next(w->context, state, class);
    if (next == NULL)
        w->failed = true;
    return next == NULL || next == &tf_content_dead ? NULL : next;
}

/* Characters past ASCII, one of each run, as escapes. */
static bool reach_escaped(search *s, const place *from, uint32_t index)
{
    tf_content_walker *w = s->walker;
    static const char needed[] = "\\u0123456789abcdef";
    if (tf_bytes_cost(w->m, needed) == TF_COST_NONE)
        return true; /* then no place is better than without */
    for (uint32_t r = 0; r < s->content->n_runs && !w->failed; r++) {
        uint32_t code = s->content->run[r];
        if (r + 1 < s->content->n_runs && s->content->run[r + 1] <= 0x80)
            continue;
        code = code < 0x80 ? 0x80 : code;
        if (code >= 0xD800 && code < 0xE000)
            continue; /* no character; the run after begins at E000 */
        uint8_t bytes[4];
        uint32_t n = tf_utf8(code, bytes);
        const tf_content_state *next = from->state;
        for (uint32_t i = 0; i < n && next != NULL; i++)
            next = step(w, next, s->content->byte_class[bytes[i]]);
        uint32_t cost = code > 0xFFFF ? SURROGATES : ESCAPE;
        if (next != NULL && !reach(s, next, from->n_chars + 1, from->cost + cost, index + 1))
            return false;
    }
    return !w->failed;
}

static bool spread(search *s, uint32_t index, bool escape)
{
    tf_content_walker *w = s->walker;
    place from = s->places[index];
    for (uint32_t class = 0; class < s->content->n_classes; class++) {
        uint32_t cost = s->content->class_cost[class];
        if (cost == TF_COST_NONE)
            continue;
        const tf_content_state *next = step(w, from.state, class);
        if (w->failed)
            return false;
        if (next != NULL &&
            !reach(s, next, from.n_chars + !from.state->inside, from.cost + cost, index + 1))
            return false;
    }
    return !escape || from.state->inside || reach_escaped(s, &from, index);
}

/* What must and may still come behind a place. */
static void left(const search *s, const place *p, uint64_t *least, uint64_t *most)
{
    *least = p->n_chars < s->least ? s->least - p->n_chars : 0;
    *most = s->most == UINT64_MAX ? s->most : s->most - p->n_chars;
}

/* Whether a way from the place to the end is known; if so it is weighed. */
static bool is_known(search *s, uint32_t index)
{
    const place *p = &s->places[index];
    uint64_t least, most;
    uint32_t cost = 0;
    bool end = !p->state->inside && p->n_chars >= s->least && tf_word_bit(p->state->accepts, s->language);
    left(s, p, &least, &most);
    if (!end && (s->walker->memory == NULL ||
                 !tf_distances_find(s->walker->memory, p->state, s->language, least, most, &cost)))
        return false;
    cost = tf_cost_add(cost, p->cost);
    if (cost < s->best) {
        s->best = cost;
        s->best_at = index;
    }
    return true;
}

/* Places on the way, with what they have cost when it was found. */
static void keep_way(const search *s)
{
    uint32_t n = 0;
    for (uint32_t i = s->places[s->best_at].from; i != 0; i = s->places[i - 1].from)
        n++;
    tf_distance *kept = tf_distances_room(s->walker->memory, n);
    if (kept == NULL)
        return;
    n = 0;
    for (uint32_t i = s->places[s->best_at].from; i != 0; i = s->places[i - 1].from) {
        const place *p = &s->places[i - 1];
        kept[n] = (tf_distance){.state = p->state, .language = s->language,
                                .cost = s->best - p->cost};
        left(s, p, &kept[n].least, &kept[n].most);
        n++;
    }
    tf_distances_keep(s->walker->memory, kept, n);
}

/* Takes up the next place that waits; false: an error. */
static bool take_up(search *s, bool escape)
{
    uint32_t *bucket = &s->buckets[s->total % N_BUCKETS], index = *bucket;
    place *p = &s->places[index - 1];
    *bucket = p->next;
    s->n_waiting--;
    if (p->done)
        return true;
    if (p->cost + to_come(s, p->state, p->n_chars) > s->total) {
        enqueue(s, index);
        return true;
    }
    p->done = true;
    if (is_known(s, index - 1))
        return true;
    s->n_taken++;
    return s->walker->spend(s->walker->context) && spread(s, index - 1, escape);
}

uint32_t tf_content_distance(tf_content_walker *walker, const tf_content_state *state,
                             uint32_t language, uint64_t least, uint64_t most)
{
    bool inside = state->inside; /* the character begun is the first of those counted here */
    search s = {.walker = walker, .content = state->content, .least = least + inside,
                .most = most == UINT64_MAX ? most : most + inside, .language = language,
                .best = TF_COST_NONE};
    bool escape = walker->m->options.escapes != TOKFSM_ESCAPES_MINIMAL && leads_missing(walker->m);
    tf_arena_mark mark = tf_arena_here(walker->arena);
    s.total = to_come(&s, state, inside);
    bool ok = reach(&s, state, inside, 0, 0);
    for (; ok && s.n_waiting > 0 && (s.best == TF_COST_NONE || s.total < s.best); s.total++)
        while (ok && s.buckets[s.total % N_BUCKETS] != 0)
            ok = take_up(&s, escape);
    if (!ok)
        walker->failed = true;
    if (ok && s.best != TF_COST_NONE && s.n_taken > LONG && walker->memory != NULL)
        keep_way(&s);
    tf_arena_back(walker->arena, mark);
    return walker->failed ? TF_COST_NONE : s.best;
}

static const tf_content_state *run_next(void *context, const tf_content_state *state,
                                        uint32_t class)
{
    tf_run *run = context;
    return tf_content_next(run->m, state, class, &run->call);
}

static const uint32_t *run_cost(void *context, const tf_content_state *state)
{
    tf_run *run = context;
    return tf_content_cost(run->m, state, &run->call);
}

static bool run_spend(void *context) { return tf_run_spend(context); }

tf_content_walker tf_content_walker_of(tf_run *run)
{
    return (tf_content_walker){run->m, run->arena, run, run_next, run_cost, run_spend, run->m, false};
}

uint32_t tf_content_rest(tf_run *run, const tf_content_state *state, uint32_t language, uint64_t n,
                         uint64_t least, uint64_t most)
{
    if (!tf_content_meets(state, language, n, least, most))
        return TF_COST_NONE;
    if (least <= n && most == UINT64_MAX) {
        const uint32_t *cost = tf_content_cost(run->m, state, &run->call);
        return cost == NULL ? TF_COST_NONE : cost[language];
    }
    tf_content_walker walker = tf_content_walker_of(run);
    uint32_t cost = tf_content_distance(&walker, state, language, least > n ? least - n : 0,
                                        most == UINT64_MAX ? most : most - n);
    if (walker.failed && run->call.status == TOKFSM_OK)
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a bound");
    return cost;
}
