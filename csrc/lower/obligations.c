/*
 * Obligation sets: interned conjunctions; and their expansion into alternatives for objects
 * and arrays (a disjunctive normal form, one level deep, with a limit instead of a blow-up).
 */
#include "build.h"

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
    if (tf_obligation_tag(o) == TF_HOLDS) {
        uint32_t id = through_references(b, tf_obligation_index(o));
        if (always_holds(&b->ir.schemas[id]))
            return;
        o = tf_obligation_of(id, TF_HOLDS);
    }
    for (uint32_t i = 0; i < *n; i++)
        if (list[i] == o)
            return;
    list[(*n)++] = o;
}

static uint32_t hash_of(const uint32_t *items, uint32_t n)
{
    uint32_t hash = 2166136261u ^ n;
    for (uint32_t i = 0; i < n; i++)
        hash = (hash ^ items[i]) * 16777619u;
    return hash ^ hash >> 15;
}

tokfsm_status tf_oset_of(tf_build *b, const tf_obligation *items, uint32_t n, tf_oset **oset)
{
    TF_TRY(tf_spend(b->budget, b->err));
    tf_obligation small[32], *list = small;
    if (n > 32 && (list = tf_arena_take(&b->arena, n * sizeof *list)) == NULL)
        return no_memory(b);
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++)
        add_obligation(b, list, &m, items[i]);
    uint32_t hash = hash_of(list, m);
    uint32_t *head = &b->oset_heads[hash % 1024];
    for (uint32_t i = *head; i != 0; i = b->osets.items[i - 1]->next) {
        tf_oset *known = b->osets.items[i - 1];
        if (known->hash == hash && known->n == m &&
            memcmp(known->items, list, m * sizeof *list) == 0) {
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
    made->hash = hash;
    made->id = (uint32_t)b->osets.n;
    made->next = *head;
    b->osets.items[b->osets.n++] = made;
    *head = (uint32_t)b->osets.n;
    *oset = made;
    return TOKFSM_OK;
}

/* ---- expansion ---- */

/* What a conjunction on its way still has to look at: `what` of a schema or a tape node. */
typedef struct task {
    enum { HOLDS, EQUALS, CHOOSE_VALUE, CHOOSE_BRANCH } what;
    uint32_t index;
} task;

typedef struct partial {
    struct partial *next;
    uint32_t n_tasks, tasks_capacity;
    uint32_t n_atoms, atoms_capacity;
    task *tasks; /* a stack, so that alternatives and atoms come in text order */
    tf_obligation *atoms;
    uint32_t equals; /* tape node that the value must equal, or TF_TAPE_NONE */
} partial;

typedef struct expansion {
    tf_build *b;
    bool object;
    partial **queue_end; /* breadth-first, so that branches stay in text order */
    struct { const tf_alternative **items; size_t n, capacity; } found;
    tf_arena scratch;
} expansion;

/* Room for one more item in a scratch array that doubles. */
static bool make_room(expansion *e, void **items, uint32_t n, uint32_t *capacity, size_t item_bytes)
{
    if (n < *capacity)
        return true;
    uint32_t grown = *capacity == 0 ? 8 : *capacity * 2;
    void *fresh = tf_arena_take(&e->scratch, grown * item_bytes);
    if (fresh == NULL)
        return false;
    if (n > 0)
        memcpy(fresh, *items, n * item_bytes);
    *items = fresh;
    *capacity = grown;
    return true;
}

static tokfsm_status push(expansion *e, partial *p, task t)
{
    if (!make_room(e, (void **)&p->tasks, p->n_tasks, &p->tasks_capacity, sizeof t))
        return no_memory(e->b);
    p->tasks[p->n_tasks++] = t;
    return TOKFSM_OK;
}

static tokfsm_status add_atom(expansion *e, partial *p, tf_obligation atom)
{
    if (!make_room(e, (void **)&p->atoms, p->n_atoms, &p->atoms_capacity, sizeof atom))
        return no_memory(e->b);
    p->atoms[p->n_atoms++] = atom;
    return TOKFSM_OK;
}

/* A copy of p with one more task, at the end of the queue. */
static tokfsm_status branch(expansion *e, const partial *p, task t)
{
    partial *copy = tf_arena_take(&e->scratch, sizeof *copy);
    if (copy == NULL)
        return no_memory(e->b);
    *copy = *p;
    copy->tasks_capacity = copy->n_tasks; /* so that growing does not touch what is shared */
    copy->atoms_capacity = copy->n_atoms;
    copy->next = NULL;
    TF_TRY(push(e, copy, t));
    *e->queue_end = copy;
    e->queue_end = &copy->next;
    return tf_spend(e->b->budget, e->b->err);
}

static tokfsm_status expand_schema(expansion *e, partial *p, uint32_t id, bool *dead)
{
    const tf_schema *s = &e->b->ir.schemas[id];
    if (s->is_false || !(s->types & (e->object ? TF_TYPE_OBJECT : TF_TYPE_ARRAY))) {
        *dead = true;
        return TOKFSM_OK;
    }
    if (e->object ? s->has_object : s->has_array) {
        tf_obligation atom = tf_obligation_of(id, TF_HOLDS);
        for (uint32_t i = 0; i < p->n_atoms; i++)
            if (p->atoms[i] == atom)
                return TOKFSM_OK; /* met before on this way: all of it is there or to come */
        TF_TRY(add_atom(e, p, atom));
    }
    if (s->has_any_of)
        TF_TRY(push(e, p, (task){CHOOSE_BRANCH, id}));
    if (s->has_values)
        TF_TRY(push(e, p, (task){CHOOSE_VALUE, id}));
    for (uint32_t i = s->n_all_of; i-- > 0;)
        TF_TRY(push(e, p, (task){HOLDS, s->all_of[i]}));
    if (s->reference != TF_NO_SCHEMA)
        TF_TRY(push(e, p, (task){HOLDS, s->reference}));
    return TOKFSM_OK;
}

static tokfsm_status expand_equal(expansion *e, partial *p, uint32_t node, bool *dead)
{
    const tf_tape *tape = &e->b->tape;
    if (tape->nodes[node].type != (e->object ? TF_JSON_OBJECT : TF_JSON_ARRAY)) {
        *dead = true;
    } else if (p->equals == TF_TAPE_NONE) {
        p->equals = node;
        return add_atom(e, p, tf_obligation_of(node, TF_EQUALS));
    } else {
        *dead = !tf_tape_equal(tape, p->equals, tape, node);
    }
    return TOKFSM_OK;
}

static tokfsm_status finish(expansion *e, const partial *p)
{
    tf_build *b = e->b;
    for (size_t i = 0; i < e->found.n; i++) {
        const tf_alternative *known = e->found.items[i];
        if (known->n_atoms == p->n_atoms &&
            (p->n_atoms == 0 || memcmp(known->atoms, p->atoms, p->n_atoms * sizeof *p->atoms) == 0))
            return TOKFSM_OK;
    }
    if (e->found.n >= TF_MAX_ALTERNATIVES)
        return tf_fail(b->err, TOKFSM_E_LIMIT, "over %u alternatives for one value",
                       TF_MAX_ALTERNATIVES);
    tokfsm_status status = TOKFSM_OK;
    tf_alternative *made = tf_take(b, sizeof *made, &status);
    tf_obligation *atoms = tf_take(b, p->n_atoms * sizeof *atoms, &status);
    if (status != TOKFSM_OK)
        return status;
    if (p->n_atoms > 0)
        memcpy(atoms, p->atoms, p->n_atoms * sizeof *atoms);
    *made = (tf_alternative){p->n_atoms, atoms};
    if (!tf_grow(&b->arena.allocator, (void **)&e->found.items, e->found.n, &e->found.capacity,
                 sizeof *e->found.items))
        return no_memory(b);
    e->found.items[e->found.n++] = made;
    return TOKFSM_OK;
}

/* Work p off until it is a whole alternative, is dead, or has been split. */
static tokfsm_status work_off(expansion *e, partial *p)
{
    const tf_build *b = e->b;
    bool dead = false;
    while (p->n_tasks > 0 && !dead) {
        TF_TRY(tf_spend(b->budget, b->err));
        task t = p->tasks[--p->n_tasks];
        const tf_schema *s = &b->ir.schemas[t.what == EQUALS ? 0 : t.index];
        switch (t.what) {
        case HOLDS: TF_TRY(expand_schema(e, p, t.index, &dead)); break;
        case EQUALS: TF_TRY(expand_equal(e, p, t.index, &dead)); break;
        case CHOOSE_VALUE:
            for (uint32_t i = 0; i < s->n_values; i++)
                TF_TRY(branch(e, p, (task){EQUALS, s->values[i]}));
            return TOKFSM_OK;
        case CHOOSE_BRANCH:
            for (uint32_t i = 0; i < s->n_any_of; i++)
                TF_TRY(branch(e, p, (task){HOLDS, s->any_of[i]}));
            return TOKFSM_OK;
        }
    }
    return dead ? TOKFSM_OK : finish(e, p);
}

static tokfsm_status run_expansion(expansion *e, const tf_oset *oset)
{
    partial first = {0};
    first.equals = TF_TAPE_NONE;
    for (uint32_t i = oset->n; i-- > 0;) {
        tf_obligation o = oset->items[i];
        TF_TRY(push(e, &first, (task){tf_obligation_tag(o) == TF_EQUALS ? EQUALS : HOLDS,
                                      tf_obligation_index(o)}));
    }
    partial *head = tf_arena_take(&e->scratch, sizeof *head);
    if (head == NULL)
        return no_memory(e->b);
    *head = first;
    e->queue_end = &head->next;
    for (; head != NULL; head = head->next)
        TF_TRY(work_off(e, head));
    return TOKFSM_OK;
}

tokfsm_status tf_expand(tf_build *b, tf_oset *oset, bool object, const tf_alternatives **found)
{
    const tf_alternatives **memo = object ? &oset->object : &oset->array;
    if (*memo == NULL) {
        expansion e = {.b = b, .object = object};
        tf_arena_init(&e.scratch, &b->arena.allocator);
        tokfsm_status status = run_expansion(&e, oset);
        tf_alternatives *list = tf_take(b, sizeof *list, &status);
        const tf_alternative **items = tf_take(b, e.found.n * sizeof *items, &status);
        if (status == TOKFSM_OK) {
            if (e.found.n > 0)
                memcpy(items, e.found.items, e.found.n * sizeof *items);
            *list = (tf_alternatives){(uint32_t)e.found.n, items};
            *memo = list;
        }
        tf_release(&b->arena.allocator, e.found.items);
        tf_arena_free(&e.scratch);
        if (status != TOKFSM_OK)
            return status;
    }
    *found = *memo;
    return TOKFSM_OK;
}

/* ---- what an alternative asks of members and items ---- */

/* additional_properties="closed": the alternative has properties and says nothing of others. */
static bool closed_by_option(const tf_build *b, const tf_alternative *alternative)
{
    if (b->machine.options.additional_properties != TOKFSM_ADDITIONAL_CLOSED)
        return false;
    bool has_properties = false;
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        tf_obligation atom = alternative->atoms[i];
        if (tf_obligation_tag(atom) == TF_EQUALS)
            return false; /* says all there is to say */
        const tf_schema *s = schema_of(b, atom);
        if (s->additional != TF_NO_SCHEMA)
            return false;
        has_properties |= s->has_properties;
    }
    return has_properties;
}

