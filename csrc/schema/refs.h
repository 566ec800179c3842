/* References: the text of `$ref` and where it stands -> a tape node. */
#ifndef TF_REFS_H
#define TF_REFS_H

#include "ir.h"

/* `holder` is the schema object that has the reference, `reference` the node of its value. */
tokfsm_status tf_refs_resolve(tf_ir *ir, uint32_t holder, uint32_t reference, uint32_t *target,
                              tokfsm_error *err);

#endif
