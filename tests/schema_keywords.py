"""Random uses of the keywords beyond `SchemaMaker`'s own, each only where it is asked for.

What is drawn leans to where keywords meet: patterns that overlap each other and the declared
names, counts that leave little room, stocks of values that run out, evaluation through branches.
"""

from __future__ import annotations

from typing import Any

COUNTS = ("minProperties", "maxProperties", "dependentRequired", "dependentSchemas")
BRANCHES = ("oneOf", "not", "if")
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
STRINGS = ("pattern", "format")
NAMES = ("patternProperties", "propertyNames")
ITEMS = ("contains", "uniqueItems")
UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
ALL = frozenset(COUNTS + BRANCHES + BOUNDS + STRINGS + NAMES + ITEMS + UNEVALUATED)

PATTERNS = ("^a", "b$", "^[ab]*$", "^a|b$", "a.", "^(?:ab?)+$", "^[^a]", "^.{1,2}$", "1", "^$", "^a{2,3}$", "b+a?",
            "^\\w$", "^[a-c]{2}", "\\d", "^(?:a|bb)$", "^..?$")
FORMATS = ("date", "ipv4", "uuid", "json-pointer")
SINCE = {"contains": "6", "propertyNames": "6", "if": "7", "dependentRequired": "2019-09",
         "dependentSchemas": "2019-09", "unevaluatedProperties": "2019-09", "unevaluatedItems": "2019-09"}
DRAFTS = ("4", "6", "7", "2019-09", "2020-12")


def wants(maker: Any, keyword: str, p: float) -> bool:
    """Whether the dice and the draft are for it. No die is cast for what is not asked for."""
    return (keyword in maker.keywords and DRAFTS.index(maker.draft) >= DRAFTS.index(SINCE.get(keyword, "4"))
            and maker.rng.random() < p)


def add_keywords(maker: Any, schema: dict[str, Any], kind: str, depth: int) -> None:
    """Keywords of one type of value."""
    if kind == "string":
        add_string(maker, schema)
    elif kind in ("integer", "number"):
        add_number(maker, schema)
    elif kind == "object":
        add_object(maker, schema, depth)
    elif kind == "array":
        add_array(maker, schema, depth)


def add_string(maker: Any, schema: dict[str, Any]) -> None:
    if wants(maker, "pattern", 0.3):
        schema["pattern"] = maker.rng.choice(PATTERNS)
    if wants(maker, "format", 0.06):
        schema.clear()
        schema.update({"type": "string", "format": maker.rng.choice(FORMATS)})


def add_number(maker: Any, schema: dict[str, Any]) -> None:
    r = maker.rng
    if wants(maker, "minimum", 0.25):
        schema["minimum"] = r.choice((0, 1, -1, 5, 10, -12, 0.5))
    if wants(maker, "maximum", 0.25):
        schema["maximum"] = r.choice((1, 2, 12, 20, 100, 7.5))
    if wants(maker, "exclusiveMinimum", 0.1) and maker.draft != "4":
        schema["exclusiveMinimum"] = r.choice((0, 1, -5, 0.25))
    if wants(maker, "exclusiveMaximum", 0.1) and maker.draft != "4":
        schema["exclusiveMaximum"] = r.choice((2, 3, 10, 12.5))
    if wants(maker, "multipleOf", 0.12):
        schema["multipleOf"] = r.choice((2, 3, 5, 0.5, 0.25, 10))


def name_schema(maker: Any) -> Any:
    r = maker.rng
    return r.choice((
        {"pattern": r.choice(PATTERNS)}, {"maxLength": r.randint(0, 2)}, {"minLength": 1},
        {"const": r.choice(maker.pool.names)}, {"enum": r.sample(maker.pool.names, 2)},
        {"not": {"const": r.choice(maker.pool.names)}},
        {"anyOf": [{"pattern": r.choice(PATTERNS)}, {"const": r.choice(maker.pool.names)}]}, False))


