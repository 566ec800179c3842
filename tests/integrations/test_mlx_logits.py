"""Token masks on MLX: the ways to apply them have one outcome, that of NumPy."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("mlx") is None, reason="not installed: mlx")

if importlib.util.find_spec("mlx") is not None:
    import mlx.core as mx

    from tokfsm.integrations import mlx_logits


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(("width", "n_ids"), [(64, 64), (70, 64), (64, 100), (49152, 49152), (33, 33), (97, 40)])
def test_masks_are_applied(dtype: str, width: int, n_ids: int) -> None:
    rng = np.random.default_rng(width)
    for shape in ((width,), (1, width), (3, width)):
        logits = mx.array(rng.standard_normal(shape).astype(np.float32)).astype(getattr(mx, dtype))
        words = rng.integers(-2**31, 2**31, (*shape[:-1], (n_ids + 31) // 32)).astype(np.int32)
        bits = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")
        bits = np.concatenate([bits, np.zeros((*shape[:-1], max(0, width - bits.shape[-1])), np.uint8)], axis=-1)
        raw = np.array(logits.astype(mx.float32))
        expected = np.where(bits[..., :width] == 1, raw, -np.inf)
        for bitmask in (words, words.view(np.uint32), mx.array(words)):
            got = mlx_logits.apply_token_bitmask(logits, bitmask)
            assert got.dtype == logits.dtype and got.shape == logits.shape
            np.testing.assert_array_equal(np.array(got.astype(mx.float32)), expected)
        if mlx_logits.has_metal():
            both = [apply(logits, words) for apply in (mlx_logits.apply_with_metal, mlx_logits.apply_with_operations)]
            assert mx.array_equal(*both)
    with pytest.raises(ValueError, match="bitmask of shape"):
        mlx_logits.apply_with_operations(mx.zeros((2, 64)), np.zeros((3, 2), np.int32))


def test_metal_kernel_where_there_is_an_apple_gpu() -> None:
    if not mx.metal.is_available():
        pytest.skip("no Metal here: the kernel is compared with the operations on Apple GPUs only")
    assert mlx_logits.has_metal() or mx.default_device() == mx.Device(mx.cpu)
