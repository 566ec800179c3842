/* States and rows: the character automaton below, UTF-8 above it. */
#include "dfa_inside.h"

tokfsm_status tf_dfa_no_memory(tokfsm_error *err)
{
    return tf_fail(err, TOKFSM_E_NOMEM, "no memory for an automaton of patterns");
}

bool tf_dfa_room(tf_arena *arena, uint32_t **items, uint32_t n, uint32_t *capacity)
{
    return tf_arena_grow(arena, (void **)items, n, capacity, 32, sizeof **items);
}

/* ---- life ---- */

tokfsm_status tf_dfa_new(tf_dfa **dfa, const tokfsm_allocator *allocator, tokfsm_error *err)
{
    tokfsm_allocator a = tf_allocator(allocator);
    tf_dfa *made = tf_allocate(&a, sizeof *made);
    if (made == NULL)
        return tf_dfa_no_memory(err);
    memset(made, 0, sizeof *made);
    made->allocator = a;
    made->most_bytes = (size_t)256 << 20;
    tf_arena_init(&made->arena, &made->allocator);
    tf_intern_init(&made->atoms, &made->arena);
    tf_intern_init(&made->nodes, &made->arena);
    tf_intern_init(&made->tails, &made->arena);
    tf_intern_init(&made->inside, &made->arena);
    tf_intern_init(&made->steps, &made->arena);
    *dfa = made;
    return TOKFSM_OK;
}

void tf_dfa_free(tf_dfa *dfa)
{
    if (dfa != NULL) {
        tokfsm_allocator a = dfa->allocator;
        tf_arena_free(&dfa->arena);
        tf_release(&a, dfa);
    }
}

void tf_dfa_limit_bytes(tf_dfa *dfa, size_t n_bytes) { dfa->most_bytes = n_bytes; }

tokfsm_status tf_dfa_check_bytes(const tf_dfa *dfa, tokfsm_error *err)
{
    if (dfa->arena.n_bytes <= dfa->most_bytes)
        return TOKFSM_OK;
    return tf_fail(err, TOKFSM_E_LIMIT, "an automaton of patterns with more than %zu bytes",
                   dfa->most_bytes);
}

static tokfsm_status open(const tf_dfa *dfa, bool sealed, tokfsm_error *err)
{
    return dfa->sealed == sealed ? TOKFSM_OK
                                 : tf_fail(err, TOKFSM_E_ARGUMENT, "the automaton is%s sealed",
                                           sealed ? " not" : "");
}

/* What was emitted for a pattern that failed stays, unused. */
static tokfsm_status add(tf_dfa *dfa, tf_budget *budget, uint32_t *pattern, tokfsm_error *err)
{
    uint32_t n_behinds = dfa->program.n_behinds;
    tokfsm_status status = tf_program_add(&dfa->program, &dfa->regex, &dfa->arena, budget, err);
    if (status == TOKFSM_OK)
        *pattern = dfa->program.n_patterns - 1;
    else
        dfa->program.n_behinds = n_behinds;
    dfa->program.open_behind = 0;
    return status;
}

tokfsm_status tf_dfa_add_pattern(tf_dfa *dfa, const char *text, size_t n, tf_budget *budget,
                                 uint32_t *pattern, tokfsm_error *err)
{
    TF_TRY(open(dfa, false, err));
    TF_TRY(tf_parse_regex(&dfa->regex, text, n, &dfa->arena, budget, err));
    return add(dfa, budget, pattern, err);
}

tokfsm_status tf_dfa_add_literal(tf_dfa *dfa, const char *text, size_t n, tf_budget *budget,
                                 uint32_t *pattern, tokfsm_error *err)
{
    TF_TRY(open(dfa, false, err));
    TF_TRY(tf_parse_literal(&dfa->regex, text, n, &dfa->arena, budget, err));
    return add(dfa, budget, pattern, err);
}

