"""Random schemas, options, vocabularies and values for the tests, and the witness that judges values.

The schemas lean to what breaks engines: branches that overlap, recursion, open beside closed
objects, `enum` and `const` of objects, names that are prefixes of each other. `keywords` adds any
of `schema_keywords.ALL`. Everything is drawn from a `random.Random`, so a seed is a case.

The witness is the judge of `judge.py`: two validators that must agree, fed exact decimals.
"""

from __future__ import annotations

import json
import os
import random
from dataclasses import dataclass
from typing import Any, Iterable

from judge import Judge as Witness
from judge import draft_of, strict_json
from schema_keywords import add_branches, add_keywords, add_unevaluated

__all__ = ["PIECES", "RICH", "TINY", "Pool", "Probe", "SchemaMaker", "Splitter", "Witness", "engines", "make_options",
           "make_tokens", "row_ids", "strict_json"]

# ---- schemas --------------------------------------------------------------------------


@dataclass(frozen=True)
class Pool:
    """What random schemas are made of."""

    names: tuple[str, ...]
    strings: tuple[str, ...]
    numbers: tuple[Any, ...]
    longest: int = 3
    most: int = 3


TINY = Pool(("a", "b", "aa", ""), ("", "a", "b", "ab"), (0, 1, 11, -1), 2, 2)
RICH = Pool(("a", "b", "ab", "abc", "", "é", "x\"y", "a/b", "k\n", "😀", "true", "\u0001"),
            ("", "a", "ab", "abc", "é", "éa", "\"", "\\", "/", "😀", "\n", "\u0001", "\u007f", "1", "€uro"),
            (0, 1, 2, 10, 12, 123, -1, -12, 1.5, 0.25, 12.5, -0.5, 100, 1e2, 1.0, 1e-3), 4, 3)


# Children that are counted, in arrays and objects, several at once and nested.
COUNTED: tuple[Any, ...] = (
    {"type": "array", "contains": {"type": "string"}, "minContains": 2, "maxContains": 3, "items": {"enum": ["a", 1, [], None]}},
    {"type": "array", "prefixItems": [{"type": "integer"}], "maxItems": 4,
     "allOf": [{"contains": {"const": 1}}, {"contains": {"type": "array", "contains": {"const": "a"}}}, {"not": {"items": {"const": 1}}}]},
    {"type": "object", "required": ["a"], "maxProperties": 3, "properties": {"a": {"contains": {"const": {}}}},
     "allOf": [{"not": {"additionalProperties": {"type": "integer"}}}, {"not": {"properties": {"a": {}}, "additionalProperties": {"type": "array"}}}]},
    {"oneOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False},
               {"type": "object", "properties": {"b": {"$ref": "#"}}, "additionalProperties": {"type": "integer"}},
               {"type": "array", "items": {"type": "integer"}}, {"type": "array", "contains": {"$ref": "#"}, "maxContains": 1}]},
)


