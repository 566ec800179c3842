/*
 * What the atoms of a partial alternative already say of the choices that are left: an option
 * that cannot be goes, a choice that is met anyway goes. Atoms are only ever added, so what
 * follows from some of them follows from all. Sound, and not complete: hopeless.h.
 */
#include "hopeless.h"
#include "expand.h"
#include "witnesses.h"

enum { MAX_ITEMS_LOOKED_AT = 64 };

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
}

/* Kept with the set: NULL cannot be met. */
static tokfsm_status is_hopeless(tf_build *b, tf_oset *oset, bool *hopeless)
{
    *hopeless = oset == NULL;
    if (oset == NULL || oset->n == 0)
        return TOKFSM_OK;
    if (oset->hope == TF_UNKNOWN) {
        TF_TRY(tf_hopeless(b, oset->items, oset->n, TF_TYPE_ALL, hopeless));
        oset->hope = *hopeless ? TF_PENDING : TF_KNOWN;
    }
    *hopeless = oset->hope == TF_PENDING;
    return TOKFSM_OK;
}

/* ---- the atoms so far ---- */

/* Names that can be there, where no others can. */
static tokfsm_status count_names(expansion *e, uint64_t *n)
{
    tf_build *b = e->b;
    tf_name_list names = {.b = b};
    tokfsm_status status = tf_each_name(b, &e->view.atoms, tf_name_list_add, &names);
    *n = 0;
    for (size_t i = 0; i < names.n && status == TOKFSM_OK; i++) {
        tf_oset *oset;
        bool none = false;
        status = tf_asked_of(e, names.items[i].text, names.items[i].n, &oset);
        if (status == TOKFSM_OK)
            status = is_hopeless(b, oset, &none);
        *n += !none;
    }
    tf_name_list_free(&names);
    return status;
}

/* What is asked of names that no atom speaks of, where no pattern tells them apart; else
   *known is false, and nothing is concluded from them. */
static tokfsm_status other_names(expansion *e, tf_oset **oset, bool *known)
{
    static const tf_name_class all_names = {NULL, UINT64_MAX, false};
    static const tf_name_classes one_class = {.n = 1, .items = &all_names};
    tf_build *b = e->b;
    *known = true;
    for (uint32_t i = 0; i < e->view.atoms.n_atoms; i++) {
        tf_obligation atom = e->view.atoms.atoms[i];
        if (tf_obligation_tag(atom) != TF_HOLDS)
            continue;
        const tf_schema *s = &b->ir.schemas[tf_obligation_index(atom)];
        *known = *known && s->n_pattern_properties == 0 && s->property_names == TF_NO_SCHEMA;
    }
    *oset = NULL;
    return *known ? tf_other_oset(b, &e->view.atoms, &one_class, 0, oset) : TOKFSM_OK;
}

static tokfsm_status view_object(expansion *e, const partial *p, bool *dead)
{
    tf_build *b = e->b;
    outlook *v = &e->view;
    tf_name_list_clear(&v->required);
    TF_TRY(tf_each_required(b, &v->atoms, tf_name_list_add, &v->required));
    for (size_t i = 0; i < v->required.n && !*dead; i++) {
        tf_oset *oset;
        TF_TRY(tf_asked_of(e, v->required.items[i].text, v->required.items[i].n,
                              &oset));
        TF_TRY(is_hopeless(b, oset, dead));
    }
    if (*dead)
        return TOKFSM_OK;
    tf_oset *oset;
    bool none = false, known;
    TF_TRY(other_names(e, &oset, &known));
    if (known)
        TF_TRY(is_hopeless(b, oset, &none));
    v->other = !none;
    tf_member_counts(b, &v->atoms, &v->low, &v->high);
    bool counts = v->low > 0 || v->high != TF_UNLIMITED;
    if (v->low < v->required.n)
        v->low = v->required.n;
    if (p->equals != TF_TAPE_NONE) {
        uint64_t n = b->tape.nodes[p->equals].n;
        v->high = v->high < n ? v->high : n;
    } else if (none && counts) {
        uint64_t n;
        TF_TRY(count_names(e, &n));
        v->high = v->high < n ? v->high : n;
    }
    *dead = v->low > v->high;
    return TOKFSM_OK;
}

