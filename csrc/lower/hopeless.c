/*
 * What no value meets, found by looking and not by expanding: types that exclude each other,
 * finite lists of values all of which something refuses, bounds that cross, and a member or an
 * item that must be there and is hopeless itself. Branches of real schemas are told apart this
 * way, so that oneOf, not and if do not multiply.
 *
 * Sound at any depth of looking: what is not looked at counts as met.
 */
#include "hopeless.h"

#include "admitted.h"
#include "alike.h"

/* Work of one query; past it the answer is "perhaps not". */
enum { MAX_DEPTH = 6, MAX_PARTS = 48, MAX_VALUES = 256, MAX_NAMES = 64, MAX_BRANCHES = 40 };
enum { MAX_WORK = 4000, MAX_NESTED_CHOICES = 2 };

typedef struct query {
    tf_build *b;
    uint32_t left;
} query;

/* Conjuncts, references and allOf looked through. */
typedef struct parts {
    tf_obligation items[MAX_PARTS];
    uint32_t n;
} parts;

static tokfsm_status look(query *q, const tf_obligation *list, uint32_t n, uint32_t types,
                          uint32_t depth, uint32_t choices, bool *hopeless);

tf_obligation tf_negated(tf_obligation o)
{
    return o ^ 1u; /* HOLDS and FAILS, EQUALS and DIFFERS are neighbours */
}

static const tf_schema *schema_of(const tf_build *b, tf_obligation o)
{
    return &b->ir.schemas[tf_obligation_index(o)];
}

/* ---- conjuncts ---- */

static void add_part(const tf_build *b, parts *all, tf_obligation o)
{
    o = tf_canonical(b, o);
    for (uint32_t i = 0; i < all->n; i++)
        if (all->items[i] == o)
            return;
    if (all->n < MAX_PARTS)
        all->items[all->n++] = o;
}

/* Whether s says one thing only: anyOf, a reference, or not. */
static bool only_any_of(const tf_schema *s)
{
    tf_schema rest = *s;
    rest.has_any_of = 0;
    return s->has_any_of && s->reference == TF_NO_SCHEMA && tf_is_bare(&rest);
}

static bool only_not(const tf_schema *s)
{
    tf_schema rest = *s;
    rest.not_schema = TF_NO_SCHEMA;
    return s->not_schema != TF_NO_SCHEMA && s->reference == TF_NO_SCHEMA && tf_is_bare(&rest);
}

static void flatten(const tf_build *b, const tf_obligation *list, uint32_t n, parts *all)
{
    all->n = 0;
    for (uint32_t i = 0; i < n; i++)
        add_part(b, all, list[i]);
    for (uint32_t i = 0; i < all->n; i++) {
        uint32_t tag = tf_obligation_tag(all->items[i]);
        if (tag != TF_HOLDS && tag != TF_FAILS)
            continue;
        const tf_schema *s = schema_of(b, all->items[i]);
        if (tag == TF_HOLDS) {
            if (s->reference != TF_NO_SCHEMA)
                add_part(b, all, tf_obligation_of(s->reference, TF_HOLDS));
            for (uint32_t k = 0; k < s->n_all_of; k++)
                add_part(b, all, tf_obligation_of(s->all_of[k], TF_HOLDS));
            if (s->not_schema != TF_NO_SCHEMA)
                add_part(b, all, tf_obligation_of(s->not_schema, TF_FAILS));
            if (s->has_any_of && s->n_any_of == 1)
                add_part(b, all, tf_obligation_of(s->any_of[0], TF_HOLDS));
            if (s->has_one_of && s->n_one_of == 1)
                add_part(b, all, tf_obligation_of(s->one_of[0], TF_HOLDS));
        } else if (s->reference != TF_NO_SCHEMA) {
            if (tf_is_bare(s))
                add_part(b, all, tf_obligation_of(s->reference, TF_FAILS));
        } else if (only_any_of(s)) {
            for (uint32_t k = 0; k < s->n_any_of; k++)
                add_part(b, all, tf_obligation_of(s->any_of[k], TF_FAILS));
        } else if (only_not(s)) {
            add_part(b, all, tf_obligation_of(s->not_schema, TF_HOLDS));
        }
    }
}

