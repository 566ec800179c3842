#include "rehearse.h"

#include "../engine/step.h"
#include "../vocab/traces.h"

enum {
    UNITS = 80000,       /* of work in all */
    CONTENT_UNITS = 24000, /* ... inside strings with content */
    MOST_CHARS = 40,     /* of a text by which a content is explored */
    NEAR_NAMES = 4,
    MOST_NAMES = 128,    /* of an object */
    MOST_LITERALS = 4,   /* of an enumeration: one of them is what is written */
    MOST_PLACES = 256,   /* containers that wait */
    MOST_VISITS = 2,     /* of one position's containers */
    MOST_ALTERNATIVES = 4
};

typedef struct rehearsal {
    tf_build *b;
    tf_run run;
    uint32_t masks_left;
    uint32_t n_places, next_place;
    tf_configuration *places; /* [MOST_PLACES], where a container can begin */
    uint8_t *visits;          /* [n_visits], by the position's id */
    uint32_t n_visits;
    tf_budget content;
} rehearsal;

/* Whether there is something left to spend. */
static bool goes_on(const rehearsal *r)
{
    return r->masks_left > 0 && r->run.call.status == TOKFSM_OK;
}

static void look(rehearsal *r, const tf_configuration *c)
{
    tf_edits edits;
    if (!goes_on(r))
        return;
    r->masks_left--;
    tf_arena_mark mark = tf_arena_here(r->run.arena);
    tf_mask(&r->run, c, &edits);
    tf_arena_back(r->run.arena, mark);
}

static bool feed(rehearsal *r, tf_configuration *c, const uint8_t *bytes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!tf_step(&r->run, c, bytes[i]))
            return false;
    return true;
}

static bool feed_byte(rehearsal *r, tf_configuration *c, char byte)
{
    const uint8_t bytes[1] = {(uint8_t)byte};
    return feed(r, c, bytes, 1);
}

/* A literal as a tokenizer would cut it, with a look before each token and at the end. */
static bool spell(rehearsal *r, tf_configuration *c, const tf_literal *literal)
{
    uint32_t n = literal->n_spelled;
    for (uint32_t at = 0; at < n;) {
        uint32_t step = tf_longest_token(r->b->machine.pack, literal->spelled + at, n - at);
        look(r, c);
        if (!goes_on(r) || !feed(r, c, literal->spelled + at, step))
            return false;
        at += step;
    }
    look(r, c);
    return goes_on(r);
}

/* ---- contents ---- */

/* What strings of patterns and formats mostly look like; a pattern takes as much of it as it can. */
static const char *const typical_texts[] = {
    "2024-05-17T10:30:25Z", "john.doe@example.com", "https://www.example.com/path/page?q=1#top",
    "192.168.10.20", "123e4567-e89b-12d3-a456-426614174000", "my-name_1", "1.2.10", "14:45:10Z",
    "2023-11-08T12:00:00.5+01:00", "2001:db8::8a2e:370:7334", "2022-02-28T00:00:00",
};
/* ... and characters to go on with, those most likely first. */
static const char typical_chars[] = "a1-:/.@_Z A+T";

/*
 * Whether what stays in a string was looked up at this place before, by whatever schema: such a
 * look is most of the work of a mask.
 */
static bool is_known(const tf_configuration *c)
{
    tf_content_state *state = (tf_content_state *)(uintptr_t)c->content; /* an atomic is read */
    return state == NULL || atomic_load_explicit(&state->stay, memory_order_relaxed) != NULL;
}

static void look_at_new(rehearsal *r, const tf_configuration *c)
{
    if (!is_known(c))
        look(r, c);
}

/* Along a text, as far as the content takes it. */
static void follow_text(rehearsal *r, const tf_configuration *open, const char *text)
{
    tf_configuration c = *open;
    for (; *text != '\0' && goes_on(r) && feed_byte(r, &c, *text); text++)
        look_at_new(r, &c);
}

/* A character further: to a new place if there is one, else to another one. */
static bool go_on(rehearsal *r, tf_configuration *c)
{
    tf_configuration other;
    bool found = false;
    for (const char *at = typical_chars; *at != '\0'; at++) {
        tf_configuration next = *c;
        if (!feed_byte(r, &next, *at)) {
            if (!goes_on(r))
                return false;
            continue;
        }
        if (!is_known(&next)) {
            *c = next;
            return true;
        }
        if (!found && next.content != NULL && next.content != c->content) {
            other = next;
            found = true;
        }
    }
    if (found)
        *c = other;
    return found;
}

