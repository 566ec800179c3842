"""The wide reading of the oracle, judged by `jsonschema`, by Python's `re` and by the narrow reading.

`TOKFSM_ORACLE_SEEDS` sets how many random schemas each test draws.
"""

from __future__ import annotations

import itertools
import os
import random
import re
from typing import Any

import pytest

from oracle import AlternativesOracle, Undecided, Unsatisfiable, ValuesOracle, allowed
from oracle.regex import FORMATS, pattern
from judge import python_formats
from schema_keywords import ALL
from schemas import RICH, TINY, SchemaMaker, Witness, make_options, make_tokens, strict_json
from test_small_worlds import WORLDS, bytes_of, completion, json_texts

SEEDS = range(int(os.environ.get("TOKFSM_ORACLE_SEEDS", "30")))
CHECKER = python_formats()
EVERY = bytes_of(bytes(range(256)))


def test_patterns_mean_what_they_mean_in_python() -> None:
    rng = random.Random(1)

    def draw(depth: int) -> str:
        def one() -> str:
            p = rng.random()
            if depth and p < 0.3:
                return f"(?:{draw(depth - 1)})"
            if p < 0.4:
                return rng.choice("^$")
            return rng.choice(["a", "b", "é", "[ab]", "[^a]", r"\w", r"\W", r"\d", ".", "1", "-", "[a-c1]"])

        def item() -> str:
            text = one()
            repeats = ["", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,1}", "{1,}"]
            return text if text in "^$" else text + rng.choice(repeats)

        return "|".join("".join(item() for _ in range(rng.randint(0, 4))) for _ in range(rng.choice([1, 1, 2])))

    for _ in range(400):
        text = draw(2)
        theirs = re.compile(text.replace("$", r"\Z").replace(".", "[^\n\r\u2028\u2029]"), re.ASCII)
        for _ in range(20):
            string = "".join(rng.choice("aabb1-é\n") for _ in range(rng.randint(0, 8)))
            assert pattern(text).matches(string) == (theirs.search(string) is not None), (text, string)


def test_formats_are_those_of_the_witness() -> None:
    rng = random.Random(2)
    seeds = {"date": ["2024-02-29", "1900-02-28", "0001-12-31", "2023-11-30"], "ipv4": ["0.0.0.0", "255.249.10.9"],
             "uuid": ["2eb8aa08-aa98-11ea-b4aa-73b441d16380"], "json-pointer": ["/a~0b/~1", "", "/"]}
    for name, texts in seeds.items():
        for _ in range(3000):
            text = list(rng.choice(texts))
            for _ in range(rng.randint(0, 2)):
                at = rng.randrange(len(text) + 1)
                text[at:at + rng.randint(0, 1)] = [rng.choice("0123456789-.~/afG")]
            joined = "".join(text)
            assert pattern(FORMATS[name]).matches(joined) == CHECKER.conforms(joined, name), (name, joined)


def draw_schema(seed: int) -> tuple[Any, random.Random]:
    rng = random.Random(seed)
    draft = rng.choice(["2020-12"] * 4 + ["7", "2019-09", "6"])
    return SchemaMaker(rng, TINY, draft=draft, keywords=ALL).make(rng.choice((1, 2, 2))), rng


@pytest.mark.parametrize("seed", SEEDS)
def test_all_keywords_in_a_world_of_bytes(seed: int) -> None:
    """Complete if and only if valid; live if and only if something valid begins so."""
    schema, rng = draw_schema(5000 + seed)
    witness = Witness(schema)
    alphabet, n = WORLDS[seed % len(WORLDS)]
    n -= 1
    valid = {t for t in json_texts(alphabet, n) if witness.value_ok(strict_json(t))}
    try:
        oracle = ValuesOracle(schema, tokens=bytes_of(alphabet))
        assert set(oracle.brute_force(n)) == valid
        prefixes = {t[:i] for t in valid for i in range(len(t) + 1)}
        assert all(oracle.is_live(p) for p in rng.sample(sorted(prefixes), min(150, len(prefixes))))
        for prefix in map(bytes, rng.sample(list(itertools.product(alphabet, repeat=3)), 150)):
            state = oracle.run(prefix)
            if prefix not in prefixes and state is not None and oracle.completable(state):
                assert completion(oracle, state, rng) is not None, prefix
    except Unsatisfiable:
        assert not valid
    except Undecided:
        pytest.skip("not decided")


@pytest.mark.parametrize("seed", SEEDS)
def test_both_readings_agree(seed: int) -> None:
    """Where the narrow one knows all keywords, within what the profile leaves in doubt."""
    rng = random.Random(6000 + seed)
    schema = SchemaMaker(rng, rng.choice((RICH, TINY)), draft=rng.choice(("2020-12", "7"))).make()
    options = make_options(rng)
    options.pop("additional_properties", None)
    tokens, stops = make_tokens(rng, 60)

    def read(reading: Any) -> Any:
        try:
            return reading(schema, tokens=tokens, stop_token_ids=stops, **options)
        except Unsatisfiable:
            return None

    try:
        narrow, wide = read(AlternativesOracle), read(ValuesOracle)
        assert (narrow is None) == (wide is None)
        here, there = (narrow.start, wide.start) if narrow else (None, None)
        for _ in range(12 if narrow else 0):
            must, may = wide.bounds_at(there)
            mask = narrow.mask_at(here)
            assert must <= mask <= may
            ids = sorted(t for t in must if tokens[t] and t not in stops)
            if not ids:
                break
            t = rng.choice(ids)
            here, there = narrow.run(tokens[t], here), wide.run(tokens[t], there)
    except Undecided:
        pytest.skip("not decided")


