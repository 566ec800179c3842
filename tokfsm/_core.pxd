# What the modules of this library share; the C library is linked to all of them.
from libc.stdint cimport uint8_t, uint32_t

cimport cython

from tokfsm cimport _ctokfsm as c


@cython.final
cdef class Automaton:
    cdef c.tokfsm_automaton *_handle


cdef int wrong_number(object value, str what, str allowed) except -1
cdef int fail(c.tokfsm_status status, c.tokfsm_error *err) except -1
cdef size_t uint32_list(object given, str what, uint32_t **out) except? 0


cdef inline int check(c.tokfsm_status status, c.tokfsm_error *err) except -1:
    if status != c.TOKFSM_OK:
        return fail(status, err)
    return 0


cdef inline bytes take_bytes(uint8_t *data, size_t n_bytes):
    """A copy; the C library's own is freed."""
    try:
        return (<char *>data)[:n_bytes]
    finally:
        c.tokfsm_bytes_free(NULL, data)


cdef inline const uint32_t *first_id(const uint32_t[::1] ids) noexcept:
    return &ids[0] if ids.shape[0] else NULL


cdef inline Py_ssize_t as_number(object value) except? -2:
    """An integer; -1 for what is none or does not fit: `wrong_number` says so."""
    try:
        return value
    except (TypeError, OverflowError):
        return -1
