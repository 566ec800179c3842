/*
 * The mask of a configuration. Inside a string whose content is free the tokens that stay
 * inside come from the pack's rows; those that close it come from the pack's trie of what
 * follows the quote; literals are walked by themselves. Everything else is the generic walk.
 */
#include "../base/bits.h"
#include "cache.h"
#include "content.h"
#include "emitted.h"
#include "far.h"
#include "frames.h"
#include "glance.h"
#include "name_parts.h"
#include "step.h"
#include "text.h"
#include "unique.h"
#include "walk.h"

/* Choose the row of tokens that keep the string open; false: the pack has none for this. */
static bool stay_row(const tf_run *run, const tf_configuration *c, uint64_t room, tf_edits *edits)
{
    const tokfsm_pack *pack = run->m->pack;
    bool minimal = run->m->options.escapes == TOKFSM_ESCAPES_MINIMAL;
    size_t n_words = pack->n_words;
    edits->base = pack->stay + c->sub * n_words;
    if (c->sub != TF_STR_NORMAL) {
        if (minimal || room < pack->stay_chars[c->sub])
            return false;
    } else if (room < pack->stay_chars[TF_STR_NORMAL]) {
        uint32_t k = 0;
        while (k < pack->n_lengths && pack->length[k] <= room)
            k++;
        /* Where no token is short enough the row stays empty. */
        edits->base = k == 0 ? NULL : pack->stay_at_most + (k - 1) * n_words;
    }
    edits->narrowed = minimal ? pack->stay_minimal : NULL;
    return true;
}

/* Whether the string, closed now, is one of its literals. */
static bool on_literal(const tf_configuration *c)
{
    const tf_strings *s = c->at;
    return c->literal == TF_ON && c->low < c->high && s->literals[c->low].n_spelled == c->pos;
}

/*
 * Tokens that close the string as a free one: the part before the quote is of `chars`
 * characters, what follows is walked from the configuration after the quote.
 */
static bool close_free(tf_run *run, const tf_configuration *c, tf_edits *edits)
{
    const tokfsm_pack *pack = run->m->pack;
    bool minimal = run->m->options.escapes == TOKFSM_ESCAPES_MINIMAL;
    bool name = c->mode == TF_IN_NAME;
    const tf_strings *names = c->at;
    const tf_text *text = c->text;
    /* Names are told from those that are there by their text, which a literal spares. */
    if (name && c->literal == TF_ON &&
        !tf_text_leave(run, c->low < c->high ? &names->literals[c->low] : NULL, c->pos, &text))
        return false;
    /* Lengths low .. high - 1 more have one outcome: one walk for each such span. */
    for (uint32_t low = on_literal(c), high; low <= pack->max_close_chars; low = high) {
        tf_configuration closed = *c;
        closed.literal = TF_OFF;
        closed.low = closed.high = 0;
        closed.text = text;
        high = pack->max_close_chars + 1;
        if (!name) {
            const tf_strings *s = c->at;
            closed.n += low;
            for (uint32_t i = 0; i < s->n_breaks; i++)
                if (s->breaks[i].from > closed.n && s->breaks[i].from - c->n < high)
                    high = (uint32_t)(s->breaks[i].from - c->n);
        }
        if (tf_step(run, &closed, '"') && 
            !tf_walk_traces(run, TF_TRACE_CLOSE, &closed, &(tf_close_span){low, high, minimal, NULL},
                            edits, &edits->before))
            return false;
        if (run->call.status != TOKFSM_OK)
            return false;
    }
    return true;
}

/* Tokens along the literals, and those that close the string on one, by real steps. */
static bool walk_literals(tf_run *run, const tf_configuration *c, tf_edits *edits)
{
    tf_configuration only = *c;
    only.literals_only = 1;
    return tf_walk(run, &run->m->pack->all, &only, &edits->set, &edits->cleared);
}

/* Whether no obligation alive is met by strings whatever their content. */
static bool only_content(const tf_configuration *c)
{
    const tf_strings *s = c->at;
    for (uint32_t i = 0; i < s->n_breaks; i++)
        if (tf_words_meet(s->breaks[i].outcome, tf_words(&c->alive, c->value->n_words),
                          c->value->n_words))
            return false;
    return true;
}

/*
 * Where what is written matters: the row of tokens that keep the string open and leave it room
 * enough to become another one, whatever they write; the few longer ones by real steps.
 */
static bool stay_row_compared(tf_run *run, const tf_configuration *c, uint64_t room,
                              tf_edits *edits)
{
    uint64_t most = run->m->pack->stay_chars[c->sub];
    if (room >= most && tf_unique_stays(run, c, most))
        return stay_row(run, c, room, edits);
    uint64_t spare = 1;
    while (spare <= 4 && spare <= room && !tf_unique_stays(run, c, room - spare))
        spare++;
    tf_edits all = {0};
    if (spare > 4 || spare > room || c->sub != TF_STR_NORMAL || !stay_row(run, c, room, &all) ||
        !stay_row(run, c, room - spare, edits))
        return false;
    for (uint32_t w = 0; all.base != NULL && w < run->m->pack->n_words; w++) {
        uint32_t left = all.base[w] & ~(edits->base == NULL ? 0 : edits->base[w]);
        if (all.narrowed != NULL)
            left &= all.narrowed[w];
        for (uint32_t id = w * 32; left != 0; id++, left >>= 1)
            if ((left & 1u) && tf_is_allowed(run, c, id) && !tf_ids_add(&edits->set, run->arena, &id, 1)) {
                run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a mask");
                return false;
            }
    }
    return run->call.status == TOKFSM_OK;
}

