/*
 * Atoms: sets of program places, and their derivatives. Empty steps are taken when the next
 * character's class is known, so that $, \b and lookarounds are decided by what is really
 * next. A lookahead becomes a conjunct of the derivative; a lookbehind is followed from the
 * start of the text by places of its own in the same set.
 */
#include "dfa_inside.h"

#define AT_END UINT32_MAX       /* no character follows */
#define ANY_NEXT (UINT32_MAX - 1) /* some character does; which one does not matter */

tokfsm_status tf_atoms_prepare(tf_dfa *dfa, tokfsm_error *err)
{
    tf_arena *arena = &dfa->arena;
    size_t n = dfa->program.n;
    dfa->active = tf_arena_zero(arena, (n / 32 + 1) * sizeof *dfa->active);
    dfa->mark = tf_arena_zero(arena, (n / 64 + 1) * sizeof *dfa->mark);
    dfa->pcs = tf_arena_take(arena, (2 * n + 2) * sizeof *dfa->pcs);
    dfa->key = tf_arena_take(arena, (n + 2) * sizeof *dfa->key);
    dfa->trackers = tf_arena_take(arena, (n + 1) * sizeof *dfa->trackers);
    dfa->matched = tf_arena_zero(arena, (dfa->program.n_behinds / 32 + 1) * sizeof *dfa->matched);
    bool fine = dfa->active != NULL && dfa->mark != NULL && dfa->pcs != NULL &&
                dfa->key != NULL && dfa->trackers != NULL && dfa->matched != NULL;
    return fine ? TOKFSM_OK : tf_dfa_no_memory(err);
}

static tokfsm_status level_of(tf_dfa *dfa, uint32_t level, tf_closure **c, tokfsm_error *err)
{
    if (level >= sizeof dfa->closures / sizeof *dfa->closures)
        return tf_fail(err, TOKFSM_E_LIMIT, "a pattern with more than %d lookarounds in a row",
                       TF_REGEX_MAX_LOOKS);
    *c = dfa->closures[level];
    if (*c != NULL)
        return TOKFSM_OK;
    TF_TRY(tf_dfa_check_bytes(dfa, err));
    size_t n = dfa->program.n + 1;
    tf_closure *made = tf_arena_zero(&dfa->arena, sizeof *made);
    uint32_t *words = tf_arena_zero(&dfa->arena, 3 * n * sizeof *words);
    if (made == NULL || words == NULL)
        return tf_dfa_no_memory(err);
    made->seen = words;
    made->stack = words + n;
    made->sets = words + 2 * n;
    *c = dfa->closures[level] = made;
    if (dfa->program.n_aheads > 0 &&
        (made->aheads = tf_arena_take(&dfa->arena, n * sizeof *made->aheads)) == NULL) {
        dfa->closures[level] = NULL;
        return tf_dfa_no_memory(err);
    }
    return TOKFSM_OK;
}

static bool is_word(const tf_dfa *dfa, uint32_t class_id)
{
    return class_id < dfa->classes.n && dfa->program.n_words > 0 &&
           tf_classes_has(&dfa->classes, dfa->word_set, class_id);
}

static void push(tf_closure *c, uint32_t *depth, tf_pc pc)
{
    if (c->seen[pc] != c->pass) {
        c->seen[pc] = c->pass;
        c->stack[(*depth)++] = pc;
    }
}

/* All empty steps from the places, up to sets, lookaheads and ends. */
static tokfsm_status close_over(tf_dfa *dfa, tf_closure *c, const tf_pc *from, uint32_t n,
                                uint32_t next, uint32_t context, tf_budget *budget,
                                tokfsm_error *err)
{
    const tf_program *p = &dfa->program;
    bool edge = ((context & TF_ATOM_AFTER_WORD) != 0) != is_word(dfa, next);
    uint32_t depth = 0;
    c->pass++;
    c->n_sets = c->n_aheads = 0;
    c->match = c->ended = false;
    for (uint32_t i = 0; i < n; i++)
        push(c, &depth, from[i]);
    while (depth > 0) {
        tf_pc pc = c->stack[--depth];
        const tf_instruction *at = &p->code[pc];
        TF_TRY(tf_spend(budget, err));
        bool through = false;
        switch (at->op) {
        case TF_OP_MATCH: c->match = true; break;
        case TF_OP_BEHIND_MATCH: c->ended = true; break;
        case TF_OP_SET: c->sets[c->n_sets++] = pc; break;
        case TF_OP_SPLIT: push(c, &depth, at->y); through = true; break;
        case TF_OP_BEGIN: through = (context & TF_ATOM_START) != 0; break;
        case TF_OP_END:
            c->ended |= at->owner == 0; /* so that acceptance is looked at */
            through = next == AT_END;
            break;
        case TF_OP_WORD: through = edge != (at->negated != 0); break;
        case TF_OP_AHEAD: c->aheads[c->n_aheads++] = pc; break;
        default:
            through = ((dfa->matched[at->y >> 5] >> (at->y & 31u)) & 1u) != at->negated;
            break;
        }
        if (through)
            push(c, &depth, at->x);
    }
    return TOKFSM_OK;
}

