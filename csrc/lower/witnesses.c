/*
 * Counters of alternatives: from contains, and from what negation comes down to, "some item" and
 * "some member". Their obligations by sign, and whether children meet them all.
 */
#include "unevaluated.h"
#include "witnesses.h"

/* ---- what an alternative counts ---- */

tokfsm_status tf_fact_covers(tf_build *b, const tf_fact *fact, const tf_name_view *name,
                             bool *covers)
{
    const tf_schema *s = &b->ir.schemas[fact->index];
    if (fact->names == TF_NAMES_REFUSED) {
        TF_TRY(tf_name_meets(b, name, s->property_names, covers));
        *covers = !*covers;
        return TOKFSM_OK;
    }
    if (fact->names >= TF_NAMES_MATCHING)
        return tf_name_matches(
            b, name, s->pattern_properties[fact->names - TF_NAMES_MATCHING].number, covers);
    if (fact->names == TF_NAMES_UNEVALUATED) {
        TF_TRY(tf_is_evaluated(b, fact, name, covers));
        *covers = !*covers;
        return TOKFSM_OK;
    }
    *covers = name->text == NULL ||
              tf_ir_property(&b->ir, s, name->text, name->n) == TF_NO_SCHEMA;
    for (uint32_t i = 0; i < s->n_pattern_properties && *covers; i++) {
        TF_TRY(tf_name_matches(b, name, s->pattern_properties[i].number, covers));
        *covers = !*covers;
    }
    return TOKFSM_OK;
}

static bool is_trivial(const tf_build *b, tf_obligation o)
{
    return tf_obligation_tag(o) == TF_FAILS ? b->ir.schemas[tf_obligation_index(o)].is_false
                                            : o == tf_obligation_of(b->ir.true_schema, TF_HOLDS);
}

typedef struct finder {
    tf_build *b;
    const tf_fact *fact;
    bool found;
} finder;

static tokfsm_status find_covered(void *context, const char *text, uint32_t n)
{
    finder *f = context;
    bool covered;
    TF_TRY(tf_fact_covers(f->b, f->fact, &(tf_name_view){.text = text, .n = n}, &covered));
    f->found |= covered;
    return tf_spend(f->b->budget, f->b->err);
}

/* The counter that an atom stands for, or *found = false. */
static tokfsm_status counter_of(tf_build *b, const tf_alternative *alternative, tf_obligation atom,
                                bool object, tf_witness *witness, bool *found)
{
    uint32_t index = tf_obligation_index(atom), tag = tf_obligation_tag(atom);
    *found = false;
    if (tag == TF_HOLDS && !object) {
        const tf_schema *s = &b->ir.schemas[index];
        if (s->contains == TF_NO_SCHEMA || (s->min_contains == 0 && s->max_contains == TF_UNLIMITED))
            return TOKFSM_OK;
        *witness = (tf_witness){tf_obligation_of(s->contains, TF_HOLDS), TF_NONE, 0,
                                s->min_contains, s->max_contains};
        *found = true;
    } else if (tag == TF_FACT) {
        const tf_fact *fact = &b->facts.items[index];
        if (fact->kind != (object ? TF_SOME_MEMBER : TF_SOME_ITEMS))
            return TOKFSM_OK;
        *witness = (tf_witness){fact->obligation, index, object ? 0 : fact->index, fact->min,
                                fact->max};
        finder f = {b, fact, false};
        if (object && is_trivial(b, fact->obligation)) /* a name is enough: one may be required */
            TF_TRY(tf_each_required(b, alternative, find_covered, &f));
        *found = !f.found;
    }
    return TOKFSM_OK;
}

static tokfsm_status too_much(tf_build *b, const tf_witness *w, bool object, const char *what)
{
    uint32_t tag = tf_obligation_tag(w->obligation), index = tf_obligation_index(w->obligation);
    uint32_t node = tag == TF_HOLDS || tag == TF_FAILS ? b->ir.schemas[index].node : index;
    return tf_fail_node(b->err, TOKFSM_E_LIMIT, &b->tape, node,
                        object ? "additionalProperties" : w->fact == TF_NONE ? "contains" : "items",
                        "%s", what);
}

