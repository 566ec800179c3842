/* What alternatives count, for the compile half; see engine/counters.h. */
#ifndef TF_WITNESSES_H
#define TF_WITNESSES_H

#include "../engine/counters.h"
#include "name_classes.h"
#include "names.h"

/* Between min and max of the items from `from` on, or of the members that `fact` covers, meet the
   obligation. */
typedef struct tf_witness {
    tf_obligation obligation;
    uint32_t fact; /* or TF_NONE */
    uint64_t from, min, max;
} tf_witness;

struct tf_counters {
    uint32_t n;
    bool unmeetable; /* some min is over its max */
    const tf_witness *items;
    const tf_counter *counters;
};

typedef struct tf_child_view {
    bool object;
    tf_name_view name; /* members */
    uint64_t item;     /* items */
} tf_child_view;

/* Whether a member of this name can be the one that the fact speaks of. */
tokfsm_status tf_fact_covers(tf_build *b, const tf_fact *fact, const tf_name_view *name,
                             bool *covers);
/* Set alternative->counters. */
tokfsm_status tf_counters_find(tf_build *b, tf_alternative *alternative, bool object);
/* What the alternative asks of a child, by sign; NULL: it admits none with that sign. */
tokfsm_status tf_child_osets(tf_build *b, const tf_alternative *alternative, const tf_child_view *child,
                             tf_oset *by_sign[TF_MAX_SIGNS]);
/* Visit all that children can be asked for. */
tokfsm_status tf_each_sign(tf_build *b, const tf_alternative *alternative, bool object,
                           tokfsm_status (*visit)(void *context, tf_oset *oset), void *context);

/* How children and what is between them are costed. */
typedef struct tf_counted {
    tokfsm_status (*cost)(tf_build *b, tf_oset *oset, tf_cost *cost);
    tf_cost comma;
    tf_cost other_name; /* quotes and colon of an undeclared name */
    tokfsm_status (*name_cost)(tf_build *b, const char *name, uint32_t n, tf_cost *cost); /* or NULL */
} tf_counted;

/* The least cost of children that meet all counters, or none. */
tokfsm_status tf_counted_cost(tf_build *b, const tf_alternative *alternative, bool object,
                              const tf_counted *of, tf_cost *cost);

/* kind->counting, once its names or classes are there. */
tokfsm_status tf_build_counting(tf_build *b, tf_kind *kind,
                                const tf_alternative *const *alternatives);
/* kinds.c: what alternative a asks of the child of an edge by sign, as far as it can be met. */
tokfsm_status tf_kind_child(tf_build *b, const tf_kind *kind, uint32_t a, uint32_t index,
                            tf_oset *by_sign[TF_MAX_SIGNS]);

#endif
