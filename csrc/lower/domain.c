#include "domain.h"

#include "../engine/content.h"
#include "name_classes.h"

#include "names.h"

/* Sets inside sets; the C stack holds a few small frames for each. */
enum { MAX_DEPTH = 48 };

typedef struct path { /* the sets whose values are being listed */
    const struct path *outer;
    const tf_oset *oset;
    uint32_t depth;
} path;

typedef struct lister {
    tf_build *b;
    tf_run *run;
} lister;

static tokfsm_status list(lister *l, const path *outer, const tf_oset *oset, uint32_t most,
                          tf_domain *d);

static tokfsm_status no_memory(tf_build *b)
{
    return tf_fail(b->err, TOKFSM_E_NOMEM, "no memory while compiling");
}

static tokfsm_status add(lister *l, tf_domain *d, const tf_item *item)
{
    if (item == NULL)
        return l->run->call.status;
    for (uint32_t i = 0; i < d->n; i++)
        if (d->items[i]->hash == item->hash && tf_item_equal(l->run, d->items[i], item))
            return TOKFSM_OK;
    TF_TRY(l->run->call.status);
    d->items[d->n++] = item;
    d->many = d->n >= d->most;
    return tf_spend(l->b->budget, l->b->err);
}

/* ---- scalars ---- */

enum { MOST_MISSED = 4096 };

typedef struct content_list {
    lister *l;
    tf_domain *d;
    uint64_t from, last;
    tokfsm_status status;
    uint32_t n_missed; /* texts of other lengths */
} content_list;

/* A text of the language: "used", so that the search goes on to the next. */
static bool list_text(void *context, const uint8_t *bytes, uint32_t n)
{
    content_list *c = context;
    uint64_t n_chars = 0;
    for (uint32_t i = 0; i < n; i++)
        n_chars += (bytes[i] & 0xC0u) != 0x80u;
    uint8_t *kept = tf_arena_take(c->l->run->arena, (size_t)n + 1);
    if (kept == NULL) {
        c->status = no_memory(c->l->b);
        return false;
    }
    memcpy(kept, bytes, n);
    if (n_chars < c->from || n_chars > c->last) {
        /* Texts come by what they cost: those of the right length may be without end away. */
        c->d->unknown |= ++c->n_missed > MOST_MISSED;
        return !c->d->unknown;
    }
    if (c->status == TOKFSM_OK)
        c->status = add(c->l, c->d, tf_item_string(c->l->run, kept, n));
    return c->status == TOKFSM_OK && !c->d->many;
}

/* Strings that a break's language admits, as many as are asked for. */
static tokfsm_status list_content(lister *l, const tf_strings *s, uint32_t i, tf_domain *d)
{
    const tf_content *content = s->content;
    uint32_t language = s->breaks[i].language[0], cost, n_found;
    if (content->start == NULL || !tf_word_bit(content->start->live, language))
        return TOKFSM_OK;
    if (content->start->counts != NULL && content->start->counts[language] >= d->most) {
        d->many = true;
        return TOKFSM_OK;
    }
    content_list c = {l, d, 0, TF_UNLIMITED, TOKFSM_OK, 0};
    if (content->has_lengths) {
        c.from = s->breaks[i].from;
        c.last = tf_break_last(s, i);
        /* As many lengths as are asked for: each has a string. */
        uint64_t n = 0, at = c.from;
        bool all = content->has_lengths == TF_LENGTHS_ALL;
        for (; all && at <= c.last && n < d->most && at - c.from <= 2 * (uint64_t)d->most + 64; at++)
            n += tf_content_meets(content->start, language, 0, at, at);
        d->many |= n >= d->most;
        if (d->many)
            return TOKFSM_OK;
        if (all && content->start->lengths[language]->longest == TF_UNLIMITED) {
            d->unknown = true; /* of a language without end the texts are not searched by length */
            return TOKFSM_OK;
        }
    }
    TF_TRY(tf_build_name_cheapest(l->b, content->start, language, list_text, &c, 256, 1, &cost,
                                  &n_found));
    return c.status;
}

