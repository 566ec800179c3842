"""The schemas of ``curves.py``: families that grow in one number, each with a text to replay.

A family makes, from n, a schema and one valid text of it (or None: random walks only). ``at`` are
the sizes of a full run; ``flat`` says that the schema's own text hardly grows with n, so that a
cost which follows n is worth a look even where it is linear.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, NamedTuple

Made = tuple[Any, Any]  # schema, value (a JSON value, a Raw text, or None)


class Raw(NamedTuple):
    """A text as it stands, for values that json.dumps cannot spell (too deep)."""

    text: str


class Family(NamedTuple):
    curve: str  #: which of the plots
    name: str
    at: tuple[int, ...]
    make: Callable[[int], Made]
    flat: bool = False


def words(n: int, seed: int = 0) -> list[str]:
    """Distinct names as people write them: two or three syllable words, joined in camel case."""
    rng = random.Random(seed)
    syllables = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "er", "an", "ic")]
    found: dict[str, None] = {}
    while len(found) < n:
        parts = ["".join(rng.choices(syllables, k=rng.randint(1, 2))) for _ in range(rng.randint(1, 3))]
        found[parts[0] + "".join(part.capitalize() for part in parts[1:])] = None
    return list(found)


def nested(n: int, open_: str, close: str, inside: str) -> str:
    return open_ * n + inside + close * n


# ---- nesting ----------------------------------------------------------------------------


def objects_deep(n: int) -> Made:
    schema = nested(n, '{"type":"object","properties":{"a":', '},"required":["a"]}', '{"type":"integer"}')
    return Raw(schema), Raw(nested(n, '{"a": ', "}", "1"))


def arrays_deep(n: int) -> Made:
    return Raw(nested(n, '{"type":"array","minItems":1,"items":', "}", '{"type":"integer"}')), Raw(
        nested(n, "[", "]", "1")
    )


def recursive_deep(n: int) -> Made:
    schema = {
        "type": "object",
        "properties": {"v": {"type": "integer"}, "next": {"$ref": "#"}},
        "additionalProperties": False,
    }
    return schema, Raw(nested(n, '{"v": 1, "next": ', "}", "{}"))


def recursive_open_deep(n: int) -> Made:
    schema = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}, "v": {"type": "string"}},
    }
    return schema, Raw(nested(n, '{"v": "x", "kids": [', "]}", "{}"))


def combined_deep(n: int) -> Made:
    """allOf inside allOf; the value is flat."""
    return Raw(nested(n, '{"allOf":[', "]}", '{"type":"integer"}')), 1


# ---- properties ---------------------------------------------------------------------------


def properties(n: int, required: bool, closed: bool, names: Callable[[int], list[str]] = words) -> Made:
    every = names(n)
    schema: dict[str, Any] = {"type": "object", "properties": {name: {"type": "integer"} for name in every}}
    if required:
        schema["required"] = every
    if closed:
        schema["additionalProperties"] = False
    order = list(every)
    random.Random(1).shuffle(order)
    return schema, {name: i % 10 for i, name in enumerate(order)}


def numbered(n: int) -> list[str]:
    return [f"property_{i:06d}" for i in range(n)]


def extra_keys(n: int) -> Made:
    """No property is declared; the text has n of them, which must all differ."""
    return {"type": "object"}, {name: 1 for name in words(n)}


def pattern_properties(n: int) -> Made:
    every = words(n)
    schema = {"type": "object", "patternProperties": {f"^{name}_": {"type": "integer"} for name in every}}
    return schema, {f"{name}_x": 1 for name in every}


# ---- enum -----------------------------------------------------------------------------------


def enum_words(n: int) -> Made:
    return {"enum": words(n)}, words(n)[n // 2]


def enum_long_strings(n: int) -> Made:
    rng = random.Random(3)
    values = [f"{i:06d}" + "".join(rng.choices("abcdefghij ", k=44)) for i in range(n)]
    return {"enum": values}, values[n // 2]


def enum_integers(n: int) -> Made:
    values = [i * 7919 for i in range(n)]
    return {"enum": values}, values[n // 2]


def enum_objects(n: int) -> Made:
    values = [{"id": i, "name": word} for i, word in enumerate(words(n))]
    return {"enum": values}, values[n // 2]


# ---- counts -----------------------------------------------------------------------------------


def max_length(n: int) -> Made:
    return {"type": "string", "maxLength": n}, "lorem ipsum " * (min(n, 20_000) // 12)


def exact_length(n: int) -> Made:
    return {"type": "string", "minLength": n, "maxLength": n}, ("ab c" * n)[:n] if n <= 20_000 else None


def max_length_pattern(n: int) -> Made:
    return {"type": "string", "maxLength": n, "pattern": "^[a-z]+( [a-z]+)*$"}, ("lorem " * n)[
        : min(n, 20_000) - 1
    ].strip()


def counted_pattern(n: int) -> Made:
    return {"type": "string", "pattern": "^[a-z]{1,%d}$" % n}, "lorem" * (min(n, 20_000) // 5)


def max_items(n: int) -> Made:
    return {"type": "array", "items": {"type": "integer"}, "maxItems": n}, [7] * min(n, 5_000)


def exact_items(n: int) -> Made:
    return (
        {"type": "array", "items": {"type": "integer"}, "minItems": n, "maxItems": n},
        [7] * n if n <= 5_000 else None,
    )


def max_properties(n: int) -> Made:
    return {"type": "object", "maxProperties": n, "minProperties": n // 2}, {
        w: 1 for w in words(n)
    } if n <= 3_000 else None


def unique_items(n: int) -> Made:
    return {"type": "array", "items": {"type": "string"}, "uniqueItems": True}, words(n)


def unique_enum(n: int) -> Made:
    """Every value of the enum once: a matching at each item."""
    return {"type": "array", "items": {"enum": words(n)}, "uniqueItems": True, "minItems": n}, words(n)


def contains(n: int) -> Made:
    return (
        {"type": "array", "contains": {"const": 1}, "minContains": n, "items": {"type": "integer"}},
        [1] * n if n <= 5_000 else None,
    )


# ---- branches --------------------------------------------------------------------------------


def branches(n: int, keyword: str) -> Made:
    """Objects told apart by a constant, which may come at any place."""
    every = words(n)
    schema = {
        keyword: [
            {
                "type": "object",
                "properties": {"kind": {"const": name}, f"{name}Value": {"type": "integer"}},
                "required": ["kind", f"{name}Value"],
            }
            for name in every
        ]
    }
    return schema, {f"{every[n // 2]}Value": 1, "kind": every[n // 2]}


def branches_alike(n: int, keyword: str) -> Made:
    """Objects that share all names and differ in the types of one."""
    schema = {
        keyword: [
            {
                "type": "object",
                "properties": {
                    "a": {"type": "string", "maxLength": i + 1},
                    "b": {"type": "integer"},
                    "c": {"minimum": i, "type": "integer"},
                },
                "required": ["a", "b"],
            }
            for i in range(n)
        ]
    }
    return schema, {"b": 1, "a": "x" * n, "c": n - 1}


def branches_optional(n: int, keyword: str) -> Made:
    """Open objects with one optional property each: every branch stays alive."""
    every = words(n)
    schema = {keyword: [{"type": "object", "properties": {name: {"type": "integer"}}} for name in every]}
    return schema, {name: 1 for name in every[: n // 2]} if keyword != "oneOf" else None


def branches_strings(n: int, keyword: str) -> Made:
    every = words(n)
    return {keyword: [{"type": "string", "pattern": f"^{name}-[a-z0-9]+$"} for name in every]}, f"{every[n // 2]}-abc1"


def one_required_each(n: int) -> Made:
    """``anyOf`` of ``required`` beside the properties, as people write "at least one of"."""
    every = words(n)
    schema = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in every},
        "anyOf": [{"required": [name]} for name in every],
    }
    return schema, {name: 1 for name in every}


def conditions(n: int) -> Made:
    """n times if/then on one discriminator."""
    every = words(n)
    schema = {
        "type": "object",
        "properties": {"kind": {"enum": every}},
        "required": ["kind"],
        "allOf": [
            {"if": {"properties": {"kind": {"const": name}}}, "then": {"required": [f"{name}Value"]}} for name in every
        ],
    }
    return schema, {"kind": every[n // 2], f"{every[n // 2]}Value": 1}


def dependents(n: int) -> Made:
    every = words(2 * n)
    schema = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in every},
        "dependentRequired": {a: [b] for a, b in zip(every[:n], every[n:])},
    }
    return schema, {name: 1 for name in every}


# ---- bytes -----------------------------------------------------------------------------------


def definition(name: str) -> dict[str, Any]:
    return {
        "type": "object",
        "description": f"The {name} of the thing. " * 4,
        "properties": {
            "name": {"type": "string"},
            "count": {"type": "integer", "minimum": 0},
            f"{name}Mode": {"enum": ["on", "off", "auto"]},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["name"],
    }


def of_bytes(n: int, make: Callable[[int], Made]) -> Made:
    """The family's schema with about n bytes of text."""
    per_one = (len(text(make(200)[0])) - len(text(make(100)[0]))) / 100
    return make(max(1, round(n / per_one)))


