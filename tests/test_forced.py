"""Forced text and forced tokens, against all completions one by one.

The oracle of forced bytes follows the masks token by token. The one of forced tokens encodes every
completion of a finite language, with a byte-pair encoding of random merges: what real tokenizers
do rarely (a merge that hangs on the letter after next) happens here all the time.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

import tokfsm
from schemas import RICH, TINY, Probe, SchemaMaker, make_options, make_tokens

SEEDS = range(int(os.environ.get("TOKFSM_FORCED_SEEDS", "80")))
N_FORCED = int(os.environ.get("TOKFSM_FORCED_TOKENS", "300"))
REAL = Path(__file__).resolve().parents[1].parent / "shared" / "tokenizers"

# ---- bytes ------------------------------------------------------------------------------


def next_bytes(automaton: Any, matcher: Any, text: bytes, tokens: list[bytes | None]) -> tuple[set[int], bool]:
    """What can follow the text, spelled in tokens, and whether the value can end there."""
    places = {0: matcher.fork()}
    found, ends = set(), False
    for at in range(len(text) + 1):
        place = places.get(at)
        if place is None:
            continue
        ends |= at == len(text) and place.is_complete
        for token in Probe(automaton, place.fork()).mask():
            spelled = tokens[token] or b""
            rest = text[at:]
            if len(spelled) > len(rest) and spelled.startswith(rest):
                found.add(spelled[len(rest)])
            elif spelled and rest.startswith(spelled) and at + len(spelled) not in places:
                behind = place.fork()
                assert behind.accept_token(token)
                places[at + len(spelled)] = behind
    return found, ends


def longest_common(automaton: Any, matcher: Any, tokens: list[bytes | None]) -> bytes:
    text = b""
    while True:
        found, ends = next_bytes(automaton, matcher, text, tokens)
        if ends or len(found) != 1:
            return text
        text += bytes(found)


@pytest.mark.parametrize("seed", SEEDS)
def test_forced_bytes(seed: int) -> None:
    rng = random.Random(seed)
    schema = SchemaMaker(rng, rng.choice((RICH, TINY))).make()
    tokens, stops = make_tokens(rng)
    try:
        vocab = tokfsm.Vocabulary.from_bytes(tokens, stop_token_ids=stops)
        automaton = tokfsm.compile(schema, vocab, **make_options(rng))
    except tokfsm.SchemaError:
        return
    spelled = [None if i in stops else token for i, token in enumerate(tokens)]
    matcher = automaton.matcher()
    for _ in range(15):
        text = matcher.forced_bytes()
        assert text == longest_common(automaton, matcher, spelled), (seed, schema)
        assert matcher.forced_bytes(2) == text[:2] and matcher.forced_bytes(0) == b""
        ids = sorted(Probe(automaton, matcher.fork()).mask())
        if not ids or not matcher.accept_token(rng.choice(ids)):
            break


def test_forced_bytes_of_a_long_constant() -> None:
    value = {"a": "x" * 5000, "b": [1, {"c": None}]}
    automaton = tokfsm.compile({"const": value}, tokfsm.Vocabulary.from_bytes([bytes([b]) for b in range(256)]),
                               property_order="schema")
    matcher = automaton.matcher()
    text = matcher.forced_bytes()
    assert json.loads(text) == value
    assert matcher.accept_tokens(text) and matcher.forced_bytes() == b"" and matcher.is_terminated()


def test_a_byte_that_comes_in_longer_tokens_only() -> None:
    """Two strings; one goes on with a byte that is no token by itself, but a part of one."""
    tokens: list[bytes | None] = [bytes([b]) for b in range(256) if b != 0x78]
    schema = {"enum": ["ab", "ay"]}
    plain = tokfsm.compile(schema, tokfsm.Vocabulary.from_bytes(tokens)).matcher()
    assert plain.forced_bytes() == b'"a'
    schema = {"type": "string", "pattern": "^a(b|x|xz)$"}
    cases = (([], b'"ab"'), ([b'"ax"'], b'"a'), ([b"ax"], b'"a'), ([b"x\""], b'"a'), ([b"xy"], b'"ab"'))
    for more, expected in cases:
        vocab = tokfsm.Vocabulary.from_bytes([*tokens, *more])
        matcher = tokfsm.compile(schema, vocab, escapes="minimal").matcher()
        assert matcher.forced_bytes() == expected, more
    stops = [len(tokens)]
    matcher = tokfsm.compile(schema, tokfsm.Vocabulary.from_bytes([*tokens, b"ax"], stop_token_ids=stops),
                             escapes="minimal").matcher()
    assert matcher.forced_bytes() == b'"ab"'  # the stop token has lost its bytes


# ---- tokens -----------------------------------------------------------------------------


class Merges:
    """Byte-pair encoding: single bytes, then merges by rank, in words cut as `cut` does."""

    def __init__(self, rng: random.Random, letters: bytes, n_merges: int, cut: Any) -> None:
        self.tokens = [bytes([b]) for b in range(256)]
        self.ranks: dict[tuple[bytes, bytes], int] = {}
        self.cut = cut
        pool = [bytes([b]) for b in letters]
        for _ in range(n_merges):
            pair = (rng.choice(pool), rng.choice(pool))
            if pair in self.ranks or b"".join(pair) in self.tokens or len(b"".join(pair)) > 8:
                continue
            self.ranks[pair] = len(self.ranks)
            self.tokens.append(b"".join(pair))
            pool.append(b"".join(pair))
        self.ids = {token: i for i, token in enumerate(self.tokens)}

    def encode(self, text: str) -> list[int]:
        return [self.ids[part] for word in self.cut(text) for part in self.merge(word.encode())]

    def merge(self, word: bytes) -> list[bytes]:
        parts = [bytes([b]) for b in word]
        while len(parts) > 1:
            pairs = list(zip(parts, parts[1:]))
            best = min(pairs, key=lambda pair: self.ranks.get(pair, 1 << 30))
            if best not in self.ranks:
                break
            i = pairs.index(best)
            parts[i:i + 2] = [b"".join(best)]
        return parts


class WithSpace(Merges):
    """Puts a space before each text, as SentencePiece's tokenizers do. `behind` writes as behind a prompt."""

    def encode(self, text: str) -> list[int]:
        return super().encode(" " + text)

    def behind(self, text: str) -> list[int]:
        return super().encode(text)


