"""Mistral ``tekken.json`` -> token bytes.

Ids 0 .. ``default_num_special_tokens`` - 1 are special tokens; the ordinary token of rank r has the
id ``default_num_special_tokens`` + r. The file lists more ordinary tokens than the tokenizer has:
ids end at ``default_vocab_size``.

Source: mistralai/mistral-common ``tokens/tokenizers/tekken.py``.
"""

from __future__ import annotations

import base64
from typing import Any

from tokfsm.errors import VocabularyError
from tokfsm.tokenizer.table import TokenTable, table_from_pairs, token_id

__all__ = ["looks_like", "read"]

_EXPECTED = "expected a Mistral tekken.json"


def looks_like(document: dict[str, Any]) -> bool:
    """Whether a parsed JSON object is of this kind."""
    return isinstance(document.get("config"), dict) and isinstance(document.get("vocab"), list)


def read(document: dict[str, Any], name: str) -> TokenTable:
    """Turn a parsed ``tekken.json`` into a table.

    Raises
    ------
    VocabularyError
        A part is missing or malformed, or there are fewer tokens than the configuration says.
    """
    config = document["config"]
    n_special = token_id(config.get("default_num_special_tokens"), f"{name}: config.default_num_special_tokens")
    size = token_id(config.get("default_vocab_size"), f"{name}: config.default_vocab_size")
    if size <= n_special:
        raise VocabularyError(
            f"{name}: {size} ids of which {n_special} are special leave no ordinary token; {_EXPECTED}"
        )
    pairs: list[tuple[int, bytes | None]] = [(one, None) for one in range(n_special)]
    for index, entry in enumerate(document["vocab"]):
        where = f"{name}: entry {index} of the vocabulary"
        if not isinstance(entry, dict):
            raise VocabularyError(f"{where} is no object; {_EXPECTED}")
        one = n_special + token_id(entry.get("rank"), f"{where}: its rank")
        if one < size:
            pairs.append((one, _base64(entry.get("token_bytes"), where)))
    if len(pairs) < size:
        raise VocabularyError(f"{name}: {len(pairs)} tokens where its config says {size}; cut off?")
    names = _special_names(document.get("special_tokens") or [], n_special, name)
    return TokenTable(table_from_pairs(pairs, name), names.get)


def _base64(text: object, where: str) -> bytes | None:
    try:
        if isinstance(text, str):
            return base64.b64decode(text, validate=True) or None
    except ValueError:  # binascii.Error, or a character that is not ASCII
        pass
    raise VocabularyError(f"{where}: its token_bytes are not base64; {_EXPECTED}")


def _special_names(listed: object, n_special: int, name: str) -> dict[str, int]:
    """Text -> id of the special tokens; older files do not list them."""
    if not isinstance(listed, list):
        raise VocabularyError(f"{name}: special_tokens is no list; {_EXPECTED}")
    names: dict[str, int] = {}
    for index, entry in enumerate(listed):
        where = f"{name}: special token {index}"
        if not isinstance(entry, dict) or not isinstance(entry.get("token_str"), str):
            raise VocabularyError(f"{where} has no token_str; {_EXPECTED}")
        one = token_id(entry.get("rank"), f"{where}: its rank")
        if one >= n_special:
            raise VocabularyError(f"{where} has the rank {one}; expected less than {n_special}")
        names[entry["token_str"]] = one
    return names
