"""GGUF file -> the names, types and extents of its tensors, checked.

MLX reads GGUF by mapping the file and trusts what the header says: a file cut off
ends the process, and a tensor type that it does not know is dropped or, in the
case of Q4_K, read wrongly. So the header is read here first, and a file that MLX
would not get right is refused by name. Nothing is decoded here.

Cost: one pass over the header, about 50 ms for 50,000 tokens and as many merges.

Source: ggml, docs/gguf.md (versions 2 and 3, little-endian).
"""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from typing import Any

from tokfsm.errors import TokfsmError

# type id -> (name, elements a block, bytes a block, MLX reads it correctly)
_TYPES: dict[int, tuple[str, int, int, bool]] = {
    0: ("F32", 1, 4, True),
    1: ("F16", 1, 2, True),
    2: ("Q4_0", 32, 18, True),
    3: ("Q4_1", 32, 20, True),
    6: ("Q5_0", 32, 22, False),
    7: ("Q5_1", 32, 24, False),
    8: ("Q8_0", 32, 34, True),
    9: ("Q8_1", 32, 36, False),
    10: ("Q2_K", 256, 84, True),
    11: ("Q3_K", 256, 110, False),
    12: ("Q4_K", 256, 144, False),  # loads without an error, with wrong numbers
    13: ("Q5_K", 256, 176, False),
    14: ("Q6_K", 256, 210, True),
    15: ("Q8_K", 256, 292, False),
    16: ("IQ2_XXS", 256, 66, False),
    17: ("IQ2_XS", 256, 74, False),
    18: ("IQ3_XXS", 256, 98, False),
    19: ("IQ1_S", 256, 50, False),
    20: ("IQ4_NL", 32, 18, False),
    21: ("IQ3_S", 256, 110, False),
    22: ("IQ2_S", 256, 82, False),
    23: ("IQ4_XS", 256, 136, False),
    24: ("I8", 1, 1, False),
    25: ("I16", 1, 2, False),
    26: ("I32", 1, 4, False),
    27: ("I64", 1, 8, False),
    28: ("F64", 1, 8, False),
    29: ("IQ1_M", 256, 56, False),
    30: ("BF16", 1, 2, True),
    34: ("TQ1_0", 256, 54, False),
    35: ("TQ2_0", 256, 66, False),
    39: ("MXFP4", 32, 17, False),
    40: ("NVFP4", 64, 36, False),
    41: ("Q1_0", 128, 18, False),
}
READABLE = tuple(name for name, _, _, ok in _TYPES.values() if ok)

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_SCALAR_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9
_MAX_DIMENSIONS = 4


class ModelError(TokfsmError, ValueError):
    """A model file cannot be run: missing, damaged, or of a kind that would run wrongly."""


@dataclass(frozen=True)
class Tensor:
    name: str
    type_name: str
    n_elements: int


def read_tensors(path: str | os.PathLike[str]) -> list[Tensor]:
    """Check the header of a GGUF file and list its tensors.

    Raises
    ------
    ModelError
        The file is missing, not GGUF, cut off, or holds a tensor that MLX would not
        read correctly; the message names the tensor and its type.
    """
    path = os.fspath(path)
    try:
        with open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise ModelError(f"{path}: the file is empty")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _read(path, data)
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror or error}") from error
    except (struct.error, UnicodeDecodeError, IndexError) as error:
        raise ModelError(f"{path}: the GGUF header is cut off or damaged") from error


def _read(path: str, data: mmap.mmap) -> list[Tensor]:
    if data[:4] != b"GGUF":
        raise ModelError(f"{path}: not a GGUF file")
    version = _U32.unpack_from(data, 4)[0]
    if version not in (2, 3):
        raise ModelError(f"{path}: GGUF version {version}; 2 and 3 are read (little-endian)")
    n_tensors, n_pairs = struct.unpack_from("<QQ", data, 8)
    if max(n_tensors, n_pairs) > len(data):
        raise ModelError(f"{path}: the GGUF header is damaged (more entries than bytes)")

    at, alignment = 24, 32
    for _ in range(n_pairs):
        key, at = _string(data, at)
        kind = _U32.unpack_from(data, at)[0]
        if key == b"general.alignment" and kind == 4:
            alignment = _U32.unpack_from(data, at + 4)[0]
        at = _skip(data, at + 4, kind)
    if not 0 < alignment <= 1 << 20:
        raise ModelError(f"{path}: the GGUF header is damaged (alignment {alignment})")

    found: list[tuple[Tensor, int, int]] = []
    for _ in range(n_tensors):
        raw_name, at = _string(data, at)
        name = raw_name.decode()
        n_dimensions = _U32.unpack_from(data, at)[0]
        if n_dimensions > _MAX_DIMENSIONS:
            raise ModelError(f"{path}: tensor {name} has {n_dimensions} dimensions")
        shape = struct.unpack_from(f"<{n_dimensions}Q", data, at + 4)
        at += 4 + 8 * n_dimensions
        type_id, offset = struct.unpack_from("<IQ", data, at)
        at += 12
        type_name, per_block, n_bytes, readable = _TYPES.get(type_id, (f"type {type_id}", 1, 0, False))
        if not readable:
            raise ModelError(
                f"{path}: tensor {name} is {type_name}, which MLX does not read correctly; "
                f"use a file with {', '.join(READABLE)} only")
        n_elements = 1
        for n in shape:
            n_elements *= n
        if n_elements % per_block:
            raise ModelError(f"{path}: tensor {name} ends within a {type_name} block")
        found.append((Tensor(name, type_name, n_elements), offset, n_elements // per_block * n_bytes))

    start = at + -at % alignment
    for tensor, offset, n_bytes in found:
        if start + offset + n_bytes > len(data):
            raise ModelError(f"{path}: cut off within tensor {tensor.name}")
    return [tensor for tensor, _, _ in found]


def _string(data: Any, at: int) -> tuple[bytes, int]:
    n = _U64.unpack_from(data, at)[0]
    end = at + 8 + n
    if end > len(data):
        raise IndexError(end)
    return data[at + 8:end], end


def _skip(data: Any, at: int, kind: int) -> int:
    """The offset past a metadata value. Arrays do not nest in files that models come in."""
    if kind == _STRING:
        return _string(data, at)[1]
    if kind != _ARRAY:
        return at + _SCALAR_BYTES[kind] if kind in _SCALAR_BYTES else _damaged(kind)
    kind, n = struct.unpack_from("<IQ", data, at)
    at += 12
    if kind in _SCALAR_BYTES:
        return at + int(n) * _SCALAR_BYTES[kind]
    if kind != _STRING:
        return _damaged(kind)
    size, length = len(data), _U64.unpack_from
    for _ in range(n):
        at += 8 + int(length(data, at)[0])
        if at > size:
            raise IndexError(at)
    return at


def _damaged(kind: int) -> int:
    raise IndexError(f"metadata of kind {kind}")
