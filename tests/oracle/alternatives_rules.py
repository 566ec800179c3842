"""What an alternative asks of a value, and the frames that alternatives move in."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from .text import is_number, number

BEYOND = frozenset({
    "oneOf", "not", "if", "then", "else", "pattern", "format", "patternProperties", "propertyNames",
    "minProperties", "maxProperties", "dependencies", "dependentRequired", "dependentSchemas", "contains",
    "minContains", "maxContains", "uniqueItems", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "multipleOf", "unevaluatedProperties", "unevaluatedItems", "$anchor",
    "$dynamicAnchor", "$dynamicRef", "$recursiveRef", "$recursiveAnchor", "$vocabulary"})

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


class Entry(NamedTuple):
    """A live alternative in a frame; `serves` is the id of its entry in the frame below."""

    id: int
    serves: int
    what: Any           # Conjunction (root), Alternative (scalars) or Open
    position: int = 0   # in the order of properties


@dataclass(frozen=True, eq=False)
class Frame:
    """One level of the stack. Never changed, except for `ok`, which is a cache."""

    doubtful = False
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
