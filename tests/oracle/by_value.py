"""The whole language, byte by byte: which values the text so far can still become.

Turns (schema, options, tokens) into the mask after any prefix, for every keyword. What has been
written is kept as values; what can follow is asked of the tables of `values.py`. So liveness is
exact for all keywords at once, and no keyword knows of another.

How it works
    A *state* is a stack of frames. The innermost frame answers with a table of all values that
    it can still become; the frame below takes that for the part that is open, adds any further
    parts, and answers with a table of its own; a state is alive if a value of the root's table
    is valid. For a frame below, one type of the open part is as good as another value of it,
    unless items are compared.

Where the spelling profile asks for live alternatives
    * A string of the schema may be escaped if its *twin*, a string like it but equal to none of
      the schema, could stand here in some completion.
    * A name is declared if some valid object of its place meets a node that declares it. Where
      only a branch that never holds, or a negation, speaks of it, an escaped spelling is doubtful.
    * A name with which `propertyNames` compares is a literal where its twin would fit otherwise.
    * A number may have a point if some completion has a fraction here, divisors left aside (a multiple
      of 1 need not want an integer); an exponent, if any number can stand here. Where several
      alternatives lead here this is narrower or wider than the profile, which asks each for itself:
      such bytes are doubtful, see `bounds_at`.

Source: JSON Schema 2020-12 Core and Validation, and the earlier drafts; RFC 8259.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from .base import CLOSERS, Undecided, Unsatisfiable
from .by_value_live import Frame, ValuesLiveness
from .evaluate import Evaluator, Place, Type
from .nodes import FALSE, TRUE, Nodes
from .text import COLON, COMMA, DIGITS, PENDING, QUOTE, WHITE, literal, read_char, read_number

MOST_EXPONENT = 2000    # numbers beyond it are not held as fractions


class ValuesOracle(ValuesLiveness):
    """Masks of (schema, options) over a list of tokens, for all keywords.

    Raises
    ------
    Unsatisfiable, Unsupported, BadSchema
    Undecided
        Where a search was not conclusive, or the profile can be read in two ways.
    """

    def __init__(self, schema: Any, *, tokens: list[bytes | None], **options: Any) -> None:
        super().__init__(schema, tokens=tokens, **options)
        if self.alphabet.bytes == self.all_bytes.bytes:
            self.alphabet = self.all_bytes
        self.nodes = Nodes(self.schema, self.draft, self.assert_formats)
        self.rules = Evaluator(self.nodes)
        if self.closed and any(n.properties and n.equals is None for n in self.nodes.all):
            raise Undecided("closed objects have no oracle beyond the narrow language")
        place = self.rules.place(() if self.nodes.root in (TRUE, FALSE) else (self.nodes.root,))
        self.start = Frame("root", place, None, frozenset(place.roots), phase="value")
        if not self.completable(self.start):
            raise Unsatisfiable("no value can be written")

    # ---- one byte ----

    def complete(self, state: Frame) -> bool:
        if state.kind == "number" and state.below is not None and state.below.kind == "root":
            return self._finish_number(state) is not None
        return state.kind == "root" and state.phase == "after"

    def step(self, state: Frame, byte: int) -> Frame | None:
        """The state after one more byte; None where that is no JSON in this spelling, or a whole value is not valid."""
        return {"root": self._step_root, "word": self._step_word, "number": self._step_number,
                "string": self._step_string, "object": self._step_container,
                "array": self._step_container}[state.kind](state, byte)

    def _step_root(self, frame: Frame, byte: int) -> Frame | None:
        return self._begin_value(frame, byte) if frame.phase == "value" else None

    def _finish(self, frame: Frame, value: Any, t: Type) -> Frame | None:
        """The frame below, its open part now a whole value."""
        below = frame.below
        assert below is not None
        common = {"phase": "after", "gap": b"", "doubtful": frame.doubtful}
        if below.kind == "root":
            return below.with_(**common) if self.nodes.root in t | {TRUE} else None
        if below.kind == "object":
            return below.with_(sums=self.rules.add_member(below.place, below.sums, below.key, t),
                               parts=below.parts | {(below.key, value)}, taken=below.taken | {below.key}, **common)
        sums = self.rules.add_item(below.place, below.sums, t)
        twice = below.sums.twice or (below.place.unique and any(v == value for v, _ in below.parts))
        return below.with_(sums=sums._replace(twice=twice), parts=below.parts + ((value, t),), **common)

    def _step_word(self, frame: Frame, byte: int) -> Frame | None:
        if byte != frame.text[0]:
            return None
        if len(frame.text) > 1:
            return frame.with_(text=frame.text[1:])
        return self._finish(frame, ("word", frame.parts), self.word_type(frame.place, frame.parts))

    # strings

    def _step_string(self, frame: Frame, byte: int) -> Frame | None:
        if byte != QUOTE or frame.pending:
            return self._read_char(frame, byte)
        text = frame.content
        if (text in self.string_questions(frame.place).constants and frame.text != literal(text)
                and not self.free(frame, text)):
            return None
        return self._finish(frame, ("string", text), self.string_type(frame.place, text))

    def _read_char(self, frame: Frame, byte: int) -> Frame | None:
        pending = frame.pending + bytes([byte])
        char, text = read_char(pending, self.minimal), frame.text + bytes([byte])
        if char is None:
            return None
        if char is PENDING:
            return frame.with_(text=text, pending=pending)
        asked = (self.name_questions if frame.kind == "object" else self.string_questions)(frame.place)
        return frame.with_(text=text, pending=b"", content=frame.content + char, asked=asked.step(frame.asked, char))

    # numbers

    def _step_number(self, frame: Frame, byte: int) -> Frame | None:
        text = frame.text + bytes([byte])
        if read_number(text, self.max_digits) is None:
            below = self._finish_number(frame)
            return None if below is None else self.step(below, byte)
        allowed = (self._may_have_point(frame, text) if byte == ord(".") and self.plain
                   else self._may_have_exponent(frame) if byte in b"eE" else True)
        if allowed is False:
            return None
        return frame.with_(text=text, doubtful=frame.doubtful + (allowed is None))

    def _finish_number(self, frame: Frame) -> Frame | None:
        parts = read_number(frame.text, self.max_digits)
        assert parts is not None
        if not parts.complete:
            return None
        if parts.exponent is not None and abs(int(parts.exponent)) > MOST_EXPONENT:
            types = {t for t, _ in self.all_numbers(frame.place)}
            if len(types) > 1 or frame.unique:
                raise Undecided("a number too large or small to be held")
            return self._finish(frame, ("number", frame.text), types.pop())
        value = Fraction(Decimal(frame.text.decode()))
        pointed = parts.fraction is not None or parts.exponent is not None
        return self._finish(frame, ("number", value), self.number_type(frame.place, value, pointed))

    def _can_stand(self, frame: Frame, t: Type) -> bool:
        """Whether a number of this type can stand here, whatever bytes there are."""
        assert frame.below is not None
        return self.fits(frame.below, {t: [("number", None)]}, self.all_bytes)

    def _may_have_point(self, frame: Frame, text: bytes) -> bool | None:
        """None: doubtful."""
        place = frame.place
        begun = [k for k in self.numbers_from(place, frame.text, self.all_bytes) if self._can_stand(frame, k[0])]
        if not begun:
            return False
        if any(not whole for _, whole in self.numbers_from(place, text, self.all_bytes).keys() & set(begun)):
            return True
        fractions = [k for k in self.all_numbers(place, True, True) if not k[1] and self._can_stand(frame, k[0])]
        pointed = [v for v in self._pointed(place) if self._can_stand(frame, self.number_type(place, v, True))]
        if not fractions and not pointed:
            return False
        return True if frame.single else None

    def _pointed(self, place: Place) -> list[Fraction]:
        """Numbers that the schema writes with a point; such a one does not want an integer."""
        return [v for v in self.nodes.pointed if any(self.nodes[n].equals == ("number", v) for n in place.closure)]

    def _may_have_exponent(self, frame: Frame) -> bool | None:
        """None: doubtful."""
        types = {t for t, _ in self.all_numbers(frame.place)}
        if not all(self._can_stand(frame, t) for t in types):
            return False
        return True if frame.single or len(types) == 1 else None

    # containers

    def _step_container(self, frame: Frame, byte: int) -> Frame | None:
        if frame.phase == "key":
            return self._end_key(frame) if byte == QUOTE and not frame.pending else self._read_char(frame, byte)
        if byte in WHITE:
            after: Frame | None = self._step_white(frame, byte)
            return after
        if byte == CLOSERS[frame.kind][0] and self._gap_rest(frame, "close") == b"":
            (t, (value,)), = self.closed_now(frame).items()
            return self._finish(frame, value, t)
        if byte == COMMA and self._gap_rest(frame, "comma") == b"":
            return frame.with_(phase="comma", gap=b"")
        if byte == COLON and self._gap_rest(frame, "colon") == b"":
            return frame.with_(phase="value", gap=b"")
        if self._gap_rest(frame, "value") == b"":
            return self._begin_value(frame, byte)
        if self._gap_rest(frame, "first") == b"" or self._gap_rest(frame, "next") == b"":
            if frame.kind == "array":
                return self._begin_value(frame, byte)
            if byte == QUOTE:
                return frame.with_(phase="key", gap=b"", text=b"", content="", pending=b"", keys={},
                                   asked=self.name_questions(frame.place).start())
        return None

    def _end_key(self, frame: Frame) -> Frame | None:
        name, doubtful = frame.content, frame.doubtful
        position = self.after_name(frame, name)
        if name in frame.taken or position is None:
            return None
        if frame.text != literal(name) and name in self.mentioned(frame.place):
            if any(name in self.nodes[n].properties or name in self.nodes[n].required for n in self._surely(frame)):
                return None
            doubtful += 1
        elif frame.text != literal(name) and not self.free_name(frame.place, name):
            return None
        return frame.with_(phase="colon", key=name, position=position, text=b"", content="", doubtful=doubtful)

    def _surely(self, frame: Frame) -> frozenset[int]:
        """Nodes that some valid value of the place meets, by the roots that are surely asked for."""
        key = ("surely", frame.kind, frame.place, frame.sure)
        memo = self.all_bytes.satisfiable
        if key not in memo:
            a, place = self.all_bytes, frame.place
            self.table(place, a)
            none = self.rules.empty(place, frame.kind)
            sums: dict[Any, Any] = (self.more_members(place, {none: [frozenset()]}, frozenset(), 0, a, 2, False)
                                    if frame.kind == "object" else self.more_items(place, {none: [()]}, a, False))
            memo[key] = frozenset(m for seen in sums for n in frame.sure for m in self.rules.evaluated(n, seen) or ())
        found: frozenset[int] = memo[key]
        return found

    def _due(self, frame: Frame) -> tuple[Place, frozenset[int]]:
        """What binds the value that comes next, and what of it surely does."""
        if frame.kind == "root":
            return frame.place, frame.sure
        nodes = [self.nodes[n] for n in self._surely(frame) if n >= 0]
        if frame.kind == "object":
            place = self.rules.member_place(frame.place, frame.key)
            sure = {m for n in nodes for m in (*self.rules.own_member(n, frame.key), n.unevaluated_members)}
        else:
            place = self.rules.item_place(frame.place, frame.sums.n)
            sure = {m for n in nodes for m in (self.rules.own_item(n, frame.sums.n), n.contains, n.unevaluated_items)}
        return place, frozenset(place.roots) & sure  # type: ignore[arg-type]

    def _begin_value(self, frame: Frame, byte: int) -> Frame | None:
        place, sure = self._due(frame)
        common: dict[str, Any] = {"depth": frame.depth, "doubtful": frame.doubtful, "unique": frame.unique,
                                  "single": frame.single}
        first = bytes([byte])
        if first == b'"':
            return Frame("string", place, frame, asked=self.string_questions(place).start(), **common)
        if first in (b"t", b"f", b"n"):
            value, word = {b"t": (True, b"true"), b"f": (False, b"false"), b"n": (None, b"null")}[first]
            return Frame("word", place, frame, parts=value, text=word[1:], **common)
        if first == b"-" or byte in DIGITS:
            return Frame("number", place, frame, text=first, **common)
        if first in (b"{", b"["):
            kind = "object" if first == b"{" else "array"
            common["depth"] += 1
            common["single"] = frame.single and not any(self.nodes[n].chooses() for n in place.closure)
            common["unique"] = frame.unique or (kind == "array" and place.unique)
            return Frame(kind, place, frame, sure, phase="open", sums=self.rules.empty(place, kind),
                         parts=frozenset() if kind == "object" else (), **common)
        return None
