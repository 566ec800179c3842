#include "facts.h"

#include "pack_layout.h"

#include <string.h>

static bool has_byte(const uint64_t set[4], uint32_t byte)
{
    return (set[byte >> 6] >> (byte & 63u)) & 1u;
}

/* ---- costs in a string ---- */

/* The state after a byte as escapes="minimal" has it. */
static uint8_t minimal_next(uint32_t state, uint32_t byte, uint8_t next)
{
    bool digit = byte >= '0' && byte <= '9', letter = byte >= 'a' && byte <= 'f';
    switch (state) {
    case TF_STR_E: return byte == '/' ? TF_STR_DEAD : next;
    case TF_STR_U0:
    case TF_STR_U1: return byte == '0' ? next : TF_STR_DEAD;
    case TF_STR_U2: return byte == '0' ? TF_STR_U3 : byte == '1' ? TF_N_STR : TF_STR_DEAD;
    case TF_STR_U3: /* \u000x, less \b \t \n \f \r */
        return (digit && byte < '8') || byte == 'b' || byte == 'e' || byte == 'f' ? TF_STR_NORMAL
                                                                                 : TF_STR_DEAD;
    case TF_N_STR: return digit || letter ? TF_STR_NORMAL : TF_STR_DEAD;
    default: return next;
    }
}

/* Shortest paths backwards over the string table. */
void tf_string_rest_costs(const uint64_t byte_set[4], bool minimal, uint32_t cost[TF_N_STR + 1])
{
    const uint8_t(*table)[256] = tf_string_table();
    uint32_t n_states = minimal ? TF_N_STR + 1 : TF_N_STR;
    for (uint32_t s = 0; s <= TF_N_STR; s++)
        cost[s] = s == TF_STR_NORMAL ? 0 : UINT32_MAX;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t s = 0; s < n_states; s++)
            for (uint32_t byte = 0; byte < 256; byte++) {
                uint8_t next = s < TF_N_STR ? table[s][byte] : TF_STR_DEAD;
                if (minimal)
                    next = minimal_next(s, byte, next);
                if (next >= n_states || !has_byte(byte_set, byte) || cost[next] == UINT32_MAX)
                    continue;
                if (cost[next] + 1 < cost[s]) {
                    cost[s] = cost[next] + 1;
                    changed = true;
                }
            }
    }
}

/* ---- tokens that close a string ---- */

static uint32_t skip_space(const uint8_t *bytes, uint32_t n, uint32_t at)
{
    while (at < n && (bytes[at] == ' ' || (bytes[at] >= '\t' && bytes[at] <= '\r')))
        at++;
    return at;
}

/* `":…,"…":` or, the last name at the token's end, `":…,"…"`; with `begun` also `":…,"…`. Whether a
   quote is one in the text depends on where the token begins, so each counts. */
static bool holds_two_names(const uint8_t *bytes, uint32_t n, bool begun)
{
    enum { IN_FIRST, BETWEEN, IN_SECOND } at = IN_FIRST;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t next = skip_space(bytes, n, i + 1);
        if (bytes[i] == ',' && at == BETWEEN && next < n && bytes[next] == '"') {
            at = IN_SECOND;
            i = next;
            if (begun && next + 1 < n)
                return true;
        } else if (bytes[i] == '"' && at == IN_FIRST && next < n && bytes[next] == ':') {
            at = BETWEEN;
        } else if (bytes[i] == '"' && at == IN_SECOND && (next == n || bytes[next] == ':')) {
            return true;
        }
    }
    return false;
}

static bool find_names_pair(const tokfsm_pack *pack, bool begun)
{
    const tf_trie *quote = &pack->quote;
    uint32_t n = quote->n_nodes == 0 ? 0 : quote->first[quote->n_nodes];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t n_bytes;
        const uint8_t *bytes = tf_pack_token(pack, quote->ids[i], &n_bytes);
        if (holds_two_names(bytes, n_bytes, begun))
            return true;
    }
    return false;
}

