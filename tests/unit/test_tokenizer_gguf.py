"""GGUF metadata, made here value by value."""

from __future__ import annotations

import struct

import pytest

from tokfsm.errors import VocabularyError
from tokfsm.vocabulary import Vocabulary

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def string(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data


def u32(value: int) -> bytes:
    return struct.pack("<II", 4, value)


def text(value: str) -> bytes:
    return struct.pack("<I", 8) + string(value)


def strings(values: list[str] | list[bytes]) -> bytes:
    return struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(string, values))


def numbers(values: list[int], code: str = "i", kind: int = 5) -> bytes:
    return struct.pack(f"<IIQ{len(values)}{code}", 9, kind, len(values), *values)


def gguf(pairs: dict[str, bytes], version: int = 3) -> bytes:
    body = b"".join(string(key) + value for key, value in pairs.items())
    return b"GGUF" + struct.pack("<IQQ", version, 1, len(pairs)) + body + bytes(100)  # and the tensors


def pairs(model: str, listed: list[tuple[str, int]], **more: bytes) -> dict[str, bytes]:
    return {
        "general.architecture": text("llama"),
        "general.alignment": u32(32),
        "llama.rope.freq_base": struct.pack("<If", 6, 1e4),
        "a.double": struct.pack("<Id", 12, 1.0),
        "a.bool": struct.pack("<I?", 7, True),
        "a.byte": struct.pack("<IB", 0, 7),
        "tokenizer.ggml.model": text(model),
        "tokenizer.ggml.scores": struct.pack(f"<IIQ{len(listed)}f", 9, 6, len(listed), *[0.0] * len(listed)),
        "tokenizer.ggml.tokens": strings([one for one, _ in listed]),
        "tokenizer.ggml.token_type": numbers([kind for _, kind in listed]),
        "tokenizer.ggml.merges": strings(["a b", "c d"]),
        **{f"tokenizer.ggml.{key}": value for key, value in more.items()},
    }


def load(tmp_path, data: bytes) -> Vocabulary:
    (tmp_path / "file").write_bytes(data)
    return Vocabulary.from_file(tmp_path / "file")


def tokens(vocabulary: Vocabulary) -> list[bytes | None]:
    return [vocabulary.token_bytes(i) for i in range(vocabulary.size)]


@pytest.mark.parametrize("version", [2, 3])
def test_byte_level(tmp_path, version):
    listed = [
        ("<s>", CONTROL),
        ("Ġa", NORMAL),
        ("Ã", NORMAL),
        ("é x", USER_DEFINED),  # plain text, whatever its characters
        ("é", USER_DEFINED),
        ("[PAD3]", UNUSED),
        ("?", UNKNOWN),
        ("日", NORMAL),  # not in the alphabet
        ("", NORMAL),
        ("<0x41>", BYTE),
    ]
    assert tokens(load(tmp_path, gguf(pairs("gpt2", listed), version))) == [
        None, b" a", b"\xc3", "é x".encode(), "é".encode(), None, None, "日".encode(), None, b"A",
    ]  # fmt: skip


def test_sentencepiece(tmp_path):
    listed = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("<0xE2>", BYTE), ("▁a", NORMAL), ("<0x41>", NORMAL)]
    assert tokens(load(tmp_path, gguf(pairs("llama", listed)))) == [None, None, b"\xe2", b" a", b"<0x41>"]


def test_stop_tokens_are_those_of_the_metadata(tmp_path):
    listed = [("a", NORMAL), ("b", CONTROL), ("c", CONTROL)]
    ids = {"eos_token_id": u32(1), "eot_token_id": u32(2), "eom_token_id": u32(1), "bos_token_id": u32(0)}
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": 0}')
    assert load(tmp_path, gguf(pairs("gpt2", listed, **ids))).stop_token_ids == (1, 2)
    assert load(tmp_path, gguf(pairs("gpt2", listed))).stop_token_ids == (0,)  # none there: those beside it


@pytest.mark.parametrize("model", ["bert", "t5", "rwkv", "none"])
def test_other_tokenizers_are_refused_by_name(tmp_path, model):
    with pytest.raises(VocabularyError, match=model):
        load(tmp_path, gguf(pairs(model, [("a", NORMAL)])))


def without(key: str) -> dict[str, bytes]:
    return {name: value for name, value in pairs("gpt2", [("a", NORMAL)]).items() if name != f"tokenizer.ggml.{key}"}


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (gguf(without("model")), "without a tokenizer"),
        (gguf(without("tokens")), "missing"),
        (gguf(without("token_type")), "control tokens cannot be told"),
        (gguf(pairs("gpt2", [("a", NORMAL)], token_type=numbers([1, 1]))), "different lengths"),
        (gguf(pairs("gpt2", [("a", NORMAL)], token_type=text("x"))), "missing"),
        (gguf(pairs("gpt2", [("a", NORMAL)], tokens=strings([b"\xff"]))), "not UTF-8"),
        (gguf(pairs("gpt2", [("a", 9)])), "unknown type 9"),
        (gguf(pairs("llama", [("a", BYTE)])), "byte token"),
        (gguf(pairs("gpt2", [], eos_token_id=u32(0))), "empty"),
        (gguf(pairs("gpt2", [("a", NORMAL)], eos_token_id=u32(1))), "stop token id 1"),
        (gguf(pairs("gpt2", [("a", NORMAL)], eos_token_id=text("a"))), "stop token id"),
        (gguf({"k": struct.pack("<I", 99)}), "unknown type 99"),
        (gguf({"k": struct.pack("<IIQ", 9, 99, 1)}), "unknown type 99"),
        (gguf({"k": struct.pack("<IIQ", 9, 8, 1 << 62)}), "cut off"),
        (gguf({"k": struct.pack("<IIQ", 9, 4, 1 << 62)}), "cut off"),
        (gguf({}, version=1), "version 1"),
        (gguf({}, version=3 << 24), "big-endian"),
        (b"GGUF", "cut off"),
    ],
)
def test_errors(tmp_path, data, word):
    with pytest.raises(VocabularyError, match=word):
        load(tmp_path, data)


def test_every_cut_in_the_metadata_is_an_error(tmp_path):
    data = gguf(pairs("gpt2", [("a", NORMAL)], eos_token_id=u32(0)))[:-100]
    load(tmp_path, data)  # the tensors are not needed
    for n in range(1, len(data)):
        with pytest.raises(VocabularyError):
            load(tmp_path, data[:n])
