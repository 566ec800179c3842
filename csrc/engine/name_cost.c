/*
 * Best first over texts, led by the exact distance to acceptance, so that the first texts that
 * are accepted are the cheapest. At most one text more is looked at than are used. Whatever the
 * language there is no such distance: the least cost so far leads, and a state is gone on from as
 * often as names are wanted and used; more ways to it have the same ends and are no cheaper.
 * Source: Hart, Nilsson, Raphael, "A Formal Basis for the Heuristic Determination of Minimum
 * Cost Paths" (1968).
 */
#include "name_cost.h"

typedef struct node {
    const tf_content_state *state;
    uint32_t parent; /* 1 + index */
    uint32_t n;      /* bytes so far */
    uint32_t spent, total;
    uint8_t byte;
    bool whole; /* the text may end here: it stands for itself */
} node;

typedef struct search {
    tf_content_walker *w;
    uint32_t language;
    uint64_t n_names; /* wanted and used */
    uint32_t n_alike; /* bytes of a class that are tried: enough for as many names, since what
                         follows is the same */
    node *nodes;
    uint32_t n, capacity;
    uint32_t *heap; /* indices of nodes; least total first, then the longest */
    uint32_t n_heap, heap_capacity;
    uint64_t *times; /* by state: that it was gone on from, in any language */
    uint32_t n_times, times_capacity;
} search;

enum { ANY_LANGUAGE = UINT32_MAX };

static bool before(const search *s, uint32_t a, uint32_t b)
{
    const node *x = &s->nodes[a], *y = &s->nodes[b];
    return x->total != y->total ? x->total < y->total : x->n > y->n;
}

static bool push(search *s, node fresh)
{
    if (!tf_arena_grow(s->w->arena, (void **)&s->nodes, s->n, &s->capacity, 64, sizeof fresh) ||
        !tf_arena_grow(s->w->arena, (void **)&s->heap, s->n_heap, &s->heap_capacity, 64,
                       sizeof *s->heap))
        return false;
    s->nodes[s->n] = fresh;
    uint32_t at = s->n_heap++;
    s->heap[at] = s->n++;
    while (at > 0 && before(s, s->heap[at], s->heap[(at - 1) / 2])) {
        uint32_t up = (at - 1) / 2, swap = s->heap[at];
        s->heap[at] = s->heap[up];
        s->heap[up] = swap;
        at = up;
    }
    return true;
}

static uint32_t pop(search *s)
{
    uint32_t top = s->heap[0], at = 0;
    s->heap[0] = s->heap[--s->n_heap];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= s->n_heap)
            return top;
        if (child + 1 < s->n_heap && before(s, s->heap[child + 1], s->heap[child]))
            child++;
        if (!before(s, s->heap[child], s->heap[at]))
            return top;
        uint32_t swap = s->heap[at];
        s->heap[at] = s->heap[child];
        s->heap[child] = swap;
        at = child;
    }
}

/* Whatever the language: *again, whether to go on from this state once more. False: no memory. */
static bool once_more(search *s, const tf_content_state *state, bool *again)
{
    for (; s->n_times <= state->id; s->n_times++) {
        if (!tf_arena_grow(s->w->arena, (void **)&s->times, s->n_times, &s->times_capacity, 64,
                           sizeof *s->times))
            return false;
        s->times[s->n_times] = 0;
    }
    *again = s->times[state->id]++ < s->n_names;
    return true;
}

/* The place itself: to be gone on from, and as the end of a text. */
static bool reach(search *s, node fresh)
{
    if (s->language == ANY_LANGUAGE) {
        fresh.total = fresh.spent;
        return push(s, fresh);
    }
    const uint32_t *distance = s->w->cost(s->w->context, fresh.state);
    if (distance == NULL) {
        s->w->failed = true;
        return false;
    }
    if (distance[s->language] == TF_COST_NONE)
        return true;
    fresh.total = tf_cost_add(fresh.spent, distance[s->language]);
    return push(s, fresh);
}