/* Places in a string whose content alone decides, once for all schemas that have the content. */
static void explore_content(rehearsal *r, const tf_configuration *open)
{
    tf_content *content = (tf_content *)(uintptr_t)open->content->content; /* an atomic is written */
    if (atomic_exchange_explicit(&content->rehearsed, true, memory_order_relaxed))
        return;
    for (size_t i = 0; i < sizeof typical_texts / sizeof *typical_texts; i++)
        follow_text(r, open, typical_texts[i]);
    tf_configuration c = *open;
    for (int n = 0; n < MOST_CHARS && goes_on(r) && go_on(r, &c); n++)
        look_at_new(r, &c);
}

/* Inside a string or name with content: its start, and places behind some characters. */
static void look_inside(rehearsal *r, const tf_configuration *open)
{
    look(r, open);
    if (open->content == NULL || !goes_on(r))
        return;
    if (open->mode == TF_IN_STRING && is_known(open)) { /* it is kept by states: walk_safe.c */
        tf_budget *all = r->run.call.budget;
        r->run.call.budget = &r->content;
        explore_content(r, open);
        r->run.call.budget = all;
        if (r->run.call.status == TOKFSM_E_LIMIT && r->content.left == 0)
            r->run.call.status = TOKFSM_OK;
        return;
    }
    for (const char *first = "aA0/"; *first != '\0'; first++) {
        tf_configuration c = *open;
        if (feed_byte(r, &c, *first)) {
            look(r, &c);
            return;
        }
    }
}

/* ---- values ---- */

/* The place behind a value that has met all that is asked of it; `inside`: some place in it. */
static bool finish(rehearsal *r, const tf_configuration *inside, const tf_configuration *before,
                   tf_configuration *after)
{
    *after = *inside;
    return tf_step_finish(&r->run, after, tf_words(&before->alive, before->value->n_words));
}

static bool rehearse_string(rehearsal *r, const tf_configuration *before, tf_configuration *after)
{
    tf_configuration open = *before;
    if (!feed_byte(r, &open, '"'))
        return false;
    const tf_strings *s = open.at;
    for (uint32_t i = 0; i < s->n_literals && i < MOST_LITERALS; i++) {
        tf_configuration c = open;
        if (!spell(r, &c, &s->literals[i]) && !goes_on(r))
            return false;
    }
    if (s->n_literals == 0)
        look_inside(r, &open);
    return finish(r, &open, before, after);
}

static bool rehearse_number(rehearsal *r, const tf_configuration *before, tf_configuration *after)
{
    static const char *const texts[] = {"1", "-1"};
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tf_configuration c = *before;
        if (!feed(r, &c, (const uint8_t *)texts[i], (uint32_t)strlen(texts[i])))
            continue;
        look(r, &c);
        return finish(r, &c, before, after);
    }
    return false;
}

static bool rehearse_literal(rehearsal *r, const tf_configuration *before, tf_configuration *after)
{
    bool found = false;
    for (const char *first = "tfn"; *first != '\0' && !found; first++) {
        tf_configuration c = *before;
        found = feed_byte(r, &c, *first) && finish(r, &c, before, after);
    }
    return found;
}

/* A container to be looked into later; false: there can be none. */
static bool put_off(rehearsal *r, const tf_configuration *before, char bracket,
                    tf_configuration *after)
{
    tf_configuration inside = *before;
    if (!feed_byte(r, &inside, bracket))
        return false;
    uint32_t id = before->value->id;
    if (r->n_places < MOST_PLACES && (id >= r->n_visits || r->visits[id] < MOST_VISITS)) {
        if (id < r->n_visits)
            r->visits[id]++;
        r->places[r->n_places++] = inside;
    }
    /* The frame around has the item begun. */
    tf_configuration around = *before;
    around.top = inside.top->parent;
    return finish(r, &around, before, after);
}

/* All but what is in containers; false: no value can be rehearsed, or nothing is left to spend. */
static bool rehearse_value(rehearsal *r, const tf_configuration *before, tf_configuration *after)
{
    look(r, before);
    if (before->value == NULL || !goes_on(r))
        return false;
    tf_configuration ends[5];
    const bool found[5] = {
        rehearse_string(r, before, &ends[0]), rehearse_number(r, before, &ends[1]),
        rehearse_literal(r, before, &ends[2]), put_off(r, before, '{', &ends[3]),
        put_off(r, before, '[', &ends[4])};
    for (int i = 0; i < 5; i++)
        if (found[i]) {
            *after = ends[i];
            if (i >= 2) /* tokens that end a string or a number mostly go on behind it */
                look(r, after);
            return goes_on(r);
        }
    return false;
}

