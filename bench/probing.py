"""Fill against per-step probing, the naive way to a mask: try every token on a copy of the state.

Both are called from C (``probing.c``, built here with ``cc``), so that no interpreter stands between
them. Two naive ways: fork, accept, free for each token; and accept with a rollback where it was taken,
which spares the copy. Positions are drawn from the instances of real schemas, seeded. Every mask found by
probing is compared with the one that fill wrote: a difference is an error. Prints percentiles
and ratios; ``--record`` writes them.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import tokfsm
from tokfsm import _core

import clock
import corpus
from maskbench import show
from tokfsm.measure.walks import Cutter

POINTS = (50.0, 90.0, 99.0, 100.0)
FIELDS = ("fill_ns", "again_ns", "fork_ns", "rollback_ns", "n_allowed", "n_fork_differs", "n_rollback_differs")
WHITESPACE = {"compact": 0, "spaced": 1, "flexible": 2}
REFUSED = 122  # TOKFSM_E_RANGE: probing.c says it where a token of the text is refused


class Probed(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in FIELDS]


class Prober(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("pack", "automaton", "matcher")]


class Error(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_int32),
        ("reserved", ctypes.c_uint32),
        ("where", ctypes.c_uint64),
        ("keyword", ctypes.c_char * 64),
        ("pointer", ctypes.c_char * 1024),
        ("message", ctypes.c_char * 1024),
    ]


def build(folder: Path, name: str = "probing") -> ctypes.CDLL:
    """A C file of this folder as a library, with tokfsm's functions taken from the extension that is loaded."""
    ctypes.CDLL(_core.__file__, mode=ctypes.RTLD_GLOBAL)
    library = folder / f"{name}.so"
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise SystemExit(f"{name}: no C compiler here")
    late = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
    subprocess.run(
        [
            compiler,
            "-std=c11",
            "-O3",
            "-shared",
            "-fPIC",
            *late,
            f"-I{corpus.ROOT / 'csrc'}",
            str(corpus.ROOT / "bench" / f"{name}.c"),
            "-o",
            str(library),
        ],
        check=True,
    )
    return ctypes.CDLL(str(library))


