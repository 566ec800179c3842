/*
 * Languages of strings as lazily made deterministic automata over UTF-8 bytes.
 *
 * One tf_dfa holds any number of patterns and their Boolean combinations over one set of
 * byte classes. Patterns are added, the automaton is sealed, then languages are built and
 * walked; states come into being on first use.
 *
 *     tf_dfa_new, tf_dfa_add_pattern ..., tf_dfa_seal,
 *     tf_dfa_pattern, tf_dfa_not / _and / _or, tf_dfa_start, tf_dfa_step ...
 *
 * Method: a state is a Boolean function (a reduced ordered binary decision diagram) over
 * sets of program places; its derivative by a class of code points is again one. So
 * conjunction, complement and lookarounds are exact. UTF-8 lies over that as a trie whose
 * inner states are merged by what they lead to. Sources: Brzozowski, "Derivatives of Regular
 * Expressions" (1964); Bryant, "Graph-Based Algorithms for Boolean Function Manipulation"
 * (1986).
 *
 * State 0 is dead. Every other state can reach acceptance: this is decided when it is made.
 * Bytes must come from well-formed UTF-8; ill-formed bytes lead to 0.
 *
 * Threads: one caller at a time may make things (all that takes a budget). What was
 * returned once never moves and never changes, so finished states may be read meanwhile.
 */
#ifndef TF_DFA_H
#define TF_DFA_H

#include <stdbool.h>

#include "../base/budget.h"

typedef struct tf_dfa tf_dfa;
typedef uint32_t tf_dfa_language; /* 0: no string; 1: every string */
typedef uint32_t tf_dfa_state_id;

#define TF_DFA_DEAD 0u
#define TF_DFA_UNKNOWN UINT32_MAX
#define TF_DFA_UNBOUNDED UINT64_MAX

tokfsm_status tf_dfa_new(tf_dfa **dfa, const tokfsm_allocator *allocator, tokfsm_error *err);
void tf_dfa_free(tf_dfa *dfa); /* NULL is legal */
/** Past this much memory (256 MiB, if never set) new states are TOKFSM_E_LIMIT. */
void tf_dfa_limit_bytes(tf_dfa *dfa, size_t n_bytes);

/* ---- before sealing ---- */

/**
 * Add an ECMA-262 pattern, searched for anywhere in the string.
 *
 * @param pattern its number, for tf_dfa_pattern.
 * @return TOKFSM_OK; E_SCHEMA or E_UNSUPPORTED with the byte offset in err->where (see
 *         regex/parse.h); E_LIMIT; E_CANCELLED; E_NOMEM. After a failure the automaton may
 *         still be used, without the pattern.
 */
tokfsm_status tf_dfa_add_pattern(tf_dfa *dfa, const char *text, size_t n, tf_budget *budget,
                                 uint32_t *pattern, tokfsm_error *err);
/** Add the language of one string (UTF-8). */
tokfsm_status tf_dfa_add_literal(tf_dfa *dfa, const char *text, size_t n, tf_budget *budget,
                                 uint32_t *pattern, tokfsm_error *err);
tokfsm_status tf_dfa_seal(tf_dfa *dfa, tf_budget *budget, tokfsm_error *err);

/* ---- languages, after sealing; equal Boolean functions get equal ids ---- */

tokfsm_status tf_dfa_pattern(tf_dfa *dfa, uint32_t pattern, tf_budget *budget,
                             tf_dfa_language *language, tokfsm_error *err);
tokfsm_status tf_dfa_not(tf_dfa *dfa, tf_dfa_language a, tf_budget *budget,
                         tf_dfa_language *language, tokfsm_error *err);
tokfsm_status tf_dfa_and(tf_dfa *dfa, const tf_dfa_language *list, size_t n, tf_budget *budget,
                         tf_dfa_language *language, tokfsm_error *err);
tokfsm_status tf_dfa_or(tf_dfa *dfa, const tf_dfa_language *list, size_t n, tf_budget *budget,
                        tf_dfa_language *language, tokfsm_error *err);
