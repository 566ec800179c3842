"""Types of the extension; the classes that users meet are documented here."""

from collections.abc import Iterable
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

from tokfsm.compiler import Limits

PACK_VERSION: int
ABI_VERSION: int

def vocabulary_fingerprint(blob: Buffer, offsets: NDArray[np.uint64]) -> str: ...
def artifact_probe(data: Buffer) -> tuple[str, bool]: ...
def apply_to_buffer(logits: Buffer, kind: int, bitmask: Any, indices: Iterable[int] | None) -> None: ...
def apply_to_pointer(address: int, kind: int, shape: tuple[int, int], strides: tuple[int, int], bitmask: Any,
                     indices: Iterable[int] | None) -> None: ...

apply_kernel: str  #: instructions that laying masks over logits uses on this processor

def fill_batch(matchers: Iterable[Matcher], bitmask: Any, rows: Iterable[int] | None = None, threads: int = 1, *,
               budgets: Iterable[int | None] | None = None) -> bool:
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
        To use at most, this one included. Fewer than 64 rows are filled by this one alone unless that takes
        longer than waking others. The others sleep between calls. More threads than free cores make it slower.
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

    Other threads may work with other matchers, or fill other batches, at the same time.
    """

@final
class Cancel:
    """A flag that stops a compile: set it from any thread; `CancelledError` is raised there."""

    def __init__(self) -> None: ...
    def set(self) -> None: ...
    @property
    def is_set(self) -> bool: ...

@final
class Pack:
    """The vocabulary pack; immutable, shared by threads."""

    @staticmethod
    def build(blob: Buffer, offsets: NDArray[np.uint64]) -> Pack: ...
    @staticmethod
    def open(data: Buffer) -> Pack: ...
    def save(self) -> bytes: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def max_closes(self) -> int: ...

@final
class Automaton:
    """The C handle under `tokfsm.Automaton`."""

    @staticmethod
    def compile(schema: bytes, resources: list[tuple[bytes, bytes]], pack: Pack, stop_ids: Iterable[int],
                options: dict[str, int], limits: Limits | None, cancel: Cancel | None) -> Automaton: ...
    @staticmethod
    def open(data: Buffer, pack: Pack | None, limits: Limits | None) -> Automaton: ...
    def precompile(self, cancel: Cancel | None = None) -> None: ...
    def save(self, embed_pack: bool, cancel: Cancel | None = None) -> bytes: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def stop_token_ids(self) -> tuple[int, ...]: ...
    @property
    def schema(self) -> bytes | None: ...
    def pack_bytes(self) -> bytes: ...
    def relaxed(self) -> list[tuple[str, str, str]]: ...
    def options(self) -> dict[str, int]: ...
    def statistics(self) -> dict[str, int]: ...
    def matcher(self, stop_token_ids: Iterable[int] | None, max_rollback: int | None) -> Matcher: ...

@final
class Bitmask:
    """Rows of token masks: int32 ``[batch, ceil(vocab_size / 32)]``, bit ``t % 32`` of word
    ``t // 32`` is token ``t``, least significant bit first, 1 = allowed.

    Owns its memory and gives it through the buffer protocol and DLPack, without a copy. New
    rows are all ones. Not locked: one writer at a time.
    """

    def __init__(self, batch: int, vocab_size: int) -> None: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_words(self) -> int: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def numpy(self) -> NDArray[np.int32]:
        """The rows as an array that shares this memory."""
    def __dlpack__(self, **kwargs: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

@final
class MaskView:
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

    kind: str
    row: memoryview | None
    ids: memoryview | None
    base: memoryview | None
    edits: tuple[tuple[str, memoryview | None, memoryview | None], ...] | None
    n_words: int

@final
class Matcher:
    """A position in a text: which tokens may come next, and what came.

    Made by `tokfsm.Automaton.matcher`. One owner at a time; use by two threads at once
    raises `BusyError`. Source: docs/format.md.
    """

    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0, *, budget: int | None = None) -> bool:
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
    def mask_view(self) -> MaskView:
        """What `fill_next_token_bitmask` would write, as it lies in memory.

        Raises
        ------
        BusyError, LimitError
        """
    def accept_token(self, token_id: int) -> bool:
        """Advance by one token; False: refused, nothing changed.

        Raises
        ------
        RangeError
            The id is negative or outside the vocabulary (ids of a wider row's padding are refused).
        """
    def rollback(self, n_tokens: int) -> None:
        """Undo the last ``n_tokens`` accepted, stop tokens included; RangeError past the history."""
    def fork(self) -> Matcher:
        """Another matcher at this position; the two go on independently."""
    def reset(self) -> None:
        """Back to the start; the history is dropped."""
    @property
    def is_complete(self) -> bool:
        """Whether the text so far is a whole valid value."""
    def is_terminated(self) -> bool:
        """Whether a stop token came, or nothing can follow and there is no stop token."""
    @property
    def min_tokens(self) -> int:
        """Completion bound: tokens in which the value can surely be completed; 0 when complete."""
    @property
    def n_accepted(self) -> int:
        """Tokens that `rollback` can undo."""
    def check_bytes(self, data: Buffer) -> tuple[int, bool, bytes]:
        """How many of ``data``'s bytes may follow, whether they complete the value, and which
        bytes could come after those taken. The matcher does not move."""
