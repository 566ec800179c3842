"""JSON texts, byte by byte: the spellings of characters, beginnings of numbers, values that are equal.

Knows RFC 8259 and docs/spelling.md, and no schema.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, Iterator, NamedTuple

ATOMS = frozenset({"null", "boolean", "string", "array", "object", "integer", "fraction"})
SHORT = {'"': b'\\"', "\\": b"\\\\", "\b": b"\\b", "\f": b"\\f", "\n": b"\\n", "\r": b"\\r", "\t": b"\\t"}
SHORT_BYTE = {ord('"'): '"', ord("\\"): "\\", ord("b"): "\b", ord("f"): "\f", ord("n"): "\n",
              ord("r"): "\r", ord("t"): "\t"}
QUOTE, BACKSLASH, COMMA, COLON = b'"'[0], b"\\"[0], b","[0], b":"[0]
WHITE = b" \t\n\r"
DIGITS = b"0123456789"
HEX, LOWER_HEX = b"0123456789abcdefABCDEF", b"0123456789abcdef"
PENDING = object()


def number(value: Any) -> Fraction:
    """The exact value of a schema number; a float counts as its repr."""
    return Fraction(Decimal(repr(value))) if isinstance(value, float) else Fraction(value)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal, Fraction)) and not isinstance(value, bool)


def canon(value: Any) -> Any:
    """A hashable stand-in: two JSON values are equal iff these are."""
    if value is None or isinstance(value, bool):
        return ("word", value)
    if is_number(value):
        return ("number", number(value))
    if isinstance(value, str):
        return ("string", value)
    if isinstance(value, list):
        return ("array", tuple(canon(v) for v in value))
    return ("object", frozenset((k, canon(v)) for k, v in value.items()))


def kinds(value: Any) -> str:
    """The atom of ATOMS that a JSON value belongs to."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if is_number(value):
        return "integer" if number(value).denominator == 1 else "fraction"
    return {str: "string", list: "array", dict: "object"}[type(value)]


def literal(text: str) -> bytes | None:
    """The literal spelling, without quotes; None if the text has a lone surrogate."""
    out = b""
    for c in text:
        if c in SHORT:
            out += SHORT[c]
        elif c < " ":
            out += b"\\u%04x" % ord(c)
        elif 0xD800 <= ord(c) <= 0xDFFF:
            return None
        else:
            out += c.encode()
    return out


def spellings(char: str, minimal: bool) -> Iterator[list[bytes]]:
    """All spellings of a character: for each place the bytes that may stand there."""
    spelled = literal(char)
    assert spelled is not None
    yield [bytes([b]) for b in spelled]
    if not minimal:
        if char == "/":
            yield [b"\\", b"/"]
        units = char.encode("utf-16-be").hex()
        codes = [units[i:i + 4] for i in range(0, len(units), 4)]
        yield [place for code in codes for place in
               [b"\\", b"u", *((d + d.upper()).encode() for d in code)]]


def read_char(raw: bytes, minimal: bool) -> Any:
    """The character that `raw` spells, PENDING if it is a beginning of one, else None."""
    first = raw[0]
    if first == BACKSLASH:
        return read_escape(raw, minimal)
    if first < 0x20 or first == QUOTE:
        return None
    if first < 0x80:
        return chr(first) if len(raw) == 1 else None
    if not 0xC2 <= first <= 0xF4:
        return None
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if len(raw) > 1:
        low, high = {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}.get(
            first, (0x80, 0xBF))
        if not low <= raw[1] <= high or any(not 0x80 <= b <= 0xBF for b in raw[2:]):
            return None
    return PENDING if len(raw) < size else raw.decode() if len(raw) == size else None


def read_escape(raw: bytes, minimal: bool) -> Any:
    if len(raw) == 1:
        return PENDING
    if raw[1] != ord("u"):
        if len(raw) > 2:
            return None
        if raw[1] == ord("/"):
            return None if minimal else "/"
        return SHORT_BYTE.get(raw[1])
    digits = raw[2:6]
    if any(d not in (LOWER_HEX if minimal else HEX) for d in digits):
        return None
    if minimal and not b"00".startswith(digits[:2]):
        return None
    if minimal and digits[2:3] not in (b"", b"0", b"1"):
        return None
    if len(digits) < 4:
        return PENDING
    code = int(digits, 16)
    if minimal:
        return None if chr(code) in SHORT else chr(code)
    if 0xDC00 <= code <= 0xDFFF:
        return None
    if not 0xD800 <= code <= 0xDBFF:
        return chr(code) if len(raw) == 6 else None
    tail = raw[6:]
    if not b"\\u".startswith(tail[:2]) or any(d not in HEX for d in tail[2:]):
        return None
    if tail[2:3] not in (b"", b"d", b"D") or (len(tail) > 3 and tail[3] not in b"cdefCDEF"):
        return None
    if len(tail) < 6:
        return PENDING
    return chr(0x10000 + ((code - 0xD800) << 10) + (int(tail[2:], 16) - 0xDC00)) if len(tail) == 6 else None


def decimal_digits(value: Fraction) -> tuple[bytes, bytes]:
    """Digits before and after the point of |value|, without superfluous zeros."""
    value, places = abs(value), 0
    while value.denominator != 1:
        value, places = value * 10, places + 1
    digits = str(value.numerator).zfill(places + 1).encode()
    return digits[:len(digits) - places], digits[len(digits) - places:]


class NumberText(NamedTuple):
    """A beginning of a number, taken apart; None: not begun."""

    negative: bool
    whole: bytes
    fraction: bytes | None
    exponent: bytes | None  # with its sign

    @property
    def complete(self) -> bool:
        last = self.exponent.lstrip(b"+-") if self.exponent is not None else self.fraction
        return bool(self.whole) and last != b""

    @property
    def value(self) -> Fraction:
        """Only without an exponent."""
        return Fraction(Decimal(("-" if self.negative else "") + self.whole.decode() + "."
                                + (self.fraction or b"0").decode()))


def read_number(text: bytes, max_digits: int | None) -> NumberText | None:
    """Take a beginning of a number apart; None if it is not one."""
    rest = text
    negative = rest.startswith(b"-")
    rest = rest[negative:]
    whole = rest[:len(rest) - len(rest.lstrip(DIGITS))]
    rest = rest[len(whole):]
    if len(whole) > 1 and whole.startswith(b"0"):
        return None
    fraction = exponent = None
    if rest and not whole:
        return None
    if rest.startswith(b"."):
        rest = rest[1:]
        fraction = rest[:len(rest) - len(rest.lstrip(DIGITS))]
        rest = rest[len(fraction):]
        if rest and not fraction:
            return None
    if rest[:1] in (b"e", b"E"):
        exponent, rest = rest[1:], b""
        body = exponent[1:] if exponent[:1] in (b"+", b"-") else exponent
        if body.strip(DIGITS):
            return None
        if max_digits is not None and len(body) > max_digits:
            return None
    if rest:
        return None
    if max_digits is not None and (len(whole) > max_digits or len(fraction or b"") > max_digits):
        return None
    return NumberText(negative, whole, fraction, exponent)
