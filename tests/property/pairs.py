"""Random schemas of all keywords × values near them, and what each judge says of a pair.

Judges: tokfsm (is the text of the value accepted?), `jsonschema` on exact decimals, `jsonschema_rs`,
and the oracle's rules. A disagreement is made small and named by the keywords that are left in it.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable, Iterator

import jsonschema_rs

import tokfsm

sys.path.insert(0, str(Path(__file__).parents[1]))
from oracle import Unsupported  # noqa: E402
from oracle.evaluate import valid  # noqa: E402
from schema_keywords import ALL, BOUNDS  # noqa: E402
from schemas import RICH, TINY, Pool, SchemaMaker, Witness, draft_of  # noqa: E402

BYTES = tokfsm.Vocabulary.from_bytes([bytes([b]) for b in range(256)])
EXAMPLES = {"date": "2024-02-29", "ipv4": "127.0.0.1", "uuid": "2eb8aa08-aa98-11ea-b4aa-73b441d16380",
            "json-pointer": "/a/~0"}
RS = {"4": jsonschema_rs.Draft4Validator, "6": jsonschema_rs.Draft6Validator, "7": jsonschema_rs.Draft7Validator,
      "2019-09": jsonschema_rs.Draft201909Validator, "2020-12": jsonschema_rs.Draft202012Validator}


# ---- values near a schema -----------------------------------------------------------


class Near:
    """Values that a schema asks for, as far as one can tell keyword by keyword; and what is next to them."""

    def __init__(self, rng: random.Random, pool: Pool, schema: Any) -> None:
        self.rng, self.pool, self.root = rng, pool, schema

    def value(self, schema: Any, depth: int) -> Any:
        r = self.rng
        if not isinstance(schema, dict) or r.random() < 0.04:
            return self.any(min(depth, 2))
        schema = dict(schema)
        for _ in range(4):      # branches join what stands beside them
            for keyword in ("$ref", "allOf", "anyOf", "oneOf", "if", "then", "else"):
                if keyword in schema:
                    part = schema.pop(keyword)
                    if keyword == "$ref":
                        part = self.resolve(part)
                    elif isinstance(part, list):
                        part = {k: v for s in part for k, v in s.items()} if keyword == "allOf" and all(
                            isinstance(s, dict) for s in part) else r.choice(part)
                    if isinstance(part, dict) and not (keyword in ("if", "then", "else") and r.random() < 0.4):
                        schema = self.joined(schema, part)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return r.choice(schema["enum"])
        kinds = schema.get("type") or r.choice([k for k, keys in HINTS.items() if keys & schema.keys()] or ["any"])
        kind = r.choice(kinds) if isinstance(kinds, list) else kinds
        make: dict[str, Callable[[dict[str, Any], int], Any]] = {
            "object": self.object, "array": self.array, "string": self.string, "number": self.number,
            "integer": self.number}
        if kind in make:
            return make[kind](schema, depth)
        return {"null": None, "boolean": r.random() < 0.5}.get(kind, self.any(1))

    def joined(self, one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        both = {**one, **other}
        for key in ("properties", "patternProperties"):
            if key in one and key in other:
                both[key] = {**one[key], **other[key]}
        if "required" in one and "required" in other:
            both["required"] = one["required"] + other["required"]
        return both

    def resolve(self, reference: str) -> Any:
        here = self.root
        for part in reference[1:].split("/")[1:]:
            here = here[part]
        return here

    def any(self, depth: int) -> Any:
        r, p = self.rng, self.rng.random()
        if depth <= 0 or p < 0.6:
            return r.choice((None, True, False, r.choice(self.pool.strings), r.choice(self.pool.numbers)))
        if p < 0.8:
            return [self.any(depth - 1) for _ in range(r.randint(0, 3))]
        return {n: self.any(depth - 1) for n in r.sample(self.pool.names, r.randint(0, 3))}

    def string(self, schema: dict[str, Any], _depth: int) -> str:
        if schema.get("format") in EXAMPLES:
            return EXAMPLES[schema["format"]]
        low, high = schema.get("minLength", 0), schema.get("maxLength", 5)
        tried = [self.rng.choice(self.pool.strings)] + [
            "".join(self.rng.choice("aabbc1é") for _ in range(self.rng.randint(low, max(low, high))))
            for _ in range(12)]
        fits = [t for t in tried if low <= len(t) <= high and re.search(schema.get("pattern", ""), t)]
        return self.rng.choice(fits or tried)

    def number(self, schema: dict[str, Any], _depth: int) -> Any:
        r = self.rng
        edges = [v for k, v in schema.items() if k in BOUNDS and not isinstance(v, bool)]
        beside = [e + d for e in edges for d in (1, -1, 0.25)]
        found = r.choice([*edges, *beside, *self.pool.numbers, r.randint(-20, 130)])
        return int(found) if schema.get("type") == "integer" and r.random() < 0.8 else found

    def object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        r = self.rng
        declared: dict[str, Any] = schema.get("properties", {})
        names = list(dict.fromkeys([*schema.get("required", []), *(n for n in declared if r.random() < 0.6)]))
        names += r.sample(self.pool.names, r.choice((0, 0, 1, 2)))
        most = schema.get("maxProperties", 9)
        out: dict[str, Any] = {}
        for name in dict.fromkeys(names[:most] if r.random() < 0.7 else names):
            parts = [declared[name]] if name in declared else []
            parts += [s for p, s in schema.get("patternProperties", {}).items() if re.search(p, name)]
            parts = parts or [schema.get("additionalProperties", schema.get("unevaluatedProperties", True))]
            if parts == [False] and r.random() < 0.7:
                continue
            out[name] = self.value(r.choice(parts), depth - 1) if depth > 0 else self.any(0)
        return out

    def array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        r = self.rng
        items = schema.get("items", schema.get("unevaluatedItems", True))
        first = items if isinstance(items, list) else schema.get("prefixItems", [])
        rest = schema.get("additionalItems", True) if isinstance(items, list) else items
        low, high = schema.get("minItems", 0), schema.get("maxItems", 4)
        out = []
        for i in range(r.randint(low, max(low, high))):
            part = first[i] if i < len(first) else rest
            if "contains" in schema and r.random() < 0.4:
                part = schema["contains"]
            if part is False and r.random() < 0.7:
                break
            out.append(self.value(part, depth - 1) if depth > 0 else self.any(0))
        return out

    def mutated(self, value: Any) -> Any:
        """One thing changed, somewhere."""
        r = self.rng
        if isinstance(value, dict) and value and r.random() < 0.7:
            name, out = r.choice(list(value)), dict(value)
            p = r.random()
            if p < 0.25:
                del out[name]
            elif p < 0.5:
                out[r.choice(self.pool.names)] = self.any(1)
            else:
                out[name] = self.mutated(value[name])
            return out
        if isinstance(value, list) and value and r.random() < 0.7:
            i, out_list = r.randrange(len(value)), list(value)
            p = r.random()
            if p < 0.2:
                del out_list[i]
            elif p < 0.45:
                out_list.insert(r.randrange(len(value) + 1), r.choice(value))
            else:
                out_list[i] = self.mutated(value[i])
            return out_list
        if isinstance(value, str) and r.random() < 0.6:
            i = r.randint(0, len(value))
            return value[:i] + r.choice("ab1c") + value[i + r.randint(0, 1):]
        if isinstance(value, (int, float)) and not isinstance(value, bool) and r.random() < 0.6:
            return value + r.choice((1, -1, 0.5, 10))
        return self.any(1)


HINTS = {"object": {"properties", "required", "patternProperties", "additionalProperties", "unevaluatedProperties",
                    "minProperties"},
         "array": {"items", "prefixItems", "contains", "unevaluatedItems", "uniqueItems", "minItems"},
         "string": {"pattern", "minLength", "maxLength"}, "number": {"minimum", "maximum", "multipleOf"}}


# ---- judges --------------------------------------------------------------------------


def exact(value: Any) -> Any:
    return json.loads(json.dumps(value), parse_float=Decimal)


def text_of(value: Any) -> bytes:
    """As the spelling profile writes it: compact, literal, numbers without exponents."""
    if isinstance(value, dict):
        return b"{" + b",".join(text_of(k) + b":" + text_of(v) for k, v in value.items()) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(map(text_of, value)) + b"]"
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f").encode()
    return json.dumps(value, ensure_ascii=False).encode()


class Judges:
    """Of one schema. Each is a function of a value; tokfsm's is None where it refuses the schema by name."""

    def __init__(self, schema: Any) -> None:
        self.refused, self.draft = "", draft_of(schema)
        witness = Witness(schema)
        fast = RS[self.draft](schema, validate_formats=True)
        self.all: dict[str, Callable[[Any], bool]] = {
            "jsonschema": lambda v: self._first(witness, v), "jsonschema_rs": lambda v: bool(fast.is_valid(v))}
        self.oracle: Callable[[Any], bool] = lambda v: valid(schema, v, self.draft)
        try:
            automaton = tokfsm.compile(schema, BYTES, numbers="any")
            matcher = automaton.matcher()
            self.all["tokfsm"] = lambda v: bool(matcher.check_bytes(text_of(v))[1])
        except tokfsm.errors.UnsatisfiableSchemaError:
            self.all["tokfsm"] = lambda v: False
        except (tokfsm.errors.UnsupportedSchemaError, tokfsm.errors.LimitError) as error:
            self.refused = getattr(error, "keyword", None) or type(error).__name__

    @staticmethod
    def _first(witness: Witness, value: Any) -> bool:
        """What `jsonschema` says, or, where it abstains, the other validator."""
        python, rust = witness.opinions(exact(value))
        if python is None and rust is None:
            return witness.value_ok(exact(value))  # raises: nobody judges
        return bool(rust if python is None else python)

    def say(self, value: Any) -> dict[str, bool]:
        said = {name: judge(value) for name, judge in self.all.items()}
        try:
            said["oracle"] = self.oracle(value)
        except Unsupported:
            pass
        return said