tokfsm_status tf_counters_find(tf_build *b, tf_alternative *alternative, bool object)
{
    tf_witness found[TF_MAX_COUNTERS];
    tf_counter counters[TF_MAX_COUNTERS];
    uint32_t n = 0;
    bool unmeetable = false;
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        tf_witness one;
        bool is_one;
        TF_TRY(counter_of(b, alternative, alternative->atoms[i], object, &one, &is_one));
        if (!is_one)
            continue;
        if (n == TF_MAX_COUNTERS)
            return too_much(b, &one, object, object ? "over 6 conditions on some member of an object at once"
                                                    : "over 6 conditions on some items of an array at once");
        counters[n] = (tf_counter){one.min, one.max};
        unmeetable |= one.min > one.max;
        found[n++] = one;
    }
    if (n == 0)
        return TOKFSM_OK;
    if (!unmeetable && !tf_counters_fit(counters, n, object ? 0 : tf_prefix_length(b, alternative)))
        return too_much(b, &found[n - 1], object, "over 1024 counts of items that contains speaks of");
    tokfsm_status status = TOKFSM_OK;
    tf_counters *made = tf_take(b, sizeof *made, &status);
    tf_witness *items = tf_take(b, n * sizeof *items, &status);
    tf_counter *kept = tf_take(b, n * sizeof *kept, &status);
    if (status != TOKFSM_OK)
        return status;
    memcpy(items, found, n * sizeof *items);
    memcpy(kept, counters, n * sizeof *kept);
    *made = (tf_counters){n, unmeetable, items, kept};
    alternative->counters = made;
    return TOKFSM_OK;
}

/* ---- children by sign ---- */

static tokfsm_status covers(tf_build *b, const tf_witness *w, const tf_child_view *child, bool *found)
{
    *found = child->item >= w->from;
    if (!child->object)
        return TOKFSM_OK;
    tf_fact fact = b->facts.items[w->fact]; /* the list may move */
    return tf_fact_covers(b, &fact, &child->name, found);
}

static tokfsm_status signed_oset(tf_build *b, const tf_counters *counters, const tf_oset *base,
                                 uint32_t covered, uint32_t sign, tf_oset **oset)
{
    tokfsm_status status = TOKFSM_OK;
    tf_obligation small[32], *list = small;
    if (base->n + counters->n > 32)
        list = tf_take(b, (base->n + counters->n) * sizeof *list, &status);
    if (status != TOKFSM_OK)
        return status;
    uint32_t n = base->n;
    memcpy(list, base->items, n * sizeof *list);
    for (uint32_t i = 0; i < counters->n; i++) {
        tf_obligation o = counters->items[i].obligation;
        if (sign >> i & 1u)
            list[n++] = o;
        else if ((covered >> i & 1u) && counters->items[i].max != TF_UNLIMITED)
            list[n++] = tf_obligation_of(tf_obligation_index(o), tf_obligation_tag(o) ^ 1u);
    }
    return tf_oset_of(b, list, n, oset);
}

tokfsm_status tf_child_osets(tf_build *b, const tf_alternative *alternative, const tf_child_view *child,
                             tf_oset *by_sign[TF_MAX_SIGNS])
{
    tf_oset *base;
    if (child->object)
        TF_TRY(child->name.text == NULL
                   ? tf_other_oset(b, alternative, child->name.classes, child->name.class, &base)
                   : tf_member_oset(b, alternative, child->name.text, child->name.n, &base));
    else
        TF_TRY(tf_item_oset(b, alternative, child->item, &base));
    const tf_counters *counters = alternative->counters;
    by_sign[0] = base;
    if (counters == NULL)
        return TOKFSM_OK;
    uint32_t covered = 0;
    for (uint32_t i = 0; i < counters->n; i++) {
        bool one;
        TF_TRY(covers(b, &counters->items[i], child, &one));
        covered |= (uint32_t)one << i;
    }
    for (uint32_t s = 0; s < 1u << counters->n; s++) {
        by_sign[s] = NULL;
        if (base != NULL && (s & ~covered) == 0)
            TF_TRY(signed_oset(b, counters, base, covered, s, &by_sign[s]));
    }
    return TOKFSM_OK;
}

/* Call for each kind of child that the alternative can have: its names and "other", or its items
   up to the first that is like all later ones. */
typedef tokfsm_status (*child_visitor)(void *context, const tf_child_view *child);

typedef struct naming {
    child_visitor visit;
    void *context;
} naming;

static tokfsm_status visit_items(tf_build *b, const tf_alternative *alternative, child_visitor visit,
                                 void *context)
{
    uint64_t last = tf_prefix_length(b, alternative);
    for (uint64_t i = 0; i <= last; i++)
        TF_TRY(visit(context, &(tf_child_view){.item = i}));
    return TOKFSM_OK;
}

