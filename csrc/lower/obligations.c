/*
 * Obligation sets: interned conjunctions; and what an alternative asks of members and items.
 */
#include "index.h"
#include "unevaluated.h"

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
}

static const tf_schema *schema_of(const tf_build *b, tf_obligation o)
{
    return &b->ir.schemas[tf_obligation_index(o)];
}

/* A schema that is nothing but a reference stands for its target. */
static uint32_t through_references(const tf_build *b, uint32_t id)
{
    for (;;) {
        const tf_schema *s = &b->ir.schemas[id];
        if (s->reference == TF_NO_SCHEMA || !tf_is_bare(s))
            return id;
        id = s->reference;
    }
}

static bool always_holds(const tf_schema *s)
{
    return tf_is_bare(s) && s->reference == TF_NO_SCHEMA;
}

/* Append o to the list unless it is there or says nothing; n stays within what the caller made
   room for. */
static void add_obligation(const tf_build *b, tf_obligation *list, uint32_t *n, tf_obligation o)
{
    uint32_t tag = tf_obligation_tag(o);
    if (tag == TF_HOLDS || tag == TF_FAILS) {
        uint32_t id = through_references(b, tf_obligation_index(o));
        const tf_schema *s = &b->ir.schemas[id];
        if (tag == TF_HOLDS ? always_holds(s) : s->is_false)
            return;
        o = tf_obligation_of(id, tag);
    }
    for (uint32_t i = 0; i < *n; i++)
        if (list[i] == o)
            return;
    list[(*n)++] = o;
}

enum { FEW = 32 };

static uint32_t hash_of(const uint32_t *items, uint32_t n)
{
    uint32_t hash = 2166136261u ^ n;
    for (uint32_t i = 0; i < n; i++)
        hash = (hash ^ items[i]) * 16777619u;
    return hash ^ hash >> 15;
}

static tokfsm_status intern(tf_build *b, const tf_obligation *list, uint32_t m, tf_oset **oset)
{
    uint32_t hash = hash_of(list, m);
    uint32_t at = TF_NONE;
    for (uint32_t i; (i = tf_index_next(&b->osets_index, hash, &at)) != TF_NONE;) {
        tf_oset *known = b->osets.items[i];
        if (known->n == m && memcmp(known->items, list, m * sizeof *list) == 0) {
            *oset = known;
            return TOKFSM_OK;
        }
    }
    tokfsm_status status = TOKFSM_OK;
    tf_oset *made = tf_take(b, sizeof *made, &status);
    tf_obligation *kept = tf_take(b, m * sizeof *kept, &status);
    if (status != TOKFSM_OK)
        return status;
    if (!tf_grow(&b->arena.allocator, (void **)&b->osets.items, b->osets.n, &b->osets.capacity,
                 sizeof *b->osets.items))
        return no_memory(b);
    memcpy(kept, list, m * sizeof *kept);
    made->items = kept;
    made->n = m;
    made->id = (uint32_t)b->osets.n;
    TF_TRY(tf_index_add(b, &b->osets_index, hash, made->id));
    b->osets.items[b->osets.n++] = made;
    *oset = made;
    return TOKFSM_OK;
}

/* The same for many, where each need not be looked for among all before. */
static tokfsm_status add_many(tf_build *b, tf_obligation *list, uint32_t *n,
                              const tf_obligation *items, uint32_t n_items)
{
    uint32_t n_slots = 64;
    while (n_slots < 2 * n_items)
        n_slots *= 2;
    uint32_t *slots = tf_allocate(&b->arena.allocator, n_slots * sizeof *slots);
    if (slots == NULL)
        return no_memory(b);
    memset(slots, 0, n_slots * sizeof *slots);
    for (uint32_t i = 0; i < n_items; i++) {
        uint32_t before = 0;
        tf_obligation one[1];
        add_obligation(b, one, &before, items[i]);
        if (before == 0)
            continue;
        uint32_t at = (one[0] * 2654435761u >> 8) & (n_slots - 1);
        while (slots[at] != 0 && list[slots[at] - 1] != one[0])
            at = (at + 1) & (n_slots - 1);
        if (slots[at] != 0)
            continue;
        list[(*n)++] = one[0];
        slots[at] = *n;
    }
    tf_release(&b->arena.allocator, slots);
    return TOKFSM_OK;
}

