"""A schema of the narrow language, read into alternatives and their rules."""

from __future__ import annotations

from itertools import product
from typing import Any, Iterable
from urllib.parse import unquote

from .alternatives_rules import BEYOND, Alternative, ArrayRules, Conjunction, Facts, ObjectRules, Open
from .base import BadSchema, Base, Unsupported
from .text import ATOMS, canon, decimal_digits, is_number, kinds, number


class AlternativesSchema(Base):
    """Reads schemas."""

    _nodes: list[Any]
    _node_ids: dict[Any, int]
    _expanded: dict[Conjunction, list[Alternative]]
    _facts: dict[Alternative, Facts]
    _object_rules: dict[Open, ObjectRules]
    _array_rules: dict[Open, ArrayRules]

    def _node(self, schema: Any, key: Any = None) -> int:
        key = key or (id(schema) if isinstance(schema, dict) else ("boolean", bool(schema)))
        if key not in self._node_ids:
            self._node_ids[key] = len(self._nodes)
            self._nodes.append(schema)
        return self._node_ids[key]

    def _const_node(self, value: Any) -> int:
        return self._node({"enum": [value]}, ("const", canon(value), repr(value)))

    def _conjunction(self, schemas: Iterable[Any]) -> Conjunction:
        return tuple(dict.fromkeys(self._node(s) for s in schemas if s is not True))

    def expand(self, conjunction: Conjunction) -> list[Alternative]:
        """The alternatives of a conjunction, in text order."""
        if conjunction not in self._expanded:
            parts = [self._expand_node(n, ()) for n in conjunction]
            self._expanded[conjunction] = list(dict.fromkeys(self._join(c) for c in product(*parts)))
        return self._expanded[conjunction]

    @staticmethod
    def _join(parts: Iterable[Alternative]) -> Alternative:
        return tuple(dict.fromkeys(n for part in parts for n in part))

    def _expand_node(self, node: int, path: tuple[int, ...]) -> list[Alternative]:
        schema = self._nodes[node]
        if schema is True or schema is False:
            return [()] if schema else []
        if node in path:
            raise BadSchema("a reference leads back to itself without progress")
        path += (node,)
        if "$ref" in schema and self.draft in ("4", "6", "7"):
            return self._expand_node(self._resolve(schema["$ref"]), path)
        for keyword in schema:
            if keyword in BEYOND:
                raise Unsupported(keyword)
        parts: list[list[Alternative]] = [[(node,)]]
        for keyword, value in schema.items():
            if keyword == "$ref":
                parts.append(self._expand_node(self._resolve(value), path))
            elif keyword == "allOf":
                parts.extend(self._expand_node(self._node(s), path) for s in value)
            elif keyword == "anyOf":
                parts.append([x for s in value for x in self._expand_node(self._node(s), path)])
        return [self._join(c) for c in product(*parts)]

    def _resolve(self, reference: str) -> int:
        if not reference.startswith("#") or (reference != "#" and not reference.startswith("#/")):
            raise Unsupported(f"$ref {reference}")
        here: Any = self.schema
        for part in unquote(reference[1:]).split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            try:
                here = here[int(part)] if isinstance(here, list) else here[part]
            except (KeyError, IndexError, ValueError, TypeError):
                raise BadSchema(f"$ref {reference} leads nowhere") from None
        return self._node(here)

    def _known(self, keyword: str) -> bool:
        """Whether the draft knows a keyword that not all do."""
        return {"const": self.draft != "4", "prefixItems": self.draft == "2020-12",
                "additionalItems": self.draft != "2020-12"}[keyword]

    def facts(self, alternative: Alternative) -> Facts:
        if alternative not in self._facts:
            atoms, enum, low, high = ATOMS, None, 0, None
            pointed: set[Any] = set()  # numbers that some list writes with a point
            for schema in (self._nodes[n] for n in alternative):
                if "type" in schema:
                    names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
                    atoms &= {a for name in names
                              for a in (("integer", "fraction") if name == "number" else (name,))}
                lists = [schema["enum"]] if "enum" in schema else []
                if "const" in schema and self._known("const"):
                    lists.append([schema["const"]])
                for values in lists:
                    pointed |= {canon(v) for v in values if is_number(v) and "." in str(v)}
                    admitted = {canon(v) for v in values}
                    enum = [v for v in (values if enum is None else enum) if canon(v) in admitted]
                low = max(low, int(schema.get("minLength", 0)))
                if "maxLength" in schema:
                    high = int(schema["maxLength"]) if high is None else min(high, int(schema["maxLength"]))
            if enum is not None:
                enum = [v for v in enum if kinds(v) in atoms and self._writable(v)]
            self._facts[alternative] = Facts(frozenset(atoms), enum, low, high,
                                             any(canon(v) in pointed for v in enum or ()))
        return self._facts[alternative]

    def _writable(self, value: Any) -> bool:
        """Whether a scalar has a spelling at all: numbers that need more digits than allowed have none."""
        return not is_number(value) or self.max_digits is None or max(
            map(len, decimal_digits(number(value)))) <= self.max_digits

    def openings(self, alternative: Alternative, kind: str) -> list[Open]:
        """The alternative as an object or array: one for each enum value, else one."""
        facts = self.facts(alternative)
        if kind not in facts.atoms:
            return []
        if facts.enum is None:
            return [Open(alternative, None)]
        return [Open(alternative, self._const_node(v)) for v in facts.enum if kinds(v) == kind]

    def object_rules(self, o: Open) -> ObjectRules:
        if o not in self._object_rules:
            schemas = [self._nodes[n] for n in o.nodes]
            value = None if o.const is None else self._nodes[o.const]["enum"][0]
            order = [name for s in schemas for name in s.get("properties", {})] + list(value or {})
            required = [name for s in schemas for name in s.get("required", [])] + list(value or {})
            order, required = list(dict.fromkeys(order + required)), list(dict.fromkeys(required))
            declared = {name for s in schemas for name in s.get("properties", {})}
            closes = (self.closed and any("properties" in s for s in schemas)
                      and not any("additionalProperties" in s for s in schemas))

            def child(name: str | None) -> Conjunction:
                parts: list[Any] = [s["properties"][name] if name in s.get("properties", {})
                                    else s.get("additionalProperties", True) for s in schemas]
                if closes and name not in declared:
                    parts.append(False)
                if value is not None and name not in value:
                    parts.append(False)
                tail = () if value is None or name not in value else (self._const_node(value[name]),)
                return self._join([self._conjunction(parts), tail])

            self._object_rules[o] = ObjectRules(order, required, {n: child(n) for n in order}, child(None),
                                                self.ordered)
        return self._object_rules[o]

    def array_rules(self, o: Open) -> ArrayRules:
        if o not in self._array_rules:
            low, high = 0, None
            lists: list[tuple[list[Any], Any]] = []  # schemas of the first items, schema of the rest
            for schema in (self._nodes[n] for n in o.nodes):
                low = max(low, int(schema.get("minItems", 0)))
                if "maxItems" in schema:
                    high = int(schema["maxItems"]) if high is None else min(high, int(schema["maxItems"]))
                if isinstance(schema.get("items"), list) and self._known("additionalItems"):
                    lists.append((schema["items"], schema.get("additionalItems", True)))
                elif "prefixItems" in schema and self._known("prefixItems"):
                    lists.append((schema["prefixItems"], schema.get("items", True)))
                else:
                    lists.append(([], schema.get("items", True)))
            values = None if o.const is None else self._nodes[o.const]["enum"][0]
            if values is not None:
                low, high = max(low, len(values)), len(values) if high is None else min(high, len(values))

            def child(i: int) -> Conjunction:
                parts = [first[i] if i < len(first) else rest for first, rest in lists]
                if values is None or i >= len(values):
                    return self._conjunction(parts)
                return self._join([self._conjunction(parts), (self._const_node(values[i]),)])

            n = max([len(first) for first, _ in lists] + [len(values or [])])
            self._array_rules[o] = ArrayRules([child(i) for i in range(n)], child(n), low, high)
        return self._array_rules[o]
