"""``unsupported="relax"``: what is left out is listed, and the language gets wider, never narrower.

Two witnesses: validators that know back-references (`judge`), and the same schema with a pattern that
has the same language and is regular, compiled exactly.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import tokfsm
from judge import Disagreement, Judge, NoWitnessError
from relaxed_schemas import BACK, CAUSES, PLACES, random_schema, values, with_plain
from schemas import COUNTED, RICH, SchemaMaker

BYTES = tokfsm.Vocabulary.from_bytes([bytes([i]) for i in range(256)] + [b'":', b"aa", b'"}'])
FEW = tokfsm.Vocabulary.from_bytes([bytes([i]) for i in b'[]{}",:0123456789truefalsn'] + [b'xyz"'])
TEXTS = {json.dumps(value, separators=(",", ":")): value for value in values()}
LIMITS = tokfsm.Limits(work_units=20_000_000)


def relax(schema: Any, vocab: tokfsm.Vocabulary = BYTES, **options: Any) -> tokfsm.Automaton:
    return tokfsm.compile(schema, vocab, unsupported="relax", **options)


def accepted(automaton: tokfsm.Automaton) -> set[str]:
    m = automaton.matcher()
    return {text for text in TEXTS if m.check_bytes(text.encode())[1]}


def is_refused(schema: Any, **options: Any) -> bool:
    try:
        tokfsm.compile(schema, BYTES, **options)
    except tokfsm.UnsupportedSchemaError:
        return True
    return False


def resolve(schema: Any, pointer: str) -> Any:
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        schema = schema[int(name)] if isinstance(schema, list) else schema[name]
    return schema


def listed(automaton: tokfsm.Automaton) -> list[tuple[str, str]]:
    return [(one.pointer, one.keyword) for one in automaton.relaxed]


# ---- wider, never narrower ----


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_in_every_place(cause: str, place: str) -> None:
    schema = PLACES[place](CAUSES[cause])
    automaton = relax(schema)
    refused = is_refused(schema)
    assert bool(automaton.relaxed) == refused
    for one in automaton.relaxed:
        resolve(schema, one.pointer)
        assert one.keyword == one.pointer.split("/")[-2 if one.keyword == "patternProperties" else -1]
        assert one.reason
    judge, taken = Judge(schema), accepted(automaton)
    for text, value in TEXTS.items():
        try:
            valid = judge.value_ok(value)
        except (Disagreement, NoWitnessError):
            continue
        if valid:
            assert text in taken, automaton.relaxed
        elif not refused:
            assert text not in taken


@pytest.mark.parametrize("options", [{}, {"additional_properties": "closed"}], ids=["spec", "closed"])
def test_schemas_at_random(options: dict[str, Any]) -> None:
    n_wider = n_relaxed = 0
    for seed in range(150):
        schema = random_schema(random.Random(seed))
        try:
            exact = tokfsm.compile(with_plain(schema), BYTES, limits=LIMITS, **options)
            spec = tokfsm.compile(with_plain(schema), BYTES, limits=LIMITS)
            valid = accepted(exact) & accepted(spec)
            relaxed = relax(schema, limits=LIMITS, **options)
            taken = accepted(relaxed)
        except (tokfsm.UnsatisfiableSchemaError, tokfsm.LimitError):
            continue
        assert valid <= taken, (seed, schema, valid - taken)
        if relaxed.relaxed:
            n_relaxed += 1
            n_wider += valid < taken
        elif not options:
            assert valid == taken, (seed, schema)
    assert n_relaxed > 50 and n_wider > 20


def test_an_unsatisfiable_schema_stays_one() -> None:
    for schema in (
        {"pattern": BACK, "enum": [1], "type": "string"},
        False,
        {"allOf": [{"pattern": BACK}, {"type": "string", "minLength": 2, "maxLength": 1}]},
    ):
        with pytest.raises(tokfsm.UnsatisfiableSchemaError):
            relax(schema)


# ---- no wider than it must be ----


def test_what_is_kept() -> None:
    """Beside what is left out, everything holds on."""
    automaton = relax(
        {
            "type": "object",
            "properties": {"x": {"type": "string", "pattern": BACK, "maxLength": 2}, "q": {"not": {"const": 1}}},
            "additionalProperties": False,
        }
    )
    assert listed(automaton) == [("/properties/x/pattern", "pattern")]
    m = automaton.matcher()
    for text, wanted in (
        ('{"x":"aa"}', True),
        ('{"x":"ab"}', True),
        ('{"x":"aaa"}', False),
        ('{"x":1}', False),
        ('{"q":1}', False),
        ('{"q":2}', True),
        ('{"z":1}', False),
    ):
        assert m.check_bytes(text.encode())[1] == wanted, text


def test_names_by_a_pattern_left_out() -> None:
    """May be what the pattern says or what all others are, but nothing else."""
    schema = {
        "type": "object",
        "properties": {"q": {"const": 0}},
        "patternProperties": {BACK: {"type": "integer"}, "^z": {"const": 3}},
        "additionalProperties": {"type": "null"},
    }
    automaton = relax(schema)
    assert listed(automaton) == [
        (f"/patternProperties/{BACK}", "patternProperties"),
        ("/additionalProperties", "additionalProperties"),
    ]
    m = automaton.matcher()
    for text, wanted in (
        ('{"aa":1}', True),
        ('{"aa":"s"}', False),
        ('{"ab":null}', True),
        ('{"q":1}', False),
        ('{"z":3}', True),
        ('{"z":1}', False),
    ):
        assert m.check_bytes(text.encode())[1] == wanted, text


def test_around_a_cause() -> None:
    """The keywords that turn a schema round are loosened, and only those that lead to it."""
    s = {"type": "string", "pattern": BACK}
    cases: list[tuple[Any, list[str], str, str]] = [
        ({"not": s, "type": "string", "allOf": [{"not": {"const": "q"}}]}, ["/not"], '"aa"', '"q"'),
        ({"oneOf": [s, {"type": "integer"}]}, ["/oneOf", "/oneOf/0/pattern"], '"q"', "null"),
        (
            {"oneOf": [s, {"type": "integer"}], "anyOf": [{"const": "aa"}, {"const": 1}]},
            ["/oneOf", "/oneOf/0/pattern"],
            "1",
            '"ab"',
        ),
        ({"if": s, "then": {"const": "q"}, "else": {"type": "null"}}, ["/if", "/if/pattern"], "null", '"p"'),
        ({"if": {"const": "q"}, "then": s}, ["/then/pattern"], '"q"', '"'),
        ({"type": "array", "contains": s, "maxContains": 1}, ["/contains/pattern", "/maxContains"], '["x","y"]', "[]"),
        ({"type": "array", "items": {"not": {"anyOf": [s, {"type": "null"}]}}}, ["/items/not"], "[null]", "1"),
    ]
    for schema, pointers, taken, refused in cases:
        automaton = relax(schema)
        assert sorted(one.pointer for one in automaton.relaxed) == pointers, schema
        m = automaton.matcher()
        assert m.check_bytes(taken.encode())[1] and not m.check_bytes(refused.encode())[1], schema
        assert all("back-references are not regular" in one.reason for one in automaton.relaxed)


def test_both_ways_through_a_reference() -> None:
    schema = {
        "$defs": {"s": {"type": "string", "pattern": BACK}, "t": {"type": "string", "maxLength": 1}},
        "properties": {
            "x": {"$ref": "#/$defs/s"},
            "q": {"not": {"$ref": "#/$defs/s"}},
            "r": {"not": {"$ref": "#/$defs/t"}},
        },
    }
    automaton = relax(schema)
    assert listed(automaton) == [("/$defs/s/pattern", "pattern"), ("/properties/q/not", "not")]
    m = automaton.matcher()
    assert not m.check_bytes(b'{"x":1}')[1] and not m.check_bytes(b'{"r":"a"}')[1]


def test_what_nothing_leads_to_is_not_listed() -> None:
    schema = {
        "$defs": {"s": {"pattern": BACK}},
        "type": "object",
        "not": {"properties": {"x": {"not": {"$ref": "#/$defs/s"}}}},
    }
    assert listed(relax(schema)) == [("/not", "not")]
    assert listed(relax({"$defs": {"s": {"pattern": BACK}}})) == []
    assert listed(relax({"type": "integer", "pattern": BACK})) == []  # says nothing: not refused either
    assert not is_refused({"type": "integer", "pattern": BACK})
    assert listed(relax({"format": "regex"}, format="annotate")) == []


def test_items_that_must_not_differ() -> None:
    """uniqueItems is kept where it must hold, where only its failing cannot be honoured."""
    schema = {
        "$defs": {"u": {"type": "array", "uniqueItems": True}},
        "type": "object",
        "properties": {"t": {"$ref": "#/$defs/u"}, "f": {"type": "array", "not": {"$ref": "#/$defs/u"}}},
    }
    with pytest.raises(tokfsm.UnsupportedSchemaError):
        tokfsm.compile(schema, FEW)
    automaton = relax(schema, FEW)
    assert listed(automaton) == [("/properties/f/not", "not")]
    m = automaton.matcher()
    for text, wanted in (
        (b'{"t":[1,2]}', True),
        (b'{"t":[1,1]}', False),
        (b'{"f":[1,1]}', True),
        (b'{"f":[1,2]}', True),
        (b'{"f":1}', False),
    ):
        assert m.check_bytes(text)[1] == wanted, text


def test_several_refusals_of_items() -> None:
    u = {"type": "array", "uniqueItems": True, "contains": {"const": 1}}
    schema = {
        "properties": {"a": u, "b": {"items": u}, "c": {"type": "array", "uniqueItems": True}},
        "additionalProperties": {
            "type": "array",
            "minItems": 5000,
            "uniqueItems": True,
            "items": {"type": "integer", "minimum": 0, "maximum": 9999},
        },
    }
    automaton = relax(schema)
    assert [one.pointer for one in automaton.relaxed] == [
        "/properties/a/uniqueItems",
        "/properties/b/items/uniqueItems",
        "/additionalProperties/uniqueItems",
    ]
    m = automaton.matcher()
    assert (
        m.check_bytes(b'{"a":[1,1]}')[1] and not m.check_bytes(b'{"a":[2]}')[1] and not m.check_bytes(b'{"c":[1,1]}')[1]
    )


@pytest.mark.parametrize(
    "pattern", [r"(a)\1", r"(?<n>a)\k<n>", "a++", "(?>a)", r"\p{Nowhere}", r"\hx", r"(?<=(?=a)a)", r"\pL"]
)
def test_all_that_patterns_are_refused_for(pattern: str) -> None:
    for schema, pointer in (
        ({"pattern": pattern}, "/pattern"),
        ({"patternProperties": {pattern: False}}, "/patternProperties"),
    ):
        with pytest.raises(tokfsm.UnsupportedSchemaError) as refusal:
            tokfsm.compile(schema, BYTES)
        (one,) = relax(schema).relaxed
        assert one.pointer.startswith(pointer) and one == (
            refusal.value.pointer,
            refusal.value.keyword,
            refusal.value.message,
        )


# ---- vocabularies ----

CORE = {
    f"https://json-schema.org/draft/2020-12/vocab/{name}": True
    for name in ("core", "applicator", "validation", "unevaluated", "meta-data")
}


def test_unknown_vocabularies() -> None:
    """Their keywords say nothing where that is wider; where it is not, what is around them is loosened."""
    meta = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "u:m",
        "$vocabulary": {**CORE, "u:what": True, "u:else": False},
    }
    cases: list[tuple[Any, list[str], str, str]] = [
        ({"title": "t", "type": "integer", "what": 1}, [], "1", '"s"'),
        ({"not": {"type": "integer", "title": "t"}}, [], '"s"', "1"),
        ({"not": {"type": "integer", "what": 1}}, ["/not"], "1", "x"),
        ({"oneOf": [{"minimum": 1, "what": 1}, {"maximum": 2}]}, ["/oneOf"], "1", "x"),
        ({"type": "object", "what": [], "unevaluatedProperties": False}, ["/unevaluatedProperties"], '{"x":1}', "1"),
        (
            {"type": "object", "properties": {"x": {"what": 1}}, "unevaluatedProperties": False},
            [],
            '{"x":1}',
            '{"y":1}',
        ),
        ({"allOf": [{"what": []}], "unevaluatedItems": False}, ["/unevaluatedItems"], "[1]", "x"),
    ]
    for schema, pointers, taken, refused in cases:
        schema = {"$schema": "u:m", **schema}
        with pytest.raises(tokfsm.UnsupportedSchemaError):
            tokfsm.compile(schema, BYTES, resources={"u:m": meta})
        automaton = relax(schema, resources={"u:m": meta})
        assert [one.pointer for one in automaton.relaxed] == [*pointers, "u:m#/$vocabulary/u:what"], schema
        assert automaton.relaxed[-1].keyword == "$vocabulary"
        m = automaton.matcher()
        assert m.check_bytes(taken.encode())[1] and not m.check_bytes(refused.encode())[1], schema


# ---- what stays an error ----


@pytest.mark.parametrize(
    ("schema", "error"),
    [
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, tokfsm.UnsupportedSchemaError),
        ({"$ref": "#/nowhere"}, tokfsm.SchemaError),
        ({"not": {"pattern": BACK, "minLength": -1}}, tokfsm.SchemaError),
        ({"pattern": "["}, tokfsm.SchemaError),
        ({"properties": {"x": {"pattern": BACK}, "y": {"pattern": "("}}}, tokfsm.SchemaError),
        ({"not": {"pattern": BACK, "items": {"$ref": "u:unknown"}}}, tokfsm.SchemaError),
    ],
)
def test_what_stays_an_error(schema: Any, error: type[tokfsm.SchemaError]) -> None:
    with pytest.raises(error) as caught:
        relax(schema)
    assert type(caught.value) is error


def test_limits_hold() -> None:
    u = {"type": "array", "uniqueItems": True, "contains": {"const": 1}}
    with pytest.raises(tokfsm.LimitError):
        relax({"prefixItems": [u] * 1000}, limits=tokfsm.Limits(work_units=1_000_000))
    with pytest.raises(tokfsm.LimitError):
        relax(
            {"properties": {f"n{i}": {"pattern": BACK} for i in range(20_000)}},
            limits=tokfsm.Limits(work_units=10_000_000),
        )


# ---- where nothing is refused, and what is kept ----


def without_the_option(data: bytes) -> bytes:
    """An artifact but for its checksum and the option `unsupported` (docs/format.md, section 2)."""
    return data[:64] + data[96:132] + data[136:]


def test_nothing_refused_nothing_changed() -> None:
    rng = random.Random(5)
    schemas = [*COUNTED, *(SchemaMaker(rng, RICH).make() for _ in range(40))]
    n = 0
    for schema in schemas:
        try:
            exact = tokfsm.compile(schema, BYTES)
            data = exact.to_bytes(embed_pack=False)
        except tokfsm.TokfsmError:
            continue
        relaxed = relax(schema)
        assert relaxed.relaxed == () == exact.relaxed
        assert without_the_option(relaxed.to_bytes(embed_pack=False)) == without_the_option(data)
        n += 1
    assert n > 20


def test_an_artifact_tells(tmp_path: Path) -> None:
    automaton = relax({"not": {"pattern": BACK}, "properties": {"é~/": {"format": "regex"}}})
    assert [one.pointer for one in automaton.relaxed] == ["/not", "/properties/é~0~1/format"]
    automaton.save(tmp_path / "a.tokfsm")
    opened = tokfsm.load(tmp_path / "a.tokfsm")
    assert opened.relaxed == automaton.relaxed and isinstance(opened.relaxed[0], tokfsm.Relaxed)
    assert opened.options["unsupported"] == "relax"
    assert opened.to_bytes() == automaton.to_bytes()
    assert accepted(opened) == accepted(automaton)


def test_long_texts_are_cut_between_characters() -> None:
    name = "é" * 3000
    automaton = relax({"properties": {name: {"not": {"pattern": BACK}}, "q": {"pattern": rf"\p{{{'é' * 29}}}"}}})
    first, second = automaton.relaxed
    assert first.pointer.endswith("…") and "\ufffd" not in first.pointer + first.reason + second.reason
    assert len(first.reason.encode()) < 4000
