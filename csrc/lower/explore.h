/* Ahead of time: make every part that is reachable. */
#ifndef TF_EXPLORE_H
#define TF_EXPLORE_H

#include "build.h"

/* Under the machine's lock. E_LIMIT: the machine cannot be closed within its limits. */
tokfsm_status tf_explore(tf_build *b, tf_budget *budget, tokfsm_error *err);

/*
 * Make every object and array that is reachable, so that what negation cannot honour is refused
 * by compile and never later.
 */
tokfsm_status tf_explore_containers(tf_build *b);

#endif
