/*
 * The completion bound: for each obligation of the value in progress the tokens that finish
 * it, then frame by frame outwards: an alternative of the parent costs what its obligation
 * costs plus the rest of the frame. Every term is the cost of something that can be written,
 * and each has a first token after which the term is less by one, so the sum has too.
 */
#include <stdlib.h>

#include "../base/bits.h"
#include "bound_members.h"
#include "text.h"

typedef struct costs {
    uint32_t of[TF_MAX_ALTERNATIVES];
} costs;

static void keep_less(uint32_t *slot, uint32_t cost)
{
    if (cost < *slot)
        *slot = cost;
}

static void none(costs *c, uint32_t n) { memset(c->of, 0xFF, n * sizeof *c->of); }

/* The value in progress, whose costs by obligation are `value` (NULL: not begun), and the rest. */
static uint32_t value_and_rest(tf_run *run, const tf_frame *frame, uint32_t a, const costs *value)
{
    uint32_t best = TF_COST_NONE;
    const uint32_t *signs = tf_edge_signs(frame->kind, frame->edge, a);
    for (uint32_t s = 0; s < 1u << tf_n_counters(frame->kind, a); s++) {
        if (signs[s] == TF_NONE)
            continue;
        uint32_t cost = value == NULL ? tf_edge_cost(run, frame, frame->edge, a, s) : value->of[signs[s]];
        if (cost < best)
            keep_less(&best, tf_cost_add(cost, tf_rest_after(run, frame, a, TF_NONE, 0, false, 0, s, NULL)));
    }
    return best;
}

/*
 * A name that no alternative declares: the text so far, then characters enough to be longer
 * than every name it could meet (none, if it meets none now), the quote and the colon. Its
 * length then goes to *final_length.
 */
static uint32_t other_name_cost(tf_run *run, const tf_configuration *c, uint32_t *final_length)
{
    const tf_machine *m = run->m;
    const tf_frame *frame = c->top;
    const tf_strings *names = &frame->kind->names;
    const tf_text *text = c->text;
    bool on = c->mode == TF_IN_NAME && c->literal == TF_ON;
    if (on && !tf_text_leave(run, c->low < c->high ? &names->literals[c->low] : NULL, c->pos,
                             &text))
        return TF_COST_NONE;
    uint8_t sub = c->mode == TF_IN_NAME ? c->sub : TF_STR_NORMAL;
    uint32_t length = text == NULL ? 0 : text->length;
    /* A character that is not whole yet can become one that meets a name. */
    bool off = c->mode == TF_IN_NAME && c->literal == TF_OFF;
    bool meets = sub != TF_STR_NORMAL && (!off || frame->emitted != NULL);
    uint32_t longest = length;
    if (!off) {
        for (uint32_t i = 0; i < names->n_literals; i++)
            if (names->literals[i].n_text > longest)
                longest = names->literals[i].n_text;
        uint32_t same = tf_text_literal(text, names);
        meets |= same != TF_NONE;
    }
    for (const tf_emitted *e = frame->emitted; e != NULL; e = e->previous) {
        uint32_t n = e->name == NULL ? 0 : e->name->length;
        if (n > longest)
            longest = n;
        meets |= tf_text_equal(e->name, text);
    }
    uint32_t cost = tf_string_rest_cost(m, sub, c->hex);
    /* Bytes of the character that is not whole yet: those to come, or at most four. */
    uint32_t pending = sub == TF_STR_NORMAL ? 0 : sub >= TF_STR_C1 ? cost : 4;
    *final_length = (meets ? longest + 1 : length) + pending;
    if (meets) {
        if (m->char_tokens == TF_COST_NONE)
            return TF_COST_NONE;
        cost = tf_cost_add(cost, (longest - length + 1) * m->char_tokens);
    }
    return tf_cost_add(cost, tf_cost_add(tf_bytes_cost(m, "\":"),
                                         tf_gap_rest(m, frame, TF_GAP_COLON, 0)));
}

/* ---- names of classes that are sets ---- */

typedef struct set_costs {
    const tf_frame *frame;
    uint32_t before, colon;
    costs *out;
} set_costs;

