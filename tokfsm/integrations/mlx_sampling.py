"""An MLX model + an automaton -> token ids, the value always completed.

One token a step: fill the mask for the budget that is left, apply it, choose, accept.

Invariant: under the mask, n tokens are left and the value can be completed in n; so a
limit never cuts it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import tokfsm
from tokfsm.errors import InternalError

from .mlx_logits import apply_token_bitmask

if TYPE_CHECKING:
    from .mlx_gguf import GgufModel


def generate(
    model: GgufModel,
    prompt: Sequence[int],
    automaton: tokfsm.Automaton | None = None,
    *,
    max_tokens: int,
    temperature: float = 0.0,
    seed: int | None = None,
    stop_token_ids: Collection[int] = (),
    keep_going: bool = False,
) -> Iterator[int]:
    """Yield token ids; the first one after the whole prompt was read.

    Parameters
    ----------
    automaton
        For the model's vocabulary. Without one the text is free.
    max_tokens
        At most so many ids are yielded: a budget that the value is completed in.
    temperature, seed
        0: the likeliest token. Else seeded sampling (``seed=None``: a new seed).
    stop_token_ids
        End the text; never yielded. Empty: those of the automaton.
    keep_going
        Go on with free text after the value, instead of ending there.

    Raises
    ------
    tokfsm.BudgetError
        `max_tokens` is less than the value needs; before any token.
    """
    stops = frozenset(stop_token_ids or (automaton.stop_token_ids if automaton else ()))
    matcher = automaton.matcher(stop_token_ids=sorted(stops)) if automaton is not None else None
    if matcher is not None and max_tokens < matcher.min_tokens:
        raise tokfsm.BudgetError(
            f"{max_tokens} tokens are too few: a value is sure to fit in {matcher.min_tokens}")
    choose = _chooser(temperature, seed)
    bitmask = tokfsm.allocate_token_bitmask(1, model.logits_width)
    row = np.asarray(bitmask)[0]
    session = model.session()
    unread: Sequence[int] = prompt

    for n_left in range(max_tokens, 0, -1):
        needs_mask = False
        if matcher is not None:
            needs_mask = matcher.fill_next_token_bitmask(bitmask, 0, budget=n_left)
            if matcher.is_terminated() or (matcher.is_complete and _only(row, stops)):
                if not keep_going:
                    return
                matcher, needs_mask = None, False
        logits = session.feed(unread)
        if needs_mask:
            logits = apply_token_bitmask(logits, row)
        token = choose(logits)
        if token in stops:
            return
        if matcher is not None and not matcher.accept_token(token):
            raise InternalError(f"token {token} was allowed and then refused")
        yield token
        unread = (token,)


def _only(row: Any, ids: Collection[int]) -> bool:
    """Whether a mask row allows nothing but `ids`."""
    return int.from_bytes(row.tobytes(), "little").bit_count() <= len(ids)


def _chooser(temperature: float, seed: int | None) -> Any:
    import mlx.core as mx

    if temperature == 0:
        return lambda logits: mx.argmax(logits).item()
    if seed is None:
        seed = int.from_bytes(np.random.default_rng().bytes(8), "little")
    key = mx.random.key(seed)

    def choose(logits: Any) -> Any:
        nonlocal key
        key, now = mx.random.split(key)
        return mx.random.categorical(logits * (1.0 / temperature), key=now).item()

    return choose
