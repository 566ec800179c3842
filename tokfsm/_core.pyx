# cython: language_level=3, boundscheck=False, wraparound=False
"""What exists once: the flag that cancels, the pack, the automaton; and how a status becomes an error.

Converts, calls, checks, returns. The other modules of this library are beside it: `_bitmask`,
`_mask_view`, `_matcher`, `_batch` (see `tokfsm/_library.py`).
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

cimport cython

from tokfsm cimport _ctokfsm as c

from tokfsm import errors as _errors
from tokfsm.arguments import as_ids, as_list

PACK_VERSION = 2
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


cdef int wrong_number(object value, str what, str allowed) except -1:
    """Raise for what `as_number` could not take, or what is out of its range."""
    if not hasattr(type(value), "__index__"):
        raise TypeError(f"{what} is a {type(value).__name__}; expected an int")
    raise _errors.RangeError(f"{what} {value} is out of range; {allowed}")


cdef size_t uint32_list(object given, str what, uint32_t **out) except? 0:
    """Numbers as a C array that the caller frees; how many."""
    cdef list listed = as_list(given, what)
    cdef size_t i = 0, n = len(listed)
    cdef Py_ssize_t number
    out[0] = <uint32_t *>PyMem_Malloc((n + 1) * sizeof(uint32_t))
    if out[0] == NULL:
        raise MemoryError()
    try:
        for one in listed:
            number = as_number(one)
            if not 0 <= number < 0xFFFFFFFF:
                wrong_number(one, what, "it must be 0 to 4294967294")
            out[0][i] = <uint32_t>number
            i += 1
    except BaseException:
        PyMem_Free(out[0])
        out[0] = NULL
        raise
    return n


def vocabulary_fingerprint(const uint8_t[::1] blob not None, const uint64_t[::1] offsets not None):
    """Hexadecimal SHA-256 over ids and token bytes: ``blob[offsets[i]:offsets[i + 1]]`` is token ``i``."""
    cdef c.tokfsm_error err
    cdef uint8_t digest[32]
    if offsets.shape[0] < 1 or offsets[offsets.shape[0] - 1] != <uint64_t>blob.shape[0]:
        raise ValueError("offsets do not fit the blob")
    check(c.tokfsm_vocabulary_fingerprint(&blob[0], &offsets[0], <uint32_t>(offsets.shape[0] - 1),
                                          digest, &err), &err)
    return (<char *>digest)[:32].hex()


def artifact_probe(const uint8_t[::1] data not None):
    """The vocabulary's fingerprint, hexadecimal, and whether the pack is in the artifact too.

    Reads the header alone; ArtifactCorruptError or ArtifactVersionError where it is none of ours.
    """
    cdef c.tokfsm_error err
    cdef uint8_t digest[32]
    cdef int32_t has_pack = 0
    check(c.tokfsm_artifact_probe(&data[0] if data.shape[0] else NULL, data.shape[0], digest,
                                  &has_pack, &err), &err)
    return (<char *>digest)[:32].hex(), bool(has_pack)


@cython.final
cdef class Cancel:
    """A flag that stops long work: set it from any thread; `CancelledError` is raised where the work is done.

    Give it to `tokfsm.compile`, `Automaton.precompile` or `Automaton.save`. It stays set. Threads may share it.
    """
    cdef c.tokfsm_cancel *_handle

    def __cinit__(self):
        cdef c.tokfsm_error err
        check(c.tokfsm_cancel_new(NULL, &self._handle, &err), &err)

    def __dealloc__(self):
        c.tokfsm_cancel_free(self._handle)

    def set(self):
        """Stop the work that has this flag, and all that is given it from now on."""
        c.tokfsm_cancel_set(self._handle)

    @property
    def is_set(self):
        """Whether `set` was called."""
        return bool(c.tokfsm_cancel_is_set(self._handle))


@cython.final
cdef class Pack:
    """The vocabulary pack: all that masks need of the tokenizer alone. Immutable, shared by threads."""
    cdef c.tokfsm_pack *_handle

    def __init__(self):
        raise TypeError("use Pack.build or Pack.open")

    def __dealloc__(self):
        c.tokfsm_pack_free(self._handle)

    @staticmethod
    def build(const uint8_t[::1] blob not None, const uint64_t[::1] offsets not None):
        """From token bytes: ``blob[offsets[i]:offsets[i + 1]]`` is token ``i``. Releases the GIL."""
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
        """From what `save` gave, verified. Releases the GIL; ArtifactCorruptError, ArtifactVersionError."""
        cdef c.tokfsm_error err
        cdef Pack self = Pack.__new__(Pack)
        cdef c.tokfsm_status status
        cdef const uint8_t *bytes = &data[0] if data.shape[0] else <const uint8_t *>b""
        with nogil:
            status = c.tokfsm_pack_open(bytes, data.shape[0], NULL, &self._handle, &err)
        check(status, &err)
        return self

    def save(self):
        """The bytes of docs/format.md."""
        cdef c.tokfsm_error err
        cdef uint8_t *data
        cdef size_t n_bytes
        check(c.tokfsm_pack_save(self._handle, &data, &n_bytes, &err), &err)
        return take_bytes(data, n_bytes)

    @property
    def fingerprint(self):
        """Of the vocabulary, hexadecimal."""
        return (<char *>c.tokfsm_pack_fingerprint(self._handle))[:32].hex()

    @property
    def vocab_size(self):
        """Number of token ids."""
        return c.tokfsm_pack_vocab_size(self._handle)

    @property
    def max_closes(self):
        """Most objects and arrays that one token can close: K."""
        return c.tokfsm_pack_max_closes(self._handle)


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
    """The C handle under `tokfsm.Automaton`, which is documented; shared by threads."""

    def __init__(self):
        raise TypeError("use tokfsm.compile or tokfsm.load")

    def __dealloc__(self):
        c.tokfsm_automaton_free(self._handle)

    @staticmethod
    def compile(bytes schema not None, list resources not None, Pack pack not None, stop_ids,
                dict options not None, limits, Cancel cancel):
        """What `tokfsm.compile` does, on a schema's text. Releases the GIL."""
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
        """An artifact's bytes, verified; `pack` where it has none in it. Releases the GIL."""
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
        """Explore all that is reachable. Releases the GIL; LimitError, CancelledError."""
        cdef c.tokfsm_error err
        cdef const c.tokfsm_cancel *flag = NULL if cancel is None else cancel._handle
        cdef c.tokfsm_status status
        with nogil:
            status = c.tokfsm_automaton_precompile(self._handle, flag, &err)
        check(status, &err)

    def save(self, bint embed_pack, Cancel cancel=None):
        """The artifact's bytes; explores first. Releases the GIL; LimitError, CancelledError."""
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
        """Number of token ids."""
        return c.tokfsm_automaton_vocab_size(self._handle)

    @property
    def fingerprint(self):
        """Of the vocabulary, hexadecimal."""
        return (<char *>c.tokfsm_pack_fingerprint(c.tokfsm_automaton_pack(self._handle)))[:32].hex()

    @property
    def stop_token_ids(self):
        """The default stop set, ascending."""
        cdef size_t n
        cdef const uint32_t *ids = c.tokfsm_automaton_stop_ids(self._handle, &n)
        return tuple([ids[i] for i in range(n)])

    @property
    def schema(self):
        """The schema's text; None if the artifact does not have it."""
        cdef size_t n
        cdef const uint8_t *text = c.tokfsm_automaton_schema(self._handle, &n)
        return None if text == NULL else (<const char *>text)[:n]

    def relaxed(self):
        """Pointer, keyword and reason of each keyword that was loosened."""
        cdef size_t n
        cdef const c.tokfsm_relaxed *listed = c.tokfsm_automaton_relaxed(self._handle, &n)
        return [tuple([(<bytes>text).decode("utf-8", "replace") for text in
                       (listed[i].pointer, listed[i].keyword, listed[i].reason)]) for i in range(n)]

    def options(self):
        """The language options as the C header numbers them."""
        cdef c.tokfsm_options o
        c.tokfsm_automaton_options(self._handle, &o)
        return dict(o)

    def statistics(self):
        """Counts and bytes, under the names of the C header's `tokfsm_statistics`."""
        cdef c.tokfsm_statistics s
        c.tokfsm_automaton_statistics(self._handle, &s)
        return dict(s)

    def pack_bytes(self):
        """The bytes of the pack."""
        cdef c.tokfsm_error err
        cdef uint8_t *data
        cdef size_t n_bytes
        check(c.tokfsm_pack_save(c.tokfsm_automaton_pack(self._handle), &data, &n_bytes, &err), &err)
        return take_bytes(data, n_bytes)

    def token_bytes(self, token_id):
        """The bytes of a token; RangeError outside the vocabulary."""
        cdef size_t n = 0
        cdef const uint8_t *bytes
        if not 0 <= token_id < c.tokfsm_automaton_vocab_size(self._handle):
            raise _errors.RangeError(f"token id {token_id} is out of range")
        bytes = c.tokfsm_pack_token(c.tokfsm_automaton_pack(self._handle), token_id, &n)
        return (<const char *>bytes)[:n]