/* A name of the class that costs so much. True: those that cost more are of no use. */
static bool add_set_cost(tf_run *run, void *context, const uint64_t *ahead, uint32_t class,
                         uint32_t name)
{
    const set_costs *s = context;
    const tf_frame *frame = s->frame;
    const tf_kind *kind = frame->kind;
    uint32_t first = tf_cost_add(s->before, tf_cost_add(name, s->colon));
    const tf_edge *edge = tf_kind_edge(run->m, kind, kind->n_names + class, &run->call);
    tf_scratch_words open;
    if (edge == NULL)
        return true;
    if (!tf_other_open(run, frame, class, open.words))
        memset(open.words, 0, kind->alternative_words * sizeof *open.words);
    bool settled = true;
    for (uint32_t a = tf_words_next(ahead, kind->alternative_words, 0); a != UINT32_MAX;
         a = tf_words_next(ahead, kind->alternative_words, a + 1)) {
        uint32_t rest = tf_rest_after(run, frame, a, TF_NONE, 0, true, 0, 0, NULL);
        if (tf_word_bit(open.words, a))
            keep_less(&s->out->of[a],
                      tf_cost_add(first, tf_cost_add(tf_edge_cost(run, frame, edge, a, 0), rest)));
        /* A value costs a token at least. */
        settled &= s->out->of[a] <= tf_cost_add(first, tf_cost_add(1, rest));
    }
    return settled || run->call.status != TOKFSM_OK;
}

static void set_name_costs(tf_run *run, const tf_configuration *c, uint32_t before, costs *out)
{
    set_costs s = {c->top, before, tf_cost_add(tf_bytes_cost(run->m, "\":"),
                                               tf_gap_rest(run->m, c->top, TF_GAP_COLON, 0)), out};
    tf_arena_mark mark = tf_arena_here(run->arena);
    tf_each_set_ahead(run, c, false, add_set_cost, &s);
    tf_arena_back(run->arena, mark);
}

/* A name from here: costs of each alternative of the frame, with `before` tokens first. */
static void name_costs(tf_run *run, const tf_configuration *c, uint32_t before, costs *out)
{
    const tf_frame *frame = c->top;
    const tf_kind *kind = frame->kind;
    uint32_t n_words = kind->alternative_words;
    bool in = c->mode == TF_IN_NAME;
    uint32_t low = in ? c->low : 0, high = in ? c->high : kind->n_names, pos = in ? c->pos : 0;
    tf_scratch_words alive;
    if (!in || c->literal == TF_ON)
        for (uint32_t k = low; k < high; k++) {
            if (!tf_name_open(run, frame, k, alive.words))
                continue;
            for (uint32_t a = tf_words_next(alive.words, n_words, 0); a != UINT32_MAX;
                 a = tf_words_next(alive.words, n_words, a + 1))
                for (uint32_t s = 0; s < 1u << tf_n_counters(kind, a); s++)
                    keep_less(&out->of[a],
                              tf_cost_add(before, tf_cost_add(tf_member_cost(run, frame, k, pos, a, s),
                                                              tf_rest_after(run, frame, a, k, 0, true, 0, s, NULL))));
        }
    if (kind->name_sets > 0)
        set_name_costs(run, c, before, out);
    for (uint32_t j = 0; j < kind->n_others && kind->name_sets == 0 && run->call.status == TOKFSM_OK; j++) {
        if (!tf_other_open(run, frame, j, alive.words))
            continue;
        uint32_t length = 0, name;
        tf_known_name known = {NULL, 0};
        if (kind->names.content == NULL) {
            name = other_name_cost(run, c, &length);
        } else {
            name = tf_class_name_cost(run, c, j, &known);
            name = tf_cost_add(name, tf_cost_add(tf_bytes_cost(run->m, "\":"),
                                                 tf_gap_rest(run->m, frame, TF_GAP_COLON, 0)));
        }
        const tf_edge *edge = tf_kind_edge(run->m, kind, kind->n_names + j, &run->call);
        if (edge == NULL)
            return;
        for (uint32_t a = tf_words_next(alive.words, n_words, 0); a != UINT32_MAX;
             a = tf_words_next(alive.words, n_words, a + 1))
            for (uint32_t s = 0; s < 1u << tf_n_counters(kind, a); s++) {
                uint32_t rest = tf_cost_add(tf_edge_cost(run, frame, edge, a, s),
                                            tf_rest_after(run, frame, a, TF_NONE, 0, true, length, s, &known));
                keep_less(&out->of[a], tf_cost_add(before, tf_cost_add(name, rest)));
            }
    }
}

/* ---- strings and literals ---- */

/* What the content asks for, from a state between characters or inside one, the quote too. */
typedef struct content_rest {
    const tf_configuration *c;
    costs *out;
} content_rest;

