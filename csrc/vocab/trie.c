#include "trie.h"

void tf_trie_item_set(tf_trie_item *item, const uint8_t *data, uint32_t n_bytes, uint32_t id)
{
    uint64_t key = 0;
    for (uint32_t i = 0; i < 8; i++)
        key = key << 8 | (i < n_bytes ? data[i] : 0u);
    *item = (tf_trie_item){key, data, n_bytes, id};
}

/* Whether b comes strictly before a; *work counts what the key did not settle. */
static bool before(const tf_trie_item *b, const tf_trie_item *a, uint64_t *work)
{
    if (b->key != a->key)
        return b->key < a->key;
    uint32_t n = b->n_bytes < a->n_bytes ? b->n_bytes : a->n_bytes;
    if (n > 8) {
        *work += n / 16;
        int order = memcmp(b->data + 8, a->data + 8, n - 8);
        if (order != 0)
            return order < 0;
    }
    return b->n_bytes < a->n_bytes;
}

/* Merge sort, bottom up, from runs sorted by insertion. */
tokfsm_status tf_trie_sort(tf_trie_item *items, tf_trie_item *scratch, size_t n,
                           tf_budget *budget, tokfsm_error *err)
{
    enum { RUN = 12 };
    for (size_t start = 0; start < n; start += RUN) {
        size_t stop = n - start > RUN ? start + RUN : n;
        uint64_t work = RUN;
        for (size_t i = start + 1; i < stop; i++) {
            tf_trie_item item = items[i];
            size_t j = i;
            for (; j > start && before(&item, &items[j - 1], &work); j--)
                items[j] = items[j - 1];
            items[j] = item;
        }
        TF_TRY(tf_spend_n(budget, work, err));
    }
    tf_trie_item *from = items, *to = scratch;
    for (size_t width = RUN; width < n; width *= 2) {
        for (size_t start = 0; start < n;) {
            size_t left = start, middle = n - start > width ? start + width : n;
            size_t right = middle, stop = n - middle > width ? middle + width : n;
            uint64_t work = 0;
            for (size_t k = start; k < stop; k++) {
                bool take_right = left == middle ||
                                  (right < stop && before(&from[right], &from[left], &work));
                to[k] = from[take_right ? right++ : left++];
                if ((k & 1023u) == 0) {
                    TF_TRY(tf_spend_n(budget, work + 1024, err));
                    work = 0;
                }
            }
            TF_TRY(tf_spend_n(budget, work, err));
            start = stop;
        }
        tf_trie_item *other = from;
        from = to;
        to = other;
    }
    if (from != items)
        memcpy(items, from, n * sizeof *items);
    return TOKFSM_OK;
}

size_t tf_trie_measure(const tf_trie_item *items, size_t n, uint32_t *shared,
                       uint32_t *depth)
{
    size_t n_nodes = 1;
    uint32_t deepest = 0;
    for (size_t k = 0; k < n; k++) {
        const tf_trie_item *item = &items[k];
        uint32_t common = 0;
        if (k > 0) {
            const tf_trie_item *last = item - 1;
            uint32_t most = last->n_bytes < item->n_bytes ? last->n_bytes : item->n_bytes;
            while (common < most && last->data[common] == item->data[common])
                common++;
        }
        shared[k] = common;
        n_nodes += item->n_bytes - common;
        if (item->n_bytes > deepest)
            deepest = item->n_bytes;
    }
    *depth = deepest;
    return n_nodes;
}

/*
 * Nodes are numbered as they are met; the ids in sorted order are the ids in node order,
 * so that first[i] is the number of items before the one that brought node i.
 */
void tf_trie_fill(const tf_trie_item *items, const uint32_t *shared, size_t n,
                  size_t n_nodes, uint32_t *path, const tf_trie_arrays *out)
{
    memset(out->root, 0, 256 * sizeof *out->root);
    out->byte[0] = 0;
    out->first[0] = 0;
    path[0] = 0;
    uint32_t next = 1, level = 0;
    for (size_t k = 0; k < n; k++) {
        const tf_trie_item *item = &items[k];
        for (; level > shared[k]; level--)
            out->end[path[level]] = next;
        while (level < item->n_bytes) {
            uint8_t byte = item->data[level];
            if (level == 0)
                out->root[byte] = next;
            out->byte[next] = byte;
            out->first[next] = (uint32_t)k;
            path[++level] = next++;
        }
        out->ids[k] = item->id;
    }
    for (; level > 0; level--)
        out->end[path[level]] = next;
    out->end[0] = next;
    out->first[n_nodes] = (uint32_t)n;
}

