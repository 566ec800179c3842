"""What it costs to bring a string to an end that a pattern and lengths allow: exact, however far it is.

Short texts against all texts there are; long ones, whose distances are kept once found, against what the lengths say;
and bounds where items are compared, in work units.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import tokfsm

sys.path.insert(0, str(Path(__file__).parents[1]))
from schemas import Probe, Witness  # noqa: E402
from test_walks import walk  # noqa: E402

SEEDS = int(os.environ.get("TOKFSM_PROPERTY_SEEDS", "150"))
TOKENS: list[bytes | None] = [bytes([b]) for b in range(256)]
BYTES = tokfsm.Vocabulary.from_bytes(TOKENS)
PATTERNS = ("^(ab|c)*$", "^(aab|b)+$", "^a{3}|b$", "a.b", "^(a|bc){2,5}$", "c", "^[ab]*c?$",
            "^(abc)*$", "^(aa|bbb)*$", "b[^c]{2}a")
TEXTS = ["".join(t) for n in range(8) for t in itertools.product("abc", repeat=n)]


@pytest.mark.parametrize("seed", range(SEEDS // 3))
def test_short_texts(seed: int) -> None:
    rng = random.Random(seed)
    pattern, least = rng.choice(PATTERNS), rng.randint(0, 5)
    most = rng.choice((None, least + rng.randint(0, 2)))
    right = [t for t in TEXTS if re.search(pattern, t) and least <= len(t) <= (7 if most is None else most)]
    schema = {"type": "string", "pattern": pattern, "minLength": least, **({} if most is None else {"maxLength": most})}
    if not right:
        return
    matcher, text = tokfsm.compile(schema, BYTES).matcher(), ""
    assert matcher.min_tokens == 2 + min(map(len, right))
    for byte in '"' + rng.choice(right):
        assert matcher.accept_token(ord(byte))
        text += byte if byte != '"' else ""
        assert matcher.min_tokens == 1 + min(len(t) for t in right if t.startswith(text)) - len(text), (schema, text)


@pytest.mark.parametrize(("pattern", "least", "most", "length", "start"), [
    ("^([a-z][0-9])+$", 3000, None, 3000, "q7" * 40),
    ("^([a-z][0-9])+$", 2999, 3001, 3000, "q7" * 40 + "z"),
    ("^(ab)*$", 401, 410, 402, "ab" * 30),
    ("^(a|bb)*c$", 500, 500, 500, "abba" * 20),
    ("^(aaa|bbbbb)*$", 1001, 1003, 1001, "bbbbbaaa" * 9),
])
def test_long_texts(pattern: str, least: int, most: int | None, length: int, start: str) -> None:
    schema = {"type": "string", "pattern": pattern, "minLength": least, **({} if most is None else {"maxLength": most})}
    automaton = tokfsm.compile(schema, BYTES)
    for _ in range(2):  # the second time they are known
        matcher = automaton.matcher()
        assert matcher.min_tokens == length + 2
        for n, byte in enumerate('"' + start):
            assert matcher.accept_token(ord(byte))
            assert matcher.min_tokens == length + 1 - n
    rng = random.Random(pattern)
    walk(rng, automaton, Witness(schema), lambda t: TOKENS[t] or b"", 1)


def items(**more: Any) -> dict[str, Any]:
    name = {"type": "string", "pattern": "^[a-z]{1,9}(\\.[a-z]{1,9}){1,3}$", "maxLength": 30}
    item = {"type": "object", "properties": {"id": name, "sha": {"type": "string", "pattern": "^[0-9a-f]{64}$"}},
            "required": ["id", "sha"]}
    array = {"type": "array", "items": item, "uniqueItems": True}
    return {"type": "object", "properties": {"list": array, **more}, "required": ["list"]}


@pytest.mark.parametrize("more", [{}, {"n": {"not": {"enum": [0]}}}, {"pair": {"type": "array", "minItems": 2}}])
def test_items_that_differ_already_are_free(more: dict[str, Any]) -> None:
    """A `not` or `minItems` elsewhere is no reason to write out the rest of a text; nor is an item that differs."""
    probe = Probe(tokfsm.compile(items(**more), BYTES, limits=tokfsm.Limits(work_units=300_000)))
    first = b'{"list":[{"id":"ab.c","sha":"' + b"0" * 64 + b'"},{"id":"a'
    for byte in first + b"c":
        bound = probe.matcher.min_tokens
        assert byte in probe.mask(bound + 200)
        assert probe.matcher.accept_token(byte)
    rest = b'.a","sha":"' + b"0" * 64 + b'"}]}'
    assert probe.matcher.min_tokens == len(rest)
    assert probe.mask(len(rest)) == {ord(".")}


def test_an_item_that_could_be_equal_is_not_free() -> None:
    schema = {"type": "array", "items": {"enum": ["a", "ab", "abc"]}, "uniqueItems": True}
    matcher = tokfsm.compile(schema, BYTES).matcher()
    for byte in b'["a","ab","a':
        assert matcher.accept_token(byte)
    assert matcher.min_tokens == len(b'bc"]')
