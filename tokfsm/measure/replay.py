"""The worker's side: a schema and its instances -> times and verdicts of one engine.

For each schema: compile and first mask (TTFM), then every valid instance token by token, a step
(TBM) being one mask and one accept, then every invalid instance untimed. A verdict comes from the
masks: an instance is refused at the first token whose bit is 0, or at its end if it is not complete.
"""

from __future__ import annotations

import resource
from array import array
from typing import Any, NamedTuple

from tokfsm.measure.clocks import empty_intervals, process_cpu, thread_cpu, wall
from tokfsm.measure.engines import Engine, Options, Walk, load
from tokfsm.measure.workers import Handler


class Request(NamedTuple):
    schema: str
    instances: list[tuple[bool, list[int]]]
    restart: bool


class Verdict(NamedTuple):
    test: int  #: place among the schema's instances
    valid: bool  #: as labelled
    accepted: bool
    n_tokens: int  #: tokens of the instance
    n_steps: int  #: steps timed, the refused one included; 0 for invalid ones
    why: str  #: why it was refused, or ""
    differ: bool  #: mask and accept disagreed about a token


class Result(NamedTuple):
    error: str  #: why the schema was refused, or ""
    ttfm_ns: tuple[int, int, int]  #: wall, thread CPU, process CPU
    verdicts: list[Verdict]
    step_wall_ns: array[int]  #: of the valid instances, in order
    step_cpu_ns: array[int]
    peak_bytes: int  #: of the process so far


def serve(name: str, options: Options) -> tuple[dict[str, Any], Handler]:
    """Factory of a worker for one engine."""
    engine = load(name, options)
    hello = {"version": engine.version, "threads": engine.threads, "empty_ns": empty_intervals()._asdict()}
    return hello, lambda request: replay(engine, request)


def replay(engine: Engine, request: Request) -> Result:
    if request.restart:
        engine.restart()
    step_wall: array[int] = array("q")
    step_cpu: array[int] = array("q")
    t0, p0, w0 = thread_cpu(), process_cpu(), wall()
    try:
        compiled = engine.compile(request.schema)
        walk = engine.start(compiled)
        walk.fill(*walk.arguments)
    except Exception as error:
        return Result(_short(error), (0, 0, 0), [], step_wall, step_cpu, _peak_bytes())
    w1, p1, t1 = wall(), process_cpu(), thread_cpu()
    verdicts: list[Verdict] = []
    for test, (valid, ids) in sorted(enumerate(request.instances), key=lambda pair: not pair[1][0]):
        why, differ, walls, cpus = _walk(engine, engine.start(compiled), ids)
        verdicts.append(Verdict(test, valid, not why, len(ids), len(walls) if valid else 0, why, differ))
        if valid:
            step_wall += walls
            step_cpu += cpus
    return Result("", (w1 - w0, t1 - t0, p1 - p0), verdicts, step_wall, step_cpu, _peak_bytes())


def _walk(engine: Engine, walk: Walk, ids: list[int]) -> tuple[str, bool, array[int], array[int]]:
    """Why the tokens are refused (or ""), whether mask and accept differ, and the steps' times."""
    fill, arguments, accept, is_complete = walk
    bits = engine.mask.data.cast("B")  # little-endian: bit t is bit t % 8 of byte t // 8
    walls: array[int] = array("q")
    cpus: array[int] = array("q")
    try:
        for token in ids:
            c0 = thread_cpu()
            w0 = wall()
            fill(*arguments)
            answer = accept(token)
            w1 = wall()
            c1 = thread_cpu()
            walls.append(w1 - w0)
            cpus.append(c1 - c0)
            allowed = bool(bits[token >> 3] >> (token & 7) & 1)
            if not allowed or answer is False:
                return "refused", allowed != (answer is not False), walls, cpus
        return ("" if is_complete() else "not complete at its end"), False, walls, cpus
    except Exception as error:
        return _short(error), False, walls, cpus


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:300]


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