tokfsm_status tf_member_oset(tf_build *b, const tf_alternative *alternative, const char *name,
                             uint32_t n_name, tf_oset **oset)
{
    *oset = NULL;
    tf_obligation small[32], *list = small;
    if (alternative->n_atoms > 32 &&
        (list = tf_arena_take(&b->arena, alternative->n_atoms * sizeof *list)) == NULL)
        return no_memory(b);
    uint32_t n = 0;
    bool declared = false;
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        tf_obligation atom = alternative->atoms[i];
        if (tf_obligation_tag(atom) == TF_EQUALS) {
            uint32_t node = name == NULL ? TF_TAPE_NONE
                                         : tf_tape_get(&b->tape, tf_obligation_index(atom), name,
                                                       n_name);
            if (node == TF_TAPE_NONE)
                return TOKFSM_OK;
            declared = true;
            list[n++] = tf_obligation_of(node, TF_EQUALS);
            continue;
        }
        const tf_schema *s = schema_of(b, atom);
        uint32_t id = name == NULL ? TF_NO_SCHEMA : tf_ir_property(&b->ir, s, name, n_name);
        declared |= id != TF_NO_SCHEMA;
        if (id == TF_NO_SCHEMA)
            id = s->additional;
        if (id != TF_NO_SCHEMA)
            list[n++] = tf_obligation_of(id, TF_HOLDS);
    }
    if (!declared && closed_by_option(b, alternative))
        return TOKFSM_OK;
    return tf_oset_of(b, list, n, oset);
}

