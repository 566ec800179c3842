"""Every bit of a mask against `accept_token`, with the vocabularies and schemas of mask_bits.py.

`TOKFSM_BITS_SEEDS=5000` runs that many cases, `TOKFSM_BITS_FIRST` moves them; a seed is the whole
case. What was once found wrong has a case of its own below.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

import tokfsm
from mask_bits import choose, differing, draw_options, draw_schema, nasty_tokens
from schemas import Probe

N_SEEDS = int(os.environ.get("TOKFSM_BITS_SEEDS", "180"))
FIRST = int(os.environ.get("TOKFSM_BITS_FIRST", "0"))
SINGLES = [bytes([b]) for b in range(256)]


def compile_drawn(seed: int) -> tuple[random.Random, Any, dict[str, Any], list[bytes], tokfsm.Automaton] | None:
    rng = random.Random(seed)
    schema, options = draw_schema(rng), draw_options(rng)
    tokens = nasty_tokens(rng, schema, rng.choice((60, 200)), rng.random() < 0.05)
    vocab = tokfsm.Vocabulary.from_bytes(list(tokens))
    try:
        return rng, schema, options, tokens, tokfsm.compile(schema, vocab, **options)
    except (tokfsm.errors.UnsatisfiableSchemaError, tokfsm.errors.UnsupportedSchemaError, tokfsm.errors.LimitError):
        return None


def run_case(seed: int, tmp_path: Path) -> int:
    """How many states were compared; over a limit the rest of a case is left out."""
    drawn = compile_drawn(seed)
    if drawn is None:
        return 0
    rng, schema, options, tokens, automaton = drawn
    masks: dict[tuple[int, ...], set[int]] = {}
    try:
        for _ in range(2):
            probe, ids = Probe(automaton), []
            for step in range(rng.choice((6, 12, 20))):
                mask, more, less = differing(probe, tokens)
                assert not more and not less, (
                    f"seed {seed}, after {b''.join(tokens[t] for t in ids)!r}: in the mask but refused {more}, "
                    f"accepted but not in the mask {less}\nschema {schema}\noptions {options}")
                masks[tuple(ids)] = mask
                if not mask:
                    break
                ids.append(choose(rng, sorted(mask), tokens, step))
                assert probe.matcher.accept_token(ids[-1])
        if seed % 3 == 0:
            automaton.save(tmp_path / "x.tokfsm")
            reopened = tokfsm.load(tmp_path / "x.tokfsm")
            for path, mask in rng.sample(sorted(masks.items()), min(6, len(masks))):
                probe = Probe(reopened)
                assert all(probe.matcher.accept_token(t) for t in path)
                assert probe.mask() == mask, (seed, path)
    except tokfsm.errors.LimitError:
        pass
    return len(masks)


@pytest.mark.parametrize("batch", range(6))
def test_random_masks(batch: int, tmp_path: Path) -> None:
    """Also that an automaton's past, or a file, makes no difference to its masks."""
    assert sum(run_case(seed, tmp_path) for seed in range(FIRST + batch, FIRST + N_SEEDS, 6)) > 0


# ---- what was found -------------------------------------------------------------------


def check(schema: Any, tokens: list[bytes], *texts: bytes, **options: Any) -> None:
    """One automaton for all the texts, in their order."""
    every = [*SINGLES, *tokens]
    automaton = tokfsm.compile(schema, tokfsm.Vocabulary.from_bytes(list(every)), **options)
    for text in texts:
        probe = Probe(automaton)
        assert all(probe.matcher.accept_token(b) for b in text), text
        _, more, less = differing(probe, every)
        assert not more and not less, (text, more, less)


NAMES = [b'a":1,"a":', b'a":1,"":', b'a":1,"b":', b'a":1,"a"', b'a":1,""', b'a" : [1, 2] , "a" :', b'{"a":1,"a":',
         b'{"a":1,"a"', b'{"a":1,""', b'{"a":1,"b"', b',"a":1,"a"', b',"a":{},"a"', b'"a":1,"a"']


@pytest.mark.parametrize("token", NAMES)
@pytest.mark.parametrize("schema", [{"type": "object"}, True,
                                    {"type": "object", "properties": {"a": {"type": "integer"}}},
                                    {"type": "object", "propertyNames": {"maxLength": 3}}])