def add_object(maker: Any, schema: dict[str, Any], depth: int) -> None:
    r, names = maker.rng, maker.pool.names
    if wants(maker, "patternProperties", 0.3):
        schema["patternProperties"] = {r.choice(PATTERNS): maker.child(depth) for _ in range(r.choice((1, 1, 2)))}
    if wants(maker, "propertyNames", 0.12):
        schema["propertyNames"] = name_schema(maker)
    if wants(maker, "minProperties", 0.12):
        schema["minProperties"] = r.randint(1, 3)
    if wants(maker, "maxProperties", 0.12):
        schema["maxProperties"] = r.randint(schema.get("minProperties", 0), 3)
    listed, schemas = (("dependentRequired", "dependentSchemas") if maker.draft in ("2019-09", "2020-12")
                       else ("dependencies", "dependencies"))
    if "dependentRequired" in maker.keywords and r.random() < 0.08:
        schema[listed] = {r.choice(names): [r.choice(names)]}
    if "dependentSchemas" in maker.keywords and r.random() < 0.08:
        schema.setdefault(schemas, {})[r.choice(names)] = maker.typed(depth - 1, "object") if depth > 0 else True
    if wants(maker, "unevaluatedProperties", 0.12):
        schema["unevaluatedProperties"] = False if r.random() < 0.7 else maker.child(depth)
        if r.random() < 0.6:
            schema.pop("additionalProperties", None)


def add_array(maker: Any, schema: dict[str, Any], depth: int) -> None:
    r = maker.rng
    if wants(maker, "contains", 0.25):
        schema["contains"] = maker.child(depth) if r.random() < 0.6 else {"const": r.choice(maker.pool.strings)}
        if maker.draft in ("2019-09", "2020-12"):
            if r.random() < 0.5:
                schema["minContains"] = r.randint(0, 2)
            if r.random() < 0.4:
                schema["maxContains"] = r.randint(schema.get("minContains", 0), 2)
    if wants(maker, "uniqueItems", 0.2):
        schema["uniqueItems"] = True
        if r.random() < 0.7:
            schema.pop("prefixItems", None)
            schema.pop("additionalItems", None)
            schema["items"] = small_stock(maker)
        if r.random() < 0.4:
            schema["minItems"] = r.randint(1, 3)
    if wants(maker, "unevaluatedItems", 0.12):
        schema["unevaluatedItems"] = False if r.random() < 0.7 else maker.child(depth)
        if r.random() < 0.6 and not isinstance(schema.get("items"), list):
            schema.pop("items", None)


def small_stock(maker: Any) -> Any:
    """A schema with few values."""
    r = maker.rng
    return r.choice((
        {"type": "boolean"}, {"enum": [maker.value(1) for _ in range(r.randint(1, 3))]}, {"type": ["boolean", "null"]},
        {"enum": [1, 1.0, 2]}, {"type": "string", "maxLength": 1, "enum": list(r.sample(maker.pool.strings, 3))},
        {"type": "array", "items": {"type": "boolean"}, "maxItems": 1}, {"type": "integer"}, {"type": "string"}))


def add_branches(maker: Any, depth: int, first_definition: int) -> dict[str, Any] | None:
    """A schema of branches, or None; the branches may evaluate for what stands beside them."""
    r = maker.rng
    kind = r.choice(("object", "object", "array", "string", "number", None))

    def branch() -> Any:
        return maker.schema(depth - 1, first_definition) if kind is None else maker.typed(depth - 1, kind)

    schema: dict[str, Any] = {}
    if wants(maker, "oneOf", 0.08):
        schema["oneOf"] = [branch() for _ in range(r.randint(2, 3))]
    if wants(maker, "not", 0.06):
        schema["not"] = branch()
    if wants(maker, "if", 0.06):
        schema["if"] = branch()
        for keyword in ("then", "else"):
            if r.random() < 0.7:
                schema[keyword] = branch()
    if not schema:
        return None
    if r.random() < 0.5:
        schema.update({**maker.typed(depth - 1, kind or "object"), **schema})
        schema.pop("type" if r.random() < 0.4 else "", None)
    add_unevaluated(maker, schema, depth)
    return schema


def add_unevaluated(maker: Any, schema: dict[str, Any], depth: int) -> None:
    """Beside branches and references."""
    r = maker.rng
    for keyword in UNEVALUATED:
        if wants(maker, keyword, 0.3):
            schema[keyword] = False if r.random() < 0.7 else maker.child(depth)
