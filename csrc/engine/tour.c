#include "tour.h"

#include "../vocab/traces.h"
#include "cache.h"
#include "step.h"

enum {
    UNITS = 3000000,       /* of work in all */
    MOST_NAMES = 256,      /* of an object */
    MOST_LITERALS = 64,    /* of an enumeration */
    MOST_PLACES = 4096,    /* containers, each in each surrounding that makes a difference */
    MOST_ITEMS = 12,
    MOST_NUMBERS = 24,     /* states of a number */
    MOST_CONTENTS = 256,   /* states of a content, at the first visit; half as many at each later one */
    FEW_CONTENTS = 12,
    N_VISITS = 256,
    ENTRY_BYTES = 48       /* of a mask, about, beside its ids */
};

typedef struct tour {
    tf_run run;
    size_t n_bytes; /* of masks made, about */
    size_t most_bytes;
    uint64_t n_masks;
    tf_configuration *places; /* [MOST_PLACES], where a container has begun, or goes on by another
                                 choice of alternatives */
    uint32_t n_places, next_place;
    uint8_t visits[N_VISITS]; /* of contents, by their ids; some share a place */
    uint64_t *known; /* [2 * MOST_PLACES] hashes of their signatures, open-addressed; 0: none */
} tour;

static bool goes_on(const tour *t)
{
    return t->run.call.status == TOKFSM_OK && t->n_bytes < t->most_bytes;
}

/* The mask of a place, kept; true: it was not there. */
static bool look(tour *t, const tf_configuration *c)
{
    tf_signature signature;
    tf_edits edits;
    uint64_t n_masks, n_bytes;
    if (!goes_on(t))
        return false;
    tf_signature_of(t->run.m, c, false, &signature);
    if (signature.n == 0) /* depends on what is written */
        return false;
    tf_arena_mark mark = tf_arena_here(t->run.arena);
    const bool made = tf_mask(&t->run, c, &edits);
    if (made) {
        tf_cache_count(t->run.m, &n_masks, &n_bytes);
        if (n_masks != t->n_masks)
            t->n_bytes += ENTRY_BYTES + edits.set.n + edits.before.n;
    } else {
        n_masks = t->n_masks;
    }
    const bool fresh = n_masks != t->n_masks;
    t->n_masks = n_masks;
    tf_arena_back(t->run.arena, mark);
    return fresh;
}

static void no_memory(tour *t)
{
    if (t->run.call.status == TOKFSM_OK)
        t->run.call.status = tf_fail(t->run.call.err, TOKFSM_E_NOMEM, "no memory for an artifact");
}

static bool feed(tour *t, tf_configuration *c, uint8_t byte) { return tf_step(&t->run, c, byte); }

/* White space that an exact layout demands before what comes next, with a look behind it. */
static void fill_gap(tour *t, tf_configuration *c)
{
    const uint32_t layout = t->run.m->options.whitespace;
    if (layout == TOKFSM_WHITESPACE_COMPACT || layout == TOKFSM_WHITESPACE_FLEXIBLE)
        return;
    for (uint64_t n = c->n;; n = c->n) {
        tf_configuration next = *c;
        if (!feed(t, &next, ' ') && (next = *c, !feed(t, &next, '\n')))
            break;
        *c = next;
        if (c->n == n)
            break;
    }
    if (c->n > 0)
        look(t, c);
}

/* Where a value can begin behind one space, as numbers do that a tokenizer cuts off it. */
static void look_spaced(tour *t, const tf_configuration *c)
{
    tf_configuration spaced = *c;
    if (t->run.m->options.whitespace == TOKFSM_WHITESPACE_FLEXIBLE && c->n == 0 &&
        c->gap != TF_GAP_OPEN && c->gap != TF_GAP_NONE && feed(t, &spaced, ' '))
        look(t, &spaced);
}

