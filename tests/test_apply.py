"""Masks over logits, against a loop over single bits. The kernels one by one: tests/c/logits_test.c."""

from __future__ import annotations

import array
import ctypes
import random
from typing import Any

import numpy as np
import pytest

import tokfsm
from tokfsm import _bitmask

BITS: Any = {np.float16: np.uint16, np.float32: np.uint32, np.float64: np.uint64}
INFINITY = {np.float16: 0xFC00, np.float32: 0xFF800000, np.float64: 0xFFF0000000000000}


def random_bits(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    """Floats of any bits: NaN and infinities too."""
    found = rng.integers(0, np.iinfo(BITS[dtype]).max, shape, BITS[dtype], endpoint=True).view(dtype)
    found[rng.random(shape) < 0.1] = np.nan
    found[rng.random(shape) < 0.1] = np.inf
    return found


def random_rows(rng: np.random.Generator, n_rows: int, n_words: int) -> Any:
    rows = rng.integers(0, 1 << 32, (n_rows, n_words), np.uint32)
    rows[rng.random(rows.shape) < 0.3] = 0
    rows[rng.random(rows.shape) < 0.3] = 0xFFFFFFFF
    return rows


def plain(logits: Any, rows: Any, infinity: int) -> None:
    """`logits` as unsigned integers, ``[batch, width]``."""
    for words, line in zip(rows, logits):
        for i in range(len(line)):
            if i // 32 >= len(words) or not int(words[i // 32]) >> i % 32 & 1:
                line[i] = infinity


@pytest.mark.parametrize("dtype", list(BITS))
def test_arrays_of_every_shape(dtype: Any) -> None:
    rng, more = np.random.default_rng(3), random.Random(3)
    for _ in range(150):
        n_rows, width, n_words = more.randint(1, 4), more.randint(1, 150), more.randint(1, 5)
        whole = random_bits(rng, (n_rows * 2, width * 3 + 4), dtype)
        start, step, row_step = more.randint(0, 3), more.choice([1, 1, 2, 3, -1]), more.choice([1, 2, -1])
        logits = whole[::row_step][:n_rows, start:start + width * abs(step)][:, ::step]
        rows = random_rows(rng, n_rows, n_words)
        expected = whole.copy()
        plain(expected[::row_step][:n_rows, start:start + width * abs(step)][:, ::step].view(BITS[dtype]), rows,
              INFINITY[dtype])
        bitmask = rows.view(np.int32) if more.random() < 0.5 else np.repeat(rows, 2, axis=0)[::2]
        if more.random() < 0.2:
            bitmask = rows[::-1].copy()[::-1]
        bitmask.flags.writeable = more.random() < 0.5
        tokfsm.apply_token_bitmask_inplace(logits, bitmask)
        assert np.array_equal(whole.view(BITS[dtype]), expected.view(BITS[dtype]))


def test_a_bitmask_and_wider_logits() -> None:
    vocab = tokfsm.Vocabulary.from_bytes([bytes([b]) for b in range(256)])
    m = tokfsm.compile({"type": "integer"}, vocab).matcher()
    bitmask = tokfsm.allocate_token_bitmask(1, 256)
    m.fill_next_token_bitmask(bitmask)
    for shape in ((1, 400), (400,)):
        logits = np.ones(shape, np.float32)
        tokfsm.apply_token_bitmask_inplace(logits, bitmask)
        assert set(np.flatnonzero(np.isfinite(logits))) == set(b"-0123456789")
        assert (logits[np.isfinite(logits)] == 1).all()


def test_a_finished_row_of_a_view() -> None:
    vocab = tokfsm.Vocabulary.from_bytes([bytes([b]) for b in range(256)])
    m = tokfsm.compile({"type": "string"}, vocab).matcher()
    for t in b'"\xc3':
        m.accept_token(t)
    view = m.mask_view()
    assert view.kind == "row"
    logits = np.zeros(256, np.float16)
    tokfsm.apply_token_bitmask_inplace(logits, view.row)
    assert set(np.flatnonzero(logits == 0)) == set(range(0x80, 0xC0))


def test_indices() -> None:
    rng = np.random.default_rng(5)
    rows, logits = random_rows(rng, 6, 3), random_bits(rng, (6, 100), np.float32)
    expected = logits.copy()
    plain(expected[[4, 1]].view(np.uint32), rows[[4, 1]], 0)  # a copy: nothing
    for i in (4, 1):
        plain(expected[i:i + 1].view(np.uint32), rows[i:i + 1], INFINITY[np.float32])
    for indices in ([4, 1], np.array([1, 4]), iter([1, 4, 4])):
        found = logits.copy()
        tokfsm.apply_token_bitmask_inplace(found, rows, indices)
        assert np.array_equal(found.view(np.uint32), expected.view(np.uint32))
    found = logits[:5].copy()  # the batches may differ where the rows are said
    tokfsm.apply_token_bitmask_inplace(found, rows, indices=[4, 1])
    assert np.array_equal(found.view(np.uint32), expected[:5].view(np.uint32))
    found = logits.copy()
    tokfsm.apply_token_bitmask_inplace(found, rows, indices=[])
    for bad, batch in ([6], 6), ([0, -1], 6), ([5], 5):
        with pytest.raises(tokfsm.RangeError):
            tokfsm.apply_token_bitmask_inplace(found[:batch], rows, indices=bad)
    with pytest.raises(tokfsm.RangeError):
        tokfsm.apply_token_bitmask_inplace(found, rows[:5], indices=[5])
    assert np.array_equal(found.view(np.uint32), logits.view(np.uint32))


class TokenData(ctypes.Structure):
    """llama.cpp's ``llama_token_data``."""

    _fields_ = [("id", ctypes.c_int32), ("logit", ctypes.c_float), ("p", ctypes.c_float)]


def test_a_column_of_structs() -> None:
    rng = np.random.default_rng(6)
    rows = random_rows(rng, 1, 10)
    data = (TokenData * 333)(*[(i, float(i), 0.5) for i in range(333)])
    logits = tokfsm.Logits(ctypes.addressof(data) + TokenData.logit.offset, "float32", (1, 333), (0, 12))
    tokfsm.apply_token_bitmask_inplace(logits, rows)
    for i, one in enumerate(data):
        kept = i < 320 and int(rows[0, i // 32]) >> i % 32 & 1
        assert (one.id, one.logit, one.p) == (i, float(i) if kept else -np.inf, 0.5)


class Tensor:
    """What torch's CPU tensors say of themselves."""

    def __init__(self, values: Any, dtype: str, device: str = "cpu") -> None:
        self.values, self.dtype = values, f"torch.{dtype}"
        self.device = type("device", (), {"type": device})()
        self.shape = values.shape

    def data_ptr(self) -> int:
        return int(self.values.ctypes.data)

    def stride(self) -> tuple[int, ...]:
        return tuple(s // self.values.itemsize for s in self.values.strides)

    def element_size(self) -> int:
        return int(self.values.itemsize)

    def dim(self) -> int:
        return int(self.values.ndim)


@pytest.mark.parametrize("dtype, infinity", [("bfloat16", 0xFF80), ("float16", 0xFC00)])
def test_tensors(dtype: str, infinity: int) -> None:
    rng = np.random.default_rng(7)
    rows = random_rows(rng, 3, 4)
    for shape in ((3, 200), (3, 77)):
        values = rng.integers(0, 1 << 16, shape, np.uint16)
        expected = values.copy()
        plain(expected[:, ::2], rows, infinity)
        tokfsm.apply_token_bitmask_inplace(Tensor(values[:, ::2], dtype), rows)
        assert np.array_equal(values, expected)
    values = rng.integers(0, 1 << 16, 99, np.uint16)
    expected = values.copy()
    plain(expected[None], rows[:1], infinity)
    tokfsm.apply_token_bitmask_inplace(Tensor(values, dtype), rows[0])
    assert np.array_equal(values, expected)
    with pytest.raises(TypeError, match="expected a CPU tensor"):
        tokfsm.apply_token_bitmask_inplace(Tensor(values, dtype, "cuda"), rows)
    with pytest.raises(TypeError, match="int64"):
        tokfsm.apply_token_bitmask_inplace(Tensor(np.zeros(9, np.int64), "int64"), rows[0])


class Interface:
    def __init__(self, values: Any) -> None:
        self.values, self.__array_interface__ = values, values.__array_interface__


class DLPack:
    def __init__(self, values: Any) -> None:
        self.values = values

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.values.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


def test_other_memory() -> None:
    rows = np.array([[0x5]], np.uint32)
    expected = [1.0, -np.inf, 1.0, -np.inf]
    for wrap in (Interface, DLPack):
        values = np.ones((1, 4), np.float32)
        tokfsm.apply_token_bitmask_inplace(wrap(values), rows)
        assert values.tolist() == [expected]
    held = array.array("d", [1.0] * 4)
    tokfsm.apply_token_bitmask_inplace(held, rows)
    assert held.tolist() == expected
    tokfsm.apply_token_bitmask_inplace(memoryview(held), rows)


def test_refusals() -> None:
    rows = np.zeros((2, 1), np.uint32)
    good = np.ones((2, 5), np.float32)
    for bad in (np.ones((2, 5), np.int32), np.ones((2, 5), ">f4"), [1.0], "x",
                tokfsm.Logits(good.ctypes.data, "float8", (2, 5), (20, 4))):
        with pytest.raises(TypeError):
            tokfsm.apply_token_bitmask_inplace(bad, rows)
    still = good.copy()
    still.flags.writeable = False
    for bad in (still, np.ones((3, 5), np.float32), np.ones(5, np.float32), np.ones((2, 5, 1), np.float32),
                np.float32(1), tokfsm.Logits(good.ctypes.data, "float32", (2, 5), (20, 2))):
        with pytest.raises(ValueError):
            tokfsm.apply_token_bitmask_inplace(bad, rows)
    with pytest.raises(tokfsm.BitmaskError):
        tokfsm.apply_token_bitmask_inplace(good, rows.astype(np.int64))
    assert (good == 1).all()
    tokfsm.apply_token_bitmask_inplace(np.ones((2, 0), np.float32), rows)
    tokfsm.apply_token_bitmask_inplace(np.ones((0, 5), np.float32), rows[:0])


def test_the_kernel_is_named() -> None:
    assert _bitmask.apply_kernel in ("avx512", "avx2", "neon", "portable")
