/*
 * tokfsm: exact constrained decoding. The only public header, and the manual of
 * the C library.
 *
 * A vocabulary pack is built once per tokenizer. `tokfsm_compile` turns a JSON
 * Schema text and a pack into an automaton; a matcher walks the automaton token
 * by token and writes, at each step, the exact set of tokens that may come next.
 *
 * Kinds of object
 *   pack       immutable, shared by threads.
 *   automaton  append-only, shared by threads, lock-free; counted (retain/free).
 *   matcher    mutable, one owner at a time; misuse is answered with E_BUSY.
 *   workers    threads that help with batches; shared by threads.
 *
 * Ownership words: owned (the caller frees with the named function), borrowed
 * (for this call), kept (must outlive the handle), copied.
 *
 * Every fallible function returns a tokfsm_status and fills a caller-owned
 * tokfsm_error, which may be NULL and is written only on failure. On failure
 * outputs and handles are unchanged. Only pointers and integers cross, so a
 * binding needs no glue: flags are int32_t, 0 or 1.
 */
#ifndef TOKFSM_H
#define TOKFSM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define TOKFSM_API __declspec(dllexport)
#else
#define TOKFSM_API __attribute__((visibility("default")))
#endif

#define TOKFSM_ABI_VERSION 1u
#define TOKFSM_FORMAT_VERSION 1u

typedef int32_t tokfsm_status;

/* Bad input: 1xx. Over budget: 2xx. Our bug: 9xx. Codes are never reused. */
#define TOKFSM_OK 0
#define TOKFSM_E_ARGUMENT 100      /* an argument is NULL or out of its range */
#define TOKFSM_E_JSON 101          /* the schema is not a JSON text */
#define TOKFSM_E_SCHEMA 102        /* a JSON text, but not a valid schema */
#define TOKFSM_E_UNSUPPORTED 103   /* a keyword that cannot be honoured exactly */
#define TOKFSM_E_UNSATISFIABLE 104 /* no value can be written */
#define TOKFSM_E_VOCABULARY 105    /* the vocabulary cannot serve */
#define TOKFSM_E_CORRUPT 110       /* an artifact or pack fails verification */
#define TOKFSM_E_VERSION 111       /* an artifact or pack of another version */
#define TOKFSM_E_MISMATCH 112      /* an artifact for another vocabulary */
#define TOKFSM_E_PACK_MISSING 113  /* the artifact has no pack and none was given */
#define TOKFSM_E_SIZE 120          /* a row or buffer of the wrong size */
#define TOKFSM_E_BUSY 121          /* the matcher is in use by another thread */
#define TOKFSM_E_RANGE 122         /* a token id or a count out of range */
#define TOKFSM_E_BUDGET 123        /* the token budget is below the bound */
#define TOKFSM_E_LIMIT 200         /* a limit was reached; the message says which */
#define TOKFSM_E_CANCELLED 201     /* tokfsm_cancel_set was called */
#define TOKFSM_E_NOMEM 202         /* the allocator returned NULL */
#define TOKFSM_E_INTERNAL 900      /* a bug in tokfsm */

typedef struct tokfsm_error {
    int32_t code;
    uint32_t reserved;
    uint64_t where;      /* byte offset in the input, where that makes sense */
    char keyword[64];    /* schema keyword, or "" */
    char pointer[1024];  /* JSON Pointer into the schema, or ""; into another document
                            behind its URI and '#' */
    char message[1024];  /* one line, UTF-8, NUL-terminated */
} tokfsm_error;

/* NULL stands for the C library's allocator. Functions must be thread-safe. */
typedef struct tokfsm_allocator {
    void *(*allocate)(void *context, size_t n_bytes);
    void (*release)(void *context, void *block);
    void *context;
} tokfsm_allocator;

/* Work and memory that one handle may use. NULL stands for the defaults. */
typedef struct tokfsm_limits {
    uint64_t work_units;      /* steps of one compile, fill or accept */
    uint64_t automaton_bytes; /* memory past which nothing more is cached */
    uint64_t schema_bytes;    /* longest schema text */
    uint32_t depth;           /* nesting of schema text and of boolean combinations */
    uint32_t reserved;
} tokfsm_limits;

