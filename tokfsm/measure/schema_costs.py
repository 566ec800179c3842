"""What one schema costs in tokfsm, and texts of it to replay: the worker's side of ``tokfsm bench``.

For a schema: the time to the first mask; every step of random walks by the masks, first visits
included; exploring ahead of time; the artifact's bytes. And the walks that other engines can follow:
names in the schema's order, ``", "`` and ``": "`` as white space, which all of them write.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import tokfsm
from tokfsm.measure.clocks import empty_intervals, process_cpu, thread_cpu, wall
from tokfsm.measure.walks import Chooser, Steps
from tokfsm.measure.workers import Handler

#: What every engine writes.
COMMON = {"whitespace": "spaced", "property_order": "schema"}

_REPEATS, _REPEAT_NS = 5, 1_000_000_000  # of the first mask: so many, in so long


class Request(NamedTuple):
    schema: bytes
    options: dict[str, Any]  #: of `tokfsm.compile`
    walks: int
    steps: int  #: most tokens of a walk
    seed: int


class Cost(NamedTuple):
    error: str  #: why the schema was refused, or ""
    ttfm_ns: tuple[int, int, int]  #: wall, thread CPU, process CPU; the median of a few
    step_wall_ns: array[int]
    step_cpu_ns: array[int]
    n_finished: int  #: walks that came to the value's end
    ahead_ns: int  #: compile and precompile, process CPU
    artifact_bytes: int  #: without the pack
    ahead_error: str  #: why it cannot be explored ahead of time, or ""
    texts: list[bytes]  #: walks for every engine


def serve(tokens: Sequence[bytes | None], stop_token_ids: Sequence[int]) -> tuple[dict[str, Any], Handler]:
    """Factory of the worker."""
    meter = Meter(tokens, stop_token_ids)
    return {"version": tokfsm.__version__, "empty_ns": empty_intervals()._asdict()}, meter


class Meter:
    """Handler of the worker: a `Request` -> its `Cost`."""

    def __init__(self, tokens: Sequence[bytes | None], stop_token_ids: Sequence[int]) -> None:
        self._tokens = tokens
        self._vocab = tokfsm.Vocabulary.from_bytes(tokens, stop_token_ids)
        self._bitmask = tokfsm.allocate_token_bitmask(1, self._vocab.size)
        self._row = np.asarray(self._bitmask)[0]
        self._empty_cpu_ns = empty_intervals().thread_cpu
        tokfsm.compile(True, self._vocab)  # so that the pack is open

    def __call__(self, request: Request) -> Cost:
        steps = Steps(self._empty_cpu_ns)
        first: list[tuple[int, int, int]] = []
        began = wall()
        while len(first) < _REPEATS and (not first or wall() - began < _REPEAT_NS):
            t0, p0, w0 = thread_cpu(), process_cpu(), wall()
            try:
                automaton = tokfsm.compile(request.schema, self._vocab, **request.options)
                automaton.matcher().fill_next_token_bitmask(self._bitmask, 0)
            except tokfsm.TokfsmError as error:
                return Cost(_said(error), (0, 0, 0), steps.wall_ns, steps.cpu_ns, 0, 0, 0, "", [])
            w1, p1, t1 = wall(), process_cpu(), thread_cpu()
            first.append((w1 - w0, t1 - t0, p1 - p0))
        n_finished = sum(finished for _, finished in self._walk(automaton, request, steps))
        ahead_ns, n_bytes, ahead_error = self._ahead(request)
        common = tokfsm.compile(request.schema, self._vocab, **{**_without_spacing(request.options), **COMMON})
        texts = [b"".join(self._tokens[i] or b"" for i in ids) for ids, _ in self._walk(common, request, Steps())]
        return Cost("", sorted(first)[len(first) // 2], steps.wall_ns, steps.cpu_ns, n_finished, ahead_ns, n_bytes,
                    ahead_error, texts)

    def _walk(self, automaton: tokfsm.Automaton, request: Request, steps: Steps) -> list[tuple[list[int], bool]]:
        """Walks by the masks: their tokens, and whether each came to its end."""
        chooser = Chooser(self._tokens, random.Random(request.seed))
        found: list[tuple[list[int], bool]] = []
        for _ in range(request.walks):
            m = automaton.matcher()
            ids: list[int] = []
            while len(ids) < request.steps:
                token = steps.draw(m.fill_next_token_bitmask, (self._bitmask, 0), m.accept_token,
                                   lambda: chooser.draw(self._row, automaton.stop_token_ids))
                if token is None:
                    break
                ids.append(token)
            found.append((ids, m.is_complete))
        return found

    def _ahead(self, request: Request) -> tuple[int, int, str]:
        p0 = process_cpu()
        try:
            automaton = tokfsm.compile(request.schema, self._vocab, **request.options)
            automaton.precompile()
            p1 = process_cpu()
            return p1 - p0, len(automaton.to_bytes(embed_pack=False)), ""
        except tokfsm.LimitError as error:
            return 0, 0, _said(error)


def _without_spacing(options: dict[str, Any]) -> dict[str, Any]:
    spacing = ("whitespace", "max_whitespace", "indent", "property_order")
    return {name: value for name, value in options.items() if name not in spacing}


def _said(error: Exception) -> str:
    return str(error)
