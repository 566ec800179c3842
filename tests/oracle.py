"""The oracle: a slow, plain interpreter of schema x spelling profile, byte by byte.

Turns (schema, options, tokens) into the exact mask after any prefix. Everything that
tokfsm does fast is checked against this file, so it is written for reading: no tables,
no automata, no shared code. It was written from the design page alone.

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

Cost: a few microseconds to a millisecond a byte. Absent: every keyword beyond
issue 2 and `allOf` (`Unsupported`).

Source: RFC 8259; JSON Schema 2020-12 Core and Validation; the design's sections 2 and 3.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, Iterable, Iterator, NamedTuple
from urllib.parse import unquote

ATOMS = frozenset({"null", "boolean", "string", "array", "object", "integer", "fraction"})
SHORT = {'"': b'\\"', "\\": b"\\\\", "\b": b"\\b", "\f": b"\\f", "\n": b"\\n", "\r": b"\\r", "\t": b"\\t"}
SHORT_BYTE = {ord('"'): '"', ord("\\"): "\\", ord("b"): "\b", ord("f"): "\f", ord("n"): "\n",
              ord("r"): "\r", ord("t"): "\t"}
QUOTE, BACKSLASH, COMMA, COLON = b'"'[0], b"\\"[0], b","[0], b":"[0]
WHITE = b" \t\n\r"
DIGITS = b"0123456789"
HEX, LOWER_HEX = b"0123456789abcdefABCDEF", b"0123456789abcdef"
PENDING = object()

BEYOND = frozenset({
    "oneOf", "not", "if", "then", "else", "pattern", "format", "patternProperties", "propertyNames",
    "minProperties", "maxProperties", "dependencies", "dependentRequired", "dependentSchemas", "contains",
    "minContains", "maxContains", "uniqueItems", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "multipleOf", "unevaluatedProperties", "unevaluatedItems", "$anchor",
    "$dynamicAnchor", "$dynamicRef", "$recursiveRef", "$recursiveAnchor", "$vocabulary"})


class Unsatisfiable(ValueError):
    """No text over the vocabulary's own bytes is valid."""


class Unsupported(ValueError):
    """A keyword outside the oracle's language."""


class BadSchema(ValueError):
    """A reference that leads nowhere, or round in a circle without progress."""


class Undecided(RuntimeError):
    """Bytes of a literal are no tokens, and no search settled whether another branch lets it be escaped."""


# ---- values, literals, characters ----------------------------------------------------


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


# ---- what an alternative asks for ----------------------------------------------------

Conjunction = tuple[int, ...]   # node ids: all bind one value
Alternative = tuple[int, ...]   # node ids, references and branches gone


@dataclass(frozen=True)
class Facts:
    """What an alternative says of scalars, and of itself."""

    atoms: frozenset[str]
    enum: list[Any] | None          # values admitted, and writable; None: no enum or const anywhere
    min_length: int
    max_length: int | None
    pointed: bool                   # `enum` has a number that the schema writes with a point, as 2.0

    @cached_property
    def strings(self) -> list[str]:
        """The admitted strings, where there is an enum."""
        assert self.enum is not None
        return [v for v in self.enum if isinstance(v, str) and self.length_ok(len(v))]

    @cached_property
    def numbers(self) -> list[Fraction]:
        assert self.enum is not None
        return [number(v) for v in self.enum if is_number(v)]

    def length_ok(self, n: int) -> bool:
        return self.min_length <= n and (self.max_length is None or n <= self.max_length)

    @property
    def admits_numbers(self) -> bool:
        return bool(self.atoms & {"integer", "fraction"}) and (self.enum is None or bool(self.numbers))

    @cached_property
    def wants_integer(self) -> bool:
        if self.enum is not None:
            return not self.pointed and all(v.denominator == 1 for v in self.numbers)
        return "fraction" not in self.atoms

    @property
    def constrains_number(self) -> bool:
        return self.enum is not None or "fraction" not in self.atoms

    def word_ok(self, value: bool | None) -> bool:
        if self.enum is not None:
            return any(v is value for v in self.enum)
        return ("null" if value is None else "boolean") in self.atoms


