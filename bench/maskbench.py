"""Replay MaskBench's schemas and instances on tokfsm and on the engines that are installed.

Every engine runs in a process of its own, with one thread; for each schema they take turns, in an
order that rotates, so that noise hits all alike. The slow ones (XGrammar, outlines-core) run on a
seeded sample, with a time limit a schema. Times are compared on the schemas that all engines of a
table compile, on the instances that all of them accept: the same tokens for each. Prints the
tables; keeps every time and verdict in ``bench/out``; ``--record`` writes the summary.

Clocks and engines: see ``tokfsm/measure``. Data: see ``corpus.py``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import clock
import corpus
from tokfsm.measure.engines import NAMES, SAMPLED, Options
from tokfsm.measure.replay import Request, Result, serve
from tokfsm.measure.workers import Reply, Worker

TTFM_POINTS = (50.0, 90.0, 99.0, 100.0)
TBM_POINTS = (50.0, 90.0, 99.0, 99.9, 100.0)
NOTES = {
    "quoted": "p50 and p90 by wall clock, the rest by CPU clock",
    "wall": "wall clock",
    "cpu": "CPU clock less its empty interval",
}
Outcome = dict[int, Reply]  # by the schema's index


def parse(arguments: list[str]) -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, default=corpus.DATA)
    p.add_argument("--tokenizer", type=Path, default=corpus.TOKENIZERS / "llama3_1" / "tokenizer.json")
    p.add_argument("--engines", default=",".join(n for n in NAMES if n != "tokfsm-ahead"), help="of " + ",".join(NAMES))
    p.add_argument("--limit", type=int, help="schemas, drawn at random (default: all)")
    p.add_argument("--sample", type=int, default=300, help="schemas for " + " and ".join(SAMPLED))
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--whitespace", choices=("flexible", "spaced"), default="flexible", help="what engines may write")
    p.add_argument("--shuffle-keys", action="store_true", help="names of every object in random order")
    p.add_argument("--random-splits", action="store_true", help="instances cut into tokens at random")
    p.add_argument("--ahead-of-time", action="store_true", help="tokfsm also as an artifact, saved and loaded")
    p.add_argument("--restart-cache", action="store_true", help="drop caches that outlive a schema before each")
    p.add_argument("--seconds", type=float, default=120.0, help="limit a schema")
    p.add_argument("--sample-seconds", type=float, default=10.0, help="the same for the sampled engines")
    p.add_argument("--memory-gb", type=float, default=8.0, help="address space of an engine's process")
    p.add_argument("--label", default="", help="goes into the names of the files written")
    p.add_argument("--record", action="store_true", help="write the summary into bench/record")
    return p.parse_args(arguments)


def run(
    workers: dict[str, Worker], cases: dict[int, corpus.Case], sample: set[int], options: argparse.Namespace
) -> dict[str, Outcome]:
    """Replay every case on every engine in turn."""
    outcomes: dict[str, Outcome] = {name: {} for name in workers}
    names = list(workers)
    started = shown = time.monotonic()
    for done, index in enumerate(sorted(cases)):
        case = cases[index]
        request = Request(case.schema, [(i.valid, i.ids) for i in case.instances], options.restart_cache)
        turn = done % len(names)
        for name in names[turn:] + names[:turn]:
            if name in SAMPLED and index not in sample:
                continue
            seconds = options.sample_seconds if name in SAMPLED else options.seconds
            outcomes[name][index] = workers[name].call(request, seconds)
        if time.monotonic() - shown > 10:
            shown = time.monotonic()
            print(f"{done + 1} of {len(cases)} schemas, {shown - started:.0f} s", file=sys.stderr, flush=True)
    return outcomes


def result_of(reply: Reply | None) -> Result | None:
    """The result of a schema that the engine compiled in time."""
    if reply is None or reply.status != "ok" or reply.value.error:
        return None
    return reply.value  # type: ignore[no-any-return]


def verdicts(outcome: Outcome, indices: list[int]) -> dict[str, Any]:
    """How many schemas compile, and how many are wholly right, too wide or too narrow."""
    counts: Counter[str] = Counter()
    for index in indices:
        reply = outcome[index]
        counts["schemas"] += 1
        counts["out of time"] += reply.status == "timeout"
        counts["crashed"] += reply.status == "crash"
        result = result_of(reply)
        counts["refused"] += reply.status == "ok" and result is None
        if result is None:
            continue
        counts["compiled"] += 1
        wide = any(v.accepted and not v.valid for v in result.verdicts)
        narrow = any(v.valid and not v.accepted for v in result.verdicts)
        counts["accepts invalid"] += wide
        counts["refuses valid"] += narrow
        counts["wholly right"] += not wide and not narrow
        counts["mask and accept differ"] += any(v.differ for v in result.verdicts)
        counts["error at run time"] += any(v.why.partition(":")[0].endswith("Error") for v in result.verdicts)
    return dict(counts)


def instances(result: Result) -> list[tuple[bool, NDArray[np.int64], NDArray[np.int64]]]:
    """Valid instances in order: accepted, and the two clocks of its steps."""
    wall, cpu = np.asarray(result.step_wall_ns), np.asarray(result.step_cpu_ns)
    found: list[tuple[bool, NDArray[np.int64], NDArray[np.int64]]] = []
    at = 0
    for v in result.verdicts:
        if v.valid:
            found.append((v.accepted, wall[at : at + v.n_steps], cpu[at : at + v.n_steps]))
            at += v.n_steps
    return found


def latencies(outcomes: dict[str, Outcome], empty: dict[str, dict[str, float]], indices: list[int]) -> dict[str, Any]:
    """TTFM and TBM of each engine over the schemas, and the instances, that all of them share."""
    shared = [i for i in indices if all(result_of(o.get(i)) is not None for o in outcomes.values())]
    nothing = np.zeros(0, dtype=np.int64)
    steps: dict[str, list[list[NDArray[np.int64]]]] = {name: [[nothing], [nothing]] for name in outcomes}
    ttfm: dict[str, list[tuple[int, int, int]]] = {name: [] for name in outcomes}
    n_instances = 0
    for index in shared:
        results = {name: result_of(o[index]) for name, o in outcomes.items()}
        walks = {name: instances(r) for name, r in results.items() if r is not None}
        for name, result in results.items():
            if result is not None:
                ttfm[name].append(result.ttfm_ns)
        for same in zip(*walks.values()):
            if all(accepted for accepted, _, _ in same):
                n_instances += 1
                for name, (_, wall, cpu) in zip(walks, same):
                    steps[name][0].append(wall)
                    steps[name][1].append(cpu)
    table: dict[str, Any] = {}
    for name in outcomes:
        first = np.asarray(ttfm[name], dtype=np.float64).reshape(-1, 3)
        wall, cpu = (np.concatenate(s).astype(np.float64) for s in steps[name])
        table[name] = {
            "ttfm_ns": clock.quote(first[:, 0], first[:, 2], empty[name]["process_cpu"], TTFM_POINTS),
            "tbm_ns": clock.quote(wall, cpu, empty[name]["thread_cpu"], TBM_POINTS),
        }
        n_steps = int(wall.size)
    return {"schemas": len(shared), "instances": n_instances, "steps": n_steps, "engines": table}


def ratios(table: dict[str, Any]) -> dict[str, dict[str, list[float]]]:
    """Each engine's quoted figures over those of the first one."""
    names = list(table["engines"])
    base = table["engines"][names[0]]
    return {
        name: {
            kind: [round(a / b, 2) for a, b in zip(table["engines"][name][kind]["quoted"], base[kind]["quoted"])]
            for kind in ("ttfm_ns", "tbm_ns")
        }
        for name in names[1:]
    }


