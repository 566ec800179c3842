"""Random schemas over unevaluatedProperties and unevaluatedItems × values, against `jsonschema` and `jsonschema_rs`, in both directions.

Seeded. `TOKFSM_PROPERTY_SEEDS` sets how many schemas each test draws (default: a few seconds' worth). Where the two witnesses disagree on
a value, which happens in corners of 2019-09, nothing is asserted.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import tokfsm

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from schemas import Witness, strict_json  # noqa: E402
from test_validators import BYTES, SEEDS, walk  # noqa: E402

NAMES = ("a", "b", "c", "d")
LEAVES: tuple[Any, ...] = (True, {"type": "integer"}, {"type": "string", "maxLength": 2}, {"const": 1}, {"enum": [1, "x", None]}, {"type": "boolean"})
VALUES = (1, 0, "x", "", None, True, 2.5, 7)


def own(rng: random.Random, depth: int) -> dict[str, Any]:
    """Keywords of one schema that evaluate or narrow, without applicators."""
    found: dict[str, Any] = {}
    if rng.random() < 0.7:
        found["properties"] = {n: child(rng, depth) for n in rng.sample(NAMES, rng.randint(1, 2))}
    if rng.random() < 0.35:
        found["required"] = rng.sample(NAMES, 1)
    if rng.random() < 0.08:
        found["additionalProperties"] = rng.choice((False, True, {"type": "integer"}))
    if rng.random() < 0.1:
        found["patternProperties"] = {rng.choice(("^[ab]", "[ce]$", "b")): rng.choice(LEAVES)}
    if rng.random() < 0.05:
        found["minProperties"] = rng.randint(1, 2)
    if rng.random() < 0.05:
        found["const"] = {n: rng.choice(VALUES) for n in rng.sample(NAMES, rng.randint(0, 2))}
    return found


def own_items(rng: random.Random, depth: int, draft: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if rng.random() < 0.7:
        found["prefixItems" if draft == "2020-12" else "items"] = [child(rng, depth) for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.12:
        if draft == "2020-12":
            found["items"] = rng.choice((False, True, {"type": "integer"}))
        elif "items" in found:
            found["additionalItems"] = rng.choice((False, True, {"type": "integer"}))
        else:
            found["items"] = rng.choice((True, {"type": "integer"}))
    if rng.random() < 0.2:
        found["minItems"] = rng.randint(1, 2)
    return found


def child(rng: random.Random, depth: int) -> Any:
    return in_place(rng, depth - 1, "2020-12") if depth > 1 and rng.random() < 0.15 else rng.choice(LEAVES)


def in_place(rng: random.Random, depth: int, draft: str, arrays: bool = False) -> dict[str, Any]:
    found = own_items(rng, depth, draft) if arrays else own(rng, depth)
    if depth > 0:
        for keyword, p in (("anyOf", 0.3), ("allOf", 0.25), ("oneOf", 0.2)):
            if rng.random() < p:
                found[keyword] = [in_place(rng, depth - 1, draft, arrays) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.2:
            found["if"] = in_place(rng, depth - 1, draft, arrays)
            for keyword in ("then", "else"):
                if rng.random() < 0.6:
                    found[keyword] = in_place(rng, depth - 1, draft, arrays)
        if not arrays and rng.random() < 0.15:
            found["dependentSchemas"] = {rng.choice(NAMES): in_place(rng, depth - 1, draft)}
        if rng.random() < 0.08:
            found["not"] = in_place(rng, depth - 1, draft, arrays)
        if rng.random() < 0.15:
            found["$ref"] = rng.choice(("#/$defs/p", "#/$defs/q"))
    if rng.random() < (0.1 if depth > 0 else 0.03):
        found["unevaluatedItems" if arrays else "unevaluatedProperties"] = rng.choice((False, {"type": "integer"}, True))
    return found


def schema(rng: random.Random, draft: str, arrays: bool) -> dict[str, Any]:
    found = in_place(rng, 2, draft, arrays)
    if rng.random() < 0.8:
        found["type"] = "array" if arrays else "object"
    found["unevaluatedItems" if arrays else "unevaluatedProperties"] = rng.choice((False, False, {"type": "integer"}, {"const": "x"}))
    if rng.random() < 0.25:  # the keyword where it must fail, or not hold twice
        inner = dict(found)
        found = rng.choice(({"not": inner}, {"oneOf": [inner, in_place(rng, 1, draft, arrays)]}, {"if": inner, "then": False},
                            {"if": inner, "else": in_place(rng, 1, draft, arrays)}))
        if "type" in inner:
            found["type"] = inner["type"]
    found["$defs"] = {"q": in_place(rng, 0, draft, arrays), "p": {"$ref": "#/$defs/q", **own(rng, 0)} if rng.random() < 0.5 else
                      {"anyOf": [in_place(rng, 0, draft, arrays), in_place(rng, 0, draft, arrays)]}}
    return found


def without_patterns(drawn: Any) -> Any:
    if isinstance(drawn, list):
        return [without_patterns(s) for s in drawn]
    if isinstance(drawn, dict):
        return {k: without_patterns(s) for k, s in drawn.items() if k != "patternProperties"}
    return drawn


def value(rng: random.Random, arrays: bool) -> Any:
    def leaf() -> Any:
        return rng.choice(VALUES) if rng.random() < 0.93 else rng.choice(({}, {"a": 1}, [1], []))

    if arrays:
        return [leaf() for _ in range(rng.randint(0, 4))]
    return {n: leaf() for n in rng.sample((*NAMES, "e"), rng.randint(0, 4))}


class Witnesses:
    """Both; None where they disagree."""

    def __init__(self, drawn: Any, draft: str) -> None:
        self.one = Witness(drawn, draft)
        made = jsonschema_rs.Draft202012Validator if draft == "2020-12" else jsonschema_rs.Draft201909Validator
        self.other = made(drawn)

    def value_ok(self, v: Any) -> bool | None:
        other = bool(self.other.is_valid(json.loads(json.dumps(v, default=float))))
        try:
            return other if self.one.value_ok(v) == other else None
        except TypeError:  # jsonschema, for `items` beside `unevaluatedItems` in 2019-09
            return other


@pytest.mark.parametrize("draft", ("2019-09", "2020-12"))
@pytest.mark.parametrize("arrays", (False, True))
def test_unevaluated(draft: str, arrays: bool) -> None:
    compiled = limits = 0
    for seed in range(3 * SEEDS):
        rng = random.Random(f"{seed} {draft} {arrays}")
        drawn = schema(rng, draft, arrays)
        if any(f'"{k}"' in json.dumps(drawn) for k in ("not", "if", "oneOf")):
            drawn = without_patterns(drawn)  # bounds over many kinds of names and counters take long
        witness = Witnesses(drawn, draft)
        case = (seed, json.dumps(drawn))
        try:
            automaton = tokfsm.compile(drawn, BYTES, numbers="any", draft=draft)
        except tokfsm.UnsatisfiableSchemaError:
            for _ in range(100):
                one = value(rng, arrays)
                assert not witness.value_ok(one), (case, one)
            continue
        except tokfsm.UnsupportedSchemaError:
            continue
        except tokfsm.LimitError:
            limits += 1
            continue
        compiled += 1
        matcher = automaton.matcher()
        for _ in range(60):
            one = value(rng, arrays)
            ok = witness.value_ok(one)
            text = json.dumps(one, separators=(",", ":")).encode()
            assert ok is None or matcher.check_bytes(text)[1] == ok, (case, one)
        for _ in range(3):
            text_found = walk(rng, automaton, case)
            if text_found is not None and b"e" not in text_found.replace(b"true", b"").replace(b"false", b""):
                assert witness.value_ok(strict_json(text_found)) is not False, (case, text_found)
    assert compiled > SEEDS and limits <= SEEDS // 20
