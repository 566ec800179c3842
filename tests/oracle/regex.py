"""Patterns by Brzozowski derivatives: the slow and plain way to match.

A pattern is a term; the derivative by a character is what is left to match after it. Equal
terms are one state. The dialect is what ECMA-262 and everybody else agree on: characters,
classes, `.`, alternation, groups, repeats, `^` and `$`. Anything else is `Unsupported`.

Search is not anchored: `p` is `.*p.*` with a dot that takes everything.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .base import Unsupported

Term = Any  # ("none",) ("empty",) ("start",) ("end",) ("set", negated, ranges) ("cat", a, b) ("alt", terms) ("star", a)
NONE, EMPTY, START, END = ("none",), ("empty",), ("start",), ("end",)
ANY = ("set", True, ())
DIGIT, WORD = ((48, 57),), ((48, 57), (65, 90), (95, 95), (97, 122))
SPACE = ((9, 13), (32, 32), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
         (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF))
LINE_ENDS = ((10, 10), (13, 13), (0x2028, 0x2029))
CONTROLS = {"n": 10, "t": 9, "r": 13, "f": 12, "v": 11, "0": 0}


def cat(a: Term, b: Term) -> Term:
    if a == NONE or b == NONE:
        return NONE
    if a == EMPTY:
        return b
    if b == EMPTY:
        return a
    return cat(a[1], cat(a[2], b)) if a[0] == "cat" else ("cat", a, b)


def alt(*terms: Term) -> Term:
    found: set[Term] = set()
    for t in terms:
        found |= t[1] if t[0] == "alt" else {t}
    found.discard(NONE)
    if not found:
        return NONE
    return found.pop() if len(found) == 1 else ("alt", frozenset(found))


def star(a: Term) -> Term:
    return EMPTY if a in (NONE, EMPTY) else a if a[0] == "star" else ("star", a)


def takes(charset: Term, char: str) -> bool:
    return any(low <= ord(char) <= high for low, high in charset[2]) != charset[1]


def nullable(t: Term, start: bool, end: bool) -> bool:
    """Whether the term matches nothing at all, here."""
    kind = t[0]
    if kind == "cat":
        return nullable(t[1], start, end) and nullable(t[2], start, end)
    if kind == "alt":
        return any(nullable(x, start, end) for x in t[1])
    return {"empty": True, "star": True, "start": start, "end": end}.get(kind, False)


def derivative(t: Term, char: str, start: bool) -> Term:
    """What is left after `char`; `start`: it is the first character of the string."""
    kind = t[0]
    if kind == "set":
        return EMPTY if takes(t, char) else NONE
    if kind == "cat":
        first = cat(derivative(t[1], char, start), t[2])
        return alt(first, derivative(t[2], char, start)) if nullable(t[1], start, False) else first
    if kind == "alt":
        return alt(*(derivative(x, char, start) for x in t[1]))
    if kind == "star":
        return cat(derivative(t[1], char, start), t)
    return NONE


class Parser:
    """A pattern's text into a term."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def parse(self) -> Term:
        term = self.alternatives()
        if self.at < len(self.text):
            raise Unsupported(f"pattern {self.text}")
        return term

    def peek(self) -> str:
        return self.text[self.at:self.at + 1]

    def take(self) -> str:
        char = self.peek()
        if not char:
            raise Unsupported(f"pattern {self.text}")
        self.at += 1
        return char

    def alternatives(self) -> Term:
        terms = [self.sequence()]
        while self.peek() == "|":
            self.take()
            terms.append(self.sequence())
        return alt(*terms)

    def sequence(self) -> Term:
        term: Term = EMPTY
        while self.peek() not in ("", "|", ")"):
            term = cat(term, self.repeated())
        return term

    def repeated(self) -> Term:
        term = self.atom()
        while self.peek() and self.peek() in "*+?{":
            mark, low, high = self.take(), 0, None
            if mark == "+":
                low = 1
            elif mark == "?":
                high = 1
            elif mark == "{":
                body = ""
                while self.peek() != "}":
                    body += self.take()
                self.take()
                parts = body.split(",")
                if len(parts) > 2 or not all(p.isdigit() for p in parts[:1]):
                    raise Unsupported(f"pattern {self.text}")
                low = int(parts[0])
                high = low if len(parts) == 1 else int(parts[1]) if parts[1] else None
            out = star(term) if high is None else EMPTY
            for _ in range((high or low) - low):
                out = alt(EMPTY, cat(term, out))
            for _ in range(low):
                out = cat(term, out)
            term = out
        return term

    def atom(self) -> Term:
        char = self.take()
        if char == "^":
            return START
        if char == "$":
            return END
        if char == ".":
            return ("set", True, LINE_ENDS)
        if char == "(":
            if self.text.startswith("?:", self.at):
                self.at += 2
            elif self.peek() == "?":
                raise Unsupported(f"pattern {self.text}")
            term = self.alternatives()
            if self.take() != ")":
                raise Unsupported(f"pattern {self.text}")
            return term
        if char == "[":
            return self.charset()
        if char == "\\":
            negated, ranges = self.escape()
            return ("set", negated, ranges)
        if char in "*+?{}])|":
            raise Unsupported(f"pattern {self.text}")
        return ("set", False, ((ord(char), ord(char)),))

    def escape(self) -> tuple[bool, tuple[tuple[int, int], ...]]:
        char = self.take()
        if char.lower() in ("d", "w", "s"):
            return char.isupper(), {"d": DIGIT, "w": WORD, "s": SPACE}[char.lower()]
        if char in CONTROLS:
            return False, ((CONTROLS[char],) * 2,)
        if char == "u":
            code = int("".join(self.take() for _ in range(4)), 16)
            return False, ((code, code),)
        if char.isalnum():
            raise Unsupported(f"pattern {self.text}")
        return False, ((ord(char),) * 2,)

    def charset(self) -> Term:
        negated, ranges = self.peek() == "^", []
        self.at += negated
        while self.peek() != "]":
            low = self.one()
            if isinstance(low, tuple):
                ranges.extend(low)
            elif self.peek() == "-" and self.text[self.at + 1:self.at + 2] != "]":
                self.take()
                high = self.one()
                if isinstance(high, tuple):
                    raise Unsupported(f"pattern {self.text}")
                ranges.append((low, high))
            else:
                ranges.append((low, low))
        self.take()
        return ("set", negated, tuple(sorted(ranges)))

    def one(self) -> Any:
        """A character of a class, or the ranges of a class escape."""
        char = self.take()
        if char != "\\":
            return ord(char)
        negated, ranges = self.escape()
        if negated:
            raise Unsupported(f"pattern {self.text}")
        return ranges[0][0] if len(ranges) == 1 and ranges[0][0] == ranges[0][1] else ranges