static tokfsm_status view_array(expansion *e, bool *dead)
{
    tf_build *b = e->b;
    outlook *v = &e->view;
    tf_item_counts(b, &v->atoms, &v->low, &v->high);
    uint64_t n_prefix = tf_prefix_length(b, &v->atoms);
    for (uint64_t i = 0; i <= n_prefix && i < v->high && i < MAX_ITEMS_LOOKED_AT; i++) {
        tf_oset *oset;
        bool none;
        TF_TRY(tf_item_oset(b, &v->atoms, i, &oset));
        TF_TRY(is_hopeless(b, oset, &none));
        if (none)
            v->high = i;
    }
    *dead = v->low > v->high;
    return TOKFSM_OK;
}

tokfsm_status tf_view_atoms(expansion *e, const partial *p, bool *dead)
{
    e->atoms.n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->tasks[i].what != DONE_ATOM)
            continue;
        if (!tf_grow(&e->b->arena.allocator, (void **)&e->atoms.items, e->atoms.n,
                     &e->atoms.capacity, sizeof *e->atoms.items))
            return no_memory(e->b);
        e->atoms.items[e->atoms.n++] = p->tasks[i].index;
    }
    e->view.atoms = (tf_alternative){.n_atoms = (uint32_t)e->atoms.n, .atoms = e->atoms.items};
    *dead = false;
    tf_asked_begin(e);
    return e->object ? view_object(e, p, dead) : view_array(e, dead);
}

/* ---- one task ---- */

typedef enum verdict { OPEN, DEAD, MET } verdict;

/* What is asked of a member or item, against one obligation more. */
static tokfsm_status judge_asked(tf_build *b, const tf_oset *asked, tf_obligation o, verdict *v)
{
    bool none;
    *v = DEAD;
    TF_TRY(tf_hopeless_with(b, asked, o, &none));
    if (none)
        return TOKFSM_OK;
    *v = MET;
    if (o == tf_obligation_of(b->ir.true_schema, TF_HOLDS))
        return TOKFSM_OK;
    TF_TRY(tf_hopeless_with(b, asked, tf_negated(o), &none));
    if (!none)
        *v = OPEN;
    return TOKFSM_OK;
}

static verdict judge_count(const outlook *v, const tf_fact *fact)
{
    return fact->min > v->high || fact->max < v->low     ? DEAD
           : fact->min <= v->low && fact->max >= v->high ? MET
                                                         : OPEN;
}


/* A fact of another kind that says the same beside the atoms so far: then equal facts of many
   choices are seen to be equal. */
static tokfsm_status restate(expansion *e, const tf_fact *fact, int kind, uint32_t *index)
{
    tf_fact plain = {.kind = kind, .name = fact->name, .n_name = fact->n_name};
    if (kind == TF_MEMBER)
        plain.obligation = tf_obligation_of(e->b->ir.true_schema, TF_HOLDS);
    return tf_fact_of(e->b, &plain, index);
}

static tokfsm_status judge_name(expansion *e, tf_fact fact, uint32_t *index, verdict *v)
{
    tf_build *b = e->b;
    tf_oset *oset;
    bool none, required;
    TF_TRY(tf_name_list_has(&e->view.required, fact.name, fact.n_name, &required));
    TF_TRY(tf_asked_of(e, fact.name, fact.n_name, &oset));
    TF_TRY(is_hopeless(b, oset, &none));
    verdict asked = DEAD;
    if (!none && fact.kind != TF_LACKS)
        TF_TRY(judge_asked(b, oset, fact.obligation, &asked));
    if (fact.kind == TF_MEMBER) {
        *v = required || asked == DEAD ? asked : OPEN;
        if (*v == OPEN && asked == MET && fact.obligation != tf_obligation_of(b->ir.true_schema, TF_HOLDS))
            return restate(e, &fact, TF_MEMBER, index);
    } else {
        *v = required ? asked : none || asked == MET ? MET : OPEN;
        if (*v == OPEN && asked == DEAD && fact.kind == TF_IF_THERE)
            return restate(e, &fact, TF_LACKS, index);
    }
    return TOKFSM_OK;
}

