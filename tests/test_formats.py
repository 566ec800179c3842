"""Formats against the judge in both directions: strings of the official suite, walks through the automata, mutations.

`test_regex.py` holds them against the suite's labels alone; here nobody chose the strings.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tokfsm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT / "tests"))

from conformance import suite  # noqa: E402
from judge import FORMATS, Judge  # noqa: E402
from regex_witness import Refused, load, mutate, sample  # noqa: E402
from test_regex import formats, matches  # noqa: E402
from test_regex import pytestmark as needs_a_compiler  # noqa: E402

pytestmark = needs_a_compiler

LETTERS = [*"aA0-.:/@%~ +[]{}#?!\\\"'_TtZz9", "é", "日", "\u200d", "א", "٠", "\n", "😀"]


@pytest.fixture(scope="module")
def known() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        yield formats(load(folder))


@pytest.fixture(scope="module")
def seeds() -> dict[str, list[str]]:
    """The suite's own strings, by format."""
    found: dict[str, dict[str, None]] = {}
    for folder in suite.folders()[:1]:
        for group in suite.groups(folder):
            if group.asserts_formats:
                for test in group.tests:
                    if test.text.startswith('"'):
                        found.setdefault(Path(group.file).stem, {})[json.loads(test.text)] = None
    return {name: list(texts) for name, texts in found.items()}


@pytest.mark.parametrize("name", [f for f in FORMATS if f != "regex"])
def test_formats_mean_what_the_validators_say(name: str, known: dict[str, Any], seeds: dict[str, list[str]]) -> None:
    (pattern, most), judge, rng = known[name], Judge({"format": name}), random.Random(name)
    bytes_ = list(b"aA0-.:/@%~Zz9TZ+[]{}#?")
    n, n_valid = 0, 0
    for _ in range(400):
        texts = seeds.get(name, ())
        text = rng.choice(texts) if texts and rng.random() < 0.6 else (
            sample(rng, pattern, bytes_, rng.choice((8, 20, 40))) or "")
        if rng.random() < 0.7:
            text = mutate(rng, text, LETTERS)
        try:
            got = len(text) <= most and matches(pattern, text)
        except Refused:
            continue  # over the work of a call
        valid = judge.value_ok(text)
        if got != valid:
            gap = suite.is_left_out(f"x/optional/format/{name}.json", json.dumps(text, ensure_ascii=False))
            assert valid and gap, f"accepted {got}, valid {valid}: {text!a}"
        n, n_valid = n + 1, n_valid + valid
    assert n > 300 and n_valid > 20 and n - n_valid > 20


LOCAL_PART = r'''[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+(\.[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+)*|"([ !#-\[\]-~]|\\[ -~])*"'''


@pytest.mark.parametrize("name", ["email", "idn-email"])
def test_local_parts(name: str, known: dict[str, Any]) -> None:
    """Quoted and escaped in all sorts, round the limit of 64 characters (RFC 5321, 4.1.2 and 4.5.3.1.1)."""
    pattern, _ = known[name]
    locals_ = {"", '"', '""', '"@"', '"a"b', '"\\"', '"\\""', '"\\\\"', '"\\\\"@b"', '"a\\"@b"', "a.b", "a..b", ".a"}
    for n in range(61, 67):
        locals_ |= {"a" * n, ("a." * n)[:n]}
        for piece in ("a", "\\a", '\\"', "\\\\", "@", '\\"@', '"@', "\\"):
            locals_.add(f'"{(piece * n)[: n - 2]}"')
    n_valid = 0
    for local in sorted(locals_):
        valid = len(local) <= 64 and re.fullmatch(LOCAL_PART, local) is not None
        assert matches(pattern, f"{local}@b.c") == valid, local
        n_valid += valid
    assert 20 < n_valid < len(locals_) - 20


def test_least_lengths_that_a_format_has_anyway() -> None:
    """They cost nothing; and formats stay as small as they are."""
    vocab = tokfsm.Vocabulary.from_bytes([bytes([byte]) for byte in range(256)])
    n_states = {}
    for extra in ({}, {"minLength": 1}, {"minLength": 3}, {"minLength": 3, "maxLength": 300}):
        automaton = tokfsm.compile({"type": "string", "format": "email", **extra}, vocab)
        automaton.precompile()
        n_states[str(extra)] = automaton.statistics["string_states"]
    assert len(set(n_states.values())) == 1 and max(n_states.values()) < 1400, n_states
