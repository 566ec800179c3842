"""Token masks and scores on PyTorch, in place and on the device of the scores.

Three ways with one outcome. On the CPU the rows are read in C. Elsewhere the packed words go to the
device, a 32nd of the scores' size: on CUDA a Triton kernel reads them there (`torch_triton`, which
is imported when it is first needed), on other devices they are unpacked by PyTorch's operations.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

import tokfsm

__all__ = ["apply_token_bitmask_inplace", "apply_with_operations", "has_triton"]


def apply_token_bitmask_inplace(scores: Any, bitmask: Any, indices: Iterable[int] | None = None) -> None:
    """Set to minus infinity every score whose token is refused, in place; the others keep their bits.

    `tokfsm.apply_token_bitmask_inplace` for tensors on any device, with the same meaning.

    Parameters
    ----------
    scores : torch.Tensor, ``[batch, width]`` or ``[width]``, of a float type, with any strides
        Columns past the bitmask's width are refused.
    bitmask : tokfsm.Bitmask, torch.Tensor or array of 32-bit integers, ``[batch, words]`` or ``[words]``
        A tensor may be on the device of the scores; all else is copied to it.
    indices : iterable of int, optional
        The rows to apply, of bitmask and scores alike; default: all, and the batches must be equal.
        The others, such as those of matchers that have ended, stay as they are.

    Raises
    ------
    ValueError
        The batches differ, or the scores are of no such shape.
    TypeError
        The scores are of another type.
    tokfsm.BitmaskError
        The bitmask is none of the above.
    tokfsm.RangeError
        An index is outside a batch.
    """
    if scores.device.type == "cpu":
        tokfsm.apply_token_bitmask_inplace(scores, bitmask, indices)
    elif has_triton(scores.device):
        from .torch_triton import apply_with_triton

        apply_with_triton(scores, bitmask, indices)
    else:
        apply_with_operations(scores, bitmask, indices)


def apply_with_operations(scores: Any, bitmask: Any, indices: Iterable[int] | None = None) -> None:
    """`apply_token_bitmask_inplace` of PyTorch's operations, on any device."""
    import torch

    job = prepared(scores, bitmask, indices)
    if job.scores.numel() == 0 or job.rows == []:
        return
    device, width = scores.device, job.scores.shape[1]
    words = job.words[job.rows] if job.rows is not None and not job.gathered else job.words
    bits = (words[:, :, None] >> torch.arange(32, dtype=torch.int32, device=device)) & 1
    refused = torch.ones((words.shape[0], width), dtype=torch.bool, device=device)
    n = min(width, 32 * words.shape[1])
    refused[:, :n] = bits.flatten(1)[:, :n] == 0
    if job.rows is None:
        job.scores.masked_fill_(refused, float("-inf"))
    else:
        index = torch.tensor(job.rows, device=device)
        job.scores[index] = job.scores[index].masked_fill(refused, float("-inf"))


@functools.cache
def has_triton(device: Any) -> bool:
    """Whether kernels in Triton run on this ``torch.device``: it is a GPU of CUDA or ROCm, not older than Triton."""
    if device.type != "cuda" or importlib.util.find_spec("triton") is None:
        return False
    import torch

    return torch.version.hip is not None or torch.cuda.get_device_capability(device)[0] >= 7


class Job(NamedTuple):
    """Arguments that were looked at: views, and words on the scores' device.

    Attributes
    ----------
    scores : torch.Tensor, ``[batch, width]``
        Shares the memory of the caller's.
    words : torch.Tensor, int32 ``[batch, words]``
    rows : list of int, or None
        The rows to apply; None: all of them.
    gathered : bool
        `words` has the chosen rows alone, in their order.
    """

    scores: Any
    words: Any
    rows: list[int] | None
    gathered: bool


def prepared(scores: Any, bitmask: Any, indices: Iterable[int] | None) -> Job:
    """Check the arguments of `apply_token_bitmask_inplace` and send the words that are needed to the device."""
    import torch

    if scores.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError(f"scores of {scores.dtype}; expected float16, bfloat16, float32 or float64")
    if not 1 <= scores.dim() <= 2:
        raise ValueError(f"scores of {scores.dim()} dimensions; expected [batch, width] or [width]")
    batch = scores if scores.dim() == 2 else scores[None]
    words = _words(bitmask)
    rows = None if indices is None else [int(one) for one in indices]
    if rows is None and words.shape[0] != batch.shape[0]:
        raise ValueError(f"a bitmask of {words.shape[0]} rows for scores of {batch.shape[0]}; give indices")
    for one in rows or ():
        if not 0 <= one < min(words.shape[0], batch.shape[0]):
            raise tokfsm.RangeError(f"index {one} for scores of {batch.shape[0]} rows and a bitmask of "
                                    f"{words.shape[0]}")
    gathered = rows is not None and (words.device != scores.device or not isinstance(bitmask, torch.Tensor))
    if gathered:
        words = words[rows]
    return Job(batch, words.to(scores.device), rows, gathered)


def _words(bitmask: Any) -> Any:
    import torch

    if isinstance(bitmask, torch.Tensor):
        if bitmask.dtype not in (torch.int32, torch.uint32):
            raise tokfsm.BitmaskError(f"a bitmask of {bitmask.dtype}; expected int32 or uint32")
        words = bitmask.view(torch.int32)
    else:
        array = np.asarray(bitmask)
        if array.dtype not in (np.dtype(np.int32), np.dtype(np.uint32)):
            raise tokfsm.BitmaskError(f"a bitmask of {array.dtype}; expected int32 or uint32")
        if not array.flags.writeable or any(step < 0 for step in array.strides):
            array = array.copy()  # PyTorch shares neither
        words = torch.from_numpy(array.view(np.int32))
    if words.dim() == 1:
        words = words[None]
    if words.dim() != 2:
        raise tokfsm.BitmaskError(f"a bitmask of {words.dim()} dimensions; expected [batch, words]")
    return words
