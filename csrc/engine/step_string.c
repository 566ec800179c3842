/*
 * One byte inside a string or a name: configuration -> configuration, up to the quote that
 * closes it; and whether a string can still come to an end. A string keeps to the literals
 * while it spells them; one that left them is judged by its length, or by its decoded text.
 * Cost: at most the literals in reach; closing a name that no alternative declares looks at
 * those emitted.
 *
 * Source: RFC 8259 §7; spelling of literals: docs/spelling.md.
 */
#include "emitted.h"
#include "name_content.h"
#include "step.h"
#include "text.h"
#include "items.h"

/* literals[low .. high) that have `byte` at `pos`. */
static void narrow(const tf_literal *literals, uint32_t pos, uint8_t byte, uint32_t *low,
                   uint32_t *high)
{
    uint32_t l = *low, h = *high;
    if (l < h && literals[l].n_spelled == pos)
        l++; /* it ends here and sorts first */
    if (l < h && literals[l].spelled[pos] == byte && literals[h - 1].spelled[pos] == byte) {
        *low = l;
        *high = h;
        return;
    }
    uint32_t a = l, b = h;
    while (a < b) {
        uint32_t middle = a + (b - a) / 2;
        if (literals[middle].spelled[pos] < byte)
            a = middle + 1;
        else
            b = middle;
    }
    *low = a;
    b = h;
    while (a < b) {
        uint32_t middle = a + (b - a) / 2;
        if (literals[middle].spelled[pos] <= byte)
            a = middle + 1;
        else
            b = middle;
    }
    *high = a;
}

/* Whether a string that is no literal can still come to an end at n characters or more. */
static bool length_feasible(const tf_strings *s, uint64_t n, const uint64_t *alive,
                            uint32_t n_words)
{
    for (uint32_t i = s->n_breaks; i-- > 0;) {
        if (tf_words_meet(s->breaks[i].outcome, alive, n_words))
            return true;
        if (s->breaks[i].from <= n)
            return false;
    }
    return false;
}

/* The literal that the text so far spells, or TF_NONE. */
static uint32_t literal_here(const tf_configuration *c, const tf_strings *s)
{
    if (c->literal == TF_ON)
        return c->low < c->high && s->literals[c->low].n_spelled == c->pos ? c->low : TF_NONE;
    return c->literal == TF_MAYBE ? tf_text_literal(c->text, s) : TF_NONE;
}

/* Outcome of closing a value string now, met with `alive`; false: it may not close. */
static bool string_outcome(const tf_configuration *c, uint64_t *outcome)
{
    const tf_strings *s = c->at;
    uint32_t n_words = c->value->n_words;
    const uint64_t *alive = tf_words(&c->alive, n_words);
    uint32_t literal = literal_here(c, s);
    if (s->n_breaks > 0)
        tf_break_outcome(s, tf_break_at(s, c->n), c->content, c->value, false, outcome);
    else
        memset(outcome, 0, n_words * sizeof *outcome);
    if (literal != TF_NONE) {
        /* Another spelling than the literal's needs an alternative that is no literal. */
        if (c->literal == TF_MAYBE && !tf_words_meet(outcome, alive, n_words))
            return false;
        memcpy(outcome, s->literals[literal].end, n_words * sizeof *outcome);
    }
    tf_meet(outcome, outcome, alive, n_words);
    return tf_words_any(outcome, n_words);
}

static bool escape_leads_on(tf_run *run, void *context, const tf_escape_way *way)
{
    (void)run;
    const tf_configuration *c = context;
    return tf_content_live(c, way->next, c->n);
}

static bool string_live(tf_run *run, const tf_configuration *c)
{
    const tf_strings *s = c->at;
    uint32_t n_words = c->value->n_words;
    const uint64_t *alive = tf_words(&c->alive, n_words);
    if (c->literal == TF_ON)
        for (uint32_t i = c->low; i < c->high; i++)
            if (tf_words_meet(s->literals[i].end, alive, n_words))
                return true;
    if (s->n_breaks == 0)
        return false;
    if (s->content != NULL &&
        (tf_in_escape(c) ? tf_content_escapes(run, c, escape_leads_on, (void *)(uintptr_t)c)
                         : tf_content_live(c, c->content, c->n)))
        return true;
    if (c->literal == TF_OFF || c->sub != TF_STR_NORMAL)
        return length_feasible(s, c->n, alive, n_words);
    tf_scratch_words outcome;
    return length_feasible(s, c->n + 1, alive, n_words) || string_outcome(c, outcome.words);
}

