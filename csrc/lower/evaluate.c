/*
 * Scalars need no expansion: what an obligation set says of a string, number, boolean or null
 * is a boolean formula, evaluated on one value (or on "some value that no enum names").
 */
#include "numbers.h"

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

static bool type_admits(const tf_schema *s, const tf_scalar *v)
{
    switch (v->type) {
    case TF_JSON_NULL: return s->types & TF_TYPE_NULL;
    case TF_JSON_FALSE:
    case TF_JSON_TRUE: return s->types & TF_TYPE_BOOLEAN;
    case TF_JSON_STRING: return s->types & TF_TYPE_STRING;
    default: return (s->types & TF_TYPE_NUMBER) || ((s->types & TF_TYPE_INTEGER) && v->is_integer);
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

static tokfsm_status evaluate(tf_build *b, uint32_t id, const tf_scalar *v, uint32_t nesting,
                              bool *holds)
{
    const tf_schema *s = &b->ir.schemas[id];
    TF_TRY(tf_spend(b->budget, b->err));
    if (nesting > MAX_NESTING)
        return tf_fail_node(b->err, TOKFSM_E_LIMIT, &b->tape, s->node, "",
                            "schemas that apply in place are nested deeper than %d", MAX_NESTING);
    *holds = !s->is_false && type_admits(s, v);
    if (*holds && v->type == TF_JSON_STRING)
        *holds = v->n_chars >= s->min_length && v->n_chars <= s->max_length;
    if (*holds && v->type == TF_JSON_NUMBER && s->has_number)
        *holds = number_holds(s, v);
    if (*holds && s->has_values)
        TF_TRY(among_values(b, s, v->node, holds));
    if (*holds && s->reference != TF_NO_SCHEMA)
        TF_TRY(evaluate(b, s->reference, v, nesting + 1, holds));
    if (*holds && s->not_schema != TF_NO_SCHEMA) {
        TF_TRY(evaluate(b, s->not_schema, v, nesting + 1, holds));
        *holds = !*holds;
    }
    if (*holds && s->if_schema != TF_NO_SCHEMA) {
        bool condition;
        TF_TRY(evaluate(b, s->if_schema, v, nesting + 1, &condition));
        uint32_t then = condition ? s->then_schema : s->else_schema;
        if (then != TF_NO_SCHEMA)
            TF_TRY(evaluate(b, then, v, nesting + 1, holds));
    }
    if (*holds && s->has_one_of) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < s->n_one_of && n < 2; i++) {
            bool one;
            TF_TRY(evaluate(b, s->one_of[i], v, nesting + 1, &one));
            n += one;
        }
        *holds = n == 1;
    }
    for (uint32_t i = 0; i < s->n_all_of && *holds; i++)
        TF_TRY(evaluate(b, s->all_of[i], v, nesting + 1, holds));
    if (*holds && s->has_any_of) {
        *holds = false;
        for (uint32_t i = 0; i < s->n_any_of && !*holds; i++)
            TF_TRY(evaluate(b, s->any_of[i], v, nesting + 1, holds));
    }
    return TOKFSM_OK;
}

tokfsm_status tf_evaluate(tf_build *b, const tf_oset *oset, const tf_scalar *scalar, bool *holds)
{
    *holds = true;
    for (uint32_t i = 0; i < oset->n && *holds; i++) {
        uint32_t index = tf_obligation_index(oset->items[i]), tag = tf_obligation_tag(oset->items[i]);
        if (tag == TF_HOLDS || tag == TF_FAILS)
            TF_TRY(evaluate(b, index, scalar, 0, holds));
        else
            *holds = scalar->node != TF_TAPE_NONE &&
                     tf_tape_equal(&b->tape, index, &b->tape, scalar->node);
        if (tag == TF_FAILS || tag == TF_DIFFERS)
            *holds = !*holds;
    }
    return TOKFSM_OK;
}

tokfsm_status tf_may_equal(tf_build *b, const tf_oset *oset, uint32_t node, bool *may)
{
    const tf_tape_node *n = &b->tape.nodes[node];
    if (n->type == TF_JSON_NUMBER)
        return tf_numbers_may_equal(b, oset, node, may);
    tf_scalar scalar = {.type = n->type, .node = node};
    for (uint32_t i = 0; n->type == TF_JSON_STRING && i < n->n; i++)
        scalar.n_chars += ((uint8_t)n->text[i] & 0xC0u) != 0x80u;
    return tf_evaluate(b, oset, &scalar, may);
}

/* Depth-first over in-place applicators, each schema once. */
tokfsm_status tf_visit_in_place(tf_build *b, const tf_value *value, tf_schema_visitor schema,
                                tf_node_visitor equals, void *context)
{
    tokfsm_allocator *a = &b->arena.allocator;
    struct { uint32_t *items; size_t n, capacity; } stack = {0};
    uint32_t *marks = NULL;
    tokfsm_status status = TOKFSM_OK;
    size_t n_mark_words = ((size_t)b->ir.n_schemas + 31) / 32;
    marks = tf_allocate(a, n_mark_words * sizeof *marks);
    if (marks == NULL)
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
    memset(marks, 0, n_mark_words * sizeof *marks);
    for (uint32_t i = 0; i < value->n && status == TOKFSM_OK; i++) {
        const tf_oset *oset = tf_value_oset(b, value, i);
        for (uint32_t k = 0; k < oset->n && status == TOKFSM_OK; k++) {
            uint32_t index = tf_obligation_index(oset->items[k]);
            uint32_t tag = tf_obligation_tag(oset->items[k]);
            if (tag == TF_EQUALS || tag == TF_DIFFERS) {
                status = equals(b, context, index);
                continue;
            }
            stack.n = 0;
            for (;;) {
                if (!(marks[index / 32] >> (index % 32) & 1u)) {
                    marks[index / 32] |= (uint32_t)1 << (index % 32);
                    const tf_schema *s = &b->ir.schemas[index];
                    status = schema(b, context, s);
                    for (uint32_t j = 0; status == TOKFSM_OK; j++) {
                        uint32_t child = tf_in_place(s, j);
                        if (child == TF_NO_SCHEMA)
                            break;
                        if (!tf_grow(a, (void **)&stack.items, stack.n, &stack.capacity,
                                     sizeof *stack.items))
                            status = tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
                        else
                            stack.items[stack.n++] = child;
                    }
                    if (status == TOKFSM_OK)
                        status = tf_spend(b->budget, b->err);
                }
                if (status != TOKFSM_OK || stack.n == 0)
                    break;
                index = stack.items[--stack.n];
            }
        }
    }
    tf_release(a, stack.items);
    tf_release(a, marks);
    return status;
}
