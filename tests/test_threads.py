"""Threads and fork: an automaton is shared, a matcher has one owner at a time.

Python calls of `fill` and `accept` keep the GIL, so nothing races there. The same functions are
therefore also called through ctypes, which lets go of it: the exports of the extension are those
of csrc/tokfsm.h.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tokfsm
from schemas import Probe, row_ids
from tokfsm import _core

UNBOUNDED = 0xFFFFFFFF
OK, E_BUSY, E_RANGE = 0, 121, 122
PIECES = [b'{"', b'":', b'":"', b'","', b'"},', b"ab", b"}}", b"]}", b"true", b"12", b"null", b"k1", b'"k', b"[{"]
TOKENS: list[bytes | None] = [*[bytes([b]) for b in range(256)], *PIECES]


def large_schema(n: int) -> dict[str, Any]:
    """Definitions that refer to one another, so that every walk makes parts that none has made."""
    names = [f"d{i}" for i in range(n)]
    definitions = {
        name: {"anyOf": [
            {"type": "object", "properties": {f"k{j}": {"$ref": f"#/$defs/d{(i * 7 + j * 3) % n}"} for j in range(6)},
             "required": [f"k{i % 6}"] if i % 3 == 1 else []},
            {"type": "object", "required": ["t"], "additionalProperties": False, "properties": {
                "t": {"enum": [f"x{i}", f"xy{i}", i, None]},
                "u": {"type": "array", "items": {"$ref": f"#/$defs/d{(i + 11) % n}"}, "minItems": i % 2}}},
            {"type": "integer"}, {"enum": [f"a{i}", 1.5, f"b{i}"]}]}
        for i, name in enumerate(names)}
    return {"$defs": definitions, "type": "object", "additionalProperties": False,
            "properties": {f"k{i}": {"$ref": f"#/$defs/{name}"} for i, name in enumerate(names)}}


def chain_schema(n: int) -> dict[str, Any]:
    """Definitions that need one another: the cost of the first is a fixpoint over all of them."""
    definitions: dict[str, Any] = {
        f"d{i}": {"type": "object", "additionalProperties": False, "required": ["p", "q"], "properties": {
            "p": {"$ref": f"#/$defs/d{i + 1}"},
            "q": {"anyOf": [{"type": "array", "minItems": 1, "items": {"$ref": f"#/$defs/d{(i * 7) % n}"}},
                            {"$ref": f"#/$defs/d{min(n, i + 2)}"}]}}}
        for i in range(n)}
    return {"$defs": {**definitions, f"d{n}": {"enum": ["leaf"]}}, "$ref": "#/$defs/d0"}


@pytest.fixture(scope="module")
def vocab() -> tokfsm.Vocabulary:
    return tokfsm.Vocabulary.from_bytes(TOKENS)


# ---- through Python -------------------------------------------------------------------


def record(automaton: Any, seed: int, n_steps: int = 40, matcher: Any = None) -> list[Any]:
    """Masks, bounds and tokens of one walk."""
    rng = random.Random(seed)
    probe = Probe(automaton, matcher)
    found: list[Any] = []
    for _ in range(n_steps):
        ids = sorted(probe.mask())
        found.append((ids, probe.matcher.min_tokens))
        if not ids:
            break
        t = rng.choice(ids)
        assert probe.matcher.accept_token(t)
        found.append(t)
    return found


def in_threads(calls: list[Callable[[], Any]]) -> list[Any]:
    """All at once; the results in order, the first exception raised."""
    results: list[Any] = [None] * len(calls)
    errors: list[BaseException] = []
    gate = threading.Barrier(len(calls))

    def run(i: int) -> None:
        try:
            gate.wait()
            results[i] = calls[i]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "a thread does not come back"
    if errors:
        raise errors[0]
    return results


def test_threads_share_an_automaton_while_it_is_explored(vocab: tokfsm.Vocabulary) -> None:
    schema = large_schema(40)
    alone = tokfsm.compile(schema, vocab)
    expected = [record(alone, seed) for seed in range(6)]
    artifact = alone.to_bytes()
    automaton = tokfsm.compile(schema, vocab)
    walks: list[Callable[[], Any]] = [lambda seed=seed: record(automaton, seed) for seed in range(6)]  # type: ignore[misc]
    results = in_threads([*walks, automaton.precompile, automaton.to_bytes, lambda: automaton.statistics])
    assert results[:6] == expected
    assert results[7] == artifact == automaton.to_bytes()


def test_a_fork_goes_on_in_another_thread(vocab: tokfsm.Vocabulary) -> None:
    automaton = tokfsm.compile(large_schema(40), vocab)
    first = automaton.matcher()
    for t in b'{"k3":{"k1':
        assert first.accept_token(t)
    expected = record(automaton, 5, matcher=first.fork())
    forks = [first.fork() for _ in range(6)]
    walks: list[Callable[[], Any]] = [lambda m=m: record(automaton, 5, matcher=m) for m in forks]  # type: ignore[misc]
    assert in_threads(walks) == [expected] * 6
    del first  # the forks' histories stay
    for m in forks:
        m.rollback(m.n_accepted)
        assert record(automaton, 1, matcher=m) == record(automaton, 1)


# ---- through ctypes, without the GIL ---------------------------------------------------


class C:
    """The library's own functions; every call lets go of the GIL."""

    def __init__(self) -> None:
        self.lib = ctypes.CDLL(_core.__file__)
        p, u32, size = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_size_t
        arguments = {
            "tokfsm_automaton_open": [p, size, p, p, p, p, p],
            "tokfsm_compile": [p, size, p, size, p, p, size, p, p, p, p, p, p],
            "tokfsm_automaton_precompile": [p, p, p],
            "tokfsm_automaton_free": [p],
            "tokfsm_automaton_pack": [p],
            "tokfsm_matcher_new": [p, p, size, u32, p, p],
            "tokfsm_matcher_free": [p],
            "tokfsm_matcher_fork": [p, p, p],
            "tokfsm_matcher_reset": [p, p],
            "tokfsm_matcher_fill": [p, p, size, u32, p, p],
            "tokfsm_matcher_accept": [p, u32, p, p],
            "tokfsm_matcher_rollback": [p, size, p],
            "tokfsm_matcher_bound": [p, p, p],
            "tokfsm_matcher_check_bytes": [p, p, size, p, p, p, p],
        }
        for name, types in arguments.items():
            function = getattr(self.lib, name)
            function.argtypes = types
            function.restype = p if name == "tokfsm_automaton_pack" else ctypes.c_int32
        self.n_words = (len(TOKENS) + 31) // 32
        self.opened = self.handle("tokfsm_automaton_open", *self.text(
            tokfsm.compile(True, tokfsm.Vocabulary.from_bytes(TOKENS)).to_bytes()), None, None, None)
        self.pack = self.lib.tokfsm_automaton_pack(self.opened)

    @staticmethod
    def text(data: bytes) -> tuple[Any, int]:
        return ctypes.create_string_buffer(data, len(data)), len(data)

    def handle(self, name: str, *arguments: Any) -> int:
        out = ctypes.c_void_p()
        assert getattr(self.lib, name)(*arguments, ctypes.byref(out), None) == OK
        assert out.value is not None
        return out.value

    def compile(self, schema: Any) -> int:
        return self.handle("tokfsm_compile", *self.text(json.dumps(schema).encode()), None, 0, self.pack, None, 0,
                           None, None, None, None)

    def walk(self, automaton: int, seed: int, n_steps: int = 40) -> list[Any]:
        matcher = self.handle("tokfsm_matcher_new", automaton, None, 0, UNBOUNDED)
        rng, found = random.Random(seed), []
        row, bound, accepted = (ctypes.c_uint32 * self.n_words)(), ctypes.c_uint32(), ctypes.c_int32()
        for step in range(n_steps):
            assert self.lib.tokfsm_matcher_fill(matcher, row, self.n_words, UNBOUNDED, None, None) == OK
            assert self.lib.tokfsm_matcher_bound(matcher, ctypes.byref(bound), None) == OK
            ids = sorted(row_ids([row], len(TOKENS)))
            found.append((ids, bound.value))
            if not ids:
                break
            assert self.lib.tokfsm_matcher_accept(matcher, rng.choice(ids), ctypes.byref(accepted), None) == OK
            assert accepted.value == 1
            if step % 7 == 3:
                copy = self.handle("tokfsm_matcher_fork", matcher)
                self.lib.tokfsm_matcher_free(matcher)
                matcher = copy
        self.lib.tokfsm_matcher_free(matcher)
        return found


