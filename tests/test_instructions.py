"""The hot path takes no more instructions than it did: `python -m tests.instructions --update` renews the baseline."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import instructions  # noqa: E402

pytestmark = pytest.mark.instructions


def test_profiles_are_read() -> None:
    profile = """# callgrind format
ob=(1) /lib/libc.so.6
fl=(1) ???
fn=(0) memcpy
0 7

ob=(5) /tmp/hot_path
fn=(3) tokfsm_matcher_fill
116 100
+1 40
cob=(1)
cfn=(9) memcpy
calls=10 -90
* 5000
* 20
-3 3
ob=(1)
fn=(0)
0 11
ob=(5)
fn=(4) fill
73 20
"""
    assert instructions.own_instructions(profile, "/tmp/hot_path") == 100 + 40 + 20 + 3 + 20
    assert instructions.own_instructions(profile, "/lib/libc.so.6") == 18


def test_what_is_compared() -> None:
    known = {"x86_64 gcc 12": {"a": 1}}
    assert instructions.allowance("x86_64 gcc 12", known) == ("x86_64 gcc 12", instructions.TOLERANCE)
    assert instructions.allowance("x86_64 clang 19", known) == ("x86_64 gcc 12", instructions.OTHER_COMPILER)
    assert instructions.allowance("aarch64 gcc 12", known) is None


@pytest.fixture(scope="module")
def counted() -> dict[str, int]:
    if missing := instructions.missing():
        pytest.fail(missing) if os.environ.get("TOKFSM_CI") == "1" and shutil.which("apt-get") else pytest.skip(missing)
    return instructions.measure()


def test_the_hot_path_costs_what_it_did(counted: dict[str, int]) -> None:
    key, known = instructions.compiler(), instructions.baseline()
    found = instructions.allowance(key, known)
    if found is None:
        pytest.skip(f"no baseline for {key}; counted: {counted}")
    entry, tolerance = found
    assert set(counted) == set(known[entry]), "a scenario was added or dropped: renew the baseline"
    worse = {scenario: f"{known[entry][scenario]:,} -> {n:,}" for scenario, n in counted.items()
             if n > known[entry][scenario] * (1 + tolerance)}
    assert not worse, f"more instructions a call than in the baseline of {entry} (+{tolerance:.0%}): {worse}"
