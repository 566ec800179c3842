/*
 * The completion bound: for each obligation of the value in progress the tokens that finish
 * it, then frame by frame outwards: an alternative of the parent costs what its obligation
 * costs plus the rest of the frame. Every term is the cost of something that can be written,
 * and each has a first token after which the term is less by one, so the sum has too.
 */
#include <stdlib.h>

#include "../base/bits.h"
#include "bound_names.h"
#include "counters.h"
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

/* ---- layout ---- */

static bool indented(const tf_machine *m) { return m->options.whitespace == TOKFSM_WHITESPACE_INDENT; }
static bool spaced(const tf_machine *m) { return m->options.whitespace == TOKFSM_WHITESPACE_SPACED; }

/* Bytes `before` a member or item, then its gap, of which `done` bytes are written. */
static uint32_t gap_rest(const tf_machine *m, const tf_frame *frame, uint8_t gap, uint64_t done)
{
    uint32_t length = 0;
    bool newline = false;
    if (gap == TF_GAP_COLON || (gap == TF_GAP_COMMA && spaced(m)))
        length = spaced(m) || indented(m);
    else if (indented(m) && gap != TF_GAP_NONE) {
        uint64_t wide = 1 + (uint64_t)m->options.indent * frame->depth;
        length = wide >= TF_COST_NONE ? TF_COST_NONE - 1 : (uint32_t)wide;
        newline = true;
    }
    if (done >= length)
        return 0;
    bool first = newline && done == 0;
    return tf_gap_cost(m, first, length - (uint32_t)done - first);
}

uint32_t tf_comma_cost(const tf_machine *m, const tf_frame *frame)
{
    return tf_cost_add(tf_bytes_cost(m, ","), gap_rest(m, frame, TF_GAP_COMMA, 0));
}

/* The bracket after a member or item, with the gap before it. */
static uint32_t close_cost(const tf_machine *m, const tf_frame *frame, uint64_t done)
{
    uint32_t cost = tf_bytes_cost(m, frame->kind->is_object ? "}" : "]");
    if (indented(m)) {
        uint64_t length = 1 + (uint64_t)m->options.indent * (frame->depth - 1);
        if (done < length)
            cost = tf_cost_add(cost, tf_gap_cost(m, done == 0,
                                                 (uint32_t)(length - done - (done == 0))));
    }
    return cost;
}

/* ---- members ---- */

/* What alternative a asks of a child with this sign. */
static uint32_t edge_cost(tf_run *run, const tf_frame *frame, const tf_edge *edge, uint32_t a,
                          uint32_t sign)
{
    uint32_t obligation = tf_edge_signs(frame->kind, edge, a)[sign];
    if (edge->value == NULL || obligation == TF_NONE)
        return TF_COST_NONE;
    const tf_cost *cost = tf_value_cost(run->m, edge->value, &run->call);
    return cost == NULL ? TF_COST_NONE : tf_cost_at(cost[obligation], frame->depth);
}

/* The colon and its gap, after the quote of the name begun last. */
static uint32_t colon_cost(tf_run *run, const tf_frame *frame)
{
    const tf_strings *names = &frame->kind->names;
    uint32_t name = frame->last - 1;
    if (name < names->n_literals) {
        /* As the name's own cost has it: its cheapest split may end after the quote. */
        const uint32_t *spelling = tf_literal_cost(run->m, names, name, true, &run->call);
        return spelling == NULL ? TF_COST_NONE : spelling[names->literals[name].n_spelled + 1];
    }
    return tf_cost_add(tf_bytes_cost(run->m, ":"), gap_rest(run->m, frame, TF_GAP_COLON, 0));
}

uint32_t tf_member_cost(tf_run *run, const tf_frame *frame, uint32_t name, uint32_t pos,
                        uint32_t a, uint32_t sign)
{
    const tf_kind *kind = frame->kind;
    if (!tf_run_spend(run)) /* members are looked at in loops that a step does not bound */
        return TF_COST_NONE;
    const tf_edge *edge = tf_kind_edge(run->m, kind, name, &run->call);
    const uint32_t *spelling = tf_literal_cost(run->m, &kind->names, name, true, &run->call);
    if (edge == NULL || spelling == NULL || spelling[pos] == TF_COST_NONE)
        return TF_COST_NONE;
    return tf_cost_add(spelling[pos], edge_cost(run, frame, edge, a, sign));
}