tokfsm_status tf_oset_of(tf_build *b, const tf_obligation *items, uint32_t n, tf_oset **oset)
{
    TF_TRY(tf_spend(b->budget, b->err));
    tf_obligation small[FEW], *list = small;
    if (n > FEW && (list = tf_allocate(&b->arena.allocator, n * sizeof *list)) == NULL)
        return no_memory(b);
    uint32_t m = 0;
    tokfsm_status status = n > FEW ? add_many(b, list, &m, items, n) : TOKFSM_OK;
    for (uint32_t i = 0; n <= FEW && i < n; i++)
        add_obligation(b, list, &m, items[i]);
    if (status == TOKFSM_OK)
        status = intern(b, list, m, oset);
    if (list != small)
        tf_release(&b->arena.allocator, list);
    return status;
}

/* ---- what an alternative asks of members and items ---- */

/* additional_properties="closed": the alternative has properties and says nothing of others. */
static bool closed_by_option(const tf_build *b, const tf_alternative *alternative)
{
    if (b->machine.options.additional_properties != TOKFSM_ADDITIONAL_CLOSED || b->ir.unclosed)
        return false;
    bool has_properties = false;
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        tf_obligation atom = alternative->atoms[i];
        if (tf_obligation_tag(atom) == TF_FACT &&
            b->facts.items[tf_obligation_index(atom)].kind == TF_UNEVALUATED)
            return false;
        if (tf_obligation_tag(atom) != TF_HOLDS)
            continue; /* a value or a fact evaluates no name (Core §11.3) */
        const tf_schema *s = schema_of(b, atom);
        if (s->additional != TF_NO_SCHEMA)
            return false;
        has_properties |= s->has_properties;
    }
    return has_properties;
}

/* What a schema that holds asks of a member: appended to the list. */
static tokfsm_status ask_member(tf_build *b, const tf_schema *s, const tf_name_view *name,
                                tf_obligation *list, uint32_t *n, bool *declared, bool *admits)
{
    bool evaluated = false;
    if (s->property_names != TF_NO_SCHEMA) {
        TF_TRY(tf_name_meets(b, name, s->property_names, admits));
        if (!*admits)
            return TOKFSM_OK;
    }
    uint32_t id = name->text == NULL ? TF_NO_SCHEMA
                                     : tf_ir_property(&b->ir, s, name->text, name->n);
    if (id != TF_NO_SCHEMA) {
        list[(*n)++] = tf_obligation_of(id, TF_HOLDS);
        evaluated = true;
    }
    for (uint32_t i = 0; i < s->n_pattern_properties; i++) {
        bool matches;
        TF_TRY(tf_name_matches(b, name, s->pattern_properties[i].number, &matches));
        if (matches)
            list[(*n)++] = tf_obligation_of(s->pattern_properties[i].schema, TF_HOLDS);
        evaluated |= matches;
    }
    *declared |= evaluated;
    if (!evaluated && s->additional != TF_NO_SCHEMA)
        list[(*n)++] = tf_obligation_of(s->additional, TF_HOLDS);
    return TOKFSM_OK;
}

/* The most obligations that one member can have. */
static size_t most_asked(const tf_build *b, const tf_alternative *alternative)
{
    size_t n = alternative->n_atoms;
    for (uint32_t i = 0; i < alternative->n_atoms; i++)
        if (tf_obligation_tag(alternative->atoms[i]) == TF_HOLDS)
            n += schema_of(b, alternative->atoms[i])->n_pattern_properties;
    return n;
}

/* What the atoms ask of a member under the name; *admits: whether it may be there at all. */
static tokfsm_status ask_atoms(tf_build *b, const tf_alternative *alternative,
                               const tf_name_view *view, tf_obligation *list, uint32_t *n, bool *admits)
{
    const char *name = view->text;
    uint32_t n_name = view->n;
    bool declared = false;
    *admits = false;
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        tf_obligation atom = alternative->atoms[i];
        if (tf_obligation_tag(atom) == TF_EQUALS) {
            uint32_t node = name == NULL ? TF_TAPE_NONE
                                         : tf_tape_get(&b->tape, tf_obligation_index(atom), name,
                                                       n_name);
            if (node == TF_TAPE_NONE)
                return TOKFSM_OK;
            list[(*n)++] = tf_obligation_of(node, TF_EQUALS);
            continue;
        }
        if (tf_obligation_tag(atom) == TF_FACT) {
            const tf_fact *fact = &b->facts.items[tf_obligation_index(atom)];
            bool about = name != NULL &&
                         (fact->kind == TF_MEMBER || fact->kind == TF_LACKS ||
                          fact->kind == TF_IF_THERE) &&
                         fact->n_name == n_name &&
                         (n_name == 0 || memcmp(fact->name, name, n_name) == 0);
            if (about && fact->kind == TF_LACKS)
                return TOKFSM_OK;
            bool evaluated = fact->kind != TF_UNEVALUATED;
            if (!evaluated)
                TF_TRY(tf_is_evaluated(b, fact, view, &evaluated));
            if (about || !evaluated)
                list[(*n)++] = fact->obligation;
            continue;
        }
        bool holds = true;
        TF_TRY(ask_member(b, schema_of(b, atom), view, list, n, &declared, &holds));
        if (!holds)
            return TOKFSM_OK;
    }
    *admits = declared || !closed_by_option(b, alternative);
    return TOKFSM_OK;
}

