"""The automaton in Python: matchers, artifacts, what is known of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, final

from tokfsm import _core, pack_cache
from tokfsm._matcher import Matcher, start_matcher
from tokfsm.errors import ArtifactError, PackMissingError, TokfsmError, VocabularyMismatchError
from tokfsm.vocabulary import Vocabulary

__all__ = ["OPTION_CODES", "Automaton", "Relaxed", "load"]

# Values of the options as the C header numbers them.
OPTION_CODES: dict[str, dict[Any, int]] = {
    "property_order": {"any": 0, "schema": 1},
    "additional_properties": {"spec": 0, "closed": 1},
    "whitespace": {"compact": 0, "spaced": 1, "flexible": 2, "indent": 3},
    "escapes": {"all": 0, "minimal": 1},
    "numbers": {"plain": 0, "any": 1},
    "format": {"assert": 0, "annotate": 1},
    "unsupported": {"error": 0, "relax": 1},
    "draft": {None: 0, "4": 4, "6": 6, "7": 7, "2019-09": 8, "2020-12": 9},
}
_UNBOUNDED = 0xFFFFFFFF


class Relaxed(NamedTuple):
    """What ``unsupported="relax"`` loosened, and why.

    Attributes
    ----------
    pointer : str
        Of the keyword, as in `SchemaError.pointer`.
    keyword : str
        The keyword that is left out, or asks less than it says.
    reason : str
    """

    pointer: str
    keyword: str
    reason: str


@final
class Automaton:
    """A schema compiled for a vocabulary. Append-only; may be shared among threads.

    Made by `tokfsm.compile` or `tokfsm.load`.
    """

    __slots__ = ("_handle",)

    def __init__(self, handle: _core.Automaton) -> None:
        """Not for callers: use `tokfsm.compile` or `tokfsm.load`."""
        if not isinstance(handle, _core.Automaton):
            raise TypeError("use tokfsm.compile or tokfsm.load")
        self._handle = handle

    def matcher(self, stop_token_ids: Iterable[int] | None = None, *, max_rollback: int | None = None) -> Matcher:
        """A matcher at the start of a text.

        Parameters
        ----------
        stop_token_ids : iterable of int, optional
            Ids that end the generation; default: the vocabulary's. Each loses its bytes.
        max_rollback : int, optional
            Tokens that `rollback` can undo; default: all.

        Raises
        ------
        RangeError
            A stop id is outside the vocabulary.
        """
        return start_matcher(self._handle, stop_token_ids, max_rollback)

    def precompile(self, *, cancel: _core.Cancel | None = None) -> None:
        """Explore ahead of time all that is reachable. Masks stay the same, bit for bit.

        Raises
        ------
        LimitError
            The schema cannot be explored to its end within the limits; the automaton still works.
        CancelledError
        """
        self._handle.precompile(cancel)

    def save(self, path: str | os.PathLike[str], *, embed_pack: bool = True, cancel: _core.Cancel | None = None) -> None:
        """Write a ``.tokfsm`` artifact; explores first what is not yet explored.

        The file appears whole or not at all. Its bytes depend on schema, vocabulary and options
        alone. Without `embed_pack` the pack is written beside it, once per vocabulary.

        Raises
        ------
        LimitError, CancelledError
        OSError
            The file cannot be written.
        """
        data = self._handle.save(embed_pack, cancel)
        path = Path(path)
        if not embed_pack and not (path.parent / self._pack_name).exists():
            _write_whole(path.parent / self._pack_name, self._pack_bytes())
        _write_whole(path, data)

    def to_bytes(self, *, embed_pack: bool = True) -> bytes:
        """What `save` writes."""
        return self._handle.save(embed_pack)

    @property
    def vocab_size(self) -> int:
        """Number of token ids; bits at and past it are always 0."""
        return self._handle.vocab_size

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the vocabulary, hexadecimal."""
        return self._handle.fingerprint

    @property
    def stop_token_ids(self) -> tuple[int, ...]:
        """The default stop set, ascending."""
        return self._handle.stop_token_ids

    @property
    def schema(self) -> bytes | None:
        """The schema's text as compiled; None if the artifact does not have it."""
        return self._handle.schema

    @property
    def relaxed(self) -> tuple[Relaxed, ...]:
        """What ``unsupported="relax"`` loosened, in the order of the schema's text.

        Empty: every mask is exact. Else the language is wider than the schema's: all that is valid
        can be generated, and what is not valid only by these keywords can be too.
        """
        return tuple(Relaxed(*one) for one in self._handle.relaxed())

    @property
    def options(self) -> dict[str, Any]:
        """The language options, under the names of `tokfsm.compile`."""
        codes = self._handle.options()
        names = {name: {code: value for value, code in values.items()} for name, values in OPTION_CODES.items()}
        found: dict[str, Any] = {name: names[name][codes[name]] for name in OPTION_CODES}
        found["max_whitespace"] = None if codes["max_whitespace"] == _UNBOUNDED else codes["max_whitespace"]
        found["max_digits"] = None if codes["max_digits"] == _UNBOUNDED else codes["max_digits"]
        found["indent"] = codes["indent"] if found["whitespace"] == "indent" else None
        if found["indent"] is not None:
            found["whitespace"] = None
        return found

    @property
    def statistics(self) -> dict[str, Any]:
        """Counts of parts made so far, bytes, and whether the automaton is frozen and closed."""
        found: dict[str, Any] = self._handle.statistics()
        found["frozen"], found["closed"] = bool(found["frozen"]), bool(found["closed"])
        return found

    @property
    def _pack_name(self) -> str:
        return f"{self.fingerprint}-v{_core.PACK_VERSION}.tokpack"

    def _pack_bytes(self) -> bytes:
        return self._handle.pack_bytes()

    def __repr__(self) -> str:
        return f"Automaton(vocab_size={self.vocab_size}, stop_token_ids={self.stop_token_ids})"


