"""How far is the completion bound from the true minimum of tokens, on small schemas?

The bound at the start, ``matcher.min_tokens``, is a number of tokens in which the value can surely be
completed. The true minimum is searched breadth first with forks of the matcher: all token sequences of one
more token at each level, two with the same bytes being one. What the bound says at the states
met is a real completion as well, so that it lowers the best one known; the search ends where no shorter
one can be left. Where the nodes run out, the gap is known within limits and counted apart.

Vocabularies hold the bytes that a schema's texts need and pieces of such texts, as a tokenizer's merges do.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import sys
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import tokfsm

import clock
import corpus
from maskbench import show
from tokfsm.measure.walks import Chooser

sys.path.insert(0, str(corpus.ROOT / "tests"))

from schemas import TINY, SchemaMaker  # noqa: E402

HANDMADE: dict[str, Any] = {
    "one required name": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    "three required names": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "n": {"type": "integer"}, "on": {"type": "boolean"}},
        "required": ["name", "n", "on"],
    },
    "an enum of words": {"enum": ["abba", "baab", "aa", "bbbbbb"]},
    "minLength 7": {"type": "string", "minLength": 7},
    "a pattern": {"type": "string", "pattern": "^(ab|ba){3}c?$"},
    "a date": {"type": "string", "format": "date"},
    "minItems 4": {"type": "array", "items": {"type": "integer"}, "minItems": 4},
    "two kinds of items": {"type": "array", "prefixItems": [{"const": "ab"}, {"const": 10}], "minItems": 2},
    "minProperties 3": {"type": "object", "minProperties": 3},
    "nested": {
        "type": "object",
        "properties": {
            "a": {"type": "object", "properties": {"b": {"type": "array", "minItems": 1}}, "required": ["b"]}
        },
        "required": ["a"],
    },
    "branches of unlike cost": {
        "anyOf": [
            {"type": "array", "minItems": 6},
            {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]},
        ]
    },
    "either name": {"type": "object", "anyOf": [{"required": ["aaaa"]}, {"required": ["b"]}]},
    "a bounded number": {"type": "integer", "minimum": 1000, "multipleOf": 7},
    "unique items": {"type": "array", "items": {"enum": [0, 1, 10, 100]}, "uniqueItems": True, "minItems": 3},
    "contains": {"type": "array", "contains": {"const": "ab"}, "minContains": 2, "minItems": 3},
    "not an object": {"not": {"type": ["object", "null", "boolean", "number"]}, "minLength": 3, "minItems": 2},
}


class Gap(NamedTuple):
    bound: int
    least: int  #: no completion has fewer tokens
    best: int  #: a completion has as many: the true minimum where it is `least`
    nodes: int


def vocabulary(schema: Any, rng: random.Random, n_pieces: int) -> tokfsm.Vocabulary | None:
    """The bytes that the schema's texts are made of, and pieces of random texts; None: it has none."""
    singles = [bytes([b]) for b in range(256)]
    letters = tokfsm.Vocabulary.from_bytes(singles)
    automaton = tokfsm.compile(schema, letters)
    bitmask = tokfsm.allocate_token_bitmask(1, letters.size)
    row = np.asarray(bitmask)[0]
    chooser = Chooser(singles, rng)
    texts: list[bytes] = []
    for _ in range(12):
        m, text = automaton.matcher(), b""
        while len(text) < 60:
            left = max(m.min_tokens, 30 - len(text))  # so that the text comes to its end
            m.fill_next_token_bitmask(bitmask, 0, budget=left)
            token = chooser.draw(row)
            if token is None or (m.is_complete and rng.random() < 0.3):
                break
            m.accept_token(token)
            text += singles[token]
        texts.append(text)
    pieces: set[bytes] = {b'{"', b'":', b'",', b'"}', b'",""', b"[]", b"{}", b'""', b"0,"}
    for _ in range(n_pieces * 4):
        text = rng.choice(texts)
        if len(text) > 1 and len(pieces) < n_pieces:
            at, n = rng.randrange(len(text) - 1), rng.choice((2, 2, 3, 3, 4, 6))
            pieces.add(text[at : at + n])
    used = set(b'{}[]",:01a-') | {byte for text in texts for byte in text if byte < 0x80}
    return tokfsm.Vocabulary.from_bytes([bytes([b]) for b in sorted(used)] + sorted(p for p in pieces if len(p) > 1))


