"""Real schemas with their instances: a seeded sample of what `bench/maskbench_exact.py` runs whole.

Skipped where the data is absent. A schema that the compiler refuses by name is no failure here;
the bench counts those.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

import maskbench_exact as exact  # noqa: E402

DATA = ROOT.parent / "shared" / "maskbench" / "dev.jsonl.gz"
SIZE = int(os.environ.get("TOKFSM_MASKBENCH", "300"))
pytestmark = pytest.mark.skipif(not DATA.is_file(), reason="needs ../shared/maskbench")


@pytest.fixture(scope="module")
def verdicts() -> list[exact.Verdict]:
    lines = exact.read_lines(DATA)
    sample = random.Random(7).sample(lines, min(SIZE, len(lines)))
    judge = exact.Judge(exact.small_vocabulary())
    return [judge(line) for line in sample]


def test_no_schema_is_wrong(verdicts: list[exact.Verdict]) -> None:
    assert [(v.id, v.reasons[:3]) for v in verdicts if v.grade == "wrong"] == []


def test_the_sample_says_something(verdicts: list[exact.Verdict]) -> None:
    right = [v for v in verdicts if v.grade == "right"]
    assert len(right) >= len(verdicts) // 10
    assert sum(v.n_accepted for v in right) > 0 and sum(v.n_refused for v in right) > 0