/* A member under a name that the fact covers meets its obligation. */
static tokfsm_status judge_some_member(expansion *e, const tf_fact *of, verdict *v)
{
    tf_build *b = e->b;
    const tf_fact fact = *of; /* the list of facts may grow */
    tf_name_list names = {.b = b};
    tf_oset *oset;
    bool none = true;
    tokfsm_status status = TOKFSM_OK;
    if (e->view.other) {
        bool known;
        status = other_names(e, &oset, &known);
        none = known;
        if (status == TOKFSM_OK && known)
            status = tf_hopeless_with(b, oset, fact.obligation, &none);
    }
    if (status == TOKFSM_OK)
        status = tf_each_name(b, &e->view.atoms, tf_name_list_add, &names);
    for (size_t i = 0; i < names.n && status == TOKFSM_OK && *v == OPEN; i++) {
        tf_name_view name = {.text = names.items[i].text, .n = names.items[i].n};
        bool covered, required = false;
        status = tf_fact_covers(b, &fact, &name, &covered);
        if (status == TOKFSM_OK)
            status = tf_name_list_has(&e->view.required, name.text, name.n, &required);
        if (status != TOKFSM_OK || !covered)
            continue;
        verdict one = OPEN;
        status = tf_asked_of(e, name.text, name.n, &oset);
        if (status == TOKFSM_OK)
            status = judge_asked(b, oset, fact.obligation, &one);
        none = none && one == DEAD;
        if (one == MET && required)
            *v = MET;
    }
    tf_name_list_free(&names);
    if (*v == OPEN && none)
        *v = DEAD;
    return status;
}

/* *index: of the fact; it may be restated. */
static tokfsm_status judge_fact(expansion *e, uint32_t *index, verdict *v)
{
    tf_build *b = e->b;
    const tf_fact *fact = &b->facts.items[*index];
    const outlook *seen = &e->view;
    tf_oset *oset;
    switch (fact->kind) {
    case TF_MEMBER:
    case TF_LACKS:
    case TF_IF_THERE: return judge_name(e, *fact, index, v);
    case TF_SOME_MEMBER: return judge_some_member(e, fact, v);
    case TF_COUNT:
        *v = judge_count(seen, fact);
        if (*v == OPEN && !seen->other && fact->min > seen->low) {
            uint64_t n;
            TF_TRY(count_names(e, &n));
            if (fact->min > n)
                *v = DEAD;
        }
        return TOKFSM_OK;
    case TF_ITEM:
        *v = DEAD;
        if (fact->index >= seen->high)
            return TOKFSM_OK;
        TF_TRY(tf_item_oset(b, &seen->atoms, fact->index, &oset));
        TF_TRY(judge_asked(b, oset, fact->obligation, v));
        if (*v == MET && fact->index >= seen->low)
            *v = OPEN;
        return TOKFSM_OK;
    case TF_LENGTH: *v = judge_count(seen, fact); return TOKFSM_OK;
    default: return TOKFSM_OK;
    }
}

static tokfsm_status judge_task(expansion *e, const partial *p, task *t, verdict *v)
{
    const tf_build *b = e->b;
    *v = OPEN;
    switch (t->what) {
    case TASK_HOLDS: {
        const tf_schema *s = &b->ir.schemas[t->index];
        if (s->is_false || !(s->types & e->types) || tf_is_done(e, DONE_FAILED, t->index))
            *v = DEAD;
        else if (t->index == b->ir.true_schema || tf_is_done(e, DONE_HELD, t->index))
            *v = MET;
        return TOKFSM_OK;
    }
    case TASK_FAILS: {
        const tf_schema *s = &b->ir.schemas[t->index];
        if (tf_is_done(e, DONE_HELD, t->index) || t->index == b->ir.true_schema)
            *v = DEAD;
        else if (tf_is_done(e, DONE_FAILED, t->index))
            *v = MET;
        else if ((s->is_false || !(s->types & e->types)) && b->marks == NULL)
            *v = MET; /* elsewhere it is noted that it fails */
        return TOKFSM_OK;
    }
    case TASK_EQUALS:
    case TASK_DIFFERS: {
        bool differs = t->what == TASK_DIFFERS;
        uint32_t wanted = e->object ? TF_JSON_OBJECT : TF_JSON_ARRAY;
        if (b->tape.nodes[t->index].type != wanted)
            *v = differs ? MET : DEAD;
        else if (p->equals != TF_TAPE_NONE)
            *v = tf_tape_equal(&b->tape, p->equals, &b->tape, t->index) != differs ? MET : DEAD;
        return TOKFSM_OK;
    }
    case TASK_FACT: return judge_fact(e, &t->index, v);
    case TASK_CHOOSE:
    case DONE_ATOM:
    case DONE_HELD:
    case DONE_FAILED:
    case DONE_COVERED: break;
    }
    return TOKFSM_OK;
}

