/*
 * One byte: configuration -> configuration. Deterministic; a configuration that tf_step
 * leaves alive has a completion over all bytes (over single-byte tokens: tf_is_live).
 * What lies between a string's quotes is taken in step_string.c.
 * Cost: O(1), but for a name inside a closed object, where the names in reach are looked at.
 *
 * Source: RFC 8259; white space, order and spelling: docs/spelling.md.
 */
#include "step.h"
#include "text.h"
#include "unique.h"

#include "counters.h"
#include "glance.h"

static bool is_space(uint8_t byte) { return tf_byte_kind[byte] == TF_BYTE_SPACE; }

tf_configuration tf_configuration_start(const tf_machine *m)
{
    tf_configuration c;
    memset(&c, 0, sizeof c);
    c.mode = TF_AT_VALUE;
    c.value = m->root;
    c.alive.word = 1; /* the root has one obligation */
    return c;
}

bool tf_is_complete(const tf_configuration *c)
{
    if (c->mode == TF_AT_END)
        return true;
    if (c->mode != TF_IN_NUMBER || c->top != NULL)
        return false;
    const tf_nstate *state = c->at;
    return tf_words_meet(state->end, tf_words(&c->alive, state->rules->n_words),
                         state->rules->n_words);
}

/* ---- values end ---- */

bool tf_step_finish(tf_run *run, tf_configuration *c, const uint64_t *outcome)
{
    const tf_frame *frame = c->top;
    if (frame == NULL) {
        c->mode = TF_AT_END;
        return true;
    }
    c->mode = TF_AT_AFTER;
    c->n = 0;
    if (frame->collects)
        return tf_unique_finish(run, c, outcome);
    const tf_kind *kind = frame->kind;
    if (frame->edge->value->n == 1 && kind->counting == NULL)
        return true; /* what every alternative asked for is there */
    uint32_t n_words = kind->alternative_words;
    const uint64_t *alive = tf_frame_alive(frame), *counts;
    tf_scratch_words kept;
    memset(kept.words, 0, n_words * sizeof *kept.words);
    if (!tf_count_child(run, frame, outcome, kept.words, &counts) ||
        !tf_words_any(kept.words, n_words))
        return false;
    if (counts == NULL && memcmp(kept.words, alive, n_words * sizeof *alive) == 0)
        return true;
    tf_frame *copy = tf_frame_copy(run, frame);
    if (copy == NULL || !tf_bits_keep(run, kept.words, n_words, &copy->alive))
        return false;
    copy->counts = counts;
    c->top = copy;
    return true;
}

static bool close_frame(tf_run *run, tf_configuration *c)
{
    tf_scratch_words outcome;
    if (!tf_may_close(c->top, outcome.words))
        return false;
    const tf_frame *parent = c->top->parent;
    if (parent != NULL && parent->collects &&
        (c->item = tf_item_container(run, c->top)) == NULL)
        return false;
    c->top = parent;
    return tf_step_finish(run, c, outcome.words);
}

/* ---- white space ---- */

/* Bytes that an exact layout puts before the next byte that is none. */
static uint64_t gap_length(const tf_machine *m, const tf_configuration *c, bool closing)
{
    const tokfsm_options *o = &m->options;
    if (o->whitespace == TOKFSM_WHITESPACE_COMPACT)
        return 0;
    bool spaced = o->whitespace == TOKFSM_WHITESPACE_SPACED;
    if (c->mode == TF_AT_AFTER)
        return closing && !spaced ? 1 + (uint64_t)o->indent * (c->top->depth - 1) : 0;
    if (c->mode == TF_AT_COLON || closing)
        return 0;
    if (c->gap == TF_GAP_COLON)
        return 1;
    if (c->gap == TF_GAP_COMMA && spaced)
        return 1;
    if (c->gap != TF_GAP_NONE && !spaced)
        return 1 + (uint64_t)o->indent * c->top->depth;
    return 0;
}

static bool any_name_open(tf_run *run, const tf_frame *frame)
{
    tf_scratch_words alive;
    const tf_configuration c = {.top = frame, .mode = TF_AT_NAME};
    if (tf_other_name_live(run, &c, TF_NONE))
        return true;
    for (uint32_t k = 0; k < frame->kind->n_names; k++)
        if (tf_name_open(run, frame, k, alive.words))
            return true;
    return false;
}

