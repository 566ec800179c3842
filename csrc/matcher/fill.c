/* The mask of a matcher's position: the engine's mask, stop tokens, budget, row width. */
#include "../base/bits.h"
#include "matcher.h"

void tf_scratch_begin(tf_scratch_run *s, tokfsm_matcher *matcher, tokfsm_error *err)
{
    tf_machine *machine = matcher->automaton->machine;
    tf_arena_reset(&matcher->scratch);
    tf_budget_init(&s->budget, &machine->limits, NULL);
    s->run = (tf_run){.m = machine, .arena = &matcher->scratch,
                      .call = {&s->budget, err == NULL ? &s->local : err, TOKFSM_OK}};
}

tokfsm_status tf_matcher_check_width(const tokfsm_matcher *matcher, size_t n_words,
                                     tokfsm_error *err)
{
    const tokfsm_pack *pack = matcher->automaton->pack;
    for (uint32_t id = n_words < pack->n_words ? (uint32_t)n_words * 32 : pack->vocab_size;
         id < pack->vocab_size; id++)
        if (pack->offsets[id + 1] > pack->offsets[id] || tf_matcher_stops(matcher, id))
            return tf_fail(err, TOKFSM_E_SIZE,
                           "a row of %zu words cuts token id %u, which can be allowed; %u words "
                           "are needed",
                           n_words, id, pack->n_words);
    return TOKFSM_OK;
}

tokfsm_status tf_matcher_check_budget(const tokfsm_matcher *matcher, tf_run *run,
                                      const tf_node *at, uint32_t budget, tokfsm_error *err)
{
    if (matcher->stop_has_bytes)
        return tf_fail(err, TOKFSM_E_ARGUMENT,
                       "a budget needs stop tokens that have no bytes or are in the vocabulary's "
                       "stop set");
    uint32_t bound = tf_bound(run, &at->c);
    if (run->call.status == TOKFSM_OK && bound > budget)
        return tf_fail(err, TOKFSM_E_BUDGET,
                       "a budget of %u tokens is below the completion bound of %u", budget, bound);
    return run->call.status;
}

static void write_stops(const tokfsm_matcher *matcher, bool complete, uint32_t *row)
{
    for (size_t i = 0; i < matcher->n_stop_ids; i++) {
        tf_clear(row, matcher->stop_ids[i]);
        if (complete)
            tf_set(row, matcher->stop_ids[i]);
    }
}

