/* Exported functions of the run-time half that belong to no stage. */
#include "engine/automaton.h"

uint32_t tokfsm_abi_version(void) { return TOKFSM_ABI_VERSION; }

void tokfsm_bytes_free(const tokfsm_allocator *allocator, uint8_t *bytes)
{
    tokfsm_allocator a = tf_allocator(allocator);
    tf_release(&a, bytes);
}

void tokfsm_options_default(tokfsm_options *options)
{
    memset(options, 0, sizeof *options);
    options->max_whitespace = 40;
    options->max_digits = TOKFSM_UNBOUNDED;
}

void tokfsm_automaton_retain(tokfsm_automaton *automaton)
{
    atomic_fetch_add(&automaton->references, 1);
}

void tokfsm_automaton_free(tokfsm_automaton *automaton) { tf_automaton_release(automaton); }

uint32_t tokfsm_automaton_vocab_size(const tokfsm_automaton *automaton)
{
    return automaton->pack->vocab_size;
}

tokfsm_pack *tokfsm_automaton_pack(tokfsm_automaton *automaton) { return automaton->pack; }

void tokfsm_automaton_options(const tokfsm_automaton *automaton, tokfsm_options *options)
{
    *options = automaton->machine->options;
}

void tokfsm_automaton_statistics(const tokfsm_automaton *automaton,
                                 tokfsm_statistics *statistics)
{
    *statistics = automaton->statistics(automaton);
}

const uint8_t *tokfsm_automaton_schema(const tokfsm_automaton *automaton, size_t *n_bytes)
{
    *n_bytes = automaton->n_schema_bytes;
    return automaton->schema;
}

const tokfsm_relaxed *tokfsm_automaton_relaxed(const tokfsm_automaton *automaton, size_t *n)
{
    *n = automaton->n_relaxed;
    return automaton->relaxed;
}

const uint32_t *tokfsm_automaton_stop_ids(const tokfsm_automaton *automaton, size_t *n_ids)
{
    *n_ids = automaton->n_stop_ids;
    return automaton->stop_ids;
}
