"""Random schemas over the boolean keywords, counts and numbers × values, against `jsonschema`, in both directions.

Seeded. `TOKFSM_PROPERTY_SEEDS` sets how many schemas each test draws (default: a few seconds' worth).
"""

from __future__ import annotations

import decimal
import json
import os
import random
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokfsm

sys.path.insert(0, str(Path(__file__).parents[1]))
from schemas import Witness  # noqa: E402

SEEDS = int(os.environ.get("TOKFSM_PROPERTY_SEEDS", "150"))
BYTES = tokfsm.Vocabulary.from_bytes([bytes([b]) for b in range(256)])
NAMES = ("a", "b", "c")
LEAVES: tuple[Any, ...] = (
    {"type": "integer"}, {"type": "integer", "minimum": 0, "maximum": 7}, {"type": "string"}, {"type": "string", "maxLength": 2},
    {"const": 1}, {"const": "x"}, {"const": None}, {"const": ""}, {"enum": [1, 2, "x"]}, {"enum": ["", 2.5]}, {"type": "boolean"},
    {"type": "number", "multipleOf": 2}, {"not": {"type": "string"}}, {"not": {"const": 1}}, {"not": {"const": ""}}, True)
VALUES = (1, 2, 0, 7, -1, "x", "", "abc", None, True, False, 1.5, 4)


def schema(rng: random.Random, depth: int) -> Any:
    p = rng.random()
    if depth == 0 or p < 0.2:
        return rng.choice(LEAVES)
    if p < 0.6:
        return object_schema(rng, depth)
    if p < 0.7:
        found: dict[str, Any] = {"type": "array"}
        if rng.random() < 0.5:
            found["prefixItems"] = [schema(rng, depth - 1) for _ in range(rng.randint(1, 2))]
        if rng.random() < 0.5:
            found["items"] = rng.choice((False, rng.choice(LEAVES)))
        found.update(rng.choice(({}, {"minItems": 1}, {"maxItems": 2}, {"minItems": 1, "maxItems": 3})))
        return found
    if p < 0.82:
        return {"oneOf": [schema(rng, depth - 1) for _ in range(rng.randint(2, 3))]}
    if p < 0.88:
        return {"not": schema(rng, depth - 1)}
    if p < 0.93:
        return {"if": schema(rng, depth - 1), "then": schema(rng, depth - 1), "else": schema(rng, depth - 1)}
    return {rng.choice(("anyOf", "allOf")): [schema(rng, depth - 1) for _ in range(2)]}


