/*
 * Equal items: arrays whose items must all differ, or two of whose items must be equal. Frames
 * inside such an array keep the values of what has ended (items.h); an item that ends is
 * compared, and while one goes on the text is live only if the item can still become a value
 * that will do. Elsewhere nothing is kept and nothing is looked at.
 *
 * Whether an item can become such a value is answered by counting in most cases (room.c): with
 * more values in reach than are taken already there is one left. Else by a search over what can
 * be written (search.c), which finds all values of a language that is that small.
 */
#ifndef TF_UNIQUE_H
#define TF_UNIQUE_H

#include "frames.h"
#include "items.h"

/* tf_step_finish where the frame collects: c->item is what has ended. */
bool tf_unique_finish(tf_run *run, tf_configuration *c, const uint64_t *outcome);
/* Whether the item at hand can still become a value that will do. */
bool tf_unique_live(tf_run *run, const tf_configuration *c);
/* The same inside a walk of literals alone. */
bool tf_unique_alive(tf_run *run, const tf_configuration *c);
/* Where an item at hand must become equal to another: a way to the end of the outermost item that
   is compared, and its bytes. *applies false: none must. */
bool tf_unique_way(tf_run *run, const tf_configuration *c, bool *applies, tf_configuration *end,
                   uint32_t *n_bytes);
/* The outermost frame whose item at hand is compared with others; NULL: none is. */
const tf_frame *tf_unique_watch(const tf_configuration *c);
/* Whether what is written of every item at hand that is compared tells it from all earlier ones
   already, and none has to be equal to one: then the rest is free. Once so, always so. */
bool tf_unique_apart(tf_run *run, const tf_configuration *c);

/* Whether an item of `frame` is being written. */
bool tf_item_at_hand(const tf_configuration *c, const tf_frame *frame);
/* Whether alternative a, without equal items so far, gets them with the item at hand or never. */
bool tf_twins_last_chance(const tf_frame *frame, uint32_t a);
/* Whether the item at hand of `frame` can still become `target`, as far as its text tells.
   `typed`: bytes of a number at which a search began, see reach.c. */
bool tf_item_reachable(tf_run *run, const tf_configuration *c, const tf_frame *frame,
                       const tf_item *target, uint32_t typed);

/* room.c: by counting, whether `c` is live, the item at hand of `watch` being the outermost that
   is compared. False: it may still be. */
bool tf_room_suffices(tf_run *run, const tf_configuration *c, const tf_frame *watch);
/* How many values, at least, obligation j of a position has; no more than `most` are counted. */
uint64_t tf_value_room(tf_run *run, const tf_value *value, uint32_t j, uint64_t most,
                       uint32_t nesting);

/* Strings, for masks: what is written cannot become equal to anything, and there is room for
   every next item. */
bool tf_unique_neutral(tf_run *run, const tf_configuration *c);
/* Whether the next item of every array that is compared can be a string of any length. */
bool tf_unique_strings(tf_run *run, const tf_configuration *c);
/* Whether every way to go on inside the string, for `n_chars` characters more, is live. */
bool tf_unique_stays(tf_run *run, const tf_configuration *c, uint64_t n_chars);

/* search.c: depth-first over what can be written from `start` to the end of the item of the frame
   at depth `base`, cheapest first, each value once or few times. */
typedef struct tf_search {
    const tf_configuration *start;
    uint32_t base;
    const tf_frame *of; /* with `target`: only texts on which its item becomes equal to it */
    const tf_item *target;
    bool (*leaf)(void *context, tf_run *run, const tf_configuration *c); /* true: enough.
                                                                 NULL: the first will do */
    void *context;
    tf_configuration end; /* the leaf that was enough, and the bytes that lead to it */
    uint32_t n_bytes;
    const uint8_t *path; /* those bytes, in the run's arena; without `leaf` only */
} tf_search;
bool tf_search_run(tf_run *run, tf_search *search); /* whether a leaf was enough */
/* A way to the end of the outermost item that is compared, to be followed as far as one likes; NULL in search->path: none is
   needed to tell what is live. False: there is none. */
bool tf_unique_path(tf_run *run, const tf_configuration *c, tf_search *search);
enum { TF_MAX_MOVES = 264 };
/* The bytes to try from c on, best first. */
uint32_t tf_search_moves(tf_run *run, const tf_search *search, const tf_configuration *c,
                         uint8_t moves[TF_MAX_MOVES]);

/* Whether bytes that are tokens by themselves lead to an end, items compared or not. */
bool tf_search_ends(tf_run *run, const tf_configuration *c);

/* match.c */
typedef struct tf_item_list {
    const tf_item **items;
    uint32_t n;
} tf_item_list;
/* Whether each list gives one value so that all differ, from `taken` too. */
bool tf_match_lists(tf_run *run, const tf_item_list *lists, uint32_t n, const tf_child *taken);
/* Whether the items that alternative a still must have can all differ from each other and from
   those that are there. */
bool tf_match_items(tf_run *run, const tf_frame *frame, uint32_t a);
/* Make m->pairs and m->whole_pairs; false: no memory. */
bool tf_unique_pairs(tf_machine *m, tf_arena *arena);

#endif
