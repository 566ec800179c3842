/*
 * What a frame still needs after what is being written: members and items to come, brackets,
 * commas and gaps. See bound.c.
 */
#include "bound_members.h"

#include <stdlib.h>

#include "../base/bits.h"

/* ---- layout ---- */

static bool spaced(const tf_machine *m) { return m->options.whitespace == TOKFSM_WHITESPACE_SPACED; }

/* Bytes `before` a member or item, then its gap, of which `done` bytes are written. */
uint32_t tf_gap_rest(const tf_machine *m, const tf_frame *frame, uint8_t gap, uint64_t done)
{
    uint32_t length = 0;
    bool newline = false;
    if (gap == TF_GAP_COLON || (gap == TF_GAP_COMMA && spaced(m)))
        length = spaced(m) || tf_indented(m);
    else if (tf_indented(m) && gap != TF_GAP_NONE) {
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
    return tf_cost_add(tf_bytes_cost(m, ","), tf_gap_rest(m, frame, TF_GAP_COMMA, 0));
}

/* The bracket after a member or item, with the gap before it. */
static uint32_t close_cost(const tf_machine *m, const tf_frame *frame, uint64_t done)
{
    uint32_t cost = tf_bytes_cost(m, frame->kind->is_object ? "}" : "]");
    if (tf_indented(m)) {
        uint64_t length = 1 + (uint64_t)m->options.indent * (frame->depth - 1);
        if (done < length)
            cost = tf_cost_add(cost, tf_gap_cost(m, done == 0,
                                                 (uint32_t)(length - done - (done == 0))));
    }
    return cost;
}

/* ---- members ---- */

/* What alternative a asks of a child with this sign. */
uint32_t tf_edge_cost(tf_run *run, const tf_frame *frame, const tf_edge *edge, uint32_t a,
                          uint32_t sign)
{
    uint32_t obligation = tf_edge_signs(frame->kind, edge, a)[sign];
    if (edge->value == NULL || obligation == TF_NONE)
        return TF_COST_NONE;
    const tf_cost *cost = tf_value_cost(run->m, edge->value, &run->call);
    return cost == NULL ? TF_COST_NONE : tf_cost_at(cost[obligation], frame->depth);
}

/* The colon and its gap, after the quote of the name begun last. */
uint32_t tf_colon_cost(tf_run *run, const tf_frame *frame)
{
    const tf_strings *names = &frame->kind->names;
    uint32_t name = frame->last - 1;
    if (name < names->n_literals) {
        /* As the name's own cost has it: its cheapest split may end after the quote. */
        const uint32_t *spelling = tf_literal_cost(run->m, names, name, true, &run->call);
        return spelling == NULL ? TF_COST_NONE : spelling[names->literals[name].n_spelled + 1];
    }
    return tf_cost_add(tf_bytes_cost(run->m, ":"), tf_gap_rest(run->m, frame, TF_GAP_COLON, 0));
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
    return tf_cost_add(spelling[pos], tf_edge_cost(run, frame, edge, a, sign));
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
                                tf_gap_rest(run->m, frame, TF_GAP_COLON, 0));
    return tf_cost_add(cost, tf_edge_cost(run, frame, edge, a, sign));
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
uint32_t tf_rest_after(tf_run *run, const tf_frame *frame, uint32_t a, uint32_t taken,
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
    if (more && gap_done > 0 && tf_indented(m))
        return TF_COST_NONE; /* the line break before the bracket is written */
    return tf_cost_add(cost, close_cost(m, frame, gap_done));
}
