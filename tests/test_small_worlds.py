"""Small worlds, whole: every text up to n bytes or lexemes, against a validator and against the engines.

The oracle is judged here by `jsonschema` (complete if and only if the text is strict JSON, its
value is valid and its spelling is in the profile; live if and only if a completion exists), and
the engines are judged by the oracle at every prefix of the same worlds.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Iterable, Iterator

import pytest

from oracle import Base, Oracle, Undecided, Unsatisfiable
from schema_keywords import ALL
from schemas import TINY, Probe, SchemaMaker, Witness, engines, strict_json

SEEDS = range(int(os.environ.get("TOKFSM_WORLD_SEEDS", "24")))
WORLDS = [(b'{}[]":,a1-', 6), (b'{}":,a1', 7), (b'[]"a1,nul', 6), (b'[],1"a-', 7), (b'{}"a:0,', 7)]
NUMBER = re.compile(rb"-?(0|[1-9][0-9]*)")


def bytes_of(alphabet: bytes) -> list[bytes | None]:
    return [bytes([b]) for b in alphabet]


# ---- all JSON texts of a world, without an oracle --------------------------------------


@lru_cache(None)
def json_texts(alphabet: bytes, n: int) -> list[bytes]:
    """All compact JSON texts of at most n bytes over an alphabet without `\\`, `.` and `e`."""
    letters = [bytes([b]) for b in alphabet if b not in b'"']
    strings = {k + 2: [b'"' + b"".join(c) + b'"' for c in itertools.product(letters, repeat=k)]
               for k in range(n - 1)} if b'"'[0] in alphabet else {}
    digits = [bytes([b]) for b in alphabet if b in b"-0123456789"]
    values: dict[int, list[bytes]] = {}

    def items(total: int) -> Iterator[bytes]:
        for k in range(1, total + 1):
            for v in values[k]:
                if k == total:
                    yield v
                elif k < total - 1:
                    yield from (v + b"," + rest for rest in items(total - k - 1))

    def members(total: int, used: frozenset[bytes]) -> Iterator[bytes]:
        for n_key, keys in strings.items():
            for n_value in range(1, total - n_key):
                left = total - n_key - 1 - n_value
                for key in keys:
                    for v in values[n_value] if key not in used and left != 1 else ():
                        if left == 0:
                            yield key + b":" + v
                        else:
                            yield from (key + b":" + v + b"," + r for r in members(left - 1, used | {key}))

    for k in range(1, n + 1):
        out = list(strings.get(k, []))
        out += [t for c in itertools.product(digits, repeat=k) if NUMBER.fullmatch(t := b"".join(c))]
        out += [w for w in (b"true", b"false", b"null") if len(w) == k]
        out += [b"[]", b"{}"] if k == 2 else []
        out += [b"[" + t + b"]" for t in items(k - 2)] if k > 2 else []
        out += [b"{" + t + b"}" for t in members(k - 2, frozenset())] if k > 2 else []
        values[k] = [t for t in out if set(alphabet).issuperset(t)]
    return [t for k in range(1, n + 1) for t in values[k]]


@lru_cache(None)
def lexeme_texts(n: int) -> list[bytes]:
    """All values of exactly n lexemes over four names and eight scalars, keys in every order."""
    out = [b'""', b'"a"', b'"ab"', b"1", b"11", b"-1", b"true", b"null"] if n == 1 else []
    out += [b"[]", b"{}"] if n == 2 else []
    if n > 2:
        out += [b"[" + t + b"]" for t in lexeme_items(n - 2)]
        out += [b"{" + t + b"}" for t in lexeme_members(n - 2, frozenset())]
    return out


@lru_cache(None)
def lexeme_items(n: int) -> list[bytes]:
    return list(lexeme_texts(n)) + [v + b"," + r for k in range(1, n - 1) for v in lexeme_texts(k)
                                    for r in lexeme_items(n - k - 1)]


@lru_cache(None)
def lexeme_members(n: int, used: frozenset[bytes]) -> list[bytes]:
    out = []
    for key in {b'""', b'"a"', b'"b"', b'"aa"'} - used:
        out += [key + b":" + v for v in lexeme_texts(n - 1)]
        out += [key + b":" + v + b"," + r for k in range(1, n - 3) for v in lexeme_texts(k)
                for r in lexeme_members(n - k - 2, used | {key})]
    return sorted(out)


@lru_cache(None)
def lexeme_world() -> list[bytes]:
    texts = [t for n in range(1, 8) for t in lexeme_texts(n)]
    longer = lexeme_texts(8) + lexeme_texts(9)
    return texts + random.Random(1).sample(longer, min(4000, len(longer)))


def make(seed: int, keywords: Iterable[str] = (), depth: int = 3) -> tuple[Any, Witness, random.Random]:
    rng = random.Random(seed)
    draft = rng.choice(["2020-12"] * 3 + ["7", "2019-09"])
    schema = SchemaMaker(rng, TINY, draft=draft, keywords=keywords).make(depth)
    return schema, Witness(schema), rng


def oracle_or_none(schema: Any, **options: Any) -> Base | None:
    try:
        return Oracle(schema, **options)
    except Unsatisfiable:
        return None


# ---- the oracle against the witness ----------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_oracle_in_a_world_of_bytes(seed: int) -> None:
    schema, witness, rng = make(seed)
    alphabet, n = WORLDS[seed % len(WORLDS)]
    valid = {t for t in json_texts(alphabet, n) if witness.value_ok(strict_json(t))}
    oracle = oracle_or_none(schema, tokens=bytes_of(alphabet))
    if oracle is None:
        assert not valid
        return
    assert set(oracle.brute_force(n)) == valid
    prefixes = {t[:i] for t in valid for i in range(len(t) + 1)}
    assert all(oracle.is_live(p) for p in rng.sample(sorted(prefixes), min(400, len(prefixes))))
    for prefix in itertools.product(alphabet, repeat=3):
        state = oracle.run(bytes(prefix))
        if state is not None and oracle.completable(state):
            assert bytes(prefix) in prefixes or completion(oracle, state, rng) is not None


def completion(oracle: Base, state: Any, rng: random.Random) -> bytes | None:
    """A completion over B, found by a beam search that never leaves live states."""
    beam = [(b"", state)]
    for _ in range(80):
        for text, here in beam:
            if oracle.complete(here):
                return text
        beam = [(text + bytes([b]), after) for text, here in beam for b in sorted(oracle.alphabet.bytes)
                if (after := oracle.step(here, b)) is not None and oracle.completable(after)]
        rng.shuffle(beam)
        beam = sorted(beam, key=lambda item: (item[1].depth, len(item[1].text)))[:60]
    return None


@pytest.mark.parametrize("seed", SEEDS)
def test_oracle_in_a_world_of_lexemes(seed: int) -> None:
    schema, witness, rng = make(1000 + seed)
    oracle = oracle_or_none(schema, tokens=bytes_of(b'{}[]":,ab1-truefalsn0'))
    for text in rng.sample(lexeme_world(), 700):
        valid = witness.value_ok(strict_json(text))
        if oracle is None:
            assert not valid
        else:
            assert oracle.is_complete(text) == valid, text
            assert not valid or oracle.first_refused(text) is None, text


NUMBER_BRANCHES: list[list[Any]] = [
    [{"type": "number"}], [{"type": "integer"}], [{"enum": [0, 12, 1.5]}], [{"const": 1.0}], [{"const": 0.25}],
    [{"type": "integer"}, {"const": 0.25}], [{"type": "number"}, {"const": 12}],
    [{"type": "integer"}, {"type": "number"}],
    [{"enum": [10, 1.5]}, {"enum": [1, 21]}], [{"type": "integer", "enum": [1, 1.5, 2]}],
    [{"const": -1}, {"type": "string"}, {"const": -0.5}],
]


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("numbers", ["plain", "any"])
@pytest.mark.parametrize("branches", NUMBER_BRANCHES, ids=json.dumps)
def test_oracle_on_all_number_texts(branches: list[Any], numbers: str, apart: bool) -> None:
    """The two number rules, restated over whole texts: which digits can still become an admitted value.

    `apart`: the branches belong to alternatives of an array, so each is judged while it lives;
    else they are one `anyOf` at one place, which is judged as a whole. A constant that the schema
    writes with a point does not want an integer.
    """
    alphabet, n = b"0125.-e", 5
    joint = {"anyOf": branches}
    schema = {"type": "array", "anyOf": [{"items": b} for b in branches]} if apart else {"items": joint}
    oracle = Oracle(schema, tokens=bytes_of(alphabet + b'"a[],'), numbers=numbers)
    plain = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
    texts = [bytes(t) for k in range(n + 3) for t in itertools.product(b"0125.-", repeat=k)
             if plain.fullmatch(bytes(t))]
    groups = []
    for group in branches if apart or len(branches) == 1 else [joint]:
        witness = Witness(group)
        admitted = {t for t in texts if witness.value_ok(strict_json(t))}
        if admitted:
            groups.append((
                {t[:i] for t in admitted for i in range(len(t) + 1)},
                {"const": 1.0} != group and all(strict_json(t) == int(strict_json(t)) for t in admitted),
                len(admitted) < len(texts)))

    def in_profile(text: bytes) -> bool:
        for i, byte in enumerate(text):
            live = [g for g in groups if text[:i] in g[0]]
            if byte == b"."[0] and numbers == "plain" and all(wants_integer for _, wants_integer, _ in live):
                return False
            if byte == b"e"[0]:
                return bool(live) and not any(constrains for _, _, constrains in live)
        return True

    number = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e-?[0-9]+)?")
    witness = Witness(joint)
    expected = {t for k in range(n + 1) for c in itertools.product(alphabet, repeat=k)
                if number.fullmatch(t := bytes(c)) and witness.value_ok(strict_json(t)) and in_profile(t)}
    state = oracle.run(b"[")
    found, work = set(), [(b"", state)]
    while work:
        text, here = work.pop()
        closed = oracle.step(here, ord("]")) if text else None
        if closed is not None and oracle.complete(closed):
            found.add(text)
        for byte in alphabet if len(text) < n else b"":
            after = oracle.step(here, byte)
            if after is not None:
                work.append((text + bytes([byte]), after))
    assert found == expected


@pytest.mark.parametrize("escapes", ["all", "minimal"])
def test_oracle_on_all_string_texts(escapes: str) -> None:
    schema = {"type": "string", "minLength": 1, "maxLength": 2}
    oracle = Oracle(schema, tokens=bytes_of(bytes(range(256))), escapes=escapes)
    witness = Witness(schema)
    pieces = [b'"', b"\\", b"u", b"/", b"n", b"\\u", b"u0061", b"u00e9", b"\\u00E9", b"\\ud83d", b"\\uDE00", b"uDE00",
              b"u0001", b"u000a", b"u001f", b"u001F", b"u007f", b"\x7f", b"\x1f", b"\xc3", b"\xa9", b"\xed", b"\xa0",
              b"\x80", b"\xf0\x9f\x98"]
    for k in range(4):
        for c in itertools.product(pieces, repeat=k):
            text = b'"' + b"".join(c) + b'"'
            expected = witness.text_ok(text)
            if expected and escapes == "minimal":
                content = strict_json(text)
                expected = text == json.dumps(content, ensure_ascii=False).encode()
            assert oracle.is_complete(text) == expected, text


@pytest.mark.parametrize("options", [
    {"whitespace": "flexible", "max_whitespace": 0}, {"whitespace": "flexible", "max_whitespace": 1},
    {"whitespace": "flexible", "max_whitespace": 2}, {"whitespace": "flexible", "max_whitespace": None},
    {"whitespace": "spaced"}, {"indent": 0}, {"indent": 1}, {}], ids=str)
@pytest.mark.parametrize("alphabet,n", [(b"[]1, \n", 7), (b'{}":1, ', 7), (b'[]{} \n\t', 5)], ids=str)
def test_oracle_on_all_white_space(options: dict[str, Any], alphabet: bytes, n: int) -> None:
    schema = {"anyOf": [{"type": "array"}, {"type": "object"}]}
    oracle = oracle_or_none(schema, tokens=bytes_of(alphabet), **options)
    assert oracle is not None
    found = set(oracle.brute_force(n))
    witness = Witness(schema)
    for text in (bytes(c) for k in range(n + 1) for c in itertools.product(alphabet, repeat=k)):
        if text[:1] not in (b"[", b"{") or text[-1:] not in (b"]", b"}"):
            assert text not in found
            continue
        expected = witness.text_ok(text)
        if expected:
            value = strict_json(text)
            bare = re.sub(rb'"[^"]*"', b"s", text)
            if options.get("whitespace") == "flexible":
                most = options["max_whitespace"]
                expected = most is None or max(map(len, re.findall(rb"[ \n\r\t]*", bare))) <= most
            else:
                separators = (",", ":") if not options else None
                expected = text == json.dumps(value, indent=options.get("indent"), separators=separators).encode()
        assert (text in found) == expected, text


def test_oracle_on_orders() -> None:
    schema = {"properties": {"a": {}, "b": {}}, "required": ["c", "b"], "type": "object",
              "allOf": [{"properties": {"d": {}, "a": {}}}]}
    oracle = Oracle(schema, tokens=bytes_of(bytes(range(256))), property_order="schema")
    place = {"a": 0, "b": 1, "d": 2, "c": 3}
    for names in (n for k in range(6) for n in itertools.permutations("abcdxy", k)):
        text = json.dumps(dict.fromkeys(names, 1), separators=(",", ":")).encode()
        places = [place.get(n, 4) for n in names]
        expected = {"b", "c"} <= set(names) and places == sorted(places)
        assert oracle.is_complete(text) == expected, text


JOINT = [  # schema, complete, not complete: several alternatives at one place
    ({"anyOf": [{"const": "ab"}, {"type": "string", "maxLength": 1}]},
     [rb'"ab"', rb'"a"', rb'"\u0061"', rb'""'], [rb'"a\u0062"', rb'"\u0061b"']),
    ({"type": "object", "anyOf": [{"properties": {"k": {"const": "a"}, "t": {"const": 1}}},
                                  {"properties": {"k": {"type": "string"}, "t": {"const": 2}}}]},
     [rb'{"k":"\u0061","t":1}', rb'{"k":"\u0061","t":2}', rb'{"t":2,"k":"\u0061"}', rb'{"t":1,"k":"a"}'],
     [rb'{"t":1,"k":"\u0061"}', rb'{"k":"\u0062","t":1}']),
    ({"type": "object", "anyOf": [{"properties": {"a": {"const": 1}, "t": {"const": 1}}}, {"required": ["b"]}]},
     [rb'{"a":1}', rb'{"a":2,"b":0}', rb'{"b":1,"c\u0061":2}', rb'{"b":1,"\u0061a":2}'],
     [rb'{"\u0061":1}', rb'{"\u0061":2,"b":0}', rb'{"\u0062":1}', rb'{"t":2,"b":1,"\u0061":2}']),
    ({"type": "object", "anyOf": [
        {"properties": {"t": {"const": 1}, "o": {"type": "object", "properties": {"a": {}}}}},
        {"properties": {"t": {"const": 2}, "o": {"type": ["object", "string"], "properties": {"x": False}}}}]},
     [rb'{"t":2,"o":{"\u0062":1}}', rb'{"t":2,"o":{"a":1}}'],
     [rb'{"t":2,"o":{"\u0061":1}}', rb'{"t":2,"o":{"\u0078":1}}', rb'{"t":1,"o":{"\u0078":1}}']),
    ({"type": "object", "anyOf": [{"properties": {"a": {}, "z": False}, "required": ["z"]}, {}]},
     [rb'{"\u0061":1}', rb'{"z":1}', rb'{"\u007a":1}'], []),
    ({"anyOf": [{"const": {"k": 1, "s": "x"}}, {"enum": [{"k": 2, "s": "y"}, {}]}]},
     [rb'{"k":1,"s":"x"}', rb'{"s":"y","k":2}', b"{}"], [rb'{"k":1,"s":"y"}', rb'{"k":1}', rb'{"s":"\u0078","k":1}']),
    ({"type": "object", "anyOf": [{"properties": {"n": {"type": "integer"}}, "required": ["i"]},
                                  {"properties": {"n": {"type": "number"}}, "required": ["x"]}]},
     [b'{"n":1.0,"i":0}', b'{"n":1.5,"x":0}', b'{"i":0,"n":1.0}', b'{"n":1.5e1,"x":0}'],
     [b'{"n":1.5,"i":0}', b'{"n":1e1,"x":0}']),
    ({"anyOf": [{"type": "integer"}, {"enum": [1.5]}]},
     [b"1", b"1.5", b"1.50", b"1.0", b"2.0", b"-0"], [b"1e0", b"01"]),
    ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, [b"1", b"1e3", b"2.0", b"1.0e1"], []),
    ({"anyOf": [{"const": [1, "a"]}, {"prefixItems": [{"type": "number"}, {"const": "b"}], "type": "array"}]},
     [b'[1,"a"]', b'[1,"b"]', b'[1.0,"a"]', b'[2e1,"b"]'], [b'[1e0,"b"]', b'[2,"a"]']),
    ({"anyOf": [{"const": {"k": 1.5}}, {"const": {"k": 2}}]}, [b'{"k":1.50}', b'{"k":2}'], [b'{"k":2.0}']),
    ({"properties": {"k": {"enum": [1.5, 2]}}}, [b'{"k":1.50}', b'{"k":2}', b'{"k":2.0}'], []),
]


@pytest.mark.parametrize("schema,complete,incomplete", JOINT)
def test_oracle_on_joint_alternatives(schema: Any, complete: list[bytes], incomplete: list[bytes]) -> None:
    oracle = Oracle(schema, tokens=bytes_of(bytes(range(256))))
    assert [t for t in complete if not oracle.is_complete(t)] == []
    assert [t for t in incomplete if oracle.is_complete(t)] == []


def test_oracle_on_missing_bytes() -> None:
    everything = set(range(256))

    def live(schema: Any, missing: bytes, *texts: bytes) -> list[bool]:
        oracle = Oracle(schema, tokens=bytes_of(bytes(sorted(everything - set(missing)))))
        return [oracle.is_live(t) for t in texts]

    assert live({"type": "string"}, b"\xa9", b'"\xc3', b'"\xf0\x9f') == [True, True]
    assert live({"enum": ["é", "e"]}, b"\xa9", b'"', b'"\xc3', b'"e') == [True, False, True]
    assert live({"type": "string"}, bytes(range(0x80, 0xC0)), b'"\xc3', b'"\\u00') == [False, True]
    assert live({"type": "string"}, b"\\", b'"\\ud83d', b'"\\ud83d\\') == [False, True]
    assert live({"properties": {"a": {}}, "required": ["a"]}, b"a", b"{", b"[", b'{"b":1,') == [False, True, False]
    # an escape that another branch allows, though that branch itself cannot be completed any more
    schema = {"type": "object", "anyOf": [
        {"properties": {"k": {"const": "é"}}, "required": ["k"], "additionalProperties": False},
        {"properties": {"k": {"type": "string"}}, "required": ["k", "☃"]}]}
    assert live(schema, b"\xc3\xe2", b'{"k":"', b'{"k":"\\u00e', b'{"k":"\\u00e8') == [True, True, False]
    with pytest.raises(Unsatisfiable):
        Oracle({"const": 12}, tokens=bytes_of(b"1{}[]"))
    # a token may carry bytes that are no tokens by themselves
    oracle = Oracle({"type": "string"}, tokens=[b'"', b"\xc3\xa9", b"\xc3", b'\xa9"'])
    assert oracle.mask(b'"') == {0, 1} and oracle.mask(b'"\xc3') == {3}


# ---- the engines against the oracle ----------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_engines_in_a_world_of_bytes(seed: int, tmp_path: Path) -> None:
    """Every prefix of up to n bytes that the oracle lets live."""
    schema, _, rng = make(2000 + seed)
    explore(schema, rng, *WORLDS[seed % len(WORLDS)], 1200, tmp_path / "x.tokfsm")


@pytest.mark.parametrize("seed", SEEDS)
def test_engines_in_a_world_of_all_keywords(seed: int, tmp_path: Path) -> None:
    """The same; what the engine refuses by name is passed over."""
    import tokfsm

    schema, _, rng = make(7000 + seed, ALL, 2)
    alphabet, n = WORLDS[seed % len(WORLDS)]
    try:
        tokfsm.compile(schema, tokfsm.Vocabulary.from_bytes(bytes_of(alphabet)))
    except (tokfsm.errors.UnsupportedSchemaError, tokfsm.errors.LimitError) as error:
        pytest.skip(f"refused: {error}")
    except tokfsm.errors.UnsatisfiableSchemaError:
        pass
    try:
        explore(schema, rng, alphabet, n, 200, tmp_path / "x.tokfsm")
    except Undecided as error:
        pytest.skip(f"undecided: {error}")


def explore(schema: Any, rng: random.Random, alphabet: bytes, n: int, most: int, path: Path) -> None:
    import tokfsm

    tokens = bytes_of(alphabet)
    oracle = oracle_or_none(schema, tokens=tokens)
    if oracle is None:
        with pytest.raises(tokfsm.errors.UnsatisfiableSchemaError):
            tokfsm.compile(schema, tokfsm.Vocabulary.from_bytes(tokens))
        return
    work = [(b"", oracle.start, {name: Probe(a) for name, a in
                                 engines(schema, tokens, [], {}, path).items()})]
    n_prefixes = 0
    while work and n_prefixes < most:
        text, state, probes = work.pop(rng.randrange(len(work)))
        n_prefixes += 1
        expected, may = oracle.bounds_at(state)
        for name, probe in probes.items():
            assert expected <= probe.mask() <= may, (name, text)
            assert probe.matcher.is_complete == oracle.complete(state), (name, text)
        for t in expected if len(text) < n else ():
            forks = {name: Probe(p.automaton, p.matcher.fork()) for name, p in probes.items()}
            assert all(p.matcher.accept_token(t) for p in forks.values())
            after = oracle.step(state, alphabet[t])
            assert after is not None
            work.append((text + alphabet[t:t + 1], after, forks))


@pytest.mark.parametrize("seed", SEEDS)
def test_engines_in_a_world_of_lexemes(seed: int) -> None:
    """Whole texts, judged by the validator alone."""
    import tokfsm

    schema, witness, rng = make(3000 + seed)
    vocab = tokfsm.Vocabulary.from_bytes(bytes_of(b'{}[]":,ab1-truefalsn0'))
    texts = rng.sample(lexeme_world(), 1500)
    try:
        probe = Probe(tokfsm.compile(schema, vocab))
    except tokfsm.errors.UnsatisfiableSchemaError:
        assert not any(witness.value_ok(strict_json(t)) for t in texts)
        return
    for text in texts:
        assert probe.feed(text) == witness.value_ok(strict_json(text)), text


@pytest.mark.parametrize("seed", SEEDS)
def test_engines_in_a_world_of_lexemes_of_all_keywords(seed: int) -> None:
    """Whole texts, judged by the validator alone."""
    import tokfsm

    schema, witness, rng = make(8000 + seed, ALL, 2)
    vocab = tokfsm.Vocabulary.from_bytes(bytes_of(bytes(range(256))))
    texts = rng.sample(lexeme_world(), 1500)
    try:
        probe = Probe(tokfsm.compile(schema, vocab))
    except tokfsm.errors.UnsatisfiableSchemaError:
        assert not any(witness.value_ok(strict_json(t)) for t in texts)
        return
    except (tokfsm.errors.UnsupportedSchemaError, tokfsm.errors.LimitError) as error:
        pytest.skip(f"refused: {error}")
    for text in texts:
        assert probe.feed(text) == witness.value_ok(strict_json(text)), text
