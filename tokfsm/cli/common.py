"""What the commands share: reading input, the language options, and figures in words."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import tokfsm

_MAX_INPUT_BYTES = 1 << 30  # of a schema or a value; the library has tighter limits of its own


class BadInput(Exception):
    """Something that the user gave cannot be used; the message is the whole line."""


class Inputs:
    """The files that a command reads. ``-`` is standard input, which can be read once."""

    def __init__(self) -> None:
        self._stdin_for: str | None = None

    def read(self, path: str, what: str) -> bytes:
        if path == "-":
            if self._stdin_for is not None:
                raise BadInput(f"standard input is read for the {self._stdin_for} already")
            self._stdin_for = what
            data = sys.stdin.buffer.read(_MAX_INPUT_BYTES + 1)
        else:
            if os.path.isdir(path):
                raise BadInput(f"{path}: a directory, not a {what}")
            with open(path, "rb") as file:
                data = file.read(_MAX_INPUT_BYTES + 1)
        if len(data) > _MAX_INPUT_BYTES:
            raise BadInput(f"{path}: the {what} is larger than {size(_MAX_INPUT_BYTES)}")
        if not data:
            raise BadInput(f"{path}: the {what} is empty")
        return data


def add_language_options(parser: argparse.ArgumentParser) -> None:
    """The keyword arguments of `tokfsm.compile`; what is not given is left to it."""
    group = parser.add_argument_group(
        "language", "what is written, and how; see docs/spelling.md. Kept in the artifact.")
    space = group.add_mutually_exclusive_group()
    space.add_argument("--whitespace", choices=("compact", "spaced", "flexible"),
                       help="white space inside the value (default: compact)")
    space.add_argument("--indent", type=_count, metavar="n",
                       help="line breaks and n spaces a level, as json.dumps(indent=n)")
    group.add_argument("--max-whitespace", type=_count_or_none, metavar="n",
                       help="longest run of white space under flexible, or 'none' (default: 40)")
    group.add_argument("--property-order", choices=("any", "schema"),
                       help="order of an object's properties (default: any)")
    group.add_argument("--additional-properties", choices=("spec", "closed"),
                       help="closed: no property that the schema does not name (default: spec)")
    group.add_argument("--escapes", choices=("all", "minimal"),
                       help="spellings of characters in free strings (default: all)")
    group.add_argument("--numbers", choices=("plain", "any"),
                       help="any: 1.0 is written for an integer too (default: plain)")
    group.add_argument("--max-digits", type=_count, metavar="n",
                       help="most digits in each part of a number (default: no limit)")
    group.add_argument("--draft", choices=("4", "6", "7", "2019-09", "2020-12"),
                       help="dialect of the schema (default: by $schema, else 2020-12)")
    group.add_argument("--resource", action="append", type=_resource, metavar="URI=file", dest="resources",
                       help="a document that references in the schema can lead to; may be repeated")
    group.add_argument("--format", choices=("assert", "annotate"), dest="format_",
                       help="whether format binds (default: assert)")
    group.add_argument("--unsupported", choices=("error", "relax"),
                       help="what happens to a keyword that cannot be honoured exactly: an error, or it is left out, "
                            "so that more is accepted, and listed (default: error)")


def language_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options that were given, as keyword arguments of `tokfsm.compile`."""
    given: dict[str, Any] = {
        name: value for name in (
            "whitespace", "indent", "property_order", "additional_properties", "escapes",
            "numbers", "max_digits", "draft", "unsupported")
        if (value := getattr(args, name)) is not None}
    if args.format_ is not None:
        given["format"] = args.format_
    if args.resources:
        given["resources"] = {}
        for uri, path in args.resources:
            if uri in given["resources"]:
                raise BadInput(f"--resource is given twice for {uri}")
            given["resources"][uri] = Inputs().read(path, "resource")
    if args.max_whitespace is not None:
        if args.whitespace != "flexible":
            raise BadInput("--max-whitespace goes with --whitespace flexible")
        given["max_whitespace"] = None if args.max_whitespace == "none" else args.max_whitespace
    return given


def relaxed_lines(automaton: tokfsm.Automaton) -> list[str]:
    """What ``--unsupported relax`` loosened, a line each; nothing where nothing was."""
    return [f"  relaxed {one.keyword} at {one_line(one.pointer or 'the root')}: {one_line(one.reason)}"
            for one in automaton.relaxed]


def read_vocabulary(name: str) -> tokfsm.Vocabulary:
    """A tokenizer's vocabulary: a file, a model directory, or ``smollm2``."""
    from tokfsm.integrations.mlx_gguf import SMOLLM2, find_model

    if name == "-":
        raise BadInput("a tokenizer cannot be read from standard input; give its path")
    return tokfsm.Vocabulary.from_file(find_model(name) if name == SMOLLM2 else Path(name))


def compile_schema(schema: bytes, vocab: tokfsm.Vocabulary, options: dict[str, Any],
                   cancel: tokfsm.Cancel) -> tokfsm.Automaton:
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", tokfsm.TokfsmWarning)
            automaton = tokfsm.compile(schema, vocab, cancel=cancel, **options)
        for one in caught:
            print(f"tokfsm: warning: {one_line(str(one.message))}", file=sys.stderr)
        return automaton
    except tokfsm.TokfsmError:
        raise
    except ValueError as error:  # an option out of its range
        raise BadInput(str(error)) from error


def load_artifact(path: str, tokenizer: str | None = None,
                  inputs: Inputs | None = None) -> tuple[tokfsm.Automaton, int]:
    """Open an artifact; with its size in bytes."""
    vocab = read_vocabulary(tokenizer) if tokenizer else None
    if path != "-":
        if os.path.isdir(path):
            raise BadInput(f"{path}: a directory, not an artifact")
        return tokfsm.load(path, vocab=vocab), os.path.getsize(path)
    data = (inputs or Inputs()).read(path, "artifact")
    with tempfile.TemporaryDirectory(prefix="tokfsm-") as folder:
        copy = Path(folder, "standard-input.tokfsm")
        copy.write_bytes(data)
        return tokfsm.load(copy, vocab=vocab), len(data)


def size(n_bytes: int) -> str:
    """Bytes as people say them: ``"17 bytes"``, ``"1.2 MB"`` (powers of 1,000)."""
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    value = float(n_bytes)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.5:
            break
    return f"{value:.3g} {unit}"


def one_line(text: str) -> str:
    """Text that stays on its line and sends no control character to a terminal."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a count")
    return int(text)


def _resource(text: str) -> tuple[str, str]:
    uri, mark, path = text.rpartition("=")  # a URI may have one; a path seldom does
    if not mark or not uri or path in ("", "-"):
        raise argparse.ArgumentTypeError(f"{text!r} is not URI=file")
    return uri, path


def _count_or_none(text: str) -> int | str:
    return text if text == "none" else _count(text)
