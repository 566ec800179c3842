/*
 * Satisfiability of obligation sets: the least fixpoint over what they depend on, which is
 * their required members and first items only. A set that depends on itself alone has no value.
 */
#include "name_classes.h"
#include "witnesses.h"

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
}

/* One plain schema: answered by its own keywords in most cases. */
static bool plainly_satisfiable(const tf_build *b, const tf_oset *oset)
{
    if (oset->n == 0)
        return true;
    if (oset->n > 1)
        return false;
    if (tf_obligation_tag(oset->items[0]) != TF_HOLDS &&
        tf_obligation_tag(oset->items[0]) != TF_EQUALS)
        return false;
    if (tf_obligation_tag(oset->items[0]) == TF_EQUALS) /* max_digits can forbid a number */
        return b->tape.nodes[tf_obligation_index(oset->items[0])].type != TF_JSON_NUMBER &&
               b->tape.nodes[tf_obligation_index(oset->items[0])].type < TF_JSON_ARRAY;
    const tf_schema *s = &b->ir.schemas[tf_obligation_index(oset->items[0])];
    if (s->is_false || s->has_any_of || s->has_one_of || s->has_values || s->n_all_of > 0 ||
        s->not_schema != TF_NO_SCHEMA || s->if_schema != TF_NO_SCHEMA || s->n_dependents > 0 ||
        s->reference != TF_NO_SCHEMA)
        return false;
    return (s->types & (TF_TYPE_NULL | TF_TYPE_BOOLEAN)) ||
           ((s->types & (TF_TYPE_INTEGER | TF_TYPE_NUMBER)) && !s->has_number) ||
           ((s->types & TF_TYPE_STRING) && s->min_length <= s->max_length &&
            b->pattern_of[s - b->ir.schemas] == TF_NO_PATTERN && b->format_of[s - b->ir.schemas] == TF_NO_PATTERN) ||
           ((s->types & TF_TYPE_OBJECT) && s->n_required == 0 && s->min_properties == 0) ||
           ((s->types & TF_TYPE_ARRAY) && s->min_items == 0 &&
            (s->contains == TF_NO_SCHEMA || s->min_contains == 0));
}

static tokfsm_status scalar_satisfiable(tf_build *b, tf_oset *oset, bool *satisfiable)
{
    const tf_value *value;
    TF_TRY(tf_value_of(b, &oset, 1, &value));
    *satisfiable = true;
    for (uint32_t i = 0; i < TF_N_LITERALS; i++)
        if (value->literal[i][0])
            return TOKFSM_OK;
    const tf_nstate *start;
    TF_TRY(tf_build_number(b, value, &start));
    if (start != &tf_number_dead)
        return TOKFSM_OK;
    const tf_strings *strings;
    TF_TRY(tf_build_strings(b, value, &strings));
    *satisfiable = strings != &tf_no_strings;
    return TOKFSM_OK;
}

/* ---- what an alternative needs ---- */

typedef struct needs {
    tf_build *b;
    const tf_alternative *alternative;
    tokfsm_status (*visit)(void *context, tf_oset *oset); /* NULL: cannot be met */
    void *context;
} needs;

static tokfsm_status need_member(void *context, const char *text, uint32_t n)
{
    needs *need = context;
    tf_oset *oset;
    TF_TRY(tf_member_oset(need->b, need->alternative, text, n, &oset));
    return need->visit(need->context, oset);
}

tokfsm_status tf_each_need(tf_build *b, const tf_alternative *alternative, bool object,
                           tokfsm_status (*visit)(void *, tf_oset *), void *context)
{
    needs need = {b, alternative, visit, context};
    if (object)
        return tf_each_required(b, alternative, need_member, &need);
    uint64_t min, max;
    tf_item_counts(b, alternative, &min, &max);
    if (min > max)
        return visit(context, NULL);
    uint64_t n_prefix = tf_prefix_length(b, alternative);
    for (uint64_t i = 0; i < min && i <= n_prefix; i++) {
        tf_oset *oset;
        TF_TRY(tf_item_oset(b, alternative, i, &oset));
        TF_TRY(visit(context, oset));
    }
    return TOKFSM_OK;
}

tokfsm_status tf_each_choice(tf_build *b, const tf_alternative *alternative,
                             tokfsm_status (*visit)(void *, tf_oset *), void *context)
{
    uint64_t min, max;
    tf_member_counts(b, alternative, &min, &max);
    if (min == 0)
        return TOKFSM_OK; /* nothing is to be chosen */
    const tf_name_classes *classes;
    TF_TRY(tf_name_classes_own(b, alternative, &classes));
    for (uint32_t i = 0; i < classes->n; i++) {
        tf_oset *other;
        TF_TRY(tf_other_oset(b, alternative, classes, i, &other));
        TF_TRY(visit(context, other));
    }
    needs need = {b, alternative, visit, context};
    return tf_each_name(b, alternative, need_member, &need);
}

