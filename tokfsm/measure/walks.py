"""Walks through a language: drawn at random by the masks, or a given text cut into tokens; and a step timed.

A draw takes, with equal chance, one of the first bytes that the mask allows, then one of its
tokens: by tokens alone nearly every walk would be white space and letters. One draw in three takes
a token that closes something, where there is one, so that strings end and walks get on.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokfsm.measure.clocks import thread_cpu, wall

__all__ = ["Chooser", "Cutter", "Steps"]

_CLOSERS = frozenset(b'"]}')


class Steps:
    """Times of steps, a step being one fill and one accept, by both clocks, in nanoseconds.

    `empty_cpu_ns` is what the CPU clock shows of an interval without a call.
    """

    def __init__(self, empty_cpu_ns: float = 0.0) -> None:
        self._empty_cpu_ns = round(empty_cpu_ns)
        self.wall_ns: array[int] = array("q")
        self.cpu_ns: array[int] = array("q")

    def __len__(self) -> int:
        return len(self.wall_ns)

    def take(self, fill: Callable[..., Any], arguments: tuple[Any, ...], accept: Callable[[int], Any],
             token_id: int) -> bool:
        """One step, timed; whether the token was accepted."""
        c0 = thread_cpu()
        w0 = wall()
        fill(*arguments)
        answer = accept(token_id)
        w1 = wall()
        c1 = thread_cpu()
        self.wall_ns.append(w1 - w0)
        self.cpu_ns.append(c1 - c0)
        return answer is not False

    def draw(self, fill: Callable[..., Any], arguments: tuple[Any, ...], accept: Callable[[int], Any],
             choose: Callable[[], int | None]) -> int | None:
        """One step whose token is chosen from the mask, the choice left out of its time; None: no token."""
        c0 = thread_cpu()
        w0 = wall()
        fill(*arguments)
        w1 = wall()
        c1 = thread_cpu()
        token_id = choose()
        if token_id is None:
            return None
        c2 = thread_cpu()
        w2 = wall()
        answer = accept(token_id)
        w3 = wall()
        c3 = thread_cpu()
        if answer is False:
            raise AssertionError(f"token {token_id} has its bit set and is refused")
        self.wall_ns.append(w1 - w0 + w3 - w2)
        self.cpu_ns.append(c1 - c0 + c3 - c2 - self._empty_cpu_ns)  # read out twice: one too many
        return token_id


class Chooser:
    """Draws a token from a mask, by a seeded generator."""

    def __init__(self, tokens: Sequence[bytes | None], rng: random.Random) -> None:
        self._first = np.array([token[0] if token else 0 for token in tokens], dtype=np.uint8)
        self._closes = np.array([bool(token and not _CLOSERS.isdisjoint(token)) for token in tokens])
        self._rng = rng

    def draw(self, row: NDArray[Any], leave_out: Sequence[int] = ()) -> int | None:
        """A token that the row of 32-bit words allows, none of `leave_out`; None if there is none."""
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")[: len(self._first)].view(np.bool_)
        bits[list(leave_out)] = False
        if self._rng.random() < 1 / 3 and (closing := bits & self._closes).any():
            bits = closing
        ids = np.flatnonzero(bits)
        if ids.size == 0:
            return None
        first = self._first[ids]
        present = np.flatnonzero(np.bincount(first, minlength=256))
        same = ids[first == present[self._rng.randrange(present.size)]]
        return int(same[self._rng.randrange(same.size)])


class Cutter:
    """Cuts a text into tokens, the longest that fits first; needs no tokenizer library."""

    def __init__(self, tokens: Sequence[bytes | None], longest: int = 16) -> None:
        self._ids = {token: i for i, token in reversed(list(enumerate(tokens))) if token and len(token) <= longest}
        self._longest = longest

    def cut(self, text: bytes) -> list[int]:
        """Token ids; raises ValueError where a byte is no token by itself."""
        ids: list[int] = []
        at = 0
        while at < len(text):
            for n in range(min(self._longest, len(text) - at), 0, -1):
                if (token_id := self._ids.get(text[at : at + n])) is not None:
                    ids.append(token_id)
                    at += n
                    break
            else:
                raise ValueError(f"no token of the vocabulary is a beginning of {text[at : at + 8]!r}")
        return ids