/* A new state; the first is the dead one. */
static tokfsm_status make_state(tf_dfa *dfa, tf_state record, uint32_t *state, tokfsm_error *err)
{
    TF_TRY(tf_dfa_check_bytes(dfa, err));
    if (!tf_paged_room(&dfa->states, &dfa->arena, dfa->n_states, sizeof record))
        return tf_dfa_no_memory(err);
    *state = dfa->n_states;
    *TF_STATE(dfa, *state) = record;
    dfa->n_states++;
    return TOKFSM_OK;
}

tokfsm_status tf_dfa_seal(tf_dfa *dfa, tf_budget *budget, tokfsm_error *err)
{
    TF_TRY(open(dfa, false, err));
    tf_arena *arena = &dfa->arena;
    if (dfa->program.n == 0) { /* no pattern: an automaton of "every string" and "none" */
        uint32_t unused;
        TF_TRY(tf_dfa_add_pattern(dfa, "", 0, budget, &unused, err));
    }
    if (dfa->program.n_words > 0) {
        static const uint32_t words[4][2] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
        tf_charset set = {NULL, 0, 0};
        for (uint32_t i = 0; i < 4; i++)
            if (!tf_charset_add(arena, &set, words[i][0], words[i][1]))
                return tf_dfa_no_memory(err);
        TF_TRY(tf_parse_intern(&dfa->regex, &set, arena, &dfa->word_set, err));
    }
    TF_TRY(tf_program_finish(&dfa->program, &dfa->regex, arena, budget, err));
    TF_TRY(tf_classes_build(&dfa->classes, &dfa->regex, arena, budget, err));
    TF_TRY(tf_atoms_prepare(dfa, err));
    uint32_t *none = tf_arena_zero(arena, dfa->classes.n_byte_classes * sizeof *none), id;
    if (none == NULL)
        return tf_dfa_no_memory(err);
    static const uint32_t no_bits = 0;
    static const tf_dfa_lengths no_lengths = {TF_DFA_UNBOUNDED, 0, 0, 1, &no_bits};
    TF_TRY(make_state(dfa, (tf_state){.row = none, .lengths = &no_lengths}, &id, err));
    dfa->sealed = true;
    return TOKFSM_OK;
}

/* ---- languages ---- */

tokfsm_status tf_dfa_pattern(tf_dfa *dfa, uint32_t pattern, tf_budget *budget,
                             tf_dfa_language *language, tokfsm_error *err)
{
    TF_TRY(open(dfa, true, err));
    if (pattern >= dfa->program.n_patterns)
        return tf_fail(err, TOKFSM_E_ARGUMENT, "no pattern %u", pattern);
    return tf_atoms_start(dfa, pattern, budget, language, err);
}

tokfsm_status tf_dfa_not(tf_dfa *dfa, tf_dfa_language a, tf_budget *budget,
                         tf_dfa_language *language, tokfsm_error *err)
{
    TF_TRY(open(dfa, true, err));
    return tf_formula_if(dfa, a, TF_FALSE, TF_TRUE, budget, language, err);
}

tokfsm_status tf_dfa_and(tf_dfa *dfa, const tf_dfa_language *list, size_t n, tf_budget *budget,
                         tf_dfa_language *language, tokfsm_error *err)
{
    TF_TRY(open(dfa, true, err));
    tf_formula f = TF_TRUE;
    for (size_t i = 0; i < n; i++)
        TF_TRY(tf_formula_if(dfa, list[i], f, TF_FALSE, budget, &f, err));
    *language = f;
    return TOKFSM_OK;
}

tokfsm_status tf_dfa_or(tf_dfa *dfa, const tf_dfa_language *list, size_t n, tf_budget *budget,
                        tf_dfa_language *language, tokfsm_error *err)
{
    TF_TRY(open(dfa, true, err));
    tf_formula f = TF_FALSE;
    for (size_t i = 0; i < n; i++)
        TF_TRY(tf_formula_if(dfa, list[i], TF_TRUE, f, budget, &f, err));
    *language = f;
    return TOKFSM_OK;
}

