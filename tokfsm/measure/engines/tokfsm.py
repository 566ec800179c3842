"""tokfsm, lazy (``Adapter``) and explored ahead of time (``Ahead``)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import tokfsm

from tokfsm.measure.engines import Options, Walk, stop_of


class Adapter:
    threads: ClassVar[str] = "one by nature"

    def __init__(self, options: Options) -> None:
        self.version = tokfsm.__version__
        self._file = str(options.tokenizer_file)
        self._whitespace: Any = options.whitespace
        self._stop_ids = [stop_of(options)]
        self.restart()
        self._bitmask = tokfsm.allocate_token_bitmask(1, self._vocab.size)
        self.mask = np.asarray(self._bitmask).view(np.int32)[0]

    def compile(self, text: str) -> Any:
        return tokfsm.compile(text, self._vocab, whitespace=self._whitespace)

    def start(self, compiled: Any) -> Walk:
        m = compiled.matcher(stop_token_ids=self._stop_ids)
        return Walk(m.fill_next_token_bitmask, (self._bitmask, 0), m.accept_token, lambda: bool(m.is_complete))

    def restart(self) -> None:
        """A new vocabulary; then one compile, so that its pack is open."""
        self._vocab = tokfsm.Vocabulary.from_file(self._file)
        tokfsm.compile("true", self._vocab, whitespace=self._whitespace)


class Ahead(Adapter):
    def compile(self, text: str) -> Any:
        automaton = super().compile(text)
        automaton.precompile()
        return automaton
