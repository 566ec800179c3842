"""Does every real instance get through, and none that is invalid? One run over a set of schemas.

`maskbench_exact.py` and `schemastore_exact.py` run this over their data, with
`whitespace="flexible"`: every valid instance is accepted token by token, as `json.dumps` writes it
and compact, in its own order of keys and shuffled, cut into tokens at random; every invalid one is
refused; and walks under the mask end valid, with the smallest budget too. Prints a summary; writes
every schema that is not right, with its reasons, as JSON lines. `--mutants` adds instances near the
given ones; `--without` looks at what is left of schemas when keywords are taken out.

Grades: right; refused (a keyword, by name); limit (over budget, or over the wall limit, which kills
the worker); spelling (only instances whose spelling the declared profile leaves out: written plainly
they pass); label (the validators side with us against the label); undecided (the validators differ:
adjudicate); wrong.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import gzip
import json
import random
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import clock  # noqa: E402
import corpus  # noqa: E402
from judge import Disagreement, Judge, NoWitnessError, strict_json  # noqa: E402
from mutants import mutant  # noqa: E402
from schemas import PIECES, Splitter  # noqa: E402
from test_walks import walk  # noqa: E402
from witness import spell  # noqa: E402
from tokfsm.measure.workers import Worker  # noqa: E402

import tokfsm  # noqa: E402

#: Threads of this process that each drive a worker, and so the most workers at once.
N_WORKERS = 2


@dataclass
class Verdict:
    """What one schema did."""

    id: str
    grade: str = "right"
    reasons: list[str] = field(default_factory=list)
    n_accepted: int = 0  #: texts of valid instances, accepted
    n_refused: int = 0  #: texts of invalid instances, refused
    n_unspelled: int = 0  #: instances with a lone surrogate, which no text has
    schema_bytes: int = 0
    first_mask_us: float | None = None  #: from the schema's text to the first mask; None: not compiled
    seconds: float = 0.0


def small_vocabulary() -> list[bytes | None]:
    """All bytes, common pieces, and a few thousand short words of letters."""
    letters = b"etaoinshrdlcumwfgypbvk"
    pairs = [bytes([a, b]) for a in letters for b in letters]
    triples = [p + bytes([c]) for p in pairs[:120] for c in letters[:10]]
    return [*(bytes([b]) for b in range(256)), *PIECES, *pairs, *triples, None]


def texts_of(value: Any, rng: random.Random) -> dict[str, bytes] | None:
    """The spellings that are tried; None for a value with a lone surrogate."""
    other = corpus.shuffled(value, rng)
    try:
        return {
            "as written": json.dumps(value, ensure_ascii=False).encode(),
            "compact": json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(),
            "shuffled": json.dumps(other, ensure_ascii=False).encode(),
            "shuffled, compact": json.dumps(other, ensure_ascii=False, separators=(",", ":")).encode(),
        }
    except UnicodeEncodeError:
        return None


class Feeder:
    """Feeds texts by bytes and by tokens, each of which must be in its mask."""

    def __init__(self, automaton: Any, splitter: Splitter) -> None:
        self.matcher, self.splitter = automaton.matcher(), splitter
        self.bitmask = tokfsm.allocate_token_bitmask(1, automaton.vocab_size)
        self.words = np.asarray(self.bitmask)[0].view(np.uint32)

    def __call__(self, text: bytes, rng: random.Random) -> tuple[bool, int]:
        """Whether the text is accepted, by bytes and by a random split alike; and how far it came."""
        self.matcher.reset()
        taken, complete, _ = self.matcher.check_bytes(text)
        accepted = taken == len(text) and bool(complete)
        ids = self.splitter.split(rng, text)
        if ids is not None:
            whole = self._take(ids) and bool(self.matcher.is_complete)
            assert whole == accepted, f"tokens say {whole}, bytes {accepted}: {text[:200]!r}"
        return accepted, int(taken)

    def _take(self, ids: list[int]) -> bool:
        for t in ids:
            self.matcher.fill_next_token_bitmask(self.bitmask, 0)
            allowed = bool(self.words[t >> 5] >> np.uint32(t & 31) & np.uint32(1))
            assert self.matcher.accept_token(t) == allowed, f"mask and accept disagree on token {t}"
            if not allowed:
                return False
        return True


class Examiner:
    """Grades one schema after the other against one vocabulary."""

    def __init__(self, tokens: list[bytes | None], vocab: Any = None, n_walks: int = 2, n_mutants: int = 0,
                 without: frozenset[str] = frozenset()) -> None:
        self.tokens, self.n_mutants, self.without = tokens, n_mutants, without
        self.vocab = vocab or tokfsm.Vocabulary.from_bytes(tokens)
        self.splitter = Splitter(tokens, list(self.vocab.stop_token_ids))
        self.n_walks = n_walks

    def __call__(self, line: dict[str, Any]) -> Verdict:
        verdict, begin = Verdict(line["id"]), time.perf_counter()
        try:
            self._examine(line, verdict)
        except tokfsm.errors.UnsupportedSchemaError as e:
            verdict.grade, verdict.reasons = "refused", [f"{e.keyword} at {e.pointer}: {e}"]
        except (tokfsm.errors.LimitError, RecursionError) as e:
            verdict.grade, verdict.reasons = "limit", [f"{type(e).__name__}: {e}"]
        except Disagreement as e:
            verdict.grade, verdict.reasons = "undecided", [*verdict.reasons, str(e)]
        except (tokfsm.errors.TokfsmError, AssertionError) as e:
            verdict.grade, verdict.reasons = "wrong", [*verdict.reasons, f"{type(e).__name__}: {str(e)[:600]}"]
        verdict.seconds = time.perf_counter() - begin
        return verdict

    def _examine(self, line: dict[str, Any], verdict: Verdict) -> None:
        rng = random.Random(line["id"])
        if self.without:
            line = {**line, "schema": _stripped(line["schema"], self.without), "tests": [
                {**test, "valid": None} for test in line["tests"]]}
        schema = json.dumps(line["schema"], ensure_ascii=False)
        verdict.schema_bytes = len(schema.encode("utf-8", "surrogatepass"))
        begin = clock.process_cpu()
        try:
            automaton = tokfsm.compile(line["schema"] if _has_surrogate(schema) else schema, self.vocab,
                                       whitespace="flexible")
        except tokfsm.errors.UnsatisfiableSchemaError as e:
            if any(test["valid"] for test in self._tests(line, Judge(line["schema"]), rng)):
                verdict.grade, verdict.reasons = "wrong", [f"said to be unsatisfiable: {e}"]
            return
        feed = Feeder(automaton, self.splitter)
        feed.matcher.fill_next_token_bitmask(feed.bitmask, 0)
        verdict.first_mask_us = (clock.process_cpu() - begin) / 1e3
        judge, grades = Judge(line["schema"]), set()
        for i, test in enumerate(self._tests(line, judge, rng)):
            texts = texts_of(test["data"], rng)
            verdict.n_unspelled += texts is None
            for way, text in (texts or {}).items():
                accepted, where = feed(text, rng)
                if accepted == test["valid"]:
                    verdict.n_accepted += accepted
                    verdict.n_refused += not accepted
                    continue
                grades.add(self._why(judge, feed, test, text, rng))
                said = "accepted, though invalid" if accepted else f"refused at byte {where}, though valid"
                verdict.reasons.append(f"instance {i} {way}: {said}: {text[max(0, where - 60):where + 20]!r}")
        if grades:
            verdict.grade = next(g for g in ("wrong", "undecided", "spelling", "label") if g in grades)
        try:
            walk(rng, automaton, judge, lambda t: self.tokens[t] or b"", self.n_walks)
        except NoWitnessError:
            pass  # no validator reads the schema: its own instances have to do

    def _tests(self, line: dict[str, Any], judge: Judge, rng: random.Random) -> list[dict[str, Any]]:
        """The line's tests and their mutants; what has no label gets the judge's, or is left out."""
        found = list(line["tests"])
        found += [{"data": mutant(test["data"], rng), "valid": None} for test in line["tests"]
                  for _ in range(self.n_mutants)]
        for test in found:
            if test["valid"] is None:
                try:
                    test["valid"] = judge.value_ok(strict_json(json.dumps(test["data"])))
                except (ValueError, NoWitnessError):
                    continue  # no text, or no validator
        return [test for test in found if test["valid"] is not None]

    @staticmethod
    def _why(judge: Judge, feed: Feeder, test: dict[str, Any], text: bytes, rng: random.Random) -> str:
        """Whether label, spelling profile or engine is at fault."""
        try:
            valid = judge.value_ok(strict_json(text))
        except Disagreement:
            return "undecided"
        except NoWitnessError:
            valid = test["valid"]
        if valid != test["valid"]:
            return "label"
        if valid and feed(spell(test["data"], rng, spaces=False, shuffle=False).encode(), rng)[0]:
            return "spelling"
        return "wrong"


def _stripped(value: Any, names: frozenset[str]) -> Any:
    """The schema without some keywords: what is left can be judged before they are honoured."""
    if isinstance(value, dict):
        return {name: _stripped(part, names) for name, part in value.items()
                if name not in names or not _is_keyword(name, part)}
    return [_stripped(part, names) for part in value] if isinstance(value, list) else value


def _is_keyword(name: str, value: Any) -> bool:
    """Whether this is the keyword, not a property of its name."""
    return not isinstance(value, dict) or name not in ("pattern", "format", "uniqueItems")


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= c <= "\udfff" for c in text)


def read_lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def serve(tokenizer: str | None, *options: Any) -> tuple[str, Callable[[dict[str, Any]], Verdict]]:
    """What a worker runs."""
    if tokenizer is None:
        return tokfsm.__version__, Examiner(small_vocabulary(), None, *options)
    vocab = tokfsm.Vocabulary.from_file(tokenizer)
    return tokfsm.__version__, Examiner([vocab.token_bytes(i) for i in range(vocab.size)], vocab, *options)


def examine_all(lines: list[dict[str, Any]], seconds: float, *options: Any) -> list[Verdict]:
    """Verdicts in the lines' order; a schema over its time, or that ends its process, says so."""
    queue = collections.deque(enumerate(lines))
    verdicts: dict[int, Verdict] = {}

    def drive(_: int) -> None:
        worker = Worker(serve, options)
        try:
            while True:
                try:
                    i, line = queue.popleft()
                except IndexError:
                    return
                begin = time.perf_counter()
                reply = worker.call(line, seconds)
                if reply.status == "absent":
                    raise RuntimeError(f"no worker: {reply.value}")
                if reply.status == "ok":
                    verdicts[i] = reply.value
                else:
                    grade = "limit" if reply.status == "timeout" else "wrong"
                    verdicts[i] = Verdict(line["id"], grade, [f"{reply.status}: {reply.value}"],
                                          schema_bytes=len(json.dumps(line["schema"])),
                                          seconds=time.perf_counter() - begin)
        finally:
            worker.stop()

    with ThreadPoolExecutor(N_WORKERS) as threads:
        list(threads.map(drive, range(N_WORKERS)))
    return [verdicts[i] for i in range(len(lines))]


