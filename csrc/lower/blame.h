#ifndef TF_LOWER_BLAME_H
#define TF_LOWER_BLAME_H

#include "build.h"

/* Fails with TOKFSM_E_UNSATISFIABLE, naming the schema furthest in that is to blame. */
tokfsm_status tf_blame(tf_build *b);

#endif
