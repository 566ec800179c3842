/*
 * Names that no alternative declares, by what patterns tell apart: patternProperties and
 * propertyNames. A class is a set of names that match the same patterns; classes are disjoint
 * and together are all names. Patterns that overlap much make many of them: then, where nothing
 * is counted, there is a class for each set of patterns, empty or not, and the patterns are walked
 * side by side instead of the classes.
 */
#ifndef TF_NAME_CLASSES_H
#define TF_NAME_CLASSES_H

#include "patterns.h"

typedef struct tf_name_class {
    const uint64_t *matches; /* of the set's patterns */
    uint64_t n_names;        /* that are not declared; UINT64_MAX: no end of them */
    bool ends;               /* there is an end of those that some text begins */
} tf_name_class;

struct tf_name_classes {
    tf_pattern_set *set; /* NULL: no pattern is asked about, all names are one class */
    uint32_t n;
    uint32_t n_sets; /* patterns, if class i is that of the names that match those in the bits
                        of i; else 0 */
    const tf_name_class *items;
    const uint64_t *apart; /* [set->n][words]: patterns that no name matches together with it */
    const tf_content *content; /* NULL with `set`; language i is class i, without the names that
                                  are declared where it has an end: they are counted then */
};

/* Of the patterns that these alternatives ask about. `declared` are their names. `counted`: how
   many names there are matters, so that sets will not do. */
tokfsm_status tf_name_classes_of(tf_build *b, const tf_alternative *const *alternatives,
                                 uint32_t n, const tf_literal *declared, uint32_t n_declared,
                                 bool counted, const tf_name_classes **classes);
/* Of one alternative by itself; kept with it. */
tokfsm_status tf_name_classes_own(tf_build *b, const tf_alternative *alternative,
                                  const tf_name_classes **classes);

/* A name, whole or by its class. */
typedef struct tf_name_view {
    const char *text; /* NULL: a name of the class */
    uint32_t n;
    const tf_name_classes *classes;
    uint32_t class;
} tf_name_view;
tokfsm_status tf_name_matches(tf_build *b, const tf_name_view *name, uint32_t pattern,
                              bool *matches);
/* Does the name, as a string, meet the schema? */
tokfsm_status tf_name_meets(tf_build *b, const tf_name_view *name, uint32_t schema, bool *meets);
/* Names that a schema of names spells out. */
tokfsm_status tf_each_spelled_name(tf_build *b, uint32_t schema, tf_name_visitor visit,
                                   void *context);
/* Patterns that the atoms of an alternative ask about. */
tokfsm_status tf_each_name_pattern(tf_build *b, const tf_alternative *alternative,
                                   tokfsm_status (*visit)(void *context, uint32_t pattern),
                                   void *context);

#endif
