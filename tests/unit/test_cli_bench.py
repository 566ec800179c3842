"""``tokfsm bench``, and what it is made of: walks, cuts, workers, the steps that engines share."""

from __future__ import annotations

import importlib.util
import json
import random
import sys
import time
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_cli import SCHEMA, write_tokenizer  # noqa: E402

import tokfsm  # noqa: E402
from tokfsm.cli import main  # noqa: E402
from tokfsm.measure.replay import Result, Verdict  # noqa: E402
from tokfsm.measure.side_by_side import Side, shared_steps  # noqa: E402
from tokfsm.measure.walks import Chooser, Cutter, Steps  # noqa: E402
from tokfsm.measure.workers import Reply, Worker  # noqa: E402

QUICK = ["--walks", "3", "--steps", "40"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOKFSM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TOKFSM_DEBUG", raising=False)
    monkeypatch.chdir(tmp_path)
    write_tokenizer(tmp_path / "model")
    (tmp_path / "good.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "other.json").write_text('{"type": "array", "items": {"type": "boolean"}, "maxItems": 3}')
    (tmp_path / "bad.json").write_text('{"properties": {"a": {"type": "strong"}}}')
    return tmp_path


def bench(*arguments: str) -> int:
    return main(["bench", *arguments, "--tokenizer", "model/tokenizer.json", *QUICK])


def test_a_table_and_the_figures(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("good.json", "other.json", "--engines", "none", "--json", "out.json", "--whitespace", "spaced") == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert "3 walks of at most 40 tokens, seed 1" in lines[0]
    assert lines[1].split()[:5] == ["first", "mask", "ms", "step", "us"]
    assert [line.split()[0] for line in lines[2:]] == ["good.json", "other.json", "all"]
    found = json.loads((place / "out.json").read_text())
    vocab = tokfsm.Vocabulary.from_file(place / "model" / "tokenizer.json")
    for name in ("good.json", "other.json"):
        one = found["schemas"][name]
        automaton = tokfsm.compile((place / name).read_bytes(), vocab, whitespace="spaced")
        assert one["artifact_bytes"] == len(automaton.to_bytes(embed_pack=False))
        assert 0 < len(one["step_wall_ns"]) == len(one["step_cpu_ns"]) <= 3 * 40
        assert min(one["ttfm_ns"]) > 0 and one["ahead_ns"] > 0 and one["ahead_error"] == ""
        assert f"{len(one['step_wall_ns']):,}" in next(line for line in lines if line.split()[0] == name)
    assert found["side_by_side"] == {}


def test_a_seed_says_which_walks(place: Path) -> None:
    def lengths(seed: str) -> list[int]:
        assert bench("good.json", "--engines", "none", "--json", "out.json", "--seed", seed) == 0
        return [len(one["step_wall_ns"]) for one in json.loads((place / "out.json").read_text())["schemas"].values()]

    assert lengths("7") == lengths("7")
    assert len({tuple(lengths(str(seed))) for seed in range(4)}) > 1


def test_samples_where_no_schema_is_given(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--engines", "none") == 0
    out = capsys.readouterr().out
    assert out.count("(sample)") == 3


def test_a_schema_that_is_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("bad.json", "good.json", "--engines", "none") == 2
    out, err = capsys.readouterr()
    assert err.startswith("tokfsm: bad.json: ") and "/properties/a" in err and err.count("\n") == 1
    assert "good.json" in out and "bad.json" not in out
    assert bench("bad.json", "--engines", "none") == 2
    assert capsys.readouterr().out == ""


def test_what_cannot_be_explored_is_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "large.json").write_text(json.dumps({"type": "string", "pattern": "^(a|b)*a(a|b){24}$"}))
    assert bench("large.json", "--engines", "none") == 0
    assert "large.json: not ahead of time: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--engines", "guesswork"], "no engine guesswork"),
        (["--plot", "out.pdf"], "out.pdf: a plot is a .png or a .svg file"),
        (["--plot", "nowhere/out.svg"], "its directory does not exist"),
        (["--json", "model"], "model: a directory"),
        (["--walks", "0"], "'0' is not a count"),
        (["--max-whitespace", "3"], "--max-whitespace goes with"),
        (["--max-digits", "0"], "max_digits"),
    ],
)
def test_bad_arguments(place: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    given = ["bench", "good.json", "--tokenizer", "model/tokenizer.json", *arguments]
    assert main(given) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err and err.startswith("tokfsm: error: ") and err.count("\n") == 1


def test_a_plot(place: Path) -> None:
    pytest.importorskip("matplotlib")
    assert bench("good.json", "--engines", "none", "--plot", "out.svg") == 0
    assert "<svg" in (place / "out.svg").read_text()
    assert bench("good.json", "--engines", "none", "--plot", "out.png") == 0
    assert (place / "out.png").read_bytes().startswith(b"\x89PNG")


def test_a_plot_needs_matplotlib(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert bench("good.json", "--engines", "none", "--plot", "out.svg") == 2
    assert "pip install matplotlib" in capsys.readouterr().err


def test_engines_beside(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whichever are installed replay the texts; the others are named."""
    assert bench("good.json", "--engines", "llguidance,outlines_core", "--seconds", "20", "--json", "out.json") == 0
    out = capsys.readouterr().out
    sides = json.loads((place / "out.json").read_text())["side_by_side"]
    assert sides["tokfsm"]["schemas"]["good.json"]["verdicts"]
    assert all(v["accepted"] or "not complete" in v["why"] for v in sides["tokfsm"]["schemas"]["good.json"]["verdicts"])
    for name in ("llguidance", "outlines_core"):
        if importlib.util.find_spec(name) is None:
            assert name in next(line for line in out.splitlines() if line.startswith("not installed: "))
        else:
            assert name in out and name in sides


# ---- parts --------------------------------------------------------------------------------


def test_draws_are_allowed_and_seeded() -> None:
    tokens = [b"a", b"b", b'"', b"}", None, *(bytes([48 + i % 10, 65 + i % 26]) for i in range(90))]
    rng = random.Random(1)
    for _ in range(200):
        allowed = set(rng.sample(range(len(tokens)), rng.randrange(len(tokens))))
        words = np.zeros(3, dtype=np.uint32)
        for t in allowed:
            words[t // 32] |= np.uint32(1 << t % 32)
        left_out = tuple(rng.sample(range(len(tokens)), 3))
        seed = rng.random()
        drawn = Chooser(tokens, random.Random(seed)).draw(words.view(np.int32), left_out)
        assert drawn == Chooser(tokens, random.Random(seed)).draw(words, left_out)
        assert (drawn in allowed - set(left_out)) if allowed - set(left_out) else drawn is None


def test_closing_tokens_come_often() -> None:
    tokens = [b'"', *([b"a%d" % i for i in range(500)])]
    chooser = Chooser(tokens, random.Random(1))
    row = np.full(16, 0xFFFFFFFF, dtype=np.uint32)
    n = sum(chooser.draw(row) == 0 for _ in range(600))
    assert 300 < n < 500  # one third, and half of the rest: two thirds


def test_a_text_is_cut_into_the_longest_tokens() -> None:
    cut = Cutter([b"a", b"ab", b"abc", b"c", b"d", None, b"ab"])
    assert cut.cut(b"abcdab") == [2, 4, 1]
    with pytest.raises(ValueError, match="b'xa'"):
        cut.cut(b"axa")


def test_steps_refuse_a_mask_that_lies() -> None:
    steps = Steps()
    assert steps.take(lambda: None, (), lambda t: True, 1) and not steps.take(lambda: None, (), lambda t: False, 1)
    assert len(steps) == 2
    assert steps.draw(lambda: None, (), lambda t: True, lambda: None) is None and len(steps) == 2
    with pytest.raises(AssertionError, match="token 5"):
        steps.draw(lambda: None, (), lambda t: False, lambda: 5)


def reply_of(taken: list[bool], steps: list[int]) -> Reply:
    verdicts = [
        Verdict(i, True, ok, n, n, "" if ok else "refused", False) for i, (ok, n) in enumerate(zip(taken, steps))
    ]
    times = array("q", range(sum(steps)))
    return Reply("ok", Result("", (1, 1, 1), verdicts, times, times, 0))


def test_shared_steps() -> None:
    refused = Reply("ok", Result("no", (0, 0, 0), [], array("q"), array("q"), 0))
    sides = {
        "a": Side("1", [reply_of([True, True], [2, 3]), reply_of([True], [4])], {}),
        "b": Side("1", [reply_of([False, True], [1, 3]), refused], {}),
    }
    n_texts, steps = shared_steps(sides)
    assert n_texts == 1
    assert steps["a"][0].tolist() == [2, 3, 4]  # the second text's, behind the two steps of the first
    assert steps["b"][0].tolist() == [1, 2, 3]


def factory(name: str) -> tuple[str, Any]:
    if name == "broken":
        raise RuntimeError("no such thing")

    def handle(request: str) -> str:
        if request == "sleep":
            time.sleep(60)
        if request == "fail":
            raise ValueError("a reason")
        return request.upper()

    return name, handle


def test_workers() -> None:
    worker = Worker(factory, ("one",))
    try:
        assert worker.start() == Reply("ok", "one")
        assert worker.call("a", 30) == Reply("ok", "A")
        assert worker.call("sleep", 0.2).status == "timeout"
        assert worker.call("b", 30) == Reply("ok", "B")  # in a new process
        assert worker.call("fail", 30) == Reply("crash", "ValueError: a reason")
        assert worker.call("c", 30) == Reply("ok", "C") and worker.n_starts == 3
    finally:
        worker.stop()
    broken = Worker(factory, ("broken",))
    assert broken.start() == Reply("absent", "RuntimeError: no such thing")