/* Whether all that o has left is found on another way. */
static bool is_covered(const expansion *e, const option *o)
{
    uint32_t index;
    return tf_single_task(o, &index) && tf_is_done(e, DONE_COVERED, index);
}

/* What is left of an option: `to` has room for its tasks. */
static tokfsm_status judge_option(expansion *e, const partial *p, const option *from, option *to,
                                  verdict *v)
{
    *v = MET;
    to->n_tasks = 0;
    for (uint32_t i = 0; i < from->n_tasks && *v != DEAD; i++) {
        verdict one;
        task t = from->tasks[i];
        TF_TRY(tf_expand_check(e));
        TF_TRY(judge_task(e, p, &t, &one));
        if (one == OPEN) {
            to->tasks[to->n_tasks++] = t;
            option single = {&t, 1, 1};
            if (is_covered(e, &single))
                one = DEAD;
        }
        if (one != MET)
            *v = one;
    }
    return TOKFSM_OK;
}

/* ---- choices ---- */

bool tf_is_discriminating(const tf_build *b, const option *o, tf_fact *contrary)
{
    if (o->n_tasks != 1 || o->tasks[0].what != TASK_FACT)
        return false;
    *contrary = b->facts.items[o->tasks[0].index];
    if (contrary->kind != TF_MEMBER && contrary->kind != TF_IF_THERE)
        return false;
    uint32_t tag = tf_obligation_tag(contrary->obligation);
    if (tag == TF_HOLDS || tag == TF_FAILS) {
        const tf_schema *s = &b->ir.schemas[tf_obligation_index(contrary->obligation)];
        while (s->reference != TF_NO_SCHEMA && tf_is_bare(s))
            s = &b->ir.schemas[s->reference];
        if (!s->has_values)
            return false;
    }
    contrary->kind = contrary->kind == TF_MEMBER ? TF_IF_THERE : TF_MEMBER;
    contrary->obligation = tf_negated(contrary->obligation);
    return true;
}

/* Few conditions on some member are better counted, since costs are exact then; of many, and there
   can be no more than TF_MAX_COUNTERS, each becomes a choice of names. */
enum { FEW_COUNTED = 4 };

static bool are_few(const partial *p, const tf_build *b)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const task *t = &p->tasks[i];
        n += t->what == TASK_CHOOSE ||
             (t->what == DONE_ATOM && tf_obligation_tag(t->index) == TF_FACT &&
              b->facts.items[tf_obligation_index(t->index)].kind == TF_SOME_MEMBER);
    }
    return n <= FEW_COUNTED;
}

/* Whether the option is that some member meets something, where every name that can be there is
   spoken of: then it can be a choice among those. */
static bool is_among_names(const expansion *e, const partial *p, const option *o)
{
    if (o->n_tasks != 1 || o->tasks[0].what != TASK_FACT || !e->object || e->view.other ||
        are_few(p, e->b))
        return false;
    const tf_fact *fact = &e->b->facts.items[o->tasks[0].index];
    return fact->kind == TF_SOME_MEMBER && fact->min == 1 && fact->max == TF_UNLIMITED;
}

