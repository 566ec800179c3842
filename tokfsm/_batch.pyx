# cython: language_level=3, boundscheck=False, wraparound=False
"""Rows of many matchers at once, by threads."""

from cpython.buffer cimport PyBUF_STRIDES, PyBUF_WRITABLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int32_t, uint32_t

cimport cython

from tokfsm cimport _ctokfsm as c
from tokfsm._bitmask cimport Bitmask
from tokfsm._core cimport check, fail, uint32_list
from tokfsm._matcher cimport Matcher

from threading import Lock as _Lock

from tokfsm import errors as _errors
from tokfsm.arguments import as_count, as_list


@cython.final
cdef class Workers:
    """Threads that wait for batches."""
    cdef c.tokfsm_workers *_handle

    def __cinit__(self, uint32_t n_threads):
        cdef c.tokfsm_error err
        check(c.tokfsm_workers_new(n_threads, NULL, &self._handle, &err), &err)

    def __dealloc__(self):
        c.tokfsm_workers_free(self._handle)


cdef Workers _workers = None  # those of the widest batch so far
_workers_lock = _Lock()


cdef Workers workers_for(uint32_t n_threads):
    """At least n_threads helpers that are this process's (a child of fork() makes its own)."""
    global _workers
    with _workers_lock:
        if _workers is None or c.tokfsm_workers_count(_workers._handle) < n_threads:
            _workers = Workers(n_threads)
        return _workers


cdef object fill_rows(tuple matchers, uint32_t *words, size_t n_rows, size_t n_words,
                      size_t row_words, rows, budgets, uint32_t n_threads):
    cdef c.tokfsm_error err
    cdef c.tokfsm_status status
    cdef int32_t need_apply = 0
    cdef size_t n = len(matchers), i
    cdef uint32_t *row = NULL
    cdef uint32_t *budget = NULL
    cdef c.tokfsm_workers *helpers = NULL
    cdef Workers pool = None
    cdef c.tokfsm_matcher **handles = <c.tokfsm_matcher **>PyMem_Malloc((n + 1) * sizeof(void *))
    if handles == NULL:
        raise MemoryError()
    try:
        for i in range(n):
            if type(matchers[i]) is not Matcher:
                raise TypeError(f"matcher {i} of the batch is a {type(matchers[i]).__name__}; "
                                "expected a tokfsm.Matcher")
            handles[i] = (<Matcher>matchers[i])._handle
        if rows is not None and uint32_list(rows, "row", &row) != n:
            raise ValueError(f"{len(rows)} rows for {n} matchers")
        if budgets is not None:
            given = [c.TOKFSM_UNBOUNDED - 1 if one is None else one for one in budgets]
            if uint32_list(given, "budget", &budget) != n:
                raise ValueError(f"{len(given)} budgets for {n} matchers")
            for i in range(n):
                if budgets[i] is None:
                    budget[i] = c.TOKFSM_UNBOUNDED
        if n_threads > 1:
            pool = workers_for(n_threads - 1)
            helpers = pool._handle
        with nogil:
            status = c.tokfsm_fill_batch(<c.tokfsm_matcher *const *>handles, n, words, n_rows,
                                         n_words, row_words, row, budget, helpers, n_threads,
                                         &need_apply, &err)
        if status != c.TOKFSM_OK:
            try:
                fail(status, &err)
            except _errors.TokfsmError as error:
                error.batch_index = err.where
                raise
        return need_apply != 0
    finally:
        PyMem_Free(handles)
        PyMem_Free(row)
        PyMem_Free(budget)


def fill_batch(matchers, bitmask, rows=None, threads=1, *, budgets=None):
    """Fill one row for each matcher, without the GIL.

    Parameters
    ----------
    matchers : iterable of Matcher
        Each once; of any automata, and forks of one another.
    bitmask : Bitmask
        Or any writable int32/uint32 buffer ``[batch, words]``, or a torch CPU tensor of it.
    rows : iterable of int, optional
        The row of each matcher, each once; default: 0, 1, 2 …
    threads : int
        To use at most, this one included: 1 to 65535. Fewer than 64 rows are filled by this one alone unless
        that takes longer than waking others. The others sleep between calls. More threads than free cores
        make it slower.
    budgets : iterable of int or None, optional
        As `Matcher.fill_next_token_bitmask` takes it, one for each matcher.

    Returns
    -------
    bool
        False where every id of the vocabulary is allowed in every row.

    Raises
    ------
    BusyError
        A matcher is there twice, or in use by another thread; nothing is written.
    RangeError
        A row is outside the bitmask or there twice; nothing is written.
    BudgetError, BitmaskError, LimitError
        What `Matcher.fill_next_token_bitmask` raises, of the failing matcher that comes first: its row is as it was,
        those of the others are written. The message names row and matcher; `batch_index` is the matcher's place.
    ValueError, TypeError
        Another number of rows or budgets than of matchers; `threads` is out of its range; a matcher is none.

    Other threads may work with other matchers, or fill other batches, at the same time.
    """
    cdef tuple held = tuple(as_list(matchers, "matcher"))
    cdef Py_buffer buffer
    cdef Bitmask b
    threads = as_count("threads", threads, 1, 0xFFFF)
    rows = None if rows is None else as_list(rows, "row")
    budgets = None if budgets is None else as_list(budgets, "budget")
    if type(bitmask) is Bitmask:
        b = <Bitmask>bitmask
        return fill_rows(held, b._words, b.n_rows, b.n_words, b.n_words, rows, budgets, threads)
    from tokfsm.bitmask import as_rows
    foreign = as_rows(bitmask)
    PyObject_GetBuffer(foreign, &buffer, PyBUF_STRIDES | PyBUF_WRITABLE)
    try:
        if buffer.shape[1] == 0:
            raise _errors.BitmaskError("the bitmask has no words")
        if buffer.shape[0] > 1 and (buffer.strides[0] < buffer.shape[1] * 4 or buffer.strides[0] % 4):
            raise _errors.BitmaskError("the rows of the bitmask overlap or run backwards")
        return fill_rows(held, <uint32_t *>buffer.buf, buffer.shape[0], buffer.shape[1],
                         buffer.strides[0] // 4 if buffer.shape[0] > 1 else buffer.shape[1],
                         rows, budgets, threads)
    finally:
        PyBuffer_Release(&buffer)
