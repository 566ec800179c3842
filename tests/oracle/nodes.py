"""A schema as nodes: every subschema, and every value of `enum` and `const`, by number.

The only file here that knows which draft knows which keyword.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Iterator
from urllib.parse import unquote

from .base import BadSchema, Unsupported
from .regex import FORMATS, OTHER_FORMATS, Pattern, pattern
from .text import canon, is_number, number

TRUE, FALSE = 0, 1
DRAFTS = ("4", "6", "7", "2019-09", "2020-12")
FROM = {  # the first draft that knows a keyword
    "const": "6", "contains": "6", "propertyNames": "6", "if": "7", "then": "7", "else": "7",
    "minContains": "2019-09", "maxContains": "2019-09", "dependentRequired": "2019-09", "dependentSchemas": "2019-09",
    "unevaluatedProperties": "2019-09", "unevaluatedItems": "2019-09", "prefixItems": "2020-12",
    "$dynamicRef": "2020-12", "$recursiveRef": "2019-09"}
TO = {"dependencies": "7", "additionalItems": "2019-09", "$recursiveRef": "2019-09"}
REFUSED = ("$dynamicRef", "$recursiveRef")


@dataclass
class Node:
    """What one schema says; or, where `equals` is set, that the value is this one."""

    equals: Any = None                      # the canonical value
    types: list[str] | None = None
    enum: list[int] | None = None           # nodes
    also: list[int] = field(default_factory=list)   # allOf, $ref
    any_of: list[int] | None = None
    one_of: list[int] | None = None
    no: int | None = None
    when: int | None = None
    then: int = TRUE
    otherwise: int = TRUE
    dependents: list[tuple[str, list[str], int]] = field(default_factory=list)
    bounds: list[tuple[str, Fraction]] = field(default_factory=list)    # ">=", "<=", ">", "<"
    divisors: list[Fraction] = field(default_factory=list)
    min_length: int = 0
    max_length: int | None = None
    patterns: list[Pattern] = field(default_factory=list)               # pattern and format
    properties: dict[str, int] = field(default_factory=dict)
    pattern_properties: list[tuple[Pattern, int]] = field(default_factory=list)
    additional: int | None = None
    names: int | None = None
    required: list[str] = field(default_factory=list)
    min_members: int = 0
    max_members: int | None = None
    prefix: list[int] = field(default_factory=list)
    items: int | None = None
    contains: int | None = None
    min_contains: int = 1
    max_contains: int | None = None
    unique: bool = False
    min_items: int = 0
    max_items: int | None = None
    unevaluated_members: int | None = None
    unevaluated_items: int | None = None

    def in_place(self) -> list[int]:
        """Nodes that bind the same value."""
        found = [*(self.enum or ()), *self.also, *(self.any_of or ()), *(self.one_of or ())]
        found += [n for n in (self.no, self.when) if n is not None]
        if self.when is not None:
            found += [self.then, self.otherwise]
        return found + [schema for _, _, schema in self.dependents]

    def chooses(self) -> bool:
        """Whether it has branches, so that there is more than one way to meet it."""
        return bool(self.any_of or self.one_of or self.dependents or len(self.enum or ()) > 1
                    or self.unevaluated_members is not None or self.unevaluated_items is not None
                    ) or any(n is not None for n in (self.no, self.when, self.contains))


class Nodes:
    """All nodes of a schema; reading it refuses what it cannot honour."""

    def __init__(self, schema: Any, draft: str, assert_formats: bool) -> None:
        self.schema, self.draft, self.assert_formats = schema, draft, assert_formats
        self.all: list[Node] = [Node(), Node()]
        self.ids: dict[Any, int] = {}
        self.pending: list[tuple[int, Any]] = []
        self.pointed: set[Fraction] = set()     # numbers of enum and const that are written with a point
        self.root = self.of(schema)
        while self.pending:
            n, raw = self.pending.pop()
            self.read(self.all[n], raw)
        for n in range(len(self.all)):
            self.closure(n)

    def __getitem__(self, n: int) -> Node:
        return self.all[n]

    def of(self, schema: Any) -> int:
        if schema is True or schema is False:
            return TRUE if schema else FALSE
        if not isinstance(schema, dict):
            raise BadSchema("neither an object nor a boolean")
        if id(schema) not in self.ids:
            self.ids[id(schema)] = len(self.all)
            self.all.append(Node())
            self.pending.append((self.ids[id(schema)], schema))
        return self.ids[id(schema)]

    def equal(self, value: Any) -> int:
        """The node of a value; it asks of members and items what it asks of itself."""
        key = canon(value)
        if key not in self.ids:
            self.ids[key] = len(self.all)
            node = Node(equals=key)
            self.all.append(node)
            if is_number(value) and "." in str(value):
                self.pointed.add(number(value))
            if isinstance(value, dict):
                node.properties = {name: self.equal(v) for name, v in value.items()}
                node.required, node.additional = list(value), FALSE
            if isinstance(value, list):
                node.prefix = [self.equal(v) for v in value]
                node.items, node.min_items, node.max_items = FALSE, len(value), len(value)
        return self.ids[key]

    def knows(self, keyword: str) -> bool:
        at = DRAFTS.index(self.draft)
        return DRAFTS.index(FROM.get(keyword, "4")) <= at <= DRAFTS.index(TO.get(keyword, "2020-12"))

    def known(self, raw: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        if "$ref" in raw and self.draft in ("4", "6", "7"):
            yield "$ref", raw["$ref"]   # its siblings say nothing
        else:
            yield from ((k, v) for k, v in raw.items() if self.knows(k))

    def read(self, node: Node, raw: dict[str, Any]) -> None:
        said = dict(self.known(raw))
        for keyword in REFUSED:
            if keyword in said:
                raise Unsupported(keyword)
        self.read_branches(node, said)
        self.read_scalars(node, said)
        self.read_members(node, said)
        self.read_items(node, said)

    def read_branches(self, node: Node, said: dict[str, Any]) -> None:
        if "type" in said:
            node.types = [said["type"]] if isinstance(said["type"], str) else list(said["type"])
        if "enum" in said:
            node.enum = [self.equal(v) for v in said["enum"]]
        if "const" in said:
            one = self.equal(said["const"])
            node.enum = [one] if node.enum is None or one in node.enum else []
        if "$ref" in said:
            node.also.append(self.resolve(said["$ref"]))
        node.also += [self.of(s) for s in said.get("allOf", [])]
        if "anyOf" in said:
            node.any_of = [self.of(s) for s in said["anyOf"]]
        if "oneOf" in said:
            node.one_of = [self.of(s) for s in said["oneOf"]]
        if "not" in said:
            node.no = self.of(said["not"])
        if "if" in said:
            node.when = self.of(said["if"])
            node.then, node.otherwise = self.of(said.get("then", True)), self.of(said.get("else", True))
        for name, asked in said.get("dependentRequired", {}).items():
            node.dependents.append((name, asked, TRUE))
        for name, asked in said.get("dependentSchemas", {}).items():
            node.dependents.append((name, [], self.of(asked)))
        for name, asked in said.get("dependencies", {}).items():
            node.dependents.append((name, asked, TRUE) if isinstance(asked, list) else (name, [], self.of(asked)))

    def read_scalars(self, node: Node, said: dict[str, Any]) -> None:
        for keyword, sign in (("minimum", ">="), ("maximum", "<="),
                              ("exclusiveMinimum", ">"), ("exclusiveMaximum", "<")):
            if is_number(said.get(keyword)):
                node.bounds.append((sign, number(said[keyword])))
            elif said.get(keyword) is True:  # draft 4: it sharpens the bound beside it
                node.bounds = [(sign if s == sign + "=" else s, v) for s, v in node.bounds]
        if "multipleOf" in said:
            node.divisors.append(number(said["multipleOf"]))
        node.min_length = int(said.get("minLength", 0))
        node.max_length = int(said["maxLength"]) if "maxLength" in said else None
        if "pattern" in said:
            node.patterns.append(pattern(said["pattern"]))
        if self.assert_formats and said.get("format") in FORMATS:
            node.patterns.append(pattern(FORMATS[said["format"]]))
        elif self.assert_formats and said.get("format") in OTHER_FORMATS:
            raise Unsupported(f"format {said['format']}")

    def read_members(self, node: Node, said: dict[str, Any]) -> None:
        node.properties = {name: self.of(s) for name, s in said.get("properties", {}).items()}
        node.pattern_properties = [(pattern(p), self.of(s)) for p, s in said.get("patternProperties", {}).items()]
        node.required = list(dict.fromkeys(said.get("required", [])))
        node.min_members = int(said.get("minProperties", 0))
        node.max_members = int(said["maxProperties"]) if "maxProperties" in said else None
        node.additional = self.maybe(said, "additionalProperties")
        node.names = self.maybe(said, "propertyNames")
        node.unevaluated_members = self.maybe(said, "unevaluatedProperties")

    def read_items(self, node: Node, said: dict[str, Any]) -> None:
        if isinstance(said.get("items"), list):
            if self.draft == "2020-12":
                raise BadSchema("items is an array")
            node.prefix, node.items = [self.of(s) for s in said["items"]], self.maybe(said, "additionalItems")
        else:
            node.prefix, node.items = [self.of(s) for s in said.get("prefixItems", [])], self.maybe(said, "items")
        node.contains = self.maybe(said, "contains")
        node.min_contains = int(said.get("minContains", 1))
        node.max_contains = int(said["maxContains"]) if "maxContains" in said else None
        node.unique = said.get("uniqueItems", False)
        node.min_items = int(said.get("minItems", 0))
        node.max_items = int(said["maxItems"]) if "maxItems" in said else None
        node.unevaluated_items = self.maybe(said, "unevaluatedItems")

    def maybe(self, said: dict[str, Any], keyword: str) -> int | None:
        return self.of(said[keyword]) if keyword in said else None

    def resolve(self, reference: str) -> int:
        if not reference.startswith("#") or (reference != "#" and not reference.startswith("#/")):
            raise Unsupported(f"$ref {reference}")
        here: Any = self.schema
        for part in unquote(reference[1:]).split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            try:
                here = here[int(part)] if isinstance(here, list) else here[part]
            except (KeyError, IndexError, ValueError, TypeError):
                raise BadSchema(f"$ref {reference} leads nowhere") from None
        return self.of(here)

    def closure(self, *roots: int) -> list[int]:
        """All nodes that bind a value which the roots bind, in text order."""
        done: dict[int, None] = {}
        path: list[int] = []

        def visit(n: int) -> None:
            if n in path:
                raise BadSchema("a reference leads back to itself without progress")
            if n in done:
                return
            path.append(n)
            for below in self.all[n].in_place():
                visit(below)
            path.pop()
            done[n] = None

        for n in roots:
            visit(n)
        return sorted(done)
