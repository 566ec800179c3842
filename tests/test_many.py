"""Schemas of many like parts: more than fits what is looked at pair by pair, or 64 bits, or 48 conjuncts."""

from __future__ import annotations

import json
import random
from typing import Any

import jsonschema
import pytest

import tokfsm

BYTES = tokfsm.Vocabulary.from_bytes([bytes([b]) for b in range(256)])
NAMES = [f"{a}{b}" for a in "abcdefghijkl" for b in ("", "x", "yz", "q9", "m", "-", "e0", "kk")]
N = len(NAMES)

CONDITIONS: dict[str, Any] = {
    "type": "object", "properties": {"kind": {"enum": NAMES}}, "required": ["kind"],
    "additionalProperties": {"type": "integer"},
    "allOf": [{"if": {"properties": {"kind": {"const": n}}}, "then": {"required": [f"{n}V"]}} for n in NAMES[:70]]}
ONE_OF: dict[str, Any] = {"oneOf": [
    {"type": "object", "properties": {"kind": {"enum": [n, NAMES[(i + 9) % N]]} if i % 10 == 0 else {"const": n},
                                      "v": {"const": i % 3}},
     "required": ["kind", "v"]} for i, n in enumerate(NAMES)]}
OBJECTS: dict[str, Any] = {"enum": [*({"id": i % 50, "name": n} for i, n in enumerate(NAMES)), *NAMES, *range(40)]}
BOUNDS: dict[str, Any] = {"anyOf": [
    {"type": "object", "required": ["v"],
     "properties": {"v": {"type": "number" if i % 3 else "integer", "minimum": i * 1.5 - 40, "maximum": i * i / 8},
                    "w": {"multipleOf": i % 5 + 1, "exclusiveMinimum": -i}}} for i in range(90)]}
PATTERNS: dict[str, Any] = {"type": "object", "additionalProperties": False,
                            "patternProperties": {f"^{n}[._]": {"const": i} for i, n in enumerate(NAMES[:80])}}


def numbers(rng: random.Random) -> Any:
    return rng.choice((rng.randint(-60, 140), rng.randint(-600, 1400) / 10, rng.randint(0, 9000) / 7 // 1, -0.5, 0))


def draw(name: str, rng: random.Random) -> Any:
    kind, i = rng.choice(NAMES), rng.randrange(N)
    if name == "conditions":
        return {"kind": kind, **{f"{rng.choice((kind, kind, NAMES[i]))}V": rng.choice((1, 2, "x"))}}
    if name == "oneOf":
        return {"kind": rng.choice((kind, NAMES[i])), "v": rng.choice((i % 3, NAMES.index(kind) % 3))}
    if name == "objects":
        return rng.choice(({"id": i % 50, "name": NAMES[i]}, {"name": kind, "id": i % 50}, kind, i % 60, {"id": 1}))
    if name == "bounds":
        return {"v": numbers(rng), **({"w": numbers(rng)} if rng.random() < 0.7 else {})}
    return {f"{kind}{rng.choice('._x')}z": NAMES.index(kind) if rng.random() < 0.8 else 3}


@pytest.mark.parametrize(("name", "schema"), [("conditions", CONDITIONS), ("oneOf", ONE_OF), ("objects", OBJECTS),
                                              ("bounds", BOUNDS), ("patterns", PATTERNS)])
def test_many_parts(name: str, schema: Any) -> None:
    automaton = tokfsm.compile(schema, BYTES, numbers="any")
    validator = jsonschema.Draft202012Validator(schema)
    rng, met = random.Random(name), [0, 0]
    for _ in range(400):
        value = draw(name, rng)
        text = json.dumps(value, separators=(",", ":")).encode()
        n, complete, _ = automaton.matcher().check_bytes(text)
        valid = validator.is_valid(value)
        assert (n == len(text) and complete) == valid, (text, valid)
        met[valid] += 1
    assert min(met) > 20


def test_walks_stay_alive() -> None:
    """Every state met can be completed within its bound."""
    for schema in (CONDITIONS, ONE_OF, OBJECTS, BOUNDS, PATTERNS):
        automaton = tokfsm.compile(schema, BYTES)
        bitmask = tokfsm.allocate_token_bitmask(1, 256)
        rng = random.Random(1)
        for budget in (automaton.matcher().min_tokens, 40):
            matcher = automaton.matcher()
            text = b""
            for left in range(max(budget, matcher.min_tokens), 0, -1):
                matcher.fill_next_token_bitmask(bitmask, 0, budget=left)
                row = memoryview(bitmask).cast("B")
                allowed = [t for t in range(256) if row[t // 8] >> (t % 8) & 1]
                if not allowed:
                    break
                text += bytes([rng.choice(allowed)])
                assert matcher.accept_token(text[-1])
                if matcher.is_terminated():
                    break
            assert matcher.is_complete, text
            jsonschema.Draft202012Validator(schema).validate(json.loads(text))
