/* The insides of a tf_dfa, shared by the files of this folder. */
#ifndef TF_DFA_INSIDE_H
#define TF_DFA_INSIDE_H

#include "classes.h"
#include "dfa.h"
#include "intern.h"
#include "program.h"

/* An atom: a set of places, with what they need to know of the text before. */
enum { TF_ATOM_START = 1, TF_ATOM_AFTER_WORD = 2 }; /* its first word; places follow */

typedef uint32_t tf_formula; /* 0 false, 1 true, else node id + 2 */
#define TF_FALSE 0u
#define TF_TRUE 1u

typedef struct tf_atom {
    tf_formula *row; /* derivative by each code point class, or NULL */
    bool accepts;    /* with a row */
    bool sure;       /* some text is accepted */
    bool special;    /* a lookaround or \b can be reached */
    bool start;      /* at the start of the text, and that matters */
} tf_atom;

enum { TF_NODE_UNKNOWN, TF_NODE_LIVE, TF_NODE_DEAD };
typedef struct tf_node {
    uint32_t atom;
    tf_formula high, low; /* where the atom holds / does not */
    tf_formula *row;      /* derivatives, or NULL */
    uint32_t state;       /* or 0 */
    uint32_t seen;        /* last search that met it */
    uint8_t live;
    uint8_t universal;    /* 0 unknown, 1 yes, 2 no */
} tf_node;

enum { TF_STATE_ACCEPTS = 1, TF_STATE_UNIVERSAL = 2, TF_STATE_INSIDE = 4 };
typedef struct tf_state {
    uint32_t *row;     /* by byte class, entries may be TF_DFA_UNKNOWN; or NULL */
    uint32_t *targets; /* by code point class: states; or NULL */
    uint32_t formula;  /* between characters */
    uint32_t tail;     /* targets of wide classes, interned */
    uint32_t flags;
    const tf_dfa_lengths *lengths;
} tf_state;

/* Scratch of one level of a closure: nested lookaheads take one each. */
typedef struct tf_closure {
    uint32_t *seen; /* per place: the last pass */
    uint32_t pass;
    tf_pc *stack, *sets, *aheads;
    uint32_t n_sets, n_aheads;
    bool match, ended;
} tf_closure;

struct tf_dfa {
    tokfsm_allocator allocator;
    tf_arena arena;
    tf_regex regex;
    tf_program program;
    tf_classes classes;
    bool sealed;
    size_t most_bytes;
    uint32_t word_set;

    tf_interner atoms;
    tf_paged atom_records;
    tf_interner nodes; /* atom, high, low */
    tf_paged node_records;
    uint32_t *ite_cache; /* four words an entry */

    tf_closure *closures[TF_REGEX_MAX_LOOKS + 2];
    uint32_t *active;    /* lookaheads whose closure is under way, a bit each place */
    tf_pc *pcs;          /* places gathered */
    uint64_t *mark;      /* a bit each place */
    uint32_t *matched;   /* lookbehinds that hold, a bit each */
    tf_pc *trackers;     /* places of lookbehinds after the character */
    uint32_t n_trackers;
    uint32_t *key;       /* of an atom */

    tf_paged states;
    uint32_t n_states;
    uint32_t true_state; /* of every string, or 0 */
    tf_interner tails;
    tf_interner inside;  /* rows of states inside a character */
    uint32_t inside_state_capacity;
    uint32_t *inside_states;
    tf_interner steps;   /* (tail, node) -> inside state */
    uint32_t steps_capacity;
    uint32_t *step_states;

    uint32_t search;     /* number of the last search */
    uint64_t *shortest;  /* of each state, 1 + its shortest accepted text, or 0 */
    uint32_t *shortest_met;
    uint32_t shortest_capacity;
    struct { uint32_t *items, *parents; uint32_t capacity; } queue;

    struct tf_columns *program_columns;
};

#define TF_NODE(dfa, f) ((tf_node *)(void *)tf_paged_at(&(dfa)->node_records, (f) - 2, sizeof(tf_node)))
#define TF_ATOM(dfa, a) ((tf_atom *)(void *)tf_paged_at(&(dfa)->atom_records, (a), sizeof(tf_atom)))
#define TF_STATE(dfa, s) ((tf_state *)(void *)tf_paged_at(&(dfa)->states, (s), sizeof(tf_state)))

tokfsm_status tf_dfa_no_memory(tokfsm_error *err);
/* TOKFSM_E_LIMIT past tf_dfa_limit_bytes. */
tokfsm_status tf_dfa_check_bytes(const tf_dfa *dfa, tokfsm_error *err);

/* atoms.c */
tokfsm_status tf_atoms_prepare(tf_dfa *dfa, tokfsm_error *err);
/* The formula of a pattern at the start of a text. */
tokfsm_status tf_atoms_start(tf_dfa *dfa, uint32_t pattern, tf_budget *budget, tf_formula *f,
                             tokfsm_error *err);
/* Fill atom->row and atom->accepts. */
tokfsm_status tf_atoms_expand(tf_dfa *dfa, uint32_t atom, tf_budget *budget, tokfsm_error *err);

/* formula.c */
tokfsm_status tf_formula_of_atom(tf_dfa *dfa, uint32_t atom, tf_budget *budget, tf_formula *f,
                                 tokfsm_error *err);
/* a ? b : c */
tokfsm_status tf_formula_if(tf_dfa *dfa, tf_formula a, tf_formula b, tf_formula c,
                            tf_budget *budget, tf_formula *f, tokfsm_error *err);
/* Derivatives by every class, and with them those of all parts. *row borrowed. */
tokfsm_status tf_formula_expand(tf_dfa *dfa, tf_formula f, tf_budget *budget,
                                const tf_formula **row, tokfsm_error *err);
/* Is the empty text accepted? */
tokfsm_status tf_formula_accepts(tf_dfa *dfa, tf_formula f, tf_budget *budget, bool *accepts,
                                 tokfsm_error *err);
/* A single atom, not negated? */
static inline bool tf_formula_is_atom(const tf_node *node)
{
    return node->high == TF_TRUE && node->low == TF_FALSE;
}
/* Is some text accepted; is every text accepted? Exact. */
tokfsm_status tf_formula_live(tf_dfa *dfa, tf_formula f, tf_budget *budget, bool *live,
                              tokfsm_error *err);
tokfsm_status tf_formula_universal(tf_dfa *dfa, tf_formula f, tf_budget *budget, bool *universal,
                                   tokfsm_error *err);

/* dfa.c */
tokfsm_status tf_dfa_state_of(tf_dfa *dfa, tf_formula f, tf_budget *budget, uint32_t *state,
                              tokfsm_error *err);
tokfsm_status tf_dfa_expand(tf_dfa *dfa, uint32_t state, tf_budget *budget, tokfsm_error *err);
/* Room in an array of the arena that doubles; false: no memory. */
bool tf_dfa_room(tf_arena *arena, uint32_t **items, uint32_t n, uint32_t *capacity);

#endif
