"""References against witnesses: random documents with identifiers, anchors and dynamic scopes.

Where a reference leads is compared with the PyPI package `referencing`; what dynamic references
mean, with `jsonschema` on values. Seeded; `TOKFSM_PROPERTY_SEEDS` sets how many documents are drawn.
"""

from __future__ import annotations

import json
import os
import random
from typing import Any
from urllib.parse import urljoin

import jsonschema
import pytest
import referencing
import referencing.exceptions
from referencing.jsonschema import DRAFT4, DRAFT6, DRAFT7, DRAFT201909, DRAFT202012

import tokfsm

SEEDS = int(os.environ.get("TOKFSM_PROPERTY_SEEDS", "150"))
BYTES = tokfsm.Vocabulary.from_bytes([bytes([b]) for b in range(256)])
SPECIFICATIONS = {"4": DRAFT4, "6": DRAFT6, "7": DRAFT7, "2019-09": DRAFT201909, "2020-12": DRAFT202012}
MAPS = ("properties", "definitions", "patternProperties")
BASES = ("http://e.x/d/one", "http://e.x/d/two", "urn:three")


class Maker:
    """Documents whose every schema admits one number of its own, so that a value says which was meant."""

    def __init__(self, rng: random.Random, draft: str) -> None:
        self.rng, self.draft, self.count = rng, draft, 0
        self.names = [f"n{i}" for i in range(30)]
        rng.shuffle(self.names)
        self.id = "id" if draft == "4" else "$id"
        self.uris: list[str] = []
        self.anchors: list[str] = []

    def mark(self) -> dict[str, Any]:
        self.count += 1
        return {"type": "integer", "enum": [self.count]}

    def schema(self, base: str, depth: int) -> dict[str, Any]:
        rng, found = self.rng, self.mark()
        p = rng.random()
        if p < 0.25 and self.names:
            name = self.names.pop()
            found[self.id] = rng.choice((name, f"sub/{name}", f"../{name}", f"http://e.x/{name}", f"urn:{name}"))
            if found[self.id].startswith("urn:") or not base.startswith("urn:"):
                base = urljoin(base, found[self.id])
                self.uris.append(base)
            else:
                del found[self.id]
        elif p < 0.4 and self.names:
            name = self.names.pop()
            self.anchors.append(name)
            if self.draft in ("4", "6", "7"):
                found[self.id] = "#" + name
            else:
                found["$anchor"] = name
        if depth > 0:
            for _ in range(rng.randint(0, 2)):
                found.update(self.applicator(base, depth - 1))
        return found

    def applicator(self, base: str, depth: int) -> dict[str, Any]:
        rng = self.rng
        p = rng.random()
        if p < 0.5:
            keyword = rng.choice((*MAPS, "$defs"))
            return {keyword: {rng.choice("abc"): self.schema(base, depth) for _ in range(rng.randint(1, 2))}}
        if p < 0.65:
            # all of two numbers: none, so its negation says nothing
            return {"not": {"allOf": [self.schema(base, depth) for _ in range(2)]}}
        if p < 0.75:
            return {rng.choice(("not", "contains", "additionalProperties", "if")): self.schema(base, depth)}
        if p < 0.85:
            return {"items": self.schema(base, depth) if rng.random() < 0.5 or self.draft == "2020-12"
                    else [self.schema(base, depth)]}
        return {rng.choice(("examples", "unknown", "default")): rng.choice(({"a": self.schema(base, depth)},
                                                                           self.schema(base, depth)))}

    def reference(self, documents: dict[str, Any]) -> str:
        rng = self.rng
        known = rng.choice([*self.uris, *documents])
        base = rng.choice((known, known, known.split("/")[-1], "../" + known.split("/")[-1]))
        p = rng.random()
        if p < 0.35 and self.anchors:
            return base + "#" + rng.choice(self.anchors)
        if p < 0.5:
            return base + rng.choice(("", "#"))
        steps = [rng.choice((*MAPS, "$defs", "allOf", "items", "not", "unknown", "examples", "a", "b", "0", "1"))
                 for _ in range(rng.randint(1, 4))]
        return base + "#" + "".join("/" + step for step in steps)


def places(schema: Any, pointer: str = "") -> list[str]:
    """Pointers of all objects; two places with one pointer never happen."""
    found, stack = [], [(schema, pointer)]
    while stack:
        value, at = stack.pop()
        if isinstance(value, dict):
            found.append(at)
            stack += [(v, f"{at}/{k.replace('~', '~0').replace('/', '~1')}") for k, v in value.items()]
        elif isinstance(value, list):
            stack += [(v, f"{at}/{i}") for i, v in enumerate(value)]
    return found


