"""Nasty vocabularies and schemas, and every bit of a mask against the byte steps of `accept_token`.

Masks are made by several ways that look at many tokens at once; a token is accepted by its bytes
alone. So each tells on the other, at any state, without an oracle. Everything is drawn from a
`random.Random`.
"""

from __future__ import annotations

import random
from typing import Any

from schema_keywords import ALL
from schemas import RICH, TINY, Probe, SchemaMaker

# ---- vocabularies ---------------------------------------------------------------------

PRINTABLE = [chr(c) for c in range(0x20, 0x7F)]
BITS = ['"', '","', '":"', '": "', '": ', '":', '"},{"', '"}, {"', '": [{"', '":{"', '":["', '"],"', '"]', '"}', '{"', '{ "',
        '[{"', '["', '[', '{', '}', ']', '},', '],', ',', ', ', ':', ': ', '""', '"a"', '"a","b"', '"a","a"', '"b":', '"a":"b","c":',
        '\\"', '\\\\', '\\n', '\\u', '\\u00', '\\u0061', '\\u00e9', '\\ud83d', '\\ude00', '\\/', '\\', 'x\\u00', 'a\\"', '\\"a"',
        "é", "éa", "é\"", "ü", "ß", "日本", "日", "\u2028", "\u2029", "😀", "\x7f", "a", "b", "ab", "abc", "A", "Zz", "_", "-",
        "0", "1", "12", "123", "1e", "e5", ".5", "-1", "0.", "1.0", "+1", "true", "false", "null", "rue", "nul", "l", "1,2", "1]",
        " ", "  ", "\n", "\n  ", "\n    ", "\t", "\r\n", " \n ", "/", ".", "@", "T", "Z", "2024-01-01", "10:", "127.0", "::", "%20", "#"]
LONG = ["a" * 17, "b" * 40, "abcdefghijklmnopqrstuvwxyz", "1" * 20, "9" * 33, "e" * 16 + "é", "é" * 17, " " * 33, " " * 40, " " * 64,
        "\n" + " " * 32, " " * 32, " " * 31, '"' + "a" * 20, '"' + "a" * 20 + '"', "x" * 300, '": ' + " " * 40 + '"', "," + " " * 33 + '"',
        "a" * 16, "a" * 15 + '"', "a" * 17 + '"', "a" * 17 + '","', "日" * 9, "-" * 20, "_" * 18, "ab" * 12, "A1" * 10]
PARTS = [b"\xc3", b"\xa9", b"\xc3\xa9\xc3", b"\xe2", b"\xe2\x80", b"\xa8", b"\x80\xa8", b"\xf0\x9f", b"\x98\x80", b"\x9f\x98", b'\xa9"',
         b'\x80"', b"a\xc3", b"a\xe6\x97", b'"\xf0\x9f', b"\xa9\xc3", b"\xed\xa0", b"\xc0\xaf", b"\xff", b"\xe6\x97\xa5a", b"\xa5\"", b"\x80"]


def strings_of(schema: Any) -> list[str]:
    """Names and strings that a schema speaks of."""
    found: list[str] = []
    todo = [schema]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            found += [k for k in one if isinstance(k, str)]
            todo += one.values()
        elif isinstance(one, list):
            todo += one
        elif isinstance(one, str):
            found.append(one)
    return sorted(set(found))


def two_names(token: bytes) -> bool:
    return token.count(b'"') >= 3 and token.count(b":") >= 2 and b"," in token


# One such token in a vocabulary turns a short cut off for all of them: so some vocabularies have none.
ODD = (two_names, lambda t: len(t) > 1 and b"\\" in t, lambda t: len(t) > 1 and b"\\" in t and b'"' in t, lambda t: t.count(b'"') > 5,
       lambda t: t.count(b'"') > 1, lambda t: b'"' in t[1:-1], lambda t: len(t) > 40, lambda t: b'"' in t and not t.isascii())


