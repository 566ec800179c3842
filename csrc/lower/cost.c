/*
 * Tokens of the cheapest value of an obligation set that the bounds know of: the same shape
 * of fixpoint as satisfiable.c, over costs instead of truth. Strings and names are costed by
 * their cheapest token split, all else byte by byte, so every cost is that of a real text.
 */
#include "../engine/content.h"
#include "name_classes.h"
#include "witnesses.h"

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
}

static void keep_less(tf_cost *best, tf_cost cost)
{
    tf_cost_keep_less(best, cost);
}

static tf_cost plus(tf_cost a, tf_cost b) { return tf_cost_plus(a, b); }

static tf_cost tokens(uint32_t n) { return (tf_cost){n, 0}; }

/* A value one frame deeper than where the sum is taken. */
static tf_cost deeper(tf_cost cost)
{
    return cost.base == TF_COST_NONE ? cost : plus((tf_cost){cost.base, cost.per_depth},
                                                   tokens(cost.per_depth));
}

/* A line break and its indent before something `levels` below the value's own frame depth. */
static tf_cost line(const tf_build *b, uint32_t levels)
{
    const tokfsm_options *o = &b->machine.options;
    if (o->whitespace != TOKFSM_WHITESPACE_INDENT)
        return tokens(0);
    uint32_t newline = tf_gap_cost(&b->machine, true, o->indent);
    if (newline == TF_COST_NONE)
        return tokens(TF_COST_NONE);
    return (tf_cost){1 + o->indent * levels, o->indent};
}

static tf_cost comma(const tf_build *b)
{
    uint32_t cost = tf_bytes_cost(&b->machine, ",");
    if (b->machine.options.whitespace == TOKFSM_WHITESPACE_SPACED)
        cost = tf_cost_add(cost, tf_bytes_cost(&b->machine, " "));
    return plus(tokens(cost), line(b, 1));
}

/* ---- scalars ---- */

static uint64_t count_characters(const tf_literal *l)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < l->n_text; i++)
        n += (l->text[i] & 0xC0u) != 0x80u;
    return n;
}

/* The least length from break i on at which no string is left out: any text will do there. */
static uint64_t free_length(const tf_strings *s, uint32_t i)
{
    uint64_t from = s->breaks[i].from, length = from;
    uint64_t end = i + 1 < s->n_breaks ? s->breaks[i + 1].from : UINT64_MAX;
    for (bool moved = true; moved && length < end;) {
        moved = false;
        for (uint32_t k = 0; k < s->n_literals && !moved; k++)
            if (!s->literals[k].end[0] && count_characters(&s->literals[k]) == length) {
                length++;
                moved = true;
            }
    }
    return length < end ? length : from;
}

static tokfsm_status string_cost(tf_build *b, const tf_value *value, tf_cost *best)
{
    const tf_strings *s;
    TF_TRY(tf_build_strings(b, value, &s));
    uint32_t quote = tf_bytes_cost(&b->machine, "\"");
    for (uint32_t i = 0; i < s->n_breaks; i++)
        if (s->breaks[i].outcome[0]) {
            uint32_t inside = tf_chars_cost(&b->machine, free_length(s, i));
            keep_less(best, plus(tokens(quote), plus(tokens(inside), tokens(quote))));
            break;
        }
    for (uint32_t i = 0; i < s->n_breaks; i++) {
        uint32_t inside, language = s->breaks[i].language == NULL ? TF_NONE
                                                                 : s->breaks[i].language[0];
        if (language == TF_NONE)
            continue;
        uint64_t from = s->breaks[i].from, last = tf_break_last(s, i);
        if (!s->content->has_lengths) { /* none is asked for, or they are in the language */
            from = 0;
            last = TF_UNLIMITED;
        }
        TF_TRY(tf_build_content_distance(b, s->content->start, language, from, last, &inside));
        keep_less(best, plus(tokens(quote), plus(tokens(inside), tokens(quote))));
    }
    for (uint32_t i = 0; i < s->n_literals; i++) {
        if (!s->literals[i].end[0])
            continue;
        const uint32_t *cost = atomic_load_explicit(&s->literal_costs[i], memory_order_relaxed);
        if (cost == NULL) {
            TF_TRY(tf_build_literal_cost(b, s, i, false, &cost));
            atomic_store_explicit(&s->literal_costs[i], cost, memory_order_release);
        }
        keep_less(best, plus(tokens(quote), tokens(cost[0])));
    }
    return TOKFSM_OK;
}

