"""Whether what has been written can still become a valid value: frame by frame, from the innermost out."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from .base import CLOSERS, Alphabet, Undecided
from .evaluate import MOST, Items, Members, Place, Type
from .nodes import TRUE
from .text import DIGITS, decimal_digits, read_number
from .values import Table, Values, merge


@dataclass(frozen=True, eq=False)
class Frame:
    """One level of the stack. Never changed, except for the cache."""

    kind: str                       # root, word, number, string, object, array
    place: Place                    # root: that of the value; else that of this value
    below: "Frame | None"
    sure: frozenset[int] = frozenset()  # roots that some valid value's parents ask for
    single: bool = True             # there is but one alternative, here and below
    unique: bool = False            # items are compared, here or below
    phase: str = ""                 # value, after; open, comma, key, colon
    depth: int = 0
    gap: bytes = b""
    text: bytes = b""               # word: letters due; number, string, key: bytes so far
    content: str = ""               # string, key
    pending: bytes = b""
    asked: Any = None               # string, key: state of the questions
    key: str = ""
    taken: frozenset[str] = frozenset()
    position: int = 0
    sums: Any = None                # Members or Items of the parts so far
    parts: Any = None               # the parts that are whole: frozenset of (name, value), tuple of (value, type)
    doubtful: int = 0               # doubtful bytes so far
    cache: dict[Any, Any] = field(default_factory=dict)
    keys: dict[Any, Any] = field(default_factory=dict)  # cache that a key has from its first byte to its last

    def with_(self, **changes: Any) -> "Frame":
        copy = object.__new__(Frame)
        copy.__dict__.update(self.__dict__, cache={}, **changes)
        return copy


class ValuesLiveness(Values):
    """Liveness."""

    def _completable(self, state: Frame, a: Alphabet) -> bool:
        key = ("alive", id(a))
        if key not in state.cache:
            if state.kind == "root":
                state.cache[key] = state.phase == "after" or self.fits(
                    state, self.table(state.place, a), a)
            else:
                assert state.below is not None
                hopeless = state.kind in CLOSERS and self.rules.refuses(state.place, state.kind) and not self.fits(
                    state.below, {frozenset(): [(state.kind, None)]}, a, state)
                state.cache[key] = not hopeless and self.fits(state.below, self.becomes(state, a), a, state)
        return bool(state.cache[key])

    def fits(self, frame: Frame, table: Table, a: Alphabet, part: Frame | None = None) -> bool:
        """Whether a document can be completed whose open part, in `frame`, becomes a value of the table."""
        if frame.kind == "root":
            return any(self.nodes.root in t | {TRUE} for t in table)
        assert frame.below is not None
        if frame.unique:
            return bool(table) and self.fits(frame.below, self.with_part(frame, table, a, part), a, frame)
        return any(self.type_fits(frame, t, a) for t in table)

    def type_fits(self, frame: Frame, t: Type, a: Alphabet) -> bool:
        if frame.kind == "root":
            return self.fits(frame, {t: []}, a)
        key = (t, id(a))
        if key not in frame.cache:
            assert frame.below is not None
            frame.cache[key] = self.fits(frame.below, self.with_part(frame, {t: [()]}, a, None), a, frame)
        return bool(frame.cache[key])

    def becomes(self, frame: Frame, a: Alphabet) -> Table:
        """All values that a frame can become."""
        place = frame.place
        if frame.kind == "word":
            return {self.word_type(place, frame.parts): [("word", frame.parts)]} if a.has(frame.text) else {}
        if frame.kind == "number":
            return self.number_becomes(frame, a)
        if frame.kind == "string":
            begun = (frame.asked, frame.content, frame.pending)
            if place.most > 1:
                return self.strings_from(place, begun, frame.text, a, lambda c: self.free(frame, c))
            key = ("strings", place, frame.asked, frame.pending, frame.text if frame.asked[2] is not None else b"")
            if frame.asked[2] is not None:
                return self.strings_from(place, begun, frame.text, a, lambda c: self.free(frame, c))
            if key not in a.satisfiable:
                a.satisfiable[key] = self.strings_from(place, begun, b"\xff", a, lambda c: False)
            found: Table = a.satisfiable[key]
            return found
        return self.container_becomes(frame, a)

    def free(self, frame: Frame, constant: str) -> bool:
        """Whether a string of the schema may be spelled in any way: its twin could stand here."""
        key = ("free", constant)
        below = frame.below
        assert below is not None
        if key not in below.cache:
            t = self.string_type(frame.place, constant, True)
            below.cache[key] = (t == self.string_type(frame.place, constant)
                                or self.fits(below, {t: [("twin", constant)]}, self.all_bytes))
        return bool(below.cache[key])

    def number_becomes(self, frame: Frame, a: Alphabet) -> Table:
        parts = read_number(frame.text, self.max_digits)
        assert parts is not None
        table: Table = {}
        if parts.exponent is None:
            for (t, _), values in self.numbers_from(frame.place, frame.text, a).items():
                merge(table, t, [("number", v) for v in values], frame.place.most)
        elif parts.complete or any(d in a.bytes for d in DIGITS):
            for (t, _), values in self.all_numbers(frame.place).items():
                merge(table, t, [("number", v) for v in values], frame.place.most)
        return table

    def all_numbers(self, place: Place, undivided: bool = False,
                    short: bool = False) -> dict[tuple[Type, bool], list[Fraction]]:
        key = ("numbers", place, undivided, short)
        if key not in self.all_bytes.satisfiable:
            self.all_bytes.satisfiable[key] = self.numbers_from(place, b"", self.all_bytes, undivided, short)
        found: dict[tuple[Type, bool], list[Fraction]] = self.all_bytes.satisfiable[key]
        return found

    # containers

    def container_becomes(self, frame: Frame, a: Alphabet) -> Table:
        """A container with no part open below it."""
        table: Table = {}
        gap = self._gap_rest(frame, "close") if frame.phase in ("open", "after") else None
        if a.has(gap) and a.has(CLOSERS[frame.kind]):
            table = self.closed_now(frame)
        if frame.phase in ("open", "after", "comma"):
            due = {"open": "first", "after": "comma", "comma": "next"}[frame.phase]
            before = self._gap_rest(frame, due)
            if before is None or not a.has(before) or (
                    due == "comma" and not a.has(b"," + self._required_gap("next", "comma", frame.depth))):
                return table
            return self.joined(table, self.further(frame, frame.sums._replace(added=False), frame.parts, frame.taken,
                                                   frame.position, a, True))
        if frame.phase == "key":
            return self.key_becomes(frame, a)
        before = self._gap_rest(frame, "value") if frame.phase == "value" else (
            b":" + self._required_gap("value", "value", frame.depth))
        if not a.has(before):
            return table
        table = self.table(self.rules.member_place(frame.place, frame.key), a)
        return self.with_named(frame, frame.key, table, frame.position, a)

    def joined(self, one: Table, other: Table) -> Table:
        table = {t: list(values) for t, values in one.items()}
        for t, values in other.items():
            merge(table, t, values, MOST)
        return table

    def closed_now(self, frame: Frame) -> Table:
        value = ("object", frame.parts) if frame.kind == "object" else ("array", tuple(v for v, _ in frame.parts))
        return {self.rules.type_of(frame.place, frame.sums): [value]}

    def further(self, frame: Frame, sums: Any, parts: Any, taken: frozenset[str], position: int, a: Alphabet,
                added: bool) -> Table:
        """The container with these parts, and any more; `added`: with at least one more."""
        return self.all_further(frame, {self.counted(frame, sums, a): [parts]}, taken, position, a, added)

    def counted(self, frame: Frame, sums: Any, a: Alphabet) -> Any:
        """Where items are compared: with what they use up of the values over this alphabet."""
        if frame.kind == "object" or not frame.place.unique or sums.twice:
            return sums
        return sums._replace(used=self.used(frame.parts, self.table(self.rules.item_place(frame.place, 0), a)))

    def all_further(self, frame: Frame, sums: dict[Any, list[Any]], taken: frozenset[str], position: int, a: Alphabet,
                    added: bool) -> Table:
        one = self.first_only(a, frame.depth)
        if frame.kind == "object":
            if not (one and not added):
                sums = self.more_members(frame.place, sums, taken, position, a, frame.depth, one)
            return self.whole_objects(frame.place, sums, a, frame.depth, added)
        if not (one and not added):
            sums = self.more_items(frame.place, sums, a, one)
        return self.whole_arrays(frame.place, sums, a, frame.depth, added)

    def with_part(self, frame: Frame, table: Table, a: Alphabet, part: Frame | None) -> Table:
        """The container, its open part a value of the table, with any more parts."""
        if frame.kind == "object":
            return self.with_named(frame, frame.key, table, frame.position, a)
        sums: dict[Items, list[Any]] = {}
        full = self.table(self.rules.item_place(frame.place, frame.sums.n), a)
        again = None if part is None else (lambda v: self.can_become(part, v, a))
        self.with_item(frame.place, self.counted(frame, frame.sums, a), [frame.parts], table, sums, full, again)
        return self.all_further(frame, sums, frozenset(), 0, a, False)

    def with_named(self, frame: Frame, name: str, table: Table, position: int | None, a: Alphabet) -> Table:
        if position is None:
            return {}
        sums: dict[Members, list[Any]] = {}
        self.with_member(frame.place, {frame.sums: [frame.parts]}, [name], table, sums)
        return self.all_further(frame, sums, frame.taken | {name}, position, a, False)

    def after_name(self, frame: Frame, name: str) -> int | None:
        """The position in the order of properties; None where `name` comes too late."""
        if not self.ordered:
            return 0
        order = self.order(frame.place)
        index = order.index(name) if name in order else len(order)
        return None if index < frame.position else index + (name in order)

    def key_becomes(self, frame: Frame, a: Alphabet) -> Table:
        if not a.has(b'":' + self._required_gap("value", "value", frame.depth)):
            return {}
        mentioned, table = self.mentioned(frame.place), {}
        names = [(n, n) for n in mentioned if n not in frame.taken and (
            self.literals([n], frame.text, a) or (a.loose and n.startswith(frame.content)
                                                  and self._spellable(n[len(frame.content):], frame.pending, a)))]
        names += self.other_keys(frame, a)
        for name, kind in names:
            if (kind, id(a)) not in frame.keys:
                member = self.table(self.rules.member_place(frame.place, name), a)
                frame.keys[kind, id(a)] = self.with_named(frame, name, member, self.after_name(frame, name), a)
            table = self.joined(table, frame.keys[kind, id(a)])
        return table

    def other_keys(self, frame: Frame, a: Alphabet) -> list[tuple[str, Any]]:
        """A name of each class that the key can still become, with its class: one of a class is as good as another."""
        known = ("kinds", frame.place, frame.asked, frame.pending)
        alike = frame.asked[2] is None and not any(n.startswith(frame.content) for n in frame.taken)
        if alike and all((kind, id(a)) in frame.keys for kind in a.satisfiable.get(known, [()])):
            return [("", kind) for kind in a.satisfiable[known]]
        begun = (frame.asked, frame.content, frame.pending)
        found = self.names_from(frame.place, begun, frame.taken, a, len(frame.taken) + 1, frame.text)
        if alike:
            a.satisfiable[known] = list(found)
        return [(names[0], kind) for kind, names in found.items()]

    def can_become(self, frame: Frame, value: Any, a: Alphabet) -> bool:
        """Whether an open part can become a value that it need not have in its table."""
        if frame.kind == "string":
            text = value[1] if value[0] == "string" else None
            return text is not None and text.startswith(frame.content) and self._spellable(
                text[len(frame.content):], frame.pending, a)
        if frame.kind == "number" and value[0] == "number":
            parts = read_number(frame.text, self.max_digits)
            whole, fraction = decimal_digits(value[1])
            assert parts is not None
            if parts.exponent is not None:
                raise Undecided("a number with an exponent, beside an equal one")
            if value[1] != 0 and parts.negative != (value[1] < 0):
                return False
            if parts.fraction is None:
                return whole.startswith(parts.whole) and a.has(
                    whole[len(parts.whole):] + (b"." + fraction if fraction else b""))
            begins = whole == parts.whole and fraction.ljust(len(parts.fraction), b"0").startswith(parts.fraction)
            return begins and a.has(fraction[len(parts.fraction):] or (b"" if parts.fraction else b"0"))
        if frame.kind in ("object", "array") and value[0] == frame.kind:
            raise Undecided("a container beside one that it may come to equal")
        return False