/* Content alone, as if the string were on none of its literals. */
static bool mask_content(tf_run *run, const tf_configuration *c, tf_edits *edits)
{
    bool done;
    if (!tf_walk_safe(run, c, &done, edits))
        return false;
    if (done)
        return true;
    memset(edits, 0, sizeof *edits);
    return tf_walk_content(run, c, &edits->before);
}

/*
 * Names that are none of the declared ones, kept by themselves: they do not depend on which of
 * those are there, for these are spelled in one way, and the walk along them sees to what closes
 * one. Where items are compared what comes is searched for, and all names are.
 */
static bool others_apart(const tf_configuration *c)
{
    return c->top->kind->names_apart && c->top->emitted == NULL && c->top->kind->n_names > 0 &&
           !c->top->collects && (c->mode == TF_AT_NAME || c->literal == TF_ON);
}

static bool mask_other_names(tf_run *run, const tf_configuration *c, bool is_free, tf_edits *edits)
{
    tf_signature signature;
    tf_configuration off = *c;
    signature.n = 0;
    if (c->mode == TF_IN_NAME && others_apart(c))
        tf_signature_of_others(run->m, c, &signature);
    if (tf_cache_find(run->m, run->arena, &signature, edits))
        return true;
    off.literal = TF_OFF;
    off.low = off.high = 0;
    if (!(is_free ? close_free(run, &off, edits) : mask_content(run, c, edits)))
        return false;
    tf_cache_keep(run->m, &signature, 0, false, edits);
    return true;
}

/* Where a name can begin. */
static bool mask_at_name(tf_run *run, const tf_configuration *c, tf_edits *edits)
{
    if (!others_apart(c))
        return tf_walk_traces(run, TF_TRACE_STRUCTURE, c, NULL, edits, &edits->set);
    tf_configuration part = *c;
    tf_signature signature;
    tf_signature_of_others(run->m, c, &signature);
    if (!tf_cache_find(run->m, run->arena, &signature, edits)) {
        part.others_only = 1;
        if (!tf_walk_traces(run, TF_TRACE_STRUCTURE, &part, NULL, edits, &edits->before))
            return false;
        tf_cache_keep(run->m, &signature, 0, false, edits);
    }
    part.others_only = 0;
    part.literals_only = 1;
    return tf_walk_traces(run, TF_TRACE_STRUCTURE, &part, NULL, edits, &edits->set);
}

/* Tokens along the literals of a string or name that is not compared with others. */
static bool mask_literals(tf_run *run, const tf_configuration *c, int beside, tf_edits *edits)
{
    bool done;
    if (!tf_walk_name_parts(run, c, beside, &done, edits))
        return false;
    return done || tf_walk_literals(run, c, beside, edits);
}

/* `settled`: where items are compared, what is written makes no difference. */
static bool mask_string(tf_run *run, const tf_configuration *c, bool settled, tf_edits *edits)
{
    const tokfsm_pack *pack = run->m->pack;
    const tf_strings *s = c->at;
    uint64_t room = 0;
    bool name = c->mode == TF_IN_NAME;
    bool is_free = tf_free_room(run, c, &room);
    if (run->call.status != TOKFSM_OK)
        return false;
    if (!is_free || !(settled ? stay_row(run, c, room, edits)
                              : stay_row_compared(run, c, room, edits))) {
        if (run->call.status != TOKFSM_OK)
            return false;
        memset(edits, 0, sizeof *edits);
        if (settled && c->content != NULL && c->sub == TF_STR_NORMAL &&
            (c->literal == TF_OFF || (c->literal == TF_ON && (name || only_content(c)))))
            return mask_other_names(run, c, false, edits) &&
                   (c->literal == TF_OFF || mask_literals(run, c, TF_BESIDE_ANY, edits));
        if (settled && c->literal == TF_ON && tf_only_literals(run, c))
            return mask_literals(run, c, TF_BESIDE_NOTHING, edits);
        return tf_walk(run, &pack->all, c, &edits->set, NULL);
    }
    bool plain = settled && c->sub == TF_STR_NORMAL && c->literal != TF_MAYBE && !s->hard_names &&
                 !(name && (tf_names_meet(run->m, s) || tf_emitted_ahead(run->m, c)));
    if (!plain)
        /* With content to compare at the quote: real steps for every token that has one. */
        return (c->literal != TF_ON || walk_literals(run, c, edits)) &&
               tf_walk(run, &pack->quote, c, &edits->set, NULL);
    if (name && c->literal == TF_ON && others_apart(c))
        return mask_other_names(run, c, true, edits) &&
               mask_literals(run, c, TF_BESIDE_ANY, edits);
    if (!close_free(run, c, edits))
        return false;
    return c->literal != TF_ON || mask_literals(run, c, TF_BESIDE_LATER, edits);
}

