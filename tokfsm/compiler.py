"""Options and a schema in, an automaton out: joins schema, vocabulary and the C compiler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tokfsm import _core
from tokfsm.arguments import as_count
from tokfsm.automaton import OPTION_CODES, Automaton
from tokfsm.dialect import warn_of_unknown
from tokfsm.schema_text import resource_texts, schema_text
from tokfsm.vocabulary import Vocabulary

__all__ = ["Limits", "compile"]

_UNBOUNDED = 0xFFFFFFFF
_MOST = (1 << 64) - 1


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one automaton may use. Counted in work, not in time, so that every run agrees.

    Attributes
    ----------
    work_units : int
        Steps of one compile, one `precompile`, one fill or one accept.
    automaton_bytes : int
        Memory past which nothing more is cached.
    schema_bytes : int
        Longest schema text.
    depth : int
        Deepest nesting of the schema text.
    """

    work_units: int = 200_000_000
    automaton_bytes: int = 64 << 20
    schema_bytes: int = 64 << 20
    depth: int = 100_000

    def __post_init__(self) -> None:
        for name, most in (("work_units", _MOST), ("automaton_bytes", _MOST), ("schema_bytes", _MOST),
                           ("depth", _UNBOUNDED)):
            as_count(name, getattr(self, name), 0, most)


def compile(  # noqa: A001 - the field's word
    schema: Any,
    vocab: Vocabulary,
    *,
    property_order: Literal["any", "schema"] = "any",
    additional_properties: Literal["spec", "closed"] = "spec",
    whitespace: Literal["compact", "spaced", "flexible"] | None = None,
    max_whitespace: int | None = 40,
    indent: int | None = None,
    escapes: Literal["all", "minimal"] = "all",
    numbers: Literal["plain", "any"] = "plain",
    max_digits: int | None = None,
    format: Literal["assert", "annotate"] = "assert",  # noqa: A002 - the keyword's name
    unsupported: Literal["error", "relax"] = "error",
    draft: Literal["4", "6", "7", "2019-09", "2020-12"] | None = None,
    resources: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    cancel: _core.Cancel | None = None,
) -> Automaton:
    """Compile a JSON Schema against a vocabulary.

    Lazy: ready at once, masks come into being on first use; `Automaton.precompile` makes all of
    them ahead of time. The GIL is released. The automaton may be shared among threads.

    Parameters
    ----------
    schema : str, bytes, dict, bool, or a pydantic model class
        A float of a dict counts as its ``repr``.
    vocab : Vocabulary
    property_order : {"any", "schema"}
        Whether the members of an object may come in any order.
    additional_properties : {"spec", "closed"}
        What the absence of ``additionalProperties`` means beside ``properties``.
    whitespace : {"compact", "spaced", "flexible"}
        None inside the value (the default); as ``json.dumps`` writes; any that RFC 8259 allows,
        at most `max_whitespace` in a row (None: unbounded).
    indent : int
        Exactly as ``json.dumps(indent=n)`` writes; not together with `whitespace`.
    escapes : {"all", "minimal"}
        Every escape of RFC 8259 in free strings, or only those that are needed.
    numbers : {"plain", "any"}
        Whether ``1.0`` may be written where every live alternative wants an integer.
    max_digits : int
        Most digits of the integer part, of the fraction and of the exponent, each.
    format : {"assert", "annotate"}
    unsupported : {"error", "relax"}
        What happens to a keyword that cannot be honoured exactly: an error, or it is left out, so
        that the language gets wider, never narrower, and `Automaton.relaxed` lists it.
    draft : {"4", "6", "7", "2019-09", "2020-12"}
        Default: by ``$schema``, else 2020-12. A `TokfsmWarning` says so where ``$schema`` names none
        of these, nor a document of `resources`.
    resources : mapping of str to schema
        Documents that references can lead to, by absolute URI; each as `schema` can be. The
        metaschemas of drafts 4 to 2020-12 are known besides. Nothing is ever fetched.
    limits : Limits
    cancel : Cancel

    Raises
    ------
    SchemaError
        The schema is not valid, or a reference leads nowhere; ``.pointer`` says where: in a
        document of `resources`, behind its URI and ``#``.
    UnsupportedSchemaError
        A keyword would have to be loosened; ``.keyword`` and ``.pointer`` say which. With
        ``unsupported="relax"``: the schema is of a draft before draft 4.
    UnsatisfiableSchemaError
        No value can be written with this vocabulary.
    LimitError, CancelledError

    Source: JSON Schema 2020-12 Core and Validation; RFC 8259; spelling: docs/spelling.md.
    """
    if not isinstance(vocab, Vocabulary):
        raise TypeError(f"vocab is a {type(vocab).__name__}; expected a tokfsm.Vocabulary")
    if indent is not None and whitespace is not None:
        raise TypeError("indent and whitespace exclude each other")
    if limits is not None and not isinstance(limits, Limits):
        raise TypeError(f"limits is a {type(limits).__name__}; expected a tokfsm.Limits")
    if cancel is not None and not isinstance(cancel, _core.Cancel):
        raise TypeError(f"cancel is a {type(cancel).__name__}; expected a tokfsm.Cancel")
    layout = "indent" if indent is not None else whitespace or "compact"
    options = {
        "property_order": _code("property_order", property_order),
        "additional_properties": _code("additional_properties", additional_properties),
        "whitespace": OPTION_CODES["whitespace"]["indent"] if layout == "indent" else _code("whitespace", layout),
        "max_whitespace": _count("max_whitespace", max_whitespace, 0),
        "indent": 0 if indent is None else _count("indent", indent, 0),
        "escapes": _code("escapes", escapes),
        "numbers": _code("numbers", numbers),
        "max_digits": _count("max_digits", max_digits, 1),
        "format": _code("format", format),
        "unsupported": _code("unsupported", unsupported),
        "draft": _code("draft", draft),
    }
    text, given = schema_text(schema), resource_texts(resources)
    automaton = Automaton(
        _core.Automaton.compile(text, given, vocab._pack, vocab.stop_token_ids, options, limits, cancel))
    if draft is None:
        warn_of_unknown(text, [uri for uri, _ in given])
    return automaton


def _code(name: str, value: object) -> int:
    codes = OPTION_CODES[name]
    if not isinstance(value, (str, type(None))) or value not in codes or value == "indent":
        known = ", ".join(repr(one) for one in codes if one != "indent")
        raise ValueError(f"{name} is {value!r}; expected one of {known}")
    return codes[value]


def _count(name: str, value: object, least: int) -> int:
    if value is None:
        return _UNBOUNDED
    return as_count(name, value, least, _UNBOUNDED - 1)
