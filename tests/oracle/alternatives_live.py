"""Whether what has been written can be completed, alternative by alternative."""

from __future__ import annotations

from fractions import Fraction
from typing import Iterator

from .alternatives_rules import Alternative, Conjunction, Entry, Facts, Frame, ObjectRules, Open
from .alternatives_schema import AlternativesSchema
from .base import CLOSERS, Alphabet
from .text import DIGITS, NumberText, decimal_digits, literal, read_number


class AlternativesLiveness(AlternativesSchema):
    """Liveness, and satisfiability as a least fixpoint."""

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