static tokfsm_status named_oset(tf_build *b, const tf_alternative *alternative,
                                const tf_name_view *view, tf_oset **oset)
{
    tf_obligation small[FEW], *list = small;
    size_t n_most = most_asked(b, alternative);
    *oset = NULL;
    if (n_most > FEW && (list = tf_allocate(&b->arena.allocator, n_most * sizeof *list)) == NULL)
        return no_memory(b);
    uint32_t n = 0;
    bool admits;
    tokfsm_status status = ask_atoms(b, alternative, view, list, &n, &admits);
    if (status == TOKFSM_OK && admits)
        status = tf_oset_of(b, list, n, oset);
    if (list != small)
        tf_release(&b->arena.allocator, list);
    return status;
}

tokfsm_status tf_member_oset(tf_build *b, const tf_alternative *alternative, const char *name,
                             uint32_t n_name, tf_oset **oset)
{
    tf_name_view view = {.text = name, .n = n_name};
    return named_oset(b, alternative, &view, oset);
}

tokfsm_status tf_other_oset(tf_build *b, const tf_alternative *alternative,
                            const tf_name_classes *classes, uint32_t class, tf_oset **oset)
{
    tf_name_view view = {.classes = classes, .class = class};
    return named_oset(b, alternative, &view, oset);
}

/* What the atoms ask of item i by itself; false: it is not admitted. */
static bool add_item_obligations(const tf_build *b, const tf_alternative *alternative, uint64_t i,
                                 tf_obligation *list, uint32_t *n)
{
    for (uint32_t k = 0; k < alternative->n_atoms; k++) {
        tf_obligation atom = alternative->atoms[k];
        if (tf_obligation_tag(atom) == TF_EQUALS) {
            uint32_t array = tf_obligation_index(atom);
            if (i >= b->tape.nodes[array].n)
                return false;
            list[(*n)++] = tf_obligation_of(tf_tape_item(&b->tape, array, (uint32_t)i), TF_EQUALS);
            continue;
        }
        if (tf_obligation_tag(atom) == TF_FACT) {
            const tf_fact *fact = &b->facts.items[tf_obligation_index(atom)];
            if ((fact->kind == TF_ITEM && fact->index == i) ||
                (fact->kind == TF_ITEMS_FROM && fact->index <= i))
                list[(*n)++] = fact->obligation;
            continue;
        }
        const tf_schema *s = schema_of(b, atom);
        uint32_t id = i < s->n_prefix ? s->prefix[i] : s->items;
        if (id != TF_NO_SCHEMA)
            list[(*n)++] = tf_obligation_of(id, TF_HOLDS);
    }
    return true;
}

tokfsm_status tf_item_oset(tf_build *b, const tf_alternative *alternative, uint64_t i,
                           tf_oset **oset)
{
    *oset = NULL;
    tf_obligation small[FEW], *list = small;
    uint64_t twin = i; /* the item that this one must be equal to */
    for (uint32_t k = 0; k < alternative->n_atoms; k++) {
        const tf_fact *fact = tf_obligation_tag(alternative->atoms[k]) == TF_FACT
                                  ? &b->facts.items[tf_obligation_index(alternative->atoms[k])]
                                  : NULL;
        if (fact != NULL && fact->kind == TF_TWIN && fact->index == i &&
            i < tf_prefix_length(b, alternative))
            twin = fact->min - 1;
    }
    if (alternative->n_atoms > FEW / 2 &&
        (list = tf_allocate(&b->arena.allocator, alternative->n_atoms * 2 * sizeof *list)) == NULL)
        return no_memory(b);
    uint32_t n = 0;
    bool admitted = add_item_obligations(b, alternative, i, list, &n);
    if (admitted && twin != i)
        admitted = add_item_obligations(b, alternative, twin, list, &n);
    tokfsm_status status = admitted ? tf_oset_of(b, list, n, oset) : TOKFSM_OK;
    if (list != small)
        tf_release(&b->arena.allocator, list);
    return status;
}

