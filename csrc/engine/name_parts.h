/*
 * The tokens along an object's declared names, from where one begins: found once for all sets of
 * names that are there, each with the names that it can become. A mask takes those of which some
 * name may still come.
 */
#ifndef TF_NAME_PARTS_H
#define TF_NAME_PARTS_H

#include "walk.h"

/* As tf_walk_literals. *done: it was one of these places. False: run->call.status. */
bool tf_walk_name_parts(tf_run *run, const tf_configuration *c, int beside, bool *done,
                        tf_edits *edits);

#endif
