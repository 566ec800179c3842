"""Children that are counted: contains and its counts, and what `not` makes of items and additionalProperties.

Random schemas over small arrays and objects against `jsonschema`, in both directions; walks under the
mask and under the smallest budget; artifacts; other layouts, orders and alphabets. Seeded:
`TOKFSM_PROPERTY_SEEDS` sets how many schemas each test draws.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import sys
from pathlib import Path
from typing import Any, Iterable, Iterator

import numpy as np
import pytest

import tokfsm

sys.path.insert(0, str(Path(__file__).parents[1]))
from schemas import Witness  # noqa: E402

SEEDS = int(os.environ.get("TOKFSM_PROPERTY_SEEDS", "150"))
BYTES = tokfsm.Vocabulary.from_bytes([bytes([b]) for b in range(256)])
LEAVES: tuple[Any, ...] = (
    {"type": "integer"}, {"type": "integer", "minimum": 1, "maximum": 2}, {"const": 1}, {"const": "x"},
    {"enum": [1, "x"]}, {"type": "string"}, {"type": "string", "maxLength": 1}, {"type": ["string", "null"]},
    {"type": "boolean"}, {"minimum": 2},
    {"multipleOf": 2}, {"not": {"const": 1}}, {"type": "array"}, {"type": "object"}, {"const": [1]}, True, False)
VALUES: tuple[Any, ...] = (1, 2, 3, "x", "", "xy", None, True, [], [1], {}, {"a": 1})
NAMES = ("a", "b")


def leaf(rng: random.Random, depth: int) -> Any:
    return schema(rng, depth - 1) if depth > 0 and rng.random() < 0.25 else rng.choice(LEAVES)


def array(rng: random.Random, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "array"} if rng.random() < 0.85 else {}
    if rng.random() < 0.35:
        found["prefixItems"] = [leaf(rng, depth) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.5:
        found["items"] = leaf(rng, depth)
    if rng.random() < 0.6:
        found["contains"] = leaf(rng, depth)
        if rng.random() < 0.4:
            found["minContains"] = rng.randint(0, 3)
        if rng.random() < 0.4:
            found["maxContains"] = rng.randint(0, 3)
    if rng.random() < 0.3:
        found["minItems"] = rng.randint(1, 4)
    if rng.random() < 0.4:
        found["maxItems"] = rng.randint(0, 4)
    return found


def members(rng: random.Random, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object"} if rng.random() < 0.85 else {}
    if rng.random() < 0.6:
        found["properties"] = {n: leaf(rng, depth) for n in rng.sample((*NAMES, "c"), rng.randint(1, 2))}
    if rng.random() < 0.7:
        found["additionalProperties"] = leaf(rng, depth)
    if rng.random() < 0.25:
        found["required"] = [rng.choice(NAMES)]
    if rng.random() < 0.2:
        found["minProperties"] = rng.randint(1, 3)
    if rng.random() < 0.3:
        found["maxProperties"] = rng.randint(0, 3)
    return found


def schema(rng: random.Random, depth: int) -> Any:
    kind = array if rng.random() < 0.6 else members
    p = rng.random()
    if p < 0.35:
        return kind(rng, depth)
    if p < 0.6:
        return {"type": "array" if kind is array else "object", "not": kind(rng, depth)}
    if p < 0.7:
        return {"allOf": [kind(rng, depth), {"not": kind(rng, depth)}, kind(rng, depth)]}
    if p < 0.76:
        return {"if": kind(rng, depth), "then": kind(rng, depth), "else": kind(rng, depth)}
    if p < 0.82:
        return {"not": {"enum": [[1], {"a": 1}, 1]}, "allOf": [{"not": kind(rng, depth)}]}
    return {rng.choice(("oneOf", "oneOf", "anyOf", "allOf")): [kind(rng, depth) for _ in range(rng.randint(2, 3))]}


def value(rng: random.Random, drawn: Any) -> Any:
    if rng.random() < 0.1:
        return rng.choice(VALUES)
    if '"array"' in json.dumps(drawn) and ('"object"' not in json.dumps(drawn) or rng.random() < 0.5):
        return [rng.choice(VALUES) for _ in range(rng.randint(0, 5))]
    return {n: rng.choice(VALUES) for n in rng.sample((*NAMES, "c", "d", "e"), rng.randint(0, 4))}


def allowed(matcher: Any, bitmask: Any, budget: int | None = None) -> Any:
    matcher.fill_next_token_bitmask(bitmask, 0, budget=budget)
    return np.flatnonzero(np.unpackbits(np.asarray(bitmask).view(np.uint8), bitorder="little"))


def walk(rng: random.Random, automaton: tokfsm.Automaton, case: object, tokens: Any = None) -> bytes | None:
    """A text under the mask, at its end under the smallest budget. None: a number or string grew too long."""
    matcher, text = automaton.matcher(), b""
    bitmask = tokfsm.allocate_token_bitmask(1, automaton.vocab_size)
    free = rng.randint(0, 25)
    for step in range(250):
        need = matcher.min_tokens
        assert (need == 0) == matcher.is_complete
        tight = step > free
        ids = allowed(matcher, bitmask, need if tight else None)
        if matcher.is_complete and (tight or not len(ids)):
            return text
        assert len(ids), (case, text, need)
        likely = [t for t in ids if t > 255 or chr(t) in '{}[]",:abcdx01234truefalsn'] or ids
        token = int(rng.choice(likely))
        assert matcher.accept_token(token)
        assert not tight or matcher.min_tokens <= need - 1, (case, text, token)
        text += bytes([token]) if tokens is None else tokens[token]
    return None


def compiled(drawn: Any, vocab: tokfsm.Vocabulary = BYTES, **options: Any) -> tokfsm.Automaton | None:
    try:
        return tokfsm.compile(drawn, vocab, **options)
    except (tokfsm.UnsatisfiableSchemaError, tokfsm.LimitError):
        return None


@pytest.mark.parametrize("part", range(4))
def test_both_directions(part: int) -> None:
    n, n_limits = 0, 0
    for seed in range(part * SEEDS, (part + 1) * SEEDS):
        rng = random.Random(seed)
        drawn = schema(rng, 1)
        witness = Witness(drawn)
        values = [value(rng, drawn) for _ in range(80)]
        try:
            automaton = tokfsm.compile(drawn, BYTES, numbers="any")
        except tokfsm.UnsatisfiableSchemaError:
            assert not any(map(witness.value_ok, values)), (seed, drawn)
            continue
        except tokfsm.LimitError:
            n_limits += 1
            continue
        n += 1
        matcher = automaton.matcher()
        for one in values:
            text = json.dumps(one, separators=(",", ":")).encode()
            assert matcher.check_bytes(text)[1] == witness.value_ok(one), (seed, drawn, one)
        for _ in range(3):
            found = walk(rng, automaton, (seed, drawn))
            if found is not None and b"e" not in found.replace(b"true", b"").replace(b"false", b""):
                assert witness.text_ok(found), (seed, drawn, found)
    assert n > SEEDS / 2 and n_limits < SEEDS / 20


def small_arrays(items: tuple[Any, ...], most: int) -> Iterator[list[Any]]:
    for n in range(most + 1):
        yield from map(list, itertools.product(items, repeat=n))


def test_small_worlds_whole() -> None:
    """Every array of up to four of three items, and every prefix of one: live if and only if some array goes on so."""
    for seed in range(SEEDS):
        rng = random.Random(seed)
        drawn: dict[str, Any] = {"type": "array", "items": {"enum": [1, 2, "x"]}, "maxItems": rng.randint(2, 4)}
        some = ({"const": 1}, {"type": "integer"}, {"enum": [2, "x"]}, {"type": "string"}, True, False)
        counts: list[dict[str, Any]] = []
        for _ in range(rng.randint(1, 3)):
            counts.append({"contains": rng.choice(some)})
            for keyword in ("minContains", "maxContains"):
                if rng.random() < 0.6:
                    counts[-1][keyword] = rng.randint(0, 3)
        drawn["allOf"] = [c if rng.random() < 0.7 else {"not": c} for c in counts]
        if rng.random() < 0.3:
            drawn["prefixItems"] = [rng.choice(some) for _ in range(rng.randint(1, 2))]
            every = drawn.pop("items")
            drawn["allOf"].append({"items": every, "prefixItems": [every] * len(drawn["prefixItems"])})
        if rng.random() < 0.3:
            drawn["minItems"] = rng.randint(1, 3)
        if rng.random() < 0.3:
            drawn["allOf"].append({"not": {"items": rng.choice(some), "prefixItems": [True] * rng.randint(0, 1)}})
        witness = Witness(drawn)
        values = filter(witness.value_ok, small_arrays((1, 2, "x"), 4))
        texts = {json.dumps(one, separators=(",", ":")).encode() for one in values}
        live = {text[:n] for text in texts for n in range(len(text) + 1)}
        automaton = compiled(drawn)
        assert (automaton is None) == (not texts), (seed, drawn)
        if automaton is None:
            continue
        bitmask = tokfsm.allocate_token_bitmask(1, automaton.vocab_size)
        for prefix in sorted(live):
            matcher = automaton.matcher()
            assert all(matcher.accept_token(b) for b in prefix), (seed, drawn, prefix)
            found = {prefix + bytes([t]) for t in allowed(matcher, bitmask)}
            # An escape may also spell an x; with a point an integer stays one.
            found = {text for text in found if text[-1:] not in b"\\.Ee"}
            assert found == {t for t in live if len(t) == len(prefix) + 1 and t[:-1] == prefix}, (seed, drawn, prefix)
            assert matcher.is_complete == (prefix in texts)
            least = min(len(t) for t in texts if t.startswith(prefix)) - len(prefix)
            assert matcher.min_tokens == least, (seed, drawn, prefix)


@pytest.mark.parametrize("ordered", [False, True])
def test_small_worlds_of_objects(ordered: bool) -> None:
    """Every object over three names and three values, in every order: complete if and only if valid, live before."""
    names, values = ("a", "b", "c"), (1, 2, "x")
    some = ({"const": 1}, {"type": "integer"}, {"enum": [2, "x"]}, {"type": "string"}, False)
    for seed in range(SEEDS):
        rng = random.Random(seed)
        drawn: dict[str, Any] = {"type": "object", "properties": {n: {"enum": list(values)} for n in names},
                                 "additionalProperties": False, "allOf": []}
        for _ in range(rng.randint(1, 3)):
            inner: dict[str, Any] = {"additionalProperties": rng.choice(some)}
            if rng.random() < 0.5:
                inner["properties"] = {rng.choice(names): rng.choice((*some, True))}
            drawn["allOf"].append({"not": inner} if rng.random() < 0.85 else inner)
        if rng.random() < 0.5:
            drawn["maxProperties"] = rng.randint(1, 3)
        if rng.random() < 0.3:
            drawn["minProperties"] = rng.randint(1, 2)
        if rng.random() < 0.3:
            drawn["required"] = [rng.choice(names)]
        witness = Witness(drawn)
        texts = set()
        for n in range(4):
            orders: Iterable[tuple[str, ...]] = itertools.permutations(names, n)
            if ordered:
                orders = itertools.combinations(names, n)
            for order in orders:
                for chosen in itertools.product(values, repeat=n):
                    one = dict(zip(order, chosen))
                    if witness.value_ok(one):
                        texts.add(json.dumps(one, separators=(",", ":")).encode())
        live = {text[:n] for text in texts for n in range(len(text) + 1)}
        automaton = compiled(drawn, property_order="schema" if ordered else "any")
        assert (automaton is None) == (not texts), (seed, drawn)
        if automaton is None:
            continue
        bitmask = tokfsm.allocate_token_bitmask(1, automaton.vocab_size)
        for prefix in sorted(live):
            matcher = automaton.matcher()
            assert all(matcher.accept_token(b) for b in prefix), (seed, drawn, prefix)
            found = {prefix + bytes([t]) for t in allowed(matcher, bitmask)}
            found = {text for text in found if text[-1:] not in b"\\.Ee"}
            assert found == {t for t in live if len(t) == len(prefix) + 1 and t[:-1] == prefix}, (seed, drawn, prefix)
            assert matcher.is_complete == (prefix in texts)
            least = min(len(t) for t in texts if t.startswith(prefix)) - len(prefix)
            assert matcher.min_tokens >= least, (seed, drawn, prefix)


def test_layouts_orders_and_alphabets(tmp_path: Path) -> None:
    """Walks with other options, over vocabularies without some bytes and with longer tokens; and reopened."""
    n = 0
    for seed in range(SEEDS):
        rng = random.Random(seed)
        drawn = schema(rng, 1)
        lost = set(rng.sample(range(256), rng.randint(0, 40))) if rng.random() < 0.5 else set()
        lost -= set(b'[]{}":,') if rng.random() < 0.8 else set()
        tokens: list[bytes | None] = [None if b in lost else bytes([b]) for b in range(256)]
        tokens += [b"[1", b"1,", b",1", b'","', b'{"', b'":1', b'":', b'1}', b"]]", b"[[", b"\n", b'"x"', b", ",
                   b'"a":1,"b":', b"1,1,1,"]
        options: dict[str, Any] = rng.choice((
            {}, {"whitespace": "spaced"}, {"indent": 1}, {"whitespace": "flexible", "max_whitespace": 2},
            {"property_order": "schema"}, {"property_order": "schema", "additional_properties": "closed"},
            {"numbers": "any"}, {"escapes": "minimal"}))
        automaton = compiled(drawn, tokfsm.Vocabulary.from_bytes(tokens), **options)
        if automaton is None:
            continue
        n += 1
        witness = Witness(drawn)
        texts = [walk(rng, automaton, (seed, drawn, options), tokens) for _ in range(3)]
        for text in texts:
            if text is not None and b"e" not in text.lower().replace(b"true", b"").replace(b"false", b""):
                assert "additional_properties" in options or witness.text_ok(text), (seed, drawn, options, text)
        (tmp_path / "a.tokfsm").write_bytes(automaton.to_bytes())
        matcher, other = automaton.matcher(), tokfsm.load(tmp_path / "a.tokfsm").matcher()
        ours = tokfsm.allocate_token_bitmask(1, automaton.vocab_size)
        theirs = tokfsm.allocate_token_bitmask(1, automaton.vocab_size)
        for _ in range(30):
            ids = allowed(matcher, ours)
            other.fill_next_token_bitmask(theirs, 0)
            assert np.array_equal(np.asarray(ours), np.asarray(theirs)) and matcher.min_tokens == other.min_tokens
            if not len(ids):
                break
            if rng.random() < 0.2:
                taken = {t for t in range(len(tokens)) if matcher.fork().accept_token(t)}
                assert taken == set(map(int, ids)), (seed, drawn, options)
            likely = [t for t in ids if t > 255 or chr(t) in '{}[]",:abcdx01234truefalsn'] or ids
            token = int(rng.choice(likely))
            assert matcher.accept_token(token) and other.accept_token(token)
    assert n > SEEDS / 3


def test_limits_have_names() -> None:
    with pytest.raises(tokfsm.LimitError, match="6 conditions"):
        tokfsm.compile({"type": "array", "allOf": [{"contains": {"const": i}} for i in range(7)]}, BYTES)
    with pytest.raises(tokfsm.LimitError, match="1024 counts"):
        both = [{"contains": {"const": i}, "minContains": 40} for i in range(2)]
        tokfsm.compile({"type": "array", "allOf": both}, BYTES)


@pytest.mark.parametrize(("drawn", "least"), [
    ({"minContains": 500, "maxContains": 500}, 1001), ({"minContains": 5000}, 10001),
    ({"minContains": 3000, "maxItems": 2999}, None), ({"minContains": 3000, "maxItems": 3000}, 6001),
    ({"minContains": 2, "maxContains": 2, "minItems": 4000, "maxItems": 5000}, 8001),
    ({"minContains": 3000, "items": {"enum": [1, 22]}, "maxContains": 3001, "minItems": 3003}, 6009),
    ({"minContains": 3, "prefixItems": [{"const": 22}, {"const": 1}], "items": {"const": 22}}, None),
    ({"minContains": 2, "prefixItems": [{"const": 22}, {"const": 1}], "items": {"enum": [1, 22]}, "minItems": 4}, 10)])
def test_one_counter_needs_no_search(drawn: dict[str, object], least: int | None) -> None:
    schema = {"type": "array", "contains": {"const": 1}, **drawn}
    if least is None:
        with pytest.raises(tokfsm.UnsatisfiableSchemaError):
            tokfsm.compile(schema, BYTES)
    else:
        assert tokfsm.compile(schema, BYTES).matcher().min_tokens == least


def test_counters_of_older_drafts() -> None:
    for draft, wanted in (("4", True), ("6", False), ("7", False), ("2019-09", True), ("2020-12", True)):
        drawn = {"contains": {"const": 1}, "minContains": 0}
        automaton = tokfsm.compile(drawn, BYTES, draft=draft)
        assert automaton.matcher().check_bytes(b"[2]")[1] == wanted, draft


ITEMS: dict[bytes, int] = {b"1": 1, b"2": 1, b'"x"': 3}  # spellings and their tokens


def takes(some: Any, item: bytes) -> bool:
    return bool(Witness(some).value_ok(json.loads(item)))


def test_long_arrays_against_a_plain_search() -> None:
    """What may come, and the exact bound, after each item: all lengths and counts searched, one item at a time."""
    some = ({"const": 1}, {"type": "integer"}, {"enum": [2, "x"]}, {"type": "string"}, True)
    for seed in range(SEEDS // 2):
        rng = random.Random(seed)
        first = ({"const": "x"}, {"type": "integer"}, {"const": 2}, True)
        prefix = [rng.choice(first) for _ in range(rng.choice((0, 0, 1, 4)))]
        rest = rng.choice((True, True, {"type": "integer"}, {"enum": [1, "x"]}))
        least = rng.choice((0, 0, 3, 20, 60))
        most = rng.choice((None, least, least + 1, least + 7, least + 40))
        counters = []
        for _ in range(rng.randint(1, 3)):
            low = rng.choice((0, 1, 2, 5))
            high = rng.choice((None, None, low, low + 2, low + 9))
            counters.append((rng.choice(some), low, high))
        caps = [low if high is None else high for _, low, high in counters]
        if math.prod(cap + 1 for cap in caps) > 1024:
            continue  # over the limit
        drawn: dict[str, Any] = {"type": "array", "items": {"allOf": [rest, {"enum": [1, 2, "x"]}]}, "minItems": least}
        if prefix:
            drawn["prefixItems"] = [{"allOf": [p, {"enum": [1, 2, "x"]}]} for p in prefix]
        if most is not None:
            drawn["maxItems"] = most
        drawn["allOf"] = [{"contains": c, "minContains": low, **({} if high is None else {"maxContains": high})}
                          for c, low, high in counters]
        longest = 110 if most is None else most
        fits = [[item for item in ITEMS if takes(prefix[i] if i < len(prefix) else rest, item)] for i in range(longest)]
        signs = {item: tuple(int(takes(c, item)) for c, _, _ in counters) for item in ITEMS}

        def after(counts: tuple[int, ...], item: bytes) -> tuple[int, ...] | None:
            found = []
            for n, s, cap, (_, _, high) in zip(counts, signs[item], caps, counters):
                if n + s > cap and high is not None:
                    return None
                found.append(min(n + s, cap))
            return tuple(found)

        def enough(counts: tuple[int, ...]) -> bool:
            return all(n >= low for n, (_, low, _) in zip(counts, counters))

        # Backwards: the tokens from n items with these counts to the bracket, commas included.
        costs: list[dict[tuple[int, ...], int]] = [{} for _ in range(longest + 1)]
        for n in range(longest, -1, -1):
            for counts in itertools.product(*(range(cap + 1) for cap in caps)):
                ways = [1] if n >= least and enough(counts) else []
                for item in fits[n] if n < longest else []:
                    then = after(counts, item)
                    if then is not None and then in costs[n + 1]:
                        ways.append((n > 0) + ITEMS[item] + costs[n + 1][then])
                if ways:
                    costs[n][counts] = min(ways)
        counts = (0,) * len(counters)
        automaton = compiled(drawn)
        assert (automaton is None) == (counts not in costs[0]), (seed, drawn)
        if automaton is None:
            continue
        matcher = automaton.matcher()
        assert matcher.min_tokens == 1 + costs[0][counts], (seed, drawn)
        assert matcher.accept_token(b"["[0])
        bitmask = tokfsm.allocate_token_bitmask(1, automaton.vocab_size)
        for n in range(min(longest, 70)):
            open_now = {item for item in fits[n] if after(counts, item) in costs[n + 1]}
            ids = set(map(int, allowed(matcher, bitmask)))
            where = (seed, drawn, n, counts)
            assert matcher.min_tokens == costs[n][counts], where
            if n > 0:
                assert (b","[0] in ids) == bool(open_now), where
                assert (b"]"[0] in ids) == (n >= least and enough(counts)), where
                if not open_now:
                    break
                assert matcher.accept_token(b","[0])
                ids = set(map(int, allowed(matcher, bitmask)))
            assert {item for item in ITEMS if item[0] in ids} == open_now, where
            if not open_now:
                break
            item = rng.choice(sorted(open_now))
            assert all(matcher.accept_token(b) for b in item), where
            found = after(counts, item)
            assert found is not None
            counts = found