def unused_definitions(n: int) -> Made:
    every = words(n)
    return {"$defs": {name: definition(name) for name in every}, "$ref": f"#/$defs/{every[0]}"}, {
        "name": "x",
        "count": 3,
    }


def used_definitions(n: int) -> Made:
    every = words(n)
    schema = {
        "type": "object",
        "properties": {name: {"$ref": f"#/$defs/{name}"} for name in every},
        "$defs": {name: definition(name) for name in every},
    }
    return schema, {name: {"name": "x", "count": 3} for name in every[:200]}


def chained_definitions(n: int) -> Made:
    """Each definition refers to the next one: nothing is reached but through all before."""
    every = words(n)
    made = {name: definition(name) for name in every}
    for name, after in zip(every, every[1:]):
        made[name]["properties"]["next"] = {"$ref": f"#/$defs/{after}"}
    return {"$defs": made, "$ref": f"#/$defs/{every[0]}"}, {"name": "x", "next": {"name": "y", "next": {"name": "z"}}}


def descriptions(n: int) -> Made:
    return {"type": "object", "description": "word " * (n // 5), "properties": {"a": {"type": "integer"}}}, {"a": 1}


# ---- patterns --------------------------------------------------------------------------------


def pattern(n: int, source: str, value: Callable[[int], str] | None = None) -> Made:
    return {"type": "string", "pattern": source.replace("N", str(n))}, value(n) if value else None


def pattern_with_length(n: int) -> Made:
    """Two counters (engines.md §9): words, and characters."""
    return (
        {"type": "string", "pattern": r"^(?:\S+\s+){0,%d}\S+$" % n, "maxLength": 10 * n},
        "lorem ipsum" + " dolor" * (n - 2),
    )


def pattern_words(n: int) -> Made:
    return {"type": "string", "pattern": f"^({'|'.join(words(n))})$"}, words(n)[n // 2]


def pattern_words_search(n: int) -> Made:
    """Not anchored: any text that has one of the words."""
    return {"type": "string", "pattern": f"({'|'.join(words(n))})"}, "some text and " + words(n)[n // 2] + " then more"


def patterns_together(n: int) -> Made:
    """n patterns that must all be found somewhere in the string."""
    some = words(n, 5)
    return {"allOf": [{"type": "string", "pattern": word} for word in some]}, " ".join(some)


def text(schema: Any) -> str:
    return schema.text if isinstance(schema, Raw) else json.dumps(schema, ensure_ascii=False)


def spelled(value: Any) -> bytes | None:
    return None if value is None else text(value).encode()


DECADES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
FAMILIES: tuple[Family, ...] = (
    Family("depth", "objects", (10, 30, 100, 300, 1_000), objects_deep),
    Family("depth", "arrays", (10, 30, 100, 300, 1_000), arrays_deep),
    Family("depth", "allOf", (10, 30, 100, 300, 1_000), combined_deep),
    Family("depth", "recursive, in the text", (10, 30, 100, 300, 1_000), recursive_deep, True),
    Family("depth", "recursive and open, in the text", (10, 30, 100, 300, 1_000), recursive_open_deep, True),
    Family("properties", "optional, closed", (10, 100, 1_000, 3_000, 10_000), lambda n: properties(n, False, True)),
    Family("properties", "optional, open", (10, 100, 1_000, 3_000, 10_000), lambda n: properties(n, False, False)),
    Family("properties", "required, closed", (10, 100, 1_000, 3_000, 10_000), lambda n: properties(n, True, True)),
    Family("properties", "required, open", (10, 100, 1_000, 3_000, 10_000), lambda n: properties(n, True, False)),
    Family(
        "properties", "numbered, open", (10, 100, 1_000, 3_000, 10_000), lambda n: properties(n, False, False, numbered)
    ),
    Family("properties", "undeclared, in the text", (10, 100, 1_000, 3_000, 10_000), extra_keys, True),
    Family("properties", "patternProperties", (3, 10, 30, 100, 300), pattern_properties),
    Family("enum", "words", DECADES[:5], enum_words),
    Family("enum", "strings of 50 bytes", DECADES[:5], enum_long_strings),
    Family("enum", "integers", DECADES[:5], enum_integers),
    Family("enum", "objects", DECADES[:5], enum_objects),
    Family("counts", "maxLength", DECADES, max_length, True),
    Family("counts", "minLength = maxLength", DECADES, exact_length, True),
    Family("counts", "maxLength with a pattern", DECADES, max_length_pattern, True),
    Family("counts", "pattern [a-z]{1,n}", DECADES[:4], counted_pattern, True),
    Family("counts", "maxItems", DECADES, max_items, True),
    Family("counts", "minItems = maxItems", DECADES, exact_items, True),
    Family("counts", "minProperties, maxProperties", DECADES, max_properties, True),
    Family("counts", "uniqueItems, strings in the text", (10, 100, 1_000, 3_000), unique_items, True),
    Family("counts", "uniqueItems of an enum of n", (3, 10, 30, 100, 300), unique_enum),
    Family("counts", "minContains", (1, 10, 100, 1_000, 10_000), contains, True),
    Family("branches", "anyOf, a constant each", (5, 15, 50, 150, 500), lambda n: branches(n, "anyOf")),
    Family("branches", "oneOf, a constant each", (5, 15, 50, 150, 500), lambda n: branches(n, "oneOf")),
    Family("branches", "anyOf, all names shared", (5, 15, 50, 150, 500), lambda n: branches_alike(n, "anyOf")),
    Family("branches", "anyOf, optional and open", (5, 15, 50, 150, 500), lambda n: branches_optional(n, "anyOf")),
    Family("branches", "oneOf, optional and open", (3, 5, 10, 15), lambda n: branches_optional(n, "oneOf")),
    Family("branches", "allOf, optional and open", (5, 15, 50, 150, 500), lambda n: branches_optional(n, "allOf")),
    Family("branches", "anyOf of patterns", (5, 15, 50, 150, 500), lambda n: branches_strings(n, "anyOf")),
    Family("branches", "oneOf of patterns", (5, 15, 50, 150), lambda n: branches_strings(n, "oneOf")),
    Family("branches", "anyOf of required", (5, 15, 50, 150), one_required_each),
    Family("branches", "if/then on a constant", (3, 5, 15, 50, 150), conditions),
    Family("branches", "dependentRequired", (3, 10, 30, 100, 300), dependents),
    Family(
        "bytes",
        "definitions, one used",
        (10_000, 100_000, 1_000_000, 5_000_000),
        lambda n: of_bytes(n, unused_definitions),
    ),
    Family(
        "bytes",
        "definitions, all used",
        (10_000, 100_000, 1_000_000, 5_000_000),
        lambda n: of_bytes(n, used_definitions),
    ),
    Family(
        "bytes",
        "definitions in a chain",
        (10_000, 100_000, 1_000_000, 5_000_000),
        lambda n: of_bytes(n, chained_definitions),
    ),
    Family("bytes", "a description", (10_000, 100_000, 1_000_000, 5_000_000), descriptions),
    Family(
        "pattern",
        r"^[a-z0-9_-]{1,n}$",
        (10, 100, 1_000),
        lambda n: pattern(n, r"^[a-z0-9_-]{1,N}$", lambda n: "ab-1" * (n // 4)),
    ),
    Family(
        "pattern",
        r"(a|b)*a(a|b){n}",
        (2, 4, 8, 12, 16),
        lambda n: pattern(n, r"^(a|b)*a(a|b){N}$", lambda n: "ab" * 20 + "a" * (n + 1)),
    ),
    Family(
        "pattern",
        r"[ab]{n,2n} not anchored",
        (2, 8, 32, 128),
        lambda n: pattern(n, "[ab]{%d,%d}" % (n, 2 * n), lambda n: "xyz " + "ab" * n),
    ),
    Family("pattern", r"^(?:\S+\s+){0,n}\S+$ with maxLength 10n", (5, 15, 50, 150), pattern_with_length),
    Family(
        "pattern", r"^(x{1,n}){1,n}$", (3, 10, 30, 100), lambda n: pattern(n, r"^(x{1,N}){1,N}$", lambda n: "x" * n)
    ),
    Family(
        "pattern", r"^\p{L}{1,n}$", (10, 100, 1_000), lambda n: pattern(n, r"^\p{L}{1,N}$", lambda n: "\u00e9tude"[:n])
    ),
    Family("pattern", "^(word|word|…)$", (10, 100, 1_000, 5_000), pattern_words),
    Family("pattern", "(word|word|…) not anchored", (10, 100, 1_000), pattern_words_search),
    Family("pattern", "n patterns, all in one string", (2, 4, 6, 8), patterns_together),
    Family(
        "pattern",
        "lookaheads",
        (1, 2, 4, 6),
        lambda n: pattern(
            n, "^" + "".join(f"(?=.*{c})" for c in "ABCDEF"[:n]) + "[A-Za-z0-9]{8,64}$", lambda n: "ABCDEF123abc"
        ),
    ),
)