/* Names beside those that the alternative speaks of, under which a value can be written. */
static tokfsm_status count_others(tf_build *b, const tf_alternative *alternative,
                                  tokfsm_status (*satisfiable)(tf_build *, tf_oset *, bool *),
                                  uint64_t *n)
{
    const tf_name_classes *classes;
    TF_TRY(tf_name_classes_own(b, alternative, &classes));
    *n = 0;
    for (uint32_t i = 0; i < classes->n; i++) {
        tf_oset *oset;
        bool one = false;
        TF_TRY(tf_other_oset(b, alternative, classes, i, &oset));
        if (oset != NULL)
            TF_TRY(satisfiable(b, oset, &one));
        uint64_t more = one ? classes->items[i].n_names : 0;
        *n = more > UINT64_MAX - *n ? UINT64_MAX : *n + more;
    }
    return TOKFSM_OK;
}

/*
 * Whether the counts of an object can be met: enough names whose value can be written, not too
 * many that are required. `satisfiable` decides a member's obligations.
 */
tokfsm_status tf_counts_met(tf_build *b, const tf_alternative *alternative,
                            tokfsm_status (*satisfiable)(tf_build *, tf_oset *, bool *),
                            bool *met)
{
    uint64_t min, max;
    *met = true;
    tf_member_counts(b, alternative, &min, &max);
    if (min == 0 && max == TF_UNLIMITED)
        return TOKFSM_OK;
    tf_name_list required = {.b = b}, names = {.b = b};
    tokfsm_status status = tf_each_required(b, alternative, tf_name_list_add, &required);
    if (status == TOKFSM_OK)
        status = tf_each_name(b, alternative, tf_name_list_add, &names);
    tf_oset *oset = NULL;
    uint64_t others = 0, possible = 0;
    if (status == TOKFSM_OK)
        status = count_others(b, alternative, satisfiable, &others);
    for (size_t i = 0; i < names.n && status == TOKFSM_OK && possible < min; i++) {
        bool one = false;
        status = tf_member_oset(b, alternative, names.items[i].text, names.items[i].n, &oset);
        if (status == TOKFSM_OK && oset != NULL)
            status = satisfiable(b, oset, &one);
        possible += one;
    }
    *met = required.n <= max && min <= max && (others >= min || possible >= min - others);
    tf_name_list_free(&required);
    tf_name_list_free(&names);
    return status;
}

/* The same for the counters: the children that can be there, at no cost. */
static tokfsm_status cost_if(tf_oset *oset, tokfsm_status (*decide)(tf_build *, tf_oset *, bool *),
                             tf_build *b, tf_cost *cost)
{
    bool satisfiable;
    TF_TRY(decide(b, oset, &satisfiable));
    *cost = satisfiable ? (tf_cost){0, 0} : tf_no_cost();
    return TOKFSM_OK;
}

static tokfsm_status note_unmet(void *context, tf_oset *oset)
{
    bool *met = context;
    if (oset == NULL || !oset->satisfiable)
        *met = false;
    return TOKFSM_OK;
}

static tokfsm_status known_so_far(tf_build *b, tf_oset *oset, bool *satisfiable)
{
    (void)b;
    *satisfiable = oset->satisfiable;
    return TOKFSM_OK;
}

static tokfsm_status known_cost(tf_build *b, tf_oset *oset, tf_cost *cost)
{
    return cost_if(oset, known_so_far, b, cost);
}

/* Whether some alternative has all it needs, as far as is known. */
static tokfsm_status container_satisfiable(tf_build *b, tf_oset *oset, bool object, bool *met)
{
    const tf_alternatives *found;
    TF_TRY(tf_expand(b, oset, object, &found));
    *met = false;
    for (uint32_t i = 0; i < found->n && !*met; i++) {
        bool all = true;
        TF_TRY(tf_each_need(b, found->items[i], object, note_unmet, &all));
        TF_TRY(tf_spend(b->budget, b->err));
        if (all && object)
            TF_TRY(tf_counts_met(b, found->items[i], known_so_far, &all));
        if (all && found->items[i]->counters != NULL) {
            tf_cost cost;
            TF_TRY(tf_counted_cost(b, found->items[i], object,
                                   &(tf_counted){.cost = known_cost}, &cost));
            all = cost.base != TF_COST_NONE;
        }
        bool tight;
        if (all && !object)
            TF_TRY(tf_unique_met(b, found->items[i], &all, &tight));
        *met = all;
    }
    return TOKFSM_OK;
}

/* ---- the fixpoint ---- */