def whole(text: str) -> list[str]:
    return [text]


def by_kind(text: str) -> list[str]:
    """Letters with one space before them; other runs; the last of several spaces goes with the word behind."""
    import re

    return re.findall(r" ?[^\W\d]+| ?\d+| ?[^\s\w]+|\s+(?!\S)|\s+", text)


LETTERS = b'ab c"'


def completions(matcher: Any, before: bytes = b"") -> list[bytes]:
    """All of them, of a finite language."""
    work, found = [before], []
    while work:
        text = work.pop()
        _, complete, allowed = matcher.check_bytes(text)
        found += [text] if complete else []
        work += [text + bytes([b]) for b in allowed]
    return found


def common(lists: list[list[int]]) -> list[int]:
    first = min(lists)
    last = max(lists)
    n = next((i for i, (a, b) in enumerate(zip(first, last)) if a != b), min(len(first), len(last)))
    return first[:n]


def finite_schema(rng: random.Random) -> Any:
    words = ["".join(rng.choice("ab c") for _ in range(rng.randint(0, 7))) for _ in range(rng.choice((1, 2, 3, 40)))]
    patterns = ("^a[ab]{0,5}$", "^ab? c?[abc ]{0,3}$", "^[abc]{2,3}$")
    kinds = [{"enum": words}, {"const": words[0]}, {"type": "string", "pattern": rng.choice(patterns)},
             {"type": "array", "prefixItems": [{"enum": words[:2]}, {"enum": words}], "minItems": 2, "maxItems": 2},
             {"type": "object", "properties": {"a b": {"enum": words}, "ac": {"const": words[0]}},
              "required": ["a b", "ac"], "additionalProperties": False}]
    return rng.choice(kinds)


@pytest.mark.parametrize("kind", [Merges, WithSpace])
def test_forced_tokens(kind: type[Merges]) -> None:
    """Never one too many; and as many as there are, but where a merge that looks possible is none."""
    n_cases = n_exact = n_ids = 0
    n_wanted = N_FORCED if kind is Merges else N_FORCED // 3
    for seed in range(10_000):
        rng = random.Random(seed)
        bpe = kind(rng, LETTERS, rng.choice((3, 10, 40, 120)), rng.choice((whole, by_kind)))
        encode = getattr(bpe, "behind", bpe.encode)
        vocab = tokfsm.Vocabulary.from_bytes([*bpe.tokens, None], stop_token_ids=rng.choice(([], [len(bpe.tokens)])))
        automaton = tokfsm.compile(finite_schema(rng), vocab, property_order="schema", escapes="minimal")
        texts = [text for text in completions(automaton.matcher())]
        path = encode(rng.choice(texts).decode())
        matcher = automaton.matcher()
        for k in range(len(path) + 1):
            given = path[:k]
            before = b"".join(bpe.tokens[one] for one in given)
            ahead = [text for text in texts if text.startswith(before)]
            expected = common([encode(text.decode()) for text in ahead])
            expected = expected[k:] if expected[:k] == given else []
            found = matcher.forced_tokens(bpe, given)
            assert found == expected[: len(found)], (seed, given, found, expected)
            n_cases += 1
            n_exact += found == expected
            n_ids += len(expected)
            if k < len(path):
                assert matcher.accept_token(path[k])
        if n_cases >= n_wanted:
            break
    print(f"{n_exact} of {n_cases} cases exact, {n_ids} ids forced")
    assert n_exact >= 0.97 * n_cases and n_ids > n_wanted


