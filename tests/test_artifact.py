"""The artifact, format 1: what is written, what is refused, and what a stranger's file can do.

A stranger's file can at worst give wrong masks: it is refused with an `ArtifactError`, or opens
and works, in time and memory that its size bounds. Checksums are made right again after each
damage, so that what is tested is the verification behind them.
`TOKFSM_ARTIFACT_MUTATIONS=100000 pytest tests/test_artifact.py` runs that many. The same in C,
for builds with sanitizers: tests/c/runtime_test.c.

Source: docs/format.md.
"""

from __future__ import annotations

import functools
import hashlib
import os
import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokfsm
from schemas import COUNTED, RICH, TINY, Probe, SchemaMaker, make_options, make_tokens
from tokfsm import _core
from tokfsm._matcher import start_matcher

N_MUTATIONS = int(os.environ.get("TOKFSM_ARTIFACT_MUTATIONS", "4000"))
HEADER, ENTRY, ALIGN = 256, 24, 64
STOP_IDS, MACHINE, TEXT, SCHEMA, PACK, RELAXED, MASKS = 1, 2, 3, 4, 5, 6, 7
NONE = 0xFFFFFFFF

BYTES: list[bytes | None] = [bytes([b]) for b in range(256)]
TOKENS: list[bytes | None] = [*BYTES, b'{"', b'":', b'"}', b"ab", b"true", b"\n  ", None]
STOP = len(TOKENS) - 1


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("TOKFSM_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def vocab() -> tokfsm.Vocabulary:
    return tokfsm.Vocabulary.from_bytes(TOKENS, stop_token_ids=[STOP])


SCHEMA_1 = {"properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "xy", None]}, "c": {"$ref": "#"}},
            "required": ["a"], "additionalProperties": {"type": "string", "maxLength": 4}}


# ---- taking files apart, and putting them together ------------------------------------


def sections_of(data: bytes) -> dict[int, bytes]:
    found = {}
    for i in range(struct.unpack_from("<I", data, 16)[0]):
        which, _, offset, size = struct.unpack_from("<IIQQ", data, HEADER + ENTRY * i)
        found[which] = data[offset:offset + size]
    return found


def sealed(data: bytes | bytearray, *, size: bool = True) -> bytes:
    """With the checksum made right, and the length too."""
    out = bytearray(data)
    if len(out) < HEADER:
        return bytes(out)
    if size:
        struct.pack_into("<Q", out, 24, len(out))
    out[64:96] = bytes(32)
    out[64:96] = hashlib.sha256(out).digest()
    return bytes(out)


def put_together(data: bytes, sections: dict[int, bytes], order: list[int] | None = None) -> bytes:
    """The header of `data` with these sections."""
    order = sorted(sections) if order is None else order
    head = bytearray(data[:HEADER])
    struct.pack_into("<I", head, 16, len(order))
    body, table = b"", b""
    start = -(-(HEADER + ENTRY * len(order)) // ALIGN) * ALIGN
    for which in order:
        table += struct.pack("<IIQQ", which, 0, start + len(body), len(sections[which]))
        body += sections[which] + bytes(-len(sections[which]) % ALIGN)
    return sealed(bytes(head) + table + bytes(start - HEADER - len(table)) + body)


def fold(total: int, word: int) -> int:
    total ^= word
    return (total << 29 | total >> 35) * 0x9E3779B97F4A7C15 & (1 << 64) - 1


def sealed_pack(pack: bytes) -> bytes:
    """With the checksum of docs/pack_format.md, section 2, made again."""
    body = pack[32:]
    words = np.frombuffer(body + bytes(32 - len(body) % 32), "<u8").tolist()
    total = len(body)
    for lane in range(4):
        total = fold(total, functools.reduce(fold, words[lane::4], 0))
    return pack[:28] + struct.pack("<I", total >> 32) + body


def refused(data: bytes, pack: Any = None, error: type[Exception] = tokfsm.ArtifactCorruptError) -> str:
    with pytest.raises(error) as caught:
        _core.Automaton.open(data, pack, None)
    assert "\n" not in str(caught.value) and len(str(caught.value)) > 10
    return str(caught.value)


def test_the_file_is_as_documented(vocab: tokfsm.Vocabulary) -> None:
    data = tokfsm.compile(SCHEMA_1, vocab, whitespace="spaced", max_digits=9).to_bytes()
    magic, version, endian, n, size, total = struct.unpack_from("<8sIIIIQ", data)
    assert (magic, version, endian, n, size, total) == (b"TOKFSM\r\n", 1, 0x01020304, 6, len(TOKENS), len(data))
    assert data[32:64].hex() == vocab.fingerprint
    assert data[64:96] == hashlib.sha256(data[:64] + bytes(32) + data[96:]).digest()
    assert struct.unpack_from("<12I", data, 96) == (0, 0, 1, 40, 0, 0, 0, 9, 0, 0, 0, 0)
    assert not any(data[144:HEADER])
    sections = sections_of(data)
    assert list(sections) == [STOP_IDS, MACHINE, TEXT, SCHEMA, PACK, MASKS]
    assert sections[STOP_IDS] == struct.pack("<I", STOP)
    assert b"xy" in sections[TEXT] and sections[PACK][:8] == b"TOKFPACK"
    assert put_together(data, sections) == data, "sections follow one another, padded with zeros"
    again = _core.Automaton.open(data, None, None)
    assert again.save(True) == data and again.schema == sections[SCHEMA]


def test_the_list_of_what_was_relaxed(vocab: tokfsm.Vocabulary) -> None:
    schema = {"not": {"pattern": "(x)\\1"}, "items": {"format": "regex"}}
    data = tokfsm.compile(schema, vocab, unsupported="relax").to_bytes()
    sections = sections_of(data)
    assert list(sections) == [STOP_IDS, MACHINE, TEXT, SCHEMA, PACK, RELAXED, MASKS]
    texts = sections[RELAXED].decode().split("\0")
    assert texts[:2] == ["/not", "not"] and texts[3:5] == ["/items/format", "format"] and texts[6:] == [""]
    assert struct.unpack_from("<I", data, 132) == (1,)

    def opened(section: bytes) -> Any:
        return _core.Automaton.open(put_together(data, {**sections, RELAXED: section}), None, None)

    assert opened(sections[RELAXED]).save(True) == data
    assert opened(b"").relaxed() == [] and opened(b"\0\0\0").relaxed() == [("", "", "")]
    assert opened(b"a\0\xff\0c\0").relaxed() == [("a", "\ufffd", "c")]
    for section in (b"\0", b"\0\0", b"a\0b\0c", b"a\0b\0c\0d", b"a\0b\0c\0d\0", b"abc"):
        refused(put_together(data, {**sections, RELAXED: section}))


# ---- files that are none, or cut off, or altered --------------------------------------


def test_bad_files(vocab: tokfsm.Vocabulary, tmp_path: Path) -> None:
    data = tokfsm.compile(SCHEMA_1, vocab).to_bytes()
    path = tmp_path / "a.tokfsm"
    for content in (b"", b"{", b"TOKFSM", b"TOKFSM\r\n", b"GGUF" + bytes(300), bytes(1000), data[:200], data[:-1],
                    data + b"\0", data.replace(b"TOKFSM\r\n", b"TOKFSM\n\n")):
        path.write_bytes(content)
        with pytest.raises(tokfsm.ArtifactCorruptError):
            tokfsm.load(path)
    with pytest.raises(FileNotFoundError):
        tokfsm.load(tmp_path / "none.tokfsm")
    with pytest.raises(IsADirectoryError):
        tokfsm.load(tmp_path)
    assert "cut off" in refused(data[:-64])
    altered = bytearray(data)
    altered[len(data) // 2] ^= 1
    assert "checksum" in refused(bytes(altered))


def test_another_version(vocab: tokfsm.Vocabulary, tmp_path: Path) -> None:
    data = bytearray(tokfsm.compile(SCHEMA_1, vocab).to_bytes())
    struct.pack_into("<I", data, 8, 2)
    path = tmp_path / "a.tokfsm"
    for content in (bytes(data), sealed(data), bytes(data[:300])):
        path.write_bytes(content)
        with pytest.raises(tokfsm.ArtifactVersionError, match="format 2.*format 1"):
            tokfsm.load(path)
    pack = bytearray(sections_of(bytes(data))[PACK])
    struct.pack_into("<I", pack, 8, _core.PACK_VERSION + 1)
    struct.pack_into("<I", data, 8, 1)
    sections = {**sections_of(bytes(data)), PACK: sealed_pack(bytes(pack))}
    refused(put_together(bytes(data), sections), error=tokfsm.ArtifactVersionError)


def test_another_vocabulary(vocab: tokfsm.Vocabulary, tmp_path: Path) -> None:
    automaton = tokfsm.compile(SCHEMA_1, vocab)
    other = tokfsm.Vocabulary.from_bytes([*BYTES, b"other"])
    path = tmp_path / "a.tokfsm"
    for embed_pack in (True, False):
        automaton.save(path, embed_pack=embed_pack)
        with pytest.raises(tokfsm.VocabularyMismatchError, match="vocabulary"):
            tokfsm.load(path, other)
    data = automaton.to_bytes()
    refused(data, other._pack, tokfsm.VocabularyMismatchError)
    foreign = sections_of(tokfsm.compile(True, other).to_bytes())[PACK]
    refused(put_together(data, {**sections_of(data), PACK: foreign}))
    # Stop tokens are no part of the fingerprint.
    same = tokfsm.Vocabulary.from_bytes(TOKENS)
    path.write_bytes(data)
    assert tokfsm.load(path, same).stop_token_ids == (STOP,)


def test_truncations(vocab: tokfsm.Vocabulary) -> None:
    data = tokfsm.compile(SCHEMA_1, vocab).to_bytes()
    rng = random.Random(1)
    places = {0, 8, 64, 96, 144, HEADER, HEADER + ENTRY}
    for i in range(6):
        _, _, offset, size = struct.unpack_from("<IIQQ", data, HEADER + ENTRY * i)
        places |= {offset - 1, offset, offset + 4, offset + size // 2, offset + size - 1, offset + size}
    places |= {rng.randrange(len(data)) for _ in range(200)}
    for n in sorted(p for p in places if p < offset + size):  # nobody misses the zeros at the end
        for cut in (data[:n], sealed(data[:n], size=False), sealed(data[:n])):
            refused(cut)
    sections = sections_of(data)
    for which in sections:
        for n in {0, 1, 4, len(sections[which]) // 8 * 4, max(0, len(sections[which]) - 4)} - {len(sections[which])}:
            shorter = put_together(data, {**sections, which: sections[which][:n]})
            if which in (SCHEMA, STOP_IDS):  # these may be anything; a part of an id may not be
                if which == SCHEMA or n % 4 == 0:
                    _core.Automaton.open(shorter, None, None)
                    continue
            refused(shorter)


def test_sections_in_disorder(vocab: tokfsm.Vocabulary) -> None:
    data = tokfsm.compile(SCHEMA_1, vocab).to_bytes()
    sections = sections_of(data)
    for i in range(4):
        order = [1, 2, 3, 4, 5]
        order[i], order[i + 1] = order[i + 1], order[i]
        refused(put_together(data, sections, order))
    for twice in sections:
        refused(put_together(data, sections, sorted([*sections, twice])))
    for missing in (STOP_IDS, MACHINE, TEXT):
        refused(put_together(data, {k: v for k, v in sections.items() if k != missing}))
    refused(put_together(data, {**sections, 6: b"more"}))
    for a in (MACHINE, TEXT, PACK):
        for b in (MACHINE, TEXT, PACK):
            if a != b:
                refused(put_together(data, {**sections, a: sections[b], b: sections[a]}))
    without = _core.Automaton.open(put_together(data, {k: v for k, v in sections.items() if k != SCHEMA}), None, None)
    assert without.schema is None
    packless = put_together(data, {k: v for k, v in sections.items() if k != PACK})
    refused(packless, error=tokfsm.PackMissingError)
    for entry, offset, value in [(i, o, v) for i in range(5) for o in (8, 16)
                                 for v in (0, 1, len(data), 1 << 31, 1 << 32, (1 << 63) - 1, (1 << 64) - 64)]:
        altered = bytearray(data)
        struct.pack_into("<Q", altered, HEADER + ENTRY * entry + offset, value)
        if (entry, offset, value) not in {(3, 16, 0), (3, 16, 1), (0, 16, 0)}:  # a shorter schema; no stops
            refused(sealed(altered))
    for n in (0, 1, 2, 7, 16, 17, 1 << 16, 1 << 31, NONE):
        altered = bytearray(data)
        struct.pack_into("<I", altered, 16, n)
        refused(sealed(altered))


# ---- a stranger's machine --------------------------------------------------------------


def walk(automaton: Any, rng: random.Random, n_steps: int = 12) -> None:
    """Everything a matcher has, at random; wrong masks are allowed, and nothing else."""
    try:
        matcher = start_matcher(automaton, None, rng.choice((None, 3)))
    except ValueError:
        return
    bitmask = tokfsm.allocate_token_bitmask(1, automaton.vocab_size)
    probe = Probe(automaton, matcher)
    for _ in range(n_steps):
        try:
            ids = sorted(probe.mask())  # fails for a bit past the vocabulary
            bound = matcher.min_tokens
            t = rng.choice(ids) if ids and rng.random() < 0.9 else rng.randrange(automaton.vocab_size)
            p = rng.random()
            if p < 0.1:
                matcher.fill_next_token_bitmask(bitmask, 0, budget=bound + rng.randrange(3))
            elif p < 0.2:
                matcher.rollback(min(matcher.n_accepted, rng.randrange(3)))
            elif p < 0.3:
                matcher = matcher.fork()
                probe.matcher = matcher
            elif p < 0.4:
                matcher.check_bytes(b'{"a":[1,"b"]}')
            matcher.accept_token(t)
            assert isinstance(matcher.is_complete, bool) and isinstance(matcher.is_terminated(), bool)
        except (tokfsm.LimitError, tokfsm.BudgetError, tokfsm.RangeError):
            pass


@pytest.fixture(scope="module")
def seeds() -> list[tuple[bytes, Any]]:
    """Sound artifacts of many kinds, with their packs."""
    found: list[tuple[bytes, Any]] = []
    seed = 0
    while len(found) < 32:
        rng = random.Random(seed)
        seed += 1
        schema = SchemaMaker(rng, rng.choice((RICH, RICH, TINY))).make()
        if seed % 4 == 0:
            schema = COUNTED[seed // 4 % len(COUNTED)]
        options = make_options(rng)
        tokens, stops = make_tokens(rng)
        vocab = tokfsm.Vocabulary.from_bytes(tokens, stop_token_ids=stops)
        try:
            automaton = tokfsm.compile(schema, vocab, **options)
        except tokfsm.SchemaError:
            continue
        data = automaton.to_bytes()
        if automaton.statistics["values"] > 2:
            found.append((data, _core.Pack.open(sections_of(data)[PACK])))
    return found


WORDS = (0, 1, 2, 31, 32, 33, 63, 64, 65, 4095, 4096, 4097, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, NONE, 1 << 16, 1 << 30)


def damage(rng: random.Random, section: bytes) -> bytes:
    out = bytearray(section)
    if len(out) < 8:
        return bytes(out)
    for _ in range(rng.randint(1, 3)):
        i, k = (4 * rng.randrange(len(out) // 4) for _ in range(2))
        word = struct.unpack_from("<I", out, i)[0]
        kind = rng.randrange(8)
        if kind == 0:
            out[rng.randrange(len(out))] = rng.randrange(256)
        elif kind == 1:
            out[i:i + 4], out[k:k + 4] = out[k:k + 4], out[i:i + 4]
        elif kind == 2:
            del out[i:i + 4 * rng.randint(1, 4)]
        elif kind == 3:
            out[i:i] = bytes(out[k:k + 4 * rng.randint(1, 4)])
        else:
            new = rng.choice((rng.choice(WORDS), word + 1, word - 1, rng.randrange(8), word ^ 1 << rng.randrange(32)))
            struct.pack_into("<I", out, i, new & NONE)
        if len(out) < 8:
            break
    return bytes(out)


def try_mutation(seed: int, data: bytes, pack: Any) -> bool:
    rng = random.Random(seed)
    sections = sections_of(data)
    which = rng.choice((MACHINE,) * 8 + (TEXT, STOP_IDS, PACK) + (MASKS,) * 4 * (MASKS in sections))
    sections[which] = damage(rng, sections[which])
    if which == PACK:
        pack = None
        if rng.random() < 0.9 and len(sections[PACK]) > 32:
            sections[PACK] = sealed_pack(sections[PACK])
    altered = put_together(data, sections)
    if rng.random() < 0.1:  # the header
        header = damage(rng, altered[12:HEADER + 5 * ENTRY])
        altered = sealed(altered[:12] + header + altered[HEADER + 5 * ENTRY:], size=rng.random() < 0.5)
    try:
        automaton = _core.Automaton.open(altered, pack, tokfsm.Limits(work_units=300_000))
    except tokfsm.ArtifactError:
        return False
    walk(automaton, rng)
    automaton.save(rng.random() < 0.5)
    return True


def test_mutations(seeds: list[tuple[bytes, Any]]) -> None:
    n_opened = 0
    for seed in range(N_MUTATIONS):
        data, pack = seeds[seed % len(seeds)]
        try:
            n_opened += try_mutation(seed, data, pack)
        except BaseException as error:
            error.args = (f"seed {seed}: {error}", *error.args[1:])
            raise
    assert 0.02 * N_MUTATIONS < n_opened < 0.9 * N_MUTATIONS, "the mutations miss what they aim at"


def test_counts_without_measure(seeds: list[tuple[bytes, Any]]) -> None:
    """Every word of a machine as a count or reference that is far too large."""
    data, pack = min(seeds, key=lambda seed: len(sections_of(seed[0])[MACHINE]))
    sections = sections_of(data)
    rng = random.Random(0)
    for at in range(0, min(len(sections[MACHINE]), 2400), 4):
        for value in (NONE, 0x7FFFFFFF, 0x10000, 4096):
            machine = bytearray(sections[MACHINE])
            struct.pack_into("<I", machine, at, value)
            try:
                automaton = _core.Automaton.open(put_together(data, {**sections, MACHINE: bytes(machine)}), pack,
                                                 tokfsm.Limits(work_units=300_000))
            except tokfsm.ArtifactError:
                continue
            walk(automaton, rng, 3)


# ---- files that ask for more than they hold -------------------------------------------


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def machine_of(data: bytes, values: list[bytes], numbers: list[bytes], kinds: list[bytes]) -> bytes:
    """A machine section with the head of another; see docs/format.md."""
    head = sections_of(data)[MACHINE][:32 + 12 + 4 * 23]
    return b"".join([head, words(len(values), len(kinds), len(numbers)), *values, *numbers, *kinds])


def value_of(*, array: int = 0, literals: bytes = b"", n_literals: int = 0) -> bytes:
    """A position of one obligation that null, false and true satisfy."""
    return words(1) + words(1, 0) * 3 + words(4, 0) + words(0, 0, array) + words(n_literals, 0, 0) + literals


def many_texts(data: bytes, n: int, text: bytes) -> bytes:
    """n literals, each as long as all the text there is."""
    literals = words(len(text), 1, 0) * n
    machine = machine_of(data, [value_of(n_literals=n, literals=literals)], [], [])
    return put_together(data, {**sections_of(data), TEXT: text, MACHINE: machine})


def refused_classes(data: bytes, n: int) -> bytes:
    """An array of n item classes that none of its 4,096 alternatives admits."""
    kind = words(1, 0, 4096) + words(1, 0) * 4096 + struct.pack("<QQ", 0, 5) * 4096
    kind += words(n) + b"".join(struct.pack("<Q", i) for i in range(n)) + words(0, 0, 0) * 4096 + words(0) * n
    return put_together(data, {**sections_of(data), MACHINE: machine_of(data, [value_of(array=1)], [], [kind])})


MEASURED = """
import resource, sys, time
from tokfsm import _core, ArtifactError
data = open(sys.argv[1], "rb").read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
try:
    _core.Automaton.open(data, None, None)
except ArtifactError:
    pass
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * (1 if sys.platform == "darwin" else 1024)
print(len(data), grown, time.process_time() - start)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs the module resource")
@pytest.mark.parametrize("name", ["plain", "texts", "spelled", "classes"])
def test_opening_is_linear(name: str, tmp_path: Path) -> None:
    """Memory and time are bounded by the size of the file."""
    data = tokfsm.compile(True, tokfsm.Vocabulary.from_bytes(BYTES)).to_bytes()
    content = {"plain": lambda: put_together(data, {**sections_of(data), TEXT: b"a" * 1_000_000}),
               "texts": lambda: many_texts(data, 16_000, b"a" * 64_000),
               "spelled": lambda: many_texts(data, 16_000, b"\1" * 64_000),
               "classes": lambda: refused_classes(data, 12_000)}[name]()
    path = tmp_path / "a.tokfsm"
    path.write_bytes(content)
    done = subprocess.run([sys.executable, "-c", MEASURED, str(path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    size, grown, seconds = (float(x) for x in done.stdout.split())
    assert grown < 64 * size and seconds < 1 + size / 1e6


# ---- the pack beside the artifact ------------------------------------------------------


def test_pack_beside(vocab: tokfsm.Vocabulary, tmp_path: Path) -> None:
    automaton = tokfsm.compile(SCHEMA_1, vocab)
    path = tmp_path / "a.tokfsm"
    automaton.save(path, embed_pack=False)
    (pack,) = [p for p in tmp_path.iterdir() if p != path]
    assert pack.name == f"{vocab.fingerprint}-v{_core.PACK_VERSION}.tokpack"
    assert PACK not in sections_of(path.read_bytes())
    expected = automaton.to_bytes()
    assert tokfsm.load(path).to_bytes() == tokfsm.load(path, vocab).to_bytes() == expected
    pack.unlink()
    with pytest.raises(tokfsm.PackMissingError, match=vocab.fingerprint[:16]):
        tokfsm.load(path)
    assert tokfsm.load(path, vocab).to_bytes() == expected
    cache = Path(os.environ["TOKFSM_CACHE_DIR"])
    cache.mkdir(exist_ok=True)
    data = sections_of(expected)[PACK]
    (cache / pack.name).write_bytes(data)
    assert tokfsm.load(path).to_bytes() == expected
    for damaged in (data[:100], data[:-1], sections_of(tokfsm.compile(
            True, tokfsm.Vocabulary.from_bytes(BYTES)).to_bytes())[PACK]):
        pack.write_bytes(damaged)  # beside it, but no good: the cache has it
        assert tokfsm.load(path).to_bytes() == expected
        (cache / pack.name).write_bytes(damaged)
        with pytest.raises(tokfsm.PackMissingError):
            tokfsm.load(path)
        (cache / pack.name).write_bytes(data)


def test_an_empty_pack_beside(vocab: tokfsm.Vocabulary, tmp_path: Path) -> None:
    path = tmp_path / "a.tokfsm"
    tokfsm.compile(SCHEMA_1, vocab).save(path, embed_pack=False)
    (tmp_path / f"{vocab.fingerprint}-v{_core.PACK_VERSION}.tokpack").write_bytes(b"")
    with pytest.raises(tokfsm.PackMissingError):
        tokfsm.load(path)


# ---- writing ---------------------------------------------------------------------------


def test_a_failed_write_leaves_the_old_file(vocab: tokfsm.Vocabulary, tmp_path: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.tokfsm"
    tokfsm.compile(True, vocab).save(path)
    old = path.read_bytes()
    automaton = tokfsm.compile(SCHEMA_1, vocab)

    def fail(*_args: Any, **_kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(OSError, match="No space"):
                automaton.save(path)
        assert path.read_bytes() == old and list(tmp_path.iterdir()) == [path]
    cancel = tokfsm.Cancel()
    cancel.set()
    with pytest.raises(tokfsm.CancelledError):
        automaton.save(path, cancel=cancel)
    names = {"properties": {f"name {i}": {"maxLength": i} for i in range(300)}}
    small = tokfsm.compile(names, vocab, limits=tokfsm.Limits(automaton_bytes=100_000))
    with pytest.raises(tokfsm.LimitError, match="automaton_bytes"):
        small.save(path)
    with pytest.raises(FileNotFoundError):
        automaton.save(tmp_path / "no" / "a.tokfsm")
    assert path.read_bytes() == old and list(tmp_path.iterdir()) == [path]
    automaton.save(path)
    assert path.read_bytes() == automaton.to_bytes() and list(tmp_path.iterdir()) == [path]


def test_the_mode_follows_the_umask(vocab: tokfsm.Vocabulary, tmp_path: Path) -> None:
    if os.name != "posix":
        pytest.skip("POSIX modes")
    before = os.umask(0o027)
    try:
        tokfsm.compile(True, vocab).save(tmp_path / "a.tokfsm")
    finally:
        os.umask(before)
    assert (tmp_path / "a.tokfsm").stat().st_mode & 0o777 == 0o640


REPRODUCED = """
import hashlib, random, sys
sys.path.insert(0, {tests!r})
import tokfsm
from schemas import RICH, SchemaMaker, make_options, make_tokens
for seed in range(24):
    rng = random.Random(seed)
    schema = SchemaMaker(rng, RICH).make()
    options = make_options(rng)
    tokens, stops = make_tokens(rng)
    vocab = tokfsm.Vocabulary.from_bytes(tokens, stop_token_ids=stops)
    try:
        automaton = tokfsm.compile(schema, vocab, **options)
    except tokfsm.SchemaError:
        continue
    dice = random.Random({walk!r} * 1000 + seed)
    bitmask = tokfsm.allocate_token_bitmask(1, vocab.size)
    for _ in range({walk!r} * 3):  # what is explored first differs from run to run
        matcher = automaton.matcher()
        for _ in range(15):
            matcher.fill_next_token_bitmask(bitmask, 0)
            row = bitmask.numpy()[0].view("uint32")
            ids = [t for t in range(vocab.size) if row[t >> 5] >> (t & 31) & 1]
            if not ids:
                break
            matcher.accept_token(dice.choice(ids))
            matcher.min_tokens
    print(seed, hashlib.sha256(automaton.to_bytes()).hexdigest())
"""


def test_bytes_are_reproducible() -> None:
    """Two processes, other hashes, another order of exploration."""
    found = []
    for hash_seed, n_walks in (("0", 0), ("1", 1), ("12345", 3)):
        code = REPRODUCED.format(tests=str(Path(__file__).parent), walk=n_walks)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PYTHONHASHSEED": hash_seed})
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.splitlines())
    assert len(found[0]) > 12
    assert found[0] == found[1] == found[2]


def test_many_stop_tokens_are_quick() -> None:
    """Work on a stop set grows with its size, not with its square."""
    n = 20_000
    vocab = tokfsm.Vocabulary.from_bytes([*[b"x%d" % i for i in range(n)], *BYTES], stop_token_ids=range(n))
    automaton = _core.Automaton.open(tokfsm.compile(True, vocab).to_bytes(), None, None)
    assert automaton.stop_token_ids == tuple(range(n))
    probe = Probe(automaton, start_matcher(automaton, None, None))
    assert probe.matcher.accept_token(n + ord("1"))
    assert set(range(n)) <= probe.mask()