static tokfsm_status visit_members(tf_build *b, const tf_alternative *alternative,
                                   child_visitor visit, void *context)
{
    tf_name_list names = {.b = b};
    tokfsm_status status = tf_each_name(b, alternative, tf_name_list_add, &names);
    for (size_t i = 0; i < names.n && status == TOKFSM_OK; i++)
        status = visit(context, &(tf_child_view){true, {names.items[i].text, names.items[i].n, NULL, 0}, 0});
    const tf_name_classes *classes = NULL;
    if (status == TOKFSM_OK)
        status = tf_name_classes_own(b, alternative, &classes);
    for (uint32_t i = 0; status == TOKFSM_OK && i < classes->n; i++)
        status = visit(context, &(tf_child_view){true, {NULL, 0, classes, i}, 0});
    tf_name_list_free(&names);
    return status;
}

typedef struct all_signs {
    tf_build *b;
    const tf_alternative *alternative;
    tokfsm_status (*visit)(void *context, tf_oset *oset);
    void *context;
} all_signs;

static tokfsm_status visit_signs(void *context, const tf_child_view *child)
{
    const all_signs *all = context;
    tf_oset *by_sign[TF_MAX_SIGNS];
    TF_TRY(tf_child_osets(all->b, all->alternative, child, by_sign));
    for (uint32_t s = 0; s < 1u << all->alternative->counters->n; s++)
        if (by_sign[s] != NULL)
            TF_TRY(all->visit(all->context, by_sign[s]));
    return TOKFSM_OK;
}

tokfsm_status tf_each_sign(tf_build *b, const tf_alternative *alternative, bool object,
                           tokfsm_status (*visit)(void *context, tf_oset *oset), void *context)
{
    all_signs all = {b, alternative, visit, context};
    if (alternative->counters == NULL)
        return TOKFSM_OK;
    return object ? visit_members(b, alternative, visit_signs, &all)
                  : visit_items(b, alternative, visit_signs, &all);
}

/* ---- whether, and at what cost, all are met ---- */

typedef struct planning {
    tf_build *b;
    const tf_alternative *alternative;
    const tf_counted *of;
    tokfsm_status status;
    tf_members_plan members;
    tf_name_list required, names; /* names: all that are declared */
    tf_cost other[TF_MAX_SIGNS];
    bool has_other;
} planning;

static tokfsm_status costs_by_sign(planning *p, const tf_child_view *child, tf_cost *by_sign, bool *any)
{
    tf_oset *osets[TF_MAX_SIGNS];
    TF_TRY(tf_child_osets(p->b, p->alternative, child, osets));
    *any = false;
    for (uint32_t s = 0; s < 1u << p->alternative->counters->n; s++) {
        by_sign[s] = tf_no_cost();
        if (osets[s] != NULL)
            TF_TRY(p->of->cost(p->b, osets[s], &by_sign[s]));
        *any |= by_sign[s].base != TF_COST_NONE;
    }
    return tf_spend(p->b->budget, p->b->err);
}

static bool plan_item(void *context, uint32_t class, tf_cost by_sign[TF_MAX_SIGNS])
{
    planning *p = context;
    bool any;
    p->status = costs_by_sign(p, &(tf_child_view){.item = class}, by_sign, &any);
    return p->status == TOKFSM_OK;
}

static bool plan_spend(void *context)
{
    planning *p = context;
    p->status = tf_spend(p->b->budget, p->b->err);
    return p->status == TOKFSM_OK;
}

static tokfsm_status plan_items(planning *p, tf_cost *cost)
{
    tf_build *b = p->b;
    const tf_counters *counters = p->alternative->counters;
    tf_items_plan plan = {.counters = counters->counters, .k = counters->n, .comma = p->of->comma,
                          .costs = plan_item, .spend = plan_spend, .context = p};
    tf_item_counts(b, p->alternative, &plan.min, &plan.max);
    plan.n_classes = tf_prefix_length(b, p->alternative) + 1;
    uint64_t *first = tf_allocate(&b->arena.allocator, plan.n_classes * sizeof *first);
    if (first == NULL)
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
    for (uint32_t i = 0; i < plan.n_classes; i++)
        first[i] = i;
    plan.first = first;
    *cost = tf_no_cost();
    if (plan.min <= plan.max && !tf_items_plan_cost(&plan, cost) && p->status == TOKFSM_OK)
        p->status = TOKFSM_E_INTERNAL;
    tf_release(&b->arena.allocator, first);
    return p->status;
}

static bool is_declared(void *context, const uint8_t *bytes, uint32_t n)
{
    const planning *p = context;
    for (size_t i = 0; i < p->names.n; i++)
        if (p->names.items[i].n == n && (n == 0 || memcmp(p->names.items[i].text, bytes, n) == 0))
            return true;
    return false;
}

/* Undeclared members of one class. Where patterns tell classes apart, each of the names that may
   be wanted is a member by itself. */
