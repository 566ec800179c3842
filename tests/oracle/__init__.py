"""The oracle: which tokens may come next, found out slowly and plainly.

    Oracle(schema, tokens=[...], **options).mask(prefix)    the set of allowed ids
    allowed(schema, prefix, vocabulary, **options)          the same, in one go

Everything that tokfsm does fast is checked against this package, so it is written for reading and
shares no code with the engine. It was written from the design's sections 2 and 3 and
`docs/spelling.md`.

Two readings, each from scratch, judged by a validator and by each other (tests/test_oracle.py):

    alternatives*   `anyOf`, `allOf`, `$ref`, `enum`, types, lengths, counts of items: alternatives
                    move in lock step, and the spelling profile is pinned to the last bit
    by_value*       every keyword: what can the text so far still become? Values are exact; where
                    the profile asks for *live alternatives* it may be in doubt (`bounds_at`)

    text            spellings of characters and numbers         base        options, white space, questions
    nodes           a schema as nodes                           evaluate    JSON Schema's rules
    regex           patterns by derivatives                     strings, numbers    what can still be written
    values          tables of all kinds of values
"""

from __future__ import annotations

from typing import Any

from .alternatives import AlternativesOracle
from .base import BadSchema, Base, Undecided, Unsatisfiable, Unsupported
from .by_value import ValuesOracle

__all__ = ["AlternativesOracle", "BadSchema", "Base", "Oracle", "Undecided", "Unsatisfiable", "Unsupported",
           "ValuesOracle", "allowed"]


def Oracle(schema: Any, **options: Any) -> Base:
    """The narrow reading where it knows all keywords, else the wide one."""
    try:
        return AlternativesOracle(schema, **options)
    except Unsupported:
        return ValuesOracle(schema, **options)


def allowed(schema: Any, prefix: bytes, vocabulary: list[bytes | None], **options: Any) -> set[int]:
    """Ids of the vocabulary that may follow `prefix`."""
    return Oracle(schema, tokens=vocabulary, **options).mask(prefix)
