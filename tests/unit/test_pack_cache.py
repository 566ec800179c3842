"""Where packs are stored, that they appear whole, and that nothing here ever fails."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from tokfsm import pack_cache


@pytest.fixture
def directory(monkeypatch, tmp_path) -> Path:
    monkeypatch.setenv("TOKFSM_CACHE_DIR", str(tmp_path / "a" / "b"))
    return tmp_path / "a" / "b"


def test_directory_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("TOKFSM_CACHE_DIR", "")
    assert pack_cache.cache_dir() == Path.home() / ".cache" / "tokfsm"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert pack_cache.cache_dir() == Path.home() / ".cache" / "tokfsm"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert pack_cache.cache_dir() == tmp_path / "xdg" / "tokfsm"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert pack_cache.cache_dir() == tmp_path / "local" / "tokfsm"
    monkeypatch.setenv("TOKFSM_CACHE_DIR", str(tmp_path / "own"))
    assert pack_cache.cache_dir() == tmp_path / "own"


def test_without_a_home(monkeypatch):
    def no_home() -> Path:
        raise RuntimeError("no home")

    for name in ("TOKFSM_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert pack_cache.cache_dir() is None
    assert pack_cache.load_pack("ab", 1) is None
    assert not pack_cache.store_pack("ab", 1, b"x")


def test_store_and_load(directory):
    assert pack_cache.load_pack("ab", 1) is None
    assert pack_cache.store_pack("ab", 1, b"one")
    assert pack_cache.store_pack("ab", 1, b"two")
    assert pack_cache.load_pack("ab", 1) == b"two"
    assert pack_cache.load_pack("ab", 2) is None
    assert [path.name for path in directory.iterdir()] == ["ab-v1.tokpack"]


def test_an_unusable_directory_is_no_cache(monkeypatch, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("TOKFSM_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert not pack_cache.store_pack("ab", 1, b"x")
    assert pack_cache.load_pack("ab", 1) is None


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file_and_no_other(monkeypatch, directory, error):
    assert pack_cache.store_pack("ab", 1, b"old")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(os, "replace", fail)
    if isinstance(error, OSError):
        assert not pack_cache.store_pack("ab", 1, b"new")
    else:
        with pytest.raises(KeyboardInterrupt):
            pack_cache.store_pack("ab", 1, b"new")
    assert pack_cache.load_pack("ab", 1) == b"old"
    assert len(list(directory.iterdir())) == 1


def test_writers_may_race(directory):
    contents = [bytes([n]) * 200_000 for n in range(4)]
    seen: list[bytes | None] = []

    def work(content: bytes) -> None:
        for _ in range(20):
            pack_cache.store_pack("ab", 1, content)
            seen.append(pack_cache.load_pack("ab", 1))

    threads = [threading.Thread(target=work, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(seen) <= set(contents)  # always whole, never absent
    assert len(list(directory.iterdir())) == 1
