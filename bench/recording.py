"""What a script of one tokenizer takes, and the file in ``bench/record`` that its figures go to."""

from __future__ import annotations

import argparse
import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import clock
import corpus

import tokfsm


def parser(description: str | None) -> argparse.ArgumentParser:
    """With ``--tokenizer``, ``--label`` and ``--record``; the script adds its own."""
    p = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tokenizer", type=Path, default=corpus.TOKENIZERS / "llama3_1" / "tokenizer.json")
    p.add_argument("--label", default="", help="goes into the name of the record")
    p.add_argument("--record", action="store_true", help="write the figures into bench/record")
    return p


def write(script: str, options: argparse.Namespace, arguments: list[str], machine: Mapping[str, object],
          found: Mapping[str, Any]) -> Path:
    """Write what a script found, and in what surroundings; named for the day, the script and the label.

    `machine` is what `clock.machine` said at the start.
    """
    name = Path(script)
    date = datetime.date.today().isoformat()
    stem = "-".join(part for part in (date, name.stem.replace("_", "-"), options.label) if part)
    path = corpus.RECORD / f"{stem}.json"
    path.write_text(json.dumps({
        "command": "python " + clock.command([f"bench/{name.name}", *arguments]),
        "date": date,
        "machine": {**machine, "load_at_end": clock.load()},
        "version": tokfsm.__version__,
        "tokenizer": f"{options.tokenizer.parent.name}/{options.tokenizer.name}",
        **found,
    }, indent=1) + "\n", encoding="utf-8")
    print(f"recorded in bench/record/{path.name}")
    return path
