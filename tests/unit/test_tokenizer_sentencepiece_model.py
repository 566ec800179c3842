"""SentencePiece models, made here byte by byte."""

from __future__ import annotations

import struct

import pytest

from tokfsm.errors import VocabularyError
from tokfsm.tokenizer.sentencepiece_model import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED
from tokfsm.vocabulary import Vocabulary


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def message(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def piece(text: str, kind: int | None = None, score: float = -1.0) -> bytes:
    content = message(1, text.encode()) + b"\x15" + struct.pack("<f", score)
    return message(1, content if kind is None else content + b"\x18" + varint(kind))


def load(tmp_path, data: bytes) -> list[bytes | None]:
    (tmp_path / "file").write_bytes(data)
    vocabulary = Vocabulary.from_file(tmp_path / "file")
    return [vocabulary.token_bytes(i) for i in range(vocabulary.size)]


def test_each_type(tmp_path):
    model = b"".join(
        [
            piece("<unk>", UNKNOWN),
            piece("<s>", CONTROL),
            piece("<0x0A>", BYTE),
            piece("<0xff>", BYTE),
            piece("▁a▁", NORMAL),
            piece("é"),  # no type: NORMAL
            piece("[X]▁", USER_DEFINED),
            piece("gone", UNUSED),
            piece("<0x41>", NORMAL),  # looks like a byte and is none
            piece("", NORMAL),
            piece("▁a▁", NORMAL),
            message(2, b"\x08\x01"),  # trainer_spec
            message(5, message(1, b"identity")),  # a denormalizer that does nothing
            b"\x59" + bytes(8),  # an unknown field of 64 bits
        ]
    )
    assert load(tmp_path, model) == [
        None, None, b"\n", b"\xff", b" a ", "é".encode(), b"[X] ", None, b"<0x41>", None, b" a ",
    ]  # fmt: skip


def test_a_first_piece_of_more_than_127_bytes(tmp_path):
    assert load(tmp_path, piece("x" * 200)) == [b"x" * 200]


def test_every_cut_is_an_error_or_a_shorter_vocabulary(tmp_path):
    model = piece("a") + piece("bc") + message(2, b"\x08\x01")
    ends = {len(piece("a")), len(piece("a") + piece("bc"))}
    for n in range(1, len(model)):
        if n in ends:
            assert load(tmp_path, model[:n])[0] == b"a"
        else:
            with pytest.raises(VocabularyError):
                load(tmp_path, model[:n])


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (piece("a") + piece("b")[:-2], "piece 1|cut off"),
        (piece("a") + b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "cut off"),
        (piece("a") + b"\x0b", "malformed"),  # wire type 3
        (piece("a") + b"\x02\x00", "malformed"),  # field 0
        (piece("a") + piece("b", 9), "unknown type 9"),
        (piece("a") + piece("<0x0>", BYTE), "byte token"),
        (piece("a") + message(1, message(1, b"\xff")), "not UTF-8"),
        (piece("a") + message(5, message(2, b"rules")), "denormalizer"),
        (piece("<s>", CONTROL), "no token"),
    ],
)
def test_errors(tmp_path, data, word):
    with pytest.raises(VocabularyError, match=word):
        load(tmp_path, data)