def show(title: str, header: list[str], rows: list[list[str]]) -> None:
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    print(f"\n{title}")
    for row in [header, *rows]:
        cells = [cell.rjust(width) for cell, width in zip(row, widths)]
        cells[0] = row[0].ljust(widths[0])
        print("  " + "  ".join(cells).rstrip())


def show_latencies(table: dict[str, Any]) -> None:
    title = "each on all the schemas that it compiles"
    if shared := "schemas" in table:
        title = f"{table['schemas']} shared schemas, {table['instances']} instances, {table['steps']} steps"
    header = ["", *(f"TTFM ms {p}" for p in ("p50", "p90", "p99", "max")),
              *(f"TBM us {p}" for p in ("p50", "p90", "p99", "p99.9", "max"))]
    for kind, note in NOTES.items():
        rows = []
        for name, entry in table["engines"].items():
            milliseconds = [f"{x / 1e6:.3f}" for x in entry["ttfm_ns"][kind]]
            rows.append([name, *milliseconds, *(f"{x / 1e3:.2f}" for x in entry["tbm_ns"][kind])])
        if shared and kind == "quoted":
            rows += [
                [f"{name} / {next(iter(table['engines']))}", *(f"{x:.2f}x" for x in r["ttfm_ns"] + r["tbm_ns"])]
                for name, r in ratios(table).items()
            ]
        show(f"{title}: {note}", header, rows)


def show_verdicts(title: str, counts: dict[str, dict[str, Any]]) -> None:
    columns = ["schemas", "compiled", "wholly right", "accepts invalid", "refuses valid", "refused", "out of time",
               "crashed", "error at run time", "mask and accept differ"]
    show(title, ["", *columns], [[name, *(str(c.get(k, 0)) for k in columns)] for name, c in counts.items()])


