"""Faults that people met in other engines (`../shared/field-cases`): do we have them?

    python bench/field_cases.py [--data cases.jsonl] [--list]

Each text that must be accepted is, by bytes and by random tokens, compact and with
`whitespace="flexible"`; each that must be refused is not; a schema that must not compile does not.
The options of a case are those of `log.md` beside the data. `optional` texts may go either way;
`policy` texts are refused on purpose, and so are counted like the others.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import corpus
from exact import Feeder, small_vocabulary

from schemas import Splitter

import tokfsm

DATA = corpus.SHARED / "field-cases" / "cases.jsonl"
DIALECTS = {"draft-04": "4", "draft-06": "6", "draft-07": "7", "2019-09": "2019-09", "2020-12": "2020-12"}


@dataclass
class Report:
    """What one case did; `kind` is right, refused (by name), allowed (a refusal that may be) or wrong."""

    id: str
    kind: str = "right"
    reasons: list[str] = field(default_factory=list)
    n_accepted: int = 0
    n_refused: int = 0
    n_optional: int = 0  #: optional texts that were accepted


class Checker:
    def __init__(self) -> None:
        tokens = small_vocabulary()
        self.vocab = tokfsm.Vocabulary.from_bytes(tokens)
        self.splitter = Splitter(tokens, [])

    def __call__(self, case: dict[str, Any]) -> Report:
        report, options = Report(case["id"]), case["options"]
        for layout in ({"any": ("flexible",), "bounded": ("flexible",), "compact": ("compact",)}.get(
                options.get("whitespace", ""), ("compact", "flexible"))):
            try:
                automaton = self._compile(case, layout)
            except tokfsm.errors.TokfsmError as e:
                self._compile_failed(report, options, e)
                return report
            if options.get("expect") == "compile_error":
                report.kind, report.reasons = "wrong", ["compiled, though it must not"]
                return report
            self._texts(report, case, layout, Feeder(automaton, self.splitter))
        return report

    def _compile(self, case: dict[str, Any], layout: str) -> tokfsm.Automaton:
        options = case["options"]
        more: dict[str, Any] = {}
        if "dialect" in options:
            more["draft"] = next(d for mark, d in DIALECTS.items() if mark in options["dialect"])
        if options.get("whitespace") == "any":
            more["max_whitespace"] = None
        return tokfsm.compile(
            case["schema"], self.vocab, whitespace=layout, numbers="any",  # type: ignore[arg-type]
            format="assert" if options.get("formats") == "assert" else "annotate",
            additional_properties=options.get("additional_properties_default", "spec"), **more)

    @staticmethod
    def _compile_failed(report: Report, options: dict[str, Any], e: tokfsm.errors.TokfsmError) -> None:
        if options.get("expect") == "compile_error":
            report.kind = "right"
        elif isinstance(e, tokfsm.errors.UnsupportedSchemaError):
            report.kind = "allowed" if options.get("may_refuse") else "refused"
            report.reasons = [f"{e.keyword} at {e.pointer}: {e}"]
        else:
            report.kind, report.reasons = "wrong", [f"{type(e).__name__}: {e}"]

    @staticmethod
    def _texts(report: Report, case: dict[str, Any], layout: str, feed: Feeder) -> None:
        rng, options = random.Random(case["id"]), case["options"]
        wanted = [(_bytes(t), True) for t in case["accept"]] + [(_bytes(t), False) for t in case["reject"]]
        wanted += [(bytes.fromhex(t), False) for t in options.get("reject_hex", ())]
        optional = {_bytes(t) for t in options.get("optional", {})}
        for text, must in wanted:
            if text in optional:
                continue
            accepted, where = feed(text, rng)
            report.n_accepted += accepted
            report.n_refused += not accepted
            if accepted != must:
                report.kind = "wrong"
                said = "accepted" if accepted else f"refused at byte {where}"
                report.reasons.append(f"{layout}: {said}: {text[:200]!r}")
        report.n_optional += sum(feed(text, rng)[0] for text in optional)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def read(path: Path = DATA) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(description="field cases, checked")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--list", action="store_true", help="print every case that is not right")
    args = parser.parse_args()
    check = Checker()
    reports = [check(case) for case in read(args.data)]
    kinds = collections.Counter(r.kind for r in reports)
    print(f"{len(reports)} cases: " + ", ".join(f"{n} {k}" for k, n in kinds.most_common())
          + f"; texts accepted {sum(r.n_accepted for r in reports)}, refused {sum(r.n_refused for r in reports)}, "
          f"optional ones accepted {sum(r.n_optional for r in reports)}")
    for r in reports:
        if r.kind == "wrong" or args.list and r.kind != "right":
            print(f"  {r.kind} {r.id}: {'; '.join(r.reasons)}")
    return 1 if kinds["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
