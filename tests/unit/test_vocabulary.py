"""Vocabulary: bytes and ids, immutability, stop sets, and when the pack is built, stored, replaced."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import tokfsm
from tokfsm import pack_cache
from tokfsm.errors import ArtifactCorruptError, TokfsmError, VocabularyError
from tokfsm.vocabulary import Vocabulary

TOKENS = [b"a", None, b"\xff\x00", b"", b"a"]


def test_tokens_by_id():
    vocabulary = Vocabulary.from_bytes(TOKENS, stop_token_ids=[3, 1, 3])
    assert vocabulary.size == 5
    assert [vocabulary.token_bytes(i) for i in range(5)] == [b"a", None, b"\xff\x00", None, b"a"]
    assert vocabulary.token_bytes(np.int64(2)) == b"\xff\x00"  # type: ignore[arg-type]
    assert vocabulary.stop_token_ids == (3, 1)
    assert repr(vocabulary) == "Vocabulary(size=5, stop_token_ids=(3, 1))"


def test_what_the_pack_takes():
    vocabulary = Vocabulary.from_bytes(TOKENS)
    assert vocabulary._blob == b"a\xff\x00a"
    assert vocabulary._offsets.dtype == np.uint64
    assert vocabulary._offsets.flags.c_contiguous
    assert vocabulary._offsets.tolist() == [0, 1, 1, 3, 3, 4]


@pytest.mark.parametrize("one", [-1, 5, 1 << 70])
def test_ids_out_of_range(one):
    vocabulary = Vocabulary.from_bytes(TOKENS)
    with pytest.raises(VocabularyError, match=f"{one} is out of range; expected 0 to 4"):
        vocabulary.token_bytes(one)
    with pytest.raises(VocabularyError, match=f"{one} is out of range; expected 0 to 4"):
        Vocabulary.from_bytes(TOKENS, [one])
    with pytest.raises(VocabularyError):
        vocabulary.with_stop_token_ids([0, one])


def test_bad_tokens(monkeypatch):
    with pytest.raises(VocabularyError, match="no token"):
        Vocabulary.from_bytes([])
    with pytest.raises(VocabularyError, match="no token of the vocabulary has any bytes"):
        Vocabulary.from_bytes([None, b""])
    with monkeypatch.context() as patch:
        patch.setattr("tokfsm.vocabulary.MAX_VOCAB_SIZE", 4)
        with pytest.raises(VocabularyError, match="5 ids; at most 4"):
            Vocabulary.from_bytes(TOKENS)
    with pytest.raises(TypeError, match="token 1 is a str"):
        Vocabulary.from_bytes([b"a", "b"])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        Vocabulary.from_bytes([b"a"]).token_bytes("0")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="from_bytes"):
        Vocabulary([b"a"], ())  # type: ignore[arg-type]


def test_immutable():
    listed = list(TOKENS)
    vocabulary = Vocabulary.from_bytes(listed)
    listed[0] = b"changed"
    assert vocabulary.token_bytes(0) == b"a"
    for change in ("size", "stop_token_ids", "_tokens", "new"):
        with pytest.raises(AttributeError):
            setattr(vocabulary, change, 1)
    with pytest.raises(AttributeError):
        del vocabulary._tokens
    with pytest.raises(ValueError, match="read-only"):
        vocabulary._offsets[0] = 1


def test_another_stop_set_shares_the_tokens():
    vocabulary = Vocabulary.from_bytes(TOKENS, [1])
    other = vocabulary.with_stop_token_ids([0])
    assert other.stop_token_ids == (0,)
    assert vocabulary.stop_token_ids == (1,)
    assert other._offsets is vocabulary._offsets


class FakePack:
    """Stands for the C pack: its file is the fingerprint behind a magic."""

    built = 0

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint

    @classmethod
    def build(cls, blob: bytes, offsets: np.ndarray) -> FakePack:
        time.sleep(0.02)
        cls.built += 1
        return cls(FakeCore.vocabulary_fingerprint(blob, offsets))

    @classmethod
    def open(cls, data: bytes) -> FakePack:
        if data[:4] != b"PACK":
            raise ArtifactCorruptError("no pack")
        return cls(data[4:].decode())

    def save(self) -> bytes:
        return b"PACK" + self.fingerprint.encode()


class FakeCore:
    PACK_VERSION = 7
    Pack = FakePack

    @staticmethod
    def vocabulary_fingerprint(blob: bytes, offsets: np.ndarray) -> str:
        return (blob + offsets.tobytes()).hex()[:40]


@pytest.fixture
def core(monkeypatch, tmp_path):
    monkeypatch.setattr(tokfsm, "_core", FakeCore, raising=False)
    monkeypatch.setattr(FakePack, "built", 0)
    monkeypatch.setenv("TOKFSM_CACHE_DIR", str(tmp_path / "cache"))
    return FakeCore


def test_pack_is_built_once_and_then_read(core, tmp_path):
    first = Vocabulary.from_bytes(TOKENS, [1])
    pack = first._pack
    assert first._pack is pack
    assert first.with_stop_token_ids([0])._pack is pack  # the stop set is no part of it
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [f"{first.fingerprint}-v7.tokpack"]
    assert Vocabulary.from_bytes(TOKENS)._pack.fingerprint == first.fingerprint
    assert FakePack.built == 1


@pytest.mark.parametrize("content", [b"", b"PAC", b"rubbish", b"PACKanother"])
def test_a_bad_stored_pack_is_rebuilt_and_replaced(core, content):
    vocabulary = Vocabulary.from_bytes(TOKENS)
    assert pack_cache.store_pack(vocabulary.fingerprint, 7, content)
    good = vocabulary._pack.save()
    assert FakePack.built == 1
    assert pack_cache.load_pack(vocabulary.fingerprint, 7) == good


def test_without_a_cache_the_pack_is_built_all_the_same(core, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("TOKFSM_CACHE_DIR", str(tmp_path / "file"))
    assert Vocabulary.from_bytes(TOKENS)._pack is not None


def test_threads_get_one_pack(core):
    vocabulary = Vocabulary.from_bytes(TOKENS)
    packs: list[object] = []
    threads = [threading.Thread(target=lambda: packs.append(vocabulary._pack)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(pack) for pack in packs}) == 1
    assert FakePack.built == 1


def test_the_real_pack(tmp_path, monkeypatch):
    """Needs the built extension; everything above does without."""
    pytest.importorskip("tokfsm._core")
    monkeypatch.setenv("TOKFSM_CACHE_DIR", str(tmp_path))
    tokens = [bytes([byte]) for byte in range(256)] + [None, b'"},', b"abc"]
    vocabulary = Vocabulary.from_bytes(tokens)
    fingerprint = vocabulary.fingerprint
    assert int(fingerprint, 16) >= 0
    assert vocabulary.with_stop_token_ids([0]).fingerprint == fingerprint
    assert Vocabulary.from_bytes([*tokens, b"more"]).fingerprint != fingerprint
    assert Vocabulary.from_bytes([*tokens, None]).fingerprint != fingerprint
    built = vocabulary._pack.save()
    (stored,) = tmp_path.iterdir()
    assert stored.read_bytes() == built
    assert Vocabulary.from_bytes(tokens)._pack.save() == built  # this one was read
    stored.write_bytes(built[: len(built) // 2])
    assert Vocabulary.from_bytes(tokens)._pack.save() == built
    assert stored.read_bytes() == built  # replaced


def test_vocabulary_errors_are_value_errors():
    assert issubclass(VocabularyError, (TokfsmError, ValueError))
