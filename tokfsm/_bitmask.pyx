# cython: language_level=3, boundscheck=False, wraparound=False
"""Rows of token masks, and logits under them."""

from cpython.buffer cimport (PyBUF_WRITABLE, PyBUF_FORMAT, PyBUF_ND, PyBUF_STRIDES, Py_buffer,
                             PyBuffer_Release, PyObject_GetBuffer)
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport uint32_t
from libc.string cimport memset

cimport cython
import numpy

from tokfsm cimport _ctokfsm as c
from tokfsm._core cimport check, uint32_list

from tokfsm import errors as _errors
from tokfsm.arguments import as_count, as_int



cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX


@cython.final
cdef class Bitmask:
    """Rows of token masks: int32 ``[batch, ceil(vocab_size / 32)]``, bit ``t % 32`` of word
    ``t // 32`` is token ``t``, least significant bit first, 1 = allowed.

    Owns its memory and gives it through the buffer protocol, DLPack and NumPy's own protocol,
    without a copy: indexed and iterated it is its array. New rows are all ones. Not locked: one
    writer at a time.

    Parameters
    ----------
    batch : int
        Rows.
    vocab_size : int
        Ids, 1 or more; for a model whose logits are wider than the vocabulary, the logits' width.

    Attributes
    ----------
    n_rows, n_words, vocab_size : int
        Rows, words of a row, and the number of ids that it was made for.
    """

    def __cinit__(self, batch, vocab_size):
        self.n_rows = as_count("batch", batch, 0, 0x7FFFFFFF)
        self.vocab_size = as_count("vocab_size", vocab_size, 1, 0x7FFFFFFF)
        self.n_words = (self.vocab_size + 31) // 32
        self._shape[0] = self.n_rows
        self._shape[1] = self.n_words
        self._strides[0] = self.n_words * 4
        self._strides[1] = 4
        if self.n_rows > PY_SSIZE_T_MAX // self._strides[0]:
            raise MemoryError()
        self._words = <uint32_t *>PyMem_Malloc(max(1, self.n_rows * self._strides[0]))
        if self._words == NULL:
            raise MemoryError()
        memset(self._words, 0xFF, self.n_rows * self._strides[0])

    def __dealloc__(self):
        PyMem_Free(self._words)

    @property
    def shape(self):
        """``(n_rows, n_words)``."""
        return (self.n_rows, self.n_words)

    @property
    def dtype(self):
        """``numpy.dtype("int32")``, as of `numpy`."""
        return numpy.dtype(numpy.int32)

    @property
    def ndim(self):
        """2."""
        return 2

    def __len__(self):
        return self.n_rows

    def __getitem__(self, key):
        return numpy.asarray(self)[key]

    def __setitem__(self, key, value):
        numpy.asarray(self)[key] = value

    def __iter__(self):
        return iter(numpy.asarray(self))

    def __array__(self, dtype=None, copy=None):
        whole = numpy.asarray(memoryview(self))
        if dtype is not None and whole.dtype != dtype:
            if copy is not None and not copy:
                raise ValueError(f"int32 becomes {numpy.dtype(dtype)} by a copy alone")
            return whole.astype(dtype)
        return whole.copy() if copy else whole

    def allowed_tokens(self, row=0):
        """The ids of a row that are allowed, ascending: an int64 array of its own.

        Raises
        ------
        RangeError
            There is no such row.
        """
        at = as_int("row", row)
        if not 0 <= at < self.n_rows:
            raise _errors.RangeError(f"row {at} of a batch of {self.n_rows}")
        bits = numpy.unpackbits(numpy.asarray(self)[at].view(numpy.uint8), bitorder="little")
        return numpy.flatnonzero(bits[:self.vocab_size])

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
        """The rows as an int32 array ``[n_rows, n_words]`` that shares this memory."""
        return numpy.asarray(self)

    def __dlpack__(self, **kwargs):
        return self.numpy().__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return (1, 0)

    def __repr__(self):
        return f"Bitmask(batch={self.n_rows}, vocab_size={self.vocab_size})"


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


cdef object apply_rows(const c.tokfsm_logits *logits, const uint32_t *words, size_t n_rows,
                       size_t n_words, size_t row_words, indices):
    cdef c.tokfsm_error err
    cdef c.tokfsm_status status
    cdef uint32_t *chosen = NULL
    cdef size_t n_chosen = 0, i
    if indices is not None:
        n_chosen = uint32_list(indices, "index", &chosen)
    try:
        if indices is None and n_rows != logits.n_rows:
            raise ValueError(f"logits of {logits.n_rows} rows and a bitmask of {n_rows}")
        for i in range(n_chosen):
            if chosen[i] >= n_rows:
                raise _errors.RangeError(f"index {chosen[i]} of a bitmask of {n_rows} rows")
        with nogil:
            status = c.tokfsm_rows_apply(words, n_words, row_words, logits, chosen, n_chosen, &err)
        check(status, &err)
    finally:
        PyMem_Free(chosen)


cdef object apply_bitmask(const c.tokfsm_logits *logits, bitmask, indices):
    cdef Py_buffer buffer
    cdef Bitmask b
    if type(bitmask) is Bitmask:
        b = <Bitmask>bitmask
        return apply_rows(logits, b._words, b.n_rows, b.n_words, b.n_words, indices)
    from tokfsm.bitmask import as_rows
    foreign = as_rows(bitmask, writable=False)
    PyObject_GetBuffer(foreign, &buffer, PyBUF_STRIDES)
    try:
        apply_rows(logits, <const uint32_t *>buffer.buf, buffer.shape[0], buffer.shape[1],
                   buffer.strides[0] // 4 if buffer.shape[0] > 1 else 0, indices)
    finally:
        PyBuffer_Release(&buffer)


def apply_to_buffer(logits not None, uint32_t kind, bitmask not None, indices):
    """Logits of one or two dimensions that can be written; `kind` is a TOKFSM_F* number."""
    cdef Py_buffer buffer
    cdef c.tokfsm_logits at
    PyObject_GetBuffer(logits, &buffer, PyBUF_STRIDES | PyBUF_WRITABLE)
    try:
        if not 1 <= buffer.ndim <= 2:
            raise ValueError(f"logits of {buffer.ndim} dimensions; expected [batch, width] or [width]")
        at.data = buffer.buf
        at.type = kind
        at.n_rows = buffer.shape[0] if buffer.ndim == 2 else 1
        at.row_stride = buffer.strides[0] if buffer.ndim == 2 else 0
        at.n_logits = buffer.shape[buffer.ndim - 1]
        at.stride = buffer.strides[buffer.ndim - 1]
        apply_bitmask(&at, bitmask, indices)
    finally:
        PyBuffer_Release(&buffer)


def apply_to_pointer(size_t address, uint32_t kind, shape, strides, bitmask not None, indices):
    """The same for memory that the caller answers for."""
    cdef c.tokfsm_logits at
    n_rows, n_logits = shape
    row_stride, stride = strides
    at.data = <void *>address
    at.type = kind
    at.n_rows = n_rows
    at.n_logits = n_logits
    at.stride = stride
    at.row_stride = row_stride
    apply_bitmask(&at, bitmask, indices)


apply_kernel = (<bytes>c.tokfsm_apply_kernel()).decode()
