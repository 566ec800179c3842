/*
 * Patterns as programs: instructions over sets of code points, one array for all patterns
 * of an automaton. A place in the program stands for "the rest of the text is matched from
 * here"; the end of a pattern that is searched for, `match`, takes any rest.
 */
#ifndef TF_PROGRAM_H
#define TF_PROGRAM_H

#include "../regex/parse.h"

typedef uint32_t tf_pc;

typedef enum tf_op {
    TF_OP_MATCH,        /* any rest is accepted */
    TF_OP_BEHIND_MATCH, /* a lookbehind's text ends here */
    TF_OP_SET,          /* one code point of set y, then x */
    TF_OP_SPLIT,        /* x or y */
    TF_OP_BEGIN,        /* at the start of the text, then x */
    TF_OP_END,          /* at the end, then x */
    TF_OP_WORD,         /* between word and other, then x; negated: not between */
    TF_OP_AHEAD,        /* y matches the rest (negated: does not), and x */
    TF_OP_BEHIND        /* lookbehind y matched up to here (negated: did not), then x */
} tf_op;

typedef struct tf_instruction {
    uint8_t op;
    uint8_t negated;
    uint16_t owner; /* 0: patterns; i + 1: the text of lookbehind i */
    uint32_t x, y;
} tf_instruction;

/* What is known of a place. EMPTY steps read no character. */
enum {
    TF_PC_MATCH = 1,       /* empty steps without condition lead to match */
    TF_PC_ENDS = 2,        /* at the end of the text, empty steps without condition lead to match */
    TF_PC_MAY_END = 4,     /* the same, conditions passed */
    TF_PC_LIVE = 8,        /* some text may match, away from the start */
    TF_PC_SURE = 16,       /* some text does match */
    TF_PC_BEGIN = 32,      /* empty steps lead to ^ */
    TF_PC_WORD = 64,       /* empty steps lead to \b */
    TF_PC_BEHIND = 128,    /* a lookbehind can be reached */
    TF_PC_SPECIAL = 256    /* a lookaround or \b can be reached */
};

typedef struct tf_pattern {
    tf_pc start;
    uint32_t first_behind, n_behinds;
} tf_pattern;

typedef struct tf_program {
    tf_instruction *code;
    uint16_t *known; /* TF_PC_*, after tf_program_finish */
    uint32_t n, capacity;
    tf_pattern *patterns;
    uint32_t n_patterns, patterns_capacity;
    tf_pc *behinds; /* start of each lookbehind; inner ones come first */
    uint32_t n_behinds, behinds_capacity;
    uint32_t any_set;
    uint32_t n_words;  /* \b and \B in the code */
    uint32_t n_aheads;
    uint32_t open_behind; /* owner of what is emitted now */
} tf_program;

enum { TF_PROGRAM_MAX = 200000 }; /* instructions */

/* Append a parsed pattern; its number is program->n_patterns before. */
tokfsm_status tf_program_add(tf_program *program, tf_regex *regex, tf_arena *arena,
                             tf_budget *budget, tokfsm_error *err);
tokfsm_status tf_program_finish(tf_program *program, const tf_regex *regex, tf_arena *arena,
                                tf_budget *budget, tokfsm_error *err);

#endif
