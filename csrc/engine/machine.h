/*
 * The machine: what the run-time half reads. Local automata of value positions, strings,
 * numbers, objects and arrays, without the stack and without registers; those live in
 * frames and configurations (configuration.h).
 *
 * A *value position* looks at one value under an ordered list of obligation sets, one for each
 * way the parent can use the value. Every automaton below it answers with the subset of that
 * list that the value satisfies: the *outcome*, a row of `n_words` words. Alternatives move in
 * lock step; which of them are alive is a register, so nothing here is multiplied by subsets.
 *
 * Parts come into being on first use, through `hooks`, and are then read without a lock:
 * pointers marked _Atomic are published once and never change again. In a machine opened from
 * an artifact everything is there and `hooks` is NULL.
 */
#ifndef TF_MACHINE_H
#define TF_MACHINE_H

#include <stdatomic.h>

#include "../base/budget.h"
#include "../base/words.h"
#include "../vocab/pack.h"

#define TF_COST_NONE UINT32_MAX /* no completion over the bytes that are tokens by themselves */

#define TF_MAX_ALTERNATIVES 4096u /* of a kind, and obligations of a position */
#define TF_MAX_WORDS (TF_MAX_ALTERNATIVES / 64u)
#define TF_MAX_NAME_CLASSES 256u /* of an object's undeclared names */

/*
 * Tokens of a value inside `depth` open frames: base + per_depth * depth. The second term is 0
 * unless an indented layout makes gaps grow with depth. No completion: base TF_COST_NONE.
 */
typedef struct tf_cost {
    uint32_t base, per_depth;
} tf_cost;

typedef struct tf_value tf_value;
typedef struct tf_kind tf_kind;
typedef struct tf_edge tf_edge;
typedef struct tf_nstate tf_nstate;
typedef struct tf_counter tf_counter;
typedef struct tf_counting tf_counting;

/* ---- content of strings: what patterns and formats say ---- */

/*
 * Lengths of texts in code points, a bit each: t < n_prefix: bit t; else bit
 * n_prefix + (t - n_prefix) % period.
 */
typedef struct tf_lengths {
    uint64_t shortest, longest; /* UINT64_MAX: none at all / no longest one */
    uint32_t n_prefix, period;
    const uint32_t *bits;
} tf_lengths;

/* Nothing; the shortest, which is all that is needed where only long texts are refused; all. */
enum { TF_LENGTHS_NONE, TF_LENGTHS_SHORTEST, TF_LENGTHS_ALL };

typedef struct tf_content_state tf_content_state;

/*
 * Languages of decoded strings, walked side by side: a deterministic automaton over UTF-8
 * bytes. What is live in a state has an accepted continuation; NULL is the state in which
 * nothing is.
 */
typedef struct tf_content {
    uint32_t n_languages, language_words;
    uint32_t n_classes;
    uint8_t byte_class[256];
    /* What a byte of the class costs in tokens at least, escapes where the byte must or can
       only be escaped; TF_COST_NONE: it cannot be written. And one such byte. */
    const uint32_t *class_cost;
    const uint8_t *class_byte;
    /* Runs of code points that no language tells apart, by their first, ascending. */
    uint32_t n_runs;
    const uint32_t *run;
    uint8_t has_lengths; /* states know of the lengths of what they accept: TF_LENGTHS_* */
    uint8_t has_counts;  /* and how many strings that is, or at least that */
    uint32_t id;         /* artifacts */
    atomic_ullong farthest; /* the greatest `shortest` of the lengths of a state made so far */
    atomic_bool rehearsed;  /* lower/rehearse.c has been through it */
    const tf_content_state *start;
    struct tf_machine *owner; /* that makes the states of one that machines share; else NULL */
    const void *build; /* compile half */
} tf_content;

