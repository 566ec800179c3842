/*
 * A sampler for llama.cpp that allows only what a tokfsm automaton does. Put it first in a chain:
 *
 *     llama_sampler_chain_add(chain, tokfsm_sampler_init(automaton, vocab, max_tokens, &err));
 *     llama_sampler_chain_add(chain, llama_sampler_init_greedy());
 *
 * llama_sampler_sample() applies the chain and hands the chosen token back to it. Prompt tokens are
 * not to be accepted by the chain: the value begins with the first token that is sampled. The chain
 * owns the sampler. A sampler belongs to one sequence; llama_sampler_clone() gives another one at
 * the same place, llama_sampler_reset() begins anew.
 */
#ifndef TOKFSM_SAMPLER_H
#define TOKFSM_SAMPLER_H

#include "llama.h"
#include "tokfsm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tokens of a model as tokfsm takes them. Owned: tokfsm_pack_free. NULL: *err says why. */
tokfsm_pack *tokfsm_pack_of_llama(const struct llama_vocab *vocab, tokfsm_error *err);
/* Ids at which llama.cpp ends a generation; writes at most `capacity`, returns how many there are. */
size_t tokfsm_stop_ids_of_llama(const struct llama_vocab *vocab, uint32_t *ids, size_t capacity);

/*
 * automaton   kept (retained); compiled for tokfsm_pack_of_llama(vocab).
 * max_tokens  the value is completed within so many; TOKFSM_UNBOUNDED: no budget.
 * NULL: *err says why; TOKFSM_E_BUDGET: max_tokens is less than any value is sure to fit in.
 */
struct llama_sampler *tokfsm_sampler_init(tokfsm_automaton *automaton,
                                          const struct llama_vocab *vocab, uint32_t max_tokens,
                                          tokfsm_error *err);
/*
 * A sampler cannot say that it failed. After a failure (a limit, no memory, a token accepted that
 * it had refused) only end-of-generation tokens are allowed; this tells, TOKFSM_OK if nothing was.
 */
tokfsm_status tokfsm_sampler_status(const struct llama_sampler *sampler);

#ifdef __cplusplus
}
#endif
#endif
