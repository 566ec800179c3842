"""Schemas with keywords that tokfsm cannot honour, in every place, for the tests of ``unsupported="relax"``.

`BACK` is not regular as it is written, but its language is that of `PLAIN`: so a schema with `PLAIN`, compiled
exactly, is what the same schema with `BACK` means.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["BACK", "CAUSES", "PLACES", "PLAIN", "random_schema", "values", "with_plain"]

BACK, PLAIN = r"^(a|b)\1$", "^(aa|bb)$"

#: What is refused, by name.
CAUSES: dict[str, Any] = {
    "back-reference": {"pattern": BACK},
    "beside others": {"type": ["string", "array"], "pattern": BACK, "maxLength": 3, "maxItems": 1},
    "format": {"format": "regex"},
    "names": {"patternProperties": {BACK: {"type": "integer"}, "^q": {"maximum": 5}}},
    "names, closed": {
        "patternProperties": {BACK: {"type": "integer"}},
        "properties": {"q": {"type": "integer"}},
        "additionalProperties": False,
    },
    "names, others": {
        "patternProperties": {BACK: {"type": "integer"}, r"^(.)\1": False},
        "additionalProperties": {"type": "string"},
    },
    "items that differ": {"uniqueItems": True, "contains": {"const": 1}},
}

#: Where it stands. `s` is the schema with the cause; values are wrapped as `values` does.
PLACES: dict[str, Callable[[Any], Any]] = {
    "plain": lambda s: s,
    "allOf": lambda s: {"allOf": [s, {"type": ["string", "object", "array"]}]},
    "anyOf": lambda s: {"anyOf": [s, {"type": "integer"}]},
    "oneOf": lambda s: {"oneOf": [s, {"type": ["integer", "object"]}]},
    "oneOf and anyOf": lambda s: {"oneOf": [{"type": "integer"}, s], "anyOf": [{"maxLength": 2}, True]},
    "not": lambda s: {"not": s},
    "not not": lambda s: {"not": {"not": s}},
    "not, in anyOf": lambda s: {"not": {"anyOf": [s, {"type": "null"}]}},
    "if": lambda s: {"if": s, "then": {"type": ["string", "object"]}, "else": {"type": ["integer", "array"]}},
    "if without else": lambda s: {"if": s, "then": {"type": ["integer", "array"]}},
    "if without then": lambda s: {"if": s, "else": {"type": "integer"}},
    "then": lambda s: {"if": {"type": ["object", "string"]}, "then": s, "else": {"minimum": 2}},
    "else": lambda s: {"if": {"type": "integer"}, "else": s},
    "contains": lambda s: {"type": "array", "contains": s},
    "contains, counted": lambda s: {"type": "array", "contains": s, "minContains": 1, "maxContains": 1},
    "contains, at most": lambda s: {"type": "array", "contains": s, "minContains": 0, "maxContains": 1},
    "items": lambda s: {"items": s},
    "prefixItems": lambda s: {"prefixItems": [s], "items": {"type": "integer"}},
    "unevaluatedItems": lambda s: {"anyOf": [{"prefixItems": [{"type": "integer"}]}, True], "unevaluatedItems": s},
    "contains, evaluated": lambda s: {"contains": s, "minContains": 0, "unevaluatedItems": False},
    "items not evaluated": lambda s: {
        "anyOf": [{**s, "prefixItems": [True]}, True],
        "unevaluatedItems": {"type": "null"},
    },
    "properties": lambda s: {"properties": {"x": s}, "required": ["x"]},
    "additionalProperties": lambda s: {"properties": {"x": {"type": "integer"}}, "additionalProperties": s},
    "patternProperties": lambda s: {"patternProperties": {"^x": s}, "additionalProperties": False},
    "propertyNames": lambda s: {"propertyNames": s},
    "propertyNames, not": lambda s: {"propertyNames": {"not": s}},
    "dependentSchemas": lambda s: {"dependentSchemas": {"q": s}},
    "dependentSchemas, not": lambda s: {"dependentSchemas": {"q": {"not": s}}},
    "unevaluatedProperties": lambda s: {"allOf": [{"properties": {"q": True}}], "unevaluatedProperties": s},
    "not evaluated": lambda s: {"allOf": [s], "unevaluatedProperties": False},
    "not evaluated beside": lambda s: {**s, "unevaluatedProperties": {"type": "string"}},
    "not evaluated, perhaps": lambda s: {
        "anyOf": [{**s, "properties": {"q": True, "aa": True}}, True],
        "unevaluatedProperties": {"type": "string"},
    },
    "if, not evaluated": lambda s: {
        "if": {**s, "properties": {"q": True, "aa": True}},
        "else": {"properties": {"x": True}},
        "unevaluatedProperties": False,
    },
    "oneOf, not evaluated": lambda s: {
        "oneOf": [{**s, "properties": {"q": True}}, {"required": ["x"]}],
        "unevaluatedProperties": False,
    },
    "$ref": lambda s: {"$defs": {"s": s}, "$ref": "#/$defs/s"},
    "$ref, both ways": lambda s: {
        "$defs": {"s": s},
        "properties": {"x": {"$ref": "#/$defs/s"}, "q": {"not": {"$ref": "#/$defs/s"}}},
    },
    "$ref, recursive": lambda s: {
        "$defs": {"s": {"anyOf": [s, {"type": "array", "items": {"not": {"$ref": "#/$defs/s"}}}]}},
        "$ref": "#/$defs/s",
    },
    "enum beside": lambda s: {**s, "enum": ["aa", "ab", [1, 1], [1], {"aa": 1}, {"aa": "s"}, {"ab": 1}, 1]},
}

_SCALARS: tuple[Any, ...] = (None, True, 1, 2, 7, "", "aa", "bb", "ab", "(", "abab", "aaaa")


def values() -> Iterator[Any]:
    """A small world: scalars, short arrays and objects of them, and these one level deeper."""
    yield from _SCALARS
    flat: list[Any] = [[], {}]
    some = (1, 2, None, "aa", "ab", "(")
    for n in (1, 2):
        flat += [list(items) for items in itertools.product(some, repeat=n)]
    flat += [[1, 1, 2], [1, 2, 3], ["aa", "aa", "ab"], ["aa", 1, "bb"]]
    members = (1, 7, "aa", "ab", None)
    names = ("aa", "ab", "q", "x", "xx")
    flat += [{name: value} for name in names for value in members]
    flat += [{one: 1, other: value} for one, other in itertools.permutations(names, 2) for value in (1, "aa", "ab")]
    yield from flat
    deep = (
        [1],
        [1, 1],
        [1, 2],
        {},
        {"aa": 1},
        {"aa": "aa"},
        {"ab": 1},
        {"q": 1},
        {"q": "aa"},
        {"x": 1, "q": 2},
        ["ab"],
    )
    for value in deep:
        yield from (
            [value],
            [value, value],
            [1, value],
            {"x": value},
            {"q": value},
            {"aa": value},
            {"xx": value, "x": 1},
        )


def with_plain(schema: Any) -> Any:
    """The same schema with a pattern like `PLAIN` for `BACK`; both can stand in one object."""
    return json.loads(json.dumps(schema).replace(json.dumps(BACK)[1:-1], "^(?:aa|bb)$"))


def random_schema(rng: random.Random, depth: int = 3) -> Any:
    """Applicators, names and evaluation at random; `BACK` in some places and `PLAIN` in others."""

    def pattern() -> str:
        return rng.choice((BACK, BACK, PLAIN, "^q|x"))

    def one(left: int) -> Any:
        if left == 0 or rng.random() < 0.15:
            return rng.choice(
                (
                    True,
                    {"pattern": pattern()},
                    {"type": rng.choice(("string", "object", "array", "integer"))},
                    {"maximum": 5},
                    {"required": [rng.choice(("q", "x", "aa"))]},
                    {"minItems": 1},
                    {"patternProperties": {pattern(): {"type": "integer"}}},
                )
            )
        made: dict[str, Any] = {}
        for _ in range(rng.randint(1, 3)):
            match rng.randrange(16):
                case 0:
                    made["not"] = one(left - 1)
                case 1:
                    made["oneOf"] = [one(left - 1) for _ in range(rng.randint(1, 3))]
                case 2:
                    made["anyOf"] = [one(left - 1) for _ in range(rng.randint(1, 3))]
                case 3:
                    made["allOf"] = [one(left - 1) for _ in range(rng.randint(1, 2))]
                case 4:
                    made["if"] = one(left - 1)
                    for name in ("then", "else"):
                        if rng.random() < 0.7:
                            made[name] = one(left - 1)
                case 5:
                    made["properties"] = {
                        name: one(left - 1) for name in rng.sample(("q", "x", "aa"), rng.randint(1, 2))
                    }
                case 6 | 7:
                    made["patternProperties"] = {pattern(): one(left - 1) for _ in range(rng.randint(1, 2))}
                case 8:
                    made["additionalProperties"] = rng.choice((False, one(left - 1)))
                case 9:
                    made["propertyNames"] = one(left - 1)
                case 10:
                    made["dependentSchemas"] = {rng.choice(("q", "x")): one(left - 1)}
                case 11 | 12:
                    made["unevaluatedProperties"] = rng.choice((False, one(left - 1)))
                case 13:
                    made["contains"] = one(left - 1)
                    if rng.random() < 0.5:
                        made["maxContains"] = 1
                case 14:
                    made[rng.choice(("items", "unevaluatedItems"))] = rng.choice((False, one(left - 1)))
                case 15:
                    made["pattern"] = pattern()
        return made

    return one(depth)
