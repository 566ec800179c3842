"""The exception tree."""

from __future__ import annotations

import pickle

import pytest

from tokfsm import errors


@pytest.mark.parametrize("name", errors.__all__)
def test_every_class_is_ours_documented_and_can_be_raised(name):
    kind = getattr(errors, name)
    assert issubclass(kind, errors.TokfsmError)
    assert kind.__doc__
    with pytest.raises(kind, match="what and where"):
        raise kind("what and where")


@pytest.mark.parametrize(
    ("name", "parent", "builtin"),
    [
        ("SchemaError", "TokfsmError", ValueError),
        ("UnsupportedSchemaError", "SchemaError", NotImplementedError),
        ("UnsatisfiableSchemaError", "SchemaError", ValueError),
        ("LimitError", "TokfsmError", RuntimeError),
        ("CancelledError", "TokfsmError", RuntimeError),
        ("VocabularyError", "TokfsmError", ValueError),
        ("ArtifactError", "TokfsmError", ValueError),
        ("ArtifactVersionError", "ArtifactError", ValueError),
        ("ArtifactCorruptError", "ArtifactError", ValueError),
        ("VocabularyMismatchError", "ArtifactError", ValueError),
        ("PackMissingError", "ArtifactError", FileNotFoundError),
        ("BudgetError", "TokfsmError", ValueError),
        ("BusyError", "TokfsmError", RuntimeError),
        ("InternalError", "TokfsmError", RuntimeError),
    ],
)
def test_parents(name, parent, builtin):
    kind = getattr(errors, name)
    assert issubclass(kind, getattr(errors, parent))
    assert issubclass(kind, builtin)


def test_schema_errors_say_where():
    error = errors.UnsupportedSchemaError("no", pointer="/properties/a", keyword="not")
    again = pickle.loads(pickle.dumps(error))
    for one in (error, again):
        assert (one.message, one.pointer, one.keyword) == ("no", "/properties/a", "not")
        assert str(one) == "no (at /properties/a, keyword not)"
    assert str(errors.SchemaError("no", keyword="type")) == "no (at the root, keyword type)"
    assert str(errors.SchemaError("no", pointer="/a")) == "no (at /a)"
    assert str(errors.SchemaError("no")) == "no"
    assert (errors.SchemaError("no").pointer, errors.SchemaError("no").keyword) == ("", None)
