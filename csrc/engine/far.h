/*
 * Where the length of a string makes no difference to its mask. What a token can reach is so many
 * characters, and from there the content accepts after so many more: as long as the next length at
 * which something changes lies further off, all lengths before it have one mask.
 */
#ifndef TF_FAR_H
#define TF_FAR_H

#include "configuration.h"

/* Whether, at its number of characters, what the string may still become is decided within one break
   if the next one is far: c is in a value string with content, between characters. */
bool tf_far_eligible(const tf_configuration *c);
/* The most characters so far for which the mask just made holds, from the break's first on; below
   c->n: it holds for c->n alone. False: run->call.status. */
bool tf_far_until(tf_run *run, const tf_configuration *c, uint64_t *most);

#endif