static bool spread(search *s, uint32_t index)
{
    tf_content_walker *w = s->w;
    node from = s->nodes[index];
    bool any = s->language == ANY_LANGUAGE, again = true;
    if (any && !once_more(s, from.state, &again))
        return false;
    if (!again)
        return true;
    if (!from.state->inside && (any || tf_word_bit(from.state->accepts, s->language))) {
        node end = from;
        end.parent = index + 1;
        end.whole = true;
        end.total = end.spent;
        if (!push(s, end))
            return false;
    }
    uint32_t tried[256];
    const tf_content_state *leads[256]; /* by class: most bytes of most states lead nowhere */
    memset(tried, 0, sizeof tried);
    memset(leads, 0, sizeof leads);
    for (uint32_t k = 0; k < 256; k++) {
        uint32_t byte = (k + 0x61) & 0xFF; /* letters first */
        uint32_t class = from.state->content->byte_class[byte];
        const tf_content_state *next = leads[class];
        if (next == NULL)
            next = leads[class] = w->next(w->context, from.state, class);
        if (next == NULL) {
            w->failed = true;
            return false;
        }
        if (next == &tf_content_dead)
            continue;
        uint32_t cost = tf_byte_cost(w->m, byte);
        if (cost == TF_COST_NONE || (cost == 1 && tried[class]++ >= s->n_alike))
            continue;
        if (!reach(s, (node){next, index + 1, from.n + 1, from.spent + cost, 0, (uint8_t)byte, false}))
            return false;
    }
    return true;
}

static const uint8_t *text_of(search *s, const node *end)
{
    uint8_t *text = tf_arena_take(s->w->arena, (size_t)end->n + 1);
    const node *at = end;
    for (uint32_t i = end->n; text != NULL && i > 0;) {
        if (!at->whole)
            text[--i] = at->byte;
        at = at->parent == 0 ? at : &s->nodes[at->parent - 1];
    }
    return text;
}

static search search_of(tf_content_walker *walker, uint32_t language, uint64_t n_names,
                        const tf_content_state *state)
{
    search s = {.w = walker, .language = language, .n_names = n_names,
                .n_alike = n_names > 256 ? 256 : (uint32_t)n_names};
    if (!reach(&s, (node){.state = state}))
        walker->failed = true;
    return s;
}

/* The next text; false: there is none, or walker->failed. */
static bool next_text(search *s, node *end, const uint8_t **bytes)
{
    tf_content_walker *w = s->w;
    while (!w->failed && s->n_heap > 0) {
        uint32_t at = pop(s);
        if (!w->spend(w->context)) {
            w->failed = true;
        } else if (s->nodes[at].whole) {
            *end = s->nodes[at];
            *bytes = text_of(s, end);
            w->failed = *bytes == NULL;
            return !w->failed;
        } else if (!spread(s, at)) {
            w->failed = true;
        }
    }
    return false;
}

uint32_t tf_name_cheapest(tf_content_walker *walker, const tf_content_state *state,
                          uint32_t language, tf_name_used used, void *context, uint64_t n_used,
                          uint32_t n_wanted, uint32_t *costs, const uint8_t **text,
                          uint32_t *n_text)
{
    search s = search_of(walker, language, n_used + n_wanted, state);
    uint32_t found = 0;
    node end;
    const uint8_t *bytes;
    *text = NULL;
    *n_text = 0;
    while (found < n_wanted && next_text(&s, &end, &bytes)) {
        if (used(context, bytes, end.n))
            continue;
        if (found == 0) {
            *text = bytes;
            *n_text = end.n;
        }
        costs[found++] = end.spent;
    }
    return walker->failed ? 0 : found;
}

void tf_name_each(tf_content_walker *walker, const tf_content_state *state, uint64_t n_used,
                  tf_name_visit visit, void *context)
{
    search s = search_of(walker, ANY_LANGUAGE, n_used + 1, state);
    node end;
    const uint8_t *bytes;
    while (next_text(&s, &end, &bytes) && visit(context, end.state, bytes, end.n, end.spent))
        ;
}
