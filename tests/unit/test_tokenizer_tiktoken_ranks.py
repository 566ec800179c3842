"""tiktoken rank files."""

from __future__ import annotations

import base64

import pytest

from tokfsm.errors import VocabularyError
from tokfsm.vocabulary import Vocabulary


def ranks(*tokens: tuple[bytes, int]) -> bytes:
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in tokens)


def load(tmp_path, data: bytes) -> list[bytes | None]:
    (tmp_path / "file").write_bytes(data)
    vocabulary = Vocabulary.from_file(tmp_path / "file")
    return [vocabulary.token_bytes(i) for i in range(vocabulary.size)]


def test_tokens_in_any_order_with_holes(tmp_path):
    assert load(tmp_path, ranks((b"\xff\x00", 3), (b" a", 0), (b"a", 1))) == [b" a", b"a", None, b"\xff\x00"]


@pytest.mark.parametrize("data", [b"\nYQ== 0\r\n\r\nYg== 1\r\n", b"YQ== 0\nYg== 1"])
def test_line_ends(tmp_path, data):
    assert load(tmp_path, data) == [b"a", b"b"]


def test_a_token_without_bytes(tmp_path):
    assert load(tmp_path, b"YQ== 0\n= 1\n") == [b"a", None]


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"YQ== 0\nYg==", "line 2"),
        (b"YQ== 0\nYg== 1 2\n", "line 2"),
        (b"YQ== 0\nYg== -1\n", "line 2"),
        (b"YQ== 0\nYg== 1234567890\n", "line 2"),
        (b"YQ== 0\nYg== 123456789\n", "123456789"),
        (b"YQ== 0\nY 1\n", "not base64"),
        (b"YQ== 0\nYg=!= 1\n", "not base64"),
        (b"YQ== 0\nYg== 0\n", "two tokens have the id 0"),
    ],
)
def test_errors(tmp_path, data, word):
    with pytest.raises(VocabularyError, match=word):
        load(tmp_path, data)
