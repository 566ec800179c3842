"""GPT-2's byte-level alphabet: 256 printable characters that stand for the 256 bytes.

Token text in, token bytes out. Bytes that are printable in Latin-1 stand for themselves; the other
68 are, in order, U+0100 to U+0143.

Source: openai/gpt-2 ``encoder.py``, ``bytes_to_unicode``; Hugging Face tokenizers,
``pre_tokenizers/byte_level.rs``.
"""

from __future__ import annotations

__all__ = ["BYTE_TO_CHAR", "decode"]


def _alphabet() -> tuple[str, ...]:
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    shifted = iter(range(0x100, 0x144))
    return tuple(chr(byte if byte in printable else next(shifted)) for byte in range(256))


BYTE_TO_CHAR = _alphabet()
"""``BYTE_TO_CHAR[b]`` is the character that stands for byte ``b``."""

# Alphabet -> the Latin-1 character of the byte. The 68 Latin-1 characters outside the alphabet go to
# a character that Latin-1 lacks, so that they fail to encode as all others outside it do.
_TO_LATIN_1 = {
    **{byte: 0xFFFF for byte in range(256)},
    **{ord(char): byte for byte, char in enumerate(BYTE_TO_CHAR)},
}


def decode(text: str) -> bytes:
    """The bytes of one token.

    A token with any character outside the alphabet stands, whole, for its UTF-8 bytes: that is
    what the decoder of Hugging Face tokenizers does, and so added tokens are read (``x y``
    for itself, but ``é`` for the byte E9).

    Raises
    ------
    UnicodeEncodeError
        The text holds a lone surrogate.
    """
    try:
        return text.translate(_TO_LATIN_1).encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8")