tokfsm_status tf_dfa_start(tf_dfa *dfa, tf_dfa_language language, tf_budget *budget,
                           tf_dfa_state_id *state, tokfsm_error *err)
{
    TF_TRY(open(dfa, true, err));
    return tf_dfa_state_of(dfa, language, budget, state, err);
}

tokfsm_status tf_dfa_of_pattern(tf_dfa **dfa, const char *text, size_t n,
                                const tokfsm_allocator *allocator, tf_budget *budget,
                                tf_dfa_state_id *start, tokfsm_error *err)
{
    tf_dfa *made;
    uint32_t pattern;
    tf_dfa_language language;
    TF_TRY(tf_dfa_new(&made, allocator, err));
    tokfsm_status status = tf_dfa_add_pattern(made, text, n, budget, &pattern, err);
    if (status == TOKFSM_OK)
        status = tf_dfa_seal(made, budget, err);
    if (status == TOKFSM_OK)
        status = tf_dfa_pattern(made, pattern, budget, &language, err);
    if (status == TOKFSM_OK)
        status = tf_dfa_start(made, language, budget, start, err);
    if (status != TOKFSM_OK) {
        tf_dfa_free(made);
        return status;
    }
    *dfa = made;
    return TOKFSM_OK;
}

/* ---- states between characters ---- */

/* Derivatives wait until somebody steps: of what a step leads to, most is never stepped from. */
tokfsm_status tf_dfa_state_of(tf_dfa *dfa, tf_formula f, tf_budget *budget, uint32_t *state,
                              tokfsm_error *err)
{
    *state = TF_DFA_DEAD;
    if (f == TF_FALSE)
        return TOKFSM_OK;
    if (f == TF_TRUE) {
        if (dfa->true_state == 0)
            TF_TRY(make_state(dfa, (tf_state){.formula = f,
                                              .flags = TF_STATE_ACCEPTS | TF_STATE_UNIVERSAL},
                              &dfa->true_state, err));
        *state = dfa->true_state;
        return TOKFSM_OK;
    }
    tf_node *node = TF_NODE(dfa, f);
    bool live;
    if (node->state == 0) {
        bool loop;
        const tf_formula *row = NULL;
        TF_TRY(tf_formula_live(dfa, f, budget, &live, err));
        if (!live)
            return TOKFSM_OK;
        TF_TRY(tf_formula_accepts(dfa, f, budget, &loop, err));
        uint32_t flags = loop ? TF_STATE_ACCEPTS : 0;
        if (loop)
            TF_TRY(tf_formula_expand(dfa, f, budget, &row, err));
        for (uint32_t k = 0; k < dfa->classes.n && loop; k++)
            loop = row[k] == f || row[k] == TF_TRUE;
        if (loop)
            flags |= TF_STATE_UNIVERSAL;
        TF_TRY(make_state(dfa, (tf_state){.formula = f, .flags = flags}, state, err));
        node->state = *state;
    }
    *state = node->state;
    return TOKFSM_OK;
}

