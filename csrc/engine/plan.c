/*
 * Completion bounds where items are compared: the rest of a text is written, byte by byte, by the
 * first move of a search that stays live. Each byte is a token, and from the place behind it the
 * same moves follow, so the bound there is less by one.
 */
#include "unique.h"

static bool needs_plan(tf_run *run, const tf_configuration *c)
{
    return run->m->unique == TF_UNIQUE_PLANNED ||
           (run->m->unique == TF_UNIQUE_FREE && tf_unique_watch(c) != NULL &&
            !tf_unique_apart(run, c));
}

/* What is known of the way ahead, so that it need not be searched for at every byte. */
typedef struct ahead {
    const uint8_t *path;
    uint32_t n, at;
} ahead;

static bool move(tf_run *run, tf_configuration *c, ahead *known)
{
    static const tf_search any = {0};
    uint8_t moves[TF_MAX_MOVES];
    if (known->path == NULL) {
        tf_search search = {0};
        if (!tf_unique_path(run, c, &search))
            return false;
        *known = (ahead){search.n_bytes == 0 ? NULL : search.path, search.n_bytes, 0};
    }
    uint32_t n = tf_search_moves(run, &any, c, moves);
    for (uint32_t i = 0; i < n && run->call.status == TOKFSM_OK; i++) {
        bool is_known = known->path != NULL && known->path[known->at] == moves[i];
        tf_configuration next = *c;
        run->searching = is_known;
        bool taken = tf_step(run, &next, moves[i]);
        run->searching = 0;
        if (!taken || !tf_search_ends(run, &next))
            continue;
        if (!is_known || ++known->at == known->n)
            known->path = NULL;
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
    ahead known = {0};
    tf_arena_mark mark = tf_arena_here(run->arena);
    bool found = tf_search_ends(run, c) && tf_unique_alive(run, c);
    while (found && at.mode != TF_AT_END && !tf_is_complete(&at) && needs_plan(run, &at)) {
        bool applies;
        uint32_t n_bytes = 1, n_way = 0;
        tf_configuration end;
        found = tf_unique_way(run, &at, &applies, &end, &n_way);
        if (applies) {
            n_bytes = n_way;
            at = end;
            known.path = NULL;
        } else {
            found = found && move(run, &at, &known);
        }
        n = tf_cost_add(n, n_bytes);
    }
    if (found)
        n = tf_cost_add(n, tf_bound_plain(run, &at));
    tf_arena_back(run->arena, mark);
    run->exact = before;
    return found ? n : TF_COST_NONE;
}
