"""No fault of the field log is ours: nothing wrong accepted, nothing right refused (`bench/field_cases.py`)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import field_cases  # noqa: E402

#: Cases whose schema is refused by name though it need not be; the list only shrinks.
NOT_YET = {"F31a", "F32a", "F32b", "F34a", "F38a", "F40a", "F49a", "F49b", "F51a", "F51b", "F92a", "F97a"}


@pytest.mark.skipif(not field_cases.DATA.is_file(), reason="needs ../shared/field-cases")
def test_field_cases() -> None:
    check = field_cases.Checker()
    reports = [check(case) for case in field_cases.read()]
    assert len(reports) >= 70
    assert [(r.id, r.reasons) for r in reports if r.kind == "wrong"] == []
    assert {r.id for r in reports if r.kind == "refused"} <= NOT_YET


def test_a_wrong_answer_is_seen() -> None:
    check = field_cases.Checker()
    case = {"id": "x", "schema": {"type": "integer"}, "accept": ["1"], "reject": ["\"a\""], "options": {}}
    assert check(case).kind == "right"
    assert check({**case, "accept": ["\"a\""]}).kind == "wrong"
    assert check({**case, "reject": ["2"]}).kind == "wrong"
    assert check({**case, "options": {"optional": {"1": "why"}}}).n_optional == 2
    assert check({**case, "options": {"expect": "compile_error"}}).kind == "wrong"
    assert check({**case, "schema": False}).kind == "wrong"
    assert check({**case, "schema": False, "options": {"expect": "compile_error"}}).kind == "right"