uint32_t tf_longest_name(const tf_frame *frame, uint32_t a)
{
    const tf_strings *names = &frame->kind->names;
    const uint32_t *spoken = frame->kind->spoken + (size_t)a * frame->kind->name_words;
    uint32_t longest = 0;
    for (uint32_t i = 0; i < names->n_literals; i++)
        if ((tf_bit(spoken, i) || tf_bit(frame->seen, i)) && names->literals[i].n_text > longest)
            longest = names->literals[i].n_text;
    for (const tf_emitted *e = frame->emitted; e != NULL; e = e->previous)
        if (e->name != NULL && e->name->length > longest)
            longest = e->name->length;
    return longest;
}

uint32_t tf_other_member_cost(tf_run *run, const tf_frame *frame, const tf_edge *edge, uint32_t a,
                              uint32_t sign)
{
    uint32_t cost = tf_cost_add(tf_bytes_cost(run->m, "\"\":"),
                                gap_rest(run->m, frame, TF_GAP_COLON, 0));
    return tf_cost_add(cost, edge_cost(run, frame, edge, a, sign));
}

/* n more members under names that the alternative does not speak of, each longer than all before
   it (one that only others speak of is to this alternative like any other);
   `in_progress` is the length of one that is being written. */
static uint32_t other_members_cost(tf_run *run, const tf_frame *frame, uint32_t a, uint64_t n,
                                   uint32_t in_progress)
{
    const tf_machine *m = run->m;
    const tf_edge *edge = tf_kind_edge(run->m, frame->kind, frame->kind->n_names, &run->call);
    if (n == 0)
        return 0;
    if (edge == NULL || m->char_tokens == TF_COST_NONE)
        return TF_COST_NONE;
    uint32_t each = tf_cost_add(tf_comma_cost(m, frame), tf_other_member_cost(run, frame, edge, a, 0));
    if (each == TF_COST_NONE)
        return TF_COST_NONE;
    uint64_t most = n > 100000 ? 100000 : n; /* past any budget */
    uint64_t longest = tf_longest_name(frame, a);
    longest = in_progress > longest ? in_progress : longest;
    uint64_t chars = most * longest + most * (most + 1) / 2;
    uint64_t sum = most * each + chars * m->char_tokens;
    return sum >= TF_COST_NONE ? TF_COST_NONE - 1 : (uint32_t)sum;
}

