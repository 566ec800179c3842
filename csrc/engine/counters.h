/*
 * Counters: what an alternative asks of its children together. Each says that between `min` and
 * `max` of them meet an obligation; which children it looks at, and what it wants of them, is
 * known to the compile half alone.
 *
 * A *sign* of a child is a set of counters, as bits: those that count it. An edge has one
 * obligation for each sign. Where a counter has no `max`, a sign without it leaves open whether
 * the child meets the obligation; else it says that the child does not. So a child satisfies
 * several signs of an alternative, and their union counts.
 *
 * Counts are registers of a frame: up to `max`, or without one up to `min`. Whether the children
 * to come can still meet all counters is decided exactly, by the plans below.
 */
#ifndef TF_COUNTERS_H
#define TF_COUNTERS_H

#include "bound_names.h"
#include "costs.h"
#include "frames.h"

#define TF_MAX_COUNTERS 6u                   /* of an alternative */
#define TF_MAX_SIGNS (1u << TF_MAX_COUNTERS) /* so that signs fit a 64-bit set */
#define TF_MAX_COUNTER_STATES 1024u          /* counts that the items of an array can have reached */
#define TF_UNCOUNTED UINT64_MAX              /* no limit */

struct tf_counter {
    uint64_t min, max; /* max TF_UNCOUNTED: none; min 1 and no max in objects */
};

/* Of a kind; all that is not there without counters. */
struct tf_counting {
    const uint32_t *first_counter; /* [n_alternatives + 1] into `counters`, and into the registers */
    const uint32_t *first_sign;    /* [n_alternatives + 1] into tf_edge.obligation */
    const uint32_t *row;           /* [n_alternatives] into a row of `possible`; TF_NONE: no counter */
    const tf_counter *counters;
    uint32_t n_counters, n_signs, n_rows;
    uint32_t endless;              /* arrays: 1: no counter and no number of items has a greatest one,
                                      and items without end meet every counter */
    uint32_t span;                 /* so many items more make no difference (see items_plan.c) */
    const uint64_t *possible;      /* [n_edges][n_rows]: signs that some child has */
};

static inline uint32_t tf_n_counters(const tf_kind *kind, uint32_t a)
{
    const tf_counting *c = kind->counting;
    return c == NULL ? 0 : c->first_counter[a + 1] - c->first_counter[a];
}
/* The obligations through which alternative a looks, by sign: 1 << tf_n_counters of them. */
static inline const uint32_t *tf_edge_signs(const tf_kind *kind, const tf_edge *edge, uint32_t a)
{
    return edge->obligation + (kind->counting == NULL ? a : kind->counting->first_sign[a]);
}
static inline uint64_t tf_counter_cap(const tf_counter *c)
{
    return c->max == TF_UNCOUNTED ? c->min : c->max;
}
/* Set counting.endless of an array, once all else is there. */
void tf_counters_note_endless(const tf_kind *kind, tf_counting *counting);
/* Whether plans with k counters are made: of an array whose first n_prefix items are told apart. */
bool tf_counters_fit(const tf_counter *counters, uint32_t k, uint64_t n_prefix);

/* Counters of alternative a that are below their min, as bits; whether there are none. */
uint32_t tf_unmet(const tf_frame *frame, uint32_t a);
bool tf_counters_met(const tf_frame *frame, uint32_t a);
/* Signs of item i, of a name (n_names: an undeclared one) that may come now, or of the one begun
   last, after which the alternative can still come to an end; 0: it does not admit it. For
   alternatives with counters. */
uint64_t tf_item_signs(tf_run *run, const tf_frame *frame, uint32_t a, uint64_t i);
uint64_t tf_name_signs(tf_run *run, const tf_frame *frame, uint32_t a, uint32_t name, bool begun);
/* The alternatives that take a child with this outcome, and their counts after it, as
   tf_frame.counts; NULL counts only where there are no counters. False: no memory. */
bool tf_count_child(tf_run *run, const tf_frame *frame, const uint64_t *outcome, uint64_t *kept,
                    const uint64_t **counts);
/* Whether alternative a takes name k (not n_names) after `name` (TF_NONE: none), by its order. */
bool tf_comes_after(const tf_kind *kind, uint32_t a, uint32_t k, uint32_t name);

/* Tokens of the items or members, required or not, that alternative a needs after the one begun
   last, which has this sign, each with its comma. Members: `taken`, `begun` and `in_progress` as
   in bound.c. */
uint32_t tf_items_rest(tf_run *run, const tf_frame *frame, uint32_t a, uint32_t sign);
uint32_t tf_members_rest(tf_run *run, const tf_frame *frame, uint32_t a, uint32_t taken, bool begun,
                         uint32_t in_progress, uint32_t sign, const tf_known_name *but);

/* bound.c: a declared name from position `pos` of its spelling, the colon, and its value; an
   undeclared one with its value, but for the characters of its name; and the length in bytes of the
   longest name that alternative a speaks of, or that is there already. */
uint32_t tf_member_cost(tf_run *run, const tf_frame *frame, uint32_t name, uint32_t pos,
                        uint32_t a, uint32_t sign);
uint32_t tf_other_member_cost(tf_run *run, const tf_frame *frame, const tf_edge *edge, uint32_t a,
                              uint32_t sign);
uint32_t tf_longest_name(const tf_frame *frame, uint32_t a);

/* ---- plans: the cheapest children that meet all counters ---- */

typedef struct tf_items_plan {
    const tf_counter *counters;
    uint32_t k;
    uint64_t counts[TF_MAX_COUNTERS]; /* at the start */
    uint64_t at, min, max;            /* items so far; fewest and most in all */
    uint32_t n_classes;
    const uint64_t *first;            /* item i is of the last class with first[class] <= i */
    tf_cost comma;                    /* before an item but the first */
    /* The cost of an item of a class by sign, none: there is no such item. False: failed. */
    bool (*costs)(void *context, uint32_t class, tf_cost by_sign[TF_MAX_SIGNS]);
    bool (*spend)(void *context);     /* one unit of work; false: failed */
    void *context;
} tf_items_plan;

/* None where the counters cannot be met. False: failed. */
bool tf_items_plan_cost(const tf_items_plan *plan, tf_cost *cost);

/* Members are given one by one; each meets a part of what is unmet. */
typedef struct tf_members_plan {
    uint32_t k, unmet;        /* counters still to be met, as bits */
    uint32_t n_optional;      /* at most so many members that need not be there */
    uint32_t n_required;      /* so far */
    uint64_t fill, room;      /* fewest and most members beyond the required ones */
    uint32_t free_commas;     /* members without one: 1 at the start of an object */
    tf_cost comma;
    uint32_t longest, char_tokens; /* undeclared names are each longer than all before */
    tf_cost *of;              /* [n_optional + 1][1 << k] by the caller */
} tf_members_plan;

void tf_members_plan_begin(tf_members_plan *plan);
void tf_members_plan_add(tf_members_plan *plan, bool required, const tf_cost *by_sign);
/* `other` by sign: an undeclared member without the characters of its name; NULL: none may come. */
tf_cost tf_members_plan_cost(tf_members_plan *plan, const tf_cost *other);

#endif