def test_a_context_that_the_tokenizer_would_cut_otherwise() -> None:
    bpe = Merges(random.Random(0), b"", 0, whole)
    bpe.ranks, bpe.tokens = {(b'"', b"a"): 0}, [*bpe.tokens, b'"a']
    bpe.ids = {token: i for i, token in enumerate(bpe.tokens)}
    automaton = tokfsm.compile({"const": "abc"}, tokfsm.Vocabulary.from_bytes([*bpe.tokens, None]))
    matcher = automaton.matcher()
    assert matcher.forced_tokens(bpe) == bpe.encode('"abc"')
    assert matcher.forced_tokens(bpe.encode) == bpe.encode('"abc"')
    assert matcher.accept_token(ord('"'))
    assert matcher.forced_tokens(bpe, [ord('"')]) == []  # the tokenizer writes `"a` there
    assert matcher.forced_tokens(bpe, [5, 257, ord('"')]) == []
    assert matcher.forced_tokens(bpe, [257]) == bpe.encode('abc"')  # behind a special token
    assert matcher.forced_tokens(lambda text: bpe.encode(text.upper()), [257]) == []
    with pytest.raises(TypeError, match="no encode"):
        matcher.forced_tokens(3)
    assert matcher.accept_tokens(b'abc"') and matcher.forced_tokens(bpe, bpe.encode('"abc"')) == []


@pytest.mark.parametrize("name", ["llama3_1", "qwen3", "gemma3"])
def test_forced_tokens_of_real_tokenizers(name: str) -> None:
    """Against random completions: never one that a completion does not have."""
    tokenizers = pytest.importorskip("tokenizers")
    path = REAL / name / "tokenizer.json"
    if not path.exists():
        pytest.skip(f"no {path}")
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    vocab = tokfsm.Vocabulary.from_file(path)
    properties = {"city name": {"type": "string", "maxLength": 8}, "kind": {"enum": ["hamlet", "harbour"]},
                  "population": {"type": "integer"}, "é": {"const": "naïve  text"}}
    schema = {"type": "object", "properties": properties,
              "required": ["city name", "kind", "population", "é"], "additionalProperties": False}
    n_ids = 0
    for options in ({}, {"whitespace": "spaced"}, {"indent": 4}):
        automaton = tokfsm.compile(schema, vocab, property_order="schema", **options)
        layout: dict[str, Any] = {"separators": (",", ":")} if not options else {"indent": options.get("indent")}
        values = [{"city name": text, "kind": kind, "population": n, "é": "naïve  text"}
                  for text in ("Oslo", " x", "1", "", "été", "'s", "日本", "!?", "a\"b")
                  for kind in ("hamlet", "harbour") for n in (0, 12, -5)]
        texts = [json.dumps(value, ensure_ascii=False, **layout) for value in values]
        encoded = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        for path_ids, text in list(zip(encoded, texts))[::7]:
            matcher = automaton.matcher()
            for k, token in enumerate(path_ids):
                found = matcher.forced_tokens(tokenizer, path_ids[:k])
                alike = [ids for ids in encoded if ids[:k] == path_ids[:k]]
                assert all(ids[k:k + len(found)] == found for ids in alike), (text, k, found)
                n_ids += len(found)
                assert matcher.accept_token(token), (text, k)
    assert n_ids > 100


@pytest.mark.parametrize("name", ["tokenizer.model.v1", "mistral_instruct_tokenizer_240323.model.v3"])
def test_forced_tokens_of_sentencepiece(name: str) -> None:
    """Its tokenizers put a space before each text: forced is what they write behind a prompt, also as the context."""
    sentencepiece = pytest.importorskip("sentencepiece")
    package = pytest.importorskip("mistral_common")
    path = Path(package.__file__).parent / "data" / name
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(path))
    vocab = tokfsm.Vocabulary.from_file(path)
    value = {"city name": "Oslo", "kind": "harbour", "é": "naïve  text"}
    schema = {"type": "object", "required": list(value), "additionalProperties": False, "properties": {
        "city name": {"type": "string", "maxLength": 8}, "kind": {"enum": ["hamlet", "harbour"]},
        "é": {"const": "naïve  text"}}}
    prompt = "[INST] A town as JSON. [/INST]\n"
    before = tokenizer.encode(prompt)
    for options, layout in (({}, (",", ":")), ({"whitespace": "spaced"}, (", ", ": "))):
        text = json.dumps(value, ensure_ascii=False, separators=layout)
        ids = tokenizer.encode(prompt + text)[len(before):]
        assert b"".join(vocab.token_bytes(one) or b"" for one in ids) == text.encode()
        matcher, n_ids = tokfsm.compile(schema, vocab, property_order="schema", **options).matcher(), 0
        for k, token in enumerate(ids):
            found = matcher.forced_tokens(tokenizer, ids[:k])
            assert found == ids[k:k + len(found)]
            assert matcher.forced_tokens(tokenizer, [*before, *ids[:k]]) == found
            n_ids += len(found)
            assert matcher.accept_token(token)
        assert n_ids > 50
