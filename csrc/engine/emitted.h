/* Names that no alternative declares, as emitted so far: which of them the next token can meet. */
#ifndef TF_EMITTED_H
#define TF_EMITTED_H

#include "configuration.h"

/*
 * Whether a token can end a name and come to others in which the first one makes a difference: to
 * the same one, or, where names are counted, to where no other is left.
 */
static inline bool tf_names_meet(const tf_machine *m, const tf_strings *names)
{
    return m->names_pair || (m->names_begun && names->content != NULL && names->content->has_counts);
}
/* Whether some token spells the whole of a name that the frame has emitted, or so much of it from
   its quote on that few others are left, so that the mask at a place outside names, in this frame or
   in one within it, depends on what was emitted. */
static inline bool tf_emitted_whole(const tf_frame *frame)
{
    return frame->emitted != NULL && frame->emitted->whole;
}
/* ... of one, which is of that class. */
bool tf_name_whole(tf_run *run, const tf_strings *names, uint32_t class, const tf_text *name);
/* Whether some token spells the whole of one of the literals. */
bool tf_literal_whole(const tf_machine *m, const tf_strings *strings);
/* Whether some token ends the name at hand as one of those emitted. */
bool tf_emitted_ahead(const tf_machine *m, const tf_configuration *c);
/*
 * Whether the mask in a name can be made as if no name were emitted, as far as names are equal,
 * and then be put right by tf_emitted_settle: few tokens can tell, those that spell what an
 * emitted name goes on with.
 */
bool tf_emitted_apart(const tf_machine *m, const tf_configuration *c);
/* Whether those emitted are as nothing among the names that there are of each class; it may still be
   that a name at hand can only become one of them. */
bool tf_emitted_few(const tf_frame *frame);
/* The edits become the mask of c. False: run->call.status. */
bool tf_emitted_settle(tf_run *run, const tf_configuration *c, tf_edits *edits);

#endif
