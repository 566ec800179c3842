# cython: language_level=3, boundscheck=False, wraparound=False
"""One class per C handle; converts, calls, checks, returns. Documented in _core.pyi."""

from cpython.buffer cimport (PyBUF_WRITABLE, PyBUF_FORMAT, PyBUF_ND, PyBUF_STRIDES, Py_buffer,
                             PyBuffer_Release, PyObject_GetBuffer)
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport SIZE_MAX, int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

cimport cython
import numpy

from tokfsm cimport _ctokfsm as c

from threading import Lock as _Lock

from tokfsm import errors as _errors
from tokfsm.token_ids import as_ids, as_parents

PACK_VERSION = 1
ABI_VERSION = c.tokfsm_abi_version()

cdef dict _exceptions = {
    c.TOKFSM_E_ARGUMENT: ValueError,
    c.TOKFSM_E_VOCABULARY: _errors.VocabularyError,
    c.TOKFSM_E_CORRUPT: _errors.ArtifactCorruptError,
    c.TOKFSM_E_VERSION: _errors.ArtifactVersionError,
    c.TOKFSM_E_MISMATCH: _errors.VocabularyMismatchError,
    c.TOKFSM_E_PACK_MISSING: _errors.PackMissingError,
    c.TOKFSM_E_SIZE: _errors.BitmaskError,
    c.TOKFSM_E_BUSY: _errors.BusyError,
    c.TOKFSM_E_RANGE: _errors.RangeError,
    c.TOKFSM_E_BUDGET: _errors.BudgetError,
    c.TOKFSM_E_LIMIT: _errors.LimitError,
    c.TOKFSM_E_CANCELLED: _errors.CancelledError,
    c.TOKFSM_E_NOMEM: MemoryError,
}
cdef dict _schema_exceptions = {
    c.TOKFSM_E_JSON: _errors.SchemaError,
    c.TOKFSM_E_SCHEMA: _errors.SchemaError,
    c.TOKFSM_E_UNSUPPORTED: _errors.UnsupportedSchemaError,
    c.TOKFSM_E_UNSATISFIABLE: _errors.UnsatisfiableSchemaError,
}


cdef int fail(c.tokfsm_status status, c.tokfsm_error *err) except -1:
    """Raise what a status stands for."""
    message = (<bytes>err.message).decode("utf-8", "replace")
    if status in _schema_exceptions:
        raise _schema_exceptions[status](
            message, pointer=(<bytes>err.pointer).decode("utf-8", "replace"),
            keyword=(<bytes>err.keyword).decode("utf-8", "replace") or None)
    if status in _exceptions:
        raise _exceptions[status](message)
    raise _errors.InternalError(message or f"status {status}")


cdef inline int check(c.tokfsm_status status, c.tokfsm_error *err) except -1:
    if status != c.TOKFSM_OK:
        return fail(status, err)
    return 0


cdef inline bytes take_bytes(uint8_t *data, size_t n_bytes):
    try:
        return (<char *>data)[:n_bytes]
    finally:
        c.tokfsm_bytes_free(NULL, data)


def vocabulary_fingerprint(const uint8_t[::1] blob not None, const uint64_t[::1] offsets not None):
    cdef c.tokfsm_error err
    cdef uint8_t digest[32]
    if offsets.shape[0] < 1 or offsets[offsets.shape[0] - 1] != <uint64_t>blob.shape[0]:
        raise ValueError("offsets do not fit the blob")
    check(c.tokfsm_vocabulary_fingerprint(&blob[0], &offsets[0], <uint32_t>(offsets.shape[0] - 1),
                                          digest, &err), &err)
    return (<char *>digest)[:32].hex()


def artifact_probe(const uint8_t[::1] data not None):
    cdef c.tokfsm_error err
    cdef uint8_t digest[32]
    cdef int32_t has_pack = 0
    check(c.tokfsm_artifact_probe(&data[0] if data.shape[0] else NULL, data.shape[0], digest,
                                  &has_pack, &err), &err)
    return (<char *>digest)[:32].hex(), bool(has_pack)


