"""The command ``tokfsm``: arguments in, exit status out; one file a command.

    0    done; for ``check``: accepted
    1    ``check``: refused
    2    bad input: a file, a schema, an argument; also a limit that was reached
    70   a bug in tokfsm
    130  interrupted          141  the reader of standard output went away

Whatever goes wrong is one line on standard error, never a traceback; set
``TOKFSM_DEBUG=1`` to see one. Results go to standard output, progress to standard
error.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from tokfsm.errors import InternalError, TokfsmError

from .common import BadInput, one_line

__all__ = ["main"]

BAD_INPUT, OUR_BUG, INTERRUPTED, BROKEN_PIPE = 2, 70, 130, 141


class _Parser(argparse.ArgumentParser):
    """argparse, with its errors on one line."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message} (see {self.prog} --help)")


def _parser() -> argparse.ArgumentParser:
    from . import bench, check_, compile_, generate, inspect_

    parser = _Parser(prog="tokfsm", description="Compile JSON Schemas into exact token masks.")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(metavar="command", dest="command")
    for command in (compile_, inspect_, check_, generate, bench):
        command.add_to(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status. `argv` without the program's name."""
    try:
        status = _run(argv)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Nobody reads on; keep the interpreter's own flush at exit from complaining.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except SystemExit as end:  # argparse: --help
        return end.code if isinstance(end.code, int) else 0
    except Exception as error:
        if os.environ.get("TOKFSM_DEBUG"):
            raise
        message, status = _explain(error)
        print(f"tokfsm: error: {one_line(message)}", file=sys.stderr)
        return status


def _run(argv: Sequence[str] | None) -> int:
    parser = _parser()
    args = parser.parse_args(argv)
    if args.version:
        print(f"tokfsm {_version()}")
        return 0
    if args.command is None:
        parser.error("a command is needed")
    status: int = args.run(args)
    return status


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("tokfsm")
    except PackageNotFoundError:
        return "(not installed)"


def _explain(error: Exception) -> tuple[str, int]:
    """An exception as a line and an exit status."""
    message = str(error)
    if isinstance(error, InternalError):
        return f"a bug in tokfsm: {message}", OUR_BUG
    if isinstance(error, (TokfsmError, BadInput)):
        return message, BAD_INPUT
    if isinstance(error, OSError) and error.strerror:
        name = error.filename
        return f"{os.fsdecode(name)}: {error.strerror}" if name else error.strerror, BAD_INPUT
    if isinstance(error, MemoryError):
        return "out of memory", BAD_INPUT
    return f"a bug in tokfsm: {type(error).__name__}: {message}", OUR_BUG
