"""Names left and names taken: every bit of masks in a world of few names, against sets of strings.

All values are `1`, so that an object is a set of names, and which names there may be is found by
`re` over all short strings of a dozen characters: the patterns speak of no others, and what is
endless in them loops over `a`, `b` or `X`. What differs from seed to seed is where the finite parts
of such languages begin and which names can be escaped. `TOKFSM_NAME_SEEDS=2000` runs that many cases.
"""

from __future__ import annotations

import itertools
import os
import random
import re
from functools import lru_cache
from typing import Any, NamedTuple

import pytest

import tokfsm
from name_schemas import make_tokens, towards_a_name
from schemas import Probe

N_SEEDS = int(os.environ.get("TOKFSM_NAME_SEEDS", "240"))
FIRST = int(os.environ.get("TOKFSM_NAME_FIRST", "0"))
CHARS = 'abXY-\n\té"ë😀😁'
LONGEST = 3     # longer beginnings are not compared: the world ends soon after
SHORT = {"\n": "\\n", "\t": "\\t", '"': '\\"'}

# Alternatives of a language: endless, and finite, that may begin alike.
ENDLESS = ("[ab]*", "a*", "(?:ab)*", "a+", "[ab]+X", "X*", "b*", "Xa*", "[ab]*-", "a*[XY]", "éa*")
FINITE = ("XX", "XY", "X[XY]", "X", "Y", "a", "-", "X[éë]", "[éë]", "[\\n\\t]", "a[\\n\\t]", "X[😀😁]", "😀", "[aX]Y",
          "bX", "aX", "X?", '"', 'X"', "[XY][XY]", "Y[ab]", "é[XY]", "XXX", "ab", "\\n")
DECLARED = ("X", "XX", "a", "ab", "-", "\n", "é", "Y", "aX", "", "X\n", "bX")


@lru_cache(None)
def world() -> tuple[str, ...]:
    short = ["".join(w) for n in range(5) for w in itertools.product(CHARS, repeat=n)]
    long = ["".join(w) + tail for n in range(4, 8) for w in itertools.product("ab", repeat=n)
            for tail in ("", "X", "-")]
    loops = [head + c * n + tail for c in "abX" for n in range(4, 16) for head in ("", "X", "é")
             for tail in ("", "X", "Y", "-")]
    return tuple(dict.fromkeys([*short, *long, *loops]))


@lru_cache(None)
def language(pattern: str) -> frozenset[str]:
    compiled = re.compile(pattern)
    return frozenset(w for w in world() if compiled.fullmatch(w))


def draw_pattern(r: random.Random) -> str:
    parts = [r.choice(ENDLESS)] if r.random() < 0.7 else []
    parts += r.sample(FINITE, r.randint(0 if parts else 1, 3))
    return "|".join(parts)


class Rules(NamedTuple):
    """An object as a set of names."""

    names: frozenset[str]       # of the world that may be there
    declared: frozenset[str]    # spelled as literals
    required: frozenset[str]
    least: int
    most: int
    dependents: tuple[tuple[str, str], ...]

    def closure(self, there: frozenset[str]) -> frozenset[str]:
        there |= self.required
        while more := {n for d, n in self.dependents if d in there} - there:
            there |= more
        return there

    def completable(self, there: frozenset[str]) -> bool:
        whole = self.closure(there)
        if not whole <= self.names or len(whole) > self.most:
            return False
        if len(whole) >= self.least:
            return True
        usable = {n for n in self.names if self.closure(frozenset({n})) <= self.names}
        return len(usable) >= self.least    # one more by one, those that need others last

    def complete(self, there: frozenset[str]) -> bool:
        return self.closure(there) == there <= self.names and self.least <= len(there) <= self.most


