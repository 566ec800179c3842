/* The content of names: which class of other names one belongs to, and whether one is left. */
#ifndef TF_NAME_CONTENT_H
#define TF_NAME_CONTENT_H

#include "content.h"

/* The class of the name as it stands, which no alternative declares; false: it is none. */
bool tf_class_of_name(const tf_configuration *c, uint32_t *class);
/* Kinds with name_sets: the class of a text that leads to the state. */
static inline uint32_t tf_set_of_state(const tf_kind *kind, const tf_content_state *state)
{
    return (uint32_t)state->accepts[0] & (((uint32_t)1 << kind->name_sets) - 1);
}
/* Whether the name, in progress or about to begin, can still come to one that no alternative
   declares, that is not emitted, and under which alternative a (TF_NONE: any that is alive) admits
   a member. */
bool tf_other_name_live(tf_run *run, const tf_configuration *c, uint32_t a);
/* The text so far, also where the name keeps to a literal. False: no memory. */
bool tf_name_text(tf_run *run, const tf_configuration *c, const tf_text **text);

#endif
