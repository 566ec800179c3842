/*
 * Bytes in 64 groups, so that what occurs in a token, or below a node of the trie, is one word:
 * the letters and digits that patterns keep together are one group, all other ASCII characters
 * one each; a character beyond ASCII is in the group of its lead byte, and its other bytes are
 * in none. What patterns tell apart from its neighbours is in groups of its own: U+2028 and U+2029,
 * which the dot leaves out, and the other white space beyond ASCII that \s means.
 *
 * Made in memory with the traces. Rows of tokens by groups are made on first use and kept.
 */
#ifndef TF_GROUPS_H
#define TF_GROUPS_H

#include "pack.h"

enum { TF_GROUP_BUCKETS = 128, TF_LONG_CHARS = 16 };
enum { TF_GROUP_NEVER = 63, TF_GROUP_NONE = 64, TF_N_BYTE_GROUPS = 51,
       TF_GROUP_SEPARATORS = 51, TF_GROUP_SPACES = 52, TF_N_USED_GROUPS = 53, TF_N_GROUPS = 64 };
extern const uint8_t tf_byte_group[256];
/* Groups of the characters in n bytes of a string. */
uint64_t tf_groups_of(const uint8_t *bytes, uint32_t n);
/* TF_GROUP_SEPARATORS or TF_GROUP_SPACES where the last of n bytes ends such a character, else
   TF_GROUP_NONE. */
uint8_t tf_special_group(const uint8_t *bytes, uint32_t n);
/* The i-th character of these two groups, in 3 bytes or, then 0 comes first, 2; NULL: no more. */
const uint8_t *tf_special_char(uint32_t i, uint8_t *group);
/* The bytes of a group below TF_N_BYTE_GROUPS, ascending. */
uint32_t tf_group_bytes(uint32_t group, const uint8_t **bytes);
#define TF_GROUP_BIT(byte) ((uint64_t)1 << tf_byte_group[(uint8_t)(byte)])
/* Groups that no raw character of a string is in: quote, backslash, control characters. */
uint64_t tf_groups_never_raw(void);

typedef struct tf_groups {
    const uint64_t *token; /* [vocab_size] of a token of stay[NORMAL]; else also TF_GROUP_NEVER */
    /* Tokens that stay in a string, have no escape and begin over TF_LONG_CHARS characters. */
    const uint32_t *long_tokens;
    uint32_t n_long;
    _Atomic(uint32_t *) with; /* [TF_N_GROUPS][n_words] tokens that have a byte of the group; made
                                 with the first row */
    uint32_t most_escaped; /* characters at most of a token with a backslash */
    _Atomic(struct tf_group_row *) rows[TF_GROUP_BUCKETS];
    atomic_uint n_rows;
} tf_groups;

/*
 * The row of the tokens that stay in a string, from between characters, and have no byte outside
 * these groups; NULL: no memory, or over TF_MAX_GROUP_ROWS of them. Any thread.
 */
enum { TF_MAX_GROUP_ROWS = 1024 };
const uint32_t *tf_group_row_of(tokfsm_pack *pack, uint64_t groups);
/* The same into a row of the caller's; false: no memory. */
bool tf_group_row_write(tokfsm_pack *pack, uint64_t groups, uint32_t *row);

/* Of each node but the root of the trie of all tokens: see tf_branch. False: no memory. */
bool tf_groups_below(const tokfsm_pack *pack, tf_arena *scratch, uint64_t *below, uint8_t *chars);
tokfsm_status tf_groups_make(tokfsm_pack *pack, tf_arena *arena, tf_groups *groups,
                             tokfsm_error *err);
void tf_groups_free(tokfsm_pack *pack, tf_groups *groups);

#endif
