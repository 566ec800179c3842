"""Bitmasks on NumPy: allocate, view foreign memory as rows, apply to logits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokfsm._bitmask import Bitmask, apply_to_buffer, apply_to_pointer
from tokfsm.errors import BitmaskError

__all__ = ["Bitmask", "Logits", "allocate_token_bitmask", "apply_token_bitmask_inplace", "as_rows"]

# Types of logits as the C header numbers them.
_KINDS = {"float16": 0, "bfloat16": 1, "float32": 2, "float64": 3}
_KINDS_BY_CHAR = {"e": 0, "f": 2, "d": 3}  # NumPy's own; to put a name together takes longer than all else here


class Logits(NamedTuple):
    """Logits at an address, for `apply_token_bitmask_inplace`. The caller answers for the memory.

    Attributes
    ----------
    address : int
        Of the first element; need not be aligned.
    dtype : str
        ``"float16"``, ``"bfloat16"``, ``"float32"`` or ``"float64"``.
    shape : tuple of int
        ``(batch, width)``.
    strides : tuple of int
        Bytes from row to row and from element to element. A column of structs has the struct's
        size: ``(0, 12)`` for the logits of one `llama_token_data_array`.
    """

    address: int
    dtype: str
    shape: tuple[int, int]
    strides: tuple[int, int]


def allocate_token_bitmask(batch: int, vocab_size: int) -> Bitmask:
    """A bitmask of ``batch`` rows for ``vocab_size`` ids, all allowed.

    For a model whose logits are wider than the vocabulary, pass the logits' width: the
    padding is always written as refused.
    """
    return Bitmask(batch, vocab_size)


def as_rows(bitmask: Any, *, writable: bool = True) -> NDArray[np.uint32]:
    """A uint32 ``[batch, words]`` view of a bitmask, sharing its memory.

    Raises
    ------
    BitmaskError
        It is read-only (where it is to be written), not contiguous within a row, or not of
        32-bit integers.
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
    if writable and not array.flags.writeable:
        raise BitmaskError("the bitmask is read-only")
    if array.shape[1] > 1 and array.strides[1] != array.itemsize:
        raise BitmaskError("the words of a row must be contiguous")
    if not array.flags.aligned or (not writable and (array.strides[0] < 0 or array.strides[0] % 4)):
        if writable:
            raise BitmaskError("the words of the bitmask are not aligned")
        array = np.ascontiguousarray(array)
    return array.view(np.uint32)


def apply_token_bitmask_inplace(logits: Any, bitmask: Any, indices: Iterable[int] | None = None) -> None:
    """Set to minus infinity every logit whose token is refused, in place.

    The others keep their bits, NaN included. Releases the GIL.

    Parameters
    ----------
    logits : float16, bfloat16, float32 or float64, ``[batch, width]`` or ``[width]``
        A NumPy array (bfloat16: of the package ml_dtypes), anything that NumPy can view without a
        copy, a torch CPU tensor, or `Logits`, with any strides. Columns past the bitmask's width
        are refused.
    bitmask : Bitmask or int32/uint32 array, ``[batch, words]`` or ``[words]``
        A finished row of `Matcher.mask_view` will do. Where a row is zero (a matcher that has
        ended and has no stop token) no logit is left: leave it out by `indices`.
    indices : iterable of int, optional
        The rows to apply, of bitmask and logits alike; default: all, and the batches must be equal.

    Raises
    ------
    ValueError
        The batches differ, or the logits cannot be written.
    TypeError
        `logits` is none of the above.
    RangeError
        An index is outside a batch.
    """
    if isinstance(logits, Logits):
        if logits.dtype not in _KINDS:
            raise TypeError(f"logits of {logits.dtype}; expected one of {', '.join(_KINDS)}")
        apply_to_pointer(logits.address, _KINDS[logits.dtype], logits.shape, logits.strides, bitmask, indices)
        return
    if not isinstance(logits, np.ndarray):
        if hasattr(logits, "data_ptr"):
            apply_token_bitmask_inplace(_of_tensor(logits), bitmask, indices)
            return
        logits = _viewed(logits)
    dtype = logits.dtype
    kind = _KINDS_BY_CHAR.get(dtype.char)
    if kind is None:
        kind = _KINDS.get(dtype.name)
    if kind is None or not dtype.isnative:
        raise TypeError(f"logits of {dtype}; expected one of {', '.join(_KINDS)}")
    if not logits.flags.writeable:
        raise ValueError("the logits are read-only")
    if kind == 1:
        logits = logits.view(np.uint16)  # NumPy lends no buffer of a type that is not its own
    apply_to_buffer(logits, kind, bitmask, indices)


def _of_tensor(tensor: Any) -> Logits:
    """A torch tensor, by what it says of itself: torch is not imported."""
    if tensor.device.type != "cpu":
        raise TypeError(f"logits on {tensor.device}; expected a CPU tensor. For others there is "
                        "tokfsm.integrations.torch_logits.apply_token_bitmask_inplace")
    if not 1 <= tensor.dim() <= 2:
        raise ValueError(f"logits of {tensor.dim()} dimensions; expected [batch, width] or [width]")
    shape, steps, size = tuple(tensor.shape), tuple(tensor.stride()), tensor.element_size()
    if len(shape) == 1:
        shape, steps = (1, *shape), (0, *steps)
    return Logits(tensor.data_ptr(), str(tensor.dtype).removeprefix("torch."), shape,
                  (steps[0] * size, steps[1] * size))


def _viewed(logits: Any) -> NDArray[Any]:
    """An array that shares the memory of another library's, or of a buffer."""
    if hasattr(logits, "__array_interface__") or not hasattr(logits, "__dlpack__"):
        try:
            view = memoryview(logits) if not hasattr(logits, "__array_interface__") else logits
            return np.asarray(view)
        except TypeError as error:
            raise TypeError(f"a {type(logits).__name__} is no array of logits") from error
    return np.from_dlpack(logits)
