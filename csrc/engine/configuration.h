/*
 * Where a text stands: the open frames and the place inside the innermost lexeme.
 * Configurations and frames are immutable once made; a matcher gets back by what a token changed in
 * them (matcher/history.h), and a fork shares them.
 *
 * Registers live here: names seen, counts, emitted names, alternatives alive, characters,
 * white space. Nothing of them is part of a machine state.
 */
#ifndef TF_CONFIGURATION_H
#define TF_CONFIGURATION_H

#include "edits.h"
#include "machine.h"

/* Decoded text of a string, one chunk a node, newest first. `hash` is over the whole text. */
typedef struct tf_text {
    const struct tf_text *previous;
    const uint8_t *more; /* chunk of n bytes; NULL: in `bytes` */
    uint32_t length;     /* of the whole text, in bytes */
    uint32_t hash;
    uint32_t n;
    uint8_t bytes[4];
} tf_text;

/* Names that no alternative declares, as emitted so far. */
typedef struct tf_emitted {
    const struct tf_emitted *previous;
    const tf_text *name; /* NULL: the empty name */
    uint32_t class;      /* of other names */
    uint8_t whole;       /* 1: some token can spell it or an earlier one whole: emitted.h */
    uint8_t first[3];    /* bytes of it, 0 behind its end: most of the others are told by them */
} tf_emitted;

typedef struct tf_frame {
    const struct tf_frame *parent;
    const tf_kind *kind;
    const tf_edge *edge; /* of the member or item begun last */
    const tf_emitted *emitted;
    const uint64_t *counts; /* of all counters (counters.h); NULL: all 0 */
    tf_bits alive;  /* alternatives, [kind->alternative_words] */
    uint64_t count; /* members or items begun */
    uint32_t last;  /* property_order="schema": 1 + index of the last name, 0: none */
    uint32_t depth; /* frames below and including this one */
    uint8_t collects;  /* 1: keeps the values of its members or items, see unique.h */
    uint8_t unchecked; /* 1: but does not compare them (a search of its own) */
    uint8_t fresh;     /* copies for bounds alone: 1: nothing of the item at hand is written */
    const struct tf_child *children; /* those that have ended, newest first */
    tf_bits twins;     /* alternatives that have got their two equal items */
    uint32_t seen[]; /* objects: [kind->name_words] */
} tf_frame;

enum {
    TF_AT_VALUE,     /* a value must come; `gap` says after what */
    TF_AT_NAME,      /* a name's quote must come, or `}` after `{` */
    TF_AT_COLON,     /* after a name */
    TF_AT_AFTER,     /* after a value, in a frame */
    TF_AT_END,       /* after the root value */
    TF_IN_NAME, TF_IN_STRING, TF_IN_NUMBER, TF_IN_LITERAL
};
enum { TF_GAP_NONE, TF_GAP_OPEN, TF_GAP_COMMA, TF_GAP_COLON };

/* How far a string keeps to the literals. */
enum {
    TF_ON,    /* literals[low .. high) begin so */
    TF_OFF,   /* no literal can be meant any more */
    TF_MAYBE  /* an escape that a literal would not use: decided by content at the end */
};

typedef struct tf_configuration {
    const tf_frame *top;
    const tf_value *value;   /* VALUE, STRING, NUMBER, LITERAL; VALUE may be NULL after `[` */
    const void *at;          /* STRING, NAME: tf_strings; NUMBER: tf_nstate */
    const tf_text *text;     /* decoded, where strings->n_literals or names need it; of a number
                                that is collected, as written */
    const tf_content_state *content; /* STRING, NAME: of what is decoded; NULL: nothing is live */
    tf_bits alive;           /* obligations of `value` */
    const struct tf_item *item; /* the value that has just ended, where it is collected */
    uint64_t n;              /* strings: characters begun; gaps: white space so far;
                                literals: bytes so far */
    uint32_t low, high, pos; /* TF_ON; LITERAL: low is which */
    uint32_t hex;            /* pending \u digits; high half in the upper 16 bits */
    uint8_t mode, gap, sub, literal;
    uint8_t literals_only;   /* walk of the literals alone: leaving them is the end, and what is
                                on them goes on to the quote, live or not */
    uint8_t closed_literal;  /* set by a step that closed a string that kept to the literals */
    uint8_t others_only;     /* AT_NAME: what begins is taken for no declared name */
    uint8_t spare[1];        /* 0: a matcher's history compares whole words */
} tf_configuration;

/* A step's surroundings. Frames and texts that it makes go to the arena. */
typedef struct tf_run {
    tf_machine *m;
    tf_arena *arena;
    tf_call call;
    uint8_t searching; /* 1: a search goes on, which looks for what is live by itself; 2: nothing
                          is compared */
    uint8_t matching;  /* matches inside one another: see match.c */
    uint8_t settles;   /* 1: equal names are left to tf_emitted_settle */
    uint8_t exact;     /* 1: look ahead also where the vocabulary lacks bytes (bounds) */
} tf_run;

/* One unit of the call's work; false: run->call.status. */
bool tf_run_spend(tf_run *run);
/* The start of a text. */
tf_configuration tf_configuration_start(const tf_machine *m);
/* Take one byte; false: dead (or run->call.status set), *c undefined then. */
bool tf_step(tf_run *run, tf_configuration *c, uint8_t byte);
/* The same for n bytes, of which a run inside a string is one step. */
bool tf_step_text(tf_run *run, tf_configuration *c, const uint8_t *bytes, uint32_t n);
/* Inside a string or name: whether it can come to an end. */
bool tf_string_is_live(tf_run *run, const tf_configuration *c);
/* Whether the text so far is a whole value. */
bool tf_is_complete(const tf_configuration *c);

/*
 * Completion bound: tokens of a real completion, such that some allowed token leads to at most
 * one less (design: completion over the bytes that are tokens by themselves). TF_COST_NONE:
 * there is none.
 */
uint32_t tf_bound(tf_run *run, const tf_configuration *c);
/* The same with every look at equal items left out. */
uint32_t tf_bound_plain(tf_run *run, const tf_configuration *c);
/* Live over single-byte tokens; what a mask bit means besides tf_step. */
static inline bool tf_is_live(tf_run *run, const tf_configuration *c)
{
    return run->m->bytes_complete || tf_bound(run, c) != TF_COST_NONE;
}

/* The mask of the configuration, stop tokens left out, in the run's arena. False:
   run->call.status. */
bool tf_mask(tf_run *run, const tf_configuration *c, tf_edits *edits);
/* `row` is the mask of these edits: clear the bits whose token leads past `budget - 1`. */
bool tf_mask_budget(tf_run *run, const tf_configuration *c, const tf_edits *edits, uint32_t *row,
                    uint32_t budget);

/* Names: to which alternatives a declared one, or one of a class of others, may begin now. */
bool tf_name_open(tf_run *run, const tf_frame *frame, uint32_t name, uint64_t *alive);
bool tf_other_open(tf_run *run, const tf_frame *frame, uint32_t class, uint64_t *alive);
/* Names of the class that are not emitted yet; UINT64_MAX: no end of them. */
uint64_t tf_others_left(const tf_frame *frame, uint32_t class);
bool tf_may_close(const tf_frame *frame, uint64_t *outcome);

#endif
