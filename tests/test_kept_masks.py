"""Masks in artifacts: they are those that would be made, they are used, and a stranger's do no harm.

Witness: the same artifact without its masks section, which makes every mask anew (and is compared
with the oracle elsewhere).

Source: docs/format.md, section 5.
"""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

import tokfsm
from schemas import COUNTED, RICH, TINY, Probe, SchemaMaker, make_options, make_tokens
from test_artifact import MASKS, PACK, put_together, refused, sections_of, walk
from tokfsm import _core
from tokfsm._matcher import start_matcher

LETTERS = [bytes([b]) for b in range(256)]
TOKENS: list[bytes | None] = [*LETTERS, b'{"', b'":', b'"}', b'",', b' "', b"ab", b"na", b"name", b"12", b"true",
                              b"2024", None]
STOP = len(TOKENS) - 1
N_HEAD = 7
SCHEMAS: list[Any] = [
    {"properties": {"name": {"type": "string"}, "n": {"type": "integer", "minimum": 3}, "kind": {"enum": ["x", "xy"]}},
     "required": ["name", "n"], "additionalProperties": False},
    {"properties": {"a": {"$ref": "#"}, "b": {"type": "array", "items": {"type": "number"}, "maxItems": 3}}},
    {"type": "string", "pattern": "^[a-f]{2,5}-[0-9]+$", "maxLength": 9},
    {"anyOf": [{"properties": {"t": {"const": "a"}, "v": {"type": "string", "minLength": 2}}, "required": ["t"]},
               {"properties": {"t": {"const": "b"}, "w": {"type": "boolean"}}, "required": ["t", "w"]}]},
    {"type": "array", "uniqueItems": True, "items": {"enum": [1, 2, "c"]}},
    {"properties": {"when": {"type": "string", "format": "date"}}, "patternProperties": {"^x": {"type": "null"}}},
]


