"""A witness for texts: JSON with exact numbers, and a third-party validator that reads them.

``jsonschema`` is made to agree with the specification where Python's own types and regular
expressions would not: numbers are decimals of any length, ``1.0`` is an integer, patterns are
translated from ECMA-262. What cannot be translated has no witness, which is counted, not judged.
"""

from __future__ import annotations

import decimal
import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import jsonschema

Validate = Callable[[Any], "str | None"]
_EXACT = decimal.Context(prec=20_000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_SPACE = "\\t\\n\\v\\f\\r \\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"


class NoWitnessError(Exception):
    """The validator cannot judge this schema."""


def parse(text: str) -> Any:
    """Read a JSON text: decimals kept, a name twice or a constant of JavaScript's refused."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(items)
        if len(value) != len(items):
            raise ValueError("a name stands twice in an object")
        return value

    def constant(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    sys.set_int_max_str_digits(0)
    return json.loads(text, parse_float=Decimal, parse_constant=constant, object_pairs_hook=pairs)


def python_pattern(pattern: str) -> re.Pattern[str]:
    """An ECMA-262 pattern for Python's engine; with ``re.ASCII`` the classes d and w agree."""
    found: list[str] = []
    in_class = False
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        pair = pattern[at : at + 2]
        if letter == "\\" and len(pair) == 2:
            at += 1
            if pair == "\\s":
                letter = _SPACE if in_class else f"[{_SPACE}]"
            elif pair == "\\S":
                if in_class:
                    raise NoWitnessError("\\S in a class")
                letter = f"[^{_SPACE}]"
            else:
                letter = "/" if pair == "\\/" else "-" if pair == "\\-" and not in_class else pair
        elif in_class:
            in_class = letter != "]"
            letter = "\\[" if letter == "[" else letter
        elif letter == "[":
            in_class = True
        elif letter == "$":
            letter = r"\Z"
        elif letter == ".":
            letter = "[^\\n\\r\\u2028\\u2029]"
        found.append(letter)
        at += 1
    try:
        return re.compile("".join(found), re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise NoWitnessError(f"pattern {pattern!r}: {error}") from None


def _is_integer(_: Any, value: Any) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value(context=_EXACT)
    return isinstance(value, int) and not isinstance(value, bool)


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    if isinstance(value, str) and not python_pattern(pattern).search(value):
        yield jsonschema.ValidationError(f"{value!r} does not match {pattern!r}")


def _multiple_of(_: Any, divisor: Any, value: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        try:
            rest = _EXACT.remainder(Decimal(value), Decimal(divisor))
        except decimal.InvalidOperation:
            raise NoWitnessError("too many digits to divide") from None
        if rest != 0:
            yield jsonschema.ValidationError(f"{value} is not a multiple of {divisor}")


def _pattern_properties(
    validator: Any, patterns: dict[str, Any], value: Any, _: Any
) -> Iterator[jsonschema.ValidationError]:
    if isinstance(value, dict):
        for pattern, schema in patterns.items():
            compiled = python_pattern(pattern)
            for name, item in value.items():
                if compiled.search(name):
                    yield from validator.descend(item, schema, path=name, schema_path=pattern)


def validator(schema_text: str) -> Validate:
    """A function from a parsed value to why it is invalid, or None."""
    schema = parse(schema_text)
    base = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        base.check_schema(json.loads(schema_text))
    except Exception as error:
        raise NoWitnessError(f"not a schema: {error}"[:200]) from None
    draft_4 = base in (jsonschema.Draft3Validator, jsonschema.Draft4Validator)
    types = base.TYPE_CHECKER if draft_4 else base.TYPE_CHECKER.redefine("integer", _is_integer)
    keywords = {"pattern": _pattern, "patternProperties": _pattern_properties, "multipleOf": _multiple_of}
    checker = jsonschema.validators.extend(base, keywords, type_checker=types)(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )

    def judge(value: Any) -> str | None:
        try:
            error = next(checker.iter_errors(value), None)
        except NoWitnessError:
            raise
        except Exception as problem:
            raise NoWitnessError(f"{type(problem).__name__}: {problem}"[:200]) from None
        return None if error is None else f"/{'/'.join(map(str, error.absolute_path))}: {error.message}"[:300]

    return judge


def spell(value: Any, rng: random.Random, *, spaces: bool = True, shuffle: bool = True) -> str:
    """A text of the value within the spelling profile: any order, white space in any gap.

    Iterative, so that depth costs no stack. Numbers are written without exponent, and as digits
    only where they are whole: both hold whatever the schema says of them.
    """

    def gap() -> str:
        return "".join(rng.choices(" \t\n\r", k=rng.choice((1, 1, 2, 5)))) if spaces and rng.random() < 0.3 else ""

    found: list[str] = []
    stack: list[Any] = [(value,)]  # a text, or a tuple with a value in it
    while stack:
        top = stack.pop()
        if isinstance(top, str):
            found.append(top)
            continue
        value = top[0]
        if isinstance(value, dict):
            names = list(value)
            if shuffle:
                rng.shuffle(names)
            parts: list[Any] = ["{" + gap()]
            for n, name in enumerate(names):
                parts += ["," + gap()] * (n > 0)
                parts += [json.dumps(name, ensure_ascii=False) + gap() + ":" + gap(), (value[name],), gap()]
            stack += [*parts, "}"][::-1]
        elif isinstance(value, list):
            parts = ["[" + gap()]
            for n, item in enumerate(value):
                parts += ["," + gap()] * (n > 0)
                parts += [(item,), gap()]
            stack += [*parts, "]"][::-1]
        elif isinstance(value, (float, Decimal)):
            digits = format(Decimal(repr(value)) if isinstance(value, float) else value, "f")
            found.append(digits.rstrip("0").rstrip(".") if "." in digits else digits)
        else:
            found.append(json.dumps(value, ensure_ascii=False))
    return "".join(found)
