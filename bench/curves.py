"""How cost grows: with the vocabulary, nesting, properties, enums, counts, branches, bytes and patterns.

For every family of ``growth.py`` and every size: the first mask, each step of a given text and of
random walks (first visits included, then the text once more: all hits), exploring ahead of time,
the artifact. Each size has a time limit and a memory limit in a process of its own. Prints a table a
curve and the list of *cliffs*: where a cost grows faster than what it grows with. ``--record``
writes one JSON a curve into ``bench/record`` and ``docs/curves.svg``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import clock
import corpus
import growth
from compile_cost import peak_bytes
from maskbench import show
from tokfsm.measure.walks import Chooser, Cutter, Steps
from tokfsm.measure.workers import Handler, Worker

VOCABULARIES = (
    "mistral/tokenizer.model.v3",
    "llama3_1/tokenizer.json",
    "qwen3/tokenizer.json",
    "gpt4o/tokenizer.json",
    "gemma3/tokenizer.json",
)
# What a cost must at least be before its growth is looked at: nanoseconds, or bytes.
FLOORS = {
    "ttfm": 2e6,
    "cold_p50": 5e3,
    "cold_p99": 5e4,
    "cold_max": 5e5,
    "warm_p50": 3e3,
    "warm_p99": 2e4,
    "ahead": 2e7,
    "artifact": 1e6,
    "load": 2e6,
}
HIGH = 20  # times the floor: named however it grew
UNITS = {"ttfm": "ms", "ahead": "ms", "load": "ms", "artifact": "KB"}  # the others: µs
STEEP = 1.25  # growth as a power of n: from here on it is a cliff
STEP_STEEP = 0.4  # of a step, which should not follow n at all
SMALL = 3  # sizes of a family with --quick


class Meter:
    """Handler of the worker: one size of a family -> its costs."""

    def __init__(self, tokenizer_file: Path, whitespace: Any) -> None:
        import tokfsm

        self._tokfsm = tokfsm
        self._whitespace = whitespace
        self._vocab = tokfsm.Vocabulary.from_file(tokenizer_file)
        self.pack = self._pack_cost()
        self.vocab_size = self._vocab.size
        tokens = [self._vocab.token_bytes(i) for i in range(self._vocab.size)]
        self._tokens, self._cutter = tokens, Cutter(tokens)
        self._chooser = Chooser(tokens, random.Random(1))
        self._bitmask = tokfsm.allocate_token_bitmask(1, self._vocab.size)
        self._row = np.asarray(self._bitmask)[0]
        self._empty = clock.empty_intervals()
        self.version = tokfsm.__version__
        self._compile("true")

    def _pack_cost(self) -> dict[str, float]:
        from tokfsm import _core

        t0 = clock.wall()
        pack = _core.Pack.build(self._vocab._blob, self._vocab._offsets)
        t1 = clock.wall()
        data = pack.save()
        t2 = clock.wall()
        _core.Pack.open(data)
        return {"build_ns": t1 - t0, "bytes": len(data), "open_ns": clock.wall() - t2}

    def _compile(self, text: str) -> Any:
        return self._tokfsm.compile(text, self._vocab, whitespace=self._whitespace)

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        before = peak_bytes(reset=True)
        found: dict[str, Any] = self._lazy(**request["lazy"]) if "lazy" in request else self._ahead(request["ahead"])
        found["peak_bytes"] = peak_bytes() - before
        return found

    def _lazy(self, schema: str, value: bytes | None, steps: int, walks: int, seconds: float) -> dict[str, Any]:
        found: dict[str, Any] = {}
        best: list[int] = []
        started = clock.wall()
        while len(best) < 3 and clock.wall() - started < 1e9:
            c0 = clock.process_cpu()
            try:
                automaton = self._compile(schema)
                matcher = automaton.matcher()
                matcher.fill_next_token_bitmask(self._bitmask, 0)
            except self._tokfsm.TokfsmError as error:
                return {"error": f"{type(error).__name__}: {error}"[:200], "ttfm": clock.process_cpu() - c0}
            best.append(clock.process_cpu() - c0)
        found["ttfm"] = min(best)
        spent = 0  # on steps, of the quarter of the time that the text has, the text again, and the walks
        cold, warm = Steps(self._empty.thread_cpu), Steps(self._empty.thread_cpu)
        worst: list[tuple[int, str]] = []

        def walk(into: Steps, ids: list[int] | None, n: int) -> None:
            m = automaton.matcher()
            calls = (m.fill_next_token_bitmask, (self._bitmask, 0), m.accept_token)
            so_far = b""
            nonlocal spent
            for at in range(n if ids is None else len(ids)):
                if spent > seconds / 4 * 1e9:
                    found["cut_short"] = found.get("cut_short", 0) + 1
                    return
                if ids is None:
                    drawn = into.draw(*calls, lambda: self._chooser.draw(self._row, automaton.stop_token_ids))
                    if drawn is None:
                        return
                    token = drawn
                else:
                    token = ids[at]
                    if not into.take(*calls, token):
                        raise AssertionError(f"a token of the text is refused after {so_far[-40:]!r}")
                spent += into.wall_ns[-1]
                if into is cold:
                    so_far = (so_far + (self._tokens[token] or b""))[-200:]
                    worst.append((into.cpu_ns[-1], so_far.decode("utf-8", "replace")[-60:]))
                    if len(worst) > 64:
                        worst[:] = sorted(worst, reverse=True)[:5]

        try:
            if value is not None:
                ids = self._cutter.cut(value)[:steps]
                walk(cold, ids, 0)
                spent = 0
                walk(warm, ids, 0)
            spent = 0
            for _ in range(walks):
                walk(cold, None, 150)
        except (self._tokfsm.TokfsmError, AssertionError) as error:
            found["step_error"] = f"{type(error).__name__}: {error}"[:300]
        found["worst"] = [{"us": round(ns / 1e3, 1), "after": text} for ns, text in sorted(worst, reverse=True)[:3]]
        for name, into in (("cold", cold), ("warm", warm)):
            if len(into):
                quoted = clock.quote(
                    np.asarray(into.wall_ns, dtype=np.float64),
                    np.asarray(into.cpu_ns, dtype=np.float64),
                    self._empty.thread_cpu,
                    (50.0, 99.0, 100.0),
                )["quoted"]
                found |= {
                    f"{name}_p50": quoted[0],
                    f"{name}_p99": quoted[1],
                    f"{name}_max": quoted[2],
                    f"{name}_steps": len(into),
                }
        found["masks"] = automaton.statistics["masks"]
        found["lazy_bytes"] = automaton.statistics["bytes"]
        return found

    def _ahead(self, schema: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        try:
            c0 = clock.process_cpu()
            automaton = self._compile(schema)
            automaton.precompile()
            found["ahead"] = clock.process_cpu() - c0
            data = automaton.to_bytes(embed_pack=False)
            found["artifact"] = len(data)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "x.tokfsm"
                path.write_bytes(data)
                t0 = clock.process_cpu()
                opened = self._tokfsm.load(path, self._vocab)
                found["load"] = clock.process_cpu() - t0
                t0 = clock.process_cpu()
                opened.matcher().fill_next_token_bitmask(self._bitmask, 0)
                found["first_mask_after_load"] = clock.process_cpu() - t0
        except self._tokfsm.TokfsmError as error:
            found["ahead_error"] = f"{type(error).__name__}: {error}"[:200]
        return found


def serve(tokenizer_file: Path, whitespace: str) -> tuple[dict[str, Any], Handler]:
    meter = Meter(tokenizer_file, whitespace)
    return {"version": meter.version, "pack": meter.pack, "vocab_size": meter.vocab_size}, meter


def measure(worker: Worker, made: growth.Made, options: argparse.Namespace) -> dict[str, Any]:
    """One size: the lazy half, then the half ahead of time, each with its own limit."""
    schema = growth.text(made[0])
    found: dict[str, Any] = {"schema_bytes": len(schema.encode())}
    lazy = {
        "schema": schema,
        "value": growth.spelled(made[1]),
        "steps": options.steps,
        "walks": options.walks,
        "seconds": options.seconds,
    }
    for name, request in (("lazy", {"lazy": lazy}), ("ahead", {"ahead": schema})):
        if name == "ahead" and "error" in found:
            break
        reply = worker.call(request, options.seconds)
        if reply.status == "ok":
            peak = max(found.get("peak_bytes", 0), reply.value["peak_bytes"])
            found |= {**reply.value, "peak_bytes": peak}
        else:
            found[f"{name}_failed"] = f"{reply.status}: {reply.value}"[:200]
            found["error" if name == "lazy" else "ahead_error"] = f"{reply.status} ({reply.value})"[:200]
    return found


def cliffs(curve: str, name: str, points: list[dict[str, Any]], flat: bool) -> list[dict[str, Any]]:
    """The costs of a family that grow faster than they should, and the sizes that failed."""
    found: list[dict[str, Any]] = []

    def add(what: str, point: dict[str, Any], detail: str) -> None:
        found.append({"curve": curve, "family": name, "n": point["n"], "what": what, "detail": detail})

    for point in points:
        for what in ("error", "step_error", "ahead_error"):
            if what in point:
                add(what, point, point[what])
        if "cut_short" in point:
            add("cut short", point, f"{point['cold_steps']} steps of the text and of walks took all the time there was")
    for what, floor in FLOORS.items():
        worst: tuple[float, str, dict[str, Any]] | None = None
        known = [p for p in points if what in p and "error" not in p]
        for b in known:
            # The nearest size that is well below: noise over a small step would look steep.
            a = next((p for p in reversed(known) if p["n"] <= b["n"] / 1.3), None)
            if a is not None and b[what] > floor:
                power = math.log(b[what] / max(a[what], floor / 10)) / math.log(b["n"] / a["n"])
                step = what.startswith(("cold", "warm"))
                if power > (STEP_STEEP if step or flat else STEEP) and (worst is None or power > worst[0]):
                    worst = (
                        power,
                        f"n^{power:.2f}: {figure(what, a[what])} at {a['n']:,} -> "
                        f"{figure(what, b[what])} at {b['n']:,}",
                        b,
                    )
        highest = max(known, key=lambda p: float(p[what]), default=None)
        if worst:
            add(what, worst[2], worst[1])
        elif highest and highest[what] > HIGH * floor:
            add(what, highest, f"high: {figure(what, highest[what])} at {highest['n']:,}")
    return found


def figure(what: str, value: float) -> str:
    unit = UNITS.get(what, "us")
    return f"{value / {'ms': 1e6, 'us': 1e3, 'KB': 1e3}[unit]:,.{3 if unit == 'ms' else 1}f} {unit}"


COLUMNS: tuple[tuple[str, str, Callable[[dict[str, Any]], str]], ...] = (
    ("n", "n", lambda p: f"{p['n']:,}"),
    ("schema_bytes", "KB", lambda p: f"{p['schema_bytes'] / 1e3:,.1f}"),
    *(
        (
            (what, label, lambda p, what=what, scale=scale: f"{p[what] / scale:,.{2 if scale > 1e3 else 1}f}")
            for what, label, scale in (
                ("ttfm", "TTFM ms", 1e6),
                ("cold_p50", "us p50", 1e3),
                ("cold_p99", "p99", 1e3),
                ("cold_max", "max", 1e3),
                ("warm_p50", "again p50", 1e3),
                ("warm_p99", "p99", 1e3),
                ("ahead", "ahead ms", 1e6),
                ("artifact", "artifact KB", 1e3),
                ("load", "load ms", 1e6),
                ("peak_bytes", "peak MB", 1e6),
            )
        )
    ),
)


def show_family(name: str, points: list[dict[str, Any]]) -> None:
    rows = [
        [
            *(cell(p) if key in p else "-" for key, _, cell in COLUMNS),
            *[
                " ".join(f"{k}: {p[k][:70]}" for k in ("error", "step_error", "ahead_error") if k in p)
                + (" cut short" if "cut_short" in p else "")
            ],
        ]
        for p in points
    ]
    show(name, [*(label for _, label, _ in COLUMNS), ""], rows)
    sys.stdout.flush()


def run_family(worker: Worker, family: growth.Family, options: argparse.Namespace) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = []
    for n in family.at[:SMALL] if options.quick else family.at:
        made = family.make(n)
        points.append({"n": n, **measure(worker, made, options)})
        if points[-1].get("lazy_failed"):
            break  # larger ones would only wait for the limit again
    return points


def vocabularies(options: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """The curve over vocabularies: a few fixed schemas, in order of the number of ids."""
    fixed = {
        "an object of ten": growth.properties(10, True, True),
        "any value": (True, {"a": [1, "two", {"b": None}] * 20}),
        "maxLength 100": growth.max_length(100),
        "a pattern": growth.pattern(30, r"^[a-z0-9_-]{1,N}$", lambda n: "ab-1" * 6),
        "enum of 1,000": growth.enum_words(1_000),
    }
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in fixed}
    for file in VOCABULARIES[: SMALL - 1] if options.quick else VOCABULARIES:
        path = corpus.TOKENIZERS / file
        if not path.exists():
            print(f"curves: no {file} here; left out", file=sys.stderr)
            continue
        worker = started(path, options)
        for name, made in fixed.items():
            point = {
                "n": worker.hello["vocab_size"],
                "tokenizer": file,
                **{f"pack_{k}": v for k, v in worker.hello["pack"].items()},
            }
            found[name].append(point | measure(worker, made, options))
        worker.stop()
    for points in found.values():
        points.sort(key=lambda p: int(p["n"]))
    packs = [
        (p["tokenizer"], p["n"], p["pack_build_ns"], p["pack_bytes"], p["pack_open_ns"])
        for p in next(iter(found.values()))
    ]
    show(
        "vocabulary: the pack",
        ["", "ids", "build ms", "MB", "open ms"],
        [[f, f"{n:,}", f"{b / 1e6:,.0f}", f"{size / 1e6:,.1f}", f"{o / 1e6:,.1f}"] for f, n, b, size, o in packs],
    )
    return found


def started(tokenizer: Path, options: argparse.Namespace) -> Worker:
    worker = Worker(serve, (tokenizer, options.whitespace), int(options.memory_gb * 2**30))
    if (reply := worker.start()).status != "ok":
        raise SystemExit(f"curves: {tokenizer.name}: {reply.value}")
    return worker


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    curves = list(dict.fromkeys(["vocabulary", *(f.curve for f in growth.FAMILIES)]))
    p.add_argument("--tokenizer", type=Path, default=corpus.TOKENIZERS / "llama3_1" / "tokenizer.json")
    p.add_argument("--whitespace", default="flexible")
    p.add_argument("--curves", default=",".join(curves), help="of " + ",".join(curves))
    p.add_argument("--families", default="", help="only those whose name has this in it")
    p.add_argument("--quick", action="store_true", help=f"the {SMALL} smallest sizes of each, few walks")
    p.add_argument("--seconds", type=float, default=60.0, help="limit of each half of a size")
    p.add_argument("--memory-gb", type=float, default=8.0, help="address space of the process")
    p.add_argument("--steps", type=int, default=20_000, help="most steps of a given text")
    p.add_argument("--walks", type=int, default=20, help="random walks of 150 steps")
    p.add_argument("--record", action="store_true", help="write bench/record and docs/curves.svg")
    options = p.parse_args(arguments)
    if options.quick:
        options.walks, options.steps, options.seconds = (
            min(options.walks, 4),
            min(options.steps, 2_000),
            min(options.seconds, 10.0),
        )
    machine = clock.machine()
    chosen = options.curves.split(",")
    if unknown := set(chosen) - set(curves):
        print(f"curves: no curve {', '.join(sorted(unknown))}; there are {', '.join(curves)}", file=sys.stderr)
        return 2
    results: dict[str, dict[str, list[dict[str, Any]]]] = {}
    steep: list[dict[str, Any]] = []
    begun = time.monotonic()
    if "vocabulary" in chosen and not options.families:
        results["vocabulary"] = vocabularies(options)
        for name, points in results["vocabulary"].items():
            show_family(f"vocabulary: {name}", points)
            steep += cliffs("vocabulary", name, points, True)
    worker = started(options.tokenizer, options)
    version = worker.hello["version"]
    try:
        for family in growth.FAMILIES:
            if family.curve not in chosen or options.families not in family.name:
                continue
            points = run_family(worker, family, options)
            results.setdefault(family.curve, {})[family.name] = points
            show_family(f"{family.curve}: {family.name}", points)
            steep += cliffs(family.curve, family.name, points, family.flat)
    finally:
        worker.stop()
    show(
        f"cliffs ({time.monotonic() - begun:.0f} s)",
        ["curve", "family", "n", "what", ""],
        [[c["curve"], c["family"], f"{c['n']:,}", c["what"], c["detail"]] for c in steep],
    )
    record = {
        "command": "python " + clock.command(["bench/curves.py", *arguments]),
        "date": datetime.date.today().isoformat(),
        "machine": {**machine, "load_at_end": clock.load()},
        "version": version,
        "tokenizer": f"{options.tokenizer.parent.name}/{options.tokenizer.name}",
    }
    for curve, families in results.items():
        path = (corpus.RECORD if options.record else corpus.OUT) / f"{record['date']}-curve-{curve}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        about = {"curve": curve, **record, "families": families, "cliffs": [c for c in steep if c["curve"] == curve]}
        path.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    if options.record:
        from curves_plot import plot

        plot(results, corpus.ROOT / "docs" / "curves.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
