"""References, resources and dialects: what the specification says of each, and the errors."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

import tokfsm

BYTES = tokfsm.Vocabulary.from_bytes([bytes([b]) for b in range(256)])
ROOT = Path(__file__).resolve().parents[2]
D7, D2019 = "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema"
D4, D2020 = "http://json-schema.org/draft-04/schema#", "https://json-schema.org/draft/2020-12/schema"


def accepts(schema: Any, *values: Any, **options: Any) -> list[bool]:
    matcher = tokfsm.compile(schema, BYTES, numbers="any", **options).matcher()
    return [matcher.check_bytes(v if isinstance(v, bytes) else json.dumps(v, separators=(",", ":")).encode())[1]
            for v in values]


def refuses(schema: Any, **options: Any) -> tokfsm.SchemaError:
    with pytest.raises(tokfsm.SchemaError) as caught:
        tokfsm.compile(schema, BYTES, **options)
    return caught.value


# ---- URIs ------------------------------------------------------------------------------

# RFC 3986 §5.4: against http://a/b/c/d;p?q
RESOLVED = {
    "g:h": "g:h", "g": "http://a/b/c/g", "./g": "http://a/b/c/g", "g/": "http://a/b/c/g/", "/g": "http://a/g",
    "//g": "http://g", "?y": "http://a/b/c/d;p?y", "g?y": "http://a/b/c/g?y", ";x": "http://a/b/c/;x",
    "g;x": "http://a/b/c/g;x", "g;x?y#s": "http://a/b/c/g;x?y", ".": "http://a/b/c/", "./": "http://a/b/c/",
    "..": "http://a/b/", "../": "http://a/b/", "../g": "http://a/b/g", "../..": "http://a/", "../../": "http://a/",
    "../../g": "http://a/g", "../../../g": "http://a/g", "../../../../g": "http://a/g", "/./g": "http://a/g",
    "/../g": "http://a/g", "g.": "http://a/b/c/g.", ".g": "http://a/b/c/.g", "g..": "http://a/b/c/g..",
    "..g": "http://a/b/c/..g", "./../g": "http://a/b/g", "./g/.": "http://a/b/c/g/", "g/./h": "http://a/b/c/g/h",
    "g/../h": "http://a/b/c/h", "g;x=1/./y": "http://a/b/c/g;x=1/y", "g;x=1/../y": "http://a/b/c/y",
    "g?y/./x": "http://a/b/c/g?y/./x", "g?y/../x": "http://a/b/c/g?y/../x",
}


@pytest.mark.parametrize("reference", RESOLVED)
def test_rfc_3986(reference: str) -> None:
    uri = RESOLVED[reference]
    uris = {*RESOLVED.values(), "http://a/b/c/d;p"}
    given = {u: {"const": u, "$defs": {"x": {"$anchor": "s", "const": u}}} for u in uris}
    assert accepts({"$id": "http://a/b/c/d;p?q", "$ref": reference}, uri, uri + "x", resources=given) == [True, False]


def test_bases() -> None:
    inner = {"$id": "/x/y.json", "$defs": {"z": {"$id": "z.json", "$ref": "w.json"}}}
    assert accepts({"$id": "http://h/", "$ref": "x/y.json#/$defs/z", "$defs": {"i": inner}}, 1, 2,
                   resources={"http://h/x/w.json": {"const": 1}}) == [True, False]
    assert accepts({"$ref": "a.json", "$defs": {"a": {"$id": "a.json", "const": 1}}}, 1, 2) == [True, False]
    assert accepts({"$ref": "./a.json"}, 1, 2, resources={"../a.json": {"const": 1}}) == [True, False]
    assert accepts({"$id": "urn:one:two", "$ref": "urn:three", "$defs": {"a": {"$id": "urn:three", "const": 1}}},
                   1, 2) == [True, False]
    assert accepts({"$ref": "http://h/root", "$id": "http://h/root", "$schema": D7, "definitions": {}},
                   1, resources={"http://h/root": {"const": 1}}) == [True]  # $id beside $ref counts for nothing


def test_pointers() -> None:
    schema = {"$defs": {"a/b": {"const": 1}, "c~d": {"const": 2}, "e%f": {"const": 3}, "é \"": {"const": 4},
                        "": {"const": 5}},
              "x": [{"y": {"const": 6}}], "$ref": ""}
    for pointer, value in (("#/$defs/a~1b", 1), ("#/$defs/c~0d", 2), ("#/%24defs/e%25f", 3),
                           ("#/$defs/%C3%A9%20%22", 4), ("#/$defs/", 5), ("#/x/0/y", 6)):
        assert accepts({**schema, "$ref": pointer}, value, 9) == [True, False], pointer
    for pointer in ("#/$defs/a/b", "#/$defs/c~2d", "#/x/00/y", "#/x/-/y", "#/x/1", "#/$defs/%zz",
                    "#/x/0/y/const/", "#x"):
        error = refuses({**schema, "$ref": pointer})
        assert error.keyword == "$ref" and error.pointer == "/$ref", pointer
    assert refuses({"$ref": "#/x", "x": [1]}).pointer == "/x"
    assert "boolean" in str(refuses({"$ref": "#/x", "x": [1]}))


def test_places_that_are_no_schemas() -> None:
    """Identifiers inside enum, const and unknown keywords are none; `$ref` may be a name."""
    for keyword, held in (("enum", [{"$id": "a", "const": 1}]), ("const", {"$id": "a"}), ("examples", [{"$id": "a"}]),
                          ("unknown", {"x": {"$id": "a"}}), ("default", {"$id": "a"})):
        assert "not known" in str(refuses({"$id": "http://h/r", "$defs": {"x": {keyword: held}}, "$ref": "a"}))
    assert accepts({"properties": {"$ref": {"type": "string"}, "$id": {"type": "integer"}}, "$defs": {"$ref": {}}},
                   {"$ref": "a", "$id": 1}, {"$ref": 1}) == [True, False]
    # Once a reference leads there it is a schema, with a base of its own.
    given = {"http://h/d/w": {"const": 1}, "http://h/w": {"const": 2}}
    schema = {"$id": "http://h/r", "unknown": {"$id": "d/x", "allOf": [{"$ref": "w"}]}, "$ref": "#/unknown"}
    assert accepts(schema, 1, 2, resources=given) == [True, False]


def test_siblings_of_a_reference() -> None:
    schema = {"definitions": {"a": {"type": "integer"}}, "properties": {"x": {"$ref": "#/definitions/a", "minimum": 3}}}
    for draft in ("4", "6", "7"):
        assert accepts(schema, {"x": 1}, {"x": "s"}, draft=draft) == [True, False]
    for draft in ("2019-09", "2020-12"):
        assert accepts(schema, {"x": 1}, {"x": 3}, {"x": "s"}, draft=draft) == [False, True, False]


def test_anchors() -> None:
    for draft, body in (("4", {"id": "#a"}), ("6", {"$id": "#a"}), ("7", {"$id": "#a"}), ("2019-09", {"$anchor": "a"}),
                        ("2020-12", {"$anchor": "a"}), ("2020-12", {"$dynamicAnchor": "a"})):
        schema = {"definitions": {"x": {**body, "const": 1} if draft not in "4" else {**body, "enum": [1]}},
                  "allOf": [{"$ref": "#a"}]}
        assert accepts(schema, 1, 2, draft=draft) == [True, False], draft
    error = refuses({"$ref": "#a", "$defs": {"x": {"$anchor": "a"}, "y": {"$anchor": "a"}}})
    assert "two schemas" in str(error) and error.pointer == "/$ref"
    error = refuses({"$ref": "u:a", "$defs": {"x": {"$id": "u:a"}, "y": {"$id": "u:a"}}})
    assert "two schemas" in str(error) and error.pointer == "/$ref"
    assert "fragment" in str(refuses({"$ref": "#", "$defs": {"x": {"$id": "http://h/x#y"}}}))


# ---- documents -------------------------------------------------------------------------


def test_kinds_of_documents() -> None:
    for document in ({"const": 1}, '{"const": 1}', b'{"const": 1}', {"const": 1, "$id": "u:other"}):
        assert accepts({"$ref": "u:d"}, 1, 2, resources={"u:d": document}) == [True, False]
    assert accepts({"properties": {"x": {"$ref": "u:d"}}}, {}, {"x": 1}, resources={"u:d": False}) == [True, False]
    assert accepts({"$ref": "u:d"}, 1, resources={"u:d#": True}) == [True]


def test_identifiers_within_documents() -> None:
    given = {"http://h/bundle": {"$defs": {"a": {"$id": "http://h/a", "const": 1}, "b": {"$id": "c", "const": 2}}}}
    assert accepts({"$ref": "http://h/a"}, 1, 2, resources=given) == [True, False]
    assert accepts({"$ref": "http://h/c"}, 1, 2, resources=given) == [False, True]
    # The schema's own identifiers win, and a document's own URI over an identifier elsewhere.
    assert accepts({"$ref": "http://h/a", "$defs": {"x": {"$id": "http://h/a", "const": 3}}}, 1, 3,
                   resources={**given, "http://h/a": {"const": 4}}) == [False, True]
    assert accepts({"$ref": "http://h/a"}, 1, 4, resources={**given, "http://h/a": {"const": 4}}) == [False, True]


def test_documents_refer_to_each_other() -> None:
    given = {"u:list": {"type": "array", "items": {"$ref": "u:object"}, "maxItems": 1},
             "u:object": {"type": "object", "properties": {"x": {"$ref": "u:list"}}, "additionalProperties": False}}
    assert accepts({"$ref": "u:list"}, [{"x": [{}]}], [{"x": [1]}], [{"y": 1}], resources=given) == [True, False, False]


def test_only_what_is_reached_is_read() -> None:
    given = {"u:ok": {"const": 1}, "u:bad": b"{", "u:worse": {"type": 7, "$ref": "u:nowhere"}}
    assert accepts({"$ref": "u:ok"}, 1, resources=given) == [True]
    for reference in ("u:bad", "u:worse", "u:none"):  # what is nowhere may be in any document
        error = refuses({"$ref": reference}, resources=given)
        assert error.pointer == "u:bad#" and '"u:bad"' in str(error)
    del given["u:bad"]
    assert refuses({"$ref": "u:worse"}, resources=given).pointer == "u:worse#/$ref"


def test_errors_name_the_document() -> None:
    error = refuses({"$ref": "http://h/d.json"})
    assert (error.keyword, error.pointer) == ("$ref", "/$ref")
    assert '"http://h/d.json"' in str(error) and "resources" in str(error)
    given = {"u:d": {"properties": {"a/b": {"type": "nothing"}}}}
    error = refuses({"$ref": "u:d"}, resources=given)
    assert (error.keyword, error.pointer) == ("type", "u:d#/properties/a~1b/type")
    assert refuses({"$ref": "u:d"}, resources={"u:d": {"x": [float("nan")]}}).pointer == "u:d#/x/0"
    assert refuses({"$ref": "u:d#/y"}, resources={"u:d": {}}).pointer == "/$ref"
    assert "u:d" in str(refuses({"$ref": "u:d#/y"}, resources={"u:d": {}}))
    assert refuses({"$ref": 1}).pointer == "/$ref"


def test_arguments() -> None:
    for resources, kind in (([("u:d", True)], TypeError), ({1: True}, TypeError), ({"u:d": 1}, TypeError),
                            ({"u:d#x": True}, ValueError), ({"u:d": True, "u:d#": True}, ValueError),
                            ({"u:\0": True}, ValueError), ({"u:\ud800": True}, ValueError)):
        with pytest.raises(kind):
            tokfsm.compile(True, BYTES, resources=resources)  # type: ignore[arg-type]


def test_cycles() -> None:
    given = {"u:a": {"anyOf": [{"$ref": "u:b"}]}, "u:b": {"$ref": "u:a"},
             "u:c": {"$dynamicAnchor": "x", "not": {"$dynamicRef": "#x"}}}
    for schema in ({"$ref": "#"}, {"$ref": "u:a"}, {"$dynamicRef": "#x", "$dynamicAnchor": "x"},
                   {"allOf": [{"$ref": "u:c"}], "$dynamicAnchor": "x"}):
        assert "itself" in str(refuses(schema, resources=given))
    assert "itself" in str(refuses({"$schema": D2019, "$recursiveRef": "#"}))


# ---- dialects --------------------------------------------------------------------------


def test_each_resource_has_its_draft() -> None:
    given = {"u:7": {"$schema": D7, "items": [{"const": 1}], "additionalItems": False},
             "u:4": {"$schema": D4, "maximum": 5, "exclusiveMaximum": True, "const": 9},
             "u:plain": {"prefixItems": [{"const": 2}]}}
    assert accepts({"$ref": "u:7"}, [1], [2], [1, 1], resources=given) == [True, False, False]
    assert accepts({"$ref": "u:4"}, 4, 5, resources=given) == [True, False]
    assert accepts({"$ref": "u:plain"}, [2], [1], resources=given) == [True, False]
    assert accepts({"allOf": [{"$ref": "u:plain"}]}, [2], [1], draft="7", resources=given) == [True, True]
    embedded = {"$schema": D7, "$id": "u:i", "items": [{"const": 1}]}
    assert accepts({"$defs": {"x": embedded}, "$ref": "u:i"}, [1], [2], []) == [True, False, True]
    # Without an identifier it is no resource, and its $schema says nothing.
    assert refuses({"properties": {"x": {"$schema": D7, "items": [{"const": 1}]}}}).keyword == "items"


def test_integers_of_draft_4_beside_others() -> None:
    """2.0 is an integer from draft 6 on, and none in draft 4: told apart schema by schema."""
    given = {"u:4": {"$schema": D4, "type": "integer"}}
    values = [b"2", b"2.0", b"2.5", b"-3.00", b'"s"']
    assert accepts({"$ref": "u:4"}, *values, resources=given) == [True, False, False, False, False]
    both = {"type": "integer", "not": {"$ref": "u:4"}}
    assert accepts(both, *values, resources=given) == [False, True, False, True, False]
    assert accepts({**both, "minimum": 0}, *values, resources=given) == [False, True, False, False, False]
    assert accepts({**both, "enum": [2, -3, 7]}, *values, resources=given) == [False, True, False, True, False]
    either = {"anyOf": [{"$ref": "u:4"}, {"const": 2}]}
    assert accepts(either, *values, resources=given) == [True, True, False, False, False]
    # Where a point is the only spelling, numbers="plain" has it.
    assert tokfsm.compile(both, BYTES, resources=given).matcher().check_bytes(b"2.0")[1]
    assert tokfsm.compile({**both, "minimum": 1}, BYTES, resources=given).matcher().check_bytes(b"2.0")[1]
    assert tokfsm.compile({**both, "enum": [2]}, BYTES, resources=given).matcher().check_bytes(b"2.0")[1]
    assert not tokfsm.compile({"type": "integer"}, BYTES).matcher().check_bytes(b"2.0")[1]


def vocabulary(*names: str, **more: bool) -> dict[str, Any]:
    of = "https://json-schema.org/draft/2020-12/vocab/"
    return {"$schema": D2020, "$id": "u:m", "$vocabulary": {**{of + n: True for n in names}, **more}}


def test_vocabularies() -> None:
    schema = {"$schema": "u:m", "type": "object", "properties": {"x": {"minimum": 5}, "y": False}}
    values = ({"x": 1}, {"y": 1}, 1)
    for draft in (None, "2020-12"):
        for names, verdicts in ((("core", "applicator", "validation"), [False, False, False]),
                                (("core", "applicator"), [True, False, True]),
                                (("core", "validation"), [True, True, False]), (("core",), [True, True, True])):
            assert accepts(schema, *values, resources={"u:m": vocabulary(*names)}, draft=draft) == verdicts, names
    assert accepts(schema, *values) == [False, False, False]  # not given: the default
    assert accepts(schema, 1, resources={"u:m": vocabulary("core", **{"http://x/unknown": False})}) == [True]
    error = refuses(schema, resources={"u:m": vocabulary("core", **{"http://x/unknown": True})})
    assert isinstance(error, tokfsm.UnsupportedSchemaError) and error.keyword == "$vocabulary"
    assert error.pointer == "u:m#/$vocabulary/http:~1~1x~1unknown"
    # One that lists none is of the draft of its own metaschema.
    assert accepts({"$schema": "u:m", "items": [{"const": 1}]}, [1], [2],
                   resources={"u:m": {"$schema": D7}}) == [True, False]
    assert accepts({"$schema": "u:m", "const": 1}, 1, 2, resources={"u:m": {"$schema": "u:m"}}) == [True, False]


def test_metaschemas() -> None:
    """Known without being given; what they hold that is not supported is refused by name, in place."""
    positive = {"http://json-schema.org/draft-04/schema#/definitions/positiveInteger": "4",
                "http://json-schema.org/draft-06/schema#/definitions/nonNegativeInteger": "6",
                "http://json-schema.org/draft-07/schema#/definitions/nonNegativeInteger": "7",
                "https://json-schema.org/draft/2019-09/meta/validation#/$defs/nonNegativeInteger": "2019-09",
                "https://json-schema.org/draft/2020-12/meta/validation#/$defs/nonNegativeInteger": "2020-12"}
    for uri in positive:
        assert accepts({"$ref": uri}, 1, 0, -1, "s") == [True, True, False, False], uri
        assert accepts({"$ref": uri.replace("http:", "https:")}, 1, -1) == [True, False], uri
    assert accepts({"$ref": D7 + "/definitions/simpleTypes"}, "array", "list") == [True, False]
    assert accepts({"$ref": D7}, 1, resources={D7: {"const": 1}}) == [True]  # what is given goes first
    assert "not known" in str(refuses({"$ref": "http://json-schema.org/draft-03/schema#"}))


def test_the_metaschemas_are_the_published_ones(tmp_path: Path) -> None:
    pytest.importorskip("jsonschema_specifications")
    spec = importlib.util.spec_from_file_location("metaschemas", ROOT / "tools" / "metaschemas.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    tool.write(tmp_path)
    assert (tmp_path / "metaschemas.c").read_bytes() == (ROOT / "csrc" / "schema" / "metaschemas.c").read_bytes()


# ---- dynamic references ----------------------------------------------------------------


def test_a_tree_that_is_extended() -> None:
    given = {"http://h/tree": {"$id": "http://h/tree", "$dynamicAnchor": "node", "type": "object", "properties": {
        "data": True, "children": {"type": "array", "items": {"$dynamicRef": "#node"}}}}}
    strict = {"$id": "http://h/strict", "$dynamicAnchor": "node", "$ref": "tree", "maxProperties": 1}
    values = ({"children": [{"data": 1}]}, {"children": [{"data": 1, "children": []}]})
    assert accepts({"$ref": "http://h/tree"}, *values, resources=given) == [True, True]
    assert accepts(strict, *values, resources=given) == [True, False]
    # Both uses in one schema are two.
    assert accepts({"properties": {"loose": {"$ref": "http://h/tree"}, "strict": {"$ref": "http://h/strict"}}},
                   {"loose": values[1]}, {"strict": values[1]}, {"strict": values[0]},
                   resources={**given, "http://h/strict": strict}) == [True, False, True]


def test_what_is_no_dynamic_anchor() -> None:
    other = {"$id": "u:o", "$defs": {"d": {"$anchor": "x", "const": 1}}, "properties": {"p": {"$dynamicRef": "#x"}}}
    schema = {"$id": "u:r", "$ref": "u:o", "$defs": {"d": {"$dynamicAnchor": "x", "const": 2}}}
    assert accepts(schema, {"p": 1}, {"p": 2}, resources={"u:o": other}) == [True, False]
    other["$defs"] = {"d": {"$dynamicAnchor": "x", "const": 1}}
    assert accepts(schema, {"p": 1}, {"p": 2}, resources={"u:o": other}) == [False, True]
    assert accepts({**other, "properties": {"p": {"$dynamicRef": "#/$defs/d"}}}, {"p": 1}, {"p": 2}) == [True, False]
    assert refuses({"$dynamicRef": "#x"}).keyword == "$dynamicRef"
    assert refuses({"$schema": D2019, "$recursiveRef": "#/x"}).keyword == "$recursiveRef"
    # Of another draft: annotations.
    assert accepts({"$schema": D7, "$dynamicRef": "#x", "$recursiveRef": "#y"}, 1) == [True]


def test_the_outermost_recursive_anchor() -> None:
    """2019-09 §8.2.4.2.2: the outermost that has it, whatever lies between."""
    def resource(uri: str, anchor: bool, **more: Any) -> dict[str, Any]:
        return {"$schema": D2019, "$id": uri, "$recursiveAnchor": anchor, **more}

    given = {"u:b": resource("u:b", False, **{"$ref": "u:c"}),
             "u:c": resource("u:c", True, properties={"x": {"$recursiveRef": "#"}})}
    schema = resource("u:a", True, **{"type": ["object", "integer"], "$ref": "u:b"})
    assert accepts(schema, {"x": {"x": 1}}, {"x": {"x": "s"}}, resources=given) == [True, False]


def test_all_three_references_at_once() -> None:
    schema = {"$defs": {"a": {"minimum": 1}, "b": {"$dynamicAnchor": "b", "maximum": 5}}, "$ref": "#/$defs/a",
              "$dynamicRef": "#b", "type": "integer", "allOf": [{"multipleOf": 2}]}
    assert accepts(schema, 0, 2, 3, 4, 6) == [False, True, False, True, False]


def test_scopes_are_bounded() -> None:
    """Each of n resources binds a name of its own, in any order: 2^n scopes. A limit, not a blow-up."""
    n = 24
    uris = [f"u:{i}" for i in range(n)]
    links = {str(i): {"$ref": uri} for i, uri in enumerate(uris)}
    given = {uri: {"$id": uri, "$dynamicAnchor": f"n{i}", "type": "object", "properties": {
        **links, "d": {"$ref": "u:end"}}} for i, uri in enumerate(uris)}
    given["u:end"] = {"$defs": {f"n{i}": {"$dynamicAnchor": f"n{i}"} for i in range(n)}, "type": "object",
                      "properties": {str(i): {"$dynamicRef": f"#n{i}"} for i in range(n)}}
    with pytest.raises(tokfsm.LimitError):
        tokfsm.compile({"$ref": "u:0"}, BYTES, resources=given, limits=tokfsm.Limits(work_units=3_000_000))
    with pytest.raises(tokfsm.LimitError, match="automaton_bytes"):
        tokfsm.compile({"$ref": "u:0"}, BYTES, resources=given, limits=tokfsm.Limits(automaton_bytes=1 << 20))


def test_artifacts_need_no_documents(tmp_path: Path) -> None:
    given = {"u:d": {"type": "array", "items": {"enum": ["x", "y"]}, "maxItems": 2}}
    automaton = tokfsm.compile({"$ref": "u:d"}, BYTES, resources=given)
    automaton.save(tmp_path / "a.tokfsm")
    opened = tokfsm.load(tmp_path / "a.tokfsm", BYTES)
    for text in (b'["x"]', b'["z"]', b'["x","y","x"]'):
        assert opened.matcher().check_bytes(text) == automaton.matcher().check_bytes(text)
    assert automaton.to_bytes() == tokfsm.compile({"$ref": "u:d"}, BYTES, resources={**given, "u:e": True}).to_bytes()
