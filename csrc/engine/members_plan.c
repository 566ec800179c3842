/*
 * The cheapest members that meet all counters of an object's alternative: each name once, the
 * required ones in any case, undeclared ones as often as wanted. A search over sets of counters
 * met and numbers of optional members, exact: it is the least over all choices of members.
 *
 * Cost: a declared member at most (n_optional + 1) · 4^k, all undeclared ones k times that.
 */
#include "counters.h"

static tf_cost *row(const tf_members_plan *plan, uint32_t n) { return plan->of + ((size_t)n << plan->k); }

void tf_members_plan_begin(tf_members_plan *plan)
{
    size_t n = (size_t)(plan->n_optional + 1) << plan->k;
    for (size_t i = 0; i < n; i++)
        plan->of[i] = tf_no_cost();
    plan->of[0] = (tf_cost){0, 0};
    plan->n_required = 0;
}

/* to[] becomes what one more member makes of from[]; to and from are different. */
static void spread(const tf_members_plan *plan, const tf_cost *from, const tf_cost *by_sign, tf_cost *to)
{
    for (uint32_t m = 0; m < 1u << plan->k; m++)
        if (from[m].base != TF_COST_NONE)
            for (uint32_t v = 0; v < 1u << plan->k; v++)
                tf_cost_keep_less(&to[m | (v & plan->unmet)], tf_cost_plus(from[m], by_sign[v]));
}

/* The same in place: each entry goes on with one member. */
static void advance(const tf_members_plan *plan, const tf_cost *by_sign)
{
    for (uint32_t n = 0; n <= plan->n_optional; n++) {
        tf_cost to[TF_MAX_SIGNS];
        for (uint32_t m = 0; m < 1u << plan->k; m++)
            to[m] = tf_no_cost();
        spread(plan, row(plan, n), by_sign, to);
        memcpy(row(plan, n), to, sizeof *to << plan->k);
    }
}

void tf_members_plan_add(tf_members_plan *plan, bool required, const tf_cost *by_sign)
{
    if (required) {
        plan->n_required++;
        advance(plan, by_sign);
        return;
    }
    for (uint32_t n = plan->n_optional; n-- > 0;) /* downwards: a member comes once */
        spread(plan, row(plan, n), by_sign, row(plan, n + 1));
}

/* Characters of n undeclared names, each longer by one than all before. */
static tf_cost characters(const tf_members_plan *plan, uint64_t n)
{
    if (n > 0 && plan->char_tokens == TF_COST_NONE)
        return tf_no_cost();
    uint64_t most = n > 100000 ? 100000 : n; /* past any budget */
    uint64_t chars = (most * plan->longest + most * (most + 1) / 2) * plan->char_tokens;
    return (tf_cost){chars >= TF_COST_NONE ? TF_COST_NONE - 1 : (uint32_t)chars, 0};
}

tf_cost tf_members_plan_cost(tf_members_plan *plan, const tf_cost *other)
{
    tf_cost best = tf_no_cost(), cheapest = tf_no_cost();
    for (uint32_t v = 0; other != NULL && v < 1u << plan->k; v++)
        tf_cost_keep_less(&cheapest, other[v]);
    for (uint32_t q = 0;; q++) { /* so many undeclared ones meet counters */
        for (uint32_t n = 0; n <= plan->n_optional; n++) {
            uint64_t more = plan->fill > (uint64_t)n + q ? plan->fill - n - q : 0;
            if (plan->room < (uint64_t)n + q || plan->room - n - q < more)
                continue;
            tf_cost cost = tf_cost_plus(row(plan, n)[plan->unmet], tf_cost_times(cheapest, more));
            cost = tf_cost_plus(cost, characters(plan, q + more));
            uint64_t commas = (uint64_t)plan->n_required + n + q + more;
            commas -= commas < plan->free_commas ? commas : plan->free_commas;
            tf_cost_keep_less(&best, tf_cost_plus(cost, tf_cost_times(plan->comma, commas)));
        }
        if (other == NULL || q == plan->k)
            return best;
        advance(plan, other);
    }
}