/* From behind each quote to the end of its token, if none closes before. */
static void find_begun(const tokfsm_pack *pack, tf_spelled *begun)
{
    const uint8_t(*table)[256] = tf_string_table();
    for (uint32_t id = tf_pack_next_with(pack, '"', 0); id < pack->vocab_size;
         id = tf_pack_next_with(pack, '"', id + 1)) {
        uint32_t n, start = 0;
        const uint8_t *bytes = tf_pack_token(pack, id, &n);
        while (start < n && bytes[start] != '"')
            start++;
        while (start++ < n) { /* the quote */
            uint8_t state = TF_STR_NORMAL;
            uint32_t end = start;
            while (end < n && (state = table[state][bytes[end]]) < TF_N_STR)
                end++;
            for (uint32_t i = start; end == n && i < n; i++) {
                begun->bytes[bytes[i] >> 6] |= (uint64_t)1 << (bytes[i] & 63u);
                if (bytes[i] == '\\') /* it can stand for anything */
                    memset(begun->bytes, 0xFF, sizeof begun->bytes);
            }
            if (end == n && n - start > begun->most)
                begun->most = n - start;
            start = end;
            while (start < n && bytes[start] != '"')
                start++;
        }
    }
}

static void find_after_comma(const tokfsm_pack *pack, uint64_t set[4])
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const tf_trie *quote = &pack->quote;
    uint32_t n_ids = quote->n_nodes == 0 ? 0 : quote->first[quote->n_nodes];
    for (uint32_t i = 0; i < n_ids; i++) {
        uint32_t n;
        const uint8_t *bytes = tf_pack_token(pack, quote->ids[i], &n);
        for (uint32_t k = 0; k < n; k++) {
            uint32_t at = bytes[k] == ',' ? skip_space(bytes, n, k + 1) : n;
            if (at + 1 >= n || bytes[at] != '"')
                continue;
            uint8_t first = bytes[at + 1], second = at + 2 < n ? bytes[at + 2] : 0;
            set[first >> 6] |= (uint64_t)1 << (first & 63u);
            const char *escape = first == '\\' && second != 0 ? strchr(from, second) : NULL;
            if (escape != NULL) {
                uint8_t stands_for = (uint8_t)to[escape - from];
                set[stands_for >> 6] |= (uint64_t)1 << (stands_for & 63u);
            } else if (first == '\\' && second != 0) { /* \u: any character */
                memset(set, 0xFF, 4 * sizeof *set);
            }
        }
    }
}

static void find_escaped_closers(const tokfsm_pack *pack, uint8_t set[32])
{
    const tf_trie *close = &pack->close;
    uint32_t n = close->n_nodes == 0 ? 0 : close->first[close->n_nodes];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t n_bytes;
        const uint8_t *bytes = tf_pack_token(pack, close->ids[i], &n_bytes);
        for (uint32_t k = 0; k + 1 < n_bytes && bytes[k] != '"'; k++) {
            if (bytes[k] != '\\')
                continue;
            static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
            const char *at = strchr(from, bytes[++k]);
            if (at != NULL && bytes[k] != 0) {
                uint8_t byte = (uint8_t)to[at - from];
                set[byte >> 3] |= (uint8_t)(1u << (byte & 7u));
            } else { /* \u: any character */
                memset(set, 0xFF, 32);
            }
        }
    }
}

void tf_vocab_facts_find(const tokfsm_pack *pack, tf_vocab_facts *facts)
{
    memset(facts, 0, sizeof *facts);
    for (uint32_t byte = 0; byte < 256; byte++)
        if (pack->byte_token[byte] != TF_NONE)
            facts->byte_set[byte >> 6] |= (uint64_t)1 << (byte & 63u);
    for (int minimal = 0; minimal < 2; minimal++)
        tf_string_rest_costs(facts->byte_set, minimal, facts->string_rest_cost[minimal]);
    facts->names_pair = find_names_pair(pack, false);
    facts->names_begun = find_names_pair(pack, true);
    find_begun(pack, &facts->begun);
    find_after_comma(pack, facts->after_comma);
    find_escaped_closers(pack, facts->escaped_closer);
}
