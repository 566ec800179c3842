/*
 * The content automaton of a string under its registers: how many characters there are, and an
 * escape that is not whole. Nothing of either is part of a content state.
 */
#include "content.h"

#include "frames.h"

#include "text.h"

const tf_content_state *tf_content_step(tf_run *run, const tf_content_state *state, uint8_t byte)
{
    if (state == NULL)
        return NULL;
    const tf_content_state *next =
        tf_content_next(run->m, state, state->content->byte_class[byte], &run->call);
    return next == &tf_content_dead ? NULL : next;
}

const tf_content_state *tf_content_step_char(tf_run *run, const tf_content_state *state,
                                             uint32_t code)
{
    uint8_t bytes[4];
    uint32_t n = tf_utf8(code, bytes);
    for (uint32_t i = 0; i < n && state != NULL; i++)
        state = tf_content_step(run, state, bytes[i]);
    return state;
}

/* Whether some length from least to most is in the set. */
static bool lengths_meet(const tf_lengths *l, uint64_t least, uint64_t most)
{
    if (l->shortest == UINT64_MAX || l->shortest > most ||
        (l->longest != UINT64_MAX && l->longest < least))
        return false;
    uint64_t from = least > l->shortest ? least : l->shortest;
    uint64_t bound = (uint64_t)l->n_prefix + l->period; /* past it the set repeats */
    uint64_t span = from < bound ? bound - from + l->period : l->period;
    uint64_t last = most - from < span ? most : from + span;
    for (uint64_t t = from;; t++) {
        uint64_t bit = t < l->n_prefix ? t : l->n_prefix + (t - l->n_prefix) % l->period;
        if (l->bits[bit >> 5] >> (bit & 31u) & 1u)
            return true;
        if (t == last)
            return false;
    }
}

bool tf_content_meets(const tf_content_state *state, uint32_t language, uint64_t n,
                      uint64_t least, uint64_t most)
{
    if (state == NULL || !tf_word_bit(state->live, language))
        return false;
    if ((least <= n && most == UINT64_MAX) || state->lengths == NULL)
        return true; /* without lengths there are none to ask for, or the language has them */
    n -= state->inside; /* the character counts in the lengths */
    if (most < n)
        return false;
    return lengths_meet(state->lengths[language], least > n ? least - n : 0,
                        most == UINT64_MAX ? most : most - n);
}

uint64_t tf_break_last(const tf_strings *s, uint32_t i)
{
    return i + 1 < s->n_breaks ? s->breaks[i + 1].from - 1 : UINT64_MAX;
}

uint32_t tf_break_at(const tf_strings *s, uint64_t n)
{
    uint32_t i = s->n_breaks;
    while (i > 1 && s->breaks[i - 1].from > n)
        i--;
    return i - 1;
}

void tf_break_outcome(const tf_strings *s, uint32_t i, const tf_content_state *state,
                      const tf_value *value, bool settled, uint64_t *outcome)
{
    const tf_break *at = &s->breaks[i];
    memcpy(outcome, at->outcome, value->n_words * sizeof *outcome);
    if (at->language == NULL || state == NULL)
        return;
    const uint64_t *holds = settled ? state->universal : state->accepts;
    for (uint32_t j = 0; j < value->n; j++)
        if (at->language[j] != TF_NONE && tf_word_bit(holds, at->language[j]))
            tf_word_set(outcome, j);
}

bool tf_content_far(const tf_machine *m, const tf_configuration *c)
{
    const tf_strings *s = c->at;
    if (c->mode != TF_IN_STRING || s->content == NULL || s->n_breaks < 2 ||
        s->content->has_lengths == TF_LENGTHS_NONE)
        return false;
    const uint64_t *alive = tf_words(&c->alive, c->value->n_words);
    uint32_t asked = TF_NONE;
    for (uint32_t i = 0; i < s->n_breaks; i++) {
        const tf_break *at = &s->breaks[i];
        if (tf_words_meet(at->outcome, alive, c->value->n_words))
            return false;
        for (uint32_t j = 0; at->language != NULL && j < c->value->n; j++) {
            if (!tf_word_bit(alive, j) || at->language[j] == TF_NONE)
                continue;
            if (asked != TF_NONE) /* of one span of lengths more than one language, or of two */
                return false;
            asked = i;
        }
    }
    if (asked == TF_NONE || c->n < s->breaks[asked].from)
        return false;
    const uint64_t last = tf_break_last(s, asked);
    tf_content *content = (tf_content *)(uintptr_t)s->content; /* an atomic is read */
    const uint64_t farthest = atomic_load_explicit(&content->farthest, memory_order_acquire);
    const uint64_t token = m->pack->max_token_bytes;
    return last == UINT64_MAX ||
           (c->n <= last && token <= last - c->n && farthest <= last - c->n - token);
}

