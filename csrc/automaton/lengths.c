/*
 * Lengths of accepted continuations. For a graph whose edges are single characters let
 * A(t) be the set of vertices from which a path of t characters is accepted. A(0) are the
 * accepting ones, A(t + 1) those with an edge into A(t); so the sequence of sets is
 * ultimately periodic, and its columns give each vertex its lengths.
 *
 * The vertices are places of the program where patterns alone are at hand (a state is a
 * union of places, so its lengths are the union of theirs), else the states.
 */
#include "../base/bits.h"
#include "dfa_inside.h"

typedef struct tf_columns {
    uint32_t n_vertices, n_words; /* words a column */
    uint32_t n_prefix, period;
    uint32_t **columns;           /* n_prefix + period of them */
} tf_columns;

enum { MAX_COLUMNS = 1 << 20, MAX_WORDS = 1 << 24 /* of all columns */ };

typedef struct growing {
    tf_columns made;
    tf_interner seen;
    uint32_t capacity;
} growing;

/* Add a column; *done if it was there before. */
static tokfsm_status add_column(growing *g, const uint32_t *bits, bool *done,
                                tf_budget *budget, tokfsm_error *err)
{
    uint32_t id;
    bool fresh;
    for (uint32_t i = 0; i <= g->made.n_words; i += 16)
        TF_TRY(tf_spend(budget, err));
    if (g->seen.n >= MAX_COLUMNS || (uint64_t)g->seen.n * g->made.n_words >= MAX_WORDS)
        return tf_fail(err, TOKFSM_E_LIMIT, "lengths of a pattern with too many steps (%u)",
                       g->seen.n);
    if (!tf_intern_row(&g->seen, bits, g->made.n_words, &id, &fresh))
        return tf_dfa_no_memory(err);
    *done = !fresh;
    if (!fresh) {
        g->made.n_prefix = id;
        g->made.period = g->seen.n - id;
    }
    return TOKFSM_OK;
}

static tokfsm_status finish_columns(tf_dfa *dfa, growing *g, tf_columns **columns,
                                    tokfsm_error *err)
{
    tf_columns *made = tf_arena_take(&dfa->arena, sizeof *made);
    uint32_t **list = tf_arena_take(&dfa->arena, g->seen.n * sizeof *list);
    if (made == NULL || list == NULL)
        return tf_dfa_no_memory(err);
    *made = g->made;
    made->columns = list;
    for (uint32_t t = 0; t < g->seen.n; t++) {
        list[t] = tf_arena_take(&dfa->arena, made->n_words * sizeof **list);
        if (list[t] == NULL)
            return tf_dfa_no_memory(err);
        memcpy(list[t], g->seen.items[t].words, made->n_words * sizeof **list);
    }
    *columns = made;
    return TOKFSM_OK;
}

/* ---- of the program's places, away from the start of the text ---- */

/* Complete A(t), in which the places of sets are, by empty steps. */
static tokfsm_status close_places(const tf_dfa *dfa, uint32_t *bits, bool at_end,
                                  tf_budget *budget, tokfsm_error *err)
{
    const tf_program *p = &dfa->program;
    for (bool changed = true; changed;) {
        changed = false;
        for (tf_pc pc = 0; pc < p->n; pc++) {
            const tf_instruction *at = &p->code[pc];
            if ((pc & 15u) == 0)
                TF_TRY(tf_spend(budget, err));
            if (tf_bit(bits, pc))
                continue;
            bool in = at->op == TF_OP_MATCH ||
                      (at->op == TF_OP_SPLIT && (tf_bit(bits, at->x) || tf_bit(bits, at->y))) ||
                      (at->op == TF_OP_END && at_end && tf_bit(bits, at->x));
            if (in)
                tf_set(bits, pc);
            changed |= in;
        }
    }
    return TOKFSM_OK;
}

