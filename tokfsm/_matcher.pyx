# cython: language_level=3, boundscheck=False, wraparound=False
"""A position in a text. `fill_next_token_bitmask` and `accept_token` are the hot path: one type
check, one number, one call.
"""

from libc.stdint cimport SIZE_MAX, int32_t, uint8_t, uint32_t

cimport cython
import numpy

from tokfsm cimport _ctokfsm as c
from tokfsm._bitmask cimport Bitmask, locate_rows
from tokfsm._core cimport Automaton, as_number, check, first_id, take_bytes, wrong_number
from tokfsm._mask_view cimport make_view

from tokfsm import errors as _errors
from tokfsm.arguments import as_count, as_ids, as_parents


def start_matcher(Automaton automaton not None, stop_token_ids, max_rollback):
    """What `tokfsm.Automaton.matcher` does."""
    cdef c.tokfsm_error err
    cdef Matcher self = Matcher.__new__(Matcher)
    cdef const uint32_t[::1] ids
    cdef const uint32_t *stops = NULL
    cdef size_t n_ids = 0
    cdef uint32_t most = c.TOKFSM_UNBOUNDED, nothing = 0
    if max_rollback is not None:
        most = as_count("max_rollback", max_rollback, 0, 0xFFFFFFFE)
    if stop_token_ids is not None:
        ids = as_ids(stop_token_ids, "stop id")
        n_ids = ids.shape[0]
        stops = first_id(ids) if n_ids else &nothing  # NULL would be the default set
    check(c.tokfsm_matcher_new(automaton._handle, stops, n_ids, most, &self._handle, &err), &err)
    self._automaton = automaton
    return self


cdef int wrong_row(object row, Py_ssize_t n_rows) except -1:
    return wrong_number(row, "row", f"the bitmask has {n_rows} rows")


cdef inline uint32_t read_budget(object budget) except? 0:
    """None: unbounded; more than a uint32 is as good."""
    cdef Py_ssize_t n
    if budget is None:
        return c.TOKFSM_UNBOUNDED
    n = as_number(budget)
    if n < 0:
        if isinstance(budget, int) and budget > 0:
            return 0xFFFFFFFE
        wrong_number(budget, "budget", "it must be a number of tokens, 0 or more")
    return <uint32_t>min(n, 0xFFFFFFFE)


cdef inline bint fill(Matcher self, uint32_t *words, size_t n_words, object budget) except -1:
    cdef c.tokfsm_error err
    cdef int32_t need_apply = 1
    cdef uint32_t most = read_budget(budget)
    check(c.tokfsm_matcher_fill(self._handle, words, n_words, most, &need_apply, &err), &err)
    return need_apply != 0


