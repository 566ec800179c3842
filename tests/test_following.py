"""Followers of texts, and the logits processors as far as they run without their runtimes."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tokfsm
from schemas import row_ids
from tokfsm.integrations.following import Follower, follow_all, stop_ids
from tokfsm.integrations.llama_cpp import JSONLogitsProcessor, create_completion
from tokfsm.integrations.mlx_server import schema_of

PIECES = [b'{"', b'":', b'","', b"ab", b"12", b'"}', b"true"]
TOKENS: list[bytes | None] = [*[bytes([b]) for b in range(256)], *PIECES, None, None]
STOPS = [len(TOKENS) - 2, len(TOKENS) - 1]
SCHEMA = {"type": "object", "additionalProperties": {"type": ["integer", "boolean"]}, "maxProperties": 3}


@pytest.fixture(scope="module")
def automaton() -> tokfsm.Automaton:
    return tokfsm.compile(SCHEMA, tokfsm.Vocabulary.from_bytes(TOKENS, STOPS))


def mask_after(automaton: tokfsm.Automaton, text: list[int], max_tokens: int | None) -> set[int] | None:
    """By a matcher of its own, token by token; None: outside the language, or past the budget."""
    matcher = automaton.matcher()
    if not all(matcher.accept_token(one) for one in text):
        return None
    budget = None if max_tokens is None or (text and text[-1] in STOPS) else max_tokens - len(text)
    if budget is not None and budget < matcher.min_tokens:
        return None
    row = tokfsm.allocate_token_bitmask(1, automaton.vocab_size)
    matcher.fill_next_token_bitmask(row, 0, budget=budget)
    return row_ids(row, automaton.vocab_size)


def mask_of(follower: Follower, n_ids: int) -> set[int] | None:
    row = tokfsm.allocate_token_bitmask(1, n_ids)
    before = row.numpy().copy()
    if follower.fill(row):
        return row_ids(row, n_ids)
    assert (row.numpy() == before).all()
    return None


def random_text(rng: random.Random, automaton: tokfsm.Automaton, start: list[int], n: int) -> list[int]:
    """Mostly what is allowed."""
    text = list(start)
    for _ in range(n):
        ids = mask_after(automaton, text, None)
        text.append(rng.choice(sorted(ids)) if ids and rng.random() < 0.9 else rng.randrange(len(TOKENS)))
    return text


@pytest.mark.parametrize("seed", range(40))
def test_followers_stand_where_their_texts_lead(automaton: tokfsm.Automaton, seed: int) -> None:
    """Texts that grow, go back, branch from one another and change their rows."""
    rng = random.Random(seed)
    budget = rng.choice((None, 8, 20))
    followers = [Follower(automaton, STOPS, budget)]
    texts: list[list[int]] = [[]]
    for _ in range(14):
        n_rows = rng.choice((1, 2, 4))
        texts = [random_text(rng, automaton, text[: max(0, len(text) - rng.choice((0, 0, 0, 1, 3)))],
                             rng.choice((1, 1, 1, 4))) for text in rng.choices(texts, k=n_rows)]
        followers = follow_all(followers, texts)
        assert len(followers) == len(set(map(id, followers))) == n_rows
        for follower, text in zip(followers, texts):
            assert follower.tokens == text
            assert mask_of(follower, automaton.vocab_size) == mask_after(automaton, text, budget), (seed, text)


def test_after_the_end_only_stop_tokens_are_allowed(automaton: tokfsm.Automaton) -> None:
    follower = Follower(automaton, STOPS, 2)
    assert follower.follow([*b"{}", STOPS[0]]) and follower.has_stopped
    assert mask_of(follower, automaton.vocab_size) == set(STOPS)
    assert not follower.follow([*b"{}", STOPS[0], STOPS[0]]) and mask_of(follower, automaton.vocab_size) is None


def test_what_followers_need(automaton: tokfsm.Automaton) -> None:
    with pytest.raises(tokfsm.BudgetError, match="too few"):
        Follower(automaton, STOPS, 0)
    assert stop_ids(automaton, None) == STOPS and stop_ids(automaton, [5, 5, 3]) == [3, 5]
    for given in ([], None):
        with pytest.raises(ValueError, match="no stop token"):
            stop_ids(tokfsm.compile(True, tokfsm.Vocabulary.from_bytes(TOKENS)), given)


# ---- llama-cpp-python's interface: a column of the candidates, twelve bytes from one to the next ----


def candidates(rng: Any, n: int) -> Any:
    return np.zeros(n, np.dtype([("id", np.intc), ("logit", np.single), ("p", np.single)], align=True))


def test_llama_processor_writes_into_the_candidates(automaton: tokfsm.Automaton) -> None:
    rng = np.random.default_rng(0)
    processor = JSONLogitsProcessor(SimpleNamespace(draft_model=None), automaton)
    assert list(processor) == [processor]
    prompt, text = [7, 8, 9], list(b'{"a":1}')
    for k in range(len(text) + 1):
        table = candidates(rng, len(TOKENS) + 30)
        table["logit"] = raw = rng.standard_normal(len(table)).astype(np.float32)
        scores = table.view(np.recarray).logit
        assert scores.strides == (12,)
        assert processor(np.array([*prompt, *text[:k]], np.intc), scores) is scores
        allowed = mask_after(automaton, text[:k], None)
        assert allowed is not None
        expected = np.where(np.isin(np.arange(len(table)), sorted(allowed)), raw, -np.inf)
        np.testing.assert_array_equal(table["logit"], expected)
        assert not table["id"].any() and not table["p"].any()


def test_llama_processor_after_a_failure_ends_the_text(automaton: tokfsm.Automaton) -> None:
    processor = JSONLogitsProcessor(SimpleNamespace(draft_model=None), automaton)
    processor(np.array([7, 8], np.intc), np.zeros(len(TOKENS), np.float32))
    for ids in ([7, 8, 9, 10, 11], [7, 8, 123]):  # drafts at every place; and once failed, it stays so
        scores = np.zeros(len(TOKENS), np.float32)
        if processor.error is None:
            with pytest.raises(RuntimeError, match="a token at a time"):
                processor(np.array(ids, np.intc), scores)
        else:
            processor(np.array(ids, np.intc), scores)
        assert set(np.flatnonzero(np.isfinite(scores))) == set(STOPS)


def test_llama_options_that_are_refused(automaton: tokfsm.Automaton) -> None:
    llm = SimpleNamespace(draft_model=None, create_completion=lambda *a, **k: pytest.fail("called"))
    for name in ("logit_bias", "grammar", "logits_processor", "response_format"):
        with pytest.raises(ValueError, match=name):
            create_completion(llm, automaton, "x", **{name: {1: 2}})
    with pytest.raises(ValueError, match="draft_model"):
        create_completion(SimpleNamespace(draft_model=object(), create_completion=None), automaton, "x")
    with pytest.raises(ValueError, match="logit_bias"):
        JSONLogitsProcessor(llm, automaton).extend([1])


# ---- the server's field ----


def test_response_formats() -> None:
    assert schema_of(None) is None and schema_of({"type": "text"}) is None
    assert schema_of({"type": "json_object"}) == {"type": "object"}
    for schema in ({"type": "integer"}, True):
        assert schema_of({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}) == schema
    for bad in ("json", {}, {"type": "yaml"}, {"type": "json_schema"},
                {"type": "json_schema", "json_schema": {"schema": "x"}}):
        with pytest.raises(ValueError, match="response_format"):
            schema_of(bad)
