/* Ahead of time: make every part that is reachable. */
#ifndef TF_EXPLORE_H
#define TF_EXPLORE_H

#include "build.h"

/* Under the machine's lock. E_LIMIT: the machine cannot be closed within its limits. */
tokfsm_status tf_explore(tf_build *b, tf_budget *budget, tokfsm_error *err);

/*
 * Make the parts that lie nearest to the root, as far as TF_EAGER_UNITS of work go: what the
 * first steps would otherwise wait for. Where a limit is met the rest is left to first use.
 */
enum { TF_EAGER_UNITS = 4000 };
tokfsm_status tf_explore_some(tf_build *b, const tokfsm_cancel *cancel, tokfsm_error *err);

/*
 * Make every object and array that is reachable, so that what negation cannot honour is refused
 * by compile and never later.
 */
tokfsm_status tf_explore_containers(tf_build *b);

#endif