struct tf_content_state {
    const tf_content *content;
    const uint64_t *accepts, *live, *universal; /* [language_words]; universal: any text will do */
    const tf_lengths *const *lengths; /* [n_languages] of accepted continuations; inside a
                                         character it counts as one */
    const uint64_t *counts; /* [n_languages] accepted continuations; UINT64_MAX: no end of them */
    uint8_t inside;         /* a character */
    uint32_t id;
    _Atomic(const uint32_t *) cost; /* [n_languages] tokens to acceptance, whatever the length */
    _Atomic(const struct tf_safe_note *) safe; /* safe.h: of the languages asked for first */
    _Atomic(const struct tf_stay_note *) stay; /* walk_safe.c: the same */
    _Atomic(const tf_content_state *) next[]; /* [n_classes]; &tf_content_dead: nothing is live */
};
extern const tf_content_state tf_content_dead;

/* Note the lengths of a state that is being made; one thread at a time. */
static inline void tf_content_note(const tf_content *content, const tf_lengths *lengths)
{
    atomic_ullong *farthest = &((tf_content *)(uintptr_t)content)->farthest;
    if (lengths->shortest != UINT64_MAX &&
        lengths->shortest > atomic_load_explicit(farthest, memory_order_relaxed))
        atomic_store_explicit(farthest, lengths->shortest, memory_order_release);
}

/* ---- strings: literals in spelled order, and a part that is free ---- */

typedef struct tf_literal {
    const uint8_t *spelled; /* JSON spelling without the quotes (docs/spelling.md) */
    const uint8_t *text;    /* decoded */
    uint32_t n_spelled, n_text;
    const uint64_t *end; /* values: outcome of the whole string, [n_words]; names: NULL */
} tf_literal;

/*
 * Outcome of a string that is no literal, by its length in code points: holds from `from` up
 * to the next break. An obligation is met by each string, or by those of a language. (A
 * literal that the obligation refuses is not in the language.)
 */
typedef struct tf_break {
    uint64_t from;
    const uint64_t *outcome;  /* [n_words] met by each */
    const uint32_t *language; /* [n obligations], TF_NONE: none; or NULL */
} tf_break;

typedef struct tf_strings {
    uint32_t n_literals;
    uint32_t n_breaks; /* 0: only literals (or names of an object) */
    const tf_literal *literals;
    const tf_break *breaks; /* breaks[0].from is 0 */
    const tf_content *content; /* or NULL: no language is asked about */
    uint8_t hard_names; /* a token can spell a literal's character with an escape and close */
    /* literal_costs[i][p]: tokens from position p of literal i through the closing quote (for
       names: through the colon and its gap); p <= n_spelled. Made on first use. */
    _Atomic(const uint32_t *) *literal_costs;
} tf_strings;

/* ---- numbers ---- */

enum { TF_N_MINUS = 10, TF_N_POINT, TF_N_EXP, TF_N_PLUS, TF_N_CLASSES };

/*
 * Spelling rules that look at all obligations alive (docs/spelling.md): a fraction needs,
 * under numbers="plain", one that does not want an integer; an exponent needs that none
 * constrains the value.
 */
typedef struct tf_number_rules {
    uint32_t n, n_words;           /* obligations of the position */
    const uint64_t *integers_only; /* those that want an integer */
    const uint64_t *any_number;    /* those that every number satisfies */
} tf_number_rules;

struct tf_nstate {
    const tf_number_rules *rules;
    const uint64_t *live; /* obligations that some continuation satisfies */
    const uint64_t *end;  /* outcome if the number ends here; all zero: it may not */
    _Atomic(const tf_nstate *) next[TF_N_CLASSES]; /* &tf_number_dead: no transition */
    _Atomic(const uint32_t *) cost; /* [n] tokens to an end that satisfies obligation i */
    atomic_uint any_digits; /* digits.c; 0: not found out */
    const void *build; /* compile half */
    uint32_t id;       /* artifacts */
};
extern const tf_nstate tf_number_dead;

/* Class of a byte, or TF_N_CLASSES. */
uint32_t tf_number_class(uint8_t byte);

/* ---- value positions ---- */

enum { TF_NULL_LITERAL, TF_FALSE_LITERAL, TF_TRUE_LITERAL, TF_N_LITERALS };