static tokfsm_status plan_others(planning *p, const tf_name_view *name, const tf_cost *by_sign)
{
    tf_build *b = p->b;
    uint64_t n_names = name->classes->items[name->class].n_names;
    uint32_t n_signs = 1u << p->members.k;
    tf_cost whole[TF_MAX_SIGNS];
    if (name->classes->content == NULL || (p->of->name_cost == NULL && n_names == TF_UNLIMITED)) {
        p->has_other = true;
        for (uint32_t s = 0; s < n_signs; s++)
            tf_cost_keep_less(&p->other[s], tf_cost_plus(by_sign[s], p->of->other_name));
        return TOKFSM_OK;
    }
    uint32_t n = n_names < p->members.n_optional ? (uint32_t)n_names : p->members.n_optional;
    uint32_t *costs = tf_allocate(&b->arena.allocator, n * sizeof *costs);
    if (costs == NULL)
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
    memset(costs, 0, n * sizeof *costs);
    tokfsm_status status = TOKFSM_OK;
    if (p->of->name_cost != NULL)
        status = tf_build_name_cheapest(b, name->classes->content->start, name->class, is_declared, p,
                                        p->names.n, n, costs, &n);
    for (uint32_t i = 0; i < n && status == TOKFSM_OK; i++) {
        for (uint32_t s = 0; s < n_signs; s++)
            whole[s] = tf_cost_plus(tf_cost_plus(by_sign[s], p->of->other_name),
                                    (tf_cost){costs[i], 0});
        tf_members_plan_add(&p->members, false, whole);
        status = tf_spend(b->budget, b->err);
    }
    tf_release(&b->arena.allocator, costs);
    return status;
}

static tokfsm_status plan_member(void *context, const tf_child_view *child)
{
    planning *p = context;
    tf_cost by_sign[TF_MAX_SIGNS], name = {0, 0};
    bool any, required = false;
    TF_TRY(costs_by_sign(p, child, by_sign, &any));
    if (child->name.text == NULL)
        return any ? plan_others(p, &child->name, by_sign) : TOKFSM_OK;
    TF_TRY(tf_name_list_has(&p->required, child->name.text, child->name.n, &required));
    if (!any && !required)
        return TOKFSM_OK;
    if (p->of->name_cost != NULL)
        TF_TRY(p->of->name_cost(p->b, child->name.text, child->name.n, &name));
    for (uint32_t s = 0; s < 1u << p->members.k; s++)
        by_sign[s] = tf_cost_plus(by_sign[s], name);
    tf_members_plan_add(&p->members, required, by_sign);
    if (child->name.n > p->members.longest)
        p->members.longest = child->name.n;
    return TOKFSM_OK;
}

static tokfsm_status plan_members(planning *p, tf_cost *cost)
{
    tf_build *b = p->b;
    uint64_t min, max;
    tf_members_plan *plan = &p->members;
    *cost = tf_no_cost();
    tf_member_counts(b, p->alternative, &min, &max);
    TF_TRY(tf_each_required(b, p->alternative, tf_name_list_add, &p->required));
    uint64_t n = p->required.n;
    if (min > max || n > max)
        return TOKFSM_OK;
    plan->k = p->alternative->counters->n;
    plan->unmet = (1u << plan->k) - 1;
    plan->fill = min > n ? min - n : 0;
    plan->room = max == TF_UNLIMITED ? TF_UNLIMITED : max - n;
    plan->comma = p->of->comma;
    plan->free_commas = 1;
    plan->char_tokens = p->of->name_cost == NULL ? 0 : b->machine.char_tokens;
    TF_TRY(tf_each_name(b, p->alternative, tf_name_list_add, &p->names));
    const tf_name_classes *classes;
    TF_TRY(tf_name_classes_own(b, p->alternative, &classes));
    for (uint32_t s = 0; s < TF_MAX_SIGNS; s++)
        p->other[s] = tf_no_cost();
    uint64_t most = plan->fill > plan->k ? plan->fill : plan->k;
    if (classes->content == NULL && p->names.n < most)
        most = p->names.n;
    if (most > 1u << 16)
        return tf_fail(b->err, TOKFSM_E_LIMIT, "an object must have over %u members that count",
                       1u << 16);
    plan->n_optional = (uint32_t)most;
    plan->of = tf_allocate(&b->arena.allocator, ((size_t)plan->n_optional + 1) * sizeof *plan->of << plan->k);
    if (plan->of == NULL)
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
    tf_members_plan_begin(plan);
    tokfsm_status status = visit_members(b, p->alternative, plan_member, p);
    if (status == TOKFSM_OK)
        *cost = tf_members_plan_cost(plan, p->has_other ? p->other : NULL);
    tf_release(&b->arena.allocator, plan->of);
    return status;
}

