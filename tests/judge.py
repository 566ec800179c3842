"""A schema and a text in, the right answer out: what the checkers of `tests/` and `bench/` believe.

Two validators that share no code have to agree: `jsonschema`, made to read numbers as decimals and
patterns as ECMA-262 does, and `jsonschema_rs`. Formats are checked, known ones alike in every draft
(design, section 3.5). Where the two differ, or both are wrong, `conformance/adjudicated.jsonl` says
what the specification says; where it does not, `Disagreement` is raised and nobody guesses. A
validator that cannot read a schema has no voice; without any voice there is `NoWitnessError`.

A line of `adjudicated.jsonl` is `{"schema", "instance", "valid", "section"}`, the instance as a JSON
text. A line whose schema is one `format` speaks for that format wherever it stands in a schema.
"""

from __future__ import annotations

import decimal
import functools
import json
import re
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs

ADJUDICATED = Path(__file__).parent / "conformance" / "adjudicated.jsonl"
DRAFTS = ("4", "6", "7", "2019-09", "2020-12")
_EXACT = decimal.Context(prec=20_000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_SPACE = "\\t\\n\\v\\f\\r \\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"


class NoWitnessError(Exception):
    """No validator can judge this schema or value."""


class Disagreement(AssertionError):
    """The validators differ and no adjudication says who is right."""


# ---- texts -----------------------------------------------------------------------------


def exact_decimal(text: str) -> Decimal:
    """The number; past Decimal's range one of its size and sign, which is good enough for `type`."""
    try:
        return _EXACT.create_decimal(text)
    except decimal.DecimalException:
        mantissa, exponent = text.lower().split("e")
        return Decimal(mantissa) * Decimal("1e-1000" if exponent.startswith("-") else "1e1000")


def strict_json(text: str | bytes) -> Any:
    """The value of an RFC 8259 text, numbers exact.

    ValueError for a name that stands twice, lone surrogates, NaN, a byte order mark, bad UTF-8.
    """

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            raise ValueError("a name stands twice in an object")
        return value

    def constant(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    decoded = text.decode() if isinstance(text, bytes) else text
    if decoded.startswith("\ufeff"):
        raise ValueError("byte order mark")
    value = json.loads(decoded, object_pairs_hook=members, parse_constant=constant, parse_float=exact_decimal,
                       parse_int=lambda digits: int(digits) if len(digits) < 4000 else Decimal(digits))
    work = [value]
    while work:
        v = work.pop()
        if isinstance(v, str):
            v.encode()  # a lone surrogate is a UnicodeEncodeError, which is a ValueError
        elif isinstance(v, list):
            work.extend(v)
        elif isinstance(v, dict):
            work.extend(v)
            work.extend(v.values())
    return value


def exact(schema: Any) -> Any:
    """A schema with its numbers as decimals; a float counts as its `repr`."""
    sys.set_int_max_str_digits(0)
    text = schema if isinstance(schema, (str, bytes)) else json.dumps(schema)
    return json.loads(text, parse_float=exact_decimal)


def draft_of(schema: Any) -> str:
    """The draft that `$schema` names, else 2020-12."""
    uri = schema.get("$schema", "") if isinstance(schema, dict) else ""
    for mark, draft in (("draft-04", "4"), ("draft-06", "6"), ("draft-07", "7"), ("2019-09", "2019-09")):
        if isinstance(uri, str) and mark in uri:
            return draft
    return "2020-12"


# ---- adjudications ---------------------------------------------------------------------


@functools.lru_cache(maxsize=1)
def adjudications() -> dict[str, dict[str, bool]]:
    """Schema -> instance -> the right answer; both in one spelling each."""
    found: dict[str, dict[str, bool]] = {}
    for line in ADJUDICATED.read_text(encoding="utf-8").splitlines():
        case = json.loads(line, parse_float=exact_decimal)
        found.setdefault(_key(case["schema"]), {})[_key(exact(case["instance"]))] = bool(case["valid"])
    return found


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=lambda number: f"number {number}")


# ---- jsonschema, as the specification would have it ------------------------------------


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
    return isinstance(value, int) and not isinstance(value, bool) or isinstance(value, float) and value.is_integer()


def _is_plain_integer(_: Any, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    if isinstance(value, str) and not python_pattern(pattern).search(value):
        yield jsonschema.ValidationError(f"{value!r} does not match {pattern!r}")


def _multiple_of(_: Any, divisor: Any, value: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        try:
            exactly = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
            rest = _EXACT.remainder(exactly, Decimal(divisor))
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


def _additional_properties(
    validator: Any, extra: Any, value: Any, schema: dict[str, Any]
) -> Iterator[jsonschema.ValidationError]:
    """Names that neither `properties` nor `patternProperties` takes, patterns read as ECMA-262's."""
    if isinstance(value, dict):
        patterns = [python_pattern(p) for p in schema.get("patternProperties", {})]
        for name, item in value.items():
            if name not in schema.get("properties", {}) and not any(p.search(name) for p in patterns):
                yield from validator.descend(item, extra, path=name)


_KEYWORDS = {"pattern": _pattern, "patternProperties": _pattern_properties, "multipleOf": _multiple_of,
             "additionalProperties": _additional_properties}


def _validator_class(cls: Any, is_integer: Callable[[Any, Any], bool]) -> Any:
    return jsonschema.validators.extend(cls, _KEYWORDS, type_checker=cls.TYPE_CHECKER.redefine("integer", is_integer))


VALIDATORS = {
    "4": _validator_class(jsonschema.Draft4Validator, _is_plain_integer),
    "6": _validator_class(jsonschema.Draft6Validator, _is_integer),
    "7": _validator_class(jsonschema.Draft7Validator, _is_integer),
    "2019-09": _validator_class(jsonschema.Draft201909Validator, _is_integer),
    "2020-12": _validator_class(jsonschema.Draft202012Validator, _is_integer),
}


# ---- formats, alike in every draft -----------------------------------------------------

FORMATS = (
    "date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6", "uri",
    "uri-reference", "iri", "iri-reference", "uuid", "uri-template", "json-pointer", "relative-json-pointer", "regex",
)
#: Formats that `jsonschema` checks by the letter. Its other checks are missing or loose (an e-mail
#: address is what has an @): what they refuse is a second opinion, what they let pass is none.
_TWO_SIDED = {"date", "ipv4", "ipv6"}


def _ruled(name: str, check: Callable[[str], bool]) -> Callable[[Any], bool]:
    """A check of a format that adjudications overrule."""
    rulings = adjudications().get(_key({"format": name}), {})

    def checked(value: Any) -> bool:
        if not isinstance(value, str):
            return True
        ruling = rulings.get(_key(value)) if rulings else None
        return check(value) if ruling is None else ruling

    return checked


def _hyphens_apart(name: str) -> str:
    """The same host name, or address, without two hyphens in third place: see the adjudications of `hostname`.

    `jsonschema_rs` takes them for a fault; RFC 5890 reserves such labels, and the official suite has them valid.
    """
    local, at, host = name.rpartition("@")
    return local + at + re.sub(r"(?i)(?<![a-z0-9-])(?!xn)([a-z0-9]{2})--", r"\1aa", host)


def _has_capitals(name: str) -> bool:
    """Whether a label with other than ASCII characters has a capital letter, which no U-label has (RFC 5892, 2).

    `jsonschema_rs` maps them by UTS 46 first.
    """
    labels = re.split("[.\u3002\uff0e\uff61]", name.rpartition("@")[2])
    return any(not label.isascii() and re.search("[A-Z]", label) for label in labels)


@functools.lru_cache(maxsize=1)
def _rust_formats() -> dict[str, Callable[[Any], bool]]:
    found = {}
    for name in FORMATS:
        check: Any = jsonschema_rs.Draft202012Validator({"format": name}, validate_formats=True).is_valid
        if name in ("hostname", "email"):
            check = functools.partial(lambda own, text: own(_hyphens_apart(text)), check)
        elif name in ("idn-hostname", "idn-email"):
            check = functools.partial(lambda own, text: own(text) and not _has_capitals(text), check)
        found[name] = _ruled(name, check)
    return found


@functools.lru_cache(maxsize=1)
def python_formats() -> jsonschema.FormatChecker:
    theirs = jsonschema.Draft202012Validator.FORMAT_CHECKER

    def check(name: str, other: Callable[[Any], bool], value: str) -> bool:
        known = name in theirs.checkers and name != "regex"  # Python's dialect is another one
        if name == "date" and value.startswith("0000-"):  # a year of RFC 3339 (1 and 5.6), not one of Python's
            value = "2000" + value[4:]
        own = bool(theirs.conforms(value, name)) if known else True
        return own if name in _TWO_SIDED else own and other(value)

    checker = jsonschema.FormatChecker(formats=())
    checker.checkers = {name: (_ruled(name, functools.partial(check, name, other)), ())
                        for name, other in _rust_formats().items()}
    return checker


# ---- the judge -------------------------------------------------------------------------

_RUST = {
    "4": jsonschema_rs.Draft4Validator, "6": jsonschema_rs.Draft6Validator, "7": jsonschema_rs.Draft7Validator,
    "2019-09": jsonschema_rs.Draft201909Validator, "2020-12": jsonschema_rs.Draft202012Validator,
}


class _SaysNothing:
    """A keyword that `jsonschema_rs` asserts, though the draft does not."""

    def __init__(self, _parent: Any, _value: Any, _path: Any) -> None:
        pass

    def validate(self, _value: Any) -> None:
        pass


def _no_assertions(draft: str) -> dict[str, Any]:
    """Content is an annotation (draft-07 section 8, by choice); `dependencies` went with 2019-09 (appendix B)."""
    early = draft in ("4", "6", "7")
    return dict.fromkeys(("contentMediaType", "contentEncoding") if early else ("dependencies",), _SaysNothing)


def _has_keyword(schema: Any, names: tuple[str, ...]) -> bool:
    work = [schema]
    while work:
        v = work.pop()
        if isinstance(v, dict):
            if any(name in v for name in names):
                return True
            work.extend(v.values())
        elif isinstance(v, list):
            work.extend(v)
    return False


class Judge:
    """Both validators for one schema, made once.

    Parameters
    ----------
    schema : bool, dict or a JSON text
    draft : one of `DRAFTS`; default: by ``$schema``, else 2020-12
    formats : whether `format` is an assertion, as tokfsm has it by default
    """

    def __init__(self, schema: Any, draft: str | None = None, *, formats: bool = True) -> None:
        self.schema = exact(schema)
        self.draft = draft or draft_of(self.schema)
        self._python = VALIDATORS[self.draft](self.schema, format_checker=python_formats() if formats else None)
        self._rulings = adjudications().get(_key(self.schema), {})
        # With 2019-09, jsonschema 4.26 loses names that additionalProperties has evaluated (Core 9.3.2.3), and does not
        # take a $recursiveRef to the outermost $recursiveAnchor where embedded resources lie between (Core 8.2.4.2.2).
        self._python_abstains = self.draft == "2019-09" and _has_keyword(
            self.schema, ("unevaluatedProperties", "unevaluatedItems", "$recursiveRef"))
        try:
            self._rust: Any = _RUST[self.draft](self.schema, validate_formats=formats, offline=True,
                                                formats=_rust_formats() if formats else None,
                                                keywords=_no_assertions(self.draft))
        except Exception:  # a pattern or a reference that it does not take, a lone surrogate, a bad schema
            self._rust = None

    def opinions(self, value: Any) -> tuple[bool | None, bool | None]:
        """What `jsonschema` and `jsonschema_rs` say; None: no voice."""
        try:
            python: bool | None = None if self._python_abstains else bool(self._python.is_valid(value))
        except Exception:  # no witness for a pattern; references or recursion that it cannot follow
            python = None
        try:
            rust: bool | None = None if self._rust is None else bool(self._rust.is_valid(value))
        except Exception:
            rust = None
        return python, rust

    def value_ok(self, value: Any) -> bool:
        """Whether the value, read by `strict_json`, is valid."""
        ruling = self._rulings.get(_key(value)) if self._rulings else None
        if ruling is not None:
            return ruling
        python, rust = self.opinions(value)
        if python is None and rust is None:
            raise NoWitnessError(f"no validator judges by {str(self.schema)[:200]}")
        if python is not None and rust is not None and python != rust:
            raise Disagreement(f"jsonschema says {python}, jsonschema_rs {rust}, draft {self.draft}: "
                               f"{_key(value)[:500]} under {_key(self.schema)[:1000]}")
        return bool(rust if python is None else python)

    def text_ok(self, text: str | bytes) -> bool:
        """Whether the text is strict JSON without space around it, and its value is valid."""
        try:
            value = strict_json(text)
        except ValueError:
            return False
        return text == text.strip() and self.value_ok(value)

    def why_invalid(self, value: Any) -> str | None:
        """The first error of `jsonschema`, or None; for messages."""
        error = next(self._python.iter_errors(value), None)
        return None if error is None else f"/{'/'.join(map(str, error.absolute_path))}: {error.message}"[:300]


def judge(schema: Any, text: str | bytes, draft: str | None = None, *, formats: bool = True) -> bool:
    """Whether the text is a JSON text whose value is valid under the schema.

    Raises
    ------
    Disagreement, NoWitnessError
    """
    return Judge(schema, draft, formats=formats).text_ok(text)
