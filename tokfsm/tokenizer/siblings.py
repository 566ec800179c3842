"""Stop tokens that the configuration files beside a tokenizer file declare.

A directory and the tokenizer's own names in, token ids out. Nothing is guessed: a tokenizer without
such files has no stop tokens. All declarations of ``generation_config.json``,
``tokenizer_config.json`` and ``special_tokens_map.json`` count together, since a model stops at any
of them; ``config.json`` counts only if those declare none, as it often carries the default of the
architecture, which in another vocabulary is an ordinary token.

Source: Hugging Face transformers, ``GenerationConfig``, ``PreTrainedTokenizerBase``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

from tokfsm.errors import VocabularyError
from tokfsm.tokenizer.table import parse_object, token_id

__all__ = ["stop_token_ids"]


def stop_token_ids(directory: str, find: Callable[[str], int | None]) -> tuple[int, ...]:
    """Ids in the order declared, without repeats; empty if none are declared.

    A declared name that no token has is no stop token; a warning says so.

    Raises
    ------
    VocabularyError
        One of the files is malformed, or declares an id that cannot be one.
    OSError
        One of the files is there and cannot be read.
    """
    generation, generation_name = _load(directory, "generation_config.json")
    tokenizer, tokenizer_name = _load(directory, "tokenizer_config.json")
    special, special_name = _load(directory, "special_tokens_map.json")
    ids = [
        *_ids(generation, generation_name),
        *_ids(tokenizer, tokenizer_name),
        *_named(tokenizer, tokenizer_name, find, tokenizer),
        *_named(special, special_name, find, tokenizer),
    ]
    if not ids:
        model, model_name = _load(directory, "config.json")
        text_model = model.get("text_config")
        ids = _ids(model, model_name)
        if not ids and isinstance(text_model, dict):
            ids = _ids(text_model, model_name)
    return tuple(dict.fromkeys(ids))


def _load(directory: str, file_name: str) -> tuple[dict[str, Any], str]:
    """A configuration file and its path; empty if it is not there."""
    path = os.path.join(directory, file_name)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return {}, path
    return parse_object(data, path), path


def _ids(config: dict[str, Any], name: str) -> list[int]:
    """``eos_token_id``: an id, a list of ids, or null."""
    declared = config.get("eos_token_id")
    if declared is None:
        return []
    listed = declared if isinstance(declared, list) else [declared]
    return [token_id(one, f"{name}: eos_token_id") for one in listed]


def _named(
    config: dict[str, Any],
    name: str,
    find: Callable[[str], int | None],
    tokenizer_config: dict[str, Any],
) -> list[int]:
    """``eos_token``: a token's text, an object with it as ``content``, or null."""
    declared = config.get("eos_token")
    text = declared.get("content") if isinstance(declared, dict) else declared
    if text is None:
        return []
    if not isinstance(text, str):
        raise VocabularyError(f"{name}: eos_token is {str(text)[:40]!r}; expected the text of a token")
    one = find(text)
    if one is None:
        one = _added_id(tokenizer_config, text)
    if one is None:
        warnings.warn(
            f"{name}: eos_token {text[:40]!r} is no token of the vocabulary; it is no stop token",
            stacklevel=5,  # the caller of Vocabulary.from_file
        )
        return []
    return [one]


def _added_id(tokenizer_config: dict[str, Any], text: str) -> int | None:
    """Id of a token that only ``added_tokens_decoder`` lists, as beside a rank file."""
    added = tokenizer_config.get("added_tokens_decoder")
    if isinstance(added, dict):
        for key, token in added.items():
            if isinstance(token, dict) and token.get("content") == text and key.isdecimal():
                return token_id(int(key[:12]), "tokenizer_config.json: added_tokens_decoder")
    return None
