/*
 * The insides of the expansion, shared by expand.c and the files it calls.
 *
 * A conjunction on its way (partial) is one list of tasks in text order. What is settled stays
 * in its place as an atom or as the note that a schema holds or fails, so that the order of
 * atoms does not depend on the order in which choices are made.
 */
#ifndef TF_EXPAND_H
#define TF_EXPAND_H

#include "names.h"

struct choice;

typedef struct task {
    enum {
        TASK_HOLDS, TASK_FAILS,     /* of a schema */
        TASK_EQUALS, TASK_DIFFERS,  /* of a tape node */
        TASK_FACT,                  /* an atom as it stands */
        TASK_CHOOSE,                /* one option of `choice` */
        DONE_ATOM,                  /* obligation `index` */
        DONE_HELD, DONE_FAILED,     /* a schema that was looked at, and leaves no atom */
        DONE_COVERED                /* what meets `index` too is found on another way */
    } what;
    uint32_t index;
    struct choice *choice;
} task;

typedef struct option {
    task *tasks;
    uint32_t n_tasks, capacity;
} option;

typedef struct choice {
    option *options;
    uint32_t n_options, capacity;
    bool positive; /* a branch is to hold: made before what fails is chosen */
    bool kept;     /* not dropped where an option holds anyway: the others evaluate more */
    bool optional; /* a schema that evaluates more if it holds, or nothing */
} choice;

typedef struct partial {
    task *tasks;
    uint32_t n, capacity;
    uint32_t equals; /* tape node that the value must equal, or TF_TAPE_NONE */
} partial;

/* A partial that goes on with each option of one of its choices, in turn. */
typedef struct branching {
    partial p;
    uint32_t at; /* of the choice */
    choice live; /* its options that are not dead */
    uint32_t next;
    tf_arena_mark mark;
} branching;

/* A whole alternative, and its atoms in order of number, for telling what is part of what. */
typedef struct finished {
    tf_alternative alternative;
    tf_obligation *sorted;
    uint64_t signature; /* a subset's bits are a subset */
} finished;

/* What the atoms so far come down to. */
typedef struct outlook {
    tf_alternative atoms;
    tf_name_list required;
    uint64_t low, high; /* members or items */
    bool other;         /* objects: names that no atom speaks of may be there */
} outlook;

typedef struct expansion {
    tf_build *b;
    bool object;
    uint32_t types;       /* TF_TYPE_OBJECT or TF_TYPE_ARRAY */
    struct { finished *items; size_t n, capacity; } found;
    struct { branching *items; size_t n, capacity; } frames;
    struct { task *items; size_t n, capacity; } splice; /* what replaces a task */
    struct { tf_obligation *items; size_t n, capacity; } atoms;
    struct { struct memo *items; uint32_t n_slots, n; } choices; /* by what they come from */
    struct { struct done_note *items; uint32_t n_slots, n, epoch; } done;   /* done.c */
    struct { struct asked_note *items; uint32_t n_slots, n, epoch; } asked; /* of the view */
    outlook view;
    tf_arena scratch;     /* choices and whole alternatives */
    tf_arena stack;       /* partials, given back as the walk backs up */
    tokfsm_status status; /* of making choices; sticky */
    option nowhere;       /* where options go once status is set */
} expansion;

choice *tf_choice_new(expansion *e);
option *tf_choice_option(expansion *e, choice *c);
void tf_option_task(expansion *e, option *o, task t);
void tf_option_fact(expansion *e, option *o, tf_fact fact);
/* What a choice comes from: a schema of which something holds, or what is to fail. */
enum {
    TF_FROM_FAILS = 1, TF_FROM_DIFFERS, TF_FROM_VALUES, TF_FROM_ANY, TF_FROM_ONE, TF_FROM_IF,
    TF_FROM_DEPENDENT /* the k-th */
};
/* *met: there is nothing to choose. */
tokfsm_status tf_choice_of(expansion *e, int from, uint32_t id, uint32_t k, choice **c, bool *met);
tokfsm_status tf_expand_check(expansion *e); /* one unit of work; memory within limits */

/* The ways in which a value of the type at hand fails the schema, or differs from the node;
   *met: it does in any case. */
tokfsm_status tf_negate_schema(expansion *e, uint32_t id, choice **ways, bool *met);
tokfsm_status tf_negate_value(expansion *e, uint32_t node, choice **ways, bool *met);

/* alternatives.c */
/* A tf_alternative_visitor of an expansion. */
tokfsm_status tf_add_alternative(void *expansion_, const tf_alternative *alternative);
tokfsm_status tf_keep_alternatives(expansion *e, const tf_alternatives **kept);

/* prune.c: look at the atoms so far; *dead: no value has them all. */
tokfsm_status tf_view_atoms(expansion *e, const partial *p, bool *dead);
/* Choices that are met anyway go, and those with one live option become it (*changed). */
tokfsm_status tf_prune_choices(expansion *e, partial *p, bool *dead, bool *changed);
/* The options of the choice at `at` that are not dead, less what holds anyway. */
tokfsm_status tf_live_options(expansion *e, const partial *p, uint32_t at, choice *live);
/* The task at `at` gives way to others, which stand in its place. */
tokfsm_status tf_replace_task(expansion *e, partial *p, uint32_t at, const task *by, uint32_t n);
/* The one task of an option as what a value meets or not; false: it has another form. */
bool tf_single_task(const option *o, uint32_t *index);
/* Whether it is that one member is, or is not, among a finite list of values; and the contrary. */
bool tf_is_discriminating(const tf_build *b, const option *o, tf_fact *contrary);

/* done.c: what is settled in the partial at hand: note all of it, one more, and look it up. A schema
   that is an atom counts as held too. */
tokfsm_status tf_done_begin(expansion *e, const partial *p);
tokfsm_status tf_done_note(expansion *e, uint32_t what, uint32_t index);
bool tf_is_done(const expansion *e, uint32_t what, uint32_t index);
/* What the atoms of the view ask of a member, as tf_member_oset. */
void tf_asked_begin(expansion *e);
tokfsm_status tf_asked_of(expansion *e, const char *name, uint32_t n, tf_oset **oset);

#endif
