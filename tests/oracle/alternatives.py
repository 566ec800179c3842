"""The narrow language, byte by byte: `anyOf`, `allOf`, `$ref`, `enum`, types, lengths and counts of items.

Turns (schema, options, tokens) into the exact mask after any prefix: no tables, no automata.

How it works
    A *conjunction* is an ordered tuple of schema nodes that all bind the same value.
    `expand` turns it into its *alternatives* (disjunctive normal form over `anyOf`,
    with `$ref` and `allOf` flattened). A *state* is a stack of frames; each frame holds
    the live alternatives in lock step, each with the alternative of the frame below that
    it serves. `step` feeds one byte and drops what has died.

Liveness
    `satisfiable` is a least fixpoint over conjunctions, for a given set of bytes.
    An alternative is *live* while some value, spelled with any bytes, still fits it
    (`Alphabet` ALL). A token is allowed if the state after its bytes can be completed
    with bytes that are tokens by themselves (`Alphabet` B; design 2.3).

Readings of the design that this file pins
    * Which alternatives survive a scalar is decided by its value alone. Whether its spelling
      is in the profile is asked of the place as a whole:
      a string may be spelled in any way if some live alternative without `enum` and `const`
      admits it, else only literally;
      a number may have a point (`numbers="plain"`) if some live group does not want an
      integer, and an exponent if no live group constrains its value. A group is what one
      alternative of the frame below asks of the number, its `anyOf` included; it is live
      while it admits a number that begins with these digits and has no exponent. A number
      of `enum` or `const` that the schema writes with a point, as 2.0, does not want an
      integer.
    * A name is declared at a place if any branch that leads to it declares it, dead or alive
      by now, provided that the branch can be satisfied; an escaped spelling of it is refused.
    * Each object or array in an `enum` is an alternative of its own from its bracket on.
    * `additional_properties="closed"` closes each alternative by itself.

Cost: a few microseconds to a millisecond a byte. Absent: every keyword beyond these (`Unsupported`).

Source: RFC 8259; JSON Schema 2020-12 Core and Validation; the design's sections 2 and 3.
"""

from __future__ import annotations

from typing import Any, Iterable

from .alternatives_live import AlternativesLiveness
from .alternatives_rules import Alternative, ArrayRules, Conjunction, Entry, Facts, Frame, ObjectRules, Open, State
from .base import CLOSERS, Alphabet, Unsatisfiable
from .text import COLON, COMMA, DIGITS, PENDING, QUOTE, WHITE, literal, read_char, read_number


