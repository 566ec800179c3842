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
/* The same for the tokens of `node` and below it; c is the place there. */
bool tf_walk_from(tf_run *run, const tf_trie *trie, uint32_t node, const tf_configuration *c,
                  tf_ids *set);
/* One token, by real steps. */
bool tf_is_allowed(tf_run *run, const tf_configuration *c, uint32_t id);
/*
 * The same inside a string or name that stands between characters and has a content that is not
 * settled: content states alone are stepped as long as characters are raw. Tokens that stay on
 * a literal, or close the string on one, are judged as if there were none.
 */
bool tf_walk_content(tf_run *run, const tf_configuration *c, tf_ids *set);
/*
 * The same by rows of the pack, to edits, where the content state alone decides; *done: it does.
 */
bool tf_walk_safe(tf_run *run, const tf_configuration *c, bool *done, tf_edits *edits);

/* What a string that keeps to its literals can be beside them. */
enum {
    TF_BESIDE_NOTHING,
    TF_BESIDE_LATER, /* another one that closes after one more character or more */
    TF_BESIDE_ANY
};
/*
 * In such a string or name, not compared with others: the tokens that stay on a literal, and
 * those that close one, to edits->set. Where edits->before can have tokens that close as another
 * string while they spell a literal, they go to edits->cleared.
 */
bool tf_walk_literals(tf_run *run, const tf_configuration *c, int beside, tf_edits *edits);

/* Tokens at and below the node of the quote that closes a literal which `c` can become: to `set`. */
bool tf_walk_closing(tf_run *run, const tf_configuration *c, uint32_t quote, uint32_t literal,
                     tf_ids *set);

/* Of the tokens that close a string: those with low to high - 1 characters before the quote, and
   no needless escape there if `minimal`. */
typedef struct tf_close_span {
    uint32_t low, high;
    bool minimal;
    const uint64_t *befores; /* and those of a string of traces->befores in this set; or NULL */
} tf_close_span;
/*
 * The same over traces, `which` of them (TF_TRACE_*), from a place outside strings; of
 * TF_TRACE_CLOSE, from behind the quote, those in the span. What is alike goes to edits->pieces.
 * With c->literals_only, where a name can begin: the tokens that begin a declared one, spell it or
 * close it; the latter go to edits->cleared, too, before they are decided.
 */
bool tf_walk_traces(tf_run *run, int which, const tf_configuration *c, const tf_close_span *close,
                    tf_edits *edits, tf_ids *set);

#endif