@pytest.fixture(scope="module")
def c() -> Iterator[C]:
    if sys.platform == "win32":
        pytest.skip("the exports are looked up as on POSIX")
    found = C()
    yield found
    found.lib.tokfsm_automaton_free(found.opened)


def test_misses_race(c: C) -> None:
    """The first walks on a fresh automaton, all at once, with exploration in between."""
    schema = large_schema(40)
    alone = c.compile(schema)
    expected = [c.walk(alone, seed) for seed in range(6)]
    for _ in range(6):
        automaton = c.compile(schema)
        walks: list[Callable[[], Any]] = [
            lambda seed=seed: c.walk(automaton, seed) for seed in range(6)]  # type: ignore[misc]
        precompile: Callable[[], Any] = lambda: c.lib.tokfsm_automaton_precompile(automaton, None, None)  # noqa: E731
        assert in_threads([*walks, precompile]) == [*expected, OK]
        c.lib.tokfsm_automaton_free(automaton)
    c.lib.tokfsm_automaton_free(alone)


def test_two_threads_on_one_matcher(c: C) -> None:
    """Every call is answered, or told that the matcher is busy; the matcher works on afterwards."""
    automaton = c.compile(large_schema(20))
    matcher = c.handle("tokfsm_matcher_new", automaton, None, 0, UNBOUNDED)
    answers: dict[str, set[int]] = {}

    def misuse(seed: int) -> None:
        rng = random.Random(seed)
        row, out, taken = (ctypes.c_uint32 * c.n_words)(), ctypes.c_uint32(), ctypes.c_size_t()
        text, n = c.text(b'{"k3":{"k1":[1,2,{"a":"b"}]}}')
        for _ in range(1500):
            kind, status = rng.randrange(7), None
            if kind == 0:
                status = c.lib.tokfsm_matcher_fill(matcher, row, c.n_words, UNBOUNDED, None, None)
            elif kind == 1:
                status = c.lib.tokfsm_matcher_accept(matcher, rng.choice(b'{"k1:[}]2'), ctypes.byref(out), None)
            elif kind == 2:
                status = c.lib.tokfsm_matcher_rollback(matcher, rng.randrange(3), None)
            elif kind == 3:
                status = c.lib.tokfsm_matcher_bound(matcher, ctypes.byref(out), None)
            elif kind == 4:
                status = c.lib.tokfsm_matcher_check_bytes(matcher, text, n, ctypes.byref(taken), ctypes.byref(out),
                                                          None, None)
            elif kind == 5:
                copy = ctypes.c_void_p()
                status = c.lib.tokfsm_matcher_fork(matcher, ctypes.byref(copy), None)
                if status == OK:
                    c.lib.tokfsm_matcher_free(copy)
            elif rng.random() < 0.2:
                status = c.lib.tokfsm_matcher_reset(matcher, None)
            if status is not None:
                answers.setdefault(f"{kind}", set()).add(status)

    in_threads([lambda seed=seed: misuse(seed) for seed in range(4)])  # type: ignore[misc]
    assert set().union(*answers.values()) <= {OK, E_BUSY, E_RANGE}
    assert all(found <= {OK, E_BUSY} for kind, found in answers.items() if kind != "2")
    row = (ctypes.c_uint32 * c.n_words)()
    assert c.lib.tokfsm_matcher_reset(matcher, None) == OK
    assert c.lib.tokfsm_matcher_fill(matcher, row, c.n_words, UNBOUNDED, None, None) == OK
    assert row_ids([row], len(TOKENS)) == set(c.walk(automaton, 0, 1)[0][0])
    c.lib.tokfsm_matcher_free(matcher)
    c.lib.tokfsm_automaton_free(automaton)


