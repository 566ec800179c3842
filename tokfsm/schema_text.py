"""A schema as users hold it -> a JSON text in UTF-8. Walks Python objects without recursion."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from tokfsm.errors import SchemaError

__all__ = ["resource_texts", "schema_text"]


def schema_text(schema: Any) -> bytes:
    """The JSON text of a schema.

    Parameters
    ----------
    schema : str, bytes, dict, bool, or a pydantic model class or instance
        Text is passed on as it is; the C reader checks it.

    Raises
    ------
    SchemaError
        A cycle, a value that JSON does not have, NaN or infinity, a name that is no string, a
        lone surrogate.
    TypeError
        The schema is of none of these types.
    """
    if isinstance(schema, (bytes, bytearray, memoryview)):
        return bytes(schema)
    if isinstance(schema, str):
        return _encode(schema)
    model = getattr(schema, "model_json_schema", None)
    if callable(model):
        schema = model()
    if not isinstance(schema, (dict, bool)):
        raise TypeError(f"a schema cannot be a {type(schema).__name__}; expected str, bytes, dict, bool or a model")
    return _encode("".join(_pieces(schema)))


def resource_texts(resources: Mapping[str, Any] | None) -> list[tuple[bytes, bytes]]:
    """URIs and JSON texts of documents that references can lead to.

    Raises
    ------
    SchemaError
        As `schema_text`; the pointer begins with the URI and ``#``.
    TypeError
        This is no mapping, a URI is no string, or a document is nothing that a schema can be.
    ValueError
        A URI has a lone surrogate.
    """
    if resources is None:
        return []
    if not isinstance(resources, Mapping):
        raise TypeError(f"resources is a {type(resources).__name__}; expected a mapping of URIs to schemas")
    found = []
    for uri, schema in resources.items():
        if not isinstance(uri, str):
            raise TypeError(f"resources: the URI {uri!r} is a {type(uri).__name__}; expected a str")
        name = uri.encode("utf-8")
        try:
            found.append((name, schema_text(schema)))
        except SchemaError as error:
            raise SchemaError(f"in the document {uri!r}: {error.message}",
                              pointer=f"{uri}#{error.pointer or ''}") from None
        except TypeError as error:
            raise TypeError(f"in the document {uri!r}: {error}") from None
    return found


def _encode(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise SchemaError(f"the schema has a lone surrogate at character {error.start}") from None


def _pointer(path: list[str]) -> str:
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)


def _scalar(value: Any, path: list[str]) -> str | None:
    """The text of a scalar; None for a container."""
    if value is None or value is True or value is False:
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(str(value), ensure_ascii=False)
    if isinstance(value, int):
        return _integer(int(value))
    if isinstance(value, float):
        if not math.isfinite(value):
            raise SchemaError(f"{value} is not a JSON number", pointer=_pointer(path))
        return repr(float(value))
    if isinstance(value, (dict, list, tuple)):
        return None
    raise SchemaError(f"a {type(value).__name__} is not a JSON value", pointer=_pointer(path))


def _integer(value: int) -> str:
    """Decimal digits; the interpreter's limit on digits does not apply to a schema's numbers."""
    sign, value = ("-", -value) if value < 0 else ("", value)
    chunk = 10**4000
    parts = []
    while value >= chunk:
        value, rest = divmod(value, chunk)
        parts.append(f"{rest:04000d}")
    return sign + str(value) + "".join(reversed(parts))


def _pieces(schema: Any) -> list[str]:
    out: list[str] = []
    path: list[str] = []
    open_ids: set[int] = set()
    # Entries: (value,) to write, or (text, container or None) to write and close.
    stack: list[tuple[str, Any]] = [("value", schema)]
    while stack:
        what, item = stack.pop()
        if what == "text":
            out.append(item)
        elif what == "enter":
            path.append(item)
        elif what == "leave":
            path.pop()
        elif what == "close":
            open_ids.discard(id(item))
        else:
            text = _scalar(item, path)
            if text is not None:
                out.append(text)
                continue
            if id(item) in open_ids:
                raise SchemaError("the schema contains itself", pointer=_pointer(path))
            open_ids.add(id(item))
            stack.append(("close", item))
            if isinstance(item, dict):
                _push_object(stack, item, path)
            else:
                _push_array(stack, item)
    return out


def _push_object(stack: list[tuple[str, Any]], item: dict[Any, Any], path: list[str]) -> None:
    stack.append(("text", "}"))
    entries = list(item.items())
    for position in range(len(entries) - 1, -1, -1):
        name, value = entries[position]
        if not isinstance(name, str):
            raise SchemaError(f"the name {name!r} is not a string", pointer=_pointer(path))
        comma = "," if position else ""
        stack.append(("leave", None))
        stack.append(("value", value))
        stack.append(("enter", str(name)))
        stack.append(("text", comma + json.dumps(str(name), ensure_ascii=False) + ":"))
    stack.append(("text", "{"))


def _push_array(stack: list[tuple[str, Any]], item: Any) -> None:
    stack.append(("text", "]"))
    for position in range(len(item) - 1, -1, -1):
        stack.append(("leave", None))
        stack.append(("value", item[position]))
        stack.append(("enter", str(position)))
        if position:
            stack.append(("text", ","))
    stack.append(("text", "["))
