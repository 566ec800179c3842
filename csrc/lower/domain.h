/*
 * The values of an obligation set, listed where they are few: what decides at compile time
 * whether items can all differ. Lists need no satisfiability of anything: they find it.
 */
#ifndef TF_DOMAIN_H
#define TF_DOMAIN_H

#include "../engine/unique.h"
#include "build.h"

/* Values that are listed at most: design, uniqueness. */
#define TF_MAX_LISTED 4096u

typedef struct tf_domain {
    const tf_item **items; /* distinct; in the run's arena */
    uint32_t n;
    uint32_t most;    /* asked for */
    bool many;        /* there are as many or more */
    bool unknown;     /* there may be more: the set depends on itself, or is too deep */
} tf_domain;

/* Items in run->arena, which the caller frees. */
tokfsm_status tf_domain_of(tf_build *b, tf_run *run, const tf_oset *oset, uint32_t most,
                           tf_domain *domain);

#endif
