"""Clocks and percentiles.

Two clocks are read round every timed call, the cheap one inside::

    c0 = cpu(); w0 = wall()
    ...
    w1 = wall(); c1 = cpu()

so that ``w1 - w0`` holds the call and one reading of the wall clock (some 40 ns), and ``c1 - c0``
holds both. Medians and 90th percentiles are quoted by the wall clock, as read; percentiles from
99 and maxima by the CPU clock less the median of its empty interval, since the wall clock's tail
measures the scheduler. Steps are timed by the CPU clock of the calling thread. Compilations are
timed by that of the process, since some engines compile on a thread pool even when told to use
one thread; the threads of one worker are the engine's alone.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

wall: Callable[[], int] = time.perf_counter_ns
thread_cpu: Callable[[], int] = time.thread_time_ns
process_cpu: Callable[[], int] = time.process_time_ns

#: The percentile from which on the CPU clock is quoted.
TAIL = 99.0


class Empty(NamedTuple):
    """Medians of the intervals that hold no call, in nanoseconds."""

    wall: float
    thread_cpu: float
    process_cpu: float


def empty_intervals(n: int = 20_001) -> Empty:
    """Measure what the clocks themselves cost, nested as they are in use."""
    walls: list[int] = []
    cpus: dict[str, list[int]] = {"thread": [], "process": []}
    for name, cpu in (("thread", thread_cpu), ("process", process_cpu)):
        for _ in range(n):
            c0 = cpu()
            w0 = wall()
            w1 = wall()
            c1 = cpu()
            walls.append(w1 - w0)
            cpus[name].append(c1 - c0)
    return Empty(
        statistics.median(walls), statistics.median(cpus["thread"]), statistics.median(cpus["process"])
    )


def percentiles(values: NDArray[np.float64], points: Sequence[float]) -> list[float]:
    """Percentiles by linear interpolation; 100 is the maximum, and no value gives NaN."""
    if values.size == 0:
        return [float("nan")] * len(points)
    return [float(x) for x in np.percentile(values, points)]


def quote(
    wall_ns: NDArray[np.float64], cpu_ns: NDArray[np.float64], empty_cpu_ns: float, points: Sequence[float]
) -> dict[str, list[float]]:
    """Percentiles in nanoseconds by the wall clock, by the CPU clock, and as they are quoted."""
    by_wall = percentiles(wall_ns, points)
    by_cpu = percentiles(np.maximum(cpu_ns - empty_cpu_ns, 0.0), points)
    quoted = [c if p >= TAIL else w for p, w, c in zip(points, by_wall, by_cpu)]
    return {"wall": by_wall, "cpu": by_cpu, "quoted": quoted}