struct tf_value {
    uint32_t n;       /* obligations */
    uint32_t n_words; /* of an outcome */
    uint32_t id;      /* artifacts */
    const uint32_t *build;  /* compile half: obligation sets */
    const uint64_t *literal[TF_N_LITERALS]; /* outcomes of null, false, true */
    /* On first use; absent parts are &tf_no_strings, &tf_number_dead, &tf_no_kind. */
    _Atomic(const tf_strings *) strings;
    _Atomic(const tf_nstate *) number;
    _Atomic(const tf_kind *) object, array;
    _Atomic(const tf_cost *) cost; /* [n] tokens of a whole value for obligation i */
};
extern const tf_strings tf_no_strings;
extern const tf_kind tf_no_kind;

/* ---- objects and arrays ---- */

/*
 * What a member or item is held against. Alternative a of the kind looks at the child through
 * obligation[a] of `value`, or does not admit it (TF_NONE). One with counters looks through one
 * obligation for each sign: see tf_edge_signs.
 */
struct tf_edge {
    const tf_value *value;      /* NULL where no alternative admits */
    const uint32_t *obligation; /* [n_alternatives], or with counters [counting->n_signs] */
    const uint64_t *admits;     /* [alternative_words] */
    uint32_t index;             /* among the kind's edges */
};

/* Rest of an array for alternative a: see tf_kind.items_cost. */
typedef struct tf_items_cost {
    uint32_t n_prefix;
    const tf_cost *prefix; /* [n_prefix] of item i, without its comma */
    tf_cost item;          /* of each later item */
} tf_items_cost;

/* Two items that must be equal: those at `first` and `second`, each standing for all from `tail`
   on if it is not below it. second TF_NONE: none must. */
typedef struct tf_twins {
    uint32_t first, second, tail;
} tf_twins;

struct tf_kind {
    const tf_value *value; /* the position that opened it */
    uint32_t is_object;
    uint32_t n_alternatives, alternative_words;
    const uint64_t *const *outcome; /* [n_alternatives][value->n_words]: what alternative a
                                       satisfies of the position */
    uint32_t id; /* artifacts */
    const void *build; /* compile half */
    const uint64_t *min_items, *max_items; /* [n_alternatives]: members or items; max of an
                                              array: what is feasible */
    const tf_counting *counting; /* NULL: no alternative has counters (counters.h) */

    /* objects: names in spelled order; edge n_names + j is that of all other names of class j,
       the language j of names.content (without content there is one class); with name_sets
       class j is that of the names whose languages are the bits of j */
    tf_strings names;
    uint32_t n_names, name_words;           /* 32-bit words of a set of names */
    uint32_t n_others;                      /* classes of other names; with sets some are empty */
    uint32_t name_sets;                     /* languages that sets are made of, 0: no sets; one
                                               language more is that of all names */
    const uint32_t *required;               /* [n_alternatives][name_words] */
    const uint32_t *spoken;                 /* [n_alternatives][name_words]: what it speaks of */
    uint32_t counts;                        /* 1: some alternative has a count */
    uint32_t names_apart;                   /* 1: no token tells which names are there, but where
                                               one begins: tf_cache_kind */
    _Atomic(const struct tf_name_parts *) name_parts; /* name_parts.h: kept with the masks */
    const uint32_t *rank;                   /* property_order="schema": [n_alternatives][n_names],
                                               TF_NONE: among the other names; else NULL */
    /* arrays: item i looks through edge c, the last with first[c] <= i */
    uint32_t n_classes;
    const uint64_t *first;                  /* [n_classes] */

    _Atomic(const tf_edge *) *edges;        /* [n_names + n_others] or [n_classes] */
    _Atomic(const tf_items_cost *) items_cost; /* arrays, [n_alternatives] */
    const uint64_t *unique;  /* arrays: alternatives without equal items; NULL: none */
    const uint64_t *matched; /* ... whose first items must be matched with distinct values */
    const tf_twins *twins;   /* arrays, [n_alternatives]; NULL: none */
};

