# cython: language_level=3, boundscheck=False, wraparound=False
"""A matcher's mask as it lies in memory."""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBUF_STRIDES, PyBUF_WRITABLE, Py_buffer
from libc.stdint cimport uint32_t

cimport cython

from tokfsm cimport _ctokfsm as c
from tokfsm._core cimport check


@cython.final
cdef class Words:
    """uint32 words of somebody else's, read-only; `owner` keeps them."""
    cdef const uint32_t *_words
    cdef Py_ssize_t _shape[1]
    cdef Py_ssize_t _strides[1]
    cdef object _owner

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        if flags & PyBUF_WRITABLE:
            raise BufferError("a mask view is read-only")
        buffer.buf = <void *>self._words
        buffer.format = <char *>b"I" if flags & PyBUF_FORMAT else NULL
        buffer.internal = NULL
        buffer.itemsize = 4
        buffer.len = self._shape[0] * 4
        buffer.ndim = 1
        buffer.obj = self
        buffer.readonly = 1
        buffer.shape = self._shape if flags & PyBUF_ND else NULL
        buffer.strides = self._strides if (flags & PyBUF_STRIDES) == PyBUF_STRIDES else NULL
        buffer.suboffsets = NULL


cdef object words_view(const uint32_t *words, size_t n, object owner, bint lasting):
    cdef Words self = Words.__new__(Words)
    if not lasting:
        owner = (<const char *>words)[:n * 4] if n else b""
        words = <const uint32_t *><const char *>owner
    self._words = words
    self._shape[0] = n
    self._strides[0] = 4
    self._owner = owner
    return memoryview(self)


@cython.final
cdef class MaskView:
    """A mask as it lies in memory: nothing is copied of a mask that is kept.

    Read-only, and never changed by what the matcher does next: a view stays what it was made as, for as
    long as it is held (it holds the matcher, and with it the automaton). Any thread may read it.
    The arrays are memoryviews of uint32.

    Attributes
    ----------
    kind : str
        ``"row"``: `row` is the mask. ``"ids"``: `ids` are the ids allowed, in no order, an id perhaps
        twice. ``"edits"``: `base` (None: zeros), and then each of `edits` in order. What does not apply is None.
    edits : tuple of (str, memoryview or None, memoryview or None)
        ``("set", ids, None)``, ``("clear", ids, None)``, ``("or", words, bits)``: ``row[words[i]] |= bits[i]``,
        ``("and", None, row)``.
    n_words : int
        Words of the row; bits at and past the vocabulary size are 0.
    """
    def __init__(self):
        raise TypeError("use matcher.mask_view()")

    def __repr__(self):
        return f"MaskView(kind={self.kind!r}, n_words={self.n_words})"


cdef tuple read_step(const c.tokfsm_mask_step *step, object owner, bint lasting):
    if step.op == c.TOKFSM_STEP_SET_IDS:
        return ("set", words_view(step.at, step.n, owner, lasting), None)
    if step.op == c.TOKFSM_STEP_CLEAR_IDS:
        return ("clear", words_view(step.at, step.n, owner, lasting), None)
    if step.op == c.TOKFSM_STEP_SET_WORDS:
        return ("or", words_view(step.at, step.n, owner, True), words_view(step.bits, step.n, owner, True))
    return ("and", None, words_view(step.bits, step.n, owner, True))


cdef MaskView make_view(c.tokfsm_matcher *handle, object matcher):
    """`matcher` keeps the handle, and is kept by what is not a copy."""
    cdef c.tokfsm_error err
    cdef c.tokfsm_mask_view view
    cdef MaskView self = MaskView.__new__(MaskView)
    check(c.tokfsm_matcher_mask_view(handle, &view, &err), &err)
    self.n_words = view.n_words
    if view.kind == c.TOKFSM_MASK_IDS:
        self.kind = "ids"
        self.ids = words_view(view.steps[0].at if view.n_steps else NULL,
                              view.steps[0].n if view.n_steps else 0, matcher,
                              view.lasting and view.n_steps > 0)
        return self
    base = words_view(view.base, view.n_words, matcher, True) if view.base != NULL else None
    if view.kind == c.TOKFSM_MASK_ROW:
        self.kind, self.row = "row", base
        return self
    self.kind, self.base = "edits", base
    self.edits = tuple([read_step(&view.steps[i], matcher, view.lasting) for i in range(view.n_steps)])
    return self
