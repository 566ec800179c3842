"""One face in three places: the header, its Cython mirror, and what the library exports.

`csrc/tokfsm.h` = `tokfsm/_ctokfsm.pxd`: the same functions, constants and struct fields in the
same order, with the same types; and the exports are those functions, no more.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tokfsm import _core

ROOT = Path(__file__).resolve().parents[1]
HEADER = (ROOT / "csrc" / "tokfsm.h").read_text(encoding="utf-8")
MIRROR = (ROOT / "tokfsm" / "_ctokfsm.pxd").read_text(encoding="utf-8")

HEADER = re.sub(r"/\*.*?\*/", " ", HEADER, flags=re.S)
CODE = re.sub(r"^\s*#.*$", "", HEADER, flags=re.M)  # without the preprocessor's lines
MIRROR = re.sub(r"#.*", "", MIRROR)


def split_parameters(text: str) -> list[str]:
    """Types of the parameters, without names and white space; an array is a pointer."""
    types = []
    for one in text.split(","):
        one = re.sub(r"\[\w*\]", "*", " ".join(one.split()))
        stars = one.count("*")
        words = one.replace("*", " ").split()
        if words and words != ["void"]:
            types.append(" ".join(words[:-1] if len(words) > 1 else words) + "*" * stars)
    return types


def functions(text: str) -> list[tuple[str, str, list[str]]]:
    """Name, type of the result and types of the parameters, in order."""
    found = []
    for result, name, parameters in re.findall(r"((?:const\s+)?\w+\s*\**)\s*\b(tokfsm_\w+)\s*\(([^()]*)\)", text):
        found.append((name, "".join(result.split()), split_parameters(parameters)))
    return found


def header_functions() -> list[tuple[str, str, list[str]]]:
    declarations = re.findall(r"TOKFSM_API\s+([^;]*);", CODE)
    (found,) = [functions("\n".join(declarations))]
    assert len(found) == len(declarations)
    return found


def header_structs() -> dict[str, list[tuple[str, str]]]:
    structs = {}
    for name, body in re.findall(r"typedef struct (tokfsm_\w+) \{(.*?)\} \1;", HEADER, flags=re.S):
        fields = []
        for line in body.split(";"):
            line = " ".join(line.split())
            if not line:
                continue
            pointer = re.match(r"(.*)\(\*(\w+)\)", line)
            if pointer:
                fields.append((pointer[2], "function"))
                continue
            kind, field = re.match(r"(.*?)(\w+(?:\[\d+\])?)$", line).groups()  # type: ignore[union-attr]
            fields.append((field, "".join(kind.split())))
        structs[name] = fields
    return structs


def mirror_structs() -> dict[str, list[tuple[str, str]]]:
    structs: dict[str, list[tuple[str, str]]] = {}
    current = None
    for line in MIRROR.splitlines():
        begun = re.match(r"\s*ctypedef struct (tokfsm_\w+)\s*(:?)", line)
        if begun:
            current = begun[1] if begun[2] else None
            if current:
                structs[current] = []
        elif current and line.strip() == "pass":
            del structs[current]  # opaque there
        elif current and (field := re.match(r"        ([\w *]*?[\s*]+)(\(\*)?(\w+(?:\[\d+\])?)(?(2)\).*)$", line)):
            kind = "function" if field[2] else "".join(field[1].split())
            structs[current].append((field[3], kind))
        elif line.strip():
            current = None
    return structs


def test_functions_are_mirrored() -> None:
    header, mirror = header_functions(), functions(MIRROR)
    assert [name for name, _, _ in header] == [name for name, _, _ in mirror]
    assert header == mirror
    assert len(header) > 30


def test_mirrored_functions_raise_nothing() -> None:
    for declaration in re.findall(r"\btokfsm_\w+\s*\([^()]*\)[^\n]*", MIRROR):
        assert declaration.rstrip().endswith("noexcept"), declaration
    assert len(re.findall(r"cdef extern from", MIRROR)) == 1 and "nogil" in MIRROR


def test_structs_are_mirrored() -> None:
    header, mirror = header_structs(), mirror_structs()
    assert [*mirror] == [name for name in header if name in mirror], "another order"
    assert {"tokfsm_error", "tokfsm_limits", "tokfsm_options", "tokfsm_statistics"} <= set(mirror)
    for name, fields in mirror.items():
        expected = header[name]
        if name == "tokfsm_options":
            fields = [*fields, *[f for f in expected if f[0] == "reserved" and f not in fields]]
        elif name in ("tokfsm_error", "tokfsm_limits"):
            expected = [f for f in expected if f[0] != "reserved" or f in fields]
        assert fields == expected, name


def test_constants_are_mirrored() -> None:
    header = re.findall(r"#define (TOKFSM_\w+) (?:\d|UINT32)", HEADER)
    mirror = re.findall(r"\b(TOKFSM_[A-Z]\w*)\b", MIRROR)
    assert mirror == [name for name in header if name in mirror], "another order, or one that the header has not"
    codes = [name for name in header if name.startswith("TOKFSM_E_")]
    assert len(codes) > 15 and len(set(re.findall(r"#define TOKFSM_E_\w+ (\d+)", HEADER))) == len(codes)


# ---- exports ---------------------------------------------------------------------------


def exports(library: Path) -> list[str]:
    """Defined symbols that others can link to."""
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("no nm here")
    switches = ["-gU"] if sys.platform == "darwin" else ["-D", "--defined-only"]
    out = subprocess.run([nm, *switches, str(library)], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1].split("@")[0] for line in out.splitlines() if line.strip()]
    return [name[1:] if sys.platform == "darwin" else name for name in names]


def sources() -> list[Path]:
    return sorted(path for path in (ROOT / "csrc").rglob("*.c")
                  if path.relative_to(ROOT / "csrc").parts[0] not in ("oracle", "fuzz")
                  and not path.stem.endswith(("_test", "_dump")))


def test_a_shared_library_exports_the_header(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None or sys.platform == "win32":
        pytest.skip("no C compiler here")
    library = tmp_path / "libtokfsm.so"
    subprocess.run([compiler, "-std=c11", "-O0", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{ROOT}",
                    *map(str, sources()), "-lm", "-pthread", "-o", str(library)], check=True)
    expected = {name for name, _, _ in header_functions()}
    found = {name for name in exports(library) if not re.fullmatch(r"_init|_fini|__\w+|_edata|_end", name)}
    assert found == expected


def test_the_extension_exports_the_header() -> None:
    if sys.platform == "win32":
        pytest.skip("exports are looked at as on POSIX")
    names = {name for name in exports(Path(_core.__file__)) if not re.fullmatch(r"_init|_fini|__\w+|_edata|_end", name)}
    modules = {f"PyInit_{path.stem}" for path in (ROOT / "tokfsm").glob("*.pyx")}
    assert len(modules) > 1 and names - modules == {name for name, _, _ in header_functions()}
    assert modules <= names
