/*
 * JSON texts as one flat buffer of nodes in depth-first order (RFC 8259), one text behind the
 * other, so that a node of any of them is one number. Read without
 * recursion; numbers keep their decimal text; strings are decoded to UTF-8; a repeated
 * name in an object, a lone surrogate, NaN, a byte order mark, or bytes after the value are
 * errors. Immutable after reading; freed whole with its arena.
 */
#ifndef TF_TAPE_H
#define TF_TAPE_H

#include "../base/alloc.h"
#include "../base/budget.h"

enum {
    TF_JSON_NULL, TF_JSON_FALSE, TF_JSON_TRUE, TF_JSON_NUMBER, TF_JSON_STRING,
    TF_JSON_ARRAY, TF_JSON_OBJECT
};

typedef struct tf_tape_node {
    uint32_t type;
    uint32_t next;   /* one past the subtree, so the next sibling */
    uint32_t n;      /* bytes of a string or number; members of an object; items of an array */
    uint32_t index;  /* containers with many children: where their index is, else TF_TAPE_NONE */
    uint32_t parent; /* the container, of names too; TF_TAPE_NONE for the root */
    const char *text; /* string: decoded, NUL-terminated besides; number: its decimal text,
                         NUL-terminated too; else NULL */
    uint64_t where; /* byte offset in the text */
} tf_tape_node;

/* Members of an object stand as pairs: the name (a string node), then the value. */
#define TF_TAPE_NONE UINT32_MAX

typedef struct tf_tape_document {
    uint32_t root;
    const char *uri; /* NUL-terminated; "" for the first text */
} tf_tape_document;

typedef struct tf_tape {
    tf_arena *arena;
    tf_tape_node *nodes;
    uint32_t n_nodes, nodes_capacity;
    uint32_t *indexes; /* private: indexes of large containers */
    uint32_t n_index_words, index_capacity;
    tf_tape_document *documents; /* in the order of their nodes */
    uint32_t n_documents, documents_capacity;
} tf_tape;

/* Obligations have 29 bits for a node. */
#define TF_MAX_NODES ((uint32_t)1 << 29)

/* Node 0 is the root. `text` is borrowed; strings are copied into the arena. `limits` may be
   NULL: the defaults. On failure *tape is unchanged; the arena may have grown. */
tokfsm_status tf_tape_read(tf_tape *tape, const uint8_t *text, size_t n_bytes,
                           const tokfsm_limits *limits, tf_budget *budget, tf_arena *arena,
                           tokfsm_error *err);
/* One more text behind those that are there; *root is its root. `uri` is kept. Nodes may move. */
tokfsm_status tf_tape_append(tf_tape *tape, const char *uri, const uint8_t *text, size_t n_bytes,
                             const tokfsm_limits *limits, tf_budget *budget, uint32_t *root,
                             tokfsm_error *err);
/* The number of the text that a node is of. */
uint32_t tf_tape_document_of(const tf_tape *tape, uint32_t node);
/* Value of the member `name` of the object node, or TF_TAPE_NONE, also where the node is no
   object. Expected O(1), never worse than the logarithm of the members. */
uint32_t tf_tape_get(const tf_tape *tape, uint32_t object, const char *name, size_t n_bytes);
/* The same for a reference token of a JSON Pointer, ~0 and ~1 undone; TF_TAPE_NONE if it is
   malformed. */
uint32_t tf_tape_get_token(const tf_tape *tape, uint32_t object, const char *token,
                           size_t n_bytes);
/* Item k of the array node, or TF_TAPE_NONE. O(1). */
uint32_t tf_tape_item(const tf_tape *tape, uint32_t array, uint64_t k);
/* Iterate: first child (the first name, in an object) is node + 1; then nodes[child].next. */

/*
 * Equality of JSON values (JSON Schema Core §4.2.2): numbers by exact value, objects without
 * order. The nodes may lie on two tapes. Does not recurse.
 */
bool tf_tape_equal(const tf_tape *a, uint32_t i, const tf_tape *b, uint32_t j);
/* Equal values have equal hashes. Does not recurse. */
uint64_t tf_tape_hash(const tf_tape *tape, uint32_t i);

/*
 * JSON Pointer (RFC 6901) of node i (of a name: of its member), truncated with an ellipsis
 * if it does not fit; past the first text behind its URI and "#". U+0000 appears as U+2400,
 * so that the pointer is a C string. Costs a walk from the root.
 */
void tf_tape_pointer(const tf_tape *tape, uint32_t i, char *buffer, size_t n_bytes);
/* Resolve a pointer given as UTF-8 (already percent-decoded), starting at node `from`;
   TF_TAPE_NONE if it leads nowhere or is malformed. */
uint32_t tf_tape_resolve(const tf_tape *tape, uint32_t from, const char *pointer,
                         size_t n_bytes);

/* Private: room for `wanted` items; the old array of n stays in the arena. NULL: no memory. */
void *tf_tape_enlarge(tf_arena *arena, const void *old, uint32_t n, size_t wanted,
                      uint32_t *capacity, size_t item_bytes);
/* Last step of reading: refuse repeated names, build the indexes of large containers, both from
   the node `first` on. */
tokfsm_status tf_tape_index(tf_tape *tape, uint32_t first, tokfsm_error *err);

#endif
