/* The content of names: which class of other names one belongs to, and whether one is left. */
#ifndef TF_NAME_CONTENT_H
#define TF_NAME_CONTENT_H

#include "content.h"

/* The class of the name as it stands, which no alternative declares; false: it is none. */
bool tf_class_of_name(const tf_configuration *c, uint32_t *class);
/* Whether the name can still come to one of the class that is not emitted. */
bool tf_name_class_live(tf_run *run, const tf_configuration *c, uint32_t class);
/* The text so far, also where the name keeps to a literal. False: no memory. */
bool tf_name_text(tf_run *run, const tf_configuration *c, const tf_text **text);

#endif
