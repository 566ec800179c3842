/*
 * Regular expressions of ECMA-262 (section 22.2.1, flag u) with what people write besides:
 * the identity escapes, lone brackets and octal escapes of Annex B.1.2, modifiers
 * `(?i)` `(?ims-ims:...)`, `(?P<name>...)`, `\A` `\Z` `\z`, POSIX classes. The tree is over
 * code points; surrogates are taken out of all sets.
 *
 * A pattern that is no regular expression: TOKFSM_E_SCHEMA with the byte offset in
 * err->where. What is not regular, or of another dialect: TOKFSM_E_UNSUPPORTED, by name.
 */
#ifndef TF_PARSE_H
#define TF_PARSE_H

#include "../base/budget.h"
#include "charset.h"

#define TF_REGEX_NONE UINT32_MAX
#define TF_REGEX_UNBOUNDED UINT32_MAX
enum {
    TF_REGEX_MAX_DEPTH = 500, /* groups in groups */
    TF_REGEX_MAX_LOOKS = 250  /* lookarounds in one pattern */
};

typedef enum tf_regex_kind {
    TF_REGEX_EMPTY,
    TF_REGEX_SET,    /* one code point of sets[a] */
    TF_REGEX_CAT,    /* children: first = a, then `next` */
    TF_REGEX_ALT,    /* children: first = a, then `next` */
    TF_REGEX_REPEAT, /* child a, min .. max times */
    TF_REGEX_BEGIN,  /* ^ */
    TF_REGEX_END,    /* $ */
    TF_REGEX_WORD,   /* \b: min 0; \B: min 1 */
    TF_REGEX_LOOK    /* child a; min: bits of tf_regex_look */
} tf_regex_kind;

enum { TF_REGEX_LOOK_NOT = 1, TF_REGEX_LOOK_BEHIND = 2 };

typedef struct tf_regex_node {
    tf_regex_kind kind;
    uint32_t a, min, max, next;
} tf_regex_node;

typedef struct tf_regex {
    tf_regex_node *nodes;
    uint32_t n_nodes, nodes_capacity;
    tf_charset *sets; /* settled, distinct, without surrogates */
    uint32_t n_sets, sets_capacity;
    uint32_t root;
    uint32_t n_looks;
} tf_regex;

/*
 * Parse UTF-8 text of n bytes. *regex is zero at first; a later text takes the place of the
 * tree and adds to the sets. All of it lives in the arena.
 */
tokfsm_status tf_parse_regex(tf_regex *regex, const char *text, size_t n, tf_arena *arena,
                             tf_budget *budget, tokfsm_error *err);
/* The tree of `^text$`, each character for itself. */
tokfsm_status tf_parse_literal(tf_regex *regex, const char *text, size_t n, tf_arena *arena,
                               tf_budget *budget, tokfsm_error *err);
/* The index in regex->sets of a set with these members; `set` may be changed. */
tokfsm_status tf_parse_intern(tf_regex *regex, tf_charset *set, tf_arena *arena,
                              uint32_t *index, tokfsm_error *err);

#endif
