/* What undeclared names cost where patterns tell them apart; see bound.c. */
#ifndef TF_BOUND_NAMES_H
#define TF_BOUND_NAMES_H

#include "name_content.h"

typedef struct tf_known_name {
    const uint8_t *text; /* NULL: none */
    uint32_t n;
} tf_known_name;

/* Tokens that bring the name of c, in progress or about to begin after its quote, to an unused
   one of the class, quotes left out; TF_COST_NONE if it cannot, or run->call.status. `name` is
   that one, in the run's arena. */
uint32_t tf_class_name_cost(tf_run *run, const tf_configuration *c, uint32_t class,
                            tf_known_name *name);
/* The costs of the n cheapest names of the class that are not used and not `but`; returns how
   many there are. */
uint32_t tf_class_names_costs(tf_run *run, const tf_frame *frame, uint32_t class,
                              const tf_known_name *but, uint32_t n, uint32_t *costs);

/*
 * Kinds with name_sets: the classes that the name of c, in progress or about to begin, can still
 * come to, each by its cheapest unused name, in the order of their costs (in an escape: for each way
 * out of it); quotes left out. `ahead`: alternatives to which some of them is open, used or not; where
 * there are none, no search is made. `visit` returns true to end this; with `once` also the ways that
 * are left. False: run->call.status.
 */
typedef bool (*tf_set_visit)(tf_run *run, void *context, const uint64_t *ahead, uint32_t class,
                             uint32_t cost);
bool tf_each_set_ahead(tf_run *run, const tf_configuration *c, bool once, tf_set_visit visit,
                       void *context);

#endif
