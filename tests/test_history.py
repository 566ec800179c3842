"""Going back: matchers that forget, that fork and that roll back are where a matcher fed from the start is.

The witness is a fresh matcher that takes the whole text again: no history, no fork, no copy in it.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tokfsm
from schemas import RICH, Probe, SchemaMaker, make_options, make_tokens

ROOT = Path(__file__).resolve().parents[1]
SEEDS = range(int(os.environ.get("TOKFSM_HISTORY_SEEDS", "40")))
LETTERS = [bytes([byte]) for byte in range(256)]
PIECES = [b'{"', b'":', b'", "', b'": "', b"abc", b"[[", b"]]", b'{"abc', "é😀".encode()]

#: Long names and strings that are kept, counters, many alternatives, numbers, nesting; items that are compared.
SCHEMAS: dict[str, Any] = {
    "names": {"type": ["object", "null"], "additionalProperties": {"$ref": "#"}, "minProperties": 1},
    "counters": {"type": ["array", "boolean"], "items": {"$ref": "#"}, "contains": {"type": "boolean"},
                 "maxContains": 3},
    "alternatives": {"anyOf": [
        {"type": "object", "properties": {f"a{i}": {"const": i}, "rest": {"$ref": "#"}}, "required": [f"b{i % 3}"]}
        for i in range(70)]},
    "literals": {"type": "array",
                 "items": {"type": "string", "anyOf": [{"enum": ["abcdef", "abcxyz"]}, {"minLength": 9}]}},
    "unique": {"type": "array", "uniqueItems": True, "items": {"type": ["string", "integer"], "maxLength": 3}},
    "anything": {},
}


def fresh(automaton: Any, ids: list[int]) -> Probe:
    probe = Probe(automaton)
    for token in ids:
        assert probe.matcher.accept_token(token)
    return probe


class Track:
    """A matcher and what it has taken."""

    def __init__(self, automaton: Any, matcher: Any, ids: list[int], most: int | None) -> None:
        self.automaton, self.probe, self.ids, self.most = automaton, Probe(automaton, matcher), ids, most
        self.floor = 0

    @property
    def n_undoable(self) -> int:
        return len(self.ids) - self.floor

    def check(self) -> set[int]:
        mask, matcher = self.probe.mask(), self.probe.matcher
        assert matcher.n_accepted == self.n_undoable
        witness = fresh(self.automaton, self.ids)
        assert mask == witness.mask()
        assert bool(matcher.is_complete) == bool(witness.matcher.is_complete)
        assert matcher.is_terminated() == witness.matcher.is_terminated()
        assert matcher.min_tokens == witness.matcher.min_tokens
        return mask

    def accept(self, token: int) -> None:
        assert self.probe.matcher.accept_token(token)
        self.ids.append(token)
        if self.most is not None:
            self.floor = max(self.floor, len(self.ids) - self.most)

    def rollback(self, n: int) -> None:
        self.probe.matcher.rollback(n)
        del self.ids[len(self.ids) - n:]

    def fork(self) -> Track:
        copy = Track(self.automaton, self.probe.matcher.fork(), list(self.ids), self.most)
        copy.floor = self.floor
        return copy


def walk(rng: random.Random, automaton: Any, n_steps: int) -> None:
    most = rng.choice((None, 0, 1, 3, 16, 40))
    tracks = [Track(automaton, automaton.matcher(max_rollback=most), [], most)]
    for step in range(n_steps):
        track = rng.choice(tracks)
        p = rng.random()
        if p < 0.1 and track.n_undoable > 0:
            track.rollback(rng.randint(1, track.n_undoable) if rng.random() < 0.3 else 1)
        elif p < 0.14 and len(tracks) < 4:
            tracks.append(track.fork())
        elif p < 0.16 and len(tracks) > 1:
            tracks.remove(track)
            continue
        else:
            ids = sorted(track.probe.mask())
            texts = [t for t in ids if automaton_bytes(automaton, t) not in (b"}", b"]")] or ids
            if not ids or track.probe.matcher.is_terminated():
                track.probe.matcher.reset()
                track.ids.clear()
                track.floor = 0
                continue
            track.accept(rng.choice(texts if rng.random() < 0.9 else ids))
        if step % 7 == 0 or p < 0.16:
            track.check()
        with pytest.raises(tokfsm.TokfsmError):
            track.probe.matcher.rollback(track.n_undoable + 1)
    for track in tracks:
        track.check()


BYTES: dict[int, Any] = {}


def automaton_bytes(automaton: Any, token: int) -> bytes | None:
    return BYTES[id(automaton)](token)


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("seed", range(max(2, len(SEEDS) // 10)))
def test_walks_there_and_back(name: str, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    vocab = tokfsm.Vocabulary.from_bytes([*LETTERS, *PIECES])
    automaton = tokfsm.compile(SCHEMAS[name], vocab, **({"whitespace": "compact"} if seed % 2 else {}))
    BYTES[id(automaton)] = vocab.token_bytes
    for _ in range(3):
        walk(rng, automaton, 160)


@pytest.mark.parametrize("seed", SEEDS)
def test_walks_of_random_schemas(seed: int) -> None:
    rng = random.Random(seed)
    tokens, stops = make_tokens(rng)
    vocab = tokfsm.Vocabulary.from_bytes(tokens, stop_token_ids=stops)
    for _ in range(3):
        try:
            automaton = tokfsm.compile(SchemaMaker(rng, RICH).make(), vocab, **make_options(rng))
        except tokfsm.TokfsmError:
            continue
        BYTES[id(automaton)] = vocab.token_bytes
        walk(rng, automaton, 60)


@pytest.mark.skipif(not (ROOT / "bench" / "matchers_memory.py").exists(), reason="no bench/ here")
@pytest.mark.skipif(not (ROOT.parent / "shared" / "tokenizers").exists(), reason="needs ../shared/tokenizers")
def test_what_matchers_hold() -> None:
    """16 KB with the history of all 256 tokens, 4 KB with that of 16: counted, so the same on every machine."""
    done = subprocess.run([sys.executable, str(ROOT / "bench" / "matchers_memory.py"), "--quick"],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [line.split() for line in done.stdout.splitlines() if " names " in line]
    assert len(rows) == 8
    for row in rows:
        max_rollback, kilobytes = row[3], float(row[6])
        assert kilobytes <= (16 if max_rollback == "None" else 4), row
