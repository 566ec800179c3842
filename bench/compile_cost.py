"""What a schema costs before the first token: compile, explore ahead of time, save, open.

For every schema that compiles: times by two clocks, the statistics of the automaton, the
artifact's size (without the pack) and the peak of memory above what the process held before.
Prints percentiles and the worst schemas; keeps a line a schema in ``bench/out``; ``--record``
writes the summary. Runs in a process of its own, so that a time limit holds.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import datetime
import json
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import clock
import corpus
from maskbench import show
from tokfsm.measure.workers import Handler, Worker

POINTS = (50.0, 90.0, 99.0, 99.9, 100.0)
STAGES = ("compile", "first_mask", "precompile", "save", "load", "first_mask_after_load")


class Cost:
    """Handler of the worker: a schema text -> its costs, or the stage that refused it."""

    def __init__(self, tokenizer_file: Path, whitespace: Any) -> None:
        import tokfsm

        self._tokfsm = tokfsm
        self.version = tokfsm.__version__
        self._whitespace = whitespace
        self._vocab = tokfsm.Vocabulary.from_file(str(tokenizer_file))
        self._bitmask = tokfsm.allocate_token_bitmask(1, self._vocab.size)
        self._folder = tempfile.TemporaryDirectory()
        self._path = str(Path(self._folder.name) / "schema.tokfsm")
        self("true")  # opens the pack, imports what is imported late

    def _compile(self, text: str) -> Any:
        return self._tokfsm.compile(text, self._vocab, whitespace=self._whitespace)

    def _first_mask(self, automaton: Any) -> None:
        automaton.matcher().fill_next_token_bitmask(self._bitmask, 0)

    def __call__(self, text: str) -> dict[str, Any]:
        before = peak_bytes(reset=True)
        found: dict[str, Any] = {"schema_bytes": len(text.encode()), "wall_ns": {}, "cpu_ns": {}}
        stage = "compile"

        def timed(call: Callable[[], Any]) -> Any:
            c0, w0 = clock.process_cpu(), clock.wall()
            value = call()
            found["wall_ns"][stage], found["cpu_ns"][stage] = clock.wall() - w0, clock.process_cpu() - c0
            return value

        try:
            automaton = timed(lambda: self._compile(text))
            stage = "first_mask"
            timed(lambda: self._first_mask(automaton))
            found["peak_bytes_lazy"] = peak_bytes() - before
            stage = "precompile"
            timed(automaton.precompile)
            found["statistics"] = automaton.statistics
            stage = "save"
            timed(lambda: automaton.save(self._path, embed_pack=False))
            found["artifact_bytes"] = Path(self._path).stat().st_size
            found["peak_bytes"] = peak_bytes() - before
            stage = "load"
            reopened = timed(lambda: self._tokfsm.load(self._path, self._vocab))
            stage = "first_mask_after_load"
            timed(lambda: self._first_mask(reopened))
        except Exception as error:
            found["refused_by"] = stage
            found["error"] = f"{type(error).__name__}: {error}"[:300]
            found["peak_bytes"] = peak_bytes() - before
        return found


def peak_bytes(reset: bool = False) -> int:
    """Peak resident bytes of this process; ``reset`` starts a new peak where the system can."""
    status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if reset and clear.exists():
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)  # what the last schema freed is not this one's
        clear.write_text("5")
    if status.exists() and (peak := re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(), re.MULTILINE)):
        return int(peak[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def serve(tokenizer_file: Path, whitespace: str) -> tuple[dict[str, Any], Handler]:
    cost = Cost(tokenizer_file, whitespace)
    return {"version": cost.version}, cost


def figures(costs: list[dict[str, Any]]) -> dict[str, tuple[str, float, list[float]]]:
    """Every figure by name: its unit, what one unit is, and its values."""
    found: dict[str, tuple[str, float, list[float]]] = {}
    for stage in STAGES:
        for kind in ("wall", "cpu"):
            found[f"{stage} {kind}"] = ("ms", 1e6, [c[f"{kind}_ns"][stage] for c in costs if stage in c[f"{kind}_ns"]])
    ahead = [c["cpu_ns"] for c in costs if "precompile" in c["cpu_ns"]]
    found["compile + precompile cpu"] = ("ms", 1e6, [c["compile"] + c["precompile"] for c in ahead])
    for name in ("artifact_bytes", "peak_bytes_lazy", "peak_bytes"):
        found[name] = ("KB", 1e3, [c[name] for c in costs if name in c])
    for name in sorted({name for c in costs for name in c.get("statistics", ())}):
        found[name] = ("", 1.0, [c["statistics"][name] for c in costs if name in c.get("statistics", ())])
    return found


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, default=corpus.DATA)
    p.add_argument("--tokenizer", type=Path, default=corpus.TOKENIZERS / "llama3_1" / "tokenizer.json")
    p.add_argument("--limit", type=int, help="schemas, drawn at random (default: all)")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--whitespace", default="flexible")
    p.add_argument("--seconds", type=float, default=120.0, help="limit a schema")
    p.add_argument("--memory-gb", type=float, default=8.0, help="address space of the process")
    p.add_argument("--worst", type=int, default=20, help="how many of the worst to list")
    p.add_argument("--label", default="", help="goes into the names of the files written")
    p.add_argument("--record", action="store_true", help="write the summary into bench/record")
    options = p.parse_args(arguments)
    machine = clock.machine()
    lines = corpus.read(options.data)
    chosen = sorted(corpus.choose(len(lines), options.limit, options.seed))
    worker = Worker(serve, (options.tokenizer, options.whitespace), int(options.memory_gb * 2**30))
    if (hello := worker.start()).status != "ok":
        print(f"compile_cost: {hello.value}", file=sys.stderr)
        return 1
    costs: list[dict[str, Any]] = []
    shown = time.monotonic()
    try:
        for done, index in enumerate(chosen):
            reply = worker.call(json.dumps(lines[index]["schema"], ensure_ascii=False), options.seconds)
            cost: dict[str, Any] = {"wall_ns": {}, "cpu_ns": {}, "refused_by": reply.status, "error": reply.value}
            costs.append({"id": lines[index]["id"], **(reply.value if reply.status == "ok" else cost)})
            if time.monotonic() - shown > 10:
                shown = time.monotonic()
                print(f"{done + 1} of {len(chosen)} schemas", file=sys.stderr, flush=True)
    finally:
        worker.stop()

    date = datetime.date.today().isoformat()
    stem = "-".join(part for part in (date, "compile-cost", options.label) if part)
    corpus.OUT.mkdir(parents=True, exist_ok=True)
    (corpus.OUT / f"{stem}.jsonl").write_text("".join(json.dumps(c) + "\n" for c in costs), encoding="utf-8")

    refused: dict[str, int] = {}
    for cost in costs:
        if stage := cost.get("refused_by"):
            refused[stage] = refused.get(stage, 0) + 1
    print(f"{len(costs)} schemas; refused by stage: {refused or 'none'}")
    summary: dict[str, Any] = {}
    rows: list[list[str]] = []
    for name, (unit, scale, values) in figures(costs).items():
        quantiles = clock.percentiles(np.asarray(values, dtype=np.float64) / scale, POINTS)
        summary[name] = {"unit": unit, "n": len(values), "percentiles": [round(x, 6) for x in quantiles]}
        rows.append([name, unit, str(len(values)), *(f"{x:,.3f}" if scale > 1 else f"{x:,.0f}" for x in quantiles)])
    show("costs over the schemas that got so far", ["", "unit", "n", "p50", "p90", "p99", "p99.9", "max"], rows)

    def ahead(cost: dict[str, Any]) -> int:
        return int(sum(cost["cpu_ns"].get(stage, 0) for stage in ("compile", "precompile", "save")))

    worst = sorted(costs, key=ahead, reverse=True)[: options.worst]
    show(
        f"the worst {len(worst)} by compile + precompile + save, CPU clock",
        ["schema", "schema KB", "compile ms", "precompile ms", "save ms", "artifact KB", "peak MB", "refused by"],
        [[c["id"], f"{c.get('schema_bytes', 0) / 1e3:.1f}",
          *(f"{c['cpu_ns'].get(stage, 0) / 1e6:.2f}" for stage in ("compile", "precompile", "save")),
          f"{c.get('artifact_bytes', 0) / 1e3:.1f}", f"{c.get('peak_bytes', 0) / 1e6:.1f}", c.get("refused_by", "")]
         for c in worst],
    )
    if options.record:
        path = corpus.RECORD / f"{stem}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        record = {
            "command": "python " + clock.command(["bench/compile_cost.py", *arguments]),
            "date": date,
            "machine": {**machine, "load_at_end": clock.load()},
            "version": worker.hello["version"],
            "data_sha256": clock.sha256(options.data),
            "tokenizer": f"{options.tokenizer.parent.name}/{options.tokenizer.name}",
            "tokenizer_sha256": clock.sha256(options.tokenizer),
            "schemas": len(costs),
            "refused_by": refused,
            "percentiles": POINTS,
            "costs": summary,
            "worst": worst,
        }
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(f"\nrecorded in bench/record/{path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