static tokfsm_status columns_of_program(tf_dfa *dfa, tf_arena *scratch, tf_budget *budget,
                                        tokfsm_error *err)
{
    const tf_program *p = &dfa->program;
    growing g = {.made = {.n_vertices = p->n, .n_words = (uint32_t)tf_n_words(p->n)}};
    size_t n_bytes = g.made.n_words * sizeof(uint32_t);
    uint32_t *bits = tf_arena_zero(scratch, n_bytes), *next = tf_arena_take(scratch, n_bytes);
    if (bits == NULL || next == NULL)
        return tf_dfa_no_memory(err);
    tf_intern_init(&g.seen, scratch);
    TF_TRY(close_places(dfa, bits, true, budget, err));
    for (bool done = false;;) {
        TF_TRY(add_column(&g, bits, &done, budget, err));
        if (done)
            return finish_columns(dfa, &g, &dfa->program_columns, err);
        memset(next, 0, n_bytes);
        for (tf_pc pc = 0; pc < p->n; pc++) {
            const tf_instruction *at = &p->code[pc];
            if (at->op == TF_OP_SET && tf_bit(bits, at->x) && dfa->regex.sets[at->y].n > 0)
                tf_set(next, pc);
        }
        TF_TRY(close_places(dfa, next, false, budget, err));
        uint32_t *other = bits;
        bits = next;
        next = other;
    }
}

/* ---- of states ---- */

typedef struct graph {
    uint32_t *states, *index, *edges, *ends; /* edges of vertex v: up to ends[v] */
    uint32_t n, states_capacity, ends_capacity, n_edges, edges_capacity;
    uint32_t index_size; /* index[state]: vertex + 1 */
} graph;

static tokfsm_status vertex_of(tf_arena *scratch, graph *g, uint32_t state, uint32_t *vertex,
                               tokfsm_error *err)
{
    if (state >= g->index_size) {
        uint32_t size = g->index_size < 256 ? 256 : g->index_size;
        while (size <= state)
            size *= 2;
        uint32_t *index = tf_arena_zero(scratch, size * sizeof *index);
        if (index == NULL)
            return tf_dfa_no_memory(err);
        if (g->index_size > 0)
            memcpy(index, g->index, g->index_size * sizeof *index);
        g->index = index;
        g->index_size = size;
    }
    if (g->index[state] == 0) {
        if (!tf_dfa_room(scratch, &g->states, g->n, &g->states_capacity))
            return tf_dfa_no_memory(err);
        g->states[g->n++] = state;
        g->index[state] = g->n;
    }
    *vertex = g->index[state] - 1;
    return TOKFSM_OK;
}

/* All states between characters that can be reached. */
static tokfsm_status explore(tf_dfa *dfa, tf_arena *scratch, graph *g, uint32_t state,
                             tf_budget *budget, tokfsm_error *err)
{
    uint32_t vertex;
    TF_TRY(vertex_of(scratch, g, state, &vertex, err));
    for (uint32_t v = 0; v < g->n; v++) {
        TF_TRY(tf_spend(budget, err));
        TF_TRY(tf_dfa_expand(dfa, g->states[v], budget, err));
        const uint32_t *targets = TF_STATE(dfa, g->states[v])->targets;
        uint32_t last = TF_DFA_DEAD;
        for (uint32_t k = 0; k < dfa->classes.n; k++) {
            if (targets[k] == TF_DFA_DEAD || targets[k] == last)
                continue;
            last = targets[k];
            TF_TRY(vertex_of(scratch, g, last, &vertex, err));
            if (!tf_dfa_room(scratch, &g->edges, g->n_edges, &g->edges_capacity))
                return tf_dfa_no_memory(err);
            g->edges[g->n_edges++] = vertex;
        }
        if (!tf_dfa_room(scratch, &g->ends, v, &g->ends_capacity))
            return tf_dfa_no_memory(err);
        g->ends[v] = g->n_edges;
    }
    return TOKFSM_OK;
}