@pytest.mark.parametrize("draft", sorted(SPECIFICATIONS))
def test_where_references_lead(draft: str) -> None:
    specification, found_both, found_none = SPECIFICATIONS[draft], 0, 0
    for seed in range(SEEDS // 3):
        rng = random.Random(f"{draft}{seed}")
        maker = Maker(rng, draft)
        documents = {base: maker.schema(base, 4) for base in BASES}
        for document in documents.values():
            if maker.id in document:
                del document[maker.id]  # known under the URI that they are given under
        registry = referencing.Registry().with_resources(
            (uri, specification.create_resource(one)) for uri, one in documents.items()).crawl()
        for _ in range(12):
            reference = maker.reference(documents)
            if rng.random() < 0.5:
                uri = rng.choice(BASES)
                reference = uri + "#" + rng.choice(places(documents[uri]))
            base = rng.choice(BASES[:2]) + "/root"
            try:
                expected = registry.resolver(base).lookup(reference).contents
            except (referencing.exceptions.Unresolvable, ValueError, TypeError, IndexError):
                expected = None
            root = {maker.id: base, "allOf": [{"$ref": reference}]}
            if not isinstance(expected, dict):
                with pytest.raises(tokfsm.SchemaError) as caught:
                    tokfsm.compile(root, BYTES, draft=draft, resources=documents)
                assert caught.value.keyword == "$ref", (seed, reference, caught.value)
                found_none += 1
            elif "enum" in expected:
                matcher = tokfsm.compile(root, BYTES, draft=draft, resources=documents).matcher()
                numbers = [n for n in range(1, maker.count + 1) if matcher.check_bytes(str(n).encode())[1]]
                assert numbers == expected["enum"], (seed, reference, expected, numbers)
                found_both += 1
    assert found_both > SEEDS // 3 and found_none > SEEDS // 3, (found_both, found_none)


# ---- dynamic scopes --------------------------------------------------------------------


def leaf(rng: random.Random) -> dict[str, Any]:
    return rng.choice(({"type": "integer"}, {"type": "string"}, {"type": "boolean"}, {"type": ["null", "object"]}, {}))


def tree(rng: random.Random, draft: str, uri: str, uris: list[str]) -> dict[str, Any]:
    """A resource: objects with members x and y, which refer on, statically and dynamically."""

    def refer() -> dict[str, Any]:
        p = rng.random()
        if p < 0.45:
            return {"$recursiveRef": "#"} if draft == "2019-09" else {"$dynamicRef": rng.choice(("#N", "#M"))}
        if p < 0.7:
            return {"$ref": rng.choice(uris)}
        if p < 0.8:
            return {"$ref": rng.choice(uris) + "#/$defs/in"}
        return leaf(rng)

    closed = {"type": "object", "properties": {"x": refer(), "y": refer()}, "additionalProperties": False}
    found: dict[str, Any] = {"$id": uri, "anyOf": [leaf(rng), closed]}
    found["$defs"] = {"in": {"type": "object", "properties": {"x": refer(), "y": refer()},
                             "additionalProperties": leaf(rng)},
                      "N": {"type": "object", "properties": {"x": refer()}}, "M": leaf(rng)}
    if draft == "2019-09":
        return found
    kind = rng.choice(("$dynamicAnchor", "$dynamicAnchor", "$anchor"))
    if rng.random() < 0.4:
        found[kind] = "N"
    else:
        found["$defs"]["N"][kind] = "N"
    found["$defs"]["M"]["$dynamicAnchor"] = "M"
    if rng.random() < 0.3:
        del found["$defs"]["M"]["$dynamicAnchor"]
        found["$defs"]["M"]["$anchor"] = "M"
    return found


def value(rng: random.Random, depth: int) -> Any:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice((1, "s", True, None, {}))
    return {name: value(rng, depth - 1) for name in rng.sample(("x", "y", "z"), rng.randint(0, 2))}


@pytest.mark.parametrize("draft", ["2019-09", "2020-12"])
def test_dynamic_scopes(draft: str) -> None:
    specification = SPECIFICATIONS[draft]
    validator = jsonschema.Draft201909Validator if draft == "2019-09" else jsonschema.Draft202012Validator
    compiled = differ = 0
    for seed in range(SEEDS):
        rng = random.Random(f"{draft}{seed}")
        uris = [f"http://e.x/{i}" for i in range(rng.randint(2, 4))]
        documents = {uri: tree(rng, draft, uri, uris) for uri in uris}
        anchored = draft == "2020-12" or rng.random() < 0.8
        if draft == "2019-09":
            # The witness looks outwards only as far as every resource has the anchor; the
            # specification (§8.2.4.2.2) asks for the outermost that has it. Here that is one.
            for d in documents.values():
                d["$recursiveAnchor"] = anchored
        both = {"type": "object", "properties": {"x": {"$ref": uris[0]}, "y": {"$ref": uris[1]}},
                "additionalProperties": False}
        root = {"$id": "http://e.x/root", **rng.choice(({"$ref": uris[0]}, {"$ref": uris[-1]}, both))}
        if anchored and rng.random() < 0.5:
            root["$recursiveAnchor" if draft == "2019-09" else "$dynamicAnchor"] = True if draft == "2019-09" else "N"
        registry = referencing.Registry().with_resources(
            (u, specification.create_resource(d)) for u, d in documents.items())
        judge = validator(root, registry=registry)
        if draft == "2019-09":
            root["$schema"] = "https://json-schema.org/draft/2019-09/schema"
        try:
            automaton = tokfsm.compile(root, BYTES, draft=draft, resources=documents)
        except tokfsm.UnsatisfiableSchemaError:
            assert not any(judge.is_valid(value(rng, 4)) for _ in range(50)), seed
            continue
        except tokfsm.SchemaError as error:
            assert "itself" in str(error), (seed, error)
            continue
        compiled += 1
        matcher = automaton.matcher()
        verdicts = set()
        for _ in range(60):
            one = value(rng, 4)
            ok = judge.is_valid(one)
            verdicts.add(ok)
            text = json.dumps(one, separators=(",", ":")).encode()
            assert matcher.check_bytes(text)[1] == ok, (seed, root, documents, one)
        differ += len(verdicts) == 2
    assert compiled > SEEDS / 2 and differ > SEEDS / 4, (compiled, differ)