# ---- fork ------------------------------------------------------------------------------

CHILDREN = int(os.environ.get("TOKFSM_FORK_CHILDREN", "16"))

# In a process of its own: a test runner's threads are no company for fork().
FORKS = """
import os, random, sys, threading, time, warnings
sys.path.insert(0, {tests!r})
warnings.simplefilter("ignore", DeprecationWarning)  # of fork() beside threads: what is tested here
import signal
import tokfsm
from test_threads import TOKENS, chain_schema, large_schema, record

vocab = tokfsm.Vocabulary.from_bytes(TOKENS)
schema = {schema}
alone = tokfsm.compile(schema, vocab)
start = time.perf_counter()
alone.precompile()
span = time.perf_counter() - start
expected = [record(alone, seed, 25) for seed in range(4)]
rng = random.Random({seed})
failed = []
for _ in range({n}):
    automaton = tokfsm.compile(schema, vocab)
    thread = threading.Thread(target=automaton.precompile)
    thread.start()
    time.sleep(rng.random() * span)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(20)
            code = 0 if [record(automaton, seed, 25) for seed in range(4)] == expected else 2
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    if status != 0:
        failed.append(status)
    thread.join()
    if [record(automaton, seed, 25) for seed in range(4)] != expected:
        failed.append("parent")
print(failed)
"""


