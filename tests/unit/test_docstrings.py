"""What `help` shows: all that is public says at run time what it does, compiled or not, and says it once."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tokfsm

PACKAGE = Path(tokfsm.__file__).parent
#: Members that say what they are by their names.
PLAIN = {"n_rows", "n_words", "vocab_size", "kind", "row", "ids", "base", "edits"}


def public() -> Iterator[tuple[str, Any, type | None]]:
    """Names, what they stand for, and the class that they are members of."""
    for name in tokfsm.__all__:
        one = getattr(tokfsm, name)
        yield name, one, None
        if not inspect.isclass(one) or issubclass(one, tuple) or issubclass(one, BaseException):
            continue
        for member, what in vars(one).items():
            if not member.startswith("_") and (callable(what) or inspect.isdatadescriptor(what)
                                               or isinstance(what, (staticmethod, classmethod))):
                yield f"{name}.{member}", getattr(what, "__func__", what), one


def compiled() -> list[str]:
    return [path.stem for path in PACKAGE.glob("*.pyx")]


def test_there_is_something_to_look_at() -> None:
    names = [name for name, _, _ in public()]
    assert len(names) > 70 and "Matcher.fill_next_token_bitmask" in names and "Matcher.min_tokens" in names
    assert len(compiled()) > 3


@pytest.mark.parametrize(("name", "one", "owner"), [*public()], ids=[name for name, _, _ in public()])
def test_it_is_documented_at_run_time(name: str, one: Any, owner: type | None) -> None:
    text = inspect.getdoc(one)
    member = name.rpartition(".")[2]
    if owner is not None and not text:
        assert member in PLAIN and re.search(rf"\b{member}\b", inspect.getdoc(owner) or ""), f"help({name}) is empty"
        return
    assert text and not text.startswith(f"{member}("), f"help({name}) is empty"
    assert "stub" not in text, f"help({name}) sends its reader elsewhere"
    assert re.match(r"[A-Z`\"0-9].{5,}", text) or text == "2.", text
    if "Parameters\n---" in text and callable(one) and not inspect.isclass(one):
        for parameter in inspect.signature(one).parameters:
            assert parameter in ("self", "cls", "_") or re.search(rf"\b{parameter}\b", text), f"{name}: {parameter}"


@pytest.mark.parametrize("module", compiled())
def test_a_stub_has_signatures_alone(module: str) -> None:
    tree = ast.parse((PACKAGE / f"{module}.pyi").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            assert ast.get_docstring(node) is None, f"{module}.pyi documents {node.name} too"


@pytest.mark.parametrize("kind", [tokfsm.Matcher, tokfsm.Bitmask, tokfsm.Cancel, tokfsm.MaskView],
                         ids=lambda kind: kind.__name__)
def test_stub_and_module_have_the_same_members(kind: type) -> None:
    tree = ast.parse((PACKAGE / f"{kind.__module__.rpartition('.')[2]}.pyi").read_text(encoding="utf-8"))
    (stub,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__]
    listed = {node.name if isinstance(node, ast.FunctionDef) else node.target.id for node in stub.body
              if isinstance(node, ast.FunctionDef)
              or (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name))}
    assert {name for name in listed if not name.startswith("_")} == {
        name for name in vars(kind) if not name.startswith("_")}
    for node in stub.body:
        if isinstance(node, ast.FunctionDef) and callable(vars(kind).get(node.name)) and not node.name.startswith("_"):
            there = [*inspect.signature(vars(kind)[node.name]).parameters]
            assert [a.arg for a in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]] == there, node.name
