"""Patterns and formats: against an ECMA-262 engine, Python's `re` and `interegular` where the dialects agree,
the official suite's formats, and the patterns of real schemas. `bench/regex_witness.py` is the long run.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
SUITE = SHARED / "json-schema-test-suite" / "tests"
REAL = [SHARED / name / "dev.jsonl.gz" for name in ("maskbench", "schemastore")]
sys.path.insert(0, str(ROOT / "bench"))

from regex_witness import (  # noqa: E402
    Pattern,
    Refused,
    compare,
    engine,
    load,
    patterns_of,
    random_cases,
    strings_for,
)

pytestmark = pytest.mark.skipif(shutil.which("cc") is None or sys.platform == "win32", reason="no C compiler here")

UNBOUNDED = 2**64 - 1


class Format(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("pattern", ctypes.c_char_p), ("max_length", ctypes.c_uint64)]


class Lengths(ctypes.Structure):
    _fields_ = [("shortest", ctypes.c_uint64), ("longest", ctypes.c_uint64)]


@pytest.fixture(scope="module")
def lib() -> Iterator[ctypes.CDLL]:
    with tempfile.TemporaryDirectory() as folder:
        yield load(folder)


def matches(pattern: Pattern, text: str) -> bool:
    return pattern.accepts(pattern.walk(text))


# ---- the dialect itself: node, else quickjs ---------------------------------------------


@pytest.fixture(scope="module")
def ask() -> Any:
    found = engine()
    if found is None:
        missing = "neither node nor python-quickjs-ng is here"
        pytest.fail(missing) if os.environ.get("TOKFSM_CI") == "1" else pytest.skip(missing)
    return found


def test_random_patterns_mean_what_an_ecma_engine_says(lib: ctypes.CDLL, ask: Any) -> None:
    cases, refused = random_cases(random.Random(11), lib, 300, 20)
    assert len(cases) > 250 and all(code == 200 for _, code, _ in refused)  # 200: over the work of the call
    assert compare("random", cases, ask) == 0


@pytest.mark.skipif(not all(path.is_file() for path in REAL), reason="needs ../shared")
def test_real_patterns_mean_what_an_ecma_engine_says(lib: ctypes.CDLL, ask: Any) -> None:
    rng, cases = random.Random(12), []
    for text in rng.sample(patterns_of([str(path) for path in REAL]), 300):
        try:
            pattern = Pattern(lib, text, 5_000_000)
            strings = strings_for(rng, pattern, text, 12)
            cases.append((text, strings, [matches(pattern, s) for s in strings]))
        except Refused:
            continue  # test_real_patterns_build knows which
    assert len(cases) > 280
    assert compare("real", cases, ask) == 0


def test_regular_patterns_are_the_languages_of_interegular(lib: ctypes.CDLL) -> None:
    """Random strings of up to six characters over a small alphabet."""
    import itertools

    import interegular

    rng = random.Random(13)

    def regular(depth: int) -> str:
        def item() -> str:
            p = rng.random()
            one = f"(?:{regular(depth - 1)})" if depth and p < 0.4 else rng.choice(["a", "b", "[ab]", "[^a]", "."])
            return one + rng.choice(["", "", "*", "+", "?", "{2}", "{0,2}"])

        return "|".join("".join(item() for _ in range(rng.randint(1, 3))) for _ in range(rng.choice([1, 1, 2])))

    strings = ["".join(c) for n in range(7) for c in itertools.product("abc", repeat=n)]
    for _ in range(60):  # its construction grows fast with nesting
        text = regular(1)
        theirs = interegular.parse_pattern(text).to_fsm()
        ours = Pattern(lib, f"^(?:{text})$")
        for string in rng.sample(strings, 300):
            assert matches(ours, string) == theirs.accepts(string), (text, string)


# ---- Python's dialect: `\Z` for `$`, ASCII classes, lookbehinds of one length ----------


def random_pattern(rng: random.Random, depth: int) -> str:
    def one() -> str:
        p = rng.random()
        if depth and p < 0.25:
            return f"(?:{random_pattern(rng, depth - 1)})"
        if depth and p < 0.32:
            return rng.choice(["(?=", "(?!"]) + random_pattern(rng, depth - 1) + ")"
        if p < 0.38:
            return rng.choice(["(?<=", "(?<!"]) + rng.choice(["a", "b", "ab", r"\w", "^"]) + ")"
        if p < 0.48:
            return rng.choice(["^", "$", r"\b", r"\b"])
        return rng.choice(["a", "b", "é", "[ab]", "[^a]", r"\w", r"\W", r"\d", ".", "1", "-"])

    def item() -> str:
        text = one()
        if text[:2] in ("(?",) and text[2] != ":" or text in ("^", "$", r"\b"):
            return text
        return text + rng.choice(["", "", "", "*", "+", "?", "{2}", "{1,2}", "*?"])

    return "|".join("".join(item() for _ in range(rng.randint(0, 4))) for _ in range(rng.choice([1, 1, 2])))


def test_random_patterns_mean_what_they_mean_in_python(lib: ctypes.CDLL) -> None:
    rng = random.Random(7)
    for _ in range(600):
        text = random_pattern(rng, 2)
        theirs = re.compile(text.replace("$", r"\Z"), re.ASCII)
        ours = Pattern(lib, text)
        for _ in range(40):
            string = "".join(rng.choice("aabb1-é\n") for _ in range(rng.randint(0, 8)))
            assert matches(ours, string) == (theirs.search(string) is not None), (text, string)


def test_every_state_can_be_completed(lib: ctypes.CDLL) -> None:
    """From any state but the dead one some accepted end is as near as the shortest length says."""
    rng = random.Random(8)
    for _ in range(60):
        ours = Pattern(lib, random_pattern(rng, 2))
        for _ in range(10):
            state = ours.walk("".join(rng.choice("ab1-é") for _ in range(rng.randint(0, 6))))
            if state == 0:
                continue
            layer, steps = {state}, 0
            while not any(ours.accepts(s) for s in layer):
                layer = {ours.step(s, byte) for s in layer for byte in b"ab1- \n\r" + "é\u2028".encode()} - {0}
                steps += 1
                assert layer and steps < 40


# ---- formats ---------------------------------------------------------------------------


def formats(lib: ctypes.CDLL) -> dict[str, tuple[Pattern, int]]:
    lib.tf_format_at.restype = ctypes.POINTER(Format)
    found, i = {}, 0
    while lib.tf_format_at(ctypes.c_size_t(i)):
        entry = lib.tf_format_at(ctypes.c_size_t(i)).contents
        found[entry.name.decode()] = (Pattern(lib, entry.pattern.decode()), entry.max_length)
        i += 1
    return found


@pytest.mark.skipif(not SUITE.is_dir(), reason="needs ../shared/json-schema-test-suite")
def test_formats_of_the_official_suite(lib: ctypes.CDLL) -> None:
    """Nothing invalid is accepted; what is refused is listed in formats.h."""
    known = formats(lib)
    n, refused = 0, []
    for path in sorted(SUITE.glob("draft*/optional/format/*.json")):
        for group in json.loads(path.read_text(encoding="utf-8")):
            name = group["schema"].get("format") if isinstance(group["schema"], dict) else None
            for test in group["tests"]:
                text = test["data"]
                if name not in known or not isinstance(text, str):
                    continue
                pattern, most = known[name]
                got = len(text) <= most and matches(pattern, text)
                n += 1
                assert got <= test["valid"], (path.name, test["description"])
                if got != test["valid"]:
                    refused.append((name, text))
    assert n > 2000
    labels = re.compile("[.\u3002\uff0e\uff61]")
    for name, text in refused:
        assert name in ("hostname", "idn-hostname"), (name, text)
        assert any(label[:4].lower() == "xn--" or not label.isascii() and len(label) > 14
                   for label in labels.split(text)), (name, text)


def test_dates_are_those_of_the_calendar(lib: ctypes.CDLL) -> None:
    import datetime
    date, _ = formats(lib)["date"]
    for year in (1, 4, 100, 400, 1900, 1999, 2000, 2023, 2024, 2100, 2400, 9999):
        for month in range(0, 14):
            for day in range(0, 33):
                try:
                    datetime.date(year, month, day)
                    valid = True
                except ValueError:
                    valid = False
                assert matches(date, f"{year:04}-{month:02}-{day:02}") == valid


def test_leap_seconds_are_at_midnight_utc(lib: ctypes.CDLL) -> None:
    time, _ = formats(lib)["time"]
    rng = random.Random(9)
    for sign in (1, -1):
        for offset in range(24 * 60):
            local = (23 * 60 + 59 + sign * offset) % 1440
            mark = "+" if sign > 0 else "-"
            end = f":60{rng.choice(['', '.5'])}{mark}{offset // 60:02}:{offset % 60:02}"
            assert matches(time, f"{local // 60:02}:{local % 60:02}{end}")
            other = rng.choice([m for m in range(1440) if m != local])
            assert not matches(time, f"{other // 60:02}:{other % 60:02}{end}")


# ---- real patterns ---------------------------------------------------------------------


@pytest.mark.skipif(not all(path.is_file() for path in REAL), reason="needs ../shared")
def test_real_patterns_build(lib: ctypes.CDLL) -> None:
    refused = []
    lib.tf_dfa_n_states.restype = ctypes.c_uint32
    for text in patterns_of([str(path) for path in REAL]):
        try:
            pattern = Pattern(lib, text, 1_000_000)
        except Refused as error:
            refused.append(error.args[1])
            continue
        assert pattern.start != 0 or text.startswith("/^"), text
    assert all("back-references" in message for message in refused) and len(refused) < 3


def test_lengths(lib: ctypes.CDLL) -> None:
    for text, shortest, longest in [("^a{2,5}$", 2, 5), ("a", 1, UNBOUNDED), ("^(?!.*x).{3,7}$", 3, 7),
                                    ("^(?:😀é){3}$", 6, 6), ("", 0, UNBOUNDED), ("^(?=.*b)a*b?$", 1, UNBOUNDED)]:
        pattern, out = Pattern(lib, text), ctypes.POINTER(Lengths)()
        pattern.check(lib.tf_dfa_lengths_of(pattern.handle, ctypes.c_uint32(pattern.start),
                                            ctypes.byref(pattern.budget), ctypes.byref(out),
                                            ctypes.byref(pattern.error)))
        assert (out.contents.shortest, out.contents.longest) == (shortest, longest), text
