/*
 * Completion bounds where items are compared: the rest of a text is written, byte by byte, by the
 * first move of a search that stays live. Each byte is a token, and from the place behind it the
 * same moves follow, so the bound there is less by one.
 */
#include "unique.h"

static bool needs_plan(tf_run *run, const tf_configuration *c)
{
    return run->m->unique == TF_UNIQUE_PLANNED ||
           (run->m->unique == TF_UNIQUE_FREE && tf_unique_watch(c) != NULL);
}

static bool move(tf_run *run, tf_configuration *c)
{
    static const tf_search any = {0};
    uint8_t moves[TF_MAX_MOVES];
    uint32_t n = tf_search_moves(run, &any, c, moves);
    for (uint32_t i = 0; i < n && run->call.status == TOKFSM_OK; i++) {
        tf_configuration next = *c;
        if (!tf_step(run, &next, moves[i]))
            continue;
        *c = next;
        return true;
    }
    return false;
}

uint32_t tf_bound(tf_run *run, const tf_configuration *c)
{
    if (!needs_plan(run, c))
        return tf_bound_plain(run, c);
    uint8_t before = run->exact;
    run->exact = 1;
    uint32_t n = 0;
    tf_configuration at = *c;
    tf_arena_mark mark = tf_arena_here(run->arena);
    bool found = tf_unique_alive(run, c);
    while (found && at.mode != TF_AT_END && !tf_is_complete(&at) && needs_plan(run, &at)) {
        bool applies;
        uint32_t n_bytes = 1;
        tf_configuration end;
        found = tf_unique_way(run, &at, &applies, &end, &n_bytes);
        if (applies)
            at = end;
        else
            found = found && move(run, &at);
        n = tf_cost_add(n, n_bytes);
    }
    if (found)
        n = tf_cost_add(n, tf_bound_plain(run, &at));
    tf_arena_back(run->arena, mark);
    run->exact = before;
    return found ? n : TF_COST_NONE;
}
