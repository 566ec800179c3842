"""What every reader returns: token bytes by id, and the names by which other files call tokens.

Also the checks that all readers need. A reader puts nothing but `VocabularyError` out; its messages
start with the name that it was given and say what was found and what was expected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tokfsm.errors import VocabularyError
from tokfsm.vocabulary import MAX_VOCAB_SIZE

__all__ = ["TokenTable", "byte_token", "parse_object", "table_from_pairs", "token_id"]

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>").fullmatch


@dataclass(frozen=True)
class TokenTable:
    """One tokenizer file, read.

    Attributes
    ----------
    tokens : list of bytes or None
        By id; None: never allowed.
    find : callable
        Id of the token with this text (as the file spells it), or None.
    stop_token_ids : tuple of int
        Those that the file itself declares.
    """

    tokens: list[bytes | None]
    find: Callable[[str], int | None]
    stop_token_ids: tuple[int, ...] = ()


def byte_token(text: str) -> bytes | None:
    """The byte that a byte-fallback token ``<0xNN>`` stands for; None if it is no such token."""
    match = _BYTE_TOKEN(text)
    return None if match is None else bytes((int(match[1], 16),))


def token_id(value: object, what: str) -> int:
    """Check a token id that came out of a file.

    Raises
    ------
    VocabularyError
        It is no integer, or negative, or too large to be one.
    """
    if type(value) is not int or not 0 <= value < MAX_VOCAB_SIZE:
        raise VocabularyError(f"{what} is {str(value)[:40]!r}; expected an integer from 0 to {MAX_VOCAB_SIZE - 1}")
    return value


def table_from_pairs(pairs: Iterable[tuple[int, bytes | None]], name: str) -> list[bytes | None]:
    """Tokens by id; ids that do not occur are holes (None).

    Raises
    ------
    VocabularyError
        Two tokens have the same id, or there is none.
    """
    listed = list(pairs)
    if not listed:
        raise VocabularyError(f"{name}: the vocabulary is empty; expected at least one token")
    by_id = dict(listed)
    if len(by_id) < len(listed):
        seen: set[int] = set()
        for one, _ in listed:
            if one in seen:
                raise VocabularyError(f"{name}: two tokens have the id {one}")
            seen.add(one)
    return [by_id.get(one) for one in range(max(by_id) + 1)]


def parse_object(data: bytes, name: str) -> dict[str, Any]:
    """A JSON object from the bytes of a file.

    Raises
    ------
    VocabularyError
        They are no JSON text (cut off, not UTF-8, nested too deeply), or one that is no object.
    """
    try:
        document = json.loads(data)
    except RecursionError:
        raise VocabularyError(f"{name}: JSON nested too deeply; expected a JSON object") from None
    except ValueError as error:
        raise VocabularyError(f"{name}: not valid JSON, or cut off ({error}); expected a JSON object") from None
    if not isinstance(document, dict):
        raise VocabularyError(f"{name}: a JSON {type(document).__name__}; expected a JSON object")
    return document
