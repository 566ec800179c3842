/*
 * Scalars need no expansion: what an obligation set says of a string, number, boolean or null
 * is a boolean formula, evaluated on one value (or on "some value that no enum names").
 */
#include "name_classes.h"

/* Nesting of in-place applicators. The C stack holds one small frame for each. */
enum { MAX_NESTING = 1000 };

struct tf_values_index {
    uint32_t n_slots; /* a power of two */
    uint32_t slots[]; /* tape node or TF_TAPE_NONE */
};

/* Hash index over the values of a large enum. */
static tokfsm_status index_of(tf_build *b, const tf_schema *s, const tf_values_index **index)
{
    tf_values_index **slot = &b->values_index[s - b->ir.schemas];
    if (*slot == NULL) {
        uint32_t n_slots = 64;
        while (n_slots < s->n_values * 2)
            n_slots *= 2;
        tokfsm_status status = TOKFSM_OK;
        tf_values_index *made = tf_take(b, sizeof *made + n_slots * sizeof made->slots[0], &status);
        if (status != TOKFSM_OK)
            return status;
        made->n_slots = n_slots;
        memset(made->slots, 0xFF, n_slots * sizeof made->slots[0]);
        for (uint32_t i = 0; i < s->n_values; i++) {
            uint32_t at = (uint32_t)tf_tape_hash(&b->tape, s->values[i]) & (n_slots - 1);
            while (made->slots[at] != TF_TAPE_NONE &&
                   !tf_tape_equal(&b->tape, made->slots[at], &b->tape, s->values[i])) {
                TF_TRY(tf_spend(b->budget, b->err));
                at = (at + 1) & (n_slots - 1);
            }
            made->slots[at] = s->values[i];
        }
        *slot = made;
    }
    *index = *slot;
    return TOKFSM_OK;
}

static tokfsm_status among_values(tf_build *b, const tf_schema *s, uint32_t node, bool *found)
{
    *found = false;
    if (node == TF_TAPE_NONE)
        return TOKFSM_OK;
    if (s->n_values <= 16) {
        for (uint32_t i = 0; i < s->n_values && !*found; i++)
            *found = tf_tape_equal(&b->tape, s->values[i], &b->tape, node);
        return TOKFSM_OK;
    }
    const tf_values_index *index;
    TF_TRY(index_of(b, s, &index));
    uint32_t at = (uint32_t)tf_tape_hash(&b->tape, node) & (index->n_slots - 1);
    for (; index->slots[at] != TF_TAPE_NONE && !*found; at = (at + 1) & (index->n_slots - 1)) {
        TF_TRY(tf_spend(b->budget, b->err));
        *found = tf_tape_equal(&b->tape, index->slots[at], &b->tape, node);
    }
    return TOKFSM_OK;
}

/* A name is among the strings of an enum; one that is known by its class only is not. */
static tokfsm_status among_names(tf_build *b, const tf_schema *s, const tf_name_view *name,
                                 bool *found)
{
    *found = false;
    for (uint32_t i = 0; i < s->n_values && name->text != NULL && !*found; i++) {
        const tf_tape_node *node = &b->tape.nodes[s->values[i]];
        TF_TRY(tf_spend(b->budget, b->err));
        *found = node->type == TF_JSON_STRING && node->n == name->n &&
                 (name->n == 0 || memcmp(node->text, name->text, name->n) == 0);
    }
    return TOKFSM_OK;
}

static bool type_admits(const tf_schema *s, const tf_scalar *v)
{
    switch (v->type) {
    case TF_JSON_NULL: return s->types & TF_TYPE_NULL;
    case TF_JSON_FALSE:
    case TF_JSON_TRUE: return s->types & TF_TYPE_BOOLEAN;
    case TF_JSON_STRING: return s->types & TF_TYPE_STRING;
    default:
        return (s->types & TF_TYPE_NUMBER) ||
               ((s->types & TF_TYPE_INTEGER) && v->is_integer &&
                !(v->pointed && s->pointed_is_no_integer));
    }
}