static inline uint32_t tf_kind_n_edges(const tf_kind *kind)
{
    return kind->is_object ? kind->n_names + kind->n_others : kind->n_classes;
}

/* ---- the machine ---- */

typedef struct tf_machine tf_machine;

enum {
    TF_UNIQUE_NEVER,
    TF_UNIQUE_FREE,   /* no array must have two items or more: costs of whole values hold */
    TF_UNIQUE_PLANNED /* costs of whole values are too low; bounds are found by writing */
};

/* What a call carries along: budget, error, and whether something went wrong. */
typedef struct tf_call {
    tf_budget *budget;
    tokfsm_error *err;
    tokfsm_status status; /* sticky */
} tf_call;

/* The compile half's part makers; each returns NULL with call->status set on failure. */
typedef struct tf_hooks {
    /* After fork(): the thread that held the lock is gone, in the middle of some work. */
    void (*recover)(tf_machine *);
    const tf_strings *(*strings)(tf_machine *, const tf_value *, tf_call *);
    const tf_nstate *(*number)(tf_machine *, const tf_value *, tf_call *);
    const tf_nstate *(*number_next)(tf_machine *, const tf_nstate *, uint32_t class, tf_call *);
    const tf_kind *(*kind)(tf_machine *, const tf_value *, bool object, tf_call *);
    const tf_edge *(*edge)(tf_machine *, const tf_kind *, uint32_t index, tf_call *);
    const tf_cost *(*value_cost)(tf_machine *, const tf_value *, tf_call *);
    const uint32_t *(*number_cost)(tf_machine *, const tf_nstate *, tf_call *);
    const uint32_t *(*literal_cost)(tf_machine *, const tf_strings *, uint32_t literal,
                                    bool name, tf_call *);
    const tf_items_cost *(*items_cost)(tf_machine *, const tf_kind *, tf_call *);
    const tf_content_state *(*content_next)(tf_machine *, const tf_content_state *,
                                            uint32_t class, tf_call *);
    const uint32_t *(*content_cost)(tf_machine *, const tf_content_state *, tf_call *);
} tf_hooks;

struct tf_machine {
    tokfsm_pack *pack;
    tokfsm_options options;
    tokfsm_limits limits;
    const tf_hooks *hooks; /* NULL: frozen */
    void *build;           /* compile half */
    const tf_value *root;
    uint32_t bytes_complete; /* every completion can be spelled with single-byte tokens, so that
                                a state that is live over all bytes is live over those */
    uint64_t byte_set[4];    /* the bytes that are tokens by themselves */
    uint32_t char_tokens, char_unit; /* see tf_chars_cost */
    uint32_t string_rest_cost[TF_N_STR + 1]; /* see tf_string_rest_cost; escapes="minimal" tells
                                                \u000 from \u001, the last entry */
    atomic_uint lock;        /* serialises the hooks */
    tokfsm_allocator allocator;
    _Atomic(struct tf_cache *) cache; /* masks kept: cache.h */
    atomic_uint masks_lost;  /* 1: there was no memory to keep one, or a part of it */
    const struct tf_kept *kept; /* masks that came with an artifact: kept_masks.h; NULL: none */
    _Atomic(struct tf_distances *) distances; /* distances.h */
    _Atomic(struct tf_name_lists *) name_lists; /* name_lists.h */
    uint32_t names_pair;     /* a token can hold the end of one name and all of another */
    uint32_t names_begun;    /* ... and the beginning of another */
    uint32_t unique;         /* TF_UNIQUE_*: whether items are compared */
    const uint32_t *pairs;   /* ... row of the tokens that can close a string and begin an item */
    const uint32_t *whole_pairs; /* ... of those that hold more of it than the beginning of a string */
};