def nasty_tokens(rng: random.Random, schema: Any, n_pieces: int, pairs: bool) -> list[bytes]:
    """Single bytes, all pairs of printable characters if wanted, and what the paths tell apart."""
    missing: set[int] = set()
    if rng.random() < 0.2:
        missing = set(rng.sample(range(0x80, 0x100), rng.randint(1, 60))) | set(rng.sample(range(0, 32), 5)) - {9, 10, 13}
    tokens = [bytes([b]) for b in range(256) if b not in missing]
    if pairs:
        tokens += [(a + b).encode() for a in PRINTABLE for b in PRINTABLE]
    names = [s for s in strings_of(schema) if "\0" not in s and len(s) < 60] or ["a"]
    from json import dumps
    for name in names if len(names) < 60 else rng.sample(names, 60):
        quoted = dumps(name, ensure_ascii=rng.random() < 0.3)
        cut = rng.randint(0, len(name))
        word = quoted[1:-1]
        for text in (quoted, quoted + ":", word + '"', word + '":', word, word[:cut], word[cut:] + '"', word[cut:] + '": ',
                     word[cut:] + '","', word[:cut] + rng.choice("ab1"), word + word[:1], '","' + word + '"', ',' + quoted + ':',
                     word[cut:] + '":"', '{' + quoted + ':', word[cut:] + '":1,"' + rng.choice(names) + '":'):
            tokens.append(text.encode("utf-8", "surrogatepass"))
    tokens += [b.encode() for b in BITS] + [b.encode() for b in LONG] + PARTS
    pieces = [b.encode() for b in BITS * 4 + LONG] + PARTS + [n.encode("utf-8", "surrogatepass") for n in names]
    tokens += [b"".join(rng.choice(pieces) for _ in range(rng.randint(2, 4))) for _ in range(n_pieces)]
    tokens += ["".join(rng.choice('ab"\\:,{}[]1 -é') for _ in range(rng.randint(2, 6))).encode() for _ in range(n_pieces // 2)]
    tokens += [str(rng.randrange(10 ** rng.randint(1, 20))).encode() for _ in range(60)]
    tokens += ["".join(rng.choice("abcxyzAB019_-.é") for _ in range(rng.randint(2, 24))).encode() for _ in range(n_pieces // 3)]
    left_out = [odd for odd in ODD if rng.random() < 0.35]
    tokens = [t for t in tokens if t and len(t) < 1000 and not any(odd(t) for odd in left_out)]
    rng.shuffle(tokens)
    if rng.random() < 0.7:
        tokens = list(dict.fromkeys(tokens))
    return tokens


# ---- schemas --------------------------------------------------------------------------

PATTERNS = ("^[a-z]+$", "^[a-z0-9_-]*$", "^[A-Z][a-z]{2,5}$", "^\\d{3}-\\d{4}$", "^\\S+$", "^[^\\s]+@[^\\s]+$", "^.{3,20}$", "^.{17,18}$",
            "^[a-z]{1,16}$", "^[a-z]{17}$", "^[a-z]{16,40}$", "^(?!abc)[a-z]+$", "^(?=.*\\d)[a-z0-9]{3,}$", "^[é-ü]+$", "^[^a]*$", "^[^\\x00-\\x7f]+$",
            "a", "ab$", "^a|b$", "^\\p{L}+$", "^[\\u2028a]*$", "^(a|b){2,30}c?$", "^https?://", "^$", "^\\w{0,5}$", "\\.", "^[0-9]+(\\.[0-9]+)?$",
            "^[日本a-c]*$", "^([a-z]+\\.)*[a-z]+$", "^#[0-9a-fA-F]{6}$", "^x-", "^_", "^[^\"\\\\]*$", "\\\\", "^.*$", "^\\s*$", "^[a-c]*(d|e)$", "^(aa)*$",
            "^.{0,8}$", "^([a-z]*|A[AZ])$", "^[a-z]+_$", "^(a*|é[é-ü]|\\n)$", "^[\\x20-\\x7e]+$", "^(?:(?!--).)*$")
FORMATS = ("date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference", "uuid", "json-pointer",
           "relative-json-pointer", "regex", "iri", "idn-email", "uri-template")
WORDS = ("", "a", "ab", "abc", "abcd", "b", "é", "éa", "x\"y", "a\\b", "日本", "a b", "1", "12", "A", "abcdefghijklmnopqrstuvwxyz", "true", "\n", "/", "x-a",
         "_", "a\u2028", "a.b", "😀", "name", "names", "nam")


def string_schema(r: random.Random) -> dict[str, Any]:
    p = r.random()
    s: dict[str, Any] = {"type": "string"}
    if p < 0.5:
        s["pattern"] = r.choice(PATTERNS)
    elif p < 0.65:
        s["format"] = r.choice(FORMATS)
    elif p < 0.75:
        return {"enum": r.sample(WORDS, r.randint(1, 5))}
    if r.random() < 0.35:
        s["minLength"] = r.choice((0, 1, 2, 3, 5, 10, 17, 20))
    if r.random() < 0.4:
        s["maxLength"] = s.get("minLength", 0) + r.choice((0, 1, 2, 3, 5, 15, 16, 17, 20, 40, 155, 160, 161, 300))
    if r.random() < 0.15:
        s["allOf"] = [{"pattern": r.choice(PATTERNS)}]
    if r.random() < 0.1:
        s["not"] = r.choice(({"pattern": r.choice(PATTERNS)}, {"const": r.choice(WORDS)}, {"enum": r.sample(WORDS, 2)}))
    if r.random() < 0.15:
        return {"anyOf": [s, {"enum": r.sample(WORDS, r.randint(1, 4))}, *([{"type": "integer"}] if r.random() < 0.3 else [])]}
    if r.random() < 0.1:
        return {r.choice(("anyOf", "oneOf", "allOf")): [s, string_schema(r)]}
    return s


def number_schema(r: random.Random) -> dict[str, Any]:
    s: dict[str, Any] = {"type": r.choice(("integer", "number"))}
    if r.random() < 0.4:
        s["minimum"] = r.choice((0, 1, -1, -5.5, 10, 100, 12345678901, 0.001))
    if r.random() < 0.4:
        s[r.choice(("maximum", "exclusiveMaximum"))] = r.choice((20, 99, 255, 65535, 1e9, 12345678901234, 10.25))
    if r.random() < 0.25:
        s["multipleOf"] = r.choice((2, 5, 0.01, 0.5, 3, 100, 7))
    if r.random() < 0.1:
        return {"enum": [1, 12, 123, -1, 1.5, "1", "a", None]}
    return s


def leaf(r: random.Random) -> Any:
    return r.choice((string_schema, string_schema, string_schema, number_schema,
                     lambda _: r.choice(({}, True, {"type": "boolean"}, {"type": "null"}, {"type": "string"}, {"type": ["string", "null"]}))))(r)


def nasty_schema(r: random.Random, depth: int = 2) -> Any:
    p = r.random()
    if depth == 0 or p < 0.2:
        return leaf(r)
    if p < 0.65:
        s: dict[str, Any] = {"type": "object"}
        names = r.sample(WORDS, r.randint(0, 5))
        if names:
            s["properties"] = {n: nasty_schema(r, depth - 1) for n in names}
            s["required"] = r.sample(names, r.randint(0, len(names)))
        if r.random() < 0.35:
            s["patternProperties"] = {r.choice(PATTERNS): nasty_schema(r, depth - 1) for _ in range(r.randint(1, 3))}
        if r.random() < 0.25:
            s["propertyNames"] = r.choice(({"pattern": r.choice(PATTERNS)}, {"maxLength": r.choice((1, 3, 17))}, {"minLength": 2},
                                           {"enum": r.sample(WORDS, 6)}, string_schema(r)))
        if r.random() < 0.5:
            s["additionalProperties"] = r.choice((False, False, nasty_schema(r, depth - 1)))
        if r.random() < 0.15:
            s["minProperties"] = r.randint(0, 3)
        if r.random() < 0.15:
            s["maxProperties"] = r.randint(1, 4)
        return s
    if p < 0.85:
        s = {"type": "array", "items": nasty_schema(r, depth - 1)}
        if r.random() < 0.3:
            s["uniqueItems"] = True
        if r.random() < 0.3:
            s["prefixItems"] = [nasty_schema(r, depth - 1) for _ in range(r.randint(1, 2))]
        if r.random() < 0.3:
            s["minItems"] = r.randint(0, 3)
        if r.random() < 0.3:
            s["maxItems"] = s.get("minItems", 0) + r.randint(0, 3)
        return s
    return {r.choice(("anyOf", "anyOf", "oneOf")): [nasty_schema(r, depth - 1) for _ in range(r.randint(2, 3))]}


def draw_schema(rng: random.Random) -> Any:
    p = rng.random()
    if p < 0.7:
        return nasty_schema(rng, rng.choice((1, 2, 2, 3)))
    if p < 0.85:
        return SchemaMaker(rng, rng.choice((RICH, TINY))).make()
    keywords = [k for k in sorted(ALL) if rng.random() < 0.5]
    return SchemaMaker(rng, RICH, keywords=keywords).make(rng.choice((1, 2, 3)))


def draw_options(rng: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {}
    p = rng.random()
    if p < 0.45:
        options["whitespace"] = "flexible"
        options["max_whitespace"] = rng.choice((0, 1, 2, 31, 32, 33, 40, None))
    elif p < 0.55:
        options["whitespace"] = "spaced"
    elif p < 0.7:
        options["indent"] = rng.choice((0, 1, 2, 4))
    if rng.random() < 0.2:
        options["property_order"] = "schema"
    if rng.random() < 0.15:
        options["additional_properties"] = "closed"
    if rng.random() < 0.25:
        options["escapes"] = "minimal"
    if rng.random() < 0.3:
        options["numbers"] = "any"
    if rng.random() < 0.15:
        options["max_digits"] = rng.choice((1, 2, 3, 20))
    return options


# ---- a mask and its tokens ------------------------------------------------------------


def accepted(matcher: Any, n: int) -> set[int]:
    """The ids that the matcher takes, one by one; it does not move."""
    found = set()
    accept, back = matcher.accept_token, matcher.rollback
    for i in range(n):
        if accept(i):
            back(1)
            found.add(i)
    return found


def differing(probe: Probe, tokens: list[bytes]) -> tuple[set[int], list[bytes], list[bytes]]:
    """The mask; tokens that it has and that are refused; tokens accepted that it has not."""
    mask = probe.mask()
    truth = accepted(probe.matcher, len(tokens))
    return mask, sorted(tokens[t] for t in mask - truth)[:8], sorted(tokens[t] for t in truth - mask)[:8]


def choose(rng: random.Random, ids: list[int], tokens: list[bytes], step: int) -> int:
    """Any token; rather one of some bytes, seldom white space, one that closes something later."""
    for _ in range(4):
        t = rng.choice(ids)
        if len(tokens[t]) > 1 and not tokens[t].isspace() and len(tokens[t]) < 60:
            break
    if rng.random() < 0.03 * step or rng.random() < 0.15:
        closing = [t for t in ids if tokens[t][-1:] in (b'"', b"]", b"}", b",", b":")]
        t = rng.choice(closing or ids)
    elif rng.random() < 0.2:
        short = [t for t in ids if len(tokens[t]) == 1 and tokens[t] not in b"\\ \n\t\r"]
        t = rng.choice(short or ids)
    return t