def object_schema(rng: random.Random, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object"} if rng.random() < 0.85 else {}
    if rng.random() < 0.8:
        found["properties"] = {n: schema(rng, depth - 1) for n in rng.sample(NAMES, rng.randint(1, 3))}
    if rng.random() < 0.4:
        found["required"] = rng.sample(NAMES, rng.randint(1, 2))
    if rng.random() < 0.45:
        found["additionalProperties"] = False if rng.random() < 0.7 else rng.choice(LEAVES)
    if rng.random() < 0.2:
        found["minProperties"] = rng.randint(1, 3)
    if rng.random() < 0.15:
        found["maxProperties"] = rng.randint(0, 3)
    if rng.random() < 0.12:
        found["dependentRequired"] = {rng.choice(NAMES): [rng.choice(NAMES)]}
    if rng.random() < 0.1:
        found["dependentSchemas"] = {rng.choice(NAMES): schema(rng, depth - 1)}
    if rng.random() < 0.1:
        found["not"] = schema(rng, depth - 1)
    return found


def value(rng: random.Random, depth: int) -> Any:
    p = rng.random()
    if depth == 0 or p < 0.45:
        return rng.choice(VALUES)
    if p < 0.85:
        return {n: value(rng, depth - 1) for n in rng.sample((*NAMES, "d", "e"), rng.randint(0, 3))}
    return [value(rng, depth - 1) for _ in range(rng.randint(0, 3))]


def walk(rng: random.Random, automaton: tokfsm.Automaton, case: object) -> bytes | None:
    """A text under the mask; the budget is the bound from the twelfth byte on. None: too long."""
    matcher, text = automaton.matcher(), b""
    bitmask = tokfsm.allocate_token_bitmask(1, automaton.vocab_size)
    for step in range(300):
        tight = step > 12 or rng.random() < 0.1
        matcher.fill_next_token_bitmask(bitmask, 0, budget=matcher.min_tokens if tight else None)
        allowed = np.flatnonzero(np.unpackbits(np.asarray(bitmask).view(np.uint8), bitorder="little"))
        if matcher.is_complete and (tight or not len(allowed)):
            return text
        assert len(allowed), (case, text, matcher.min_tokens)
        likely = [b for b in allowed if chr(b) in '{}[]",:abcdx0123456789truefalsn.-\\'] or allowed
        token = int(rng.choice(likely))
        assert matcher.accept_token(token)
        text += bytes([token])
    return None


@pytest.mark.parametrize("part", range(4))
def test_booleans_and_counts(part: int) -> None:
    compiled = 0
    for seed in range(part * SEEDS, (part + 1) * SEEDS):
        rng = random.Random(seed)
        drawn = schema(rng, 3)
        witness = Witness(drawn)
        try:
            automaton = tokfsm.compile(drawn, BYTES, numbers="any")
        except tokfsm.UnsatisfiableSchemaError:
            assert not any(witness.value_ok(value(rng, 3)) for _ in range(200)), (seed, drawn)
            continue
        except (tokfsm.UnsupportedSchemaError, tokfsm.LimitError):
            continue
        compiled += 1
        matcher = automaton.matcher()
        for _ in range(60):
            one = value(rng, 3)
            text = json.dumps(one, separators=(",", ":")).encode()
            assert matcher.check_bytes(text)[1] == witness.value_ok(one), (seed, drawn, one)
        for _ in range(3):
            text_found = walk(rng, automaton, (seed, drawn))
            if text_found is not None and b"e" not in text_found.replace(b"true", b"").replace(b"false", b""):
                assert witness.text_ok(text_found), (seed, drawn, text_found)
    assert compiled > SEEDS / 2


def number(rng: random.Random) -> Decimal:
    p = rng.random()
    if p < 0.5:
        return Decimal(rng.randint(-30, 130))
    if p < 0.8:
        return Decimal(rng.randint(-500, 2000)) / 10 ** rng.randint(0, 3)
    return rng.choice((Decimal("9007199254740993"), Decimal("0.01"), Decimal(1000), Decimal(7) * 10**11, Decimal(0)))


def number_schema(rng: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {"type": rng.choice(("integer", "number"))}
    for keyword, p in (("minimum", 0.5), ("maximum", 0.5), ("exclusiveMinimum", 0.2), ("exclusiveMaximum", 0.2)):
        if rng.random() < p:
            found[keyword] = number(rng)
    if rng.random() < 0.3:
        found["multipleOf"] = rng.choice([Decimal(m) for m in ("1", "3", "7", "25", "100", "0.01", "0.25", "1.5", "1E-9")])
    if rng.random() < 0.15:
        found["enum"] = [number(rng) for _ in range(rng.randint(1, 4))]
    return found


def holds(drawn: dict[str, Any], x: Decimal) -> bool:
    """Exact, and written out: no library's idea of a number is asked."""
    m = drawn.get("multipleOf")
    return (all(holds(s, x) for s in drawn.get("allOf", ())) and
            ("anyOf" not in drawn or any(holds(s, x) for s in drawn["anyOf"])) and
            not (drawn["type"] == "integer" and x != x.to_integral_value()) and
            x >= drawn.get("minimum", x) and x <= drawn.get("maximum", x) and
            ("exclusiveMinimum" not in drawn or x > drawn["exclusiveMinimum"]) and
            ("exclusiveMaximum" not in drawn or x < drawn["exclusiveMaximum"]) and
            (m is None or x / m == (x / m).to_integral_value()) and
            ("enum" not in drawn or x in drawn["enum"]))


def as_text(drawn: Any) -> str:
    if isinstance(drawn, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{as_text(v)}" for k, v in drawn.items()) + "}"
    if isinstance(drawn, list):
        return "[" + ",".join(map(as_text, drawn)) + "]"
    return json.dumps(drawn) if isinstance(drawn, str) else format(drawn, "f")


def test_numbers() -> None:
    with decimal.localcontext() as context:
        context.prec = 60
        for seed in range(SEEDS):
            rng = random.Random(seed)
            drawn = number_schema(rng)
            if rng.random() < 0.4:
                drawn[rng.choice(("anyOf", "allOf"))] = [number_schema(rng), number_schema(rng)]
            edges = [v + d for v in drawn.values() if isinstance(v, Decimal) for d in (0, 1, -1, Decimal("0.01"))]
            tried = [*edges, *(number(rng) for _ in range(40)), *(Decimal(i) / 4 for i in range(-120, 520))]
            try:
                matcher = tokfsm.compile(as_text(drawn), BYTES, numbers="any").matcher()
            except tokfsm.UnsatisfiableSchemaError:
                assert not any(holds(drawn, x) for x in tried), (seed, drawn)
                continue
            for x in tried:
                text = format(x, "f") + (rng.choice(("", "0", "00")) if "." in format(x, "f") else rng.choice(("", ".0")))
                assert matcher.check_bytes(text.encode())[1] == holds(drawn, x), (seed, drawn, text)
