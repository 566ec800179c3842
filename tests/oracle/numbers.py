"""Which numbers can still be written: all kinds of them, and some of each kind.

Beginnings of numbers are alike for everybody once they stand alike to every number of the
schema, leave the same rest by every divisor, and have more digits than anybody looks at. A
breadth-first search over such beginnings meets every kind.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Callable, NamedTuple

from .base import Alphabet, Base, Undecided
from .text import NumberText, decimal_digits, read_number

N_STATES = 20000


def compare(a: Any, b: Any) -> int:
    return int(a > b) - int(a < b)


class Measures(NamedTuple):
    """What numbers are compared with."""

    constants: tuple[tuple[bytes, bytes], ...]      # digits before and after the point, without a sign
    divisors: tuple[tuple[int, int], ...]           # n, places: multiples of n / 10^places
    n_whole: int                                    # more digits are alike
    n_fraction: int

    @staticmethod
    def of(constants: set[Fraction], divisors: set[Fraction], max_digits: int | None) -> "Measures":
        digits = {decimal_digits(c) for c in constants | {Fraction(0)}}
        scaled = set()
        for d in divisors:
            places = len(decimal_digits(d)[1])
            scaled.add((int(d * 10 ** places), places))
        n_whole = max(len(w) for w, _ in digits) + 1
        n_fraction = max([len(f) for _, f in digits] + [p for _, p in scaled]) + 1
        if max_digits is not None:
            n_whole, n_fraction = max(n_whole, max_digits), max(n_fraction, max_digits)
        return Measures(tuple(sorted(digits)), tuple(sorted(scaled)), n_whole, n_fraction)

    def alike(self, t: NumberText) -> Any:
        """Equal for beginnings that nobody tells apart."""
        whole, rest = t.whole, t.fraction
        if rest is None:
            stands = tuple(2 if len(whole) > len(w) else compare(whole, w[:len(whole)]) for w, _ in self.constants)
            left = tuple(int(whole or b"0") % n for n, _ in self.divisors)
            return t.negative, whole in (b"", b"0") and whole, min(len(whole), self.n_whole), stands, left
        n = len(rest)
        stands = tuple(compare((len(whole), whole), (len(w), w)) or 3 * compare(rest, f.ljust(n, b"0")[:n])
                       for w, f in self.constants)
        left = tuple((int(whole + rest[:p]) % n, bool(rest[p:].strip(b"0"))) for n, p in self.divisors)
        return t.negative, min(len(rest), self.n_fraction), stands, left, bool(rest.strip(b"0")), "fraction"


class Numbers(Base):
    """Numbers over an alphabet, without exponents: only where nobody looks at the value may one have an exponent."""

    def number_reach(self, asked: Measures, text: bytes, a: Alphabet, most: int,
                     kind: Callable[[NumberText], Any], max_digits: int | None) -> dict[Any, list[Fraction]]:
        """The kinds of all numbers that begin so, and `most` of each; fewer are all there are."""
        have: dict[Any, int] = {}
        kinds: dict[Any, Any] = {}
        found: dict[Any, list[Fraction]] = {}
        queue = [text]
        for t in queue:     # grows while it is read
            parts = read_number(t, max_digits)
            if parts is not None and parts.exponent is None and parts.complete:
                key = asked.alike(parts)
                if key not in kinds:
                    kinds[key] = kind(parts)
                of_kind = found.setdefault(kinds[key], [])
                if len(of_kind) < most and parts.value not in of_kind:
                    of_kind.append(parts.value)
            for byte in sorted(a.bytes.intersection(b"0123456789.-")):
                longer = t + bytes([byte])
                parts = read_number(longer, max_digits)
                if parts is None:
                    continue
                key = asked.alike(parts)
                if have.get(key, 0) < most:
                    have[key] = have.get(key, 0) + 1
                    if len(have) > N_STATES:
                        raise Undecided("too many states of numbers")
                    queue.append(longer)
        return found