def fork_beside_a_miss(schema: str, n: int, seed: int) -> str:
    code = FORKS.format(tests=os.path.dirname(__file__), schema=schema, n=n, seed=seed)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    return done.stdout.strip() + done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() here")
@pytest.mark.parametrize("schema", ["large_schema(60)", "chain_schema(400)"])
def test_fork_while_another_thread_explores(schema: str) -> None:
    """The child has the automaton as it was at the fork, and goes on with it."""
    assert fork_beside_a_miss(schema, CHILDREN, 1) == "[]"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() here")
def test_matchers_work_in_a_child(vocab: tokfsm.Vocabulary) -> None:
    automaton = tokfsm.compile(large_schema(20), vocab)
    matcher = automaton.matcher()
    for t in b'{"k3":':
        assert matcher.accept_token(t)
    expected = record(automaton, 3, matcher=matcher.fork())
    code = (f"import os, sys; sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
            "import tokfsm; from test_threads import *\n"
            "vocab = tokfsm.Vocabulary.from_bytes(TOKENS)\n"
            "m = (a := tokfsm.compile(large_schema(20), vocab)).matcher()\n"
            "assert all(m.accept_token(t) for t in b'{\"k3\":')\n"
            "child = os.fork()\n"
            "found = record(a, 3, matcher=m.fork())\n"
            "if child == 0: os._exit(found == record(a, 3, matcher=m))\n"
            "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), found)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == f"1 {expected}", done.stderr


def test_a_cancel_flag_stops_another_thread(vocab: tokfsm.Vocabulary) -> None:
    cancel = tokfsm.Cancel()
    schema = large_schema(1200)  # a second of work
    automaton = tokfsm.compile(schema, vocab, limits=tokfsm.Limits(automaton_bytes=1 << 32))
    answers: list[str] = []

    def explore() -> None:
        try:
            automaton.precompile(cancel=cancel)
            answers.append("done")
        except tokfsm.CancelledError:
            answers.append("cancelled")

    thread = threading.Thread(target=explore)
    thread.start()
    time.sleep(0.01)
    cancel.set()
    thread.join(30)
    assert answers == ["cancelled"]
    assert not automaton.statistics["closed"]
    assert record(automaton, 2, 10) == record(tokfsm.compile(schema, vocab), 2, 10)

