"""Every bit of every mask: lazily, ahead of time and reopened, against the oracle.

Random schemas, options and small vocabularies; random walks that follow the masks.
`TOKFSM_MASK_STATES=20000 pytest tests/test_masks.py` runs that many states;
`TOKFSM_MASK_SEED` moves the cases. A failing case prints its seed: it is the whole case.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from oracle import Oracle, Undecided, Unsatisfiable
from schemas import RICH, TINY, Probe, SchemaMaker, engines, make_options, make_tokens

N_STATES = int(os.environ.get("TOKFSM_MASK_STATES", "3000"))
FIRST_SEED = int(os.environ.get("TOKFSM_MASK_SEED", "0"))
N_BATCHES = 20
CLOSERS = b'"]}'


def draw(seed: int) -> tuple[Any, dict[str, Any], list[bytes | None], list[int], random.Random]:
    rng = random.Random(seed)
    draft = rng.choice(["2020-12"] * 4 + ["7", "2019-09", "6"])
    schema = SchemaMaker(rng, rng.choice((RICH, RICH, TINY)), draft=draft).make()
    options = make_options(rng)
    tokens, stops = make_tokens(rng)
    return schema, options, tokens, stops, rng


def choose(rng: random.Random, ids: list[int], tokens: list[bytes | None], n_steps: int) -> int:
    """Any token; the longer the walk, the likelier one that closes something."""
    if rng.random() < 0.02 * n_steps:
        closing = [t for t in ids if tokens[t][-1:] and tokens[t][-1] in CLOSERS]  # type: ignore[index]
        ids = closing or ids
    if rng.random() < 0.4:
        longer = [t for t in ids if len(tokens[t]) > 1]  # type: ignore[arg-type]
        ids = longer or ids
    return rng.choice(ids)


def compare(seed: int, path: Path, n_walks: int = 3, n_steps: int = 24) -> int:
    """Walk one case; the number of states compared."""
    import tokfsm

    schema, options, tokens, stops, rng = draw(seed)
    try:
        oracle = Oracle(schema, tokens=tokens, stop_token_ids=stops, **options)
    except Undecided:
        return 0
    except Unsatisfiable:
        vocab = tokfsm.Vocabulary.from_bytes(tokens, stop_token_ids=stops)
        with pytest.raises(tokfsm.errors.UnsatisfiableSchemaError):
            tokfsm.compile(schema, vocab, **options)
        return 0
    automata = engines(schema, tokens, stops, options, path)
    probes = {name: Probe(a) for name, a in automata.items()}
    n_states = 0
    for _ in range(n_walks):
        state, text = oracle.start, b""
        for probe in probes.values():
            probe.matcher.reset()
        for step in range(n_steps):
            try:
                expected = oracle.mask_at(state)
            except Undecided:  # rare, and named in the oracle
                break
            n_states += 1
            for name, probe in probes.items():
                got = probe.mask()
                if got != expected:
                    more = sorted((tokens[t] or b"<stop>") for t in got - expected)[:8]
                    less = sorted((tokens[t] or b"<stop>") for t in expected - got)[:8]
                    pytest.fail(f"seed {seed}, {name}, after {text!r}: allowed beyond the oracle {more}, "
                                f"refused against it {less}\nschema {schema}\noptions {options}")
                assert probe.matcher.is_complete == oracle.complete(state), (seed, name, text)
            ids = sorted(expected - oracle.stops)
            terminated = not ids and not oracle.stops
            for name, probe in probes.items():
                assert probe.matcher.is_terminated() == terminated, (seed, name, text)
                for t in rng.sample(range(len(tokens)), 4):
                    if t not in expected:
                        assert not probe.matcher.accept_token(t), (seed, name, text, t)
            if not ids:
                break
            chosen = choose(rng, ids, tokens, step)
            after = oracle.run(tokens[chosen] or b"", state)
            assert after is not None
            for name, probe in probes.items():
                if rng.random() < 0.1:  # a detour, undone
                    assert probe.matcher.accept_token(rng.choice(ids))
                    probe.matcher.rollback(1)
                if rng.random() < 0.1:
                    probe.matcher = probe.matcher.fork()
                assert probe.matcher.accept_token(chosen), (seed, name, text, chosen)
            state, text = after, text + (tokens[chosen] or b"")
    return n_states


@pytest.mark.parametrize("batch", range(N_BATCHES))
def test_masks(batch: int, tmp_path: Path) -> None:
    n_states, seed = 0, FIRST_SEED + batch
    while n_states < N_STATES // N_BATCHES:
        n_states += compare(seed, tmp_path / "x.tokfsm")
        seed += N_BATCHES
