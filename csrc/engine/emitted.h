/* Names that no alternative declares, as emitted so far: which of them the next token can meet. */
#ifndef TF_EMITTED_H
#define TF_EMITTED_H

#include "configuration.h"

/* Whether some token spells the whole of a name that the frame has emitted, so that the mask at
   a place outside names, in this frame or in one within it, depends on what was emitted. */
static inline bool tf_emitted_whole(const tf_frame *frame)
{
    return frame->emitted != NULL && frame->emitted->whole;
}
/* ... of one. */
bool tf_name_whole(const tf_machine *m, const tf_text *name);
/* Whether some token spells the whole of one of the literals. */
bool tf_literal_whole(const tf_machine *m, const tf_strings *strings);
/* Whether some token ends the name at hand as one of those emitted. */
bool tf_emitted_ahead(const tf_machine *m, const tf_configuration *c);

#endif
