"""Long work in a thread; a bar on standard error meanwhile.

The bar appears where standard error is a terminal and the work has taken a second.
How much is left of an exploration is not known before its end, so the bar counts
steps, and says beside it what has come into being. Ctrl-C cancels: the calling thread
is never inside the C code, which would not hear of it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TextIO, TypeVar

import tokfsm

_PATIENCE_S = 1.0
_REPAINT_S = 0.1
_WIDTH = 24

T = TypeVar("T")


class Progress:
    """Steps of one job, in order. Use as a context manager."""

    def __init__(self, steps: Sequence[str], stream: TextIO | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self._steps = list(steps)
        self._stream = sys.stderr if stream is None else stream
        self._visible = self._stream.isatty()
        self._start = time.monotonic()
        self._painted = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._paint("")

    def step(self, name: str, work: Callable[[tokfsm.Cancel], T],
             detail: Callable[[], str] = lambda: "") -> T:
        """Do one step; its result. `detail` is asked for a few words now and then."""
        cancel = tokfsm.Cancel()
        result: list[T] = []
        failure: list[BaseException] = []

        def run() -> None:
            try:
                result.append(work(cancel))
            except BaseException as error:
                failure.append(error)

        begin = time.monotonic()
        worker = threading.Thread(target=run, name=f"tokfsm {name}", daemon=True)
        try:
            worker.start()
            worker.join(_REPAINT_S)
            while worker.is_alive():
                self._show(name, detail)
                worker.join(_REPAINT_S)
        except KeyboardInterrupt:
            cancel.set()
            if worker.ident is not None:
                worker.join()
            raise
        self.seconds[name] = time.monotonic() - begin
        if failure:
            raise failure[0]
        return result[0]

    def _show(self, name: str, detail: Callable[[], str]) -> None:
        elapsed = time.monotonic() - self._start
        if not self._visible or elapsed < _PATIENCE_S:
            return
        done = _WIDTH * self._steps.index(name) // len(self._steps)
        pulse = int(elapsed / _REPAINT_S) % max(1, _WIDTH // len(self._steps))
        bar = ("#" * done + "." * pulse).ljust(_WIDTH)
        words = (f"[{bar}]", name, detail(), f"{elapsed:.0f} s")
        self._paint(" ".join(word for word in words if word))

    def _paint(self, line: str) -> None:
        if not self._visible or (not line and not self._painted):
            return
        self._stream.write("\r" + line.ljust(self._painted) + ("" if line else "\r"))
        self._stream.flush()
        self._painted = len(line)


def states(statistics: dict[str, Any]) -> int:
    """All local states of an automaton."""
    return sum(int(statistics[name]) for name in ("values", "frames", "string_states", "number_states"))
