"""One face for the runtimes that `tokfsm generate` knows: a model that reads prompts and writes values.

Each runtime is imported when a model of its kind is opened. The prompt's ids come from the runtime's
own tokenizer, the values under the masks of its own logits processor.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import tokfsm

from .gguf_tensors import ModelError

__all__ = ["RUNTIMES", "Writer", "open_writer"]

RUNTIMES = ("mlx", "transformers", "llama-cpp")


class Writer(Protocol):
    """A loaded model.

    Attributes
    ----------
    context : int
        Tokens of prompt and text together.
    """

    context: int

    def encode(self, text: str, system: str | None, raw: bool) -> list[int]:
        """Ids of one user turn, or, raw, of a prompt in the model's own format."""

    def write(self, prompt: Sequence[int], automaton: tokfsm.Automaton, *, max_tokens: int, temperature: float,
              seed: int | None) -> Iterator[int]:
        """Ids of a value, stop tokens left out; it is completed within `max_tokens`."""


def open_writer(runtime: str, path: Path) -> Writer:
    """Load a model.

    Raises
    ------
    ModelError
        The runtime is not installed, or cannot run this file.
    """
    kinds: dict[str, Callable[[Path], Writer]] = {
        "mlx": _Mlx, "transformers": _Transformers, "llama-cpp": _LlamaCpp}
    return kinds[runtime](path)


class _Mlx:
    def __init__(self, path: Path) -> None:
        from .mlx_gguf import load_model

        self.model = load_model(path)
        self.context = self.model.context

    def encode(self, text: str, system: str | None, raw: bool) -> list[int]:
        return self.model.encoder.encode_raw(text) if raw else self.model.encoder.chat(text, system)

    def write(self, prompt: Sequence[int], automaton: tokfsm.Automaton, *, max_tokens: int, temperature: float,
              seed: int | None, keep_going: bool = False) -> Iterator[int]:
        from .mlx_sampling import generate

        return generate(self.model, prompt, automaton, max_tokens=max_tokens, temperature=temperature, seed=seed,
                        stop_token_ids=automaton.stop_token_ids, keep_going=keep_going)


def _turns(text: str, system: str | None) -> list[dict[str, str]]:
    return [*([{"role": "system", "content": system}] if system is not None else []), {"role": "user", "content": text}]


class _Transformers:
    """A model directory, or a GGUF file, which transformers widens (that takes a while)."""

    def __init__(self, path: Path) -> None:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
            from transformers.utils import logging
        except ImportError as error:
            raise ModelError(f"--runtime transformers needs PyTorch and transformers ({error})") from error
        logging.disable_progress_bar()
        logging.set_verbosity_error()
        where, options = (str(path), {}) if path.is_dir() else (str(path.parent), {"gguf_file": path.name})
        try:
            self.tokenizer: Any = AutoTokenizer.from_pretrained(where, **options)
            self.model: Any = AutoModelForCausalLM.from_pretrained(where, dtype=torch.float32, **options).eval()
        except (OSError, ValueError, ImportError) as error:
            raise ModelError(f"{path}: transformers cannot load it: {error}") from error
        self.context = int(self.model.config.max_position_embeddings)

    def encode(self, text: str, system: str | None, raw: bool) -> list[int]:
        if raw:
            return list(self.tokenizer.encode(text, add_special_tokens=False))
        prompt = self.tokenizer.apply_chat_template(_turns(text, system), add_generation_prompt=True, tokenize=False)
        return list(self.tokenizer.encode(prompt, add_special_tokens=False))

    def write(self, prompt: Sequence[int], automaton: tokfsm.Automaton, *, max_tokens: int, temperature: float,
              seed: int | None) -> Iterator[int]:
        import torch

        from .transformers import JSONLogitsProcessor

        stops = automaton.stop_token_ids
        processor = JSONLogitsProcessor(automaton, max_new_tokens=max_tokens)
        if seed is not None:
            torch.manual_seed(seed)
        sampled: dict[str, Any] = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
        ids = torch.tensor([list(prompt)])
        with torch.no_grad():
            out = self.model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=max_tokens,
                                      logits_processor=[processor], eos_token_id=list(stops), pad_token_id=stops[0],
                                      **(sampled if temperature else {"do_sample": False}))
        for one in out[0, ids.shape[1]:].tolist():
            if one in stops:
                return
            yield one


class _LlamaCpp:
    def __init__(self, path: Path) -> None:
        try:
            import llama_cpp
        except ImportError as error:
            raise ModelError(f"--runtime llama-cpp needs llama-cpp-python ({error})") from error
        try:
            self.llm: Any = llama_cpp.Llama(model_path=str(path), n_ctx=0, verbose=False)
        except (OSError, ValueError) as error:
            raise ModelError(f"{path}: llama.cpp cannot load it: {error}") from error
        self.context = int(self.llm.n_ctx())

    def encode(self, text: str, system: str | None, raw: bool) -> list[int]:
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        if not raw:
            template = self.llm.metadata.get("tokenizer.chat_template")
            if template is None:
                raise ModelError("the model has no chat template; write the prompt in its own format and pass it raw")
            formatter = Jinja2ChatFormatter(template=template, eos_token="", bos_token="")
            text = formatter(messages=_turns(text, system)).prompt
        return list(self.llm.tokenize(text.encode(), add_bos=False, special=True))

    def write(self, prompt: Sequence[int], automaton: tokfsm.Automaton, *, max_tokens: int, temperature: float,
              seed: int | None) -> Iterator[int]:
        from .llama_cpp import generate

        return generate(self.llm, prompt, automaton, max_tokens=max_tokens, temperature=temperature, seed=seed)
