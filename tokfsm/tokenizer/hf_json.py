"""Hugging Face ``tokenizer.json`` -> token bytes.

A token is its text in the file put through the file's own decoder, one token at a time. Two rules of
these decoders depend on the place of a token in the text and are left out on purpose: what strips
the white space at the very start or end of a text (Metaspace's first token, ``Strip`` after
``Fuse``; no JSON text starts or ends with any), and the repair of invalid UTF-8. A decoder that
is more than a map from tokens to bytes (WordPiece, BPEDecoder, CTC) is refused by name.

Source: huggingface/tokenizers, ``src/decoders``, ``src/tokenizer/mod.rs`` (``decode``),
``src/tokenizer/added_vocabulary.rs``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tokfsm.errors import VocabularyError
from tokfsm.tokenizer import bytelevel
from tokfsm.tokenizer.table import TokenTable, byte_token, table_from_pairs, token_id

__all__ = ["read"]

_EXPECTED = "expected a Hugging Face tokenizer.json (BPE or Unigram)"


def read(document: dict[str, Any], name: str) -> TokenTable:
    """Turn a parsed ``tokenizer.json`` into a table.

    Raises
    ------
    VocabularyError
        The model or the decoder is of a kind without fixed token bytes, or a part is missing.
    """
    model = document.get("model")
    if not isinstance(model, dict):
        raise VocabularyError(f'{name}: a JSON object without a "model"; {_EXPECTED}')
    texts, unknown = _pieces(model, name)
    decode = _decoder(document.get("decoder"), name)

    added = document.get("added_tokens", [])
    if not isinstance(added, list):
        raise VocabularyError(f'{name}: "added_tokens" is no list; {_EXPECTED}')
    never = set() if unknown is None else {unknown}
    names = {text: one for one, text in texts.items()}
    for index, token in enumerate(added):
        text, one, special = _added_token(token, f"{name}: added token {index}")
        one = names.setdefault(text, one)  # the library gives known text the id it has
        texts[one] = text
        if special:
            never.add(one)
    try:
        tokens = table_from_pairs(((one, None if one in never else decode(text)) for one, text in texts.items()), name)
    except UnicodeEncodeError as error:
        raise VocabularyError(
            f"{name}: token {str(error.object)[:40]!r} holds a lone surrogate, which has no UTF-8"
        ) from None
    return TokenTable(tokens, names.get)


def _pieces(model: dict[str, Any], name: str) -> tuple[dict[int, str], int | None]:
    """Id -> text of the model's own tokens, and the id of its unknown token."""
    kind = model.get("type") or _untagged_kind(model)
    vocab = model.get("vocab")
    if kind == "BPE" and isinstance(vocab, dict):
        for text, one in vocab.items():
            if type(one) is not int or one < 0:
                token_id(one, f"{name}: the id of token {text[:40]!r}")
        if vocab:
            token_id(max(vocab.values()), f"{name}: the highest id")
        texts = {one: text for text, one in vocab.items()}
        if len(texts) < len(vocab):
            table_from_pairs(((one, None) for one in vocab.values()), name)  # says which id
        unknown = model.get("unk_token")
        return texts, vocab.get(unknown) if isinstance(unknown, str) else None
    if kind == "Unigram" and isinstance(vocab, list):
        for index, entry in enumerate(vocab):
            if not (isinstance(entry, list) and entry and isinstance(entry[0], str)):
                raise VocabularyError(f"{name}: entry {index} of the vocabulary is no [text, score]")
        texts = {index: entry[0] for index, entry in enumerate(vocab)}
        unknown = model.get("unk_id")
        return texts, None if unknown is None else token_id(unknown, f"{name}: unk_id")
    if kind in ("BPE", "Unigram"):
        raise VocabularyError(f"{name}: the {kind} model has no vocabulary; {_EXPECTED}")
    if kind in ("WordPiece", "WordLevel"):
        raise VocabularyError(
            f"{name}: {kind} tokenizers are not supported, as the text of their tokens depends on the"
            f" tokens around them; {_EXPECTED}"
        )
    raise VocabularyError(f"{name}: unknown model type {str(kind)[:40]!r}; {_EXPECTED}")


def _untagged_kind(model: dict[str, Any]) -> str | None:
    """The type of a model in an old file, which does not say it: from its members."""
    if "merges" in model:
        return "BPE"
    if "unk_id" in model:
        return "Unigram"
    return "WordPiece" if "max_input_chars_per_word" in model else None


def _added_token(token: object, what: str) -> tuple[str, int, bool]:
    if not isinstance(token, dict) or not isinstance(token.get("content"), str):
        raise VocabularyError(f"{what} has no content; {_EXPECTED}")
    return token["content"], token_id(token.get("id"), f"{what}: its id"), token.get("special") is True


def _decoder(spec: object, name: str) -> Callable[[str], bytes]:
    """The function from a token's text to its bytes that a decoder amounts to.

    Steps run in order until ``Fuse`` (or ``ByteLevel``, which fuses too); of what follows, only the
    stripping of white space is known to leave JSON as it is.
    """
    if not isinstance(spec, dict):
        raise VocabularyError(f"{name}: there is no decoder, so the bytes of its tokens are unknown")
    steps = spec.get("decoders") if spec.get("type") == "Sequence" else [spec]
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise VocabularyError(f"{name}: the decoder sequence has no steps; {_EXPECTED}")

    replacements: list[tuple[str, str]] = []
    byte_fallback = byte_level = fused = False
    for step in steps:
        kind = step.get("type")
        if kind == "Fuse":
            fused = True
        elif kind == "Strip" and fused and step.get("content") == " ":
            pass  # only at the ends of the whole text
        elif fused or kind not in ("ByteLevel", "ByteFallback", "Replace", "Metaspace"):
            where = " after Fuse" if fused and kind in ("ByteLevel", "Replace") else ""
            raise VocabularyError(
                f"{name}: decoder {str(kind)[:40]!r}{where} is not supported, as it does not map each"
                f" token to bytes of its own"
            )
        elif kind == "ByteLevel":
            byte_level = fused = True
        elif kind == "ByteFallback":
            byte_fallback = True
        elif kind == "Metaspace":
            replacements.append((_text(step.get("replacement"), name) or "▁", " "))
        else:
            pattern = step.get("pattern")
            if not isinstance(pattern, dict) or "String" not in pattern:
                raise VocabularyError(f"{name}: decoder 'Replace' with a pattern other than a String")
            if (old := _text(pattern["String"], name)) == "":
                raise VocabularyError(f"{name}: decoder 'Replace' with an empty pattern")
            replacements.append((old, _text(step.get("content"), name)))
    if byte_level and byte_fallback:
        raise VocabularyError(f"{name}: a decoder with both ByteFallback and ByteLevel")

    if byte_level and not replacements:
        return bytelevel.decode
    encode = bytelevel.decode if byte_level else str.encode

    def decode(text: str) -> bytes:
        # A byte token is left alone by every other step, which work on text.
        if byte_fallback and len(text) == 6 and (byte := byte_token(text)) is not None:
            return byte
        for old, new in replacements:
            text = text.replace(old, new)
        return encode(text)

    return decode


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise VocabularyError(f"{name}: a decoder step without its text; {_EXPECTED}")
    return value
