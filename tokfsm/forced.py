"""Forced text as a tokenizer writes it: the ids common to the encodings of all completions.

A sampler may append forced tokens without asking the model. The model, though, has learned one
way to cut a text, so only those ids may be forced that the tokenizer writes whatever follows.

Let W be the text so far with the forced bytes behind it. Byte-pair encoding joins neighbours and
never splits: in every encoding of W and more there is either a boundary at the end of W, and
before it stands the encoding of W; or a token across it, and before that token stands the
encoding of the text up to where it begins. The tokens that could stand across are known exactly
(`Matcher.crossing_tokens`); those that the tokenizer does not write there are no concern. What
cuts a text into words before that looks ahead by a character: one of each kind that can follow is
tried. Where few texts can follow at all, each is encoded, which is the definition itself.

Source: Berglund and van der Merwe 2023, "Formalizing BPE tokenization"; Lundberg 2023, "The art
of prompt design: prompt boundaries and token healing".
"""

from __future__ import annotations

import inspect
import itertools
import operator
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tokfsm.arguments import as_ids

if TYPE_CHECKING:
    from tokfsm._matcher import Matcher

__all__ = ["forced_tokens"]

_FEW = 24         # completions, each of which is encoded
_FEW_STEPS = 120  # bytes looked at to find that there are few
_LINE_END = "\n"
_CANDIDATES = 48  # tokens across the end, from one place, that the tokenizer is asked about

TokenBytes = Callable[[int], bytes]
Encode = Callable[[bytes], "list[int] | None"]


def forced_tokens(matcher: Matcher, token_bytes: TokenBytes, tokenizer: Any, context: Iterable[int]) -> list[int]:
    """See `Matcher.forced_tokens`."""
    given = _behind_the_last_special(as_ids(context, "token id").tolist(), token_bytes)
    before = b"".join(map(token_bytes, given))
    forced = matcher.forced_bytes()
    forced = forced[: max(0, len(_whole(before + forced)) - len(before))]
    encode = _encoder(tokenizer, token_bytes)
    settled = encode(before + forced) if forced else None
    if settled is None or settled[: len(given)] != given:
        return []  # the text so far is cut otherwise than the tokenizer would, or not written so at all
    endings = _few_endings(matcher, forced)
    variants = (_endings(before + forced, endings, encode) if endings is not None
                else _variants(matcher, before, forced, token_bytes, encode))
    common: list[int] | None = None
    for variant in variants:
        common = variant if common is None else _common(common, variant)
        if len(common) <= len(given):
            return []
    ahead = (common or [])[len(given):]
    return ahead[: matcher.validate_tokens(ahead)]


def _endings(text: bytes, endings: Sequence[bytes], encode: Encode) -> Iterator[list[int]]:
    """Of all completions; what the tokenizer cannot write it does not write."""
    for ending in endings:
        ids = encode(text + ending)
        if ids is not None:
            yield ids


def _variants(matcher: Matcher, before: bytes, forced: bytes, token_bytes: TokenBytes,
              encode: Encode) -> Iterator[list[int]]:
    """Encodings such that what they have in common is common to those of all completions."""
    text = before + forced
    yield from _endings(text, [b"", *_next_letters(matcher, forced)], encode)
    across = matcher.crossing_tokens(text, len(forced))
    for length, group in itertools.groupby(across, key=operator.itemgetter(1)):
        yield from _across(matcher, forced, text[: len(text) - length], text, [one for one, _ in group], token_bytes,
                           encode)


def _across(matcher: Matcher, forced: bytes, left: bytes, text: bytes, ids: Sequence[int], token_bytes: TokenBytes,
            encode: Encode) -> Iterator[list[int]]:
    """The encoding before one of these tokens, which begin behind `left`, if the tokenizer writes any of them there."""
    whole = _whole(left)
    before = encode(whole) or []
    if len(whole) < len(left) or len(ids) > _CANDIDATES:
        yield before  # inside a character, or too many to ask about: one of them may be written
        return
    for one in ids:
        ahead = (left + token_bytes(one))[len(text):]
        ending = _finish_letter(matcher, forced, text, ahead)
        written = encode(text + ahead + ending) if ending is not None else None
        if written is not None and written[: len(before) + 1] == [*before, one]:
            yield before
            return