@cython.final
cdef class Cancel:
    cdef c.tokfsm_cancel *_handle

    def __cinit__(self):
        cdef c.tokfsm_error err
        check(c.tokfsm_cancel_new(NULL, &self._handle, &err), &err)

    def __dealloc__(self):
        c.tokfsm_cancel_free(self._handle)

    def set(self):
        c.tokfsm_cancel_set(self._handle)

    @property
    def is_set(self):
        return bool(c.tokfsm_cancel_is_set(self._handle))


@cython.final
cdef class Pack:
    cdef c.tokfsm_pack *_handle

    def __dealloc__(self):
        c.tokfsm_pack_free(self._handle)

    @staticmethod
    def build(const uint8_t[::1] blob not None, const uint64_t[::1] offsets not None):
        cdef c.tokfsm_error err
        cdef Pack self = Pack.__new__(Pack)
        cdef c.tokfsm_status status
        cdef uint32_t n = <uint32_t>(offsets.shape[0] - 1)
        if offsets.shape[0] < 1 or offsets[offsets.shape[0] - 1] != <uint64_t>blob.shape[0]:
            raise ValueError("offsets do not fit the blob")
        with nogil:
            status = c.tokfsm_pack_build(&blob[0], &offsets[0], n, NULL, NULL, NULL,
                                         &self._handle, &err)
        check(status, &err)
        return self

    @staticmethod
    def open(const uint8_t[::1] data not None):
        cdef c.tokfsm_error err
        cdef Pack self = Pack.__new__(Pack)
        cdef c.tokfsm_status status
        cdef const uint8_t *bytes = &data[0] if data.shape[0] else <const uint8_t *>b""
        with nogil:
            status = c.tokfsm_pack_open(bytes, data.shape[0], NULL, &self._handle, &err)
        check(status, &err)
        return self

    def save(self):
        cdef c.tokfsm_error err
        cdef uint8_t *data
        cdef size_t n_bytes
        check(c.tokfsm_pack_save(self._handle, &data, &n_bytes, &err), &err)
        return take_bytes(data, n_bytes)

    @property
    def fingerprint(self):
        return (<char *>c.tokfsm_pack_fingerprint(self._handle))[:32].hex()

    @property
    def vocab_size(self):
        return c.tokfsm_pack_vocab_size(self._handle)

    @property
    def max_closes(self):
        return c.tokfsm_pack_max_closes(self._handle)


cdef inline const uint32_t *first_id(const uint32_t[::1] ids) noexcept:
    return &ids[0] if ids.shape[0] else NULL


cdef c.tokfsm_resource *read_resources(list pairs) except NULL:
    """Pairs of bytes, URI and text, as a C array that the caller frees; the list keeps the bytes."""
    cdef c.tokfsm_resource *out = <c.tokfsm_resource *>PyMem_Malloc(
        (len(pairs) + 1) * sizeof(c.tokfsm_resource))
    cdef bytes uri, text
    cdef size_t i = 0
    if out == NULL:
        raise MemoryError()
    try:
        for uri, text in pairs:
            out[i].uri = uri
            out[i].n_uri = len(uri)
            out[i].schema = text
            out[i].n_schema = len(text)
            i += 1
    except BaseException:
        PyMem_Free(out)
        raise
    return out


cdef c.tokfsm_limits read_limits(object limits):
    cdef c.tokfsm_limits out
    c.tokfsm_limits_default(&out)
    if limits is not None:
        out.work_units = limits.work_units
        out.automaton_bytes = limits.automaton_bytes
        out.schema_bytes = limits.schema_bytes
        out.depth = limits.depth
    return out