uint32_t tf_prefix_length(const tf_build *b, const tf_alternative *alternative)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        tf_obligation atom = alternative->atoms[i];
        uint32_t n;
        if (tf_obligation_tag(atom) == TF_FACT) {
            const tf_fact *fact = &b->facts.items[tf_obligation_index(atom)];
            n = fact->kind == TF_ITEM ? fact->index + 1
                : fact->kind == TF_ITEMS_FROM || fact->kind == TF_SOME_ITEMS ? fact->index
                                                                             : 0;
        } else if (tf_obligation_tag(atom) == TF_EQUALS) {
            n = b->tape.nodes[tf_obligation_index(atom)].n;
        } else {
            n = schema_of(b, atom)->n_prefix;
        }
        if (n > longest)
            longest = n;
    }
    return longest;
}

void tf_item_counts(const tf_build *b, const tf_alternative *alternative, uint64_t *min,
                    uint64_t *max)
{
    *min = 0;
    *max = TF_UNLIMITED;
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        tf_obligation atom = alternative->atoms[i];
        uint64_t least, most;
        if (tf_obligation_tag(atom) == TF_EQUALS) {
            least = most = b->tape.nodes[tf_obligation_index(atom)].n;
        } else if (tf_obligation_tag(atom) == TF_FACT) {
            const tf_fact *fact = &b->facts.items[tf_obligation_index(atom)];
            bool length = fact->kind == TF_LENGTH;
            least = length || fact->kind == TF_TWIN ? fact->min
                    : fact->kind == TF_ITEM         ? (uint64_t)fact->index + 1
                                                    : 0;
            most = length ? fact->max : TF_UNLIMITED;
        } else {
            least = schema_of(b, atom)->min_items;
            most = schema_of(b, atom)->max_items;
        }
        if (least > *min)
            *min = least;
        if (most < *max)
            *max = most;
    }
}

/* Visit the members of an object of the tape. */
static tokfsm_status each_member(const tf_build *b, uint32_t object, tf_name_visitor visit,
                                 void *context)
{
    const tf_tape_node *nodes = b->tape.nodes;
    for (uint32_t name = object + 1; name < nodes[object].next; name = nodes[name + 1].next)
        TF_TRY(visit(context, nodes[name].text, nodes[name].n));
    return TOKFSM_OK;
}

static tokfsm_status each_property(const tf_schema *s, tf_name_visitor visit, void *context)
{
    for (uint32_t k = 0; k < s->n_properties; k++)
        TF_TRY(visit(context, s->properties[k].name, s->properties[k].n_name));
    return TOKFSM_OK;
}

/* Names that the patterns of a schema spell out. */
static tokfsm_status each_spelled(const tf_build *b, const tf_schema *s, tf_name_visitor visit,
                                  void *context)
{
    for (uint32_t k = 0; k < s->n_pattern_properties; k++)
        TF_TRY(tf_each_spelled(b, s->pattern_properties[k].number, visit, context));
    return TOKFSM_OK;
}

tokfsm_status tf_each_required(const tf_build *b, const tf_alternative *alternative,
                               tf_name_visitor visit, void *context)
{
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        tf_obligation atom = alternative->atoms[i];
        if (tf_obligation_tag(atom) == TF_EQUALS) {
            TF_TRY(each_member(b, tf_obligation_index(atom), visit, context));
            continue;
        }
        if (tf_obligation_tag(atom) == TF_FACT) {
            const tf_fact *fact = &b->facts.items[tf_obligation_index(atom)];
            if (fact->kind == TF_MEMBER)
                TF_TRY(visit(context, fact->name, fact->n_name));
            continue;
        }
        const tf_schema *s = schema_of(b, atom);
        for (uint32_t k = 0; k < s->n_required; k++)
            TF_TRY(visit(context, s->required[k].text, s->required[k].n));
    }
    return TOKFSM_OK;
}

tokfsm_status tf_each_name(tf_build *b, const tf_alternative *alternative,
                           tf_name_visitor visit, void *context)
{
    TF_TRY(tf_each_declared(b, alternative, visit, context));
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        tf_obligation atom = alternative->atoms[i];
        if (tf_obligation_tag(atom) == TF_EQUALS)
            continue;
        if (tf_obligation_tag(atom) != TF_FACT) {
            TF_TRY(each_spelled(b, schema_of(b, atom), visit, context));
            continue;
        }
        const tf_fact *fact = &b->facts.items[tf_obligation_index(atom)];
        if (fact->kind == TF_SOME_MEMBER)
            TF_TRY(each_spelled(b, &b->ir.schemas[fact->index], visit, context));
        for (uint32_t k = 0; k < fact->n_list; k++)
            TF_TRY(each_spelled(b, &b->ir.schemas[fact->list[k]], visit, context));
    }
    return TOKFSM_OK;
}

