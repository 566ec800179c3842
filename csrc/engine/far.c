#include "far.h"

#include "../vocab/traces.h"
#include "content.h"
#include "frames.h"

/* What is met in a later break is met in this one on the same terms. */
bool tf_far_eligible(const tf_configuration *c)
{
    const tf_strings *s = c->at;
    if (c->sub != TF_STR_NORMAL || c->content == NULL || s->content == NULL)
        return false;
    const tf_break *here = &s->breaks[tf_break_at(s, c->n)];
    const uint64_t *alive = tf_words(&c->alive, c->value->n_words);
    for (const tf_break *later = here + 1; later < s->breaks + s->n_breaks; later++)
        for (uint32_t j = 0; j < c->value->n; j++) {
            if (!tf_word_bit(alive, j))
                continue;
            uint32_t now = here->language == NULL ? TF_NONE : here->language[j];
            uint32_t then = later->language == NULL ? TF_NONE : later->language[j];
            if ((then != TF_NONE && then != now) ||
                (tf_word_bit(later->outcome, j) && !tf_word_bit(here->outcome, j)))
                return false;
        }
    return true;
}

/* Characters of the longest token along which the content stays live. */
static bool longest_token(tf_run *run, const tf_configuration *c, uint64_t *longest)
{
    const tf_groups *groups = &run->m->pack->traces->groups;
    *longest = TF_LONG_CHARS > groups->most_escaped ? TF_LONG_CHARS : groups->most_escaped;
    for (uint32_t i = 0; i < groups->n_long; i++) {
        uint32_t n;
        const uint8_t *bytes = tf_pack_token(run->m->pack, groups->long_tokens[i], &n);
        const tf_content_state *state = c->content;
        uint64_t chars = 0;
        if (n <= *longest)
            continue;
        for (uint32_t k = 0; k < n && state != NULL; k++) {
            state = tf_content_step(run, state, bytes[k]);
            chars += state != NULL && tf_byte_group[bytes[k]] != TF_GROUP_NONE;
        }
        if (!tf_run_spend(run) || run->call.status != TOKFSM_OK)
            return false;
        if (chars > *longest)
            *longest = chars;
    }
    return true;
}

bool tf_far_until(tf_run *run, const tf_configuration *c, uint64_t *most)
{
    const tf_strings *s = c->at;
    uint64_t last = tf_break_last(s, tf_break_at(s, c->n)), reach;
    if (!longest_token(run, c, &reach))
        return false;
    /* Every state that the mask looked at is made by now. */
    uint64_t farthest = atomic_load_explicit(
        &((tf_content *)(uintptr_t)s->content)->farthest, memory_order_acquire);
    uint64_t room = reach + farthest + 1;
    *most = last == UINT64_MAX ? last : last < room ? 0 : last - room;
    return true;
}
