/*
 * The cheapest items that meet all counters of an array's alternative: a search over item numbers
 * and counts, exact. With costs 0 and none it decides whether there are any.
 *
 * Counts only grow, up to a cap. So of more than `span` = 1 + (sum of the caps) items of one class
 * some leave all counts as they are, and as counting does not depend on order, those may stand
 * last: such a stretch is searched for `span` items, and the rest of it is added at once.
 *
 * Cost: at most (classes · span · states · signs). A counter alone has no need of a search behind
 * the first items: whatever its limits are, how many items count there is a matter of arithmetic.
 */
#include "counters.h"

typedef struct search {
    const tf_items_plan *plan;
    uint64_t cap[TF_MAX_COUNTERS];
    uint32_t stride[TF_MAX_COUNTERS];
    uint32_t n_states;
    uint64_t span;
    uint32_t signs[TF_MAX_SIGNS], n_signs; /* of the class at hand */
    tf_cost sign_cost[TF_MAX_SIGNS];
    tf_cost a[TF_MAX_COUNTER_STATES], b[TF_MAX_COUNTER_STATES];
    tf_cost *now, *next; /* by state, after `at` items */
    uint64_t at;
    tf_cost best;
} search;

bool tf_counters_fit(const tf_counter *counters, uint32_t k, uint64_t n_prefix)
{
    uint64_t n = 1;
    if (k == 1 && n_prefix < TF_MAX_COUNTER_STATES)
        return true;
    for (uint32_t i = 0; i < k; i++) {
        uint64_t cap = tf_counter_cap(&counters[i]);
        if (cap >= TF_MAX_COUNTER_STATES || n * (cap + 1) > TF_MAX_COUNTER_STATES)
            return false;
        n *= cap + 1;
    }
    return true;
}

static uint64_t digit(const search *s, uint32_t state, uint32_t i)
{
    return state / s->stride[i] % (s->cap[i] + 1);
}

/* The state after one more item, or TF_NONE: a counter goes over. */
static uint32_t count(const search *s, uint32_t state, uint32_t sign)
{
    uint32_t after = state;
    for (uint32_t i = 0; i < s->plan->k; i++) {
        if (!(sign >> i & 1u))
            continue;
        if (digit(s, state, i) < s->cap[i])
            after += s->stride[i];
        else if (s->plan->counters[i].max != TF_UNCOUNTED)
            return TF_NONE;
    }
    return after;
}

static bool met(const search *s, uint32_t state)
{
    for (uint32_t i = 0; i < s->plan->k; i++)
        if (digit(s, state, i) < s->plan->counters[i].min)
            return false;
    return true;
}

/* The array may end here: its cost, if it is the least so far. */
static void note_end(search *s)
{
    if (s->at >= s->plan->min)
        for (uint32_t state = 0; state < s->n_states; state++)
            if (tf_cost_less(s->now[state], s->best) && met(s, state))
                s->best = s->now[state];
}

/* Whether going on can still give less; every item costs something, or all costs are 0. */
static bool is_open(const search *s)
{
    for (uint32_t state = 0; state < s->n_states; state++)
        if (tf_cost_less(s->now[state], s->best))
            return true;
    return false;
}

static bool one_item(search *s)
{
    for (uint32_t state = 0; state < s->n_states; state++)
        s->next[state] = tf_no_cost();
    tf_cost comma = s->at > 0 ? s->plan->comma : (tf_cost){0, 0};
    for (uint32_t state = 0; state < s->n_states; state++) {
        if (s->now[state].base == TF_COST_NONE)
            continue;
        if (!s->plan->spend(s->plan->context))
            return false;
        tf_cost before = tf_cost_plus(s->now[state], comma);
        for (uint32_t v = 0; v < s->n_signs; v++) {
            uint32_t after = count(s, state, s->signs[v]);
            if (after != TF_NONE)
                tf_cost_keep_less(&s->next[after], tf_cost_plus(before, s->sign_cost[v]));
        }
    }
    tf_cost *swap = s->now;
    s->now = s->next;
    s->next = swap;
    s->at++;
    note_end(s);
    return true;
}

/* n more items that leave counts as they are, at their cheapest. */
static void many_items(search *s, uint64_t n)
{
    for (uint32_t state = 0; state < s->n_states; state++) {
        tf_cost least = tf_no_cost();
        for (uint32_t v = 0; v < s->n_signs; v++)
            if (count(s, state, s->signs[v]) == state)
                tf_cost_keep_less(&least, s->sign_cost[v]);
        s->now[state] = tf_cost_plus(s->now[state],
                                     tf_cost_times(tf_cost_plus(least, s->plan->comma), n));
    }
    s->at += n;
    note_end(s);
}

static bool stretch(search *s, uint64_t end)
{
    for (uint64_t n = 0; s->at < end && is_open(s); n++)
        if (n < s->span) {
            if (!one_item(s))
                return false;
        } else {
            if (end == TF_UNCOUNTED)
                return true; /* longer ones only cost more */
            many_items(s, end - s->at);
        }
    return true;
}

static bool search_classes(search *s)
{
    const tf_items_plan *plan = s->plan;
    note_end(s);
    for (uint32_t class = 0; class < plan->n_classes && s->at < plan->max; class++) {
        uint64_t end = class + 1 < plan->n_classes ? plan->first[class + 1] : TF_UNCOUNTED;
        if (s->at >= end)
            continue;
        if (!is_open(s))
            return true;
        tf_cost by_sign[TF_MAX_SIGNS];
        if (!plan->costs(plan->context, class, by_sign))
            return false;
        s->n_signs = 0;
        for (uint32_t v = 0; v < 1u << plan->k; v++)
            if (by_sign[v].base != TF_COST_NONE) {
                s->sign_cost[s->n_signs] = by_sign[v];
                s->signs[s->n_signs++] = v;
            }
        end = end < plan->max ? end : plan->max;
        /* Up to the fewest items none may be left out; past them each is a choice. */
        if (s->at < plan->min && !stretch(s, end < plan->min ? end : plan->min))
            return false;
        if (!stretch(s, end))
            return false;
        if (s->at < end)
            return true;
    }
    return true;
}