static tokfsm_status list_strings(lister *l, const tf_value *value, tf_domain *d)
{
    const tf_strings *s;
    TF_TRY(tf_build_strings(l->b, value, &s));
    bool empty = false, empty_literal = false;
    for (uint32_t i = 0; i < s->n_breaks; i++) {
        if (s->breaks[i].language != NULL && s->breaks[i].language[0] != TF_NONE)
            TF_TRY(list_content(l, s, i, d));
        if (!s->breaks[i].outcome[0])
            continue;
        uint64_t end = i + 1 < s->n_breaks ? s->breaks[i + 1].from : UINT64_MAX;
        if (end > 1)
            d->many = true; /* over a million characters less some literals */
        empty |= s->breaks[i].from == 0;
    }
    for (uint32_t i = 0; i < s->n_literals && !d->many; i++) {
        const tf_literal *literal = &s->literals[i];
        empty_literal |= literal->n_text == 0;
        if (literal->end[0])
            TF_TRY(add(l, d, tf_item_string(l->run, literal->text, literal->n_text)));
    }
    return empty && !empty_literal && !d->many
               ? add(l, d, tf_item_string(l->run, (const uint8_t *)"", 0))
               : TOKFSM_OK;
}

typedef struct digit_node {
    const tf_nstate *state;
    uint32_t previous; /* index of the node before, or TF_NONE */
    uint8_t byte;
    uint8_t pointed, zero; /* past the point; one of its zeros */
} digit_node;

typedef struct digit_tree {
    digit_node *nodes; /* all that were made; the ones to look at next by `stack` */
    size_t n, capacity;
    uint32_t *stack;
    size_t n_stack, stack_capacity;
} digit_tree;

static tokfsm_status number_at(lister *l, const digit_tree *t, uint32_t at, tf_domain *d)
{
    uint32_t n = 0;
    for (uint32_t i = at; i != TF_NONE && t->nodes[i].byte != 0; i = t->nodes[i].previous)
        n++;
    uint8_t *text = tf_arena_take(l->run->arena, n);
    if (text == NULL)
        return no_memory(l->b);
    for (uint32_t i = at, k = n; k > 0; i = t->nodes[i].previous)
        text[--k] = t->nodes[i].byte;
    return add(l, d, tf_item_number(l->run, text, n));
}

/* Zeros behind the point that lead round in a circle. */
static bool circles(const digit_tree *t, uint32_t from, const tf_nstate *state)
{
    for (uint32_t i = from; i != TF_NONE; i = t->nodes[i].previous) {
        if (t->nodes[i].state == state)
            return true;
        if (!t->nodes[i].zero)
            return false;
    }
    return false;
}

