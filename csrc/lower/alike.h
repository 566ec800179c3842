/*
 * Schemas that are written alike, title and description aside, hold for the same values: one of
 * each class stands for all of it where it is asked what excludes or implies what.
 */
#ifndef TF_ALIKE_H
#define TF_ALIKE_H

#include "build.h"

/* Find the classes, unless dynamic references give one text several meanings. */
tokfsm_status tf_alike_begin(tf_build *b);

/* The same obligation on what stands for the class. */
static inline tf_obligation tf_canonical(const tf_build *b, tf_obligation o)
{
    uint32_t index = tf_obligation_index(o), tag = tf_obligation_tag(o);
    if (b->classes == NULL || tag == TF_FACT)
        return o;
    if (tag == TF_EQUALS || tag == TF_DIFFERS)
        return tf_obligation_of(b->classes[index], tag);
    if (index >= b->ir.true_schema) /* not of the schema text */
        return o;
    return tf_obligation_of(b->ir.schema_of_node[b->classes[b->ir.schemas[index].node]], tag);
}

#endif