@cython.final
cdef class Automaton:
    cdef c.tokfsm_automaton *_handle

    def __dealloc__(self):
        c.tokfsm_automaton_free(self._handle)

    @staticmethod
    def compile(bytes schema not None, list resources not None, Pack pack not None, stop_ids,
                dict options not None, limits, Cancel cancel):
        cdef c.tokfsm_error err
        cdef Automaton self = Automaton.__new__(Automaton)
        cdef c.tokfsm_options chosen
        cdef c.tokfsm_limits bounds = read_limits(limits)
        cdef const c.tokfsm_cancel *flag = NULL if cancel is None else cancel._handle
        cdef const uint8_t *text = schema
        cdef size_t n_bytes = len(schema), n_resources = len(resources)
        cdef const uint32_t[::1] ids = as_ids(stop_ids, "stop id")
        cdef c.tokfsm_resource *given
        cdef c.tokfsm_status status
        c.tokfsm_options_default(&chosen)
        chosen.property_order = options["property_order"]
        chosen.additional_properties = options["additional_properties"]
        chosen.whitespace = options["whitespace"]
        chosen.max_whitespace = options["max_whitespace"]
        chosen.indent = options["indent"]
        chosen.escapes = options["escapes"]
        chosen.numbers = options["numbers"]
        chosen.max_digits = options["max_digits"]
        chosen.format = options["format"]
        chosen.unsupported = options["unsupported"]
        chosen.draft = options["draft"]
        cdef const uint32_t *stops = first_id(ids)
        cdef size_t n_ids = ids.shape[0]
        given = read_resources(resources)
        with nogil:
            status = c.tokfsm_compile(text, n_bytes, given, n_resources, pack._handle, stops, n_ids,
                                      &chosen, NULL, &bounds, flag, &self._handle, &err)
        PyMem_Free(given)
        check(status, &err)
        return self

    @staticmethod
    def open(const uint8_t[::1] data not None, Pack pack, limits):
        cdef c.tokfsm_error err
        cdef Automaton self = Automaton.__new__(Automaton)
        cdef c.tokfsm_limits bounds = read_limits(limits)
        cdef c.tokfsm_pack *given = NULL if pack is None else pack._handle
        cdef const uint8_t *bytes = &data[0] if data.shape[0] else NULL
        cdef c.tokfsm_status status
        with nogil:
            status = c.tokfsm_automaton_open(bytes, data.shape[0], given, NULL, &bounds,
                                             &self._handle, &err)
        check(status, &err)
        return self

    def precompile(self, Cancel cancel=None):
        cdef c.tokfsm_error err
        cdef const c.tokfsm_cancel *flag = NULL if cancel is None else cancel._handle
        cdef c.tokfsm_status status
        with nogil:
            status = c.tokfsm_automaton_precompile(self._handle, flag, &err)
        check(status, &err)

    def save(self, bint embed_pack, Cancel cancel=None):
        cdef c.tokfsm_error err
        cdef const c.tokfsm_cancel *flag = NULL if cancel is None else cancel._handle
        cdef uint8_t *data
        cdef size_t n_bytes
        cdef c.tokfsm_status status
        with nogil:
            status = c.tokfsm_automaton_save(self._handle, embed_pack, &data, &n_bytes, flag, &err)
        check(status, &err)
        return take_bytes(data, n_bytes)

    @property
    def vocab_size(self):
        return c.tokfsm_automaton_vocab_size(self._handle)

    @property
    def fingerprint(self):
        return (<char *>c.tokfsm_pack_fingerprint(c.tokfsm_automaton_pack(self._handle)))[:32].hex()

    @property
    def stop_token_ids(self):
        cdef size_t n
        cdef const uint32_t *ids = c.tokfsm_automaton_stop_ids(self._handle, &n)
        return tuple([ids[i] for i in range(n)])

    @property
    def schema(self):
        cdef size_t n
        cdef const uint8_t *text = c.tokfsm_automaton_schema(self._handle, &n)
        return None if text == NULL else (<const char *>text)[:n]

    def relaxed(self):
        cdef size_t n
        cdef const c.tokfsm_relaxed *listed = c.tokfsm_automaton_relaxed(self._handle, &n)
        return [tuple([(<bytes>text).decode("utf-8", "replace") for text in
                       (listed[i].pointer, listed[i].keyword, listed[i].reason)]) for i in range(n)]

    def options(self):
        cdef c.tokfsm_options o
        c.tokfsm_automaton_options(self._handle, &o)
        return dict(o)

    def statistics(self):
        cdef c.tokfsm_statistics s
        c.tokfsm_automaton_statistics(self._handle, &s)
        return dict(s)

    def pack_bytes(self):
        cdef c.tokfsm_error err
        cdef uint8_t *data
        cdef size_t n_bytes
        check(c.tokfsm_pack_save(c.tokfsm_automaton_pack(self._handle), &data, &n_bytes, &err), &err)
        return take_bytes(data, n_bytes)

    def token_bytes(self, token_id):
        cdef size_t n = 0
        cdef const uint8_t *bytes
        if not 0 <= token_id < c.tokfsm_automaton_vocab_size(self._handle):
            raise _errors.RangeError(f"token id {token_id} is out of range")
        bytes = c.tokfsm_pack_token(c.tokfsm_automaton_pack(self._handle), token_id, &n)
        return (<const char *>bytes)[:n]

    def matcher(self, stop_token_ids, max_rollback):
        return make_matcher(self, stop_token_ids, max_rollback)


