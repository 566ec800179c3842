"""``tokfsm bench``: what a user's own schemas cost, here and in the engines that are installed."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tokfsm
from tokfsm.measure import clocks, side_by_side
from tokfsm.measure.engines import NAMES, Options
from tokfsm.measure.schema_costs import Cost, Request, serve
from tokfsm.measure.workers import Reply, Worker

from .common import BadInput, Inputs, add_language_options, compile_schema, language_options, one_line, read_vocabulary

_POINTS = (50.0, 99.0, 100.0)
_PEERS = tuple(name for name in NAMES if not name.startswith("tokfsm"))
_PLOTS = (".png", ".svg")
#: What is measured where no schema is given.
_SAMPLES: dict[str, Any] = {
    "(sample) tool call": {
        "type": "object",
        "properties": {
            "name": {"enum": ["search", "read", "write"]},
            "arguments": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "minLength": 1, "maxLength": 200},
                    "limit": {"type": "integer", "minimum": 1},
                },
                "required": ["path"],
                "additionalProperties": False,
            },
        },
        "required": ["name", "arguments"],
        "additionalProperties": False,
    },
    "(sample) order": {
        "type": "object",
        "properties": {
            "id": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4,8}$"},
            "placed": {"type": "string", "format": "date"},
            "lines": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {
                        "article": {"type": "string"},
                        "count": {"type": "integer", "minimum": 1, "maximum": 999},
                        "price": {"type": "number", "minimum": 0},
                    },
                    "required": ["article", "count"],
                },
            },
        },
        "required": ["id", "lines"],
    },
    "(sample) tree": {
        "type": "object",
        "properties": {"label": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#"}}},
        "required": ["label"],
        "additionalProperties": False,
    },
}


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "bench",
        help="measure your own schemas, and other engines on them",
        description="Measure schemas: the time to the first mask, the time of a step (one mask and one token) on "
        "random walks by the masks, compiling ahead of time, and the artifact's size. Other engines that are "
        "installed replay texts that all of them can write, each in a process of its own.",
    )
    parser.add_argument(
        "schemas",
        nargs="*",
        metavar="schema",
        help="files with schemas; - reads standard input (default: three samples)",
    )
    parser.add_argument(
        "--tokenizer",
        required=True,
        metavar="file",
        help="tokenizer.json, .model, tekken.json, rank file, .gguf or model directory; smollm2",
    )
    parser.add_argument(
        "--engines",
        metavar="names",
        default=",".join(_PEERS),
        help=f"other engines, where they are installed (default: {','.join(_PEERS)}); none: 'none'",
    )
    parser.add_argument("--walks", type=_positive, default=32, metavar="n", help="walks a schema (default: 32)")
    parser.add_argument(
        "--steps", type=_positive, default=200, metavar="n", help="most tokens of a walk (default: 200)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="n", help="of the walks (default: 1)")
    parser.add_argument(
        "--seconds",
        type=_positive,
        default=60,
        metavar="n",
        help="longest time for a schema in one engine (default: 60)",
    )
    parser.add_argument(
        "--memory-gb", type=_positive, default=16, metavar="n", help="most memory of one engine (default: 16)"
    )
    parser.add_argument("--plot", metavar="file", help="write a plot, .png or .svg; needs matplotlib")
    parser.add_argument("--json", metavar="file", help="write every figure and every step's time")
    add_language_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    options = language_options(args)
    for path in (args.plot, args.json):
        if path and (os.path.isdir(path) or not os.path.isdir(os.path.dirname(path) or ".")):
            raise BadInput(f"{path}: {'a directory' if os.path.isdir(path) else 'its directory does not exist'}")
    if args.plot:
        if Path(args.plot).suffix not in _PLOTS:
            raise BadInput(f"{args.plot}: a plot is a {' or a '.join(_PLOTS)} file")
        _matplotlib()
    peers = [] if args.engines == "none" else [name for name in args.engines.split(",") if name]
    if unknown := [name for name in peers if name not in _PEERS]:
        raise BadInput(f"no engine {', '.join(unknown)}; there are {', '.join(_PEERS)}")
    inputs = Inputs()
    texts = {name: inputs.read(name, "schema") for name in dict.fromkeys(args.schemas)}
    if not texts:
        texts = {name: json.dumps(schema).encode() for name, schema in _SAMPLES.items()}
    vocab = read_vocabulary(args.tokenizer)
    compile_schema(b"true", vocab, options, tokfsm.Cancel())  # an option out of its range; the pack is built here
    tokens = [vocab.token_bytes(i) for i in range(vocab.size)]

    replies, empty = _costs(texts, tokens, vocab, options, args)
    costs = {name: reply.value for name, reply in replies.items() if reply.status == "ok" and not reply.value.error}
    for name, reply in replies.items():
        if name not in costs:
            why = reply.value.error if reply.status == "ok" else f"{reply.status}: {reply.value}"
            print(f"tokfsm: {one_line(name)}: {one_line(why)}", file=sys.stderr)
    if not costs:
        return 2
    print(f"{args.tokenizer}: {vocab.size:,} ids; {args.walks} walks of at most {args.steps} tokens, seed {args.seed}")
    _table(*_own(costs, empty))
    for name, cost in costs.items():
        if cost.ahead_error:
            print(f"  {one_line(name)}: not ahead of time: {one_line(cost.ahead_error)}")

    sides: dict[str, side_by_side.Side] = {}
    if peers:
        file = _tokenizer_file(args.tokenizer)
        cut = side_by_side.cutter(file, tokens)
        stop = vocab.stop_token_ids[0] if vocab.stop_token_ids else None
        engine_options = Options(file, "flexible", tokens, _stop(vocab) if stop is None else stop)
        sides, left_out = side_by_side.run(
            ["tokfsm", *peers],
            engine_options,
            [texts[name].decode("utf-8", "replace") for name in costs],
            [[cut(text) for text in cost.texts] for cost in costs.values()],
            args.seconds,
            args.memory_gb << 30,
            _progress,
        )
        _progress("")
        _show_sides(sides, left_out, len(costs), args.walks)
    if args.json:
        _write_json(args.json, costs, empty, sides)
    if args.plot:
        _plot(args.plot, costs, sides)
    return 0 if len(costs) == len(texts) else 2


def _costs(
    texts: dict[str, bytes],
    tokens: Sequence[bytes | None],
    vocab: tokfsm.Vocabulary,
    options: dict[str, Any],
    args: argparse.Namespace,
) -> tuple[dict[str, Reply], dict[str, float]]:
    """Each schema's cost in tokfsm, by name; and the empty interval of the clocks."""
    worker = Worker(serve, (tokens, vocab.stop_token_ids), args.memory_gb << 30)
    try:
        if (reply := worker.start()).status != "ok":
            raise BadInput(f"the measuring process did not start: {reply.value}")
        replies = {}
        for n, (name, text) in enumerate(texts.items()):
            _progress(f"tokfsm: schema {n + 1} of {len(texts)}")
            replies[name] = worker.call(Request(text, options, args.walks, args.steps, args.seed), args.seconds)
        _progress("")
        return replies, worker.hello["empty_ns"]
    finally:
        worker.stop()


