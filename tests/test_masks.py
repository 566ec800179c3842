"""Every bit of every mask: lazily, ahead of time and reopened, against the oracle.

Random schemas, options and small vocabularies; random walks that follow the masks.
`TOKFSM_MASK_STATES=20000 pytest tests/test_masks.py` runs that many states (of all keywords, a
tenth); `TOKFSM_MASK_SEED` moves the cases. A failing case prints its seed: it is the whole case.

Schemas of all keywords: what the engine refuses by name is passed over and counted, and where
the oracle leaves a spelling in doubt the mask lies between its two answers (`bounds_at`).
"""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import name_schemas
from oracle import Oracle, Undecided, Unsatisfiable
from schema_keywords import ALL
from schemas import RICH, TINY, Probe, SchemaMaker, engines, make_options, make_tokens

N_STATES = int(os.environ.get("TOKFSM_MASK_STATES", "3000"))
FIRST_SEED = int(os.environ.get("TOKFSM_MASK_SEED", "0"))
N_BATCHES = 20
CLOSERS = b'"]}'


Case = tuple[Any, dict[str, Any], list[bytes | None], list[int], random.Random]


def draw(seed: int) -> Case:
    rng = random.Random(seed)
    draft = rng.choice(["2020-12"] * 4 + ["7", "2019-09", "6"])
    schema = SchemaMaker(rng, rng.choice((RICH, RICH, TINY)), draft=draft).make()
    options = make_options(rng)
    tokens, stops = make_tokens(rng)
    return schema, options, tokens, stops, rng


def draw_wide(seed: int) -> Case:
    """All keywords, some of them or most."""
    rng = random.Random(seed)
    draft = rng.choice(["2020-12"] * 4 + ["7", "2019-09", "6"])
    keywords = [k for k in sorted(ALL) if rng.random() < 0.5]
    schema = SchemaMaker(rng, rng.choice((RICH, TINY)), draft=draft, keywords=keywords).make(rng.choice((1, 2, 2, 3)))
    options = make_options(rng)
    options.pop("additional_properties", None)
    if rng.random() < 0.8:
        options.pop("property_order", None)
    tokens, stops = make_tokens(rng, 80)
    return schema, options, tokens, stops, rng


def draw_names(seed: int) -> Case:
    """Objects in which it matters which names are there."""
    rng = random.Random(seed)
    schema = name_schemas.make_schema(rng)
    options = {k: v for k, v in make_options(rng).items() if k in ("escapes", "property_order") and rng.random() < 0.5}
    tokens = name_schemas.make_tokens(rng)
    return schema, options, tokens, [], rng


def choose(rng: random.Random, ids: list[int], tokens: list[bytes | None], n_steps: int, text: bytes,
           names: bool) -> int:
    """Any token; the longer the walk, the likelier one that closes something; with `names` mostly one that leads
    back to a name that is there."""
    if names and rng.random() < 0.75:
        ids = name_schemas.towards_a_name(text, ids, tokens) or ids
        return rng.choice(ids)
    if rng.random() < 0.02 * n_steps:
        closing = [t for t in ids if tokens[t][-1:] and tokens[t][-1] in CLOSERS]  # type: ignore[index]
        ids = closing or ids
    if rng.random() < 0.4:
        longer = [t for t in ids if len(tokens[t]) > 1]  # type: ignore[arg-type]
        ids = longer or ids
    return rng.choice(ids)


def compare(seed: int, path: Path, case: Case, outcomes: Counter[str], n_walks: int = 3, n_steps: int = 24,
            names: bool = False) -> int:
    """Walk one case; the number of states compared."""
    import tokfsm

    schema, options, tokens, stops, rng = case
    vocab = tokfsm.Vocabulary.from_bytes(tokens, stop_token_ids=stops)
    try:
        oracle = Oracle(schema, tokens=tokens, stop_token_ids=stops, **options)
    except Undecided:
        outcomes["undecided"] += 1
        return 0
    except Unsatisfiable:
        try:
            tokfsm.compile(schema, vocab, **options)
            pytest.fail(f"seed {seed}: compiled, though nothing is valid\nschema {schema}\noptions {options}")
        except tokfsm.errors.UnsatisfiableSchemaError:
            outcomes["unsatisfiable"] += 1
        except (tokfsm.errors.UnsupportedSchemaError, tokfsm.errors.LimitError):
            outcomes["refused"] += 1
        return 0
    try:
        automata = engines(schema, tokens, stops, options, path)
    except (tokfsm.errors.UnsupportedSchemaError, tokfsm.errors.LimitError):
        outcomes["refused"] += 1
        return 0
    except tokfsm.errors.UnsatisfiableSchemaError:
        pytest.fail(f"seed {seed}: refused as unsatisfiable\nschema {schema}\noptions {options}")
    outcomes["compared"] += 1
    probes = {name: Probe(a) for name, a in automata.items()}
    n_states = 0
    for _ in range(n_walks):
        state, text = oracle.start, b""
        for probe in probes.values():
            probe.matcher.reset()
        for step in range(n_steps):
            try:
                expected, most = oracle.bounds_at(state)
            except Undecided:  # rare, and named in the oracle
                outcomes["states undecided"] += 1
                break
            n_states += 1
            outcomes["states in doubt"] += expected != most
            for name, probe in probes.items():
                got = probe.mask()
                if not expected <= got <= most:
                    more = sorted((tokens[t] or b"<stop>") for t in got - most)[:8]
                    less = sorted((tokens[t] or b"<stop>") for t in expected - got)[:8]
                    pytest.fail(f"seed {seed}, {name}, after {text!r}: allowed beyond the oracle {more}, "
                                f"refused against it {less}\nschema {schema}\noptions {options}")
                assert probe.matcher.is_complete == oracle.complete(state), (seed, name, text)
            ids = sorted(expected - oracle.stops)
            terminated = not most - oracle.stops and not oracle.stops
            for name, probe in probes.items():
                assert probe.matcher.is_terminated() == terminated, (seed, name, text)
                for t in rng.sample(range(len(tokens)), 4):
                    if t not in most:
                        assert not probe.matcher.accept_token(t), (seed, name, text, t)
            if not ids:
                break
            chosen = choose(rng, ids, tokens, step, text, names)
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
    outcomes: Counter[str] = Counter()
    while n_states < N_STATES // N_BATCHES:
        n_states += compare(seed, tmp_path / "x.tokfsm", draw(seed), outcomes)
        seed += N_BATCHES
    assert not outcomes["refused"] and not outcomes["states in doubt"], outcomes


@pytest.mark.parametrize("batch", range(N_BATCHES))
def test_masks_of_all_keywords(batch: int, tmp_path: Path) -> None:
    n_states, seed = 0, FIRST_SEED + batch
    outcomes: Counter[str] = Counter()
    while n_states < N_STATES // N_BATCHES // 10:
        n_states += compare(seed, tmp_path / "x.tokfsm", draw_wide(seed), outcomes, 2, 14)
        seed += N_BATCHES
    print(dict(outcomes))


@pytest.mark.parametrize("batch", range(N_BATCHES))
def test_masks_where_names_are_there(batch: int, tmp_path: Path) -> None:
    """Names left and names taken: finite parts of endless classes, escapes, declared names among them."""
    n_states, seed = 0, FIRST_SEED + batch
    outcomes: Counter[str] = Counter()
    while n_states < N_STATES // N_BATCHES // 15:
        n_states += compare(seed, tmp_path / "x.tokfsm", draw_names(seed), outcomes, 2, 30, names=True)
        seed += N_BATCHES
    print(dict(outcomes))
