"""The same texts in every engine that is installed: workers, replays, and the steps that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokfsm.measure.engines import Options
from tokfsm.measure.replay import Request, Result, serve
from tokfsm.measure.walks import Cutter
from tokfsm.measure.workers import Reply, Worker

#: A text that stops before the value's end is no refusal here: walks have a longest length.
_UNFINISHED = "not complete at its end"
#: Compiled before all else, so that no engine pays in its first schema what it pays once a process.
_WARM_UP = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'


class Side(NamedTuple):
    """One engine over all schemas."""

    version: str
    replies: list[Reply]  #: one a schema
    empty_ns: dict[str, float]


def cutter(tokenizer_file: Path, tokens: Sequence[bytes | None]) -> Callable[[bytes], list[int]]:
    """Text -> token ids: the tokenizer's own where its library is installed, else the longest that fit."""
    if tokenizer_file.suffix == ".json":
        try:
            import tokenizers
        except ImportError:
            pass
        else:
            own = tokenizers.Tokenizer.from_file(str(tokenizer_file))
            return lambda text: list(own.encode(text.decode("utf-8", "ignore"), add_special_tokens=False).ids)
    return Cutter(tokens).cut


def run(
    names: Sequence[str],
    options: Options,
    schemas: Sequence[str],
    texts: Sequence[list[list[int]]],
    seconds: float,
    memory_bytes: int | None,
    told: Callable[[str], None],
) -> tuple[dict[str, Side], dict[str, str]]:
    """Replay each schema's texts in each engine, by turns; and why an engine is left out."""
    workers: dict[str, Worker] = {}
    left_out: dict[str, str] = {}
    replies: dict[str, list[Reply]] = {}
    try:
        for name in names:
            told(f"starting {name}")
            worker = Worker(serve, (name, options), memory_bytes)
            if (reply := worker.start()).status == "ok":
                workers[name], replies[name] = worker, []
                worker.call(Request(_WARM_UP, [], False), seconds)
            else:
                left_out[name] = str(reply.value)
        order = list(workers)
        for n, (schema, ids) in enumerate(zip(schemas, texts, strict=True)):
            turn = n % max(1, len(order))
            for name in order[turn:] + order[:turn]:
                told(f"{name}: schema {n + 1} of {len(schemas)}")
                replies[name].append(workers[name].call(Request(schema, [(True, one) for one in ids], False), seconds))
    finally:
        for worker in workers.values():
            worker.stop()
    sides = {name: Side(w.hello["version"], replies[name], w.hello["empty_ns"]) for name, w in workers.items()}
    return sides, left_out


def result_of(reply: Reply) -> Result | None:
    """The result of a schema that the engine compiled in time."""
    return None if reply.status != "ok" or reply.value.error else reply.value


def taken(result: Result) -> list[bool]:
    """Which of the texts the engine followed to their end."""
    return [v.accepted or v.why == _UNFINISHED for v in result.verdicts]


def shared_steps(sides: dict[str, Side]) -> tuple[int, dict[str, tuple[NDArray[Any], NDArray[Any]]]]:
    """Number of texts that all engines followed, and each one's steps on these: by the wall and the CPU clock."""
    wall: dict[str, list[NDArray[np.int64]]] = {name: [np.zeros(0, dtype=np.int64)] for name in sides}
    cpu: dict[str, list[NDArray[np.int64]]] = {name: [np.zeros(0, dtype=np.int64)] for name in sides}
    n_texts = 0
    for replies in zip(*(side.replies for side in sides.values()), strict=True):
        results = {name: result_of(reply) for name, reply in zip(sides, replies, strict=True)}
        if not all(results.values()):
            continue
        by_all = [all(one) for one in zip(*(taken(r) for r in results.values() if r is not None), strict=True)]
        n_texts += sum(by_all)
        for name, result in results.items():
            assert result is not None
            at = 0
            for verdict, everywhere in zip(result.verdicts, by_all, strict=True):
                if everywhere:
                    wall[name].append(np.asarray(result.step_wall_ns[at : at + verdict.n_steps]))
                    cpu[name].append(np.asarray(result.step_cpu_ns[at : at + verdict.n_steps]))
                at += verdict.n_steps
    return n_texts, {name: (np.concatenate(wall[name]), np.concatenate(cpu[name])) for name in sides}