static tokfsm_status scalar_cost(tf_build *b, tf_oset *oset, tf_cost *best)
{
    static const char *const text[TF_N_LITERALS] = {"null", "false", "true"};
    const tf_value *value;
    TF_TRY(tf_value_of(b, &oset, 1, &value));
    for (uint32_t i = 0; i < TF_N_LITERALS; i++)
        if (value->literal[i][0])
            keep_less(best, tokens(tf_bytes_cost(&b->machine, text[i])));
    const tf_nstate *start;
    TF_TRY(tf_build_number(b, value, &start));
    if (start != &tf_number_dead) {
        const uint32_t *cost;
        TF_TRY(tf_build_number_cost(b, start, &cost));
        keep_less(best, tokens(cost[0]));
    }
    return string_cost(b, value, best);
}

/* ---- containers ---- */

typedef struct sum {
    tf_build *b;
    const tf_alternative *alternative;
    tf_cost total;
    uint32_t n;
    tf_name_list names; /* a name counts once */
} sum;

/* A declared name with its quotes and colon. */
static tokfsm_status declared_name_cost(tf_build *b, const char *text, uint32_t n, tf_cost *cost)
{
    tf_literal name = {0};
    TF_TRY(tf_spell(b, text, n, &name.spelled, &name.n_spelled));
    tf_strings one = {.literals = &name, .n_literals = 1};
    const uint32_t *spelling;
    TF_TRY(tf_build_literal_cost(b, &one, 0, true, &spelling));
    *cost = tokens(tf_cost_add(spelling[0], tf_bytes_cost(&b->machine, "\"")));
    return TOKFSM_OK;
}

/* The quotes and the colon of a name that nothing declares. */
static uint32_t other_name_cost(const tf_build *b)
{
    uint32_t cost = tf_bytes_cost(&b->machine, "\"\":");
    if (b->machine.options.whitespace == TOKFSM_WHITESPACE_SPACED ||
        b->machine.options.whitespace == TOKFSM_WHITESPACE_INDENT)
        cost = tf_cost_add(cost, tf_bytes_cost(&b->machine, " "));
    return cost;
}

static tokfsm_status add_member(void *context, const char *text, uint32_t n)
{
    sum *s = context;
    tf_build *b = s->b;
    size_t n_before = s->names.n;
    TF_TRY(tf_name_list_add(&s->names, text, n));
    if (s->names.n == n_before)
        return TOKFSM_OK;
    tf_oset *oset;
    TF_TRY(tf_member_oset(b, s->alternative, text, n, &oset));
    tf_cost member = oset == NULL ? tokens(TF_COST_NONE) : deeper(oset->cost), name;
    TF_TRY(declared_name_cost(b, text, n, &name));
    member = plus(member, name);
    if (s->n++ > 0)
        member = plus(member, comma(b));
    s->total = plus(s->total, member);
    return TOKFSM_OK;
}

static void add_member_cost(sum *s, tf_cost member)
{
    s->total = plus(s->total, s->n++ > 0 ? plus(member, comma(s->b)) : member);
}

static bool is_spoken(void *context, const uint8_t *bytes, uint32_t n)
{
    const tf_name_list *names = context;
    for (size_t i = 0; i < names->n; i++)
        if (names->items[i].n == n && (n == 0 || memcmp(names->items[i].text, bytes, n) == 0))
            return true;
    return false;
}

/* Up to *more members under names that no atom speaks of, of one class after the other. */
static tokfsm_status add_class_members(sum *s, const tf_name_classes *classes, uint32_t class,
                                       tf_cost value, tf_name_list *names, uint64_t *more)
{
    tf_build *b = s->b;
    tokfsm_status status = TOKFSM_OK;
    uint32_t around = other_name_cost(b);
    if (classes->content == NULL) { /* each longer than all names before */
        uint64_t longest = 0;
        for (size_t i = 0; i < names->n; i++)
            longest = names->items[i].n > longest ? names->items[i].n : longest;
        for (uint64_t i = 0; i < *more && i < 100000; i++)
            add_member_cost(s, plus(deeper(value),
                                    tokens(tf_cost_add(around, tf_chars_cost_single(
                                                                   &b->machine, longest + 1 + i)))));
        *more = 0;
        return TOKFSM_OK;
    }
    const tf_content_state *start = classes->content->start;
    uint32_t n = *more > UINT32_MAX ? UINT32_MAX : (uint32_t)*more, n_found;
    if (start == NULL || !tf_word_bit(start->live, class))
        return TOKFSM_OK;
    if (n > 1u << 20)
        return tf_fail(b->err, TOKFSM_E_LIMIT, "an object must have over %u members whose names "
                                               "must match patterns", 1u << 20);
    uint32_t *costs = tf_allocate(&b->arena.allocator, n * sizeof *costs);
    if (costs == NULL)
        return no_memory(b);
    status = tf_build_name_cheapest(b, start, class, is_spoken, names, names->n, n, costs,
                                    &n_found);
    for (uint32_t i = 0; i < n_found && status == TOKFSM_OK; i++)
        add_member_cost(s, plus(deeper(value), tokens(tf_cost_add(around, costs[i]))));
    if (status == TOKFSM_OK)
        *more -= n_found;
    tf_release(&b->arena.allocator, costs);
    return status;
}

