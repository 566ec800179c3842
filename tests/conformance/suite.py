"""Files of the official suite -> groups: one schema text each, with instance texts and their labels.

The suite lies in `../shared`; where that is absent, it is taken from the source distribution of the
package `jsonschema`, which ships it. Numbers keep the digits that the suite writes; those of
instances with an exponent are written out, as the spelling profile has no exponents where values
are compared (docs/spelling.md).

Source: https://github.com/json-schema-org/JSON-Schema-Test-Suite (MIT).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "json-schema-test-suite"
FETCHED = Path(os.environ.get("TOKFSM_SUITE", ROOT / ".venv" / "json-schema-test-suite"))
SOURCE = "jsonschema==4.26.0"
DRAFTS = ("4", "6", "7", "2019-09", "2020-12")
REMOTE = "http://localhost:1234/"

#: Optional files that ask for a behaviour which is another choice here, and the choice.
CHOICES = {
    "optional/content.json": "contentEncoding and contentMediaType are annotations (2020-12 Validation 8.1)",
    "optional/dependencies-compatibility.json": "`dependencies` ends with draft-07 (2019-09 Validation, appendix B)",
    "optional/format-assertion.json": "formats are asserted or not by option, never by vocabulary",
}

_LABELS = re.compile("[.@\u3002\uff0e\uff61]")


def is_left_out(file: str, text: str) -> bool:
    """Whether a valid instance is in a declared gap of its format: what csrc/regex/formats.h leaves out.

    Labels ``xn--``, which would have to be decoded, and long ones with other than ASCII characters.
    """
    name = file.rsplit("/", 1)[-1].removesuffix(".json")
    if "/optional/format/" not in file or name not in ("hostname", "idn-hostname", "email", "idn-email"):
        return False

    def gap(label: str) -> bool:
        n_others = sum(not c.isascii() for c in label)
        return label[:4].lower() == "xn--" or n_others > 0 and len(label) > (40 if n_others <= 4 else 14)

    return any(map(gap, _LABELS.split(text.strip('"'))))


@dataclass(frozen=True)
class Test:
    description: str
    text: str
    valid: bool


@dataclass(frozen=True)
class Group:
    draft: str
    file: str  #: as ``draft7/optional/format/date.json``
    key: str  #: description and a digest of the contents: a group that changes is another group
    schema: str
    tests: tuple[Test, ...]

    @property
    def asserts_formats(self) -> bool:
        return "/optional/format/" in self.file

    @property
    def is_required(self) -> bool:
        return "/optional/" not in self.file

    @property
    def needs_remotes(self) -> bool:
        return REMOTE in self.schema


class _Number:
    """A number's digits, to be written as they were read."""

    def __init__(self, digits: str) -> None:
        self.digits = digits


def _dump(value: Any, *, plain: bool) -> str:
    def mark(number: _Number) -> str:
        digits = number.digits
        if plain and "e" in digits.lower():
            digits = format(Decimal(digits), "f")
        return f"\ue000{digits}\ue000"

    return re.sub("\"\ue000([^\"]*)\ue000\"", r"\1", json.dumps(value, ensure_ascii=False, default=mark))


def folders() -> list[Path]:
    """Where suites lie, the preferred one first."""
    return [folder for folder in (SHARED, FETCHED) if (folder / "tests").is_dir()]


def groups(folder: Path) -> Iterator[Group]:
    """All groups of a suite, drafts and files in order."""
    for draft in DRAFTS:
        base = folder / "tests"
        for path in sorted((base / f"draft{draft}").rglob("*.json")):
            file = path.relative_to(base).as_posix()
            if file.split("/", 1)[1] in CHOICES:
                continue
            for entry in json.loads(path.read_text(encoding="utf-8"), parse_float=_Number):
                yield _group(draft, file, entry)


def _group(draft: str, file: str, entry: dict[str, Any]) -> Group:
    schema = _dump(entry["schema"], plain=False)
    tests = tuple(Test(t["description"], _dump(t["data"], plain=True), t["valid"]) for t in entry["tests"])
    digest = hashlib.sha256(repr((schema, tests)).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return Group(draft, file, f"{entry['description']} #{digest}", schema, tests)


def remotes(folder: Path) -> dict[str, Any]:
    """URI -> schema of everything that a suite serves to references, its unknown drafts left out."""
    base = folder / "remotes"
    return {REMOTE + path.relative_to(base).as_posix(): json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(base.rglob("*.json"))
            if path.relative_to(base).parts[0] not in ("draft3", "v1", "draft-next")}


def fetch() -> Path:
    """Take the suite out of the source distribution of `SOURCE`."""
    with tempfile.TemporaryDirectory() as at:
        subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "download", "--no-deps",
                        "--no-binary", SOURCE.split("==")[0], "-d", at, SOURCE], check=True)
        archive = next(Path(at).glob("*.tar.gz"))
        with tarfile.open(archive) as tar:
            for member in tar:
                parts = Path(member.name).parts[1:]
                if not member.isfile() or len(parts) < 3 or parts[0] != "json" or ".." in parts:
                    continue
                if parts[1] in ("tests", "remotes") and (data := tar.extractfile(member)) is not None:
                    target = FETCHED.joinpath(*parts[1:])
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(data.read())
    return FETCHED
