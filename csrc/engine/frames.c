#include "frames.h"

#include "../base/bits.h"
#include "counters.h"

static bool no_memory(tf_run *run)
{
    if (run->call.status == TOKFSM_OK)
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a frame");
    return false;
}

bool tf_bits_keep(tf_run *run, const uint64_t *words, uint32_t n_words, tf_bits *bits)
{
    if (n_words == 1) {
        bits->word = words[0];
        return true;
    }
    uint64_t *kept = tf_arena_take(run->arena, n_words * sizeof *kept);
    if (kept == NULL)
        return no_memory(run);
    memcpy(kept, words, n_words * sizeof *kept);
    bits->words = kept;
    return true;
}

static size_t frame_bytes(const tf_kind *kind)
{
    return sizeof(tf_frame) + kind->name_words * sizeof(uint32_t);
}

tf_frame *tf_frame_copy(tf_run *run, const tf_frame *frame)
{
    tf_frame *copy = tf_arena_take(run->arena, frame_bytes(frame->kind));
    if (copy == NULL) {
        no_memory(run);
        return NULL;
    }
    memcpy(copy, frame, frame_bytes(frame->kind));
    return copy;
}

tf_frame *tf_frame_new(tf_run *run, const tf_frame *parent, const tf_kind *kind, tf_bits alive)
{
    tf_frame *frame = tf_arena_zero(run->arena, frame_bytes(kind));
    if (frame == NULL) {
        no_memory(run);
        return NULL;
    }
    frame->parent = parent;
    frame->kind = kind;
    frame->alive = alive;
    frame->depth = parent == NULL ? 1 : parent->depth + 1;
    frame->collects = (parent != NULL && parent->collects) || tf_unique_begins(kind, &alive);
    return frame;
}

bool tf_item_open(tf_run *run, const tf_frame *frame, const tf_edge *edge, uint64_t i,
                  uint64_t *alive)
{
    const tf_kind *kind = frame->kind;
    uint32_t n_words = kind->alternative_words;
    tf_meet(alive, edge->admits, tf_frame_alive(frame), n_words);
    for (uint32_t a = kind->counting == NULL ? UINT32_MAX : tf_words_next(alive, n_words, 0);
         a != UINT32_MAX; a = tf_words_next(alive, n_words, a + 1))
        if (tf_n_counters(kind, a) > 0 && tf_item_signs(run, frame, a, i) == 0)
            alive[a >> 6] &= ~((uint64_t)1 << (a & 63u));
    return tf_words_any(alive, n_words);
}

bool tf_edge_obligations(tf_run *run, const tf_frame *frame, const tf_edge *edge, uint64_t i,
                         const uint64_t *alive, tf_bits *obligations)
{
    const tf_kind *kind = frame->kind;
    uint32_t n_words = edge->value->n_words;
    if (edge->value->n == 1) {
        obligations->word = 1;
        return true;
    }
    tf_scratch_words met;
    memset(met.words, 0, n_words * sizeof *met.words);
    for (uint32_t a = tf_words_next(alive, kind->alternative_words, 0); a != UINT32_MAX;
         a = tf_words_next(alive, kind->alternative_words, a + 1)) {
        const uint32_t *signs = tf_edge_signs(kind, edge, a);
        uint64_t open = 1;
        if (tf_n_counters(kind, a) > 0)
            open = kind->is_object ? tf_name_signs(run, frame, a, (uint32_t)i, true)
                                   : tf_item_signs(run, frame, a, i);
        for (uint32_t s = 0; open != 0; s++, open >>= 1)
            if ((open & 1u) && signs[s] != TF_NONE)
                tf_word_set(met.words, signs[s]);
    }
    return run->call.status == TOKFSM_OK && tf_bits_keep(run, met.words, n_words, obligations);
}

