"""The inputs that break engines, each with every engine's figures beside ours.

A case is a schema and one valid text, in the schema's order and with ``", "`` and ``": "``, so that all
engines can be asked for it. Each engine has a process of its own, and each case a time limit and a memory
limit there. Prints a table; ``--record`` writes it. Where a case comes from is said beside it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import clock
import corpus
import growth
from maskbench import show
from tokfsm.measure import side_by_side
from tokfsm.measure.engines import NAMES, Options, token_bytes
from tokfsm.measure.workers import Reply

POINTS = (50.0, 99.0, 100.0)
LARGEST = "Kubernetes---kb_1161_Normalized"  # of the real schemas at hand: 0.9 MB


class Breaker(NamedTuple):
    name: str
    whom: str  #: whom it is known to hurt, and where that was told
    make: Callable[[], growth.Made]


def lists_of_lists() -> growth.Made:
    schema: dict[str, Any] = {"type": "string", "maxLength": 20}
    for _ in range(4):
        schema = {"type": "array", "items": schema, "maxItems": 20}
    return schema, [[[["one", "two"], ["three"]]], [[["four"]]]]


def optional(n: int) -> growth.Made:
    names = growth.words(n)
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "additionalProperties": False,
    }
    return schema, {name: "x" for name in names[::2]}


def many_properties() -> growth.Made:
    names = growth.numbered(50_000)
    return {"type": "object", "properties": {name: {"type": "integer"} for name in names}}, {
        name: 1 for name in names[:40]
    }


def recursive_open() -> growth.Made:
    schema = {
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "kind": {"type": "string"},
                    "value": {},
                    "left": {"$ref": "#/$defs/node"},
                    "right": {"$ref": "#/$defs/node"},
                    "attributes": {"type": "object", "additionalProperties": {"$ref": "#/$defs/node"}},
                },
            }
        },
        "$ref": "#/$defs/node",
    }
    leaf = {"kind": "leaf", "value": [1, {"a": None}]}
    return schema, {
        "kind": "root",
        "left": leaf,
        "right": {"kind": "b", "attributes": {"x": leaf, "y": {}}},
        "extra": 1,
    }


def short_alternatives() -> growth.Made:
    kinds = [{"type": "string", "pattern": f"^[A-Z0-9]{{{n}}}$"} for n in range(2, 12)]
    kinds += [
        {
            "type": "string",
            "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
            "maxLength": 36,
        },
        {"type": "string", "pattern": "^[a-z][a-z0-9]*$", "maxLength": 12},
    ]
    return {"type": "array", "items": {"anyOf": kinds}}, [
        "AB12",
        "123e4567-e89b-12d3-a456-426614174000",
        "abc1",
        "A1B2C3D4",
    ]


def one_of_overlapping() -> growth.Made:
    """41 branches that overlap: an object belongs to exactly one where it has exactly one of the names."""
    names = growth.words(41)
    schema = {
        "oneOf": [{"type": "object", "properties": {name: {"type": "integer"}}, "required": [name]} for name in names]
    }
    return schema, {names[20]: 1}


def all_of() -> growth.Made:
    names = growth.words(125)
    schema = {
        "allOf": [{"type": "object", "properties": {name: {"type": "integer"}}, "required": [name]} for name in names]
    }
    return schema, {name: 1 for name in names}


def in_order(n: int) -> growth.Made:
    names = growth.words(n)
    return {"type": "object", "properties": {name: {"type": "integer"} for name in names}}, {name: 1 for name in names}


def shuffled(n: int) -> growth.Made:
    return growth.properties(n, False, False)


def largest_real() -> growth.Made:
    line = next((line for line in corpus.read() if line["id"] == LARGEST), None)
    if line is None:
        raise FileNotFoundError(LARGEST)
    value = next((test["data"] for test in line["tests"] if test["valid"]), None)
    return line["schema"], value


def white_space() -> growth.Made:
    value = growth.Raw('{%s"a"%s:%s[%s1%s,%s2%s]%s}' % (("\n" + " " * 12,) * 8))
    return {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}}, value


def long_numbers() -> growth.Made:
    low = "1234567890123456789012345678901234567890"
    schema = growth.Raw(
        '{"type": "array", "items": {"anyOf": [{"type": "number", "multipleOf": 1e-9, "minimum": 0, "maximum": 1}, '
        f'{{"type": "integer", "minimum": {low}, "maximum": {low[:-1]}9}}]}}}}'
    )
    return schema, growth.Raw(f"[0.123456789, {low[:-1]}5, 0.5]")


def negated_reference() -> growth.Made:
    """Arrays whose items are not such arrays."""
    schema = {"$defs": {"e": {"type": "array", "items": {"not": {"$ref": "#/$defs/e"}}}}, "$ref": "#/$defs/e"}
    return schema, [1, "x", [[]], {"a": []}]


CASES = (
    Breaker("maxLength 100,000", "XGrammar #852: 4 ms a token", lambda: growth.max_length(100_000)),
    Breaker(
        "50 words, maxLength 500",
        "GLRMask: 253,000 states; llguidance's worst step",
        lambda: growth.pattern_with_length(50),
    ),
    Breaker("bounded lists in bounded lists", "outlines #658: 32 GB", lists_of_lists),
    Breaker("8 optional properties", "outlines, TGI #2902", lambda: optional(8)),
    Breaker("30 optional properties", "outlines, TGI #2902", lambda: optional(30)),
    Breaker("50,000 properties", "XGrammar #691", many_properties),
    Breaker("enum of 5,383 words", "llguidance: the first mask", lambda: growth.enum_words(5_383)),
    Breaker("enum of 2,000 strings of 50 bytes", "llguidance #110: 4 ms", lambda: growth.enum_long_strings(2_000)),
    Breaker("recursive open objects", "GLRMask", recursive_open),
    Breaker("short alternatives, a uuid with maxLength", "GLRMask", short_alternatives),
    Breaker("anyOf of 238", "all: products", lambda: growth.branches_optional(238, "anyOf")),
    Breaker("oneOf of 41 that overlap", "all: products", one_of_overlapping),
    Breaker("allOf of 125", "all: products", all_of),
    Breaker("587 properties, in the schema's order", "any order: 2^n", lambda: in_order(587)),
    Breaker("587 properties, shuffled", "fixed orders refuse it", lambda: shuffled(587)),
    Breaker("the largest real schema at hand", "front ends", largest_real),
    Breaker(
        "definitions of 3.5 MB, as FHIR has", "front ends", lambda: growth.of_bytes(3_500_000, growth.used_definitions)
    ),
    Breaker("1,000 levels in the text", "recursive matchers", lambda: growth.recursive_deep(1_000)),
    Breaker("white space in every gap", "models that loop in it", white_space),
    Breaker("multipleOf 1e-9, bounds of 40 digits", "arithmetic in 64 bits", long_numbers),
    Breaker("not around a reference to itself", "complements taken naively", negated_reference),
)
QUICK = ("50 words, maxLength 500", "30 optional properties", "not around a reference to itself")


def outcome(reply: Reply, n_tokens: int, empty_cpu_ns: float) -> dict[str, Any]:
    """One engine on one case: figures, or what became of it."""
    if reply.status != "ok":
        return {"outcome": f"{reply.status}: {reply.value}"}
    result = reply.value
    if result.error:
        return {"outcome": f"refused: {result.error}"}
    wall, cpu = (np.asarray(x, dtype=np.float64) for x in (result.step_wall_ns, result.step_cpu_ns))
    found: dict[str, Any] = {"first_mask_ms": result.ttfm_ns[0] / 1e6}
    if wall.size:
        found["step_us"] = [x / 1e3 for x in clock.quote(wall, cpu, empty_cpu_ns, POINTS)["quoted"]]
    if not result.verdicts:  # no text is known
        return {**found, "outcome": ""}
    verdict = result.verdicts[0]
    found["outcome"] = (
        "" if verdict.accepted else f"text refused at token {verdict.n_steps} of {n_tokens}: {verdict.why}"
    )
    return found


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tokenizer", type=Path, default=corpus.TOKENIZERS / "llama3_1" / "tokenizer.json")
    p.add_argument("--engines", default=",".join(n for n in NAMES if n != "tokfsm-ahead"), help="of " + ",".join(NAMES))
    p.add_argument("--cases", default="", help="only those whose name has this in it")
    p.add_argument("--whitespace", choices=("flexible", "spaced"), default="flexible", help="what engines may write")
    p.add_argument("--seconds", type=float, default=60.0, help="limit of one engine on one case")
    p.add_argument("--memory-gb", type=float, default=8.0, help="address space of an engine's process")
    p.add_argument("--quick", action="store_true", help="three cases, five seconds each")
    p.add_argument("--record", action="store_true", help="write the table into bench/record")
    options = p.parse_args(arguments)
    machine = clock.machine()
    seconds = min(options.seconds, 5.0) if options.quick else options.seconds
    tokens = token_bytes(options.tokenizer)
    cut = side_by_side.cutter(options.tokenizer, tokens)
    chosen: list[Breaker] = []
    schemas: list[str] = []
    texts: list[list[list[int]]] = []
    for case in CASES:
        if options.cases not in case.name or (options.quick and case.name not in QUICK):
            continue
        try:
            schema, value = case.make()
        except FileNotFoundError as error:
            print(f"breakers: {case.name} is left out: no {error}", file=sys.stderr)
            continue
        spelled = growth.spelled(value)
        chosen.append(case)
        schemas.append(growth.text(schema))
        texts.append([] if spelled is None else [cut(spelled)])

    def told(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    names = [name for name in options.engines.split(",") if name]
    sides, left_out = side_by_side.run(
        names,
        Options(options.tokenizer, options.whitespace),
        schemas,
        texts,
        seconds,
        int(options.memory_gb * 2**30),
        told,
    )
    for name, why in left_out.items():
        print(f"breakers: {name} is left out: {why}", file=sys.stderr)
    record: list[dict[str, Any]] = []
    for n, case in enumerate(chosen):
        n_tokens = sum(map(len, texts[n]))
        figures = {
            name: outcome(side.replies[n], n_tokens, side.empty_ns["thread_cpu"]) for name, side in sides.items()
        }
        record.append(
            {
                "case": case.name,
                "known_to_hurt": case.whom,
                "schema_bytes": len(schemas[n].encode()),
                "tokens": n_tokens,
                "engines": figures,
            }
        )
        rows = []
        for name, found in figures.items():
            first = f"{found['first_mask_ms']:,.2f}" if "first_mask_ms" in found else "-"
            steps = [f"{x:,.1f}" for x in found["step_us"]] if "step_us" in found else ["-"] * len(POINTS)
            rows.append([name, first, *steps, found["outcome"][:90]])
        show(
            f"{case.name} ({case.whom}); {len(schemas[n].encode()):,} bytes, {n_tokens:,} tokens",
            ["", "first mask ms", "step us p50", "p99", "max", ""],
            rows,
        )
    if options.record:
        date = datetime.date.today().isoformat()
        path = corpus.RECORD / f"{date}-breakers.json"
        path.write_text(
            json.dumps(
                {
                    "command": "python " + clock.command(["bench/breakers.py", *arguments]),
                    "date": date,
                    "machine": {**machine, "load_at_end": clock.load()},
                    "tokenizer": f"{options.tokenizer.parent.name}/{options.tokenizer.name}",
                    "versions": {name: side.version for name, side in sides.items()},
                    "absent": left_out,
                    "seconds": seconds,
                    "percentiles": POINTS,
                    "cases": record,
                },
                indent=1,
            )
            + "\n",
            encoding="utf-8",
        )
        print(f"\nrecorded in bench/record/{path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
