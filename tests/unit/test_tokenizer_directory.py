"""Telling files apart by content, model directories, and the stop tokens declared beside a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tokfsm.errors import VocabularyError
from tokfsm.vocabulary import Vocabulary

HF = {
    "added_tokens": [
        {"id": 3, "content": "<eos>", "special": True},
        {"id": 4, "content": "<eot>", "special": True},
    ],
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "Ġ": 2}, "merges": []},
}
RANKS = b"YQ== 0\nYg== 1\n"


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def message(path: object) -> str:
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.from_file(path)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_name_of_a_file_does_not_matter(tmp_path):
    write(tmp_path / "x.gguf", HF)
    (tmp_path / "tokenizer.json").write_bytes(RANKS)
    assert Vocabulary.from_file(tmp_path / "x.gguf").size == 5
    assert Vocabulary.from_file(str(tmp_path / "tokenizer.json")).size == 2


def test_json_after_a_byte_order_mark_and_white_space(tmp_path):
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbf \n" + json.dumps(HF).encode())
    assert Vocabulary.from_file(tmp_path / "f").size == 5


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "empty"),
        (b" \n", "blank"),
        (b"\x89PNG\r\n\x1a\n\x00", "PNG image"),
        (b"\xff\xd8\xff\xe0", "JPEG"),
        (b"%PDF-1.7", "PDF"),
        (b"PK\x03\x04abc", "ZIP"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
        (b"<!doctype html>", "HTML"),
        (b"[PAD]\n[UNK]\n##ing\n", "WordPiece"),
        (b"#version: 0.2\nt h\n", "merges"),
        (b"[1, 2]", "no object"),
        (b'"a"', "no object"),
        (b"\x00\x01\x02\x03", "unknown kind"),
        (b"hello world, this is text", "unknown kind"),
        (b"{", "not valid JSON, or cut off"),
        (json.dumps(HF).encode()[:-9], "not valid JSON, or cut off"),
        (b'{"model": "\xff"}', "not valid JSON, or cut off"),
        (b'{"model": ' + b"[" * 200_000, "nested too deeply"),
        (b"{}", "nothing"),
        (b'{"a": 0, "b": 1}', "'a', 'b', but no tokenizer"),
        (b'{"model": 1}', "model"),
    ],
)
def test_other_files(tmp_path, data, word):
    path = tmp_path / "file"
    path.write_bytes(data)
    found = message(path)
    assert word in found
    assert found.startswith(str(path))
    assert "expected" in found


def test_missing_paths_and_things_that_are_no_files(tmp_path):
    assert str(tmp_path / "absent") in message(tmp_path / "absent")
    assert "not a path" in message("a\0b")
    assert "without a tokenizer" in message(tmp_path)
    with pytest.raises(TypeError):
        Vocabulary.from_file(3.5)  # type: ignore[arg-type]
    if os.path.exists("/dev/null"):
        assert "not a regular file" in message("/dev/null")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="a superuser can read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path = write(tmp_path / "f", HF)
    path.chmod(0)
    assert "cannot be read" in message(path)


def test_directory_prefers_tokenizer_json(tmp_path):
    (tmp_path / "tokenizer.model").write_bytes(RANKS)
    assert Vocabulary.from_file(tmp_path).size == 2  # a rank file, as Llama 3 has it under this name
    write(tmp_path / "tokenizer.json", HF)
    assert Vocabulary.from_file(tmp_path).size == 5


def test_directory_with_one_file_that_fits_a_pattern(tmp_path):
    (tmp_path / "qwen.tiktoken").write_bytes(RANKS)
    write(tmp_path / "config.json", {"model_type": "x"})
    (tmp_path / "mmproj-model.gguf").write_bytes(b"GGUF")
    assert Vocabulary.from_file(tmp_path).size == 2


def test_directory_with_several_is_not_guessed(tmp_path):
    for name in ("tokenizer.model.v3", "tekken_240911.json"):
        (tmp_path / name).write_bytes(RANKS)
    found = message(tmp_path)
    assert "several" in found
    assert "tokenizer.model.v3" in found


def test_split_gguf_is_read_from_its_first_part(tmp_path):
    (tmp_path / "m-00001-of-00012.gguf").write_bytes(RANKS)
    for part in range(2, 13):
        (tmp_path / f"m-{part:05}-of-00012.gguf").write_bytes(b"GGUF")
    assert Vocabulary.from_file(tmp_path).size == 2


@pytest.mark.parametrize(
    ("files", "stops"),
    [
        ({}, ()),
        ({"generation_config.json": {"eos_token_id": [4, 3, 4]}}, (4, 3)),
        ({"generation_config.json": {"eos_token_id": 3}}, (3,)),
        ({"generation_config.json": {"eos_token_id": None}}, ()),
        ({"tokenizer_config.json": {"eos_token": "<eot>"}}, (4,)),
        ({"tokenizer_config.json": {"eos_token": {"content": "<eos>", "special": True}}}, (3,)),
        ({"tokenizer_config.json": {"eos_token_id": 3, "eos_token": "<eot>"}}, (3, 4)),
        ({"tokenizer_config.json": {"eos_token": None}}, ()),
        ({"special_tokens_map.json": {"eos_token": "<eot>"}}, (4,)),
        ({"generation_config.json": {"eos_token_id": 3}, "tokenizer_config.json": {"eos_token": "<eot>"}}, (3, 4)),
        ({"config.json": {"eos_token_id": 3}}, (3,)),
        ({"config.json": {"text_config": {"eos_token_id": [4]}}}, (4,)),
        # the architecture's default does not count beside a declaration
        ({"config.json": {"eos_token_id": 1}, "tokenizer_config.json": {"eos_token": "<eot>"}}, (4,)),
    ],
)
def test_stop_tokens(tmp_path, files, stops):
    write(tmp_path / "tokenizer.json", HF)
    for name, value in files.items():
        write(tmp_path / name, value)
    assert Vocabulary.from_file(tmp_path).stop_token_ids == stops
    assert Vocabulary.from_file(tmp_path / "tokenizer.json").stop_token_ids == stops


def test_stop_tokens_beside_a_file_in_the_working_directory(tmp_path, monkeypatch):
    write(tmp_path / "t.json", HF)
    write(tmp_path / "generation_config.json", {"eos_token_id": 4})
    monkeypatch.chdir(tmp_path)
    assert Vocabulary.from_file("t.json").stop_token_ids == (4,)


def test_a_declared_id_past_the_file_is_an_id_without_bytes(tmp_path):
    (tmp_path / "q.tiktoken").write_bytes(RANKS)
    added = {"5": {"content": "<|im_end|>", "special": True}}
    write(tmp_path / "tokenizer_config.json", {"eos_token": "<|im_end|>", "added_tokens_decoder": added})
    vocabulary = Vocabulary.from_file(tmp_path)
    assert vocabulary.size == 6
    assert vocabulary.stop_token_ids == (5,)
    assert vocabulary.token_bytes(5) is None


def test_a_declared_name_that_no_token_has(tmp_path):
    write(tmp_path / "tokenizer.json", HF)
    write(tmp_path / "tokenizer_config.json", {"eos_token": "<nope>"})
    with pytest.warns(UserWarning, match="<nope>") as caught:
        assert Vocabulary.from_file(tmp_path).stop_token_ids == ()
    assert Path(caught[0].filename) == Path(__file__)


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("generation_config.json", '{"eos_token_id": -1}', "-1"),
        ("generation_config.json", '{"eos_token_id": "3"}', "eos_token_id"),
        ("generation_config.json", '{"eos_token_id": [true]}', "True"),
        ("generation_config.json", '{"eos_token_id": 1e9}', "eos_token_id"),
        ("generation_config.json", '{"eos_token_id": 99999999999}', "99999999999"),
        ("generation_config.json", '{"eos_token_id"', "cut off"),
        ("generation_config.json", "[]", "list"),
        ("tokenizer_config.json", '{"eos_token": 3}', "eos_token is '3'"),
        ("config.json", "", "cut off"),
    ],
)
def test_malformed_configuration_names_its_file(tmp_path, name, content, word):
    write(tmp_path / "tokenizer.json", HF)
    (tmp_path / name).write_text(content)
    found = message(tmp_path)
    assert found.startswith(str(tmp_path / name))
    assert word in found
