/*
 * unevaluatedProperties and unevaluatedItems (Core §11.2, §11.3). A member or item is evaluated
 * by a schema's own keywords, or by those of a schema that applies in place and holds.
 *
 * In which subschemas hold the expansion may guess too few: what they leave unevaluated is then
 * more, so each guess admits only what is valid, and the guess that is right admits all of it.
 * No branch has to fail for a guess.
 */
#ifndef TF_UNEVALUATED_H
#define TF_UNEVALUATED_H

#include "expand.h"
#include "name_classes.h"

/* Marks of schemas: it, or what applies in place with it, evaluates members (items); what it
   evaluates matters to a schema that it applies in place with. */
enum {
    TF_EVALUATES_MEMBERS = 1, TF_EVALUATES_ITEMS = 2,
    TF_WATCHED_MEMBERS = 4, TF_WATCHED_ITEMS = 8
};

/* Once the records are read: keywords that say nothing go, those that nothing in place has part
   in become additionalProperties and items, and the others' schemas are marked. */
tokfsm_status tf_unevaluated_begin(tf_build *b);

/* Whether guessing that the schema holds can matter to the expansion. */
static inline bool tf_is_watched(const expansion *e, uint32_t id)
{
    uint32_t wanted = e->object ? TF_EVALUATES_MEMBERS | TF_WATCHED_MEMBERS
                                : TF_EVALUATES_ITEMS | TF_WATCHED_ITEMS;
    return e->b->marks != NULL && (e->b->marks[id] & wanted) == wanted;
}

/* What the unevaluated keywords of the schemas that hold come down to: facts, through `add`. */
tokfsm_status tf_unevaluated_facts(expansion *e, const partial *p,
                                   tokfsm_status (*add)(expansion *, const tf_fact *));

/* A schema that is anyOf of the list; equal lists share one. */
tokfsm_status tf_schema_of_any(tf_build *b, const uint32_t *list, uint32_t n, uint32_t *id);

/* Ways in which schema `id` fails by its unevaluated keyword. */
tokfsm_status tf_unevaluated_ways(expansion *e, uint32_t id, choice *ways);

/* Whether a contributor of the fact evaluates the member. */
tokfsm_status tf_is_evaluated(tf_build *b, const tf_fact *fact, const tf_name_view *name,
                              bool *evaluated);

#endif