/* Bounds and divisor of a schema; only for numbers. */
static bool number_holds(const tf_schema *s, const tf_scalar *v)
{
    const void *c = v->context;
    return (s->minimum == NULL || v->compare(c, s->minimum) >= 0) &&
           (s->maximum == NULL || v->compare(c, s->maximum) <= 0) &&
           (s->exclusive_minimum == NULL || v->compare(c, s->exclusive_minimum) > 0) &&
           (s->exclusive_maximum == NULL || v->compare(c, s->exclusive_maximum) < 0) &&
           (s->multiple_of == NULL || v->divides(c, s->multiple_of));
}

/*
 * The answer is a language: which strings do. Of everything that is known whole it is one of
 * the two that need no automaton.
 */
enum { NONE = 0, ALL = 1 };

static tokfsm_status negation(tf_build *b, const tf_scalar *v, uint32_t *language)
{
    if (*language <= ALL) {
        *language = *language == NONE ? ALL : NONE;
        return TOKFSM_OK;
    }
    return tf_dfa_not(v->set->dfa, *language, b->budget, language, b->err);
}

/* *language becomes what is in both. */
static tokfsm_status narrow(tf_build *b, const tf_scalar *v, uint32_t *language, uint32_t other)
{
    if (*language <= ALL || other <= ALL) {
        *language = *language == ALL ? other : other == ALL ? *language : NONE;
        return TOKFSM_OK;
    }
    uint32_t both[2] = {*language, other};
    return tf_dfa_and(v->set->dfa, both, 2, b->budget, language, b->err);
}

/* *language becomes what is in one of them. */
static tokfsm_status widen(tf_build *b, const tf_scalar *v, uint32_t *language, uint32_t other)
{
    if (*language <= ALL || other <= ALL) {
        *language = *language == NONE ? other : other == NONE ? *language : ALL;
        return TOKFSM_OK;
    }
    uint32_t both[2] = {*language, other};
    return tf_dfa_or(v->set->dfa, both, 2, b->budget, language, b->err);
}

static tokfsm_status match(tf_build *b, const tf_scalar *v, uint32_t pattern, uint32_t *language)
{
    if (*language == NONE || pattern == TF_NO_PATTERN)
        return TOKFSM_OK;
    if (v->name != NULL) {
        bool named;
        TF_TRY(tf_name_matches(b, v->name, pattern, &named));
        return narrow(b, v, language, named ? ALL : NONE);
    }
    if (v->set != NULL)
        return narrow(b, v, language, tf_pattern_set_language(v->set, pattern));
    bool matches = false;
    if (v->text != NULL)
        TF_TRY(tf_pattern_matches(b, pattern, v->text, v->n, &matches));
    return narrow(b, v, language, matches ? ALL : NONE);
}

static tokfsm_status string_holds(tf_build *b, uint32_t id, const tf_scalar *v, uint32_t *language)
{
    const tf_schema *s = &b->ir.schemas[id];
    uint64_t most = s->max_length < b->format_most[id] ? s->max_length : b->format_most[id];
    if (v->lengths_as_patterns) {
        uint32_t lengths;
        TF_TRY(tf_pattern_of_lengths(b, s->min_length, most, &lengths));
        TF_TRY(match(b, v, lengths, language));
    } else if (v->n_chars < s->min_length || v->n_chars > most) {
        *language = NONE;
    }
    TF_TRY(match(b, v, b->pattern_of[id], language));
    return match(b, v, b->format_of[id], language);
}

static tokfsm_status evaluate(tf_build *b, uint32_t id, const tf_scalar *v, uint32_t nesting,
                              uint32_t *language);

/* *language, narrowed by what schema `id` says; nothing is asked where it is empty already. */
static tokfsm_status also(tf_build *b, uint32_t id, const tf_scalar *v, uint32_t nesting,
                          bool holds, uint32_t *language)
{
    uint32_t other;
    if (*language == NONE || id == TF_NO_SCHEMA)
        return TOKFSM_OK;
    TF_TRY(evaluate(b, id, v, nesting + 1, &other));
    if (!holds)
        TF_TRY(negation(b, v, &other));
    return narrow(b, v, language, other);
}