def keep(stem: str, outcomes: dict[str, Outcome], cases: dict[int, corpus.Case]) -> None:
    """Raw results: a line a schema and engine, and all steps' times in one file an engine."""
    corpus.OUT.mkdir(parents=True, exist_ok=True)
    with open(corpus.OUT / f"{stem}.jsonl", "w", encoding="utf-8") as lines:
        for name, outcome in outcomes.items():
            for index, reply in outcome.items():
                line: dict[str, Any] = {"engine": name, "schema": cases[index].id, "status": reply.status}
                if reply.status == "ok":
                    result: Result = reply.value
                    line |= {"error": result.error, "ttfm_ns": result.ttfm_ns, "peak_bytes": result.peak_bytes,
                             "verdicts": [v._asdict() for v in result.verdicts]}
                else:
                    line["error"] = str(reply.value)
                lines.write(json.dumps(line) + "\n")
    for name, outcome in outcomes.items():
        kept = [(i, r) for i, reply in outcome.items() if (r := result_of(reply)) is not None]
        empty = np.zeros(0, dtype=np.int64)
        np.savez_compressed(
            corpus.OUT / f"{stem}-{name}.npz",
            schema=np.concatenate([empty, *(np.full(len(r.step_wall_ns), i) for i, r in kept)]),
            wall_ns=np.concatenate([empty, *(np.asarray(r.step_wall_ns) for _, r in kept)]),
            cpu_ns=np.concatenate([empty, *(np.asarray(r.step_cpu_ns) for _, r in kept)]),
        )


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    machine = clock.machine()
    names = [name for name in options.engines.split(",") if name]
    if options.ahead_of_time and "tokfsm" in names:
        names.insert(names.index("tokfsm") + 1, "tokfsm-ahead")
    if unknown := set(names) - set(NAMES):
        print(f"maskbench: no engine {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    lines = corpus.read(options.data)
    chosen = corpus.choose(len(lines), options.limit, options.seed)
    sample = set(chosen[: options.sample])
    if set(names) <= set(SAMPLED):
        chosen = [i for i in chosen if i in sample]
    cases, left_out = corpus.cases(
        lines, chosen, options.tokenizer, shuffle_keys=options.shuffle_keys,
        random_splits=options.random_splits, seed=options.seed,
    )
    workers: dict[str, Worker] = {}
    absent: dict[str, str] = {}
    for name in names:
        worker = Worker(serve, (name, Options(options.tokenizer, options.whitespace)), int(options.memory_gb * 2**30))
        if (reply := worker.start()).status == "ok":
            workers[name] = worker
        else:
            absent[name] = str(reply.value)
            print(f"maskbench: {name} is left out: {reply.value}", file=sys.stderr)
    if not workers:
        return 1
    try:
        outcomes = run(workers, cases, sample, options)
    finally:
        for worker in workers.values():
            worker.stop()
    date = datetime.date.today().isoformat()
    stem = "-".join(part for part in (date, "maskbench", options.label) if part)
    keep(stem, outcomes, cases)

    empty = {name: workers[name].hello["empty_ns"] for name in workers}
    full = {name: o for name, o in outcomes.items() if name not in SAMPLED}
    groups = [full] if full else []
    groups += [{**full, name: o} for name, o in outcomes.items() if name in SAMPLED]
    in_sample = sorted(sample & set(cases))
    counts = {name: verdicts(o, sorted(o)) for name, o in outcomes.items()}
    sampled_counts = {name: verdicts(o, in_sample) for name, o in outcomes.items()}
    tables = [latencies(group, empty, sorted(cases)) for group in groups]
    alone = {name: latencies({name: o}, empty, sorted(o)) for name, o in outcomes.items()}
    show_verdicts("schemas as each engine took them", counts)
    if any(name in SAMPLED for name in outcomes) and full:
        show_verdicts(f"the {len(in_sample)} of the sample", sampled_counts)
    for table in tables:
        show_latencies(table)
    show_latencies({"engines": {f"{n} ({t['schemas']})": t["engines"][n] for n, t in alone.items()}})
    if options.record:
        summary = {
            "command": "python " + clock.command(["bench/maskbench.py", *arguments]),
            "date": date,
            "machine": {**machine, "load_at_end": clock.load()},
            "data_sha256": clock.sha256(options.data),
            "tokenizer": f"{options.tokenizer.parent.name}/{options.tokenizer.name}",
            "tokenizer_sha256": clock.sha256(options.tokenizer),
            "versions": {name: w.hello["version"] for name, w in workers.items()},
            "threads": {name: w.hello["threads"] for name, w in workers.items()},
            "empty_ns": empty,
            "absent": absent,
            "instances_left_out": left_out,
            "percentiles": {"ttfm_ns": TTFM_POINTS, "tbm_ns": TBM_POINTS},
            "verdicts": counts,
            "verdicts_of_the_sample": sampled_counts,
            "latencies": [{**table, "ratios": ratios(table)} for table in tables],
            "latencies_alone": alone,
        }
        path = corpus.RECORD / f"{stem}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
        print(f"\nrecorded in bench/record/{path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
