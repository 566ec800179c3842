/* What a tokfsm_automaton is: a machine, its pack, and what an artifact says besides. */
#ifndef TF_AUTOMATON_H
#define TF_AUTOMATON_H

#include "configuration.h"

struct tokfsm_automaton {
    atomic_uint references;
    tokfsm_allocator allocator;
    tf_machine *machine;
    void (*free_machine)(tokfsm_automaton *automaton);
    tokfsm_pack *pack;
    uint32_t *stop_ids; /* default stop set, ascending */
    size_t n_stop_ids;
    uint8_t *schema; /* text as compiled, or NULL */
    size_t n_schema_bytes;
    char *relaxed_text; /* three texts for each of `relaxed`, or NULL */
    size_t n_relaxed_bytes;
    tokfsm_relaxed *relaxed; /* what unsupported="relax" loosened; points into the text */
    size_t n_relaxed;
    uint32_t closed; /* explored to the end */
    tokfsm_statistics (*statistics)(const tokfsm_automaton *automaton);
};

/* Ascending, each once; E_RANGE for an id outside the vocabulary. *copy is owned. */
tokfsm_status tf_stop_ids_copy(const tokfsm_allocator *a, const tokfsm_pack *pack,
                               const uint32_t *ids, size_t n, uint32_t **copy, size_t *n_copy,
                               tokfsm_error *err);
/* Whether `id` is among ascending ids. */
bool tf_stop_ids_have(const uint32_t *ids, size_t n, uint32_t id);
/* Take over the text: three texts each, each with its NUL; E_CORRUPT if it is not of that form. */
tokfsm_status tf_automaton_set_relaxed(tokfsm_automaton *automaton, char *text, size_t n_bytes,
                                       tokfsm_error *err);
void tf_automaton_release(tokfsm_automaton *automaton);

#endif
