/* The generic walk: a byte automaton against a trie of tokens. Always right. */
#ifndef TF_WALK_H
#define TF_WALK_H

#include "configuration.h"

/*
 * Set the bit of every token of `trie` after which `c` is live. With c->literals_only, tokens
 * that close a string on its literals are decided (set or cleared); other bits are only set.
 * False: run->call.status.
 */
bool tf_walk(tf_run *run, const tf_trie *trie, const tf_configuration *c, uint32_t *row);
/* The same over the pack's `close` trie, for the tokens that have `low` to `high - 1`
   characters before the quote, and no needless escape there if `minimal`. */
bool tf_walk_close(tf_run *run, const tf_configuration *c, uint32_t low, uint32_t high,
                   bool minimal, uint32_t *row);

#endif
