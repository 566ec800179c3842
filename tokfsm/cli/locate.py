"""A prefix of a JSON text -> where in the value it ends.

The prefix is one that a matcher took; others get a place too, which then means little.
Iterative; one pass.

Source: RFC 8259; RFC 6901 for the pointer.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

_STRING = re.compile(rb'"((?:[^"\\]|\\.)*)("?)', re.DOTALL)
_SCALAR = re.compile(rb"[-+0-9][-+0-9.eE]*|[a-z]+")
_WORDS = (b"true", b"false", b"null")


@dataclass(frozen=True)
class Place:
    """The end of a prefix.

    Attributes
    ----------
    pointer : str
        JSON Pointer of the value that the end is in, before or after.
    part : str
        In words: ``"in a string"``, ``"before a name"``, ``"after the value"``, …
    inside : bool
        Within a string, a number or a word.
    complete : bool
        The root value has ended (a number at the root may still go on).
    container : str
        ``"object"``, ``"array"`` or, at the root, ``""``.
    names : frozenset of str
        Names given so far in the object around.
    text : str
        What is there of the string or name that the end is in, unescaped.
    """

    pointer: str
    part: str
    inside: bool = False
    complete: bool = False
    container: str = ""
    names: frozenset[str] = frozenset()
    text: str = ""


@dataclass
class _Open:
    kind: str
    step: str | int | None = None
    names: set[str] = field(default_factory=set)


def locate(prefix: bytes) -> Place:
    """Where `prefix` ends."""
    stack: list[_Open] = []
    part = "before the value"
    text, inside, at = "", False, 0
    while at < len(prefix):
        byte = prefix[at:at + 1]
        top = stack[-1] if stack else None
        inside, text = False, ""
        if byte == b'"' and (match := _STRING.match(prefix, at)):
            at, text = match.end(), _unescape(match.group(1))
            named = top is not None and part == "before a name"
            if not match.group(2):
                part, inside = ("in a name" if named else "in a string"), True
            elif named and top is not None:
                top.step = text
                top.names.add(text)
                part = "after a name"
            else:
                part = "after the value"
            continue
        if match := _SCALAR.match(prefix, at):
            at, word = match.end(), match.group()
            inside = at == len(prefix) and word not in _WORDS
            part = "after the value" if not inside else "in a word" if word.isalpha() else "in a number"
            continue
        at += 1
        if byte == b":":
            part = "before the value"
        elif byte == b"," and top is not None:
            top.step = top.step + 1 if isinstance(top.step, int) else None
            part = "before the value" if top.kind == "array" else "before a name"
        elif byte == b"{":
            stack.append(_Open("object"))
            part = "before a name"
        elif byte == b"[":
            stack.append(_Open("array", 0))
            part = "before the value"
        elif byte in (b"}", b"]") and stack:
            stack.pop()
            part = "after the value"
    top = stack[-1] if stack else None
    return Place(
        pointer="".join("/" + str(entry.step).replace("~", "~0").replace("/", "~1")
                        for entry in stack if entry.step is not None),
        part=part, inside=inside, text=text, complete=not stack and part in ("after the value", "in a number"),
        container=top.kind if top is not None else "", names=frozenset(top.names) if top is not None else frozenset())


def _unescape(raw: bytes) -> str:
    """A string's text; an escape or character that is cut off is left out."""
    text = re.sub(r"\\(u[0-9a-fA-F]{0,3})?$", "", raw.decode("utf-8", "ignore"))
    try:
        value = json.loads(f'"{text}"', strict=False)
    except json.JSONDecodeError:
        return text
    return str(value)
