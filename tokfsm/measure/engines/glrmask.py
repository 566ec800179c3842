"""GLRMask: everything is computed when the schema is compiled."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, ClassVar

import glrmask
import numpy as np

from tokfsm.measure.engines import Options, Walk, tokens_of


class Adapter:
    threads: ClassVar[str] = "RAYON_NUM_THREADS=1"

    def __init__(self, options: Options) -> None:
        # Its language has one spelling, ", " and ": ", whatever is asked for.
        self.version = version("glrmask")
        tokens = tokens_of(options)
        self._vocab = glrmask.Vocab.from_id_to_bytes({i: token for i, token in enumerate(tokens) if token})
        self.mask = np.zeros((len(tokens) + 31) // 32, dtype=np.int32)

    def compile(self, text: str) -> Any:
        return glrmask.Grammar.from_json_schema(text).compile(self._vocab)

    def start(self, compiled: Any) -> Walk:
        state = compiled.start()
        return Walk(state.fill_mask, (self.mask,), state.commit_token, state.is_accepting)

    def restart(self) -> None:
        """Nothing outlives a schema."""
