"""What automata of one vocabulary share: the states and tokens of a pattern or format (lower/shelf.h)."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import tokfsm
from mask_bits import differing
from schemas import Probe

TOKENS = [bytes([b]) for b in range(256)] + [b"ab", b"abc", b"12", b"-0", b'a"', b'1","', b"2024-", b"T1", b"\\n", b'x@y.z"']
SCHEMAS: list[Any] = [
    {"type": "string", "format": "date"},
    {"type": "array", "items": {"type": "string", "format": "date"}},
    {"type": "object", "properties": {"a": {"type": "string", "format": "email"}, "b": {"type": "string", "pattern": "^[a-c]+$"}},
     "additionalProperties": False},
    {"type": "string", "pattern": "^[a-c]+$", "maxLength": 5},
    {"type": "string", "pattern": "^[a-c]+$", "enum": ["abc", "d"]},
    {"anyOf": [{"type": "string", "pattern": "^[a-c]+$"}, {"type": "string", "format": "date"}]},
    {"type": "string", "pattern": "^[a-c]+$", "not": {"const": "ab"}},
    {"type": "array", "uniqueItems": True, "items": {"type": "string", "pattern": "^[a-c]+$"}},
]
TEXTS = [b"", b'"', b'"2', b'"2024-0', b'["2', b'{"a":"', b'{"a":"x@', b'{"b":"', b'{"b":"ab', b'"a', b'"ab', b'["a","']


def masks(automaton: tokfsm.Automaton) -> dict[bytes, set[int]]:
    """The mask after each text that is accepted, compared with accept_token."""
    found = {}
    for text in TEXTS:
        probe = Probe(automaton)
        if all(probe.matcher.accept_token(b) for b in text):
            found[text], more, less = differing(probe, TOKENS)
            assert not more and not less, (text, more, less)
    return found


def test_a_pattern_met_before_gives_the_same_masks_and_artifacts(tmp_path: Path) -> None:
    shared = tokfsm.Vocabulary.from_bytes(list(TOKENS))
    for number, schema in enumerate([*SCHEMAS, *SCHEMAS[::-1]]):
        alone = tokfsm.compile(schema, tokfsm.Vocabulary.from_bytes(list(TOKENS)))
        other = tokfsm.compile(schema, shared)
        assert masks(other) == masks(alone)
        for name, automaton in (("a", alone), ("b", other)):
            automaton.save(tmp_path / f"{name}{number}")
        assert (tmp_path / f"a{number}").read_bytes() == (tmp_path / f"b{number}").read_bytes()
        assert masks(tokfsm.load(tmp_path / f"b{number}")) == masks(alone)


def test_options_and_limits_that_a_pattern_depends_on_are_told_apart() -> None:
    shared = tokfsm.Vocabulary.from_bytes(list(TOKENS))
    schema = {"type": "string", "pattern": "^[a/\\n]+$"}
    for escapes in ("all", "minimal", "all"):
        alone = tokfsm.compile(schema, tokfsm.Vocabulary.from_bytes(list(TOKENS)), escapes=escapes)
        assert masks(tokfsm.compile(schema, shared, escapes=escapes)) == masks(alone)


def test_more_patterns_than_are_kept() -> None:
    """Those that the vocabulary gives up live on in the automata that use them."""
    vocab = tokfsm.Vocabulary.from_bytes(list(TOKENS))
    automata = [tokfsm.compile({"type": "string", "pattern": f"^a{{{n}}}b?$"}, vocab) for n in range(1, 300)]
    again = tokfsm.compile({"type": "string", "pattern": "^a{1}b?$"}, vocab)
    del vocab
    for automaton in (automata[0], automata[-1], again):
        masks(automaton)


def test_threads_share_a_pattern() -> None:
    vocab = tokfsm.Vocabulary.from_bytes(list(TOKENS))
    wanted = [masks(tokfsm.compile(schema, tokfsm.Vocabulary.from_bytes(list(TOKENS)))) for schema in SCHEMAS[:5]]
    wrong: list[Any] = []

    def work(first: int) -> None:
        for k in range(len(wanted)):
            i = (first + k) % len(wanted)
            if masks(tokfsm.compile(SCHEMAS[i], vocab)) != wanted[i]:
                wrong.append(SCHEMAS[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
