/*
 * How many strings a state of a pattern automaton accepts. Every state but the dead one leads to
 * acceptance, so there is no end of them exactly where a state can be met again; else one pass
 * in reverse order adds up.
 */
#include "patterns.h"

enum { UNKNOWN, ON_PATH, ADDED = 2 }; /* else count + ADDED; UINT64_MAX: no end */

typedef struct visit {
    tf_dfa_state_id state;
    uint32_t class; /* the next to look at */
    uint64_t sum;
} visit;

typedef struct counting {
    tf_build *b;
    tf_dfa *dfa;
    uint64_t *known; /* by state */
    size_t n_known;
    uint32_t class_size[256];
    uint64_t states_left;
    struct { visit *items; size_t n, capacity; } path;
} counting;

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while counting strings");
}

static tokfsm_status enter(counting *c, tf_dfa_state_id state)
{
    tf_build *b = c->b;
    size_t n = tf_dfa_n_states(c->dfa);
    TF_TRY(tf_spend(b->budget, b->err));
    c->states_left -= c->states_left > 0;
    if (n > c->n_known) {
        n *= 2;
        uint64_t *known = tf_allocate(&b->arena.allocator, n * sizeof *known);
        if (known == NULL)
            return no_memory(b);
        memset(known, 0, n * sizeof *known);
        if (c->n_known > 0)
            memcpy(known, c->known, c->n_known * sizeof *known);
        tf_release(&b->arena.allocator, c->known);
        c->known = known;
        c->n_known = n;
    }
    if (!tf_grow(&b->arena.allocator, (void **)&c->path.items, c->path.n, &c->path.capacity,
                 sizeof *c->path.items))
        return no_memory(b);
    c->path.items[c->path.n++] = (visit){state, 0, tf_dfa_accepts(c->dfa, state)};
    c->known[state] = ON_PATH;
    return TOKFSM_OK;
}

/* What is on the path leads to what is met again, or to what has no end. */
static void no_end(counting *c)
{
    for (size_t i = 0; i < c->path.n; i++)
        c->known[c->path.items[i].state] = UINT64_MAX;
    c->path.n = 0;
}

static tokfsm_status count(counting *c, tf_dfa_state_id start, uint64_t *n)
{
    tf_build *b = c->b;
    if (start >= c->n_known || c->known[start] == UNKNOWN)
        TF_TRY(enter(c, start));
    while (c->path.n > 0) {
        if (c->states_left == 0) {
            for (size_t i = 0; i < c->path.n; i++)
                c->known[c->path.items[i].state] = UNKNOWN;
            c->path.n = 0;
            *n = 1;
            return TOKFSM_OK;
        }
        visit *at = &c->path.items[c->path.n - 1];
        const tf_dfa_state_id *row;
        if (at->class == tf_dfa_n_byte_classes(c->dfa)) {
            c->known[at->state] = at->sum + ADDED;
            c->path.n--;
            continue;
        }
        TF_TRY(tf_dfa_row(c->dfa, at->state, b->budget, &row, b->err));
        tf_dfa_state_id next = row[at->class];
        uint64_t known = next < c->n_known ? c->known[next] : UNKNOWN;
        if (next == TF_DFA_DEAD) {
            at->class++;
        } else if (known == ON_PATH || known == UINT64_MAX) {
            no_end(c);
        } else if (known == UNKNOWN) {
            TF_TRY(enter(c, next)); /* and look again */
        } else {
            uint64_t most = UINT64_MAX - 1 - ADDED, size = c->class_size[at->class];
            known -= ADDED; /* past `most` it is as good as no end, but there is one */
            at->sum = known > (most - at->sum) / size ? most : at->sum + known * size;
            at->class++;
        }
    }
    *n = c->known[start] == UINT64_MAX ? UINT64_MAX : c->known[start] - ADDED;
    return TOKFSM_OK;
}

/*
 * More strings than any text has names: found within a few characters, without a look at what
 * lies behind them.
 */