static bool contradictory(const tf_build *b, const parts *all)
{
    for (uint32_t i = 0; i < all->n; i++) {
        uint32_t tag = tf_obligation_tag(all->items[i]);
        for (uint32_t k = 0; k < all->n; k++) {
            if (all->items[k] == tf_negated(all->items[i]))
                return true;
            uint32_t other = tf_obligation_tag(all->items[k]);
            if (tag != TF_EQUALS || (other != TF_EQUALS && other != TF_DIFFERS))
                continue;
            bool equal = tf_tape_equal(&b->tape, tf_obligation_index(all->items[i]), &b->tape,
                                       tf_obligation_index(all->items[k]));
            if (equal != (other == TF_EQUALS))
                return true;
        }
    }
    return false;
}

/* ---- types ---- */

/* Both bits for a number: drafts differ in whether 1.0 is an integer. */
static uint32_t type_of_node(const tf_build *b, uint32_t node)
{
    static const uint32_t type_of[] = {TF_TYPE_NULL,   TF_TYPE_BOOLEAN, TF_TYPE_BOOLEAN,
                                       TF_TYPE_INTEGER | TF_TYPE_NUMBER, TF_TYPE_STRING,
                                       TF_TYPE_ARRAY,  TF_TYPE_OBJECT};
    return type_of[b->tape.nodes[node].type];
}

/* At least the types of the values that s admits. INTEGER and NUMBER are disjoint here: whole
   numbers, and the others. */
static uint32_t types_of(const tf_build *b, uint32_t id, uint32_t depth)
{
    const tf_schema *s = &b->ir.schemas[id];
    if (s->is_false)
        return 0;
    uint32_t types = s->types;
    if (s->has_values && s->n_values <= MAX_VALUES) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < s->n_values; i++)
            found |= type_of_node(b, s->values[i]);
        types &= found;
    }
    if (depth == 0)
        return types;
    if (s->reference != TF_NO_SCHEMA)
        types &= types_of(b, s->reference, depth - 1);
    for (uint32_t i = 0; i < s->n_all_of && i < MAX_BRANCHES && types != 0; i++)
        types &= types_of(b, s->all_of[i], depth - 1);
    const uint32_t *const lists[] = {s->any_of, s->one_of};
    const uint32_t lengths[] = {s->n_any_of, s->n_one_of};
    const uint8_t has[] = {s->has_any_of, s->has_one_of};
    for (int k = 0; k < 2; k++) {
        if (!has[k] || lengths[k] > MAX_BRANCHES || types == 0)
            continue;
        uint32_t found = 0;
        for (uint32_t i = 0; i < lengths[k] && (types & ~found) != 0; i++)
            found |= types_of(b, lists[k][i], depth - 1);
        types &= found;
    }
    return types;
}

/* Types all of whose values s admits. */
static uint32_t types_admitted(const tf_schema *s)
{
    if (s->is_false || s->reference != TF_NO_SCHEMA || s->has_any_of || s->has_values ||
        s->n_all_of > 0 || s->has_one_of || s->not_schema != TF_NO_SCHEMA ||
        s->if_schema != TF_NO_SCHEMA)
        return 0;
    uint32_t types = s->types;
    if (s->has_object || s->n_dependents > 0 || s->unevaluated_properties != TF_NO_SCHEMA)
        types &= ~(uint32_t)TF_TYPE_OBJECT;
    if (s->has_array || s->unevaluated_items != TF_NO_SCHEMA)
        types &= ~(uint32_t)TF_TYPE_ARRAY;
    if (s->has_string)
        types &= ~(uint32_t)TF_TYPE_STRING;
    if (s->has_number)
        types &= ~(uint32_t)(TF_TYPE_INTEGER | TF_TYPE_NUMBER);
    return types;
}

static uint32_t types_left(const tf_build *b, const parts *all, uint32_t types)
{
    for (uint32_t i = 0; i < all->n && types != 0; i++) {
        uint32_t index = tf_obligation_index(all->items[i]);
        switch (tf_obligation_tag(all->items[i])) {
        case TF_HOLDS: types &= types_of(b, index, 3); break;
        case TF_FAILS: types &= ~types_admitted(&b->ir.schemas[index]); break;
        case TF_EQUALS: types &= type_of_node(b, index); break;
        default: break;
        }
    }
    return types;
}

/* ---- members and items ---- */

