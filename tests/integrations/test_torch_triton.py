"""The Triton kernel against single bits: on a GPU where there is one, else in Triton's interpreter.

In the environment of transformers: `make test-triton`, or with all of it, `make test-transformers`.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tokfsm

MISSING = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}; run: make test-triton")

if not MISSING:
    import torch

    DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
    if DEVICE == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported
    from tokfsm.integrations import torch_logits
    from tokfsm.integrations.torch_logits import apply_token_bitmask_inplace, apply_with_operations
    from tokfsm.integrations.torch_triton import _refuse, apply_with_triton

DTYPES = ["float32", "float16", "bfloat16", "float64"]
SAME_SIZE = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


def random_scores(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """Of any bits: NaN and infinities too."""
    size = torch.empty(0, dtype=getattr(torch, dtype)).element_size()
    bits = torch.from_numpy(rng.integers(-2**62, 2**62, shape).astype(f"int{8 * size}"))
    return bits.view(getattr(torch, dtype)).to(DEVICE)


def random_words(rng: np.random.Generator, n_rows: int, n_words: int) -> Any:
    words = rng.integers(-2**31, 2**31, (n_rows, n_words)).astype(np.int32)
    words[rng.random(words.shape) < 0.3] = 0
    words[rng.random(words.shape) < 0.3] = -1
    return words


def bits_of(scores: Any) -> Any:
    return scores.contiguous().view(getattr(torch, SAME_SIZE[scores.element_size()])).cpu()


def plain(scores: Any, words: Any, rows: Any) -> None:
    n = max(0, scores.shape[1] - 32 * words.shape[1])
    for row in rows:
        bits = np.unpackbits(np.ascontiguousarray(words[row]).view(np.uint8), bitorder="little")
        refused = np.concatenate([bits == 0, np.ones(n, bool)])[: scores.shape[1]]
        scores[row, torch.from_numpy(np.flatnonzero(refused)).to(DEVICE)] = -torch.inf


def assert_outcome(scores: Any, bitmask: Any, words: Any, indices: Any = None, ways: Any = None) -> None:
    """Of all ways, on a tensor of the shape and strides of `scores`."""
    storage = scores._base if scores._base is not None else scores
    expected = storage.clone()
    plain(expected.as_strided(scores.shape, scores.stride(), scores.storage_offset()), words,
          range(scores.shape[0]) if indices is None else indices)
    for apply in ways or (apply_with_triton, apply_with_operations, apply_token_bitmask_inplace):
        found = storage.clone()
        apply(found.as_strided(scores.shape, scores.stride(), scores.storage_offset()), bitmask, indices)
        assert torch.equal(bits_of(found), bits_of(expected)), (apply.__name__, scores.shape, scores.stride(), indices)


def test_the_kernel_is_the_one_of_this_machine() -> None:
    interpreted = type(_refuse).__name__ == "InterpretedFunction"
    assert interpreted == (DEVICE == "cpu"), "Triton was imported before this module set TRITON_INTERPRET"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("width", "n_ids"), [(1, 1), (64, 64), (70, 64), (64, 100), (33, 33), (97, 40), (2500, 2500),
                                              (4200, 2049)])
def test_widths(dtype: str, width: int, n_ids: int) -> None:
    """Also scores wider than the mask, whose tail is refused, and narrower; more than one block of words."""
    rng = np.random.default_rng(width)
    words = random_words(rng, 3, (n_ids + 31) // 32)
    scores = random_scores(rng, (3, width), dtype)
    for bitmask in (words, words.view(np.uint32), torch.from_numpy(words), torch.from_numpy(words).to(DEVICE)):
        for indices in (None, [0, 2], [], [2, 0, 2]):
            assert_outcome(scores, bitmask, words, indices)


@pytest.mark.parametrize("dtype", DTYPES)
def test_strides(dtype: str) -> None:
    rng = np.random.default_rng(5)
    whole = random_scores(rng, (7, 400), dtype)
    words = random_words(rng, 5, 9)
    for scores in (whole[:5], whole[1:6, 3:131], whole[:5, ::3], whole.T[:5, :3], whole.T[5:10], whole[::2][:3],
                   whole[0].expand(1, 400)):
        n = scores.shape[0]
        for bitmask in (words[:n], np.repeat(words[:n], 2, axis=0)[::2], words[:n][::-1].copy()[::-1],
                        torch.from_numpy(np.tile(words[:n], 2)).to(DEVICE)[:, :9]):
            for indices in (None, [n - 1], list(range(n))):
                assert_outcome(scores, bitmask, words[:n], indices)
        apart = torch.from_numpy(words[:n].T.copy()).T.to(DEVICE)  # the words of a row; in C they must be together
        assert_outcome(scores, apart, words[:n], ways=(apply_with_triton, apply_with_operations))


def test_one_row_without_a_batch() -> None:
    rng = np.random.default_rng(6)
    words = random_words(rng, 1, 3)
    for apply in (apply_with_triton, apply_with_operations, apply_token_bitmask_inplace):
        scores = random_scores(rng, (100,), "float32")
        expected = scores.clone()
        plain(expected[None], words, [0])
        apply(scores, words[0], None)
        assert torch.equal(bits_of(scores), bits_of(expected))


def test_a_mask_of_a_matcher_and_rows_that_have_ended() -> None:
    """Rows that have ended have no bit: left out by the indices they keep their scores."""
    vocab = tokfsm.Vocabulary.from_bytes([bytes([b]) for b in range(256)])
    automaton = tokfsm.compile({"const": 1}, vocab)
    bitmask = tokfsm.allocate_token_bitmask(2, 256)
    ended, begun = automaton.matcher(), automaton.matcher()
    assert ended.accept_token(ord("1")) and ended.is_terminated()
    for row, matcher in enumerate((ended, begun)):
        matcher.fill_next_token_bitmask(bitmask, row)
    for apply in (apply_with_triton, apply_with_operations, apply_token_bitmask_inplace):
        scores = torch.ones((2, 300), device=DEVICE)
        apply(scores, bitmask, [1])
        assert (scores[0] == 1).all() and torch.isfinite(scores[1]).nonzero().flatten().tolist() == [ord("1")]
        apply(scores, bitmask, [0])
        assert not torch.isfinite(scores[0]).any()


def test_offsets_past_an_int32() -> None:
    """Scores whose last row begins 2**31 elements behind the first: a view, of which two rows are written."""
    if DEVICE == "cpu":
        pytest.skip("the interpreter copies the whole storage")
    row_step = 1 << 30
    storage = torch.zeros(2 * row_step + 64, dtype=torch.float16, device=DEVICE)
    scores = storage.as_strided((3, 64), (row_step, 1))
    apply_with_triton(scores, np.array([[0, -1]] * 3, np.int32))
    assert int(torch.isinf(storage).sum()) == 96 and torch.isinf(storage[2 * row_step:2 * row_step + 32]).all()


def test_what_is_refused() -> None:
    scores, words = torch.zeros((2, 64), device=DEVICE), np.zeros((2, 2), np.int32)
    for apply in (apply_with_triton, apply_with_operations, apply_token_bitmask_inplace):
        for error, more in ((ValueError, (scores, words[:1])), (tokfsm.RangeError, (scores, words, [2])),
                            (tokfsm.RangeError, (scores, words, [0, -1])),
                            (tokfsm.RangeError, (scores, words[:1], [1])),
                            (TypeError, (scores.int(), words)), (ValueError, (scores[None], words)),
                            (tokfsm.BitmaskError, (scores, words.astype(np.int64))),
                            (tokfsm.BitmaskError, (scores, torch.from_numpy(words).long())),
                            (tokfsm.BitmaskError, (scores, words[None]))):
            with pytest.raises(error):
                apply(*more)
    assert not scores.any()


def test_chosen_on_cuda_tensors_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel where the scores lie on a GPU that Triton knows; and Triton is not imported before."""
    from tokfsm.integrations import torch_triton

    asked: list[Any] = []
    monkeypatch.setattr(torch_triton, "apply_with_triton", lambda *args: asked.append(args))
    monkeypatch.setattr(torch_logits, "apply_with_operations", lambda *args: asked.append("operations"))
    monkeypatch.setattr(torch_logits, "has_triton", lambda device: device.type == "cuda")
    for kind, expected in (("cuda", True), ("mps", False), ("xpu", False)):
        scores = SimpleNamespace(device=torch.device(kind))
        apply_token_bitmask_inplace(scores, "words", [3])
        assert asked.pop() == ((scores, "words", [3]) if expected else "operations")
    code = "import sys, torch, tokfsm.integrations.torch_logits as t; t.apply_token_bitmask_inplace(" \
           "torch.zeros(1, 32), torch.zeros(1, 1, dtype=torch.int32)); print('triton' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_which_devices_have_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    has_triton = torch_logits.has_triton.__wrapped__
    assert not has_triton(torch.device("cpu")) and not has_triton(torch.device("mps"))
    for capability, expected in (((6, 1), False), ((7, 0), True), ((9, 0), True)):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device, found=capability: found)
        assert has_triton(torch.device("cuda")) == (expected or torch.version.hip is not None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert not has_triton(torch.device("cuda"))
