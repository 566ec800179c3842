/*
 * Per-step probing, the naive way to a mask: at a position, try every token of the vocabulary
 * on a copy of the state. Written against the public header alone; built by probing.py, which
 * loads the extension first, so that its tokfsm_* are found.
 */
#define _POSIX_C_SOURCE 199309L
#include <string.h>
#include <time.h>

#include "tokfsm.h"

typedef struct prober {
    tokfsm_pack *pack;
    tokfsm_automaton *automaton;
    tokfsm_matcher *matcher;
} prober;

/* Nanoseconds of one position, and tokens on which the ways differ from fill. */
typedef struct probed {
    int64_t fill_ns;       /* the first fill at this position: perhaps a new mask */
    int64_t again_ns;      /* the second: surely a kept one */
    int64_t fork_ns;       /* fork, accept, free for each token */
    int64_t rollback_ns;   /* accept, and rollback where it was taken, for each token */
    int64_t n_allowed;
    int64_t n_fork_differs;
    int64_t n_rollback_differs;
} probed;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t differing(const uint32_t *a, const uint32_t *b, size_t n_words)
{
    int64_t n = 0;
    for (size_t w = 0; w < n_words; w++)
        for (uint32_t x = a[w] ^ b[w]; x != 0; x &= x - 1)
            n++;
    return n;
}

tokfsm_status prober_pack(const uint8_t *bytes, size_t n_bytes, tokfsm_pack **pack,
                          tokfsm_error *err);
tokfsm_status prober_start(prober *p, tokfsm_pack *pack, const uint8_t *schema, size_t n_schema,
                           const uint32_t *stop_ids, size_t n_stop_ids, uint32_t whitespace,
                           tokfsm_error *err);
tokfsm_status prober_step(prober *p, uint32_t token_id, int32_t probe, uint32_t *filled,
                          uint32_t *tried, probed *found, tokfsm_error *err);
tokfsm_status prober_again(prober *p, tokfsm_error *err);
void prober_end(prober *p);

tokfsm_status prober_pack(const uint8_t *bytes, size_t n_bytes, tokfsm_pack **pack,
                          tokfsm_error *err)
{
    return tokfsm_pack_open(bytes, n_bytes, NULL, pack, err);
}

tokfsm_status prober_start(prober *p, tokfsm_pack *pack, const uint8_t *schema, size_t n_schema,
                           const uint32_t *stop_ids, size_t n_stop_ids, uint32_t whitespace,
                           tokfsm_error *err)
{
    memset(p, 0, sizeof *p);
    tokfsm_options options;
    tokfsm_options_default(&options);
    options.whitespace = whitespace;
    tokfsm_status status = tokfsm_compile(schema, n_schema, NULL, 0, pack, stop_ids, n_stop_ids,
                                          &options, NULL, NULL, NULL, &p->automaton, err);
    if (status != TOKFSM_OK)
        return status;
    p->pack = pack;
    return prober_again(p, err);
}

/* A matcher at the start of the text. */
tokfsm_status prober_again(prober *p, tokfsm_error *err)
{
    tokfsm_matcher_free(p->matcher);
    p->matcher = NULL;
    return tokfsm_matcher_new(p->automaton, NULL, 0, TOKFSM_UNBOUNDED, &p->matcher, err);
}

void prober_end(prober *p)
{
    tokfsm_matcher_free(p->matcher);
    tokfsm_automaton_free(p->automaton);
    memset(p, 0, sizeof *p);
}

static tokfsm_status by_fork(prober *p, uint32_t n_tokens, uint32_t *tried, tokfsm_error *err)
{
    for (uint32_t id = 0; id < n_tokens; id++) {
        tokfsm_matcher *copy = NULL;
        int32_t accepted = 0;
        tokfsm_status status = tokfsm_matcher_fork(p->matcher, &copy, err);
        if (status == TOKFSM_OK)
            status = tokfsm_matcher_accept(copy, id, &accepted, err);
        tokfsm_matcher_free(copy);
        if (status != TOKFSM_OK)
            return status;
        if (accepted)
            tried[id / 32] |= (uint32_t)1 << id % 32;
    }
    return TOKFSM_OK;
}

static tokfsm_status by_rollback(prober *p, uint32_t n_tokens, uint32_t *tried, tokfsm_error *err)
{
    for (uint32_t id = 0; id < n_tokens; id++) {
        int32_t accepted = 0;
        tokfsm_status status = tokfsm_matcher_accept(p->matcher, id, &accepted, err);
        if (status == TOKFSM_OK && accepted)
            status = tokfsm_matcher_rollback(p->matcher, 1, err);
        if (status != TOKFSM_OK)
            return status;
        if (accepted)
            tried[id / 32] |= (uint32_t)1 << id % 32;
    }
    return TOKFSM_OK;
}

/* Fill, probe where `probe` says so, then go on by the token; E_RANGE: the token is refused. */
tokfsm_status prober_step(prober *p, uint32_t token_id, int32_t probe, uint32_t *filled,
                          uint32_t *tried, probed *found, tokfsm_error *err)
{
    uint32_t n_tokens = tokfsm_pack_vocab_size(p->pack);
    size_t n_words = tokfsm_matcher_mask_words(p->matcher);
    tokfsm_status status = TOKFSM_OK;
    memset(found, 0, sizeof *found);
    int64_t t0 = now();
    status = tokfsm_matcher_fill(p->matcher, filled, n_words, TOKFSM_UNBOUNDED, NULL, err);
    int64_t t1 = now();
    if (status != TOKFSM_OK)
        return status;
    found->fill_ns = t1 - t0;
    if (probe) {
        t0 = now();
        status = tokfsm_matcher_fill(p->matcher, filled, n_words, TOKFSM_UNBOUNDED, NULL, err);
        found->again_ns = now() - t0;
        found->n_allowed = tokfsm_row_count(filled, n_words);
        memset(tried, 0, n_words * sizeof *tried);
        t0 = now();
        if (status == TOKFSM_OK)
            status = by_fork(p, n_tokens, tried, err);
        found->fork_ns = now() - t0;
        found->n_fork_differs = differing(filled, tried, n_words);
        memset(tried, 0, n_words * sizeof *tried);
        t0 = now();
        if (status == TOKFSM_OK)
            status = by_rollback(p, n_tokens, tried, err);
        found->rollback_ns = now() - t0;
        found->n_rollback_differs = differing(filled, tried, n_words);
        if (status != TOKFSM_OK)
            return status;
    }
    int32_t accepted = 0;
    status = tokfsm_matcher_accept(p->matcher, token_id, &accepted, err);
    return status == TOKFSM_OK && !accepted ? TOKFSM_E_RANGE : status;
}
