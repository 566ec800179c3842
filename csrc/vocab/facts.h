/* What a vocabulary says beyond the tables of its pack file: made in memory with the traces. */
#ifndef TF_FACTS_H
#define TF_FACTS_H

#include "pack.h"

/* What some token spells of a string: which decoded bytes, and at most how many. */
typedef struct tf_spelled {
    uint64_t bytes[4];
    uint32_t most;
} tf_spelled;

typedef struct tf_vocab_facts {
    uint64_t byte_set[4]; /* the bytes that are tokens by themselves */
    uint32_t string_rest_cost[2][TF_N_STR + 1]; /* by escapes="minimal"; of byte_set */
    /* Bytes that a name can begin with in a token that has the comma before it, too; as written,
       and what an escape stands for. */
    uint64_t after_comma[4];
    bool names_pair;           /* a token can hold the end of one name and all of another */
    bool names_begun;          /* ... and the beginning of another, a byte at least */
    tf_spelled begun;          /* the beginning of a string, as far as a token that opens it goes */
    uint8_t escaped_closer[32]; /* bytes that some token writes as an escape and then closes the
                                   string: see tf_strings.hard_names */
} tf_vocab_facts;

void tf_vocab_facts_find(const tokfsm_pack *pack, tf_vocab_facts *facts);

/*
 * Tokens that lead from each string state to NORMAL by single bytes of the set, UINT32_MAX: they
 * do not. With `minimal` U3 is the state after \u000, and the last entry that after \u001.
 */
void tf_string_rest_costs(const uint64_t byte_set[4], bool minimal, uint32_t cost[TF_N_STR + 1]);

#endif
