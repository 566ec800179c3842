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

/*
 * A text grows by a node for each character. Where the token took memory for nothing else, they
 * become one. `before`: of the store before the token.
 */
static void join_text(tokfsm_matcher *matcher, tf_configuration *c, const tf_arena_mark *before)
{
    enum { MOST_BYTES = 256 };
    tf_arena *arena = &matcher->store->arena;
    const tf_text *known = matcher->at->c.text, *part = c->text;
    uint8_t bytes[MOST_BYTES];
    uint32_t n = 0, n_nodes = 0;
    for (; part != known && part != NULL && n <= MOST_BYTES; part = part->previous) {
        n += part->n;
        n_nodes++;
    }
    if (part != known || n_nodes < 2 || n > MOST_BYTES || arena->end != before->end ||
        (size_t)(arena->next - before->next) != n_nodes * sizeof *part ||
        sizeof *part + n > n_nodes * sizeof *part)
        return;
    tf_text joined = *c->text;
    uint32_t at = n;
    for (part = c->text; part != known; part = part->previous) {
        at -= part->n;
        memcpy(bytes + at, part->more != NULL ? part->more : part->bytes, part->n);
    }
    tf_arena_back(arena, *before);
    tf_text *made = tf_arena_take(arena, sizeof *made + n); /* what was taken had room for it */
    joined.previous = known;
    joined.more = (uint8_t *)(made + 1);
    joined.n = n;
    *made = joined;
    memcpy(made + 1, bytes, n);
    c->text = made;
}

static tokfsm_status push(tokfsm_matcher *matcher, const tf_node *node,
                          const tf_arena_mark *before, tokfsm_error *err)
{
    tf_history *history = &matcher->history;
    const tf_arena *arena = &matcher->store->arena;
    if (!tf_history_push(history, &matcher->allocator, matcher->at, node, before->next,
                         arena->next))
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for a token");
    if (node->n_accepted > matcher->max_rollback &&
        node->n_accepted - matcher->max_rollback > matcher->floor)
        matcher->floor = node->n_accepted - matcher->max_rollback;
    tf_matcher_move(matcher, node);
    if (arena->n_bytes + history->n_bytes > matcher->held_most)
        tf_matcher_compact(matcher);
    return TOKFSM_OK;
}

/* `before`: of the store. */
static tokfsm_status accept(tokfsm_matcher *matcher, uint32_t id, const tf_arena_mark *before,
                            int32_t *accepted, tokfsm_error *err)
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
        const tf_node end = {at->c, at->n_accepted + 1, 1, 1};
        TF_TRY(push(matcher, &end, before, err));
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
    tf_node next = {at->c, at->n_accepted + 1, 0, 0};
    if (!tf_step_text(&run, &next.c, bytes, n))
        return run.call.status;
    if (!tf_is_live(&run, &next.c))
        return run.call.status;
    if (next.c.text != at->c.text && next.c.text != NULL)
        join_text(matcher, &next.c, before);
    next.final = is_final(matcher, &run, &next.c);
    TF_TRY(run.call.status);
    TF_TRY(push(matcher, &next, before, err));
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
    tokfsm_status status = accept(matcher, token_id, &before, &taken, err);
    if (status != TOKFSM_OK || !taken)
        tf_arena_back(&matcher->store->arena, before); /* what a refused token made */
    tf_matcher_leave(matcher);
    if (status == TOKFSM_OK)
        *accepted = taken;
    return status;
}
