"""The corpus: written cases, run on the oracle and on every use of the engine.

A line of `corpus/cases.jsonl` is `{"id", "schema", "options"?, "why"?}` with
    valid          texts that are in the language
    invalid        texts that are not
    misspelt       texts with a valid value that the spelling profile or an option leaves out
    dead           texts whose last character must be refused, and none before it
    unsatisfiable  true: compile must raise
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from oracle import Oracle, Unsatisfiable
from schemas import PIECES, Probe, Splitter, Witness, engines

CASES = [json.loads(line) for line in (Path(__file__).parent / "corpus" / "cases.jsonl").open(encoding="utf-8")]
TOKENS: list[bytes | None] = [*(bytes([b]) for b in range(256)), *PIECES, None]
STOPS = [len(TOKENS) - 1]


def check(case: dict[str, Any], feed: Any, first_refused: Any) -> None:
    assert [t for t in case.get("valid", []) if not feed(t.encode())] == []
    assert [t for key in ("invalid", "misspelt", "dead") for t in case.get(key, []) if feed(t.encode())] == []
    for text in case.get("dead", []):
        data, last = text.encode(), len(text[-1].encode())
        refused = first_refused(data)
        assert refused is not None and refused >= len(data) - last, (text, refused)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["id"])
def test_oracle(case: dict[str, Any]) -> None:
    options = case.get("options", {})
    if case.get("unsatisfiable"):
        with pytest.raises(Unsatisfiable):
            Oracle(case["schema"], tokens=TOKENS, stop_token_ids=STOPS, **options)
        return
    oracle = Oracle(case["schema"], tokens=TOKENS, stop_token_ids=STOPS, **options)
    check(case, oracle.is_complete, oracle.first_refused)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["id"])
def test_labels(case: dict[str, Any]) -> None:
    witness = Witness(case["schema"])
    assert [t for t in case.get("valid", []) + case.get("misspelt", []) if not witness.text_ok(t.encode())] == []
    assert [t for t in case.get("invalid", []) if witness.text_ok(t.encode())] == []


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["id"])
def test_engines(case: dict[str, Any], tmp_path: Path) -> None:
    import tokfsm

    options = case.get("options", {})
    if case.get("unsatisfiable"):
        with pytest.raises(tokfsm.errors.UnsatisfiableSchemaError):
            tokfsm.compile(case["schema"], tokfsm.Vocabulary.from_bytes(TOKENS, stop_token_ids=STOPS), **options)
        return
    splitter, rng = Splitter(TOKENS, STOPS), random.Random(case["id"])
    for name, automaton in engines(case["schema"], TOKENS, STOPS, options, tmp_path / "x.tokfsm").items():
        probe = Probe(automaton)

        def first_refused(data: bytes) -> int | None:
            taken, _, allowed = probe.matcher.check_bytes(data)
            if taken == len(data):
                return None
            assert data[taken] not in allowed, name
            return int(taken)

        check(case, probe.feed, first_refused)
        for text in case.get("valid", []):
            probe.matcher.reset()
            ids = splitter.split(rng, text.encode())
            assert ids is not None and probe.take(ids) is None, (name, text)
            assert probe.matcher.is_complete and STOPS[0] in probe.mask(), (name, text)
        for text in case.get("invalid", []) + case.get("misspelt", []):
            probe.matcher.reset()
            ids = splitter.split(rng, text.encode())
            assert ids is not None and (probe.take(ids) is not None or not probe.matcher.is_complete), (name, text)
