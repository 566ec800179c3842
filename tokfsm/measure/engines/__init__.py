"""One adapter an engine: schema text -> compiled -> walk, the same few calls for each.

An adapter hands out the engine's own bound methods, so that a timed step is ``fill(*arguments)``
and ``accept(token)`` with nothing of ours between, and each engine gets its quickest public way
to write a row of int32 words, least significant bit first.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

#: Every adapter, in the order of the table. The slow ones run on a sample.
NAMES = ("tokfsm", "tokfsm-ahead", "llguidance", "glrmask", "xgrammar", "outlines_core")
SAMPLED = ("xgrammar", "outlines_core")


class Options(NamedTuple):
    """What holds for every engine of a run, as far as it can be set."""

    tokenizer_file: Path
    whitespace: str  #: "flexible" or "spaced" (", " and ": " only)
    tokens: Sequence[bytes | None] | None = None  #: bytes of every id; None: read from the file
    stop_token_id: int | None = None  #: None: read from the files


class Walk(NamedTuple):
    """One sequence. ``accept`` answers False, or raises, where it refuses."""

    fill: Callable[..., Any]
    arguments: tuple[Any, ...]
    accept: Callable[[int], Any]
    is_complete: Callable[[], bool]


class Engine(Protocol):
    version: str
    mask: NDArray[np.int32]  #: the row that every walk writes
    threads: ClassVar[str]  #: what was set to hold it to one thread

    def __init__(self, options: Options) -> None: ...

    def compile(self, text: str) -> Any:
        """Compile a schema text; raises where the engine refuses it."""

    def start(self, compiled: Any) -> Walk:
        """A walk at the start of the text."""

    def restart(self) -> None:
        """Drop what outlives a schema, as if the process were new."""


def load(name: str, options: Options) -> Engine:
    """The engine of that name; ImportError where it is not installed."""
    module, _, variant = name.partition("-")
    adapters = importlib.import_module(f"tokfsm.measure.engines.{module}")
    engine: type[Engine] = getattr(adapters, "Ahead" if variant else "Adapter")
    return engine(options)


def byte_of_letter() -> dict[str, int]:
    """The byte that each letter of a byte-level vocabulary stands for (GPT-2's table)."""
    kept = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(byte): byte for byte in kept}
    moved = (byte for byte in range(0x100) if chr(byte) not in table)
    table.update({chr(0x100 + n): byte for n, byte in enumerate(moved)})
    return table


def tokens_of(options: Options) -> Sequence[bytes | None]:
    """The vocabulary: as given, else by a reader of its own, so that peers get it without tokfsm."""
    return token_bytes(options.tokenizer_file) if options.tokens is None else options.tokens


def stop_of(options: Options) -> int:
    return stop_token_id(options.tokenizer_file) if options.stop_token_id is None else options.stop_token_id


def token_bytes(path: Path) -> list[bytes | None]:
    """Bytes of every id of a byte-level ``tokenizer.json``; None for added tokens and holes."""
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    decoder = tokenizer.get("decoder") or {}
    if decoder.get("type") != "ByteLevel":
        raise ValueError(f"{path.name}: the benchmark reads byte-level vocabularies only")
    letters = byte_of_letter()
    vocab: dict[str, int] = tokenizer["model"]["vocab"]
    added = {token["id"] for token in tokenizer.get("added_tokens", ())}
    tokens: list[bytes | None] = [None] * (1 + max(max(vocab.values()), max(added, default=0)))
    for token, token_id in vocab.items():
        if token_id not in added:
            tokens[token_id] = bytes(letters[letter] for letter in token)
    return tokens


def stop_token_id(path: Path) -> int:
    """The end-of-sequence id that the file beside the tokenizer names, else the last id."""
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    ids = {token["content"]: token["id"] for token in tokenizer.get("added_tokens", ())}
    beside = path.with_name("tokenizer_config.json")
    name: Any = json.loads(beside.read_text(encoding="utf-8")).get("eos_token") if beside.exists() else None
    if isinstance(name, dict):
        name = name.get("content")
    return int(ids.get(name, max(ids.values())))
