"""mlx-lm: a logits processor for every way in which it generates.

    automaton = tokfsm.compile(schema, tokfsm.Vocabulary.from_file(model_directory))
    processor = JSONLogitsProcessor(automaton, max_tokens=200)
    mlx_lm.generate(model, tokenizer, prompt, max_tokens=200, logits_processors=[processor])

The same for ``stream_generate``, ``generate_step``, ``speculative_generate_step`` (the processor
follows draft and target model, and goes back over rejected drafts) and, one a sequence,
``BatchGenerator``. The server: `tokfsm.integrations.mlx_server`.

To know the token before is inherent in a mask: each call waits for the token that was sampled last.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tokfsm

from .following import Follower, stop_ids
from .mlx_logits import apply_token_bitmask

__all__ = ["JSONLogitsProcessor"]


class JSONLogitsProcessor:
    """``(tokens, logits) -> logits``, for one sequence of one generation.

    Parameters
    ----------
    automaton : tokfsm.Automaton
        For the vocabulary of the model.
    stop_token_ids : iterable of int, optional
        At which the generation ends (mlx-lm: ``tokenizer.eos_token_ids``); default: the vocabulary's.
    max_tokens : int, optional
        The value is completed within so many tokens. The same number given to mlx-lm never cuts it.

    Raises
    ------
    ValueError
        No stop token is known.
    tokfsm.BudgetError
        `max_tokens` is less than any value is sure to fit in.
    """

    def __init__(self, automaton: tokfsm.Automaton, *, stop_token_ids: Iterable[int] | None = None,
                 max_tokens: int | None = None) -> None:
        self._follower = Follower(automaton, stop_ids(automaton, stop_token_ids), max_tokens)
        self._n_prompt: int | None = None
        self._bitmask: tokfsm.Bitmask | None = None

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """Logits ``[1, width]`` under the mask of the place behind `tokens`, which begin with the prompt."""
        n = tokens.size
        if self._n_prompt is None:
            self._n_prompt = n
        if n < self._n_prompt:
            raise RuntimeError("a logits processor follows one generation; make a new one for each")
        if not self._follower.follow(tokens[self._n_prompt:].tolist()):
            return logits
        width = logits.shape[-1]
        if self._bitmask is None or self._bitmask.vocab_size != width:
            self._bitmask = tokfsm.allocate_token_bitmask(1, width)
        if not self._follower.fill(self._bitmask):
            return logits
        row = self._bitmask.numpy()
        return apply_token_bitmask(logits, row if logits.ndim == 2 else row[0])
