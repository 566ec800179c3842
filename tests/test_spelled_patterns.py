"""Patterns that spell out the names they match: every small object, and the masks.

With `escapes="minimal"` such names are declared names.
"""

from __future__ import annotations

import itertools
import json
from typing import Any, Iterator

import jsonschema
import pytest

import tokfsm
from mask_bits import differing
from schemas import Probe

INTEGER, STRING = {"type": "integer"}, {"type": "string"}
SCHEMAS: list[dict[str, Any]] = [
    {"patternProperties": {"^a$": INTEGER, "^(b|c)$": STRING}, "additionalProperties": False},
    {"patternProperties": {"^a$": INTEGER, "^(?:b|)$": STRING}, "additionalProperties": STRING},
    {"properties": {"a": INTEGER, "b": INTEGER}, "patternProperties": {"^a$": {"minimum": 2}, "^b": {"maximum": 1}},
     "additionalProperties": False},
    {"patternProperties": {"^(a|b)$": INTEGER}, "required": ["a"], "minProperties": 2, "additionalProperties": False},
    {"patternProperties": {"^a\\.b$": INTEGER, "^a.b$": {"minimum": 2}}, "additionalProperties": False},
    {"patternProperties": {"^a$": False}, "additionalProperties": INTEGER},
    {"propertyNames": {"pattern": "^(a|b)$"}, "additionalProperties": INTEGER},
    {"propertyNames": {"not": {"pattern": "^(a|b)$"}}, "additionalProperties": INTEGER, "maxProperties": 2},
    {"propertyNames": {"anyOf": [{"pattern": "^a$"}, {"maxLength": 0}]}, "additionalProperties": INTEGER},
    {"not": {"patternProperties": {"^(a|b)$": INTEGER}}, "additionalProperties": {"type": ["integer", "string"]}},
    {"anyOf": [{"patternProperties": {"^a$": INTEGER}}, {"patternProperties": {"^[ab]$": STRING}, "required": ["c"]}],
     "additionalProperties": {"type": ["integer", "string"]}},
    {"anyOf": [{"patternProperties": {"^a$": INTEGER}}, {"properties": {"b": STRING}}], "unevaluatedProperties": False},
    {"oneOf": [{"patternProperties": {"^(a|c)$": INTEGER}}, {"patternProperties": {"^(a|b)$": STRING}}],
     "additionalProperties": {"type": ["integer", "string"]}},
    {"if": {"patternProperties": {"^a$": INTEGER}, "required": ["a"]}, "then": {"required": ["b"]},
     "additionalProperties": {"type": ["integer", "string"]}},
    {"patternProperties": {"^(aa|ab)$": INTEGER, "^a": {"maximum": 1}}, "additionalProperties": False, "minProperties": 1},
]
NAMES = ["a", "b", "c", "", "a.b", "axb", "aa", "ab"]
PIECES = [bytes([b]) for b in range(0x20, 0x7F)] + [b'{"', b'":', b'"a', b'"a":1', b'":"', b',"', b"ab", b'\\u0061', b"b\":", b"a.b"]


def objects() -> Iterator[dict[str, Any]]:
    yield {}
    for n in (1, 2):
        for names in itertools.permutations(NAMES, n):
            for values in itertools.product((1, 2, "s"), repeat=n):
                yield dict(zip(names, values))
    yield {"a": 1, "b": 1, "c": "s"}
    yield {"a": 1, "b": "s", "c": 1}


@pytest.mark.parametrize("escapes", ["all", "minimal"])
@pytest.mark.parametrize("number", range(len(SCHEMAS)))
def test_what_a_pattern_spells_out(number: int, escapes: Any) -> None:
    schema = {"type": "object", **SCHEMAS[number]}
    valid = jsonschema.Draft202012Validator(schema).is_valid
    automaton = tokfsm.compile(schema, tokfsm.Vocabulary.from_bytes(PIECES), escapes=escapes)
    accepted = 0
    for value in objects():
        text = json.dumps(value, separators=(",", ":")).encode()
        assert Probe(automaton).feed(text) == valid(value), (schema, text)
        accepted += valid(value)
        if len(value) > 1 or not valid(value):
            continue
        probe = Probe(automaton)
        for byte in text[:-1]:
            _, more, less = differing(probe, PIECES)
            assert not more and not less, (schema, text)
            assert probe.matcher.accept_token(PIECES.index(bytes([byte])))
    assert accepted > 2


def test_spelled_names_have_no_rank() -> None:
    """property_order="schema" speaks of declared names; what a pattern matches comes among the others."""
    schema = {"type": "object", "patternProperties": {"^b$": INTEGER}, "properties": {"a": INTEGER, "c": INTEGER},
              "additionalProperties": False}
    automaton = tokfsm.compile(schema, tokfsm.Vocabulary.from_bytes(PIECES), property_order="schema", escapes="minimal")
    likewise = tokfsm.compile({**schema, "patternProperties": {"^[b]$": INTEGER}},
                              tokfsm.Vocabulary.from_bytes(PIECES), property_order="schema", escapes="minimal")
    for names in itertools.permutations("abc"):
        text = json.dumps(dict.fromkeys(names, 1), separators=(",", ":")).encode()
        assert Probe(automaton).feed(text) == Probe(likewise).feed(text), text