static tokfsm_status columns_of_states(tf_dfa *dfa, tf_arena *scratch, graph *g,
                                       growing *grown, tf_budget *budget, tokfsm_error *err)
{
    grown->made = (tf_columns){.n_vertices = g->n, .n_words = (uint32_t)tf_n_words(g->n)};
    size_t n_bytes = grown->made.n_words * sizeof(uint32_t);
    uint32_t *bits = tf_arena_zero(scratch, n_bytes), *next = tf_arena_take(scratch, n_bytes);
    if (bits == NULL || next == NULL)
        return tf_dfa_no_memory(err);
    tf_intern_init(&grown->seen, scratch);
    for (uint32_t v = 0; v < g->n; v++)
        if (tf_dfa_accepts(dfa, g->states[v]))
            tf_set(bits, v);
    for (bool done = false;;) {
        TF_TRY(add_column(grown, bits, &done, budget, err));
        if (done)
            return TOKFSM_OK;
        memset(next, 0, n_bytes);
        for (uint32_t v = 0, edge = 0; v < g->n; v++) {
            if ((v & 15u) == 0)
                TF_TRY(tf_spend(budget, err));
            bool in = false;
            for (; edge < g->ends[v]; edge++)
                in |= tf_bit(bits, g->edges[edge]);
            if (in)
                tf_set(next, v);
        }
        uint32_t *other = bits;
        bits = next;
        next = other;
    }
}

/* ---- the sets of lengths ---- */

/* Shortest, longest and the shape of bits[0 .. n_prefix + period). */
static tokfsm_status keep(tf_dfa *dfa, const uint32_t *bits, uint32_t n_prefix, uint32_t period,
                          const tf_dfa_lengths **lengths, tokfsm_error *err)
{
    uint32_t n = n_prefix + period;
    tf_dfa_lengths *made = tf_arena_take(&dfa->arena, sizeof *made);
    uint32_t *copy = tf_arena_take(&dfa->arena, tf_n_words(n) * sizeof *copy);
    if (made == NULL || copy == NULL)
        return tf_dfa_no_memory(err);
    memcpy(copy, bits, tf_n_words(n) * sizeof *copy);
    *made = (tf_dfa_lengths){TF_DFA_UNBOUNDED, 0, n_prefix, period, copy};
    for (uint32_t t = 0; t < n; t++)
        if (tf_bit(copy, t)) {
            made->shortest = t < made->shortest ? t : made->shortest;
            made->longest = t < n_prefix ? t : TF_DFA_UNBOUNDED;
        }
    *lengths = made;
    return TOKFSM_OK;
}

static bool in_lengths(const tf_dfa_lengths *l, uint64_t t)
{
    return tf_bit(l->bits, t < l->n_prefix ? t : l->n_prefix + (t - l->n_prefix) % l->period);
}

/* Lengths of a state whose lengths are one more than those of any of n states. */
static tokfsm_status one_more(tf_dfa *dfa, tf_arena *scratch, const uint32_t *states, uint32_t n,
                              bool accepts, tf_budget *budget, const tf_dfa_lengths **lengths,
                              tokfsm_error *err)
{
    uint32_t n_prefix = 0;
    uint64_t period = 1;
    for (uint32_t i = 0; i < n; i++) {
        const tf_dfa_lengths *l;
        TF_TRY(tf_dfa_lengths_of(dfa, states[i], budget, &l, err));
        n_prefix = l->n_prefix > n_prefix ? l->n_prefix : n_prefix;
        uint64_t a = period, b = l->period;
        while (b != 0) {
            uint64_t rest = a % b;
            a = b;
            b = rest;
        }
        period = period / a * l->period;
        if (period > MAX_COLUMNS)
            return tf_fail(err, TOKFSM_E_LIMIT, "lengths of a pattern with more than %d steps",
                           MAX_COLUMNS);
    }
    uint32_t total = n_prefix + 1 + (uint32_t)period;
    uint32_t *bits = tf_arena_zero(scratch, tf_n_words(total) * sizeof *bits);
    if (bits == NULL)
        return tf_dfa_no_memory(err);
    if (accepts)
        tf_set(bits, 0);
    for (uint32_t i = 0; i < n; i++) {
        const tf_dfa_lengths *l;
        TF_TRY(tf_dfa_lengths_of(dfa, states[i], budget, &l, err));
        for (uint32_t t = 1; t < total; t++) {
            if ((t & 63u) == 0)
                TF_TRY(tf_spend(budget, err));
            if (in_lengths(l, t - 1))
                tf_set(bits, t);
        }
    }
    return keep(dfa, bits, n_prefix + 1, (uint32_t)period, lengths, err);
}

