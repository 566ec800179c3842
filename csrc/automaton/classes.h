/*
 * Which code points, and which bytes, no pattern tells apart. A code point class is a set of
 * scalar values that lie in the same sets; a byte class is a set of bytes that lead alike
 * through the trie of UTF-8 sequences. Every class has a member.
 */
#ifndef TF_CLASSES_H
#define TF_CLASSES_H

#include "../regex/parse.h"
#include "intern.h"

#define TF_CLASS_NONE UINT32_MAX

/* Node of the trie after a lead byte: what each of 64 continuation bytes leads to. */
#define TF_UTF8_INVALID 0u
#define TF_UTF8_CLASS (1u << 30) /* | a code point class: the character is whole */
#define TF_UTF8_NODE (2u << 30)  /* | a node */
#define TF_UTF8_VALUE ((1u << 30) - 1)

typedef struct tf_segment {
    uint32_t low, class_id; /* up to the next segment's low; surrogates: TF_CLASS_NONE */
} tf_segment;

typedef struct tf_classes {
    uint32_t n;              /* code point classes */
    tf_segment *segments;
    uint32_t n_segments;
    uint32_t n_set_words;
    uint32_t *set_rows;      /* set s holds class k: bit k of row s */
    uint32_t *wide;          /* classes with members past 7F, ascending */
    uint32_t n_wide;
    uint8_t byte_class[256];
    uint32_t n_byte_classes;
    uint32_t *byte_entry;    /* of each byte class, at the start of a character: an entry */
    uint32_t *continuation;  /* of each byte class: its place in a node + 1, or 0 */
    tf_interner nodes;       /* rows of 64 entries */
} tf_classes;

tokfsm_status tf_classes_build(tf_classes *classes, const tf_regex *regex, tf_arena *arena,
                               tf_budget *budget, tokfsm_error *err);
uint32_t tf_classes_of(const tf_classes *classes, uint32_t code_point);

static inline bool tf_classes_has(const tf_classes *c, uint32_t set, uint32_t class_id)
{
    return (c->set_rows[set * c->n_set_words + (class_id >> 5)] >> (class_id & 31u)) & 1u;
}

#endif
