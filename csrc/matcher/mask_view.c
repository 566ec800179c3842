/*
 * The mask of a matcher's position as it lies in memory: the engine's edits, in their order, and
 * the stop tokens. A mask that the cache keeps lives as long as the automaton, as the pack does.
 */
#include "matcher.h"

static void put(tokfsm_mask_view *view, uint32_t op, const uint32_t *at, const uint32_t *bits,
                uint32_t n)
{
    if (n > 0)
        view->steps[view->n_steps++] = (tokfsm_mask_step){op, n, at, bits};
}

static void put_pieces(tokfsm_mask_view *view, const tf_piece *const *pieces, uint32_t from,
                       uint32_t end)
{
    for (uint32_t i = from; i < end; i++)
        put(view, TOKFSM_STEP_SET_WORDS, pieces[i]->word, pieces[i]->bits, pieces[i]->n);
}

/* A stop id without bytes is in no mask but where the value is complete. */
static bool stops_have_bytes(const tokfsm_matcher *matcher)
{
    const tokfsm_pack *pack = matcher->automaton->pack;
    for (size_t i = 0; i < matcher->n_stop_ids; i++)
        if (pack->offsets[matcher->stop_ids[i] + 1] > pack->offsets[matcher->stop_ids[i]])
            return true;
    return false;
}

/* In the order of tf_edits_apply. */
static void put_edits(tokfsm_mask_view *view, const tf_edits *e)
{
    if (e->base != NULL && e->narrowed != NULL)
        put(view, TOKFSM_STEP_AND_ROW, NULL, e->narrowed, view->n_words);
    bool joined = e->cleared.n == 0 && e->n_before_pieces == 0 && e->before.n > 0 && e->set.n > 0 &&
                  e->before.items + e->before.n == e->set.items; /* as the cache keeps them */
    put(view, TOKFSM_STEP_SET_IDS, e->before.items, NULL, e->before.n + (joined ? e->set.n : 0));
    put_pieces(view, e->pieces, 0, e->n_before_pieces);
    put(view, TOKFSM_STEP_CLEAR_IDS, e->cleared.items, NULL, e->cleared.n);
    if (!joined)
        put(view, TOKFSM_STEP_SET_IDS, e->set.items, NULL, e->set.n);
    put_pieces(view, e->pieces, e->n_before_pieces, e->n_pieces);
}

static tokfsm_status mask_view(tokfsm_matcher *matcher, tokfsm_mask_view *view, tokfsm_error *err)
{
    _Static_assert(TF_MAX_PIECES + 5 <= sizeof view->steps / sizeof *view->steps,
                   "row, before, cleared, set, stops");
    const tf_node *at = matcher->at;
    tf_scratch_run s;
    tf_edits edits;
    tf_scratch_begin(&s, matcher, err);
    memset(&edits, 0, sizeof edits);
    const char *untouched = matcher->scratch.next;
    if (!at->stopped && !tf_mask(&s.run, &at->c, &edits))
        return s.run.call.status;
    view->n_words = matcher->automaton->pack->n_words;
    view->n_steps = 0;
    view->lasting = matcher->scratch.next == untouched; /* a mask that was kept takes no memory */
    view->base = edits.base;
    put_edits(view, &edits);
    bool complete = tf_is_complete(&at->c);
    if (complete || stops_have_bytes(matcher))
        put(view, complete ? TOKFSM_STEP_SET_IDS : TOKFSM_STEP_CLEAR_IDS, matcher->stop_ids, NULL,
            (uint32_t)matcher->n_stop_ids);
    if (view->base != NULL)
        view->kind = view->n_steps == 0 ? TOKFSM_MASK_ROW : TOKFSM_MASK_EDITS;
    else
        view->kind = view->n_steps == 0 ||
                             (view->n_steps == 1 && view->steps[0].op == TOKFSM_STEP_SET_IDS)
                         ? TOKFSM_MASK_IDS
                         : TOKFSM_MASK_EDITS;
    return TOKFSM_OK;
}

tokfsm_status tokfsm_matcher_mask_view(tokfsm_matcher *matcher, tokfsm_mask_view *view,
                                       tokfsm_error *err)
{
    if (view == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "view is NULL");
    TF_TRY(tf_matcher_enter(matcher, err));
    tokfsm_status status = mask_view(matcher, view, err);
    tf_matcher_leave(matcher);
    return status;
}