def test_two_names_in_a_token(token: bytes, schema: Any) -> None:
    """Of a free name one was closed in place of all: the second name was held against that one."""
    check(schema, [token], b"", b"{", b'{"', b'{"z":1', b'{"z":1,', b'{"z":1,"')


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(("token", "value", "start"), [
    (b'rue,"abc":', True, b"t"), (b'e,"abc":', True, b"fals"),
    (b'l,"abc":', True, b"nul"), (b'\xa9","abc":', True, b'"\xc3'),
    (b'\\","abc":', True, b'"\\'), (b'\\ude00","abc":', True, b'"\\ud83d'),
    (b'5,"abc":', True, b"1."), (b'x","abc":', True, b'"x')])
def test_an_emitted_name_after_what_is_under_way(token: bytes, value: Any, start: bytes, order: int) -> None:
    """Kept masks: of tokens that begin inside a lexeme it was not asked whether they spell a name."""
    texts = [b'{"x":' + start, b'{"abc":true,"x":' + start]
    check({"type": "object", "additionalProperties": value}, [token], *texts[::order])


@pytest.mark.parametrize("n", [7, 8, 15, 16, 17, 18, 20, 33])
def test_long_tokens_that_leave_the_safe_characters(n: int) -> None:
    """What leaves them was known for 16 characters, and no token looked at for more."""
    tokens = [b"a" * n + b"-", b"a" * n + b"-b", b"a" * (n - 1) + b"-", b"a" * (n - 1) + b"-b", b"a" * (n + 1) + b"-"]
    pattern = f"^[a-z]{{{n}}}-b?$"
    check({"type": "string", "pattern": pattern}, tokens, b"", b'"', b'"a', b'"' + b"a" * 5)
    check({"type": "object", "additionalProperties": False, "patternProperties": {pattern: True}}, tokens,
          b"{", b'{"', b'{"a')


def test_long_text_before_a_quote() -> None:
    """Beside literals and in names the text is kept; more than four bytes of it ran past their place."""
    tokens = [b"abcdefgh", b'abcdefgh"', b'abcdefghijkl","', b'abcdefgh\\n', b'abcdefgh","abcdefgh"', b'h"]']
    for items in ({"type": "string", "pattern": "^[a-z\\n]+$"},
                  {"anyOf": [{"type": "string", "pattern": "^[a-z\\n]+$"}, {"enum": ["abcdefgh", "abc-"]}]}):
        for unique in (True, False):
            check({"type": "array", "uniqueItems": unique, "items": items}, tokens,
                  b'["', b'["a', b'["abcdefgh","', b'["abcdefgh","abcdefg')
    name = b"abcdefghijklmnopqrstuvwxyzabcdefghijkl"
    check({"type": "object", "patternProperties": {"^[a-z]+$": True}, "additionalProperties": False},
          [name + b'\\u0067":', name + b'\\u0068":', name + b'\\u0067\\u0067":'],
          b'{"', b'{"' + name + b'g":1,"', b'{"' + name + b'h":1,"')


def test_safe_characters_with_more_states_than_are_looked_at() -> None:
    """Lengths hold for the states that were looked at, not for those beyond."""
    letters = "bcdefghijklmnopqrstuvwxyzBCDEFGHIJKLMNOPQRSTUVWXYZ"
    words = "|".join(a + b + "." for a in letters for b in "012")
    tokens = [bytes([a]) + b"1" + tail for a in b"bqyZ" for tail in (b"", b"0", b"12", b"123", b'"', b'0"')]
    for most in (3, 4, 8, 21):
        pattern = f"^(?:a|[^a](?:{words}).*|[^a].{{0,2}}|[^a]{{2}}.{{18}})$"
        check({"type": "string", "pattern": pattern, "maxLength": most}, tokens, b"", b'"', b'"b')


def test_forbidden_string_of_the_greatest_length() -> None:
    """The literal itself is refused, and there is no room to become another string."""
    check({"type": "string", "maxLength": 3, "not": {"enum": ["b", "a.b"]}}, [b"a.b", b"a.", b"b"], b'"', b'"a')


def test_an_empty_name_that_is_there() -> None:
    """On the way along a declared name, another one was taken for the name that is empty."""
    schema = {"type": "object", "properties": {"abc": True, "abd": True}}
    check(schema, [b'":1', b'c":', b'x":1,"', b"ab"], b'{"":1,"ab', b'{"":1,"abc', b'{"x":1,"":2,"a', b'{"":1,"')