static tokfsm_status push_digits(lister *l, digit_tree *t, uint32_t from)
{
    static const char bytes[] = "0123456789-.";
    uint32_t first = (uint32_t)t->n, cost_of[12];
    for (uint32_t class = 0; bytes[class] != '\0'; class++) {
        digit_node at = t->nodes[from];
        const tf_nstate *next;
        TF_TRY(tf_spend(l->b->budget, l->b->err));
        TF_TRY(tf_build_number_next(l->b, at.state, class, &next));
        bool zero = at.pointed && class == 0;
        if (next == &tf_number_dead || !tf_word_bit(next->live, 0) ||
            (zero && circles(t, from, next)))
            continue;
        if (class == TF_N_POINT && l->b->machine.options.numbers == TOKFSM_NUMBERS_PLAIN &&
            tf_word_bit(at.state->rules->integers_only, 0))
            continue;
        const uint32_t *cost = atomic_load_explicit(&((tf_nstate *)(uintptr_t)next)->cost,
                                                    memory_order_relaxed);
        if (cost == NULL) {
            TF_TRY(tf_build_number_cost(l->b, next, &cost));
            atomic_store_explicit(&((tf_nstate *)(uintptr_t)next)->cost, cost, memory_order_release);
        }
        if (!tf_grow(&l->b->arena.allocator, (void **)&t->nodes, t->n, &t->capacity, sizeof *t->nodes))
            return no_memory(l->b);
        cost_of[t->n - first] = cost[0];
        t->nodes[t->n++] = (digit_node){next, from, (uint8_t)bytes[class],
                                        at.pointed || class == TF_N_POINT, zero};
    }
    /* The cheapest on top. */
    for (uint32_t left = (uint32_t)t->n - first; left > 0; left--) {
        uint32_t dearest = TF_NONE;
        for (uint32_t k = first; k < t->n; k++)
            if (cost_of[k - first] != TF_COST_NONE - 1 &&
                (dearest == TF_NONE || cost_of[k - first] == TF_COST_NONE ||
                 (cost_of[dearest - first] != TF_COST_NONE &&
                  cost_of[k - first] > cost_of[dearest - first])))
                dearest = k;
        if (!tf_grow(&l->b->arena.allocator, (void **)&t->stack, t->n_stack, &t->stack_capacity,
                     sizeof *t->stack))
            return no_memory(l->b);
        t->stack[t->n_stack++] = dearest;
        cost_of[dearest - first] = TF_COST_NONE - 1; /* taken */
    }
    return TOKFSM_OK;
}

static tokfsm_status grow_digits(lister *l, digit_tree *t, const tf_nstate *start, tf_domain *d)
{
    if (!tf_grow(&l->b->arena.allocator, (void **)&t->nodes, 0, &t->capacity, sizeof *t->nodes))
        return no_memory(l->b);
    t->nodes[t->n++] = (digit_node){start, TF_NONE, 0, 0, 0};
    TF_TRY(push_digits(l, t, 0));
    while (t->n_stack > 0 && !d->many) {
        uint32_t at = t->stack[--t->n_stack];
        if (tf_word_bit(t->nodes[at].state->end, 0))
            TF_TRY(number_at(l, t, at, d));
        TF_TRY(push_digits(l, t, at));
    }
    /* With digits limited an exponent writes numbers that digits cannot. */
    if (!d->many && l->b->machine.options.max_digits != TOKFSM_UNBOUNDED &&
        tf_word_bit(start->rules->any_number, 0))
        d->unknown = true;
    return TOKFSM_OK;
}

static tokfsm_status list_numbers(lister *l, const tf_value *value, tf_domain *d)
{
    const tf_nstate *start;
    TF_TRY(tf_build_number(l->b, value, &start));
    if (start == &tf_number_dead)
        return TOKFSM_OK;
    digit_tree t = {0};
    tokfsm_status status = grow_digits(l, &t, start, d);
    tf_release(&l->b->arena.allocator, t.nodes);
    tf_release(&l->b->arena.allocator, t.stack);
    return status;
}

static tokfsm_status list_scalars(lister *l, tf_oset *oset, tf_domain *d)
{
    const tf_value *value;
    TF_TRY(tf_value_of(l->b, &oset, 1, &value));
    for (uint32_t i = 0; i < TF_N_LITERALS && !d->many; i++)
        if (value->literal[i][0])
            TF_TRY(add(l, d, tf_item_literal(l->run, i)));
    if (!d->many)
        TF_TRY(list_strings(l, value, d));
    return d->many ? TOKFSM_OK : list_numbers(l, value, d);
}

/* ---- containers: choices of children, one place after the other ---- */

typedef struct chosen {
    const tf_child *last;
    uint32_t place; /* next to be decided */
    uint32_t next;  /* which value is next there; one past the last: the place stays empty */
    uint32_t n;
    bool open; /* some item is any of many */
} chosen;