/* Add what the parts ask of a member; false: it is refused. */
static bool ask_member(const tf_build *b, const parts *all, tf_name name, parts *asked)
{
    asked->n = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        uint32_t tag = tf_obligation_tag(all->items[i]);
        if (tag == TF_EQUALS) {
            uint32_t node = tf_tape_get(&b->tape, tf_obligation_index(all->items[i]), name.text,
                                        name.n);
            if (node == TF_TAPE_NONE)
                return false;
            add_part(b, asked, tf_obligation_of(node, TF_EQUALS));
        } else if (tag == TF_HOLDS) {
            const tf_schema *s = schema_of(b, all->items[i]);
            uint32_t id = tf_ir_property(&b->ir, s, name.text, name.n);
            if (id == TF_NO_SCHEMA && s->n_pattern_properties == 0)
                id = s->additional;
            if (id != TF_NO_SCHEMA)
                add_part(b, asked, tf_obligation_of(id, TF_HOLDS));
        }
    }
    return true;
}

static tokfsm_status look_at_member(query *q, const parts *all, tf_name name, uint32_t depth,
                                    bool *hopeless)
{
    parts asked;
    if (!ask_member(q->b, all, name, &asked)) {
        *hopeless = true;
        return TOKFSM_OK;
    }
    if (asked.n < 2 && (asked.n == 0 || tf_obligation_tag(asked.items[0]) == TF_EQUALS))
        return TOKFSM_OK;
    return look(q, asked.items, asked.n, TF_TYPE_ALL, depth + 1, MAX_NESTED_CHOICES, hopeless);
}

static tokfsm_status look_at_object(query *q, const parts *all, uint32_t depth, bool *hopeless)
{
    const tf_build *b = q->b;
    uint32_t n_names = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        uint32_t index = tf_obligation_index(all->items[i]), tag = tf_obligation_tag(all->items[i]);
        if (tag == TF_HOLDS) {
            const tf_schema *s = &b->ir.schemas[index];
            for (uint32_t k = 0; k < s->n_required && n_names < MAX_NAMES && !*hopeless; k++) {
                n_names++;
                TF_TRY(look_at_member(q, all, s->required[k], depth, hopeless));
            }
        } else if (tag == TF_EQUALS) {
            const tf_tape_node *nodes = b->tape.nodes;
            for (uint32_t at = index + 1;
                 at < nodes[index].next && n_names < MAX_NAMES && !*hopeless;
                 at = nodes[at + 1].next) {
                n_names++;
                TF_TRY(look_at_member(q, all, (tf_name){nodes[at].text, nodes[at].n}, depth,
                                      hopeless));
            }
        }
    }
    return TOKFSM_OK;
}

static tokfsm_status look_at_array(query *q, const parts *all, uint32_t depth, bool *hopeless)
{
    const tf_build *b = q->b;
    uint64_t min = 0, max = TF_UNLIMITED;
    for (uint32_t i = 0; i < all->n; i++) {
        uint32_t index = tf_obligation_index(all->items[i]), tag = tf_obligation_tag(all->items[i]);
        uint64_t least = 0, most = TF_UNLIMITED;
        if (tag == TF_HOLDS) {
            const tf_schema *s = &b->ir.schemas[index];
            least = s->min_items;
            most = s->max_items;
            if (s->items != TF_NO_SCHEMA && b->ir.schemas[s->items].is_false && most > s->n_prefix)
                most = s->n_prefix;
        } else if (tag == TF_EQUALS) {
            least = most = b->tape.nodes[index].n;
        }
        min = least > min ? least : min;
        max = most < max ? most : max;
    }
    *hopeless = min > max;
    for (uint32_t at = 0; at < min && at < 8 && !*hopeless; at++) {
        parts asked = {.n = 0};
        for (uint32_t i = 0; i < all->n; i++) {
            uint32_t index = tf_obligation_index(all->items[i]);
            uint32_t tag = tf_obligation_tag(all->items[i]);
            if (tag == TF_EQUALS) {
                add_part(q->b, &asked, tf_obligation_of(tf_tape_item(&b->tape, index, at), TF_EQUALS));
            } else if (tag == TF_HOLDS) {
                const tf_schema *s = &b->ir.schemas[index];
                uint32_t id = at < s->n_prefix ? s->prefix[at] : s->items;
                if (id != TF_NO_SCHEMA)
                    add_part(q->b, &asked, tf_obligation_of(id, TF_HOLDS));
            }
        }
        if (asked.n > 0)
            TF_TRY(look(q, asked.items, asked.n, TF_TYPE_ALL, depth + 1, MAX_NESTED_CHOICES,
                        hopeless));
    }
    return TOKFSM_OK;
}

/* ---- scalars ---- */

