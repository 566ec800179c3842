"""The judge that every other checker believes: right on the official suite, and loud where validators differ."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import judge  # noqa: E402
from conformance import suite  # noqa: E402


def test_it_is_right_on_the_official_suite() -> None:
    folders = suite.folders()
    if not folders:
        pytest.skip("no suite")  # test_conformance says when that is a failure
    n, without = 0, 0
    for group in suite.groups(folders[0]):
        if group.needs_remotes:
            continue
        checker = judge.Judge(group.schema, group.draft, formats=group.asserts_formats)
        for test in group.tests:
            try:
                assert checker.text_ok(test.text) == test.valid, (group.file, group.key, test)
            except judge.NoWitnessError:
                without += 1
            n += 1
    assert n > 6000 and without < n // 20


@pytest.mark.parametrize("line", judge.ADJUDICATED.read_text(encoding="utf-8").splitlines())
def test_adjudications_are_whole_and_in_force(line: str) -> None:
    case = json.loads(line)
    assert set(case) == {"schema", "instance", "valid", "section"} and len(case["section"]) > 10
    assert judge.judge(case["schema"], case["instance"]) is case["valid"]
    if set(case["schema"]) == {"format"}:
        nested = {"items": case["schema"]}
        assert judge.judge(nested, f"[{case['instance']}]") is case["valid"]


def test_an_adjudication_overrules_both(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "adjudicated.jsonl"
    file.write_text('{"schema": {"multipleOf": 0.5}, "instance": "1.50", "valid": false, "section": "a test"}\n')
    monkeypatch.setattr(judge, "ADJUDICATED", file)
    judge.adjudications.cache_clear()
    try:
        assert not judge.judge({"multipleOf": 0.5}, "1.50") and judge.judge({"multipleOf": 0.5}, "2")
    finally:
        judge.adjudications.cache_clear()


def test_a_difference_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge.Judge, "opinions", lambda self, value: (True, False))
    with pytest.raises(judge.Disagreement):
        judge.judge({}, "1")
    monkeypatch.setattr(judge.Judge, "opinions", lambda self, value: (None, None))
    with pytest.raises(judge.NoWitnessError):
        judge.judge({}, "1")


@pytest.mark.parametrize(("schema", "text", "valid"), [
    ({"maximum": 9007199254740993}, "9007199254740993", True),
    ({"maximum": 9007199254740993}, "9007199254740993.0000000000000000000001", False),
    ({"multipleOf": 0.01}, "0.07", True), ({"multipleOf": 0.01}, "1e400", True), ({"type": "integer"}, "1.0", True),
    ({"enum": [1]}, "1.0", True), ({"uniqueItems": True}, "[1, 1.0]", False), ({"const": False}, "0", False),
    ({"pattern": "^\\d$"}, '"\u0663"', False), ({"pattern": "^a$"}, '"a\\n"', False),
    ({"pattern": "\\s"}, '"\ufeff"', True),
    ({"additionalProperties": False, "patternProperties": {"^\\d$": {}}}, '{"\u0663": 1}', False),
    ({"format": "uuid"}, '"2eb8aa08-aa98-11ea-b4aa-73b441d16380-"', False), ({"format": "no such"}, '"x"', True),
    ({"contentMediaType": "application/json"}, '"{:}"', True), ({"dependencies": {"a": ["b"]}}, '{"a": 1}', True),
    ({"maxLength": 1}, '"\\ud83d\\ude00"', True),
    (True, '{"a": 1, "\\u0061": 2}', False), (True, '"\\ud83d"', False), (True, "NaN", False), (True, " 1", False),
])
def test_single_answers(schema: Any, text: str, valid: bool) -> None:
    assert judge.judge(schema, text) is valid


def test_drafts() -> None:
    assert not judge.judge({"type": "integer"}, "1.0", "4") and judge.judge({"type": "integer"}, "1.0", "6")
    assert not judge.judge({"dependencies": {"a": ["b"]}}, '{"a": 1}', "7")
    for draft in ("4", "2020-12"):
        assert not judge.judge({"format": "uuid"}, '"x"', draft)
        assert judge.judge({"format": "uuid"}, '"x"', draft, formats=False)
    assert judge.draft_of({"$schema": "http://json-schema.org/draft-04/schema#"}) == "4"


def test_texts_keep_their_digits() -> None:
    assert judge.strict_json("[0.10, 1e2]") == [Decimal("0.10"), Decimal(100)]
    assert judge.strict_json("123456789012345678901") == 123456789012345678901