/* Targets by class, and the row as far as single bytes are characters. */
tokfsm_status tf_dfa_expand(tf_dfa *dfa, uint32_t id, tf_budget *budget, tokfsm_error *err)
{
    tf_state *state = TF_STATE(dfa, id);
    const tf_classes *c = &dfa->classes;
    if (state->row != NULL)
        return TOKFSM_OK;
    const tf_formula *derivatives = NULL;
    uint32_t *targets = tf_arena_take(&dfa->arena, c->n * sizeof *targets);
    uint32_t *row = tf_arena_take(&dfa->arena, c->n_byte_classes * sizeof *row);
    uint32_t *tail = tf_arena_take(&dfa->arena, c->n_wide * sizeof *tail);
    bool fresh;
    if (targets == NULL || row == NULL || tail == NULL)
        return tf_dfa_no_memory(err);
    if (state->formula != TF_TRUE)
        TF_TRY(tf_formula_expand(dfa, state->formula, budget, &derivatives, err));
    for (uint32_t k = 0; k < c->n; k++)
        TF_TRY(tf_dfa_state_of(dfa, derivatives == NULL ? TF_TRUE : derivatives[k], budget,
                               &targets[k], err));
    for (uint32_t i = 0; i < c->n_wide; i++)
        tail[i] = targets[c->wide[i]];
    if (!tf_intern_row(&dfa->tails, tail, c->n_wide, &state->tail, &fresh))
        return tf_dfa_no_memory(err);
    for (uint32_t b = 0; b < c->n_byte_classes; b++) {
        uint32_t entry = c->byte_entry[b];
        row[b] = entry == TF_UTF8_INVALID ? TF_DFA_DEAD
               : entry & TF_UTF8_CLASS    ? targets[entry & TF_UTF8_VALUE]
                                          : TF_DFA_UNKNOWN;
    }
    state->targets = targets;
    state->row = row;
    return TOKFSM_OK;
}

/* ---- states inside a character ---- */

/* The state after the bytes that lead to `node`, for targets that are `tail`. Depth <= 3. */
static tokfsm_status inside_state(tf_dfa *dfa, const uint32_t *targets, uint32_t tail,
                                  uint32_t node, tf_budget *budget, uint32_t *state,
                                  tokfsm_error *err)
{
    const tf_classes *c = &dfa->classes;
    const uint32_t key[2] = {tail, node};
    uint32_t step, row[256], id;
    bool fresh, any = false;
    TF_TRY(tf_spend(budget, err));
    if (!tf_dfa_room(&dfa->arena, &dfa->step_states, dfa->steps.n, &dfa->steps_capacity) ||
        !tf_intern_row(&dfa->steps, key, 2, &step, &fresh))
        return tf_dfa_no_memory(err);
    if (fresh)
        dfa->step_states[step] = TF_DFA_UNKNOWN;
    *state = dfa->step_states[step];
    if (*state != TF_DFA_UNKNOWN)
        return TOKFSM_OK;
    const uint32_t *entries = c->nodes.items[node].words;
    for (uint32_t b = 0; b < c->n_byte_classes; b++) {
        row[b] = TF_DFA_DEAD;
        if (c->continuation[b] == 0)
            continue;
        uint32_t entry = entries[c->continuation[b] - 1];
        if (entry & TF_UTF8_CLASS)
            row[b] = targets[entry & TF_UTF8_VALUE];
        else if (entry & TF_UTF8_NODE)
            TF_TRY(inside_state(dfa, targets, tail, entry & TF_UTF8_VALUE, budget, &row[b], err));
        any |= row[b] != TF_DFA_DEAD;
    }
    if (!any) {
        *state = dfa->step_states[step] = TF_DFA_DEAD;
        return TOKFSM_OK;
    }
    if (!tf_dfa_room(&dfa->arena, &dfa->inside_states, dfa->inside.n,
                     &dfa->inside_state_capacity) ||
        !tf_intern_row(&dfa->inside, row, c->n_byte_classes, &id, &fresh))
        return tf_dfa_no_memory(err);
    if (fresh)
        dfa->inside_states[id] = TF_DFA_UNKNOWN;
    if (dfa->inside_states[id] == TF_DFA_UNKNOWN) {
        uint32_t *copy = tf_arena_take(&dfa->arena, c->n_byte_classes * sizeof *copy);
        if (copy == NULL)
            return tf_dfa_no_memory(err);
        memcpy(copy, row, c->n_byte_classes * sizeof *copy);
        TF_TRY(make_state(dfa, (tf_state){.row = copy, .flags = TF_STATE_INSIDE},
                          &dfa->inside_states[id], err));
    }
    *state = dfa->step_states[step] = dfa->inside_states[id];
    return TOKFSM_OK;
}