/* Append that choice's options. */
static tokfsm_status add_names(expansion *e, const option *from, choice *to)
{
    tf_build *b = e->b;
    const tf_fact fact = b->facts.items[from->tasks[0].index];
    tf_name_list names = {.b = b};
    tokfsm_status status = tf_each_name(b, &e->view.atoms, tf_name_list_add, &names);
    for (size_t i = 0; i < names.n && status == TOKFSM_OK; i++) {
        tf_name_view name = {.text = names.items[i].text, .n = names.items[i].n};
        tf_fact one = {.kind = TF_MEMBER, .name = name.text, .n_name = name.n,
                       .obligation = fact.obligation};
        bool covered;
        uint32_t index;
        verdict v;
        status = tf_fact_covers(b, &fact, &name, &covered);
        if (status != TOKFSM_OK || !covered)
            continue;
        status = tf_fact_of(b, &one, &index);
        if (status == TOKFSM_OK)
            status = judge_fact(e, &index, &v);
        if (status != TOKFSM_OK || v == DEAD)
            continue;
        task *only = tf_arena_take(&e->stack, sizeof *only);
        if (only == NULL || !tf_arena_grow(&e->stack, (void **)&to->options, to->n_options,
                                           &to->capacity, 4, sizeof *to->options)) {
            status = no_memory(b);
            break;
        }
        *only = (task){TASK_FACT, index, NULL};
        to->options[to->n_options++] = (option){only, 1, 1};
    }
    tf_name_list_free(&names);
    return status;
}

static tokfsm_status room_for(expansion *e, uint32_t n)
{
    while (e->splice.capacity < n)
        if (!tf_grow(&e->b->arena.allocator, (void **)&e->splice.items, e->splice.capacity,
                     &e->splice.capacity, sizeof *e->splice.items))
            return no_memory(e->b);
    return TOKFSM_OK;
}

tokfsm_status tf_prune_choices(expansion *e, partial *p, bool *dead, bool *changed)
{
    for (uint32_t i = p->n; i-- > 0 && !*dead;) {
        task *t = &p->tasks[i];
        if (t->what != TASK_CHOOSE)
            continue;
        const choice *c = t->choice;
        uint32_t n_live = 0, live = 0;
        bool met = false;
        for (uint32_t k = 0; k < c->n_options && !met; k++) {
            verdict v;
            TF_TRY(room_for(e, c->options[k].n_tasks));
            option left = {.tasks = e->splice.items};
            TF_TRY(judge_option(e, p, &c->options[k], &left, &v));
            if (v == DEAD)
                continue;
            live = k;
            n_live++;
            met = v == MET && !c->kept;
        }
        t->index = n_live;
        if (met) {
            TF_TRY(tf_replace_task(e, p, i, NULL, 0));
        } else if (n_live == 0) {
            *dead = true;
        } else if (n_live == 1 && is_among_names(e, p, &c->options[live])) {
            choice *names = tf_arena_zero(&e->stack, sizeof *names);
            if (names == NULL)
                return no_memory(e->b);
            TF_TRY(add_names(e, &c->options[live], names));
            *t = (task){TASK_CHOOSE, 0, names};
            *changed = true;
        } else if (n_live == 1) {
            TF_TRY(tf_replace_task(e, p, i, c->options[live].tasks, c->options[live].n_tasks));
            *changed = true;
        } else if (c->optional && tf_is_done(e, DONE_HELD, c->options[0].tasks[0].index)) {
            TF_TRY(tf_replace_task(e, p, i, NULL, 0));
        }
    }
    return TOKFSM_OK;
}

tokfsm_status tf_live_options(expansion *e, const partial *p, uint32_t at, choice *live)
{
    const choice *c = p->tasks[at].choice;
    *live = (choice){.options = tf_arena_zero(&e->stack, c->n_options * sizeof *c->options),
                     .capacity = c->n_options, .kept = c->kept};
    if (live->options == NULL)
        return no_memory(e->b);
    for (uint32_t k = 0; k < c->n_options; k++) {
        option to = {.tasks = tf_arena_take(&e->stack, c->options[k].n_tasks * sizeof *to.tasks)};
        if (to.tasks == NULL)
            return no_memory(e->b);
        verdict v;
        TF_TRY(judge_option(e, p, &c->options[k], &to, &v));
        if (v == DEAD)
            continue;
        if (is_among_names(e, p, &to)) {
            TF_TRY(add_names(e, &to, live));
            continue;
        }
        if (!tf_arena_grow(&e->stack, (void **)&live->options, live->n_options, &live->capacity, 4,
                           sizeof to))
            return no_memory(e->b);
        tf_fact contrary;
        uint32_t at_option = live->n_options;
        if (!c->kept && tf_is_discriminating(e->b, &to, &contrary)) {
            memmove(live->options + 1, live->options, live->n_options * sizeof to);
            at_option = 0;
        }
        live->options[at_option] = to;
        live->n_options++;
    }
    return TOKFSM_OK;
}