static tokfsm_status emit(lister *l, tf_domain *d, bool object, const tf_child *last, uint32_t n)
{
    tf_kind kind = {.is_object = object};
    tf_frame frame = {.kind = &kind, .children = last, .count = n};
    return add(l, d, tf_item_container(l->run, &frame));
}

static const tf_child *append(lister *l, const tf_child *last, const tf_item *value, tf_name name)
{
    tf_child *child = tf_arena_zero(l->run->arena, sizeof *child);
    if (child == NULL)
        l->run->call.status = no_memory(l->b);
    else
        *child = (tf_child){last, value, (const uint8_t *)name.text, name.n};
    return child;
}

static bool among(lister *l, const tf_child *last, const tf_item *item)
{
    for (; last != NULL; last = last->previous)
        if (last->value != NULL && item != NULL && tf_item_equal(l->run, last->value, item))
            return true;
    return false;
}

static bool has_twins(lister *l, const tf_twins *twins, const tf_child *last, uint32_t n)
{
    for (uint32_t i = n; last != NULL; last = last->previous) {
        i--;
        uint32_t k = i;
        for (const tf_child *other = last->previous; other != NULL; other = other->previous) {
            k--;
            bool stand = (twins->first < twins->tail ? k == twins->first : k >= twins->tail) &&
                         (twins->second < twins->tail ? i == twins->second : i >= twins->tail);
            if (stand && other->value != NULL && last->value != NULL &&
                tf_item_equal(l->run, other->value, last->value))
                return true;
        }
    }
    return false;
}

static tokfsm_status list_array(lister *l, const path *p, const tf_alternative *alternative,
                                tf_domain *d)
{
    tf_build *b = l->b;
    uint64_t min, max;
    if (alternative->counters != NULL) {
        d->unknown = true;
        return TOKFSM_OK;
    }
    tf_item_counts(b, alternative, &min, &max);
    uint32_t n_prefix = tf_prefix_length(b, alternative);
    tf_unique_facts facts;
    TF_TRY(tf_unique_facts_of(b, alternative, &facts));
    if (min > max)
        return TOKFSM_OK;
    tf_domain *places = tf_arena_zero(l->run->arena, ((size_t)n_prefix + 1) * sizeof *places);
    if (places == NULL)
        return no_memory(b);
    /* So many that all other items of an array leave as many as are asked for. */
    uint64_t wanted = (uint64_t)d->most + n_prefix + 1 + (facts.unique ? min : 0);
    if (wanted > 4 * (uint64_t)TF_MAX_LISTED) {
        d->unknown = true;
        return TOKFSM_OK;
    }
    uint64_t longest = max;
    bool some_many = false, tail = false;
    for (uint32_t i = 0; i <= n_prefix && i < max; i++) {
        tf_oset *oset;
        TF_TRY(tf_item_oset(b, alternative, i, &oset));
        if (oset != NULL)
            TF_TRY(list(l, p, oset, (uint32_t)wanted, &places[i]));
        d->unknown |= places[i].unknown;
        if (places[i].n == 0 && !places[i].many) {
            longest = i;
            break;
        }
        some_many |= places[i].many;
        tail |= i == n_prefix;
    }
    if (longest < min)
        return TOKFSM_OK;
    bool plain = !facts.unique && facts.twins.second == TF_NONE;
    /* Values without number at one place, or a tail without end; the first of two equal items
       stands for both. */
    if ((some_many && plain) || (tail && max == TF_UNLIMITED && !facts.unique) ||
        (facts.twins.second != TF_NONE &&
         places[facts.twins.first < n_prefix ? facts.twins.first : n_prefix].many)) {
        d->many = true;
        return TOKFSM_OK;
    }
    if (some_many && !facts.unique) {
        d->unknown = true; /* what the other places leave of equal items is not counted */
        return TOKFSM_OK;
    }
    struct { chosen *items; size_t n, capacity; } stack = {0};
    tokfsm_status status = TOKFSM_OK;
    chosen at = {0};
    for (bool enter = true; status == TOKFSM_OK && !d->many;) {
        if (enter) {
            if (at.n >= min && at.open)
                d->many = true; /* whatever the other items are, it can differ from them */
            else if (at.n >= min &&
                (facts.twins.second == TF_NONE || has_twins(l, &facts.twins, at.last, at.n)))
                status = emit(l, d, false, at.last, at.n);
            if (status == TOKFSM_OK &&
                !tf_grow(&b->arena.allocator, (void **)&stack.items, stack.n, &stack.capacity, sizeof at))
                status = no_memory(b);
            if (status != TOKFSM_OK)
                break;
            stack.items[stack.n++] = at;
            enter = false;
        }
        chosen *top = &stack.items[stack.n - 1];
        const tf_domain *place = &places[top->n < n_prefix ? top->n : n_prefix];
        if (top->n >= longest || top->next >= (place->many ? 1 : place->n)) {
            if (--stack.n == 0)
                break;
            continue;
        }
        const tf_item *item = place->many ? NULL : place->items[top->next];
        top->next++;
        status = tf_spend(b->budget, b->err);
        if (facts.unique && among(l, top->last, item))
            continue;
        at = (chosen){append(l, top->last, item, (tf_name){NULL, 0}), 0, 0, top->n + 1,
                      top->open || place->many};
        if (l->run->call.status != TOKFSM_OK)
            status = l->run->call.status;
        enter = true;
    }
    tf_release(&b->arena.allocator, stack.items);
    return status;
}

