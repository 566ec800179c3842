/*
 * The shortest text that is accepted from a state: breadth-first over characters, cut short
 * where what is known of a state met decides.
 */
#include "dfa_inside.h"

enum { UNKNOWN = 0 }; /* else 1 + the length */

typedef struct frontier {
    uint32_t *items;
    uint32_t n, capacity;
} frontier;

static bool room_for_states(tf_dfa *dfa)
{
    uint32_t n = dfa->shortest_capacity;
    if (dfa->n_states <= n)
        return true;
    n = dfa->n_states * 2;
    uint64_t *wider = tf_arena_zero(&dfa->arena, n * sizeof *wider);
    uint32_t *met = tf_arena_zero(&dfa->arena, n * sizeof *met);
    if (wider == NULL || met == NULL)
        return false;
    if (dfa->shortest_capacity > 0) {
        memcpy(wider, dfa->shortest, dfa->shortest_capacity * sizeof *wider);
        memcpy(met, dfa->shortest_met, dfa->shortest_capacity * sizeof *met);
    }
    dfa->shortest = wider;
    dfa->shortest_met = met;
    dfa->shortest_capacity = n;
    return true;
}

static bool add(tf_dfa *dfa, frontier *f, uint32_t state)
{
    if (state == TF_DFA_DEAD)
        return true;
    if (!room_for_states(dfa))
        return false;
    if (dfa->shortest_met[state] == dfa->search)
        return true;
    dfa->shortest_met[state] = dfa->search;
    if (!tf_dfa_room(&dfa->arena, &f->items, f->n, &f->capacity))
        return false;
    f->items[f->n++] = state;
    return true;
}

/* Where one character leads, or the rest of one. */
static tokfsm_status spread(tf_dfa *dfa, uint32_t state, frontier *to, tf_budget *budget,
                            tokfsm_error *err)
{
    TF_TRY(tf_spend(budget, err));
    if (!(TF_STATE(dfa, state)->flags & TF_STATE_INSIDE)) {
        TF_TRY(tf_dfa_expand(dfa, state, budget, err));
        for (uint32_t k = 0; k < dfa->classes.n; k++)
            if (!add(dfa, to, TF_STATE(dfa, state)->targets[k]))
                return tf_dfa_no_memory(err);
        return TOKFSM_OK;
    }
    uint32_t inside[256]; /* at most two more bytes: few states, met by depth */
    uint32_t n = 0;
    inside[n++] = state;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *row;
        TF_TRY(tf_dfa_row(dfa, inside[i], budget, &row, err));
        for (uint32_t b = 0; b < dfa->classes.n_byte_classes; b++) {
            bool more = row[b] != TF_DFA_DEAD && TF_STATE(dfa, row[b])->flags & TF_STATE_INSIDE;
            bool known = false;
            for (uint32_t k = 0; more && k < n; k++)
                known |= inside[k] == row[b];
            if (more && !known) {
                if (n == 256)
                    return tf_fail(err, TOKFSM_E_INTERNAL, "a character with too many states");
                inside[n++] = row[b];
            } else if (!more && !add(dfa, to, row[b])) {
                return tf_dfa_no_memory(err);
            }
        }
    }
    return TOKFSM_OK;
}

tokfsm_status tf_dfa_shortest(tf_dfa *dfa, tf_dfa_state_id state, tf_budget *budget,
                              uint64_t *length, tokfsm_error *err)
{
    *length = TF_DFA_UNBOUNDED;
    if (state == TF_DFA_DEAD)
        return TOKFSM_OK;
    if (!room_for_states(dfa))
        return tf_dfa_no_memory(err);
    if (dfa->shortest[state] != UNKNOWN) {
        *length = dfa->shortest[state] - 1;
        return TOKFSM_OK;
    }
    dfa->search++;
    frontier now = {0}, next = {0};
    if (!add(dfa, &now, state))
        return tf_dfa_no_memory(err);
    for (uint64_t depth = 0; now.n > 0 && depth < *length; depth++) {
        for (uint32_t i = 0; i < now.n; i++) {
            uint32_t at = now.items[i];
            uint64_t known = dfa->shortest[at];
            if (tf_dfa_accepts(dfa, at))
                known = 1;
            if (known != UNKNOWN && depth + known - 1 < *length)
                *length = depth + known - 1;
        }
        next.n = 0;
        for (uint32_t i = 0; i < now.n && depth + 1 < *length; i++)
            TF_TRY(spread(dfa, now.items[i], &next, budget, err));
        frontier swap = now;
        now = next;
        next = swap;
    }
    dfa->shortest[state] = *length + 1;
    return TOKFSM_OK;
}