/* Exactly one of the branches. */
static tokfsm_status one_of(tf_build *b, const tf_schema *s, const tf_scalar *v, uint32_t nesting,
                            uint32_t *language)
{
    uint32_t none = ALL, one = NONE;
    for (uint32_t i = 0; i < s->n_one_of && (none != NONE || one != NONE); i++) {
        uint32_t branch, first = none, not_branch;
        TF_TRY(evaluate(b, s->one_of[i], v, nesting + 1, &branch));
        not_branch = branch;
        TF_TRY(negation(b, v, &not_branch));
        TF_TRY(narrow(b, v, &first, branch));
        TF_TRY(narrow(b, v, &one, not_branch));
        TF_TRY(widen(b, v, &one, first));
        TF_TRY(narrow(b, v, &none, not_branch));
    }
    return narrow(b, v, language, one);
}

static tokfsm_status evaluate(tf_build *b, uint32_t id, const tf_scalar *v, uint32_t nesting,
                              uint32_t *language)
{
    const tf_schema *s = &b->ir.schemas[id];
    TF_TRY(tf_spend(b->budget, b->err));
    if (nesting > MAX_NESTING)
        return tf_fail_node(b->err, TOKFSM_E_LIMIT, &b->tape, s->node, "",
                            "schemas that apply in place are nested deeper than %d", MAX_NESTING);
    *language = !s->is_false && type_admits(s, v) ? ALL : NONE;
    if (*language == ALL && v->type == TF_JSON_NUMBER && s->has_number && !number_holds(s, v))
        *language = NONE;
    if (*language == ALL && s->has_values) {
        bool among;
        TF_TRY(v->name != NULL ? among_names(b, s, v->name, &among)
                               : among_values(b, s, v->node, &among));
        *language = among ? ALL : NONE;
    }
    if (*language == ALL && v->type == TF_JSON_STRING && s->has_string)
        TF_TRY(string_holds(b, id, v, language));
    TF_TRY(also(b, s->reference, v, nesting, true, language));
    TF_TRY(also(b, s->not_schema, v, nesting, false, language));
    if (*language != NONE && s->if_schema != TF_NO_SCHEMA) {
        uint32_t then, otherwise;
        TF_TRY(evaluate(b, s->if_schema, v, nesting + 1, &then));
        otherwise = then;
        TF_TRY(negation(b, v, &otherwise));
        TF_TRY(also(b, s->then_schema, v, nesting, true, &then));
        TF_TRY(also(b, s->else_schema, v, nesting, true, &otherwise));
        TF_TRY(widen(b, v, &then, otherwise));
        TF_TRY(narrow(b, v, language, then));
    }
    if (*language != NONE && s->has_one_of)
        TF_TRY(one_of(b, s, v, nesting, language));
    for (uint32_t i = 0; i < s->n_all_of; i++)
        TF_TRY(also(b, s->all_of[i], v, nesting, true, language));
    if (*language != NONE && s->has_any_of) {
        uint32_t any = NONE, branch;
        for (uint32_t i = 0; i < s->n_any_of && any != ALL; i++) {
            TF_TRY(evaluate(b, s->any_of[i], v, nesting + 1, &branch));
            TF_TRY(widen(b, v, &any, branch));
        }
        TF_TRY(narrow(b, v, language, any));
    }
    return TOKFSM_OK;
}

tokfsm_status tf_evaluate_schema(tf_build *b, uint32_t id, const tf_scalar *scalar,
                                 uint32_t *language)
{
    return evaluate(b, id, scalar, 0, language);
}

tokfsm_status tf_evaluate_language(tf_build *b, const tf_oset *oset, const tf_scalar *scalar,
                                   uint32_t *language)
{
    *language = ALL;
    for (uint32_t i = 0; i < oset->n && *language != NONE; i++) {
        uint32_t index = tf_obligation_index(oset->items[i]), tag = tf_obligation_tag(oset->items[i]);
        uint32_t one = NONE;
        if (tag == TF_HOLDS || tag == TF_FAILS)
            TF_TRY(evaluate(b, index, scalar, 0, &one));
        else if (scalar->node != TF_TAPE_NONE &&
                 tf_tape_equal(&b->tape, index, &b->tape, scalar->node))
            one = ALL;
        if (tag == TF_FAILS || tag == TF_DIFFERS)
            TF_TRY(negation(b, scalar, &one));
        TF_TRY(narrow(b, scalar, language, one));
    }
    return TOKFSM_OK;
}

tokfsm_status tf_evaluate(tf_build *b, const tf_oset *oset, const tf_scalar *scalar, bool *holds)
{
    uint32_t language;
    TF_TRY(tf_evaluate_language(b, oset, scalar, &language));
    *holds = language != NONE;
    return TOKFSM_OK;
}

