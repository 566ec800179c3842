/*
 * The byte layout of a pack, docs/pack_format.md: a header, a table of sections, the
 * sections at multiples of 64 bytes. What pack_build writes and pack_file verifies.
 */
#ifndef TF_PACK_LAYOUT_H
#define TF_PACK_LAYOUT_H

#include <stddef.h>

#include "../base/sha256.h"
#include "pack.h"

#define TF_PACK_VERSION 2u
#define TF_PACK_BYTE_ORDER 0x01020304u
#define TF_PACK_ALIGN 64u

enum {
    TF_SECTION_OFFSETS, TF_SECTION_BYTES, TF_SECTION_BYTE_TOKEN, TF_SECTION_STAY,
    TF_SECTION_STAY_CHARS, TF_SECTION_LENGTH, TF_SECTION_STAY_AT_MOST,
    TF_SECTION_STAY_MINIMAL, TF_SECTION_CHAR_TOKEN, TF_SECTION_CLOSE_CHARS,
    TF_SECTION_CLOSE_MINIMAL,
    TF_SECTION_TRIES, /* five each for all, quote and close */
    TF_TRIE_BYTE = 0, TF_TRIE_END, TF_TRIE_FIRST, TF_TRIE_IDS, TF_TRIE_ROOT,
    TF_N_TRIE_SECTIONS,
    TF_TRIE_ALL = 0, TF_TRIE_QUOTE, TF_TRIE_CLOSE, TF_N_TRIES,
    TF_N_SECTIONS = TF_SECTION_TRIES + TF_N_TRIES * TF_N_TRIE_SECTIONS
};

typedef struct tf_pack_header {
    uint8_t magic[8]; /* "TOKFPACK" */
    uint32_t version;
    uint32_t byte_order; /* TF_PACK_BYTE_ORDER in the order of all integers */
    uint64_t n_bytes;    /* of the file */
    uint32_t n_sections;
    uint32_t checksum; /* of the bytes from 32 to the end */
    uint8_t fingerprint[32];
    uint32_t vocab_size, n_token_bytes, max_token_bytes, max_closes;
    uint32_t n_string_states, n_lengths, n_char_tokens, max_close_chars;
    struct { uint32_t n_nodes, n_ids, depth, reserved; } trie[TF_N_TRIES];
    uint32_t reserved[12];
    struct { uint64_t offset, n_bytes; } section[TF_N_SECTIONS];
} tf_pack_header;

_Static_assert(offsetof(tf_pack_header, fingerprint) == 32, "pack header");
_Static_assert(offsetof(tf_pack_header, vocab_size) == 64, "pack header");
_Static_assert(offsetof(tf_pack_header, trie) == 96, "pack header");
_Static_assert(offsetof(tf_pack_header, section) == 192, "pack header");
_Static_assert(sizeof(tf_pack_header) == 192 + 16 * TF_N_SECTIONS, "pack header");

/* From the sizes in the header: section table and n_bytes. false: too large. */
bool tf_pack_layout(tf_pack_header *header);
/* Point the arrays of `pack` into its image, whose header is laid out and trusted. */
void tf_pack_bind(tokfsm_pack *pack);
/* An image of n_bytes, 64-byte aligned and not cleared, in one allocation of the pack's. */
bool tf_pack_allocate(tokfsm_pack *pack, size_t n_bytes, uint8_t **image);
/* The fingerprint of a vocabulary: start, each token in order of ids, end. */
typedef struct tf_fingerprint {
    tf_sha256 hash;
    const uint8_t *end; /* of all tokens' bytes, which lie together */
    uint32_t n_staged;
    uint8_t staged[1024]; /* tokens are short: the hash is told of many at once */
} tf_fingerprint;
void tf_fingerprint_start(tf_fingerprint *f, uint32_t n_tokens, const uint8_t *end);
void tf_fingerprint_token(tf_fingerprint *f, const uint8_t *token, uint32_t n_bytes);
void tf_fingerprint_end(tf_fingerprint *f, uint8_t fingerprint[32]);
/* The checksum of the header: docs/pack_format.md, section 2. It tells damage, not intent. */
uint32_t tf_pack_checksum(const uint8_t *bytes, size_t n_bytes);
/*
 * The first token from `id` on that has the byte, or vocab_size. Cost: the
 * bytes and tokens passed over.
 */
uint32_t tf_pack_next_with(const tokfsm_pack *pack, uint8_t byte, uint32_t id);

/*
 * Walk a token from NORMAL to the quote that closes the string: false if it does not.
 * *n_before: bytes before the quote; *n_chars: characters started before it; *minimal: no
 * needless escape among them.
 */
bool tf_pack_close(const uint8_t *token, uint32_t n_bytes, uint32_t *n_before,
                   uint32_t *n_chars, bool *minimal);
/* Over the whole vocabulary; `scratch` has room for the longest token. */
uint32_t tf_pack_max_closes(const tokfsm_pack *pack, uint8_t *scratch);

#endif