/* ---- walking ---- */

static tokfsm_status entry(tf_dfa *dfa, tf_state *state, uint32_t byte_class, tf_budget *budget,
                           uint32_t *next, tokfsm_error *err)
{
    *next = state->row[byte_class];
    if (*next != TF_DFA_UNKNOWN)
        return TOKFSM_OK;
    uint32_t node = dfa->classes.byte_entry[byte_class] & TF_UTF8_VALUE;
    TF_TRY(inside_state(dfa, state->targets, state->tail, node, budget, next, err));
    state->row[byte_class] = *next;
    return TOKFSM_OK;
}

tokfsm_status tf_dfa_step(tf_dfa *dfa, tf_dfa_state_id id, uint8_t byte, tf_budget *budget,
                          tf_dfa_state_id *next, tokfsm_error *err)
{
    tf_state *state = TF_STATE(dfa, id);
    uint32_t made;
    if (state->row == NULL)
        TF_TRY(tf_dfa_expand(dfa, id, budget, err));
    TF_TRY(entry(dfa, state, dfa->classes.byte_class[byte], budget, &made, err));
    *next = made;
    return TOKFSM_OK;
}

tf_dfa_state_id tf_dfa_peek(const tf_dfa *dfa, tf_dfa_state_id state, uint8_t byte)
{
    const uint32_t *row = TF_STATE(dfa, state)->row;
    return row == NULL ? TF_DFA_UNKNOWN : row[dfa->classes.byte_class[byte]];
}

tokfsm_status tf_dfa_row(tf_dfa *dfa, tf_dfa_state_id id, tf_budget *budget,
                         const tf_dfa_state_id **row, tokfsm_error *err)
{
    tf_state *state = TF_STATE(dfa, id);
    uint32_t next;
    TF_TRY(tf_dfa_expand(dfa, id, budget, err));
    for (uint32_t b = 0; b < dfa->classes.n_byte_classes; b++)
        TF_TRY(entry(dfa, state, b, budget, &next, err));
    *row = state->row;
    return TOKFSM_OK;
}

bool tf_dfa_accepts(const tf_dfa *dfa, tf_dfa_state_id state)
{
    return TF_STATE(dfa, state)->flags & TF_STATE_ACCEPTS;
}

bool tf_dfa_at_boundary(const tf_dfa *dfa, tf_dfa_state_id state)
{
    return !(TF_STATE(dfa, state)->flags & TF_STATE_INSIDE);
}

bool tf_dfa_is_universal(const tf_dfa *dfa, tf_dfa_state_id state)
{
    return TF_STATE(dfa, state)->flags & TF_STATE_UNIVERSAL;
}

tokfsm_status tf_dfa_universal(tf_dfa *dfa, tf_dfa_state_id id, tf_budget *budget,
                               bool *universal, tokfsm_error *err)
{
    const tf_state *state = TF_STATE(dfa, id);
    *universal = state->flags & TF_STATE_UNIVERSAL;
    if (*universal || !(state->flags & TF_STATE_ACCEPTS))
        return TOKFSM_OK;
    return tf_formula_universal(dfa, state->formula, budget, universal, err);
}

const uint8_t *tf_dfa_byte_classes(const tf_dfa *dfa) { return dfa->classes.byte_class; }
uint32_t tf_dfa_n_byte_classes(const tf_dfa *dfa) { return dfa->classes.n_byte_classes; }
uint32_t tf_dfa_n_runs(const tf_dfa *dfa) { return dfa->classes.n_segments; }
uint32_t tf_dfa_run(const tf_dfa *dfa, uint32_t i) { return dfa->classes.segments[i].low; }
uint32_t tf_dfa_n_states(const tf_dfa *dfa) { return dfa->n_states; }
size_t tf_dfa_n_bytes(const tf_dfa *dfa) { return sizeof *dfa + dfa->arena.n_bytes; }
