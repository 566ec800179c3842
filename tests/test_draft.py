"""Drafts: masks at all their places in one call, against stepping one by one."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest

import tokfsm
from tokfsm._matcher import start_matcher
from schemas import RICH, TINY, Probe, SchemaMaker, make_options, make_tokens, row_ids

N_TREES = int(os.environ.get("TOKFSM_DRAFT_TREES", "12"))  # of each schema
SEEDS = range(int(os.environ.get("TOKFSM_DRAFT_SEEDS", "60")))


def stepped(matcher: Any, vocab_size: int, draft: list[int], parents: list[int] | None,
            budget: int | None) -> tuple[list[set[int] | None], list[bool]]:
    """The mask at each place, None behind what is not allowed; and which tokens are allowed."""
    places: list[tuple[Any, int | None] | None] = [(matcher.fork(), budget)]
    masks: list[set[int] | None] = [mask_of(matcher.fork(), vocab_size, budget)]
    legal = []
    for i, token in enumerate(draft):
        before = i if parents is None else parents[i] + 1
        place, mask = places[before], masks[before]
        if place is None or mask is None or token not in mask:
            places.append(None)
            masks.append(None)
            legal.append(False)
            continue
        matcher, left = place[0].fork(), place[1]
        if not matcher.accept_token(token):
            assert matcher.is_terminated()  # a stop token stays in the mask, and is not accepted twice
            places.append(None)
            masks.append(None)
            legal.append(False)
            continue
        left = None if left is None else max(0, left - 1)
        places.append((matcher, left))
        masks.append(mask_of(matcher.fork(), vocab_size, left))
        legal.append(True)
    return masks, legal


def mask_of(matcher: Any, vocab_size: int, budget: int | None) -> set[int]:
    row = tokfsm.allocate_token_bitmask(1, vocab_size)
    matcher.fill_next_token_bitmask(row, 0, budget=budget)
    return row_ids(row, vocab_size)


def draw_draft(rng: random.Random, matcher: Any, n: int, n_ids: int, tree: bool) -> tuple[list[int], list[int] | None]:
    """Mostly what is allowed, some of it not; children of any token that came before, or of none."""
    draft: list[int] = []
    parents: list[int] = []
    at: list[Any] = [matcher.fork()]
    for i in range(n):
        before = rng.randint(-1, i - 1) if tree else i - 1
        place = at[before + 1]
        token = rng.randrange(n_ids)
        if place is not None and rng.random() < 0.85:
            ids = sorted(mask_of(place, n_ids, None))
            token = rng.choice(ids) if ids else token
        draft.append(token)
        parents.append(before)
        behind = None if place is None else place.fork()
        at.append(behind if behind is not None and behind.accept_token(token) else None)
    return draft, parents if tree else None


def compare(rng: random.Random, automaton: Any, matcher: Any, tree: bool) -> None:
    n, size = rng.choice((0, 1, 2, 5, 9)), automaton.vocab_size
    draft, parents = draw_draft(rng, matcher, n, size, tree)
    budget = None
    if rng.random() < 0.4:
        budget = matcher.min_tokens + rng.randint(0, 4)
    masks, legal = stepped(matcher, size, draft, parents, budget)
    first, n_accepted, complete = rng.choice((0, 2)), matcher.n_accepted, matcher.is_complete
    rows = tokfsm.allocate_token_bitmask(first + n + 2, size)
    found = matcher.fill_draft_bitmask(draft, rows, first, parents=parents, budget=budget)
    assert found == sum(legal), (draft, parents, legal)
    if not tree:
        assert legal == [True] * found + [False] * (n - found)
        if budget is None:
            assert matcher.validate_tokens(draft) == found
    array = rows.numpy()
    assert (array[:first] == -1).all() and (array[first + n + 1:] == -1).all()
    for i, mask in enumerate(masks):
        expected = set(range(size)) if mask is None else mask
        assert row_ids(array[first + i:first + i + 1], size) == expected, (draft, parents, budget, i)
    assert matcher.n_accepted == n_accepted and matcher.is_complete == complete
    wide = np.full((2 * (n + 1), array.shape[1] + 3), 7, np.uint32)
    assert matcher.fill_draft_bitmask(draft, wide[::2], parents=parents, budget=budget) == found
    assert (wide[::2, :-3].view(np.int32) == array[first:first + n + 1]).all() and not wide[::2, -3:].any()
    assert (wide[1::2] == 7).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_drafts_are_what_stepping_gives(seed: int) -> None:
    rng = random.Random(seed)
    schema = SchemaMaker(rng, rng.choice((RICH, TINY))).make()
    tokens, stops = make_tokens(rng)
    vocab = tokfsm.Vocabulary.from_bytes(tokens, stop_token_ids=stops)
    try:
        automaton = tokfsm.compile(schema, vocab, **make_options(rng))
    except tokfsm.SchemaError:
        return
    matcher = automaton.matcher()
    for _ in range(N_TREES):
        compare(rng, automaton, matcher, rng.random() < 0.6)
        ids = sorted(Probe(automaton, matcher.fork()).mask())
        if not ids or not matcher.accept_token(rng.choice(ids)) or rng.random() < 0.1:
            matcher.reset()


# ---- several tokens at once, and back ---------------------------------------------------

SINGLES = [bytes([b]) for b in range(256)]
STOP = 256


def byte_automaton(schema: Any, **options: Any) -> Any:
    return tokfsm.compile(schema, tokfsm.Vocabulary.from_bytes([*SINGLES, None], stop_token_ids=[STOP]), **options)


def test_all_tokens_or_none() -> None:
    matcher = byte_automaton({"enum": ["yes", "no"]}).matcher()
    assert matcher.validate_tokens(b'"yex') == 3 and matcher.validate_tokens([]) == 0
    assert not matcher.accept_tokens(b'"yex') and matcher.n_accepted == 0
    assert matcher.accept_tokens([]) and matcher.accept_tokens(b'"ye')
    assert matcher.n_accepted == 3
    assert matcher.accept_tokens([*b's"', STOP]) and matcher.is_terminated()
    assert matcher.validate_tokens([STOP]) == 0 and not matcher.accept_tokens([STOP])
    assert matcher.n_accepted == 6
    for bad in (-1, 999, 1 << 40):
        with pytest.raises(tokfsm.RangeError):
            matcher.accept_tokens([bad])
        with pytest.raises(tokfsm.RangeError):
            automaton_at_start(matcher).validate_tokens([*b'"y', bad])


def automaton_at_start(matcher: Any) -> Any:
    start = matcher.fork()
    start.rollback(start.n_accepted)
    return start


def test_back_over_a_stop_token_and_a_finished_value() -> None:
    automaton = byte_automaton({"type": "array", "items": {"type": "integer"}, "maxItems": 2})
    probe = Probe(automaton)
    text = [*b"[1,23]", STOP]
    masks = []
    for token in text:
        masks.append((probe.mask(), probe.matcher.is_complete, probe.matcher.min_tokens))
        assert probe.matcher.accept_token(token)
    for n in range(1, len(text) + 1):
        back = Probe(automaton, probe.matcher.fork())
        back.matcher.rollback(n)
        k = len(text) - n
        assert (back.mask(), back.matcher.is_complete, back.matcher.min_tokens) == masks[k]
        assert not back.matcher.is_terminated()
        assert back.matcher.accept_tokens(text[k:]) and back.matcher.is_terminated()
    with pytest.raises(tokfsm.RangeError):
        probe.matcher.rollback(len(text) + 1)


def test_back_over_the_end_without_a_stop_token() -> None:
    automaton = tokfsm.compile({"const": "ab"}, tokfsm.Vocabulary.from_bytes(SINGLES))
    matcher = automaton.matcher()
    assert matcher.accept_tokens(b'"ab"') and matcher.is_terminated()
    matcher.rollback(1)
    assert not matcher.is_terminated() and matcher.accept_tokens(b'"') and matcher.is_terminated()


def test_several_tokens_keep_to_max_rollback() -> None:
    matcher = byte_automaton(True).matcher()
    limited = start_matcher(byte_automaton(True)._handle, None, 3)
    for m, n in ((matcher, 8), (limited, 3)):
        assert m.accept_tokens(b"[1,2,3,4") and m.n_accepted == n
        m.rollback(n)
        with pytest.raises(tokfsm.RangeError):
            m.rollback(1)


def test_drafts_that_are_refused() -> None:
    automaton = byte_automaton({"enum": [1, 12]})
    matcher = automaton.matcher()
    rows = tokfsm.allocate_token_bitmask(3, automaton.vocab_size)
    before = rows.numpy().copy()
    refused: list[tuple[type[Exception], list[int], dict[str, Any]]] = [
        (tokfsm.RangeError, [49, 50, 51], {}), (tokfsm.RangeError, [49, 50], {"row": 1}),
        (tokfsm.RangeError, [49], {"row": -1}),
        (tokfsm.RangeError, [999], {}), (tokfsm.RangeError, [-1], {}),
        (tokfsm.RangeError, [49, 50], {"parents": [-1, 1]}),
        (tokfsm.RangeError, [49, 50], {"parents": [-2, 0]}), (ValueError, [49, 50], {"parents": [-1]}),
        (tokfsm.BudgetError, [49], {"budget": 0}), (ValueError, [49], {"budget": -1})]
    for error, draft, options in refused:
        with pytest.raises(error):
            matcher.fill_draft_bitmask(draft, rows, **options)
    with pytest.raises(tokfsm.BitmaskError):
        matcher.fill_draft_bitmask([], np.zeros((1, 2), np.int32))
    with pytest.raises(tokfsm.BitmaskError):
        matcher.fill_draft_bitmask([], np.zeros((0, 9), np.int32))
    assert (rows.numpy() == before).all()
    assert matcher.fill_draft_bitmask([49, 50], rows, budget=1) == 1  # 12 would take two