static bool numbers_cross(const tf_build *b, const parts *all)
{
    const tf_decimal *low = NULL, *high = NULL;
    bool low_strict = false, high_strict = false;
    for (uint32_t i = 0; i < all->n; i++) {
        if (tf_obligation_tag(all->items[i]) != TF_HOLDS)
            continue;
        const tf_schema *s = schema_of(b, all->items[i]);
        for (int strict = 0; strict < 2; strict++) {
            const tf_decimal *least = strict ? s->exclusive_minimum : s->minimum;
            const tf_decimal *most = strict ? s->exclusive_maximum : s->maximum;
            int order = least == NULL ? -1 : low == NULL ? 1 : tf_decimal_compare(least, low);
            if (order > 0 || (order == 0 && strict)) {
                low = least;
                low_strict = strict;
            }
            order = most == NULL ? 1 : high == NULL ? -1 : tf_decimal_compare(most, high);
            if (order < 0 || (order == 0 && strict)) {
                high = most;
                high_strict = strict;
            }
        }
    }
    if (low == NULL || high == NULL)
        return false;
    int order = tf_decimal_compare(low, high);
    return order > 0 || (order == 0 && (low_strict || high_strict));
}

static bool lengths_cross(const tf_build *b, const parts *all)
{
    uint64_t min = 0, max = TF_UNLIMITED;
    for (uint32_t i = 0; i < all->n; i++) {
        if (tf_obligation_tag(all->items[i]) != TF_HOLDS)
            continue;
        const tf_schema *s = schema_of(b, all->items[i]);
        min = s->min_length > min ? s->min_length : min;
        max = s->max_length < max ? s->max_length : max;
    }
    return min > max;
}

/* Whether null, or a boolean, meets the list. */
static tokfsm_status meets_literal(query *q, const tf_obligation *list, uint32_t n, uint32_t type,
                                   bool *meets)
{
    tf_oset oset = {.items = list, .n = n};
    tf_scalar scalar = {.type = type, .node = q->b->scalar_node[type]};
    bool one = false;
    TF_TRY(tf_evaluate(q->b, &oset, &scalar, &one));
    *meets |= one;
    return TOKFSM_OK;
}

/* ---- finite lists of values ---- */

/* The shortest list of values one of which the value must be. */
static bool candidates_of(const tf_build *b, const parts *all, const uint32_t **values, uint32_t *n,
                          uint32_t *one)
{
    bool found = false;
    for (uint32_t i = 0; i < all->n; i++) {
        uint32_t tag = tf_obligation_tag(all->items[i]);
        if (tag == TF_EQUALS) {
            *one = tf_obligation_index(all->items[i]);
            *values = one;
            *n = 1;
            return true;
        }
        if (tag != TF_HOLDS)
            continue;
        const tf_schema *s = schema_of(b, all->items[i]);
        if (s->has_values && s->n_values <= MAX_VALUES && (!found || s->n_values < *n)) {
            *values = s->values;
            *n = s->n_values;
            found = true;
        }
    }
    return found;
}

static tokfsm_status look_at_candidates(query *q, const tf_obligation *list, uint32_t n_list,
                                        const parts *all, const uint32_t *values, uint32_t n,
                                        uint32_t types, uint32_t depth, bool *hopeless)
{
    *hopeless = true;
    for (uint32_t i = 0; i < n && *hopeless; i++) {
        if (!(type_of_node(q->b, values[i]) & types))
            continue;
        if (q->left < n_list) {
            *hopeless = false;
            return TOKFSM_OK;
        }
        q->left -= n_list;
        if (q->b->tape.nodes[values[i]].type < TF_JSON_ARRAY) {
            tf_oset oset = {.items = list, .n = n_list};
            bool meets;
            TF_TRY(tf_may_equal(q->b, &oset, values[i], &meets));
            *hopeless = !meets;
            continue;
        }
        parts with = *all;
        if (with.n == MAX_PARTS)
            with.n--; /* less is asked: still sound */
        add_part(q->b, &with, tf_obligation_of(values[i], TF_EQUALS));
        bool none = contradictory(q->b, &with);
        if (!none && q->b->tape.nodes[values[i]].type == TF_JSON_OBJECT)
            TF_TRY(look_at_object(q, &with, depth, &none));
        else if (!none)
            TF_TRY(look_at_array(q, &with, depth, &none));
        *hopeless = none;
    }
    return TOKFSM_OK;
}

/* ---- all together ---- */

