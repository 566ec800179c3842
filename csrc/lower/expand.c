/*
 * The expansion of an obligation set into alternatives for objects or arrays: a disjunctive
 * normal form, one level deep. What is left of an alternative are atoms: schemas' own object or
 * array keywords, values to equal, and facts.
 *
 * Depth-first. What has no choice is worked off first; then the atoms so far are looked at, and
 * with them every choice: options that no value can meet go, a choice that is met anyway goes, one
 * option left is no choice (prune.c). Of the choices left those of branches that must hold come
 * first, and the one with the fewest options. An alternative that another one admits all of is
 * dropped. So what is left grows with the ways in which branches do overlap, not with their
 * number; a limit stands instead of a blow-up.
 *
 * Not of any schema is pushed inwards; what it comes down to are facts (negate.c).
 */
#include "unevaluated.h"

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
}

tokfsm_status tf_expand_check(expansion *e)
{
    if (e->scratch.n_bytes + e->stack.n_bytes > e->b->machine.limits.automaton_bytes)
        return tf_fail(e->b->err, TOKFSM_E_LIMIT,
                       "expanding alternatives goes over limits.automaton_bytes = %llu",
                       (unsigned long long)e->b->machine.limits.automaton_bytes);
    return tf_spend(e->b->budget, e->b->err);
}

bool tf_single_task(const option *o, uint32_t *index)
{
    static const uint32_t tags[] = {[TASK_HOLDS] = TF_HOLDS, [TASK_FAILS] = TF_FAILS,
                                    [TASK_EQUALS] = TF_EQUALS, [TASK_DIFFERS] = TF_DIFFERS,
                                    [TASK_FACT] = TF_FACT};
    if (o->n_tasks != 1 || o->tasks[0].what > TASK_FACT)
        return false;
    *index = tf_obligation_of(o->tasks[0].index, tags[o->tasks[0].what]);
    return true;
}
/* ---- what replaces a task ---- */

static tokfsm_status add_splice(expansion *e, int what, uint32_t index, choice *c)
{
    if (!tf_grow(&e->b->arena.allocator, (void **)&e->splice.items, e->splice.n, &e->splice.capacity,
                 sizeof *e->splice.items))
        return no_memory(e->b);
    e->splice.items[e->splice.n++] = (task){what, index, c};
    return what >= DONE_ATOM ? tf_done_note(e, (uint32_t)what, index) : TOKFSM_OK;
}

static tokfsm_status splice_choice(expansion *e, choice *c)
{
    TF_TRY(e->status);
    if (c->n_options != 1)
        return add_splice(e, TASK_CHOOSE, 0, c);
    for (uint32_t k = 0; k < c->options[0].n_tasks; k++) {
        task t = c->options[0].tasks[k];
        TF_TRY(add_splice(e, (int)t.what, t.index, t.choice));
    }
    return TOKFSM_OK;
}

tokfsm_status tf_replace_task(expansion *e, partial *p, uint32_t at, const task *by, uint32_t n)
{
    uint32_t left = p->n - at - 1;
    if (p->n + n - 1 > p->capacity) {
        uint32_t capacity = p->n + n + p->n / 2 + 8;
        task *tasks = tf_arena_take(&e->stack, capacity * sizeof *tasks);
        if (tasks == NULL)
            return no_memory(e->b);
        if (p->n > 0)
            memcpy(tasks, p->tasks, p->n * sizeof *tasks);
        p->tasks = tasks;
        p->capacity = capacity;
    }
    memmove(p->tasks + at + n, p->tasks + at + 1, left * sizeof *p->tasks);
    if (n > 0)
        memcpy(p->tasks + at, by, n * sizeof *by);
    p->n += n;
    p->n--;
    return TOKFSM_OK;
}

/* ---- one task ---- */

static tokfsm_status add_choice(expansion *e, int from, uint32_t id, uint32_t k, bool *dead)
{
    choice *c = NULL;
    bool met = false;
    TF_TRY(tf_choice_of(e, from, id, k, &c, &met));
    if (met)
        return TOKFSM_OK;
    if (c->n_options == 0)
        *dead = true;
    return splice_choice(e, c);
}

