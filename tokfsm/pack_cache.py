"""Vocabulary packs on disk, one file a fingerprint.

Fingerprint and pack version in, pack bytes out (or None). The cache is an optimisation and
never a reason to fail: what cannot be read counts as absent, what cannot be written is not
written. Files appear whole (written beside their place and renamed over it), so that any number of
processes may race: the last one wins, with the same bytes. Nothing is verified here; whoever opens
the bytes does that, and stores good ones over bad ones.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

__all__ = ["cache_dir", "load_pack", "pack_path", "store_pack"]


def cache_dir() -> Path | None:
    """Directory of the packs; it need not exist. None if the user has no home directory.

    ``$TOKFSM_CACHE_DIR``, else ``$XDG_CACHE_HOME/tokfsm``, else ``~/.cache/tokfsm``; on Windows
    ``%LOCALAPPDATA%\\tokfsm`` in place of the last two. An empty variable counts as unset.

    Source: XDG Base Directory Specification 0.8 (a relative ``$XDG_CACHE_HOME`` is ignored).
    """
    own = os.environ.get("TOKFSM_CACHE_DIR")
    if own:
        return Path(own)
    base = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    if base and os.path.isabs(base):
        return Path(base) / "tokfsm"
    try:
        return Path.home() / ".cache" / "tokfsm"
    except RuntimeError:  # no $HOME and no entry in the user database
        return None


def pack_path(fingerprint: str, version: int) -> Path | None:
    """Where the pack of a vocabulary lies, or would lie."""
    directory = cache_dir()
    return None if directory is None else directory / f"{fingerprint}-v{version}.tokpack"


def load_pack(fingerprint: str, version: int) -> bytes | None:
    """The stored bytes, unverified; None if there are none that can be read."""
    path = pack_path(fingerprint, version)
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError:
        return None


def store_pack(fingerprint: str, version: int, data: bytes) -> bool:
    """Write the pack's bytes in place of any that are there.

    Returns
    -------
    bool
        False if they could not be written; what was there before is then still there.
    """
    path = pack_path(fingerprint, version)
    if path is None:
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)
    except OSError:
        return False
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, path)  # the same directory: atomic
    except BaseException as error:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        if isinstance(error, OSError):  # disk full; or, on Windows, a file someone has open
            return False
        raise
    return True