static bool name_live(tf_run *run, const tf_configuration *c)
{
    tf_scratch_words alive;
    if (c->literal == TF_ON)
        for (uint32_t i = c->low; i < c->high; i++)
            if (tf_name_open(run, c->top, i, alive.words))
                return true;
    return tf_other_name_live(run, c, TF_NONE);
}

bool tf_string_is_live(tf_run *run, const tf_configuration *c)
{
    return c->mode == TF_IN_NAME ? name_live(run, c) : string_live(run, c);
}

static bool already_emitted(const tf_frame *frame, const tf_text *name)
{
    for (const tf_emitted *e = frame->emitted; e != NULL; e = e->previous)
        if (tf_text_equal(e->name, name))
            return true;
    return false;
}

static bool close_name(tf_run *run, tf_configuration *c)
{
    const tf_frame *frame = c->top;
    const tf_kind *kind = frame->kind;
    tf_scratch_words alive;
    uint32_t name = literal_here(c, c->at);
    const tf_emitted *emitted = frame->emitted;
    if (name != TF_NONE) {
        if (c->literal == TF_MAYBE || !tf_name_open(run, frame, name, alive.words))
            return false;
    } else {
        uint32_t class;
        if (c->literals_only || !tf_class_of_name(c, &class) ||
            !tf_other_open(run, frame, class, alive.words))
            return false;
        if (c->literal == TF_ON &&
            !tf_text_leave(run, c->low < c->high ? &kind->names.literals[c->low] : NULL, c->pos,
                           &c->text))
            return false;
        if (already_emitted(frame, c->text))
            return false;
        tf_emitted *fresh = tf_arena_take(run->arena, sizeof *fresh);
        if (fresh == NULL) {
            run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a name");
            return false;
        }
        bool whole = (emitted != NULL && emitted->whole) || tf_name_whole(run, &kind->names, class, c->text);
        *fresh = (tf_emitted){emitted, c->text, class, whole, {0}};
        tf_text_first(c->text, fresh->first, sizeof fresh->first);
        emitted = fresh;
        name = kind->n_names + class;
    }
    tf_frame *next = tf_frame_copy(run, frame);
    if (next == NULL || !tf_bits_keep(run, alive.words, kind->alternative_words, &next->alive))
        return false;
    next->edge = tf_kind_edge(run->m, kind, name, &run->call);
    next->emitted = emitted;
    next->count++;
    next->last = name + 1;
    if (name < kind->n_names)
        tf_set(next->seen, name);
    c->top = next;
    c->mode = TF_AT_COLON;
    c->n = 0;
    c->text = NULL;
    return true;
}

/* escapes="minimal": only what cannot be written raw, in its shortest form. */
static bool minimal_allows(const tf_configuration *c, uint8_t byte)
{
    switch (c->sub) {
    case TF_STR_E:
        return byte != '/';
    case TF_STR_U0:
    case TF_STR_U1:
        return byte == '0';
    case TF_STR_U2:
        return byte == '0' || byte == '1';
    case TF_STR_U3: {
        if (byte >= 'A' && byte <= 'F')
            return false;
        uint32_t code = (c->hex << 4 | (byte <= '9' ? byte - 48u : byte - 87u)) & 0xFFFFu;
        return code != 8 && code != 9 && code != 10 && code != 12 && code != 13;
    }
    default:
        return true;
    }
}

