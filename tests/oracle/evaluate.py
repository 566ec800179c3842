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
    longest: int        # counts beyond this are alike
    unique: bool        # items are compared
    most: int           # so many values of a type are looked at: one, or MOST where they are compared


class Evaluator:
    """Runs nodes on what is seen of a value."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self._places: dict[Any, Place] = {}

    def place(self, roots: tuple[int, ...], most: int = 1) -> Place:
        if (roots, most) not in self._places:
            closure = self.nodes.closure(*roots)
            nodes = [self.nodes[n] for n in closure]
            limits = [0, *(len(n.prefix) for n in nodes)]
            for n in nodes:
                limits += [n.min_members, n.min_items, *(m + 1 for m in (n.max_members, n.max_items) if m is not None)]
            unique = any(n.unique for n in nodes)
            self._places[roots, most] = Place(roots, closure, max(limits), unique, most)
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
        memo: dict[int, Any] = {}
        return frozenset(n for n in place.roots if self.run(n, seen, memo) is not None)

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
            return (node.min_length <= len(seen.value) and (node.max_length is None or len(seen.value) <= node.max_length)
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
        bad, left = set(seen.bad), set(seen.left)
        accepts = t | {TRUE}
        for n in place.closure:
            node = self.nodes[n]
            if not accepts.issuperset(self.own_member(node, name)) or (
                    node.names is not None and self.evaluated(node.names, Scalar("string", name)) is None):
                bad.add(n)
            if node.unevaluated_members is not None and node.unevaluated_members not in accepts:
                left.add((n, frozenset(m for m in place.closure if self.own_member(self.nodes[m], name))))
        present = seen.present | {name} if name in self.asked_names(place) else seen.present
        return Members(frozenset(bad), present, min(seen.n + 1, place.longest), frozenset(left), True)

    def asked_names(self, place: Place) -> set[str]:
        """Names whose presence some node asks for."""
        found: set[str] = set()
        for n in place.closure:
            found.update(self.nodes[n].required)
            for name, required, _ in self.nodes[n].dependents:
                found.update([name, *required])
        return found

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
        bad, left, contained = set(seen.bad), set(seen.left), dict(seen.contained)
        accepts, i = t | {TRUE}, seen.n
        for n in place.closure:
            node = self.nodes[n]
            if self.own_item(node, i) not in accepts | {None}:
                bad.add(n)
            if node.contains in accepts:
                contained[n] = min(contained.get(n, 0) + 1, max(node.min_contains, (node.max_contains or 0) + 1))
            if node.unevaluated_items is not None and node.unevaluated_items not in accepts:
                left.add((n, frozenset(m for m in place.closure if self._evaluates_item(self.nodes[m], i, accepts))))
        return Items(frozenset(bad), min(i + 1, place.longest), tuple(sorted(contained.items())), frozenset(left),
                     seen.twice, seen.used, True)

    def _evaluates_item(self, node: Node, i: int, accepts: frozenset[int]) -> bool:
        return self.own_item(node, i) is not None or (self.nodes.draft == "2020-12" and node.contains in accepts)
