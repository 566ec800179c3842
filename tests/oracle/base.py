"""What both readings of the language share: options, tokens, white space, the questions asked.

A reading adds `start`, `step` (one byte), `complete` and `_completable`. Where the spelling
profile leaves open what a *live alternative* is, a state may be `doubtful`: one reading of the
profile lets it live and another does not. Values are never in doubt.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Iterable, Iterator

from .text import PENDING, read_char, spellings

EVENTS = {("object", "open"): ("first", "close"), ("object", "comma"): ("next",),
          ("object", "colon"): ("colon",), ("object", "value"): ("value",),
          ("object", "after"): ("comma", "close"), ("array", "open"): ("first", "close"),
          ("array", "comma"): ("next",), ("array", "after"): ("comma", "close")}
CLOSERS = {"object": b"}", "array": b"]"}


class Unsatisfiable(ValueError):
    """No text over the vocabulary's own bytes is valid."""


class Unsupported(ValueError):
    """A keyword outside the oracle's language."""


class BadSchema(ValueError):
    """A reference that leads nowhere, or round in a circle without progress."""


class Undecided(RuntimeError):
    """The oracle does not know: a search was not conclusive, or the profile can be read in two ways."""


@dataclass
class Alphabet:
    """A set of bytes, with what was found out about it.

    `loose`: strings to come may be escaped even where only `enum`/`const` admits them; what
    is not completable even so is not completable.
    """

    bytes: frozenset[int]
    loose: bool = False
    satisfiable: dict[Any, Any] = field(default_factory=dict)
    endings: dict[bytes, bool] = field(default_factory=dict)

    def has(self, text: bytes | None) -> bool:
        return text is not None and self.bytes.issuperset(text)


def draft_of(schema: Any) -> str:
    uri = schema.get("$schema", "") if isinstance(schema, dict) else ""
    for mark, draft in (("draft-04", "4"), ("draft-06", "6"), ("draft-07", "7"), ("2019-09", "2019-09")):
        if mark in uri:
            return draft
    return "2020-12"


