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
    tf_arena_mark before = tf_arena_here(&matcher->scratch);
    run->arena = &matcher->scratch; /* the mask is not kept in the history */
    bool made = tf_mask(run, c, &edits);
    run->arena = store;
    tf_arena_back(&matcher->scratch, before);
    return made && tf_edits_empty(&edits);
}

static tokfsm_status append(tf_arena *arena, const tf_node *from, const tf_configuration *c,
                            bool stopped, bool final, const tf_node **to, tokfsm_error *err)
{
    tf_node *node = tf_arena_take(arena, sizeof *node);
    if (node == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for a token");
    node->previous = from;
    node->c = *c;
    node->n_accepted = from->n_accepted + 1;
    node->stopped = stopped;
    node->final = final;
    *to = node;
    return TOKFSM_OK;
}

tokfsm_status tf_matcher_next(tokfsm_matcher *matcher, tf_arena *arena, const tf_node *from,
                              uint32_t id, const tf_node **to, tokfsm_error *err)
{
    tf_machine *machine = matcher->automaton->machine;
    const tokfsm_pack *pack = machine->pack;
    *to = NULL;
    if (id >= pack->vocab_size) {
        if (id < matcher->padded)
            return TOKFSM_OK;
        return tf_fail(err, TOKFSM_E_RANGE, "token id %u is outside the vocabulary of %u ids", id,
                       pack->vocab_size);
    }
    if (from->stopped)
        return TOKFSM_OK;
    if (tf_matcher_stops(matcher, id))
        return tf_is_complete(&from->c) ? append(arena, from, &from->c, true, true, to, err)
                                        : TOKFSM_OK;
    uint32_t n;
    const uint8_t *bytes = tf_pack_token(pack, id, &n);
    if (n == 0)
        return TOKFSM_OK;
    tf_budget budget;
    tf_budget_init(&budget, &machine->limits, NULL);
    tokfsm_error local;
    tf_run run = {.m = machine, .arena = arena,
                  .call = {&budget, err == NULL ? &local : err, TOKFSM_OK}};
    tf_configuration c = from->c;
    if (!tf_step_text(&run, &c, bytes, n))
        return run.call.status;
    if (!tf_is_live(&run, &c))
        return run.call.status;
    bool final = is_final(matcher, &run, &c);
    TF_TRY(run.call.status);
    return append(arena, from, &c, false, final, to, err);
}

static void push(tokfsm_matcher *matcher, const tf_node *node)
{
    if (node->n_accepted > matcher->max_rollback &&
        node->n_accepted - matcher->max_rollback > matcher->floor)
        matcher->floor = node->n_accepted - matcher->max_rollback;
    tf_matcher_move(matcher, node);
}

tokfsm_status tokfsm_matcher_accept(tokfsm_matcher *matcher, uint32_t token_id, int32_t *accepted,
                                    tokfsm_error *err)
{
    if (accepted == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "accepted is NULL");
    TF_TRY(tf_matcher_enter(matcher, err));
    const tf_node *to;
    tf_arena_mark before = tf_arena_here(&matcher->store->arena);
    tokfsm_status status =
        tf_matcher_next(matcher, &matcher->store->arena, matcher->at, token_id, &to, err);
    if (status == TOKFSM_OK && to != NULL)
        push(matcher, to);
    else
        tf_arena_back(&matcher->store->arena, before); /* what a refused token made */
    tf_matcher_leave(matcher);
    if (status == TOKFSM_OK)
        *accepted = to != NULL;
    return status;
}

tokfsm_status tokfsm_matcher_accept_all(tokfsm_matcher *matcher, const uint32_t *token_ids,
                                        size_t n_ids, int32_t *accepted, tokfsm_error *err)
{
    if (accepted == NULL || (token_ids == NULL && n_ids > 0))
        return tf_fail(err, TOKFSM_E_ARGUMENT, "an argument is NULL");
    TF_TRY(tf_matcher_enter(matcher, err));
    tf_arena *store = &matcher->store->arena;
    const tf_node *start = matcher->at, *to = start;
    tf_arena_mark before = tf_arena_here(store);
    tokfsm_status status = TOKFSM_OK;
    for (size_t i = 0; i < n_ids && to != NULL && status == TOKFSM_OK; i++)
        status = tf_matcher_next(matcher, store, to, token_ids[i], &to, err);
    if (status != TOKFSM_OK || to == NULL)
        tf_arena_back(store, before);
    else if (to != start)
        push(matcher, to);
    tf_matcher_leave(matcher);
    if (status == TOKFSM_OK)
        *accepted = to != NULL;
    return status;
}
