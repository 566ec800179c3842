/*
 * Safe characters: those of which a string, from a content state on, takes any number in any
 * order, or any up to some number. Tokens of nothing else need no walk.
 */
#ifndef TF_SAFE_H
#define TF_SAFE_H

#include "content.h"
#include "frames.h"

typedef struct tf_safe {
    uint64_t inside;  /* groups (vocab/groups.h): safe */
    uint64_t leaving; /* other groups that are live after some safe characters */
    uint32_t most;    /* safe characters that may come; UINT32_MAX: any number */
    bool hard;        /* and not one more */
} tf_safe;

/*
 * What makes a place in a string live: a language of `words`, within the lengths that the string
 * admits it for.
 */
typedef struct tf_wanted {
    const tf_configuration *c; /* of the string or name */
    uint32_t n_words;
    bool limited; /* lengths matter */
    bool every;   /* all classes of names are open: they divide all strings among them */
    uint32_t only; /* of the words, where there is but one language, asked for in one span of
                      lengths; TF_NONE: more */
    uint64_t only_first, only_last; /* the span */
    tf_scratch_words words;
} tf_wanted;

/* False: there is more to it (or run->call.status). */
bool tf_wanted_of(tf_run *run, const tf_configuration *c, tf_wanted *wanted);
/* n characters begun; `state` may be NULL, where nothing is live. */
static inline bool tf_wanted_live(const tf_wanted *wanted, const tf_content_state *state, uint64_t n)
{
    if (state == NULL)
        return false;
    if (wanted->n_words == 1 ? (state->live[0] & wanted->words.words[0]) == 0
                             : !tf_words_meet(state->live, wanted->words.words, wanted->n_words))
        return false;
    if (!wanted->limited)
        return true;
    if (wanted->only != TF_NONE && state->lengths != NULL && n >= wanted->only_first)
        return n - state->inside + state->lengths[wanted->only]->shortest <= wanted->only_last;
    return tf_content_live(wanted->c, state, n);
}

/* At wanted->c, between characters. False: run->call.status. */
bool tf_safe_of(tf_run *run, const tf_wanted *wanted, tf_safe *safe);

#endif