static bool add_content_rest(tf_run *run, void *context, const tf_escape_way *way)
{
    const content_rest *rest = context;
    const tf_content_state *state = way->next;
    const uint32_t n_bytes = way->n_bytes;
    const tf_configuration *c = rest->c;
    const tf_strings *s = c->at;
    uint32_t quote = tf_bytes_cost(run->m, "\"");
    for (uint32_t b = 0; b < s->n_breaks && run->call.status == TOKFSM_OK; b++) {
        uint64_t last = tf_break_last(s, b);
        if (s->breaks[b].language == NULL || last < c->n)
            continue;
        uint64_t from = s->breaks[b].from;
        if (!s->content->has_lengths) { /* none is asked for, or they are in the language */
            from = 0;
            last = UINT64_MAX;
        }
        for (uint32_t j = 0; j < c->value->n; j++)
            if (s->breaks[b].language[j] != TF_NONE)
                keep_less(&rest->out->of[j],
                          tf_cost_add(tf_cost_add(quote, n_bytes),
                                      tf_content_rest(run, state, s->breaks[b].language[j], c->n,
                                                      from, last)));
    }
    return false;
}

static void content_costs(tf_run *run, const tf_configuration *c, costs *out)
{
    content_rest rest = {c, out};
    if (tf_in_escape(c) && tf_bytes_cost(run->m, TF_ESCAPE_BYTES) == TF_COST_NONE)
        return; /* what the rest of an escape needs may be missing */
    if (tf_in_escape(c))
        tf_content_escapes(run, c, add_content_rest, &rest);
    else if (c->content != NULL)
        add_content_rest(run, &rest, &(tf_escape_way){c->content, 0, 0, 0});
}

static void string_costs(tf_run *run, const tf_configuration *c, costs *out)
{
    const tf_machine *m = run->m;
    const tf_strings *s = c->at;
    uint32_t n = c->value->n;
    uint32_t here = TF_NONE;
    if (c->literal == TF_ON) {
        for (uint32_t i = c->low; i < c->high; i++) {
            const uint32_t *spelling = tf_literal_cost(run->m, s, i, false, &run->call);
            if (spelling == NULL)
                return;
            if (spelling[c->pos] == TF_COST_NONE)
                continue;
            for (uint32_t j = 0; j < n; j++)
                if (tf_word_bit(s->literals[i].end, j))
                    keep_less(&out->of[j], spelling[c->pos]);
        }
        if (c->low < c->high && s->literals[c->low].n_spelled == c->pos)
            here = c->low;
    } else if (c->literal == TF_MAYBE && c->sub == TF_STR_NORMAL) {
        here = tf_text_literal(c->text, s);
    }
    uint32_t begin = tf_cost_add(tf_string_rest_cost(m, c->sub, c->hex), tf_bytes_cost(m, "\""));
    for (uint32_t b = 0; b < s->n_breaks; b++) {
        uint64_t last = tf_break_last(s, b);
        uint64_t at = s->breaks[b].from > c->n ? s->breaks[b].from : c->n;
        if (at > last)
            continue;
        for (uint32_t j = 0; j < n; j++) {
            if (!tf_word_bit(s->breaks[b].outcome, j))
                continue;
            uint64_t more = at - c->n;
            /* A literal that obligation j refuses is stepped over by one character. */
            if (more == 0 && here != TF_NONE && !tf_word_bit(s->literals[here].end, j)) {
                if (at == last)
                    continue;
                more = 1;
            }
            keep_less(&out->of[j], tf_cost_add(begin, tf_chars_cost(m, more)));
        }
    }
    if (s->content != NULL && run->call.status == TOKFSM_OK)
        content_costs(run, c, out);
}

static const char *const literal_text[TF_N_LITERALS] = {"null", "false", "true"};

/* Costs of finishing the value in progress, by obligation; false: nothing is in progress. */
static bool lexeme_costs(tf_run *run, const tf_configuration *c, costs *out)
{
    switch (c->mode) {
    case TF_IN_STRING:
        none(out, c->value->n);
        string_costs(run, c, out);
        return true;
    case TF_IN_NUMBER: {
        const uint32_t *cost = tf_number_cost(run->m, c->at, &run->call);
        none(out, c->value->n);
        if (cost != NULL)
            memcpy(out->of, cost, c->value->n * sizeof *cost);
        return true;
    }
    case TF_IN_LITERAL:
        none(out, c->value->n);
        for (uint32_t j = 0; j < c->value->n; j++)
            if (tf_word_bit(c->value->literal[c->low], j))
                out->of[j] = tf_bytes_cost(run->m, literal_text[c->low] + c->n);
        return true;
    case TF_AT_VALUE: {
        if (c->value == NULL)
            return false;
        const tf_cost *cost = tf_value_cost(run->m, c->value, &run->call);
        uint32_t depth = c->top == NULL ? 0 : c->top->depth;
        none(out, c->value->n);
        if (cost != NULL)
            for (uint32_t j = 0; j < c->value->n; j++)
                out->of[j] = tf_cost_add(tf_cost_at(cost[j], depth),
                                         tf_gap_rest(run->m, c->top, c->gap, c->n));
        return true;
    }
    default: return false;
    }
}

