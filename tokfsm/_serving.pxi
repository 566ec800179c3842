# Included by _core.pyx: batches of matchers, masks as they lie in memory, masks over logits.


cdef size_t uint32_list(object given, object what, uint32_t **out) except? 0:
    """Numbers as a C array that the caller frees; how many."""
    cdef list listed = list(given)
    cdef size_t i = 0, n = len(listed)
    out[0] = <uint32_t *>PyMem_Malloc((n + 1) * sizeof(uint32_t))
    if out[0] == NULL:
        raise MemoryError()
    try:
        for one in listed:
            if not 0 <= one < 0xFFFFFFFF:
                raise _errors.RangeError(f"{what} {one} is out of range")
            out[0][i] = one
            i += 1
    except BaseException:
        PyMem_Free(out[0])
        out[0] = NULL
        raise
    return n


# ---- batches ----

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
                raise TypeError(f"matcher {i} of the batch is a {type(matchers[i]).__name__}")
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


def fill_batch(matchers, bitmask not None, rows=None, threads=1, *, budgets=None):
    cdef tuple held = tuple(matchers)
    cdef Py_buffer buffer
    cdef Bitmask b
    if not 1 <= threads <= 0xFFFF:
        raise ValueError(f"{threads} threads")
    rows = None if rows is None else list(rows)
    budgets = None if budgets is None else list(budgets)
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


# ---- the mask as it lies in memory ----

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
    """See the stub."""
    cdef readonly object kind, row, ids, base, edits
    cdef readonly Py_ssize_t n_words

    def __init__(self):
        raise TypeError("use matcher.mask_view()")

    def __repr__(self):
        return f"MaskView(kind={self.kind!r}, n_words={self.n_words})"


cdef tuple read_step(const c.tokfsm_mask_step *step, Matcher owner, bint lasting):
    if step.op == c.TOKFSM_STEP_SET_IDS:
        return ("set", words_view(step.at, step.n, owner, lasting), None)
    if step.op == c.TOKFSM_STEP_CLEAR_IDS:
        return ("clear", words_view(step.at, step.n, owner, lasting), None)
    if step.op == c.TOKFSM_STEP_SET_WORDS:
        return ("or", words_view(step.at, step.n, owner, True), words_view(step.bits, step.n, owner, True))
    return ("and", None, words_view(step.bits, step.n, owner, True))


cdef MaskView make_view(Matcher matcher):
    cdef c.tokfsm_error err
    cdef c.tokfsm_mask_view view
    cdef MaskView self = MaskView.__new__(MaskView)
    check(c.tokfsm_matcher_mask_view(matcher._handle, &view, &err), &err)
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


# ---- masks over logits ----

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