typedef struct tokfsm_cancel tokfsm_cancel;
typedef struct tokfsm_pack tokfsm_pack;
typedef struct tokfsm_automaton tokfsm_automaton;
typedef struct tokfsm_matcher tokfsm_matcher;

TOKFSM_API uint32_t tokfsm_abi_version(void);
/** Name of a status code, as in "TOKFSM_E_LIMIT"; a static string. */
TOKFSM_API const char *tokfsm_status_name(tokfsm_status status);
TOKFSM_API void tokfsm_limits_default(tokfsm_limits *limits);

/* ---- cancellation: one flag, set from any thread, read every 1,024 units ---- */

TOKFSM_API tokfsm_status tokfsm_cancel_new(const tokfsm_allocator *allocator,
                                           tokfsm_cancel **cancel, tokfsm_error *err);
TOKFSM_API void tokfsm_cancel_set(tokfsm_cancel *cancel);
TOKFSM_API int32_t tokfsm_cancel_is_set(const tokfsm_cancel *cancel);
TOKFSM_API void tokfsm_cancel_free(tokfsm_cancel *cancel);

/* ---- vocabulary pack: all that depends on the tokenizer alone ---- */

/**
 * Build a pack.
 *
 * @param blob, offsets  token t is blob[offsets[t] .. offsets[t + 1]); an empty
 *                       token is never allowed. Copied. offsets has n_tokens + 1
 *                       entries and starts at 0.
 * @param stop_ids       default stop set; a stop id loses its bytes. Not part of
 *                       the fingerprint. Copied.
 * @param pack           owned: tokfsm_pack_free. Counted by the automata that keep it.
 */
TOKFSM_API tokfsm_status tokfsm_pack_build(
    const uint8_t *blob, const uint64_t *offsets, uint32_t n_tokens,
    const tokfsm_allocator *allocator, const tokfsm_limits *limits,
    const tokfsm_cancel *cancel, tokfsm_pack **pack, tokfsm_error *err);
/** Serialise: *bytes is owned (tokfsm_bytes_free). */
TOKFSM_API tokfsm_status tokfsm_pack_save(const tokfsm_pack *pack, uint8_t **bytes,
                                          size_t *n_bytes, tokfsm_error *err);
/** Open and verify; `bytes` is copied. */
TOKFSM_API tokfsm_status tokfsm_pack_open(const uint8_t *bytes, size_t n_bytes,
                                          const tokfsm_allocator *allocator,
                                          tokfsm_pack **pack, tokfsm_error *err);
TOKFSM_API void tokfsm_pack_retain(tokfsm_pack *pack);
TOKFSM_API void tokfsm_pack_free(tokfsm_pack *pack);
TOKFSM_API uint32_t tokfsm_pack_vocab_size(const tokfsm_pack *pack);
/** Longest chain of open containers that one token closes. */
TOKFSM_API uint32_t tokfsm_pack_max_closes(const tokfsm_pack *pack);
/** SHA-256 over ids and bytes of all tokens: 32 bytes, borrowed. */
TOKFSM_API const uint8_t *tokfsm_pack_fingerprint(const tokfsm_pack *pack);
/** Bytes of a token, borrowed; *n_bytes is 0 for one without, and for ids outside. */
TOKFSM_API const uint8_t *tokfsm_pack_token(const tokfsm_pack *pack, uint32_t token_id,
                                            size_t *n_bytes);
/** The fingerprint of a vocabulary without building its pack. */
TOKFSM_API tokfsm_status tokfsm_vocabulary_fingerprint(
    const uint8_t *blob, const uint64_t *offsets, uint32_t n_tokens,
    uint8_t fingerprint[32], tokfsm_error *err);
TOKFSM_API void tokfsm_bytes_free(const tokfsm_allocator *allocator, uint8_t *bytes);

/* ---- compile ---- */

