/*
 * The patterns and formats of a schema, interned; automata over sets of them; content automata,
 * which walk several languages over such a set side by side.
 */
#ifndef TF_PATTERNS_H
#define TF_PATTERNS_H

#include "../automaton/dfa.h"
#include "../engine/name_cost.h"
#include "build.h"

#define TF_NO_PATTERN UINT32_MAX

/* A set of patterns over one automaton. */
typedef struct tf_pattern_set {
    struct tf_pattern_set *next;
    uint32_t n;
    const uint32_t *patterns; /* ascending */
    uint32_t n_literals;      /* strings of which languages can be relieved; 0 where shared */
    const tf_literal *literals;
    uint32_t epoch;           /* of the automaton: see tf_build.epoch */
    tf_dfa *dfa;
    tf_dfa_language *language; /* [n + n_literals] */
    uint8_t split;             /* as classes of names: 0 not tried, 1 it can be, 2 too much */
} tf_pattern_set;

/* With unsupported="relax": causes in the schema records for what tf_patterns_read would refuse,
   and for keywords of unknown vocabularies. They are looked for once. */
tokfsm_status tf_patterns_unsupported(tf_build *b);
/* Intern all patterns and formats of the schema records, and refuse what must be refused. */
tokfsm_status tf_patterns_read(tf_build *b);
void tf_patterns_free(tf_build *b);
/* Find out whether a pattern spells out what it matches. */
tokfsm_status tf_pattern_spell(tf_build *b, tf_pattern_record *pattern);
/* All that a pattern matches which spells it out; nothing of others. */
tokfsm_status tf_each_spelled(const tf_build *b, uint32_t pattern, tf_name_visitor visit,
                              void *context);
static inline bool tf_pattern_is_spelled(const tf_build *b, uint32_t pattern)
{
    return b->patterns.items[pattern].spelled != NULL;
}
/* The pattern of a text that no schema has, as of a length; the text is kept. */
tokfsm_status tf_pattern_intern(tf_build *b, const char *text, uint32_t n, uint32_t *pattern);
/* A pattern for these lengths in code points, or TF_NO_PATTERN where all will do. */
tokfsm_status tf_pattern_of_lengths(tf_build *b, uint64_t least, uint64_t most, uint32_t *pattern);
tokfsm_status tf_pattern_matches(tf_build *b, uint32_t pattern, const char *text, uint32_t n,
                                 bool *matches);

/* Ready to use: made again after fork(). `patterns` is put in order. */
tokfsm_status tf_pattern_set_of(tf_build *b, uint32_t *patterns, uint32_t n,
                                const tf_literal *literals, uint32_t n_literals,
                                tf_pattern_set **set);
/* Make its automaton again, if it is of an earlier epoch. */
tokfsm_status tf_pattern_set_refresh(tf_build *b, tf_pattern_set *set);
/* A copy with an automaton of its own, which the caller frees. */
tokfsm_status tf_pattern_set_copy(tf_build *b, const tf_pattern_set *set, tf_pattern_set *copy);
/* The language of a pattern of the set. */
tf_dfa_language tf_pattern_set_language(const tf_pattern_set *set, uint32_t pattern);

/* How the languages of a content come about: once, and again after fork(). */
typedef struct tf_content_spec {
    tf_pattern_set *set;
    uint32_t n;
    tokfsm_status (*language)(tf_build *b, const struct tf_content_spec *spec, uint32_t i,
                              tf_dfa_language *language);
    const void *context;
} tf_content_spec;

/*
 * The content automaton of these languages; equal ones over a shared set are one. The spec is
 * copied, its context kept.
 */
tokfsm_status tf_content_of(tf_build *b, const tf_content_spec *spec, uint8_t has_lengths,
                            uint8_t has_counts, const tf_content **content);
tokfsm_status tf_build_content_next(tf_build *b, const tf_content_state *state, uint32_t class,
                                    const tf_content_state **next);
tokfsm_status tf_build_content_cost(tf_build *b, const tf_content_state *state,
                                    const uint32_t **cost);
/* tf_content_distance while compiling. */
tokfsm_status tf_build_content_distance(tf_build *b, const tf_content_state *state,
                                        uint32_t language, uint64_t least, uint64_t most,
                                        uint32_t *cost);
/* State k of content i, in the order in which they were made; NULL past the last. */
tf_content_state *tf_build_content_state(tf_build *b, uint32_t i, uint32_t k);
uint64_t tf_build_n_content_states(tf_build *b);
void tf_contents_free(tf_build *b);
/*
 * Accepted continuations of each state of a tuple; UINT64_MAX: no end of them. Where over
 * `most_states` would have to be looked at it is 1: there is one. Unless `exactly`,
 * TF_MANY_STRINGS stands for more than any text has names, and for no end.
 */
#define TF_MANY_STRINGS ((uint64_t)1 << 62)
tokfsm_status tf_count_strings(tf_build *b, tf_dfa *dfa, const tf_dfa_state_id *tuple, uint32_t n,
                               uint64_t most_states, bool exactly, uint64_t *counts);
/*
 * Whether from some state that a live one leads to, itself included, there is an end of continuations;
 * also said where over `most_states` would have to be looked at.
 */
tokfsm_status tf_some_state_ends(tf_build *b, tf_dfa *dfa, tf_dfa_state_id start,
                                 uint64_t most_states, bool *ends);
enum { TF_COUNTED_STATES = 4096 }; /* where a count from below will do */
enum { TF_COUNTS_NONE, TF_COUNTS_ALL, TF_COUNTS_FROM_BELOW };
/* tf_name_cheapest while compiling. */
tokfsm_status tf_build_name_cheapest(tf_build *b, const tf_content_state *state, uint32_t language,
                                     tf_name_used used, void *context, uint64_t n_used,
                                     uint32_t n_wanted, uint32_t *costs, uint32_t *n_found);
/* The state after a text; NULL where nothing is live. */
tokfsm_status tf_build_content_walk(tf_build *b, const tf_content *content, const char *text,
                                    uint32_t n, const tf_content_state **state);

#endif
