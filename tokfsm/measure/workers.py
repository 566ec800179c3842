"""A process of its own for each engine, with a time limit a request and a limit on memory.

Engines cannot be stopped from within: when a request runs past its time the process is killed and
the next request starts a fresh one. Only one worker runs at any time, the others sleep.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

#: One thread for each engine: read by rayon, OpenMP and the tokenizers before they start.
ONE_THREAD = {
    "RAYON_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
#: Loading a vocabulary is not timed and may take this long.
START_SECONDS = 300.0

Handler = Callable[[Any], Any]
Factory = Callable[..., "tuple[Any, Handler]"]


class Reply(NamedTuple):
    status: str  #: "ok", "timeout", "crash" or "absent" (the factory failed)
    value: Any  #: the handler's answer, or a message


class Worker:
    """Runs ``factory(*arguments) -> (hello, handler)`` in a process; requests go to the handler."""

    def __init__(self, factory: Factory, arguments: tuple[Any, ...], memory_bytes: int | None = None) -> None:
        self._factory, self._arguments, self._memory_bytes = factory, arguments, memory_bytes
        self._process: Any = None
        self._pipe: Connection | None = None
        self.hello: Any = None
        self.n_starts = 0

    def start(self) -> Reply:
        os.environ.update(ONE_THREAD)
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, self._factory, self._arguments, self._memory_bytes), daemon=True
        )
        self._process.start()
        theirs.close()
        self.n_starts += 1
        reply = self._receive(START_SECONDS)
        if reply.status == "ok":
            self.hello = reply.value
        return reply

    def call(self, request: Any, seconds: float) -> Reply:
        if self._pipe is None:
            reply = self.start()
            if reply.status != "ok":
                return reply
        assert self._pipe is not None
        try:
            self._pipe.send(request)
        except OSError:
            self.stop()
            return Reply("crash", "the process is gone")
        return self._receive(seconds)

    def _receive(self, seconds: float) -> Reply:
        assert self._pipe is not None
        try:
            if self._pipe.poll(seconds):
                status, value = self._pipe.recv()
                if status != "ok":
                    self.stop()
                return Reply(status, value)
        except (EOFError, OSError):
            self._process.join(5)
            code = self._process.exitcode
            self.stop()
            return Reply("crash", f"exit code {code}")
        self.stop()
        return Reply("timeout", f"{seconds:g} s")

    def stop(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _serve(pipe: Connection, factory: Factory, arguments: tuple[Any, ...], memory_bytes: int | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this ends it
    if memory_bytes is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    try:
        hello, handler = factory(*arguments)
    except BaseException as error:
        pipe.send(("absent", f"{type(error).__name__}: {error}"))
        return
    gc.collect()
    gc.freeze()
    gc.disable()
    pipe.send(("ok", hello))
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)  # engines warn at length
    while True:
        try:
            request = pipe.recv()
        except EOFError:
            return
        try:
            answer = ("ok", handler(request))
        except BaseException as error:  # a panic in Rust is no Exception
            answer = ("crash", f"{type(error).__name__}: {error}"[:500])
        gc.collect()  # before the answer, so that nothing runs beside the next engine
        pipe.send(answer)
