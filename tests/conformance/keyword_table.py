"""The baseline in, `docs/keywords.md` out: each keyword of each draft, exact or refused.

Keywords are those of the drafts' own meta-schemas. A keyword is *exact* if some required group is right
that would not be without it, and none is blamed on it: the table says what the suite has shown.
"""

from __future__ import annotations

import collections
import functools
import json
import re
import sys
from pathlib import Path
from typing import Any

import jsonschema_specifications

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from judge import FORMATS, Disagreement, Judge, NoWitnessError  # noqa: E402

from .suite import DRAFTS, Group  # noqa: E402

_META = {
    "4": "http://json-schema.org/draft-04/schema#", "6": "http://json-schema.org/draft-06/schema#",
    "7": "http://json-schema.org/draft-07/schema#", "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}
#: Members of meta-schemas that are no keywords of their draft any more, and 2020-12's older spellings.
_GONE = {"2019-09": {"definitions", "dependencies"},
         "2020-12": {"definitions", "dependencies", "$recursiveAnchor", "$recursiveRef"}}
#: Keywords that say nothing of a value; never refused.
_ANNOTATIONS = {"$comment", "$schema", "$vocabulary", "title", "description", "default", "deprecated", "readOnly",
                "writeOnly", "examples", "contentEncoding", "contentMediaType", "contentSchema"}
#: What is refused although its keywords are exact otherwise, beyond what the suite's required tests show:
#: the keywords, in words, and a schema that must be refused.
EXCEPTIONS: tuple[tuple[tuple[str, ...], str, Any], ...] = (
    (("contains", "uniqueItems"), "refused beside each other, on the same array: `contains` beside `uniqueItems`",
     {"type": "array", "uniqueItems": True, "contains": {"type": "integer"}}),
    (("pattern", "patternProperties"), "refused with back-references in patterns, which are not regular", {"pattern": "(a)\\1"}),
    (("pattern", "patternProperties"), "refused with a lookahead inside a lookbehind", {"pattern": "(?<=a(?=b))b"}),
    (("pattern", "patternProperties"), "refused with what is not ECMA-262, as possessive quantifiers", {"pattern": "a++"}),
    (("format",), "refused under `format=\"assert\"`: `format: regex`", {"format": "regex"}),
)
_HEAD = """# Keywords

Written by `python -m tests.conformance --update` from a run of the official JSON-Schema-Test-Suite; not edited by hand.

*Exact*: no text that breaks the keyword can be written and every value that fits it can; the suite's required tests with it pass.
*Exact* with a number: but for what the note of that number says, which `tokfsm.compile` refuses.
*Annotation*: it says nothing of a value. *Refused*: `tokfsm.compile` raises `UnsupportedSchemaError`, which names keyword and pointer.
*In part*: refused only as the notes say. *Not shown yet*: each test of it needs another keyword that is refused.
Nothing is ever loosened in silence; what `unsupported="relax"` does with what is refused is in `relax.md`. Empty: the draft has no such keyword.
Keywords that no draft knows are annotations.

"""
_FORMATS = """
## Formats

With `format="assert"`, the default, a known format is asserted in every draft; with `"annotate"` it says nothing. An unknown one never does.
The suite's optional tests, draft by draft; *left out* are valid strings in declared gaps: `xn--` labels, and labels of more
than 14 characters (40 if no more than four are not ASCII) with other than ASCII characters. Empty: no tests.
They run with `limits.automaton_bytes` of 1 GiB: over all the texts of a test the automata of `idn-email` and `idn-hostname` outgrow
the default of 64 MB, and an automaton that does says `LimitError`.

"""


@functools.lru_cache(maxsize=None)
def keywords_of(draft: str) -> frozenset[str]:
    """All keywords of a draft, its vocabularies' included."""
    registry = jsonschema_specifications.REGISTRY
    found: set[str] = set()
    work, seen = [_META[draft]], set()
    while work:
        uri = work.pop()
        if uri in seen:
            continue
        seen.add(uri)
        meta: Any = registry.contents(uri)
        found |= set(meta.get("properties", {}))
        work += [uri.rsplit("/", 1)[0] + "/" + part["$ref"] for part in meta.get("allOf", []) if "$ref" in part]
    found.add("$ref")  # draft-04's meta-schema does not list it
    return frozenset(found - _GONE.get(draft, set()))


def keywords_shown(group: Group) -> set[str]:
    """Keywords of its draft without which a validator would judge some instance of the group otherwise."""
    schema = json.loads(group.schema)
    names = keywords_of(group.draft) & _names_in(schema) - _ANNOTATIONS
    return {name for name in names if _matters(group, schema, name)}


def _matters(group: Group, schema: Any, keyword: str) -> bool:
    try:
        judge = Judge(_without(schema, keyword), group.draft, formats=False)
        return any(judge.text_ok(test.text) != test.valid for test in group.tests)
    except (NoWitnessError, Disagreement):
        return True  # nothing can be read without it


def _names_in(schema: Any) -> set[str]:
    found: set[str] = set()
    work = [schema]
    while work:
        value = work.pop()
        if isinstance(value, dict):
            found |= set(value)
            work += value.values()
        elif isinstance(value, list):
            work += value
    return found


def _without(value: Any, keyword: str) -> Any:
    if isinstance(value, dict):
        return {name: _without(part, keyword) for name, part in value.items() if name != keyword}
    return [_without(part, keyword) for part in value] if isinstance(value, list) else value


def render(baseline: dict[str, Any]) -> str:
    reasons: dict[tuple[str, str], set[str]] = collections.defaultdict(set)
    others: dict[str, set[str]] = collections.defaultdict(set)
    wrong: collections.Counter[str] = collections.Counter()
    for file, entries in baseline["not right"].items():
        draft = file.split("/")[0].removeprefix("draft")
        if "/optional/" in file:
            continue
        for entry in entries.values():
            if isinstance(entry, dict):
                wrong[draft] += 1
                continue
            _, keyword, message = entry.split(": ", 2)
            if keyword in keywords_of(draft):
                reasons[draft, keyword].add(_reason(keyword, message))
            else:
                others[_reason(keyword, message)].add(draft)
    notes: dict[str, int] = {}
    exceptions: dict[str, list[int]] = collections.defaultdict(list)
    for number, (names, _, _) in enumerate(EXCEPTIONS, 1):
        for name in names:
            exceptions[name].append(number)
    rows = []
    for name in sorted(frozenset().union(*map(keywords_of, DRAFTS)), key=lambda n: (n.lstrip("$").lower(), n)):
        cells = []
        marks = "".join(f" ({number})" for number in exceptions[name])
        for draft in DRAFTS:
            honoured = name in baseline["honoured"].get(draft, ())
            if name not in keywords_of(draft):
                cells.append("")
            elif (why := reasons.get((draft, name))) is not None:
                numbers = [f"[{notes.setdefault(text, len(notes) + 1)}]" for text in sorted(why)]
                cells.append(f"{'in part' if honoured else 'refused'} {' '.join(numbers)}")
            elif name in _ANNOTATIONS:
                cells.append("annotation")
            elif name == "format":
                cells.append("below" + marks)
            else:
                cells.append("exact" + marks if honoured else "not shown yet")
        rows.append(f"| `{name}` | {' | '.join(cells)} |")
    text = _HEAD + _table("keyword", rows)
    text += "\nThe exceptions:\n\n" + "".join(
        f"{number}. {', '.join(f'`{name}`' for name in names)}: {words}.\n"
        for number, (names, words, _) in enumerate(EXCEPTIONS, 1))
    if notes:
        text += "\nRefused because:\n\n" + "".join(f"{n}. {why}\n" for why, n in notes.items())
    if others:
        text += "\nRefused, with no single keyword to blame:\n\n" + "".join(
            f"- {why} (draft {', '.join(d for d in DRAFTS if d in drafts)})\n"
            for why, drafts in sorted(others.items()))
    if wrong:
        text += "\nGroups with a wrong answer, which are faults: " + ", ".join(
            f"draft {d}: {wrong[d]}" for d in DRAFTS if wrong[d]) + ".\n"
    return text + _formats(baseline)


def _formats(baseline: dict[str, Any]) -> str:
    """The second table: formats under ``format="assert"``, by the suite's optional tests."""
    rows = []
    for name in FORMATS:
        cells = []
        for draft in DRAFTS:
            file = f"draft{draft}/optional/format/{name}.json"
            entries = list(baseline["not right"].get(file, {}).values())
            left_out = {text for texts in baseline["left out"].get(file, {}).values() for text in texts}
            wrong = [e for e in entries if isinstance(e, dict)]
            if name not in baseline["formats"].get(draft, ()):
                cells.append("")
            elif wrong:
                cells.append(f"accepts {sum(len(e['accepts']) for e in wrong)} invalid, "
                             f"refuses {sum(len(e['refuses']) for e in wrong)} valid")
            elif entries:
                kinds = {e.split(":")[0] for e in entries}
                cells.append("refused" if kinds == {"refused"} else "over limits")
            else:
                cells.append(f"{len(left_out)} valid left out" if left_out else "exact")
        rows.append(f"| `{name}` | {' | '.join(cells)} |")
    return _FORMATS + _table("format", rows)


def _table(first: str, rows: list[str]) -> str:
    return f"| {first} | {' | '.join(DRAFTS)} |\n|---|{'---|' * len(DRAFTS)}\n" + "\n".join(rows) + "\n"


def _reason(keyword: str, message: str) -> str:
    """An error's message without what is the schema's own."""
    message = re.sub(r'"[^"]*"', "`…`", message)
    return f"`{keyword}`: {message}" if keyword != "-" else message
