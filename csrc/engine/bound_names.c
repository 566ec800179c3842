#include "bound_names.h"

#include "frames.h"
#include "name_lists.h"
#include "text.h"

typedef struct usage {
    const tf_frame *frame;
    const uint8_t *start; /* of the name, before what the search adds */
    uint32_t n_start;
    const tf_known_name *but;
} usage;

/* Does the name's start and then these bytes make up the text? */
static bool is_text(const usage *u, const uint8_t *bytes, uint32_t n, const uint8_t *text,
                    uint32_t n_text)
{
    return n_text == u->n_start + n &&
           (u->n_start == 0 || memcmp(u->start, text, u->n_start) == 0) &&
           (n == 0 || memcmp(bytes, text + u->n_start, n) == 0);
}

static bool is_emitted(const usage *u, const uint8_t *bytes, uint32_t n, const tf_text *text)
{
    uint32_t length = text == NULL ? 0 : text->length;
    if (length != u->n_start + n)
        return false;
    for (; text != NULL; text = text->previous) {
        const uint8_t *chunk = text->more ? text->more : text->bytes;
        for (uint32_t i = 0; i < text->n; i++) {
            uint32_t at = text->length - text->n + i;
            if (chunk[i] != (at < u->n_start ? u->start[at] : bytes[at - u->n_start]))
                return false;
        }
    }
    return true;
}

static bool is_used(void *context, const uint8_t *bytes, uint32_t n)
{
    const usage *u = context;
    const tf_strings *names = &u->frame->kind->names;
    for (uint32_t i = 0; i < names->n_literals; i++)
        if (is_text(u, bytes, n, names->literals[i].text, names->literals[i].n_text))
            return true;
    for (const tf_emitted *e = u->frame->emitted; e != NULL; e = e->previous)
        if (is_emitted(u, bytes, n, e->name))
            return true;
    return u->but != NULL && u->but->text != NULL &&
           is_text(u, bytes, n, u->but->text, u->but->n);
}

/* Texts that is_used says yes to, at most. */
static uint64_t n_used(const tf_frame *frame)
{
    uint64_t n = (uint64_t)frame->kind->n_names + 1;
    for (const tf_emitted *e = frame->emitted; e != NULL; e = e->previous)
        n++;
    return n;
}

static void note_failure(tf_run *run, const tf_content_walker *walker)
{
    if (walker->failed && run->call.status == TOKFSM_OK)
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a bound");
}

typedef struct ending {
    const tf_configuration *c;
    uint32_t class;
    uint8_t *start; /* with room for one more character */
    uint32_t n_start;
    uint32_t cost;
    tf_known_name *name;
} ending;

/* From a state between characters, or inside one, whose text is e->start and `character`. */
static bool end_from(tf_run *run, ending *e, const tf_content_state *state,
                     const uint8_t *character, uint32_t n_character, uint32_t before)
{
    uint8_t *start = tf_arena_take(run->arena, (size_t)e->n_start + n_character + 1);
    uint32_t cost, n_text;
    const uint8_t *text;
    if (start == NULL) {
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a bound");
        return false;
    }
    if (e->n_start > 0)
        memcpy(start, e->start, e->n_start);
    if (n_character > 0)
        memcpy(start + e->n_start, character, n_character);
    usage u = {e->c->top, start, e->n_start + n_character, NULL};
    uint32_t n = tf_names_cheapest(run, state, e->class, is_used, &u, n_used(e->c->top), 1, &cost,
                                   &text, &n_text);
    if (n == 0 || tf_cost_add(cost, before) >= e->cost)
        return run->call.status == TOKFSM_OK;
    uint8_t *whole = tf_arena_take(run->arena, (size_t)u.n_start + n_text + 1);
    if (whole == NULL) {
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a bound");
        return false;
    }
    memcpy(whole, start, u.n_start);
    memcpy(whole + u.n_start, text, n_text);
    *e->name = (tf_known_name){whole, u.n_start + n_text};
    e->cost = tf_cost_add(cost, before);
    return true;
}

/* Whether some text that is_used says yes to begins with the start. */
static bool any_used_begins(tf_run *run, const tf_frame *frame, const uint8_t *start, uint32_t n)
{
    const tf_strings *names = &frame->kind->names;
    for (uint32_t i = 0; i < names->n_literals; i++)
        if (names->literals[i].n_text >= n && memcmp(names->literals[i].text, start, n) == 0)
            return true;
    for (const tf_emitted *e = frame->emitted; e != NULL; e = e->previous) {
        uint32_t length = e->name == NULL ? 0 : e->name->length;
        if (length < n)
            continue;
        tf_arena_mark mark = tf_arena_here(run->arena);
        uint8_t *text = tf_arena_take(run->arena, length);
        if (text == NULL)
            return false; /* what comes next takes memory, too */
        tf_text_copy(e->name, text);
        bool begins = memcmp(text, start, n) == 0;
        tf_arena_back(run->arena, mark);
        if (begins)
            return true;
    }
    return false;
}