def report(verdicts: list[Verdict], seconds: float) -> None:
    grades = collections.Counter(v.grade for v in verdicts)
    n_compiled = sum(n for g, n in grades.items() if g not in ("refused", "limit"))
    print(f"{len(verdicts)} schemas in {seconds:.0f} s: " + ", ".join(f"{n} {g}" for g, n in grades.most_common()))
    print(f"wholly right: {100 * grades['right'] / max(1, len(verdicts)):.2f} % of all, "
          f"{100 * grades['right'] / max(1, n_compiled):.2f} % of the {n_compiled} compiled; texts accepted "
          f"{sum(v.n_accepted for v in verdicts)}, refused {sum(v.n_refused for v in verdicts)}, "
          f"instances without a text {sum(v.n_unspelled for v in verdicts)}")
    refused = collections.Counter(v.reasons[0].split(" at ")[0] for v in verdicts if v.grade == "refused")
    print("refused by name: " + ", ".join(f"{k} {n}" for k, n in refused.most_common()))
    if times := [v.first_mask_us for v in verdicts if v.first_mask_us is not None]:
        p = np.percentile(times, (50, 90, 99, 100))
        print("schema to first mask, CPU: " + ", ".join(
            f"{name} {us / 1e3:.2f} ms" for name, us in zip(("p50", "p90", "p99", "max"), p, strict=True)))
    slow = sorted(verdicts, key=lambda v: -v.seconds)[:3]
    print("longest in all: " + ", ".join(f"{v.id} {v.seconds:.1f} s ({v.grade})" for v in slow))


