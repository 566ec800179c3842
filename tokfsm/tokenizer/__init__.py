"""Tokenizer files -> `Vocabulary`.

A path in; the kind is told from the file's content, never from its name (a directory's files are
found by name, then told apart by content). One module a format, each returning a `TokenTable`; here
they are chosen, and the stop tokens added: the file's own if it declares any (GGUF), else those of
the configuration files beside it, else none. Every failure is a `VocabularyError` of one line that
starts with the path.
"""

from __future__ import annotations

import mmap
import os
import re
import stat
from fnmatch import fnmatchcase
from typing import BinaryIO

from tokfsm.errors import VocabularyError
from tokfsm.tokenizer import gguf, hf_json, sentencepiece_model, siblings, tekken, tiktoken_ranks
from tokfsm.tokenizer.table import TokenTable, parse_object
from tokfsm.vocabulary import Vocabulary

__all__ = ["read_tokenizer"]

_EXPECTED = (
    "expected a Hugging Face tokenizer.json, a SentencePiece model, a Mistral tekken.json, a tiktoken"
    " rank file or a GGUF file"
)

# Files of a model directory: the first of these names, else the only file that fits a pattern.
_NAMES = ("tokenizer.json", "tokenizer.model", "tekken.json")
_PATTERNS = ("tokenizer.model.*", "*.model", "tekken_*.json", "*.tiktoken", "*.gguf")
_LATER_PART = re.compile(r"-(?!00001)[0-9]{5}-of-[0-9]{5}\.gguf\Z")  # the first part has the tokens
_NOT_TEXT_MODEL = "mmproj*.gguf"  # the projector that goes with a multimodal model

_OTHER_KINDS = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a RIFF file (WebP, WAV, AVI)"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (or a PyTorch checkpoint)"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard-compressed data"),
    (b"\x7fELF", "a program"),
    (b"version https://git-lfs", "a Git LFS pointer in place of the file itself (fetch it with git lfs pull)"),
    (b"<", "an HTML or XML page"),
    (b"[PAD]", "a WordPiece vocab.txt, whose tokens have no bytes of their own"),
    (b"#version:", "a BPE merges.txt without its vocabulary"),
    (b"[", "a JSON text that is no object"),
    (b'"', "a JSON text that is no object"),
)


def read_tokenizer(path: str | os.PathLike[str]) -> Vocabulary:
    """Read a tokenizer file or model directory; see `Vocabulary.from_file`.

    Raises
    ------
    VocabularyError
        The path leads to nothing that can be read, or to no tokenizer of a known kind.
    """
    name = os.fsdecode(path)
    try:
        if os.path.isdir(name):
            name = _file_in_directory(name)
        table = _read_file(name)
        stops = table.stop_token_ids or siblings.stop_token_ids(os.path.dirname(name), table.find)
    except OSError as error:
        raise VocabularyError(
            f"{error.filename or name}: cannot be read ({error.strerror or error}); {_EXPECTED}"
        ) from None
    except ValueError as error:
        if isinstance(error, VocabularyError):
            raise
        raise VocabularyError(f"{name!r}: not a path ({error})") from None
    # A rank file holds ordinary tokens only, and pieces may lack what a model added to them: an id
    # that the configuration gives a meaning is an id of the vocabulary, without bytes.
    missing = max(stops, default=-1) + 1 - len(table.tokens)
    try:
        return Vocabulary.from_bytes(table.tokens + [None] * missing, stops)
    except VocabularyError as error:
        raise VocabularyError(f"{name}: {error}") from None


def _file_in_directory(directory: str) -> str:
    """The tokenizer file of a model directory."""
    present = sorted(os.listdir(directory))
    for name in _NAMES:
        if name in present:
            return os.path.join(directory, name)
    fitting = [
        name
        for name in present
        if any(fnmatchcase(name, pattern) for pattern in _PATTERNS)
        and not _LATER_PART.search(name)
        and not fnmatchcase(name, _NOT_TEXT_MODEL)
    ]
    if len(fitting) == 1:
        return os.path.join(directory, fitting[0])
    if not fitting:
        raise VocabularyError(f"{directory}: a directory without a tokenizer; {_EXPECTED} in it")
    raise VocabularyError(f"{directory}: a directory with several tokenizers ({', '.join(fitting[:4])}); name the file")


def _read_file(name: str) -> TokenTable:
    with open(name, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise VocabularyError(f"{name}: not a regular file; {_EXPECTED}")
        if status.st_size == 0:
            raise VocabularyError(f"{name}: the file is empty; {_EXPECTED}")
        head = file.read(4096)
        file.seek(0)
        if head.startswith(gguf.MAGIC):
            # gigabytes of tensors follow the header: map it
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return gguf.read(data, name)
        return _read_small(file, head, name)


def _read_small(file: BinaryIO, head: bytes, name: str) -> TokenTable:
    """The kinds that are read whole."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    if text.startswith(b"{"):
        document = parse_object(file.read(), name)
        if tekken.looks_like(document):
            return tekken.read(document, name)
        if "model" in document:
            return hf_json.read(document, name)
        members = ", ".join(repr(key[:30]) for key in list(document)[:4]) or "nothing"
        raise VocabularyError(f"{name}: a JSON object with {members}, but no tokenizer; {_EXPECTED}")
    if sentencepiece_model.looks_like(head):
        return sentencepiece_model.read(file.read(), name)
    if tiktoken_ranks.looks_like(head):
        return tiktoken_ranks.read(file.read(), name)
    if not text:
        raise VocabularyError(f"{name}: the file is blank; {_EXPECTED}")
    for magic, kind in _OTHER_KINDS:
        if text.startswith(magic):
            raise VocabularyError(f"{name}: {kind}; {_EXPECTED}")
    raise VocabularyError(f"{name}: a file of unknown kind (it starts with {head[:12]!r}); {_EXPECTED}")