def search(schema: Any, vocab: tokfsm.Vocabulary, nodes: int) -> Gap:
    automaton = tokfsm.compile(schema, vocab)
    bitmask = tokfsm.allocate_token_bitmask(1, vocab.size)
    row = np.asarray(bitmask).view(np.uint8)[0]
    start = automaton.matcher()
    bound = best = start.min_tokens
    level, made = 0, 0
    frontier = [(b"", start)]
    seen = {b""}
    while level < best and frontier:
        # All of `frontier` was reached in `level` tokens, and nothing shorter was complete.
        if level + 1 >= best:
            break  # one more token at least: `best` it is
        after: list[tuple[bytes, tokfsm.Matcher]] = []
        for text, m in frontier:
            m.fill_next_token_bitmask(bitmask, 0)
            for token in np.flatnonzero(np.unpackbits(row, bitorder="little")[: vocab.size]):
                longer = text + (vocab.token_bytes(int(token)) or b"")
                if longer in seen:
                    continue
                if made >= nodes:
                    return Gap(bound, level + 1, best, made)
                made += 1
                seen.add(longer)
                one = m.fork()
                if not one.accept_token(int(token)):
                    raise AssertionError(f"a token of the mask is refused after {text!r}")
                best = min(best, level + 1 + one.min_tokens)
                after.append((longer, one))
        level += 1
        frontier = after
    return Gap(bound, best, best, made)


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--schemas", type=int, default=400, help="random ones, beside those made by hand")
    p.add_argument("--pieces", type=int, default=40, help="tokens of more than one byte")
    p.add_argument("--nodes", type=int, default=60_000, help="most forks of a search")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--worst", type=int, default=12, help="how many of the widest gaps to list")
    p.add_argument("--quick", action="store_true", help="thirty random schemas, few nodes")
    p.add_argument("--record", action="store_true", help="write the distribution into bench/record")
    options = p.parse_args(arguments)
    machine = clock.machine()
    n_random, nodes = (30, 5_000) if options.quick else (options.schemas, options.nodes)
    cases = list(HANDMADE.items())
    cases += [(f"random {seed}", SchemaMaker(random.Random(seed), TINY).make(2)) for seed in range(n_random)]
    found: list[tuple[str, Any, Gap]] = []
    left_out: Counter[str] = Counter()
    for name, schema in cases:
        rng = random.Random(f"{options.seed} {name}")
        try:
            vocab = vocabulary(schema, rng, options.pieces)
            if vocab is not None:
                found.append((name, schema, search(schema, vocab, nodes)))
        except tokfsm.TokfsmError as error:
            left_out[type(error).__name__] += 1
    exact = [gap for _, _, gap in found if gap.least == gap.best]
    open_ = [gap for _, _, gap in found if gap.least < gap.best]
    counts = Counter(gap.bound - gap.best for gap in exact)
    show(
        f"gap of the bound to the true minimum, in tokens: {len(exact)} schemas searched to the end",
        ["gap", "schemas", "share"],
        [[str(k), str(n), f"{n / len(exact):.1%}"] for k, n in sorted(counts.items())],
    )
    if open_:
        limits = Counter((gap.bound - gap.best, gap.bound - gap.least) for gap in open_)
        show(
            f"{len(open_)} more, within limits",
            ["gap", "schemas"],
            [[f"{low} to {high}", str(n)] for (low, high), n in sorted(limits.items())],
        )
    if left_out:
        print(f"\nleft out: {dict(left_out)}")
    found.sort(key=lambda one: one[2].best - one[2].bound)
    show(
        f"the {options.worst} widest known",
        ["", "bound", "best known", "at least", "nodes", ""],
        [
            [name, *map(str, (gap.bound, gap.best, gap.least, gap.nodes)), json.dumps(schema)[:120]]
            for name, schema, gap in found[: options.worst]
            if gap.bound > gap.best
        ],
    )
    if options.record:
        date = datetime.date.today().isoformat()
        path = corpus.RECORD / f"{date}-bound-gap.json"
        path.write_text(
            json.dumps(
                {
                    "command": "python " + clock.command(["bench/bound_gap.py", *arguments]),
                    "date": date,
                    "machine": machine,
                    "version": tokfsm.__version__,
                    "exact": {str(k): n for k, n in sorted(counts.items())},
                    "left_out": left_out,
                    "within_limits": [gap._asdict() for gap in open_],
                    "wider_than_0": [
                        {"name": name, "schema": schema, **gap._asdict()}
                        for name, schema, gap in found
                        if gap.bound > gap.best
                    ],
                },
                indent=1,
            )
            + "\n",
            encoding="utf-8",
        )
        print(f"\nrecorded in bench/record/{path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
