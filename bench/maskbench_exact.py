"""Does every real instance get through, and none that is invalid?

Runs all schemas of MaskBench (`../shared/maskbench/dev.jsonl.gz`) with `whitespace="flexible"`:
every valid instance is accepted token by token, as `json.dumps` writes it and compact, in the
given order and with keys shuffled, cut into tokens at random; every invalid one is refused; and
walks under the mask end valid, with the smallest budget too. Prints a summary; writes every
schema that is not right, with its reasons, as JSON lines.

    python bench/maskbench_exact.py [--tokenizer tokenizer.json] [--limit n] [--out not_right.jsonl]

Grades: right; refused (a keyword, by name); limit (over budget); spelling (only instances whose
spelling the declared profile leaves out); label (the validator sides with us against the label);
wrong.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import multiprocessing
import random
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from schemas import PIECES, Probe, Splitter, Witness, strict_json  # noqa: E402
from test_walks import walk  # noqa: E402

import tokfsm  # noqa: E402

DATA = ROOT.parent / "shared" / "maskbench" / "dev.jsonl.gz"


@dataclass
class Verdict:
    """What one schema did."""

    id: str
    grade: str = "right"
    reasons: list[str] = field(default_factory=list)
    n_accepted: int = 0     # texts of valid instances, accepted
    n_refused: int = 0      # texts of invalid instances, refused
    compile_ms: float = 0.0
    seconds: float = 0.0


def read_lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def small_vocabulary() -> list[bytes | None]:
    """All bytes, common pieces, and a few thousand short words of letters."""
    letters = b"etaoinshrdlcumwfgypbvk"
    pairs = [bytes([a, b]) for a in letters for b in letters]
    triples = [p + bytes([c]) for p in pairs[:120] for c in letters[:10]]
    return [*(bytes([b]) for b in range(256)), *PIECES, *pairs, *triples, None]


def shuffled(value: Any, rng: random.Random) -> Any:
    """The same value with the keys of every object in another order."""
    if isinstance(value, list):
        return [shuffled(v, rng) for v in value]
    if isinstance(value, dict):
        items = [(k, shuffled(v, rng)) for k, v in value.items()]
        rng.shuffle(items)
        return dict(items)
    return value


def texts_of(value: Any, rng: random.Random) -> dict[str, bytes] | None:
    """The spellings that are tried; None for a value with a lone surrogate, which no text has."""
    other = shuffled(value, rng)
    try:
        return {
            "as written": json.dumps(value, ensure_ascii=False).encode(),
            "compact": json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(),
            "shuffled": json.dumps(other, ensure_ascii=False).encode(),
            "shuffled, compact": json.dumps(other, ensure_ascii=False, separators=(",", ":")).encode(),
        }
    except UnicodeEncodeError:
        return None


class Judge:
    """Grades one schema after the other against one vocabulary."""

    def __init__(self, tokens: list[bytes | None], vocab: Any = None, n_walks: int = 2) -> None:
        self.tokens = tokens
        self.vocab = vocab or tokfsm.Vocabulary.from_bytes(tokens)
        self.splitter = Splitter(tokens, list(self.vocab.stop_token_ids))
        self.n_walks = n_walks

    def __call__(self, line: dict[str, Any]) -> Verdict:
        verdict, begin = Verdict(line["id"]), time.perf_counter()
        try:
            self._judge(line, verdict)
        except tokfsm.errors.UnsupportedSchemaError as e:
            verdict.grade, verdict.reasons = "refused", [f"{e.keyword} at {e.pointer}: {e}"]
        except (tokfsm.errors.LimitError, RecursionError) as e:
            verdict.grade, verdict.reasons = "limit", [f"{type(e).__name__}: {e}"]
        except (tokfsm.errors.TokfsmError, AssertionError) as e:
            verdict.grade, verdict.reasons = "wrong", [f"{type(e).__name__}: {str(e)[:300]}"]
        verdict.seconds = time.perf_counter() - begin
        return verdict

    def _judge(self, line: dict[str, Any], verdict: Verdict) -> None:
        schema, rng = line["schema"], random.Random(line["id"])
        begin = time.perf_counter()
        try:
            automaton = tokfsm.compile(schema, self.vocab, whitespace="flexible")
        except tokfsm.errors.UnsatisfiableSchemaError as e:
            if any(test["valid"] for test in line["tests"]):
                verdict.grade, verdict.reasons = "wrong", [f"said to be unsatisfiable: {e}"]
            return
        verdict.compile_ms = (time.perf_counter() - begin) * 1e3
        probe, witness = Probe(automaton), Witness(schema)
        grades = set()
        for i, test in enumerate(line["tests"]):
            for way, text in (texts_of(test["data"], rng) or {}).items():
                accepted, where = self._feed(probe, text, rng)
                if accepted == test["valid"]:
                    verdict.n_accepted += accepted
                    verdict.n_refused += not accepted
                    continue
                grades.add(self._why(witness, test, text, where))
                said = "accepted, though invalid" if accepted else f"refused at byte {where}, though valid"
                verdict.reasons.append(f"instance {i} {way}: {said}: {text[max(0, where - 60):where + 20]!r}")
        if self.n_walks:
            walk(rng, automaton, witness, lambda t: self.tokens[t] or b"", self.n_walks)
        if grades:
            verdict.grade = next(g for g in ("wrong", "spelling", "label") if g in grades)

    def _feed(self, probe: Probe, text: bytes, rng: random.Random) -> tuple[bool, int]:
        """Whether the text is accepted, by bytes and by a random split alike; and how far it came."""
        probe.matcher.reset()
        taken, complete, _ = probe.matcher.check_bytes(text)
        accepted = taken == len(text) and bool(complete)
        ids = self.splitter.split(rng, text)
        if ids is not None:
            whole = probe.take(ids) is None and bool(probe.matcher.is_complete)
            assert whole == accepted, f"tokens and bytes disagree on {text[:200]!r}"
        return accepted, int(taken)

    @staticmethod
    def _why(witness: Witness, test: dict[str, Any], text: bytes, where: int) -> str:
        """Whether label, spelling profile or engine is at fault."""
        try:
            valid = witness.value_ok(strict_json(text))
        except Exception:  # the validator does not take every schema
            return "wrong"
        if valid != test["valid"]:
            return "label"
        number = not test["valid"] or where >= len(text) or text[where:where + 1] not in (b".", b"e", b"E")
        return "wrong" if number else "spelling"


_judge: Judge


def _begin(tokenizer: str | None, n_walks: int) -> None:
    global _judge
    if tokenizer is None:
        _judge = Judge(small_vocabulary(), n_walks=n_walks)
    else:
        vocab = tokfsm.Vocabulary.from_file(tokenizer)
        _judge = Judge([vocab.token_bytes(i) for i in range(vocab.size)], vocab, n_walks)


def _grade(line: dict[str, Any]) -> Verdict:
    return _judge(line)


def main() -> None:
    parser = argparse.ArgumentParser(description="MaskBench, judged exactly")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", help="a tokenizer file (default: a small vocabulary)")
    parser.add_argument("--limit", type=int, help="only the first n schemas")
    parser.add_argument("--walks", type=int, default=2, help="walks for each schema")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("maskbench_not_right.jsonl"))
    args = parser.parse_args()
    lines = read_lines(args.data)[:args.limit]
    begin = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(args.processes, _begin, (args.tokenizer, args.walks)) as pool:
        verdicts = list(pool.imap(_grade, lines, chunksize=8))
    grades = collections.Counter(v.grade for v in verdicts)
    n_compiled = sum(n for g, n in grades.items() if g not in ("refused", "limit"))
    print(f"{len(verdicts)} schemas in {time.perf_counter() - begin:.0f} s: "
          + ", ".join(f"{n} {g}" for g, n in grades.most_common()))
    print(f"of the {n_compiled} compiled, {100 * grades['right'] / max(1, n_compiled):.2f} % wholly right; texts "
          f"accepted {sum(v.n_accepted for v in verdicts)}, refused {sum(v.n_refused for v in verdicts)}")
    refused = collections.Counter(v.reasons[0].split(" at ")[0] for v in verdicts if v.grade == "refused")
    print("refused by name: " + ", ".join(f"{k} {n}" for k, n in refused.most_common()))
    with args.out.open("w", encoding="utf-8") as out:
        for v in sorted(verdicts, key=lambda v: (v.grade, v.id)):
            if v.grade != "right":
                out.write(json.dumps(asdict(v), ensure_ascii=False) + "\n")
    print(f"not right: {args.out}")


if __name__ == "__main__":
    main()
