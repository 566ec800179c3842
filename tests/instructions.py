"""Instructions of the hot path's calls, counted by callgrind: a guard that trusts no clock.

`python -m tests.instructions` prints them beside the baseline; ``--update`` writes the baseline,
``tests/c/instructions.json``, for this machine's architecture and compiler; other entries stay.

``tests/c/hot_path.c`` is linked with the sources of csrc, built as they are shipped (-O3). Callgrind collects only
inside the exported function that a scenario calls, and only what stands in the program itself is summed: the
C library's part differs from system to system. A scenario runs with two numbers of calls; the
difference, over the difference of the numbers, is what one call costs on a hit, whatever the set-up took.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CSRC = ROOT / "csrc"
BASELINE = ROOT / "tests" / "c" / "instructions.json"
SWITCHES = ["-std=c11", "-O3", f"-I{ROOT}"]
CALLS = {"tokfsm_compile": (2, 4)}  # the others: FEW, MANY
FEW, MANY = 20, 120
TOLERANCE = 0.03  # the same compiler and version
OTHER_COMPILER = 0.30  # another one, on the same architecture


def missing() -> str:
    """What is not there, or ""."""
    if sys.platform != "linux":
        return f"instructions are not counted on {sys.platform}: no callgrind"
    if shutil.which("valgrind") is None:
        return "no valgrind here: instructions are not counted (Debian's package: valgrind)"
    if shutil.which(os.environ.get("CC", "cc")) is None:
        return "no C compiler here: instructions are not counted"
    return ""


def compiler() -> str:
    """Architecture, compiler, major version: what a baseline holds for."""
    cc = os.environ.get("CC", "cc")
    said = subprocess.run([cc, "--version"], capture_output=True, text=True, check=True).stdout
    kind = "clang" if "clang" in said else "gcc"
    major = re.search(r"\b(\d+)\.\d+", said.splitlines()[0])
    return f"{platform.machine()} {kind} {major[1] if major else '?'}"


def build(folder: Path) -> Path:
    """hot_path with the whole library, in `folder`."""
    cc = os.environ.get("CC", "cc")
    shipped = (path for path in CSRC.rglob("*.c") if path.relative_to(CSRC).parts[0] not in ("oracle", "fuzz"))
    sources = [ROOT / "tests" / "c" / "hot_path.c",
               *sorted(path for path in shipped if not path.stem.endswith(("_test", "_dump")))]

    def one(source: Path) -> str:
        made = folder / f"{'_'.join(source.relative_to(ROOT).with_suffix('').parts)}.o"
        subprocess.run([cc, *SWITCHES, "-c", str(source), "-o", str(made)], check=True)
        return str(made)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(one, sources))
    program = folder / "hot_path"
    subprocess.run([cc, *objects, "-lm", "-pthread", "-o", str(program)], check=True)
    return program


def own_instructions(profile: str, program: str) -> int:
    """The self cost of all that lies in `program`, from callgrind's file (its format: manual, chapter 12.2)."""
    names: dict[str, str] = {}
    inside = called = False
    total = 0
    for line in profile.splitlines():
        if line.startswith("ob="):
            found = re.fullmatch(r"ob=(\(\d+\))(?: (.*))?", line)
            if found is None:
                raise ValueError(f"callgrind wrote {line!r}")
            if found[2]:
                names[found[1]] = found[2]
            inside = names[found[1]] == program
        elif line.startswith("cob=") and (found := re.fullmatch(r"cob=(\(\d+\)) (.*)", line)):
            names[found[1]] = found[2]
        elif line.startswith("calls="):
            called = True  # the next line is the callee's inclusive cost
        elif re.match(r"[\d+*-]", line):
            if inside and not called:
                total += int(line.split()[1])
            called = False
    return total


def count(program: Path, scenario: str, function: str) -> float:
    """Instructions of one call."""
    totals = []
    few, many = CALLS.get(function, (FEW, MANY))
    for n in (few, many):
        out = program.with_name(f"{scenario}.{n}")
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--toggle-collect={function}", f"--callgrind-out-file={out}",
             str(program), scenario, str(n)], capture_output=True, text=True, timeout=300)
        if done.returncode != 0 or done.stdout.split() != [str(n)]:
            raise RuntimeError(f"{scenario}: {done.stdout[-200:]}{done.stderr[-2000:]}")
        totals.append(own_instructions(out.read_text(), str(program)))
    return (totals[1] - totals[0]) / (many - few)


def measure() -> dict[str, int]:
    """Every scenario's instructions a call."""
    with tempfile.TemporaryDirectory() as name:
        program = build(Path(name).resolve())
        listed = subprocess.run([str(program), "list"], capture_output=True, text=True, check=True).stdout
        scenarios = [line.split() for line in listed.splitlines()]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            counts = list(pool.map(lambda pair: count(program, *pair), scenarios))
    return {scenario: round(n) for (scenario, _), n in zip(scenarios, counts, strict=True)}


def baseline() -> dict[str, dict[str, int]]:
    return json.loads(BASELINE.read_text()) if BASELINE.exists() else {}


def allowance(key: str, known: dict[str, dict[str, int]]) -> tuple[str, float] | None:
    """Which entry to compare with, and how much more is allowed; None: none of this architecture."""
    if key in known:
        return key, TOLERANCE
    same = [other for other in known if other.split()[0] == key.split()[0]]
    return (same[0], OTHER_COMPILER) if same else None


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--update", action="store_true", help="write the baseline for this compiler")
    options = p.parse_args(arguments)
    if why := missing():
        print(why, file=sys.stderr)
        return 1
    key, known = compiler(), baseline()
    before = known.get(key, {})
    found = measure()
    for scenario, n in found.items():
        old = before.get(scenario)
        print(f"{scenario:28} {n:>10,}" + (f"  {100 * (n / old - 1):+6.1f} %" if old else ""))
    if options.update:
        known[key] = found
        BASELINE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
        print(f"written for {key}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
