"""Hugging Face tokenizer.json: every decoder that maps tokens to bytes, and refusals of the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tokfsm.errors import VocabularyError
from tokfsm.vocabulary import Vocabulary

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
REPLACE = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
FALLBACK = {"type": "ByteFallback"}
FUSE = {"type": "Fuse"}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": False}


def sequence(*decoders: object) -> dict[str, Any]:
    return {"type": "Sequence", "decoders": list(decoders)}


def added(one: int, text: str, special: bool) -> dict[str, Any]:
    return {"id": one, "content": text, "special": special, "lstrip": False, "rstrip": False}


def document(
    texts: list[str], decoder: object, added_tokens: list[dict[str, Any]] | None = None, **model: object
) -> dict[str, Any]:
    bpe = {"type": "BPE", "vocab": {text: i for i, text in enumerate(texts)}, "merges": [], **model}
    return {"version": "1.0", "added_tokens": added_tokens or [], "decoder": decoder, "model": bpe}


def load(tmp_path: Path, value: object) -> Vocabulary:
    path = tmp_path / "file"
    path.write_text(json.dumps(value), encoding="utf-8")
    return Vocabulary.from_file(path)


def tokens(vocabulary: Vocabulary) -> list[bytes | None]:
    return [vocabulary.token_bytes(i) for i in range(vocabulary.size)]


def refusal(tmp_path: Path, value: object) -> str:
    with pytest.raises(VocabularyError) as caught:
        load(tmp_path, value)
    message = str(caught.value)
    assert message.startswith(str(tmp_path / "file"))
    assert "\n" not in message
    return message


def test_byte_level(tmp_path):
    vocabulary = load(tmp_path, document(["a", "Ġb", "Ã", "©Ċ"], BYTE_LEVEL))
    assert tokens(vocabulary) == [b"a", b" b", b"\xc3", b"\xa9\n"]


def test_byte_level_added_tokens_go_through_the_decoder(tmp_path):
    extra = [
        added(2, "<|end|>", True),
        added(3, "<tool_call>", False),
        added(4, "é", False),  # the decoder takes it for the byte E9
        added(5, "x y", False),  # a space is not in the alphabet: plain text
        added(6, "日本", False),
        added(7, "Ġz", False),
    ]
    vocabulary = load(tmp_path, document(["a", "b"], BYTE_LEVEL, extra))
    assert tokens(vocabulary)[2:] == [None, b"<tool_call>", b"\xe9", b"x y", "日本".encode(), b" z"]


@pytest.mark.parametrize(
    "decoder",
    [
        sequence(REPLACE, FALLBACK, FUSE),
        sequence(REPLACE, FALLBACK, FUSE, STRIP),
        sequence(FALLBACK, METASPACE, FUSE),
        sequence(FALLBACK, METASPACE),
    ],
)
def test_metaspace_with_byte_fallback(tmp_path, decoder):
    texts = ["<0x0A>", "<0xe9>", "a", "▁b", "▁▁", "c▁d", "\n", "é", "<0xZZ>", "<0x0AB>"]
    assert tokens(load(tmp_path, document(texts, decoder, byte_fallback=True))) == [
        b"\n", b"\xe9", b"a", b" b", b"  ", b"c d", b"\n", "é".encode(), b"<0xZZ>", b"<0x0AB>",
    ]  # fmt: skip


def test_without_byte_fallback_a_byte_token_is_its_text(tmp_path):
    assert tokens(load(tmp_path, document(["<0x0A>", "▁a"], METASPACE))) == [b"<0x0A>", b" a"]


def test_metaspace_with_another_replacement(tmp_path):
    assert tokens(load(tmp_path, document(["_a", "▁"], {"type": "Metaspace", "replacement": "_"}))) == [
        b" a",
        "▁".encode(),
    ]


def test_replace_before_byte_level(tmp_path):
    assert tokens(load(tmp_path, document(["a▁", "Ġ"], sequence({**REPLACE, "content": "Ġ"}, BYTE_LEVEL)))) == [
        b"a ",
        b" ",
    ]


def test_unigram(tmp_path):
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["▁a", -1.5], ["b", -2]]}
    vocabulary = load(tmp_path, {"model": model, "decoder": METASPACE, "added_tokens": [added(3, "<m>", False)]})
    assert tokens(vocabulary) == [None, b" a", b"b", b"<m>"]


def test_unigram_keeps_pieces_that_occur_twice(tmp_path):
    model = {"type": "Unigram", "unk_id": None, "vocab": [["a", 0.0], ["a", -1.0]]}
    assert tokens(load(tmp_path, {"model": model, "decoder": METASPACE})) == [b"a", b"a"]


def test_special_unknown_and_empty_tokens_and_holes_have_no_bytes(tmp_path):
    value = document(
        ["a", "?", "", "<s>"], sequence(FUSE), [added(3, "<s>", True), added(7, "x", False)], unk_token="?"
    )
    vocabulary = load(tmp_path, value)
    assert vocabulary.size == 8
    assert tokens(vocabulary) == [b"a", None, None, None, None, None, None, b"x"]


def test_added_token_in_the_vocabulary_keeps_the_id_it_has_there(tmp_path):
    assert tokens(load(tmp_path, document(["a", "<s>"], BYTE_LEVEL, [added(9, "<s>", True)]))) == [b"a", None]


def test_equal_bytes_under_several_ids_are_kept(tmp_path):
    vocabulary = load(tmp_path, document(["<0x61>", "a"], sequence(FALLBACK, FUSE), [added(2, "b", False)]))
    assert tokens(vocabulary) == [b"a", b"a", b"b"]


def test_model_without_a_type(tmp_path):
    value = document(["a"], BYTE_LEVEL)
    del value["model"]["type"]
    assert tokens(load(tmp_path, value)) == [b"a"]
    unigram = {"model": {"vocab": [["a", 0.0]], "unk_id": None}, "decoder": METASPACE}
    assert tokens(load(tmp_path, unigram)) == [b"a"]
    word_piece = {"model": {"vocab": {"a": 0}, "max_input_chars_per_word": 100}, "decoder": METASPACE}
    assert "WordPiece" in refusal(tmp_path, word_piece)


@pytest.mark.parametrize("kind", ["WordPiece", "WordLevel"])
def test_other_models_are_refused_by_name(tmp_path, kind):
    assert kind in refusal(tmp_path, document(["a"], {"type": "WordPiece", "prefix": "##"}, type=kind))


@pytest.mark.parametrize(
    ("decoder", "word"),
    [
        (None, "no decoder"),
        ({"type": "WordPiece", "prefix": "##"}, "WordPiece"),
        ({"type": "BPEDecoder", "suffix": "</w>"}, "BPEDecoder"),
        ({"type": "CTC"}, "CTC"),
        ({}, "None"),
        (sequence(FUSE, BYTE_LEVEL), "after Fuse"),
        (sequence(FUSE, REPLACE), "after Fuse"),
        (sequence(STRIP, FUSE), "Strip"),
        (sequence(FUSE, {**STRIP, "content": "{"}), "Strip"),
        (sequence(FALLBACK, BYTE_LEVEL), "both"),
        (sequence({**REPLACE, "pattern": {"Regex": "a+"}}, FUSE), "pattern"),
        (sequence({**REPLACE, "pattern": {"String": ""}}, FUSE), "empty pattern"),
        (sequence({**REPLACE, "content": None}, FUSE), "without its text"),
        (sequence("Fuse"), "no steps"),
        ({"type": "Sequence"}, "no steps"),
    ],
)
def test_decoders_that_are_no_map_from_tokens_to_bytes(tmp_path, decoder, word):
    assert word in refusal(tmp_path, document(["a"], decoder))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"model": None}, "model"),
        ({"model": []}, "model"),
        ({"model": {"type": "BPE"}}, "no vocabulary"),
        ({"model": {"type": "BPE", "vocab": {}, "merges": []}}, "empty"),
        ({"model": {"type": "Unigram", "vocab": ["a"]}}, "entry 0"),
        ({"model": {"type": "Magic", "vocab": {"a": 0}}}, "Magic"),
        ({"model": {"type": "BPE", "vocab": {"a": -1}}}, "-1"),
        ({"model": {"type": "BPE", "vocab": {"a": "0"}}}, "integer"),
        ({"model": {"type": "BPE", "vocab": {"a": True}}}, "integer"),
        ({"model": {"type": "BPE", "vocab": {"a": 1 << 40}}}, "1099511627776"),
        ({"model": {"type": "BPE", "vocab": {"a": 1, "b": 1}}}, "two tokens have the id 1"),
        ({"model": {"type": "BPE", "vocab": {"\ud800": 0}}}, "surrogate"),
        ({"model": {"type": "BPE", "vocab": {"": 0}}}, "no token"),
        ({"added_tokens": {}}, "added_tokens"),
        ({"added_tokens": [1]}, "added token 0"),
        ({"added_tokens": [{"content": "x"}]}, "id"),
        ({"added_tokens": [{"id": 1.5, "content": "x"}]}, "1.5"),
    ],
)
def test_malformed_parts(tmp_path, change, word):
    assert word in refusal(tmp_path, {**document(["a"], BYTE_LEVEL), **change})