def smaller(part: Any) -> Iterator[Any]:
    """The same with one thing less."""
    if isinstance(part, dict):
        for key in part:
            if key != "$schema":
                yield {k: v for k, v in part.items() if k != key}
                for less in smaller(part[key]):
                    yield {**part, key: less}
    elif isinstance(part, list):
        for i in range(len(part)):
            yield part[:i] + part[i + 1:]
            for less in smaller(part[i]):
                yield part[:i] + [less] + part[i + 1:]
    elif isinstance(part, (str, int, float)) and part not in ("", 0, 1, True, False):
        yield part[:-1] if isinstance(part, str) else 1


def minimal(schema: Any, value: Any, said: dict[str, bool]) -> tuple[Any, Any]:
    """Schema and value made small, with the same verdicts."""
    def same(s: Any, v: Any) -> bool:
        try:
            return Judges(s).say(v) == said
        except Exception:   # whatever a judge thinks of a schema that is none any more
            return False

    going, tries = True, 3000
    while going:
        going = False
        for s, v in [*((s, value) for s in smaller(schema)), *((schema, v) for v in smaller(value))]:
            tries -= 1
            if tries < 0:
                return schema, value
            if same(s, v):
                schema, value, going = s, v, True
                break
    return schema, value


def ours_alone(said: dict[str, bool]) -> bool:
    """Whether tokfsm and the oracle differ, or no validator is with them: else a validator is wrong."""
    ours = {said[name] for name in ("tokfsm", "oracle") if name in said}
    return len(ours) > 1 or not ours & {said["jsonschema"], said["jsonschema_rs"]}


