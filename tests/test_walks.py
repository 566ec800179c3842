"""Walks that follow the masks: never a dead end, always valid in the end, never cut by a budget.

The witness of validity is `jsonschema`; the oracle has no part here, so real vocabularies and
real schemas can be walked too.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from schemas import RICH, Probe, SchemaMaker, Witness, make_options, make_tokens

SEEDS = range(int(os.environ.get("TOKFSM_WALK_SEEDS", "120")))
REAL = Path(__file__).resolve().parents[1].parent / "shared" / "tokenizers"


def finish(rng: random.Random, probe: Probe, budget: int, token_bytes: Any) -> bytes:
    """Follow the mask under a budget to its end, stopping at random where the text is complete."""
    text = b""
    while True:
        bound = probe.matcher.min_tokens
        assert bound <= budget, "the budget no longer suffices"
        assert (bound == 0) == bool(probe.matcher.is_complete)
        if bound == 0 and (budget == 0 or rng.random() < 0.5):
            return text
        ids = sorted(t for t in probe.mask(budget) if token_bytes(t))
        if not ids:
            assert probe.matcher.is_complete, f"a dead end after {text!r}"
            return text
        t = rng.choice(ids)
        assert probe.matcher.accept_token(t)
        text, budget = text + token_bytes(t), budget - 1


def free_walk(rng: random.Random, probe: Probe, n_steps: int, token_bytes: Any) -> bytes:
    """Follow the mask without a budget."""
    text = b""
    for _ in range(n_steps):
        ids = sorted(t for t in probe.mask() if token_bytes(t))
        if not ids:
            assert probe.matcher.is_complete, f"a dead end after {text!r}"
            break
        t = rng.choice(ids)
        assert probe.matcher.accept_token(t)
        text += token_bytes(t)
    return text


def walk(rng: random.Random, automaton: Any, witness: Witness, token_bytes: Any, n_walks: int) -> None:
    for k in range(n_walks):
        probe = Probe(automaton)
        text = free_walk(rng, probe, rng.choice((0, 0, 5, 20, 60)), token_bytes) if k else b""
        spare = 0 if k % 2 == 0 else rng.randint(0, 10)
        text += finish(rng, probe, probe.matcher.min_tokens + spare, token_bytes)
        assert probe.matcher.is_complete
        assert witness.text_ok(text), text


@pytest.mark.parametrize("seed", SEEDS)
def test_random_schemas(seed: int) -> None:
    import tokfsm

    rng = random.Random(seed)
    schema = SchemaMaker(rng, RICH).make()
    options = make_options(rng)
    tokens, stops = make_tokens(rng)
    vocab = tokfsm.Vocabulary.from_bytes(tokens, stop_token_ids=stops)
    try:
        automaton = tokfsm.compile(schema, vocab, **options)
    except tokfsm.errors.UnsatisfiableSchemaError:
        return  # test_masks holds these against the oracle
    walk(rng, automaton, Witness(schema), lambda t: b"" if t in stops else tokens[t] or b"", 8)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_budget_below_the_bound_is_refused(seed: int) -> None:
    import tokfsm

    rng = random.Random(seed)
    tokens, stops = make_tokens(rng)
    vocab = tokfsm.Vocabulary.from_bytes(tokens, stop_token_ids=stops)
    try:
        probe = Probe(tokfsm.compile(SchemaMaker(rng, RICH).make(), vocab, **make_options(rng)))
    except tokfsm.errors.UnsatisfiableSchemaError:
        return
    bound = probe.matcher.min_tokens
    before = probe.mask()
    assert bound > 0
    with pytest.raises(tokfsm.errors.TokfsmError):
        probe.matcher.fill_next_token_bitmask(probe.bitmask, 0, budget=bound - 1)
    assert probe.mask() == before
    tight = probe.mask(bound)
    assert tight and tight <= probe.mask(bound + 1) <= before
    for t in rng.sample(sorted(tight), min(5, len(tight))):
        fork = probe.matcher.fork()
        assert fork.accept_token(t) and fork.min_tokens <= bound - 1


def real_vocabularies() -> list[Path]:
    """Two of them; all with TOKFSM_ALL_VOCABULARIES=1."""
    paths = sorted(REAL.rglob("tokenizer.json")) if REAL.is_dir() else []
    return paths if os.environ.get("TOKFSM_ALL_VOCABULARIES") else [p for p in paths if "gemma" not in str(p)][1:]


@pytest.mark.parametrize("path", real_vocabularies(), ids=lambda p: p.parent.name)
def test_real_vocabularies(path: Path) -> None:
    import tokfsm

    vocab = tokfsm.Vocabulary.from_file(path)
    for seed in range(6):
        rng = random.Random(seed)
        schema = SchemaMaker(rng, RICH).make()
        try:
            automaton = tokfsm.compile(schema, vocab, **make_options(rng))
        except tokfsm.errors.UnsatisfiableSchemaError:
            continue
        walk(rng, automaton, Witness(schema), lambda t: vocab.token_bytes(t) or b"", 4)