/* ---- frames ---- */

/* From costs by alternative of `frame` to costs by obligation of its own position. */
static void through_frame(const tf_frame *frame, const costs *alternatives, costs *out)
{
    const tf_kind *kind = frame->kind;
    const uint64_t *alive = tf_frame_alive(frame);
    none(out, kind->value->n);
    for (uint32_t a = tf_words_next(alive, kind->alternative_words, 0); a != UINT32_MAX;
         a = tf_words_next(alive, kind->alternative_words, a + 1))
        for (uint32_t j = 0; j < kind->value->n; j++)
            if (tf_word_bit(kind->outcome[a], j))
                keep_less(&out->of[j], alternatives->of[a]);
}

/* Costs by alternative of the innermost frame. */
static void top_costs(tf_run *run, const tf_configuration *c, const costs *value, bool has_value,
                      costs *out)
{
    const tf_frame *frame = c->top;
    const tf_kind *kind = frame->kind;
    const uint64_t *alive = tf_frame_alive(frame);
    const tf_machine *m = run->m;
    bool open_array = c->mode == TF_AT_VALUE && c->gap == TF_GAP_OPEN;
    none(out, kind->n_alternatives);
    for (uint32_t a = tf_words_next(alive, kind->alternative_words, 0); a != UINT32_MAX;
         a = tf_words_next(alive, kind->alternative_words, a + 1)) {
        if (c->mode == TF_AT_AFTER) {
            out->of[a] = tf_rest_after(run, frame, a, TF_NONE, c->n, false, 0, 0, NULL);
        } else if (c->mode == TF_AT_COLON) {
            out->of[a] = tf_cost_add(tf_colon_cost(run, frame), value_and_rest(run, frame, a, NULL));
        } else if (has_value) {
            bool fresh = c->mode == TF_AT_VALUE && !kind->is_object;
            tf_frame begun = *frame;
            begun.count += open_array; /* the item that may begin is not counted yet */
            begun.fresh = 1;
            out->of[a] = value_and_rest(run, fresh ? &begun : frame, a, value);
        }
        if (open_array && kind->min_items[a] == 0 && tf_counters_met(frame, a) &&
            (!tf_indented(m) || c->n == 0))
            keep_less(&out->of[a], tf_bytes_cost(m, "]"));
    }
    if (c->mode == TF_IN_NAME)
        name_costs(run, c, 0, out);
    if (c->mode == TF_AT_NAME) {
        uint32_t before = tf_cost_add(tf_gap_rest(m, frame, c->gap, c->n), tf_bytes_cost(m, "\""));
        name_costs(run, c, before, out);
        if (c->gap == TF_GAP_OPEN && (!tf_indented(m) || c->n == 0))
            for (uint32_t a = tf_words_next(alive, kind->alternative_words, 0); a != UINT32_MAX;
                 a = tf_words_next(alive, kind->alternative_words, a + 1)) {
                bool needs = false;
                const uint32_t *required = kind->required + (size_t)a * kind->name_words;
                for (uint32_t w = 0; w < kind->name_words; w++)
                    needs |= required[w] != 0;
                needs |= kind->min_items[a] > 0 || !tf_counters_met(frame, a);
                if (!needs)
                    keep_less(&out->of[a], tf_bytes_cost(m, "}"));
            }
    }
}

uint32_t tf_bound_plain(tf_run *run, const tf_configuration *c)
{
    if (c->mode == TF_AT_END || tf_is_complete(c))
        return 0;
    costs value, alternatives;
    bool has_value = lexeme_costs(run, c, &value);
    if (c->top == NULL)
        return value.of[0];
    top_costs(run, c, &value, has_value, &alternatives);
    const tf_frame *frame = c->top;
    for (;;) {
        through_frame(frame, &alternatives, &value);
        frame = frame->parent;
        if (frame == NULL)
            return value.of[0];
        const uint64_t *alive = tf_frame_alive(frame);
        none(&alternatives, frame->kind->n_alternatives);
        for (uint32_t a = tf_words_next(alive, frame->kind->alternative_words, 0); a != UINT32_MAX;
             a = tf_words_next(alive, frame->kind->alternative_words, a + 1))
            alternatives.of[a] = value_and_rest(run, frame, a, &value);
    }
}
