"""Random schemas with uniqueItems × values, against `jsonschema`; walks that never end nowhere; masks by token against bytes.

Seeded. `TOKFSM_PROPERTY_SEEDS` sets how many schemas each test draws (default: a few seconds' worth).
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokfsm

sys.path.insert(0, str(Path(__file__).parents[1]))
from schemas import Witness  # noqa: E402

SEEDS = int(os.environ.get("TOKFSM_PROPERTY_SEEDS", "150"))
BYTES = tokfsm.Vocabulary.from_bytes([bytes([b]) for b in range(256)])
PIECES = (b'","', b'",', b'["', b'"]', b'a","a"', b'1,1', b"1,2", b"[1,", b"],[", b'},{', b'":', b'{"a', b"true", b"false,", b"null",
          b"[[", b"]]", b"ab", b"ba", b"aa", b'a"', b'b"', b'""', b',"', b"12", b"10", b"1.0", b"0.", b"-0", b"e1", b',"a",', b"\\u0061")
TOKENS = tokfsm.Vocabulary.from_bytes([bytes([b]) for b in range(256)] + list(PIECES))
FEW = tokfsm.Vocabulary.from_bytes([bytes([b]) for b in b'{}[]":,a1-truefalsn0'] + [b'","', b"b", b"12", b"1.5", b'b"', b"[1,"])
LEAVES: tuple[Any, ...] = (
    {"type": "boolean"}, {"type": "null"}, {"enum": [1, 2]}, {"enum": [1]}, {"enum": ["a", "b", "ab"]}, {"const": "a"}, {"const": 1},
    {"enum": [1, "a", None]}, {"type": "integer", "minimum": 0, "maximum": 2}, {"type": "integer"}, {"type": "string"},
    {"type": "string", "maxLength": 0}, {"type": "string", "maxLength": 1}, {"type": "number", "minimum": 0, "maximum": 1},
    {"type": "number", "multipleOf": 2, "minimum": 0, "maximum": 4}, {"not": {"const": 1}}, {"enum": [[1], [2], {"a": 1}]},
    {"type": ["boolean", "null"]}, {"type": "integer", "minimum": 9, "maximum": 11}, True,
    {"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": False},
    {"type": "object", "properties": {"a": {"enum": [1, 2]}, "b": {"enum": [1]}}, "required": ["a"], "additionalProperties": False},
    {"type": "object"}, {"type": "array"}, {"type": "array", "items": {"type": "boolean"}, "maxItems": 1})
VALUES = (1, 2, 0, 11, "a", "b", "", "ab", None, True, False, 0.5, [1], [2], {"a": 1}, [], {}, {"a": True}, {"a": 1, "b": 1}, 10, 9, 4)


def array_schema(rng: random.Random, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "array"} if rng.random() < 0.9 else {}
    if rng.random() < 0.8:
        found["uniqueItems"] = True
    if rng.random() < 0.35:
        found["prefixItems"] = [schema(rng, depth - 1) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.8:
        found["items"] = False if "prefixItems" in found and rng.random() < 0.3 else schema(rng, depth - 1)
    if rng.random() < 0.5:
        found["minItems"] = rng.randint(0, 4)
    if rng.random() < 0.5:
        found["maxItems"] = rng.randint(max(1, found.get("minItems", 0)), 4)
    return found


def schema(rng: random.Random, depth: int) -> Any:
    p = rng.random()
    if depth <= 0 or p < 0.35:
        return rng.choice(LEAVES)
    if p < 0.75:
        return array_schema(rng, depth)
    if p < 0.82:
        return {"oneOf": [schema(rng, depth - 1) for _ in range(2)]}
    if p < 0.88:
        return {"not": array_schema(rng, depth - 1)}
    if p < 0.92:
        return {"if": array_schema(rng, depth - 1), "then": schema(rng, depth - 1), "else": schema(rng, depth - 1)}
    return {rng.choice(("anyOf", "allOf")): [schema(rng, depth - 1) for _ in range(2)]}


def root(rng: random.Random) -> dict[str, Any]:
    found = array_schema(rng, rng.choice((1, 1, 2, 3)))
    p = rng.random()
    if p < 0.12:
        return {"type": "array", "not": found, **({"maxItems": rng.randint(1, 3)} if rng.random() < 0.6 else {})}
    if p < 0.24:
        return {"oneOf": [found, array_schema(rng, 1)]}
    if p < 0.3:
        return {"if": found, "then": array_schema(rng, 1), "else": array_schema(rng, 1), "type": "array"}
    if p < 0.36:
        return {"allOf": [found, array_schema(rng, 1)]}
    return found


def value(rng: random.Random, depth: int) -> Any:
    if depth <= 0 or rng.random() < 0.3:
        return rng.choice(VALUES)
    few = rng.sample(VALUES, rng.randint(1, 3))
    return [rng.choice(few) if rng.random() < 0.7 else value(rng, depth - 1) for _ in range(rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4)))]


def spell(rng: random.Random, v: Any) -> str:
    """One of the spellings of a value."""
    if isinstance(v, list):
        return "[" + ",".join(spell(rng, i) for i in v) + "]"
    if isinstance(v, dict):
        members = list(v.items())
        rng.shuffle(members)
        return "{" + ",".join(f"{json.dumps(k)}:{spell(rng, i)}" for k, i in members) + "}"
    if isinstance(v, (int, float)) and not isinstance(v, bool) and rng.random() < 0.2:
        return str(v) + (rng.choice((".0", ".00")) if isinstance(v, int) else "0")
    return json.dumps(v)


def automaton_of(drawn: Any, vocab: tokfsm.Vocabulary, **options: Any) -> tokfsm.Automaton | None:
    try:
        return tokfsm.compile(drawn, vocab, **options)
    except (tokfsm.UnsupportedSchemaError, tokfsm.LimitError) as error:
        known = ("counted", "4096", "single bytes", "contains")
        assert "uniqueItems" not in str(error) or any(word in str(error) for word in known), (drawn, error)
        return None


def allowed_of(matcher: tokfsm.Matcher, bitmask: Any, budget: int | None = None) -> list[int]:
    matcher.fill_next_token_bitmask(bitmask, 0, budget=budget)
    return np.flatnonzero(np.unpackbits(np.asarray(bitmask).view(np.uint8), bitorder="little")).tolist()


def walk(rng: random.Random, automaton: tokfsm.Automaton, vocab: tokfsm.Vocabulary, case: object) -> bytes:
    """A text under the mask; from some byte on the budget is the bound."""
    matcher, text = automaton.matcher(), b""
    bitmask = tokfsm.allocate_token_bitmask(1, automaton.vocab_size)
    n_free, budget = rng.choice((0, 3, 8, 14)), None
    for step in range(2500):
        if step == n_free:
            budget = matcher.min_tokens
        allowed = allowed_of(matcher, bitmask, budget)
        if matcher.is_complete and (budget == 0 or not allowed):
            return text
        assert allowed, (case, text, budget, matcher.min_tokens)
        likely = [t for t in allowed if all(chr(b) in '{}[]",:ab012true falsn' for b in vocab.token_bytes(t) or b"?")] or allowed
        token = int(rng.choice(likely))
        assert matcher.accept_token(token), (case, text, token)
        text += vocab.token_bytes(token) or b""
        if budget is not None:
            budget -= 1
            assert matcher.min_tokens <= budget, (case, text, budget, matcher.min_tokens)
    raise AssertionError((case, text, "does not end"))


def test_what_is_refused_is_refused_by_compile() -> None:
    """At any depth, and though no array must have two items: never only by a mask."""
    refused = {"type": "array", "uniqueItems": True, "contains": {"const": 1}}
    for drawn in (refused, {"properties": {"a": refused}}, {"items": {"properties": {"a": {"items": refused}}}},
                  {"additionalProperties": {"anyOf": [{"type": "null"}, refused]}}, {"prefixItems": [True, refused]},
                  {"$defs": {"r": refused}, "properties": {"a": {"properties": {"b": {"$ref": "#/$defs/r"}}}}},
                  {"properties": {"a": {"allOf": [{"uniqueItems": True}, {"contains": {"const": 1}}]}}}):
        with pytest.raises(tokfsm.UnsupportedSchemaError, match="uniqueItems"):
            tokfsm.compile(drawn, BYTES)
    kept = tokfsm.compile({"properties": {"a": {"uniqueItems": True}, "b": {"contains": {"const": 1}}}}, BYTES).matcher()
    assert kept.check_bytes(b'{"a":[1,2],"b":[1,1]}')[1] and not kept.check_bytes(b'{"a":[1,1]}')[1]


@pytest.mark.parametrize("part", range(4))
def test_values(part: int) -> None:
    compiled = 0
    for seed in range(part * SEEDS, (part + 1) * SEEDS):
        rng = random.Random(seed)
        drawn = root(rng)
        witness = Witness(drawn)
        tried = [value(rng, 2) for _ in range(80)]
        try:
            automaton = automaton_of(drawn, BYTES, numbers="any")
        except tokfsm.UnsatisfiableSchemaError:
            assert not any(witness.value_ok(v) for v in tried), (seed, drawn)
            continue
        if automaton is None:
            continue
        compiled += 1
        matcher = automaton.matcher()
        for one in tried:
            text = spell(rng, one)
            assert matcher.check_bytes(text.encode())[1] == witness.value_ok(one), (seed, drawn, text)
    assert compiled > SEEDS / 2


@pytest.mark.parametrize("part", range(4))
def test_walks(part: int) -> None:
    for seed in range(part * SEEDS, (part + 1) * SEEDS):
        rng = random.Random(seed)
        drawn = root(rng)
        vocab = rng.choice((BYTES, TOKENS, TOKENS, FEW))
        options: dict[str, Any] = {} if rng.random() < 0.7 else {"whitespace": rng.choice(("spaced", "flexible"))}
        if rng.random() < 0.1:
            options = {"indent": 1}
        try:
            automaton = automaton_of(drawn, vocab, numbers=rng.choice(("plain", "any")), **options)
        except tokfsm.UnsatisfiableSchemaError:
            continue
        if automaton is None:
            continue
        witness = Witness(drawn)
        for k in range(3):
            text = walk(random.Random(seed * 10 + k), automaton, vocab, (seed, drawn, options))
            assert witness.text_ok(text), (seed, drawn, text)


def test_tokens_are_their_bytes(tmp_path: Path) -> None:
    """A token is allowed if and only if its bytes are, one by one; lazily, and where the artifact is opened again."""
    bitmask = tokfsm.allocate_token_bitmask(1, TOKENS.size)
    for seed in range(SEEDS):
        rng = random.Random(seed)
        drawn = root(rng)
        try:
            automaton = automaton_of(drawn, TOKENS)
        except tokfsm.UnsatisfiableSchemaError:
            continue
        if automaton is None:
            continue
        try:
            tokfsm.compile(drawn, TOKENS).save(tmp_path / "a.tokfsm")
        except tokfsm.LimitError:
            continue
        reopened = tokfsm.load(tmp_path / "a.tokfsm")
        for which in (automaton, reopened):
            walker = random.Random(seed)
            matcher = which.matcher()
            for _ in range(14):
                allowed = allowed_of(matcher, bitmask)
                taken = {t for t in range(TOKENS.size) if matcher.check_bytes(TOKENS.token_bytes(t) or b"\xff")[0] ==
                         len(TOKENS.token_bytes(t) or b"\xff")}
                assert set(allowed) == taken, (seed, drawn, [TOKENS.token_bytes(t) for t in set(allowed) ^ taken])
                likely = [t for t in allowed if t >= 256 or chr(t) in '[]",ab01{}'] or allowed
                if not likely:
                    break
                assert matcher.accept_token(walker.choice(likely))