/* The lock round the hooks. */
void tf_machine_lock(tf_machine *m);
/* From within the lock of `outer`, or while that is being compiled. */
void tf_machine_lock_within(tf_machine *m, tf_machine *outer);
void tf_machine_unlock(tf_machine *m);
/* Parts, made on first use. NULL only with call->status set. */
const tf_strings *tf_value_strings(tf_machine *m, const tf_value *value, tf_call *call);
const tf_nstate *tf_value_number(tf_machine *m, const tf_value *value, tf_call *call);
const tf_nstate *tf_number_step(tf_machine *m, const tf_nstate *state, uint8_t byte, tf_call *call);
const tf_kind *tf_value_kind(tf_machine *m, const tf_value *value, bool object, tf_call *call);
const tf_edge *tf_kind_edge(tf_machine *m, const tf_kind *kind, uint32_t index, tf_call *call);
const tf_cost *tf_value_cost(tf_machine *m, const tf_value *value, tf_call *call);
const uint32_t *tf_number_cost(tf_machine *m, const tf_nstate *state, tf_call *call);
const uint32_t *tf_literal_cost(tf_machine *m, const tf_strings *strings, uint32_t literal,
                                bool name, tf_call *call);
const tf_items_cost *tf_kind_items_cost(tf_machine *m, const tf_kind *kind, tf_call *call);
const tf_content_state *tf_content_next(tf_machine *m, const tf_content_state *state,
                                        uint32_t class, tf_call *call);
const uint32_t *tf_content_cost(tf_machine *m, const tf_content_state *state, tf_call *call);

/* The machine whose memory and lock a content's states have; m uses it. */
static inline tf_machine *tf_content_maker(tf_machine *m, const tf_content *content)
{
    return content->owner == NULL ? m : content->owner;
}

static inline bool tf_has_byte(const tf_machine *m, uint8_t byte)
{
    return (m->byte_set[byte >> 6] >> (byte & 63u)) & 1u;
}
static inline uint32_t tf_cost_add(uint32_t a, uint32_t b)
{
    return a > TF_COST_NONE - b ? TF_COST_NONE : a + b;
}
static inline uint32_t tf_cost_at(tf_cost cost, uint32_t depth)
{
    if (cost.base == TF_COST_NONE)
        return TF_COST_NONE;
    uint64_t sum = cost.base + (uint64_t)cost.per_depth * depth;
    return sum >= TF_COST_NONE ? TF_COST_NONE - 1 : (uint32_t)sum;
}
/* Tokens that spell n more characters of a free string; TF_COST_NONE if none can be spelled. */
uint32_t tf_chars_cost(const tf_machine *m, uint64_t n);
/* The same, one character at a time. */
static inline uint32_t tf_chars_cost_single(const tf_machine *m, uint64_t n)
{
    if (m->char_tokens == TF_COST_NONE)
        return TF_COST_NONE;
    return n > 1000000 ? TF_COST_NONE - 1 : (uint32_t)n * m->char_tokens;
}
/* Tokens that lead from a string state to the next character boundary. */
static inline uint32_t tf_string_rest_cost(const tf_machine *m, uint8_t sub, uint32_t hex)
{
    bool after_1 = m->options.escapes == TOKFSM_ESCAPES_MINIMAL && sub == TF_STR_U3 && hex == 1;
    return m->string_rest_cost[after_1 ? TF_N_STR : sub];
}
/* Tokens that spell these bytes, one token a byte. */
uint32_t tf_bytes_cost(const tf_machine *m, const char *bytes);
/* Tokens that spell a byte of a decoded string, raw or, where it must or can only be, escaped. */
uint32_t tf_escaped_byte_cost(const tf_machine *m, uint32_t byte);
static inline uint32_t tf_byte_cost(const tf_machine *m, uint32_t byte)
{
    bool raw = byte >= 0x20 && byte != '"' && byte != '\\';
    return raw && tf_has_byte(m, (uint8_t)byte) ? 1 : tf_escaped_byte_cost(m, byte);
}
/* White space that an option demands in a gap, in tokens: `newline` with so many spaces. */
uint32_t tf_gap_cost(const tf_machine *m, bool newline, uint32_t spaces);

#endif
