/* A cheap, sound test that no value meets some obligations. */
#ifndef TF_HOPELESS_H
#define TF_HOPELESS_H

#include "build.h"

/* True: no value of `types` meets all of the list. False says nothing. */
tokfsm_status tf_hopeless(tf_build *b, const tf_obligation *list, uint32_t n, uint32_t types,
                          bool *hopeless);
/* The same of what an obligation set asks, or may be NULL for "cannot be", and one obligation
   more. */
tokfsm_status tf_hopeless_with(tf_build *b, const tf_oset *oset, tf_obligation more,
                               bool *hopeless);
tf_obligation tf_negated(tf_obligation o);

#endif