/* ---- making atoms ---- */

/* Sort dfa->pcs and take doubles out, into the key from word 1 on; its number of words. */
static uint32_t sort_places(tf_dfa *dfa, uint32_t n)
{
    uint32_t *key = dfa->key + 1, count = 0;
    if (n <= 24) {
        for (uint32_t i = 0; i < n; i++) {
            tf_pc pc = dfa->pcs[i];
            uint32_t at = count;
            while (at > 0 && key[at - 1] > pc)
                at--;
            if (at > 0 && key[at - 1] == pc)
                continue;
            memmove(key + at + 1, key + at, (count - at) * sizeof *key);
            key[at] = pc;
            count++;
        }
        return count + 1;
    }
    uint32_t low = UINT32_MAX, high = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t word = dfa->pcs[i] >> 6;
        dfa->mark[word] |= (uint64_t)1 << (dfa->pcs[i] & 63u);
        low = word < low ? word : low;
        high = word > high ? word : high;
    }
    for (uint32_t word = low; word <= high; word++) {
        uint64_t bits = dfa->mark[word];
        dfa->mark[word] = 0;
        for (uint32_t bit = 0; bits != 0; bit++, bits >>= 1)
            if (bits & 1u)
                key[count++] = word * 64 + bit;
    }
    return count + 1;
}

/* The atom of the n places in dfa->pcs. */
static tokfsm_status make_atom(tf_dfa *dfa, uint32_t n, uint32_t context, tf_budget *budget,
                               tf_formula *f, tokfsm_error *err)
{
    uint32_t known = 0, id, n_words;
    bool fresh;
    for (uint32_t i = 0; i < n; i++)
        known |= dfa->program.known[dfa->pcs[i]];
    if (!(known & TF_PC_BEGIN))
        context &= ~(uint32_t)TF_ATOM_START;
    if (!(known & TF_PC_WORD))
        context &= ~(uint32_t)TF_ATOM_AFTER_WORD;
    n_words = sort_places(dfa, n);
    dfa->key[0] = context;
    if (!tf_paged_room(&dfa->atom_records, &dfa->arena, dfa->atoms.n, sizeof(tf_atom)) ||
        !tf_intern_row(&dfa->atoms, dfa->key, n_words, &id, &fresh))
        return tf_dfa_no_memory(err);
    if (fresh)
        *TF_ATOM(dfa, id) = (tf_atom){
            .sure = (known & TF_PC_SURE) != 0, .special = (known & TF_PC_SPECIAL) != 0,
            .start = (context & TF_ATOM_START) != 0};
    return tf_formula_of_atom(dfa, id, budget, f, err);
}

tokfsm_status tf_atoms_start(tf_dfa *dfa, uint32_t pattern, tf_budget *budget, tf_formula *f,
                             tokfsm_error *err)
{
    const tf_program *p = &dfa->program;
    const tf_pattern *at = &p->patterns[pattern];
    uint32_t known = p->known[at->start], n = 0;
    if (known & TF_PC_MATCH || !(known & (TF_PC_LIVE | TF_PC_BEGIN))) {
        *f = known & TF_PC_MATCH ? TF_TRUE : TF_FALSE;
        return TOKFSM_OK;
    }
    dfa->pcs[n++] = at->start;
    if (known & TF_PC_BEHIND)
        for (uint32_t i = 0; i < at->n_behinds; i++)
            dfa->pcs[n++] = p->behinds[at->first_behind + i];
    return make_atom(dfa, n, TF_ATOM_START, budget, f, err);
}

/* The atom after a character of the class, from the sets of a closure. */
static tokfsm_status after_sets(tf_dfa *dfa, const tf_closure *c, uint32_t class_id,
                                tf_budget *budget, tf_formula *f, tokfsm_error *err)
{
    const tf_program *p = &dfa->program;
    uint32_t n = 0, known = 0;
    *f = TF_FALSE;
    for (uint32_t i = 0; i < c->n_sets; i++) {
        const tf_instruction *at = &p->code[c->sets[i]];
        if ((i & 15u) == 0)
            TF_TRY(tf_spend(budget, err));
        if (!tf_classes_has(&dfa->classes, at->y, class_id))
            continue;
        uint32_t after = p->known[at->x];
        if (after & TF_PC_MATCH) {
            *f = TF_TRUE;
            return TOKFSM_OK;
        }
        if (after & TF_PC_LIVE) {
            dfa->pcs[n++] = at->x;
            known |= after;
        }
    }
    if (n == 0)
        return TOKFSM_OK;
    for (uint32_t i = 0; (known & TF_PC_BEHIND) && i < dfa->n_trackers; i++)
        dfa->pcs[n++] = dfa->trackers[i];
    uint32_t context = is_word(dfa, class_id) ? TF_ATOM_AFTER_WORD : 0;
    return make_atom(dfa, n, context, budget, f, err);
}