bool tf_content_settled(const tf_strings *s, const tf_content_state *state)
{
    if (s->content == NULL || state == NULL)
        return true;
    for (uint32_t w = 0; w < s->content->language_words; w++)
        if (state->live[w] & ~state->universal[w])
            return false;
    return true;
}

/* ---- escapes under way ---- */

typedef struct range {
    uint32_t low, high; /* code points, inclusive */
    uint32_t n_bytes;   /* to the end of the escape */
} range;

/* Code points that the escape can still come to, by what is written of it. */
static uint32_t ranges_of(const tf_configuration *c, range out[3])
{
    uint32_t low = c->hex & 0xFFFFu;
    switch (c->sub) {
    case TF_STR_E:
        out[0] = (range){0, 0xD7FF, 5};
        out[1] = (range){0xE000, 0xFFFF, 5};
        out[2] = (range){0x10000, 0x10FFFF, 11};
        return 3;
    case TF_STR_U0:
        out[0] = (range){0, 0xD7FF, 4};
        out[1] = (range){0xE000, 0xFFFF, 4};
        out[2] = (range){0x10000, 0x10FFFF, 10};
        return 3;
    case TF_STR_U1:
        out[0] = (range){low << 12, (low << 12) + 0xFFF, 3};
        return 1;
    case TF_STR_U1D:
        out[0] = (range){0xD000, 0xD7FF, 3};
        out[1] = (range){0x10000, 0x10FFFF, 9};
        return 2;
    case TF_STR_U2:
        out[0] = (range){low << 8, (low << 8) + 0xFF, 2};
        return 1;
    case TF_STR_U2H:
        low = 0x10000 + (((low << 8) - 0xD800) << 10);
        out[0] = (range){low, low + 0x3FFFF, 8};
        return 1;
    case TF_STR_U3:
        out[0] = (range){low << 4, (low << 4) + 0xF, 1};
        return 1;
    case TF_STR_U3H:
        low = 0x10000 + (((low << 4) - 0xD800) << 10);
        out[0] = (range){low, low + 0x3FFF, 7};
        return 1;
    default: break;
    }
    uint32_t base = 0x10000 + (((c->hex >> 16) - 0xD800) << 10);
    switch (c->sub) {
    case TF_STR_HS: out[0] = (range){base, base + 0x3FF, 6}; return 1;
    case TF_STR_HE: out[0] = (range){base, base + 0x3FF, 5}; return 1;
    case TF_STR_HU0: out[0] = (range){base, base + 0x3FF, 4}; return 1;
    case TF_STR_HU1: out[0] = (range){base, base + 0x3FF, 3}; return 1;
    case TF_STR_HU2:
        base += (low << 8) - 0xDC00;
        out[0] = (range){base, base + 0xFF, 2};
        return 1;
    case TF_STR_HU3:
        base += (low << 4) - 0xDC00;
        out[0] = (range){base, base + 0xF, 1};
        return 1;
    default: return 0;
    }
}

static const char short_to[] = "\"\\/\b\f\n\r\t";