def record(name: str, verdicts: list[Verdict], arguments: list[str], tokenizer: str | None) -> Path:
    """The compile cost of every schema, its tail by name, and the grades."""
    timed = [v for v in verdicts if v.first_mask_us is not None]
    times = [v.first_mask_us or 0.0 for v in timed]
    result: dict[str, Any] = {
        "command": f"python {clock.command([f'bench/{name}_exact.py', *arguments])}",
        "machine": clock.machine(),
        "tokfsm": tokfsm.__version__,
        "vocabulary": tokenizer or "small",
        "grades": collections.Counter(v.grade for v in verdicts),
        "first_mask_us": {f"p{q}": round(float(np.percentile(times, q)), 1) for q in (50, 90, 99, 99.9, 100)},
        "slowest": [{"id": v.id, "us": round(v.first_mask_us or 0.0), "schema_bytes": v.schema_bytes}
                    for v in sorted(timed, key=lambda v: -(v.first_mask_us or 0.0))[:25]],
        "over_limit": [{"id": v.id, "reason": v.reasons[0][:200], "seconds": round(v.seconds, 2)}
                       for v in verdicts if v.grade == "limit"],
        "us": {v.id: round(v.first_mask_us or 0.0) for v in timed},
    }
    costs = result.pop("us")
    path = corpus.RECORD / f"{datetime.date.today()}-{name}-exact.json"
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(result, indent=1).removesuffix("\n}")
    path.write_text(f'{text},\n "us": {json.dumps(costs)}\n}}\n', encoding="utf-8")  # thousands: one line
    return path


