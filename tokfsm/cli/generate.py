"""``tokfsm generate``: a schema, a prompt and a model -> JSON on standard output."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from typing import Any

import tokfsm

from .common import (
    BadInput,
    Inputs,
    add_language_options,
    compile_schema,
    language_options,
    load_artifact,
    relaxed_lines,
)
from .progress import Progress

_STEPS = ("model", "schema")


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "generate", help="let a model write a value",
        description="Let a model write JSON that a schema allows. The JSON alone goes to standard output.")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--schema", metavar="json",
                        help="the schema's text, as '{\"type\": \"integer\"}', or the file with it behind an @, "
                             "as @schema.json; @- reads standard input")
    source.add_argument("--artifact", metavar="file",
                        help="a .tokfsm file made for the model's tokenizer; - reads standard input")
    parser.add_argument("--prompt", required=True, metavar="text",
                        help="what the model is asked; - reads standard input")
    parser.add_argument("--system", metavar="text", help="system message (default: the model's own)")
    parser.add_argument("--raw", action="store_true",
                        help="the prompt is in the model's own format, control tokens included")
    parser.add_argument("--runtime", choices=("mlx", "transformers", "llama-cpp"), default="mlx",
                        help="what runs the model (default: mlx)")
    parser.add_argument("--model", default="smollm2", metavar="name",
                        help="smollm2, or a file: for mlx a .gguf of the Llama architecture, for transformers a model "
                             "directory or .gguf, for llama-cpp a .gguf (default: smollm2)")
    parser.add_argument("--tokens", type=_tokens, default=256, metavar="n",
                        help="budget that the value is always completed in (default: 256)")
    parser.add_argument("--temperature", type=_temperature, default=0.0, metavar="t",
                        help="0: the likeliest token each time (default: 0)")
    parser.add_argument("--seed", type=_seed, metavar="s", help="of the sampling; default: a new one")
    parser.add_argument("--keep-going", action="store_true",
                        help="go on with free text after the value, up to the budget")
    parser.add_argument("--stats", action="store_true",
                        help="say on standard error how long it took")
    add_language_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    options = language_options(args)
    if args.artifact is not None and options:
        raise BadInput("an artifact has its language options in it; they go with --schema")
    if args.raw and args.system is not None:
        raise BadInput("--system does not go with --raw")
    if args.keep_going and args.runtime != "mlx":
        raise BadInput("--keep-going goes with --runtime mlx")
    inputs = Inputs()
    schema = None if args.schema is None else _schema(args.schema, inputs)
    prompt = (_text(inputs.read("-", "prompt"), "prompt") if args.prompt == "-" else args.prompt)

    from tokfsm.integrations.mlx_gguf import find_model
    from tokfsm.integrations.writers import open_writer

    with Progress(_STEPS) as progress:
        path = find_model(args.model)
        vocab = progress.step("model", lambda cancel: tokfsm.Vocabulary.from_file(path))
        # The schema first: it is refused at once, where the model takes a second to load.
        if schema is not None:
            text = schema
            automaton = progress.step("schema", lambda cancel: compile_schema(text, vocab, options, cancel))
            for line in relaxed_lines(automaton):
                print(line, file=sys.stderr)
        else:
            automaton, _ = load_artifact(args.artifact, inputs=inputs)
            if automaton.fingerprint != vocab.fingerprint:
                raise tokfsm.VocabularyMismatchError(
                    f"{args.artifact}: compiled for another tokenizer than that of {path}")
        # MLX keeps to the thread that made its arrays.
        writer = open_writer(args.runtime, path)

    ids = writer.encode(prompt, args.system, args.raw)
    if len(ids) + args.tokens > writer.context:
        raise BadInput(f"a prompt of {len(ids)} tokens and {args.tokens} more: the model takes {writer.context}")

    out = sys.stdout.buffer
    begin = time.perf_counter()
    first, n_tokens = begin, 0
    more: Any = {"keep_going": True} if args.keep_going else {}
    for token in writer.write(ids, automaton, max_tokens=args.tokens, temperature=args.temperature, seed=args.seed,
                              **more):
        out.write(vocab.token_bytes(token) or b"")
        out.flush()
        n_tokens += 1
        if n_tokens == 1:
            first = time.perf_counter()
    out.write(b"\n")
    out.flush()
    if args.stats:
        seconds = time.perf_counter() - first
        rate = f"{(n_tokens - 1) / seconds:.1f}" if n_tokens > 1 else "-"
        print(f"tokfsm: {len(ids)} tokens of prompt, first token after {first - begin:.2f} s, "
              f"{n_tokens} tokens, {rate} tokens/s", file=sys.stderr)
    return 0


def _schema(text: str, inputs: Inputs) -> bytes:
    if text == "-":
        return inputs.read("-", "schema")
    if text.startswith("@"):
        return inputs.read(text[1:], "schema")
    begun = text.strip()
    if not begun.startswith(("{", "[")) and begun not in ("true", "false"):
        if os.path.exists(text):
            raise BadInput(f"--schema takes the schema's text; for the file write --schema @{text}")
        raise BadInput(f"--schema {text!r} is no JSON text; give the text, as '{{\"type\": \"integer\"}}', or @file")
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes, what: str) -> str:
    try:
        return data.decode().rstrip("\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"the {what} is not UTF-8 (byte {error.start})") from error


def _tokens(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tokens")
    return int(text)


def _temperature(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a temperature (0 or more)")
    return value


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) >= 1 << 64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed (0 to 2^64 - 1)")
    return int(text)