bool tf_step_string(tf_run *run, tf_configuration *c, uint8_t byte)
{
    const tf_strings *s = c->at;
    bool name = c->mode == TF_IN_NAME;
    bool collected = !name && c->top != NULL && c->top->collects;
    uint8_t sub = tf_string_table()[c->sub][byte];
    c->closed_literal = 0;
    if (sub == TF_STR_DEAD)
        return false;
    if (sub == TF_STR_CLOSE) {
        c->closed_literal = c->literal == TF_ON && literal_here(c, s) != TF_NONE;
        if (name)
            return close_name(run, c);
        tf_scratch_words outcome;
        if ((c->literals_only && literal_here(c, s) == TF_NONE) ||
            !string_outcome(c, outcome.words))
            return false;
        if (collected && !tf_item_of_string(run, c, literal_here(c, s)))
            return false;
        c->text = NULL;
        return tf_step_finish(run, c, outcome.words);
    }
    if (run->m->options.escapes == TOKFSM_ESCAPES_MINIMAL && !minimal_allows(c, byte))
        return false;
    bool tracked = name || collected || (s->n_literals > 0 && s->n_breaks > 0);
    if (c->literal == TF_ON) {
        uint32_t low = c->low, high = c->high;
        narrow(s->literals, c->pos, byte, &low, &high);
        if (low < high) {
            c->low = low;
            c->high = high;
            c->pos++;
        } else {
            if (c->literals_only)
                return false;
            if (tracked && !tf_text_leave(run, c->low < c->high ? &s->literals[c->low] : NULL,
                                          c->pos, &c->text))
                return false;
            bool escape = byte == '\\' || (c->sub >= TF_STR_E && c->sub <= TF_STR_HU3);
            c->literal = escape && s->n_literals > 0 ? TF_MAYBE : TF_OFF;
            c->low = c->high = 0;
        }
    }
    uint8_t before = c->sub;
    if (before == TF_STR_NORMAL && !name)
        c->n++; /* a character is counted by its first byte */
    c->sub = sub;
    uint8_t decoded[4];
    uint32_t n = tf_text_take(c, before, byte, decoded);
    if (tracked && c->literal != TF_ON && !tf_text_add(run, c, decoded, n))
        return false;
    if (s->content != NULL)
        for (uint32_t i = 0; i < n; i++)
            c->content = tf_content_step(run, c->content, decoded[i]);
    if (run->call.status != TOKFSM_OK)
        return false;
    return c->literals_only || tf_string_is_live(run, c);
}

/*
 * Plain characters, one byte each, that begin `bytes`, the first of them sure: of a free string
 * whose text nobody asks for, or along literals. All at once, since a string that is live after
 * them was live at each; how many are taken. 0: the next byte is for tf_step.
 */
static uint32_t step_plain(tf_configuration *c, const uint8_t *table, const uint8_t *bytes,
                           uint32_t n)
{
    const tf_strings *s = c->at;
    bool name = c->mode == TF_IN_NAME;
    uint32_t k = 0;
    if (c->literals_only || s->content != NULL || (c->top != NULL && c->top->collects))
        return 0;
    if (c->literal == TF_ON)
        for (; k < n && table[bytes[k]] == TF_STR_NORMAL; k++) {
            uint32_t low = c->low, high = c->high;
            narrow(s->literals, c->pos, bytes[k], &low, &high);
            if (low >= high)
                break; /* it leaves them */
            c->low = low;
            c->high = high;
            c->pos++;
        }
    else if (c->literal == TF_OFF && !name && s->n_literals == 0)
        while (k < n && table[bytes[k]] == TF_STR_NORMAL)
            k++;
    if (k > 0)
        c->closed_literal = 0;
    if (!name)
        c->n += k;
    return k;
}

bool tf_step_text(tf_run *run, tf_configuration *c, const uint8_t *bytes, uint32_t n)
{
    const uint8_t *table = tf_string_table()[TF_STR_NORMAL];
    for (uint32_t i = 0, k; i < n; i += k) {
        if (table[bytes[i]] == TF_STR_NORMAL && c->sub == TF_STR_NORMAL &&
            (c->mode == TF_IN_STRING || c->mode == TF_IN_NAME) &&
            (k = step_plain(c, table, bytes + i, n - i)) > 0) {
            if (!tf_run_spend(run) || !tf_string_is_live(run, c))
                return false;
        } else {
            if (!tf_step(run, c, bytes[i]))
                return false;
            k = 1;
        }
    }
    return true;
}
