"""SentencePiece model -> token bytes.

Of the protocol buffer only the list of pieces is read: text and type, in the order of ids. U+2581
is a space in every piece, wherever in the text it stands: that the library drops the first one of
a text is a rule of its decoder, not of the token.

Source: google/sentencepiece ``sentencepiece_model.proto``; Protocol Buffers, Encoding.
"""

from __future__ import annotations

from collections.abc import Iterator

from tokfsm.errors import VocabularyError
from tokfsm.tokenizer.table import TokenTable, byte_token, table_from_pairs

__all__ = ["BYTE", "CONTROL", "NORMAL", "UNKNOWN", "UNUSED", "USER_DEFINED", "looks_like", "piece_bytes", "read"]

# SentencePiece.Type; GGUF numbers its token types alike
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)

_PIECES, _DENORMALIZER = 1, 5  # fields of ModelProto
_PIECE_TEXT, _PIECE_TYPE = 1, 3  # of ModelProto.SentencePiece
_CHARSMAP = 2  # of NormalizerSpec

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types


def looks_like(head: bytes) -> bool:
    """Whether a file that starts so is one: field 1, a message, that starts with field 1, a text."""
    if len(head) < 4 or head[0] != 0x0A:
        return False
    inner = 2 + (head[1] >= 0x80)  # a piece of 128 bytes or more has a length of two bytes
    return head[inner] == 0x0A


def piece_bytes(text: str, kind: int, where: str) -> bytes | None:
    """The bytes of a piece by its type, in SentencePiece's spelling.

    Raises
    ------
    VocabularyError
        The type is unknown, or a byte piece is not of the form ``<0xNN>``.
    """
    if kind == NORMAL or kind == USER_DEFINED:
        return text.replace("\u2581", " ").encode("utf-8") or None
    if kind == BYTE:
        byte = byte_token(text)
        if byte is None:
            raise VocabularyError(f"{where} is the byte token {text[:40]!r}; expected <0xNN>")
        return byte
    if kind in (UNKNOWN, CONTROL, UNUSED):
        return None
    raise VocabularyError(f"{where} has the unknown type {kind}")


def read(data: bytes, name: str) -> TokenTable:
    """Read the whole model.

    Raises
    ------
    VocabularyError
        The protocol buffer is cut off or malformed, or holds no pieces; or the model rewrites the
        text after decoding (a denormalizer), so that its tokens have no bytes of their own.
    """
    tokens: list[tuple[int, bytes | None]] = []
    names: dict[str, int] = {}
    for field, value in _fields(data, name):
        if field == _PIECES and isinstance(value, bytes):
            where = f"{name}: piece {len(tokens)}"
            text, kind = _piece(value, where)
            names.setdefault(text, len(tokens))
            tokens.append((len(tokens), piece_bytes(text, kind, where)))
        elif field == _DENORMALIZER and isinstance(value, bytes) and _has_rules(value, name):
            raise VocabularyError(f"{name}: a SentencePiece model with a denormalizer is not supported")
    return TokenTable(table_from_pairs(tokens, name), names.get)


def _has_rules(normalizer: bytes, where: str) -> bool:
    return any(field == _CHARSMAP and rules for field, rules in _fields(normalizer, where))


def _piece(message: bytes, where: str) -> tuple[str, int]:
    text, kind = "", NORMAL
    for field, value in _fields(message, where):
        if field == _PIECE_TEXT and isinstance(value, bytes):
            try:
                text = value.decode("utf-8")
            except UnicodeDecodeError:
                raise VocabularyError(f"{where} is not UTF-8: {value[:40]!r}") from None
        elif field == _PIECE_TYPE and isinstance(value, int):
            kind = value
    return text, kind


def _fields(message: bytes, where: str) -> Iterator[tuple[int, int | bytes]]:
    """The fields of one protocol buffer message, in order: number and value."""
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at, where)
        field, wire = tag >> 3, tag & 7
        if field == 0:
            raise VocabularyError(f"{where}: not a SentencePiece model (malformed protocol buffer)")
        if wire == _VARINT:
            value, at = _varint(message, at, where)
            yield field, value
            continue
        if wire == _BYTES:
            length, at = _varint(message, at, where)
        elif wire in (_FIXED32, _FIXED64):
            length = 4 if wire == _FIXED32 else 8
        else:
            raise VocabularyError(f"{where}: not a SentencePiece model (malformed protocol buffer)")
        if length > end - at:
            raise VocabularyError(f"{where}: a SentencePiece model that is cut off (or not one)")
        yield field, message[at : at + length]
        at += length


def _varint(message: bytes, at: int, where: str) -> tuple[int, int]:
    """A base-128 integer and the offset after it."""
    value = shift = 0
    while at < len(message) and shift < 64:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise VocabularyError(f"{where}: a SentencePiece model that is cut off (or not one)")
