cimport cython

from tokfsm cimport _ctokfsm as c


@cython.final
cdef class MaskView:
    cdef readonly object kind, row, ids, base, edits
    cdef readonly Py_ssize_t n_words


cdef MaskView make_view(c.tokfsm_matcher *handle, object matcher)
