"""`CompilerCache`: one compile for many, within bounds, off the event loop, failures not kept."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from concurrent.futures import CancelledError
from typing import Any

import pytest

import tokfsm
from tokfsm import compiler_cache

VOCAB = tokfsm.Vocabulary.from_bytes([bytes([b]) for b in range(256)])
BAD = {"type": "string", "pattern": r"(a)\1"}


class Gate:
    """In place of `tokfsm.compile`: counts, and waits until it is let through."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.way = threading.Semaphore(0), threading.Event()
        self.n, self.cancels = 0, list[Any]()
        monkeypatch.setattr(compiler_cache, "compile_schema", self.compile)

    def compile(self, text: bytes, vocab: Any, *, cancel: Any, **options: Any) -> Any:
        self.n += 1
        self.cancels.append(cancel)
        self.entered.release()
        assert self.way.wait(60)
        if cancel.is_set:
            raise tokfsm.CancelledError("cancelled")
        return tokfsm.compile(text, vocab, **options)


def test_the_same_automaton_for_the_same_schema_and_options() -> None:
    cache = tokfsm.CompilerCache(VOCAB, whitespace="spaced")
    one = cache.compile({"enum": [1]})
    assert cache.compile({"enum": [1]}) is one
    assert one.options["whitespace"] == "spaced"
    assert cache.compile({"enum": [1]}, whitespace="compact") is not one
    assert cache.compile({"enum": [1]}, draft="7") is not one
    other = cache.compile({"$ref": "urn:a"}, resources={"urn:a": {"const": 1}})
    assert cache.compile({"$ref": "urn:a"}, resources={"urn:a": {"const": 1}}) is other
    assert cache.compile({"$ref": "urn:a"}, resources={"urn:a": {"const": 2}}) is not other
    assert cache.statistics["entries"] == len(cache) and cache.statistics["hits"] >= 2
    assert cache.n_bytes == sum(a.statistics["bytes"] for a in cache._kept.values()) > 0
    cache.clear()
    assert len(cache) == 0 and cache.compile({"enum": [1]}) is not one


def test_one_compile_for_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, cache = Gate(monkeypatch), tokfsm.CompilerCache(VOCAB)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(cache.compile(True))) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert gate.entered.acquire(timeout=60)
    futures = [cache.submit(True) for _ in range(3)]
    gate.way.set()
    for thread in threads:
        thread.join(60)
    assert gate.n == 1 and len(found) == 8
    assert len({id(a) for a in [*found, *[f.result(60) for f in futures]]}) == 1
    cache.close()


def test_the_event_loop_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, cache = Gate(monkeypatch), tokfsm.CompilerCache(VOCAB, threads=1)

    async def main() -> None:
        tasks = [asyncio.create_task(cache.compile_async(schema)) for schema in (True, True, {"enum": [1]})]
        while not gate.entered.acquire(blocking=False):
            await asyncio.sleep(0)  # a blocked loop would never get here
        assert not any(task.done() for task in tasks)
        gate.way.set()
        first, second, third = await asyncio.gather(*tasks)
        assert first is second and first is not third
        assert await cache.compile_async(True) is first

    asyncio.run(main())
    assert gate.n == 2
    cache.close()
    assert cache.submit({"enum": [2]}).result(60).vocab_size == 256  # new threads
    cache.close()


def test_failures_reach_all_and_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, cache = Gate(monkeypatch), tokfsm.CompilerCache(VOCAB)
    futures = [cache.submit(BAD) for _ in range(3)]
    gate.way.set()
    for future in futures:
        error = future.exception(60)
        assert isinstance(error, tokfsm.UnsupportedSchemaError) and error.pointer == "/pattern"
    with pytest.raises(tokfsm.UnsupportedSchemaError):
        cache.compile(BAD)
    with pytest.raises(tokfsm.UnsupportedSchemaError):
        asyncio.run(cache.compile_async(BAD))
    assert gate.n == 3 and len(cache) == 0
    assert cache.compile(BAD, unsupported="relax").relaxed
    with pytest.raises(TypeError):
        cache.compile(True, colour="red")
    cache.close()


