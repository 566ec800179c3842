/*
 * Traces: the tokens that can stand outside strings, that end a string or that go on in a
 * number, as tries over what they do to a JSON text rather than over their bytes. A run of white
 * space is one byte, and marks say where a string begins whether the token still closes it, and
 * where nothing but digits is left. So one node stands for what all its tokens have in common,
 * and where nothing in the place tells the tokens below a mark apart, they are taken at once.
 *
 * Made in memory whenever a pack is built or opened; not part of the file.
 */
#ifndef TF_TRACES_H
#define TF_TRACES_H

#include "../base/budget.h"
#include "facts.h"
#include "groups.h"

/* Bytes of a trace that no JSON text has where they stand. */
enum {
    TF_MARK_LONG = 1, /* at the root: what follows has a run of more than TF_SHORT_RUN spaces */
    TF_MARK_STAYS,    /* after an opening quote: the rest is inside the string */
    TF_MARK_FREE,     /* ... or closes it: then at once the quote, what is before it left out */
    TF_MARK_CLOSES,   /* ... the same tokens with what is before the quote */
    TF_MARK_DIGITS    /* after the first digit of a number, or at the start of what goes on in
                         one: the rest is digits */
};
enum { TF_SHORT_RUN = 32 };

/* Many ids of a row, by words. */
typedef struct tf_piece {
    uint32_t n;
    const uint32_t *word, *bits; /* [n] */
} tf_piece;

/* A node of the trie once more: a walk looks at all of it, of few nodes far from one another. */
typedef struct tf_trace_node {
    uint32_t end, first; /* as in tf_trie: the first of its ids; the next node's is their end */
    uint32_t byte;
} tf_trace_node;

/* A trie whose bytes are traces; parallel to its ids, what a trace leaves out. */
typedef struct tf_traces {
    tf_trie trie;
    const tf_trace_node *nodes; /* [n_nodes + 1] */
    const uint16_t *lead;    /* length of the run of white space that it begins with */
    const uint16_t *longest; /* ... of the longest other one */
    const uint32_t *chars;   /* close: characters before the quote; else NULL */
    const uint8_t *minimal;  /* close: no needless escape among them; else NULL */
    /* Where the last string is not closed: its groups, and where it begins in the token. */
    const uint64_t *stay_groups;
    const uint32_t *stay_from;
    const uint16_t *before;  /* close: which of tf_trace_set.befores is before the quote */
    /* [n_nodes] at STAYS: most characters that its tokens begin in their last string; at DIGITS and
       all nodes below it: most digits that follow. */
    const uint32_t *most_left;
    /* [n_nodes] at STAYS and DIGITS, and at all nodes below the latter, the tokens from there on,
       else those of the node; NULL: few. */
    const tf_piece *const *piece;
} tf_traces;

enum { TF_TRACE_STRUCTURE, TF_TRACE_CLOSE, TF_TRACE_NUMBER, TF_N_TRACES };

/*
 * The trie of all tokens once more, for walks that look at all children of a node: what such a
 * look needs of a child lies together, and the children of a node lie side by side, in byte order.
 */
typedef struct tf_branch {
    uint64_t below;      /* groups.h: of its byte and those below it, as far as a string can go on */
    uint32_t node;       /* of the trie */
    uint32_t children;   /* the first of its own */
    uint32_t ids;        /* its first token: of the trie's ids */
    uint16_t n_children;
    uint8_t byte;
    uint8_t chars;       /* most characters begun from the root to a token there or below, as far
                            as a string can go on; 255: or more */
} tf_branch;

typedef struct tf_branches {
    const tf_branch *items;
    const uint32_t *first; /* [n_nodes + 1] of the children of a node */
} tf_branches;

/* What tokens of `close` have before the quote: distinct, in byte order, the empty one first. */
typedef struct tf_before {
    const uint8_t *bytes;
    uint16_t n;
    uint16_t chars;
    uint16_t shared; /* bytes in common with the one before it in the list */
} tf_before;
enum { TF_MAX_BEFORES = 1024 };

typedef struct tf_trace_set {
    tf_arena arena;
    bool has_free;      /* there is TF_MARK_FREE: no token closes too many strings */
    uint32_t n_befores; /* 0: more than TF_MAX_BEFORES */
    const tf_before *befores;
    tf_branches all; /* of the pack's trie of that name */
    tf_vocab_facts facts;
    tf_groups groups;
    tf_spelled whole;  /* all of a string, with both its quotes */
    tf_spelled before; /* its end, before a quote that a token of `close` has */
    /* [1]: with runs of white space spelled out, for layouts that prescribe them */
    tf_traces of[TF_N_TRACES][2];
} tf_trace_set;

/* Of a pack whose tables are bound. */
tokfsm_status tf_traces_make(tokfsm_pack *pack, tf_budget *budget, tokfsm_error *err);
void tf_traces_free(tokfsm_pack *pack);

/* The child for a byte, or 0. */
static inline uint32_t tf_trie_child(const tf_branches *branches, uint32_t node, uint8_t byte)
{
    uint32_t low = branches->first[node], end = branches->first[node + 1], high = end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (branches->items[middle].byte < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && branches->items[low].byte == byte ? branches->items[low].node : 0;
}

/* Bytes of the longest token that the text begins with, at least one: as a tokenizer might cut it. */
static inline uint32_t tf_longest_token(const tokfsm_pack *pack, const uint8_t *bytes, uint32_t n)
{
    uint32_t node = 0, longest = 1;
    for (uint32_t i = 0; i < n; i++) {
        node = tf_trie_child(&pack->traces->all, node, bytes[i]);
        if (node == 0)
            break;
        if (pack->all.first[node] < pack->all.first[node + 1])
            longest = i + 1;
    }
    return longest;
}

static inline const tf_traces *tf_traces_of(const tokfsm_pack *pack, int which, bool spelled_out)
{
    return &pack->traces->of[which][spelled_out];
}

#endif