def main(name: str, data: Path, arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=f"{name}, judged exactly; grades in bench/exact.py")
    parser.add_argument("--data", type=Path, default=data)
    parser.add_argument("--tokenizer", help="a tokenizer file (default: a small vocabulary)")
    parser.add_argument("--limit", type=int, help="only the first n schemas")
    parser.add_argument("--only", help="only the schemas with this in their id")
    parser.add_argument("--walks", type=int, default=2, help="walks for each schema")
    parser.add_argument("--mutants", type=int, default=0, help="instances near each given one, judged by validators")
    parser.add_argument("--without", default="", help="keywords to strip first, with commas; then validators label")
    parser.add_argument("--seconds", type=float, default=60.0, help="wall limit of one schema")
    parser.add_argument("--list", action="store_true", help="print every schema that is not right, not only write it")
    parser.add_argument("--out", type=Path, default=corpus.OUT / f"{name}_not_right.jsonl")
    parser.add_argument("--record", action="store_true", help="write the compile costs to bench/record/")
    args = parser.parse_args(arguments)
    lines = [line for line in read_lines(args.data)[:args.limit] if not args.only or args.only in line["id"]]
    begin = time.perf_counter()
    verdicts = examine_all(lines, args.seconds, args.tokenizer, args.walks, args.mutants,
                           frozenset(filter(None, args.without.split(","))))
    report(verdicts, time.perf_counter() - begin)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with args.out.open("w", encoding="utf-8") as out:
        for v in sorted(verdicts, key=lambda v: (v.grade, v.id)):
            if v.grade != "right":
                out.write(json.dumps(asdict(v), ensure_ascii=False) + "\n")
                if args.list:
                    print(f"  {v.grade} {v.id}: {'; '.join(v.reasons)[:300]}")
    print(f"not right: {args.out}")
    if args.record:
        print(f"recorded: {record(name, verdicts, arguments, args.tokenizer)}")
    return 1 if any(v.grade == "wrong" for v in verdicts) else 0