@cython.final
cdef class Bitmask:
    """See the stub."""
    cdef uint32_t *_words
    cdef readonly Py_ssize_t n_rows, n_words, vocab_size
    cdef Py_ssize_t _shape[2]
    cdef Py_ssize_t _strides[2]

    def __cinit__(self, Py_ssize_t batch, Py_ssize_t vocab_size):
        if batch < 0 or vocab_size <= 0:
            raise ValueError(f"a bitmask of {batch} rows of {vocab_size} ids")
        self.n_rows = batch
        self.vocab_size = vocab_size
        self.n_words = (vocab_size + 31) // 32
        self._shape[0] = batch
        self._shape[1] = self.n_words
        self._strides[0] = self.n_words * 4
        self._strides[1] = 4
        self._words = <uint32_t *>PyMem_Malloc(max(1, batch * self.n_words * 4))
        if self._words == NULL:
            raise MemoryError()
        memset(self._words, 0xFF, batch * self.n_words * 4)

    def __dealloc__(self):
        PyMem_Free(self._words)

    @property
    def shape(self):
        return (self.n_rows, self.n_words)

    def __len__(self):
        return self.n_rows

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        buffer.buf = self._words
        buffer.format = <char *>b"i" if flags & PyBUF_FORMAT else NULL
        buffer.internal = NULL
        buffer.itemsize = 4
        buffer.len = self.n_rows * self.n_words * 4
        buffer.ndim = 2
        buffer.obj = self
        buffer.readonly = 0
        buffer.shape = self._shape if flags & PyBUF_ND else NULL
        buffer.strides = self._strides if (flags & PyBUF_STRIDES) == PyBUF_STRIDES else NULL
        buffer.suboffsets = NULL

    def numpy(self):
        return numpy.asarray(self)

    def __dlpack__(self, **kwargs):
        return self.numpy().__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return (1, 0)

    def __repr__(self):
        return f"Bitmask(batch={self.n_rows}, vocab_size={self.vocab_size})"


cdef inline uint32_t read_budget(object budget) except? 0:
    if budget is None:
        return c.TOKFSM_UNBOUNDED
    if budget < 0:
        raise ValueError(f"a budget of {budget} tokens")
    return min(budget, 0xFFFFFFFE)


cdef object locate_rows(object bitmask, uint32_t **words, Py_ssize_t *n_rows, size_t *n_words,
                        size_t *stride):
    """Where the rows are; the object that comes back keeps them."""
    cdef Bitmask b
    cdef uint32_t[:, :] view
    if type(bitmask) is Bitmask:
        b = <Bitmask>bitmask
        words[0], n_rows[0], n_words[0], stride[0] = b._words, b.n_rows, b.n_words, b.n_words
        return b
    from tokfsm.bitmask import as_rows
    rows = as_rows(bitmask)
    view = rows
    if view.shape[0] == 0 or view.shape[1] == 0:
        raise _errors.BitmaskError("the bitmask has no words")
    if view.strides[0] < 0 or view.strides[0] % 4 != 0:
        raise _errors.BitmaskError("the rows of a draft must lie one behind the other")
    words[0] = &view[0, 0]
    n_rows[0], n_words[0] = view.shape[0], view.shape[1]
    stride[0] = view.strides[0] // 4 if view.shape[0] > 1 else view.shape[1]
    return rows