def _few_endings(matcher: Matcher, forced: bytes) -> list[bytes] | None:
    """What can follow the forced bytes to the end of the value; None: too much."""
    work, found, n_steps = [b""], [], 0
    while work:
        ending = work.pop()
        _, complete, allowed = matcher.check_bytes(forced + ending)
        n_steps += 1
        found += [ending] if complete else []
        work += [ending + bytes([byte]) for byte in allowed]
        if len(found) + len(work) > _FEW or n_steps > _FEW_STEPS:
            return None
    return found


def _next_letters(matcher: Matcher, forced: bytes) -> list[bytes]:
    """One character of each general category that can follow."""
    by_kind: dict[str, bytes] = {}
    for byte in matcher.check_bytes(forced)[2]:
        letter = bytes([byte])
        if byte >= 0x80:
            ending = _finish_letter(matcher, forced, b"", letter)
            if ending is None:
                continue
            letter += ending
        kind = unicodedata.category(letter.decode())
        # Control characters, spaces and the quotes of contractions are kinds of their own.
        by_kind.setdefault(letter.decode() if kind == "Cc" or letter in (b" ", b"'") else kind, letter)
    return list(by_kind.values())


def _finish_letter(matcher: Matcher, forced: bytes, text: bytes, ahead: bytes) -> bytes | None:
    """Bytes by which the character begun last, behind the forced bytes, becomes whole; None: no way."""
    ending = b""
    while len(_whole(text + ahead + ending)) < len(text + ahead + ending):
        n_taken, _, allowed = matcher.check_bytes(forced + ahead + ending)
        if not allowed or len(ending) > 3:
            return None
        ending += allowed[:1]
    return ending


def _behind_the_last_special(ids: Iterable[int], token_bytes: TokenBytes) -> list[int]:
    """The tokens since the last one that stands for no text: a tokenizer cuts there in any case."""
    found: list[int] = []
    for one in ids:
        found = [*found, one] if token_bytes(one) else []
    return found


def _whole(text: bytes) -> bytes:
    """The text without the character that it ends within."""
    for n in range(1, min(3, len(text)) + 1):
        lead = text[-n]
        if lead >= 0xC0:
            return text[:-n] if n < (2 if lead < 0xE0 else 3 if lead < 0xF0 else 4) else text
        if lead < 0x80:
            break
    return text


def _common(a: Sequence[int], b: Sequence[int]) -> list[int]:
    n = 0
    for one, other in zip(a, b):
        if one != other:
            break
        n += 1
    return list(a[:n])


def _encoder(tokenizer: Any, token_bytes: TokenBytes) -> Encode:
    """A function from text to ids; None where the ids do not spell the text, or it is no UTF-8."""
    write = _plain_encode(tokenizer)

    def listed(text: str) -> list[int]:
        ids = write(text)
        return [int(one) for one in getattr(ids, "ids", ids)]

    def spelled(ids: Sequence[int]) -> bytes:
        return b"".join(map(token_bytes, ids))

    def encode(text: bytes) -> list[int] | None:
        try:
            decoded = text.decode()
        except UnicodeDecodeError:
            return None
        ids = listed(decoded)
        written = spelled(ids)
        if written == text:
            return ids
        if written != b" " + text:
            return None
        # SentencePiece puts a space before its first word. A value stands behind a prompt, where there is none: so it
        # is encoded behind the end of a line, which is cut off again where tokens end with it.
        ids = listed(_LINE_END + decoded)
        begun = b" " + _LINE_END.encode()
        n = next((n for n in range(1, len(begun) + 1) if spelled(ids[:n]) == begun), len(ids))
        return ids[n:] if spelled(ids[n:]) == text else None

    return encode


def _plain_encode(tokenizer: Any) -> Callable[[str], Any]:
    """A tokenizer's way to encode text alone, without special tokens round it."""
    if hasattr(tokenizer, "encode_ordinary"):  # tiktoken
        return tokenizer.encode_ordinary  # type: ignore[no-any-return]
    encode = getattr(tokenizer, "encode", tokenizer)
    if not callable(encode):
        raise TypeError(f"a {type(tokenizer).__name__} has no encode() and cannot be called")
    try:
        plain = "add_special_tokens" in inspect.signature(encode).parameters
    except (TypeError, ValueError):  # a function of another language
        plain = False
    return (lambda text: encode(text, add_special_tokens=False)) if plain else encode