#define TOKFSM_ORDER_ANY 0u
#define TOKFSM_ORDER_SCHEMA 1u
#define TOKFSM_ADDITIONAL_SPEC 0u
#define TOKFSM_ADDITIONAL_CLOSED 1u
#define TOKFSM_WHITESPACE_COMPACT 0u
#define TOKFSM_WHITESPACE_SPACED 1u
#define TOKFSM_WHITESPACE_FLEXIBLE 2u
#define TOKFSM_WHITESPACE_INDENT 3u
#define TOKFSM_ESCAPES_ALL 0u
#define TOKFSM_ESCAPES_MINIMAL 1u
#define TOKFSM_NUMBERS_PLAIN 0u
#define TOKFSM_NUMBERS_ANY 1u
#define TOKFSM_FORMAT_ASSERT 0u
#define TOKFSM_FORMAT_ANNOTATE 1u
#define TOKFSM_UNSUPPORTED_ERROR 0u
#define TOKFSM_UNSUPPORTED_RELAX 1u /* leave it out; tokfsm_automaton_relaxed lists it */
#define TOKFSM_DRAFT_AUTO 0u /* by $schema, else 2020-12 */
#define TOKFSM_DRAFT_4 4u
#define TOKFSM_DRAFT_6 6u
#define TOKFSM_DRAFT_7 7u
#define TOKFSM_DRAFT_2019_09 8u
#define TOKFSM_DRAFT_2020_12 9u
#define TOKFSM_UNBOUNDED UINT32_MAX

/* The language options; recorded in the artifact's header. */
typedef struct tokfsm_options {
    uint32_t property_order;
    uint32_t additional_properties;
    uint32_t whitespace;
    uint32_t max_whitespace; /* flexible: longest run; TOKFSM_UNBOUNDED: none */
    uint32_t indent;         /* spaces a level, with TOKFSM_WHITESPACE_INDENT */
    uint32_t escapes;
    uint32_t numbers;
    uint32_t max_digits;     /* integer, fraction and exponent digits each; or UNBOUNDED */
    uint32_t format;
    uint32_t unsupported;
    uint32_t draft;
    uint32_t reserved;
} tokfsm_options;

TOKFSM_API void tokfsm_options_default(tokfsm_options *options);

/* A document that references can lead to: the text of a schema, under an absolute URI. */
typedef struct tokfsm_resource {
    const char *uri; /* without a fragment, or with an empty one */
    size_t n_uri;    /* bytes */
    const uint8_t *schema;
    size_t n_schema;
} tokfsm_resource;

/**
 * Compile a JSON Schema text (UTF-8) against a pack. Walks every reachable
 * subschema, so that all refusals come from here; masks come into being on use.
 *
 * @param resources  borrowed; those that no reference leads to are not read. The
 *                   official metaschemas of drafts 4 to 2020-12 are known besides.
 *                   Nothing is ever fetched.
 * @param pack       kept (retained).
 * @param stop_ids   the vocabulary's default stop set; copied.
 * @param automaton  owned: tokfsm_automaton_free.
 */
TOKFSM_API tokfsm_status tokfsm_compile(
    const uint8_t *schema, size_t n_bytes, const tokfsm_resource *resources,
    size_t n_resources, tokfsm_pack *pack, const uint32_t *stop_ids, size_t n_stop_ids,
    const tokfsm_options *options, const tokfsm_allocator *allocator,
    const tokfsm_limits *limits, const tokfsm_cancel *cancel,
    tokfsm_automaton **automaton, tokfsm_error *err);

/** Explore ahead of time all that is reachable. */
TOKFSM_API tokfsm_status tokfsm_automaton_precompile(tokfsm_automaton *automaton,
                                                     const tokfsm_cancel *cancel,
                                                     tokfsm_error *err);

/* ---- artifact ---- */

/**
 * Serialise, exploring first what is not yet explored. The bytes depend on the
 * schema, the documents that it reaches, vocabulary and options alone. *bytes is
 * owned (tokfsm_bytes_free).
 */
TOKFSM_API tokfsm_status tokfsm_automaton_save(tokfsm_automaton *automaton,
                                               int32_t embed_pack, uint8_t **bytes,
                                               size_t *n_bytes,
                                               const tokfsm_cancel *cancel,
                                               tokfsm_error *err);
/** Open and verify in O(size); `bytes` is copied. `pack` may be NULL if embedded. */
TOKFSM_API tokfsm_status tokfsm_automaton_open(const uint8_t *bytes, size_t n_bytes,
                                               tokfsm_pack *pack,
                                               const tokfsm_allocator *allocator,
                                               const tokfsm_limits *limits,
                                               tokfsm_automaton **automaton,
                                               tokfsm_error *err);