/** The state at the start of a string; TF_DFA_DEAD if and only if the language is empty. */
tokfsm_status tf_dfa_start(tf_dfa *dfa, tf_dfa_language language, tf_budget *budget,
                           tf_dfa_state_id *state, tokfsm_error *err);

/** One pattern, one automaton. */
tokfsm_status tf_dfa_of_pattern(tf_dfa **dfa, const char *text, size_t n,
                                const tokfsm_allocator *allocator, tf_budget *budget,
                                tf_dfa_state_id *start, tokfsm_error *err);

/* ---- walking ---- */

tokfsm_status tf_dfa_step(tf_dfa *dfa, tf_dfa_state_id state, uint8_t byte, tf_budget *budget,
                          tf_dfa_state_id *next, tokfsm_error *err);
/** The same by reading alone: TF_DFA_UNKNOWN where nobody has stepped. */
tf_dfa_state_id tf_dfa_peek(const tf_dfa *dfa, tf_dfa_state_id state, uint8_t byte);
/**
 * All of a state's transitions, by byte class: n_classes of them, borrowed for the
 * automaton's life. Row entries are complete.
 */
tokfsm_status tf_dfa_row(tf_dfa *dfa, tf_dfa_state_id state, tf_budget *budget,
                         const tf_dfa_state_id **row, tokfsm_error *err);
bool tf_dfa_accepts(const tf_dfa *dfa, tf_dfa_state_id state);
/** Is the state between two characters (not inside one)? */
bool tf_dfa_at_boundary(const tf_dfa *dfa, tf_dfa_state_id state);
/** Every string is accepted from here, known from the state's form; may miss some. */
bool tf_dfa_is_universal(const tf_dfa *dfa, tf_dfa_state_id state);
/** The same, exactly. */
tokfsm_status tf_dfa_universal(tf_dfa *dfa, tf_dfa_state_id state, tf_budget *budget,
                               bool *universal, tokfsm_error *err);

const uint8_t *tf_dfa_byte_classes(const tf_dfa *dfa); /* class of each of 256 bytes */
uint32_t tf_dfa_n_byte_classes(const tf_dfa *dfa);
/* Runs of code points that no pattern tells apart: the first of run i, ascending. */
uint32_t tf_dfa_n_runs(const tf_dfa *dfa);
uint32_t tf_dfa_run(const tf_dfa *dfa, uint32_t i);
uint32_t tf_dfa_n_states(const tf_dfa *dfa); /* made so far, the dead one too */
size_t tf_dfa_n_bytes(const tf_dfa *dfa);    /* memory held */

/* ---- lengths: how many code points accepted continuations have ---- */

/*
 * t < n_prefix: bit t. Else bit n_prefix + (t - n_prefix) % period. Inside a character the
 * character counts as one. Borrowed for the automaton's life.
 */
typedef struct tf_dfa_lengths {
    uint64_t shortest; /* TF_DFA_UNBOUNDED: none at all (the dead state) */
    uint64_t longest;  /* TF_DFA_UNBOUNDED: there is no longest */
    uint32_t n_prefix, period;
    const uint32_t *bits;
} tf_dfa_lengths;

/**
 * The lengths of all accepted continuations, exactly. Patterns alone are decided on their
 * programs, without making states; languages with lookarounds, \b, conjunction or
 * complement need all states that can be reached: TOKFSM_E_LIMIT where those are too many.
 */
tokfsm_status tf_dfa_lengths_of(tf_dfa *dfa, tf_dfa_state_id state, tf_budget *budget,
                                const tf_dfa_lengths **lengths, tokfsm_error *err);
/** The length of the shortest accepted continuation; TF_DFA_UNBOUNDED for the dead state. */
tokfsm_status tf_dfa_shortest(tf_dfa *dfa, tf_dfa_state_id state, tf_budget *budget,
                              uint64_t *length, tokfsm_error *err);
/** Has some length t with least <= t <= most. */
bool tf_dfa_lengths_meet(const tf_dfa_lengths *lengths, uint64_t least, uint64_t most);

#endif