uint32_t tf_item_class(const tf_kind *kind, uint64_t i)
{
    uint32_t low = 0, high = kind->n_classes; /* first[low] <= i < first[high] */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (kind->first[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

bool tf_unique_begins(const tf_kind *kind, const tf_bits *alive)
{
    const uint64_t *words = tf_words(alive, kind->alternative_words);
    if (kind->unique != NULL && tf_words_meet(kind->unique, words, kind->alternative_words))
        return true;
    for (uint32_t a = 0; kind->twins != NULL && a < kind->n_alternatives; a++)
        if (kind->twins[a].second != TF_NONE && tf_word_bit(words, a))
            return true;
    return false;
}

bool tf_may_close(const tf_frame *frame, uint64_t *outcome)
{
    const tf_kind *kind = frame->kind;
    uint32_t n_words = kind->value->n_words;
    const uint64_t *alive = tf_frame_alive(frame);
    memset(outcome, 0, n_words * sizeof *outcome);
    bool any = false;
    for (uint32_t a = tf_words_next(alive, kind->alternative_words, 0); a != UINT32_MAX;
         a = tf_words_next(alive, kind->alternative_words, a + 1)) {
        bool closes = true;
        if (kind->is_object) {
            const uint32_t *required = kind->required + (size_t)a * kind->name_words;
            for (uint32_t w = 0; w < kind->name_words && closes; w++)
                closes = (required[w] & ~frame->seen[w]) == 0;
        }
        if (!closes || frame->count < kind->min_items[a] || !tf_counters_met(frame, a) ||
            (kind->twins != NULL && tf_twins_wanting(frame, a)))
            continue;
        any = true;
        for (uint32_t w = 0; w < n_words; w++)
            outcome[w] |= kind->outcome[a][w];
    }
    return any;
}

/*
 * property_order="schema": alternative a takes the name only after the names before it in its
 * own order, none of its required ones passed over. Index n_names stands for the other names.
 */
static bool in_order(const tf_frame *frame, uint32_t a, uint32_t name)
{
    const tf_kind *kind = frame->kind;
    const uint32_t *rank = kind->rank + (size_t)a * kind->n_names;
    uint32_t wanted = name < kind->n_names ? rank[name] : TF_NONE;
    if (frame->last != 0) {
        uint32_t last = frame->last - 1;
        uint32_t reached = last < kind->n_names ? rank[last] : TF_NONE;
        if (reached != TF_NONE ? wanted <= reached : wanted != TF_NONE)
            return false;
    }
    const uint32_t *required = kind->required + (size_t)a * kind->name_words;
    for (uint32_t k = 0; k < kind->n_names; k++)
        if (tf_bit(required, k) && !tf_bit(frame->seen, k) && k != name && rank[k] < wanted)
            return false;
    return true;
}

uint64_t tf_still_required(const tf_frame *frame, uint32_t a, uint32_t name)
{
    const tf_kind *kind = frame->kind;
    const uint32_t *required = kind->required + (size_t)a * kind->name_words;
    uint64_t n = 0;
    for (uint32_t w = 0; w < kind->name_words; w++)
        for (uint32_t left = required[w] & ~frame->seen[w]; left != 0; left &= left - 1)
            n++;
    return n - (name < kind->n_names && tf_bit(required, name) && !tf_bit(frame->seen, name));
}

/* Whether alternative a, with `name` begun now, can still end with a count that it admits. */
static bool count_feasible(tf_run *run, const tf_frame *frame, uint32_t a, uint32_t name)
{
    const tf_kind *kind = frame->kind;
    uint64_t least = frame->count + 1 + tf_still_required(frame, a, name);
    if (least > kind->max_items[a])
        return false;
    if (kind->rank == NULL || least >= kind->min_items[a])
        return true; /* in any order what was possible at the start stays so */
    const tf_edge *edge;
    const uint32_t *rank = kind->rank + (size_t)a * kind->n_names;
    uint64_t possible = frame->count + 1;
    for (uint32_t j = 0; j < kind->n_others; j++) {
        edge = tf_kind_edge(run->m, kind, kind->n_names + j, &run->call);
        if (edge == NULL)
            return false;
        if (!tf_word_bit(edge->admits, a))
            continue;
        uint64_t more = tf_others_left(frame, j);
        if (more >= kind->min_items[a])
            return true;
        possible += more;
    }
    for (uint32_t k = 0; k < kind->n_names; k++) {
        if (tf_bit(frame->seen, k) || k == name || (name < kind->n_names && rank[k] <= rank[name]))
            continue;
        edge = tf_kind_edge(run->m, kind, k, &run->call);
        if (edge == NULL)
            return false;
        possible += tf_word_bit(edge->admits, a);
    }
    return possible >= kind->min_items[a];
}

/* Memory of a call, and of a matcher's whole history, in automata. */
enum { CALL_SHARE = 8 };

bool tf_run_spend(tf_run *run)
{
    tokfsm_status status = tf_spend(run->call.budget, run->call.err);
    if (status == TOKFSM_OK && run->arena->n_bytes / CALL_SHARE > run->m->limits.automaton_bytes)
        status = tf_fail(run->call.err, TOKFSM_E_LIMIT,
                         "a step needs more than %u times limits.automaton_bytes of memory",
                         CALL_SHARE);
    if (status != TOKFSM_OK && run->call.status == TOKFSM_OK)
        run->call.status = status;
    return status == TOKFSM_OK;
}

static bool open_through(tf_run *run, const tf_frame *frame, const tf_edge *edge, uint32_t name, uint64_t *alive)
{
    const tf_kind *kind = frame->kind;
    uint32_t n_words = kind->alternative_words;
    if (!tf_run_spend(run)) /* names are looked at in loops that a step does not bound */
        return false;
    tf_meet(alive, edge->admits, tf_frame_alive(frame), n_words);
    if (kind->rank != NULL || kind->counts || kind->counting != NULL)
        for (uint32_t a = tf_words_next(alive, n_words, 0); a != UINT32_MAX;
             a = tf_words_next(alive, n_words, a + 1))
            if ((kind->rank != NULL && !in_order(frame, a, name)) ||
                (kind->counts && !count_feasible(run, frame, a, name)) ||
                (tf_n_counters(kind, a) > 0 && tf_name_signs(run, frame, a, name, false) == 0))
                alive[a >> 6] &= ~((uint64_t)1 << (a & 63u));
    return tf_words_any(alive, n_words);
}

bool tf_name_open(tf_run *run, const tf_frame *frame, uint32_t name, uint64_t *alive)
{
    if (tf_bit(frame->seen, name))
        return false;
    const tf_edge *edge = tf_kind_edge(run->m, frame->kind, name, &run->call);
    return edge != NULL && open_through(run, frame, edge, name, alive);
}

uint64_t tf_others_left(const tf_frame *frame, uint32_t class)
{
    const tf_content *content = frame->kind->names.content;
    if (content == NULL || content->start == NULL || !content->has_counts)
        return UINT64_MAX;
    uint64_t n = content->start->counts[class];
    for (const tf_emitted *e = frame->emitted; e != NULL && n != UINT64_MAX && n > 0; e = e->previous)
        n -= e->class == class;
    return n;
}

bool tf_other_open(tf_run *run, const tf_frame *frame, uint32_t class, uint64_t *alive)
{
    uint32_t name = frame->kind->n_names + class;
    if (tf_others_left(frame, class) == 0)
        return false;
    const tf_edge *edge = tf_kind_edge(run->m, frame->kind, name, &run->call);
    return edge != NULL && open_through(run, frame, edge, name, alive);
}
