/* A cheap, sound test that two schemas have no value in common. */
#ifndef TF_DISJOINT_H
#define TF_DISJOINT_H

#include "build.h"

/* True: no value of `types` satisfies both. False says nothing. */
bool tf_disjoint(const tf_build *b, uint32_t one, uint32_t other, uint32_t types);

#endif
