"""Which values exist: for every place the types of all values that fit, and some values of each.

A *table* maps a type to values, in canonical form, of that type. A table holds up to `most`
values of a type; fewer are all there are. Where nothing compares items, one is enough.

Objects and arrays are searched by what their parts add up to (`Members`, `Items`), adding one
part at a time. Tables of places that contain each other are a least fixpoint.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Iterator

from .base import Alphabet, Undecided
from .evaluate import MOST, Evaluator, Items, Members, Place, Scalar, Type
from .nodes import Nodes
from .numbers import Measures, Numbers
from .strings import Questions, Strings
from .text import NumberText, literal

Table = dict[Type, list[Any]]
WORDS = ((None, b"null"), (True, b"true"), (False, b"false"))


def merge(into: dict[Any, list[Any]], key: Any, values: Iterator[Any] | list[Any], most: int) -> bool:
    """Add values under the key, up to `most`; whether anything was new."""
    new = key not in into
    have = into.setdefault(key, [])
    for v in values:
        if len(have) >= most:
            break
        if v not in have:
            have.append(v)
            new = True
    return new


class Values(Strings, Numbers):
    """Tables of places."""

    nodes: Nodes
    rules: Evaluator

    work = 400_000  # parts that one oracle may add, in all

    def spend(self) -> None:
        self.work -= 1
        if self.work < 0:
            raise Undecided("too much work")

    # ---- scalars ----

    def string_questions(self, place: Place) -> Questions:
        nodes = [self.nodes[n] for n in place.closure]
        lengths = [0, *(n.min_length for n in nodes), *(n.max_length + 1 for n in nodes if n.max_length is not None)]
        constants = frozenset(n.equals[1] for n in nodes if n.equals is not None and n.equals[0] == "string")
        patterns = dict.fromkeys(p for n in nodes for p in n.patterns)
        return Questions(tuple(patterns), max(lengths), constants)

    def measures(self, place: Place, max_digits: int | None) -> Measures:
        nodes = [self.nodes[n] for n in place.closure]
        constants = {n.equals[1] for n in nodes if n.equals is not None and n.equals[0] == "number"}
        return Measures.of(constants | {v for n in nodes for _, v in n.bounds}, {d for n in nodes for d in n.divisors},
                           max_digits)

    def word_type(self, place: Place, value: Any) -> Type:
        return self.rules.type_of(place, Scalar("null" if value is None else "boolean", value))

    def string_type(self, place: Place, text: str, twin: bool = False) -> Type:
        return self.rules.type_of(place, Scalar("string", text, twin=twin))

    def number_type(self, place: Place, value: Fraction, pointed: bool, undivided: bool = False) -> Type:
        return self.rules.type_of(place, Scalar("number", value, pointed, undivided=undivided))

    def strings_from(self, place: Place, begun: tuple[Any, str, bytes], text: bytes, a: Alphabet,
                     free: Any) -> Table:
        """Strings that begin so. A string of the schema may be escaped only if `free` says so."""
        asked = self.string_questions(place)
        if not a.has(b'"'):
            return {}

        def kind(s: str) -> Any:
            return (s if s in asked.constants else None), self.string_type(place, s)

        table: Table = {}
        for (constant, t), texts in self.reach(asked, begun, a, place.most, kind).items():
            if constant is None or free(constant):
                merge(table, t, [("string", s) for s in texts], place.most)
        for s in self.literals(asked.constants, text, a):
            merge(table, self.string_type(place, s), [("string", s)], place.most)
        return table

    def numbers_from(self, place: Place, text: bytes, a: Alphabet,
                     undivided: bool = False, short: bool = True) -> dict[tuple[Type, bool], list[Fraction]]:
        """Numbers that begin so, by type and whether they are whole.

        `undivided`: with no regard to divisors; `short`: of no more than `max_digits`.
        """

        def kind(parts: NumberText) -> tuple[Type, bool]:
            t = self.number_type(place, parts.value, parts.fraction is not None, undivided)
            return t, parts.value.denominator == 1

        max_digits = self.max_digits if short else None
        return self.number_reach(self.measures(place, max_digits), text, a, place.most, kind, max_digits)

    def scalars(self, place: Place, a: Alphabet) -> Table:
        table: Table = {}
        for value, word in WORDS:
            if a.has(word):
                merge(table, self.word_type(place, value), [("word", value)], place.most)
        for (t, _), numbers in self.numbers_from(place, b"", a).items():
            merge(table, t, [("number", v) for v in numbers], place.most)
        asked = self.string_questions(place)

        def free(constant: str) -> bool:
            return a.loose or self.string_type(place, constant) == self.string_type(place, constant, True)

        for t, strings in self.strings_from(place, (asked.start(), "", b""), b"", a, free).items():
            merge(table, t, strings, place.most)
        return table

    # ---- tables ----

    def table(self, place: Place, a: Alphabet) -> Table:
        """The types of all values of a place that can be spelled in bytes of `a`."""
        if ("solved", place) not in a.satisfiable:
            known: dict[Place, Table] = {place: {}}
            a.satisfiable["solving"], a.satisfiable["looked"] = known, {}
            looked: dict[Place, dict[Place, int]] = {}  # tables that one came from, and how large they were
            changed = True
            while changed:
                changed = False
                for p in reversed(list(known)):
                    if p in looked and all(self.size(known[c]) == n for c, n in looked[p].items()):
                        continue
                    n_known = len(known)
                    if p not in looked:
                        known[p].update(self.scalars(p, a))
                        changed = True
                    a.satisfiable["looked"] = looked[p] = {}
                    if len(known[p]) < 2 ** len(p.roots) or any(len(v) < p.most for v in known[p].values()):
                        for table in (self.objects(p, a), self.arrays(p, a)):
                            for t, values in table.items():
                                changed |= merge(known[p], t, values, p.most)
                    changed |= len(known) > n_known
            del a.satisfiable["solving"]
            for p, table in known.items():
                a.satisfiable["solved", p] = table
        found: Table = a.satisfiable["solved", place]
        return found

    def part_table(self, place: Place, a: Alphabet) -> Table:
        """While tables are being solved: what is known by now."""
        if ("solved", place) in a.satisfiable or "solving" not in a.satisfiable:
            return self.table(place, a)
        known: Table = a.satisfiable["solving"].setdefault(place, {})
        a.satisfiable["looked"].setdefault(place, self.size(known))
        return known

    @staticmethod
    def size(table: Table) -> int:
        return sum(1 + len(values) for values in table.values())

    def objects(self, place: Place, a: Alphabet) -> Table:
        if not a.has(b"{"):
            return {}
        if place.most == 1 and self.rules.refuses(place, "object"):
            return {frozenset(): [("object", frozenset())]} if a.has(b"}") else {}
        none: Members = self.rules.empty(place, "object")
        sums: dict[Members, list[Any]] = {none: [frozenset()]}
        table: Table = {self.rules.type_of(place, none): [("object", frozenset())]} if a.has(b"}") else {}
        if a.has(self._required_gap("first", "open", 2)):
            more = self.more_members(place, sums, frozenset(), 0, a, 2, self.first_only(a, 2))
            for t, values in self.whole_objects(place, more, a, 2, True).items():
                merge(table, t, values, place.most)
        return table

    def arrays(self, place: Place, a: Alphabet) -> Table:
        if not a.has(b"["):
            return {}
        if place.most == 1 and self.rules.refuses(place, "array"):
            return {frozenset(): [("array", ())]} if a.has(b"]") else {}
        none: Items = self.rules.empty(place, "array")
        sums: dict[Items, list[Any]] = {none: [()]}
        table: Table = {self.rules.type_of(place, none): [("array", ())]} if a.has(b"]") else {}
        if a.has(self._required_gap("first", "open", 2)):
            more = self.more_items(place, sums, a, self.first_only(a, 2))
            for t, values in self.whole_arrays(place, more, a, 2, True).items():
                merge(table, t, values, place.most)
        return table

    def first_only(self, a: Alphabet, depth: int) -> bool:
        """Whether nothing can follow a first part, for lack of a comma."""
        return not a.has(b"," + self._required_gap("next", "comma", depth))

    # ---- objects ----

    def whole_objects(self, place: Place, sums: dict[Members, list[Any]], a: Alphabet, depth: int,
                      added: bool) -> Table:
        """Close them; `added`: only those that got a member."""
        table: Table = {}
        if a.has(self._required_gap("close", "after", depth) + b"}"):
            for seen, samples in sums.items():
                if seen.added or not added:
                    merge(table, self.rules.type_of(place, seen), [("object", s) for s in samples], place.most)
        return table

    def with_member(self, place: Place, sums: dict[Members, list[Any]], names: list[str], table: Table,
                    into: dict[Members, list[Any]]) -> bool:
        """Add to each a member of one of the names, which are alike, with each type of value."""
        new = False
        for seen, samples in list(sums.items()):
            for t, values in table.items():
                after = self.rules.add_member(place, seen, names[0], t)
                new |= merge(into, after, (s | {(name, v)} for s in samples for name in names
                                           if not any(name == n for n, _ in s) for v in values), place.most)
                self.spend()
        return new

    def more_members(self, place: Place, sums: dict[Members, list[Any]], taken: frozenset[str], position: int,
                     a: Alphabet, depth: int, one: bool) -> dict[Members, list[Any]]:
        """Any further members; `one`: at most one."""
        if not a.has(b'"') or not a.has(b":" + self._required_gap("value", "value", depth)):
            return sums
        found = {seen: list(samples) for seen, samples in sums.items()}
        base = {seen: list(samples) for seen, samples in sums.items()}
        order = self.order(place) if self.ordered else []
        for name in self.mentioned(place):
            if name not in taken and self.name_writable(name, a) and not (
                    name in order and order.index(name) < position):
                before = base if one else {seen: list(samples) for seen, samples in found.items()}
                self.with_member(place, before, [name], self.part_table(self.rules.member_place(place, name), a), found)
        endless = []
        for names in self.other_names(place, taken, a):
            if len(names) < self.n_names(taken):
                for name in names:
                    before = base if one else {seen: list(samples) for seen, samples in found.items()}
                    self.with_member(place, before, [name],
                                     self.part_table(self.rules.member_place(place, name), a), found)
            else:
                endless.append(names)
        changed = bool(endless)
        while changed:
            changed = False
            for names in endless:
                before = base if one else found
                table = self.part_table(self.rules.member_place(place, names[0]), a)
                changed |= self.with_member(place, before, names, table, found) and not one
        return found

    def n_names(self, taken: frozenset[str]) -> int:
        """So many names of a class are as good as endless ones."""
        return len(taken) + MOST + 12

    def mentioned(self, place: Place) -> list[str]:
        """Names that the nodes of a place speak of, in the order of `property_order`."""
        nodes = [self.nodes[n] for n in place.closure]
        names = [name for n in nodes for name in n.properties]
        names += [name for n in nodes for name in n.required]
        names += [name for n in nodes for d, required, _ in n.dependents for name in (d, *required)]
        return list(dict.fromkeys([*self.order(place), *names])) if self.ordered else list(dict.fromkeys(names))

    def order(self, place: Place) -> list[str]:
        """Of `property_order="schema"`, where there is only one."""
        nodes = [self.nodes[n] for n in place.closure]
        if any(n.chooses() for n in nodes) and any(n.properties or n.required for n in nodes):
            raise Undecided("branches may have orders of their own")
        places: dict[int, None] = {}
        work = list(place.roots)
        while work:     # siblings, then $ref and allOf in text order
            n = work.pop(0)
            if n not in places:
                places[n] = None
                work = list(self.nodes[n].in_place()) + work
        names = [name for n in places for name in self.nodes[n].properties]
        return list(dict.fromkeys(names + [name for n in places for name in self.nodes[n].required]))

    def name_writable(self, name: str, a: Alphabet) -> bool:
        spelled = literal(name)
        return spelled is not None and (a.has(spelled) or (a.loose and self._spellable(name, b"", a)))

    def name_questions(self, place: Place) -> Questions:
        nodes = [self.nodes[n] for n in place.closure]
        patterns = dict.fromkeys(p for n in nodes for p, _ in n.pattern_properties)
        longest, constants = 0, frozenset(self.mentioned(place))
        for n in nodes:
            if n.names is not None:
                asked = self.string_questions(self.rules.place((n.names,)))
                patterns.update(dict.fromkeys(asked.patterns))
                longest, constants = max(longest, asked.longest), constants | asked.constants
        return Questions(tuple(patterns), longest, constants)

    def names_from(self, place: Place, begun: tuple[Any, str, bytes], taken: frozenset[str],
                   a: Alphabet, limit: int, text: bytes = b"") -> dict[Any, list[str]]:
        """Names that no node mentions and that begin so, by class: `limit` at most, with those taken."""
        asked, mentioned = self.name_questions(place), set(self.mentioned(place))
        nodes = [self.nodes[n] for n in place.closure]

        def kind(name: str) -> Any:
            own = tuple(tuple(self.rules.own_member(n, name)) for n in nodes)
            free = a.loose or self.free_name(place, name)
            return name in mentioned, own, self.fitting_names(place, name), free or name

        found: dict[Any, list[str]] = {}
        for (known, own, fits, free), names in self.reach(asked, begun, a, limit, kind).items():
            if free is True:
                merge(found, (known, own, fits), names, limit)
            else:
                merge(found, (known, own, fits), self.literals([free], text, a), limit)
        fresh = {k: [n for n in names if n not in taken] for k, names in found.items() if not k[0]}
        return {k: names for k, names in fresh.items() if names}

    def fitting_names(self, place: Place, name: str, twin: bool = False) -> tuple[bool, ...]:
        asked = [self.nodes[n].names for n in place.closure]
        seen = Scalar("string", name, twin=twin)
        return tuple(n is None or self.rules.evaluated(n, seen) is not None for n in asked)

    def free_name(self, place: Place, name: str) -> bool:
        """Whether a name may be escaped: it does not matter that `propertyNames` compares with it."""
        return self.fitting_names(place, name) == self.fitting_names(place, name, True)

    def other_names(self, place: Place, taken: frozenset[str], a: Alphabet) -> list[list[str]]:
        key = ("names", place, taken)
        if key not in a.satisfiable:
            begun = (self.name_questions(place).start(), "", b"")
            found = self.names_from(place, begun, taken, a, self.n_names(taken) + len(taken))
            a.satisfiable[key] = list(found.values())
        classes: list[list[str]] = a.satisfiable[key]
        return classes

    # ---- arrays ----

    def whole_arrays(self, place: Place, sums: dict[Items, list[Any]], a: Alphabet, depth: int, added: bool) -> Table:
        table: Table = {}
        if a.has(self._required_gap("close", "after", depth) + b"]"):
            for seen, samples in sums.items():
                if seen.added or not added:
                    merge(table, self.rules.type_of(place, seen),
                          [("array", tuple(v for v, _ in s)) for s in samples], place.most)
        return table

    def more_items(self, place: Place, sums: dict[Items, list[Any]], a: Alphabet, one: bool) -> dict[Items, list[Any]]:
        found = {seen: list(samples) for seen, samples in sums.items()}
        work = found
        while work:
            after: dict[Items, list[Any]] = {}
            for seen, samples in work.items():
                self.with_item(place, seen, samples, self.part_table(self.rules.item_place(place, seen.n), a), after)
            work = {}
            for seen, samples in after.items():
                if merge(found, seen, samples, place.most) and not one:
                    work[seen] = found[seen]
        return found

    def with_item(self, place: Place, seen: Items, samples: list[Any], table: Table, into: dict[Items, list[Any]],
                  full: Table | None = None, again: Any = None) -> None:
        """Add an item of each type to each of the samples, which are tuples of (value, type).

        `full`: the table of whole items, where `table` is of one that has begun; `again` says
        whether that one can become a value.
        """
        for t, values in table.items():
            after = self.rules.add_item(place, seen, t)
            if not place.unique:
                merge(into, after, (s + ((v, t),) for s in samples for v in values), place.most)
                continue
            if seen.twice:
                merge(into, after, (s + ((v, t),) for s in samples for v in values), place.most)
                continue
            endless = len(values) >= MOST      # there are more of them
            fresh = after._replace(used=self.use(seen.used, t, table if full is None else full))
            twice = after._replace(twice=True, used=None)
            for s in samples:
                here = [v for v, _ in s]
                new = [s + ((v, t),) for v in values if v not in here]
                if new:
                    merge(into, fresh, new, place.most)
                elif endless:
                    raise Undecided("more items than values are looked at")
                same = [s + ((v, t),) for v, other in s if other == t and (
                    v in values or (endless and (again is None or again(v))))]
                if same:
                    merge(into, twice, same, place.most)
            self.spend()

    def use(self, used: Any, t: Type, table: Table) -> Any:
        """What of a finite stock is used up: how many of each type; of an endless one, whether any."""
        count = dict(used or ())
        count[t] = 1 if len(table.get(t, ())) >= MOST else count.get(t, 0) + 1
        return frozenset(count.items())

    def used(self, items: Any, table: Table) -> Any:
        used: Any = None
        for v, t in items:
            if len(table.get(t, ())) >= MOST or v in table.get(t, ()):
                used = self.use(used, t, table)
        return used
