/* What undeclared names cost that a content speaks of. */
#ifndef TF_NAME_COST_H
#define TF_NAME_COST_H

#include "content.h"

/* Whether the text from the start of the search is a name that cannot be used. */
typedef bool (*tf_name_used)(void *context, const uint8_t *bytes, uint32_t n);

/*
 * The cheapest continuations of `state` in the language that are not used, each once, in the
 * order of their costs: up to n_wanted. `used` says yes to n_used texts at most. Returns how many there are. *text is the first one,
 * in the walker's arena.
 */
uint32_t tf_name_cheapest(tf_content_walker *walker, const tf_content_state *state,
                          uint32_t language, tf_name_used used, void *context, uint64_t n_used,
                          uint32_t n_wanted, uint32_t *costs, const uint8_t **text,
                          uint32_t *n_text);

/*
 * All continuations, whatever their language, cheapest first, as long as `visit` says to go on.
 * Of those that lead to the same state there are n_used + 1 at the least, if there are so many.
 */
typedef bool (*tf_name_visit)(void *context, const tf_content_state *state, const uint8_t *bytes,
                              uint32_t n, uint32_t cost);
void tf_name_each(tf_content_walker *walker, const tf_content_state *state, uint64_t n_used,
                  tf_name_visit visit, void *context);

#endif
