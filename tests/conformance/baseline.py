"""What is not right yet, as a committed file that only shrinks.

`baseline.json` lists, draft and file by file, each group that is not right: a string for a refusal,
an object for a wrong answer with the tests that get it. A group that is not listed has to be right.
`left out` are valid instances in declared gaps; `honoured` and `formats` are what `docs/keywords.md`
needs to know besides: keywords that right answers depend on, formats that have tests. Two suites may
be at hand, an older and a newer: the file speaks of the groups of both.
"""

from __future__ import annotations

import collections
import json
from pathlib import Path
from typing import Any

from .grade import Outcome
from .suite import ROOT, Group

PATH = Path(__file__).parent / "baseline.json"
TABLE = ROOT / "docs" / "keywords.md"

Entry = Any  #: "refused: keyword: why", or {"accepts": [...], "refuses": [...]}
Results = list[tuple[Group, Outcome]]


def read(path: Path = PATH) -> dict[str, Any]:
    if not path.is_file():
        return {"not right": {}, "left out": {}, "honoured": {}, "formats": {}}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def entry_of(outcome: Outcome) -> Entry:
    if outcome.kind == "wrong":
        return {"accepts": list(outcome.accepts), "refuses": list(outcome.refuses)}
    return f"{outcome.kind}: {outcome.keyword or '-'}: {outcome.message}"


def lowered(baseline: dict[str, Any], results: Results) -> list[str]:
    """Groups that do worse than the baseline says, each with its reason."""
    worse = []
    for group, outcome in results:
        before = baseline["not right"].get(group.file, {}).get(group.key)
        name = f"{group.file}: {group.key}"
        if outcome.kind == "right":
            continue
        if before is None:
            worse.append(f"{name}: right before, now {entry_of(outcome)}")
        elif outcome.kind == "wrong":
            known = before if isinstance(before, dict) else {"accepts": [], "refuses": []}
            accepts = set(outcome.accepts) - set(known["accepts"])
            refuses = set(outcome.refuses) - set(known["refuses"])
            if accepts or refuses:
                worse.append(f"{name}: newly accepts {sorted(accepts)}, newly refuses {sorted(refuses)}"
                             f"{': ' + outcome.message if outcome.message else ''}")
    return worse


def merged(baseline: dict[str, Any], results: Results) -> dict[str, Any]:
    """The baseline with these results; groups that were not run stay as they are."""
    from .keyword_table import keywords_shown

    not_right: dict[str, dict[str, Entry]] = {f: dict(g) for f, g in baseline["not right"].items()}
    left_out: dict[str, dict[str, Entry]] = {f: dict(g) for f, g in baseline["left out"].items()}
    honoured = {draft: set(names) for draft, names in baseline["honoured"].items()}
    formats = {draft: set(names) for draft, names in baseline["formats"].items()}
    for group, outcome in results:
        entries = not_right.setdefault(group.file, {})
        entries.pop(group.key, None)
        if outcome.kind != "right":
            entries[group.key] = entry_of(outcome)
        left_out.setdefault(group.file, {}).pop(group.key, None)
        if outcome.left_out:
            left_out[group.file][group.key] = list(outcome.left_out)
        if group.asserts_formats:
            formats.setdefault(group.draft, set()).add(Path(group.file).stem)
        elif group.is_required and outcome.kind == "right":
            honoured.setdefault(group.draft, set()).update(keywords_shown(group))
    return {
        "not right": {f: dict(sorted(g.items())) for f, g in sorted(not_right.items()) if g},
        "left out": {f: dict(sorted(g.items())) for f, g in sorted(left_out.items()) if g},
        "honoured": {draft: sorted(names) for draft, names in sorted(honoured.items())},
        "formats": {draft: sorted(names) for draft, names in sorted(formats.items())},
    }


def write(baseline: dict[str, Any], path: Path = PATH) -> None:
    path.write_text(json.dumps(baseline, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def counts(results: Results) -> list[str]:
    """Lines of figures: per draft, required and optional, then each file that is not right."""
    lines = []
    by_draft: dict[tuple[str, bool], collections.Counter[str]] = collections.defaultdict(collections.Counter)
    by_file: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    keywords: collections.Counter[str] = collections.Counter()
    for group, outcome in results:
        for counter in (by_draft[group.draft, group.is_required], by_file[group.file]):
            counter["groups"] += 1
            counter[outcome.kind] += 1
            counter["tests"] += len(group.tests)
            counter["tests right"] += len(group.tests) * (outcome.kind == "right")
            counter["accepts invalid"] += len(outcome.accepts)
            counter["refuses valid"] += len(outcome.refuses)
            counter["left out"] += len(outcome.left_out)
        if outcome.kind not in ("right", "wrong"):
            keywords[f"{outcome.kind} {outcome.keyword}".strip()] += 1
    kinds = ("groups", "right", "refused", "limit", "error", "wrong", "tests", "tests right", "accepts invalid",
             "refuses valid", "left out")
    for (draft, is_required), c in by_draft.items():
        lines.append(f"draft {draft}, {'required' if is_required else 'optional'}: "
                     + ", ".join(f"{k} {c[k]}" for k in kinds))
    lines.append("not right by: " + ", ".join(f"{k} {n}" for k, n in keywords.most_common()))
    for file, c in by_file.items():
        if c["right"] < c["groups"] or c["left out"]:
            lines.append(f"  {file}: " + ", ".join(f"{k} {c[k]}" for k in kinds if c[k]))
    return lines