class Base:
    """Options, tokens and the public questions.

    Parameters are those of ``tokfsm.compile``; ``tokens[i]`` is the bytes of id i, None or
    empty for an id that is never allowed.
    """

    start: Any

    def __init__(self, schema: Any, *, tokens: list[bytes | None], stop_token_ids: Iterable[int] = (),
                 property_order: str = "any", additional_properties: str = "spec",
                 whitespace: str = "compact", max_whitespace: int | None = 40, indent: int | None = None,
                 escapes: str = "all", numbers: str = "plain", max_digits: int | None = None,
                 draft: str | None = None, format: str = "assert") -> None:
        if isinstance(schema, (str, bytes)):
            schema = json.loads(schema, parse_float=Decimal)
        self.schema = schema
        self.whitespace = "indent" if indent is not None else whitespace
        self.max_whitespace, self.indent = max_whitespace, indent or 0
        self.ordered, self.closed = property_order == "schema", additional_properties == "closed"
        self.minimal, self.plain, self.max_digits = escapes == "minimal", numbers == "plain", max_digits
        self.assert_formats = format == "assert"
        self.draft = draft or draft_of(schema)
        self.stops = frozenset(stop_token_ids)
        self.tokens = [None if i in self.stops else t for i, t in enumerate(tokens)]
        self._trie: dict[Any, Any] = {}
        for i, token in enumerate(self.tokens):
            if token:
                node = self._trie
                for byte in token:
                    node = node.setdefault(byte, {})
                node.setdefault("ids", []).append(i)
        self.all_bytes = Alphabet(frozenset(range(256)))
        self.alphabet = Alphabet(frozenset(t[0] for t in self.tokens if t and len(t) == 1))
        self.loose_alphabet = Alphabet(self.alphabet.bytes, loose=True)

    # ---- what a reading adds ----

    def step(self, state: Any, byte: int) -> Any:
        """The state after one more byte; None if no value, spelled in any bytes, fits any more."""
        raise NotImplementedError

    def complete(self, state: Any) -> bool:
        """Whether the text so far is a whole value."""
        raise NotImplementedError

    def _completable(self, state: Any, a: Alphabet) -> bool:
        raise NotImplementedError

    # ---- the public questions ----

    def run(self, text: bytes, state: Any = None) -> Any:
        """The state after `text`; None once it has died."""
        state = state or self.start
        for byte in text:
            state = self.step(state, byte)
            if state is None:
                return None
        return state

    def mask(self, prefix: bytes) -> set[int]:
        """Ids allowed after `prefix`, stop ids included."""
        state = self.run(prefix)
        return set() if state is None else self.mask_at(state)

    def mask_at(self, state: Any) -> set[int]:
        must, may = self.bounds_at(state)
        if must != may:
            raise Undecided("the spelling profile can be read in two ways here")
        return may

    def bounds_at(self, state: Any) -> tuple[set[int], set[int]]:
        """Ids that are surely allowed, and those that no reading of the profile refuses."""
        must: set[int] = set(self.stops) if self.complete(state) else set()
        may, work = set(must), [(state, self._trie)]
        while work:
            here, node = work.pop()
            for byte, child in node.items():
                if byte == "ids":
                    continue
                after = self.step(here, byte)
                if after is None:
                    continue
                if "ids" in child and self.completable(after):
                    may.update(child["ids"])
                    if after.doubtful == state.doubtful:
                        must.update(child["ids"])
                work.append((after, child))
        return must, may

    def is_complete(self, prefix: bytes) -> bool:
        state = self.run(prefix)
        return self._sure(state, state is not None and self.complete(state))

    def is_live(self, prefix: bytes) -> bool:
        """Whether `prefix` can be completed with bytes that are tokens by themselves."""
        state = self.run(prefix)
        return self._sure(state, state is not None and self.completable(state))

    @staticmethod
    def _sure(state: Any, answer: bool) -> bool:
        if answer and state.doubtful:
            raise Undecided("the spelling profile can be read in two ways here")
        return answer

    def first_refused(self, text: bytes) -> int | None:
        """Index of the first byte after which the prefix is dead; None if all of it lives."""
        state = self.start
        for i, byte in enumerate(text):
            state = self.step(state, byte)
            if state is None or not self._sure(state, self.completable(state)):
                return i
        return None

    def brute_force(self, n: int, alphabet: bytes | None = None) -> Iterator[bytes]:
        """All complete texts of at most n bytes over `alphabet` (default: all single-byte tokens)."""
        letters = sorted(self.alphabet.bytes if alphabet is None else set(alphabet))
        work = [(b"", self.start)]
        while work:
            text, state = work.pop()
            if self.complete(state):
                yield text
            if len(text) < n:
                for byte in letters:
                    after = self.step(state, byte)
                    if after is not None and self._completable(after, self.all_bytes):
                        work.append((text + bytes([byte]), after))

    def completable(self, state: Any) -> bool:
        """Whether some completion exists over B.

        Exact, but for one case: a literal has bytes that are not in B, and only an escaped
        spelling, which another live branch may allow, could save it. That is searched for.
        """
        if self._completable(state, self.alphabet):
            return True
        if self.minimal or not self._completable(state, self.loose_alphabet):
            return False
        work, n_states = [state], 0
        while work:
            here = work.pop(0)
            n_states += 1
            if n_states > 300:
                raise Undecided("only an escaped spelling could save a literal")
            for byte in sorted(self.alphabet.bytes):
                after = self.step(here, byte)
                if after is not None and self._completable(after, self.loose_alphabet):
                    if self._completable(after, self.alphabet):
                        return True
                    work.append(after)
        return False

    # ---- white space ----

    def _required_gap(self, event: str, phase: str, depth: int) -> bytes:
        """The white space before an event, where it is prescribed."""
        line = b"\n" + b" " * self.indent * (depth - (event == "close")) if self.whitespace == "indent" else b""
        if event == "value":
            return b" " if self.whitespace in ("spaced", "indent") else b""
        if event == "next":
            return b" " if self.whitespace == "spaced" else line
        if event == "first" or (event == "close" and phase == "after"):
            return line
        return b""

    def _gap_rest(self, frame: Any, event: str) -> bytes | None:
        """White space still due before the event; None if it cannot come here."""
        if event not in EVENTS[frame.kind, frame.phase]:
            return None
        if self.whitespace == "flexible":
            return b""
        due = self._required_gap(event, frame.phase, frame.depth)
        return due[len(frame.gap):] if due.startswith(frame.gap) else None

    def _step_white(self, frame: Any, byte: int) -> Any:
        gap = frame.gap + bytes([byte])
        if self.whitespace == "flexible":
            if self.max_whitespace is None:
                return frame
            return frame.with_(gap=gap) if len(gap) <= self.max_whitespace else None
        longer = frame.with_(gap=gap)
        if any(self._gap_rest(longer, event) is not None for event in EVENTS[frame.kind, frame.phase]):
            return longer
        return None

    # ---- characters ----

    def _spellable(self, text: str, begun: bytes, a: Alphabet) -> bool:
        """Whether bytes of `a` spell the text in any way, after the bytes of its first character that came."""
        if not text:
            return not begun
        for i, char in enumerate(text):
            raw = begun if i == 0 else b""
            if not any(len(raw) < len(places) and all(b in place for b, place in zip(raw, places))
                       and all(a.bytes.intersection(place) for place in places[len(raw):])
                       for places in spellings(char, self.minimal)):
                return False
        return True

    def _char_can_end(self, pending: bytes, a: Alphabet) -> bool:
        """Whether bytes of `a` turn the bytes of a begun character into one."""
        if pending not in a.endings:
            a.endings[pending] = any(
                char is not None and (char is not PENDING or self._char_can_end(pending + bytes([b]), a))
                for b in sorted(a.bytes) for char in [read_char(pending + bytes([b]), self.minimal)])
        return a.endings[pending]

    def _char_endings(self, pending: bytes, a: Alphabet) -> Iterator[tuple[bytes, str]]:
        """All ways to do so: the bytes and the character."""
        for b in sorted(a.bytes):
            char = read_char(pending + bytes([b]), self.minimal)
            if char is PENDING:
                yield from ((bytes([b]) + rest, c) for rest, c in self._char_endings(pending + bytes([b]), a))
            elif char is not None:
                yield bytes([b]), char