/* Of characters that lead to the same state one is as good as another with which no used name
   begins. */
static bool end_escape(tf_run *run, void *context, const tf_escape_way *way)
{
    ending *e = context;
    if (!tf_word_bit(way->next->live, e->class))
        return false;
    for (uint32_t code = way->code; code <= way->last && run->call.status == TOKFSM_OK; code++) {
        uint8_t bytes[4];
        uint32_t n = tf_utf8(code, bytes);
        if (!tf_run_spend(run) || !end_from(run, e, way->next, bytes, n, way->n_bytes))
            return false;
        memcpy(e->start + e->n_start, bytes, n); /* there is room for a character */
        if (!any_used_begins(run, e->c->top, e->start, e->n_start + n))
            return false;
    }
    return false;
}

static bool any_emitted_begins(const tf_frame *frame, const tf_text *text)
{
    for (const tf_emitted *e = frame->emitted; e != NULL; e = e->previous)
        if (tf_text_begins(e->name, text))
            return true;
    return false;
}

/* The name's text so far, in one piece; NULL: no memory. */
static uint8_t *start_of(tf_run *run, const tf_configuration *c, const tf_text **text, uint32_t *n)
{
    *text = NULL;
    if (c->mode == TF_IN_NAME && !tf_name_text(run, c, text))
        return NULL;
    *n = *text == NULL ? 0 : (*text)->length;
    for (uint32_t i = 0; i < *n; i += 256) /* so that work is in proportion to units */
        if (!tf_run_spend(run))
            return NULL;
    uint8_t *start = tf_arena_take(run->arena, (size_t)*n + 5); /* a character may follow */
    if (start == NULL) {
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a bound");
        return NULL;
    }
    for (const tf_text *t = *text; t != NULL; t = t->previous)
        memcpy(start + t->length - t->n, t->more ? t->more : t->bytes, t->n);
    return start;
}

uint32_t tf_class_name_cost(tf_run *run, const tf_configuration *c, uint32_t class,
                            tf_known_name *name)
{
    const tf_content *content = c->top->kind->names.content;
    bool in = c->mode == TF_IN_NAME;
    const tf_text *text;
    uint32_t n_start;
    *name = (tf_known_name){NULL, 0};
    uint8_t *start = start_of(run, c, &text, &n_start);
    if (start == NULL)
        return TF_COST_NONE;
    ending e = {c, class, start, n_start, TF_COST_NONE, name};
    if (in && tf_in_escape(c) && tf_bytes_cost(run->m, TF_ESCAPE_BYTES) == TF_COST_NONE)
        return TF_COST_NONE;
    if (in && tf_in_escape(c)) {
        tf_content_escapes(run, c, end_escape, &e);
        return e.cost;
    }
    const tf_content_state *state = in ? c->content : content->start;
    if (state == NULL || !tf_word_bit(state->live, class))
        return TF_COST_NONE;
    if (in && c->literal == TF_OFF && !c->top->kind->counts && c->top->kind->counting == NULL &&
        !any_emitted_begins(c->top, text)) { /* no name can be met, and none is asked for */
        const uint32_t *cost = tf_content_cost(run->m, state, &run->call);
        return cost == NULL ? TF_COST_NONE : cost[class];
    }
    end_from(run, &e, state, NULL, 0, 0);
    return e.cost;
}

uint32_t tf_class_names_costs(tf_run *run, const tf_frame *frame, uint32_t class,
                              const tf_known_name *but, uint32_t n, uint32_t *costs)
{
    const tf_content_state *state = frame->kind->names.content->start;
    if (state == NULL || !tf_word_bit(state->live, class))
        return 0;
    usage u = {frame, NULL, 0, but};
    const uint8_t *text;
    uint32_t n_text;
    return tf_names_cheapest(run, state, class, is_used, &u, n_used(frame), n, costs, &text, &n_text);
}

/* ---- classes that are sets ---- */

typedef struct sets_ahead {
    tf_run *run;
    const tf_configuration *c;
    usage usage;
    uint64_t n_used; /* names that the text can still become, at most */
    uint32_t before; /* tokens to where the search begins */
    uint64_t *met;   /* classes */
    tf_scratch_words ahead;
    tf_set_visit visit;
    void *context;
    bool once, ended;
} sets_ahead;

/* Content states in the order in which they are met. */
typedef struct state_list {
    const tf_content_state **items;
    uint64_t *met; /* by state */
    uint32_t n, capacity, n_words, met_capacity;
} state_list;

static bool add_state(tf_run *run, state_list *list, const tf_content_state *state)
{
    for (; list->n_words <= state->id / 64; list->n_words++) {
        if (!tf_arena_grow(run->arena, (void **)&list->met, list->n_words, &list->met_capacity, 16,
                           sizeof *list->met))
            return false;
        list->met[list->n_words] = 0;
    }
    if (tf_word_bit(list->met, state->id))
        return true;
    tf_word_set(list->met, state->id);
    if (!tf_arena_grow(run->arena, (void **)&list->items, list->n, &list->capacity, 64,
                       sizeof *list->items))
        return false;
    list->items[list->n++] = state;
    return true;
}

