/*
 * Boolean functions over atoms as reduced ordered decision diagrams; derivatives, emptiness
 * and universality of what they stand for.
 */
#include "dfa_inside.h"

enum { ITE_CACHE = 512, MAX_DEPTH = 1000 };

static tokfsm_status make_node(tf_dfa *dfa, uint32_t atom, tf_formula high, tf_formula low,
                               tf_budget *budget, tf_formula *f, tokfsm_error *err)
{
    if (high == low) {
        *f = high;
        return TOKFSM_OK;
    }
    const uint32_t key[3] = {atom, high, low};
    uint32_t id;
    bool fresh;
    TF_TRY(tf_spend(budget, err));
    TF_TRY(tf_dfa_check_bytes(dfa, err));
    if (!tf_paged_room(&dfa->node_records, &dfa->arena, dfa->nodes.n, sizeof(tf_node)) ||
        !tf_intern_row(&dfa->nodes, key, 3, &id, &fresh))
        return tf_dfa_no_memory(err);
    *f = id + 2;
    if (fresh)
        *TF_NODE(dfa, *f) = (tf_node){.atom = atom, .high = high, .low = low};
    return TOKFSM_OK;
}

tokfsm_status tf_formula_of_atom(tf_dfa *dfa, uint32_t atom, tf_budget *budget, tf_formula *f,
                                 tokfsm_error *err)
{
    return make_node(dfa, atom, TF_TRUE, TF_FALSE, budget, f, err);
}

static uint32_t top(const tf_dfa *dfa, tf_formula f)
{
    return f < 2 ? UINT32_MAX : TF_NODE(dfa, f)->atom;
}

static tf_formula branch(const tf_dfa *dfa, tf_formula f, uint32_t atom, bool high)
{
    if (f < 2)
        return f;
    const tf_node *node = TF_NODE(dfa, f);
    return node->atom != atom ? f : high ? node->high : node->low;
}

/* Depth is that of the diagrams: at most MAX_DEPTH atoms on a path. */
static tokfsm_status if_then_else(tf_dfa *dfa, tf_formula a, tf_formula b, tf_formula c,
                                  uint32_t depth, tf_budget *budget, tf_formula *f,
                                  tokfsm_error *err)
{
    if (a < 2 || b == c) {
        *f = a == TF_FALSE ? c : b;
        return TOKFSM_OK;
    }
    if (b == TF_TRUE && c == TF_FALSE) {
        *f = a;
        return TOKFSM_OK;
    }
    if (depth > MAX_DEPTH)
        return tf_fail(err, TOKFSM_E_LIMIT, "a combination of more than %d patterns", MAX_DEPTH);
    TF_TRY(tf_spend(budget, err));
    uint32_t hash = (a * 0x9E3779B1u ^ b * 0x85EBCA77u ^ c * 0xC2B2AE3Du) >> 7;
    uint32_t *slot = dfa->ite_cache + (hash % ITE_CACHE) * 4;
    if (slot[0] == a && slot[1] == b && slot[2] == c) {
        *f = slot[3];
        return TOKFSM_OK;
    }
    uint32_t atom = top(dfa, a), other = top(dfa, b);
    atom = other < atom ? other : atom;
    other = top(dfa, c);
    atom = other < atom ? other : atom;
    tf_formula high, low;
    TF_TRY(if_then_else(dfa, branch(dfa, a, atom, true), branch(dfa, b, atom, true),
                        branch(dfa, c, atom, true), depth + 1, budget, &high, err));
    TF_TRY(if_then_else(dfa, branch(dfa, a, atom, false), branch(dfa, b, atom, false),
                        branch(dfa, c, atom, false), depth + 1, budget, &low, err));
    TF_TRY(make_node(dfa, atom, high, low, budget, f, err));
    slot[0] = a, slot[1] = b, slot[2] = c, slot[3] = *f;
    return TOKFSM_OK;
}