/* A pattern alone: the union over the places of its one atom. */
static tokfsm_status of_places(tf_dfa *dfa, tf_arena *scratch, uint32_t atom, tf_budget *budget,
                               const tf_dfa_lengths **lengths, tokfsm_error *err)
{
    const tf_interned words = dfa->atoms.items[atom];
    if (dfa->program_columns == NULL)
        TF_TRY(columns_of_program(dfa, scratch, budget, err));
    const tf_columns *columns = dfa->program_columns;
    uint32_t n = columns->n_prefix + columns->period;
    uint32_t *bits = tf_arena_zero(scratch, tf_n_words(n) * sizeof *bits);
    if (bits == NULL)
        return tf_dfa_no_memory(err);
    for (uint32_t t = 0; t < n; t++) {
        TF_TRY(tf_spend(budget, err));
        for (uint32_t i = 1; i < words.n; i++)
            if (tf_bit(columns->columns[t], words.words[i])) {
                tf_set(bits, t);
                break;
            }
    }
    return keep(dfa, bits, columns->n_prefix, columns->period, lengths, err);
}

static tokfsm_status of_graph(tf_dfa *dfa, tf_arena *scratch, uint32_t id, tf_budget *budget,
                              tokfsm_error *err)
{
    graph g = {0};
    growing grown = {0};
    TF_TRY(explore(dfa, scratch, &g, id, budget, err));
    TF_TRY(columns_of_states(dfa, scratch, &g, &grown, budget, err));
    uint32_t n = grown.seen.n;
    uint32_t *bits = tf_arena_take(scratch, tf_n_words(n) * sizeof *bits);
    if (bits == NULL)
        return tf_dfa_no_memory(err);
    for (uint32_t v = 0; v < g.n; v++) {
        tf_state *state = TF_STATE(dfa, g.states[v]);
        if (state->lengths != NULL)
            continue;
        memset(bits, 0, tf_n_words(n) * sizeof *bits);
        for (uint32_t t = 0; t < n; t++) {
            if ((t & 63u) == 0)
                TF_TRY(tf_spend(budget, err));
            if (tf_bit(grown.seen.items[t].words, v))
                tf_set(bits, t);
        }
        TF_TRY(keep(dfa, bits, grown.made.n_prefix, grown.made.period, &state->lengths, err));
    }
    return TOKFSM_OK;
}

/* States that the row or the targets lead to, without doubles. */
static tokfsm_status successors(tf_dfa *dfa, tf_arena *scratch, uint32_t id, tf_budget *budget,
                                uint32_t **states, uint32_t *n, tokfsm_error *err)
{
    TF_TRY(tf_dfa_expand(dfa, id, budget, err));
    const tf_state *state = TF_STATE(dfa, id);
    const uint32_t *from = state->targets != NULL ? state->targets : state->row;
    uint32_t n_from = state->targets != NULL ? dfa->classes.n : dfa->classes.n_byte_classes;
    *n = 0;
    if ((*states = tf_arena_take(scratch, n_from * sizeof **states)) == NULL)
        return tf_dfa_no_memory(err);
    for (uint32_t i = 0; i < n_from; i++) {
        uint32_t k = 0;
        while (k < *n && (*states)[k] != from[i])
            k++;
        if (k == *n && from[i] != TF_DFA_DEAD)
            (*states)[(*n)++] = from[i];
    }
    return TOKFSM_OK;
}