static bool is_among(const tf_name_list *names, tf_name name)
{
    for (size_t i = 0; i < names->n; i++)
        if (names->items[i].n == name.n &&
            (name.n == 0 || memcmp(names->items[i].text, name.text, name.n) == 0))
            return true;
    return false;
}

static tokfsm_status list_members(lister *l, const tf_name_list *names,
                                  const tf_name_list *required, const tf_domain *places,
                                  uint64_t min, uint64_t max, tf_domain *d)
{
    tf_build *b = l->b;
    struct { chosen *items; size_t n, capacity; } stack = {0};
    tokfsm_status status = TOKFSM_OK;
    chosen at = {0};
    for (bool enter = true; status == TOKFSM_OK && !d->many;) {
        if (enter && at.place == names->n) {
            if (at.n >= min && at.n <= max)
                status = emit(l, d, true, at.last, at.n);
            if (stack.n == 0)
                break; /* no names at all */
            enter = false;
        } else if (enter) {
            if (!tf_grow(&b->arena.allocator, (void **)&stack.items, stack.n, &stack.capacity, sizeof at)) {
                status = no_memory(b);
                break;
            }
            stack.items[stack.n++] = at;
            enter = false;
        }
        if (status != TOKFSM_OK)
            break;
        chosen *top = &stack.items[stack.n - 1];
        const tf_domain *place = &places[top->place];
        tf_name name = names->items[top->place];
        uint32_t next = top->next++;
        status = tf_spend(b->budget, b->err);
        if (next > place->n) {
            if (--stack.n == 0)
                break;
            continue;
        }
        if (next == place->n) {
            if (is_among(required, name))
                continue;
            at = (chosen){top->last, top->place + 1, 0, top->n, false};
        } else {
            at = (chosen){append(l, top->last, place->items[next], name), top->place + 1, 0,
                          top->n + 1, false};
        }
        if (l->run->call.status != TOKFSM_OK)
            status = l->run->call.status;
        enter = true;
    }
    tf_release(&b->arena.allocator, stack.items);
    return status;
}

