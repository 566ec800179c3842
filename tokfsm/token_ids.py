"""Token ids that callers give, as arrays that C reads."""

from __future__ import annotations

import operator
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tokfsm.errors import RangeError

__all__ = ["as_ids", "as_parents"]


def as_ids(ids: Iterable[int], what: str) -> NDArray[np.uint32]:
    """uint32 ids; whether the vocabulary has them is for the callee.

    Raises
    ------
    RangeError
        One is negative, or no 32-bit number; `what` names it.
    """
    listed = [operator.index(one) for one in ids]
    for one in listed:
        if not 0 <= one < 0xFFFFFFFF:
            raise RangeError(f"{what} {one} is out of range")
    return np.array(listed, np.uint32)


def as_parents(parents: Iterable[int], n_tokens: int) -> NDArray[np.int32]:
    """int32 indices, one a draft token; -1 is the matcher's position.

    Raises
    ------
    ValueError
        Their number is another.
    RangeError
    """
    listed = [operator.index(one) for one in parents]
    if len(listed) != n_tokens:
        raise ValueError(f"{len(listed)} parents of {n_tokens} draft tokens")
    for i, one in enumerate(listed):
        if not -1 <= one < 0x7FFFFFFF:
            raise RangeError(f"parent {one} of draft token {i} is out of range")
    return np.array(listed, np.int32)