def test_an_interrupt_is_the_worker_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, cache = Gate(monkeypatch), tokfsm.CompilerCache(VOCAB)
    waiting: list[Any] = []

    def interrupted(*args: Any, **options: Any) -> Any:
        waiting.append(cache.submit(True))
        raise KeyboardInterrupt

    monkeypatch.setattr(compiler_cache, "compile_schema", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cache.compile(True)
    assert isinstance(waiting[0].exception(60), tokfsm.CancelledError)
    monkeypatch.setattr(compiler_cache, "compile_schema", gate.compile)
    gate.way.set()
    assert cache.compile(True).vocab_size == 256


def test_who_leaves_cancels_only_what_nobody_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, cache = Gate(monkeypatch), tokfsm.CompilerCache(VOCAB)

    async def main() -> None:
        one, other = (asyncio.create_task(cache.compile_async(True)) for _ in range(2))
        while not gate.entered.acquire(blocking=False):
            await asyncio.sleep(0)
        one.cancel()
        with pytest.raises(asyncio.CancelledError):
            await one
        assert not gate.cancels[0].is_set
        other.cancel()
        with pytest.raises(asyncio.CancelledError):
            await other
        assert gate.cancels[0].is_set
        again = asyncio.create_task(cache.compile_async(True))  # begins anew, beside the cancelled one
        await asyncio.sleep(0)
        gate.way.set()
        assert (await again).vocab_size == 256

    asyncio.run(main())
    assert gate.n == 2 and not gate.cancels[1].is_set and len(cache) == 1
    gate.way.clear()
    future = cache.submit({"enum": [3]})
    assert future.cancel()
    gate.way.set()
    with pytest.raises(CancelledError):
        future.result(60)
    cache.close()
    assert gate.cancels[-1].is_set and len(cache) == 1


def test_bounds() -> None:
    schemas = [{"enum": [f"a{i}"]} for i in range(12)]
    cache = tokfsm.CompilerCache(VOCAB, max_entries=3)
    automata = [cache.compile(schema) for schema in schemas[:3]]
    assert cache.compile(schemas[0]) is automata[0]
    cache.compile(schemas[3])  # the second goes: the first was asked for since
    assert cache.compile(schemas[0]) is automata[0] and len(cache) == 3
    assert cache.compile(schemas[1]) is not automata[1]

    size = automata[0].statistics["bytes"]
    cache = tokfsm.CompilerCache(VOCAB, max_bytes=size * 3 + size // 2)
    for schema in schemas:
        cache.compile(schema)
        assert cache.n_bytes <= size * 3 + size // 2
    assert 1 <= len(cache) <= 3 and cache.statistics["dropped"] == len(schemas) - len(cache)

    cache = tokfsm.CompilerCache(VOCAB, max_bytes=0)
    one = cache.compile(True)
    assert len(cache) == 0 and one.matcher().accept_token(ord("1"))


def test_automata_that_grow_are_measured_again() -> None:
    cache = tokfsm.CompilerCache(VOCAB, max_bytes=400_000)
    grown = cache.compile({"type": "string", "format": "date-time"})
    cache.compile(True)
    try:
        grown.precompile()
    except tokfsm.LimitError:
        pass
    if grown.statistics["bytes"] <= 400_000:
        pytest.skip("it has not grown enough")
    for _ in range(compiler_cache._MEASURE_EVERY):
        cache.compile(True)
    assert cache.n_bytes <= 400_000


def test_what_is_dropped_lives_as_long_as_its_matchers() -> None:
    cache = tokfsm.CompilerCache(VOCAB, max_entries=1)
    matcher = cache.compile({"const": "ab"}).matcher()
    seen = weakref.ref(cache)
    cache.compile(True)
    assert matcher.accept_tokens(b'"ab"')
    del cache
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("bad", [{"max_bytes": -1}, {"max_entries": -1}, {"threads": 0}])
def test_bounds_that_are_none(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError):
        tokfsm.CompilerCache(VOCAB, **bad)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        tokfsm.CompilerCache("tokenizer.json")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        tokfsm.CompilerCache(VOCAB).compile(True, cancel=tokfsm.Cancel())