def load(path: str | os.PathLike[str], vocab: Vocabulary | None = None) -> Automaton:
    """Open a ``.tokfsm`` artifact; every byte of it is verified.

    Parameters
    ----------
    path : path
    vocab : Vocabulary, optional
        Where the pack is not embedded; else it is looked for beside the artifact and in the
        user's cache. Given for an artifact of another vocabulary, it is refused.

    Raises
    ------
    ArtifactCorruptError, ArtifactVersionError
        The file is cut off, damaged, of another kind or of another version.
    VocabularyMismatchError
        It was compiled for another vocabulary.
    PackMissingError
    OSError
        The file cannot be read.

    Source: docs/format.md.
    """
    data = Path(path).read_bytes()
    fingerprint, has_pack = _core.artifact_probe(data)
    if vocab is not None and vocab.fingerprint != fingerprint:
        raise VocabularyMismatchError(
            f"{os.fspath(path)} was compiled for the vocabulary {fingerprint[:16]}…, not for {vocab.fingerprint[:16]}…")
    pack = vocab._pack if vocab is not None else None if has_pack else _find_pack(Path(path), fingerprint)
    return Automaton(_core.Automaton.open(data, pack, None))


def _find_pack(path: Path, fingerprint: str) -> _core.Pack:
    beside = path.parent / f"{fingerprint}-v{_core.PACK_VERSION}.tokpack"
    candidates = [beside.read_bytes()] if beside.exists() else []
    cached = pack_cache.load_pack(fingerprint, _core.PACK_VERSION)
    if cached is not None:
        candidates.append(cached)
    for data in candidates:
        try:
            pack = _core.Pack.open(data)
        except ArtifactError:
            continue
        except TokfsmError:
            continue
        if pack.fingerprint == fingerprint:
            return pack
    raise PackMissingError(f"the pack of the vocabulary {fingerprint[:16]}… is neither in {os.fspath(path)}, nor beside "
                           "it, nor in the cache; give the vocabulary to load()")


def _write_whole(path: Path, data: bytes) -> None:
    """Write beside the place, then rename over it: readers see the old file or the new one.

    A link is followed. What is no regular file, a pipe or a device, is written to as it stands.
    An OSError names the path that was given, not the temporary file beside it.
    """
    try:
        _write_beside(Path(os.path.realpath(path)), data)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _write_beside(path: Path, data: bytes) -> None:
    if path.exists() and not path.is_file() and not path.is_dir():
        with open(path, "wb") as stream:
            stream.write(data)
        return
    descriptor, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
