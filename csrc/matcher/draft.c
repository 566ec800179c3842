/*
 * Speculative decoding: masks at all places of a draft in one call, a chain or a tree of tokens
 * after the matcher's position. Nodes are made in scratch memory, from parents to children, so
 * that nothing has to be undone; a token costs one accept, a place one mask. First all that can
 * fail, then the rows.
 *
 * Source: Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding";
 * Miao et al. 2024, "SpecInfer" (token trees).
 */
#include "../base/bits.h"
#include "matcher.h"

tokfsm_status tokfsm_matcher_validate(tokfsm_matcher *matcher, const uint32_t *token_ids,
                                      size_t n_ids, size_t *n_allowed, tokfsm_error *err)
{
    if (n_allowed == NULL || (token_ids == NULL && n_ids > 0))
        return tf_fail(err, TOKFSM_E_ARGUMENT, "an argument is NULL");
    TF_TRY(tf_matcher_enter(matcher, err));
    tf_arena_reset(&matcher->scratch);
    const tf_node *at = matcher->at;
    tokfsm_status status = TOKFSM_OK;
    size_t n = 0;
    while (n < n_ids) {
        status = tf_matcher_next(matcher, &matcher->scratch, at, token_ids[n], &at, err);
        if (status != TOKFSM_OK || at == NULL)
            break;
        n++;
    }
    tf_matcher_trim(matcher);
    tf_matcher_leave(matcher);
    if (status == TOKFSM_OK)
        *n_allowed = n;
    return status;
}

/* Place 0 is the matcher's own, place i + 1 the one behind token i. */
typedef struct place {
    const tf_node *node; /* NULL: behind a token that is not allowed */
    uint32_t budget;     /* what is left there */
    tf_made_mask made;
} place;

static size_t place_before(const int32_t *parents, size_t i)
{
    return parents == NULL ? i : (size_t)(parents[i] + 1);
}

/* Whether the budget at the parent allows the token that led to `node`. */
static bool fits(tf_scratch_run *s, const tf_node *node, uint32_t budget, uint32_t *left)
{
    *left = budget;
    if (budget == TOKFSM_UNBOUNDED || node->stopped)
        return true;
    if (budget == 0)
        return false;
    s->budget.left = s->budget.limit;
    *left = budget - 1;
    return tf_bound(&s->run, &node->c) <= *left;
}

static tokfsm_status follow(tokfsm_matcher *matcher, tf_scratch_run *s, const uint32_t *token_ids,
                            const int32_t *parents, size_t n_tokens, place *places,
                            tokfsm_error *err)
{
    for (size_t i = 0; i < n_tokens; i++) {
        const place *before = &places[place_before(parents, i)];
        place *behind = &places[i + 1];
        behind->node = NULL;
        if (before->node == NULL)
            continue;
        const tf_node *to;
        TF_TRY(tf_matcher_next(matcher, &matcher->scratch, before->node, token_ids[i], &to, err));
        if (to != NULL && fits(s, to, before->budget, &behind->budget))
            behind->node = to;
        TF_TRY(s->run.call.status);
    }
    return TOKFSM_OK;
}

static void write_all_allowed(const tokfsm_pack *pack, uint32_t *words, size_t n_words)
{
    memset(words, 0, n_words * sizeof *words);
    for (uint32_t w = 0; w < pack->n_words && w < n_words; w++)
        words[w] = w < pack->vocab_size / 32 ? UINT32_MAX
                                             : ((uint32_t)1 << pack->vocab_size % 32) - 1;
}

static tokfsm_status fill_draft(tokfsm_matcher *matcher, const uint32_t *token_ids,
                                const int32_t *parents, size_t n_tokens, uint32_t *words,
                                size_t n_words, size_t stride, uint32_t budget, int32_t *legal,
                                size_t *n_legal, tokfsm_error *err)
{
    const tokfsm_pack *pack = matcher->automaton->pack;
    size_t n_bytes;
    if (n_words < pack->n_words)
        TF_TRY(tf_matcher_check_width(matcher, n_words, err));
    tf_scratch_run s;
    tf_scratch_begin(&s, matcher, err);
    place *places = tf_size_mul_add(n_tokens, sizeof *places, sizeof *places, &n_bytes)
                        ? tf_arena_take(&matcher->scratch, n_bytes)
                        : NULL;
    if (places == NULL)
        return tf_fail(err, TOKFSM_E_NOMEM, "no memory for a draft");
    places[0].node = matcher->at;
    places[0].budget = budget;
    TF_TRY(follow(matcher, &s, token_ids, parents, n_tokens, places, err));
    for (size_t i = 0; i <= n_tokens; i++) {
        if (places[i].node == NULL)
            continue;
        s.budget.left = s.budget.limit;
        TF_TRY(tf_matcher_make(matcher, &s.run, places[i].node, n_words, places[i].budget,
                               &places[i].made, err));
    }
    size_t n = 0;
    for (size_t i = 0; i <= n_tokens; i++) {
        if (places[i].node == NULL)
            write_all_allowed(pack, words + i * stride, n_words);
        else
            tf_matcher_write(matcher, &places[i].made, words + i * stride, n_words);
        if (i > 0 && legal != NULL)
            legal[i - 1] = places[i].node != NULL;
        n += i > 0 && places[i].node != NULL;
    }
    tf_matcher_note_width(matcher, n_words);
    *n_legal = n;
    return TOKFSM_OK;
}

tokfsm_status tokfsm_matcher_fill_draft(tokfsm_matcher *matcher, const uint32_t *token_ids,
                                        const int32_t *parents, size_t n_tokens, uint32_t *words,
                                        size_t n_words, size_t stride, uint32_t budget,
                                        int32_t *legal, size_t *n_legal, tokfsm_error *err)
{
    if (words == NULL || n_legal == NULL || (token_ids == NULL && n_tokens > 0))
        return tf_fail(err, TOKFSM_E_ARGUMENT, "an argument is NULL");
    if (stride < n_words)
        return tf_fail(err, TOKFSM_E_SIZE, "rows of %zu words, %zu words apart", n_words, stride);
    for (size_t i = 0; parents != NULL && i < n_tokens; i++)
        if (parents[i] < -1 || (parents[i] >= 0 && (size_t)parents[i] >= i))
            return tf_fail(err, TOKFSM_E_RANGE,
                           "the parent of draft token %zu is %d; it must come before it, or be -1",
                           i, (int)parents[i]);
    TF_TRY(tf_matcher_enter(matcher, err));
    size_t n = 0;
    tokfsm_status status = fill_draft(matcher, token_ids, parents, n_tokens, words, n_words,
                                      stride, budget, legal, &n, err);
    tf_matcher_trim(matcher);
    tf_matcher_leave(matcher);
    if (status == TOKFSM_OK)
        *n_legal = n;
    return status;
}
