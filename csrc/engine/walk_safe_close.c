/*
 * Tokens that close a string whose content is not settled: what they have before the quote is one
 * of few strings, and where the content accepts the same behind two of them, so does all else.
 */
#include "step.h"
#include "text.h"
#include "walk_safe.h"

static bool note_before(tf_safe_walk *w, tf_outcomes *found, const tf_content_state *state,
                        uint64_t n, const tf_configuration *c, uint32_t i)
{
    const tf_strings *s = w->from->at;
    const size_t n_bytes = w->wanted.n_words * sizeof *state->accepts;
    uint32_t k = 0, break_at = w->wanted.limited ? tf_break_at(s, n) : 0;
    if (!tf_words_any(state->accepts, w->wanted.n_words))
        return true;
    while (k < found->n && (found->items[k].at != break_at ||
                            memcmp(found->items[k].accepts, state->accepts, n_bytes) != 0))
        k++;
    if (k == TF_MOST_OUTCOMES)
        return false;
    tf_outcome *at = &found->items[k];
    if (k == found->n) {
        found->n++;
        memset(at->befores, 0, sizeof at->befores);
        at->accepts = state->accepts;
        at->n = n;
        at->at = break_at;
        at->one = i;
        at->state = state;
        at->has_place = c != NULL;
        if (c != NULL)
            at->c = *c;
    }
    at->befores[i >> 6] |= (uint64_t)1 << (i & 63u);
    return true;
}

/* With an escape in it: by real steps. */
static bool note_escaped(tf_safe_walk *w, tf_outcomes *found, uint32_t i)
{
    const tf_before *before = &w->run->m->pack->traces->befores[i];
    tf_configuration c;
    if (!tf_safe_place(w, w->from->content, TF_STR_NORMAL, w->from->n, NULL, 0, &c))
        return false;
    for (uint32_t k = 0; k < before->n; k++)
        if (!tf_step(w->run, &c, before->bytes[k]))
            return w->run->call.status == TOKFSM_OK;
    return c.content == NULL ||
           note_before(w, found, c.content, c.n, w->by_state ? NULL : &c, i);
}

bool tf_safe_outcomes(tf_safe_walk *w, tf_outcomes *found)
{
    const tf_trace_set *traces = w->run->m->pack->traces;
    bool minimal = w->run->m->options.escapes == TOKFSM_ESCAPES_MINIMAL;
    uint32_t dead = UINT32_MAX; /* bytes of the last string after which the content was dead */
    uint32_t known = 0;         /* bytes of the last string whose states are in `levels` */
    w->levels[0].state = w->from->content;
    for (uint32_t i = 0; i < traces->n_befores; i++) {
        const tf_before *before = &traces->befores[i];
        if (before->shared >= dead)
            continue;
        if (memchr(before->bytes, '\\', before->n) != NULL) {
            if (known > before->shared)
                known = before->shared;
            dead = UINT32_MAX;
            if (!minimal && !note_escaped(w, found, i))
                return false;
            continue;
        }
        dead = UINT32_MAX;
        for (uint32_t k = before->shared < known ? before->shared : known; k < before->n; k++) {
            const tf_content_state *next =
                tf_step_content(w->run, w->levels[k].state, before->bytes[k]);
            /* Lengths only tell more off, and the quote's step looks at them. */
            if (next == NULL ||
                !tf_words_meet(next->live, w->wanted.words.words, w->wanted.n_words)) {
                dead = k + 1;
                known = k;
                break;
            }
            w->levels[k + 1].state = next;
            known = k + 1;
        }
        if (w->run->call.status != TOKFSM_OK)
            return false;
        if (dead == UINT32_MAX && !note_before(w, found, w->levels[before->n].state,
                                                    w->from->n + before->chars, NULL, i))
            return false;
    }
    return true;
}

static bool is_emitted(const tf_configuration *c)
{
    for (const tf_emitted *e = c->top->emitted; e != NULL; e = e->previous)
        if (tf_text_equal(e->name, c->text))
            return true;
    return false;
}

/* The place before the quote behind string i; false: nothing is live there, or a failure. */
static bool place_before(tf_safe_walk *w, uint32_t i, tf_configuration *c)
{
    const tf_before *before = &w->run->m->pack->traces->befores[i];
    if (!tf_safe_place(w, w->from->content, TF_STR_NORMAL, w->from->n, NULL, 0, c))
        return false;
    for (uint32_t k = 0; k < before->n; k++)
        if (!tf_step(w->run, c, before->bytes[k]))
            return false;
    return true;
}

/* A place before the quote that stands for the outcome: no name that was emitted. *found: there is
   one. */
static bool stand_for(tf_safe_walk *w, tf_outcome *at, bool *found)
{
    const tf_before *before = &w->run->m->pack->traces->befores[at->one];
    *found = true;
    if (!at->has_place &&
        !tf_safe_place(w, at->state, TF_STR_NORMAL, at->n, before->bytes, before->n, &at->c))
        return false;
    if (!w->run->settles || !is_emitted(&at->c))
        return true;
    for (uint32_t i = 0; i < w->run->m->pack->traces->n_befores; i++) {
        if (i == at->one || !tf_word_bit(at->befores, i))
            continue;
        if (place_before(w, i, &at->c) && !is_emitted(&at->c))
            return true;
        if (w->run->call.status != TOKFSM_OK)
            return false;
    }
    *found = false;
    return true;
}

bool tf_safe_close(tf_safe_walk *w, tf_outcomes *found)
{
    for (uint32_t k = 0; k < found->n; k++) {
        tf_outcome *at = &found->items[k];
        bool any;
        if (!stand_for(w, at, &any))
            return false;
        if (any && tf_step(w->run, &at->c, '"') &&
            !tf_walk_traces(w->run, TF_TRACE_CLOSE, &at->c,
                            &(tf_close_span){0, UINT32_MAX, false, at->befores}, w->edits,
                            &w->edits->before))
            return false;
        if (w->run->call.status != TOKFSM_OK)
            return false;
    }
    return true;
}