@cython.final
cdef class Matcher:
    """A position in a text: which tokens may come next, and what came.

    Made by `tokfsm.Automaton.matcher`. One owner at a time; use by two threads at once
    raises `BusyError`. Source: docs/format.md.
    """

    def __init__(self):
        raise TypeError("use automaton.matcher()")

    def __dealloc__(self):
        c.tokfsm_matcher_free(self._handle)

    def fill_next_token_bitmask(self, bitmask, Py_ssize_t row=0, *, budget=None):
        """Write the exact set of tokens that may come next into ``bitmask[row]``.

        Parameters
        ----------
        bitmask : Bitmask
            Fastest; or any writable int32/uint32 buffer ``[batch, words]`` or ``[words]``, or
            a torch CPU tensor of it. Bits at and past the vocabulary size become 0.
        row : int
        budget : int, optional
            Tokens left for the value, the stop token not counted. Only tokens are allowed
            after which the value can still be completed within ``budget - 1``.

        Returns
        -------
        bool
            False where every id of the vocabulary is allowed; the row is written anyway.

        Raises
        ------
        BudgetError
            ``budget`` is less than `min_tokens`.
        BitmaskError
            The row is too narrow for an id that can be allowed, read-only or of another type.
        RangeError, BusyError, LimitError
            In every case the row and the matcher are unchanged.
        """
        if type(bitmask) is not Bitmask:
            return fill_foreign(self, bitmask, row, budget)
        cdef Bitmask b = <Bitmask>bitmask
        if not 0 <= row < b.n_rows:
            wrong_row(row, b.n_rows)
        return fill(self, b._words + row * b.n_words, b.n_words, budget)

    def mask_view(self):
        """What `fill_next_token_bitmask` would write, as it lies in memory.

        Raises
        ------
        BusyError, LimitError
        """
        return make_view(self._handle, self)

    def accept_token(self, token_id):
        """Advance by one token; False: refused, nothing changed.

        Raises
        ------
        RangeError
            The id is negative or outside the vocabulary (ids of a wider row's padding are refused).
        """
        cdef c.tokfsm_error err
        cdef int32_t accepted = 0
        cdef Py_ssize_t id  # by __index__: a float is no id
        try:
            id = token_id
        except (TypeError, OverflowError):
            id = -1
        if not 0 <= <long long>id < <long long>0xFFFFFFFF:
            wrong_number(token_id, "token id", f"the vocabulary has 0 to {self._automaton.vocab_size - 1}")
        check(c.tokfsm_matcher_accept(self._handle, <uint32_t>id, &accepted, &err), &err)
        return accepted != 0

    def accept_tokens(self, token_ids):
        """Advance by all of the tokens or by none; False: one of them is refused, nothing changed."""
        cdef c.tokfsm_error err
        cdef int32_t accepted = 0
        cdef const uint32_t[::1] ids = as_ids(token_ids, "token id")
        check(c.tokfsm_matcher_accept_all(self._handle, first_id(ids), ids.shape[0], &accepted, &err),
              &err)
        return accepted != 0

    def validate_tokens(self, token_ids):
        """How many of the tokens, from the first on, could be accepted. The matcher does not move."""
        cdef c.tokfsm_error err
        cdef size_t n = 0
        cdef const uint32_t[::1] ids = as_ids(token_ids, "token id")
        check(c.tokfsm_matcher_validate(self._handle, first_id(ids), ids.shape[0], &n, &err), &err)
        return n

    def fill_draft_bitmask(self, draft_tokens, bitmask, row=0, *, parents=None,
                           budget=None):
        """Masks at all places of a draft, for speculative decoding. The matcher does not move.

        Row ``row`` gets the mask at the matcher's position, row ``row + i + 1`` the one behind
        draft token ``i``; each is what `fill_next_token_bitmask` writes after the tokens that
        lead there. Behind a token that is not allowed all ids of the vocabulary are: no
        verification gets there, and a row of refusals alone would become NaN.

        Parameters
        ----------
        draft_tokens : iterable of int
            ``n`` ids.
        bitmask : as of `fill_next_token_bitmask`, with room for ``n + 1`` rows
        parents : iterable of int, optional
            A tree: the index of the token that token ``i`` follows, less than ``i``; -1: the
            matcher's position. Default: a chain.
        budget : int, optional
            At the matcher's position; each token uses one. A token after which the value could
            not be completed in the rest is not allowed.

        Returns
        -------
        int
            How many draft tokens are allowed, with all those before them; in a chain, the
            length of the part that can be accepted. Which ones: the bit of a token in the row
            of its parent.

        Raises
        ------
        RangeError
            An id outside the vocabulary, a parent that does not come before, too few rows.
        BudgetError, BitmaskError, BusyError, LimitError
            In every case the rows and the matcher are unchanged.
        """
        cdef c.tokfsm_error err
        cdef size_t n_words, stride, n_legal = 0
        cdef Py_ssize_t n_rows
        cdef uint32_t *words
        cdef const uint32_t[::1] ids = as_ids(draft_tokens, "draft token id")
        cdef Py_ssize_t n = ids.shape[0]
        cdef const int32_t[::1] tree = None if parents is None else as_parents(parents, n)
        cdef const int32_t *before = &tree[0] if parents is not None and n else NULL
        rows = locate_rows(bitmask, &words, &n_rows, &n_words, &stride)
        cdef Py_ssize_t at = as_number(row)
        if at < 0:
            wrong_number(row, "row", f"it must be 0 to {n_rows - 1}")
        if n + 1 > n_rows - at:
            raise _errors.RangeError(
                f"{n} draft tokens need {n + 1} rows from row {row} on, of a batch of {n_rows}")
        check(c.tokfsm_matcher_fill_draft(self._handle, first_id(ids), before, n,
                                          words + <size_t>at * stride, n_words, stride,
                                          read_budget(budget), NULL, &n_legal, &err), &err)
        return n_legal

    def forced_bytes(self, most=None):
        """The longest text, of at most ``most`` bytes, with which every completion from here
        begins; empty where the value is complete. It may end within a character."""
        cdef c.tokfsm_error err
        cdef uint8_t *data
        cdef size_t n_bytes
        cdef size_t limit = SIZE_MAX if most is None else min(as_count("most", most, 0, None), SIZE_MAX)
        check(c.tokfsm_matcher_forced_bytes(self._handle, limit, &data, &n_bytes, &err), &err)
        return take_bytes(data, n_bytes)

    def forced_tokens(self, tokenizer, context=()):
        """The ids that the tokenizer writes next whatever is to follow: those common to
        ``encode(context + completion)`` for all completions, behind the context.

        They can be appended and accepted without asking the model, and the text stays cut as the
        model has learned it: no id is forced that could be merged with what may follow. Never
        more than the common ids; fewer only where a merge that looks possible is not, and none
        where the context is not cut as the tokenizer would, or it normalises the text. Where the
        tokenizer puts a space before each text (SentencePiece), what counts is how it writes
        context and completion behind a prompt, without that space.

        Parameters
        ----------
        tokenizer
            An object with ``encode`` (transformers, tokenizers, tiktoken, mlx-lm, …), or a
            function from text to ids. Byte-pair encodings.
        context : iterable of int
            Ids that stand before; what was generated so far, at least. Only those behind the
            last special token matter.
        """
        from tokfsm.forced import forced_tokens
        return forced_tokens(self, self._automaton.token_bytes, tokenizer, context)

    def crossing_tokens(self, const uint8_t[::1] text not None, n_ahead):
        """Tokens that begin inside ``text`` and reach into what can follow it, each with the
        number of its bytes that lie in ``text``. The last ``n_ahead`` bytes follow the position."""
        cdef c.tokfsm_error err
        cdef const uint8_t *bytes = &text[0] if text.shape[0] else NULL
        cdef size_t n = 256, ahead = as_count("n_ahead", n_ahead, 0, text.shape[0])
        cdef uint32_t[:, ::1] found
        while True:
            found = numpy.empty((2, n), numpy.uint32)
            check(c.tokfsm_matcher_crossing(self._handle, bytes, text.shape[0], ahead, &found[0, 0],
                                            &found[1, 0], found.shape[1], &n, &err), &err)
            if <Py_ssize_t>n <= found.shape[1]:
                return [(found[0, i], found[1, i]) for i in range(n)]

    def rollback(self, n_tokens):
        """Undo the last ``n_tokens`` accepted, stop tokens included; RangeError past the history."""
        cdef c.tokfsm_error err
        cdef Py_ssize_t n = as_number(n_tokens)
        if not 0 <= n <= 0xFFFFFFFF:
            wrong_number(n_tokens, "n_tokens", f"{self.n_accepted} can be rolled back")
        check(c.tokfsm_matcher_rollback(self._handle, <uint32_t>n, &err), &err)

    def fork(self):
        """Another matcher at this position; the two go on independently."""
        cdef c.tokfsm_error err
        cdef Matcher copy = Matcher.__new__(Matcher)
        check(c.tokfsm_matcher_fork(self._handle, &copy._handle, &err), &err)
        copy._automaton = self._automaton
        return copy

    def reset(self):
        """Back to the start; the history is dropped."""
        cdef c.tokfsm_error err
        check(c.tokfsm_matcher_reset(self._handle, &err), &err)

    @property
    def is_complete(self):
        """Whether the text so far is a whole valid value."""
        return (c.tokfsm_matcher_state(self._handle) & c.TOKFSM_STATE_COMPLETE) != 0

    def is_terminated(self):
        """Whether a stop token came, or nothing can follow and there is no stop token."""
        return (c.tokfsm_matcher_state(self._handle) & c.TOKFSM_STATE_TERMINATED) != 0

    @property
    def min_tokens(self):
        """Completion bound: tokens in which the value can surely be completed; 0 when complete."""
        cdef c.tokfsm_error err
        cdef uint32_t n = 0
        check(c.tokfsm_matcher_bound(self._handle, &n, &err), &err)
        return n

    @property
    def n_accepted(self):
        """Tokens that `rollback` can undo."""
        return c.tokfsm_matcher_n_accepted(self._handle)

    def check_bytes(self, const uint8_t[::1] data not None):
        """How many of ``data``'s bytes may follow, whether they complete the value, and which
        bytes could come after those taken. The matcher does not move."""
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
    if not 0 <= row < <Py_ssize_t>rows.shape[0]:
        wrong_row(row, rows.shape[0])
    cdef uint32_t[::1] words = rows[row]
    if words.shape[0] == 0:
        raise _errors.BitmaskError("the bitmask has no words")
    return fill(matcher, &words[0], words.shape[0], budget)
