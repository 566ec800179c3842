"""The C tests of tests/c, and the run-time half linked by itself.

Each test is built with the warnings of the house style as errors. The run-time-only library has
no schema compiler in it: it opens what Python wrote, and its masks are Python's.
`TOKFSM_FUZZ=200000 pytest tests/test_c.py -k fuzz` damages that many artifacts, under
AddressSanitizer and UndefinedBehaviorSanitizer where the compiler has them.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tokfsm
from schemas import COUNTED, RICH, Probe, SchemaMaker, make_options, make_tokens

ROOT = Path(__file__).resolve().parents[1]
CSRC = ROOT / "csrc"
CC = shutil.which(os.environ.get("CC", "cc"))
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wmissing-prototypes", "-Werror"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
N_FUZZ = int(os.environ.get("TOKFSM_FUZZ", "1000"))

pytestmark = pytest.mark.skipif(CC is None or sys.platform == "win32", reason="no C compiler here")


def sources(*stages: str) -> list[Path]:
    return sorted(path for stage in stages for path in (CSRC / stage).glob("*.c")
                  if not path.stem.endswith(("_test", "_dump")))


RUNTIME = [*sources("base", "vocab", "engine", "matcher", "logits"), CSRC / "artifact" / "open.c",
           CSRC / "artifact" / "read_machine.c", CSRC / "artifact" / "read_content.c", CSRC / "api_runtime.c"]
ALL = sorted({*sources("base", "vocab", "schema", "regex", "automaton", "engine", "lower", "artifact", "matcher",
                       "logits"), *CSRC.glob("*.c")})
USES = {"pack_test": sources("base", "vocab"), "tape_test": sources("base", "schema"), "nomem_test": ALL,
        "regex_test": sources("base", "regex", "automaton"), "logits_test": sources("base", "logits"),
        "batch_test": ALL}


def run(command: list[str], timeout: int = 300, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=os.environ | variables)


class Objects:
    """Object files, each made once a set of switches; many side by side."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def one(self, source: Path, switches: tuple[str, ...]) -> Path:
        name = re.sub(r"\W", "_", f"{source.relative_to(ROOT)} {' '.join(switches)}")
        path = self.directory / f"{name}.o"
        if not path.exists():
            done = run([str(CC), *STRICT, *switches, f"-I{ROOT}", "-c", str(source), "-o", str(path)])
            assert done.returncode == 0, done.stderr
        return path

    def link(self, test: str, library: list[Path], switches: tuple[str, ...] = ("-O1",)) -> Path:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = list(pool.map(lambda source: self.one(source, switches),
                                 [ROOT / "tests" / "c" / f"{test}.c", *library]))
        program = self.directory / f"{test}{'_'.join(switches).replace(',', '_')}"
        done = run([str(CC), *switches, *map(str, made), "-lm", "-pthread", "-o", str(program)])
        assert done.returncode == 0, done.stderr
        return program


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Objects:
    return Objects(tmp_path_factory.mktemp("objects"))


def test_every_c_test_is_run() -> None:
    assert {path.stem for path in (ROOT / "tests" / "c").glob("*_test.c")} == {*USES, "runtime_test"}


@pytest.mark.parametrize("name", sorted(USES))
def test_c(objects: Objects, name: str) -> None:
    rounds = ["60"] if name == "pack_test" else []
    done = run([str(objects.link(name, USES[name])), *rounds])
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def works(directory: Path, switches: list[str]) -> bool:
    """Whether the compiler links a program so, and the program runs."""
    source, program = directory / "probe.c", directory / "probe"
    source.write_text("int main(void) { return 0; }\n")
    return run([str(CC), *switches, str(source), "-o", str(program)]).returncode == 0 and \
        run([str(program)]).returncode == 0


def test_batches_do_not_race(objects: Objects, tmp_path: Path) -> None:
    """Many batches at once on one fresh automaton, under ThreadSanitizer."""
    switches = ["-fsanitize=thread", "-g"]
    if not works(tmp_path, switches):
        pytest.skip("no ThreadSanitizer here")
    program = objects.link("batch_test", ALL, ("-O1", *switches))
    done = run([str(program)], TSAN_OPTIONS="die_after_fork=0")  # the child of fork() starts threads of its own
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