def positions(
    lines: list[dict[str, Any]], chosen: list[int], cutter: Cutter, rng: random.Random, per_schema: int
) -> list[tuple[str, str, list[int], set[int]]]:
    """A schema and one valid instance each: id, schema text, tokens, the positions to probe."""
    found = []
    for index in chosen:
        line = lines[index]
        texts = [
            text
            for test in line["tests"]
            if test["valid"] and (text := corpus.spell(corpus.whole_as_digits(test["data"]))) is not None
        ]
        if not texts:
            continue
        ids = cutter.cut(rng.choice(texts).encode())
        at = set(rng.sample(range(len(ids)), min(per_schema, len(ids))))
        found.append((line["id"], json.dumps(line["schema"], ensure_ascii=False), ids, at))
    return found


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, default=corpus.DATA)
    p.add_argument("--tokenizer", type=Path, default=corpus.TOKENIZERS / "llama3_1" / "tokenizer.json")
    p.add_argument("--whitespace", choices=tuple(WHITESPACE), default="flexible")
    p.add_argument("--schemas", type=int, default=100)
    p.add_argument("--positions", type=int, default=5, help="probed in each schema's instance")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--quick", action="store_true", help="ten schemas")
    p.add_argument("--record", action="store_true", help="write the summary into bench/record")
    options = p.parse_args(arguments)
    machine = clock.machine()
    vocab = tokfsm.Vocabulary.from_file(options.tokenizer)
    tokens = [vocab.token_bytes(i) for i in range(vocab.size)]
    rng = random.Random(options.seed)
    lines = corpus.read(options.data)
    chosen = corpus.choose(len(lines), 10 if options.quick else options.schemas, options.seed)
    cases = positions(lines, chosen, Cutter(tokens), rng, options.positions)

    rows: list[list[int]] = []
    left_out = {"refused by compile": 0, "instance refused": 0}
    with tempfile.TemporaryDirectory() as folder:
        c = build(Path(folder))
        error, prober, found = Error(), Prober(), Probed()
        pack = ctypes.c_void_p()
        data = vocab._pack.save()
        if c.prober_pack(data, ctypes.c_size_t(len(data)), ctypes.byref(pack), ctypes.byref(error)):
            raise SystemExit(f"probing: {error.message.decode()}")
        stops = np.array(vocab.stop_token_ids, dtype=np.uint32)
        filled, tried = (np.zeros((vocab.size + 31) // 32, dtype=np.uint32) for _ in range(2))
        for name, schema, ids, at in cases:
            text = schema.encode()
            if c.prober_start(
                ctypes.byref(prober),
                pack,
                text,
                ctypes.c_size_t(len(text)),
                stops.ctypes.data_as(ctypes.c_void_p),
                ctypes.c_size_t(len(stops)),
                ctypes.c_uint32(WHITESPACE[options.whitespace]),
                ctypes.byref(error),
            ):
                left_out["refused by compile"] += 1
                c.prober_end(ctypes.byref(prober))
                continue
            for n, token in enumerate(ids):
                status = c.prober_step(
                    ctypes.byref(prober),
                    ctypes.c_uint32(token),
                    ctypes.c_int32(n in at),
                    filled.ctypes.data_as(ctypes.c_void_p),
                    tried.ctypes.data_as(ctypes.c_void_p),
                    ctypes.byref(found),
                    ctypes.byref(error),
                )
                if status == REFUSED:
                    left_out["instance refused"] += 1
                    break
                if status:
                    raise SystemExit(f"probing: {name}: {error.message.decode()}")
                if n in at:
                    rows.append([getattr(found, field) for field in FIELDS])
                    if found.n_fork_differs or found.n_rollback_differs:
                        raise SystemExit(
                            f"probing: {name}: at token {n} fill and probing differ on {found.n_fork_differs} "
                            f"and {found.n_rollback_differs} tokens"
                        )
            c.prober_end(ctypes.byref(prober))
    if not rows:
        raise SystemExit("probing: no position was probed")
    empty = clock.empty_intervals().thread_cpu
    table = dict(zip(FIELDS, np.asarray(rows, dtype=np.float64).T))
    for field in FIELDS[:4]:
        table[field] = np.maximum(table[field] - empty, 1.0)
    summary: dict[str, Any] = {}
    for label, values, scale in (
        ("fill, as it comes, us", table["fill_ns"], 1e3),
        ("fill again, us", table["again_ns"], 1e3),
        ("fork and accept each, us", table["fork_ns"], 1e3),
        ("accept and roll back each, us", table["rollback_ns"], 1e3),
        ("fork / fill", table["fork_ns"] / table["fill_ns"], 1),
        ("roll back / fill", table["rollback_ns"] / table["fill_ns"], 1),
        ("roll back / fill again", table["rollback_ns"] / table["again_ns"], 1),
        ("tokens allowed", table["n_allowed"], 1),
    ):
        summary[label] = [round(x, 3) for x in clock.percentiles(values / scale, POINTS)]
    totals = {field: float(table[field].sum()) for field in FIELDS[:4]}
    show(
        f"{len(rows)} positions of {len(cases)} schemas, {vocab.size:,} ids; all masks equal",
        ["", "p50", "p90", "p99", "max"],
        [[label, *(f"{x:,.1f}" for x in values)] for label, values in summary.items()],
    )
    print(
        f"\nall positions together: roll back / fill = {totals['rollback_ns'] / totals['fill_ns']:,.0f}, "
        f"fork / fill = {totals['fork_ns'] / totals['fill_ns']:,.0f}; left out: {left_out}"
    )
    if options.record:
        date = datetime.date.today().isoformat()
        path = corpus.RECORD / f"{date}-probing.json"
        path.write_text(
            json.dumps(
                {
                    "command": "python " + clock.command(["bench/probing.py", *arguments]),
                    "date": date,
                    "machine": {**machine, "load_at_end": clock.load()},
                    "version": tokfsm.__version__,
                    "tokenizer": f"{options.tokenizer.parent.name}/{options.tokenizer.name}",
                    "data_sha256": clock.sha256(options.data),
                    "clock": "CPU clock of the thread, less its empty interval",
                    "positions": len(rows),
                    "left_out": left_out,
                    "percentiles": POINTS,
                    "figures": summary,
                    "totals_ns": totals,
                },
                indent=1,
            )
            + "\n",
            encoding="utf-8",
        )
        print(f"recorded in bench/record/{path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