/* ---- one counter ---- */

static tf_cost items_cost(const tf_items_plan *plan, tf_cost item, uint64_t n, uint64_t before)
{
    tf_cost cost = tf_cost_times(tf_cost_plus(item, plan->comma), n);
    return n > 0 && before == 0 ? tf_cost_plus(tf_cost_times(tf_cost_plus(item, plan->comma), n - 1), item)
                                : cost;
}

/*
 * The rest behind `at` items of which `count` count, where all further ones are of one class: the
 * fewest items, since each costs something; of those as many count as must, and more where that is
 * cheaper or the others cannot be.
 */
static tf_cost rest_cost(const tf_items_plan *plan, const tf_cost by_sign[TF_MAX_SIGNS],
                         uint64_t at, uint64_t count)
{
    const tf_counter *counter = &plan->counters[0];
    bool counting = by_sign[1].base != TF_COST_NONE, plain = by_sign[0].base != TF_COST_NONE;
    uint64_t wanted = counter->min > count ? counter->min - count : 0;
    uint64_t most = counter->max == TF_UNCOUNTED ? TF_UNCOUNTED : counter->max - count;
    uint64_t fill = plan->min > at ? plan->min - at : 0; /* items that must come */
    uint64_t n = wanted > fill ? wanted : fill, n_counting = wanted;
    if (!plain || (counting && tf_cost_less(by_sign[1], by_sign[0])))
        n_counting = n < most ? n : most;
    if (n > plan->max - at || wanted > most || (n_counting > 0 && !counting) ||
        (n_counting < n && !plain))
        return tf_no_cost();
    tf_cost cost = items_cost(plan, by_sign[1], n_counting, at);
    return tf_cost_plus(cost, items_cost(plan, by_sign[0], n - n_counting, at + n_counting));
}

/* The class from which on all items that there may be cost the same. */
static bool last_class(const tf_items_plan *plan, uint32_t *last)
{
    tf_cost of_last[TF_MAX_SIGNS], before[TF_MAX_SIGNS];
    *last = plan->n_classes - 1;
    while (*last > 0 && plan->first[*last] >= plan->max)
        --*last;
    if (*last > 0 && !plan->costs(plan->context, *last, of_last))
        return false;
    for (; *last > 0; --*last) {
        if (!plan->costs(plan->context, *last - 1, before))
            return false;
        if (memcmp(before, of_last, 2 * sizeof *before) != 0)
            return true;
    }
    return true;
}

/* The first items one by one, then the rest at once. */
static bool one_counter(const tf_items_plan *plan, tf_cost *best)
{
    const tf_counter *counter = &plan->counters[0];
    tf_cost of[TF_MAX_COUNTER_STATES + 1], by_sign[TF_MAX_SIGNS]; /* by items that count, from `at` on */
    uint32_t class = 0, last, n = 1;
    uint64_t start = plan->counts[0];
    *best = tf_no_cost();
    of[0] = (tf_cost){0, 0};
    if (!last_class(plan, &last))
        return false;
    for (uint64_t at = plan->at; at <= plan->max && n <= TF_MAX_COUNTER_STATES; at++) {
        while (class < last && plan->first[class + 1] <= at)
            class++;
        if (!plan->spend(plan->context) || !plan->costs(plan->context, class, by_sign))
            return false;
        for (uint32_t i = 0; i < n; i++) {
            uint64_t count = start + i;
            if (of[i].base == TF_COST_NONE || count > counter->max)
                continue;
            if (class == last)
                tf_cost_keep_less(best, tf_cost_plus(of[i], rest_cost(plan, by_sign, at, count)));
            else if (at >= plan->min && count >= counter->min)
                tf_cost_keep_less(best, of[i]);
        }
        if (class == last)
            return true;
        tf_cost comma = at > 0 ? plan->comma : (tf_cost){0, 0};
        of[n] = tf_no_cost();
        for (uint32_t i = n; i-- > 0;) { /* downwards: an item comes once */
            tf_cost before = tf_cost_plus(of[i], comma);
            tf_cost_keep_less(&of[i + 1], tf_cost_plus(before, by_sign[1]));
            of[i] = tf_cost_plus(before, by_sign[0]);
        }
        n++;
    }
    return true;
}

bool tf_items_plan_cost(const tf_items_plan *plan, tf_cost *cost)
{
    search s;
    if (plan->k == 1)
        return one_counter(plan, cost);
    s.plan = plan;
    s.n_states = 1;
    s.span = 1;
    uint32_t start = 0;
    *cost = tf_no_cost();
    for (uint32_t i = 0; i < plan->k; i++) {
        if (plan->counters[i].min > plan->counters[i].max)
            return true;
        s.cap[i] = tf_counter_cap(&plan->counters[i]);
        s.stride[i] = s.n_states;
        s.n_states *= (uint32_t)s.cap[i] + 1;
        s.span += s.cap[i];
        start += (uint32_t)plan->counts[i] * s.stride[i];
    }
    s.now = s.a;
    s.next = s.b;
    for (uint32_t state = 0; state < s.n_states; state++)
        s.now[state] = tf_no_cost();
    s.now[start] = (tf_cost){0, 0};
    s.at = plan->at;
    s.best = tf_no_cost();
    if (!search_classes(&s))
        return false;
    *cost = s.best;
    return true;
}
