"""Mistral tekken.json."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tokfsm.errors import VocabularyError
from tokfsm.vocabulary import Vocabulary


def document(tokens: list[bytes], n_special: int, size: int) -> dict[str, Any]:
    vocab = [
        {"rank": i, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for i, token in enumerate(tokens)
    ]
    config = {"pattern": "", "default_vocab_size": size, "default_num_special_tokens": n_special, "version": "v3"}
    return {"config": config, "vocab": vocab}


def load(tmp_path, value: object) -> Vocabulary:
    (tmp_path / "file").write_text(json.dumps(value))
    return Vocabulary.from_file(tmp_path / "file")


def test_special_tokens_come_first_and_the_tail_is_cut(tmp_path):
    vocabulary = load(tmp_path, document([b"\x00", b" a", b"\xff", b"not there"], 2, 5))
    assert [vocabulary.token_bytes(i) for i in range(vocabulary.size)] == [None, None, b"\x00", b" a", b"\xff"]
    assert vocabulary.stop_token_ids == ()


def test_stop_token_by_the_name_of_a_special_token(tmp_path):
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "</s>"}')
    special = [{"rank": 0, "token_str": "<s>", "is_control": True}, {"rank": 1, "token_str": "</s>"}]
    assert load(tmp_path, {**document([b"a"], 2, 3), "special_tokens": special}).stop_token_ids == (1,)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"config": {}}, "default_num_special_tokens"),
        ({"config": {"default_num_special_tokens": 2, "default_vocab_size": 2}}, "no ordinary token"),
        ({"config": {"default_num_special_tokens": 2, "default_vocab_size": "4"}}, "default_vocab_size"),
        ({"config": {"default_num_special_tokens": 2, "default_vocab_size": 9}}, "3 tokens where its config says 9"),
        ({"vocab": [1]}, "entry 0"),
        ({"vocab": [{"token_bytes": "YQ=="}]}, "rank"),
        ({"vocab": [{"rank": 0, "token_bytes": "Y"}]}, "base64"),
        ({"vocab": [{"rank": 0, "token_bytes": "é"}]}, "base64"),
        ({"vocab": [{"rank": 0}]}, "base64"),
        ({"vocab": [{"rank": 0, "token_bytes": "YQ=="}] * 2}, "two tokens have the id 2"),
        ({"special_tokens": {"a": 1}}, "no list"),
        ({"special_tokens": [{"rank": 0}]}, "token_str"),
        ({"special_tokens": [{"rank": 2, "token_str": "<s>"}]}, "expected less than 2"),
    ],
)
def test_errors(tmp_path, change, word):
    with pytest.raises(VocabularyError, match=word):
        load(tmp_path, {**document([b"a"], 2, 3), **change})