/* ---- lookarounds ---- */

static bool marked(const tf_dfa *dfa, tf_pc pc) { return (dfa->mark[pc >> 6] >> (pc & 63u)) & 1u; }

static tokfsm_status follow(tf_dfa *dfa, const tf_interned *atom, uint32_t next,
                            tf_budget *budget, tokfsm_error *err)
{
    const tf_program *p = &dfa->program;
    tf_closure *c = NULL;
    dfa->n_trackers = 0;
    memset(dfa->matched, 0, (p->n_behinds / 32 + 1) * sizeof *dfa->matched);
    TF_TRY(level_of(dfa, 0, &c, err));
    uint32_t last = 0;
    for (;;) { /* by ascending number: inner ones are known before outer ones */
        uint32_t owner = UINT32_MAX, n = 0;
        for (uint32_t i = 1; i < atom->n; i++) {
            if ((i & 63u) == 0)
                TF_TRY(tf_spend(budget, err));
            uint32_t other = p->code[atom->words[i]].owner;
            if (other > last && other < owner)
                owner = other;
        }
        if (owner == UINT32_MAX)
            return TOKFSM_OK;
        for (uint32_t i = 1; i < atom->n; i++)
            if (p->code[atom->words[i]].owner == owner)
                dfa->pcs[n++] = atom->words[i];
        TF_TRY(close_over(dfa, c, dfa->pcs, n, next, atom->words[0], budget, err));
        uint32_t bit = (uint32_t)1 << ((owner - 1) & 31u), *word = &dfa->matched[(owner - 1) >> 5];
        *word = c->ended ? *word | bit : *word & ~bit;
        for (uint32_t i = 0; next != AT_END && i < c->n_sets; i++) {
            const tf_instruction *at = &p->code[c->sets[i]];
            if (tf_classes_has(&dfa->classes, at->y, next) && (p->known[at->x] & TF_PC_LIVE)) {
                if (marked(dfa, at->x)) /* there is room for each place once */
                    continue;
                dfa->mark[at->x >> 6] |= (uint64_t)1 << (at->x & 63u);
                dfa->trackers[dfa->n_trackers++] = at->x;
            }
        }
        last = owner;
    }
}

/*
 * Follow the lookbehinds of an atom by one character; note those that hold before it. One
 * that has no place in the atom can no longer match.
 */
static tokfsm_status follow_behinds(tf_dfa *dfa, const tf_interned *atom, uint32_t next,
                                    tf_budget *budget, tokfsm_error *err)
{
    tokfsm_status status = follow(dfa, atom, next, budget, err);
    for (uint32_t i = 0; i < dfa->n_trackers; i++)
        dfa->mark[dfa->trackers[i] >> 6] = 0;
    return status;
}

static bool enter(tf_dfa *dfa, tf_pc pc)
{
    uint32_t bit = (uint32_t)1 << (pc & 31u);
    if (dfa->active[pc >> 5] & bit)
        return false;
    dfa->active[pc >> 5] |= bit;
    return true;
}

static void leave(tf_dfa *dfa, tf_pc pc) { dfa->active[pc >> 5] &= ~((uint32_t)1 << (pc & 31u)); }

/*
 * The derivative of places by a class. A lookahead that is met again while its own rest is
 * being derived adds nothing: least fixpoint. Depth is bounded by level_of.
 */