/* A number goes on, or ends, and then what may follow a value does. */
static bool mask_number(tf_run *run, const tf_configuration *c, tf_edits *edits)
{
    if (!tf_walk_traces(run, TF_TRACE_NUMBER, c, NULL, edits, &edits->set))
        return false;
    tf_configuration ended = *c;
    if (tf_step_end_number(run, &ended) &&
        !tf_walk_traces(run, TF_TRACE_STRUCTURE, &ended, NULL, edits, &edits->set))
        return false;
    return run->call.status == TOKFSM_OK;
}

static bool make(tf_run *run, const tf_configuration *c, bool settled, tf_edits *edits)
{
    if (run->m->bytes_complete)
        switch (c->mode) {
        case TF_IN_STRING:
        case TF_IN_NAME: return mask_string(run, c, settled, edits);
        case TF_IN_NUMBER: return mask_number(run, c, edits);
        case TF_AT_NAME: return mask_at_name(run, c, edits);
        case TF_AT_VALUE:
        case TF_AT_COLON:
        case TF_AT_AFTER:
            return tf_walk_traces(run, TF_TRACE_STRUCTURE, c, NULL, edits, &edits->set);
        default: break;
        }
    return tf_walk(run, &run->m->pack->all, c, &edits->set, NULL);
}

/* Tokens that close the string and begin an item, by real steps: they alone meet what was written
   before. */
static bool settle_pairs(tf_run *run, const tf_configuration *c, tf_edits *edits)
{
    const uint32_t *pairs = tf_unique_strings(run, c) ? run->m->whole_pairs : run->m->pairs;
    tf_ids set = edits->set;
    edits->set = (tf_ids){0};
    for (uint32_t i = 0; i < edits->before.n; i++) {
        uint32_t id = edits->before.items[i];
        if (tf_bit(pairs, id) && !tf_is_allowed(run, c, id) &&
            !tf_ids_add(&edits->cleared, run->arena, &id, 1))
            goto no_memory;
    }
    for (uint32_t i = 0; i < set.n; i++) {
        uint32_t id = set.items[i];
        if ((!tf_bit(pairs, id) || tf_is_allowed(run, c, id)) &&
            !tf_ids_add(&edits->set, run->arena, &id, 1))
            goto no_memory;
    }
    return run->call.status == TOKFSM_OK;
no_memory:
    run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a mask");
    return false;
}

bool tf_mask(tf_run *run, const tf_configuration *c, tf_edits *edits)
{
    if (c->mode == TF_AT_END) {
        memset(edits, 0, sizeof *edits);
        return true;
    }
    bool compared = c->top != NULL && c->top->collects;
    bool neutral = compared && run->m->bytes_complete &&
                   (c->mode == TF_IN_STRING || c->mode == TF_IN_NAME) && tf_unique_neutral(run, c);
    if (run->call.status != TOKFSM_OK)
        return false;
    /* In a name the ones that were emitted are looked at by themselves; mostly there are so many
       others that the mask without them can be kept. */
    const tf_configuration *of = c;
    tf_configuration bare;
    bool settles = c->mode == TF_IN_NAME && !compared && c->top->emitted != NULL &&
                   run->m->bytes_complete && tf_emitted_apart(run->m, c);
    if (settles && tf_emitted_few(c->top)) {
        tf_frame *top = tf_frame_copy(run, c->top);
        if (top == NULL)
            return false;
        top->emitted = NULL;
        bare = *c;
        bare.top = top;
        of = &bare;
    }
    tf_signature signature;
    tf_signature_of(run->m, of, neutral, &signature);
    bool known = tf_cache_find(run->m, run->arena, &signature, edits), far = signature.far;
    const bool any_length = tf_content_far(run->m, of);
    if (!known && far) {
        tf_signature_near(&signature);
        known = tf_cache_find(run->m, run->arena, &signature, edits);
    }
    if (!known) {
        memset(edits, 0, sizeof *edits);
        if (neutral)
            run->searching = 2;
        run->settles = settles && of == c;
        bool made = make(run, of, neutral || !compared, edits);
        run->settles = 0;
        run->searching = 0;
        if (!made)
            return false;
        uint64_t most = 0;
        if (far && !tf_far_until(run, of, &most))
            return false;
        if (far && of->n <= most)
            tf_signature_of(run->m, of, neutral, &signature);
        if (!any_length || tf_content_far(run->m, of)) /* states were made that may lie farther */
            tf_cache_keep(run->m, &signature, most, !neutral && of->content != NULL, edits);
    }
    if (settles)
        return tf_emitted_settle(run, c, edits);
    return !neutral || settle_pairs(run, c, edits);
}