class Open(NamedTuple):
    """An alternative of an object or array: its nodes, and the enum value it follows, if any."""

    nodes: Alternative
    const: int | None


@dataclass
class ObjectRules:
    order: list[str]                     # declared names, in the order of `property_order="schema"`
    required: list[str]
    children: dict[str, Conjunction]
    extra: Conjunction                   # of any other name
    ordered: bool

    def take(self, name: str, position: int) -> int | None:
        """The position after key `name`, None where the order forbids it."""
        if not self.ordered:
            return 0
        index = self.order.index(name) if name in self.children else len(self.order)
        if index < position or any(n in self.required for n in self.order[position:index]):
            return None
        return index + 1 if name in self.children else index

    def child(self, name: str) -> Conjunction:
        return self.children.get(name, self.extra)


@dataclass
class ArrayRules:
    prefix: list[Conjunction]
    rest: Conjunction
    min_items: int
    max_items: int | None

    def child(self, index: int) -> Conjunction:
        return self.prefix[index] if index < len(self.prefix) else self.rest

    def children(self, start: int, stop: int) -> list[Conjunction]:
        """Of the items start..stop-1, the endless rest once."""
        out = [self.prefix[i] for i in range(start, min(stop, len(self.prefix)))]
        return out + [self.rest] if stop > max(start, len(self.prefix)) else out


@dataclass
class Alphabet:
    """A set of bytes, with what was found out about it.

    `loose`: strings to come may be escaped even where only `enum`/`const` admits them; what
    is not completable even so is not completable.
    """

    bytes: frozenset[int]
    loose: bool = False
    satisfiable: dict[Conjunction, bool] = field(default_factory=dict)
    endings: dict[bytes, bool] = field(default_factory=dict)

    def has(self, text: bytes | None) -> bool:
        return text is not None and self.bytes.issuperset(text)


class Entry(NamedTuple):
    """A live alternative in a frame; `serves` is the id of its entry in the frame below."""

    id: int
    serves: int
    what: Any           # Conjunction (root), Alternative (scalars) or Open
    position: int = 0   # in the order of properties


@dataclass(frozen=True, eq=False)
class Frame:
    """One level of the stack. Never changed, except for `ok`, which is a cache."""

    kind: str                           # root, word, number, string, object, array
    entries: tuple[Entry, ...]
    below: "Frame | None"
    phase: str = ""                     # value, after; open, comma, key, colon
    depth: int = 0                      # open containers, this one included
    gap: bytes = b""                    # white space read since the last structural byte
    text: bytes = b""                   # word: letters; number, string, key: bytes so far
    content: str = ""                   # string, key: whole characters so far
    pending: bytes = b""                # string, key: bytes of the character begun
    key: str = ""                       # object: the key whose value is due
    seen: frozenset[str] = frozenset()  # object: keys so far, decoded
    count: int = 0                      # array: items begun
    groups: dict[int, tuple[bool, bool]] = field(default_factory=dict)
    # number: for each entry of the frame below, whether it wants an integer, and constrains the value
    static: tuple[Any, ...] = ()        # what of all alternatives of the place, the dead ones included
    ok: dict[int, frozenset[int]] = field(default_factory=dict)  # completable entries, by alphabet

    def with_(self, **changes: Any) -> "Frame":
        copy = object.__new__(Frame)
        copy.__dict__.update(self.__dict__, ok={}, **changes)
        return copy


State = Frame

EVENTS = {("object", "open"): ("first", "close"), ("object", "comma"): ("next",),
          ("object", "colon"): ("colon",), ("object", "value"): ("value",),
          ("object", "after"): ("comma", "close"), ("array", "open"): ("first", "close"),
          ("array", "comma"): ("next",), ("array", "after"): ("comma", "close")}
CLOSERS = {"object": b"}", "array": b"]"}