def _quoted(wall_ns: Any, cpu_ns: Any, empty_cpu_ns: float) -> list[str]:
    """p50, p99 and the largest, in microseconds."""
    wall, cpu = (np.asarray(x, dtype=np.float64) for x in (wall_ns, cpu_ns))
    if not wall.size:
        return ["-"] * len(_POINTS)
    return [f"{x / 1e3:,.2f}" for x in clocks.quote(wall, cpu, empty_cpu_ns, _POINTS)["quoted"]]


def _own(costs: dict[str, Cost], empty: dict[str, float]) -> tuple[list[str], list[list[str]]]:
    header = ["", "first mask ms", "step us p50", "p99", "max", "tokens", "ahead of time ms", "artifact kB"]
    rows = []
    for name, cost in costs.items():
        ahead = ["-", "-"] if cost.ahead_error else [f"{cost.ahead_ns / 1e6:,.2f}", f"{cost.artifact_bytes / 1e3:,.1f}"]
        rows.append(
            [
                one_line(name),
                f"{cost.ttfm_ns[0] / 1e6:,.3f}",
                *_quoted(cost.step_wall_ns, cost.step_cpu_ns, empty["thread_cpu"]),
                f"{len(cost.step_wall_ns):,}",
                *ahead,
            ]
        )
    if len(costs) > 1:
        walls, cpus = (
            [x for cost in costs.values() for x in getattr(cost, kind)] for kind in ("step_wall_ns", "step_cpu_ns")
        )
        first = float(np.median([cost.ttfm_ns[0] for cost in costs.values()]))
        rows.append(
            [
                "all (first mask: median)",
                f"{first / 1e6:,.3f}",
                *_quoted(walls, cpus, empty["thread_cpu"]),
                f"{len(walls):,}",
                "",
                "",
            ]
        )
    return header, rows


