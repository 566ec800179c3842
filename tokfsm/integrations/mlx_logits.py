"""Token masks and logits on MLX: the packed row goes to the device, a 32nd of the logits' size.

Two ways with one outcome. Of ordinary operations: each byte of the row picks eight terms of 0 and
minus infinity from a table, which are added; it runs everywhere, and was the fastest form of those
measured on the CPU. On Apple GPUs a Metal kernel reads the packed words itself, so that nothing
but the logits is written.

Columns past the mask are refused.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

__all__ = ["apply_token_bitmask", "apply_with_metal", "apply_with_operations", "has_metal"]

_KERNEL = """
    uint i = thread_position_in_grid.x;
    uint width = uint(logits_shape[1]);
    if (i >= width * uint(logits_shape[0])) return;
    uint row = i / width, column = i - row * width, word = column >> 5;
    uint n_words = uint(words_shape[1]);
    bool allowed = word < n_words && ((words[row * n_words + word] >> (column & 31u)) & 1u) != 0;
    out[i] = allowed ? logits[i] : T(-INFINITY);
"""

def apply_token_bitmask(logits: Any, bitmask: Any) -> Any:
    """Logits with minus infinity wherever the token is refused.

    Parameters
    ----------
    logits : mx.array, ``[batch, width]`` or ``[width]``, float32, float16 or bfloat16
    bitmask : mx.array or anything NumPy reads, of 32-bit integers, ``[batch, words]`` or ``[words]``
    """
    return (apply_with_metal if has_metal() else apply_with_operations)(logits, bitmask)


def has_metal() -> bool:
    """Whether MLX computes on an Apple GPU here."""
    import mlx.core as mx

    return bool(mx.metal.is_available()) and mx.default_device() == mx.Device(mx.gpu)


def apply_with_operations(logits: Any, bitmask: Any) -> Any:
    """`apply_token_bitmask` of MLX's ordinary operations."""
    import mlx.core as mx

    words = _words(bitmask)
    width = logits.shape[-1]
    if words.ndim != logits.ndim or (words.ndim == 2 and words.shape[0] != logits.shape[0]):
        raise ValueError(f"logits of shape {logits.shape} and a bitmask of shape {words.shape}")
    added = _terms(logits.dtype)[words.view(mx.uint8)].flatten(-2)
    if added.shape[-1] < width:
        missing = mx.full((*added.shape[:-1], width - added.shape[-1]), -mx.inf, logits.dtype)
        added = mx.concatenate([added, missing], axis=-1)
    return logits + added[..., :width]


def apply_with_metal(logits: Any, bitmask: Any) -> Any:
    """`apply_token_bitmask` as one Metal kernel."""
    words = _words(bitmask)
    if words.ndim != logits.ndim or (words.ndim == 2 and words.shape[0] != logits.shape[0]):
        raise ValueError(f"logits of shape {logits.shape} and a bitmask of shape {words.shape}")
    batch = logits.reshape(-1, logits.shape[-1])
    (out,) = _kernel()(inputs=[batch, words.reshape(batch.shape[0], -1)], template=[("T", logits.dtype)],
                    grid=(batch.size, 1, 1), threadgroup=(256, 1, 1), output_shapes=[batch.shape],
                    output_dtypes=[logits.dtype])
    return out.reshape(logits.shape)


def _words(bitmask: Any) -> Any:
    import mlx.core as mx

    if isinstance(bitmask, mx.array):
        return bitmask.view(mx.uint32)
    return mx.array(np.ascontiguousarray(np.asarray(bitmask)).view(np.uint32))


@functools.cache
def _terms(dtype: Any) -> Any:
    """[256, 8]: what the eight bits of a mask byte add to eight logits."""
    import mlx.core as mx

    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    terms = mx.array(np.where(bits == 1, np.float32(0), np.float32(-np.inf))).astype(dtype)
    mx.eval(terms)  # so that any thread may use it: what is not computed yet keeps to its own
    return terms


@functools.cache
def _kernel() -> Any:
    import mlx.core as mx

    return mx.fast.metal_kernel(name="tokfsm_apply_token_bitmask", input_names=["logits", "words"],
                                output_names=["out"], source=_KERNEL)
