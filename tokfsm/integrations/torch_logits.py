"""Token masks and scores on PyTorch, in place: on the CPU the row is read in C, elsewhere the packed
words go to the device, a 32nd of the scores' size, and are unpacked there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tokfsm

__all__ = ["apply_token_bitmask_inplace", "apply_with_operations"]


def apply_token_bitmask_inplace(scores: Any, bitmask: tokfsm.Bitmask, rows: Sequence[int]) -> None:
    """Set to minus infinity what `rows` of the bitmask refuse in the same rows of `scores`.

    Parameters
    ----------
    scores : torch.Tensor, ``[batch, width]``, of a float type
    bitmask : tokfsm.Bitmask
        Of `width` ids, with as many rows or more.
    rows : sequence of int
        The others stay as they are.
    """
    if not rows:
        return
    if scores.device.type == "cpu":
        tokfsm.apply_token_bitmask_inplace(scores, bitmask, rows)
    else:
        apply_with_operations(scores, bitmask, rows)


def apply_with_operations(scores: Any, bitmask: tokfsm.Bitmask, rows: Sequence[int]) -> None:
    """`apply_token_bitmask_inplace` of PyTorch's operations, on the device of the scores."""
    import torch

    packed = torch.from_numpy(bitmask.numpy()[list(rows)]).to(scores.device)
    bits = (packed[:, :, None] >> torch.arange(32, dtype=torch.int32, device=scores.device)) & 1
    refused = bits.flatten(1)[:, : scores.shape[1]] == 0
    index = torch.tensor(list(rows), device=scores.device)
    scores[index] = scores[index].masked_fill(refused, float("-inf"))
