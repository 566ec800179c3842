/* References: the text of `$ref` and where it stands -> a tape node. */
#ifndef TF_REFS_H
#define TF_REFS_H

#include "ir.h"

/*
 * `reference` is the node of the value of `keyword`, which stands in `resource`. *anchor is the
 * identifier where the reference is by a dynamic anchor, else TF_NO_ID.
 */
tokfsm_status tf_refs_resolve(tf_ir *ir, uint32_t resource, uint32_t reference,
                              const char *keyword, uint32_t *target, uint32_t *anchor,
                              tokfsm_error *err);
/* Where `$recursiveRef` leads (2019-09 Core §8.2.4.2); the rest as above. */
tokfsm_status tf_refs_recursive(tf_ir *ir, uint32_t resource, uint32_t reference, uint32_t *target,
                                uint32_t *anchor, tokfsm_error *err);

#endif
