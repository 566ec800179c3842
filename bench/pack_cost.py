"""What a vocabulary pack costs: to build once, to open once a process, on disk.

Opening is all that stands between a `Vocabulary` whose tokens are read and its pack: the fingerprint, the file
(in a warm page cache), verification, and what is made in memory. Each opening has a process of its own, so that
nothing is warm that would not be. Prints medians by the thread's CPU clock; ``--record`` writes them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import tokfsm
from tokfsm import _core, pack_cache

import clock
import recording
from maskbench import show

STEPS = ("fingerprint", "read", "open", "all together")


def opening(tokenizer: Path) -> dict[str, int]:
    """Nanoseconds of each step, the pack being in the cache."""
    vocab = tokfsm.Vocabulary.from_file(tokenizer)
    times = [time.thread_time_ns()]
    fingerprint = vocab.fingerprint
    times.append(time.thread_time_ns())
    stored = pack_cache.load_pack(fingerprint, _core.PACK_VERSION)
    times.append(time.thread_time_ns())
    if stored is None:
        raise SystemExit("pack_cost: the pack is not in the cache")
    _core.Pack.open(stored)
    times.append(time.thread_time_ns())
    steps = [int(n) for n in np.diff(times)]
    return dict(zip(STEPS, [*steps, sum(steps)], strict=True))


def main(arguments: list[str]) -> int:
    p = recording.parser(__doc__)
    p.add_argument("--processes", type=int, default=15)
    p.add_argument("--one", action="store_true", help="one opening here, as JSON")
    options = p.parse_args(arguments)
    if options.one:
        print(json.dumps(opening(options.tokenizer)))
        return 0
    machine = clock.machine()
    vocab = tokfsm.Vocabulary.from_file(options.tokenizer)
    _ = vocab._pack  # so that it is in the cache
    built = []
    for _ in range(5):
        start = time.thread_time_ns()
        pack = _core.Pack.build(vocab._blob, vocab._offsets)
        built.append(time.thread_time_ns() - start)
    n_bytes = len(pack.save())
    opened: list[dict[str, int]] = []
    for _ in range(options.processes):
        done = subprocess.run(
            [sys.executable, __file__, "--one", "--tokenizer", str(options.tokenizer)],
            check=True, capture_output=True, text=True)
        opened.append(json.loads(done.stdout))
    figures: dict[str, Any] = {
        "build_ms": [round(n / 1e6, 3) for n in built],
        "open_ms": {step: [round(one[step] / 1e6, 3) for one in opened] for step in STEPS},
        "file_bytes": n_bytes,
    }
    rows = [["build", np.median(built) / 1e6, min(built) / 1e6, max(built) / 1e6]]
    for step in STEPS:
        values = figures["open_ms"][step]
        rows.append([f"open: {step}", np.median(values), min(values), max(values)])
    show(f"{vocab.size:,} ids, {n_bytes / 1e6:.1f} MB on disk", ["ms", "median", "min", "max"],
         [[name, *(f"{x:.2f}" for x in values)] for name, *values in rows])
    if options.record:
        recording.write(__file__, options, arguments, machine, {"clock": "CPU clock of the thread", "figures": figures})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
