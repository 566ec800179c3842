/*
 * An unsatisfiable root -> the place in the schema's text that a reader has to look at.
 *
 * From the root inwards: a branch of allOf, a reference's target, a required member or an item that
 * must be there, which no value satisfies by itself, is why what is around it has none. The last
 * one is named. Where it takes several schemas together (two branches that contradict each other) the walk ends
 * at the one around them. Each step asks what tf_satisfiable has mostly found already; when work or memory
 * runs out the walk ends where it is: the verdict stands either way.
 */
#include "blame.h"

static bool is_empty(tf_build *b, uint32_t schema)
{
    if (schema == TF_NO_SCHEMA)
        return false;
    tf_obligation alone = tf_obligation_of(schema, TF_HOLDS);
    tf_oset *oset;
    bool satisfiable = true;
    return tf_oset_of(b, &alone, 1, &oset) == TOKFSM_OK &&
           tf_satisfiable(b, oset, &satisfiable) == TOKFSM_OK && !satisfiable;
}

static const tf_property *property_of(const tf_schema *s, tf_name name)
{
    for (uint32_t i = 0; i < s->n_properties; i++)
        if (s->properties[i].n_name == name.n &&
            memcmp(s->properties[i].name, name.text, name.n) == 0)
            return &s->properties[i];
    return NULL;
}

/* A required member that has no value, or may not be there; its schema or TF_NO_SCHEMA, and its name. */
static bool empty_member(tf_build *b, const tf_schema *s, uint32_t *schema, tf_name *name)
{
    for (uint32_t i = 0; i < s->n_required; i++) {
        const tf_property *declared = property_of(s, s->required[i]);
        *name = s->required[i];
        *schema = declared == NULL ? TF_NO_SCHEMA : declared->schema;
        if (declared != NULL ? is_empty(b, declared->schema)
                             : s->n_pattern_properties == 0 && is_empty(b, s->additional))
            return true;
    }
    return false;
}

static uint32_t empty_part(tf_build *b, const tf_schema *s)
{
    if (is_empty(b, s->reference))
        return s->reference;
    for (uint32_t i = 0; i < s->n_all_of; i++)
        if (is_empty(b, s->all_of[i]))
            return s->all_of[i];
    if (s->types != TF_TYPE_ARRAY)
        return TF_NO_SCHEMA;
    for (uint32_t i = 0; i < s->n_prefix && i < s->min_items; i++)
        if (is_empty(b, s->prefix[i]))
            return s->prefix[i];
    return s->min_items > s->n_prefix && is_empty(b, s->items) ? s->items : TF_NO_SCHEMA;
}

tokfsm_status tf_blame(tf_build *b)
{
    uint32_t at = b->ir.root;
    tf_name inside = {0}; /* the required member that the walk came through last */
    for (uint32_t steps = 0; steps < b->ir.n_schemas; steps++) {
        const tf_schema *s = &b->ir.schemas[at];
        uint32_t next = TF_NO_SCHEMA;
        tf_name name;
        if (s->types == TF_TYPE_OBJECT && empty_member(b, s, &next, &name)) {
            if (next == TF_NO_SCHEMA)
                return tf_fail_node(b->err, TOKFSM_E_UNSATISFIABLE, &b->tape, s->node, "required",
                                    "no value satisfies the schema: the member \"%.*s\" is required, "
                                    "but not allowed", (int)(name.n < 200 ? name.n : 200), name.text);
            inside = name;
        } else {
            next = empty_part(b, s);
        }
        if (next == TF_NO_SCHEMA)
            break;
        at = next;
    }
    uint32_t node = b->ir.schemas[at].node;
    if (b->ir.schemas[at].n_required > b->ir.schemas[at].max_properties)
        return tf_fail_node(b->err, TOKFSM_E_UNSATISFIABLE, &b->tape, node, "maxProperties",
                            "no value satisfies the schema: more members are required than allowed");
    if (inside.text != NULL)
        return tf_fail_node(b->err, TOKFSM_E_UNSATISFIABLE, &b->tape, node, "",
                            "no value satisfies the schema: the member \"%.*s\" is required, but no "
                            "value of it is allowed",
                            (int)(inside.n < 200 ? inside.n : 200), inside.text);
    return tf_fail_node(b->err, TOKFSM_E_UNSATISFIABLE, &b->tape, node, "",
                        "no value satisfies the schema");
}