tokfsm_status tf_formula_if(tf_dfa *dfa, tf_formula a, tf_formula b, tf_formula c,
                            tf_budget *budget, tf_formula *f, tokfsm_error *err)
{
    if (dfa->ite_cache == NULL) {
        dfa->ite_cache = tf_arena_zero(&dfa->arena, ITE_CACHE * 4 * sizeof *dfa->ite_cache);
        if (dfa->ite_cache == NULL)
            return tf_dfa_no_memory(err);
    }
    return if_then_else(dfa, a, b, c, 0, budget, f, err);
}

/* ---- derivatives ---- */

static tokfsm_status expand(tf_dfa *dfa, tf_formula f, uint32_t depth, tf_budget *budget,
                            tokfsm_error *err)
{
    if (f < 2)
        return TOKFSM_OK;
    tf_node *node = TF_NODE(dfa, f);
    if (node->row != NULL)
        return TOKFSM_OK;
    if (depth > MAX_DEPTH)
        return tf_fail(err, TOKFSM_E_LIMIT, "a combination of more than %d patterns", MAX_DEPTH);
    tf_atom *atom = TF_ATOM(dfa, node->atom);
    TF_TRY(tf_atoms_expand(dfa, node->atom, budget, err));
    if (tf_formula_is_atom(node)) {
        node->row = atom->row;
        return TOKFSM_OK;
    }
    TF_TRY(expand(dfa, node->high, depth + 1, budget, err));
    TF_TRY(expand(dfa, node->low, depth + 1, budget, err));
    tf_formula *row = tf_arena_take(&dfa->arena, dfa->classes.n * sizeof *row);
    if (row == NULL)
        return tf_dfa_no_memory(err);
    for (uint32_t k = 0; k < dfa->classes.n; k++) {
        tf_formula high = node->high < 2 ? node->high : TF_NODE(dfa, node->high)->row[k];
        tf_formula low = node->low < 2 ? node->low : TF_NODE(dfa, node->low)->row[k];
        TF_TRY(tf_formula_if(dfa, atom->row[k], high, low, budget, &row[k], err));
    }
    node->row = row;
    return TOKFSM_OK;
}

tokfsm_status tf_formula_expand(tf_dfa *dfa, tf_formula f, tf_budget *budget,
                                const tf_formula **row, tokfsm_error *err)
{
    TF_TRY(expand(dfa, f, 0, budget, err));
    *row = TF_NODE(dfa, f)->row;
    return TOKFSM_OK;
}

tokfsm_status tf_formula_accepts(tf_dfa *dfa, tf_formula f, tf_budget *budget, bool *accepts,
                                 tokfsm_error *err)
{
    while (f >= 2) {
        const tf_node *node = TF_NODE(dfa, f);
        TF_TRY(tf_atoms_expand(dfa, node->atom, budget, err));
        f = TF_ATOM(dfa, node->atom)->accepts ? node->high : node->low;
    }
    *accepts = f == TF_TRUE;
    return TOKFSM_OK;
}

/* ---- searches: breadth first, with parents, so that a find settles its whole path ---- */

static tokfsm_status enqueue(tf_dfa *dfa, tf_formula f, uint32_t parent, uint32_t *n,
                             tokfsm_error *err)
{
    uint32_t capacity = dfa->queue.capacity;
    if (!tf_dfa_room(&dfa->arena, &dfa->queue.parents, *n, &capacity))
        return tf_dfa_no_memory(err);
    if (!tf_dfa_room(&dfa->arena, &dfa->queue.items, *n, &dfa->queue.capacity))
        return tf_dfa_no_memory(err);
    TF_NODE(dfa, f)->seen = dfa->search;
    dfa->queue.items[*n] = f;
    dfa->queue.parents[(*n)++] = parent;
    return TOKFSM_OK;
}