class SchemaMaker:
    """Draws one schema, with definitions that may refer to each other and to the root."""

    def __init__(self, rng: random.Random, pool: Pool = RICH, *, draft: str = "2020-12",
                 keywords: Iterable[str] = ()) -> None:
        self.rng, self.pool, self.draft, self.keywords = rng, pool, draft, frozenset(keywords)
        self.n_definitions = rng.choice((0, 0, 1, 2))

    def make(self, depth: int = 3) -> Any:
        schema = self.schema(depth, 0)
        if self.n_definitions:
            if not isinstance(schema, dict):
                schema = {"anyOf": [schema]}
            schema["$defs"] = {f"d{i}": self.schema(2, i + 1) for i in range(self.n_definitions)}
        if isinstance(schema, dict) and self.draft != "2020-12":
            schema["$schema"] = {"7": "http://json-schema.org/draft-07/schema#",
                                 "6": "http://json-schema.org/draft-06/schema#",
                                 "2019-09": "https://json-schema.org/draft/2019-09/schema"}[self.draft]
        return schema

    def child(self, depth: int) -> Any:
        """A schema of a part: here a reference may lead anywhere, also back."""
        if self.n_definitions and self.rng.random() < 0.3:
            i = self.rng.randrange(self.n_definitions + 1)
            return {"$ref": "#" if i == self.n_definitions else f"#/$defs/d{i}"}
        return self.schema(depth - 1, 99)

    def schema(self, depth: int, first_definition: int) -> Any:
        """A schema of a value; references for the same value lead to later definitions only."""
        if self.keywords and depth > 0:
            branches = add_branches(self, depth, first_definition)
            if branches is not None:
                return branches
        r, p = self.rng, self.rng.random()
        if p < 0.07:
            return r.choice((True, True, False, {}))
        if p < 0.25 and depth > 0:
            return self.union(depth, first_definition)
        if p < 0.32:
            return {"enum": [self.value(depth) for _ in range(r.randint(1, 4))]}
        if p < 0.37:
            return {"const": self.value(depth)}
        if p < 0.42 and first_definition < self.n_definitions:
            ref = {"$ref": f"#/$defs/d{r.randrange(first_definition, self.n_definitions)}"}
            if r.random() < 0.5:
                ref = {**ref, **self.typed(depth, "object")}
            add_unevaluated(self, ref, depth)
            return ref
        if p < 0.46 and depth > 0:
            both = {"allOf": [self.typed(depth - 1, "object"), self.schema(depth - 1, first_definition)]}
            add_unevaluated(self, both, depth)
            return both
        if p < 0.50:
            return {**self.typed(depth, "object"), **self.typed(depth, "array"), **self.typed(depth, "string"),
                    "type": r.sample(["object", "array", "string", "number", "integer", "null", "boolean"], 3)}
        if depth <= 0:
            return self.typed(0, r.choice(("string", "number", "integer", "boolean", "null", "string")))
        return self.typed(depth, r.choice(("object", "object", "object", "array", "array", "string", "integer",
                                           "number", "boolean")))

    def union(self, depth: int, first_definition: int) -> Any:
        """Branches that overlap: variations of one another, or of one kind."""
        r = self.rng
        kind = r.choice(("object", "object", "array", "string", "number", None))
        branches: list[Any] = []
        for _ in range(r.randint(2, 3)):
            if branches and isinstance(branches[-1], dict) and r.random() < 0.5:
                branches.append(self.vary(branches[-1], depth))
            elif kind is None:
                branches.append(self.schema(depth - 1, first_definition))
            elif kind == "number":
                branches.append(r.choice((self.typed(0, "integer"), self.typed(0, "number"), {
                    "enum": [self.number() for _ in range(r.randint(1, 3))]})))
            elif kind == "string":
                branches.append(r.choice((self.typed(0, "string"), self.typed(0, "string"), {
                    "enum": [r.choice(self.pool.strings) for _ in range(r.randint(1, 3))]})))
            else:
                branches.append(self.typed(depth - 1, kind))
        union: dict[str, Any] = {"anyOf": branches}
        if r.random() < 0.3:
            union.update(self.typed(depth - 1, kind if kind in ("object", "array", "string") else "object"))
            union.pop("type", None)
        add_unevaluated(self, union, depth)
        return union

    def vary(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        """The same schema with one thing changed."""
        copy: dict[str, Any] = json.loads(json.dumps(schema))
        if copy.get("properties"):
            name = self.rng.choice(list(copy["properties"]))
            copy["properties"][name] = self.child(depth)
        elif "enum" in copy:
            copy["enum"].append(self.value(1))
        else:
            copy["minLength" if copy.get("type") == "string" else "minItems"] = self.rng.randint(0, 2)
        return copy

    def typed(self, depth: int, kind: str) -> dict[str, Any]:
        r = self.rng
        schema: dict[str, Any] = {"type": kind}
        if kind == "string":
            if r.random() < 0.4:
                schema["minLength"] = r.randint(0, self.pool.longest)
            if r.random() < 0.5:
                schema["maxLength"] = r.randint(schema.get("minLength", 0), self.pool.longest)
        if kind == "array":
            if r.random() < 0.4:
                key = "prefixItems" if self.draft == "2020-12" else "items"
                schema[key] = [self.child(depth) for _ in range(r.randint(1, 2))]
                if r.random() < 0.5:
                    schema["items" if key == "prefixItems" else "additionalItems"] = r.choice(
                        (False, True, self.child(depth)))
            elif r.random() < 0.8:
                schema["items"] = self.child(depth)
            if r.random() < 0.4:
                schema["minItems"] = r.randint(0, self.pool.most - 1)
            if r.random() < 0.4:
                schema["maxItems"] = r.randint(schema.get("minItems", 0), self.pool.most)
        if kind == "object":
            names = r.sample(self.pool.names, r.randint(0, min(4, len(self.pool.names))))
            if names:
                schema["properties"] = {n: self.child(depth) for n in names}
            if r.random() < 0.6:
                among = list(dict.fromkeys([*names, r.choice(self.pool.names)]))
                schema["required"] = r.sample(among, r.randint(0, min(2, len(among))))
            p = r.random()
            if p < 0.45:
                schema["additionalProperties"] = False
            elif p < 0.6:
                schema["additionalProperties"] = self.child(depth)
        if self.keywords:
            add_keywords(self, schema, kind, depth)
        return schema

    def number(self) -> Any:
        return self.rng.choice(self.pool.numbers)

    def value(self, depth: int) -> Any:
        r, p = self.rng, self.rng.random()
        if p < 0.3 or (depth <= 0 and p < 0.55):
            return r.choice(self.pool.strings)
        if p < 0.55:
            return self.number()
        if p < 0.65 or depth <= 0:
            return r.choice((None, True, False))
        if p < 0.8:
            return [self.value(depth - 1) for _ in range(r.randint(0, 2))]
        return {n: self.value(depth - 1) for n in r.sample(self.pool.names, r.randint(0, 3))}


def make_options(rng: random.Random) -> dict[str, Any]:
    """Options of `compile`, most of them left alone."""
    options: dict[str, Any] = {}
    p = rng.random()
    if p < 0.3:
        options["whitespace"] = "flexible"
        options["max_whitespace"] = rng.choice((0, 1, 2, 3, 40, None))
    elif p < 0.45:
        options["whitespace"] = "spaced"
    elif p < 0.6:
        options["indent"] = rng.choice((0, 1, 2, 4))
    if rng.random() < 0.3:
        options["property_order"] = "schema"
    if rng.random() < 0.2:
        options["additional_properties"] = "closed"
    if rng.random() < 0.25:
        options["escapes"] = "minimal"
    if rng.random() < 0.3:
        options["numbers"] = "any"
    if rng.random() < 0.2:
        options["max_digits"] = rng.choice((1, 2, 3, 20))
    return options


# ---- vocabularies ---------------------------------------------------------------------

PIECES = [s.encode() for s in (
    '{"', '":', '","', '"},', ']}', '}}', '}]', ']]', '[{', '{}', '[]', '[[', ' "', '": ', '": "', ', "', '",', '"}',
    '"]', '}]}', '}}}', '"}}', '"}]}', ',"', ':"', ':[', ':{', ':{"', '[{"', '},{', '},{"', '],[', ']},', '},', '],', '[1,',
    'true', 'false', 'null', 'rue', 'ull', 'als', 'true,', 'null}', ':true', '1,', '1}', '1]', '0.', '.5', '1.0', '-1', '-0',
    '12', '123', '00', 'e1', 'E+', '1e', '0}', '5,"', '1.', '.0', '2.5', '\\u00', '\\u', '\\n', '\\"', '\\\\', '\\u0061', '\\ud8',
    '\\ud83d\\ude', '3d', 'e00', '\\/', 'ab', 'abc', 'a"', 'b":', 'abc"', '"a', '"ab', '"a":', '"b":1', '"a":1,', 'é', 'éa', '😀',
    '€', 'é"', '\n', '\n\n', '\n  ', '\n    ', '  ', '    ', '\r\n', '\t', '{\n', '\n}', '\n]', ' }', ' ]', '[ ', '{ "', ' :', ' ,',
    '": {', '": [', ', ', ': ', '"\n', '",\n', ' \n', '""', '":"', '"":', 'a/b', 'x\\"', '\x7f', 'true}', '{"a":', '{"b":"', '[]}',
)] + [b"\xc3", b"\xa9", b"\xf0\x9f", b"\x98\x80", b"\x98", b'\xa9"', b"a\xc3", b'"\xf0', b"\xe2\x82", b"\xac", b"\xed\xa0", b"\xc0\xaf"]


def make_tokens(rng: random.Random, n_pieces: int = 120) -> tuple[list[bytes | None], list[int]]:
    """A small vocabulary: single bytes (sometimes many are missing), pieces, duplicates, holes; and stop ids."""
    singles = [bytes([b]) for b in range(256)]
    p = rng.random()
    if p < 0.25:    # much is missing, but not what JSON cannot do without
        keep = set(b'{}[]",:' + b"0123456789") if rng.random() < 0.8 else set()
        keep |= set(rng.sample(range(256), rng.randint(20, 200))) | set(rng.sample(b'abtruefalsn\\u0123456789{}[]":, -.e\n', 25))
        singles = [s for s in singles if s[0] in keep]
    elif p < 0.4:   # as real vocabularies: some high bytes and control characters are not there
        singles = [s for s in singles if s[0] not in (0xF1, 0xF2, 0, 1, 2, 3, 4, 5)]
    pieces = rng.sample(PIECES, min(n_pieces, len(PIECES)))
    while len(pieces) < n_pieces + 10:
        pieces.append(b"".join(rng.choice(PIECES) for _ in range(rng.randint(2, 3))))
    tokens: list[bytes | None] = [*singles, *pieces, *rng.choices(pieces, k=4), *rng.choices(singles, k=3), None, None]
    if rng.random() < 0.5:
        tokens.append(b"")
    rng.shuffle(tokens)
    stops = [i for i, t in enumerate(tokens) if t is None][:rng.randint(0, 2)]
    if rng.random() < 0.2:
        stops.append(rng.randrange(len(tokens)))  # a stop id loses its bytes
    return tokens, stops


# ---- the engines under test -----------------------------------------------------------


USES = os.environ.get("TOKFSM_USES", "lazy,ahead of time,reopened").split(",")  # fewer, to look into one


def engines(schema: Any, tokens: list[bytes | None], stops: list[int], options: dict[str, Any],
            path: Any) -> dict[str, Any]:
    """The automaton used lazily, explored ahead of time, and saved and opened again."""
    import tokfsm

    vocab = tokfsm.Vocabulary.from_bytes(tokens, stop_token_ids=stops)
    uses = {}
    if "lazy" in USES:
        uses["lazy"] = tokfsm.compile(schema, vocab, **options)
    if "ahead of time" in USES:
        uses["ahead of time"] = tokfsm.compile(schema, vocab, **options)
        uses["ahead of time"].precompile()
    if "reopened" in USES:
        tokfsm.compile(schema, vocab, **options).save(path)
        uses["reopened"] = tokfsm.load(path)
    return uses


def row_ids(bitmask: Any, vocab_size: int) -> set[int]:
    """The ids of row 0; fails if a bit past the vocabulary is set."""
    import numpy as np

    words = np.ascontiguousarray(np.asarray(bitmask)[0]).view(np.uint8)
    ids = np.flatnonzero(np.unpackbits(words, bitorder="little"))
    assert not (ids >= vocab_size).any(), "a bit past the vocabulary is set"
    return set(ids.tolist())


class Probe:
    """A matcher with its own bitmask."""

    def __init__(self, automaton: Any, matcher: Any = None) -> None:
        import tokfsm

        self.automaton = automaton
        self.matcher = automaton.matcher() if matcher is None else matcher
        self.bitmask = tokfsm.allocate_token_bitmask(1, automaton.vocab_size)

    def mask(self, budget: int | None = None) -> set[int]:
        all_allowed = not self.matcher.fill_next_token_bitmask(self.bitmask, 0, budget=budget)
        ids = row_ids(self.bitmask, self.automaton.vocab_size)
        assert all_allowed == (len(ids) == self.automaton.vocab_size), "the returned flag does not fit the row"
        return ids

    def feed(self, text: bytes) -> bool:
        """Whether the text is taken whole and complete, byte by byte; the matcher does not move."""
        taken, complete, _ = self.matcher.check_bytes(text)
        return taken == len(text) and bool(complete)

    def take(self, ids: list[int]) -> int | None:
        """Accept the ids, each of which must be in its mask; the index of the first that is not."""
        for i, t in enumerate(ids):
            if t not in self.mask():
                assert not self.matcher.accept_token(t), "accepted against the mask"
                return i
            assert self.matcher.accept_token(t), "refused against the mask"
        return None


class Splitter:
    """Cuts texts into tokens at random."""

    def __init__(self, tokens: list[bytes | None], stops: list[int]) -> None:
        self.by_bytes: dict[bytes, list[int]] = {}
        for i, t in enumerate(tokens):
            if t and i not in stops:
                self.by_bytes.setdefault(t, []).append(i)
        self.longest = min(64, max(map(len, self.by_bytes)))

    def split(self, rng: random.Random, text: bytes) -> list[int] | None:
        """Ids whose bytes join to the text; None where the dice found none."""
        ids, at = [], 0
        while at < len(text):
            fits = [n for n in range(1, min(self.longest, len(text) - at) + 1) if text[at:at + n] in self.by_bytes]
            if not fits:
                return None
            n = rng.choice(fits)
            ids.append(rng.choice(self.by_bytes[text[at:at + n]]))
            at += n
        return ids