/* A literal as a tokenizer would cut it, with a look behind each token. */
static bool spell(tour *t, tf_configuration *c, const tf_literal *literal)
{
    uint32_t n = literal->n_spelled;
    for (uint32_t at = 0; at < n;) {
        uint32_t end = at + tf_longest_token(t->run.m->pack, literal->spelled + at, n - at);
        for (; at < end; at++)
            if (!feed(t, c, literal->spelled[at]))
                return false;
        look(t, c);
    }
    return true;
}

/* A container to be looked into later, unless one in the same surroundings is known. */
static void put_off(tour *t, const tf_configuration *c)
{
    tf_signature signature;
    if (t->n_places == MOST_PLACES)
        return;
    tf_signature_of(t->run.m, c, false, &signature);
    if (signature.n == 0)
        return;
    uint64_t hash = signature.hash | 1, at = signature.hash;
    for (; t->known[at % (2 * MOST_PLACES)] != 0; at++)
        if (t->known[at % (2 * MOST_PLACES)] == hash)
            return; /* of two that only seem alike one is left out */
    t->known[at % (2 * MOST_PLACES)] = hash;
    t->places[t->n_places++] = *c;
}

/* ---- values ---- */

static void tour_content(tour *t, const tf_configuration *open)
{
    const tf_content *content = open->content->content;
    uint8_t *visits = &t->visits[content->id % N_VISITS];
    uint32_t most = MOST_CONTENTS >> *visits;
    if (most > FEW_CONTENTS)
        ++*visits;
    else
        most = FEW_CONTENTS;
    tf_configuration *queue = tf_arena_take(t->run.arena, (most + 1) * sizeof *queue);
    if (queue == NULL) {
        no_memory(t);
        return;
    }
    uint32_t n = 0;
    queue[n++] = *open;
    for (uint32_t i = 0; i < n && goes_on(t); i++) {
        if (i > 0 && queue[i].sub == TF_STR_NORMAL)
            look(t, &queue[i]);
        for (uint32_t class = 0; class < content->n_classes && n <= most; class++) {
            const uint8_t byte = content->class_byte[class];
            tf_configuration next = queue[i];
            if (byte < ' ' || byte == '"' || byte == '\\' || !feed(t, &next, byte))
                continue;
            uint32_t k = 0;
            while (k < n && (queue[k].content != next.content || queue[k].sub != next.sub))
                k++;
            if (k == n)
                queue[n++] = next;
        }
    }
}

static void tour_string(tour *t, const tf_configuration *before)
{
    tf_configuration c = *before;
    if (!feed(t, &c, '"'))
        return;
    const tf_strings *s = c.at;
    look(t, &c);
    for (uint32_t i = 0; i < s->n_literals && i < MOST_LITERALS && goes_on(t); i++) {
        tf_configuration on = c;
        if (!spell(t, &on, &s->literals[i]) || !feed(t, &on, '"'))
            continue;
        look(t, &on);
        const tf_frame *top = before->top;
        if (top == NULL || on.top == top || on.mode != TF_AT_AFTER)
            continue;
        /* Which literal it is decides between alternatives. */
        put_off(t, &on);
    }
    if (s->n_breaks == 0)
        return;
    if (c.content != NULL)
        tour_content(t, &c);
    for (const char *first = "aA0"; *first != '\0'; first++) { /* on none of the literals */
        tf_configuration off = c;
        if (feed(t, &off, (uint8_t)*first) && off.literal == TF_OFF) {
            look(t, &off);
            return;
        }
    }
}

static void tour_number(tour *t, const tf_configuration *before)
{
    static const char bytes[] = "-0123456789.e+";
    tf_configuration *queue = tf_arena_take(t->run.arena, (MOST_NUMBERS + 1) * sizeof *queue);
    if (queue == NULL) {
        no_memory(t);
        return;
    }
    uint32_t n = 0;
    queue[n++] = *before;
    for (uint32_t i = 0; i < n && goes_on(t); i++) {
        if (i > 0)
            look(t, &queue[i]);
        for (const char *byte = bytes; *byte != '\0' && n <= MOST_NUMBERS; byte++) {
            tf_configuration next = queue[i];
            if (!feed(t, &next, (uint8_t)*byte) || next.mode != TF_IN_NUMBER)
                continue;
            uint32_t k = 1;
            while (k < n && queue[k].at != next.at)
                k++;
            if (k == n)
                queue[n++] = next;
        }
    }
}