/* In text order, siblings of in-place applicators first. */
static tokfsm_status expand_schema(expansion *e, uint32_t id, bool *dead)
{
    const tf_schema *s = &e->b->ir.schemas[id];
    *dead = s->is_false || !(s->types & e->types) || tf_is_done(e, DONE_FAILED, id);
    if (*dead || tf_is_done(e, DONE_HELD, id)) /* met before on this way: all of it is there */
        return TOKFSM_OK;
    if (e->object ? s->has_object : s->has_array)
        TF_TRY(add_splice(e, DONE_ATOM, tf_obligation_of(id, TF_HOLDS), NULL));
    else if (!tf_is_bare(s) || s->reference != TF_NO_SCHEMA || e->b->marks != NULL)
        TF_TRY(add_splice(e, DONE_HELD, id, NULL));
    if (s->reference != TF_NO_SCHEMA)
        TF_TRY(add_splice(e, TASK_HOLDS, s->reference, NULL));
    for (uint32_t i = 0; i < s->n_all_of; i++)
        TF_TRY(add_splice(e, TASK_HOLDS, s->all_of[i], NULL));
    if (s->has_values)
        TF_TRY(add_choice(e, TF_FROM_VALUES, id, 0, dead));
    if (s->has_any_of)
        TF_TRY(add_choice(e, TF_FROM_ANY, id, 0, dead));
    if (s->has_one_of)
        TF_TRY(add_choice(e, TF_FROM_ONE, id, 0, dead));
    if (s->not_schema != TF_NO_SCHEMA)
        TF_TRY(add_splice(e, TASK_FAILS, s->not_schema, NULL));
    if (s->if_schema != TF_NO_SCHEMA &&
        (s->then_schema != TF_NO_SCHEMA || s->else_schema != TF_NO_SCHEMA ||
         tf_is_watched(e, s->if_schema)))
        TF_TRY(add_choice(e, TF_FROM_IF, id, 0, dead));
    if (e->object)
        for (uint32_t i = 0; i < s->n_dependents; i++)
            TF_TRY(add_choice(e, TF_FROM_DEPENDENT, id, i, dead));
    return TOKFSM_OK;
}

static tokfsm_status expand_negation(expansion *e, task t, bool *dead)
{
    if (t.what == TASK_DIFFERS)
        return add_choice(e, TF_FROM_DIFFERS, t.index, 0, dead);
    if (tf_is_done(e, DONE_FAILED, t.index))
        return TOKFSM_OK;
    *dead = tf_is_done(e, DONE_HELD, t.index);
    TF_TRY(add_splice(e, DONE_FAILED, t.index, NULL));
    return *dead ? TOKFSM_OK : add_choice(e, TF_FROM_FAILS, t.index, 0, dead);
}

static tokfsm_status expand_equal(expansion *e, partial *p, uint32_t node, bool *dead)
{
    const tf_tape *tape = &e->b->tape;
    if (tape->nodes[node].type != (e->object ? TF_JSON_OBJECT : TF_JSON_ARRAY)) {
        *dead = true;
    } else if (p->equals == TF_TAPE_NONE) {
        p->equals = node;
        return add_splice(e, DONE_ATOM, tf_obligation_of(node, TF_EQUALS), NULL);
    } else {
        *dead = !tf_tape_equal(tape, p->equals, tape, node);
    }
    return TOKFSM_OK;
}

static tokfsm_status add_fact(expansion *e, uint32_t index)
{
    tf_obligation atom = tf_obligation_of(index, TF_FACT);
    return tf_is_done(e, DONE_ATOM, atom) ? TOKFSM_OK : add_splice(e, DONE_ATOM, atom, NULL);
}