/** What an artifact's header says of its pack, without opening it. */
TOKFSM_API tokfsm_status tokfsm_artifact_probe(const uint8_t *bytes, size_t n_bytes,
                                               uint8_t fingerprint[32],
                                               int32_t *has_pack, tokfsm_error *err);

typedef struct tokfsm_statistics {
    uint64_t values;        /* value positions */
    uint64_t frames;        /* frame states, objects and arrays */
    uint64_t string_states; /* of literals, lengths, patterns and formats */
    uint64_t number_states;
    uint64_t contents;      /* automata of patterns and formats */
    uint64_t masks;         /* masks kept */
    uint64_t mask_bytes;
    uint64_t bytes;         /* memory of the automaton, beside the pack */
    uint32_t frozen;        /* 1: reopened, nothing is compiled any more */
    uint32_t closed;        /* 1: explored to the end */
} tokfsm_statistics;

TOKFSM_API void tokfsm_automaton_retain(tokfsm_automaton *automaton);
TOKFSM_API void tokfsm_automaton_free(tokfsm_automaton *automaton);
TOKFSM_API uint32_t tokfsm_automaton_vocab_size(const tokfsm_automaton *automaton);
/** Borrowed; lives as long as the automaton. */
TOKFSM_API tokfsm_pack *tokfsm_automaton_pack(tokfsm_automaton *automaton);
TOKFSM_API void tokfsm_automaton_options(const tokfsm_automaton *automaton,
                                         tokfsm_options *options);
TOKFSM_API void tokfsm_automaton_statistics(const tokfsm_automaton *automaton,
                                            tokfsm_statistics *statistics);
/** Schema text as compiled, other documents left out; borrowed; NULL if the artifact left it out. */
TOKFSM_API const uint8_t *tokfsm_automaton_schema(const tokfsm_automaton *automaton,
                                                  size_t *n_bytes);
/* What unsupported="relax" loosened, so that the language is wider than the schema's. */
typedef struct tokfsm_relaxed {
    const char *pointer; /* JSON Pointer of the keyword, as in tokfsm_error */
    const char *keyword;
    const char *reason;  /* one line, UTF-8 */
} tokfsm_relaxed;

/** All of it, in the order of the schema's text; borrowed. *n is 0 where nothing was. */
TOKFSM_API const tokfsm_relaxed *tokfsm_automaton_relaxed(const tokfsm_automaton *automaton,
                                                          size_t *n);
/** Default stop set; borrowed. */
TOKFSM_API const uint32_t *tokfsm_automaton_stop_ids(const tokfsm_automaton *automaton,
                                                     size_t *n_ids);

/* ---- matcher ---- */

#define TOKFSM_STATE_COMPLETE 1u   /* the text so far is a whole value */
#define TOKFSM_STATE_TERMINATED 2u /* nothing can follow, or a stop token came */

/**
 * @param automaton     kept (retained).
 * @param stop_ids      NULL: the automaton's default stop set. Copied.
 * @param max_rollback  tokens that rollback can undo; TOKFSM_UNBOUNDED: all.
 * @param matcher       owned: tokfsm_matcher_free.
 */
TOKFSM_API tokfsm_status tokfsm_matcher_new(tokfsm_automaton *automaton,
                                            const uint32_t *stop_ids, size_t n_stop_ids,
                                            uint32_t max_rollback,
                                            tokfsm_matcher **matcher, tokfsm_error *err);
TOKFSM_API void tokfsm_matcher_free(tokfsm_matcher *matcher);
/** A second matcher at the same position; shares history, O(1). */
TOKFSM_API tokfsm_status tokfsm_matcher_fork(tokfsm_matcher *matcher,
                                             tokfsm_matcher **copy, tokfsm_error *err);
TOKFSM_API tokfsm_status tokfsm_matcher_reset(tokfsm_matcher *matcher, tokfsm_error *err);
TOKFSM_API uint32_t tokfsm_matcher_mask_words(const tokfsm_matcher *matcher);

