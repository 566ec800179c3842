"""Vocabulary: what each token id stands for, as bytes.

Token bytes in (from any reader in `tokfsm.tokenizer`, or a list); out: one blob with offsets, the
stop set, the fingerprint, and the pack built from them. Knows no reader and no file format.
Invariants: immutable; ids are 0 .. size - 1; a token without bytes (special, control, unused,
unknown, a hole among the ids) is an empty span of the blob and is never allowed; equal byte
strings under several ids are all kept. The stop set is no part of tokens, fingerprint or pack.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tokfsm import pack_cache
from tokfsm.arguments import as_int, as_list
from tokfsm.errors import TokfsmError, VocabularyError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_VOCAB_SIZE", "Vocabulary"]

MAX_VOCAB_SIZE = 1 << 24
"""Most ids; sixty times today's largest. An id past it is a mistake, not a token."""

_MAX_BLOB_BYTES = (1 << 32) - 1  # the pack's offsets are 32 bits wide

_pack_lock = threading.Lock()  # building is rare and heavy: one at a time, for all vocabularies


def _renew_pack_lock() -> None:
    """A child process must not wait for a thread that it does not have."""
    global _pack_lock
    _pack_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_pack_lock)


class _Tokens:
    """The part that vocabularies which differ only in their stop sets share."""

    __slots__ = ("blob", "fingerprint", "offsets", "pack")

    blob: bytes
    offsets: NDArray[np.uint64]
    fingerprint: str | None
    pack: Any

    def __init__(self, tokens: Sequence[bytes | None]) -> None:
        if not tokens:
            raise VocabularyError("the vocabulary has no token; expected at least one")
        if len(tokens) > MAX_VOCAB_SIZE:
            raise VocabularyError(f"the vocabulary has {len(tokens)} ids; at most {MAX_VOCAB_SIZE} are possible")
        spans = [token or b"" for token in tokens]
        self.blob = b"".join(spans)
        if not self.blob:
            raise VocabularyError("no token of the vocabulary has any bytes; nothing can be generated")
        if len(self.blob) > _MAX_BLOB_BYTES:
            raise VocabularyError(f"the tokens have {len(self.blob)} bytes; at most {_MAX_BLOB_BYTES} are possible")
        self.offsets = np.zeros(len(spans) + 1, dtype=np.uint64)
        np.cumsum(np.fromiter(map(len, spans), np.uint64, len(spans)), out=self.offsets[1:])
        self.offsets.flags.writeable = False
        self.fingerprint = None
        self.pack = None


