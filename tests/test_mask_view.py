"""`mask_view` gives what `fill` writes, and its memory outlives matcher and automaton."""

from __future__ import annotations

import gc
import random
from typing import Any

import numpy as np
import pytest

import tokfsm
from schemas import COUNTED, RICH, SchemaMaker, make_options, make_tokens


def written(view: Any) -> Any:
    """The row that a view stands for."""
    if view.kind == "row":
        return np.array(view.row)
    row = np.zeros(view.n_words, np.uint32)
    if view.kind == "ids":
        steps: Any = [("set", view.ids, None)]
    else:
        steps = view.edits
        if view.base is not None:
            row[:] = view.base
    for op, at, bits in steps:
        if op in ("set", "clear"):
            ids = np.asarray(at)
            one = np.uint32(1) << (ids % 32).astype(np.uint32)
            if op == "set":
                np.bitwise_or.at(row, ids // 32, one)
            else:
                np.bitwise_and.at(row, ids // 32, ~one)
        elif op == "or":
            np.bitwise_or.at(row, np.asarray(at), np.asarray(bits))
        else:
            assert op == "and"
            row &= np.asarray(bits)
    return row


def parts(view: Any) -> list[Any]:
    found = [view.row, view.base, view.ids]
    for _, at, bits in view.edits or ():
        found += [at, bits]
    return [part for part in found if part is not None]


def test_views_are_the_masks() -> None:
    kinds: dict[str, int] = {}
    operations: set[str] = set()
    for seed in range(60):
        rng = random.Random(seed)
        tokens, stops = make_tokens(rng)
        schema = COUNTED[seed % len(COUNTED)] if seed % 5 == 0 else SchemaMaker(rng, RICH).make()
        vocab = tokfsm.Vocabulary.from_bytes(tokens, stop_token_ids=stops)
        try:
            automaton = tokfsm.compile(schema, vocab, **make_options(rng))
        except tokfsm.SchemaError:
            continue
        for walk in range(3):
            # A stop token that has bytes is one of the steps; where the automaton does not know of it too.
            given = [rng.randrange(vocab.size)] if walk == 2 else None
            try:
                m = automaton.matcher(stop_token_ids=given)
            except ValueError:
                continue  # the only token of a byte
            bitmask = tokfsm.allocate_token_bitmask(1, vocab.size)
            for _ in range(25):
                for _ in range(2):  # as it is made, and as it is kept
                    view = m.mask_view()
                    m.fill_next_token_bitmask(bitmask)
                    row = np.array(bitmask)[0].view(np.uint32)
                    assert np.array_equal(written(view), row), (schema, view)
                    kinds[view.kind] = kinds.get(view.kind, 0) + 1
                    operations |= {op for op, _, _ in view.edits or ()}
                    assert (view.row is not None, view.ids is not None, view.edits is not None) == (
                        view.kind == "row", view.kind == "ids", view.kind == "edits")
                ids = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
                if not len(ids) or not m.accept_token(int(rng.choice(ids))):
                    break
    assert {"ids", "edits"} <= set(kinds), kinds
    assert {"set", "clear", "and"} <= operations, operations


def test_many_ids_are_words() -> None:
    """Tokens that begin a string and stay in it are one piece of the pack."""
    words = [b"%c%c" % (a, b) for a in range(97, 123) for b in range(97, 123)]
    vocab = tokfsm.Vocabulary.from_bytes([bytes([b]) for b in range(256)] + [b'"' + w for w in words] + words)
    m = tokfsm.compile({"type": "array", "items": {"type": "string"}}, vocab).matcher()
    assert m.accept_token(ord("["))
    bitmask = tokfsm.allocate_token_bitmask(1, vocab.size)
    for _ in range(2):
        view = m.mask_view()
        m.fill_next_token_bitmask(bitmask)
        assert np.array_equal(written(view), np.asarray(bitmask)[0].view(np.uint32))
        assert view.kind == "edits" and view.base is None
        assert "or" in {op for op, _, _ in view.edits}


def test_a_finished_row_is_not_copied() -> None:
    """Inside a free string of a vocabulary in which no token closes one and goes on."""
    vocab = tokfsm.Vocabulary.from_bytes([bytes([b]) for b in range(256)] + [b"abc"])
    m = tokfsm.compile({"type": "string"}, vocab).matcher()
    assert m.accept_token(34)
    kinds = set()
    for t in b"abc\xc3":
        assert m.accept_token(t)
        kinds.add(m.mask_view().kind)
    view = m.mask_view()  # inside a character
    assert view.kind == "row", kinds
    assert np.asarray(view.row).ctypes.data == np.asarray(m.mask_view().row).ctypes.data
    bitmask = tokfsm.allocate_token_bitmask(1, vocab.size)
    m.fill_next_token_bitmask(bitmask)
    assert np.array_equal(np.asarray(view.row), np.asarray(bitmask)[0].view(np.uint32))


def test_views_are_read_only_and_live_on() -> None:
    rng = random.Random(4)
    tokens, stops = make_tokens(rng)
    vocab = tokfsm.Vocabulary.from_bytes(tokens, stop_token_ids=stops)
    automaton = tokfsm.compile({"type": "array", "uniqueItems": True, "items": {"type": ["string", "integer"]}}, vocab)
    m = automaton.matcher()
    kept: list[tuple[Any, Any]] = []
    bitmask = tokfsm.allocate_token_bitmask(1, vocab.size)
    for _ in range(60):
        view = m.mask_view()
        m.fill_next_token_bitmask(bitmask)
        row = np.array(bitmask)[0].view(np.uint32)
        kept.append((view, row))
        ids = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        if not len(ids):
            break
        m.accept_token(int(rng.choice(ids)))
    assert len(kept) > 3
    m.reset()
    del m, automaton, vocab
    gc.collect()
    junk = [bytes(random.Random(0).randbytes(size)) for size in (1 << 10, 1 << 14, 1 << 20)]
    for view, row in kept:
        assert np.array_equal(written(view), row)
        for part in parts(view):
            assert part.readonly and part.format == "I" and part.ndim == 1
            with pytest.raises(TypeError):
                part[0] = 1
    del junk


def test_a_view_is_made_by_a_matcher() -> None:
    with pytest.raises(TypeError, match="mask_view"):
        tokfsm.MaskView()
