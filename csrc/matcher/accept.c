/* Advance by a token: its bytes, one step each. */
#include "matcher.h"

/*
 * Whether nothing can follow. After the root's closing bracket, quote or letter that is plain;
 * a number at the root may have digits that no token can bring, so its mask is asked. Only
 * looked at where no stop token could tell the end.
 */
static bool is_final(tokfsm_matcher *matcher, tf_run *run, const tf_configuration *c)
{
    if (c->mode == TF_AT_END)
        return true;
    if (matcher->n_stop_ids > 0 || !tf_is_complete(c))
        return false;
    tf_edits edits;
    tf_arena *store = run->arena;
    tf_arena_reset(&matcher->scratch);
    run->arena = &matcher->scratch; /* the mask is not kept in the history */
    bool made = tf_mask(run, c, &edits);
    run->arena = store;
    return made && tf_edits_empty(&edits);
}

static tokfsm_status push(tokfsm_matcher *matcher, const tf_configuration *c, bool stopped,
                          bool final, tokfsm_error *err)
{
    const tf_node *at = matcher->at;
    tf_node *node = tf_arena_take(&matcher->store->arena, sizeof *node);
    if (node == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for a token");
    node->previous = at;
    node->c = *c;
    node->n_accepted = at->n_accepted + 1;
    node->stopped = stopped;
    node->final = final;
    if (node->n_accepted > matcher->max_rollback &&
        node->n_accepted - matcher->max_rollback > matcher->floor)
        matcher->floor = node->n_accepted - matcher->max_rollback;
    tf_matcher_move(matcher, node);
    return TOKFSM_OK;
}

static tokfsm_status accept(tokfsm_matcher *matcher, uint32_t id, int32_t *accepted,
                            tokfsm_error *err)
{
    tf_machine *machine = matcher->automaton->machine;
    const tokfsm_pack *pack = machine->pack;
    const tf_node *at = matcher->at;
    *accepted = 0;
    if (id >= pack->vocab_size) {
        if (id < matcher->padded)
            return TOKFSM_OK;
        return tf_fail(err, TOKFSM_E_RANGE, "token id %u is outside the vocabulary of %u ids", id,
                       pack->vocab_size);
    }
    if (at->stopped)
        return TOKFSM_OK;
    if (tf_matcher_stops(matcher, id)) {
        if (!tf_is_complete(&at->c))
            return TOKFSM_OK;
        TF_TRY(push(matcher, &at->c, true, true, err));
        *accepted = 1;
        return TOKFSM_OK;
    }
    uint32_t n;
    const uint8_t *bytes = tf_pack_token(pack, id, &n);
    if (n == 0)
        return TOKFSM_OK;
    tf_budget budget;
    tf_budget_init(&budget, &machine->limits, NULL);
    tokfsm_error local;
    tf_run run = {.m = machine, .arena = &matcher->store->arena,
                  .call = {&budget, err == NULL ? &local : err, TOKFSM_OK}};
    tf_configuration c = at->c;
    if (!tf_step_text(&run, &c, bytes, n))
        return run.call.status;
    if (!tf_is_live(&run, &c))
        return run.call.status;
    bool final = is_final(matcher, &run, &c);
    TF_TRY(run.call.status);
    TF_TRY(push(matcher, &c, false, final, err));
    *accepted = 1;
    return TOKFSM_OK;
}

tokfsm_status tokfsm_matcher_accept(tokfsm_matcher *matcher, uint32_t token_id, int32_t *accepted,
                                    tokfsm_error *err)
{
    if (accepted == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "accepted is NULL");
    TF_TRY(tf_matcher_enter(matcher, err));
    int32_t taken = 0;
    tf_arena_mark before = tf_arena_here(&matcher->store->arena);
    tokfsm_status status = accept(matcher, token_id, &taken, err);
    if (status != TOKFSM_OK || !taken)
        tf_arena_back(&matcher->store->arena, before); /* what a refused token made */
    tf_matcher_leave(matcher);
    if (status == TOKFSM_OK)
        *accepted = taken;
    return status;
}
