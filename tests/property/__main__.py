"""python -m tests.property --pairs 100000 --seed 1: the judges of pairs.py, and each class of disagreement."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from pairs import ours_alone, run  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.property", description=__doc__)
    parser.add_argument("--pairs", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    out = run(arguments.pairs, arguments.seed)
    print(f"{out.pairs} pairs of {out.schemas} schemas; {out.valid} valid; "
          f"schemas refused by name: {sum(out.refused.values())}")
    for keyword, n in out.refused.most_common():
        print(f"  refused {n:6}  {keyword}")
    for kind, n in out.classes.most_common():
        schema, value, _ = out.examples[kind]
        print(f"{n:6}  {kind}\n        {json.dumps(schema)}\n        {json.dumps(value)}")
    return 1 if any(ours_alone(said) for _, _, said in out.examples.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
