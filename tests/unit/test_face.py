"""What a user meets first: arguments of the wrong kind, places in messages, a bitmask as an array."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokfsm
from tokfsm import dialect

JUNK: list[Any] = ["a", 3.7, -5, 2**70, [], {}, object(), b"x", np.float32(2), None]
VOCAB = tokfsm.Vocabulary.from_bytes([bytes([i]) for i in range(256)])
AUTOMATON = tokfsm.compile({"type": "array"}, VOCAB)
COUNTS = ["max_whitespace", "indent", "max_digits"]
WORDS = ["property_order", "additional_properties", "whitespace", "escapes", "numbers", "format", "unsupported",
         "draft"]


def bitmask() -> tokfsm.Bitmask:
    return tokfsm.allocate_token_bitmask(2, 256)


#: A parameter -> a call with it, and the words of which each message of a refusal has one.
CALLS: dict[str, tuple[Any, str]] = {
    "accept_token": (lambda j: AUTOMATON.matcher().accept_token(j), "token id"),
    "accept_tokens": (lambda j: AUTOMATON.matcher().accept_tokens(j), "token id"),
    "accept_tokens, one": (lambda j: AUTOMATON.matcher().accept_tokens([j]), "token id"),
    "validate_tokens": (lambda j: AUTOMATON.matcher().validate_tokens([j]), "token id"),
    "budget": (lambda j: AUTOMATON.matcher().fill_next_token_bitmask(bitmask(), budget=j), "budget"),
    "fill, bitmask": (lambda j: AUTOMATON.matcher().fill_next_token_bitmask(j), "bitmask"),
    "draft, row": (lambda j: AUTOMATON.matcher().fill_draft_bitmask([], bitmask(), j), "row"),
    "draft, parents": (lambda j: AUTOMATON.matcher().fill_draft_bitmask([91], bitmask(), parents=j), "parent"),
    "rollback": (lambda j: AUTOMATON.matcher().rollback(j), "n_tokens|roll"),
    "forced_bytes": (lambda j: AUTOMATON.matcher().forced_bytes(j), "most"),
    "crossing_tokens": (lambda j: AUTOMATON.matcher().crossing_tokens(b"x", j), "n_ahead"),
    "forced_tokens, context": (lambda j: AUTOMATON.matcher().forced_tokens(lambda t: [], [j]), "token"),
    "max_rollback": (lambda j: AUTOMATON.matcher(max_rollback=j), "max_rollback"),
    "stop_token_ids": (lambda j: AUTOMATON.matcher([j]), "stop id"),
    "limits": (lambda j: tokfsm.compile(True, VOCAB, limits=j), "limits"),
    "cancel": (lambda j: tokfsm.compile(True, VOCAB, cancel=j), "cancel"),
    "Limits": (lambda j: tokfsm.Limits(work_units=j), "work_units"),
    "CompilerCache": (lambda j: tokfsm.CompilerCache(VOCAB, j), "max_bytes"),
    "CompilerCache, entries": (lambda j: tokfsm.CompilerCache(VOCAB, max_entries=j), "max_entries"),
    "CompilerCache, threads": (lambda j: tokfsm.CompilerCache(VOCAB, threads=j), "threads"),
    "fill_batch": (lambda j: tokfsm.fill_batch([j], bitmask()), "matcher"),
    "fill_batch, threads": (lambda j: tokfsm.fill_batch([AUTOMATON.matcher()], bitmask(), threads=j), "threads"),
    "fill_batch, rows": (lambda j: tokfsm.fill_batch([AUTOMATON.matcher()], bitmask(), [j]), "row"),
    "fill_batch, budgets": (lambda j: tokfsm.fill_batch([AUTOMATON.matcher()], bitmask(), budgets=[j]), "budget"),
    "Bitmask, batch": (lambda j: tokfsm.Bitmask(j, 5), "batch"),
    "Bitmask, vocab_size": (lambda j: tokfsm.Bitmask(1, j), "vocab_size"),
    "allowed_tokens": (lambda j: bitmask().allowed_tokens(j), "row"),
    "from_bytes, stops": (lambda j: tokfsm.Vocabulary.from_bytes([b"a"], [j]), "stop token id"),
    "with_stop_token_ids": (lambda j: VOCAB.with_stop_token_ids([j]), "stop token id"),
    "token_bytes": (lambda j: VOCAB.token_bytes(j), "token_id|token id"),
    **{name: (lambda j, name=name: tokfsm.compile(True, VOCAB, **{name: j}), name) for name in [*COUNTS, *WORDS]},
}


@pytest.mark.parametrize("name", CALLS)
def test_a_message_names_the_parameter(name: str) -> None:
    call, words = CALLS[name]
    refusals = 0
    for junk in JUNK:
        try:
            call(junk)
        except (TypeError, ValueError) as error:
            refusals += 1
            assert re.search(words, str(error)), f"{name}({junk!r}): {error}"
    assert refusals >= 5


def test_more_than_any_memory_is_no_bitmask() -> None:
    with pytest.raises(MemoryError):
        tokfsm.Bitmask(2**31 - 1, 2**31 - 1)


@pytest.mark.parametrize("path", ["missing/x.tokfsm", "file/x.tokfsm"])
def test_a_failed_save_names_the_path_that_was_given(path: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError) as caught:
        AUTOMATON.save(tmp_path / path)
    assert caught.value.filename == str(tmp_path / path) and ".tmp" not in str(caught.value)
    assert type(caught.value) in (FileNotFoundError, NotADirectoryError)


@pytest.mark.parametrize(("schema", "pointer", "keyword", "words"), [
    ({"properties": {"a": {"pattern": "(a)\\1"}}}, "/properties/a/pattern", "pattern", "back-references"),
    ({"items": {"type": 5}}, "/items/type", "type", "type"),
    ({"type": "object", "required": ["a"], "properties": {"a": False}}, "/properties/a", None, 'the member "a"'),
    ({"type": "object", "required": ["a", "b"], "properties": {"a": {}}, "additionalProperties": False}, "",
     "required", 'the member "b"'),
    ({"allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": {"type": "array", "minItems": 1, "items": {
        "type": "object", "required": ["k"],
        "properties": {"k": {"type": "string", "minLength": 2, "maxLength": 1}}}}}},
     "/$defs/x/items/properties/k", None, 'the member "k"'),
    ({"type": "object", "required": ["a", "b"], "maxProperties": 1}, "", "maxProperties", "more members"),
    ({"allOf": [{"type": "string"}, {"type": "null"}]}, "", None, "no value"),
])
def test_a_message_has_the_place(schema: Any, pointer: str, keyword: str | None, words: str) -> None:
    with pytest.raises(tokfsm.SchemaError) as caught:
        tokfsm.compile(schema, VOCAB)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)
    assert words in caught.value.message and pointer in str(caught.value)
    assert keyword is None or f"keyword {keyword}" in str(caught.value)


# ---- $schema ----


def warned(schema: Any, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tokfsm.compile(schema, VOCAB, **options)
    assert all(one.category is tokfsm.TokfsmWarning and one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught]


def test_an_unknown_dialect_is_said_once() -> None:
    for uri in ("http://vendor.example/dialect#", "http://json-schema.org/draft-07/schema# ", "draft-07", ""):
        (said,) = warned({"$schema": uri})
        assert repr(uri) in said and "/$schema" in said and "2020-12" in said
        assert warned({"$schema": uri}, draft="7") == []
    assert warned({"$schema": "http://vendor.example/d#"}, resources={"http://vendor.example/d": {}}) == []


def test_a_mention_is_no_dialect() -> None:
    assert warned({"properties": {"$schema": {"type": "string"}}, "const": {"$schema": "http://x.example/"}}) == []
    assert warned({}) == [] and warned(True) == []


def test_the_dialects_are_those_of_the_compiler() -> None:
    source = Path(__file__).resolve().parents[2] / "csrc" / "schema" / "dialect.c"
    table = source.read_text(encoding="utf-8").split("metaschemas[] = {")[1].split("};")[0]
    assert set(re.findall(r'"([^"]+)"', re.sub(r"/\*.*?\*/", "", table))) == dialect.KNOWN
    for uri in dialect.KNOWN:
        for text in (f"http://{uri}", f"https://{uri}#", f"http://{uri}#"):
            assert warned({"$schema": text}) == [], text


# ---- Bitmask ----


def test_a_bitmask_is_its_array() -> None:
    mask = tokfsm.Bitmask(3, 70)
    assert (mask.shape, mask.ndim, mask.dtype, len(mask)) == ((3, 3), 2, np.dtype(np.int32), 3)
    mask[:] = 0
    mask[1, 2] = 5
    row = mask[1]
    assert np.shares_memory(row, mask.numpy()) and row.tolist() == [0, 0, 5]
    row[0] = -1
    assert [r.tolist() for r in mask] == [[0, 0, 0], [-1, 0, 5], [0, 0, 0]]
    assert np.shares_memory(np.asarray(mask), row) and np.array(mask).sum() == 4
    assert np.asarray(mask, dtype=np.int64).dtype == np.int64 and mask.__array__(copy=True).sum() == 4
    with pytest.raises(ValueError, match="copy"):
        mask.__array__(np.int64, copy=False)
    assert mask.allowed_tokens(1).tolist() == [*range(32), 64, 66] and mask.allowed_tokens().size == 0
    with pytest.raises(tokfsm.RangeError):
        mask.allowed_tokens(3)
    with pytest.raises(IndexError):
        mask[3]


def test_allowed_tokens_are_those_of_the_matcher() -> None:
    mask, matcher = bitmask(), AUTOMATON.matcher()
    matcher.fill_next_token_bitmask(mask, 1)
    assert mask.allowed_tokens(1).tolist() == [ord("[")] and mask.allowed_tokens(0).size == 256