@pytest.mark.parametrize("order", [1, -1])
def test_masks_kept_for_other_names(order: int) -> None:
    """A mask is kept for all objects in which the same may close and the same is left; a token can
    add a name, a value and the bracket, or begin the next name."""
    tokens = [b'":1}', b'":1},', b'":1,', b'":1,"', b'":1,"b', b'":1,"b":1}', b'b":1}', b'bb":1,"a', b',"a', b',"\\u0061', b'"a', b'}],"']
    texts = [b'{"a":1,"', b'{"a":1,"b', b'{"b":1,"a', b'{"c":1,"b', b'{"c":1,"a', b'{"a":1,"c":1,"b', b'{"b":1,"c":1,"a', b'{"a":1,"b":1,"c', b'{"a":1,"b":1,"bb', b'{"b', b'{"bb":1,"b', b'{"a":', b'{"b":1,"a":', b'{"c":1,"a":1', b'{"c":1,"bb":1,"a":1', b'{"a":1,"b":1,"c":1,"bb":1', b'{"a":1,"b":1,"c":1,"bb"']
    names = {"a": {"type": "integer"}, "b": {"type": "integer"}, "bb": {"type": "integer"}, "c": {"type": "integer"}}
    for more in (False, {"type": "integer"}):
        for required in ([], ["a"], ["a", "b"], ["a", "b", "bb"]):
            plain = {"type": "object", "properties": names, "required": required, "additionalProperties": more}
            check(plain, tokens, *texts[::order])
            either = {"anyOf": [plain, {"type": "object", "properties": {"a": {"const": 1}, "b": True}, "required": ["b"],
                                        "additionalProperties": False}]}
            check(either, tokens, *texts[::order])
            check({"type": "array", "items": plain}, tokens, *[b"[" + text for text in texts[::order]])


WORDS = "^[a-z]+( [a-z]+)*$"
LENGTHS = [{"pattern": WORDS, "maxLength": 60}, {"pattern": WORDS, "minLength": 9, "maxLength": 70},
           {"pattern": "^(ab|c{20}d|\\\\n)*$", "maxLength": 64}, {"pattern": "^(x|y.{25}z)*$", "maxLength": 64},
           {"pattern": "a$", "maxLength": 50, "minLength": 45},
           {"pattern": "^[a-z ]*$", "maxLength": 55, "enum": ["a a", "b" * 60, "a" * 55]},
           {"anyOf": [{"pattern": "^[a-z]*$", "maxLength": 40}, {"pattern": "^[a-y ]*$", "maxLength": 60}]}]


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("schema", LENGTHS)
def test_lengths_that_make_no_difference(schema: Any, order: int, long: bool) -> None:
    """Far from a limit one mask serves for all lengths: at each length, met in either order."""
    tokens = [b"a" * n for n in (2, 3, 16, 17, 30, 48)]
    tokens += [b" " * 20, b"a b", b" a", b'a"', b'"a', b"\\n\\n", b"\\n" * 20, b"c" * 20, b"y" + b"x" * 20,
               "éé".encode(), b"ab" * 12, b'a","', b" bc" * 12]
    every = [*SINGLES, *(t for t in tokens if long or len(t) < 16)]
    automaton = tokfsm.compile({"type": "string", **schema}, tokfsm.Vocabulary.from_bytes(list(every)))
    texts: list[bytes] = []
    for unit in (b"a", b"ab", b"a ", b"abc d", b"x", b"\\n"):
        for n in range(1, 70):
            text = b'"' + (unit * n)[:n]
            probe = Probe(automaton)
            if all(probe.matcher.accept_token(b) for b in text):
                texts.append(text)
    for text in texts[::order]:
        probe = Probe(automaton)
        assert all(probe.matcher.accept_token(b) for b in text)
        _, more, less = differing(probe, every)
        assert not more and not less, (text, more, less)


MEMBERS = [{"minProperties": 20, "maxProperties": 50}, {"maxProperties": 22, "required": ["q", "r"]},
           {"anyOf": [{"maxProperties": 10}, {"minProperties": 21, "properties": {"q": {"type": "null"}}}]}]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("schema", MEMBERS)
def test_numbers_of_members_that_make_no_difference(schema: Any, order: int) -> None:
    tokens = [b'":1', b'":1}', b'":1,"', b',"', b'{"', b'1}', b'":1, "', b'"}', b',"x":1,"y":1']
    every = [*SINGLES, *tokens]
    automaton = tokfsm.compile({"type": "object", **schema}, tokfsm.Vocabulary.from_bytes(list(every)))
    names = ["q", *(f"n{i}" for i in range(26))]
    texts = [b"{" + b",".join(b'"%s":null' % name.encode() for name in names[:n]) + end
             for n in range(len(names)) for end in ((b"", b',"', b",") if n > 0 else (b"",))]
    for text in texts[::order]:
        probe = Probe(automaton)
        if not all(probe.matcher.accept_token(b) for b in text):
            continue
        _, more, less = differing(probe, every)
        assert not more and not less, (text, more, less)


