"""tiktoken rank file -> token bytes.

Each line is the token's bytes in base64, a space, and its rank, which is its id. The file holds
ordinary tokens only: special tokens live in the program or configuration that goes with it.

Source: openai/tiktoken ``load.py``, ``load_tiktoken_bpe``.
"""

from __future__ import annotations

import base64
import binascii
import re

from tokfsm.errors import VocabularyError
from tokfsm.tokenizer.table import TokenTable, table_from_pairs, token_id

__all__ = ["looks_like", "read"]

_LINE = re.compile(rb"[A-Za-z0-9+/]+=* +[0-9]+[ \r]*(?:\n|\Z)")


def looks_like(head: bytes) -> bool:
    """Whether a file that starts so is a rank file: its first line is one."""
    return _LINE.match(head.lstrip(b"\r\n")) is not None


def read(data: bytes, name: str) -> TokenTable:
    """Read the whole file.

    Raises
    ------
    VocabularyError
        A line is no token and rank; two tokens have the same rank.
    """
    pairs: list[tuple[int, bytes | None]] = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        parts = line.split()
        where = f"{name}: line {number}"
        if len(parts) != 2 or not parts[1].isdigit() or len(parts[1]) > 9:
            raise VocabularyError(
                f"{where} of a tiktoken rank file is {line[:40]!r}; expected base64, a space and a rank"
            )
        try:
            # no bytes are written as padding alone, which a strict decoder refuses
            token = base64.b64decode(parts[0].lstrip(b"=") and parts[0], validate=True)
        except binascii.Error:
            raise VocabularyError(f"{where} of a tiktoken rank file: {parts[0][:40]!r} is not base64") from None
        pairs.append((token_id(int(parts[1]), f"{where}: the rank"), token or None))
    tokens = table_from_pairs(pairs, name)
    by_bytes = {token: one for one, token in enumerate(tokens) if token is not None}

    def find(text: str) -> int | None:
        return by_bytes.get(text.encode("utf-8", "surrogatepass"))

    return TokenTable(tokens, find)