tokfsm_status tf_counted_cost(tf_build *b, const tf_alternative *alternative, bool object,
                              const tf_counted *of, tf_cost *cost)
{
    *cost = tf_no_cost();
    if (alternative->counters->unmeetable)
        return TOKFSM_OK;
    planning p = {.b = b, .alternative = alternative, .of = of, .status = TOKFSM_OK,
                  .required = {.b = b}, .names = {.b = b}};
    tokfsm_status status = object ? plan_members(&p, cost) : plan_items(&p, cost);
    tf_name_list_free(&p.required);
    tf_name_list_free(&p.names);
    return status;
}

/* ---- of a kind ---- */

tokfsm_status tf_build_counting(tf_build *b, tf_kind *kind, const tf_alternative *const *alternatives)
{
    uint32_t n_rows = 0, n_counters = 0, span = 0;
    uint64_t n_signs = 0;
    for (uint32_t a = 0; a < kind->n_alternatives; a++) {
        const tf_counters *counters = alternatives[a]->counters;
        n_signs += counters == NULL ? 1 : (uint64_t)1 << counters->n;
        if (counters == NULL)
            continue;
        n_rows++;
        n_counters += counters->n;
        uint64_t longest = 1;
        for (uint32_t i = 0; i < counters->n && longest < UINT32_MAX; i++)
            longest += tf_counter_cap(&counters->counters[i]);
        longest = longest < UINT32_MAX ? longest : UINT32_MAX;
        span = longest > span ? (uint32_t)longest : span;
    }
    if (n_rows == 0)
        return TOKFSM_OK;
    if (n_signs > TF_MAX_ALTERNATIVES)
        return tf_fail(b->err, TOKFSM_E_LIMIT, "over %u ways to count one child", TF_MAX_ALTERNATIVES);
    uint32_t n_edges = tf_kind_n_edges(kind);
    uint64_t table = (uint64_t)n_edges * n_rows * sizeof(uint64_t);
    if (table > b->machine.limits.automaton_bytes)
        return tf_fail(b->err, TOKFSM_E_LIMIT,
                       "%u alternatives that count go over limits.automaton_bytes = %llu", n_rows,
                       (unsigned long long)b->machine.limits.automaton_bytes);
    tokfsm_status status = TOKFSM_OK;
    tf_counting *made = tf_take(b, sizeof *made, &status);
    uint32_t *first_counter = tf_take(b, (kind->n_alternatives + 1) * sizeof *first_counter, &status);
    uint32_t *first_sign = tf_take(b, (kind->n_alternatives + 1) * sizeof *first_sign, &status);
    uint32_t *row = tf_take(b, kind->n_alternatives * sizeof *row, &status);
    tf_counter *all = tf_take(b, n_counters * sizeof *all, &status);
    uint64_t *possible = tf_take(b, (size_t)table, &status);
    if (status != TOKFSM_OK)
        return status;
    n_rows = 0;
    for (uint32_t a = 0; a < kind->n_alternatives; a++) {
        const tf_counters *counters = alternatives[a]->counters;
        uint32_t k = counters == NULL ? 0 : counters->n;
        if (k > 0)
            memcpy(all + first_counter[a], counters->counters, k * sizeof *all);
        first_counter[a + 1] = first_counter[a] + k;
        first_sign[a + 1] = first_sign[a] + (1u << k);
        row[a] = k == 0 ? TF_NONE : n_rows++;
    }
    *made = (tf_counting){.first_counter = first_counter, .first_sign = first_sign, .row = row,
                          .counters = all, .n_counters = n_counters, .n_signs = (uint32_t)n_signs,
                          .n_rows = n_rows, .span = span, .possible = possible};
    kind->counting = made;
    for (uint32_t edge = 0; edge < n_edges; edge++)
        for (uint32_t a = 0; a < kind->n_alternatives; a++) {
            if (row[a] == TF_NONE)
                continue;
            tf_oset *by_sign[TF_MAX_SIGNS];
            TF_TRY(tf_kind_child(b, kind, a, edge, by_sign));
            for (uint32_t s = 0; s < 1u << alternatives[a]->counters->n; s++)
                if (by_sign[s] != NULL)
                    possible[(size_t)edge * n_rows + row[a]] |= (uint64_t)1 << s;
            TF_TRY(tf_spend(b->budget, b->err));
        }
    tf_counters_note_endless(kind, made);
    return TOKFSM_OK;
}