class AlternativesOracle(AlternativesLiveness):
    """Masks of (schema, options) over a list of tokens.

    Parameters are those of ``tokfsm.compile``; ``tokens[i]`` is the bytes of id i, None or
    empty for an id that is never allowed.

    Raises
    ------
    Unsatisfiable, Unsupported, BadSchema
    Undecided
        By the questions about liveness; see there.
    """

    def __init__(self, schema: Any, *, tokens: list[bytes | None], **options: Any) -> None:
        super().__init__(schema, tokens=tokens, **options)
        self._nodes: list[Any] = []
        self._node_ids: dict[Any, int] = {}
        self._expanded: dict[Conjunction, list[Alternative]] = {}
        self._facts: dict[Alternative, Facts] = {}
        self._object_rules: dict[Open, ObjectRules] = {}
        self._array_rules: dict[Open, ArrayRules] = {}
        root = self._conjunction([schema])
        self.satisfiable(root, self.all_bytes)  # reads every reachable subschema
        self.start: State = Frame("root", (Entry(0, 0, root),), None, "value", static=(root,))
        if not self.completable(self.start):
            raise Unsatisfiable("no value can be written")

    def complete(self, state: State) -> bool:
        if state.kind == "number" and state.below is not None and state.below.kind == "root":
            return any(self._number_accepts(state.text, e.what) for e in state.entries)
        return state.kind == "root" and state.phase == "after"

    def _completable(self, state: State, alphabet: Alphabet) -> bool:
        frames, frame = [], state
        while frame is not None and id(alphabet) not in frame.ok:
            frames.append(frame)
            frame = frame.below
        for frame in reversed(frames):
            below = None if frame.below is None else frame.below.ok[id(alphabet)]
            frame.ok[id(alphabet)] = frozenset(
                e.id for e in frame.entries
                if (below is None or e.serves in below) and self._can_finish(frame, e, alphabet))
        return bool(state.ok[id(alphabet)])

    # ---- one byte ----

    def step(self, state: State, byte: int) -> State | None:
        """The state after one more byte; None if no value, spelled in any bytes, fits any more."""
        after = {"root": self._step_root, "word": self._step_word, "number": self._step_number,
                 "string": self._step_string, "object": self._step_container,
                 "array": self._step_container}[state.kind](state, byte)
        return None if after is None else self._settle(after)

    def _settle(self, frame: Frame) -> Frame | None:
        """Drop the alternatives of the top frame that have died, and those below that they alone served."""
        live = tuple(e for e in frame.entries if self._can_finish(frame, e, self.all_bytes))
        if not live:
            return None
        below = self._keep(frame.below, {e.serves for e in live})
        if len(live) == len(frame.entries) and below is frame.below:
            return frame
        return frame.with_(entries=live, below=below)

    def _keep(self, frame: Frame | None, ids: set[int]) -> Frame | None:
        """The stack with only the entries `ids` in its top frame."""
        changed = []
        while frame is not None and len(ids) < len(frame.entries):
            entries = tuple(e for e in frame.entries if e.id in ids)
            changed.append((frame, entries))
            frame, ids = frame.below, {e.serves for e in entries}
        for old, entries in reversed(changed):
            frame = old.with_(entries=entries, below=frame)
        return frame

    def _pop(self, frame: Frame, survivors: Iterable[Entry]) -> Frame | None:
        """The frame below, going on with the alternatives that the survivors serve."""
        ids = {e.serves for e in survivors}
        return self._keep(frame.below, ids) if ids else None

    def _step_root(self, frame: Frame, byte: int) -> Frame | None:
        return self._begin_value(frame, byte) if frame.phase == "value" else None

    def _step_word(self, frame: Frame, byte: int) -> Frame | None:
        if byte != frame.text[0]:
            return None
        rest = frame.text[1:]
        return frame.with_(text=rest) if rest else self._pop(frame, frame.entries)

    def _step_number(self, frame: Frame, byte: int) -> Frame | None:
        text = frame.text + bytes([byte])
        if read_number(text, self.max_digits) is not None:
            live = [frame.groups[e.serves] for e in frame.entries]
            if byte == ord(".") and self.plain and all(wants_integer for wants_integer, _ in live):
                return None
            if byte in b"eE" and any(constrains for _, constrains in live):
                return None
            return frame.with_(text=text)
        below = self._pop(frame, [e for e in frame.entries if self._number_accepts(frame.text, e.what)])
        return None if below is None else self.step(below, byte)

    def _step_string(self, frame: Frame, byte: int) -> Frame | None:
        if byte == QUOTE and not frame.pending:
            return self._end_string(frame)
        return self._read_char(frame, byte)

    def _end_string(self, frame: Frame) -> Frame | None:
        content, admitting = frame.content, []
        for e in frame.entries:
            facts = self.facts(e.what)
            if content in facts.strings if facts.enum is not None else facts.length_ok(len(content)):
                admitting.append(e)
        free = any(self.facts(e.what).enum is None for e in admitting)
        return self._pop(frame, admitting) if free or frame.text == literal(content) else None

    def _read_char(self, frame: Frame, byte: int) -> Frame | None:
        pending = frame.pending + bytes([byte])
        char = read_char(pending, self.minimal)
        if char is None:
            return None
        text = frame.text + bytes([byte])
        if char is PENDING:
            return frame.with_(text=text, pending=pending)
        return frame.with_(text=text, pending=b"", content=frame.content + char)

    def _step_container(self, frame: Frame, byte: int) -> Frame | None:
        if frame.phase == "key":
            if byte == QUOTE and not frame.pending:
                return self._end_key(frame)
            return self._read_char(frame, byte)
        if byte in WHITE:
            return self._step_white(frame, byte)
        closer = CLOSERS[frame.kind]
        if byte == closer[0] and self._gap_rest(frame, "close") == b"":
            return self._pop(frame, [e for e in frame.entries if self._closable(frame, e)])
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
                return frame.with_(phase="key", gap=b"", text=b"", content="", pending=b"")
        return None

    def _end_key(self, frame: Frame) -> Frame | None:
        name, entries = frame.content, []
        if name in frame.seen or (name in self._declared(frame) and frame.text != literal(name)):
            return None
        for entry in frame.entries:
            position = self.object_rules(entry.what).take(name, entry.position)
            if position is not None:
                entries.append(entry._replace(position=position))
        return frame.with_(entries=tuple(entries), phase="colon", key=name, seen=frame.seen | {name},
                           text=b"", content="", pending=b"")

    def _declared(self, frame: Frame) -> frozenset[str]:
        """Names that some branch declares at this place."""
        return frozenset(name for o in frame.static for name in self.object_rules(o).order)

    def _begin_value(self, frame: Frame, byte: int) -> Frame | None:
        below = frame.with_(phase="after", gap=b"", count=frame.count + 1)
        pairs = [(e.id, alternative) for e in frame.entries
                 for alternative in self.expand(self._due(frame, e.what))]
        first = bytes([byte])
        extra: dict[str, Any] = {}
        if first == b'"':
            kind, atoms = "string", {"string"}
        elif first in (b"t", b"f", b"n"):
            kind, atoms = "word", {"null"} if first == b"n" else {"boolean"}
            value, word = {b"t": (True, b"true"), b"f": (False, b"false"), b"n": (None, b"null")}[first]
            pairs = [(s, a) for s, a in pairs if self.facts(a).word_ok(value)]
            extra["text"] = word[1:]
        elif first == b"-" or byte in DIGITS:
            kind, atoms = "number", {"integer", "fraction"}
            extra["text"] = first
            extra["groups"] = self._groups(pairs)
        elif first in (b"{", b"["):
            kind = "object" if first == b"{" else "array"
            atoms = {kind}
            pairs = [(s, a) for s, a in pairs if atoms & self.facts(a).atoms]
            opened = [(s, o) for s, a in pairs for o in self.openings(a, kind)]
            entries = tuple(Entry(i, s, o) for i, (s, o) in enumerate(opened))
            static = dict.fromkeys(
                o for what in frame.static for a in self.expand(self._due(frame, what))
                for o in self.openings(a, kind) if self._opening_sat(kind, o, self.all_bytes))
            return Frame(kind, entries, below, "open", frame.depth + 1, static=tuple(static))
        else:
            return None
        pairs = [(s, a) for s, a in pairs if atoms & self.facts(a).atoms]
        return Frame(kind, tuple(Entry(i, s, a) for i, (s, a) in enumerate(pairs)), below,
                     depth=frame.depth, **extra)

    def _groups(self, pairs: list[tuple[int, Alternative]]) -> dict[int, tuple[bool, bool]]:
        """What each alternative of the frame below asks of a number: an integer? a certain value?"""
        groups: dict[int, tuple[bool, bool]] = {}
        for serves, alternative in pairs:
            facts = self.facts(alternative)
            if facts.admits_numbers:
                wants, constrains = groups.get(serves, (True, True))
                groups[serves] = wants and facts.wants_integer, constrains and facts.constrains_number
        return groups

    def _due(self, frame: Frame, what: Any) -> Conjunction:
        """What binds the value that comes next."""
        if frame.kind == "root":
            return what
        if frame.kind == "object":
            return self.object_rules(what).child(frame.key)
        rules = self.array_rules(what)
        if rules.max_items is not None and frame.count >= rules.max_items:
            return self._conjunction([False])
        return rules.child(frame.count)