@pytest.mark.parametrize(("names", "text"), [
    ({"patternProperties": {"^.{3}$": {}}, "additionalProperties": False}, b'{"abc":1,"abc'),
    ({"patternProperties": {"^[0-9a-f]{12}$": {}}, "additionalProperties": False}, b'{"0123456789ab":1,"0123456789ab'),
    ({"propertyNames": {"maxLength": 3}, "additionalProperties": {"type": "integer"}}, b'{"abc":1,"abc'),
    ({"patternProperties": {"^[a-z]{1,40}$": {}}, "additionalProperties": False, "minProperties": 2}, b'{"' + b"a" * 40 + b'":1,"' + b"a" * 40),
])
def test_the_last_character_of_a_name_that_is_there(names: Any, text: bytes) -> None:
    """There are many names, but behind the last character there is no other one left."""
    probe = Probe(tokfsm.compile({"type": "object", **names}, tokfsm.Vocabulary.from_bytes(list(SINGLES))))
    for byte in text[:-1]:
        assert probe.matcher.accept_token(byte)
        _, more, less = differing(probe, SINGLES)
        assert not more and not less
        assert probe.matcher.min_tokens < 100
    assert not probe.matcher.accept_token(text[-1])


NUMBER = {"type": "integer", "minimum": 0, "maximum": 9}


@pytest.mark.parametrize(("item", "text"), [
    ({"patternProperties": {"^a$": False}, "additionalProperties": NUMBER, "minProperties": 3}, b'[{"x":1,"y":5,"z":1},{"x":'),
    ({"patternProperties": {"^a$": False}, "additionalProperties": NUMBER, "minProperties": 3, "required": ["r"]},
     b'[{"r":1,"y":5,"z":1},{"x":'),
    ({"properties": {"k": {"enum": [1, 2]}}, "required": ["k"], "additionalProperties": NUMBER, "minProperties": 3},
     b'[{"k":1,"y":5,"z":1},{"x":'),
    ({"patternProperties": {"^[a-z]+$": NUMBER, "^[0-9]$": NUMBER}, "additionalProperties": False, "minProperties": 12},
     b'[{"x":'),
    ({"additionalProperties": {"type": "object", "patternProperties": {"^a$": False}, "additionalProperties": NUMBER,
                               "minProperties": 2}, "minProperties": 2}, b'[{"x":{"p":1,"q":2},"y":{"p":1,"q":2}},{"x":{"p":1,"q":'),
])
def test_a_search_that_begins_members(item: Any, text: bytes) -> None:
    """Of two classes of other names one could not be begun twice, nor a required name behind them: the
    search for an item that differs went on to longer and longer names."""
    schema = {"type": "array", "uniqueItems": True, "items": {"type": "object", **item}}
    automaton = tokfsm.compile(schema, tokfsm.Vocabulary.from_bytes(list(SINGLES)), limits=tokfsm.Limits(work_units=1_000_000))
    probe = Probe(automaton)
    for byte in text:
        assert probe.matcher.accept_token(byte)
    mask, more, less = differing(probe, SINGLES)
    assert mask and not more and not less


def test_emitted_names_with_a_common_beginning() -> None:
    """Of names that are there each is closed by no token more; what they share is looked at once."""
    names = [b"ab", b"abc", b"abcd", b"ab d", b"abce", b"b", b"", b"a\xc3\xa9x", b"a\xc3\xa9y", b"ab/"]
    tokens = [b'b":', b'bc"', b'bc":1', b'bcd"', b'abc":', b'a":', b'":', b'":1', b'":1,"', b"bce", b'bce":', b'd":', b"b d",
              b'\xc3\xa9x"', b'\xa9y":', b"\\u0062", b"\\u", b"\\/", b'\\/"', b'b\\u0063"', b'"', b'""', b'"b":', b'"ab', b'"abcd":']
    members = b",".join(b'"' + name + b'":0' for name in names)
    begun = [b"", b"a", b"ab", b"abc", b"abcd", b"abc\\u006", b"abc\\u0064", b"a\xc3", b"a\xc3\xa9", b"ab\\", b"x", b"b"]
    for schema in ({"type": "object"}, {"type": "object", "properties": {"abx": {}, "q": {}}},
                   {"type": "object", "patternProperties": {"^a": {"type": "integer"}}}):
        check(schema, tokens, *(b"{" + members + b',"' + text for text in begun))
