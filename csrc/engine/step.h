/* The insides of a step, shared by step.c and step_string.c. */
#ifndef TF_STEP_H
#define TF_STEP_H

#include "frames.h"

/* Inside a string or name; false: as tf_step. */
bool tf_step_string(tf_run *run, tf_configuration *c, uint8_t byte);
/* The value at hand has ended, with this outcome: c stands after it, in the frame around. */
bool tf_step_finish(tf_run *run, tf_configuration *c, const uint64_t *outcome);

/* The number at hand ends here; false: it may not. */
bool tf_step_end_number(tf_run *run, tf_configuration *c);

#endif
