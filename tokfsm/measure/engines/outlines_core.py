"""outlines-core: the schema becomes one regular expression, its automaton an index of tokens."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np
import outlines_core
from outlines_core.json_schema import build_regex_from_schema

from tokfsm.measure.engines import Options, Walk, stop_of, tokens_of


class Adapter:
    threads: ClassVar[str] = "one by nature"

    def __init__(self, options: Options) -> None:
        # White space is its default, "[ ]?" in every gap, whatever is asked for.
        self.version = version("outlines_core")
        tokens = tokens_of(options)
        ids: dict[bytes, list[int]] = {}
        for token_id, token in enumerate(tokens):
            if token:
                ids.setdefault(token, []).append(token_id)
        self._vocabulary = outlines_core.Vocabulary(stop_of(options), ids)
        self.mask = np.zeros((len(tokens) + 31) // 32, dtype=np.int32)
        self._target = (int(self.mask.ctypes.data), int(self.mask.size), int(self.mask.itemsize))

    def compile(self, text: str) -> Any:
        return outlines_core.Index(build_regex_from_schema(text), self._vocabulary)

    def start(self, compiled: Any) -> Walk:
        guide = outlines_core.Guide(compiled)

        def accept(token_id: int) -> bool:
            try:
                guide.advance(token_id, False)
            except ValueError:
                return False
            return True

        return Walk(guide.write_mask_into, self._target, accept, guide.is_finished)

    def restart(self) -> None:
        """Nothing outlives a schema."""