cdef Matcher make_matcher(Automaton automaton, stop_token_ids, max_rollback):
    cdef c.tokfsm_error err
    cdef Matcher self = Matcher.__new__(Matcher)
    cdef const uint32_t[::1] ids
    cdef const uint32_t *stops = NULL
    cdef size_t n_ids = 0
    cdef uint32_t most = c.TOKFSM_UNBOUNDED, nothing = 0
    if max_rollback is not None:
        if not 0 <= max_rollback < 0xFFFFFFFF:
            raise ValueError(f"max_rollback is {max_rollback}")
        most = max_rollback
    if stop_token_ids is not None:
        ids = as_ids(stop_token_ids, "stop id")
        n_ids = ids.shape[0]
        stops = first_id(ids) if n_ids else &nothing  # NULL would be the default set
    check(c.tokfsm_matcher_new(automaton._handle, stops, n_ids, most, &self._handle, &err), &err)
    self._automaton = automaton
    return self


@cython.final
cdef class Matcher:
    """See the stub."""
    cdef c.tokfsm_matcher *_handle
    cdef readonly Automaton _automaton

    def __init__(self):
        raise TypeError("use automaton.matcher()")

    def __dealloc__(self):
        c.tokfsm_matcher_free(self._handle)

    cdef bint fill(self, uint32_t *words, size_t n_words, object budget) except -1:
        cdef c.tokfsm_error err
        cdef int32_t need_apply = 1
        cdef uint32_t most = read_budget(budget)
        check(c.tokfsm_matcher_fill(self._handle, words, n_words, most, &need_apply, &err), &err)
        return need_apply != 0

    def fill_next_token_bitmask(self, bitmask not None, Py_ssize_t row=0, *, budget=None):
        if type(bitmask) is not Bitmask:
            return fill_foreign(self, bitmask, row, budget)
        cdef Bitmask b = <Bitmask>bitmask
        if not 0 <= row < b.n_rows:
            raise _errors.RangeError(f"row {row} of a batch of {b.n_rows}")
        return self.fill(b._words + row * b.n_words, b.n_words, budget)

    def mask_view(self):
        return make_view(self)

    def accept_token(self, token_id):
        cdef c.tokfsm_error err
        cdef int32_t accepted = 0
        cdef long long id
        try:
            id = token_id
        except OverflowError:
            id = -1
        if not 0 <= id < 0xFFFFFFFF:
            raise _errors.RangeError(f"token id {token_id} is out of range")
        check(c.tokfsm_matcher_accept(self._handle, <uint32_t>id, &accepted, &err), &err)
        return accepted != 0

    def accept_tokens(self, token_ids):
        cdef c.tokfsm_error err
        cdef int32_t accepted = 0
        cdef const uint32_t[::1] ids = as_ids(token_ids, "token id")
        check(c.tokfsm_matcher_accept_all(self._handle, first_id(ids), ids.shape[0], &accepted, &err),
              &err)
        return accepted != 0

    def validate_tokens(self, token_ids):
        cdef c.tokfsm_error err
        cdef size_t n = 0
        cdef const uint32_t[::1] ids = as_ids(token_ids, "token id")
        check(c.tokfsm_matcher_validate(self._handle, first_id(ids), ids.shape[0], &n, &err), &err)
        return n

    def fill_draft_bitmask(self, draft_tokens, bitmask not None, Py_ssize_t row=0, *, parents=None,
                           budget=None):
        cdef c.tokfsm_error err
        cdef size_t n_words, stride, n_legal = 0
        cdef Py_ssize_t n_rows
        cdef uint32_t *words
        cdef const uint32_t[::1] ids = as_ids(draft_tokens, "draft token id")
        cdef Py_ssize_t n = ids.shape[0]
        cdef const int32_t[::1] tree = None if parents is None else as_parents(parents, n)
        cdef const int32_t *before = &tree[0] if parents is not None and n else NULL
        rows = locate_rows(bitmask, &words, &n_rows, &n_words, &stride)
        if row < 0 or n + 1 > n_rows - row:
            raise _errors.RangeError(
                f"{n} draft tokens need {n + 1} rows from row {row} on, of a batch of {n_rows}")
        check(c.tokfsm_matcher_fill_draft(self._handle, first_id(ids), before, n,
                                          words + <size_t>row * stride, n_words, stride,
                                          read_budget(budget), NULL, &n_legal, &err), &err)
        return n_legal

    def forced_bytes(self, most=None):
        cdef c.tokfsm_error err
        cdef uint8_t *data
        cdef size_t n_bytes
        cdef size_t limit = SIZE_MAX if most is None else most
        check(c.tokfsm_matcher_forced_bytes(self._handle, limit, &data, &n_bytes, &err), &err)
        return take_bytes(data, n_bytes)

    def forced_tokens(self, tokenizer, context=()):
        from tokfsm.forced import forced_tokens
        return forced_tokens(self, self._automaton.token_bytes, tokenizer, context)

    def crossing_tokens(self, const uint8_t[::1] text not None, size_t n_ahead):
        cdef c.tokfsm_error err
        cdef const uint8_t *bytes = &text[0] if text.shape[0] else NULL
        cdef size_t n = 256
        cdef uint32_t[:, ::1] found
        while True:
            found = numpy.empty((2, n), numpy.uint32)
            check(c.tokfsm_matcher_crossing(self._handle, bytes, text.shape[0], n_ahead, &found[0, 0],
                                            &found[1, 0], found.shape[1], &n, &err), &err)
            if <Py_ssize_t>n <= found.shape[1]:
                return [(found[0, i], found[1, i]) for i in range(n)]

    def rollback(self, n_tokens):
        cdef c.tokfsm_error err
        if not 0 <= n_tokens <= 0xFFFFFFFF:
            raise _errors.RangeError(f"cannot roll back {n_tokens} tokens")
        check(c.tokfsm_matcher_rollback(self._handle, n_tokens, &err), &err)

    def fork(self):
        cdef c.tokfsm_error err
        cdef Matcher copy = Matcher.__new__(Matcher)
        check(c.tokfsm_matcher_fork(self._handle, &copy._handle, &err), &err)
        copy._automaton = self._automaton
        return copy

    def reset(self):
        cdef c.tokfsm_error err
        check(c.tokfsm_matcher_reset(self._handle, &err), &err)

    @property
    def is_complete(self):
        return (c.tokfsm_matcher_state(self._handle) & c.TOKFSM_STATE_COMPLETE) != 0

    def is_terminated(self):
        return (c.tokfsm_matcher_state(self._handle) & c.TOKFSM_STATE_TERMINATED) != 0

    @property
    def min_tokens(self):
        cdef c.tokfsm_error err
        cdef uint32_t n = 0
        check(c.tokfsm_matcher_bound(self._handle, &n, &err), &err)
        return n

    @property
    def n_accepted(self):
        return c.tokfsm_matcher_n_accepted(self._handle)

    def check_bytes(self, const uint8_t[::1] data not None):
        cdef c.tokfsm_error err
        cdef uint32_t allowed[8]
        cdef size_t n_taken = 0
        cdef int32_t complete = 0
        check(c.tokfsm_matcher_check_bytes(
            self._handle, &data[0] if data.shape[0] else NULL, data.shape[0], &n_taken, &complete,
            allowed, &err), &err)
        return (n_taken, complete != 0,
                bytes([i for i in range(256) if allowed[i >> 5] >> (i & 31) & 1]))


cdef object fill_foreign(Matcher matcher, bitmask, Py_ssize_t row, budget):
    """Any writable int32 or uint32 buffer, or a torch CPU tensor: slower than a Bitmask."""
    from tokfsm.bitmask import as_rows
    rows = as_rows(bitmask)
    if not 0 <= row < rows.shape[0]:
        raise _errors.RangeError(f"row {row} of a batch of {rows.shape[0]}")
    cdef uint32_t[::1] words = rows[row]
    if words.shape[0] == 0:
        raise _errors.BitmaskError("the bitmask has no words")
    return matcher.fill(&words[0], words.shape[0], budget)


include "_serving.pxi"
