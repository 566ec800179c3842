"""`fill_batch` against filling row by row, in one thread and several, and what it refuses."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tokfsm
from schemas import RICH, SchemaMaker, make_options, make_tokens
from test_threads import TOKENS, in_threads, large_schema

N_WORDS = (len(TOKENS) + 31) // 32


@pytest.fixture(scope="module")
def vocab() -> tokfsm.Vocabulary:
    return tokfsm.Vocabulary.from_bytes(TOKENS)


def walked(automaton: Any, seed: int, n_steps: int) -> Any:
    """A matcher at a random place."""
    rng = random.Random(seed)
    matcher = automaton.matcher()
    row = tokfsm.allocate_token_bitmask(1, automaton.vocab_size)
    for _ in range(n_steps):
        matcher.fill_next_token_bitmask(row)
        ids = allowed(np.asarray(row)[0])
        if not len(ids) or not matcher.accept_token(int(rng.choice(ids))):
            break  # at the end
    return matcher


def allowed(row: Any) -> Any:
    return np.flatnonzero(np.unpackbits(np.ascontiguousarray(row).view(np.uint8), bitorder="little"))


def one_by_one(matchers: list[Any], vocab_size: int, budgets: list[int | None] | None = None) -> tuple[Any, bool]:
    bitmask = tokfsm.allocate_token_bitmask(len(matchers), vocab_size)
    need = False
    for i, m in enumerate(matchers):
        need |= m.fill_next_token_bitmask(bitmask, i, budget=budgets[i] if budgets else None)
    return np.array(bitmask), need


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_rows_are_those_of_single_fills(threads: int) -> None:
    """Over random schemas, vocabularies and options; mixed automata in a batch."""
    for seed in range(12):
        rng = random.Random(seed)
        tokens, stops = make_tokens(rng)
        vocab = tokfsm.Vocabulary.from_bytes(tokens, stop_token_ids=stops)
        automata: list[Any] = []
        while len(automata) < 3:
            try:
                automata.append(tokfsm.compile(SchemaMaker(rng, RICH).make(), vocab, **make_options(rng)))
            except tokfsm.SchemaError:
                continue
        matchers = [walked(automata[i % 3], seed * 100 + i, i % 23) for i in range(61)]
        matchers += [m.fork() for m in matchers[:7]]
        expected, need = one_by_one(matchers, vocab.size)
        bitmask = tokfsm.allocate_token_bitmask(len(matchers), vocab.size)
        assert tokfsm.fill_batch(matchers, bitmask, threads=threads) == need
        assert np.array_equal(bitmask, expected)
        rows = random.Random(seed).sample(range(100), len(matchers))
        wide = np.full((100, expected.shape[1] + 3), -1, np.int32)
        assert tokfsm.fill_batch(iter(matchers), wide, rows, threads) == need
        assert np.array_equal(wide[rows, :-3], expected)
        assert not wide[rows, -3:].any(), "the padding is refused"
        assert (np.delete(wide, rows, axis=0) == -1).all(), "a row of nobody was written"


def test_budgets(vocab: tokfsm.Vocabulary) -> None:
    automaton = tokfsm.compile(large_schema(20), vocab)
    matchers = [walked(automaton, i, i % 9) for i in range(40)]
    budgets = [None if i % 3 == 0 else m.min_tokens + i % 4 for i, m in enumerate(matchers)]
    expected, _ = one_by_one(matchers, vocab.size, budgets)
    bitmask = tokfsm.allocate_token_bitmask(40, vocab.size)
    tokfsm.fill_batch(matchers, bitmask, threads=3, budgets=budgets)
    assert np.array_equal(bitmask, expected)


def test_all_allowed_rows_need_nothing() -> None:
    vocab = tokfsm.Vocabulary.from_bytes([b"1", b"2"])
    automaton = tokfsm.compile({"type": "integer", "minimum": 1}, vocab)
    bitmask = tokfsm.allocate_token_bitmask(20, 2)
    assert tokfsm.fill_batch([automaton.matcher() for _ in range(20)], bitmask, threads=2) is False
    assert np.array_equal(bitmask, np.full((20, 1), 3))
    more = tokfsm.compile({"const": 1}, vocab)
    assert tokfsm.fill_batch([automaton.matcher(), more.matcher()], bitmask, [7, 3]) is True


def test_nothing_to_fill(vocab: tokfsm.Vocabulary) -> None:
    bitmask = tokfsm.allocate_token_bitmask(2, vocab.size)
    assert tokfsm.fill_batch([], bitmask, threads=4) is False
    assert (np.asarray(bitmask) == -1).all()


def untouched(bitmask: Any) -> bool:
    return bool((np.asarray(bitmask) == -1).all())


def test_what_is_shared_is_an_error(vocab: tokfsm.Vocabulary) -> None:
    automaton = tokfsm.compile(large_schema(20), vocab)
    matchers = [automaton.matcher() for _ in range(20)]
    bitmask = tokfsm.allocate_token_bitmask(30, vocab.size)
    for threads in (1, 3):
        with pytest.raises(tokfsm.BusyError, match="row 17, matcher 17 of the batch") as found:
            tokfsm.fill_batch([*matchers[:17], matchers[4], *matchers[17:]], bitmask, threads=threads)
        assert found.value.batch_index == 17
        with pytest.raises(tokfsm.RangeError, match="row 5 is another's too") as where:
            tokfsm.fill_batch(matchers, bitmask, [5, *range(1, 20)], threads)
        assert where.value.batch_index == 5
    assert untouched(bitmask)
    tokfsm.fill_batch(matchers, bitmask)  # all were given back


def test_wrong_arguments(vocab: tokfsm.Vocabulary) -> None:
    automaton = tokfsm.compile(large_schema(20), vocab)
    matchers = [automaton.matcher() for _ in range(3)]
    bitmask = tokfsm.allocate_token_bitmask(3, vocab.size)
    with pytest.raises(tokfsm.RangeError, match="4 matchers for a batch of 3 rows"):
        tokfsm.fill_batch([*matchers, automaton.matcher()], bitmask)
    with pytest.raises(tokfsm.RangeError, match="row 3 of a batch of 3"):
        tokfsm.fill_batch(matchers, bitmask, [0, 3, 1])
    with pytest.raises(tokfsm.RangeError, match="row -1"):
        tokfsm.fill_batch(matchers, bitmask, [0, -1, 1])
    with pytest.raises(ValueError, match="2 rows for 3"):
        tokfsm.fill_batch(matchers, bitmask, [0, 1])
    with pytest.raises(ValueError, match="1 budgets for 3"):
        tokfsm.fill_batch(matchers, bitmask, budgets=[1])
    with pytest.raises(ValueError, match="threads is 0; expected 1 to 65535"):
        tokfsm.fill_batch(matchers, bitmask, threads=0)
    with pytest.raises(TypeError, match="matcher 1 of the batch is a int"):
        tokfsm.fill_batch([matchers[0], 3], bitmask)
    with pytest.raises(tokfsm.BitmaskError, match="run backwards"):
        tokfsm.fill_batch(matchers, np.full((3, N_WORDS), -1, np.int32)[::-1])
    with pytest.raises(tokfsm.BitmaskError, match="read-only"):
        tokfsm.fill_batch(matchers, np.broadcast_to(np.zeros(N_WORDS, np.int32), (3, N_WORDS)))
    assert untouched(bitmask)
    every_second = np.full((6, N_WORDS), -1, np.int32)
    tokfsm.fill_batch(matchers, every_second[::2])
    assert (every_second[1::2] == -1).all() and np.array_equal(every_second[::2], one_by_one(matchers, vocab.size)[0])


@pytest.mark.parametrize("threads", [1, 4])
def test_the_first_failure_is_told_and_the_others_are_filled(vocab: tokfsm.Vocabulary, threads: int) -> None:
    automaton = tokfsm.compile({"type": "object", "required": ["a"], "properties": {"a": {"const": 1}}}, vocab)
    matchers = [automaton.matcher() for _ in range(40)]
    budgets: list[int | None] = [None] * 40
    budgets[33] = budgets[12] = budgets[38] = 1
    bitmask = tokfsm.allocate_token_bitmask(40, vocab.size)
    with pytest.raises(tokfsm.BudgetError, match="row 12, matcher 12 of the batch: a budget of 1") as found:
        tokfsm.fill_batch(matchers, bitmask, threads=threads, budgets=budgets)
    assert found.value.batch_index == 12
    expected, _ = one_by_one(matchers, vocab.size)
    expected[[12, 33, 38]] = -1
    assert np.array_equal(bitmask, expected)
    narrow = np.full((40, 1), -1, np.int32)
    with pytest.raises(tokfsm.BitmaskError, match="row 0, matcher 0"):
        tokfsm.fill_batch(matchers, narrow, threads=threads)
    assert (narrow == -1).all()


def test_many_batches_at_once_while_masks_are_made(vocab: tokfsm.Vocabulary) -> None:
    """Batches of forks of one fresh automaton, in threads of their own, each with helpers."""
    schema = large_schema(40)
    alone = tokfsm.compile(schema, vocab)
    plans = [[(seed * 50 + i, i % 17) for i in range(40)] for seed in range(4)]
    paths: dict[tuple[int, int], list[int]] = {}
    for plan in plans:
        for seed, n in plan:
            rng, probe, path = random.Random(seed), alone.matcher(), []
            row = tokfsm.allocate_token_bitmask(1, vocab.size)
            for _ in range(n):
                probe.fill_next_token_bitmask(row)
                path.append(int(rng.choice(allowed(np.asarray(row)[0]))) if len(allowed(np.asarray(row)[0])) else -1)
                if path[-1] < 0 or not probe.accept_token(path[-1]):
                    path.pop()
                    break
            paths[seed, n] = path

    def at(automaton: Any, root: Any, key: tuple[int, int]) -> Any:
        m = root.fork()
        for t in paths[key]:
            assert m.accept_token(t)
        return m

    expected = [one_by_one([at(alone, alone.matcher(), key) for key in plan], vocab.size)[0] for plan in plans]
    for round_ in range(4):
        fresh = tokfsm.compile(schema, vocab)
        root = fresh.matcher()
        batches = [[at(fresh, root, key) for key in plan] for plan in plans]
        masks = [tokfsm.allocate_token_bitmask(40, vocab.size) for _ in plans]
        calls: list[Callable[[], Any]] = [
            lambda b=b, k=k: tokfsm.fill_batch(b, k, threads=1 + round_) for b, k in zip(batches, masks)]  # type: ignore[misc]
        in_threads([*calls, fresh.precompile])
        for mask, rows in zip(masks, expected):
            assert np.array_equal(mask, rows)


def test_a_batch_lets_go_of_the_gil(vocab: tokfsm.Vocabulary) -> None:
    """Another thread runs Python while a batch of misses is filled: it sees the matchers busy."""
    schema = large_schema(120)
    seen: list[bool] = []
    for attempt in range(50):
        automaton = tokfsm.compile(schema, vocab)
        matchers = [automaton.matcher() for _ in range(200)]
        for i, m in enumerate(matchers):
            for t in b'{"k%d":' % (i % 120):
                assert m.accept_token(t)
        row = tokfsm.allocate_token_bitmask(1, vocab.size)
        bitmask = tokfsm.allocate_token_bitmask(200, vocab.size)
        done = threading.Event()

        def look(last: Any = matchers[-1], row: Any = row, done: Any = done) -> None:
            while not done.is_set():
                try:
                    last.fill_next_token_bitmask(row)
                except tokfsm.BusyError:
                    seen.append(True)
                    return

        thread = threading.Thread(target=look)
        thread.start()
        try:
            tokfsm.fill_batch(matchers, bitmask, budgets=[100_000] * 200)  # masks of budgets are not kept
        except tokfsm.BusyError:
            pass  # the other thread was inside at that moment
        done.set()
        thread.join()
        if seen:
            return
    pytest.fail("no other thread ran during fifty batches")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() here")
def test_batches_in_a_child() -> None:
    """The helpers are the parent's; a child makes its own."""
    code = (f"import os, sys; sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
            "import warnings; warnings.simplefilter('ignore', DeprecationWarning)\n"
            "import numpy as np, tokfsm\nfrom test_batch import TOKENS, large_schema, one_by_one, walked\n"
            "vocab = tokfsm.Vocabulary.from_bytes(TOKENS)\n"
            "a = tokfsm.compile(large_schema(20), vocab)\n"
            "ms = [walked(a, i, i % 9) for i in range(50)]\n"
            "expected, _ = one_by_one(ms, vocab.size)\n"
            "def right():\n"
            "    k = tokfsm.allocate_token_bitmask(50, vocab.size)\n"
            "    tokfsm.fill_batch(ms, k, threads=3)\n"
            "    return np.array_equal(k, expected)\n"
            "assert right()\n"
            "child = os.fork()\n"
            "if child == 0: os._exit(7 if right() and right() else 1)\n"
            "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), right())\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "7 True", done.stderr