/* Does f hold wherever the atom does? Looks at most at *left nodes; false: unknown. */
static bool implied(const tf_dfa *dfa, tf_formula f, uint32_t atom, uint32_t *left)
{
    while (f >= 2) {
        const tf_node *node = TF_NODE(dfa, f);
        if (node->atom > atom || *left == 0)
            return false;
        (*left)--;
        if (node->atom < atom && !implied(dfa, node->low, atom, left))
            return false;
        f = node->high;
    }
    return f == TF_TRUE;
}

/* A disjunction with an atom that accepts some text. May miss some. */
static bool surely_live(const tf_dfa *dfa, tf_formula f)
{
    uint32_t left = 64;
    for (tf_formula at = f; at >= 2; at = TF_NODE(dfa, at)->low) {
        uint32_t atom = TF_NODE(dfa, at)->atom;
        if (TF_ATOM(dfa, atom)->sure && implied(dfa, f, atom, &left))
            return true;
    }
    return false;
}

typedef enum verdict { UNKNOWN, FOUND, BARREN } verdict;

/* Found: a text that is accepted; or, for universality, one that is not. */
static verdict judge(const tf_dfa *dfa, tf_formula f, bool universality)
{
    if (f < 2)
        return (f == TF_TRUE) != universality ? FOUND : BARREN;
    const tf_node *node = TF_NODE(dfa, f);
    if (universality)
        return node->universal == 0 ? UNKNOWN : node->universal == 2 ? FOUND : BARREN;
    if (node->live == TF_NODE_UNKNOWN && surely_live(dfa, f))
        return FOUND;
    return node->live == TF_NODE_UNKNOWN ? UNKNOWN : node->live == TF_NODE_LIVE ? FOUND : BARREN;
}

static void settle(tf_dfa *dfa, tf_formula f, bool universality, bool found)
{
    if (universality)
        TF_NODE(dfa, f)->universal = found ? 2 : 1;
    else
        TF_NODE(dfa, f)->live = found ? TF_NODE_LIVE : TF_NODE_DEAD;
}

static tokfsm_status search(tf_dfa *dfa, tf_formula f, bool universality, tf_budget *budget,
                            bool *found, tokfsm_error *err)
{
    verdict first = judge(dfa, f, universality);
    *found = first == FOUND;
    if (first != UNKNOWN)
        return TOKFSM_OK;
    uint32_t n = 0;
    dfa->search++;
    TF_TRY(enqueue(dfa, f, UINT32_MAX, &n, err));
    for (uint32_t i = 0; i < n && !*found; i++) {
        const tf_formula *row, at = dfa->queue.items[i];
        TF_TRY(tf_spend(budget, err));
        TF_TRY(tf_formula_expand(dfa, at, budget, &row, err));
        TF_TRY(tf_formula_accepts(dfa, at, budget, found, err));
        *found = *found != universality;
        for (uint32_t k = 0; k < dfa->classes.n && !*found; k++) {
            if (row[k] >= 2 && TF_NODE(dfa, row[k])->seen == dfa->search)
                continue;
            verdict v = judge(dfa, row[k], universality);
            *found = v == FOUND;
            if (v == UNKNOWN)
                TF_TRY(enqueue(dfa, row[k], i, &n, err));
        }
        if (*found)
            for (uint32_t up = i; up != UINT32_MAX; up = dfa->queue.parents[up])
                settle(dfa, dfa->queue.items[up], universality, true);
    }
    for (uint32_t i = 0; i < n && !*found; i++)
        settle(dfa, dfa->queue.items[i], universality, false);
    return TOKFSM_OK;
}

tokfsm_status tf_formula_live(tf_dfa *dfa, tf_formula f, tf_budget *budget, bool *live,
                              tokfsm_error *err)
{
    return search(dfa, f, false, budget, live, err);
}

tokfsm_status tf_formula_universal(tf_dfa *dfa, tf_formula f, tf_budget *budget, bool *universal,
                                   tokfsm_error *err)
{
    bool found;
    TF_TRY(search(dfa, f, true, budget, &found, err));
    *universal = !found;
    return TOKFSM_OK;
}
