/* The cheapest names of a class, found once: whoever looks for one takes the first that it may use. */
#ifndef TF_NAME_LISTS_H
#define TF_NAME_LISTS_H

#include "frames.h"
#include "name_cost.h"

/* As tf_name_cheapest, from lists that the machine keeps. Less than there are: run->call.status. */
uint32_t tf_names_cheapest(tf_run *run, const tf_content_state *state, uint32_t class,
                           tf_name_used used, void *context, uint64_t n_used, uint32_t n_wanted,
                           uint32_t *costs, const uint8_t **text, uint32_t *n_text);
void tf_name_lists_free(tf_machine *m, const tokfsm_allocator *allocator);

#endif
