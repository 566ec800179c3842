"""Names that many overlapping patterns tell apart: classes are sets of patterns, walked side by side.

Against `jsonschema`, and against the same schema in the other way, in which each class is a language by itself, as
`test_masks.py` holds it against the oracle: which of the two it is depends on `limits.automaton_bytes`. Seeded:
`TOKFSM_PROPERTY_SEEDS` sets how many schemas each test draws.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest

import tokfsm

sys.path.insert(0, str(Path(__file__).parents[1]))
from schemas import Probe, Witness  # noqa: E402
from test_walks import walk  # noqa: E402

SEEDS = int(os.environ.get("TOKFSM_PROPERTY_SEEDS", "150"))
TOKENS: list[bytes | None] = [bytes([b]) for b in range(256)] + [
    b'{"', b'":', b'","', b'"}', b"ab", b"abc", b"ba", b'a"', b"ca", b"fed", b"\\u0061", b"\\u00", b"\\n",
    "é".encode(), "日".encode(), "é".encode()[1:] + b"a", b"true", b"12", b'":1', b'":{}', b"}", b'b":']
VOCAB = tokfsm.Vocabulary.from_bytes(TOKENS)
LETTERS = tuple("abcdefghi")
OTHERS = ("^a", "b$", "ab", "ba", "[ab]c", "^..$", "^.{0,3}$", "é", "[^a]", "a.b",
          "^(ab)*$", "c+d", "^$", "^(a|b)$", "日|a", "\\n")
LEAVES: tuple[Any, ...] = (
    {"type": "integer"}, {"type": ["integer", "string"]}, {"minimum": 3}, {"type": "object"}, {"enum": [1, 2, "x", {}]},
    {"const": 1}, {"type": "string", "maxLength": 2}, True, {"type": "object", "required": ["q"]}, {"multipleOf": 2},
    {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False})
VALUES: tuple[Any, ...] = (1, 2, 4, 5.5, "x", "", "xyz", {}, {"q": 1}, {"a": 1}, None, [])


def schema(rng: random.Random, patterns: list[str]) -> dict[str, Any]:
    rng.shuffle(patterns)
    found: dict[str, Any] = {"type": "object", "patternProperties": {p: rng.choice(LEAVES) for p in patterns}}
    if rng.random() < 0.15:
        found["patternProperties"][rng.choice(patterns)] = False
    if rng.random() < 0.6:
        found["additionalProperties"] = rng.choice((False, False, {"type": "null"}, {"minimum": 1}))
    if rng.random() < 0.5:
        found["properties"] = {n: rng.choice(LEAVES)
                               for n in rng.sample(("a", "ab", "abc", "q", "é", ""), rng.randint(1, 3))}
        if rng.random() < 0.4:
            found["required"] = [rng.choice(("a", "ab", "xyz"))]
    if rng.random() < 0.2:
        found["propertyNames"] = rng.choice(({"pattern": "a"}, {"maxLength": 3}, {"not": {"const": "ab"}},
                                             {"pattern": "^[a-f]*$"}))
    if rng.random() < 0.2:
        return {"anyOf": [found, {"type": "object", "patternProperties": {rng.choice(patterns): {"type": "string"}},
                                  "additionalProperties": rng.choice((False, {"type": "boolean"}))}]}
    return found


def many(rng: random.Random) -> dict[str, Any]:
    """Over 256 classes."""
    return schema(rng, [*LETTERS, *rng.sample(OTHERS, rng.randint(0, 3))])


def instance(rng: random.Random) -> dict[str, Any]:
    names = ("".join(rng.choices("abcdefghiqé", k=rng.choice((0, 1, 1, 2, 2, 3, 5)))) for _ in range(rng.randint(0, 3)))
    return {n: rng.choice(VALUES) for n in names}


def compiled(drawn: Any, **options: Any) -> tokfsm.Automaton | None:
    try:
        return tokfsm.compile(drawn, VOCAB, **options)
    except (tokfsm.errors.UnsatisfiableSchemaError, tokfsm.errors.LimitError):
        return None


def is_by_sets(automaton: tokfsm.Automaton) -> bool:
    try:
        automaton.precompile()
    except tokfsm.errors.LimitError as error:
        return "overlap" in str(error)
    return False


def test_both_ways_are_there() -> None:
    few = {"patternProperties": {p: {"type": "integer"} for p in LETTERS[:6]}}
    assert is_by_sets(tokfsm.compile(few, VOCAB, limits=tokfsm.Limits(automaton_bytes=600_000)))
    assert not is_by_sets(tokfsm.compile(few, VOCAB))
    assert is_by_sets(tokfsm.compile({"patternProperties": {p: {"type": "integer"} for p in LETTERS}}, VOCAB))


@pytest.mark.parametrize("seed", range(SEEDS // 5))
def test_against_validators(seed: int) -> None:
    rng = random.Random(seed)
    drawn = many(rng)
    automaton = compiled(drawn)
    if automaton is None:
        return
    witness, probe = Witness(drawn), Probe(automaton)
    for _ in range(12):
        text = json.dumps(instance(rng), ensure_ascii=rng.random() < 0.2, separators=(",", ":")).encode()
        assert probe.feed(text) == witness.text_ok(text), (drawn, text)


@pytest.mark.parametrize("seed", range(SEEDS // 10))
def test_walks_end_valid_within_their_budget(seed: int) -> None:
    rng = random.Random(seed)
    drawn = many(rng)
    automaton = compiled(drawn)
    if automaton is not None:
        walk(rng, automaton, Witness(drawn), lambda t: TOKENS[t] or b"", 3)


@pytest.mark.parametrize("seed", range(SEEDS // 3))
def test_sets_against_languages(seed: int) -> None:
    """Masks, bounds and masks under a budget."""
    rng = random.Random(seed)
    drawn = schema(rng, rng.sample((*LETTERS[:4], *OTHERS), rng.choice((5, 5, 6))))
    options = {"property_order": "schema"} if rng.random() < 0.2 else {}
    ways = [compiled(drawn, limits=tokfsm.Limits(automaton_bytes=n), **options) for n in (512 << 20, 400_000)]
    if None in ways:
        return
    for _ in range(3):
        languages, sets = (Probe(way) for way in ways)
        text = b""
        for _ in range(16):
            try:
                allowed = sets.mask()
                bound = sets.matcher.min_tokens
                tight = sets.mask(bound) if bound else set()
            except tokfsm.errors.LimitError:
                return  # the limit was too small for this way
            case = drawn, options, text
            assert allowed == languages.mask(), case
            assert bound == languages.matcher.min_tokens, case
            assert not bound or tight == languages.mask(bound), case
            ids = sorted(allowed)
            if not ids:
                break
            token = rng.choice([t for t in ids if t > 255] or ids) if rng.random() < 0.5 else rng.choice(ids)
            for probe in (languages, sets):
                assert probe.matcher.accept_token(token), case
            text += TOKENS[token] or b""
