"""The GGUF of SmolLM2-135M -> a Hugging Face folder, for the runtimes that want one. No PyTorch.

    python -m tests.integrations.model_folder FOLDER

Weights are widened to float32, which holds what the file says exactly, so that all runtimes compute
with the same numbers. Needs `gguf`, `safetensors` and `tokenizers`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

NAMES = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
         "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
         "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}


def value_of(field: Any) -> Any:
    return field.contents() if hasattr(field, "contents") else field.parts[field.data[0]]


def unpermuted(matrix: Any, n_heads: int) -> Any:
    """GGUF keeps the rows of Q and K such that RoPE turns neighbours; Hugging Face turns halves."""
    half = matrix.shape[0] // n_heads // 2
    return matrix.reshape(n_heads, half, 2, -1).swapaxes(1, 2).reshape(matrix.shape)


def make(folder: Path, path: Path) -> None:
    import gguf
    import tokenizers
    from safetensors.numpy import save_file

    reader = gguf.GGUFReader(str(path))
    meta = {name: value_of(field) for name, field in reader.fields.items()}
    n_heads, n_kv = int(meta["llama.attention.head_count"]), int(meta["llama.attention.head_count_kv"])
    weights = {}
    for tensor in reader.tensors:
        matrix = np.ascontiguousarray(gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32))
        stem = tensor.name.removesuffix(".weight")
        if stem in ("token_embd", "output_norm"):
            weights["model.embed_tokens.weight" if stem == "token_embd" else "model.norm.weight"] = matrix
            continue
        _, layer, part = stem.split(".")
        if part in ("attn_q", "attn_k"):
            matrix = np.ascontiguousarray(unpermuted(matrix, n_heads if part == "attn_q" else n_kv))
        weights[f"model.layers.{layer}.{NAMES[part]}.weight"] = matrix
    folder.mkdir(parents=True, exist_ok=True)
    stop, pad = int(meta["tokenizer.ggml.eos_token_id"]), int(meta["tokenizer.ggml.padding_token_id"])
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "float32", "hidden_act": "silu",
        "vocab_size": len(meta["tokenizer.ggml.tokens"]), "hidden_size": int(meta["llama.embedding_length"]),
        "intermediate_size": int(meta["llama.feed_forward_length"]),
        "num_hidden_layers": int(meta["llama.block_count"]),
        "num_attention_heads": n_heads, "num_key_value_heads": n_kv, "tie_word_embeddings": True,
        "max_position_embeddings": int(meta["llama.context_length"]), "rope_theta": float(meta["llama.rope.freq_base"]),
        "rms_norm_eps": float(meta["llama.attention.layer_norm_rms_epsilon"]),
        "attention_bias": False, "mlp_bias": False,
        "bos_token_id": int(meta["tokenizer.ggml.bos_token_id"]), "eos_token_id": stop, "pad_token_id": pad}
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": stop, "pad_token_id": pad}))

    pieces, kinds = meta["tokenizer.ggml.tokens"], meta["tokenizer.ggml.token_type"]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(
        vocab={piece: i for i, piece in enumerate(pieces)},
        merges=[tuple(merge.split(" ", 1)) for merge in meta["tokenizer.ggml.merges"]]))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Digits(individual_digits=True),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens([tokenizers.AddedToken(piece, special=True, normalized=False)
                                  for piece, kind in zip(pieces, kinds) if kind == 3])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": pieces[stop], "pad_token": pieces[pad],
        "clean_up_tokenization_spaces": False, "chat_template": meta["tokenizer.chat_template"]}))
    save_file(weights, str(folder / "model.safetensors"), {"format": "pt"})  # last: the folder is whole


def folder_at(folder: Path) -> Path:
    """The folder, made if it is not there."""
    from tokfsm.integrations.mlx_gguf import find_model

    if not (folder / "model.safetensors").exists():
        make(folder, find_model("smollm2"))
    return folder


if __name__ == "__main__":
    print(folder_at(Path(sys.argv[1])))