@pytest.fixture(scope="module")
def vocab() -> tokfsm.Vocabulary:
    return tokfsm.Vocabulary.from_bytes(TOKENS, stop_token_ids=[STOP])


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("TOKFSM_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


def without_masks(data: bytes) -> bytes:
    return put_together(data, {which: s for which, s in sections_of(data).items() if which != MASKS})


def head(section: bytes) -> tuple[int, ...]:
    return struct.unpack_from(f"<{N_HEAD}I", section)


def compare(rng: random.Random, automata: list[Any], n_walks: int, n_steps: int) -> int:
    """Random walks on all of them at once; how many masks were compared."""
    compared = 0
    for _ in range(n_walks):
        matchers = [start_matcher(a, None, None) for a in automata]
        for _ in range(n_steps):
            masks = [Probe(a, m).mask() for a, m in zip(automata, matchers, strict=True)]
            assert all(mask == masks[0] for mask in masks[1:])
            compared += 1
            if not masks[0] or matchers[0].is_terminated():
                break
            t = rng.choice(sorted(masks[0]))
            assert {m.accept_token(t) for m in matchers} == {True}
            if rng.random() < 0.05:
                for m in matchers:
                    m.rollback(1)
    return compared


@pytest.mark.parametrize("whitespace", ["compact", "spaced", "flexible"])
@pytest.mark.parametrize("which", range(len(SCHEMAS)))
def test_masks_are_those_that_would_be_made(vocab: tokfsm.Vocabulary, which: int, whitespace: Any) -> None:
    data = tokfsm.compile(SCHEMAS[which], vocab, whitespace=whitespace).to_bytes()
    both = [_core.Automaton.open(d, None, None) for d in (data, without_masks(data))]
    assert compare(random.Random(which), both, 40, 40) > 100


@pytest.mark.parametrize("batch", range(4))
def test_masks_of_random_schemas(batch: int) -> None:
    n_masks = 0
    for seed in range(batch, 80, 4):
        rng = random.Random(seed)
        schema = SchemaMaker(rng, rng.choice((RICH, TINY))).make()
        if seed % 8 == 0:
            schema = COUNTED[seed // 8 % len(COUNTED)]
        tokens, stops = make_tokens(rng)
        options = make_options(rng)
        try:
            lazy = tokfsm.compile(schema, tokfsm.Vocabulary.from_bytes(tokens, stop_token_ids=stops), **options)
        except tokfsm.SchemaError:
            continue
        data = lazy.to_bytes()
        n_masks += MASKS in sections_of(data)
        opened = [_core.Automaton.open(d, None, None) for d in (data, without_masks(data))]
        assert opened[0].save(True) == data and opened[1].save(True) == without_masks(data)
        compare(rng, [lazy._handle, *opened], 12, 16)
    assert n_masks > 5


def test_masks_are_used_and_only_masks(vocab: tokfsm.Vocabulary) -> None:
    """With the masks of another schema the masks are wrong, and what is accepted is not."""
    one, other = (tokfsm.compile({"const": text}, vocab).to_bytes() for text in ("aa", "bb"))
    mixed = _core.Automaton.open(put_together(one, {**sections_of(one), MASKS: sections_of(other)[MASKS]}), None, None)
    matcher = start_matcher(mixed, None, None)
    assert matcher.accept_token(ord('"'))
    assert Probe(mixed, matcher).mask() == {ord("b")}
    assert not matcher.accept_token(ord("b")) and matcher.accept_token(ord("a"))


def test_bytes_do_not_depend_on_what_was_explored(vocab: tokfsm.Vocabulary) -> None:
    for schema in SCHEMAS:
        fresh = tokfsm.compile(schema, vocab).to_bytes()
        used = tokfsm.compile(schema, vocab)
        walk(used._handle, random.Random(1), 60)
        small = tokfsm.compile(schema, vocab, limits=tokfsm.Limits(automaton_bytes=1 << 20))
        assert used.to_bytes() == fresh == small.to_bytes()
        reopened = _core.Automaton.open(fresh, None, None)
        walk(reopened, random.Random(2), 60)
        assert reopened.save(True) == fresh


def test_no_masks_where_bytes_are_missing() -> None:
    """Where completions lack bytes masks are not kept, so there are none in the file."""
    lacking = tokfsm.Vocabulary.from_bytes([bytes([b]) for b in b'"{}:,a'])
    assert MASKS not in sections_of(tokfsm.compile({"type": "string"}, lacking).to_bytes())


# ---- a stranger's masks ----------------------------------------------------------------


def test_every_bit_of_the_masks(vocab: tokfsm.Vocabulary) -> None:
    data = tokfsm.compile({"properties": {"a": {"enum": ["x", 12]}}, "additionalProperties": False}, vocab).to_bytes()
    sections = sections_of(data)
    pack = _core.Pack.open(sections[PACK])
    del sections[PACK]
    section, rng = sections[MASKS], random.Random(0)
    opened = 0
    for at in range(len(section)):
        altered = bytearray(section)
        altered[at] ^= 1 << rng.randrange(8)
        try:
            automaton = _core.Automaton.open(put_together(data, {**sections, MASKS: bytes(altered)}), pack, None)
        except tokfsm.ArtifactCorruptError:
            continue
        opened += 1
        walk(automaton, rng, 8)
    assert len(section) - 4 * N_HEAD <= opened < len(section), "tables are checked when used, their sizes at once"


def test_sizes_that_do_not_fit(vocab: tokfsm.Vocabulary) -> None:
    data = tokfsm.compile(SCHEMAS[0], vocab).to_bytes()
    sections = sections_of(data)
    section = sections[MASKS]
    for at in range(N_HEAD):
        for value in (0, 1, 3, head(section)[at] + 1, 1 << 31, 0xFFFFFFFF):
            if value != head(section)[at]:
                altered = section[: 4 * at] + struct.pack("<I", value) + section[4 * at + 4 :]
                refused(put_together(data, {**sections, MASKS: altered}))
    for n in {0, 4, 4 * N_HEAD - 1, 4 * N_HEAD, len(section) - 1}:
        refused(put_together(data, {**sections, MASKS: section[:n]}))
    refused(put_together(data, {**sections, MASKS: section + b"\0"}))


def test_rows_have_no_ids_past_the_vocabulary(vocab: tokfsm.Vocabulary) -> None:
    data = tokfsm.compile(SCHEMAS[0], vocab).to_bytes()
    sections = sections_of(data)
    section = sections[MASKS]
    slots, frames, masks, lists, rows, row_words, n_data = head(section)
    assert row_words == -(-len(TOKENS) // 32)
    tables = 4 * (N_HEAD + slots + frames + masks + lists)
    end = len(TOKENS) % 32
    for last, fits in ((0, True), (1 << (end - 1), True), (1 << end, False), (1 << 31, False)):
        row = bytes(4 * (row_words - 1)) + struct.pack("<I", last)
        more = struct.pack("<7I", slots, frames, masks, lists, rows + 1, row_words, n_data)
        altered = put_together(data, {**sections, MASKS: more + section[28:tables] + row + section[tables:]})
        if fits:
            _core.Automaton.open(altered, None, None)
        else:
            refused(altered)