# ---- the run-time half ----------------------------------------------------------------


@pytest.fixture(scope="module")
def runtime_test(objects: Objects) -> Path:
    return objects.link("runtime_test", RUNTIME)


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, Any]]:
    """Files of many kinds, and the automata that they were saved from."""
    directory = tmp_path_factory.mktemp("artifacts")
    found: list[tuple[Path, Any]] = []
    seed = 1000
    while len(found) < 16:
        rng = random.Random(seed)
        seed += 1
        schema = COUNTED[seed // 4 % len(COUNTED)] if seed % 4 == 0 else SchemaMaker(rng, RICH).make()
        options = make_options(rng)
        tokens, stops = make_tokens(rng)
        vocab = tokfsm.Vocabulary.from_bytes(tokens, stop_token_ids=stops)
        try:
            automaton = tokfsm.compile(schema, vocab, **options)
        except tokfsm.SchemaError:
            continue
        path = directory / f"{seed}.tokfsm"
        automaton.save(path)
        found.append((path, automaton))
    return found


def test_nothing_of_the_compiler_is_linked(runtime_test: Path) -> None:
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("no nm here")
    names = {line.split()[-1].lstrip("_") for line in run([nm, str(runtime_test)]).stdout.splitlines()}
    assert "tokfsm_matcher_fill" in names
    compiler = r"tf_(build|ir|tape|oset|expand|explore)|tokfsm_(compile|automaton_save)"
    assert not {name for name in names if re.match(compiler, name)}


def position(probe: Probe) -> str:
    mask = probe.mask()
    words = [sum(1 << t % 32 for t in mask if t // 32 == w) for w in range(probe.bitmask.n_words)]
    m = probe.matcher
    state = int(m.is_complete) + 2 * int(m.is_terminated())
    need = int(len(mask) < probe.automaton.vocab_size)
    return f"{state} {m.min_tokens} {m.n_accepted} {need} " + "".join(f"{w:08x}" for w in words)


def test_masks_are_those_of_python(runtime_test: Path, artifacts: list[tuple[Path, Any]]) -> None:
    for number, (path, automaton) in enumerate(artifacts):
        for walk in range(3):
            rng = random.Random(number * 100 + walk)
            probe = Probe(automaton)
            steps: list[str] = []
            expected = [position(probe)]
            for _ in range(25):
                ids = sorted(probe.mask())
                p = rng.random()
                if p < 0.1 and probe.matcher.n_accepted:
                    n = rng.randint(1, min(3, probe.matcher.n_accepted))
                    probe.matcher.rollback(n)
                    steps.append(f"-{n}")
                elif p < 0.2:
                    probe.matcher = probe.matcher.fork()
                    steps.append("f")
                else:
                    t = rng.choice(ids) if ids and p < 0.9 else rng.randrange(automaton.vocab_size)
                    steps.append(str(t))
                    if not probe.matcher.accept_token(t):
                        expected.append("refused")
                        continue
                expected.append(position(probe))
            done = run([str(runtime_test), "walk", str(path), *steps])
            assert done.returncode == 0, done.stderr
            assert done.stdout.splitlines() == expected, (path, steps)


def test_fuzz(objects: Objects, artifacts: list[tuple[Path, Any]], tmp_path: Path) -> None:
    switches = ("-O1", "-g", *SANITIZE) if works(tmp_path, SANITIZE) else ("-O1",)
    fuzz = objects.link("runtime_test", RUNTIME, switches)
    done = run([str(fuzz), "fuzz", "1", str(N_FUZZ), *[str(path) for path, _ in artifacts]], timeout=3600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    opened, refused = map(int, re.findall(r"(\d+) (?:opened|refused)", done.stdout))
    assert opened + refused == N_FUZZ and min(opened, refused) > N_FUZZ // 50
