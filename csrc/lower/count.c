/*
 * How many strings a state of a pattern automaton accepts. Finite exactly where there is a
 * longest one; then no state can be met again, and one pass in reverse order adds up.
 */
#include "patterns.h"

typedef struct counting {
    tf_build *b;
    tf_dfa *dfa;
    uint64_t *known; /* by state; 1 + count, 0: not known */
    size_t n_known;
    struct { tf_dfa_state_id *items; size_t n, capacity; } stack;
} counting;

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while counting strings");
}

static tokfsm_status room(counting *c)
{
    size_t n = tf_dfa_n_states(c->dfa);
    if (n <= c->n_known)
        return TOKFSM_OK;
    n *= 2;
    uint64_t *known = tf_allocate(&c->b->arena.allocator, n * sizeof *known);
    if (known == NULL)
        return no_memory(c->b);
    memset(known, 0, n * sizeof *known);
    if (c->n_known > 0)
        memcpy(known, c->known, c->n_known * sizeof *known);
    tf_release(&c->b->arena.allocator, c->known);
    c->known = known;
    c->n_known = n;
    return TOKFSM_OK;
}

/* Bytes of each class that begin or go on in a character. */
static tokfsm_status add_up(counting *c, tf_dfa_state_id state, bool *ready)
{
    tf_build *b = c->b;
    const tf_dfa_state_id *row;
    TF_TRY(tf_dfa_row(c->dfa, state, b->budget, &row, b->err));
    TF_TRY(room(c));
    uint64_t sum = tf_dfa_accepts(c->dfa, state);
    const uint8_t *class_of = tf_dfa_byte_classes(c->dfa);
    *ready = true;
    for (uint32_t byte = 0; byte < 256; byte++) {
        tf_dfa_state_id next = row[class_of[byte]];
        if (next == TF_DFA_DEAD)
            continue;
        if (c->known[next] == 0) {
            *ready = false;
            if (!tf_grow(&b->arena.allocator, (void **)&c->stack.items, c->stack.n,
                         &c->stack.capacity, sizeof *c->stack.items))
                return no_memory(b);
            c->stack.items[c->stack.n++] = next;
        } else {
            uint64_t more = c->known[next] - 1;
            sum = sum > UINT64_MAX - 2 - more ? UINT64_MAX - 2 : sum + more; /* that many are no end */
        }
    }
    if (*ready)
        c->known[state] = sum + 1;
    return tf_spend(b->budget, b->err);
}

static tokfsm_status count(counting *c, tf_dfa_state_id start, uint64_t *n)
{
    const tf_dfa_lengths *lengths;
    tf_build *b = c->b;
    TF_TRY(tf_dfa_lengths_of(c->dfa, start, b->budget, &lengths, b->err));
    *n = UINT64_MAX;
    if (lengths->longest == TF_DFA_UNBOUNDED)
        return TOKFSM_OK;
    TF_TRY(room(c));
    if (!tf_grow(&b->arena.allocator, (void **)&c->stack.items, c->stack.n, &c->stack.capacity,
                 sizeof *c->stack.items))
        return no_memory(b);
    c->stack.items[c->stack.n++] = start;
    while (c->stack.n > 0) {
        tf_dfa_state_id at = c->stack.items[c->stack.n - 1];
        bool ready = true;
        size_t n_before = c->stack.n;
        if (c->known[at] == 0)
            TF_TRY(add_up(c, at, &ready));
        if (ready)
            c->stack.n = n_before - 1;
    }
    *n = c->known[start] - 1;
    return TOKFSM_OK;
}

tokfsm_status tf_count_strings(tf_build *b, tf_dfa *dfa, const tf_dfa_state_id *tuple, uint32_t n,
                               uint64_t *counts)
{
    counting c = {.b = b, .dfa = dfa};
    tokfsm_status status = TOKFSM_OK;
    for (uint32_t i = 0; i < n && status == TOKFSM_OK; i++) {
        counts[i] = 0;
        if (tuple[i] != TF_DFA_DEAD)
            status = count(&c, tuple[i], &counts[i]);
    }
    tf_release(&b->arena.allocator, c.known);
    tf_release(&b->arena.allocator, c.stack.items);
    return status;
}
