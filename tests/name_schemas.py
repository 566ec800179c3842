"""Schemas in which it matters which names are there, and walks that come back to them.

What names may be is drawn as small languages: finite ones, endless ones of which some part is
finite once a character or two are written, and such that differ in a character that can be
escaped. Values are of one byte, so that a short walk has many names. Everything is drawn from a
`random.Random`.
"""

from __future__ import annotations

import random
import re
from typing import Any

NAMES = ("XX", "XY", "X", "a", "ab", "b", "", "aX", "bX", "é", "\n", "a\n", "😀", 'a"')
PATTERNS = (
    "^([a-z]*|XX)$", "^([ab]*|X[XY])$", "^[ab]*X$", "^[ab]+[XY]$", "^(aX|bX)$", "^[ab]X$", "^[ab]?$", "^(a|XX|XY)$",
    "^a*(X|YZ)$", "^(aX|b*)$", "^[\\n\\t]$", "^(a[\\n\\t]|X*)$", "^[é-ë]$", "^a[é-ë]$", "^([ab]*|é[é-ë])$", "^[😀😁]$",
    "^(X[😀😁]?|a*)$", "^[^a]$", "^X.$", "^(X.|[^X]*)$", "^[a-c]*-$", "^X", "X$", "^.{1,2}$", "^(?:ab?)+$", "^..?$",
    '^["\\\\]$', '^(a*|["/\\\\]X)$', "^[`-p]$", "^(X[`-p]|a+)$", "^aX?$", "^(ab)*X{0,2}$", "^[\\u0001\\n]X?$")
VALUES: tuple[Any, ...] = ({"const": 1}, {"const": 1}, {"enum": [1, 2]}, {"type": "null"}, False,
                           {"type": "integer", "minimum": 0, "maximum": 9})


def names_of(r: random.Random) -> Any:
    """What `propertyNames` asks."""
    return r.choice((
        {"pattern": r.choice(PATTERNS)}, {"maxLength": r.randint(0, 2)}, {"minLength": 1},
        {"not": {"const": r.choice(NAMES)}}, {"enum": r.sample(NAMES, 3)},
        {"anyOf": [{"pattern": r.choice(PATTERNS)}, {"const": r.choice(NAMES)}]},
        {"not": {"pattern": r.choice(PATTERNS)}}))


def object_schema(r: random.Random, deeper: bool) -> dict[str, Any]:
    s: dict[str, Any] = {"type": "object"}

    def value() -> Any:
        return object_schema(r, False) if deeper and r.random() < 0.15 else r.choice(VALUES)

    if r.random() < 0.9:
        s["patternProperties"] = {r.choice(PATTERNS): value() for _ in range(r.choice((1, 1, 1, 2, 3)))}
    if r.random() < 0.35:
        s["properties"] = {n: value() for n in r.sample(NAMES, r.randint(1, 3))}
    if r.random() < 0.2:
        s["propertyNames"] = names_of(r)
    if r.random() < 0.25:
        s["required"] = r.sample(NAMES, r.randint(1, 2))
    p = r.random()
    if p < 0.7:
        s["additionalProperties"] = False
    elif p < 0.85:
        s["additionalProperties"] = value()
    elif p < 0.95:
        s["unevaluatedProperties"] = False
    if r.random() < 0.25:
        s["minProperties"] = r.randint(1, 4)
    if r.random() < 0.15:
        s["maxProperties"] = r.randint(1, 4)
    if r.random() < 0.12:
        s["dependentRequired"] = {r.choice(NAMES): [r.choice(NAMES)]}
    return s


def make_schema(r: random.Random) -> Any:
    p = r.random()
    if p < 0.7:
        return object_schema(r, True)
    if p < 0.8:
        return {r.choice(("anyOf", "oneOf")): [object_schema(r, False), object_schema(r, False)]}
    if p < 0.9:
        wide = {**object_schema(r, False), "additionalProperties": r.choice(VALUES)}
        return {"allOf": [object_schema(r, False), wide]}
    return {"type": "array", "items": object_schema(r, False), "maxItems": 2}


PIECES = [s.encode() for s in (
    'X', 'XX', 'XY', 'aX', 'bX', 'ab', 'a"', 'X"', '"X', '"XX"', '"XX":', ',"X', ',"a', '1,"X', '1,"XX', '{"X',
    '{"a', '":1', '":1,"', '":1}', 'X":1,"', 'X":1,"X', 'aX":1', '",', '1}', '1,', '"a":1,', '\\u00', '\\u0',
    '\\u006', '\\u0061', '\\u005', '\\u0058', '\\n', 'a\\', 'X\\', '\\"', '\\u00e', '\\ud83d', '\\ud83d\\ude0',
    '\\ude0', 'é', 'aé', 'ab"', '-"', '-', 'a\\n', 'null', 'null,"', '2,"a', ',"X\\', '"\\u0', '":1,"X":1')]
PIECES += [b"\xc3", b"X\xc3", b"\xf0\x9f", b"\x98\x80", b'\xa9"', b"\xf0\x9f\x98"]


def make_tokens(r: random.Random) -> list[bytes | None]:
    singles = [bytes([b]) for b in range(256)]  # where some lack, counted names are refused that an escape could write
    pieces = r.sample(PIECES, r.choice((0, 20, len(PIECES))))
    pairs = [p for p in pieces if p.count(b'"') >= 3]   # one such token turns short cuts off
    if pairs and r.random() < 0.6:
        pieces = [p for p in pieces if p not in pairs]
    return [*singles, *pieces]


def spellings(name: bytes) -> list[bytes]:
    """Some ways to write a name that stands in a text, raw or escaped."""
    from json import loads

    text = loads(b'"' + name + b'"')
    units = [b"".join(b"\\u" + pair[i:i + 2].hex().encode() for i in range(0, len(pair), 2))
             for pair in (c.encode("utf-16-be") for c in text)]
    raw = [c.encode() if c >= " " and c not in '"\\' else u for c, u in zip(text, units)]
    return [name, b"".join(units), b"".join(raw[:-1] + units[-1:]), b"".join(units[:1] + raw[1:])]


def towards_a_name(text: bytes, ids: list[int], tokens: list[bytes | None]) -> list[int]:
    """Of the ids those that lead to a name that stands in the text already."""
    if text.count(b'"') - text.count(b'\\"') & 1 == 0:
        return [t for t in ids if (tokens[t] or b"")[:2] in (b",", b',"', b'"', b"1", b":")]
    begun = re.search(rb'"((?:[^"\\]|\\.)*\\?)$', text)
    if begun is None:
        return []
    wanted = [w + b'":' for name in re.findall(rb'"((?:[^"\\]|\\.)*)":', text) for w in spellings(name)
              if w.startswith(begun[1])]
    rests = [w[len(begun[1]):] for w in wanted]
    return [t for t in ids for token in [tokens[t] or b"?"]
            if any(rest.startswith(token) or token.startswith(rest) for rest in rests)]
