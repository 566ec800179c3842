"""``tokfsm inspect``: what a .tokfsm file holds."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

import tokfsm

from .common import load_artifact, one_line, relaxed_lines, size
from .progress import states

_SCHEMA_SHOWN = 200


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "inspect", help="say what an artifact holds",
        description="Verify an artifact and say what it holds.")
    parser.add_argument("artifact", help="a .tokfsm file; - reads standard input")
    parser.add_argument("--tokenizer", metavar="file",
                        help="for an artifact without its pack: the tokenizer that it was made for")
    parser.add_argument("--json", action="store_true", help="print JSON, the schema's whole text with it")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    automaton, n_bytes = load_artifact(args.artifact, args.tokenizer)
    if args.json:
        print(json.dumps(_record(automaton, n_bytes), indent=2, ensure_ascii=True))
    else:
        print(_text(args.artifact, automaton, n_bytes))
    return 0


def _record(automaton: tokfsm.Automaton, n_bytes: int) -> dict[str, Any]:
    schema = automaton.schema
    return {
        "bytes": n_bytes,
        "vocab_size": automaton.vocab_size,
        "fingerprint": _hex(automaton.fingerprint),
        "stop_token_ids": sorted(automaton.stop_token_ids),
        "options": automaton.options,
        "relaxed": [one._asdict() for one in automaton.relaxed],
        "statistics": automaton.statistics,
        "schema": None if schema is None else schema.decode(),
    }


def _text(name: str, automaton: tokfsm.Automaton, n_bytes: int) -> str:
    found, options = automaton.statistics, automaton.options
    stops = ", ".join(map(str, sorted(automaton.stop_token_ids))) or "none"
    lines = [
        f"{os.fspath(name)}: {size(n_bytes)}, verified",
        f"  vocabulary  {automaton.vocab_size:,} tokens, fingerprint {_hex(automaton.fingerprint)}",
        f"  stop ids    {stops}",
        "  options     " + ", ".join(f"{key}={_plain(value)}" for key, value in options.items()),
        f"  states      {states(found):,}: {found['values']:,} of values, {found['frames']:,} of objects "
        f"and arrays, {found['string_states']:,} of strings, {found['number_states']:,} of numbers",
        f"  masks       {found['masks']:,} ({size(found['mask_bytes'])})",
        f"  memory      {size(found['bytes'])} beside the pack",
    ]
    lines += relaxed_lines(automaton)
    schema = automaton.schema
    if schema is not None:
        text = schema.decode()
        shown = text if len(text) <= _SCHEMA_SHOWN else f"{text[:_SCHEMA_SHOWN]}… (whole with --json)"
        lines.append(f"  schema      {size(len(schema))}: {one_line(shown)}")
    return "\n".join(lines)


def _plain(value: object) -> str:
    return "none" if value is None else str(value)


def _hex(fingerprint: bytes | str) -> str:
    return fingerprint if isinstance(fingerprint, str) else fingerprint.hex()