/* Work off what has no choice, until only atoms and choices are left. */
static tokfsm_status work_off(expansion *e, partial *p, bool *dead)
{
    for (uint32_t i = 0; i < p->n && !*dead;) {
        task t = p->tasks[i];
        e->splice.n = 0;
        switch (t.what) {
        case TASK_HOLDS: TF_TRY(expand_schema(e, t.index, dead)); break;
        case TASK_EQUALS: TF_TRY(expand_equal(e, p, t.index, dead)); break;
        case TASK_FACT: TF_TRY(add_fact(e, t.index)); break;
        case TASK_FAILS:
        case TASK_DIFFERS: TF_TRY(expand_negation(e, t, dead)); break;
        case TASK_CHOOSE:
        case DONE_ATOM:
        case DONE_HELD:
        case DONE_FAILED:
        case DONE_COVERED: i++; continue;
        }
        TF_TRY(tf_expand_check(e));
        TF_TRY(tf_replace_task(e, p, i, e->splice.items, (uint32_t)e->splice.n));
    }
    return TOKFSM_OK;
}

/* ---- alternatives ---- */

static tokfsm_status add_atom(expansion *e, tf_obligation atom)
{
    for (size_t i = 0; i < e->atoms.n; i++)
        if (e->atoms.items[i] == atom)
            return TOKFSM_OK;
    if (!tf_grow(&e->b->arena.allocator, (void **)&e->atoms.items, e->atoms.n, &e->atoms.capacity,
                 sizeof *e->atoms.items))
        return no_memory(e->b);
    e->atoms.items[e->atoms.n++] = atom;
    return TOKFSM_OK;
}

static tokfsm_status add_unevaluated(expansion *e, const tf_fact *fact)
{
    uint32_t index;
    TF_TRY(tf_fact_of(e->b, fact, &index));
    return add_atom(e, tf_obligation_of(index, TF_FACT));
}

static tokfsm_status finish(expansion *e, const partial *p)
{
    e->atoms.n = 0;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->tasks[i].what == DONE_ATOM)
            TF_TRY(add_atom(e, p->tasks[i].index));
    if (e->b->marks != NULL)
        TF_TRY(tf_unevaluated_facts(e, p, add_unevaluated));
    tf_alternative whole = {.n_atoms = (uint32_t)e->atoms.n, .atoms = e->atoms.items};
    return e->object ? tf_add_alternative(e, &whole)
                     : tf_unique_alternatives(e->b, &whole, tf_add_alternative, e);
}

/* ---- the walk ---- */

/* The choice to make next; p->n: none is left. */
static uint32_t next_choice(const partial *p)
{
    uint32_t best = p->n, best_rank = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const task *t = &p->tasks[i];
        if (t->what != TASK_CHOOSE)
            continue;
        uint32_t rank = t->choice->optional ? 2u << 28 : t->choice->positive ? 0 : 1u << 28;
        rank += t->index; /* its live options */
        if (best == p->n || rank < best_rank) {
            best = i;
            best_rank = rank;
        }
    }
    return best;
}

/* Bring p to its next choice and open a frame for it; or to its end. */
static tokfsm_status go_on(expansion *e, partial p, tf_arena_mark mark, bool *opened)
{
    *opened = false;
    TF_TRY(tf_done_begin(e, &p));
    for (;;) {
        bool dead = false, changed = false;
        TF_TRY(work_off(e, &p, &dead));
        if (dead)
            return TOKFSM_OK;
        uint32_t at = next_choice(&p);
        if (at == p.n && e->frames.n == 0 && e->b->marks == NULL)
            return finish(e, &p);
        TF_TRY(tf_view_atoms(e, &p, &dead));
        if (dead)
            return TOKFSM_OK;
        if (at == p.n)
            return finish(e, &p);
        TF_TRY(tf_prune_choices(e, &p, &dead, &changed));
        if (dead)
            return TOKFSM_OK;
        if (changed)
            continue;
        at = next_choice(&p);
        if (at == p.n)
            return finish(e, &p);
        branching f = {.p = p, .at = at, .mark = mark};
        TF_TRY(tf_live_options(e, &p, at, &f.live));
        if (!tf_grow(&e->b->arena.allocator, (void **)&e->frames.items, e->frames.n,
                     &e->frames.capacity, sizeof f))
            return no_memory(e->b);
        e->frames.items[e->frames.n++] = f;
        *opened = true;
        return TOKFSM_OK;
    }
}