/* ---- containers ---- */

typedef struct name_order {
    const tf_strings *names;
    uint32_t n;
    uint32_t items[MOST_NAMES];
} name_order;

static tokfsm_status note_name(void *context, const char *text, uint32_t n)
{
    name_order *order = context;
    const tf_literal *literals = order->names->literals;
    for (uint32_t i = 0; i < order->names->n_literals; i++)
        if (literals[i].n_text == n && (n == 0 || memcmp(literals[i].text, text, n) == 0)) {
            for (uint32_t k = 0; k < order->n; k++)
                if (order->items[k] == i)
                    return TOKFSM_OK;
            if (order->n < MOST_NAMES)
                order->items[order->n++] = i;
            return TOKFSM_OK;
        }
    return TOKFSM_OK;
}

static void rehearse_members(rehearsal *r, tf_configuration c, uint32_t alternative)
{
    const tf_kind *kind = c.top->kind;
    const tf_kind_build *build = kind->build;
    name_order order = {.names = &kind->names};
    tf_build *b = r->b;
    b->budget = r->run.call.budget;
    b->err = r->run.call.err;
    if (kind->n_names <= MOST_NAMES)
        r->run.call.status = tf_each_name(b, build->alternatives[alternative], note_name, &order);
    b->budget = NULL;
    b->err = NULL;
    if (kind->names.content != NULL) {
        tf_configuration open = c;
        if (feed_byte(r, &open, '"'))
            look_inside(r, &open);
    }
    for (uint32_t i = 0; i < order.n && goes_on(r); i++) {
        tf_configuration member = c, after;
        if (!feed_byte(r, &member, '"'))
            return;
        if (!spell(r, &member, &kind->names.literals[order.items[i]]) ||
            !feed(r, &member, (const uint8_t *)"\":", 2) || !rehearse_value(r, &member, &after))
            continue; /* not with those before it */
        if (!feed_byte(r, &after, ','))
            return;
        c = after;
        if (i < NEAR_NAMES) /* later ones are seldom met with the same names there */
            look(r, &c);
    }
}

static void rehearse_items(rehearsal *r, tf_configuration c)
{
    tf_configuration after;
    for (int i = 0; i < 2; i++)
        if (!rehearse_value(r, &c, &after) || !feed_byte(r, (c = after, &c), ','))
            return;
}

static void rehearse_places(rehearsal *r)
{
    for (; r->next_place < r->n_places && goes_on(r); r->next_place++) {
        const tf_configuration *c = &r->places[r->next_place];
        const tf_kind *kind = c->top->kind;
        if (c->top->collects) /* what is written matters */
            continue;
        if (!kind->is_object)
            rehearse_items(r, *c);
        for (uint32_t a = 0; kind->is_object && a < kind->n_alternatives && a < MOST_ALTERNATIVES; a++)
            if (tf_word_bit(tf_frame_alive(c->top), a))
                rehearse_members(r, *c, a);
    }
}

tokfsm_status tf_rehearse(tf_build *b, const tokfsm_cancel *cancel, tokfsm_error *err)
{
    tf_budget budget = {UNITS, UNITS, cancel};
    tokfsm_error local;
    tf_arena arena;
    if (!b->machine.bytes_complete) /* masks are not kept */
        return TOKFSM_OK;
    tf_arena_init(&arena, &b->arena.allocator);
    rehearsal r = {.b = b, .content = {CONTENT_UNITS, CONTENT_UNITS, cancel}, .run = {.m = &b->machine, .arena = &arena,
                                   .call = {&budget, &local, TOKFSM_OK}},
                   .masks_left = TF_REHEARSED_MASKS, .n_visits = (uint32_t)b->values.n};
    r.places = tf_arena_take(&arena, MOST_PLACES * sizeof *r.places);
    r.visits = tf_arena_zero(&arena, r.n_visits);
    if (r.places == NULL || r.visits == NULL) {
        tf_arena_free(&arena);
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory while compiling");
    }
    tf_configuration start = tf_configuration_start(&b->machine), after;
    rehearse_value(&r, &start, &after);
    rehearse_places(&r);
    tokfsm_status status = r.run.call.status;
    tf_arena_free(&arena);
    if (status != TOKFSM_E_NOMEM && status != TOKFSM_E_CANCELLED)
        return TOKFSM_OK;
    if (err != NULL)
        *err = local;
    return status;
}