static tokfsm_status derive(tf_dfa *dfa, uint32_t level, const tf_pc *from, uint32_t n,
                            uint32_t class_id, uint32_t context, tf_budget *budget,
                            tf_formula *f, tokfsm_error *err)
{
    tf_closure *c = NULL;
    TF_TRY(level_of(dfa, level, &c, err));
    TF_TRY(close_over(dfa, c, from, n, class_id, context, budget, err));
    *f = TF_TRUE;
    if (c->match)
        return TOKFSM_OK;
    TF_TRY(after_sets(dfa, c, class_id, budget, f, err));
    tokfsm_status status = TOKFSM_OK;
    for (uint32_t i = 0; i < c->n_aheads && *f != TF_TRUE && status == TOKFSM_OK; i++) {
        const tf_pc pc = c->aheads[i];
        const tf_instruction at = dfa->program.code[pc];
        tf_formula ahead, rest = TF_FALSE;
        if (!enter(dfa, pc))
            continue;
        status = derive(dfa, level + 1, &at.y, 1, class_id, context, budget, &ahead, err);
        if (status == TOKFSM_OK && ahead != (at.negated ? TF_TRUE : TF_FALSE))
            status = derive(dfa, level + 1, &at.x, 1, class_id, context, budget, &rest, err);
        leave(dfa, pc);
        if (status == TOKFSM_OK && rest != TF_FALSE)
            status = tf_formula_if(dfa, ahead, at.negated ? TF_FALSE : rest,
                                   at.negated ? rest : TF_FALSE, budget, &rest, err);
        if (status == TOKFSM_OK && rest != TF_FALSE)
            status = tf_formula_if(dfa, *f, TF_TRUE, rest, budget, f, err);
    }
    return status;
}

/* Is the empty rest accepted? */
static tokfsm_status ends(tf_dfa *dfa, uint32_t level, const tf_pc *from, uint32_t n,
                          uint32_t context, tf_budget *budget, bool *accepts, tokfsm_error *err)
{
    tf_closure *c = NULL;
    TF_TRY(level_of(dfa, level, &c, err));
    TF_TRY(close_over(dfa, c, from, n, AT_END, context, budget, err));
    *accepts = c->match;
    tokfsm_status status = TOKFSM_OK;
    for (uint32_t i = 0; i < c->n_aheads && !*accepts && status == TOKFSM_OK; i++) {
        const tf_pc pc = c->aheads[i];
        const tf_instruction at = dfa->program.code[pc];
        bool ahead, rest = false;
        if (!enter(dfa, pc))
            continue;
        status = ends(dfa, level + 1, &at.y, 1, context, budget, &ahead, err);
        if (status == TOKFSM_OK && ahead != at.negated)
            status = ends(dfa, level + 1, &at.x, 1, context, budget, &rest, err);
        leave(dfa, pc);
        *accepts = rest;
    }
    return status;
}

/* ---- expansion ---- */

/* Places of the patterns themselves: in the atom's row without those of lookbehinds. */
static tokfsm_status expand_special(tf_dfa *dfa, const tf_interned *words, tf_atom *atom,
                                    tf_formula *row, tf_budget *budget, tokfsm_error *err)
{
    tf_pc *own = tf_arena_take(&dfa->arena, words->n * sizeof *own);
    if (own == NULL)
        return tf_dfa_no_memory(err);
    uint32_t n = 0, context = words->words[0];
    for (uint32_t i = 1; i < words->n; i++)
        if (dfa->program.code[words->words[i]].owner == 0)
            own[n++] = words->words[i];
    bool behinds = dfa->program.n_behinds > 0;
    dfa->n_trackers = 0;
    for (uint32_t k = 0; k < dfa->classes.n; k++) {
        if (behinds)
            TF_TRY(follow_behinds(dfa, words, k, budget, err));
        TF_TRY(derive(dfa, 0, own, n, k, context, budget, &row[k], err));
    }
    if (behinds)
        TF_TRY(follow_behinds(dfa, words, AT_END, budget, err));
    return ends(dfa, 0, own, n, context, budget, &atom->accepts, err);
}

tokfsm_status tf_atoms_expand(tf_dfa *dfa, uint32_t id, tf_budget *budget, tokfsm_error *err)
{
    tf_atom *atom = TF_ATOM(dfa, id);
    if (atom->row != NULL)
        return TOKFSM_OK;
    const tf_interned words = dfa->atoms.items[id];
    const tf_pc *places = words.words + 1;
    uint32_t n = words.n - 1, context = words.words[0];
    tf_formula *row = tf_arena_take(&dfa->arena, dfa->classes.n * sizeof *row);
    if (row == NULL)
        return tf_dfa_no_memory(err);
    if (atom->special) {
        TF_TRY(expand_special(dfa, &words, atom, row, budget, err));
    } else {
        tf_closure *c = NULL;
        TF_TRY(level_of(dfa, 0, &c, err));
        TF_TRY(close_over(dfa, c, places, n, ANY_NEXT, context, budget, err));
        for (uint32_t k = 0; k < dfa->classes.n; k++) {
            row[k] = TF_TRUE;
            if (!c->match)
                TF_TRY(after_sets(dfa, c, k, budget, &row[k], err));
        }
        atom->accepts = c->match;
        if (c->ended && !c->match)
            TF_TRY(ends(dfa, 0, places, n, context, budget, &atom->accepts, err));
    }
    atom->row = row;
    return TOKFSM_OK;
}
