"""The exception tree.

Three families that callers must be able to tell apart: *bad input* (`SchemaError`,
`VocabularyError`, `ArtifactError`, `BudgetError`), *over budget* (`LimitError`,
`CancelledError`) and *our bug* (`InternalError`). A message says what, where, and what to
do. An expected answer is not an error: a refused token is ``False``.

Every class also inherits the builtin that it resembles, so that code which knows nothing of
tokfsm catches it too.
"""

from __future__ import annotations

__all__ = [
    "ArtifactCorruptError",
    "ArtifactError",
    "ArtifactVersionError",
    "BitmaskError",
    "BudgetError",
    "BusyError",
    "CancelledError",
    "InternalError",
    "LimitError",
    "PackMissingError",
    "RangeError",
    "SchemaError",
    "TokfsmError",
    "UnsatisfiableSchemaError",
    "UnsupportedSchemaError",
    "VocabularyError",
    "VocabularyMismatchError",
]


class TokfsmError(Exception):
    """Base of every error that tokfsm raises on purpose (misuse of a type or an option apart).

    Attributes
    ----------
    batch_index : int or None
        From `fill_batch`: place in the batch of the matcher at fault.
    """

    batch_index: int | None = None


class TokfsmWarning(UserWarning):
    """Something was taken in one of several ways that a user may not have meant; the message says which."""


class SchemaError(TokfsmError, ValueError):
    """The schema is not a valid JSON Schema.

    Cause: it is no JSON text, or a keyword has a value of the wrong kind, or a reference
    leads nowhere.

    Attributes
    ----------
    pointer : str
        Where, as a JSON Pointer (RFC 6901) into the schema; ``""`` is the whole document. Into
        another document: its URI, ``#``, and the pointer.
    keyword : str or None
        The keyword at fault, where there is one.
    message : str
        What is wrong, alone; ``str(error)`` has the place behind it.
    """

    message: str
    pointer: str
    keyword: str | None

    def __init__(self, message: str, *, pointer: str = "", keyword: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.pointer = pointer
        self.keyword = keyword

    def __str__(self) -> str:
        if not self.pointer and not self.keyword:
            return self.message
        where = f"at {self.pointer}" if self.pointer else "at the root"
        return f"{self.message} ({where}, keyword {self.keyword})" if self.keyword else f"{self.message} ({where})"


class UnsupportedSchemaError(SchemaError, NotImplementedError):
    """A keyword that would have to be loosened.

    Cause: the schema is valid, but ``keyword`` at ``pointer`` cannot be enforced exactly.
    Remove it, or opt in to the loosening.
    """


class UnsatisfiableSchemaError(SchemaError):
    """No value can be generated.

    Cause: the schema at ``pointer`` admits no value, or each of its values needs a byte that
    the vocabulary does not have as a token.
    """


class LimitError(TokfsmError, RuntimeError):
    """More work or memory than the limits allow.

    Cause: nodes, states, frames or bytes went over ``limits``; the message says which. Raise
    that limit, or simplify the schema. Nothing that existed before the call has changed.
    """


class CancelledError(TokfsmError, RuntimeError):
    """The caller's ``Cancel`` was set while the work ran; nothing has changed."""


class VocabularyError(TokfsmError, ValueError):
    """A tokenizer that cannot be read, or a vocabulary that cannot be built.

    Cause: the file is missing, empty, cut off, of another kind or of a kind whose tokens have
    no fixed bytes (WordPiece); or a token id or stop token id is out of range.
    """


class ArtifactError(TokfsmError, ValueError):
    """An artifact that cannot be used; the children say why."""


class ArtifactVersionError(ArtifactError):
    """The artifact's format version is not one that this library reads.

    Cause: it was written by a newer or an incompatible version. Compile the schema again.
    """


class ArtifactCorruptError(ArtifactError):
    """The bytes are not a sound artifact.

    Cause: another kind of file, one that was cut off, or one whose contents fail verification.
    """


class VocabularyMismatchError(ArtifactError):
    """The artifact was compiled for another vocabulary: the fingerprints differ."""


class PackMissingError(ArtifactError, FileNotFoundError):
    """The artifact's vocabulary pack was not found.

    Cause: it was saved with ``embed_pack=False``, and no pack with its fingerprint lies beside
    it or in the user's cache. Give the vocabulary to ``load``, or save with the pack embedded.
    """


class BudgetError(TokfsmError, ValueError):
    """A token budget that is smaller than the shortest completion from here."""


class BitmaskError(TokfsmError, ValueError):
    """A bitmask that cannot take the mask: too narrow, read-only, or of another type."""


class RangeError(TokfsmError, IndexError, ValueError):
    """A token id outside the vocabulary, a row outside the batch, or more tokens to roll back
    than were accepted."""


class BusyError(TokfsmError, RuntimeError):
    """A matcher was used by two threads at once; it has one owner at a time."""


class InternalError(TokfsmError, RuntimeError):
    """A bug in tokfsm: an invariant did not hold. Please report it with the schema."""
