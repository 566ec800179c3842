"""XGrammar: masks of every rule state when the schema is compiled, the rest simulated a step."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, ClassVar

import xgrammar
import numpy as np

from tokfsm.measure.engines import Options, Walk, stop_of, tokens_of


class Adapter:
    threads: ClassVar[str] = "max_threads=1"

    def __init__(self, options: Options) -> None:
        self.version = version("xgrammar")
        tokens = tokens_of(options)
        info = xgrammar.TokenizerInfo(
            [token or b"" for token in tokens],  # empty: special
            xgrammar.VocabType.RAW,
            vocab_size=len(tokens),
            stop_token_ids=[stop_of(options)],
        )
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1)
        self._any_whitespace = options.whitespace == "flexible"
        self._bitmask = np.zeros((1, (len(tokens) + 31) // 32), dtype=np.int32)
        self.mask = self._bitmask[0]

    def compile(self, text: str) -> Any:
        # strict_mode would forbid what a schema leaves open.
        return self._compiler.compile_json_schema(
            text, any_whitespace=self._any_whitespace, strict_mode=False
        )

    def start(self, compiled: Any) -> Walk:
        m = xgrammar.GrammarMatcher(compiled)
        return Walk(m.fill_next_token_bitmask, (self._bitmask, 0), m.accept_token, m.is_completed)

    def restart(self) -> None:
        self._compiler.clear_cache()
