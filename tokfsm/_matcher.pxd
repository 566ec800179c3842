cimport cython

from tokfsm cimport _ctokfsm as c
from tokfsm._core cimport Automaton


@cython.final
cdef class Matcher:
    cdef c.tokfsm_matcher *_handle
    cdef readonly Automaton _automaton