CASES = [  # schema, prefix, bytes that may follow it, of those asked for
    ({"type": "array", "uniqueItems": True, "items": {"type": "boolean"}, "minItems": 2}, b"[true,", b"tf", b"f"),
    ({"type": "array", "uniqueItems": True, "items": {"type": "boolean"}}, b"[true,false", b",]", b"]"),
    ({"type": "array", "uniqueItems": True, "prefixItems": [{"enum": [1, 2]}, {"const": 1}], "minItems": 2},
     b"[", b"12", b"2"),
    ({"type": "array", "uniqueItems": True, "items": {"enum": [[], [0], [1]]}}, b"[[0],[", b"01]", b"1]"),
    ({"type": "array", "not": {"uniqueItems": True}, "items": {"enum": [1, 2]}}, b"[1", b",]", b","),
    ({"type": "array", "not": {"uniqueItems": True}, "items": {"enum": [1, 2]}, "maxItems": 2}, b"[1,", b"12", b"1"),
    ({"type": "array", "contains": {"const": 1}, "minContains": 2, "maxItems": 3}, b"[2,", b"123", b"1"),
    ({"type": "array", "contains": {"const": 1}, "maxContains": 1, "items": {"enum": [1, 2]}}, b"[1,", b"12", b"2"),
    ({"type": "array", "contains": {"type": "string"}, "unevaluatedItems": {"type": "null"}}, b"[", b'"n1t]', b'"n'),
    ({"type": "object", "patternProperties": {"^a": {"type": "null"}, "b$": {"type": "string"}},
      "additionalProperties": False}, b'{"ab', b'"acb', b"acb"),
    ({"type": "object", "patternProperties": {"^a": {"type": "null"}, "b$": {"type": ["string", "null"]}},
      "additionalProperties": False}, b'{"ab":', b'n"1', b"n"),
    ({"type": "object", "propertyNames": {"enum": ["a", "b"]}, "minProperties": 2}, b'{"a":1,"', b"abc", b"b"),
    ({"type": "object", "propertyNames": {"pattern": "^[xy]$"}, "minProperties": 3}, b"", b"{", b""),
    ({"type": "object", "propertyNames": {"maxLength": 1}, "required": ["a"]}, b'{"', b'a"b', b'a"b'),
    ({"type": "object", "unevaluatedProperties": False,
      "anyOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": True}, "required": ["b"]}]},
     b'{"a":"x"', b",}", b""),
    ({"type": "object", "unevaluatedProperties": False, "if": {"properties": {"k": {"const": 1}}, "required": ["k"]},
      "then": {"properties": {"x": True}}, "else": {"properties": {"y": True}}}, b'{"x":0,"', b"kxy", b"k"),
    ({"type": "object", "unevaluatedProperties": False, "not": {"not": {"properties": {"a": True}}}},
     b"{", b'"}', b"}"),
    ({"type": "array", "prefixItems": [True], "unevaluatedItems": False,
      "anyOf": [{"prefixItems": [True], "items": {"type": "null"}}, True]},
     b"[1,", b"n1", b"n"),
    ({"enum": [{"a": 1}, {}], "unevaluatedProperties": False}, b"{", b'"}', b"}"),
    ({"oneOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "b$"}]}, b'"ab', b'"ab', b"ab"),
    ({"type": "string", "pattern": "^a+$", "not": {"maxLength": 2}}, b'"aa', b'"ab', b"a"),
    ({"type": "string", "format": "date"}, b'"2023-02-2', b"0189", b"018"),
    ({"not": {"patternProperties": {"^a": {"type": "null"}}}, "type": "object"}, b'{"b":1', b",}", b","),
]


@pytest.mark.parametrize("schema,prefix,asked,expected", CASES)
def test_what_may_follow(schema: Any, prefix: bytes, asked: bytes, expected: bytes) -> None:
    try:
        mask = allowed(schema, prefix, EVERY)
    except Unsatisfiable:
        mask = set()
    assert {b for b in asked if b in mask} == set(expected)


def test_exponents_reach_beyond_the_digits_of_a_number() -> None:
    """Under `max_digits` a bound out of their reach still constrains the value: 1e9 > 100."""
    for schema in ({"type": "number", "maximum": 100}, {"not": {"const": 1000}}):
        oracle = ValuesOracle(schema, tokens=EVERY, max_digits=2)
        assert oracle.is_complete(b"9.9") and not oracle.is_complete(b"9.9E9")
    assert ValuesOracle({"type": "number"}, tokens=EVERY, max_digits=2).is_complete(b"9.9E9")


def test_names_that_only_an_enum_admits_are_literals() -> None:
    names = {"anyOf": [{"const": "ab"}, {"pattern": "^b"}]}
    oracle = ValuesOracle({"type": "object", "propertyNames": names}, tokens=EVERY)
    assert oracle.is_complete(b'{"ab":1}') and oracle.is_complete(b'{"\\u0062":1}')
    assert not oracle.is_complete(b'{"\\u0061b":1}') and not oracle.is_live(b'{"\\u0061')