NAMED = ALL | {"enum", "const", "properties", "items", "prefixItems", "$ref", "anyOf", "allOf", "additionalProperties",
               "required", "type"}


def keywords_of(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        return {k for k in schema if k in NAMED}.union(*(keywords_of(v) for v in schema.values()))
    return set().union(*(keywords_of(v) for v in schema)) if isinstance(schema, list) else set()


@dataclass
class Outcome:
    pairs: int = 0
    valid: int = 0
    schemas: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[Any, Any, dict[str, bool]]] = field(default_factory=dict)


def run(n_pairs: int, seed: int, per_schema: int = 40, keywords: Any = ALL) -> Outcome:
    """Judge so many pairs. A class of disagreement is named by who says valid, who does not, and the keywords left."""
    rng, out = random.Random(seed), Outcome()
    while out.pairs < n_pairs:
        pool = rng.choice((RICH, TINY))
        draft = rng.choice(["2020-12"] * 4 + ["7", "2019-09", "6"])
        some = [k for k in sorted(keywords) if rng.random() < 0.5]
        schema = SchemaMaker(rng, pool, draft=draft, keywords=some).make(rng.choice((1, 2, 2, 3)))
        judges, near = Judges(schema), Near(rng, pool, schema)
        out.schemas += 1
        if judges.refused:
            out.refused[judges.refused] += 1
        for _ in range(per_schema):
            value = near.value(schema, 3)
            for _ in range(rng.choice((0, 0, 1, 2))):
                value = near.mutated(value)
            said = judges.say(value)
            out.pairs += 1
            out.valid += said["jsonschema"]
            if len(set(said.values())) > 1:
                small = minimal(schema, value, said)
                yes, no = (", ".join(sorted(k for k in said if said[k] == v)) for v in (True, False))
                kind = f"valid: {yes}; not: {no}; {', '.join(sorted(keywords_of(small[0])))}"
                out.classes[kind] += 1
                out.examples.setdefault(kind, (*small, said))
                break   # one of a schema is enough
    return out
