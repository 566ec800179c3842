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

/*
 * The place behind token `id`, what it takes in the arena; *taken: whether it is accepted. Of the
 * store, `before` is where it stood before the token; NULL for scratch memory.
 */
static tokfsm_status advance(tokfsm_matcher *matcher, tf_arena *arena, const tf_node *from,
                             uint32_t id, const tf_arena_mark *before, tf_node *to, bool *taken,
                             tokfsm_error *err)
{
    tf_machine *machine = matcher->automaton->machine;
    const tokfsm_pack *pack = machine->pack;
    *taken = false;
    if (id >= pack->vocab_size) {
        if (id < matcher->padded)
            return TOKFSM_OK;
        return tf_fail(err, TOKFSM_E_RANGE, "token id %u is outside the vocabulary of %u ids", id,
                       pack->vocab_size);
    }
    if (from->stopped)
        return TOKFSM_OK;
    if (tf_matcher_stops(matcher, id)) {
        *taken = tf_is_complete(&from->c);
        *to = (tf_node){from->c, from->n_accepted + 1, 1, 1};
        return TOKFSM_OK;
    }
    uint32_t n;
    const uint8_t *bytes = tf_pack_token(pack, id, &n);
    if (n == 0)
        return TOKFSM_OK;
    tf_budget budget;
    tf_budget_init(&budget, &machine->limits, NULL);
    tokfsm_error local;
    tf_run run = {.m = machine, .arena = arena,
                  .call = {&budget, err == NULL ? &local : err, TOKFSM_OK}};
    *to = (tf_node){from->c, from->n_accepted + 1, 0, 0};
    if (!tf_step_text(&run, &to->c, bytes, n))
        return run.call.status;
    if (!tf_is_live(&run, &to->c))
        return run.call.status;
    if (before != NULL && to->c.text != from->c.text && to->c.text != NULL)
        join_text(matcher, &to->c, before);
    to->final = is_final(matcher, &run, &to->c);
    TF_TRY(run.call.status);
    *taken = true;
    return TOKFSM_OK;
}

tokfsm_status tf_matcher_next(tokfsm_matcher *matcher, tf_arena *arena, const tf_node *from,
                              uint32_t id, const tf_node **to, tokfsm_error *err)
{
    tf_node next;
    bool taken;
    *to = NULL;
    TF_TRY(advance(matcher, arena, from, id, NULL, &next, &taken, err));
    if (!taken)
        return TOKFSM_OK;
    tf_node *kept = tf_arena_take(arena, sizeof *kept);
    if (kept == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for a token");
    *kept = next;
    *to = kept;
    return TOKFSM_OK;
}

/* Move by a token; what a refused one made is given back. */
static tokfsm_status accept(tokfsm_matcher *matcher, uint32_t id, bool *taken, tokfsm_error *err)
{
    tf_arena *store = &matcher->store->arena;
    tf_arena_mark before = tf_arena_here(store);
    tf_node next;
    tokfsm_status status = advance(matcher, store, matcher->at, id, &before, &next, taken, err);
    if (status == TOKFSM_OK && *taken)
        status = push(matcher, &next, &before, err);
    if (status != TOKFSM_OK || !*taken)
        tf_arena_back(store, before);
    return status;
}

tokfsm_status tokfsm_matcher_accept(tokfsm_matcher *matcher, uint32_t token_id, int32_t *accepted,
                                    tokfsm_error *err)
{
    if (accepted == NULL)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "accepted is NULL");
    TF_TRY(tf_matcher_enter(matcher, err));
    bool taken = false;
    tokfsm_status status = accept(matcher, token_id, &taken, err);
    tf_matcher_leave(matcher);
    if (status == TOKFSM_OK)
        *accepted = taken;
    return status;
}

/* As if the last n tokens had not come; nothing was compacted since. */
static void take_back(tokfsm_matcher *matcher, size_t n, uint32_t floor, tf_arena_mark before)
{
    tf_node to = *matcher->at;
    char *next = before.next;
    for (size_t i = 0; i < n; i++)
        tf_history_pop(&matcher->history, &matcher->allocator, &to, &next);
    matcher->floor = floor;
    tf_matcher_move(matcher, &to);
    tf_arena_back(&matcher->store->arena, before);
}

tokfsm_status tokfsm_matcher_accept_all(tokfsm_matcher *matcher, const uint32_t *token_ids,
                                        size_t n_ids, int32_t *accepted, tokfsm_error *err)
{
    if (accepted == NULL || (token_ids == NULL && n_ids > 0))
        return tf_fail(err, TOKFSM_E_ARGUMENT, "an argument is NULL");
    TF_TRY(tf_matcher_enter(matcher, err));
    tf_arena_mark before = tf_arena_here(&matcher->store->arena);
    const uint32_t floor = matcher->floor;
    const size_t held_most = matcher->held_most;
    matcher->held_most = SIZE_MAX; /* so that all of them can be taken back */
    tokfsm_status status = TOKFSM_OK;
    bool taken = true;
    size_t n = 0;
    while (n < n_ids && status == TOKFSM_OK && taken) {
        status = accept(matcher, token_ids[n], &taken, err);
        n += status == TOKFSM_OK && taken;
    }
    if (n < n_ids)
        take_back(matcher, n, floor, before);
    matcher->held_most = held_most;
    if (matcher->store->arena.n_bytes + matcher->history.n_bytes > held_most)
        tf_matcher_compact(matcher);
    tf_matcher_leave(matcher);
    if (status == TOKFSM_OK)
        *accepted = taken;
    return status;
}