tokfsm_status tf_item_oset(tf_build *b, const tf_alternative *alternative, uint64_t i,
                           tf_oset **oset)
{
    *oset = NULL;
    tf_obligation small[32], *list = small;
    if (alternative->n_atoms > 32 &&
        (list = tf_arena_take(&b->arena, alternative->n_atoms * sizeof *list)) == NULL)
        return no_memory(b);
    uint32_t n = 0;
    for (uint32_t k = 0; k < alternative->n_atoms; k++) {
        tf_obligation atom = alternative->atoms[k];
        if (tf_obligation_tag(atom) == TF_EQUALS) {
            uint32_t array = tf_obligation_index(atom);
            if (i >= b->tape.nodes[array].n)
                return TOKFSM_OK;
            list[n++] = tf_obligation_of(tf_tape_item(&b->tape, array, (uint32_t)i), TF_EQUALS);
            continue;
        }
        const tf_schema *s = schema_of(b, atom);
        uint32_t id = i < s->n_prefix ? s->prefix[i] : s->items;
        if (id != TF_NO_SCHEMA)
            list[n++] = tf_obligation_of(id, TF_HOLDS);
    }
    return tf_oset_of(b, list, n, oset);
}

uint32_t tf_prefix_length(const tf_build *b, const tf_alternative *alternative)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        tf_obligation atom = alternative->atoms[i];
        uint32_t n = tf_obligation_tag(atom) == TF_EQUALS
                         ? b->tape.nodes[tf_obligation_index(atom)].n
                         : schema_of(b, atom)->n_prefix;
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