/*
 * What the first n options of a choice cover need not be found again with a later one: they are
 * no option from here on. Where one of them tells values apart by a finite list, its contrary is
 * an atom besides: it decides other choices of the kind, as a discriminator's value does.
 */
static tokfsm_status leave_covered(expansion *e, partial *p, const choice *live, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        task covered = {DONE_COVERED, 0, NULL};
        if (!tf_single_task(&live->options[i], &covered.index))
            continue;
        p->tasks[p->n++] = covered; /* there is room for two each */
        tf_fact contrary;
        if (!tf_is_discriminating(e->b, &live->options[i], &contrary))
            continue;
        uint32_t index;
        TF_TRY(tf_fact_of(e->b, &contrary, &index));
        p->tasks[p->n++] = (task){TASK_FACT, index, NULL};
    }
    return TOKFSM_OK;
}

static tokfsm_status run_expansion(expansion *e, const tf_oset *oset)
{
    static const int tasks[] = {[TF_HOLDS] = TASK_HOLDS, [TF_FAILS] = TASK_FAILS,
                                [TF_EQUALS] = TASK_EQUALS, [TF_DIFFERS] = TASK_DIFFERS};
    tf_arena_mark mark = tf_arena_here(&e->stack);
    partial p = {.n = oset->n, .capacity = oset->n, .equals = TF_TAPE_NONE};
    if ((p.tasks = tf_arena_take(&e->stack, oset->n * sizeof *p.tasks)) == NULL)
        return no_memory(e->b);
    for (uint32_t i = 0; i < oset->n; i++)
        p.tasks[i] = (task){tasks[tf_obligation_tag(oset->items[i])],
                            tf_obligation_index(oset->items[i]), NULL};
    bool opened;
    TF_TRY(go_on(e, p, mark, &opened));
    while (e->frames.n > 0) {
        branching *f = &e->frames.items[e->frames.n - 1];
        TF_TRY(tf_expand_check(e));
        if (f->next == f->live.n_options) {
            tf_arena_back(&e->stack, f->mark);
            e->frames.n--;
            continue;
        }
        const option *o = &f->live.options[f->next++];
        mark = tf_arena_here(&e->stack);
        p = (partial){.n = f->p.n, .capacity = f->p.n + o->n_tasks + 2 * f->next + 8,
                      .equals = f->p.equals};
        if ((p.tasks = tf_arena_take(&e->stack, p.capacity * sizeof *p.tasks)) == NULL)
            return no_memory(e->b);
        memcpy(p.tasks, f->p.tasks, p.n * sizeof *p.tasks);
        TF_TRY(tf_replace_task(e, &p, f->at, o->tasks, o->n_tasks));
        if (!f->live.kept)
            TF_TRY(leave_covered(e, &p, &f->live, f->next - 1));
        TF_TRY(go_on(e, p, mark, &opened));
        if (!opened)
            tf_arena_back(&e->stack, mark);
    }
    return TOKFSM_OK;
}
tokfsm_status tf_expand(tf_build *b, tf_oset *oset, bool object, const tf_alternatives **found)
{
    const tf_alternatives **known = object ? &oset->object : &oset->array;
    if (*known == NULL) {
        expansion e = {.b = b, .object = object,
                       .types = object ? TF_TYPE_OBJECT : TF_TYPE_ARRAY, .status = TOKFSM_OK,
                       .view.required.b = b};
        tokfsm_allocator *a = &b->arena.allocator;
        tf_arena_init(&e.scratch, a);
        tf_arena_init(&e.stack, a);
        tokfsm_status status = run_expansion(&e, oset);
        if (status == TOKFSM_OK)
            status = tf_keep_alternatives(&e, known);
        tf_name_list_free(&e.view.required);
        tf_release(a, e.found.items);
        tf_release(a, e.frames.items);
        tf_release(a, e.splice.items);
        tf_release(a, e.atoms.items);
        tf_arena_free(&e.scratch);
        tf_arena_free(&e.stack);
        if (status != TOKFSM_OK)
            return status;
    }
    *found = *known;
    return TOKFSM_OK;
}
