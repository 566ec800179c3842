"""GGUF model file -> token bytes, from the metadata in its header.

Only the header and the key-value pairs are read, not the tensors; the file is mapped. Tokens come
either in GPT-2's byte-level alphabet (``tokenizer.ggml.model`` is ``gpt2``) or in SentencePiece's
spelling (``llama``); user-defined tokens of the former are plain text, as llama.cpp has it. Stop
tokens: the end-of-sequence, -turn and -message ids of the metadata.

Source: ggml-org/ggml ``docs/gguf.md``; ggml-org/llama.cpp ``src/llama-vocab.cpp``
(``token_to_piece``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tokfsm.errors import VocabularyError
from tokfsm.tokenizer import bytelevel
from tokfsm.tokenizer.sentencepiece_model import NORMAL, USER_DEFINED, piece_bytes
from tokfsm.tokenizer.table import TokenTable, table_from_pairs, token_id

__all__ = ["MAGIC", "read"]

MAGIC = b"GGUF"

_PREFIX = "tokenizer.ggml."
_STOP_KEYS = ("eos_token_id", "eot_token_id", "eom_token_id")
_WANTED = {_PREFIX + key for key in ("model", "tokens", "token_type", *_STOP_KEYS)}

# metadata value types: struct codes of the plain ones; 8 is a string, 9 an array
_PLAIN = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


class _Buffer(Protocol):
    """What is asked of the file's contents; bytes and mmap have it."""

    def __len__(self) -> int: ...
    def __getitem__(self, key: slice, /) -> bytes: ...


def read(data: Any, name: str) -> TokenTable:
    """Read the tokenizer out of the metadata.

    Parameters
    ----------
    data : bytes or mmap
        The file's contents, from its first byte.

    Raises
    ------
    VocabularyError
        The header is cut off or malformed, of a version other than 2 or 3, or holds no tokenizer
        or one of another kind.
    """
    values = _Header(data, name).wanted()
    kind = values.get(_PREFIX + "model")
    if kind is None:
        raise VocabularyError(f"{name}: a GGUF file without a tokenizer; expected {_PREFIX}model")
    if kind not in (b"gpt2", b"llama"):
        raise VocabularyError(
            f"{name}: a GGUF file with the tokenizer {_printable(kind)}; expected 'gpt2' (byte-level BPE)"
            f" or 'llama' (SentencePiece)"
        )
    texts: Any = values.get(_PREFIX + "tokens")
    types: Any = values.get(_PREFIX + "token_type")
    if not _list_of(texts, bytes) or not _list_of(types, int) or len(texts) != len(types):
        raise VocabularyError(
            f"{name}: {_PREFIX}tokens and {_PREFIX}token_type are missing or of different lengths;"
            f" without types, control tokens cannot be told from text"
        )
    token_bytes = _byte_level_bytes if kind == b"gpt2" else piece_bytes
    tokens = table_from_pairs(enumerate(_convert(texts, types, token_bytes, name)), name)
    stops = [values[_PREFIX + key] for key in _STOP_KEYS if _PREFIX + key in values]
    for one in stops:
        if token_id(one, f"{name}: a stop token id") >= len(tokens):
            raise VocabularyError(f"{name}: stop token id {one} of a vocabulary of {len(tokens)}")
    names = {text: one for one, text in enumerate(texts)}

    def find(text: str) -> int | None:
        return names.get(text.encode("utf-8", "surrogatepass"))

    return TokenTable(tokens, find, tuple(dict.fromkeys(stops)))


def _convert(
    texts: Sequence[bytes],
    types: Sequence[int],
    token_bytes: Callable[[str, int, str], bytes | None],
    name: str,
) -> list[bytes | None]:
    tokens = []
    for index, (raw, kind) in enumerate(zip(texts, types)):
        where = f"{name}: token {index}"
        try:
            tokens.append(token_bytes(raw.decode("utf-8"), kind, where))
        except UnicodeDecodeError:
            raise VocabularyError(f"{where} is not UTF-8: {raw[:40]!r}") from None
    return tokens


def _byte_level_bytes(text: str, kind: int, where: str) -> bytes | None:
    if kind == NORMAL:
        return bytelevel.decode(text) or None
    if kind == USER_DEFINED:
        return text.encode("utf-8") or None
    return piece_bytes(text, kind, where)


def _list_of(value: object, kind: type) -> bool:
    return isinstance(value, list) and all(type(one) is kind for one in value)


def _printable(value: object) -> str:
    return repr(value.decode("utf-8", "replace")[:40] if isinstance(value, bytes) else value)


class _Header:
    """A cursor over the key-value pairs."""

    def __init__(self, data: _Buffer, name: str) -> None:
        self._data, self._name, self._at = data, name, 4  # past the magic
        self._end = len(data)
        version = self._plain("I")
        if version & 0xFFFF == 0:
            raise VocabularyError(f"{name}: a big-endian GGUF file; expected a little-endian one")
        if version not in (2, 3):
            raise VocabularyError(f"{name}: GGUF version {version}; expected 2 or 3")
        self._plain("Q")  # number of tensors
        self._n_pairs = self._plain("Q")

    def wanted(self) -> dict[str, Any]:
        """The values that make the tokenizer, strings as bytes; all others are stepped over."""
        values: dict[str, Any] = {}
        for _ in range(self._n_pairs):
            key = self._string().decode("utf-8", "replace")
            kind = self._plain("I")
            keep = key in _WANTED
            if kind == _ARRAY:
                value: Any = self._array(keep)
            else:
                value = self._string() if kind == _STRING else self._plain(self._code(kind))
            if keep:
                values[key] = value
        return values

    def _array(self, keep: bool) -> list[Any] | None:
        kind, length = self._plain("I"), self._plain("Q")
        if kind == _STRING:
            return self._strings(length, keep)
        code = self._code(kind)
        raw = self._bytes(length * struct.calcsize("<" + code))
        return list(struct.unpack(f"<{length}{code}", raw)) if keep else None

    def _strings(self, length: int, keep: bool) -> list[bytes] | None:
        # half a million merges are stepped over here: one call a string
        unpack, data, at, end = struct.Struct("<Q").unpack_from, self._data, self._at, self._end
        strings: list[bytes] = []
        for _ in range(length):
            if end - at < 8:
                raise self._cut_off()
            n = unpack(data, at)[0]  # type: ignore[arg-type]
            at += 8
            if n > end - at:
                raise self._cut_off()
            if keep:
                strings.append(data[at : at + n])
            at += n
        self._at = at
        return strings if keep else None

    def _string(self) -> bytes:
        return self._bytes(self._plain("Q"))

    def _plain(self, code: str) -> Any:
        return struct.unpack("<" + code, self._bytes(struct.calcsize("<" + code)))[0]

    def _bytes(self, n: int) -> bytes:
        if n > self._end - self._at:
            raise self._cut_off()
        self._at += n
        return self._data[self._at - n : self._at]

    def _code(self, kind: int) -> str:
        code = _PLAIN.get(kind)
        if code is None:
            raise VocabularyError(f"{self._name}: a GGUF file with a metadata value of unknown type {kind}")
        return code

    def _cut_off(self) -> VocabularyError:
        return VocabularyError(f"{self._name}: a GGUF file that is cut off in its metadata")