tokfsm_status tf_each_required(const tf_build *b, const tf_alternative *alternative,
                               tf_name_visitor visit, void *context)
{
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        tf_obligation atom = alternative->atoms[i];
        if (tf_obligation_tag(atom) == TF_EQUALS) {
            TF_TRY(each_member(b, tf_obligation_index(atom), visit, context));
            continue;
        }
        const tf_schema *s = schema_of(b, atom);
        for (uint32_t k = 0; k < s->n_required; k++)
            TF_TRY(visit(context, s->required[k].text, s->required[k].n));
    }
    return TOKFSM_OK;
}

tokfsm_status tf_each_name(const tf_build *b, const tf_alternative *alternative,
                           tf_name_visitor visit, void *context)
{
    for (uint32_t i = 0; i < alternative->n_atoms; i++) {
        tf_obligation atom = alternative->atoms[i];
        if (tf_obligation_tag(atom) == TF_EQUALS) {
            TF_TRY(each_member(b, tf_obligation_index(atom), visit, context));
            continue;
        }
        const tf_schema *s = schema_of(b, atom);
        for (uint32_t k = 0; k < s->n_properties; k++)
            TF_TRY(visit(context, s->properties[k].name, s->properties[k].n_name));
    }
    return tf_each_required(b, alternative, visit, context);
}