static tokfsm_status add_other_members(sum *s, tf_name_list *names, uint64_t *more)
{
    const tf_name_classes *classes;
    TF_TRY(tf_name_classes_own(s->b, s->alternative, &classes));
    for (uint32_t i = 0; i < classes->n && *more > 0; i++) {
        tf_oset *other;
        TF_TRY(tf_other_oset(s->b, s->alternative, classes, i, &other));
        if (other != NULL && other->cost.base != TF_COST_NONE)
            TF_TRY(add_class_members(s, classes, i, other->cost, names, more));
    }
    return TOKFSM_OK;
}

/* Members beyond the required ones: a cost of something that can be written. */
static tokfsm_status add_more_members(sum *s)
{
    tf_build *b = s->b;
    uint64_t min, max;
    tf_member_counts(b, s->alternative, &min, &max);
    uint64_t more = min > s->n ? min - s->n : 0;
    if (s->n + more > max)
        s->total = tokens(TF_COST_NONE);
    if (more == 0 || s->total.base == TF_COST_NONE)
        return TOKFSM_OK;
    tf_name_list names = {.b = b};
    tokfsm_status status = tf_each_name(b, s->alternative, tf_name_list_add, &names);
    if (status == TOKFSM_OK)
        status = add_other_members(s, &names, &more);
    for (size_t i = 0; i < names.n && more > 0 && status == TOKFSM_OK; i++) {
        uint32_t n_members = s->n;
        tf_cost before = s->total;
        status = add_member(s, names.items[i].text, names.items[i].n);
        if (s->total.base == TF_COST_NONE && before.base != TF_COST_NONE) {
            s->total = before; /* this one cannot be written */
            s->n = n_members;
        }
        more -= s->n > n_members;
    }
    if (more > 0)
        s->total = tokens(TF_COST_NONE);
    tf_name_list_free(&names);
    return status;
}

static tokfsm_status object_cost(tf_build *b, const tf_alternative *alternative, tf_cost *cost)
{
    sum s = {.b = b, .alternative = alternative, .names = {.b = b}};
    s.total = tokens(tf_bytes_cost(&b->machine, "{}"));
    tokfsm_status status = tf_each_required(b, alternative, add_member, &s);
    if (status == TOKFSM_OK)
        status = add_more_members(&s);
    tf_name_list_free(&s.names);
    if (s.n > 0) /* the first line's gap, and that of the closing bracket */
        s.total = plus(s.total, plus(line(b, 1), line(b, 0)));
    *cost = s.total;
    return status;
}

static tf_cost times(tf_cost cost, uint64_t n) { return tf_cost_times(cost, n); }

static tokfsm_status array_cost(tf_build *b, const tf_alternative *alternative, tf_cost *cost)
{
    uint64_t min, max;
    tf_item_counts(b, alternative, &min, &max);
    *cost = min > max ? tokens(TF_COST_NONE) : tokens(tf_bytes_cost(&b->machine, "[]"));
    uint64_t n_prefix = tf_prefix_length(b, alternative);
    for (uint64_t i = 0; i < min && i <= n_prefix; i++) {
        tf_oset *oset;
        TF_TRY(tf_item_oset(b, alternative, i, &oset));
        tf_cost item = oset == NULL ? tokens(TF_COST_NONE) : deeper(oset->cost);
        *cost = plus(*cost, times(item, i == n_prefix ? min - n_prefix : 1));
    }
    if (min > 0)
        *cost = plus(*cost, plus(times(comma(b), min - 1), plus(line(b, 1), line(b, 0))));
    return TOKFSM_OK;
}

static tokfsm_status child_cost(tf_build *b, tf_oset *oset, tf_cost *cost)
{
    (void)b;
    *cost = deeper(oset->cost);
    return TOKFSM_OK;
}

/* An alternative that counts its children. */
static tokfsm_status counted_cost(tf_build *b, const tf_alternative *alternative, bool object,
                                  tf_cost *cost)
{
    tf_counted of = {child_cost, comma(b), tokens(other_name_cost(b)), declared_name_cost};
    TF_TRY(tf_counted_cost(b, alternative, object, &of, cost));
    bool empty = cost->base == 0 && cost->per_depth == 0; /* no child costs nothing */
    *cost = plus(*cost, tokens(tf_bytes_cost(&b->machine, object ? "{}" : "[]")));
    if (!empty)
        *cost = plus(*cost, plus(line(b, 1), line(b, 0)));
    return TOKFSM_OK;
}