tokfsm_status tf_each_declared(tf_build *b, const tf_alternative *alternative,
                               tf_name_visitor visit, void *context)
{
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        tf_obligation atom = alternative->atoms[i];
        if (tf_obligation_tag(atom) == TF_EQUALS) {
            TF_TRY(each_member(b, tf_obligation_index(atom), visit, context));
            continue;
        }
        if (tf_obligation_tag(atom) == TF_FACT) {
            const tf_fact *fact = &b->facts.items[tf_obligation_index(atom)];
            if (fact->kind == TF_LACKS || fact->kind == TF_IF_THERE) /* others are required */
                TF_TRY(visit(context, fact->name, fact->n_name));
            if (fact->kind == TF_SOME_MEMBER) {
                const tf_schema *about = &b->ir.schemas[fact->index];
                TF_TRY(each_property(about, visit, context));
                if (about->property_names != TF_NO_SCHEMA)
                    TF_TRY(tf_each_spelled_name(b, about->property_names, visit, context));
                for (uint32_t k = 0; k < fact->n_list; k++)
                    TF_TRY(each_property(&b->ir.schemas[fact->list[k]], visit, context));
            }
            continue;
        }
        TF_TRY(each_property(schema_of(b, atom), visit, context));
        if (schema_of(b, atom)->property_names != TF_NO_SCHEMA)
            TF_TRY(tf_each_spelled_name(b, schema_of(b, atom)->property_names, visit, context));
    }
    return tf_each_required(b, alternative, visit, context);
}

static uint32_t hash_of_fact(const tf_fact *fact)
{
    uint32_t hash = hash_of(fact->list, fact->n_list);
    const uint32_t words[] = {(uint32_t)fact->kind, fact->index, fact->names, fact->obligation,
                              (uint32_t)fact->min, (uint32_t)fact->max, fact->n_name};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = (hash ^ words[i]) * 16777619u;
    for (uint32_t i = 0; i < fact->n_name; i++)
        hash = (hash ^ (uint8_t)fact->name[i]) * 16777619u;
    return hash ^ hash >> 15;
}

static bool same_fact(const tf_fact *a, const tf_fact *b)
{
    return a->kind == b->kind && a->n_name == b->n_name && a->index == b->index &&
           a->names == b->names && a->obligation == b->obligation && a->min == b->min &&
           a->max == b->max && a->n_list == b->n_list &&
           (b->n_list == 0 || memcmp(a->list, b->list, b->n_list * sizeof *b->list) == 0) &&
           (b->n_name == 0 || memcmp(a->name, b->name, b->n_name) == 0);
}

tokfsm_status tf_fact_of(tf_build *b, const tf_fact *fact, uint32_t *index)
{
    uint32_t hash = hash_of_fact(fact), at = TF_NONE;
    TF_TRY(tf_spend(b->budget, b->err));
    while ((*index = tf_index_next(&b->facts_index, hash, &at)) != TF_NONE)
        if (same_fact(&b->facts.items[*index], fact))
            return TOKFSM_OK;
    if (!tf_grow(&b->arena.allocator, (void **)&b->facts.items, b->facts.n, &b->facts.capacity,
                 sizeof *fact))
        return no_memory(b);
    uint32_t *list = tf_arena_take(&b->arena, fact->n_list * sizeof *list);
    if (list == NULL)
        return no_memory(b);
    if (fact->n_list > 0)
        memcpy(list, fact->list, fact->n_list * sizeof *list);
    TF_TRY(tf_index_add(b, &b->facts_index, hash, (uint32_t)b->facts.n));
    b->facts.items[b->facts.n] = *fact;
    b->facts.items[b->facts.n].list = list;
    *index = (uint32_t)b->facts.n++;
    return TOKFSM_OK;
}

void tf_member_counts(const tf_build *b, const tf_alternative *alternative, uint64_t *min,
                      uint64_t *max)
{
    *min = 0;
    *max = TF_UNLIMITED;
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        tf_obligation atom = alternative->atoms[i];
        uint64_t least = 0, most = TF_UNLIMITED;
        if (tf_obligation_tag(atom) == TF_FACT) {
            const tf_fact *fact = &b->facts.items[tf_obligation_index(atom)];
            if (fact->kind == TF_COUNT) {
                least = fact->min;
                most = fact->max;
            }
        } else if (tf_obligation_tag(atom) == TF_HOLDS) {
            least = schema_of(b, atom)->min_properties;
            most = schema_of(b, atom)->max_properties;
        }
        *min = least > *min ? least : *min;
        *max = most < *max ? most : *max;
    }
}
