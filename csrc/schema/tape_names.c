/*
 * Access to children: members by name, items by number; repeated names are refused here.
 *
 * Small objects are searched in order. An object of more than MAX_SCANNED members has an
 * index: its names sorted by (hash, length, bytes), and for each value of the leading hash
 * bits where its run starts. So a search is one run of about one entry, and hostile names
 * with equal hashes cost a binary search, never a scan. An array of more than MAX_SCANNED
 * items, not all of them scalars, has the list of its items. Building is linear but for
 * the sort of runs with many entries, n log n. All indexes are one array of uint32:
 *
 *   object: n_bits, starts[2^n_bits + 1], then n pairs (hash, node of the name)
 *   array:  n nodes
 */
#include <stdio.h>

#include "tape.h"
#include "tape_hash.h"

enum { MAX_SCANNED = 8, MAX_INSERTED = 16 };

typedef struct entry {
    uint32_t hash, node;
} entry;
_Static_assert(sizeof(entry) == 2 * sizeof(uint32_t), "entries lie in the array of uint32");

/* A name to look for: plain, or a reference token with its escapes. */
typedef struct key {
    const char *text;
    size_t n_bytes; /* decoded */
    bool escaped;
} key;

static uint32_t name_hash(const void *bytes, size_t n_bytes)
{
    return (uint32_t)(tf_hash_bytes(bytes, n_bytes) >> 32);
}

static uint8_t next_byte(const char **at)
{
    char c = *(*at)++;
    if (c == '~')
        c = *(*at)++ == '0' ? '~' : '/';
    return (uint8_t)c;
}

/* name_hash of the decoded name. */
static uint32_t key_hash(const key *k)
{
    if (!k->escaped)
        return name_hash(k->text, k->n_bytes);
    uint64_t hash = TF_HASH_MULTIPLIER, word = 0;
    const char *at = k->text;
    for (size_t i = 0; i < k->n_bytes; i++) {
        word |= (uint64_t)next_byte(&at) << (8 * (i & 7));
        if ((i & 7) == 7 || i + 1 == k->n_bytes) {
            hash = tf_hash_step(hash, word);
            word = 0;
        }
    }
    return (uint32_t)(tf_hash_end(tf_hash_step(hash, k->n_bytes)) >> 32);
}

static int order_sizes(size_t a, size_t b) { return (a > b) - (a < b); }

/* Order of names with equal hashes: length, then bytes. */
static int order_key(const key *k, const tf_tape_node *name)
{
    if (k->n_bytes != name->n)
        return order_sizes(k->n_bytes, name->n);
    if (!k->escaped)
        return memcmp(k->text, name->text, k->n_bytes);
    const char *at = k->text;
    for (size_t i = 0; i < k->n_bytes; i++) {
        int difference = next_byte(&at) - (uint8_t)name->text[i];
        if (difference != 0)
            return difference;
    }
    return 0;
}

/* ---- building ---- */

static uint32_t n_bits_of(uint32_t n_members)
{
    uint32_t n_bits = 3;
    while (n_bits < 31 && (uint32_t)1 << n_bits < n_members)
        n_bits++;
    return n_bits;
}

static bool has_index(const tf_tape *tape, uint32_t i)
{
    const tf_tape_node *node = &tape->nodes[i];
    return node->n > MAX_SCANNED &&
           (node->type == TF_JSON_OBJECT ||
            (node->type == TF_JSON_ARRAY && node->next - i - 1 != node->n));
}

static size_t index_words(const tf_tape_node *node)
{
    if (node->type == TF_JSON_ARRAY)
        return node->n;
    return 2 + ((size_t)1 << n_bits_of(node->n)) + 2 * (size_t)node->n;
}

static int order_entries(const tf_tape_node *nodes, entry a, entry b)
{
    if (a.hash != b.hash)
        return a.hash < b.hash ? -1 : 1;
    const tf_tape_node *x = &nodes[a.node], *y = &nodes[b.node];
    int order = x->n != y->n ? order_sizes(x->n, y->n) : memcmp(x->text, y->text, x->n);
    return order != 0 ? order : order_sizes(a.node, b.node);
}

static void sift(const tf_tape_node *nodes, entry *run, size_t i, size_t n)
{
    entry moved = run[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && order_entries(nodes, run[child], run[child + 1]) < 0)
            child++;
        if (order_entries(nodes, moved, run[child]) >= 0)
            break;
        run[i] = run[child];
    }
    run[i] = moved;
}