static bool step_space(tf_run *run, tf_configuration *c, uint8_t byte)
{
    const tokfsm_options *o = &run->m->options;
    if (c->mode == TF_AT_VALUE && c->gap == TF_GAP_NONE)
        return false;
    if (o->whitespace == TOKFSM_WHITESPACE_FLEXIBLE) {
        if (o->max_whitespace == TOKFSM_UNBOUNDED)
            return true;
        return c->n++ < o->max_whitespace;
    }
    uint64_t length = gap_length(run->m, c, c->mode == TF_AT_AFTER);
    if (c->n >= length)
        return false;
    bool newline = c->n == 0 && o->whitespace == TOKFSM_WHITESPACE_INDENT &&
                   c->gap != TF_GAP_COLON;
    if (c->mode == TF_AT_AFTER)
        newline = c->n == 0;
    if (byte != (newline ? '\n' : ' '))
        return false;
    if (c->n++ == 0) {
        /* The first byte decides what comes: the bracket, or a member or item. */
        tf_scratch_words outcome;
        if (c->mode == TF_AT_AFTER)
            return tf_may_close(c->top, outcome.words);
        if (c->gap == TF_GAP_OPEN)
            return c->mode == TF_AT_NAME ? any_name_open(run, c->top) : c->value != NULL;
    }
    return true;
}

/* Whether the gap before this byte is as it must be. */
static bool gap_filled(const tf_machine *m, const tf_configuration *c, bool closing)
{
    return m->options.whitespace == TOKFSM_WHITESPACE_FLEXIBLE ||
           c->n == gap_length(m, c, closing);
}

/* ---- names and values begin ---- */

static bool enter_name(tf_run *run, tf_configuration *c)
{
    c->mode = TF_IN_NAME;
    c->at = &c->top->kind->names;
    c->low = c->pos = 0;
    c->high = c->others_only ? 0 : c->top->kind->n_names;
    c->others_only = 0;
    c->sub = TF_STR_NORMAL;
    c->literal = c->high > 0 ? TF_ON : TF_OFF;
    c->text = NULL;
    c->content = NULL;
    if (c->top->kind->names.content != NULL)
        c->content = c->top->kind->names.content->start;
    c->n = 0;
    return tf_string_is_live(run, c);
}

/* The first byte of an item after `[`: the frame now has one. */
static bool begin_first_item(tf_run *run, tf_configuration *c)
{
    if (c->gap != TF_GAP_OPEN)
        return true;
    tf_frame *frame = tf_frame_copy(run, c->top);
    if (frame == NULL)
        return false;
    tf_scratch_words alive;
    tf_item_open(run, c->top, frame->edge, 0, alive.words);
    frame->count = 1;
    if (run->call.status != TOKFSM_OK ||
        !tf_bits_keep(run, alive.words, frame->kind->alternative_words, &frame->alive))
        return false;
    c->top = frame;
    return true;
}

static bool begin_container(tf_run *run, tf_configuration *c, bool object)
{
    const tf_value *value = c->value;
    const tf_kind *kind = tf_value_kind(run->m, value, object, &run->call);
    if (kind == NULL || kind == &tf_no_kind || !begin_first_item(run, c))
        return false;
    tf_scratch_words alive;
    memset(alive.words, 0, kind->alternative_words * sizeof *alive.words);
    const uint64_t *obligations = tf_words(&c->alive, value->n_words);
    for (uint32_t a = 0; a < kind->n_alternatives; a++)
        if (tf_words_meet(kind->outcome[a], obligations, value->n_words))
            tf_word_set(alive.words, a);
    tf_bits bits;
    if (!tf_words_any(alive.words, kind->alternative_words) ||
        !tf_bits_keep(run, alive.words, kind->alternative_words, &bits))
        return false;
    tf_frame *frame = tf_frame_new(run, c->top, kind, bits);
    if (frame == NULL)
        return false;
    c->top = frame;
    c->gap = TF_GAP_OPEN;
    c->n = 0;
    if (object) {
        c->mode = TF_AT_NAME;
        return true;
    }
    c->mode = TF_AT_VALUE;
    c->value = NULL;
    frame->edge = tf_kind_edge(run->m, kind, 0, &run->call);
    if (frame->edge == NULL)
        return false;
    if (tf_item_open(run, frame, frame->edge, 0, alive.words)) {
        c->value = frame->edge->value;
        return tf_edge_obligations(run, frame, frame->edge, 0, alive.words, &c->alive);
    }
    return run->call.status == TOKFSM_OK;
}

