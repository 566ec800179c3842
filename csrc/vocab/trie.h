/*
 * From a list of byte strings with ids to a trie in depth-first order (tf_trie, pack.h):
 * sort, measure, fill. The strings are borrowed. No recursion; work is counted.
 */
#ifndef TF_TRIE_H
#define TF_TRIE_H

#include "../base/budget.h"
#include "pack.h"

typedef struct tf_trie_item {
    uint64_t key; /* the first eight bytes, most significant first, padded with zeros */
    const uint8_t *data;
    uint32_t n_bytes;
    uint32_t id;
} tf_trie_item;

/* The arrays of a tf_trie while they are written. */
typedef struct tf_trie_arrays {
    uint8_t *byte;
    uint32_t *end, *first, *ids, *root;
} tf_trie_arrays;

void tf_trie_item_set(tf_trie_item *item, const uint8_t *data, uint32_t n_bytes, uint32_t id);

/* By bytes, then in the order given. `scratch` has room for n items. */
tokfsm_status tf_trie_sort(tf_trie_item *items, tf_trie_item *scratch, size_t n,
                           tf_budget *budget, tokfsm_error *err);

/*
 * Of sorted items: shared[k] = bytes that item k has in common with item k - 1 (0 for the
 * first). Returns the number of nodes, the root included.
 */
size_t tf_trie_measure(const tf_trie_item *items, size_t n, uint32_t *shared,
                       uint32_t *depth);

/* `path` has room for depth + 1 words; the arrays for what tf_trie_measure said. */
void tf_trie_fill(const tf_trie_item *items, const uint32_t *shared, size_t n,
                  size_t n_nodes, uint32_t *path, const tf_trie_arrays *out);

/* Of `node` and all below it: edges on the longest way down. They are zero before. */
void tf_trie_heights(const tf_trie *trie, uint32_t node, uint32_t *heights);

/*
 * Verify a trie from untrusted bytes, its n_ids ids included; NULL, or what is wrong. Each
 * token must end in the path of its node, with nothing or a quote before that; with
 * `whole` it must be the path. vocab_size, offsets and bytes are verified already, and
 * depth is at most the longest token. levels and path have room for depth + 1 entries.
 * node_depth, which may be NULL: parallel to ids, the depth of the id's node.
 */
typedef struct tf_trie_level {
    uint32_t end;
    uint32_t last; /* 1 + byte of the last child seen; 0: none */
} tf_trie_level;
const char *tf_trie_verify(const tf_trie *trie, uint32_t n_ids, const tokfsm_pack *pack,
                           bool whole, tf_trie_level *levels, uint8_t *path,
                           uint32_t *node_depth);

/* n units at once. */
static inline tokfsm_status tf_spend_n(tf_budget *budget, uint64_t n, tokfsm_error *err)
{
    uint64_t before = budget->left;
    budget->left = n < before ? before - n : 0;
    if (budget->left > 0 && before >> 10 == budget->left >> 10)
        return TOKFSM_OK;
    return tf_budget_check(budget, err);
}

#endif
