from libc.stdint cimport uint32_t

cimport cython


@cython.final
cdef class Bitmask:
    cdef uint32_t *_words
    cdef readonly Py_ssize_t n_rows, n_words, vocab_size
    cdef Py_ssize_t _shape[2]
    cdef Py_ssize_t _strides[2]


cdef object locate_rows(object bitmask, uint32_t **words, Py_ssize_t *n_rows, size_t *n_words, size_t *stride)