static bool begin_string(tf_run *run, tf_configuration *c)
{
    const tf_strings *s = tf_value_strings(run->m, c->value, &run->call);
    if (s == NULL || s == &tf_no_strings || !begin_first_item(run, c))
        return false;
    c->mode = TF_IN_STRING;
    c->at = s;
    c->low = c->pos = 0;
    c->high = s->n_literals;
    c->literal = s->n_literals > 0 ? TF_ON : TF_OFF;
    c->sub = TF_STR_NORMAL;
    c->text = NULL;
    c->content = s->content == NULL ? NULL : s->content->start;
    c->n = 0;
    return tf_string_is_live(run, c);
}

static bool number_moves(tf_run *run, tf_configuration *c, const tf_nstate *from, uint8_t byte)
{
    const tf_number_rules *rules = from->rules;
    uint32_t n_words = rules->n_words;
    const uint64_t *alive = tf_words(&c->alive, n_words);
    uint32_t class = tf_number_class(byte);
    if (class == TF_N_POINT && run->m->options.numbers == TOKFSM_NUMBERS_PLAIN) {
        bool fraction = false;
        for (uint32_t w = 0; w < n_words; w++)
            fraction |= (from->live[w] & alive[w] & ~rules->integers_only[w]) != 0;
        if (!fraction)
            return false;
    }
    if (class == TF_N_EXP)
        for (uint32_t w = 0; w < n_words; w++)
            if (from->live[w] & alive[w] & ~rules->any_number[w])
                return false;
    const tf_nstate *next = tf_number_step(run->m, from, byte, &run->call);
    if (next == NULL || next == &tf_number_dead || !tf_words_meet(next->live, alive, n_words))
        return false;
    c->at = next;
    return c->top == NULL || !c->top->collects || tf_text_append(run, &c->text, &byte, 1, false);
}

static bool begin_number(tf_run *run, tf_configuration *c, uint8_t byte)
{
    const tf_nstate *start = tf_value_number(run->m, c->value, &run->call);
    c->text = NULL;
    if (start == NULL || start == &tf_number_dead || !number_moves(run, c, start, byte) ||
        !begin_first_item(run, c))
        return false;
    c->mode = TF_IN_NUMBER;
    return true;
}

static bool begin_literal(tf_run *run, tf_configuration *c, uint32_t which)
{
    if (!tf_words_meet(c->value->literal[which], tf_words(&c->alive, c->value->n_words),
                       c->value->n_words) ||
        !begin_first_item(run, c))
        return false;
    c->mode = TF_IN_LITERAL;
    c->low = which;
    c->n = 1;
    return true;
}

static bool step_value(tf_run *run, tf_configuration *c, uint8_t byte)
{
    if (is_space(byte))
        return step_space(run, c, byte);
    if (byte == ']')
        return c->gap == TF_GAP_OPEN && gap_filled(run->m, c, true) && close_frame(run, c);
    if (c->value == NULL || !gap_filled(run->m, c, false))
        return false;
    switch (byte) {
    case '"': return begin_string(run, c);
    case '{': return begin_container(run, c, true);
    case '[': return begin_container(run, c, false);
    case 'n': return begin_literal(run, c, TF_NULL_LITERAL);
    case 'f': return begin_literal(run, c, TF_FALSE_LITERAL);
    case 't': return begin_literal(run, c, TF_TRUE_LITERAL);
    default:
        return (byte == '-' || (byte >= '0' && byte <= '9')) && begin_number(run, c, byte);
    }
}

static bool step_literal(tf_run *run, tf_configuration *c, uint8_t byte)
{
    const char *text = tf_literal_text[c->low];
    if (byte != (uint8_t)text[c->n])
        return false;
    c->n++;
    if (text[c->n] != '\0')
        return true;
    tf_scratch_words outcome;
    tf_meet(outcome.words, c->value->literal[c->low], tf_words(&c->alive, c->value->n_words),
            c->value->n_words);
    if (c->top != NULL && c->top->collects && (c->item = tf_item_literal(run, c->low)) == NULL)
        return false;
    return tf_step_finish(run, c, outcome.words);
}

