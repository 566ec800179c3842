"""What scripts of ``bench/`` rest on: families whose texts are valid, cliffs that are seen, a search that is exact."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import tokfsm
from tokfsm.measure.walks import Cutter

BENCH = Path(__file__).resolve().parents[2] / "bench"
if not BENCH.is_dir():
    pytest.skip("bench/ is not here: it is no part of the source distribution", allow_module_level=True)
sys.path.insert(0, str(BENCH))

import bound_gap  # noqa: E402
import breakers  # noqa: E402
import curves  # noqa: E402
import growth  # noqa: E402

LETTERS = [bytes([b]) for b in range(256)]
VOCAB = tokfsm.Vocabulary.from_bytes(LETTERS)


def follow(made: growth.Made) -> None:
    """The schema compiles, and its text is a whole value of it."""
    automaton = tokfsm.compile(growth.text(made[0]), VOCAB, whitespace="flexible")
    text = growth.spelled(made[1])
    if text is not None:
        n_taken, complete, _ = automaton.matcher().check_bytes(text)
        assert (n_taken, complete) == (len(text), True), text[max(0, n_taken - 40) : n_taken + 10]


@pytest.mark.parametrize("family", growth.FAMILIES, ids=lambda family: f"{family.curve}: {family.name}")
def test_texts_of_families_are_valid(family: growth.Family) -> None:
    follow(family.make(family.at[0]))
    if family.curve != "bytes":
        follow(family.make(family.at[1]))
    assert list(family.at) == sorted(set(family.at))


@pytest.mark.parametrize("case", breakers.CASES, ids=lambda case: case.name)
def test_texts_of_breakers_are_valid(case: breakers.Breaker) -> None:
    try:
        made = case.make()
    except FileNotFoundError as error:
        pytest.skip(f"no {error} here")
    follow(made)


def test_cliffs() -> None:
    def named(costs: list[dict[str, Any]], flat: bool = False) -> list[str]:
        return [c["what"] for c in curves.cliffs("c", "f", costs, flat)]

    ms = 1e6
    linear = [{"n": n, "ttfm": n * ms} for n in (3, 10, 30)]
    assert named(linear) == [] and named(linear, flat=True) == ["ttfm"]
    assert named([{"n": n, "ttfm": n**2 * ms} for n in (3, 10, 30)]) == ["ttfm"]
    assert named([{"n": n, "ttfm": n**2 * 1e3} for n in (3, 10, 30)]) == []  # below the floor
    assert named([{"n": n, "ttfm": n * ms} for n in (10, 11, 12)]) == []  # too near each other
    assert named([{"n": n, "ttfm": 100 * ms} for n in (3, 10, 30)]) == ["ttfm"]  # high wherever it starts
    assert named([{"n": n, "cold_p50": n * 1e3} for n in (3, 10, 30)]) == ["cold_p50"]  # a step follows n
    assert named([{"n": 3, "ttfm": 1.0, "error": "LimitError: no"}]) == ["error"]
    one = curves.cliffs("c", "f", [{"n": n, "ttfm": n**2 * ms} for n in (3, 10)], False)
    assert one == [{"curve": "c", "family": "f", "n": 10, "what": "ttfm",
                    "detail": "n^2.00: 9.000 ms at 3 -> 100.000 ms at 10"}]


@pytest.mark.parametrize(("schema", "tokens", "least"), [
    ({"const": "ab"}, [b'"a', b'ab"', b'"ab"'], 1),
    ({"const": "ab"}, [b'"a', b'ab"'], 2),
    ({"const": "ab"}, [], 4),
    ({"enum": ["aaaaaa", "b"]}, [b"aaaaaa", b'"aaa', b'aaa"'], 2),
    ({"type": "array", "minItems": 2, "items": {"const": 1}}, [b"1,1]"], 2),
])
def test_the_search_is_exact(schema: Any, tokens: list[bytes], least: int) -> None:
    vocab = tokfsm.Vocabulary.from_bytes([*LETTERS, *tokens])
    gap = bound_gap.search(schema, vocab, 100_000)
    assert gap.least == gap.best == least <= gap.bound


def test_a_search_that_runs_out_says_so() -> None:
    gap = bound_gap.search({"type": "string", "minLength": 5}, VOCAB, 300)
    assert gap.least < gap.best == gap.bound and gap.nodes == 300


def test_cuts_are_those_of_the_vocabulary() -> None:
    assert Cutter(LETTERS).cut(b"ab") == [97, 98]
