"""Command of the conformance run; see the package's docstring."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from . import baseline, keyword_table, suite
from .grade import Grader, vocabulary


def run(folder: Path) -> baseline.Results:
    """Every group of a suite with its outcome."""
    groups = list(suite.groups(folder))
    grader = Grader(vocabulary(groups), suite.remotes(folder))
    return [(group, grader(group)) for group in groups]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description="the official suite, over masks")
    parser.add_argument("--update", action="store_true", help="write baseline.json and docs/keywords.md")
    parser.add_argument("--fetch", action="store_true", help="get the suite from a source distribution")
    parser.add_argument("--wrong", action="store_true", help="print every wrong answer")
    args = parser.parse_args()
    if args.fetch:
        print(suite.fetch())
        return 0
    before = after = baseline.read()
    worse: list[str] = []
    if args.update and suite.FETCHED not in suite.folders():
        suite.fetch()  # the baseline speaks of both, since either may be the one at hand elsewhere
    if not suite.folders():
        parser.error("no suite here: get it with --fetch")
    for folder in suite.folders():
        begin = time.perf_counter()
        results = run(folder)
        print(f"{folder}: {len(results)} groups in {time.perf_counter() - begin:.1f} s")
        print(*baseline.counts(results), sep="\n")
        if args.wrong:
            for group, outcome in results:
                if outcome.kind in ("wrong", "error", "limit"):
                    print("  ", group.file, group.key, outcome, group.schema[:400])
        worse += baseline.lowered(before, results)
        after = baseline.merged(after, results)
    if worse and baseline.PATH.is_file():
        print(f"{len(worse)} groups are worse than the baseline:", *worse, sep="\n  ")
        return 1
    if args.update:
        baseline.write(after)
        baseline.TABLE.write_text(keyword_table.render(after), encoding="utf-8")
        print(f"written: {baseline.PATH}, {baseline.TABLE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
