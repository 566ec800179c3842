/* The generic walk: a byte automaton against a trie of tokens. Always right. */
#ifndef TF_WALK_H
#define TF_WALK_H

#include "configuration.h"

/*
 * Add every token of `trie` after which `c` is live to `set`. With c->literals_only, tokens that
 * close a string on one of its literals go to `cleared` (NULL otherwise) before they are
 * decided. False: run->call.status.
 */
bool tf_walk(tf_run *run, const tf_trie *trie, const tf_configuration *c, tf_ids *set,
             tf_ids *cleared);
/* The same over the pack's `close` trie, for the tokens that have `low` to `high - 1`
   characters before the quote, and no needless escape there if `minimal`. */
bool tf_walk_close(tf_run *run, const tf_configuration *c, uint32_t low, uint32_t high,
                   bool minimal, tf_ids *set);

#endif
