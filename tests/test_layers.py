"""The law of includes: data flows along the arrows, and a file includes only from stages before its own.

ARCHITECTURE.md draws the arrows; this file is where they are held.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CSRC = ROOT / "csrc"
PACKAGE = ROOT / "tokfsm"

# What each stage may include besides itself, csrc/tokfsm.h and the C library.
MAY_SEE: dict[str, set[str]] = {
    "base": set(),
    "vocab": {"base"},
    "regex": {"base"},
    "automaton": {"base", "regex"},
    "schema": {"base"},
    "engine": {"base", "vocab", "automaton"},
    "lower": {"base", "vocab", "schema", "regex", "automaton", "engine"},
    "artifact": {"base", "vocab", "engine"},
    "matcher": {"base", "vocab", "engine", "artifact"},
    "logits": {"base"},
    "": {"base", "vocab", "schema", "lower", "engine", "artifact", "matcher", "logits"},
}
RUNTIME_FILES = {"artifact/format.h", "artifact/open.c", "artifact/read_content.c", "artifact/read_machine.c",
                 "artifact/take.h", "api_runtime.c"}
RUNTIME_STAGES = {"base", "vocab", "engine", "matcher", "logits"}
COMPILE_HALF = {"schema", "lower", "regex", "automaton"}
MOST_LINES = 600
C_HEADERS = {"errno.h", "float.h", "limits.h", "math.h", "pthread.h", "sched.h", "signal.h", "stdarg.h", "stdatomic.h",
             "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "time.h", "unistd.h", "windows.h",
             "sys/types.h", "sys/mman.h", "arm_neon.h", "immintrin.h"}

C_FILES = sorted(path for path in CSRC.rglob("*.[ch]"))
PYTHON_FILES = sorted(path for path in PACKAGE.rglob("*.py"))
CYTHON_FILES = sorted(path for path in PACKAGE.iterdir() if path.suffix in (".pyx", ".pxd", ".pyi"))


def name_of(path: Path) -> str:
    return path.relative_to(CSRC).as_posix()


def stage_of(path: Path) -> str:
    parts = path.relative_to(CSRC).parts
    return parts[0] if len(parts) > 1 else ""


def includes(path: Path) -> list[tuple[str, str]]:
    """Kind of the brackets and what is in them."""
    text = re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.S)
    return re.findall(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', text, flags=re.M)


def resolve(path: Path, name: str) -> Path:
    """As the compiler finds it: beside the file, else from csrc."""
    for start in (path.parent, CSRC):
        found = (start / name).resolve()
        if found.is_file():
            return found
    pytest.fail(f"{name_of(path)} includes {name}, which is not there")


def included(path: Path) -> list[Path]:
    return [resolve(path, name) for kind, name in includes(path) if kind == '"']


def reachable(path: Path) -> set[Path]:
    found: set[Path] = set()
    work = [path]
    while work:
        for other in included(work.pop()):
            if other not in found:
                found.add(other)
                work.append(other)
    return found


def test_there_is_something_to_look_at() -> None:
    assert len(C_FILES) > 40 and len(PYTHON_FILES) > 15
    assert {stage_of(path) for path in C_FILES} - {"oracle", "fuzz"} <= set(MAY_SEE)


@pytest.mark.parametrize("path", C_FILES, ids=name_of)
def test_a_file_includes_from_stages_before_its_own(path: Path) -> None:
    stage = stage_of(path)
    for kind, name in includes(path):
        if kind == "<":
            assert name in C_HEADERS, f"{name_of(path)} includes <{name}>"
            continue
        other = resolve(path, name)
        assert CSRC in other.parents, f"{name_of(path)} includes {name} from outside csrc"
        assert other.suffix == ".h", f"{name_of(path)} includes {name}"
        seen = stage_of(other)
        if stage in ("oracle", "fuzz") or seen == stage or other.name == "tokfsm.h":
            continue
        assert seen in MAY_SEE[stage], f"{name_of(path)} includes {name_of(other)}"


def test_includes_have_no_cycles() -> None:
    for path in C_FILES:
        assert path.resolve() not in reachable(path), f"{name_of(path)} includes itself"


def test_the_run_time_half_sees_no_schema_compiler() -> None:
    looked_at = 0
    for path in C_FILES:
        if stage_of(path) not in RUNTIME_STAGES and name_of(path) not in RUNTIME_FILES:
            continue
        looked_at += 1
        for other in reachable(path):
            assert stage_of(other) not in COMPILE_HALF, f"{name_of(path)} sees {name_of(other)}"
    assert looked_at > 25
    assert RUNTIME_FILES <= {name_of(path) for path in C_FILES}


def test_nothing_shipped_sees_the_oracle() -> None:
    for path in C_FILES:
        if stage_of(path) not in ("oracle", "fuzz"):
            assert all(stage_of(other) not in ("oracle", "fuzz") for other in reachable(path)), name_of(path)
    for path in PYTHON_FILES:
        assert not {"oracle", "tests"} & {name.split(".")[0] for name in imports(path)}, path


def test_the_public_header_needs_nothing() -> None:
    assert {name for kind, name in includes(CSRC / "tokfsm.h")} == {"stddef.h", "stdint.h"}


# ---- Python ---------------------------------------------------------------------------


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path, *, top: bool = False) -> set[str]:
    """Modules that a file imports, absolute; with `top` those of its import alone."""
    package = path.relative_to(ROOT).parent.parts
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    work: list[ast.AST] = [tree]
    while work:
        node = work.pop()
        if top and (isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) or is_type_checking(node)):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = ".".join(package[:len(package) - node.level + 1]) if node.level else ""
            module = ".".join(x for x in (start, node.module or "") if x)
            found |= {f"{module}.{alias.name}" for alias in node.names} | {module}
        work.extend(ast.iter_child_nodes(node))
    return found


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def own(names: set[str]) -> set[str]:
    """The modules of tokfsm among them."""
    modules = {module_of(path) for path in PYTHON_FILES} | {module_of(path) for path in PACKAGE.glob("*.pyx")}
    return names & modules - {"tokfsm"}


@pytest.mark.parametrize("path", PYTHON_FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_python_arrows(path: Path) -> None:
    module, seen = module_of(path), own(imports(path))
    area = module.split(".")[1] if "." in module else ""
    for other in seen:
        theirs = other.split(".")[1]
        if theirs == area and area in ("tokenizer", "cli", "integrations", "measure"):
            continue
        assert theirs != "cli" or module == "tokfsm.__main__", f"{module} imports {other}"
        assert theirs not in ("integrations", "measure") or area == "cli", f"{module} imports {other}"
        assert area != "measure", f"{module} imports {other}: public names alone"
        if area == "tokenizer":
            assert theirs in ("vocabulary", "errors"), f"{module} imports {other}"
        if area == "integrations":
            assert theirs in ("vocabulary", "errors", "tokenizer"), f"{module} imports {other}: public names alone"
    if module == "tokfsm.errors":
        assert not seen
    if module == "tokfsm.vocabulary":
        top = own(imports(path, top=True))
        assert not any(other.startswith("tokfsm.tokenizer") for other in top), "the vocabulary knows no reader"


def test_importing_tokfsm_is_light() -> None:
    code = ("import sys, numpy; before = set(sys.modules); import tokfsm; "
            "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before}))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    new = set(done.stdout.split()) - set(sys.stdlib_module_names)
    # Shared types of Cython's own are no imports.
    assert {name for name in new if not name.startswith(("_cython", "cython_runtime"))} <= {"tokfsm", "numpy"}
    code = "import sys, tokfsm; print(*[m for m in sys.modules if m.startswith(('tokfsm.cli', 'tokfsm.integrations', " \
           "'tokfsm.tokenizer'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert not {m for m in done.stdout.split() if m.startswith(("tokfsm.cli", "tokfsm.integrations"))}


# ---- habits ---------------------------------------------------------------------------


def test_no_recursion_games() -> None:
    for path in [*PYTHON_FILES, *PACKAGE.glob("*.pyx")]:
        text = path.read_text(encoding="utf-8")
        assert "setrecursionlimit" not in text and "stack_size" not in text, path


def test_no_errno_no_locale_no_hidden_state() -> None:
    for path in C_FILES:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", path.read_text(encoding="utf-8"), flags=re.S)
        assert not re.search(r"\b(errno|setlocale|localeconv|strtod|atof|alloca|setjmp|longjmp)\b", text), name_of(path)
        for line in re.findall(r"^static (?!inline|const\b|_Noreturn)[^()={;]*(?:=[^;]*)?;", text, flags=re.M):
            assert "const" in line, f"{name_of(path)} has a variable of its own: {line}"


def test_allocation_goes_through_the_allocator() -> None:
    for path in C_FILES:
        if name_of(path) == "base/alloc.c" or stage_of(path) in ("oracle", "fuzz"):
            continue
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.S)
        assert not re.search(r"\b(malloc|calloc|realloc|free|strdup)\s*\(", text), name_of(path)


@pytest.mark.parametrize("path", [*C_FILES, *PYTHON_FILES, *CYTHON_FILES],
                         ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_is_one_idea(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < MOST_LINES


def test_file_names_are_unique() -> None:
    names = [path.name for path in C_FILES]
    assert len(names) == len(set(names)), sorted({n for n in names if names.count(n) > 1})


def test_internal_names() -> None:
    """What one C file shows another is tf_ or tokfsm_; what is neither is static."""
    for path in C_FILES:
        if path.suffix != ".h" or path.name == "tokfsm.h":
            continue
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.S)
        for name in re.findall(r"^(?:[a-z_]\w*[\s*]+)+(\w+)\(", text, flags=re.M):
            assert name.startswith(("tf_", "TF_", "tokfsm_")), f"{name_of(path)}: {name}"
