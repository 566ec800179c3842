"""Real schemas with their instances: seeded samples of what `bench/{maskbench,schemastore}_exact.py` run whole.

Skipped where the data is absent. A schema that the compiler refuses by name is no failure here; the
bench counts those. Each instance has a mutant beside it, which the validators label.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

import exact  # noqa: E402
from mutants import mutant  # noqa: E402

SETS = {"maskbench": int(os.environ.get("TOKFSM_MASKBENCH", "300")),
        "schemastore": int(os.environ.get("TOKFSM_SCHEMASTORE", "60"))}


@pytest.fixture(scope="module", params=SETS)
def verdicts(request: pytest.FixtureRequest) -> list[exact.Verdict]:
    data = ROOT.parent / "shared" / request.param / "dev.jsonl.gz"
    if not data.is_file():
        pytest.skip(f"needs ../shared/{request.param}")
    lines = exact.read_lines(data)
    sample = random.Random(7).sample(lines, min(SETS[request.param], len(lines)))
    return exact.examine_all(sample, 10.0, None, 1, 1, frozenset())  # one that takes longer is left undecided


def test_no_schema_is_wrong(verdicts: list[exact.Verdict]) -> None:
    assert [(v.id, v.grade, v.reasons[:3]) for v in verdicts if v.grade in ("wrong", "undecided", "label")] == []


def test_the_sample_says_something(verdicts: list[exact.Verdict]) -> None:
    right = [v for v in verdicts if v.grade == "right"]
    assert len(right) >= len(verdicts) // 4
    assert sum(v.n_accepted for v in right) > 0 and sum(v.n_refused for v in right) > 0


def test_a_wrong_answer_is_seen() -> None:
    """A harness that never complains proves nothing."""
    examine = exact.Examiner(exact.small_vocabulary())
    line: dict[str, Any] = {"id": "x", "schema": {"type": "integer"}}
    line["tests"] = [{"valid": True, "data": 1}, {"valid": False, "data": "a"}]
    assert examine(line).grade == "right"
    line["tests"] = [{"valid": False, "data": 1}]
    assert examine(line).grade == "label"
    line["tests"] = [{"valid": True, "data": 1.0}]
    assert examine(line).grade == "spelling"
    assert examine({"id": "x", "schema": {"not": {}}, "tests": [{"valid": False, "data": 1}]}).grade == "right"
    assert examine({"id": "x", "schema": False, "tests": [{"valid": True, "data": 1}]}).grade == "wrong"


def test_mutants_are_other_values_and_leave_the_instance_alone() -> None:
    rng, value = random.Random(1), {"a": [1, 2, {"b": "c"}], "d": None}
    before = repr(value)
    others = [mutant(value, rng) for _ in range(200)]
    assert repr(value) == before and sum(other != value for other in others) > 150