tokfsm_status tf_may_equal(tf_build *b, const tf_oset *oset, uint32_t node, bool *may)
{
    const tf_tape_node *n = &b->tape.nodes[node];
    if (n->type == TF_JSON_NUMBER)
        return tf_numbers_may_equal(b, oset, node, may);
    tf_scalar scalar = {.type = n->type, .node = node};
    if (n->type == TF_JSON_STRING) {
        scalar.text = n->text;
        scalar.n = n->n;
    }
    for (uint32_t i = 0; n->type == TF_JSON_STRING && i < n->n; i++)
        scalar.n_chars += ((uint8_t)n->text[i] & 0xC0u) != 0x80u;
    return tf_evaluate(b, oset, &scalar, may);
}

/* Depth-first over in-place applicators, each schema once. */
typedef struct in_place {
    tf_build *b;
    uint32_t *marks; /* a bit each schema */
    struct { uint32_t *items; size_t n, capacity; } stack;
} in_place;

static tokfsm_status in_place_push(in_place *p, uint32_t id)
{
    if (p->marks[id / 32] >> (id % 32) & 1u)
        return TOKFSM_OK;
    p->marks[id / 32] |= (uint32_t)1 << (id % 32);
    if (!tf_grow(&p->b->arena.allocator, (void **)&p->stack.items, p->stack.n, &p->stack.capacity,
                 sizeof *p->stack.items))
        return tf_fail(p->b->err, TOKFSM_E_NOMEM, "no memory while compiling");
    p->stack.items[p->stack.n++] = id;
    return TOKFSM_OK;
}

static tokfsm_status in_place_run(in_place *p, tf_schema_visitor schema, void *context)
{
    while (p->stack.n > 0) {
        const tf_schema *s = &p->b->ir.schemas[p->stack.items[--p->stack.n]];
        TF_TRY(tf_spend(p->b->budget, p->b->err));
        TF_TRY(schema(p->b, context, s));
        for (uint32_t j = 0;; j++) {
            uint32_t child = tf_in_place(s, j);
            if (child == TF_NO_SCHEMA)
                break;
            TF_TRY(in_place_push(p, child));
        }
    }
    return TOKFSM_OK;
}

static tokfsm_status in_place_begin(tf_build *b, in_place *p)
{
    size_t n_bytes = ((size_t)b->ir.n_schemas + 31) / 32 * sizeof *p->marks;
    *p = (in_place){.b = b, .marks = tf_allocate(&b->arena.allocator, n_bytes)};
    if (p->marks == NULL)
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
    memset(p->marks, 0, n_bytes);
    return TOKFSM_OK;
}

static void in_place_end(in_place *p)
{
    tf_release(&p->b->arena.allocator, p->stack.items);
    tf_release(&p->b->arena.allocator, p->marks);
}

tokfsm_status tf_visit_schema(tf_build *b, uint32_t id, tf_schema_visitor schema, void *context)
{
    in_place p;
    TF_TRY(in_place_begin(b, &p));
    tokfsm_status status = in_place_push(&p, id);
    if (status == TOKFSM_OK)
        status = in_place_run(&p, schema, context);
    in_place_end(&p);
    return status;
}

tokfsm_status tf_visit_in_place(tf_build *b, const tf_value *value, tf_schema_visitor schema,
                                tf_node_visitor equals, void *context)
{
    in_place p;
    TF_TRY(in_place_begin(b, &p));
    tokfsm_status status = TOKFSM_OK;
    for (uint32_t i = 0; i < value->n && status == TOKFSM_OK; i++) {
        const tf_oset *oset = tf_value_oset(b, value, i);
        for (uint32_t k = 0; k < oset->n && status == TOKFSM_OK; k++) {
            uint32_t index = tf_obligation_index(oset->items[k]);
            uint32_t tag = tf_obligation_tag(oset->items[k]);
            status = tag == TF_EQUALS || tag == TF_DIFFERS ? equals(b, context, index)
                                                           : in_place_push(&p, index);
            if (status == TOKFSM_OK)
                status = in_place_run(&p, schema, context);
        }
    }
    in_place_end(&p);
    return status;
}
