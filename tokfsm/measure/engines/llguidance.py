"""llguidance: lazy lexer and Earley parser; masks by pointer, the quickest of its public calls."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, ClassVar

import llguidance
import numpy as np

from tokfsm.measure.engines import Options, Walk, stop_of


class Adapter:
    threads: ClassVar[str] = "one by nature"

    def __init__(self, options: Options) -> None:
        self.version = version("llguidance")
        self._tokenizer = llguidance.LLTokenizer(
            str(options.tokenizer_file), eos_token=stop_of(options)
        )
        self._options: Any = {"whitespace_flexible": True}
        if options.whitespace == "spaced":
            self._options = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
        self.mask = np.zeros((self._tokenizer.vocab_size + 31) // 32, dtype=np.int32)
        self._target = (int(self.mask.ctypes.data), int(self.mask.nbytes))

    def compile(self, text: str) -> Any:
        grammar = llguidance.LLMatcher.grammar_from_json_schema(text, overrides=self._options)
        matcher = llguidance.LLMatcher(self._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def start(self, compiled: Any) -> Walk:
        m = compiled.deep_copy()  # shares the lexer's states with its siblings
        return Walk(m.unsafe_compute_mask_ptr, self._target, m.consume_token, m.is_accepting)

    def restart(self) -> None:
        """Nothing outlives a schema."""
