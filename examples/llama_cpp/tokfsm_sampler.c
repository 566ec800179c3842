#include "tokfsm_sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STOPS = 64 };

typedef struct place {
    tokfsm_matcher *matcher;
    const struct llama_vocab *vocab;
    uint32_t *words;
    size_t n_words;
    uint32_t budget; /* tokens left, or TOKFSM_UNBOUNDED */
    uint32_t first_budget;
    tokfsm_status status;
} place;

/* ---- the vocabulary ---- */

tokfsm_pack *tokfsm_pack_of_llama(const struct llama_vocab *vocab, tokfsm_error *err)
{
    uint32_t n_tokens = (uint32_t)llama_vocab_n_tokens(vocab);
    size_t n = 0, capacity = (size_t)n_tokens * 16 + 1024;
    uint64_t *offsets = calloc((size_t)n_tokens + 1, sizeof *offsets);
    char *blob = malloc(capacity);
    for (uint32_t id = 0; id < n_tokens && offsets != NULL && blob != NULL; id++) {
        if (!llama_vocab_is_control(vocab, (llama_token)id)) {
            int32_t n_piece = llama_token_to_piece(vocab, (llama_token)id, blob + n,
                                                   (int32_t)(capacity - n < 65536 ? capacity - n : 65536), 0, true);
            if (n_piece < 0) { /* no room: twice as much, and again */
                char *wider = realloc(blob, capacity = capacity * 2 + (size_t)-n_piece);
                if (wider == NULL)
                    break;
                blob = wider;
                id--;
                continue;
            }
            n += (size_t)n_piece;
        }
        offsets[id + 1] = n;
    }
    tokfsm_pack *pack = NULL;
    if (offsets != NULL && blob != NULL && offsets[n_tokens] == n)
        tokfsm_pack_build((const uint8_t *)blob, offsets, n_tokens, NULL, NULL, NULL, &pack, err);
    else if (err != NULL) {
        memset(err, 0, sizeof *err);
        err->code = TOKFSM_E_NOMEM;
        strcpy(err->message, "no memory for the vocabulary");
    }
    free(offsets);
    free(blob);
    return pack;
}

size_t tokfsm_stop_ids_of_llama(const struct llama_vocab *vocab, uint32_t *ids, size_t capacity)
{
    size_t n = 0;
    for (int32_t id = 0; id < llama_vocab_n_tokens(vocab); id++)
        if (llama_vocab_is_eog(vocab, id)) {
            if (n < capacity)
                ids[n] = (uint32_t)id;
            n++;
        }
    return n;
}

/* ---- the sampler ---- */

static const char *name_of(const struct llama_sampler *sampler)
{
    (void)sampler;
    return "tokfsm";
}

static void accept_token(struct llama_sampler *sampler, llama_token token)
{
    place *p = sampler->ctx;
    int32_t accepted = 0;
    if (p->status != TOKFSM_OK)
        return;
    if ((tokfsm_matcher_state(p->matcher) & TOKFSM_STATE_TERMINATED) != 0 && llama_vocab_is_eog(p->vocab, token))
        return; /* once more after the end */
    p->status = tokfsm_matcher_accept(p->matcher, (uint32_t)token, &accepted, NULL);
    if (p->status == TOKFSM_OK && !accepted)
        p->status = TOKFSM_E_ARGUMENT;
    if (p->budget != TOKFSM_UNBOUNDED && p->budget > 0)
        p->budget--;
}

/* Candidates come in any order, and some may have been dropped by samplers before this one. */
static void apply(struct llama_sampler *sampler, llama_token_data_array *candidates)
{
    place *p = sampler->ctx;
    int32_t need_apply = 1;
    if (p->status == TOKFSM_OK)
        p->status = tokfsm_matcher_fill(p->matcher, p->words, p->n_words, p->budget, &need_apply, NULL);
    if (p->status == TOKFSM_OK && !need_apply)
        return;
    for (size_t i = 0; i < candidates->size; i++) {
        uint32_t id = (uint32_t)candidates->data[i].id;
        bool allowed = p->status == TOKFSM_OK
                           ? id / 32 < p->n_words && (p->words[id / 32] >> (id % 32) & 1u) != 0
                           : llama_vocab_is_eog(p->vocab, (llama_token)id);
        if (!allowed)
            candidates->data[i].logit = -INFINITY;
    }
}

static void reset(struct llama_sampler *sampler)
{
    place *p = sampler->ctx;
    p->status = tokfsm_matcher_reset(p->matcher, NULL);
    p->budget = p->first_budget;
}

static void free_place(struct llama_sampler *sampler)
{
    place *p = sampler->ctx;
    tokfsm_matcher_free(p->matcher);
    free(p->words);
    free(p);
}

static struct llama_sampler *clone(const struct llama_sampler *sampler);

static struct llama_sampler_i interface = {
    .name = name_of, .accept = accept_token, .apply = apply, .reset = reset, .clone = clone, .free = free_place};

static place *new_place(const struct llama_vocab *vocab, uint32_t n_words)
{
    place *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->vocab = vocab;
    p->n_words = n_words;
    p->words = malloc(n_words * sizeof *p->words);
    if (p->words == NULL) {
        free(p);
        return NULL;
    }
    return p;
}

static struct llama_sampler *clone(const struct llama_sampler *sampler)
{
    const place *from = sampler->ctx;
    place *p = new_place(from->vocab, (uint32_t)from->n_words);
    if (p == NULL)
        return NULL;
    p->budget = from->budget;
    p->first_budget = from->first_budget;
    p->status = from->status;
    if (tokfsm_matcher_fork(from->matcher, &p->matcher, NULL) != TOKFSM_OK) {
        free(p->words);
        free(p);
        return NULL;
    }
    return llama_sampler_init(&interface, p);
}

struct llama_sampler *tokfsm_sampler_init(tokfsm_automaton *automaton, const struct llama_vocab *vocab,
                                          uint32_t max_tokens, tokfsm_error *err)
{
    uint32_t stops[MAX_STOPS], bound = 0;
    size_t n_stops = tokfsm_stop_ids_of_llama(vocab, stops, MAX_STOPS);
    uint32_t n_words = ((uint32_t)llama_vocab_n_tokens(vocab) + 31) / 32;
    tokfsm_matcher *matcher = NULL;
    if (tokfsm_matcher_new(automaton, stops, n_stops < MAX_STOPS ? n_stops : MAX_STOPS, 0, &matcher, err) !=
        TOKFSM_OK)
        return NULL;
    tokfsm_status status = tokfsm_matcher_bound(matcher, &bound, err);
    place *p = status == TOKFSM_OK && bound <= max_tokens ? new_place(vocab, n_words) : NULL;
    if (p == NULL) {
        tokfsm_matcher_free(matcher);
        if (status == TOKFSM_OK && err != NULL) {
            memset(err, 0, sizeof *err);
            err->code = bound > max_tokens ? TOKFSM_E_BUDGET : TOKFSM_E_NOMEM;
            strcpy(err->message, bound > max_tokens ? "max_tokens is less than any value is sure to fit in"
                                                    : "no memory for a sampler");
        }
        return NULL;
    }
    p->matcher = matcher;
    p->budget = p->first_budget = max_tokens;
    return llama_sampler_init(&interface, p);
}

tokfsm_status tokfsm_sampler_status(const struct llama_sampler *sampler)
{
    return ((const place *)sampler->ctx)->status;
}
