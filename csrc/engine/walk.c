/*
 * Depth-first over a trie in depth-first order, so that a dead node skips its subtree with one
 * read. Configurations are kept by depth: a node costs one copy and one step.
 */
#include "walk.h"

#include "../base/bits.h"

/* Frames and texts of the walk are dropped when it returns. */
typedef struct level {
    tf_configuration c;
    uint32_t end;
} level;

/* Which entries of the pack's `close` trie count; NULL: every entry of a trie. */
typedef struct filter {
    uint32_t low, high;
    bool minimal;
} filter;

static bool decide(tf_run *run, const tf_trie *trie, const filter *only, uint32_t node,
                   const tf_configuration *c, uint32_t *row)
{
    uint32_t first = trie->first[node], end = trie->first[node + 1];
    if (first == end)
        return true;
    if (!tf_is_live(run, c))
        return run->call.status == TOKFSM_OK;
    const tokfsm_pack *pack = run->m->pack;
    for (uint32_t i = first; i < end; i++)
        if (only == NULL ||
            (pack->close_chars[i] >= only->low && pack->close_chars[i] < only->high &&
             (!only->minimal || pack->close_minimal[i])))
            tf_set(row, trie->ids[i]);
    return true;
}

static void clear_subtree(const tf_trie *trie, uint32_t node, uint32_t *row)
{
    for (uint32_t i = trie->first[node]; i < trie->first[trie->end[node]]; i++)
        tf_clear(row, trie->ids[i]);
}

static bool walk(tf_run *run, const tf_trie *trie, const filter *only, const tf_configuration *c,
                 uint32_t *row)
{
    if (trie->n_nodes <= 1)
        return trie->n_nodes == 0 || decide(run, trie, only, 0, c, row);
    tf_arena scratch;
    tf_arena_init(&scratch, &run->arena->allocator);
    level *levels = tf_arena_take(&scratch, (trie->depth + 2) * sizeof *levels);
    if (levels == NULL) {
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a walk");
        return false;
    }
    tf_arena *outer = run->arena;
    run->arena = &scratch;
    levels[0].c = *c;
    levels[0].end = trie->n_nodes;
    uint32_t depth = 0, node = 1;
    bool ok = decide(run, trie, only, 0, c, row);
    while (ok && node < trie->n_nodes) {
        while (node >= levels[depth].end)
            depth--;
        level *next = &levels[depth + 1];
        next->c = levels[depth].c;
        next->c.closed_literal = 0;
        bool alive = tf_step(run, &next->c, trie->byte[node]);
        if (run->call.status != TOKFSM_OK) {
            ok = false;
            break;
        }
        if (c->literals_only && next->c.closed_literal) {
            clear_subtree(trie, node, row);
            next->c.literals_only = 0;
        }
        if (alive) {
            if (!next->c.literals_only || tf_string_is_live(run, &next->c))
                ok = decide(run, trie, only, node, &next->c, row);
            next->end = trie->end[node];
            depth++;
            node++;
        } else {
            node = trie->end[node];
        }
    }
    run->arena = outer;
    tf_arena_free(&scratch);
    return ok;
}

bool tf_walk(tf_run *run, const tf_trie *trie, const tf_configuration *c, uint32_t *row)
{
    return walk(run, trie, NULL, c, row);
}

bool tf_walk_close(tf_run *run, const tf_configuration *c, uint32_t low, uint32_t high,
                   bool minimal, uint32_t *row)
{
    filter only = {low, high, minimal};
    return walk(run, &run->m->pack->close, &only, c, row);
}