@final
class Vocabulary:
    """The tokens of a tokenizer by id, and the ids that end a generation.

    Made by `from_file` or `from_bytes`. Immutable; may be shared among threads.
    """

    __slots__ = ("_stop_token_ids", "_tokens")

    _tokens: _Tokens
    _stop_token_ids: tuple[int, ...]

    def __init__(self, tokens: _Tokens, stop_token_ids: Iterable[int]) -> None:
        """Not for callers: use `from_file` or `from_bytes`."""
        if not isinstance(tokens, _Tokens):
            raise TypeError("use Vocabulary.from_file or Vocabulary.from_bytes")
        object.__setattr__(self, "_tokens", tokens)
        object.__setattr__(self, "_stop_token_ids", _checked_ids(stop_token_ids, self.size))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Vocabulary:
        """Read a tokenizer file or a model directory, recognised by content, not by name.

        Hugging Face ``tokenizer.json``, SentencePiece model, Mistral ``tekken.json``, tiktoken
        rank file, GGUF. In a directory the first of these that is there is read. The stop tokens
        are those that the configuration files beside it or the GGUF's own metadata declare, else
        none.

        Raises
        ------
        VocabularyError
            The file is missing, empty, cut off or of another kind, or its tokens have no fixed
            bytes (WordPiece); the message says what was found and what was expected.

        Source: each reader names its format's own.
        """
        from tokfsm.tokenizer import read_tokenizer

        return read_tokenizer(path)

    @classmethod
    def from_bytes(cls, tokens: Sequence[bytes | None], stop_token_ids: Iterable[int] = ()) -> Vocabulary:
        """Take the bytes of token ``i`` from ``tokens[i]``.

        Parameters
        ----------
        tokens : sequence of bytes or None
            None, or no bytes: this id is never allowed, except as a stop token.
        stop_token_ids : iterable of int
            Ids that end the generation; each below ``len(tokens)``.

        Raises
        ------
        VocabularyError
            No token has bytes, or a stop token id is out of range.
        TypeError
            A token is neither bytes nor None.
        """
        listed = as_list(tokens, "token's bytes or None")
        for token_id, token in enumerate(listed):
            if token is not None and not isinstance(token, bytes):
                raise TypeError(f"token {token_id} is a {type(token).__name__}; expected bytes or None")
        return cls(_Tokens(listed), stop_token_ids)

    def with_stop_token_ids(self, stop_token_ids: Iterable[int]) -> Vocabulary:
        """The same tokens with another stop set; fingerprint and pack are shared.

        Raises
        ------
        VocabularyError
            An id is out of range.
        """
        return Vocabulary(self._tokens, stop_token_ids)

    @property
    def size(self) -> int:
        """Number of ids: the highest id + 1, holes included."""
        return len(self._tokens.offsets) - 1

    @property
    def stop_token_ids(self) -> tuple[int, ...]:
        """Ids that end a generation, in the order declared; may be empty."""
        return self._stop_token_ids

    def token_bytes(self, token_id: int) -> bytes | None:
        """The bytes that a token stands for; None if it stands for no text.

        Raises
        ------
        VocabularyError
            The id is negative, or ``size`` or more.
        """
        index = as_int("token_id", token_id)
        if not 0 <= index < self.size:
            raise VocabularyError(f"token id {index} is out of range; expected 0 to {self.size - 1}")
        offsets = self._tokens.offsets
        return self._tokens.blob[int(offsets[index]) : int(offsets[index + 1])] or None

    @property
    def fingerprint(self) -> str:
        """Hexadecimal digest of ids and token bytes; the stop set is left out."""
        tokens = self._tokens
        if tokens.fingerprint is None:
            from tokfsm import _core

            tokens.fingerprint = _core.vocabulary_fingerprint(tokens.blob, tokens.offsets)
        return tokens.fingerprint

    @property
    def _blob(self) -> bytes:
        """All token bytes, in the order of ids."""
        return self._tokens.blob

    @property
    def _offsets(self) -> NDArray[np.uint64]:
        """uint64[size + 1], read-only: token i is ``_blob[_offsets[i]:_offsets[i + 1]]``."""
        return self._tokens.offsets

    @property
    def _pack(self) -> Any:
        """The C pack, from the cache on disk or built now; the same object for every thread."""
        tokens = self._tokens
        if tokens.pack is None:
            with _pack_lock:
                if tokens.pack is None:
                    tokens.pack = self._load_or_build_pack()
        return tokens.pack

    def _load_or_build_pack(self) -> Any:
        from tokfsm import _core

        version = _core.PACK_VERSION
        stored = pack_cache.load_pack(self.fingerprint, version)
        if stored is not None:
            try:
                pack = _core.Pack.open(stored)
                if pack.fingerprint == self.fingerprint:  # a renamed file is another vocabulary's
                    return pack
            except TokfsmError:
                pass  # cut off or damaged: replaced below
        pack = _core.Pack.build(self._blob, self._offsets)
        pack_cache.store_pack(self.fingerprint, version, pack.save())
        return pack

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Vocabulary is immutable; cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Vocabulary is immutable; cannot delete {name!r}")

    def __repr__(self) -> str:
        return f"Vocabulary(size={self.size}, stop_token_ids={self._stop_token_ids})"


def _checked_ids(ids: Iterable[int], size: int) -> tuple[int, ...]:
    """Stop token ids in order, without repeats, each one in range."""
    checked = tuple(dict.fromkeys(as_int("stop token id", one) for one in as_list(ids, "stop token id")))
    for one in checked:
        if not 0 <= one < size:
            raise VocabularyError(f"stop token id {one} is out of range; expected 0 to {size - 1}")
    return checked