/* Alternatives to which some class ahead of the state is open. */
static bool find_ahead(sets_ahead *s, const tf_content_state *from)
{
    tf_run *run = s->run;
    const tf_frame *frame = s->c->top;
    const uint64_t *alive = tf_frame_alive(frame);
    uint32_t n_words = frame->kind->alternative_words;
    state_list list = {0};
    bool ok = add_state(run, &list, from), all = false;
    memset(s->ahead.words, 0, n_words * sizeof *s->ahead.words);
    for (uint32_t i = 0; ok && i < list.n && !all; i++) {
        const tf_content_state *state = list.items[i];
        uint32_t class = state->inside ? 0 : tf_set_of_state(frame->kind, state);
        if (!state->inside && !tf_word_bit(s->met, class)) {
            tf_scratch_words open;
            tf_word_set(s->met, class);
            if (tf_other_open(run, frame, class, open.words))
                for (uint32_t w = 0; w < n_words; w++)
                    s->ahead.words[w] |= open.words[w];
            all = memcmp(s->ahead.words, alive, n_words * sizeof *alive) == 0;
        }
        for (uint32_t k = 0; ok && k < state->content->n_classes; k++) {
            if (state->content->class_cost[k] == TF_COST_NONE)
                continue;
            const tf_content_state *next = tf_content_next(run->m, state, k, &run->call);
            ok = next != NULL && (next == &tf_content_dead || add_state(run, &list, next)) &&
                 tf_run_spend(run);
        }
    }
    if (!ok && run->call.status == TOKFSM_OK)
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a bound");
    return run->call.status == TOKFSM_OK;
}

/* Of a text that can be used: its class, if it is new. True: go on. */
static bool meet_set(void *context, const tf_content_state *state, const uint8_t *bytes, uint32_t n,
                     uint32_t cost)
{
    sets_ahead *s = context;
    uint32_t class = tf_set_of_state(s->c->top->kind, state);
    if (tf_word_bit(s->met, class) || is_used(&s->usage, bytes, n))
        return true;
    tf_word_set(s->met, class);
    s->ended = s->visit(s->run, s->context, s->ahead.words, class, tf_cost_add(cost, s->before));
    return !s->ended;
}

static bool sets_from(sets_ahead *s, const tf_content_state *state)
{
    tf_run *run = s->run;
    const tf_kind *kind = s->c->top->kind;
    uint32_t n_words = tf_words_for(kind->n_others);
    s->met = tf_arena_zero(run->arena, n_words * sizeof *s->met);
    if (s->met == NULL) {
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a bound");
        return false;
    }
    if (!find_ahead(s, state))
        return false;
    if (!tf_words_any(s->ahead.words, kind->alternative_words))
        return true;
    memset(s->met, 0, n_words * sizeof *s->met);
    tf_content_walker walker = tf_content_walker_of(run);
    tf_name_each(&walker, state, s->n_used, meet_set, s);
    note_failure(run, &walker);
    return run->call.status == TOKFSM_OK;
}

static bool sets_behind_escape(tf_run *run, void *context, const tf_escape_way *way)
{
    sets_ahead *s = context;
    uint32_t n_start = s->usage.n_start;
    bool ok = true, used = true;
    s->before = way->n_bytes;
    for (uint32_t code = way->code; code <= way->last && ok && used && !(s->once && s->ended); code++) {
        s->usage.n_start = n_start + tf_utf8(code, (uint8_t *)(uintptr_t)s->usage.start + n_start);
        ok = tf_run_spend(run) && sets_from(s, way->next);
        used = any_used_begins(run, s->c->top, s->usage.start, s->usage.n_start);
    }
    s->usage.n_start = n_start;
    return !ok || (s->once && s->ended) || run->call.status != TOKFSM_OK;
}

bool tf_each_set_ahead(tf_run *run, const tf_configuration *c, bool once, tf_set_visit visit,
                       void *context)
{
    const tf_text *text;
    sets_ahead s = {.run = run, .c = c, .visit = visit, .context = context, .once = once};
    bool in = c->mode == TF_IN_NAME;
    uint8_t *start = start_of(run, c, &text, &s.usage.n_start);
    s.usage.frame = c->top;
    s.usage.start = start;
    if (start == NULL)
        return false;
    s.n_used = in && c->literal == TF_OFF ? 0 : c->top->kind->n_names;
    for (const tf_emitted *e = c->top->emitted; e != NULL; e = e->previous)
        s.n_used += tf_text_begins(e->name, text);
    if (!in || !tf_in_escape(c)) {
        const tf_content_state *state = in ? c->content : c->top->kind->names.content->start;
        return state == NULL || sets_from(&s, state);
    }
    if (tf_bytes_cost(run->m, TF_ESCAPE_BYTES) != TF_COST_NONE)
        tf_content_escapes(run, c, sets_behind_escape, &s);
    return run->call.status == TOKFSM_OK;
}
