"""Many schemas on one vocabulary: automata compiled once, kept within bounds, dropped whole.

A server compiles what its requests bring. One compile serves all that wait for it, in threads and
in event loops alike; who waits can leave, and when nobody waits any more the compile is cancelled.
An automaton that is dropped lives on as long as a matcher of it does.

Automata grow as they are used, so their sizes are read again whenever one is added, and every so
often in between. The least recently asked for go first.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, final

from tokfsm._core import Cancel
from tokfsm.arguments import as_count
from tokfsm.automaton import Automaton
from tokfsm.compiler import compile as compile_schema
from tokfsm.errors import CancelledError
from tokfsm.schema_text import resource_texts, schema_text
from tokfsm.vocabulary import Vocabulary

__all__ = ["CompilerCache"]

_MEASURE_EVERY = 64  # hits


class _Compile:
    """One that is under way."""

    def __init__(self) -> None:
        self.future: Future[Automaton] = Future()
        self.cancel = Cancel()
        self.n_waiting = 0


@final
class CompilerCache:
    """Automata of one vocabulary by schema and options. May be shared among threads and event loops.

    Parameters
    ----------
    vocab : Vocabulary
    max_bytes : int
        Memory of the automata together, the vocabulary's pack not counted. One that is larger by
        itself is handed out and not kept.
    max_entries : int, optional
    threads : int, optional
        Workers of `compile_async` and `submit`; default: one a core, four at most. `compile` works in
        the thread that calls it.
    **options
        Of `tokfsm.compile`, for every schema; those of a call win.
    """

    def __init__(self, vocab: Vocabulary, max_bytes: int = 512 << 20, *, max_entries: int | None = None,
                 threads: int | None = None, **options: Any) -> None:
        if not isinstance(vocab, Vocabulary):
            raise TypeError(f"vocab is a {type(vocab).__name__}; expected a tokfsm.Vocabulary")
        as_count("max_bytes", max_bytes, 0, None)
        if max_entries is not None:
            as_count("max_entries", max_entries, 0, None)
        if threads is not None:
            as_count("threads", threads, 1, None)
        if "cancel" in options:
            raise TypeError("a cache cancels its compiles itself, when nobody waits for them any more")
        self._vocab, self._options = vocab, options
        self._max_bytes, self._max_entries = max_bytes, max_entries
        self._threads = threads or min(4, os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, Automaton] = OrderedDict()
        self._under_way: dict[Hashable, _Compile] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._n_hits = self._n_compiles = self._n_shared = self._n_dropped = 0

    def compile(self, schema: Any, **options: Any) -> Automaton:
        """The automaton of a schema: kept, from another thread's compile that is under way, or compiled here.

        Raises
        ------
        As `tokfsm.compile`. A failure is told to all that wait for it, and not kept.
        """
        key, text, options = self._key(schema, options)
        found, mine = self._find(key)
        if isinstance(found, Automaton):
            return found
        try:
            if mine:
                self._work(key, found, text, options)
            return found.future.result()
        finally:
            self._leave(key, found)

    async def compile_async(self, schema: Any, **options: Any) -> Automaton:
        """The same without blocking the event loop: the work is done in a thread of the cache."""
        import asyncio

        key, text, options = self._key(schema, options)
        found, mine = self._find(key)
        if isinstance(found, Automaton):
            return found
        try:
            if mine:
                self._start(key, found, text, options)
            # A task that is cancelled leaves; the compile goes on for the others.
            return await asyncio.shield(asyncio.wrap_future(found.future))
        finally:
            self._leave(key, found)

    def submit(self, schema: Any, **options: Any) -> Future[Automaton]:
        """Begin in a thread of the cache; the result, or what went wrong, comes through the future.

        The future is the caller's own: to cancel it cancels the compile if nobody else waits.
        """
        key, text, options = self._key(schema, options)
        mine_alone: Future[Automaton] = Future()
        found, mine = self._find(key)
        if isinstance(found, Automaton):
            mine_alone.set_result(found)
            return mine_alone
        mine_alone.add_done_callback(lambda _: self._leave(key, found))
        found.future.add_done_callback(lambda done: _copy_result(done, mine_alone))
        if mine:
            self._start(key, found, text, options)
        return mine_alone

    def clear(self) -> None:
        """Drop all that is kept; what is under way goes on."""
        with self._lock:
            self._n_dropped += len(self._kept)
            self._kept.clear()

    def close(self) -> None:
        """End the threads, after what they are at; later calls start new ones."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def n_bytes(self) -> int:
        """Memory of the automata that are kept, as it is now."""
        with self._lock:
            return sum(self._sizes())

    @property
    def statistics(self) -> dict[str, int]:
        """Entries and bytes kept; hits, compiles, waits for another's compile, entries dropped."""
        with self._lock:
            return {"entries": len(self._kept), "bytes": sum(self._sizes()), "hits": self._n_hits,
                    "compiles": self._n_compiles, "shared": self._n_shared, "dropped": self._n_dropped}

    # ---- inside ----

    def _key(self, schema: Any, options: dict[str, Any]) -> tuple[Hashable, bytes, dict[str, Any]]:
        if "cancel" in options:
            raise TypeError("a cache cancels its compiles itself, when nobody waits for them any more")
        options = {**self._options, **options}
        text = schema_text(schema)
        resources = tuple(resource_texts(options.get("resources")))
        rest = tuple(sorted((name, value) for name, value in options.items() if name != "resources"))
        return (text, resources, rest), text, options

    def _find(self, key: Hashable) -> tuple[Automaton, bool] | tuple[_Compile, bool]:
        """What is kept; or the compile under way, and whether it is for the caller to do it."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
                self._n_hits += 1
                if self._n_hits % _MEASURE_EVERY == 0:
                    self._drop()
                return kept, False
            under_way = self._under_way.get(key)
            if under_way is not None:
                self._n_shared += 1
            new = under_way is None
            if under_way is None:
                self._n_compiles += 1
                under_way = self._under_way[key] = _Compile()
            under_way.n_waiting += 1
            return under_way, new

    def _start(self, key: Hashable, one: _Compile, text: bytes, options: dict[str, Any]) -> None:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="tokfsm-compile")
            self._pool.submit(self._work, key, one, text, options)

    def _work(self, key: Hashable, one: _Compile, text: bytes, options: dict[str, Any]) -> None:
        try:
            automaton = compile_schema(text, self._vocab, **options, cancel=one.cancel)
        except Exception as error:
            self._done(key, one)
            one.future.set_exception(error)
            return
        except BaseException:  # the thread that worked for all was interrupted; the others may ask again
            self._done(key, one)
            one.future.set_exception(CancelledError("the thread that compiled was interrupted"))
            raise
        self._done(key, one, automaton)
        one.future.set_result(automaton)

    def _done(self, key: Hashable, one: _Compile, automaton: Automaton | None = None) -> None:
        with self._lock:
            if self._under_way.get(key) is one:
                del self._under_way[key]
            if automaton is not None and not one.cancel.is_set:
                self._kept[key] = automaton
                self._kept.move_to_end(key)
                self._drop()

    def _leave(self, key: Hashable, one: _Compile) -> None:
        with self._lock:
            one.n_waiting -= 1
            if one.n_waiting == 0 and not one.future.done():
                one.cancel.set()
                if self._under_way.get(key) is one:
                    del self._under_way[key]  # who asks from now on begins anew

    def _sizes(self) -> list[int]:
        return [automaton.statistics["bytes"] for automaton in self._kept.values()]

    def _drop(self) -> None:
        """Keep to the bounds; the lock is held."""
        sizes = self._sizes()
        total = sum(sizes)
        for size in sizes:
            if total <= self._max_bytes and (self._max_entries is None or len(self._kept) <= self._max_entries):
                break
            self._kept.popitem(last=False)
            self._n_dropped += 1
            total -= size


def _copy_result(done: Future[Automaton], to: Future[Automaton]) -> None:
    if not to.set_running_or_notify_cancel():
        return
    error = done.exception()
    if error is not None:
        to.set_exception(error)
    else:
        to.set_result(done.result())
