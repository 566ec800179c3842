/* Branches that exclude each other by the values of one member. */
#ifndef TF_TOLD_APART_H
#define TF_TOLD_APART_H

#include "build.h"

typedef struct tf_told_apart_by {
    const uint64_t *tells; /* branches that have the member; NULL: nothing was found */
    const uint32_t *group; /* of those: what is of another group has no value in common */
} tf_told_apart_by;

/* Look at branches of objects; what is found is in the arena. */
tokfsm_status tf_told_apart(tf_build *b, tf_arena *arena, const uint32_t *branches, uint32_t n,
                            tf_told_apart_by *by);

/* True: no object meets branch i and branch j. */
static inline bool tf_are_told_apart(const tf_told_apart_by *by, uint32_t i, uint32_t j)
{
    return by->tells != NULL && tf_word_bit(by->tells, i) && tf_word_bit(by->tells, j) &&
           by->group[i] != by->group[j];
}

#endif
