/* Arithmetic of costs that grow with depth: sums and multiples never wrap, and one that is out of
   reach of any budget stays different from none. */
#ifndef TF_COSTS_H
#define TF_COSTS_H

#include "machine.h"

static inline tf_cost tf_no_cost(void) { return (tf_cost){TF_COST_NONE, 0}; }

static inline tf_cost tf_cost_plus(tf_cost a, tf_cost b)
{
    if (a.base == TF_COST_NONE || b.base == TF_COST_NONE)
        return tf_no_cost();
    uint64_t base = (uint64_t)a.base + b.base, per_depth = (uint64_t)a.per_depth + b.per_depth;
    if (base >= TF_COST_NONE)
        base = TF_COST_NONE - 1; /* too long to be written, but there */
    if (per_depth > INT32_MAX)
        per_depth = INT32_MAX;
    return (tf_cost){(uint32_t)base, (uint32_t)per_depth};
}

static inline tf_cost tf_cost_times(tf_cost cost, uint64_t n)
{
    if (n == 0)
        return (tf_cost){0, 0};
    if (cost.base == TF_COST_NONE)
        return cost;
    uint64_t most = TF_COST_NONE - 1;
    uint64_t base = cost.base > most / n ? most : cost.base * n;
    uint64_t per_depth = cost.per_depth > INT32_MAX / n ? INT32_MAX : cost.per_depth * n;
    return (tf_cost){(uint32_t)base, (uint32_t)per_depth};
}

/* Ranked one frame deep: which of two is less can depend on depth, and one must be kept. */
static inline bool tf_cost_less(tf_cost a, tf_cost b)
{
    return a.base != TF_COST_NONE &&
           (b.base == TF_COST_NONE ||
            (uint64_t)a.base + a.per_depth < (uint64_t)b.base + b.per_depth);
}

static inline void tf_cost_keep_less(tf_cost *best, tf_cost cost)
{
    if (tf_cost_less(cost, *best))
        *best = cost;
}

#endif