/**
 * Write the tokens allowed next: bit t of the mask is bit (t % 32) of
 * words[t / 32], 1 = allowed. Bits at and past the vocabulary size become 0.
 *
 * @param words      borrowed, written whole; need not be initialised.
 * @param n_words    a wider row than needed gets zeros; a narrower one is E_SIZE if a
 *                   cut id has bytes or is a stop.
 * @param budget     tokens left for the value, stop token not counted; only tokens
 *                   after which the value can still be completed within the rest are
 *                   allowed. TOKFSM_UNBOUNDED: no budget.
 * @param need_apply may be NULL; 0 where all ids of the vocabulary are allowed.
 * @return TOKFSM_OK; or E_SIZE, E_BUSY, E_BUDGET, E_LIMIT, E_NOMEM with `words` and
 *         the matcher untouched.
 */
TOKFSM_API tokfsm_status tokfsm_matcher_fill(tokfsm_matcher *matcher, uint32_t *words,
                                             size_t n_words, uint32_t budget,
                                             int32_t *need_apply, tokfsm_error *err);
/** Advance by one token. *accepted = 0: refused, nothing changed. */
TOKFSM_API tokfsm_status tokfsm_matcher_accept(tokfsm_matcher *matcher, uint32_t token_id,
                                               int32_t *accepted, tokfsm_error *err);
/** Advance by all of the tokens, or by none: *accepted = 0, one of them is refused. */
TOKFSM_API tokfsm_status tokfsm_matcher_accept_all(tokfsm_matcher *matcher,
                                                   const uint32_t *token_ids, size_t n_ids,
                                                   int32_t *accepted, tokfsm_error *err);
/** How many of the tokens, from the first on, could be accepted; the matcher does not move. */
TOKFSM_API tokfsm_status tokfsm_matcher_validate(tokfsm_matcher *matcher,
                                                 const uint32_t *token_ids, size_t n_ids,
                                                 size_t *n_allowed, tokfsm_error *err);
/** Undo n accepted tokens, stop tokens included; E_RANGE if there are fewer, nothing changed. */
TOKFSM_API tokfsm_status tokfsm_matcher_rollback(tokfsm_matcher *matcher, size_t n_tokens,
                                                 tokfsm_error *err);
/** TOKFSM_STATE_* bits. */
TOKFSM_API uint32_t tokfsm_matcher_state(const tokfsm_matcher *matcher);
/** Tokens in which the value can surely be completed (0 when complete). */
TOKFSM_API tokfsm_status tokfsm_matcher_bound(tokfsm_matcher *matcher, uint32_t *n_tokens,
                                              tokfsm_error *err);
/**
 * How many of `bytes`, fed one by one, stay within the language; the matcher does
 * not move. *complete: all were taken and the value is whole. When not all were
 * taken, allowed (256 bits, may be NULL) gets the bytes that could have come there.
 */
TOKFSM_API tokfsm_status tokfsm_matcher_check_bytes(tokfsm_matcher *matcher,
                                                    const uint8_t *bytes, size_t n_bytes,
                                                    size_t *n_taken, int32_t *complete,
                                                    uint32_t allowed[8], tokfsm_error *err);
/**
 * Masks at all places of a draft, for speculative decoding: row 0 at the matcher's position, row
 * i + 1 behind draft token i. Each is what tokfsm_matcher_fill would write after the tokens that
 * lead there; the matcher does not move.
 *
 * @param parents  NULL: a chain, each token follows the one before. Else a tree: the index of the
 *                 token that token i follows, less than i, or -1: the matcher's position.
 * @param words    n_tokens + 1 rows of n_words, `stride` words apart. Behind a token that is not
 *                 allowed all ids of the vocabulary are: no verification gets there, and a row of
 *                 refusals alone would make it divide by nothing.
 * @param budget   as of tokfsm_matcher_fill, at the matcher's position; each token uses one, and
 *                 one after which the value could not be completed in the rest is not allowed.
 * @param legal    [n_tokens] or NULL; 1: the token and all those before it are allowed.
 * @param n_legal  how many are; in a chain, the length of the part that can be accepted.
 * @return E_RANGE for a parent that does not come before, or a token outside the vocabulary; else
 *         as tokfsm_matcher_fill. On failure rows and matcher are as they were.
 */
