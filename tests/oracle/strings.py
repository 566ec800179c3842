"""Which strings can still be written: all kinds of them, and some of each kind.

A *kind* is what somebody makes of a whole string (a type, a class of names). Strings are alike
for everybody once all patterns are in the same state, the length is beyond what anybody counts
and no string of the schema can come about any more; so a breadth-first search over such states
meets every kind.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable, NamedTuple

from .base import Alphabet, Base, Undecided
from .regex import LINE_ENDS, Pattern, takes
from .text import literal

N_STATES = 4000


class Questions(NamedTuple):
    """What is asked of a string."""

    patterns: tuple[Pattern, ...]
    longest: int                    # lengths beyond this are alike
    constants: frozenset[str]       # strings that somebody compares with

    def start(self) -> Any:
        return (0,) * len(self.patterns), 0, "" if self.constants else None

    def step(self, state: Any, char: str) -> Any:
        ways, n, text = state
        text = None if text is None else text + char
        if text is not None and not any(c.startswith(text) for c in self.constants):
            text = None
        return tuple(p.step(s, char) for p, s in zip(self.patterns, ways)), min(n + 1, self.longest), text

    def characters(self) -> set[str]:
        """Characters that somebody tells from others, and all of ASCII."""
        codes = set(range(128))
        for p in self.patterns:
            for _, _, ranges in p.charsets:
                codes.update(c for low, high in ranges for c in (low - 1, low, high, high + 1))
        codes.update(low for low, _ in LINE_ENDS)
        chars = {chr(c) for c in codes if 0 <= c < 0x110000 and not 0xD800 <= c < 0xE000}
        return chars.union(*self.constants)

    def alike(self, char: str) -> Any:
        """Equal for characters that nobody tells apart."""
        return (char if any(char in c for c in self.constants) else None,
                *(takes(s, char) for p in self.patterns for s in sorted(p.charsets, key=repr)))


class Strings(Base):
    """Strings over an alphabet."""

    def characters(self, asked: Questions, begun: bytes, a: Alphabet, most: int) -> list[list[str]]:
        """Characters that can be written, after the bytes of one that came: up to `most` of each kind."""
        key = ("characters", asked, begun, most)
        if key not in a.satisfiable:
            told = asked.characters()
            chars: Iterable[str] = (c for c in sorted(told) if self._spellable(c, begun, a))
            others: dict[str, None] = {}
            for _, c in self._char_endings(begun, a):
                if c not in told:
                    others[c] = None
                    if len(others) >= most:
                        break
            groups: dict[Any, list[str]] = {}
            for c in [*chars, *others]:
                groups.setdefault(asked.alike(c), []).append(c)
            a.satisfiable[key] = [g[:most] for g in groups.values()]
        found: list[list[str]] = a.satisfiable[key]
        return found

    def reach(self, asked: Questions, begun: tuple[Any, str, bytes], a: Alphabet, most: int,
              kind: Callable[[str], Any]) -> dict[Any, list[str]]:
        """The kinds of all strings that begin so (state, characters, bytes of a character), and `most` of each.

        Fewer than `most` are all there are.
        """
        state, content, pending = begun
        texts: dict[Any, list[str]] = {}
        if pending:
            work = [(asked.step(state, c), content + c) for g in self.characters(asked, pending, a, most) for c in g]
        else:
            work = [(state, content)]
        found: dict[Any, list[str]] = {}
        kinds: dict[Any, Any] = {}
        groups = self.characters(asked, b"", a, most)
        queue = []
        for s, text in work:
            if len(texts.setdefault(s, [])) < most and text not in texts[s]:
                texts[s].append(text)
                queue.append((s, text))
        for s, text in queue:       # grows while it is read
            if s not in kinds:
                if len(kinds) > N_STATES:
                    raise Undecided("too many states of strings")
                kinds[s] = kind(text)
            of_kind = found.setdefault(kinds[s], [])
            if len(of_kind) < most:
                of_kind.append(text)
            for group in groups:
                for c in group:
                    after = asked.step(s, c)
                    have = texts.setdefault(after, [])
                    if len(have) < most:
                        have.append(text + c)
                        queue.append((after, text + c))
        return found

    def literals(self, constants: Iterable[str], text: bytes, a: Alphabet) -> list[str]:
        """Those of the strings whose literal spelling begins with `text`, and can be written from there."""
        return [c for c in sorted(constants) for spelled in [literal(c)]
                if spelled is not None and spelled.startswith(text) and a.has(spelled[len(text):])]


