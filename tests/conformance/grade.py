"""A group of the suite in, what the masks make of it out.

A text is accepted if every byte, and every token of a random split, is allowed in turn and the text
is complete at its end. The two must agree. A group without a valid instance is right as well if
the schema is refused as unsatisfiable or broken; a refusal by name is never right. A valid instance
in a declared gap of its format (`suite.is_left_out`) may be refused, and is counted.
"""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from schemas import Probe, Splitter  # noqa: E402

import tokfsm  # noqa: E402

from .suite import Group, Test, is_left_out  # noqa: E402

HAS_RESOURCES = "resources" in inspect.signature(tokfsm.compile).parameters


#: Over all the texts of one group the automata of idn-email and idn-hostname outgrow the default of 64 MB.
_LIMITS = tokfsm.Limits(automaton_bytes=1 << 30)


@dataclass(frozen=True)
class Outcome:
    """`kind` is right, refused (by name), limit, error (a good schema called broken) or wrong."""

    kind: str
    keyword: str = ""
    message: str = ""
    accepts: tuple[str, ...] = ()  #: descriptions of invalid instances that were accepted
    refuses: tuple[str, ...] = ()  #: of valid ones that were refused
    left_out: tuple[str, ...] = ()  #: of valid ones that were refused in a declared gap

    @property
    def rank(self) -> int:
        return {"right": 2, "wrong": 0}.get(self.kind, 1)


def vocabulary(groups: Iterable[Group], n_pieces: int = 400) -> list[bytes | None]:
    """Every byte, and pieces of the suite's own texts."""
    rng = random.Random(3)
    texts = [text for g in groups for t in g.tests if len(text := _bytes(t)) > 2]
    pieces: dict[bytes, None] = {}
    while texts and len(pieces) < n_pieces:
        text = rng.choice(texts)
        at = rng.randrange(len(text) - 1)
        pieces[text[at : at + rng.randint(2, 8)]] = None
    return [*(bytes([b]) for b in range(256)), *(p for p in pieces if len(p) > 1), None]


def _bytes(test: Test) -> bytes:
    return test.text.encode("utf-8", "surrogatepass")


class Grader:
    """Grades groups against one vocabulary."""

    def __init__(self, tokens: list[bytes | None], remotes: dict[str, Any]) -> None:
        self.tokens, self.remotes = tokens, remotes
        self.vocab = tokfsm.Vocabulary.from_bytes(tokens)
        self.splitter = Splitter(tokens, [])

    def compile(self, group: Group) -> tokfsm.Automaton:
        extra = {"resources": self.remotes} if group.needs_remotes and HAS_RESOURCES else {}
        return tokfsm.compile(group.schema, self.vocab, draft=group.draft, numbers="any", whitespace="flexible",
                              format="assert" if group.asserts_formats else "annotate", limits=_LIMITS, **extra)

    def __call__(self, group: Group) -> Outcome:
        any_valid = any(t.valid for t in group.tests)
        try:
            automaton = self.compile(group)
        except tokfsm.errors.UnsatisfiableSchemaError as e:
            valid = tuple(t.description for t in group.tests if t.valid)
            return Outcome("wrong", "", str(e), (), valid) if valid else Outcome("right")
        except tokfsm.errors.UnsupportedSchemaError as e:
            return Outcome("refused", e.keyword or "", e.message)
        except tokfsm.errors.SchemaError as e:
            return Outcome("error", e.keyword or "", e.message) if any_valid else Outcome("right")
        except tokfsm.errors.LimitError as e:
            return Outcome("limit", "", str(e))
        accepts: list[str] = []
        refuses: list[str] = []
        left_out: list[str] = []
        rng = random.Random(group.key)
        try:
            for test in group.tests:
                accepted = self._accepts(automaton, _bytes(test), rng)
                if accepted != test.valid:
                    gap = test.valid and is_left_out(group.file, test.text)
                    (accepts if accepted else left_out if gap else refuses).append(test.description)
        except tokfsm.errors.LimitError as e:
            return Outcome("limit", "", str(e))
        kind = "wrong" if accepts or refuses else "right"
        return Outcome(kind, "", "", tuple(accepts), tuple(refuses), tuple(left_out))

    def _accepts(self, automaton: tokfsm.Automaton, text: bytes, rng: random.Random) -> bool:
        probe = Probe(automaton)
        accepted = probe.feed(text)
        ids = self.splitter.split(rng, text)
        assert ids is not None, "a byte is missing"
        whole = probe.take(ids) is None and bool(probe.matcher.is_complete)
        assert whole == accepted, f"bytes say {accepted}, tokens {whole}: {text!r}"
        return accepted
