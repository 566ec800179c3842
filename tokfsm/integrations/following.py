"""Callbacks that say "these are all tokens so far" -> matchers that stand behind them.

A runtime hands its logits processors whole texts: prompt and what was generated. From one call to
the next a text may be a token longer, several longer or shorter (drafts that were rejected), or
another beam's. Where the prompt ends is known at the first call. After that each text goes on from
the one of the last call that it has most in common with: back to there, then on.

A text may leave the language: drafts that will be rejected, padding behind the end of a row, a
beam that was given up. Its logits are left alone, since nothing comes of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tokfsm

__all__ = ["Follower", "follow_all", "stop_ids"]


def stop_ids(automaton: tokfsm.Automaton, given: Iterable[int] | None) -> list[int]:
    """The stop set, which a runtime cannot do without: it is how it learns of the end.

    Raises
    ------
    ValueError
        None is given and the vocabulary declares none.
    """
    ids = sorted(set(automaton.stop_token_ids if given is None else given))
    if not ids:
        raise ValueError("no stop token is known: the vocabulary declares none; give stop_token_ids, the ids at which "
                         "the runtime ends a generation")
    return ids


class Follower:
    """One text and its matcher.

    Parameters
    ----------
    max_tokens : int, optional
        Budget that the value is completed in, the stop token not counted.

    Raises
    ------
    tokfsm.BudgetError
        The budget is too small for any value.
    """

    def __init__(self, automaton: tokfsm.Automaton, stop_token_ids: Sequence[int],
                 max_tokens: int | None = None) -> None:
        self.tokens: list[int] = []
        self._stops = frozenset(stop_token_ids)
        self._matcher = automaton.matcher(stop_token_ids)
        self._max_tokens = max_tokens
        self._n_inside = 0  # tokens that the matcher has taken; those behind them have left the language
        if max_tokens is not None and max_tokens < self._matcher.min_tokens:
            raise tokfsm.BudgetError(
                f"{max_tokens} tokens are too few: a value is sure to fit in {self._matcher.min_tokens}")

    def fork(self) -> Follower:
        """Another one at the same place."""
        copy = Follower.__new__(Follower)
        copy.tokens = list(self.tokens)
        copy._stops, copy._max_tokens, copy._n_inside = self._stops, self._max_tokens, self._n_inside
        copy._matcher = self._matcher.fork()
        return copy

    def n_common(self, tokens: Sequence[int]) -> int:
        """How many tokens, from the first on, both texts share."""
        mine = self.tokens
        n = min(len(mine), len(tokens))
        if mine[:n] == tokens[:n]:
            return n
        return next(i for i in range(n) if mine[i] != tokens[i])

    def follow(self, tokens: list[int]) -> bool:
        """Go where this text leads; whether that is inside the language."""
        n = self.n_common(tokens)
        if n < self._n_inside:
            self._matcher.rollback(self._n_inside - n)
            self._n_inside = n
        if self._n_inside == n:
            new = tokens[n:]
            if len(new) == 1:  # by far the most frequent
                self._n_inside += self._matcher.accept_token(new[0])
            else:
                n_taken = self._matcher.validate_tokens(new)
                self._matcher.accept_tokens(new[:n_taken])
                self._n_inside += n_taken
        self.tokens = tokens
        return self._n_inside == len(tokens)

    def go_on(self, token: int) -> bool:
        """Go one token further."""
        if self._n_inside == len(self.tokens):
            self._n_inside += self._matcher.accept_token(token)
        self.tokens.append(token)
        return self._n_inside == len(self.tokens)

    @property
    def has_stopped(self) -> bool:
        """Whether a stop token has come, whatever came after it."""
        return self._n_inside > 0 and self.tokens[self._n_inside - 1] in self._stops

    def fill(self, bitmask: Any, row: int = 0) -> bool:
        """Write the mask of this place; False: nothing to apply, the logits may stay."""
        if self._n_inside != len(self.tokens):
            return False
        if self._max_tokens is None or self.has_stopped:
            return self._matcher.fill_next_token_bitmask(bitmask, row)
        left = self._max_tokens - len(self.tokens)
        if left < self._matcher.min_tokens:
            return False  # a draft that did not keep to the budget: it is refused where it left it
        return self._matcher.fill_next_token_bitmask(bitmask, row, budget=left)


def follow_all(before: Sequence[Follower], texts: Sequence[list[int]]) -> list[Follower]:
    """Followers of the texts, each from the one before that it has most in common with.

    Followers are moved, not copied, where no other text needs them.
    """
    chosen = [_nearest(before, i, text) for i, text in enumerate(texts)]
    n_users = [chosen.count(k) for k in range(len(before))]
    after: list[Follower] = []
    for k in chosen:
        n_users[k] -= 1
        after.append(before[k].fork() if n_users[k] else before[k])
    for follower, text in zip(after, texts):
        follower.follow(text)
    return after


def _nearest(before: Sequence[Follower], i: int, text: Sequence[int]) -> int:
    """Index of the follower whose text is the longest beginning of this one; the same row's, if it is one."""
    if i < len(before) and before[i].n_common(text) == len(before[i].tokens):
        return i
    return max(range(len(before)), key=lambda k: before[k].n_common(text))