/* All but what is in containers. *after: behind a value that has met all that is asked of it. */
static bool tour_value(tour *t, const tf_configuration *before, tf_configuration *after)
{
    if (before->value == NULL || !goes_on(t))
        return false;
    const bool fresh = look(t, before);
    tf_configuration begin = *before;
    fill_gap(t, &begin);
    if (fresh) {
        look_spaced(t, before);
        tour_string(t, &begin);
        tour_number(t, &begin);
        for (const char *bracket = "{["; *bracket != '\0'; bracket++) {
            tf_configuration inside = begin;
            if (feed(t, &inside, (uint8_t)*bracket))
                put_off(t, &inside);
        }
    }
    *after = begin;
    if (!tf_step_finish(&t->run, after, tf_words(&before->alive, before->value->n_words)))
        return false;
    look(t, after);
    return goes_on(t);
}

/* ---- containers ---- */

/* A declared name and its value, from where a name can come. `deep`: with looks on the way. */
static bool tour_member(tour *t, const tf_configuration *from, uint32_t name, bool deep,
                        tf_configuration *after)
{
    const tf_literal *literal = &from->top->kind->names.literals[name];
    tf_configuration c = *from;
    if (!feed(t, &c, '"'))
        return false;
    if (deep && !spell(t, &c, literal))
        return false;
    for (uint32_t i = 0; !deep && i < literal->n_spelled; i++)
        if (!feed(t, &c, literal->spelled[i]))
            return false;
    if (!feed(t, &c, '"'))
        return false;
    if (deep)
        look(t, &c);
    if (!feed(t, &c, ':'))
        return false;
    if (deep)
        return tour_value(t, &c, after);
    *after = c;
    return c.value != NULL &&
           tf_step_finish(&t->run, after, tf_words(&c.alive, c.value->n_words));
}

static void tour_other_name(tour *t, const tf_configuration *from)
{
    for (const char *first = "zqxZ_0/"; *first != '\0'; first++) {
        tf_configuration c = *from, after;
        if (!feed(t, &c, '"') || !feed(t, &c, (uint8_t)*first) || c.literal == TF_MAYBE ||
            (c.literal == TF_ON && c.low < c.high))
            continue;
        look(t, &c);
        if (c.content != NULL)
            tour_content(t, &c);
        if (feed(t, &c, '"')) {
            look(t, &c);
            if (feed(t, &c, ':'))
                tour_value(t, &c, &after);
            return;
        }
    }
}

/* The same place with one name less that is there; false: it would not be the same otherwise. */
static bool without(tour *t, const tf_configuration *c, uint32_t name, const tf_frame *first,
                    tf_configuration *less)
{
    const tf_kind *kind = c->top->kind;
    *less = *c;
    if (!tf_bit(c->top->seen, name))
        return true;
    if (!kind->names_apart || c->top->count < 2 ||
        memcmp(tf_frame_alive(c->top), tf_frame_alive(first),
               kind->alternative_words * sizeof(uint64_t)) != 0)
        return false;
    tf_frame *top = tf_frame_copy(&t->run, c->top);
    if (top == NULL)
        return false;
    tf_clear(top->seen, name);
    top->count--;
    less->top = top;
    return true;
}

/* More names, as far as they go; `required`: those that some alternative requires, else all. */
static void add_names(tour *t, tf_configuration *c, bool required)
{
    const tf_kind *kind = c->top->kind;
    for (uint32_t i = 0; i < kind->n_names && i < MOST_NAMES && goes_on(t); i++) {
        bool wanted = !required;
        for (uint32_t a = 0; a < kind->n_alternatives && !wanted; a++)
            wanted = tf_word_bit(tf_frame_alive(c->top), a) &&
                     tf_bit(kind->required + (size_t)a * kind->name_words, i);
        tf_configuration after;
        if (!wanted || tf_bit(c->top->seen, i) || !tour_member(t, c, i, false, &after) ||
            !feed(t, &after, ','))
            continue;
        *c = after;
        fill_gap(t, c);
    }
}

