"""GGUF metadata -> prompt text to token ids, for byte-level BPE.

Text in, ids out; what a token *writes* is the Vocabulary's business, not this
file's. Control tokens come from the chat format, never from the user's text.

Three pre-tokenizers are known (gpt-2, smollm, starcoder: the GPT-2 expression, the
latter two with single digits split off first). Others are refused by name, since a
prompt that is cut wrongly reads as another prompt. ``tests/test_generate.py``
compares with Hugging Face's ``tokenizers`` where that is installed.

Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"
2.2, and its published encoder; llama.cpp's names for the pre-tokenizers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from .gguf_tensors import ModelError

_SPLIT_DIGITS = {"gpt-2": False, "smollm": True, "starcoder": True}
_CONTRACTIONS = ("'re", "'ve", "'ll", "'s", "'t", "'m", "'d")
# Unicode White_Space; Python's str.isspace() also takes U+001C..U+001F.
_SPACE = frozenset("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | frozenset(
    map(chr, range(0x2000, 0x200B)))
_CONTROL, _USER_DEFINED = 3, 4
_WORD_CACHE = 65_536


class PromptEncoder:
    """Encode prompts for one model. Not for use by several threads at once."""

    def __init__(self, metadata: Mapping[str, Any], where: str = "model") -> None:
        model = metadata.get("tokenizer.ggml.model")
        pre = metadata.get("tokenizer.ggml.pre", "gpt-2")
        if model != "gpt2" or pre not in _SPLIT_DIGITS:
            raise ModelError(
                f"{where}: prompts for tokenizer {model!r} with pre-tokenizer {pre!r} cannot be "
                f"encoded; known are 'gpt2' with {', '.join(map(repr, _SPLIT_DIGITS))}")
        tokens: Sequence[str] = metadata["tokenizer.ggml.tokens"]
        kinds: Sequence[int] = metadata["tokenizer.ggml.token_type"]
        self._ids = {token: i for i, token in enumerate(tokens)}
        self._ranks = {tuple(merge.split(" ", 1)): rank
                       for rank, merge in enumerate(metadata["tokenizer.ggml.merges"])}
        self._split_digits = _SPLIT_DIGITS[pre]
        self._letters = _byte_letters()
        self._words: dict[str, list[int]] = {}
        added = sorted((t for t, kind in zip(tokens, kinds) if kind in (_CONTROL, _USER_DEFINED)),
                       key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, added))) if added else None
        self._template = str(metadata.get("tokenizer.chat_template", ""))
        self._bos = (int(metadata["tokenizer.ggml.bos_token_id"])
                     if metadata.get("tokenizer.ggml.add_bos_token") else None)
        self._where = where

    def encode(self, text: str) -> list[int]:
        """Ids of plain text; what looks like a control token is spelt out."""
        ids: list[int] = []
        for word in _words(text, self._split_digits):
            known = self._words.get(word)
            if known is None:
                known = self._merge(word)
                if len(self._words) < _WORD_CACHE:
                    self._words[word] = known
            ids += known
        return ids

    def encode_raw(self, text: str) -> list[int]:
        """Ids of text in the model's own format: control tokens are taken as such."""
        ids = [] if self._bos is None else [self._bos]
        at = 0
        for match in self._control.finditer(text) if self._control else ():
            ids += self.encode(text[at:match.start()])
            ids.append(self._ids[match.group()])
            at = match.end()
        return ids + self.encode(text[at:])

    def chat(self, user: str, system: str | None = None) -> list[int]:
        """Ids of one user turn in ChatML, up to where the assistant's text begins.

        Without `system` the template's own default system message is used, if it has one.
        """
        start, end = self._ids.get("<|im_start|>"), self._ids.get("<|im_end|>")
        if start is None or end is None or "<|im_start|>" not in self._template:
            raise ModelError(
                f"{self._where}: the model's chat format is not ChatML; write the prompt in the "
                "model's own format and pass it raw")
        if system is None:
            default = re.search(r"<\|im_start\|>system\n(.*?)<\|im_end\|>", self._template, re.DOTALL)
            system = default.group(1) if default else None
        turns = [("system", system)] if system is not None else []
        ids = [] if self._bos is None else [self._bos]
        for role, text in (*turns, ("user", user)):
            ids += [start, *self.encode(f"{role}\n{text}"), end, *self.encode("\n")]
        return [*ids, start, *self.encode("assistant\n")]

    def _merge(self, word: str) -> list[int]:
        """Byte-pair encode one word: the lowest rank first, leftmost of equals."""
        parts = [self._letters[byte] for byte in word.encode("utf-8", "surrogatepass")]
        ranks = self._ranks
        while len(parts) > 1:
            best = min(pairwise(parts), key=lambda pair: ranks.get(pair, len(ranks)))
            if best not in ranks:
                break
            merged: list[str] = []
            i = 0
            while i < len(parts):
                if i + 1 < len(parts) and (parts[i], parts[i + 1]) == best:
                    merged.append(parts[i] + parts[i + 1])
                    i += 2
                else:
                    merged.append(parts[i])
                    i += 1
            parts = merged
        try:
            return [self._ids[part] for part in parts]
        except KeyError as error:
            raise ModelError(f"{self._where}: the model has no token for a byte of {word!r}") from error


def _byte_letters() -> list[str]:
    """The printable letter that stands for each byte in byte-level vocabularies."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {byte: chr(byte) for byte in printable}
    for byte in range(256):
        if byte not in letters:
            letters[byte] = chr(256 + len(letters) - len(printable))
    return [letters[byte] for byte in range(256)]


def _kind(char: str) -> str:
    """L, N, S (white space) or P (all else): the classes of the GPT-2 expression."""
    if char in _SPACE:
        return "S"
    category = unicodedata.category(char)[0]
    return category if category in "LN" else "P"


def _words(text: str, split_digits: bool) -> Iterator[str]:
    """Cut text as the GPT-2 expression does:

    's|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+
    """
    if not split_digits:
        yield from _gpt2(text)
        return
    at = 0
    for i, char in enumerate(text):
        if unicodedata.category(char)[0] == "N":
            yield from _gpt2(text[at:i])
            yield char
            at = i + 1
    yield from _gpt2(text[at:])


def _gpt2(text: str) -> Iterator[str]:
    kinds = [_kind(char) for char in text]
    n, at = len(text), 0
    while at < n:
        end = at
        if text[at] == "'":
            for contraction in _CONTRACTIONS:
                if text.startswith(contraction, at):
                    end = at + len(contraction)
                    break
        if end == at:
            first = at + (text[at] == " " and at + 1 < n and kinds[at + 1] != "S")
            end = first + 1
            while end < n and kinds[end] == kinds[first]:
                end += 1
            # A run of white space leaves its last character to the word that follows.
            if kinds[first] == "S" and end < n and end - at > 1:
                end -= 1
        yield text[at:end]
        at = end