/* Insertion for the usual short run, else a heap: no input makes it quadratic. */
static void sort_run(const tf_tape_node *nodes, entry *run, size_t n)
{
    if (n <= MAX_INSERTED) {
        for (size_t i = 1; i < n; i++) {
            entry moved = run[i];
            size_t k = i;
            for (; k > 0 && order_entries(nodes, moved, run[k - 1]) < 0; k--)
                run[k] = run[k - 1];
            run[k] = moved;
        }
        return;
    }
    for (size_t i = n / 2; i-- > 0;)
        sift(nodes, run, i, n);
    for (size_t i = n; i-- > 1;) {
        entry top = run[0];
        run[0] = run[i];
        run[i] = top;
        sift(nodes, run, 0, i);
    }
}

static bool same_name(const tf_tape_node *a, const tf_tape_node *b)
{
    return a->n == b->n && memcmp(a->text, b->text, a->n) == 0;
}

static tokfsm_status refuse_name(const tf_tape_node *name, tokfsm_error *err)
{
    char shown[400]; /* at most 64 bytes of the name, each as long as an escape */
    size_t at = 0;
    for (uint32_t i = 0; i < name->n; i++) {
        uint8_t c = (uint8_t)name->text[i];
        if (i >= 60 && (c & 0xC0) != 0x80) {
            at += (size_t)snprintf(shown + at, sizeof shown - at, "\xE2\x80\xA6");
            break;
        }
        if (c < 0x20 || c == 0x7F)
            at += (size_t)snprintf(shown + at, sizeof shown - at, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            at += (size_t)snprintf(shown + at, sizeof shown - at, "\\%c", c);
        else
            shown[at++] = (char)c;
    }
    shown[at] = '\0';
    return tf_fail_at(err, TOKFSM_E_JSON, name->where,
                      "at byte %llu: name \"%s\" occurs twice in one object",
                      (unsigned long long)name->where, shown);
}

/* First name that repeats an earlier one, by comparing all pairs; or TF_TAPE_NONE. */
static uint32_t scan_repeated(const tf_tape_node *nodes, uint32_t object)
{
    uint32_t names[MAX_SCANNED], name = object + 1;
    for (uint32_t k = 0; k < nodes[object].n; k++) {
        for (uint32_t i = 0; i < k; i++)
            if (same_name(&nodes[names[i]], &nodes[name]))
                return name;
        names[k] = name;
        name = nodes[name + 1].next;
    }
    return TF_TAPE_NONE;
}

/* Counting sort by the leading bits of the hash, then each run by itself. The hash waits in
   the name's own, otherwise unused, `index` between the two passes. */
static uint32_t build_object(tf_tape_node *nodes, uint32_t object, uint32_t *words)
{
    uint32_t n = nodes[object].n, n_bits = n_bits_of(n), shift = 32 - n_bits;
    uint32_t n_runs = (uint32_t)1 << n_bits;
    uint32_t *starts = words + 1;
    entry *entries = (entry *)(void *)(starts + n_runs + 1);
    words[0] = n_bits;
    memset(starts, 0, ((size_t)n_runs + 1) * sizeof *starts);
    uint32_t name = object + 1;
    for (uint32_t k = 0; k < n; k++, name = nodes[name + 1].next) {
        nodes[name].index = name_hash(nodes[name].text, nodes[name].n);
        starts[nodes[name].index >> shift]++;
    }
    for (uint32_t run = 0, sum = 0; run <= n_runs; run++)
        sum = starts[run] += sum;
    name = object + 1;
    for (uint32_t k = 0; k < n; k++, name = nodes[name + 1].next) {
        uint32_t hash = nodes[name].index;
        entries[--starts[hash >> shift]] = (entry){hash, name};
        nodes[name].index = TF_TAPE_NONE;
    }
    uint32_t repeated = TF_TAPE_NONE;
    for (uint32_t run = 0; run < n_runs; run++) {
        entry *e = entries + starts[run];
        uint32_t m = starts[run + 1] - starts[run];
        if (m < 2)
            continue;
        sort_run(nodes, e, m);
        for (uint32_t k = 1; k < m; k++)
            if (e[k].hash == e[k - 1].hash && e[k].node < repeated &&
                same_name(&nodes[e[k].node], &nodes[e[k - 1].node]))
                repeated = e[k].node;
    }
    return repeated;
}

tokfsm_status tf_tape_index(tf_tape *tape, uint32_t first, tokfsm_error *err)
{
    tf_tape_node *nodes = tape->nodes;
    size_t n_words = 0; /* below 2^32: fewer than two words a byte of a text below 2^31 */
    for (uint32_t i = first; i < tape->n_nodes; i++)
        if (has_index(tape, i))
            n_words += index_words(&nodes[i]);
    size_t at = tape->n_index_words;
    if (n_words > UINT32_MAX - at)
        return tf_fail(err, TOKFSM_E_LIMIT, "over 2^32 names of objects");
    if (at + n_words > tape->index_capacity) {
        tape->indexes = tf_tape_enlarge(tape->arena, tape->indexes, (uint32_t)at, at + n_words,
                                        &tape->index_capacity, sizeof *tape->indexes);
        if (tape->indexes == NULL)
            return tf_fail(err, TOKFSM_E_NOMEM, "no memory for the names of an object");
    }
    uint32_t *words = tape->indexes;
    for (uint32_t i = first; i < tape->n_nodes; i++) {
        uint32_t repeated = TF_TAPE_NONE;
        if (has_index(tape, i)) {
            nodes[i].index = (uint32_t)at;
            at += index_words(&nodes[i]);
            if (nodes[i].type == TF_JSON_OBJECT) {
                repeated = build_object(nodes, i, words + nodes[i].index);
            } else {
                uint32_t item = i + 1;
                for (uint32_t k = 0; k < nodes[i].n; k++, item = nodes[item].next)
                    words[nodes[i].index + k] = item;
            }
        } else if (nodes[i].type == TF_JSON_OBJECT && nodes[i].n > 1) {
            repeated = scan_repeated(nodes, i);
        }
        if (repeated != TF_TAPE_NONE)
            return refuse_name(&nodes[repeated], err);
    }
    tape->n_index_words = (uint32_t)at;
    return TOKFSM_OK;
}

/* ---- looking up ---- */

static uint32_t find(const tf_tape *tape, uint32_t object, const key *k)
{
    if (object >= tape->n_nodes || tape->nodes[object].type != TF_JSON_OBJECT)
        return TF_TAPE_NONE;
    const tf_tape_node *nodes = tape->nodes, *node = &nodes[object];
    if (node->index == TF_TAPE_NONE) {
        uint32_t name = object + 1;
        for (uint32_t i = 0; i < node->n; i++, name = nodes[name + 1].next)
            if (nodes[name].n == k->n_bytes && order_key(k, &nodes[name]) == 0)
                return name + 1;
        return TF_TAPE_NONE;
    }
    const uint32_t *words = tape->indexes + node->index;
    const uint32_t *starts = words + 1, n_runs = (uint32_t)1 << words[0];
    const entry *entries = (const entry *)(const void *)(starts + n_runs + 1);
    uint32_t hash = key_hash(k), run = hash >> (32 - words[0]);
    uint32_t low = starts[run], high = starts[run + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        entry e = entries[middle];
        int order = hash != e.hash ? (hash < e.hash ? -1 : 1) : order_key(k, &nodes[e.node]);
        if (order == 0)
            return e.node + 1;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return TF_TAPE_NONE;
}

uint32_t tf_tape_get(const tf_tape *tape, uint32_t object, const char *name, size_t n_bytes)
{
    key k = {name, n_bytes, false};
    return find(tape, object, &k);
}

uint32_t tf_tape_get_token(const tf_tape *tape, uint32_t object, const char *token,
                           size_t n_bytes)
{
    key k = {token, n_bytes, false};
    for (const char *at = token, *end = token + n_bytes; at < end; at++) {
        if (*at != '~')
            continue;
        at++;
        if (at == end || (*at != '0' && *at != '1'))
            return TF_TAPE_NONE;
        k.escaped = true;
        k.n_bytes--;
    }
    return find(tape, object, &k);
}

uint32_t tf_tape_item(const tf_tape *tape, uint32_t array, uint64_t k)
{
    if (array >= tape->n_nodes || tape->nodes[array].type != TF_JSON_ARRAY ||
        k >= tape->nodes[array].n)
        return TF_TAPE_NONE;
    const tf_tape_node *node = &tape->nodes[array];
    if (node->index != TF_TAPE_NONE)
        return tape->indexes[node->index + k];
    if (node->next - array - 1 == node->n) /* scalars all */
        return array + 1 + (uint32_t)k;
    uint32_t item = array + 1;
    for (; k > 0; k--)
        item = tape->nodes[item].next;
    return item;
}