/* Every name from a place: behind those that are there, but for itself. */
static void tour_names(tour *t, const tf_configuration *c, const tf_frame *first)
{
    const tf_kind *kind = c->top->kind;
    for (uint32_t i = 0; i < kind->n_names && i < MOST_NAMES && goes_on(t); i++) {
        tf_configuration from, after;
        if (without(t, c, i, first, &from))
            tour_member(t, &from, i, true, &after);
    }
}

static void tour_object(tour *t, const tf_configuration *start)
{
    const tf_kind *kind = start->top->kind;
    tf_configuration c = *start, quote, next;
    look(t, &c);
    fill_gap(t, &c);
    quote = c;
    if (feed(t, &quote, '"'))
        look(t, &quote);
    /* The first one; behind one; behind those that are required; behind all others. */
    tour_names(t, &c, start->top);
    tour_other_name(t, &c);
    tf_configuration one = c;
    for (uint32_t i = 0; i < kind->n_names && i < MOST_NAMES && goes_on(t); i++) {
        tf_configuration after;
        if (tf_bit(one.top->seen, i) || !tour_member(t, &one, i, false, &after) ||
            !feed(t, &after, ','))
            continue;
        one = after;
        look(t, &one);
        fill_gap(t, &one);
        break;
    }
    if (one.top == c.top)
        return;
    tour_names(t, &one, start->top);
    tour_other_name(t, &one);
    for (int all = 0; all < 2; all++) {
        next = one;
        add_names(t, &next, !all);
        if (next.top == one.top)
            continue;
        look(t, &next);
        quote = next;
        if (feed(t, &quote, '"'))
            look(t, &quote);
        tour_names(t, &next, start->top);
        tour_other_name(t, &next);
        one = next;
    }
}

static void tour_array(tour *t, tf_configuration c)
{
    tf_configuration after;
    for (uint32_t i = 0; i < MOST_ITEMS; i++)
        if (!tour_value(t, &c, &after) || !feed(t, (c = after, &c), ','))
            return;
}

static void tour_place(tour *t, const tf_configuration *place)
{
    tf_configuration c = *place;
    if (c.mode == TF_AT_AFTER) {
        look(t, &c);
        if (!feed(t, &c, ','))
            return;
    }
    if (c.top->kind->is_object)
        tour_object(t, &c);
    else
        tour_array(t, c);
}

tokfsm_status tf_tour(tf_machine *m, size_t n_bytes, const tokfsm_cancel *cancel, tokfsm_error *err)
{
    tf_budget budget = {UNITS, UNITS, cancel};
    tokfsm_error local;
    tf_arena arena;
    if (!m->bytes_complete) /* masks are not kept */
        return TOKFSM_OK;
    tf_arena_init(&arena, &m->allocator);
    tour t = {.run = {.m = m, .arena = &arena, .call = {&budget, &local, TOKFSM_OK}},
              .most_bytes = n_bytes};
    t.places = tf_arena_take(&arena, MOST_PLACES * sizeof *t.places);
    t.known = tf_arena_zero(&arena, 2 * MOST_PLACES * sizeof *t.known);
    if (t.places == NULL || t.known == NULL) {
        tf_arena_free(&arena);
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for a tour");
    }
    uint64_t bytes_there;
    tf_cache_count(m, &t.n_masks, &bytes_there);
    tf_configuration start = tf_configuration_start(m), after;
    tour_value(&t, &start, &after);
    for (; t.next_place < t.n_places && goes_on(&t); t.next_place++)
        tour_place(&t, &t.places[t.next_place]);
    tokfsm_status status = t.run.call.status;
    tf_arena_free(&arena);
    if (status != TOKFSM_E_NOMEM && status != TOKFSM_E_CANCELLED)
        return TOKFSM_OK;
    if (err != NULL)
        *err = local;
    return status;
}