static inline tokfsm_status make(tokfsm_matcher *matcher, tf_run *run, const tf_node *at,
                                 size_t n_words, uint32_t budget, tf_made_mask *made,
                                 tokfsm_error *err)
{
    const tokfsm_pack *pack = matcher->automaton->pack;
    bool limited = budget != TOKFSM_UNBOUNDED && !at->stopped;
    made->row = NULL;
    made->complete = tf_is_complete(&at->c);
    if (at->stopped)
        memset(&made->edits, 0, sizeof made->edits);
    else if (limited)
        TF_TRY(tf_matcher_check_budget(matcher, run, at, budget, err));
    if (!at->stopped && !tf_mask(run, &at->c, &made->edits))
        return run->call.status;
    if (n_words >= pack->n_words && !limited)
        return TOKFSM_OK;
    made->row = tf_arena_take(run->arena, pack->n_words * sizeof *made->row);
    if (made->row == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for a row");
    tf_edits_apply(&made->edits, made->row, pack->n_words);
    if (limited && !tf_mask_budget(run, &at->c, &made->edits, made->row, budget))
        return run->call.status;
    write_stops(matcher, made->complete, made->row);
    return TOKFSM_OK;
}

static inline void write(const tokfsm_matcher *matcher, const tf_made_mask *made, uint32_t *words,
                         size_t n_words)
{
    size_t most = matcher->automaton->pack->n_words;
    size_t shared = n_words < most ? n_words : most;
    if (made->row == NULL) {
        tf_edits_apply(&made->edits, words, shared);
        write_stops(matcher, made->complete, words);
    } else {
        memcpy(words, made->row, shared * sizeof *words);
    }
    memset(words + shared, 0, (n_words - shared) * sizeof *words);
}

tokfsm_status tf_matcher_make(tokfsm_matcher *matcher, tf_run *run, const tf_node *at,
                              size_t n_words, uint32_t budget, tf_made_mask *made,
                              tokfsm_error *err)
{
    return make(matcher, run, at, n_words, budget, made, err);
}

void tf_matcher_write(const tokfsm_matcher *matcher, const tf_made_mask *made, uint32_t *words,
                      size_t n_words)
{
    write(matcher, made, words, n_words);
}

void tf_matcher_note_width(tokfsm_matcher *matcher, size_t n_words)
{
    if (n_words > matcher->automaton->pack->n_words && n_words * 32 > matcher->padded)
        matcher->padded = n_words > UINT32_MAX / 32 ? UINT32_MAX : (uint32_t)n_words * 32;
}

/* All that can fail comes before the first write to `words`. */
static tokfsm_status fill(tokfsm_matcher *matcher, uint32_t *words, size_t n_words,
                          uint32_t budget, tokfsm_error *err)
{
    tf_scratch_run s;
    tf_made_mask made;
    tf_scratch_begin(&s, matcher, err);
    TF_TRY(make(matcher, &s.run, matcher->at, n_words, budget, &made, err));
    write(matcher, &made, words, n_words);
    return TOKFSM_OK;
}

static bool all_allowed(const uint32_t *row, uint32_t vocab_size)
{
    for (uint32_t w = 0; w < vocab_size / 32; w++)
        if (row[w] != UINT32_MAX)
            return false;
    uint32_t rest = vocab_size % 32;
    return rest == 0 || row[vocab_size / 32] == ((uint32_t)1 << rest) - 1;
}

tokfsm_status tf_matcher_fill(tokfsm_matcher *matcher, uint32_t *words, size_t n_words,
                              uint32_t budget, int32_t *need_apply, tokfsm_error *err)
{
    const tokfsm_pack *pack = matcher->automaton->pack;
    if (n_words < pack->n_words)
        TF_TRY(tf_matcher_check_width(matcher, n_words, err));
    TF_TRY(fill(matcher, words, n_words, budget, err));
    tf_matcher_note_width(matcher, n_words);
    if (need_apply != NULL)
        *need_apply = n_words < pack->n_words || !all_allowed(words, pack->vocab_size);
    return TOKFSM_OK;
}

tokfsm_status tokfsm_matcher_fill(tokfsm_matcher *matcher, uint32_t *words, size_t n_words,
                                  uint32_t budget, int32_t *need_apply, tokfsm_error *err)
{
    if (words == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "words is NULL");
    TF_TRY(tf_matcher_enter(matcher, err));
    tokfsm_status status = tf_matcher_fill(matcher, words, n_words, budget, need_apply, err);
    tf_matcher_leave(matcher);
    return status;
}

tokfsm_status tokfsm_matcher_bound(tokfsm_matcher *matcher, uint32_t *n_tokens, tokfsm_error *err)
{
    if (n_tokens == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "n_tokens is NULL");
    TF_TRY(tf_matcher_enter(matcher, err));
    tf_scratch_run s;
    tf_scratch_begin(&s, matcher, err);
    uint32_t bound = matcher->at->stopped ? 0 : tf_bound(&s.run, &matcher->at->c);
    tokfsm_status status = s.run.call.status;
    if (status == TOKFSM_OK)
        *n_tokens = bound;
    tf_matcher_leave(matcher);
    return status;
}

static tokfsm_status check_bytes(tokfsm_matcher *matcher, const uint8_t *bytes, size_t n_bytes,
                                 size_t *n_taken, int32_t *complete, uint32_t allowed[8],
                                 tokfsm_error *err)
{
    tf_scratch_run s;
    tf_scratch_begin(&s, matcher, err);
    tf_configuration c = matcher->at->c;
    size_t n = 0;
    if (!matcher->at->stopped)
        while (n < n_bytes) {
            tf_configuration next = c;
            s.budget.left = s.budget.limit; /* the limit is a step's, not the text's */
            if (!tf_step(&s.run, &next, bytes[n]))
                break;
            c = next;
            n++;
        }
    *n_taken = n;
    *complete = n == n_bytes && tf_is_complete(&c) && !matcher->at->stopped;
    if (allowed != NULL) {
        memset(allowed, 0, 8 * sizeof *allowed);
        for (uint32_t byte = 0; byte < 256 && !matcher->at->stopped; byte++) {
            tf_configuration next = c;
            if (s.run.call.status == TOKFSM_OK && tf_step(&s.run, &next, (uint8_t)byte))
                tf_set(allowed, byte);
        }
    }
    return s.run.call.status;
}

tokfsm_status tokfsm_matcher_check_bytes(tokfsm_matcher *matcher, const uint8_t *bytes,
                                         size_t n_bytes, size_t *n_taken, int32_t *complete,
                                         uint32_t allowed[8], tokfsm_error *err)
{
    if ((bytes == NULL && n_bytes > 0) || n_taken == NULL || complete == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "an argument is NULL");
    TF_TRY(tf_matcher_enter(matcher, err));
    size_t taken;
    int32_t whole;
    tokfsm_status status = check_bytes(matcher, bytes, n_bytes, &taken, &whole, allowed, err);
    if (status == TOKFSM_OK) {
        *n_taken = taken;
        *complete = whole;
    }
    tf_matcher_leave(matcher);
    return status;
}
