"""A seeded run of pairs.py: where the judges differ, a validator stands alone.

`TOKFSM_PROPERTY_PAIRS` sets how many pairs; `python -m tests.property` runs many and reports.
"""

from __future__ import annotations

import os

import pytest
from pairs import ours_alone, run

PAIRS = int(os.environ.get("TOKFSM_PROPERTY_PAIRS", "8000"))


@pytest.mark.parametrize("seed", range(4))
def test_pairs(seed: int) -> None:
    out = run(PAIRS // 4, seed)
    assert out.valid > out.pairs // 4
    assert [example for example in out.examples.values() if ours_alone(example[2])] == []
