"""transformers: a logits processor for ``model.generate`` in every mode.

    automaton = tokfsm.compile(schema, tokfsm.Vocabulary.from_file(model_directory))
    processor = JSONLogitsProcessor(automaton, max_new_tokens=200)
    model.generate(**inputs, max_new_tokens=200, logits_processor=[processor])

A row's place is known by its own generated tokens, so that rows may be permuted (beams) and may go
back and forth (prompt lookup, assisted decoding). Prompts may be of any length, padded on the left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import tokfsm

from .following import Follower, follow_all, stop_ids
from .torch_logits import apply_token_bitmask_inplace

if TYPE_CHECKING:
    _Base = Any
else:
    try:
        from transformers import LogitsProcessor as _Base
    except ImportError:  # the class is made anyway, and used by nothing
        _Base = object

__all__ = ["JSONLogitsProcessor"]


class JSONLogitsProcessor(_Base):  # type: ignore[misc]
    """``(input_ids, scores) -> scores``, for one call of ``generate``.

    Parameters
    ----------
    automata : tokfsm.Automaton, or a sequence of them
        For all rows, or one a prompt of the batch; None for a prompt that is free. With beams or
        several sequences a prompt has several rows.
    stop_token_ids : iterable of int, optional
        At which the generation ends (``generation_config.eos_token_id``); default: the vocabulary's.
    max_new_tokens : int, optional
        Each value is completed within so many tokens. The same number given to ``generate`` never
        cuts it.

    Raises
    ------
    ValueError
        No stop token is known.
    tokfsm.BudgetError
        `max_new_tokens` is less than any value is sure to fit in.
    """

    supports_continuous_batching = False  # its rows are ragged and come without their texts

    def __init__(self, automata: tokfsm.Automaton | Sequence[tokfsm.Automaton | None], *,
                 stop_token_ids: Iterable[int] | None = None, max_new_tokens: int | None = None) -> None:
        each = [automata] if isinstance(automata, tokfsm.Automaton) else list(automata)
        if not each:
            raise ValueError("no automaton")
        given = None if stop_token_ids is None else list(stop_token_ids)
        self._for_all = isinstance(automata, tokfsm.Automaton)
        self._starts = [None if one is None else Follower(one, stop_ids(one, given), max_new_tokens) for one in each]
        self._groups: list[list[Follower]] = []
        self._prompt: Any = None
        self._longest = 0
        self._bitmask: tokfsm.Bitmask | None = None

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Write minus infinity over the scores ``[rows, width]`` of refused tokens, in place."""
        n_rows, width = scores.shape
        n_prompt = self._begin(input_ids)
        if n_rows % len(self._starts):
            raise ValueError(f"{n_rows} rows for {len(self._starts)} automata")
        if self._bitmask is None or self._bitmask.n_rows < n_rows or self._bitmask.vocab_size != width:
            self._bitmask = tokfsm.allocate_token_bitmask(n_rows, width)
        texts = input_ids[:, n_prompt:].tolist()
        group, rows = n_rows // len(self._starts), []
        for k, start in enumerate(self._starts):
            if start is None:
                continue
            first = k * group
            self._groups[k] = follow_all(self._groups[k] or [start.fork()], texts[first: first + group])
            for row, follower in enumerate(self._groups[k], first):
                if follower.fill(self._bitmask, row):
                    rows.append(row)
        apply_token_bitmask_inplace(scores, self._bitmask, rows)
        return scores

    def _begin(self, input_ids: Any) -> int:
        """Length of the prompt; what is asked now must go on from the prompt of the first call."""
        if self._prompt is None:
            self._prompt = input_ids[0].clone()
            self._longest = input_ids.shape[1]
            self._groups = [[] for _ in self._starts]
        n_prompt: int = self._prompt.shape[0]
        n = input_ids.shape[1]
        # Texts grow by one token, or go back: one that is longer is another prompt, which begins with the first.
        if not n_prompt <= n <= self._longest + 1 or not bool((input_ids[0, :n_prompt] == self._prompt).all()):
            raise RuntimeError("a logits processor follows one call of generate(); make a new one for each")
        self._longest = max(self._longest, n)
        return n_prompt