/* One anyOf or oneOf whose every branch is hopeless beside the rest. */
static tokfsm_status look_at_branches(query *q, const parts *all, uint32_t types, uint32_t depth,
                                      uint32_t choices, bool *hopeless)
{
    for (uint32_t i = 0; i < all->n && !*hopeless; i++) {
        if (tf_obligation_tag(all->items[i]) != TF_HOLDS)
            continue;
        const tf_schema *s = schema_of(q->b, all->items[i]);
        for (int k = 0; k < 2 && !*hopeless; k++) {
            const uint32_t *branches = k == 0 ? s->any_of : s->one_of;
            uint32_t n = k == 0 ? s->n_any_of : s->n_one_of;
            if (n < 2 || n > MAX_BRANCHES)
                continue;
            bool none = true;
            for (uint32_t j = 0; j < n && none; j++) {
                parts with = *all;
                if (with.n == MAX_PARTS)
                    with.n--;
                add_part(q->b, &with, tf_obligation_of(branches[j], TF_HOLDS));
                TF_TRY(look(q, with.items, with.n, types, depth, choices - 1, &none));
            }
            *hopeless = none;
        }
    }
    return TOKFSM_OK;
}

static tokfsm_status look(query *q, const tf_obligation *list, uint32_t n, uint32_t types,
                          uint32_t depth, uint32_t choices, bool *hopeless)
{
    tf_build *b = q->b;
    *hopeless = false;
    TF_TRY(tf_spend(b->budget, b->err));
    if (q->left == 0 || depth >= MAX_DEPTH)
        return TOKFSM_OK;
    q->left--;
    bool known = false;
    if (types == TF_TYPE_ALL)
        TF_TRY(tf_admitted(b, list, n, &known, hopeless));
    if (known)
        return TOKFSM_OK;
    parts all;
    flatten(b, list, n, &all);
    types = types_left(b, &all, types);
    *hopeless = types == 0 || contradictory(b, &all);
    if (*hopeless)
        return TOKFSM_OK;
    const uint32_t *values = NULL;
    uint32_t n_values = 0, one;
    if (candidates_of(b, &all, &values, &n_values, &one))
        return look_at_candidates(q, list, n, &all, values, n_values, types, depth, hopeless);
    bool met = false;
    if (types & TF_TYPE_NULL)
        TF_TRY(meets_literal(q, list, n, TF_JSON_NULL, &met));
    if ((types & TF_TYPE_BOOLEAN) && !met) {
        TF_TRY(meets_literal(q, list, n, TF_JSON_FALSE, &met));
        TF_TRY(meets_literal(q, list, n, TF_JSON_TRUE, &met));
    }
    if (types & (TF_TYPE_INTEGER | TF_TYPE_NUMBER))
        met = met || !numbers_cross(b, &all);
    if (types & TF_TYPE_STRING)
        met = met || !lengths_cross(b, &all);
    bool none = false;
    if ((types & TF_TYPE_ARRAY) && !met) {
        TF_TRY(look_at_array(q, &all, depth, &none));
        met = !none;
    }
    none = false;
    if ((types & TF_TYPE_OBJECT) && !met) {
        TF_TRY(look_at_object(q, &all, depth, &none));
        met = !none;
    }
    *hopeless = !met;
    if (met && choices > 0 && (types & (TF_TYPE_OBJECT | TF_TYPE_ARRAY)) == types)
        TF_TRY(look_at_branches(q, &all, types, depth, choices, hopeless));
    return TOKFSM_OK;
}

tokfsm_status tf_hopeless(tf_build *b, const tf_obligation *list, uint32_t n, uint32_t types,
                          bool *hopeless)
{
    query q = {b, MAX_WORK};
    return look(&q, list, n, types, 0, MAX_NESTED_CHOICES, hopeless);
}

tokfsm_status tf_hopeless_with(tf_build *b, const tf_oset *oset, tf_obligation more, bool *hopeless)
{
    *hopeless = oset == NULL;
    if (*hopeless)
        return TOKFSM_OK;
    tf_obligation small[MAX_PARTS], *list = small;
    if (oset->n >= MAX_PARTS &&
        (list = tf_allocate(&b->arena.allocator, (oset->n + 1) * sizeof *list)) == NULL)
        return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
    list[0] = more;
    if (oset->n > 0)
        memcpy(list + 1, oset->items, oset->n * sizeof *list);
    tokfsm_status status = tf_hopeless(b, list, oset->n + 1, TF_TYPE_ALL, hopeless);
    if (list != small)
        tf_release(&b->arena.allocator, list);
    return status;
}
