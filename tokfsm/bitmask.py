"""Bitmasks on NumPy: allocate, view foreign memory as rows, apply to logits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokfsm._core import Bitmask, apply_row
from tokfsm.errors import BitmaskError

__all__ = ["Bitmask", "allocate_token_bitmask", "apply_token_bitmask_inplace", "as_rows"]


def allocate_token_bitmask(batch: int, vocab_size: int) -> Bitmask:
    """A bitmask of ``batch`` rows for ``vocab_size`` ids, all allowed.

    For a model whose logits are wider than the vocabulary, pass the logits' width: the
    padding is always written as refused.
    """
    return Bitmask(batch, vocab_size)


def as_rows(bitmask: Any) -> NDArray[np.uint32]:
    """A uint32 ``[batch, words]`` view of a bitmask, sharing its memory.

    Raises
    ------
    BitmaskError
        It is read-only, not contiguous within a row, or not of 32-bit integers.
    """
    if hasattr(bitmask, "detach") and hasattr(bitmask, "numpy"):
        bitmask = bitmask.detach().numpy()  # a torch tensor; on another device this raises by itself
    try:
        array = np.asarray(bitmask)
    except (TypeError, ValueError) as error:
        raise BitmaskError(f"a {type(bitmask).__name__} is no bitmask") from error
    if array.dtype not in (np.dtype(np.int32), np.dtype(np.uint32)):
        raise BitmaskError(f"a bitmask of {array.dtype}; expected int32 or uint32")
    if array.ndim == 1:
        array = array[None, :]
    if array.ndim != 2:
        raise BitmaskError(f"a bitmask of {array.ndim} dimensions; expected [batch, words]")
    if not array.flags.writeable:
        raise BitmaskError("the bitmask is read-only")
    if array.shape[1] > 1 and array.strides[1] != array.itemsize:
        raise BitmaskError("the words of a row must be contiguous")
    return array.view(np.uint32)


def apply_token_bitmask_inplace(logits: NDArray[Any], bitmask: Any) -> None:
    """Set to minus infinity every logit whose token is refused, in place.

    Parameters
    ----------
    logits : ndarray of a float type, ``[batch, width]`` or ``[width]``
        Columns past the bitmask's width are refused.
    bitmask : Bitmask or int32/uint32 array, ``[batch, words]`` or ``[words]``

    Raises
    ------
    ValueError
        The batches differ, or `logits` is not an array of floats that can be written.
    """
    if not isinstance(logits, np.ndarray) or not np.issubdtype(logits.dtype, np.floating):
        raise TypeError("logits must be a NumPy array of floats")
    if not logits.flags.writeable:
        raise ValueError("the logits are read-only")
    rows = as_rows(bitmask)
    batch = logits[None, :] if logits.ndim == 1 else logits
    if batch.ndim != 2 or batch.shape[0] != rows.shape[0]:
        raise ValueError(f"logits of shape {logits.shape} and a bitmask of {rows.shape[0]} rows")
    for words, row in zip(rows, batch, strict=True):
        if row.dtype == np.float32 and row.flags.c_contiguous:
            apply_row(np.ascontiguousarray(words), row)
            continue
        allowed = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")[: row.shape[0]].astype(bool)
        row[: allowed.shape[0]][~allowed] = -np.inf
        row[allowed.shape[0] :] = -np.inf