typedef struct closure {
    tf_build *b;
    tf_oset **items;
    size_t n, capacity;
} closure;

static tokfsm_status add_to_closure(void *context, tf_oset *oset)
{
    closure *c = context;
    if (oset == NULL || oset->sat_state == TF_KNOWN ||
        (oset->sat_state == TF_PENDING && oset->sat_epoch == c->b->epoch))
        return TOKFSM_OK;
    oset->sat_epoch = c->b->epoch;
    oset->satisfiable = 0;
    if (plainly_satisfiable(c->b, oset)) {
        oset->sat_state = TF_KNOWN;
        oset->satisfiable = 1;
        return TOKFSM_OK;
    }
    if (!tf_grow(&c->b->arena.allocator, (void **)&c->items, c->n, &c->capacity, sizeof *c->items))
        return no_memory(c->b);
    oset->sat_state = TF_PENDING;
    c->items[c->n++] = oset;
    return TOKFSM_OK;
}

static tokfsm_status depend(tf_build *b, tf_oset *oset, closure *c)
{
    for (int object = 0; object < 2; object++) {
        const tf_alternatives *found;
        TF_TRY(tf_expand(b, oset, object, &found));
        for (uint32_t i = 0; i < found->n; i++) {
            TF_TRY(tf_spend(b->budget, b->err));
            TF_TRY(tf_each_need(b, found->items[i], object, add_to_closure, c));
            if (object)
                TF_TRY(tf_each_choice(b, found->items[i], add_to_closure, c));
            TF_TRY(tf_each_sign(b, found->items[i], object, add_to_closure, c));
        }
    }
    return TOKFSM_OK;
}

static tokfsm_status solve(tf_build *b, closure *c)
{
    for (size_t i = 0; i < c->n; i++) {
        tf_oset *oset = c->items[i];
        TF_TRY(tf_spend(b->budget, b->err));
        bool satisfiable;
        TF_TRY(scalar_satisfiable(b, oset, &satisfiable));
        if (satisfiable)
            oset->satisfiable = 1;
        else
            TF_TRY(depend(b, oset, c));
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = c->n; i-- > 0;) { /* what was needed last was found last */
            tf_oset *oset = c->items[i];
            for (int object = 0; object < 2 && !oset->satisfiable; object++) {
                bool met;
                TF_TRY(container_satisfiable(b, oset, object, &met));
                if (met)
                    oset->satisfiable = changed = true;
            }
        }
    }
    return TOKFSM_OK;
}

/* Decide all of a closure, or leave it undecided on failure. */
static tokfsm_status decide(tf_build *b, closure *c)
{
    tokfsm_status status = solve(b, c);
    for (size_t i = 0; i < c->n; i++) {
        c->items[i]->sat_state = status == TOKFSM_OK ? TF_KNOWN : TF_UNKNOWN;
        if (status != TOKFSM_OK)
            c->items[i]->satisfiable = 0;
    }
    tf_release(&b->arena.allocator, c->items);
    return status;
}

tokfsm_status tf_satisfiable(tf_build *b, tf_oset *oset, bool *satisfiable)
{
    closure c = {.b = b};
    tokfsm_status status = add_to_closure(&c, oset);
    if (c.n > 0) {
        tokfsm_status decided = decide(b, &c);
        status = status == TOKFSM_OK ? decided : status;
    }
    *satisfiable = oset->satisfiable;
    return status;
}

static tokfsm_status meet_need(void *context, tf_oset *oset)
{
    needs *need = context;
    bool satisfiable = false;
    if (oset != NULL)
        TF_TRY(tf_satisfiable(need->b, oset, &satisfiable));
    if (!satisfiable)
        *(bool *)need->context = false;
    return TOKFSM_OK;
}

static tokfsm_status decided_cost(tf_build *b, tf_oset *oset, tf_cost *cost)
{
    return cost_if(oset, tf_satisfiable, b, cost);
}

tokfsm_status tf_alternative_satisfiable(tf_build *b, const tf_alternative *alternative,
                                         bool object, bool *satisfiable)
{
    needs need = {b, alternative, NULL, satisfiable};
    *satisfiable = true;
    TF_TRY(tf_each_need(b, alternative, object, meet_need, &need));
    if (*satisfiable && object)
        TF_TRY(tf_counts_met(b, alternative, tf_satisfiable, satisfiable));
    if (*satisfiable && alternative->counters != NULL) {
        tf_cost cost;
        TF_TRY(tf_counted_cost(b, alternative, object, &(tf_counted){.cost = decided_cost}, &cost));
        *satisfiable = cost.base != TF_COST_NONE;
    }
    bool tight;
    if (*satisfiable && !object)
        TF_TRY(tf_unique_met(b, alternative, satisfiable, &tight));
    return TOKFSM_OK;
}