def draw(seed: int) -> tuple[random.Random, dict[str, Any], Rules, dict[str, Any]]:
    r = random.Random(seed)
    patterns = {draw_pattern(r): r.random() < 0.75 for _ in range(r.choice((1, 1, 1, 2, 2, 3)))}
    declared = {n: r.random() < 0.7 for n in r.sample(DECLARED, r.choice((0, 0, 1, 2, 3)))}
    names = r.choice((None, None, None, draw_pattern(r)))
    required, dependents, least, most = frozenset[str](), [], 0, 99
    if r.random() < 0.15:
        one, other = r.sample(DECLARED, 2)
        for n in (one, other):  # a name that is asked for in a case that cannot be is none that is declared
            declared.setdefault(n, True)
        dependents = [(one, other)]
    schema: dict[str, Any] = {"type": "object", "additionalProperties": False, "patternProperties": {
        f"^(?:{p})$": {"const": 1} if ok else False for p, ok in patterns.items()}}
    if declared:
        schema["properties"] = {n: {"const": 1} if ok else False for n, ok in declared.items()}
    allowed = frozenset().union(*map(language, patterns), declared)
    for p in (p for p, ok in patterns.items() if not ok):
        allowed -= language(p)
    allowed -= {n for n, ok in declared.items() if not ok}
    mentioned = set(declared)
    if names is not None:
        schema["propertyNames"] = {"pattern": f"^(?:{names})$"}
        allowed &= language(names)
    if r.random() < 0.25:
        required = frozenset(r.sample(DECLARED, r.randint(1, 2)))
        schema["required"] = sorted(required)
    if dependents:
        schema["dependentRequired"] = {one: [other] for one, other in dependents}
    if r.random() < 0.3:
        schema["minProperties"] = least = r.randint(1, 5)
    if r.random() < 0.15:
        schema["maxProperties"] = most = max(least, r.randint(1, 5))
    mentioned |= required | {n for pair in dependents for n in pair}
    options = {"escapes": "minimal"} if r.random() < 0.25 else {}
    return r, schema, Rules(allowed, frozenset(mentioned), required, least, most, tuple(dependents)), options


# ---- one byte ----


class State(NamedTuple):
    there: frozenset[str]
    at: str         # "{", "name", ":", "1", "," (behind a value), "\"" (a name must begin), "" (over)
    begun: bytes    # of the name, as written


def raw(char: str) -> str:
    return SHORT.get(char, char)


@lru_cache(None)
def escapes(char: str, minimal: bool) -> tuple[bytes, ...]:
    if minimal:
        return (raw(char).encode(),)
    units = char.encode("utf-16-be")
    long = b"".join(b"\\u" + units[i:i + 2].hex().encode() for i in range(0, len(units), 2))
    return (char.encode(), long, SHORT[char].encode()) if char in SHORT else (char.encode(), long)


def fold(text: bytes) -> bytes:
    """Hexadecimal digits in lower case."""
    return re.sub(rb"\\u[0-9A-Fa-f]{0,4}", lambda m: m[0].lower(), text)


def begins(name: str, begun: bytes, minimal: bool) -> bool:
    """Whether some spelling of the name begins so."""
    places = [begun]
    for char in name:
        rests = []
        for place in places:
            if not place:
                return True
            for spelled in escapes(char, minimal):
                if spelled in (b'"', b"\n", b"\t"):
                    continue    # not raw
                if spelled.startswith(place):
                    return True
                if place.startswith(spelled):
                    rests.append(place[len(spelled):])
        places = rests
    return b"" in places


