/* What patterns and formats say of a string, at run time: steps, what can still be met, costs. */
#ifndef TF_CONTENT_H
#define TF_CONTENT_H

#include "configuration.h"

/* The state after one decoded byte; NULL: nothing is live, or run->call.status. */
const tf_content_state *tf_content_step(tf_run *run, const tf_content_state *state, uint8_t byte);
/* The same over the UTF-8 bytes of a character. */
const tf_content_state *tf_content_step_char(tf_run *run, const tf_content_state *state,
                                             uint32_t code);
/* Has `state` an accepted continuation in the language that brings a text of n characters,
   begun ones counted, to a length of least to most? */
bool tf_content_meets(const tf_content_state *state, uint32_t language, uint64_t n,
                      uint64_t least, uint64_t most);
/* The last length for which break i holds. */
uint64_t tf_break_last(const tf_strings *s, uint32_t i);
uint32_t tf_break_at(const tf_strings *s, uint64_t n);
/* What a string of break i meets: in each case, and by its content. `state` accepts, or with
   `settled` is universal. */
void tf_break_outcome(const tf_strings *s, uint32_t i, const tf_content_state *state,
                      const tf_value *value, bool settled, uint64_t *outcome);
/*
 * Whether no token from here on can come near a length that matters, by what is known of the
 * content's states: it must be asked again when more of them are made.
 */
bool tf_content_far(const tf_machine *m, const tf_configuration *c);
/* Whether nothing that may still come can change what the content says. */
bool tf_content_settled(const tf_strings *s, const tf_content_state *state);
/* Whether some language that an obligation alive asks for can still be met, n characters in; c is
   in a value string. */
bool tf_content_live(const tf_configuration *c, const tf_content_state *state, uint64_t n);
/* Characters that a string or name may still start, whatever they are: UINT64_MAX where nothing
   limits them. False: not free, or run->call.status. */
bool tf_free_room(tf_run *run, const tf_configuration *c, uint64_t *room);

/*
 * The ways in which an escape under way can end, as far as the content tells them apart: what
 * state it leads to (never NULL), by each of which code points, after how many more bytes. `visit`
 * returns true to end the search; so does this then. False also for run->call.status.
 */
typedef struct tf_escape_way {
    const tf_content_state *next;
    uint32_t code, last; /* code points, inclusive */
    uint32_t n_bytes;
} tf_escape_way;
typedef bool (*tf_escape_visit)(tf_run *run, void *context, const tf_escape_way *way);
bool tf_content_escapes(tf_run *run, const tf_configuration *c, tf_escape_visit visit,
                        void *context);
/* All that an escape can need; where one is no token by itself, no way through an escape counts. */
#define TF_ESCAPE_BYTES "\\\"/bfnrtu0123456789abcdef"
static inline bool tf_in_escape(const tf_configuration *c)
{
    return c->sub >= TF_STR_E && c->sub <= TF_STR_HU3;
}

/* How to walk a content, here and while compiling. */
typedef struct tf_content_walker {
    const tf_machine *m;
    tf_arena *arena; /* scratch; what is taken is given back */
    void *context;
    /* NULL: an error; &tf_content_dead: nothing is live. */
    const tf_content_state *(*next)(void *context, const tf_content_state *state, uint32_t class);
    /* Tokens to acceptance by language, whatever the length; NULL: an error. */
    const uint32_t *(*cost)(void *context, const tf_content_state *state);
    bool (*spend)(void *context); /* false: an error */
    tf_machine *memory; /* long searches' distances are kept there; NULL: nowhere */
    bool failed;                  /* out of memory, or one of the two had an error */
} tf_content_walker;
/*
 * Tokens of the cheapest way to acceptance by single-byte tokens, through least to most more
 * characters; TF_COST_NONE if there is none, or walker->failed.
 */
uint32_t tf_content_distance(tf_content_walker *walker, const tf_content_state *state,
                             uint32_t language, uint64_t least, uint64_t most);
/* One for a call at run time. */
tf_content_walker tf_content_walker_of(tf_run *run);
/* The same from a string's place: to a length of least to most in all, n begun. */
uint32_t tf_content_rest(tf_run *run, const tf_content_state *state, uint32_t language, uint64_t n,
                         uint64_t least, uint64_t most);

#endif