class Pattern:
    """A pattern as an automaton that is made as it is walked. State 0 is the beginning."""

    def __init__(self, text: str) -> None:
        self.text = text
        term = cat(star(ANY), cat(Parser(text).parse(), star(ANY)))
        self.terms: list[Term] = [term]
        self.ids: dict[Term, int] = {}
        self.next: dict[tuple[int, str], int] = {}
        self.ends: dict[int, bool] = {}
        self.charsets = self._charsets(term)

    def _charsets(self, t: Term) -> frozenset[Term]:
        if t[0] == "set":
            return frozenset({t})
        below = t[1] if t[0] == "alt" else t[1:] if t[0] in ("cat", "star") else ()
        return frozenset().union(*(self._charsets(x) for x in below))

    def step(self, state: int, char: str) -> int:
        if (state, char) not in self.next:
            term = derivative(self.terms[state], char, state == 0)
            if term not in self.ids:
                self.ids[term] = len(self.terms)
                self.terms.append(term)
            self.next[state, char] = self.ids[term]
        return self.next[state, char]

    def accepts(self, state: int) -> bool:
        if state not in self.ends:
            self.ends[state] = nullable(self.terms[state], state == 0, True)
        return self.ends[state]

    def matches(self, text: str) -> bool:
        state = 0
        for char in text:
            state = self.step(state, char)
        return self.accepts(state)


@lru_cache(None)
def pattern(text: str) -> Pattern:
    return Pattern(text)


YEAR = r"(?:\d{3}[1-9]|\d{2}[1-9]\d|\d[1-9]\d{2}|[1-9]\d{3})"
LEAP = r"(?:\d{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
OCTET = r"(?:25[0-5]|2[0-4]\d|1\d{2}|[1-9]?\d)"
FORMATS = {  # year 0000 is left to the test that compares dates
    "date": rf"^(?:{YEAR}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)"
            rf"|(?:0[13578]|1[02])-31)|{LEAP}-02-29)$",
    "ipv4": rf"^{OCTET}(?:\.{OCTET}){{3}}$",
    "uuid": r"^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
    "json-pointer": r"^(?:/(?:[^/~]|~[01])*)*$",
}
OTHER_FORMATS = frozenset({
    "date-time", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv6", "uri", "uri-reference",
    "iri", "iri-reference", "uri-template", "relative-json-pointer", "regex"})