/* ---- the fixpoint ---- */

typedef struct closure {
    tf_build *b;
    tf_oset **items;
    size_t n, capacity;
} closure;

static tokfsm_status add_to_closure(void *context, tf_oset *oset)
{
    closure *c = context;
    if (oset == NULL || oset->cost_state == TF_KNOWN ||
        (oset->cost_state == TF_PENDING && oset->cost_epoch == c->b->epoch))
        return TOKFSM_OK;
    oset->cost_epoch = c->b->epoch;
    if (!tf_grow(&c->b->arena.allocator, (void **)&c->items, c->n, &c->capacity, sizeof *c->items))
        return no_memory(c->b);
    oset->cost_state = TF_PENDING;
    oset->cost = tokens(TF_COST_NONE);
    c->items[c->n++] = oset;
    return TOKFSM_OK;
}

static tokfsm_status relax(tf_build *b, tf_oset *oset, bool *changed)
{
    tf_cost best = oset->cost;
    for (int object = 0; object < 2; object++) {
        const tf_alternatives *found;
        TF_TRY(tf_expand(b, oset, object, &found));
        for (uint32_t i = 0; i < found->n; i++) {
            tf_cost cost;
            TF_TRY(tf_spend(b->budget, b->err));
            if (found->items[i]->counters != NULL)
                TF_TRY(counted_cost(b, found->items[i], object, &cost));
            else
                TF_TRY(object ? object_cost(b, found->items[i], &cost)
                              : array_cost(b, found->items[i], &cost));
            keep_less(&best, cost);
        }
    }
    if (memcmp(&best, &oset->cost, sizeof best) != 0) {
        oset->cost = best;
        *changed = true;
    }
    return TOKFSM_OK;
}

static tokfsm_status solve(tf_build *b, closure *c)
{
    for (size_t i = 0; i < c->n; i++) {
        tf_oset *oset = c->items[i];
        TF_TRY(scalar_cost(b, oset, &oset->cost));
        for (int object = 0; object < 2; object++) {
            const tf_alternatives *found;
            TF_TRY(tf_expand(b, oset, object, &found));
            for (uint32_t k = 0; k < found->n; k++) {
                TF_TRY(tf_spend(b->budget, b->err));
                TF_TRY(tf_each_need(b, found->items[k], object, add_to_closure, c));
                if (object)
                    TF_TRY(tf_each_choice(b, found->items[k], add_to_closure, c));
                TF_TRY(tf_each_sign(b, found->items[k], object, add_to_closure, c));
            }
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = c->n; i-- > 0;)
            TF_TRY(relax(b, c->items[i], &changed));
    }
    return TOKFSM_OK;
}

tokfsm_status tf_oset_cost(tf_build *b, tf_oset *oset, tf_cost *cost)
{
    closure c = {.b = b};
    tokfsm_status status = add_to_closure(&c, oset);
    if (status == TOKFSM_OK)
        status = solve(b, &c);
    for (size_t i = 0; i < c.n; i++)
        c.items[i]->cost_state = status == TOKFSM_OK ? TF_KNOWN : TF_UNKNOWN;
    tf_release(&b->arena.allocator, c.items);
    *cost = oset->cost;
    return status;
}

tokfsm_status tf_build_items_cost(tf_build *b, const tf_kind *kind, const tf_items_cost **cost)
{
    const tf_kind_build *build = kind->build;
    tokfsm_status status = TOKFSM_OK;
    tf_items_cost *all = tf_take(b, kind->n_alternatives * sizeof *all, &status);
    for (uint32_t a = 0; a < kind->n_alternatives && status == TOKFSM_OK; a++) {
        const tf_alternative *alternative = build->alternatives[a];
        uint32_t n = tf_prefix_length(b, alternative);
        tf_cost *prefix = tf_take(b, n * sizeof *prefix, &status);
        for (uint32_t i = 0; i <= n && status == TOKFSM_OK; i++) {
            tf_oset *oset = NULL;
            tf_cost item = tokens(TF_COST_NONE);
            if (i < kind->max_items[a]) /* what cannot be there is never asked for */
                status = tf_item_oset(b, alternative, i, &oset);
            if (status == TOKFSM_OK && oset != NULL)
                status = tf_oset_cost(b, oset, &item);
            if (i < n)
                prefix[i] = item;
            else
                all[a].item = item;
        }
        all[a].n_prefix = n;
        all[a].prefix = prefix;
    }
    *cost = all;
    return status;
}