TOKFSM_API tokfsm_status tokfsm_matcher_fill_draft(
    tokfsm_matcher *matcher, const uint32_t *token_ids, const int32_t *parents, size_t n_tokens,
    uint32_t *words, size_t n_words, size_t stride, uint32_t budget, int32_t *legal,
    size_t *n_legal, tokfsm_error *err);
/**
 * The longest text, of at most `most` bytes, with which everything that can be generated from here
 * begins; empty where the value is complete. It may end within a character. *bytes is owned
 * (tokfsm_bytes_free, with the automaton's allocator).
 */
TOKFSM_API tokfsm_status tokfsm_matcher_forced_bytes(tokfsm_matcher *matcher, size_t most,
                                                     uint8_t **bytes, size_t *n_bytes,
                                                     tokfsm_error *err);
/**
 * Tokens that begin inside `text` and reach beyond its end, into what can follow there. The last
 * `n_ahead` bytes of the text follow the matcher's position, such as forced bytes; those before
 * led to it. A tokenizer could write one of these tokens there, so that what stands at the end of
 * the text is not settled yet.
 *
 * @param ids, lengths  [capacity]: the token, and how many bytes of it lie in the text.
 * @param n_found       how many there are, which may be more than fit.
 */
TOKFSM_API tokfsm_status tokfsm_matcher_crossing(tokfsm_matcher *matcher, const uint8_t *text,
                                                 size_t n_text, size_t n_ahead, uint32_t *ids,
                                                 uint32_t *lengths, size_t capacity,
                                                 size_t *n_found, tokfsm_error *err);
/** Tokens accepted since the start (those that rollback could undo, at most). */
TOKFSM_API size_t tokfsm_matcher_n_accepted(const tokfsm_matcher *matcher);

/* ---- the mask itself, where a row need not be written ---- */

#define TOKFSM_MASK_ROW 0u   /* `base` is the mask; no steps */
#define TOKFSM_MASK_IDS 1u   /* no base; one TOKFSM_STEP_SET_IDS, or no step: nothing is allowed */
#define TOKFSM_MASK_EDITS 2u /* `base`, NULL for zeros, and then each step in order */

#define TOKFSM_STEP_SET_IDS 0u   /* set the bits of the ids at[0 .. n) */
#define TOKFSM_STEP_CLEAR_IDS 1u /* clear them */
#define TOKFSM_STEP_SET_WORDS 2u /* row[at[i]] |= bits[i], i < n */
#define TOKFSM_STEP_AND_ROW 3u   /* row[i] &= bits[i], i < n, the whole row */

typedef struct tokfsm_mask_step {
    uint32_t op; /* TOKFSM_STEP_* */
    uint32_t n;
    const uint32_t *at; /* ids in no order, an id perhaps twice; NULL where `bits` is a row */
    const uint32_t *bits;
} tokfsm_mask_step;

typedef struct tokfsm_mask_view {
    uint32_t kind;    /* TOKFSM_MASK_* */
    uint32_t n_words; /* of the base and of the row that the steps speak of */
    uint32_t n_steps;
    uint32_t lasting; /* 1: all lives as long as automaton and matcher; 0: see below */
    const uint32_t *base;
    tokfsm_mask_step steps[32];
} tokfsm_mask_view;

/**
 * What tokfsm_matcher_fill would write, as it lies in memory: nothing is copied. The memory is
 * read-only and shared by all matchers of the automaton. Unless `lasting`, the steps end with the
 * next call on this matcher; the base never does while the automaton lives.
 *
 * @return as tokfsm_matcher_fill without a budget; *view is untouched on failure.
 *
 * One owner at a time for the call; what it gave may be read by any thread.
 */
TOKFSM_API tokfsm_status tokfsm_matcher_mask_view(tokfsm_matcher *matcher, tokfsm_mask_view *view,
                                                  tokfsm_error *err);

/* ---- batches ---- */

typedef struct tokfsm_workers tokfsm_workers;

/**
 * Threads that help tokfsm_fill_batch; they sleep in between. Shared by threads: several batches
 * may run at once. A child made by fork() has none of them (its batches run on the caller's
 * thread, and it may free the handle). On Windows there are none.
 *
 * @param n_threads helpers, beside the threads that call.
 * @param workers   owned: tokfsm_workers_free, with no batch in progress.
 * @return TOKFSM_OK; or E_NOMEM, E_LIMIT where the system starts no more threads.
 */
