/*
 * Depth-first over a trie in depth-first order, so that a dead node skips its subtree with one
 * read. Configurations are kept by depth: a node costs one copy and one step. Frames and texts
 * of the walk go to the run's arena.
 */
#include "walk.h"

#include "glance.h"
#include "unique.h"

typedef struct level {
    tf_configuration c;
    uint32_t end;
    bool literals; /* tf_only_literals */
} level;

/* Structural tokens are short: most walks stay within these. */
enum { NEAR_LEVELS = 24 };

typedef struct walk {
    tf_run *run;
    const tf_trie *trie;
    tf_ids *set, *cleared;
    level near[NEAR_LEVELS];
    level *levels;
    uint32_t n_levels;
} walk;

static bool no_memory(tf_run *run)
{
    if (run->call.status == TOKFSM_OK)
        run->call.status = tf_fail(run->call.err, TOKFSM_E_NOMEM, "no memory for a mask");
    return false;
}

static bool add(walk *w, uint32_t first, uint32_t end)
{
    return tf_ids_add(w->set, w->run->arena, w->trie->ids + first, end - first) || no_memory(w->run);
}

static bool decide(walk *w, uint32_t node, const tf_configuration *c)
{
    uint32_t first = w->trie->first[node], end = w->trie->first[node + 1];
    if (first == end)
        return true;
    if (!tf_is_live(w->run, c))
        return w->run->call.status == TOKFSM_OK;
    return add(w, first, end);
}

static bool go_deeper(walk *w)
{
    /* The deepest token is known: at most one move to a wider place. */
    uint32_t wanted = w->trie->depth + 2;
    level *wider = tf_arena_take(w->run->arena, wanted * sizeof *wider);
    if (wider == NULL)
        return no_memory(w->run);
    memcpy(wider, w->levels, w->n_levels * sizeof *wider);
    w->levels = wider;
    w->n_levels = wanted;
    return true;
}

/* The subtree of `root`, whose own tokens are decided already; c is the place there. */
static bool walk_below(walk *w, const tf_configuration *c, uint32_t root)
{
    const tf_trie *trie = w->trie;
    tf_run *run = w->run;
    w->levels = w->near;
    w->n_levels = NEAR_LEVELS;
    w->levels[0].c = *c;
    w->levels[0].end = trie->end[root];
    w->levels[0].literals =
        (c->mode == TF_IN_STRING || c->mode == TF_IN_NAME) && tf_only_literals(run, c);
    uint32_t depth = 0, node = root + 1;
    while (node < trie->end[root]) {
        while (node >= w->levels[depth].end)
            depth--;
        if (depth + 1 == w->n_levels && !go_deeper(w))
            return false;
        level *next = &w->levels[depth + 1], *here = &w->levels[depth];
        if (!tf_glance(&here->c, here->literals, trie->byte[node])) {
            node = trie->end[node];
            continue;
        }
        next->c = here->c;
        next->literals = here->literals;
        next->c.closed_literal = 0;
        bool alive = tf_step(run, &next->c, trie->byte[node]);
        if (run->call.status != TOKFSM_OK)
            return false;
        if (c->literals_only && next->c.closed_literal) {
            uint32_t first = trie->first[node], end = trie->first[trie->end[node]];
            if (!tf_ids_add(w->cleared, run->arena, trie->ids + first, end - first))
                return no_memory(run);
            next->c.literals_only = 0;
        }
        if (!alive) {
            node = trie->end[node];
            continue;
        }
        if ((!next->c.literals_only ||
             (tf_string_is_live(run, &next->c) && tf_unique_alive(run, &next->c))) && !decide(w, node, &next->c))
            return false;
        if (next->c.mode != here->c.mode &&
            (next->c.mode == TF_IN_STRING || next->c.mode == TF_IN_NAME))
            next->literals = tf_only_literals(run, &next->c);
        next->end = trie->end[node];
        depth++;
        node++;
    }
    return true;
}

static bool run_walk(walk *w, const tf_configuration *c)
{
    return w->trie->n_nodes == 0 || (decide(w, 0, c) && walk_below(w, c, 0));
}

bool tf_walk(tf_run *run, const tf_trie *trie, const tf_configuration *c, tf_ids *set,
             tf_ids *cleared)
{
    walk w;
    w.run = run;
    w.trie = trie;
    w.set = set;
    w.cleared = cleared;
    return run_walk(&w, c);
}

bool tf_walk_from(tf_run *run, const tf_trie *trie, uint32_t node, const tf_configuration *c,
                  tf_ids *set)
{
    walk w;
    w.run = run;
    w.trie = trie;
    w.set = set;
    w.cleared = NULL;
    return decide(&w, node, c) && walk_below(&w, c, node);
}

bool tf_is_allowed(tf_run *run, const tf_configuration *c, uint32_t id)
{
    uint32_t n;
    const uint8_t *bytes = tf_pack_token(run->m->pack, id, &n);
    tf_configuration after = *c;
    for (uint32_t i = 0; i < n; i++)
        if (!tf_step(run, &after, bytes[i]))
            return false;
    return tf_is_live(run, &after);
}