class Oracle:
    """Masks of (schema, options) over a list of tokens.

    Parameters are those of ``tokfsm.compile``; ``tokens[i]`` is the bytes of id i, None or
    empty for an id that is never allowed.

    Raises
    ------
    Unsatisfiable, Unsupported, BadSchema
    Undecided
        By the questions about liveness; see there.
    """

    def __init__(self, schema: Any, *, tokens: list[bytes | None], stop_token_ids: Iterable[int] = (),
                 property_order: str = "any", additional_properties: str = "spec",
                 whitespace: str = "compact", max_whitespace: int | None = 40, indent: int | None = None,
                 escapes: str = "all", numbers: str = "plain", max_digits: int | None = None,
                 draft: str | None = None) -> None:
        if isinstance(schema, (str, bytes)):
            schema = json.loads(schema, parse_float=Decimal)
        self.schema = schema
        self.whitespace = "indent" if indent is not None else whitespace
        self.max_whitespace, self.indent = max_whitespace, indent or 0
        self.ordered, self.closed = property_order == "schema", additional_properties == "closed"
        self.minimal, self.plain, self.max_digits = escapes == "minimal", numbers == "plain", max_digits
        self.draft = draft or self._draft_of(schema)
        self.stops = frozenset(stop_token_ids)
        self.tokens = [None if i in self.stops else t for i, t in enumerate(tokens)]

        self._nodes: list[Any] = []
        self._node_ids: dict[Any, int] = {}
        self._expanded: dict[Conjunction, list[Alternative]] = {}
        self._facts: dict[Alternative, Facts] = {}
        self._object_rules: dict[Open, ObjectRules] = {}
        self._array_rules: dict[Open, ArrayRules] = {}
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
        root = self._conjunction([schema])
        self.satisfiable(root, self.all_bytes)  # reads every reachable subschema
        self.start: State = Frame("root", (Entry(0, 0, root),), None, "value", static=(root,))
        if not self.completable(self.start):
            raise Unsatisfiable("no value can be written")

    # ---- the public questions ----

    def run(self, text: bytes, state: State | None = None) -> State | None:
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

    def mask_at(self, state: State) -> set[int]:
        allowed: set[int] = set(self.stops) if self.complete(state) else set()
        work = [(state, self._trie)]
        while work:
            here, node = work.pop()
            for byte, child in node.items():
                if byte == "ids":
                    continue
                after = self.step(here, byte)
                if after is None:
                    continue
                if "ids" in child and self.completable(after):
                    allowed.update(child["ids"])
                work.append((after, child))
        return allowed

    def is_complete(self, prefix: bytes) -> bool:
        state = self.run(prefix)
        return state is not None and self.complete(state)

    def is_live(self, prefix: bytes) -> bool:
        """Whether `prefix` can be completed with bytes that are tokens by themselves."""
        state = self.run(prefix)
        return state is not None and self.completable(state)

    def first_refused(self, text: bytes) -> int | None:
        """Index of the first byte after which the prefix is dead; None if all of it lives."""
        state: State | None = self.start
        for i, byte in enumerate(text):
            state = self.step(state, byte)
            if state is None or not self.completable(state):
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
                    if after is not None:
                        work.append((text + bytes([byte]), after))

    def complete(self, state: State) -> bool:
        if state.kind == "number" and state.below is not None and state.below.kind == "root":
            return any(self._number_accepts(state.text, e.what) for e in state.entries)
        return state.kind == "root" and state.phase == "after"

    def completable(self, state: State) -> bool:
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
                raise Undecided
            for byte in sorted(self.alphabet.bytes):
                after = self.step(here, byte)
                if after is not None and self._completable(after, self.loose_alphabet):
                    if self._completable(after, self.alphabet):
                        return True
                    work.append(after)
        return False

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

    def _step_white(self, frame: Frame, byte: int) -> Frame | None:
        gap = frame.gap + bytes([byte])
        if self.whitespace == "flexible":
            if self.max_whitespace is None:
                return frame
            return frame.with_(gap=gap) if len(gap) <= self.max_whitespace else None
        longer = frame.with_(gap=gap)
        if any(self._gap_rest(longer, event) is not None for event in EVENTS[frame.kind, frame.phase]):
            return longer
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

    def _gap_rest(self, frame: Frame, event: str) -> bytes | None:
        """White space still due before the event; None if it cannot come here."""
        if event not in EVENTS[frame.kind, frame.phase]:
            return None
        if self.whitespace == "flexible":
            return b""
        due = self._required_gap(event, frame.phase, frame.depth)
        return due[len(frame.gap):] if due.startswith(frame.gap) else None

    # ---- liveness ----

    def _can_finish(self, frame: Frame, entry: Entry, a: Alphabet) -> bool:
        """Whether some bytes of `a` end this frame's value so that the entry survives."""
        if frame.kind == "root":
            return frame.phase == "after" or self.satisfiable(entry.what, a)
        if frame.kind == "word":
            return a.has(frame.text)
        if frame.kind == "number":
            return self._number_can_finish(frame.text, entry.what, a)
        if frame.kind == "string":
            return self._string_can_finish(frame, entry.what, a)
        if frame.kind == "object":
            return self._object_can_finish(frame, entry, a)
        return self._array_can_finish(frame, entry, a)

    def _number_accepts(self, text: bytes, alternative: Alternative) -> bool:
        parts, facts = read_number(text, self.max_digits), self.facts(alternative)
        assert parts is not None
        if not parts.complete:
            return False
        if not facts.constrains_number:
            return True
        if parts.exponent is not None or not self._draft_4_ok(parts, facts):
            return False
        if facts.enum is not None:
            return parts.value in facts.numbers
        return parts.value.denominator == 1

    def _draft_4_ok(self, parts: NumberText, facts: Facts) -> bool:
        return not (self.draft == "4" and "fraction" not in facts.atoms and parts.fraction is not None)

    def _number_can_finish(self, text: bytes, alternative: Alternative, a: Alphabet) -> bool:
        """Numbers with an exponent only count where the value is free: nobody else may use one."""
        parts, facts = read_number(text, self.max_digits), self.facts(alternative)
        assert parts is not None
        if not facts.constrains_number:
            return parts.complete or any(d in a.bytes for d in DIGITS)
        if parts.exponent is not None or not self._draft_4_ok(parts, facts):
            return False
        if facts.enum is not None:
            return any(a.has(self._number_rest(parts, v)) for v in facts.numbers)
        if parts.fraction is None:
            return bool(parts.whole) or any(d in a.bytes for d in DIGITS)
        return not parts.fraction.strip(b"0") and (parts.fraction != b"" or a.has(b"0"))

    def _number_rest(self, parts: NumberText, value: Fraction) -> bytes | None:
        """The least that makes a beginning of a number equal `value`; None if nothing does."""
        whole, fraction = decimal_digits(value)
        if value != 0 and parts.negative != (value < 0):
            return None
        if parts.fraction is None:
            if not whole.startswith(parts.whole):
                return None
            return whole[len(parts.whole):] + (b"." + fraction if fraction else b"")
        padded = fraction or b"0"
        if parts.whole != whole or not padded.ljust(len(parts.fraction), b"0").startswith(parts.fraction):
            return None
        return padded[len(parts.fraction):]

    def _number_sat(self, facts: Facts, a: Alphabet) -> bool:
        if facts.enum is None:
            return any(d in a.bytes for d in DIGITS)
        return any(a.has(self._number_rest(NumberText(v < 0, b"", None, None), v))
                   and (v >= 0 or a.has(b"-")) for v in facts.numbers)

    def _string_can_finish(self, frame: Frame, alternative: Alternative, a: Alphabet) -> bool:
        facts, n = self.facts(alternative), len(frame.content)
        if not a.has(b'"'):
            return False
        if facts.enum is None:
            if frame.pending:
                n += 1
                if not self._char_can_end(frame.pending, a):
                    return False
            return facts.length_ok(n) if n >= facts.min_length else self._free_string_sat(facts, a)
        free = [f for f in (self.facts(e.what) for e in frame.entries) if f.enum is None]
        for value in facts.strings:
            spelled = literal(value)
            if spelled is None or not value.startswith(frame.content):
                continue
            if spelled.startswith(frame.text) and a.has(spelled[len(frame.text):]):
                return True
            if any(f.length_ok(len(value)) for f in free) and self._spellable(value[n:], frame.pending, a):
                return True
        return False

    def _string_sat(self, facts: Facts, a: Alphabet) -> bool:
        if facts.enum is None:
            return self._free_string_sat(facts, a)
        return any(a.has(literal(v)) or (a.loose and literal(v) is not None and self._spellable(v, b"", a))
                   for v in facts.strings)

    def _free_string_sat(self, facts: Facts, a: Alphabet) -> bool:
        return facts.length_ok(facts.min_length) and (facts.min_length == 0 or self._char_can_end(b"", a))

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

    # objects: `more` is what must still come

    def _closable(self, frame: Frame, entry: Entry) -> bool:
        if frame.kind == "object":
            return frame.seen.issuperset(self.object_rules(entry.what).required)
        rules = self.array_rules(entry.what)
        return frame.count >= rules.min_items and (rules.max_items is None or frame.count <= rules.max_items)

    def _object_can_finish(self, frame: Frame, entry: Entry, a: Alphabet) -> bool:
        rules, depth = self.object_rules(entry.what), frame.depth
        if frame.phase == "open":
            return (self._close_now(frame, entry, a) or a.has(self._gap_rest(frame, "first"))
                    and self._member(rules, frame.seen, entry.position, depth, a))
        if frame.phase == "comma":
            return a.has(self._gap_rest(frame, "next")) and self._member(
                rules, frame.seen, entry.position, depth, a)
        if frame.phase == "key":
            return self._key_can_finish(frame, entry, rules, a)
        if frame.phase == "after":
            return self._close_now(frame, entry, a) or (
                a.has(self._gap_rest(frame, "comma")) and a.has(b"," + self._required_gap("next", "comma", depth))
                and self._member(rules, frame.seen, entry.position, depth, a))
        gap = (self._gap_rest(frame, "value") if frame.phase == "value"
               else b":" + self._required_gap("value", "value", depth))
        return (a.has(gap) and self.satisfiable(rules.child(frame.key), a)
                and self._others(rules, frame.seen, entry.position, depth, a))

    def _close_now(self, frame: Frame, entry: Entry, a: Alphabet) -> bool:
        return (self._closable(frame, entry) and a.has(self._gap_rest(frame, "close"))
                and a.has(CLOSERS[frame.kind]))

    def _others(self, rules: ObjectRules, seen: frozenset[str], position: int, depth: int, a: Alphabet) -> bool:
        """After a member: whether all required names not yet seen can be written, and the object closed."""
        if not a.has(self._required_gap("close", "after", depth) + b"}"):
            return False
        missing = [n for n in rules.required if n not in seen]
        if any(rules.ordered and rules.order.index(n) < position for n in missing):
            return False
        return all(self._name_ok(rules, n, depth, a)
                   and a.has(b"," + self._required_gap("next", "comma", depth)) for n in missing)

    def _name_ok(self, rules: ObjectRules, name: str, depth: int, a: Alphabet) -> bool:
        """Whether a declared name can be written whole, with a value."""
        spelled = literal(name)
        return (spelled is not None and self._value_ok(rules.child(name), depth, a)
                and a.has(b'"' + spelled))

    def _value_ok(self, conjunction: Conjunction, depth: int, a: Alphabet) -> bool:
        return a.has(b":" + self._required_gap("value", "value", depth)) and self.satisfiable(conjunction, a)

    def _member(self, rules: ObjectRules, seen: frozenset[str], position: int, depth: int, a: Alphabet) -> bool:
        """At a key: whether some key can come, and the object then be closed."""
        for name in rules.order:
            after = rules.take(name, position)
            if (name not in seen and after is not None and self._name_ok(rules, name, depth, a)
                    and self._others(rules, seen | {name}, after, depth, a)):
                return True
        return a.has(b'"') and self._extra_key(rules, seen, position, None, depth, a)

    def _key_can_finish(self, frame: Frame, entry: Entry, rules: ObjectRules, a: Alphabet) -> bool:
        if not a.has(b'"'):
            return False
        for name in rules.order:
            spelled, after = literal(name), rules.take(name, entry.position)
            if (name not in frame.seen and after is not None and spelled is not None
                    and spelled.startswith(frame.text) and a.has(spelled[len(frame.text):])
                    and self._value_ok(rules.child(name), frame.depth, a)
                    and self._others(rules, frame.seen | {name}, after, frame.depth, a)):
                return True
        return self._extra_key(rules, frame.seen, entry.position, frame, frame.depth, a)

    def _extra_key(self, rules: ObjectRules, seen: frozenset[str], position: int, key: Frame | None,
                   depth: int, a: Alphabet) -> bool:
        """Whether the key begun in `key`, if any, can become one that is neither declared nor seen."""
        if not self._value_ok(rules.extra, depth, a):
            return False
        if rules.ordered:
            if any(n in rules.required for n in rules.order[position:]):
                return False
            position = len(rules.order)
        if not self._others(rules, seen, position, depth, a):
            return False
        pending = b"" if key is None else key.pending
        if pending and not self._char_can_end(pending, a):
            return False
        if self._char_can_end(b"", a):
            return True  # ever longer names: finitely many are taken
        # no character can be written whole: the name is what it is, or ends with the character begun
        taken, declared = seen | set(rules.order), frozenset() if key is None else self._declared(key)
        text, content = (b"", "") if key is None else (key.text, key.content)
        names = [(text, content)] if not pending else (
            (text + rest, content + char) for rest, char in self._char_endings(pending, a))
        return any(name not in taken and (name not in declared or spelled == literal(name))
                   for spelled, name in names)

    def _array_can_finish(self, frame: Frame, entry: Entry, a: Alphabet) -> bool:
        rules, depth = self.array_rules(entry.what), frame.depth
        if frame.phase in ("open", "after") and self._close_now(frame, entry, a):
            return True
        if frame.phase == "after":
            gap = self._gap_rest(frame, "comma")
            gap = None if gap is None else gap + b"," + self._required_gap("next", "comma", depth)
        else:
            gap = self._gap_rest(frame, "first" if frame.phase == "open" else "next")
        stop = max(rules.min_items, frame.count + 1)  # one more item, and as many as are wanted
        if rules.max_items is not None and stop > rules.max_items:
            return False
        if not a.has(gap) or not a.has(self._required_gap("close", "after", depth) + b"]"):
            return False
        if stop > frame.count + 1 and not a.has(b"," + self._required_gap("next", "comma", depth)):
            return False
        return all(self.satisfiable(c, a) for c in rules.children(frame.count, stop))

    # ---- satisfiability: least fixpoint ----

    def satisfiable(self, conjunction: Conjunction, a: Alphabet) -> bool:
        """Whether some value that fits the conjunction can be spelled in bytes of `a`."""
        if conjunction not in a.satisfiable:
            found, work = [], [conjunction]
            while work:
                c = work.pop()
                if c in a.satisfiable:
                    continue
                a.satisfiable[c] = False
                found.append(c)
                work.extend(self._children(c))
            changed = True
            while changed:
                changed = False
                for c in reversed(found):
                    if not a.satisfiable[c] and any(self._alternative_sat(x, a) for x in self.expand(c)):
                        a.satisfiable[c] = changed = True
        return a.satisfiable[conjunction]

    def _children(self, conjunction: Conjunction) -> Iterator[Conjunction]:
        for alternative in self.expand(conjunction):
            for o in self.openings(alternative, "object"):
                rules = self.object_rules(o)
                yield from rules.children.values()
                yield rules.extra
            for o in self.openings(alternative, "array"):
                yield from self.array_rules(o).prefix
                yield self.array_rules(o).rest

    def _alternative_sat(self, alternative: Alternative, a: Alphabet) -> bool:
        facts = self.facts(alternative)
        words = ((True, b"true"), (False, b"false"), (None, b"null"))
        if any(facts.word_ok(value) and a.has(word) for value, word in words):
            return True
        if facts.atoms & {"integer", "fraction"} and self._number_sat(facts, a):
            return True
        if "string" in facts.atoms and a.has(b'"') and self._string_sat(facts, a):
            return True
        return any(self._opening_sat(kind, o, a) for kind in ("object", "array")
                   for o in self.openings(alternative, kind))

    def _opening_sat(self, kind: str, o: Open, a: Alphabet) -> bool:
        """Whether an object or array that follows `o` can be written."""
        entry = Entry(0, 0, o)
        return a.has(b"{" if kind == "object" else b"[") and self._can_finish(
            Frame(kind, (entry,), None, "open", 1, static=(o,)), entry, a)

    # ---- reading the schema ----

    @staticmethod
    def _draft_of(schema: Any) -> str:
        uri = schema.get("$schema", "") if isinstance(schema, dict) else ""
        for mark, draft in (("draft-04", "4"), ("draft-06", "6"), ("draft-07", "7"), ("2019-09", "2019-09")):
            if mark in uri:
                return draft
        return "2020-12"

    def _node(self, schema: Any, key: Any = None) -> int:
        key = key or (id(schema) if isinstance(schema, dict) else ("boolean", bool(schema)))
        if key not in self._node_ids:
            self._node_ids[key] = len(self._nodes)
            self._nodes.append(schema)
        return self._node_ids[key]

    def _const_node(self, value: Any) -> int:
        return self._node({"enum": [value]}, ("const", canon(value), repr(value)))

    def _conjunction(self, schemas: Iterable[Any]) -> Conjunction:
        return tuple(dict.fromkeys(self._node(s) for s in schemas if s is not True))

    def expand(self, conjunction: Conjunction) -> list[Alternative]:
        """The alternatives of a conjunction, in text order."""
        if conjunction not in self._expanded:
            parts = [self._expand_node(n, ()) for n in conjunction]
            self._expanded[conjunction] = list(dict.fromkeys(self._join(c) for c in product(*parts)))
        return self._expanded[conjunction]

    @staticmethod
    def _join(parts: Iterable[Alternative]) -> Alternative:
        return tuple(dict.fromkeys(n for part in parts for n in part))

    def _expand_node(self, node: int, path: tuple[int, ...]) -> list[Alternative]:
        schema = self._nodes[node]
        if schema is True or schema is False:
            return [()] if schema else []
        if node in path:
            raise BadSchema("a reference leads back to itself without progress")
        path += (node,)
        if "$ref" in schema and self.draft in ("4", "6", "7"):
            return self._expand_node(self._resolve(schema["$ref"]), path)
        for keyword in schema:
            if keyword in BEYOND:
                raise Unsupported(keyword)
        parts: list[list[Alternative]] = [[(node,)]]
        for keyword, value in schema.items():
            if keyword == "$ref":
                parts.append(self._expand_node(self._resolve(value), path))
            elif keyword == "allOf":
                parts.extend(self._expand_node(self._node(s), path) for s in value)
            elif keyword == "anyOf":
                parts.append([x for s in value for x in self._expand_node(self._node(s), path)])
        return [self._join(c) for c in product(*parts)]

    def _resolve(self, reference: str) -> int:
        if not reference.startswith("#") or (reference != "#" and not reference.startswith("#/")):
            raise Unsupported(f"$ref {reference}")
        here: Any = self.schema
        for part in unquote(reference[1:]).split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            try:
                here = here[int(part)] if isinstance(here, list) else here[part]
            except (KeyError, IndexError, ValueError, TypeError):
                raise BadSchema(f"$ref {reference} leads nowhere") from None
        return self._node(here)

    def _known(self, keyword: str) -> bool:
        """Whether the draft knows a keyword that not all do."""
        return {"const": self.draft != "4", "prefixItems": self.draft == "2020-12",
                "additionalItems": self.draft != "2020-12"}[keyword]

    def facts(self, alternative: Alternative) -> Facts:
        if alternative not in self._facts:
            atoms, enum, low, high = ATOMS, None, 0, None
            pointed: set[Any] = set()  # numbers that some list writes with a point
            for schema in (self._nodes[n] for n in alternative):
                if "type" in schema:
                    names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
                    atoms &= {a for name in names
                              for a in (("integer", "fraction") if name == "number" else (name,))}
                lists = [schema["enum"]] if "enum" in schema else []
                if "const" in schema and self._known("const"):
                    lists.append([schema["const"]])
                for values in lists:
                    pointed |= {canon(v) for v in values if is_number(v) and "." in str(v)}
                    admitted = {canon(v) for v in values}
                    enum = [v for v in (values if enum is None else enum) if canon(v) in admitted]
                low = max(low, int(schema.get("minLength", 0)))
                if "maxLength" in schema:
                    high = int(schema["maxLength"]) if high is None else min(high, int(schema["maxLength"]))
            if enum is not None:
                enum = [v for v in enum if kinds(v) in atoms and self._writable(v)]
            self._facts[alternative] = Facts(frozenset(atoms), enum, low, high,
                                             any(canon(v) in pointed for v in enum or ()))
        return self._facts[alternative]

    def _writable(self, value: Any) -> bool:
        """Whether a scalar has a spelling at all: numbers that need more digits than allowed have none."""
        return not is_number(value) or self.max_digits is None or max(
            map(len, decimal_digits(number(value)))) <= self.max_digits

    def openings(self, alternative: Alternative, kind: str) -> list[Open]:
        """The alternative as an object or array: one for each enum value, else one."""
        facts = self.facts(alternative)
        if kind not in facts.atoms:
            return []
        if facts.enum is None:
            return [Open(alternative, None)]
        return [Open(alternative, self._const_node(v)) for v in facts.enum if kinds(v) == kind]

    def object_rules(self, o: Open) -> ObjectRules:
        if o not in self._object_rules:
            schemas = [self._nodes[n] for n in o.nodes]
            value = None if o.const is None else self._nodes[o.const]["enum"][0]
            order = [name for s in schemas for name in s.get("properties", {})] + list(value or {})
            required = [name for s in schemas for name in s.get("required", [])] + list(value or {})
            order, required = list(dict.fromkeys(order + required)), list(dict.fromkeys(required))
            declared = {name for s in schemas for name in s.get("properties", {})}
            closes = (self.closed and any("properties" in s for s in schemas)
                      and not any("additionalProperties" in s for s in schemas))

            def child(name: str | None) -> Conjunction:
                parts: list[Any] = [s["properties"][name] if name in s.get("properties", {})
                                    else s.get("additionalProperties", True) for s in schemas]
                if closes and name not in declared:
                    parts.append(False)
                if value is not None and name not in value:
                    parts.append(False)
                tail = () if value is None or name not in value else (self._const_node(value[name]),)
                return self._join([self._conjunction(parts), tail])

            self._object_rules[o] = ObjectRules(order, required, {n: child(n) for n in order}, child(None),
                                                self.ordered)
        return self._object_rules[o]

    def array_rules(self, o: Open) -> ArrayRules:
        if o not in self._array_rules:
            low, high = 0, None
            lists: list[tuple[list[Any], Any]] = []  # schemas of the first items, schema of the rest
            for schema in (self._nodes[n] for n in o.nodes):
                low = max(low, int(schema.get("minItems", 0)))
                if "maxItems" in schema:
                    high = int(schema["maxItems"]) if high is None else min(high, int(schema["maxItems"]))
                if isinstance(schema.get("items"), list) and self._known("additionalItems"):
                    lists.append((schema["items"], schema.get("additionalItems", True)))
                elif "prefixItems" in schema and self._known("prefixItems"):
                    lists.append((schema["prefixItems"], schema.get("items", True)))
                else:
                    lists.append(([], schema.get("items", True)))
            values = None if o.const is None else self._nodes[o.const]["enum"][0]
            if values is not None:
                low, high = max(low, len(values)), len(values) if high is None else min(high, len(values))

            def child(i: int) -> Conjunction:
                parts = [first[i] if i < len(first) else rest for first, rest in lists]
                if values is None or i >= len(values):
                    return self._conjunction(parts)
                return self._join([self._conjunction(parts), (self._const_node(values[i]),)])

            n = max([len(first) for first, _ in lists] + [len(values or [])])
            self._array_rules[o] = ArrayRules([child(i) for i in range(n)], child(n), low, high)
        return self._array_rules[o]
