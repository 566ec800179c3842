"""Whether a schema says in what dialect it is written, in words that are known.

The compiler (`csrc/schema/dialect.c`) decides; this says so where it had nothing to go by. Real schemas
carry identifiers of vendors and misspelt ones, which would all be lost if they were refused, and are
seldom meant as another dialect than the latest: hence a warning.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable

from tokfsm.errors import TokfsmWarning

__all__ = ["KNOWN", "unknown_dialect", "warn_of_unknown"]

#: As in dialect.c: without scheme and without an empty fragment. Drafts before 4 are refused there.
KNOWN = frozenset({
    "json-schema.org/draft-04/schema", "json-schema.org/draft-06/schema", "json-schema.org/draft-07/schema",
    "json-schema.org/draft/2019-09/schema", "json-schema.org/draft/2020-12/schema", "json-schema.org/schema",
})
_OWN_METASCHEMA = re.compile(r"json-schema\.org/draft/(2019-09|2020-12)/meta/[a-z-]+")
_MENTION = re.compile(rb'"\$schema"\s*:\s*"([^"]*)"')


def _known(uri: str) -> bool:
    bare = re.sub("^https?://", "", uri.removesuffix("#"))
    return bare in KNOWN or _OWN_METASCHEMA.fullmatch(bare) is not None


def unknown_dialect(text: bytes) -> str | None:
    """The value of the root's ``$schema`` if it names no dialect that is known; else None.

    Most texts are not parsed: none is whose mentions of ``$schema`` are all known.
    """
    if all(_known(uri.decode("utf-8", "replace")) for uri in _MENTION.findall(text)):
        return None
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError):  # another encoding, or too deep for this reader
        return None
    uri = schema.get("$schema") if isinstance(schema, dict) else None
    return uri if isinstance(uri, str) and not _known(uri) else None


def warn_of_unknown(text: bytes, resources: Iterable[bytes]) -> None:
    """A `TokfsmWarning` to the caller's caller; a metaschema that is among the resources is known."""
    uri = unknown_dialect(text)
    if uri is not None and uri.removesuffix("#").encode() not in {one.removesuffix(b"#") for one in resources}:
        warnings.warn(f"$schema names no dialect that is known: {uri!r}; taken as 2020-12 (at /$schema); "
                      "say which is meant by draft=", TokfsmWarning, stacklevel=3)
