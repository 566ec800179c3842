"""A batch of matchers against a memcpy of the same rows, against a loop over them, and over threads; the kernels too.

Matchers stand at seeded places in the instances of real schemas. The first batch makes the masks
(*first*); then rounds of, in turn: the rows' bytes copied from elsewhere by one memcpy, `fill_batch`
with each number of threads, and the loop of `fill_next_token_bitmask`. Every row is compared with the loop's. Then
`apply_token_bitmask_inplace` lays the batch over logits, beside NumPy's way. Wall clock, medians of rounds,
ratios of medians within a run; ``--record`` writes them.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tokfsm
from tokfsm import _bitmask

import clock
import corpus
from maskbench import show

POINTS = (10.0, 50.0, 90.0)


def parse(arguments: list[str]) -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, default=corpus.DATA, help="lines of {schema, tests}")
    p.add_argument("--tokenizer", type=Path, default=corpus.TOKENIZERS / "llama3_1" / "tokenizer.json")
    p.add_argument("--batches", default="1,16,64,256", help="sizes, parted by commas")
    p.add_argument("--threads", default="1,2", help="numbers, parted by commas")
    p.add_argument("--schemas", type=int, default=64, help="how many automata the matchers are spread over")
    p.add_argument("--rounds", type=int, default=300)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--label", default="", help="goes into the name of the file written")
    p.add_argument("--record", action="store_true", help="write the result into bench/record")
    return p.parse_args(arguments)


def places(options: argparse.Namespace, vocab: tokfsm.Vocabulary) -> list[Any]:
    """A function for each schema that makes a matcher of it at a random place of a valid instance."""
    lines = corpus.read(options.data)
    chosen = corpus.choose(len(lines), options.schemas * 2, options.seed)
    cases, _ = corpus.cases(lines, chosen, options.tokenizer, shuffle_keys=False, random_splits=False,
                            seed=options.seed)
    made: list[Any] = []
    for index in sorted(cases):
        texts = [i.ids for i in cases[index].instances if i.valid and i.ids]
        try:
            automaton = tokfsm.compile(cases[index].schema, vocab, whitespace="flexible")
        except tokfsm.TokfsmError:
            continue
        if texts:
            made.append((automaton, texts))
    return made[: options.schemas]


def matchers(made: list[Any], n: int, rng: random.Random) -> list[tokfsm.Matcher]:
    found = []
    for i in range(n):
        automaton, texts = made[i % len(made)]
        ids = rng.choice(texts)
        m = automaton.matcher()
        for t in ids[: rng.randrange(len(ids))]:
            if not m.accept_token(t):
                break
        found.append(m)
    return found


def timed(call: Callable[[], object]) -> int:
    begin = clock.wall()
    call()
    return clock.wall() - begin


def in_turn(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Percentiles of each way's times; they take turns in an order that rotates."""
    times: dict[str, list[int]] = {name: [] for name in ways}
    names = list(ways)
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            times[name].append(timed(ways[name]))
    return {name: [round(float(x)) for x in np.percentile(t, POINTS)] for name, t in times.items()}


def one_size(
    made: list[Any], n: int, threads: list[int], options: argparse.Namespace, vocab_size: int
) -> dict[str, Any]:
    batch = matchers(made, n, random.Random(options.seed))
    bitmask, other = (tokfsm.allocate_token_bitmask(n, vocab_size) for _ in range(2))
    first = timed(lambda: tokfsm.fill_batch(batch, bitmask))
    fills = [(m.fill_next_token_bitmask, i) for i, m in enumerate(batch)]

    def loop() -> None:
        for fill, i in fills:
            fill(other, i)

    loop()
    rows = np.array(other)
    target = np.asarray(bitmask)
    into, source, n_bytes = target.ctypes.data, rows.ctypes.data, rows.nbytes
    ways: dict[str, Callable[[], object]] = {
        "memcpy": lambda: ctypes.memmove(into, source, n_bytes), "loop": loop}
    for k in threads:
        target[:] = 0
        tokfsm.fill_batch(batch, bitmask, threads=k)
        if not np.array_equal(bitmask, rows):
            raise SystemExit(f"batch: rows differ at {n} matchers, {k} threads")
        ways[f"batch, {k} threads"] = lambda k=k: tokfsm.fill_batch(batch, bitmask, threads=k)  # type: ignore[misc]
    percentiles = in_turn(ways, options.rounds)
    middle = {name: p[1] for name, p in percentiles.items()}
    return {"matchers": n, "row_bytes": rows.nbytes // n, "first_ns": first, "ns": percentiles,
            "over_memcpy": {name: round(t / middle["memcpy"], 2) for name, t in middle.items()}}


def kernels(rows: Any, vocab_size: int, rounds: int) -> dict[str, Any]:
    """What applying a row costs, a logit type at a time; NumPy's way with the same rows."""
    n = len(rows)
    found: dict[str, Any] = {}
    for dtype in ("float32", "float16"):
        logits = np.zeros((n, vocab_size), dtype)
        refused = np.array([np.unpackbits(row.view(np.uint8), bitorder="little")[:vocab_size] == 0 for row in rows])

        def copyto(logits: Any = logits, refused: Any = refused) -> None:
            np.putmask(logits, refused, -np.inf)

        def apply(logits: Any = logits) -> None:
            tokfsm.apply_token_bitmask_inplace(logits, rows)

        percentiles = in_turn({"apply": apply, "numpy.putmask, bits unpacked before": copyto}, rounds)
        found[dtype] = {"ns_a_row": {name: [round(x / n) for x in p] for name, p in percentiles.items()}}
    return found


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    machine = clock.machine()
    vocab = tokfsm.Vocabulary.from_file(options.tokenizer)
    made = places(options, vocab)
    threads = [int(k) for k in options.threads.split(",")]
    sizes = [one_size(made, int(n), threads, options, vocab.size) for n in options.batches.split(",")]
    sample = tokfsm.allocate_token_bitmask(32, vocab.size)
    tokfsm.fill_batch(matchers(made, 32, random.Random(options.seed)), sample)
    applied = kernels(np.array(sample), vocab.size, max(10, options.rounds // 10))
    show("us a batch, medians; x: times a memcpy of the same rows",
         ["matchers", "first", *sizes[0]["ns"]],
         [[str(s["matchers"]), f"{s['first_ns'] / 1e3:.0f}",
           *(f"{p[1] / 1e3:.1f} ({s['over_memcpy'][name]:.2f}x)" for name, p in s["ns"].items())] for s in sizes])
    show(f"ns a row of {vocab.size} logits ({_bitmask.apply_kernel}), medians", ["", *applied["float32"]["ns_a_row"]],
         [[dtype, *(str(p[1]) for p in entry["ns_a_row"].values())] for dtype, entry in applied.items()])
    if options.record:
        date = datetime.date.today().isoformat()
        result = {
            "command": "python " + clock.command(["bench/batch.py", *arguments]),
            "date": date,
            "machine": {**machine, "load_at_end": clock.load()},
            "data_sha256": clock.sha256(options.data),
            "tokenizer": f"{options.tokenizer.parent.name}/{options.tokenizer.name}",
            "tokenizer_sha256": clock.sha256(options.tokenizer),
            "version": tokfsm.__version__,
            "kernel": _bitmask.apply_kernel,
            "automata": len(made),
            "percentiles": POINTS,
            "batches": sizes,
            "apply": applied,
        }
        path = corpus.RECORD / ("-".join(part for part in (date, "batch", options.label) if part) + ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(f"\nrecorded in bench/record/{path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
