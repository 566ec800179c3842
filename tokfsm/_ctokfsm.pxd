# Mirror of csrc/tokfsm.h, in its order; tests/test_mirror.py compares the two.
from libc.stddef cimport ptrdiff_t, size_t
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t


cdef extern from "tokfsm.h" nogil:
    ctypedef int32_t tokfsm_status

    int TOKFSM_OK
    int TOKFSM_E_ARGUMENT
    int TOKFSM_E_JSON
    int TOKFSM_E_SCHEMA
    int TOKFSM_E_UNSUPPORTED
    int TOKFSM_E_UNSATISFIABLE
    int TOKFSM_E_VOCABULARY
    int TOKFSM_E_CORRUPT
    int TOKFSM_E_VERSION
    int TOKFSM_E_MISMATCH
    int TOKFSM_E_PACK_MISSING
    int TOKFSM_E_SIZE
    int TOKFSM_E_BUSY
    int TOKFSM_E_RANGE
    int TOKFSM_E_BUDGET
    int TOKFSM_E_LIMIT
    int TOKFSM_E_CANCELLED
    int TOKFSM_E_NOMEM
    int TOKFSM_E_INTERNAL

    uint32_t TOKFSM_UNBOUNDED
    uint32_t TOKFSM_STATE_COMPLETE
    uint32_t TOKFSM_STATE_TERMINATED

    ctypedef struct tokfsm_error:
        int32_t code
        uint32_t reserved
        uint64_t where
        char keyword[64]
        char pointer[1024]
        char message[1024]

    ctypedef struct tokfsm_allocator:
        pass

    ctypedef struct tokfsm_limits:
        uint64_t work_units
        uint64_t automaton_bytes
        uint64_t schema_bytes
        uint32_t depth
        uint32_t reserved

    ctypedef struct tokfsm_cancel:
        pass
    ctypedef struct tokfsm_pack:
        pass
    ctypedef struct tokfsm_automaton:
        pass
    ctypedef struct tokfsm_matcher:
        pass

    uint32_t tokfsm_abi_version() noexcept
    const char *tokfsm_status_name(tokfsm_status status) noexcept
    void tokfsm_limits_default(tokfsm_limits *limits) noexcept

    tokfsm_status tokfsm_cancel_new(const tokfsm_allocator *allocator, tokfsm_cancel **cancel,
                                    tokfsm_error *err) noexcept
    void tokfsm_cancel_set(tokfsm_cancel *cancel) noexcept
    int32_t tokfsm_cancel_is_set(const tokfsm_cancel *cancel) noexcept
    void tokfsm_cancel_free(tokfsm_cancel *cancel) noexcept

    tokfsm_status tokfsm_pack_build(
        const uint8_t *blob, const uint64_t *offsets, uint32_t n_tokens,
        const tokfsm_allocator *allocator, const tokfsm_limits *limits,
        const tokfsm_cancel *cancel, tokfsm_pack **pack, tokfsm_error *err) noexcept
    tokfsm_status tokfsm_pack_save(const tokfsm_pack *pack, uint8_t **bytes, size_t *n_bytes,
                                   tokfsm_error *err) noexcept
    tokfsm_status tokfsm_pack_open(const uint8_t *bytes, size_t n_bytes,
                                   const tokfsm_allocator *allocator, tokfsm_pack **pack,
                                   tokfsm_error *err) noexcept
    void tokfsm_pack_retain(tokfsm_pack *pack) noexcept
    void tokfsm_pack_free(tokfsm_pack *pack) noexcept
    uint32_t tokfsm_pack_vocab_size(const tokfsm_pack *pack) noexcept
    uint32_t tokfsm_pack_max_closes(const tokfsm_pack *pack) noexcept
    const uint8_t *tokfsm_pack_fingerprint(const tokfsm_pack *pack) noexcept
    const uint8_t *tokfsm_pack_token(const tokfsm_pack *pack, uint32_t token_id,
                                     size_t *n_bytes) noexcept
    tokfsm_status tokfsm_vocabulary_fingerprint(
        const uint8_t *blob, const uint64_t *offsets, uint32_t n_tokens, uint8_t *fingerprint,
        tokfsm_error *err) noexcept
    void tokfsm_bytes_free(const tokfsm_allocator *allocator, uint8_t *bytes) noexcept

    ctypedef struct tokfsm_options:
        uint32_t property_order
        uint32_t additional_properties
        uint32_t whitespace
        uint32_t max_whitespace
        uint32_t indent
        uint32_t escapes
        uint32_t numbers
        uint32_t max_digits
        uint32_t format
        uint32_t unsupported
        uint32_t draft
        uint32_t reserved

    void tokfsm_options_default(tokfsm_options *options) noexcept

    ctypedef struct tokfsm_resource:
        const char *uri
        size_t n_uri
        const uint8_t *schema
        size_t n_schema

    tokfsm_status tokfsm_compile(
        const uint8_t *schema, size_t n_bytes, const tokfsm_resource *resources,
        size_t n_resources, tokfsm_pack *pack, const uint32_t *stop_ids, size_t n_stop_ids,
        const tokfsm_options *options, const tokfsm_allocator *allocator,
        const tokfsm_limits *limits, const tokfsm_cancel *cancel, tokfsm_automaton **automaton,
        tokfsm_error *err) noexcept
    tokfsm_status tokfsm_automaton_precompile(tokfsm_automaton *automaton,
                                              const tokfsm_cancel *cancel,
                                              tokfsm_error *err) noexcept

    tokfsm_status tokfsm_automaton_save(tokfsm_automaton *automaton, int32_t embed_pack,
                                        uint8_t **bytes, size_t *n_bytes,
                                        const tokfsm_cancel *cancel, tokfsm_error *err) noexcept
    tokfsm_status tokfsm_automaton_open(const uint8_t *bytes, size_t n_bytes, tokfsm_pack *pack,
                                        const tokfsm_allocator *allocator,
                                        const tokfsm_limits *limits, tokfsm_automaton **automaton,
                                        tokfsm_error *err) noexcept
    tokfsm_status tokfsm_artifact_probe(const uint8_t *bytes, size_t n_bytes,
                                        uint8_t *fingerprint, int32_t *has_pack,
                                        tokfsm_error *err) noexcept

    ctypedef struct tokfsm_statistics:
        uint64_t values
        uint64_t frames
        uint64_t string_states
        uint64_t number_states
        uint64_t contents
        uint64_t masks
        uint64_t mask_bytes
        uint64_t bytes
        uint32_t frozen
        uint32_t closed

    void tokfsm_automaton_retain(tokfsm_automaton *automaton) noexcept
    void tokfsm_automaton_free(tokfsm_automaton *automaton) noexcept
    uint32_t tokfsm_automaton_vocab_size(const tokfsm_automaton *automaton) noexcept
    tokfsm_pack *tokfsm_automaton_pack(tokfsm_automaton *automaton) noexcept
    void tokfsm_automaton_options(const tokfsm_automaton *automaton,
                                  tokfsm_options *options) noexcept
    void tokfsm_automaton_statistics(const tokfsm_automaton *automaton,
                                     tokfsm_statistics *statistics) noexcept
    const uint8_t *tokfsm_automaton_schema(const tokfsm_automaton *automaton,
                                           size_t *n_bytes) noexcept
    ctypedef struct tokfsm_relaxed:
        const char *pointer
        const char *keyword
        const char *reason

    const tokfsm_relaxed *tokfsm_automaton_relaxed(const tokfsm_automaton *automaton,
                                                   size_t *n) noexcept
    const uint32_t *tokfsm_automaton_stop_ids(const tokfsm_automaton *automaton,
                                              size_t *n_ids) noexcept

    tokfsm_status tokfsm_matcher_new(tokfsm_automaton *automaton, const uint32_t *stop_ids,
                                     size_t n_stop_ids, uint32_t max_rollback,
                                     tokfsm_matcher **matcher, tokfsm_error *err) noexcept
    void tokfsm_matcher_free(tokfsm_matcher *matcher) noexcept
    tokfsm_status tokfsm_matcher_fork(tokfsm_matcher *matcher, tokfsm_matcher **copy,
                                      tokfsm_error *err) noexcept
    tokfsm_status tokfsm_matcher_reset(tokfsm_matcher *matcher, tokfsm_error *err) noexcept
    uint32_t tokfsm_matcher_mask_words(const tokfsm_matcher *matcher) noexcept
    tokfsm_status tokfsm_matcher_fill(tokfsm_matcher *matcher, uint32_t *words, size_t n_words,
                                      uint32_t budget, int32_t *need_apply,
                                      tokfsm_error *err) noexcept
    tokfsm_status tokfsm_matcher_accept(tokfsm_matcher *matcher, uint32_t token_id,
                                        int32_t *accepted, tokfsm_error *err) noexcept
    tokfsm_status tokfsm_matcher_accept_all(tokfsm_matcher *matcher, const uint32_t *token_ids,
                                            size_t n_ids, int32_t *accepted,
                                            tokfsm_error *err) noexcept
    tokfsm_status tokfsm_matcher_validate(tokfsm_matcher *matcher, const uint32_t *token_ids,
                                          size_t n_ids, size_t *n_allowed,
                                          tokfsm_error *err) noexcept
    tokfsm_status tokfsm_matcher_rollback(tokfsm_matcher *matcher, size_t n_tokens,
                                          tokfsm_error *err) noexcept
    uint32_t tokfsm_matcher_state(const tokfsm_matcher *matcher) noexcept
    tokfsm_status tokfsm_matcher_bound(tokfsm_matcher *matcher, uint32_t *n_tokens,
                                       tokfsm_error *err) noexcept
    tokfsm_status tokfsm_matcher_check_bytes(tokfsm_matcher *matcher, const uint8_t *bytes,
                                             size_t n_bytes, size_t *n_taken, int32_t *complete,
                                             uint32_t *allowed, tokfsm_error *err) noexcept
    tokfsm_status tokfsm_matcher_fill_draft(
        tokfsm_matcher *matcher, const uint32_t *token_ids, const int32_t *parents,
        size_t n_tokens, uint32_t *words, size_t n_words, size_t stride, uint32_t budget,
        int32_t *legal, size_t *n_legal, tokfsm_error *err) noexcept
    tokfsm_status tokfsm_matcher_forced_bytes(tokfsm_matcher *matcher, size_t most,
                                              uint8_t **bytes, size_t *n_bytes,
                                              tokfsm_error *err) noexcept
    tokfsm_status tokfsm_matcher_crossing(tokfsm_matcher *matcher, const uint8_t *text,
                                          size_t n_text, size_t n_ahead, uint32_t *ids,
                                          uint32_t *lengths, size_t capacity, size_t *n_found,
                                          tokfsm_error *err) noexcept
    size_t tokfsm_matcher_n_accepted(const tokfsm_matcher *matcher) noexcept

    uint32_t TOKFSM_MASK_ROW
    uint32_t TOKFSM_MASK_IDS
    uint32_t TOKFSM_MASK_EDITS
    uint32_t TOKFSM_STEP_SET_IDS
    uint32_t TOKFSM_STEP_CLEAR_IDS
    uint32_t TOKFSM_STEP_SET_WORDS
    uint32_t TOKFSM_STEP_AND_ROW

    ctypedef struct tokfsm_mask_step:
        uint32_t op
        uint32_t n
        const uint32_t *at
        const uint32_t *bits

    ctypedef struct tokfsm_mask_view:
        uint32_t kind
        uint32_t n_words
        uint32_t n_steps
        uint32_t lasting
        const uint32_t *base
        tokfsm_mask_step steps[32]

    tokfsm_status tokfsm_matcher_mask_view(tokfsm_matcher *matcher, tokfsm_mask_view *view,
                                           tokfsm_error *err) noexcept

    ctypedef struct tokfsm_workers:
        pass

    tokfsm_status tokfsm_workers_new(uint32_t n_threads, const tokfsm_allocator *allocator,
                                     tokfsm_workers **workers, tokfsm_error *err) noexcept
    void tokfsm_workers_free(tokfsm_workers *workers) noexcept
    uint32_t tokfsm_workers_count(const tokfsm_workers *workers) noexcept
    tokfsm_status tokfsm_fill_batch(tokfsm_matcher *const *matchers, size_t n_matchers,
                                    uint32_t *words, size_t n_rows, size_t n_words,
                                    size_t row_words, const uint32_t *rows,
                                    const uint32_t *budgets, tokfsm_workers *workers,
                                    uint32_t n_threads, int32_t *need_apply,
                                    tokfsm_error *err) noexcept

    ctypedef struct tokfsm_logits:
        void *data
        uint32_t type
        uint32_t reserved
        size_t n_rows
        size_t n_logits
        ptrdiff_t stride
        ptrdiff_t row_stride

    tokfsm_status tokfsm_rows_apply(const uint32_t *words, size_t n_words, size_t row_words,
                                    const tokfsm_logits *logits, const uint32_t *indices,
                                    size_t n_indices, tokfsm_error *err) noexcept
    tokfsm_status tokfsm_row_apply_f32(const uint32_t *words, size_t n_words, float *logits,
                                       size_t n_logits, size_t stride, tokfsm_error *err) noexcept
    const char *tokfsm_apply_kernel() noexcept
    uint32_t tokfsm_row_count(const uint32_t *words, size_t n_words) noexcept