static int compare_costs(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* n more members under declared names that are not required: the cheapest ones. */
static uint32_t optional_members_cost(tf_run *run, const tf_frame *frame, uint32_t a,
                                      uint32_t taken, uint64_t n)
{
    const tf_kind *kind = frame->kind;
    const uint32_t *required = kind->required + (size_t)a * kind->name_words;
    uint32_t *each_cost = tf_arena_take(run->arena, kind->n_names * sizeof *each_cost);
    if (each_cost == NULL) {
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a bound");
        return TF_COST_NONE;
    }
    size_t n_costs = 0;
    /* In the schema's order a name that was passed over is gone. */
    const uint32_t *rank = kind->rank == NULL ? NULL : kind->rank + (size_t)a * kind->n_names;
    uint32_t last = taken != TF_NONE ? taken : frame->last - 1;
    bool passes = rank != NULL && last < kind->n_names;
    for (uint32_t k = 0; k < kind->n_names; k++)
        if (!tf_bit(frame->seen, k) && !tf_bit(required, k) && k != taken &&
            !(passes && rank[k] <= rank[last]))
            each_cost[n_costs++] = tf_member_cost(run, frame, k, 0, a, 0);
    if (n > n_costs)
        return TF_COST_NONE;
    qsort(each_cost, n_costs, sizeof *each_cost, compare_costs);
    uint32_t sum = 0;
    uint32_t each = tf_cost_add(tf_comma_cost(run->m, frame), tf_bytes_cost(run->m, "\""));
    for (uint64_t i = 0; i < n; i++)
        sum = tf_cost_add(sum, tf_cost_add(each_cost[i], each));
    return sum;
}

/*
 * n more members where patterns tell other names apart: the cheapest of what is left, whether
 * declared or not. `but` is a name that is being written.
 */
static uint32_t mixed_members_cost(tf_run *run, const tf_frame *frame, uint32_t a, uint32_t taken,
                                   uint64_t n, const tf_known_name *but)
{
    const tf_kind *kind = frame->kind;
    uint64_t n_room = n > 1u << 16 ? UINT64_MAX : n * kind->n_others + kind->n_names;
    uint32_t *all = n_room > (1u << 24) ? NULL : tf_arena_take(run->arena, n_room * sizeof *all);
    if (all == NULL) {
        run->call.status = tf_fail(run->call.err, TOKFSM_E_LIMIT, "too many members for a bound");
        return TF_COST_NONE;
    }
    size_t n_all = 0;
    for (uint32_t j = 0; j < kind->n_others; j++) {
        const tf_edge *edge = tf_kind_edge(run->m, kind, kind->n_names + j, &run->call);
        uint32_t value = edge == NULL ? TF_COST_NONE : tf_other_member_cost(run, frame, edge, a, 0);
        if (value == TF_COST_NONE)
            continue;
        uint32_t found = tf_class_names_costs(run, frame, j, but, (uint32_t)n, all + n_all);
        for (uint32_t i = 0; i < found; i++, n_all++)
            all[n_all] = tf_cost_add(all[n_all], value);
    }
    const uint32_t *required = kind->required + (size_t)a * kind->name_words;
    uint32_t last = taken != TF_NONE ? taken : frame->last - 1;
    for (uint32_t k = 0; k < kind->n_names; k++)
        if (!tf_bit(frame->seen, k) && !tf_bit(required, k) && k != taken &&
            tf_comes_after(kind, a, k, last))
            all[n_all++] = tf_cost_add(tf_member_cost(run, frame, k, 0, a, 0),
                                       tf_bytes_cost(run->m, "\""));
    if (n > n_all)
        return TF_COST_NONE;
    if (n_all > 1)
        qsort(all, n_all, sizeof *all, compare_costs);
    uint32_t sum = 0, comma = tf_comma_cost(run->m, frame);
    for (uint64_t i = 0; i < n; i++)
        sum = tf_cost_add(sum, tf_cost_add(all[i], comma));
    return sum;
}

/* Members beyond the required ones that alternative a still needs. `begun`: a member that the
   frame does not count yet; n_required of them are still to come. */
static uint32_t more_members_cost(tf_run *run, const tf_frame *frame, uint32_t a, uint32_t taken,
                                  bool begun, uint32_t in_progress, const tf_known_name *but,
                                  uint64_t n_required)
{
    const tf_kind *kind = frame->kind;
    uint64_t n = frame->count + begun + n_required;
    uint64_t more = kind->min_items[a] > n ? kind->min_items[a] - n : 0;
    if (more == 0)
        return 0;
    if (kind->names.content != NULL)
        return mixed_members_cost(run, frame, a, taken, more, but);
    const tf_edge *edge = tf_kind_edge(run->m, kind, kind->n_names, &run->call);
    if (edge == NULL)
        return TF_COST_NONE;
    if (tf_word_bit(edge->admits, a))
        return other_members_cost(run, frame, a, more, in_progress);
    return optional_members_cost(run, frame, a, taken, more);
}

/* What alternative a still needs after the member or item in progress, which has this sign.
   `taken`: a name that counts as seen, or TF_NONE; `gap_done`: white space after it, so far;
   `begun`: the frame does not count the member yet, of which `in_progress` is the name's length. */
static uint32_t rest_after(tf_run *run, const tf_frame *frame, uint32_t a, uint32_t taken,
                           uint64_t gap_done, bool begun, uint32_t in_progress, uint32_t sign,
                           const tf_known_name *but)
{
    const tf_machine *m = run->m;
    const tf_kind *kind = frame->kind;
    uint32_t cost = 0;
    uint64_t n_required = 0;
    bool more = false;
    if (tf_n_counters(kind, a) > 0) {
        cost = kind->is_object
                   ? tf_members_rest(run, frame, a, taken, begun, in_progress, sign, but)
                   : tf_items_rest(run, frame, a, sign);
        more = cost > 0;
    } else if (kind->is_object) {
        const uint32_t *required = kind->required + (size_t)a * kind->name_words;
        for (uint32_t w = 0; w < kind->name_words; w++) {
            uint32_t left = required[w] & ~frame->seen[w];
            for (uint32_t b = 0; left != 0; b++, left >>= 1) {
                uint32_t name = w * 32 + b;
                if (!(left & 1u) || name == taken)
                    continue;
                more = true;
                n_required++;
                cost = tf_cost_add(cost, tf_comma_cost(m, frame));
                cost = tf_cost_add(cost, tf_bytes_cost(m, "\""));
                cost = tf_cost_add(cost, tf_member_cost(run, frame, name, 0, a, 0));
            }
        }
        if (kind->counts) {
            uint32_t members = more_members_cost(run, frame, a, taken, begun, in_progress,
                                                 but, n_required);
            more |= members > 0;
            cost = tf_cost_add(cost, members);
        }
    } else if (frame->count < tf_least_items(frame, a)) {
        const tf_items_cost *items = tf_kind_items_cost(run->m, kind, &run->call);
        if (items == NULL)
            return TF_COST_NONE;
        items += a;
        more = true;
        uint64_t from = frame->count, to = tf_least_items(frame, a);
        uint32_t comma = tf_comma_cost(m, frame);
        uint64_t n = to - from > UINT32_MAX ? UINT32_MAX : to - from, sum = n * comma;
        for (; from < to && from < items->n_prefix; from++, n--) {
            uint32_t item = tf_cost_at(items->prefix[from], frame->depth);
            if (item == TF_COST_NONE)
                return TF_COST_NONE;
            sum += item;
        }
        uint32_t later = n > 0 ? tf_cost_at(items->item, frame->depth) : 0;
        if (later == TF_COST_NONE || comma == TF_COST_NONE)
            return TF_COST_NONE;
        sum += n * later;
        cost = sum >= TF_COST_NONE ? TF_COST_NONE - 1 : (uint32_t)sum;
    }
    if (more && gap_done > 0 && indented(m))
        return TF_COST_NONE; /* the line break before the bracket is written */
    return tf_cost_add(cost, close_cost(m, frame, gap_done));
}

/* The value in progress, whose costs by obligation are `value` (NULL: not begun), and the rest. */
static uint32_t value_and_rest(tf_run *run, const tf_frame *frame, uint32_t a, const costs *value)
{
    uint32_t best = TF_COST_NONE;
    const uint32_t *signs = tf_edge_signs(frame->kind, frame->edge, a);
    for (uint32_t s = 0; s < 1u << tf_n_counters(frame->kind, a); s++) {
        if (signs[s] == TF_NONE)
            continue;
        uint32_t cost = value == NULL ? edge_cost(run, frame, frame->edge, a, s) : value->of[signs[s]];
        if (cost < best)
            keep_less(&best, tf_cost_add(cost, rest_after(run, frame, a, TF_NONE, 0, false, 0, s, NULL)));
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
                                         gap_rest(m, frame, TF_GAP_COLON, 0)));
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
                                                              rest_after(run, frame, a, k, 0, true, 0, s, NULL))));
        }
    for (uint32_t j = 0; j < kind->n_others && run->call.status == TOKFSM_OK; j++) {
        if (!tf_other_open(run, frame, j, alive.words))
            continue;
        uint32_t length = 0, name;
        tf_known_name known = {NULL, 0};
        if (kind->names.content == NULL) {
            name = other_name_cost(run, c, &length);
        } else {
            name = tf_class_name_cost(run, c, j, &known);
            name = tf_cost_add(name, tf_cost_add(tf_bytes_cost(run->m, "\":"),
                                                 gap_rest(run->m, frame, TF_GAP_COLON, 0)));
        }
        const tf_edge *edge = tf_kind_edge(run->m, kind, kind->n_names + j, &run->call);
        if (edge == NULL)
            return;
        for (uint32_t a = tf_words_next(alive.words, n_words, 0); a != UINT32_MAX;
             a = tf_words_next(alive.words, n_words, a + 1))
            for (uint32_t s = 0; s < 1u << tf_n_counters(kind, a); s++) {
                uint32_t rest = tf_cost_add(edge_cost(run, frame, edge, a, s),
                                            rest_after(run, frame, a, TF_NONE, 0, true, length, s, &known));
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

static bool add_content_rest(tf_run *run, void *context, const tf_content_state *state,
                             uint32_t code, uint32_t n_bytes)
{
    (void)code;
    const content_rest *rest = context;
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
        add_content_rest(run, &rest, c->content, 0, 0);
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
                                         gap_rest(run->m, c->top, c->gap, c->n));
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
            out->of[a] = rest_after(run, frame, a, TF_NONE, c->n, false, 0, 0, NULL);
        } else if (c->mode == TF_AT_COLON) {
            out->of[a] = tf_cost_add(colon_cost(run, frame), value_and_rest(run, frame, a, NULL));
        } else if (has_value) {
            bool fresh = c->mode == TF_AT_VALUE && !kind->is_object;
            tf_frame begun = *frame;
            begun.count += open_array; /* the item that may begin is not counted yet */
            begun.fresh = 1;
            out->of[a] = value_and_rest(run, fresh ? &begun : frame, a, value);
        }
        if (open_array && kind->min_items[a] == 0 && tf_counters_met(frame, a) &&
            (!indented(m) || c->n == 0))
            keep_less(&out->of[a], tf_bytes_cost(m, "]"));
    }
    if (c->mode == TF_IN_NAME)
        name_costs(run, c, 0, out);
    if (c->mode == TF_AT_NAME) {
        uint32_t before = tf_cost_add(gap_rest(m, frame, c->gap, c->n), tf_bytes_cost(m, "\""));
        name_costs(run, c, before, out);
        if (c->gap == TF_GAP_OPEN && (!indented(m) || c->n == 0))
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
