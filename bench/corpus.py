"""The benchmark's data: a gzipped line of JSON a schema -> schema texts, and instances as token ids.

A line is ``{"id", "schema", "tests": [{"valid", "data"}]}``. Instances are spelled as
``json.dumps(data, ensure_ascii=False)`` does: ``", "`` and ``": "``, raw characters; and a whole
number in a valid instance as digits (``2.0`` is an integer, but no engine here writes it for one).
This is the one spelling that every engine under test takes. An instance that cannot be spelled so
(a lone surrogate, a number past the doubles) is left out and counted. Canonical token ids are
computed once and kept beside the raw results.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
DATA = SHARED / "maskbench" / "dev.jsonl.gz"
TOKENIZERS = SHARED / "tokenizers"
OUT = ROOT / "bench" / "out"
RECORD = ROOT / "bench" / "record"


class Instance(NamedTuple):
    valid: bool
    ids: list[int]


class Case(NamedTuple):
    id: str
    schema: str  #: the schema's text
    instances: list[Instance]


def read(path: Path = DATA) -> list[dict[str, Any]]:
    """All lines, in the file's order."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def choose(n: int, limit: int | None, seed: int) -> list[int]:
    """Indices in a seeded random order; a smaller limit gives a prefix of a larger one's."""
    order = list(range(n))
    random.Random(seed).shuffle(order)
    return order[: n if limit is None else limit]


def spell(value: Any) -> str | None:
    """The text of an instance, or None where it has none."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode("utf-8")
    except (ValueError, UnicodeEncodeError):
        return None
    return text


def whole_as_digits(value: Any) -> Any:
    """The same value with every float that is a whole number as an integer."""
    if isinstance(value, dict):
        return {name: whole_as_digits(item) for name, item in value.items()}
    if isinstance(value, list):
        return [whole_as_digits(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def shuffled(value: Any, rng: random.Random) -> Any:
    """The same value with the names of every object in random order."""
    if isinstance(value, dict):
        names = list(value)
        rng.shuffle(names)
        return {name: shuffled(value[name], rng) for name in names}
    if isinstance(value, list):
        return [shuffled(item, rng) for item in value]
    return value


class Splitter:
    """Cuts bytes into tokens at random: at each place every token that fits is equally likely."""

    def __init__(self, tokens: list[bytes | None]) -> None:
        self._ids: dict[bytes, list[int]] = {}
        for token_id, token in enumerate(tokens):
            if token:
                self._ids.setdefault(token, []).append(token_id)
        self._longest = max(len(token) for token in self._ids)

    def fitting(self, text: bytes, at: int) -> list[int]:
        """Every token id whose bytes stand in ``text`` at ``at``."""
        found: list[int] = []
        for n in range(1, min(self._longest, len(text) - at) + 1):
            found += self._ids.get(text[at : at + n], [])
        return found

    def split(self, text: bytes, rng: random.Random, tokens: list[bytes | None]) -> list[int] | None:
        ids: list[int] = []
        at = 0
        while at < len(text):
            fitting = self.fitting(text, at)
            if not fitting:
                return None  # a byte that is no token by itself
            ids.append(rng.choice(fitting))
            at += len(tokens[ids[-1]] or b"")
        return ids


def cases(
    lines: list[dict[str, Any]],
    chosen: list[int],
    tokenizer_file: Path,
    *,
    shuffle_keys: bool = False,
    random_splits: bool = False,
    seed: int = 0,
) -> tuple[dict[int, Case], int]:
    """The chosen lines as cases, and the number of instances left out."""
    cache = _cache_file(lines, chosen, tokenizer_file, shuffle_keys, random_splits, seed)
    if cache.exists():
        stored = np.load(cache)
        rows: Iterator[list[int]] = iter(
            ids.tolist() for ids in np.split(stored["ids"], stored["ends"][:-1])
        )
    else:
        rows = _tokenized(lines, chosen, tokenizer_file, shuffle_keys, random_splits, seed, cache)
    found: dict[int, Case] = {}
    left_out = 0
    for index in chosen:
        line = lines[index]
        instances: list[Instance] = []
        for test in line["tests"]:
            ids = next(rows)
            if ids:
                instances.append(Instance(test["valid"], ids))
            else:
                left_out += 1
        found[index] = Case(line["id"], json.dumps(line["schema"], ensure_ascii=False), instances)
    return found, left_out


def _tokenized(
    lines: list[dict[str, Any]], chosen: list[int], tokenizer_file: Path, shuffle_keys: bool,
    random_splits: bool, seed: int, cache: Path,
) -> Iterator[list[int]]:
    """Token ids of every instance in order, an empty list where there is no spelling; then stored."""
    from tokfsm.measure.engines import token_bytes

    rng = random.Random(seed)
    if random_splits:
        tokens = token_bytes(tokenizer_file)
        splitter = Splitter(tokens)
    else:
        import tokenizers

        tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer_file))
    rows: list[list[int]] = []
    for index in chosen:
        for test in lines[index]["tests"]:
            value = whole_as_digits(test["data"]) if test["valid"] else test["data"]
            text = spell(shuffled(value, rng) if shuffle_keys else value)
            if text is None:
                rows.append([])
            elif random_splits:
                rows.append(splitter.split(text.encode(), rng, tokens) or [])
            else:
                rows.append(tokenizer.encode(text, add_special_tokens=False).ids)
    cache.parent.mkdir(parents=True, exist_ok=True)
    flat = np.array([i for row in rows for i in row], dtype=np.int32)
    np.savez(cache, ids=flat, ends=np.cumsum([len(row) for row in rows]))
    return iter(rows)


def _cache_file(lines: list[dict[str, Any]], chosen: list[int], tokenizer_file: Path, *flags: object) -> Path:
    key = hashlib.sha256(repr((chosen, flags)).encode())
    key.update(tokenizer_file.read_bytes())
    for index in chosen:
        key.update(json.dumps(lines[index]["tests"]).encode())
    return OUT / f"ids-digits-{key.hexdigest()[:16]}.npz"