static tokfsm_status find_many(const counting *c, tf_dfa_state_id start, bool *many)
{
    enum { MOST_BYTES = 24, MOST_STATES = 32, MANY_BITS = 48 };
    struct { tf_dfa_state_id state; uint64_t n; } now[MOST_STATES], next[MOST_STATES];
    uint32_t n_now = 1, n_classes = tf_dfa_n_byte_classes(c->dfa);
    now[0].state = start;
    now[0].n = 1;
    *many = false;
    for (uint32_t depth = 0; depth < MOST_BYTES && n_now > 0; depth++) {
        uint32_t n_next = 0;
        uint64_t sum = 0;
        for (uint32_t i = 0; i < n_now; i++) {
            const tf_dfa_state_id *row;
            TF_TRY(tf_spend(c->b->budget, c->b->err));
            TF_TRY(tf_dfa_row(c->dfa, now[i].state, c->b->budget, &row, c->b->err));
            for (uint32_t class = 0; class < n_classes; class++) {
                uint32_t k = 0;
                if (row[class] == TF_DFA_DEAD || c->class_size[class] == 0)
                    continue;
                while (k < n_next && next[k].state != row[class])
                    k++;
                if (k == MOST_STATES)
                    return TOKFSM_OK; /* not to be found so */
                if (k == n_next) {
                    next[n_next].state = row[class];
                    next[n_next++].n = 0;
                }
                next[k].n += now[i].n * c->class_size[class]; /* below 2 ** (MANY_BITS + 14) */
            }
        }
        for (uint32_t k = 0; k < n_next; k++) {
            /* Texts of one length, each with an accepted continuation of its own. */
            sum += next[k].n;
        }
        if (sum >> MANY_BITS != 0) {
            *many = true;
            return TOKFSM_OK;
        }
        memcpy(now, next, sizeof now);
        n_now = n_next;
    }
    return TOKFSM_OK;
}

tokfsm_status tf_count_strings(tf_build *b, tf_dfa *dfa, const tf_dfa_state_id *tuple, uint32_t n,
                               uint64_t most_states, bool exactly, uint64_t *counts)
{
    counting c = {.b = b, .dfa = dfa, .states_left = most_states};
    tokfsm_status status = TOKFSM_OK;
    for (uint32_t byte = 0; byte < 256; byte++)
        c.class_size[tf_dfa_byte_classes(dfa)[byte]]++;
    for (uint32_t i = 0; i < n && status == TOKFSM_OK; i++) {
        bool many = false;
        counts[i] = 0;
        if (tuple[i] != TF_DFA_DEAD && !exactly)
            status = find_many(&c, tuple[i], &many);
        if (many)
            counts[i] = TF_MANY_STRINGS;
        else if (tuple[i] != TF_DFA_DEAD && status == TOKFSM_OK)
            status = count(&c, tuple[i], &counts[i]);
    }
    tf_release(&b->arena.allocator, c.known);
    tf_release(&b->arena.allocator, c.path.items);
    return status;
}

/* States in the order in which they are met. */
typedef struct state_list {
    tf_build *b;
    tf_dfa_state_id *items;
    uint8_t *known; /* by state */
    size_t n, capacity, n_known, known_capacity;
} state_list;

static tokfsm_status add_state(state_list *list, tf_dfa_state_id state)
{
    const tokfsm_allocator *a = &list->b->arena.allocator;
    for (; list->n_known <= state; list->known[list->n_known++] = 0)
        if (!tf_grow(a, (void **)&list->known, list->n_known, &list->known_capacity, 1))
            return no_memory(list->b);
    if (list->known[state])
        return TOKFSM_OK;
    list->known[state] = 1;
    if (!tf_grow(a, (void **)&list->items, list->n, &list->capacity, sizeof *list->items))
        return no_memory(list->b);
    list->items[list->n++] = state;
    return TOKFSM_OK;
}

/* Every state leads to acceptance, so it is enough to look for one that nothing follows. */
tokfsm_status tf_some_state_ends(tf_build *b, tf_dfa *dfa, tf_dfa_state_id start,
                                 uint64_t most_states, bool *ends)
{
    state_list list = {.b = b};
    tokfsm_status status = add_state(&list, start);
    const uint32_t n_classes = tf_dfa_n_byte_classes(dfa);
    *ends = false;
    for (size_t i = 0; status == TOKFSM_OK && !*ends && i < list.n; i++) {
        const tf_dfa_state_id *row;
        bool leads_on = false;
        status = tf_spend(b->budget, b->err);
        if (status == TOKFSM_OK)
            status = tf_dfa_row(dfa, list.items[i], b->budget, &row, b->err);
        for (uint32_t class = 0; status == TOKFSM_OK && class < n_classes; class++)
            if (row[class] != TF_DFA_DEAD) {
                leads_on = true;
                status = add_state(&list, row[class]);
            }
        *ends = !leads_on || list.n > most_states;
    }
    tf_release(&b->arena.allocator, list.items);
    tf_release(&b->arena.allocator, list.known);
    return status;
}