static tokfsm_status list_object(lister *l, const path *p, const tf_alternative *alternative,
                                 tf_domain *d)
{
    tf_build *b = l->b;
    uint64_t min, max;
    tf_member_counts(b, alternative, &min, &max);
    if (alternative->counters != NULL) {
        d->unknown = true; /* which member counts is not looked at here */
        return TOKFSM_OK;
    }
    tf_name_list required = {.b = b}, names = {.b = b};
    tokfsm_status status = tf_each_required(b, alternative, tf_name_list_add, &required);
    if (status == TOKFSM_OK)
        status = tf_each_name(b, alternative, tf_name_list_add, &names);
    tf_domain *places = tf_arena_zero(l->run->arena, (names.n + 1) * sizeof *places);
    tf_domain other = {0};
    tf_oset *oset = NULL;
    if (places == NULL)
        status = no_memory(b);
    const tf_name_classes *classes = NULL;
    if (status == TOKFSM_OK)
        status = tf_name_classes_own(b, alternative, &classes);
    bool few_names = false; /* a class of names that has an end is not listed */
    for (uint32_t i = 0; status == TOKFSM_OK && i < classes->n; i++) {
        tf_domain one = {0};
        status = tf_other_oset(b, alternative, classes, i, &oset);
        if (status == TOKFSM_OK && oset != NULL)
            status = list(l, p, oset, 1, &one);
        if (classes->items[i].n_names != TF_UNLIMITED)
            few_names |= one.n > 0 || one.unknown;
        else if (other.n == 0)
            other = one;
    }
    d->unknown |= few_names;
    bool possible = min <= max && required.n <= max;
    bool some_many = false;
    for (size_t i = 0; i < names.n && status == TOKFSM_OK && possible; i++) {
        status = tf_member_oset(b, alternative, names.items[i].text, names.items[i].n, &oset);
        bool must = is_among(&required, names.items[i]);
        if (status == TOKFSM_OK && oset != NULL)
            status = list(l, p, oset, d->most, &places[i]);
        d->unknown |= places[i].unknown;
        possible = !must || places[i].n > 0 || places[i].many;
        some_many |= places[i].many && (must || required.n < max);
    }
    d->unknown |= other.unknown && other.n == 0;
    if (status == TOKFSM_OK && possible) {
        if ((other.n > 0 && required.n < max) || (some_many && min <= required.n))
            d->many = true;
        else if (some_many)
            d->unknown = true;
        else
            status = list_members(l, &names, &required, places, min, max, d);
    }
    tf_name_list_free(&required);
    tf_name_list_free(&names);
    return status;
}

static tokfsm_status list(lister *l, const path *outer, const tf_oset *oset, uint32_t most,
                          tf_domain *d)
{
    *d = (tf_domain){.most = most};
    d->items = tf_arena_take(l->run->arena, (size_t)most * sizeof *d->items);
    if (d->items == NULL)
        return no_memory(l->b);
    path here = {outer, oset, outer == NULL ? 1 : outer->depth + 1};
    for (const path *at = outer; at != NULL; at = at->outer)
        d->unknown |= at->oset == oset;
    d->unknown |= here.depth > MAX_DEPTH;
    if (d->unknown)
        return TOKFSM_OK;
    TF_TRY(list_scalars(l, (tf_oset *)(uintptr_t)oset, d));
    for (int object = 0; object < 2 && !d->many; object++) {
        const tf_alternatives *found;
        TF_TRY(tf_expand(l->b, (tf_oset *)(uintptr_t)oset, object, &found));
        for (uint32_t i = 0; i < found->n && !d->many; i++)
            TF_TRY(object ? list_object(l, &here, found->items[i], d)
                          : list_array(l, &here, found->items[i], d));
    }
    if (d->many) {
        d->unknown = false;
        d->n = d->n > 0 ? d->n : 1; /* not empty; no one reads the items of many */
    }
    return TOKFSM_OK;
}

tokfsm_status tf_domain_of(tf_build *b, tf_run *run, const tf_oset *oset, uint32_t most,
                           tf_domain *domain)
{
    lister l = {b, run};
    return list(&l, NULL, oset, most, domain);
}