TOKFSM_API tokfsm_status tokfsm_workers_new(uint32_t n_threads, const tokfsm_allocator *allocator,
                                            tokfsm_workers **workers, tokfsm_error *err);
TOKFSM_API void tokfsm_workers_free(tokfsm_workers *workers);
/** Helpers that this process has. */
TOKFSM_API uint32_t tokfsm_workers_count(const tokfsm_workers *workers);

/**
 * Fill one row for each matcher: matcher i writes the row rows[i], or row i.
 *
 * @param words      row r begins at words + r * row_words and gets n_words words, as in
 *                   tokfsm_matcher_fill. Borrowed.
 * @param rows       NULL, or n_matchers different rows below n_rows.
 * @param budgets    NULL, or one for each matcher.
 * @param workers    NULL: all on the caller's thread. So is a batch of few rows, unless it takes
 *                   longer than waking threads.
 * @param n_threads  threads to use at most, the caller's included.
 * @param need_apply may be NULL; 0 where no row needs to be applied.
 * @return TOKFSM_OK; or what tokfsm_matcher_fill returns, of the failing matcher that comes first
 *         in the batch: `where` is its place, the message says it too, its row is untouched, the
 *         others are written. E_BUSY also for a matcher that is there twice, E_RANGE for a row
 *         that is: then, and where an argument is wrong, nothing is written.
 *
 * Matchers may share automata and be forks of one another.
 */
TOKFSM_API tokfsm_status tokfsm_fill_batch(tokfsm_matcher *const *matchers, size_t n_matchers,
                                           uint32_t *words, size_t n_rows, size_t n_words,
                                           size_t row_words, const uint32_t *rows,
                                           const uint32_t *budgets, tokfsm_workers *workers,
                                           uint32_t n_threads, int32_t *need_apply,
                                           tokfsm_error *err);

/* ---- rows ---- */

#define TOKFSM_F16 0u
#define TOKFSM_BF16 1u
#define TOKFSM_F32 2u
#define TOKFSM_F64 3u

/* Logits as they lie: element j of row i is at data + i * row_stride + j * stride, in bytes,
   aligned or not. A column of structs has the struct's size for a stride (llama.cpp: 12). */
typedef struct tokfsm_logits {
    void *data;
    uint32_t type; /* TOKFSM_F16, _BF16, _F32, _F64 */
    uint32_t reserved;
    size_t n_rows;
    size_t n_logits; /* of a row */
    ptrdiff_t stride;
    ptrdiff_t row_stride;
} tokfsm_logits;

/**
 * Set to -infinity each logit whose bit is 0. The others keep their bits, NaN too. Logits past
 * the row's width are refused. A row of zeros (a matcher that has ended and has no stop token)
 * leaves none.
 *
 * @param words     row i begins at words + i * row_words; n_words of it count. Borrowed.
 * @param indices   NULL: row i of `words` for each row i of the logits; else for these rows alone
 *                  (row indices[k] of both), in any order. Borrowed.
 * @return TOKFSM_OK; or E_ARGUMENT, E_RANGE (where: place in `indices`), nothing written.
 *
 * Reads and writes nothing but these rows: calls on different rows need no order among threads.
 */
TOKFSM_API tokfsm_status tokfsm_rows_apply(const uint32_t *words, size_t n_words,
                                           size_t row_words, const tokfsm_logits *logits,
                                           const uint32_t *indices, size_t n_indices,
                                           tokfsm_error *err);
/** The same for one row of floats; `stride` counts floats. */
TOKFSM_API tokfsm_status tokfsm_row_apply_f32(const uint32_t *words, size_t n_words,
                                              float *logits, size_t n_logits,
                                              size_t stride, tokfsm_error *err);
/** Instructions that tokfsm_rows_apply uses on this processor: "avx512", "avx2", "neon" or
    "portable"; a static string. */
TOKFSM_API const char *tokfsm_apply_kernel(void);
TOKFSM_API uint32_t tokfsm_row_count(const uint32_t *words, size_t n_words);

#ifdef __cplusplus
}
#endif
#endif