/* The first run that has members at or past `code`. */
static uint32_t run_at(const tf_content *content, uint32_t code)
{
    uint32_t low = 0, high = content->n_runs; /* run[low] <= code < run[high] */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (content->run[middle] <= code)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool visit_codes(tf_run *run, const tf_content_state *from, uint32_t code, uint32_t last,
                        uint32_t n_bytes, tf_escape_visit visit, void *context)
{
    if (!tf_run_spend(run))
        return false;
    const tf_escape_way way = {tf_content_step_char(run, from, code), code, last, n_bytes};
    return way.next != NULL && visit(run, context, &way);
}

bool tf_content_escapes(tf_run *run, const tf_configuration *c, tf_escape_visit visit,
                        void *context)
{
    const tf_content_state *from = c->content;
    bool minimal = run->m->options.escapes == TOKFSM_ESCAPES_MINIMAL;
    if (from == NULL)
        return false;
    if (c->sub == TF_STR_E)
        for (uint32_t i = 0; i < sizeof short_to - 1; i++)
            if ((!minimal || short_to[i] != '/') &&
                visit_codes(run, from, (uint8_t)short_to[i], (uint8_t)short_to[i], 1, visit, context))
                return true;
    range ranges[3];
    uint32_t n = ranges_of(c, ranges);
    for (uint32_t i = 0; i < n && run->call.status == TOKFSM_OK; i++) {
        uint32_t high = ranges[i].high;
        if (minimal) { /* what has no shorter form: a control character without a letter */
            for (uint32_t code = ranges[i].low; code <= high && code < 0x20; code++)
                if ((code == 0 || memchr(short_to, (int)code, sizeof short_to - 1) == NULL) &&
                    visit_codes(run, from, code, code, ranges[i].n_bytes, visit, context))
                    return true;
            continue;
        }
        const tf_content *content = from->content;
        for (uint32_t r = run_at(content, ranges[i].low); r < content->n_runs; r++) {
            uint32_t first = content->run[r] > ranges[i].low ? content->run[r] : ranges[i].low;
            if (first > high)
                break;
            uint32_t last = r + 1 < content->n_runs && content->run[r + 1] <= high
                                ? content->run[r + 1] - 1
                                : high;
            if (visit_codes(run, from, first, last, ranges[i].n_bytes, visit, context))
                return true;
            if (run->call.status != TOKFSM_OK)
                return false;
        }
    }
    return false;
}

bool tf_content_live(const tf_configuration *c, const tf_content_state *state, uint64_t n)
{
    const tf_strings *s = c->at;
    if (state == NULL)
        return false;
    const uint64_t *alive = tf_words(&c->alive, c->value->n_words);
    for (uint32_t i = 0; i < s->n_breaks; i++) {
        uint64_t last = tf_break_last(s, i);
        if (s->breaks[i].language == NULL || last < n)
            continue;
        for (uint32_t j = 0; j < c->value->n; j++)
            if (tf_word_bit(alive, j) && s->breaks[i].language[j] != TF_NONE &&
                tf_content_meets(state, s->breaks[i].language[j], n, s->breaks[i].from, last))
                return true;
    }
    return false;
}

bool tf_free_room(tf_run *run, const tf_configuration *c, uint64_t *room)
{
    if (c->mode == TF_IN_NAME) {
        tf_scratch_words alive;
        *room = UINT64_MAX;
        uint32_t class = 0;
        if (c->content != NULL) /* settled: one class is left, and any text is of it */
            class = c->top->kind->name_sets > 0
                        ? (uint32_t)c->content->live[0] &
                              (((uint32_t)1 << c->top->kind->name_sets) - 1)
                        : tf_words_next(c->content->live, c->content->content->language_words, 0);
        else if (c->top->kind->names.content != NULL)
            return false;
        return tf_content_settled(c->at, c->content) &&
               tf_other_open(run, c->top, class, alive.words);
    }
    const tf_strings *s = c->at;
    uint32_t n_words = c->value->n_words;
    const uint64_t *alive = tf_words(&c->alive, n_words);
    if (!tf_content_settled(s, c->content))
        return false;
    for (uint32_t i = s->n_breaks; i-- > 0;) {
        uint64_t last = tf_break_last(s, i);
        if (last < c->n)
            return false;
        tf_scratch_words outcome;
        tf_break_outcome(s, i, c->content, c->value, true, outcome.words);
        if (tf_words_meet(outcome.words, alive, n_words)) {
            *room = last == UINT64_MAX ? UINT64_MAX : last - c->n;
            return true;
        }
    }
    return false;
}
