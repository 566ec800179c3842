"""tokfsm, lazy (``Adapter``), and as an artifact that is saved and opened again (``Ahead``)."""

from __future__ import annotations

import tempfile
from pathlib import Path
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
    """Compiling is all of it: explore, save into a file, load."""

    def __init__(self, options: Options) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name) / "schema.tokfsm"
        super().__init__(options)

    def compile(self, text: str) -> Any:
        super().compile(text).save(self._path, embed_pack=False)
        return tokfsm.load(self._path, self._vocab)
