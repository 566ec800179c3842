"""Token masks on CUDA tensors, as one kernel in Triton.

A program has one row and a block of the mask's words. It reads each word once, and of the scores it
reads nothing: it writes minus infinity where a bit is 0, so that what is allowed keeps its bits.
Words past the end of the mask count as 0, by which the columns behind it are refused.

Imports Triton, which no other module here does. With ``TRITON_INTERPRET=1`` (set before Triton is
imported) the kernel runs on CPU tensors, without a GPU.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

import torch
import triton
import triton.language as tl

from .torch_logits import prepared

__all__ = ["apply_with_triton"]

_BLOCK = 64  # words a program: 2,048 columns


@triton.jit  # type: ignore
def _refuse(scores, words, rows, row_step, column_step, words_row_step, word_step, width, n_words,  # type: ignore
            CHOSEN: tl.constexpr, GATHERED: tl.constexpr, BLOCK: tl.constexpr):
    # Offsets are of 64 bits: a batch of scores can have more elements than an int32 counts.
    place = tl.program_id(0).to(tl.int64)
    row = place
    if CHOSEN:
        row = tl.load(rows + place)
    words_row = row
    if GATHERED:
        words_row = place
    word = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    bits = tl.load(words + words_row * words_row_step + word * word_step, mask=word < n_words, other=0)
    bit = tl.arange(0, 32)
    column = word[:, None] * 32 + bit[None, :]
    refused = ((bits[:, None] >> bit[None, :]) & 1) == 0
    tl.store(scores + row * row_step + column * column_step, float("-inf"), mask=refused & (column < width))


def apply_with_triton(scores: Any, bitmask: Any, indices: Iterable[int] | None = None) -> None:
    """`tokfsm.integrations.torch_logits.apply_token_bitmask_inplace` as one Triton kernel."""
    job = prepared(scores, bitmask, indices)
    n_rows, width = job.scores.shape if job.rows is None else (len(job.rows), job.scores.shape[1])
    if n_rows == 0 or width == 0:
        return
    rows = job.words  # no pointer may be null; it is not read
    if job.rows is not None:
        rows = torch.tensor(job.rows, dtype=torch.int64).to(scores.device)
    grid = (n_rows, triton.cdiv(width, 32 * _BLOCK))
    # Triton launches on the current device, whichever that of its arguments.
    current = torch.cuda.device(scores.device) if scores.device.type == "cuda" else contextlib.nullcontext()
    with current:
        _refuse[grid](job.scores, job.words, rows, *job.scores.stride(), *job.words.stride(), width,
                      job.words.shape[1], CHOSEN=job.rows is not None, GATHERED=job.gathered, BLOCK=_BLOCK)