def _show_sides(sides: dict[str, side_by_side.Side], left_out: dict[str, str], n_schemas: int, n_walks: int) -> None:
    if len(sides) > 1:
        n_texts, steps = side_by_side.shared_steps(sides)
        print(
            f"\nthe same texts in every engine; first masks of what it compiled, steps of the {n_texts} texts "
            f"that all of them followed"
        )
        rows = []
        for name, side in sides.items():
            results = [r for reply in side.replies if (r := side_by_side.result_of(reply)) is not None]
            first = np.asarray([r.ttfm_ns[0] for r in results], dtype=np.float64)
            followed = sum(sum(side_by_side.taken(r)) for r in results)
            wall, cpu = steps[name]
            rows.append(
                [
                    f"{name} {side.version}",
                    f"{len(results)} of {n_schemas}",
                    f"{followed} of {n_schemas * n_walks}",
                    *([f"{np.median(first) / 1e6:,.3f}", f"{first.max() / 1e6:,.3f}"] if first.size else ["-", "-"]),
                    *_quoted(wall, cpu, side.empty_ns["thread_cpu"]),
                ]
            )
        _table(["", "schemas", "texts", "first mask ms p50", "max", "step us p50", "p99", "max"], rows)
        for name, side in sides.items():
            for reply in side.replies:
                if side_by_side.result_of(reply) is None:
                    why = reply.value.error if reply.status == "ok" else f"{reply.status}: {reply.value}"
                    print(f"  {name}: {one_line(why)[:160]}")
    missing = [name for name, why in left_out.items() if why.startswith(("ModuleNotFoundError", "ImportError"))]
    if missing:
        print(f"\nnot installed: {', '.join(missing)}")
    for name in left_out.keys() - set(missing):
        print(f"{name} is left out: {one_line(left_out[name])[:200]}")


def _table(header: list[str], rows: list[list[str]]) -> None:
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        cells[0] = row[0].ljust(widths[0])
        print("  " + "  ".join(cells).rstrip())


def _write_json(
    path: str, costs: dict[str, Cost], empty: dict[str, float], sides: dict[str, side_by_side.Side]
) -> None:
    own = {
        name: {
            "ttfm_ns": c.ttfm_ns,
            "step_wall_ns": list(c.step_wall_ns),
            "step_cpu_ns": list(c.step_cpu_ns),
            "walks_finished": c.n_finished,
            "ahead_ns": c.ahead_ns,
            "artifact_bytes": c.artifact_bytes,
            "ahead_error": c.ahead_error,
        }
        for name, c in costs.items()
    }
    others: dict[str, Any] = {}
    for name, side in sides.items():
        others[name] = {"version": side.version, "empty_ns": side.empty_ns, "schemas": {}}
        for schema, reply in zip(costs, side.replies, strict=True):
            result = side_by_side.result_of(reply)
            others[name]["schemas"][schema] = (
                {"error": reply.value.error if reply.status == "ok" else str(reply.value)}
                if result is None
                else {
                    "ttfm_ns": result.ttfm_ns,
                    "verdicts": [v._asdict() for v in result.verdicts],
                    "step_wall_ns": list(result.step_wall_ns),
                    "step_cpu_ns": list(result.step_cpu_ns),
                }
            )
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"version": tokfsm.__version__, "empty_ns": empty, "schemas": own, "side_by_side": others}, file)
        file.write("\n")


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise BadInput("--plot needs matplotlib; run: pip install matplotlib") from error
    matplotlib.use("Agg")  # no screen
    from matplotlib import pyplot

    return pyplot


def _plot(path: str, costs: dict[str, Cost], sides: dict[str, side_by_side.Side]) -> None:
    """How many steps take longer than a time; a line a schema, and a line an engine beside it."""
    pyplot = _matplotlib()
    own = {name: np.asarray(cost.step_wall_ns) for name, cost in costs.items()}
    panels: list[tuple[str, dict[str, NDArray[Any]]]] = [("tokfsm, random walks by the masks", own)]
    if len(sides) > 1:
        n_texts, steps = side_by_side.shared_steps(sides)
        panels.append((f"the same {n_texts} texts in every engine", {name: wall for name, (wall, _) in steps.items()}))
    figure, axes = pyplot.subplots(
        1, len(panels), figsize=(6.4 * len(panels), 4.4), squeeze=False, layout="constrained"
    )
    for axis, (title, lines) in zip(axes[0], panels, strict=True):
        for name, times in lines.items():
            if times.size:
                ordered = np.sort(times) / 1e3
                axis.plot(
                    ordered, 1 - np.arange(ordered.size) / ordered.size, label=Path(name).name, drawstyle="steps-post"
                )
        axis.set(
            xscale="log",
            yscale="log",
            title=title,
            xlabel="time of a step (one mask, one token), µs, wall clock",
            ylabel="share of steps that take longer",
        )
        axis.grid(alpha=0.3)
        if lines:
            axis.legend(fontsize="small")
    figure.savefig(path)
    pyplot.close(figure)


def _tokenizer_file(name: str) -> Path:
    """The file that engines read: of a directory, its tokenizer.json."""
    path = Path(name)
    return path / "tokenizer.json" if path.is_dir() else path


def _stop(vocab: tokfsm.Vocabulary) -> int:
    """An id for engines that must have a stop token: the last without bytes, else the last."""
    return next((i for i in range(vocab.size - 1, -1, -1) if vocab.token_bytes(i) is None), vocab.size - 1)


def _progress(line: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a count")
    return int(text)
