/*
 * Three quarters of all pairs of branches in real schemas are told apart by their types, by
 * enum or const, or by one member that both require.
 */
#include "disjoint.h"

/* Work of one query; past it the answer is the sound one, "perhaps not". */
enum { MAX_DEPTH = 6, MAX_COMPARED = 4096, MAX_PAIRS = 512 };

/* Through references: what the schema says itself. */
static const tf_schema *plain(const tf_build *b, uint32_t id)
{
    const tf_schema *s = &b->ir.schemas[id];
    while (s->reference != TF_NO_SCHEMA && tf_is_bare(s))
        s = &b->ir.schemas[s->reference];
    return s;
}

static uint32_t types_of(const tf_build *b, const tf_schema *s)
{
    if (s->is_false)
        return 0;
    uint32_t types = s->types;
    if (s->reference != TF_NO_SCHEMA)
        types &= plain(b, s->reference)->types;
    if (!s->has_values)
        return types;
    uint32_t found = 0;
    static const uint32_t type_of[] = {TF_TYPE_NULL,   TF_TYPE_BOOLEAN, TF_TYPE_BOOLEAN,
                                       TF_TYPE_INTEGER | TF_TYPE_NUMBER, TF_TYPE_STRING,
                                       TF_TYPE_ARRAY,  TF_TYPE_OBJECT};
    for (uint32_t i = 0; i < s->n_values; i++)
        found |= type_of[b->tape.nodes[s->values[i]].type];
    return types & found;
}

static bool values_disjoint(const tf_build *b, const tf_schema *x, const tf_schema *y)
{
    if (!x->has_values || !y->has_values ||
        (uint64_t)x->n_values * y->n_values > MAX_COMPARED)
        return false;
    for (uint32_t i = 0; i < x->n_values; i++)
        for (uint32_t j = 0; j < y->n_values; j++)
            if (tf_tape_equal(&b->tape, x->values[i], &b->tape, y->values[j]))
                return false;
    return true;
}

static bool disjoint_at(const tf_build *b, uint32_t one, uint32_t other, uint32_t types,
                        uint32_t depth, uint32_t *pairs_left)
{
    if (*pairs_left == 0)
        return false;
    --*pairs_left;
    const tf_schema *x = plain(b, one), *y = plain(b, other);
    uint32_t both = types_of(b, x) & types_of(b, y) & types;
    if (both == 0 || values_disjoint(b, x, y))
        return true;
    if ((both & ~(uint32_t)TF_TYPE_OBJECT) != 0 || depth >= MAX_DEPTH)
        return false;
    for (int swap = 0; swap < 2; swap++) {
        const tf_schema *from = swap ? y : x, *to = swap ? x : y;
        for (uint32_t i = 0; i < from->n_required; i++) {
            tf_name name = from->required[i];
            uint32_t mine = tf_ir_property(&b->ir, from, name.text, name.n);
            uint32_t theirs = tf_ir_property(&b->ir, to, name.text, name.n);
            if (theirs == TF_NO_SCHEMA) {
                if (to->n_pattern_properties == 0 && to->additional != TF_NO_SCHEMA &&
                    b->ir.schemas[to->additional].is_false)
                    return true; /* required here, refused there */
                continue;
            }
            if (b->ir.schemas[theirs].is_false)
                return true;
            /* The member is there in every value of both. */
            if (mine != TF_NO_SCHEMA &&
                disjoint_at(b, mine, theirs, TF_TYPE_ALL, depth + 1, pairs_left))
                return true;
        }
    }
    return false;
}

bool tf_disjoint(const tf_build *b, uint32_t one, uint32_t other, uint32_t types)
{
    uint32_t pairs_left = MAX_PAIRS;
    return disjoint_at(b, one, other, types, 0, &pairs_left);
}
