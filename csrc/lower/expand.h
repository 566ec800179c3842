/* The insides of the expansion, shared by expand.c and negate.c. */
#ifndef TF_EXPAND_H
#define TF_EXPAND_H

#include "names.h"

struct choice;

/* What a conjunction on its way still has to look at. */
typedef struct task {
    enum {
        TASK_HOLDS, TASK_FAILS,     /* of a schema */
        TASK_EQUALS, TASK_DIFFERS,  /* of a tape node */
        TASK_FACT,                  /* an atom as it stands */
        TASK_CHOOSE
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
} choice;

typedef struct partial {
    struct partial *next;
    task *tasks; /* a stack, so that alternatives and atoms come in text order */
    tf_obligation *atoms;
    uint32_t n_tasks, tasks_capacity, n_atoms, atoms_capacity;
    uint32_t equals; /* tape node that the value must equal, or TF_TAPE_NONE */
} partial;

typedef struct expansion {
    tf_build *b;
    bool object;
    uint32_t types;       /* TF_TYPE_OBJECT or TF_TYPE_ARRAY */
    partial **queue_end;  /* breadth-first, so that branches stay in text order */
    struct { const tf_alternative **items; size_t n, capacity; } found;
    tf_arena scratch;
    tokfsm_status status; /* of making choices; sticky */
    option nowhere;       /* where options go once status is set */
} expansion;

choice *tf_choice_new(expansion *e);
option *tf_choice_option(expansion *e, choice *c);
void tf_option_task(expansion *e, option *o, task t);
void tf_option_fact(expansion *e, option *o, tf_fact fact);

/* The ways in which a value of the type at hand fails the schema, or differs from the node;
   *met: it does in any case. */
tokfsm_status tf_negate_schema(expansion *e, uint32_t id, choice **ways, bool *met);
tokfsm_status tf_negate_value(expansion *e, uint32_t node, choice **ways, bool *met);

#endif