void tf_trie_heights(const tf_trie *trie, uint32_t node, uint32_t *heights)
{
    for (uint32_t i = trie->end[node]; i-- > node;) /* what is below comes first */
        for (uint32_t child = i + 1; child < trie->end[i]; child = trie->end[child])
            if (heights[i] < heights[child] + 1)
                heights[i] = heights[child] + 1;
}

/* Tokens lie in order of ids, not of nodes: fetch what the next ids will need. */
static inline void fetch_ahead(const tokfsm_pack *pack, const uint32_t *ids, uint32_t k, uint32_t n)
{
#if defined(__GNUC__)
    enum { OFFSETS_AHEAD = 24, BYTES_AHEAD = 12 };
    if (k + OFFSETS_AHEAD >= n)
        return;
    if (ids[k + OFFSETS_AHEAD] < pack->vocab_size)
        __builtin_prefetch(pack->offsets + ids[k + OFFSETS_AHEAD]);
    if (ids[k + BYTES_AHEAD] < pack->vocab_size)
        __builtin_prefetch(pack->bytes + pack->offsets[ids[k + BYTES_AHEAD]]);
#else
    (void)pack, (void)ids, (void)k, (void)n;
#endif
}

const char *tf_trie_verify(const tf_trie *trie, uint32_t n_ids, const tokfsm_pack *pack,
                           bool whole, tf_trie_level *levels, uint8_t *path,
                           uint32_t *node_depth)
{
    const uint32_t n = trie->n_nodes, depth = trie->depth;
    const uint8_t *const bytes = trie->byte;
    const uint32_t *const end = trie->end, *const first = trie->first, *const ids = trie->ids;
    if (n == 0 || end[0] != n)
        return "the root does not span the trie";
    if (first[0] != 0 || first[n] != n_ids)
        return "tokens of the nodes do not add up";
    uint32_t deepest = 0, level = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t byte = bytes[i];
        if (i == 0) {
            levels[0] = (tf_trie_level){n, 0};
        } else {
            while (levels[level].end == i) /* levels[0].end = n > i */
                level--;
            if (end[i] <= i || end[i] > levels[level].end)
                return "subtrees are not nested";
            if (levels[level].last > byte)
                return "children are not in byte order";
            levels[level].last = byte + 1u;
            if (level == 0 && trie->root[byte] != i)
                return "a child of the root is missing in its index";
            if (level == depth)
                return "a node is deeper than said";
            path[level++] = byte;
            levels[level] = (tf_trie_level){end[i], 0};
            if (level > deepest)
                deepest = level;
        }
        const uint32_t stop = first[i + 1];
        if (first[i] > stop || stop > n_ids)
            return "tokens of the nodes are not in order";
        for (uint32_t k = first[i]; k < stop; k++) {
            uint32_t id = ids[k], n_bytes;
            if (id >= pack->vocab_size)
                return "a token id is out of range";
            if (k > first[i] && id <= ids[k - 1])
                return "token ids of a node are not ascending";
            fetch_ahead(pack, ids, k, n_ids);
            const uint8_t *token = tf_pack_token(pack, id, &n_bytes);
            if (n_bytes == 0 || n_bytes < level || (whole && n_bytes != level))
                return "a token is not at its node";
            const uint8_t *rest = token + (n_bytes - level);
            if ((rest != token && rest[-1] != 0x22) || memcmp(rest, path, level) != 0)
                return "a token is not at its node";
            if (node_depth != NULL)
                node_depth[k] = level;
        }
    }
    if (deepest != trie->depth)
        return "no node is as deep as said";
    uint32_t n_roots = 0, n_children = 0;
    for (unsigned b = 0; b < 256; b++)
        n_roots += trie->root[b] != 0;
    for (uint32_t i = 1; i < n; i = trie->end[i])
        n_children++;
    if (n_roots != n_children)
        return "the index of the root has an entry too many";
    return NULL;
}