class World:
    def __init__(self, rules: Rules, minimal: bool) -> None:
        self.rules, self.minimal = rules, minimal
        self.ways: dict[tuple[frozenset[str], bytes], bool] = {}
        self.candidates: dict[bytes, tuple[str, ...]] = {b"": tuple(rules.names)}

    def spelled(self, begun: bytes) -> tuple[str, ...]:
        """Names of the rules that can begin so."""
        if begun not in self.candidates:
            literal = {n: "".join(map(raw, n)).encode() for n in self.rules.declared}
            folded = fold(begun)
            self.candidates[begun] = tuple(
                n for n in self.spelled(begun[:-1])
                if (literal[n].startswith(begun) if n in literal else begins(n, folded, self.minimal)))
        return self.candidates[begun]

    def name(self, begun: bytes) -> str | None:
        """The name that is spelled so, whole."""
        from json import loads

        try:
            text = loads(b'"' + begun + b'"')
        except ValueError:
            return None
        return text if isinstance(text, str) else None

    def live(self, s: State) -> bool:
        if s.at == "name":
            key = s.there, s.begun
            if key not in self.ways:
                self.ways[key] = any(n not in s.there and self.rules.completable(s.there | {n})
                                     for n in self.spelled(s.begun))
            return self.ways[key]
        if s.at == '"':
            return self.live(State(s.there, "name", b""))
        return s.at == "" or self.rules.completable(s.there)

    def step(self, s: State, byte: bytes) -> State | None:
        after = None
        if s.at == "name" and byte == b'"' and (s.begun[-1:] != b"\\" or self.name(s.begun) is not None):
            name = self.name(s.begun)
            if name is None or name not in self.spelled(s.begun) or name in s.there:
                return None
            after = State(s.there | {name}, ":", b"")
        elif s.at == "name":
            after = State(s.there, "name", s.begun + byte)
        elif s.at == ":" and byte == b":":
            after = State(s.there, "1", b"")
        elif s.at == "1" and byte == b"1":
            after = State(s.there, ",", b"")
        elif s.at == "," and byte == b",":
            after = State(s.there, '"', b"")
        elif s.at in ("{", ",") and byte == b"}" and self.rules.complete(s.there):
            return State(s.there, "", b"")
        elif s.at in ("{", '"') and byte == b'"':
            after = State(s.there, "name", b"")
        return after if after is not None and self.live(after) else None

    def run(self, s: State, token: bytes) -> State | None:
        for i in range(len(token)):
            if (after := self.step(s, token[i:i + 1])) is None:
                return None
            s = after
        return s


def far(begun: bytes) -> bool:
    """Whether it is near the end of the world."""
    return len(re.sub(rb"\\u....|\\.", b"x", begun).decode(errors="ignore")) > LONGEST


def run_case(seed: int) -> int:
    r, schema, rules, options = draw(seed)
    tokens = [t for t in make_tokens(r) if t is not None]
    vocab = tokfsm.Vocabulary.from_bytes(list(tokens))
    one = World(rules, options.get("escapes") == "minimal")
    start = State(frozenset(), "{", b"")
    if len({*tokens, *(bytes([b]) for b in range(256))}) > len(set(tokens)):
        return 0    # of a vocabulary that lacks bytes the oracle of test_masks.py knows more
    try:
        automaton = tokfsm.compile(schema, vocab, **options)
    except tokfsm.errors.UnsatisfiableSchemaError:
        assert not rules.completable(frozenset()), f"seed {seed}: refused as unsatisfiable\nschema {schema}"
        return 0
    assert rules.completable(frozenset()), f"seed {seed}: compiled, though nothing is valid\nschema {schema}"
    n = 0
    for _ in range(3):
        probe, text, state = Probe(automaton), b"{", start
        assert probe.matcher.accept_token(tokens.index(b"{"))
        for _ in range(40):
            if state.at == "":
                break
            said = f"seed {seed}, after {text!r}\nschema {schema}\noptions {options}"
            after = {t: one.run(state, token) for t, token in enumerate(tokens)}
            near = {t for t, s in after.items() if s is None or not far(s.begun)}
            mask = probe.mask()
            truth = {t for t, s in after.items() if s is not None}
            more, less = sorted((mask - truth) & near), sorted((truth - mask) & near)
            assert not more, f"allowed beyond {[tokens[t] for t in more][:8]}; {said}"
            assert not less, f"refused against {[tokens[t] for t in less][:8]}; {said}"
            bound = probe.matcher.min_tokens
            within = probe.mask(bound)
            assert 0 < bound < 1000 and within and within <= mask, f"bound {bound}; {said}"
            n += 1
            ids = sorted(truth & near & mask)
            if not ids:
                break
            if r.random() < 0.8:
                ids = towards_a_name(text, ids, list(tokens)) or ids
            if state.at in ("name", ":", "1", ",") and r.random() < 0.6:
                ids = [t for t in ids if tokens[t][:1] in (b'"', b":", b"1", b",")] or ids
            chosen = r.choice(ids)
            assert probe.matcher.accept_token(chosen), said
            if chosen in within:
                assert probe.matcher.min_tokens <= bound - 1, f"{tokens[chosen]!r} within {bound}; {said}"
            reached = after[chosen]
            assert reached is not None
            state, text = reached, text + tokens[chosen]
    return n


@pytest.mark.parametrize("batch", range(6))
def test_names(batch: int) -> None:
    assert sum(run_case(seed) for seed in range(FIRST + batch, FIRST + N_SEEDS, 6)) > 0
