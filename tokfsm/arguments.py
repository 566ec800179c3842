"""What callers give -> numbers within their range, and arrays that C reads.

A message names the parameter, what was given, and what is allowed.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokfsm.errors import RangeError

__all__ = ["as_count", "as_ids", "as_int", "as_list", "as_parents"]


def as_count(name: str, value: Any, least: int, most: int | None) -> int:
    """An integer from `least` to `most` (None: no bound).

    Raises
    ------
    TypeError
        It is no integer; a bool is none.
    ValueError
        It is out of that range.
    """
    number = as_int(name, value)
    if number < least or (most is not None and number > most):
        allowed = f"at least {least}" if most is None else f"{least} to {most}"
        raise ValueError(f"{name} is {number}; expected {allowed}")
    return number


def as_int(name: str, value: Any) -> int:
    """Any integer, a NumPy one included; a TypeError names the parameter."""
    if not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise TypeError(f"{name} is a {type(value).__name__}; expected an int")


def as_list(values: Any, what: str) -> list[Any]:
    """The items of an iterable; a str is none of numbers."""
    if not isinstance(values, str):
        try:
            return list(values)
        except TypeError:
            if hasattr(type(values), "__iter__"):
                raise  # by what the caller's own iterator does
    raise TypeError(f"expected an iterable, each item a {what}; this is a {type(values).__name__}")


def as_ids(ids: Iterable[int], what: str) -> NDArray[np.uint32]:
    """uint32 ids; whether the vocabulary has them is for the callee.

    Raises
    ------
    TypeError
        One is no integer, or this is no iterable of them.
    RangeError
        One is negative, or no 32-bit number; `what` names it.
    """
    listed = _integers(ids, what)
    for one in listed:
        if not 0 <= one < 0xFFFFFFFF:
            raise RangeError(f"{what} {one} is out of range; it must be 0 to {0xFFFFFFFE}")
    return np.array(listed, np.uint32)


def as_parents(parents: Iterable[int], n_tokens: int) -> NDArray[np.int32]:
    """int32 indices, one a draft token; -1 is the matcher's position.

    Raises
    ------
    TypeError
    ValueError
        Their number is another.
    RangeError
    """
    listed = _integers(parents, "parent")
    if len(listed) != n_tokens:
        raise ValueError(f"{len(listed)} parents of {n_tokens} draft tokens; expected one for each")
    for i, one in enumerate(listed):
        if not -1 <= one < 0x7FFFFFFF:
            raise RangeError(f"parent {one} of draft token {i} is out of range; it must be -1 to {i - 1}")
    return np.array(listed, np.int32)


def _integers(values: Any, what: str) -> list[int]:
    listed = as_list(values, what)
    try:
        return [operator.index(one) for one in listed]
    except TypeError:
        return [as_int(what, one) for one in listed]