/* ---- between values ---- */

static bool next_item(tf_run *run, tf_configuration *c)
{
    const tf_frame *frame = c->top;
    const tf_kind *kind = frame->kind;
    const tf_edge *edge =
        tf_kind_edge(run->m, kind, tf_item_class(kind, frame->count), &run->call);
    if (edge == NULL)
        return false;
    tf_scratch_words alive;
    if (!tf_item_open(run, frame, edge, frame->count, alive.words))
        return false;
    tf_frame *next = tf_frame_copy(run, frame);
    if (next == NULL || !tf_bits_keep(run, alive.words, kind->alternative_words, &next->alive))
        return false;
    next->edge = edge;
    next->count++;
    c->top = next;
    c->mode = TF_AT_VALUE;
    c->gap = TF_GAP_COMMA;
    c->n = 0;
    c->value = edge->value;
    return tf_edge_obligations(run, frame, edge, frame->count, alive.words, &c->alive);
}

static bool step_after(tf_run *run, tf_configuration *c, uint8_t byte)
{
    if (is_space(byte))
        return step_space(run, c, byte);
    bool object = c->top->kind->is_object;
    if (byte == ',') {
        if (!gap_filled(run->m, c, false))
            return false;
        if (!object)
            return next_item(run, c);
        if (!any_name_open(run, c->top))
            return false;
        c->mode = TF_AT_NAME;
        c->gap = TF_GAP_COMMA;
        c->n = 0;
        return true;
    }
    return byte == (object ? '}' : ']') && gap_filled(run->m, c, true) && close_frame(run, c);
}

static bool step_name(tf_run *run, tf_configuration *c, uint8_t byte)
{
    if (is_space(byte))
        return step_space(run, c, byte);
    if (byte == '}')
        return c->gap == TF_GAP_OPEN && gap_filled(run->m, c, true) && close_frame(run, c);
    return byte == '"' && gap_filled(run->m, c, false) && enter_name(run, c);
}

static bool step_colon(tf_run *run, tf_configuration *c, uint8_t byte)
{
    if (is_space(byte))
        return step_space(run, c, byte);
    if (byte != ':' || !gap_filled(run->m, c, false))
        return false;
    const tf_frame *frame = c->top;
    c->mode = TF_AT_VALUE;
    c->gap = TF_GAP_COLON;
    c->n = 0;
    c->value = frame->edge->value;
    return tf_edge_obligations(run, frame, frame->edge, frame->last - 1, tf_frame_alive(frame),
                               &c->alive);
}

bool tf_step_end_number(tf_run *run, tf_configuration *c)
{
    const tf_nstate *state = c->at;
    uint32_t n_words = state->rules->n_words;
    tf_scratch_words outcome;
    tf_meet(outcome.words, state->end, tf_words(&c->alive, n_words), n_words);
    return c->top != NULL && tf_words_any(outcome.words, n_words) &&
           (!c->top->collects || tf_item_of_number(run, c)) &&
           tf_step_finish(run, c, outcome.words);
}

static bool step_byte(tf_run *run, tf_configuration *c, uint8_t byte)
{
    switch (c->mode) {
    case TF_AT_VALUE: return step_value(run, c, byte);
    case TF_AT_NAME: return step_name(run, c, byte);
    case TF_AT_COLON: return step_colon(run, c, byte);
    case TF_AT_AFTER: return step_after(run, c, byte);
    case TF_IN_NAME:
    case TF_IN_STRING: return tf_step_string(run, c, byte);
    case TF_IN_LITERAL: return step_literal(run, c, byte);
    case TF_IN_NUMBER:
        if (tf_number_class(byte) < TF_N_CLASSES)
            return number_moves(run, c, c->at, byte);
        return tf_step_end_number(run, c) && step_after(run, c, byte);
    default: return false; /* TF_AT_END */
    }
}

bool tf_step(tf_run *run, tf_configuration *c, uint8_t byte)
{
    if (!tf_run_spend(run) || !step_byte(run, c, byte))
        return false;
    return c->top == NULL || !c->top->collects || tf_unique_live(run, c);
}