/* Inside a character: that of any target, the character being counted there or here. */
static tokfsm_status of_inside(tf_dfa *dfa, tf_arena *scratch, uint32_t id, tf_budget *budget,
                               const tf_dfa_lengths **lengths, tokfsm_error *err)
{
    uint32_t *targets = NULL, n = 0, capacity = 0, n_stack = 0, stack[1024];
    stack[n_stack++] = id;
    while (n_stack > 0) {
        const uint32_t *row = TF_STATE(dfa, stack[--n_stack])->row;
        for (uint32_t b = 0; b < dfa->classes.n_byte_classes; b++) {
            uint32_t next = row[b], k = 0;
            TF_TRY(tf_spend(budget, err));
            if (next == TF_DFA_DEAD)
                continue;
            if (TF_STATE(dfa, next)->flags & TF_STATE_INSIDE) {
                if (n_stack < sizeof stack / sizeof *stack)
                    stack[n_stack++] = next;
                continue;
            }
            while (k < n && targets[k] != next)
                k++;
            if (k < n)
                continue;
            if (!tf_dfa_room(scratch, &targets, n, &capacity))
                return tf_dfa_no_memory(err);
            targets[n++] = next;
        }
    }
    return one_more(dfa, scratch, targets, n, false, budget, lengths, err);
}

static tokfsm_status make(tf_dfa *dfa, tf_arena *scratch, uint32_t id, tf_budget *budget,
                          tokfsm_error *err)
{
    tf_state *state = TF_STATE(dfa, id);
    static const uint32_t all = 1;
    if (state->flags & TF_STATE_INSIDE)
        return of_inside(dfa, scratch, id, budget, &state->lengths, err);
    if (state->formula == TF_TRUE)
        return keep(dfa, &all, 0, 1, &state->lengths, err);
    const tf_node *node = TF_NODE(dfa, state->formula);
    const tf_atom *atom = TF_ATOM(dfa, node->atom);
    if (!tf_formula_is_atom(node) || atom->special)
        return of_graph(dfa, scratch, id, budget, err);
    if (!atom->start)
        return of_places(dfa, scratch, node->atom, budget, &state->lengths, err);
    uint32_t *states, n;
    TF_TRY(successors(dfa, scratch, id, budget, &states, &n, err));
    return one_more(dfa, scratch, states, n, tf_dfa_accepts(dfa, id), budget, &state->lengths,
                    err);
}

tokfsm_status tf_dfa_lengths_of(tf_dfa *dfa, tf_dfa_state_id id, tf_budget *budget,
                                const tf_dfa_lengths **lengths, tokfsm_error *err)
{
    tf_state *state = TF_STATE(dfa, id);
    if (state->lengths == NULL) {
        tf_arena scratch;
        tf_arena_init(&scratch, &dfa->allocator);
        tokfsm_status status = make(dfa, &scratch, id, budget, err);
        tf_arena_free(&scratch);
        if (status != TOKFSM_OK)
            return status;
    }
    *lengths = state->lengths;
    return TOKFSM_OK;
}

bool tf_dfa_lengths_meet(const tf_dfa_lengths *l, uint64_t least, uint64_t most)
{
    if (l->shortest == TF_DFA_UNBOUNDED || most < l->shortest || least > l->longest)
        return false;
    if (least < l->shortest)
        return true;
    uint64_t window = (uint64_t)l->n_prefix + l->period;
    if (most - least > window)
        most = least + window;
    for (uint64_t t = least; t <= most; t++)
        if (in_lengths(l, t))
            return true;
    return false;
}
