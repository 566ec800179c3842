/*
 * The vocabulary pack: all that depends on the tokenizer alone. It knows JSON's lexical
 * layer (RFC 8259 §7, RFC 3629 §4) and no schema.
 *
 * In: token id -> bytes. Out: tries over the token bytes; for each state inside a JSON
 * string the row of tokens that stay inside it; for the tokens that close a string, what
 * follows the quote. Immutable after creation; shared by threads; counted.
 *
 * The in-memory form is the file form: every array below is one section of the pack file,
 * read in place.
 */
#ifndef TF_PACK_H
#define TF_PACK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "../base/alloc.h"
#include "../base/bits.h"

#define TF_NONE UINT32_MAX
#define TF_MAX_CHAR_TOKENS 129u

/*
 * Where a text stands inside a JSON string. NORMAL is between characters. The names say
 * what came: E after a backslash; U0..U3 after \u and so many hex digits, where D marks a
 * first digit d/D, and H a half that is a high surrogate (\uD8xx..\uDBxx); HS after a whole
 * high surrogate, HE after its backslash, HU0..HU3 inside the \uDCxx..\uDFxx that must
 * follow. C1..C3: so many UTF-8 continuation bytes to come; the others restrict the next
 * byte after the lead E0 (A0..BF), ED (80..9F), F0 (90..BF), F4 (80..8F).
 */
enum {
    TF_STR_NORMAL, TF_STR_E, TF_STR_U0, TF_STR_U1, TF_STR_U1D, TF_STR_U2, TF_STR_U2H,
    TF_STR_U3, TF_STR_U3H, TF_STR_HS, TF_STR_HE, TF_STR_HU0, TF_STR_HU1, TF_STR_HU2,
    TF_STR_HU3, TF_STR_C1, TF_STR_C2, TF_STR_C3, TF_STR_E0, TF_STR_ED, TF_STR_F0,
    TF_STR_F4, TF_N_STR
};
#define TF_STR_CLOSE 0xFEu /* the closing quote */
#define TF_STR_DEAD 0xFFu

/* next state by (state, byte); a static table, the same for every vocabulary. */
extern const uint8_t (*tf_string_table(void))[256];

/*
 * The same with only the escapes that are needed (see stay_minimal): U1 and U2 follow a 0,
 * a first digit 0 or 1 of the last two leads to one of two states of its own, and the states
 * of surrogates, U1D and U3 are unreachable (all dead). A row for each of TF_N_STR_MINIMAL.
 */
enum { TF_STR_MINIMAL_U30 = TF_N_STR, TF_STR_MINIMAL_U31, TF_N_STR_MINIMAL };
extern const uint8_t (*tf_string_minimal_table(void))[256];

/*
 * A trie in depth-first order. Node 0 is the root (no byte). Children of a node are in
 * byte order; the first child of i is i + 1, if end[i] > i + 1; the next sibling of i is end[i].
 */
typedef struct tf_trie {
    uint32_t n_nodes;
    const uint8_t *byte;   /* [n_nodes] */
    const uint32_t *end;   /* [n_nodes] one past the subtree */
    const uint32_t *first; /* [n_nodes + 1] tokens of node i: ids[first[i] .. first[i + 1]) */
    const uint32_t *ids;   /* token ids, ascending within a node */
    const uint32_t *root;  /* [256] child of the root for a byte, or 0 */
    uint32_t depth;        /* of the deepest node, in bytes */
} tf_trie;

struct tokfsm_pack {
    atomic_uint references;
    tokfsm_allocator allocator;
    void *block; /* one allocation that holds every array */
    size_t n_block_bytes;
    const uint8_t *image; /* in it, 64-byte aligned: the pack file, docs/pack_format.md */
    size_t n_image_bytes;

    uint32_t vocab_size; /* ids */
    uint32_t n_words;    /* words of a row */
    uint8_t fingerprint[32];
    const uint32_t *offsets; /* [vocab_size + 1] into bytes; empty: never allowed */
    const uint8_t *bytes;
    const uint32_t *byte_token; /* [256] lowest id whose bytes are this one byte, or TF_NONE */
    uint32_t max_token_bytes;
    /*
     * K: most containers, open before a token, that it closes, begun at any position of any
     * JSON text (those that it opens itself do not count).
     */
    uint32_t max_closes;

    tf_trie all;   /* every token with bytes */
    tf_trie quote; /* those that contain a quote (0x22); anywhere in the token */

    /*
     * stay[s]: tokens that, begun in string state s, keep the string open to their end
     * (they may end mid-character or mid-escape). [TF_N_STR][n_words].
     */
    const uint32_t *stay;
    const uint32_t *stay_chars; /* [TF_N_STR] most characters that a token of stay[s] starts */
    /*
     * stay[NORMAL] by characters: row k has the tokens that start at most length[k]
     * characters; length ascending, so the row for "at most r" is the last with length <= r
     * (none: no token). A character is started by its first byte, an escape by its
     * backslash; a surrogate pair is one character.
     */
    uint32_t n_lengths;
    const uint32_t *length;       /* [n_lengths] */
    const uint32_t *stay_at_most; /* [n_lengths][n_words] */
    /* stay[NORMAL] less the tokens in which an escape that is not needed occurs: \/, and
       \uXXXX other than the lower-case \u00xx of a control character without a short form. */
    const uint32_t *stay_minimal; /* [n_words] */

    /*
     * Tokens that, begun in NORMAL, close the string and then go on in a way that some JSON
     * text could: the rest after the quote, as a trie. Entry j of node i:
     * close.ids[close.first[i] + j]; characters before the quote beside it. Tokens that end at
     * the quote are entries of the root.
     */
    tf_trie close;
    const uint32_t *close_chars;  /* parallel to close.ids; characters before the quote */
    const uint8_t *close_minimal; /* parallel to close.ids; 1: no needless escape before it */
    uint32_t max_close_chars;

    /* char_token[n]: lowest id of stay_minimal whose bytes are n whole characters (it ends in
       NORMAL), or TF_NONE; 0: TF_NONE; n < n_char_tokens <= TF_MAX_CHAR_TOKENS. What a minimum
       length costs in tokens. */
    uint32_t n_char_tokens;
    const uint32_t *char_token;

    struct tf_trace_set *traces; /* not in the image: traces.h */
    /* What the compile half keeps here, from one schema to the next: lower/shelf.h. */
    _Atomic(struct tf_shelf *) shelf;
    _Atomic(void (*)(struct tf_shelf *)) free_shelf;
};

static inline const uint8_t *tf_pack_token(const tokfsm_pack *pack, uint32_t id, uint32_t *n)
{
    *n = pack->offsets[id + 1] - pack->offsets[id];
    return pack->bytes + pack->offsets[id];
}

#endif
