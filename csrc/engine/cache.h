/*
 * Masks by what they depend on. A mask is a function of the place in the innermost lexeme and of
 * the K + 1 innermost frames, K the most containers that one token closes; deeper frames cannot
 * be reached by a token. What is compared is that signature, whole.
 *
 * Append-only and lock-free: an entry is built privately and published by compare-and-swap.
 * Past limits.automaton_bytes nothing more is kept.
 */
#ifndef TF_CACHE_H
#define TF_CACHE_H

#include "configuration.h"

typedef struct tf_cache tf_cache;

enum { TF_MAX_SIGNATURE = 96 }; /* words; what needs more is not kept */

typedef struct tf_signature {
    uint32_t n; /* 0: the mask depends on more than a signature holds */
    uint32_t outer;     /* from here on of the frames around the innermost one; 0: none */
    uint32_t length_at; /* the word of the string's length, or 0 */
    bool far;           /* that word stands for all lengths of a break, up to the mask's `most` */
    uint64_t length;
    uint64_t hash;
    uint64_t words[TF_MAX_SIGNATURE];
} tf_signature;

/* `neutral`: where items are compared, nothing that is written can matter (tf_unique_neutral). */
void tf_signature_of(const tf_machine *m, const tf_configuration *c, bool neutral,
                     tf_signature *signature);
/* Of what is no declared name, where one begins or in one that keeps to these (kind->names_apart):
   a part of a mask. */
void tf_signature_of_others(const tf_machine *m, const tf_configuration *c,
                            tf_signature *signature);
/* Names of which one more would meet all that some alternative that is alive requires, or leave
   none to come; false: not known, or more than `most`, or names are not apart (kind->names_apart). */
bool tf_names_wanting(const tf_frame *frame, uint32_t *names, uint32_t most, uint32_t *n);
/* Of what stays in a string, which a content state and the languages asked for (n_words words) decide:
   a part of masks, in a machine all of whose parts are there. */
void tf_signature_of_stay(const tf_content_state *state, const uint64_t *languages, uint32_t n_words,
                          tf_signature *signature);
/* Find out what masks depend on in frames of a kind whose names are there (kind->names_apart). */
void tf_cache_kind(const tf_machine *m, tf_kind *kind);
/* False: not there. What an artifact brings along is decoded into `arena`, and kept. */
bool tf_cache_find(tf_machine *m, tf_arena *arena, const tf_signature *signature, tf_edits *edits);
/* The same for this length alone, where the signature was for many. */
void tf_signature_near(tf_signature *signature);
/* Keep a mask; does nothing where there is no memory for it. A far signature's holds for lengths up
   to `most`. `as_row`: many ids may become a row, since nobody looks at them one by one. */
void tf_cache_keep(tf_machine *m, const tf_signature *signature, uint64_t most, bool as_row,
                   const tf_edits *edits);
/* Memory that lives as long as the masks and counts with them; NULL: none left. */
void *tf_cache_block(tf_machine *m, size_t n_bytes);
void tf_cache_free(tf_machine *m, const tokfsm_allocator *allocator);
/* A mask that is kept: its signature, and which one in the order in which they were made. */
typedef struct tf_cached {
    const uint64_t *words;
    const tf_edits *edits;
    uint64_t hash, most;
    uint32_t n_words, outer, order;
} tf_cached;
/* All of them, in any order, while nobody else uses the machine; NULL: no memory. */
const tf_cached *tf_cache_list(const tf_machine *m, tf_arena *arena, uint32_t *n);
/* Masks kept, and the memory that they take. */
void tf_cache_count(const tf_machine *m, uint64_t *n_masks, uint64_t *n_bytes);

#endif
