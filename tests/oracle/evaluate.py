"""Whether a value is valid: JSON Schema's rules written out, on what a node may ask of a value.

An object is seen through a `Members`, an array through an `Items`: not the members themselves,
but what they add up to for every node in place. So one rule serves whole values and values of
which only the kinds of their parts are known.

A *type* of a part is the set of nodes, of those that bind it, that accept it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from .nodes import FALSE, TRUE, Node, Nodes
from .text import canon, is_number, number

Type = frozenset[int]
MOST = 8    # values of a type that are looked at, where items are compared
ALL = -1    # in a set of evaluated nodes: unevaluated* has evaluated everything


class Scalar(NamedTuple):
    kind: str                   # null, boolean, number, string
    value: Any
    pointed: bool = False       # numbers of draft 4: written with a point or an exponent
    twin: bool = False          # a string that is like this one, but equal to no string of the schema
    undivided: bool = False     # a number that is a multiple of everything


class Members(NamedTuple):
    """What the members of an object add up to."""

    bad: frozenset[int] = frozenset()                           # nodes with a member that they refuse
    present: frozenset[str] = frozenset()                       # of the names that some node asks for
    n: int = 0                                                  # no more than anybody counts
    left: frozenset[tuple[int, frozenset[int]]] = frozenset()   # unevaluatedProperties of a node refuses a
    added: bool = False                                         # member that those nodes would evaluate
    kind = "object"


class Items(NamedTuple):
    """What the items of an array add up to."""

    bad: frozenset[int] = frozenset()
    n: int = 0
    contained: tuple[tuple[int, int], ...] = ()                 # by node, no more than it counts
    left: frozenset[tuple[int, frozenset[int]]] = frozenset()
    twice: bool = False                                         # two items are equal
    used: Any = None                                            # see arrays.py
    added: bool = False
    kind = "array"


@dataclass(eq=False)
class Place:
    """The nodes that bind the values of a place."""

    roots: tuple[int, ...]
    closure: list[int]
    unique: bool        # items are compared
    most: int           # so many values of a type are looked at: one, or MOST where they are compared


class Evaluator:
    """Runs nodes on what is seen of a value."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self._places: dict[Any, Place] = {}
        self._added: dict[Any, Any] = {}    # what a part adds
        self._types: dict[Any, Type] = {}
        self._alive: dict[Any, Any] = {}    # what still asks, after some have refused

    def place(self, roots: tuple[int, ...], most: int = 1) -> Place:
        if (roots, most) not in self._places:
            closure = self.nodes.closure(*roots)
            nodes = [self.nodes[n] for n in closure]
            self._places[roots, most] = Place(roots, closure, any(n.unique for n in nodes), most)
        return self._places[roots, most]

    def refuses(self, place: Place, kind: str) -> bool:
        """Whether it is plain that all roots refuse every value of a kind: a short cut, no more."""

        def says(n: int) -> bool:
            node = self.nodes[n]
            return (node.types is not None and kind not in node.types) or (
                node.enum is not None and not any((self.nodes[e].equals or (kind,))[0] == kind for e in node.enum)
            ) or any(says(m) for m in node.also if m not in (TRUE, FALSE))

        return all(says(n) for n in place.roots)

    def type_of(self, place: Place, seen: Any) -> Type:
        key = (place, seen)
        if key not in self._types:
            memo: dict[int, Any] = {}
            self._types[key] = frozenset(n for n in place.roots if self.run(n, seen, memo) is not None)
        return self._types[key]

    def evaluated(self, n: int, seen: Any) -> frozenset[int] | None:
        return self.run(n, seen, {})

    def run(self, n: int, seen: Any, memo: dict[int, Any]) -> frozenset[int] | None:
        """The nodes that evaluate parts of the value, where it is valid; None where it is not."""
        if n not in memo:
            memo[n] = None if n == FALSE else frozenset() if n == TRUE else self._run(n, self.nodes[n], seen, memo)
        return memo[n]

    def _run(self, n: int, node: Node, seen: Any, memo: dict[int, Any]) -> frozenset[int] | None:
        if node.equals is not None and seen.kind in ("null", "boolean", "number", "string"):
            return frozenset({n}) if self._equals(node.equals, seen) else None
        if node.equals is not None and node.equals[0] != seen.kind:
            return None
        if node.types is not None and not any(self._is(seen, t) for t in node.types):
            return None
        if not self._own(n, node, seen):
            return None
        found = {n}
        if node.enum is not None:
            equal = [r for r in (self.run(e, seen, memo) for e in node.enum) if r is not None]
            if not equal:
                return None
            found |= equal[0]
        for part in node.also:
            r = self.run(part, seen, memo)
            if r is None:
                return None
            found |= r
        for branches, exactly in ((node.any_of, False), (node.one_of, True)):
            if branches is not None:
                met = [r for r in (self.run(b, seen, memo) for b in branches) if r is not None]
                if not met or (exactly and len(met) > 1):
                    return None
                found = found.union(*met)
        if node.no is not None and self.run(node.no, seen, memo) is not None:
            return None
        due = []
        if node.when is not None:
            r = self.run(node.when, seen, memo)
            found |= r or frozenset()
            due.append(node.otherwise if r is None else node.then)
        if seen.kind == "object":
            for name, required, schema in node.dependents:
                if name in seen.present:
                    if not seen.present.issuperset(required):
                        return None
                    due.append(schema)
        for part in due:
            r = self.run(part, seen, memo)
            if r is None:
                return None
            found |= r
        unevaluated = {"object": node.unevaluated_members, "array": node.unevaluated_items}.get(seen.kind)
        if unevaluated is not None:
            if ALL not in found and not all(by & found for m, by in seen.left if m == n):
                return None
            found.add(ALL)
        return frozenset(found)

    @staticmethod
    def _equals(equals: Any, seen: Scalar) -> bool:
        if seen.kind == "number":
            return bool(equals == ("number", seen.value))
        if seen.kind == "string":
            return not seen.twin and bool(equals == ("string", seen.value))
        return bool(equals == ("word", seen.value))

    def _is(self, seen: Any, name: str) -> bool:
        if name == "integer":
            return seen.kind == "number" and seen.value.denominator == 1 and not (
                seen.pointed and self.nodes.draft == "4")
        return bool(seen.kind == name)

    def _own(self, n: int, node: Node, seen: Any) -> bool:
        """The keywords that speak of the value itself, and of its parts one by one."""
        if seen.kind == "number":
            v: Fraction = seen.value
            return all({">=": v >= b, "<=": v <= b, ">": v > b, "<": v < b}[sign] for sign, b in node.bounds) and all(
                seen.undivided or (v / d).denominator == 1 for d in node.divisors)
        if seen.kind == "string":
            n_chars = len(seen.value)
            return (node.min_length <= n_chars and (node.max_length is None or n_chars <= node.max_length)
                    and all(p.matches(seen.value) for p in node.patterns))
        if seen.kind == "object":
            return (n not in seen.bad and seen.present.issuperset(node.required) and node.min_members <= seen.n
                    and (node.max_members is None or seen.n <= node.max_members))
        if seen.kind == "array":
            if node.contains is not None:
                count = dict(seen.contained).get(n, 0)
                if count < node.min_contains or (node.max_contains is not None and count > node.max_contains):
                    return False
            return (n not in seen.bad and node.min_items <= seen.n and not (node.unique and seen.twice)
                    and (node.max_items is None or seen.n <= node.max_items))
        return True

    # ---- parts ----

    def own_member(self, node: Node, name: str) -> list[int]:
        """Nodes that `node` holds the member against; empty: it does not speak of it."""
        found = [node.properties[name]] if name in node.properties else []
        found += [schema for p, schema in node.pattern_properties if p.matches(name)]
        if not found and node.additional is not None:
            found = [node.additional]
        return found

    def member_place(self, place: Place, name: str) -> Place:
        """The nodes that bind member `name`."""
        found: set[int] = set()
        for n in place.closure:
            node = self.nodes[n]
            found.update(self.own_member(node, name))
            if node.unevaluated_members is not None:
                found.add(node.unevaluated_members)
        return self.place(tuple(sorted(found - {TRUE, FALSE})), place.most)

    def add_member(self, place: Place, seen: Members, name: str, t: Type) -> Members:
        if (place, name, t) not in self._added:
            self._added[place, name, t] = self._member(place, name, t)
        bad, left, asked = self._added[place, name, t]
        return self.plain(place, Members(seen.bad | bad, seen.present | asked, seen.n + 1, seen.left | left, True))

    def _member(self, place: Place, name: str, t: Type) -> Any:
        """What a member adds: nodes that refuse it, that leave it unevaluated, and its name if somebody asks for it."""
        bad, left = set(), set()
        accepts = t | {TRUE}
        for n in place.closure:
            node = self.nodes[n]
            if not accepts.issuperset(self.own_member(node, name)) or (
                    node.names is not None and self.evaluated(node.names, Scalar("string", name)) is None):
                bad.add(n)
            if node.unevaluated_members is not None and node.unevaluated_members not in accepts:
                left.add((n, frozenset(m for m in place.closure if self._evaluates_member(self.nodes[m], name))))
        return frozenset(bad), frozenset(left), frozenset({name}) & self.asked_names(place.closure)

    def asked_names(self, among: Any) -> set[str]:
        """Names whose presence some node asks for."""
        found: set[str] = set()
        for n in among:
            found.update(self.nodes[n].required)
            for name, required, _ in self.nodes[n].dependents:
                found.update([name, *required])
        return found

    def empty(self, place: Place, kind: str) -> Any:
        """An object or array without parts. Nodes of other types have refused it already."""
        bad = {n for n in place.closure for node in [self.nodes[n]]
               if (node.types is not None and kind not in node.types) or (node.equals or (kind,))[0] != kind}
        return self.plain(place, (Members if kind == "object" else Items)(frozenset(bad)))

    def plain(self, place: Place, seen: Any) -> Any:
        """Equal for sums that are alike: what asks through nodes that have refused is left out."""
        if (place, seen.bad) not in self._alive:
            self._alive[place, seen.bad] = self._ask(place, seen.bad)
        alive, bad, asked, longest, unique = self._alive[place, seen.bad]
        left = frozenset((n, by & alive) for n, by in seen.left if n in alive)
        if isinstance(seen, Members):
            return Members(bad, seen.present & asked, min(seen.n, longest), left, seen.added)
        contained = tuple((n, count) for n, count in seen.contained if n in alive)
        used = seen.used if unique else None
        return Items(bad, min(seen.n, longest), contained, left, seen.twice or not unique, used, seen.added)

    def _ask(self, place: Place, bad: frozenset[int]) -> Any:
        """Nodes that still ask, those that have refused and are asked, and what the former look at."""
        alive: set[int] = set()
        refused: set[int] = set()
        work = list(place.roots)
        while work:
            n = work.pop()
            if n in bad:
                refused.add(n)
            elif n not in alive:
                alive.add(n)
                work.extend(self.nodes[n].in_place())
        limits = [0]
        for node in (self.nodes[n] for n in alive):
            limits += [len(node.prefix), node.min_members, node.min_items]
            limits += [m + 1 for m in (node.max_members, node.max_items) if m is not None]
        return (frozenset(alive), frozenset(refused), frozenset(self.asked_names(alive)), max(limits),
                any(self.nodes[n].unique for n in alive))

    def own_item(self, node: Node, i: int) -> int | None:
        return node.prefix[i] if i < len(node.prefix) else node.items

    def item_place(self, place: Place, i: int) -> Place:
        """The nodes that bind item i. Where items are compared, those of all items: one measure for all."""
        found: set[int] = set()
        for n in place.closure:
            node = self.nodes[n]
            found.update([*node.prefix, node.items] if place.unique else [self.own_item(node, i)])  # type: ignore
            found.update([node.contains, node.unevaluated_items])  # type: ignore
        return self.place(tuple(sorted(found - {None, TRUE, FALSE})), MOST if place.unique else place.most)  # type: ignore

    def add_item(self, place: Place, seen: Items, t: Type) -> Items:
        if (place, seen.n, t) not in self._added:
            self._added[place, seen.n, t] = self._item(place, seen.n, t)
        bad, left, holders = self._added[place, seen.n, t]
        contained = dict(seen.contained)
        for n, most in holders:
            contained[n] = min(contained.get(n, 0) + 1, most)
        return self.plain(place, Items(seen.bad | bad, seen.n + 1, tuple(sorted(contained.items())), seen.left | left,
                                       seen.twice, seen.used, True))

    def _item(self, place: Place, i: int, t: Type) -> Any:
        """What an item adds: nodes that refuse it, that leave it unevaluated, and that count it, with how far."""
        bad, left, holders = set(), set(), []
        accepts = t | {TRUE}
        for n in place.closure:
            node = self.nodes[n]
            if self.own_item(node, i) not in accepts | {None}:
                bad.add(n)
            if node.contains in accepts:
                holders.append((n, max(node.min_contains, (node.max_contains or 0) + 1)))
            if node.unevaluated_items is not None and node.unevaluated_items not in accepts:
                left.add((n, frozenset(m for m in place.closure if self._evaluates_item(self.nodes[m], i, accepts))))
        return frozenset(bad), frozenset(left), holders

    def _evaluates_member(self, node: Node, name: str) -> bool:
        return node.equals is None and bool(self.own_member(node, name))    # enum and const evaluate nothing

    def _evaluates_item(self, node: Node, i: int, accepts: frozenset[int]) -> bool:
        return node.equals is None and (self.own_item(node, i) is not None or (
            self.nodes.draft == "2020-12" and node.contains in accepts))

    # ---- whole values ----

    def whole(self, place: Place, value: Any) -> Type:
        """The type of a whole JSON value; numbers are exact."""
        if isinstance(value, dict):
            seen: Any = self.empty(place, "object")
            for name, v in value.items():
                seen = self.add_member(place, seen, name, self.whole(self.member_place(place, name), v))
        elif isinstance(value, list):
            seen, items = self.empty(place, "array"), [canon(v) for v in value]
            for v in value:
                seen = self.add_item(place, seen, self.whole(self.item_place(place, seen.n), v))
            seen = seen._replace(twice=len(set(items)) < len(items))
        elif is_number(value):
            seen = Scalar("number", number(value), not isinstance(value, int))
        else:
            seen = Scalar({str: "string", bool: "boolean"}.get(type(value), "null"), value)
        return self.type_of(place, seen)


def valid(schema: Any, value: Any, draft: str = "2020-12", assert_formats: bool = True) -> bool:
    """Whether a value is valid, by the rules of this file alone."""
    nodes = Nodes(schema, draft, assert_formats)
    rules = Evaluator(nodes)
    if nodes.root in (TRUE, FALSE):
        return nodes.root == TRUE
    return nodes.root in rules.whole(rules.place((nodes.root,)), value)
