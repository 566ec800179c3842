"""Masks against witnesses that share nothing with the engine, on real vocabularies.

At random states of random schemas:

* lazy, ahead of time and reopened: the same mask bit for bit, the same end, the same bound;
* for bits 1, sampled: the token is accepted, the value is completed within the smallest budget,
  the bound falling at each token, and ``jsonschema`` accepts the text;
* for bits 0, sampled: the token is refused and nothing changes;
* along every known valid text (instances x key orders x white space x splits into tokens): each
  token whose bytes come next in the text has its bit, and at the end the value is complete.

States lie on known texts, and up to a dozen random tokens off them. Failures are kept with the
tokens that lead to them, and the exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import clock
import corpus
import witness
from maskbench import show
from tokfsm.measure.workers import Handler, Worker

VOCABULARIES = (
    "llama3_1/tokenizer.json", "qwen3/tokenizer.json", "gpt4o/tokenizer.json", "gemma3/tokenizer.json",
    "mistral/tekken_240911.json", "mistral/tokenizer.model.v3", "qwen_tiktoken/qwen.tiktoken",
)
STRUCTURAL = frozenset(b'"\\{}[],: \t\n\r')


class Request(NamedTuple):
    line: dict[str, Any]
    n_states: int
    seed: int


class Answer(NamedTuple):
    counts: Counter[str]
    failures: list[dict[str, Any]]


class Witness:
    """Handler of the worker: one vocabulary, a schema a request."""

    def __init__(self, path: Path, whitespace: Any, n_completions: int) -> None:
        import tokfsm

        self._tokfsm, self._whitespace = tokfsm, whitespace
        self.version = tokfsm.__version__
        self._n_completions = n_completions
        self._vocab = tokfsm.Vocabulary.from_file(str(path))
        self._tokens: list[bytes | None] = [self._vocab.token_bytes(i) for i in range(self._vocab.size)]
        self._splitter = corpus.Splitter(self._tokens)
        self._structural = np.array([bool(token and STRUCTURAL & set(token)) for token in self._tokens])
        self._bitmask = tokfsm.allocate_token_bitmask(1, self._vocab.size)
        self._row = np.asarray(self._bitmask)[0]
        self._folder = tempfile.TemporaryDirectory()

    def __call__(self, request: Request) -> Answer:
        self._counts: Counter[str] = Counter()
        self._failures: list[dict[str, Any]] = []
        self._rng = random.Random(request.seed)
        self._id = request.line["id"]
        text = json.dumps(request.line["schema"], ensure_ascii=False)
        try:
            lazy = self._compile(text)
        except self._tokfsm.TokfsmError as error:
            self._counts[f"schema refused: {type(error).__name__}"] += 1
            return Answer(self._counts, self._failures)
        self._counts["schemas"] += 1
        automata = [lazy, *self._closed(text)]
        try:
            judge: witness.Validate | None = witness.validator(text)
        except witness.NoWitnessError:
            judge = None
            self._counts["schemas without witness"] += 1
        values = [test["data"] for test in request.line["tests"] if test["valid"] and corpus.spell(test["data"])]
        for _ in range(request.n_states):
            self._state(automata, values, judge)
        return Answer(self._counts, self._failures)

    def _compile(self, text: str) -> Any:
        return self._tokfsm.compile(text, self._vocab, whitespace=self._whitespace)

    def _closed(self, text: str) -> Iterator[Any]:
        """The same language ahead of time and reopened, where it can be closed within the limits."""
        ahead = self._compile(text)
        try:
            ahead.precompile()
            path = str(Path(self._folder.name) / "witness.tokfsm")
            ahead.save(path, embed_pack=False)
        except self._tokfsm.LimitError:
            self._counts["schemas not closed"] += 1
            return
        yield ahead
        yield self._tokfsm.load(path, self._vocab)

    def _fail(self, kind: str, ids: list[int], detail: str) -> None:
        self._counts["failures"] += 1
        text = b"".join(self._tokens[i] or b"" for i in ids).decode("utf-8", "backslashreplace")
        self._failures.append({"kind": kind, "schema": self._id, "ids": ids, "text": text[-300:], "detail": detail})

    def _allowed(self, matcher: Any, **budget: int) -> NDArray[np.bool_]:
        matcher.fill_next_token_bitmask(self._bitmask, 0, **budget)
        bits = np.unpackbits(self._row.view(np.uint8), bitorder="little")
        return bits[: self._vocab.size].astype(np.bool_)

    def _choose(self, allowed: NDArray[np.bool_]) -> int | None:
        """A token of the mask; half of the time one with a structural byte, if there is one."""
        ids = np.flatnonzero(allowed)
        if self._rng.random() < 0.5 and (allowed & self._structural).any():
            ids = np.flatnonzero(allowed & self._structural)
        return int(ids[self._rng.randrange(len(ids))]) if len(ids) else None

    def _state(self, automata: list[Any], values: list[Any], judge: witness.Validate | None) -> None:
        matchers = [a.matcher(stop_token_ids=[]) for a in automata]
        path: list[int] = []
        if values and self._rng.random() < 0.8:
            path = self._known(automata[0], self._rng.choice(values))
            path = path[: self._rng.randrange(len(path) + 1)]
            for token in path:
                for matcher in matchers:
                    if not matcher.accept_token(token):
                        return self._fail("a token of a known text is refused by one of three", path, str(token))
        self._wander(matchers, path)
        self._compare(matchers, path)
        self._sample(matchers[0], path, judge)
        self._counts["states"] += 1

    def _known(self, automaton: Any, value: Any) -> list[int]:
        """Walk one spelling and one split of a valid value; as far as it is allowed."""
        text = witness.spell(value, self._rng, spaces=self._whitespace == "flexible").encode()
        ids = self._splitter.split(text, self._rng, self._tokens)
        if ids is None:
            self._counts["texts with a byte that is no token"] += 1
            return []
        matcher = automaton.matcher(stop_token_ids=[])
        at = 0
        for n, token in enumerate(ids):
            allowed = self._allowed(matcher)
            missing = [t for t in self._splitter.fitting(text, at) if not allowed[t]]
            self._counts["positions on known texts"] += 1
            if missing or not matcher.accept_token(token):
                rest = text[at : at + 60].decode("utf-8", "backslashreplace")
                self._fail("a valid text is refused", ids[:n], f"{missing[:5] or token}; next: {rest}")
                return ids[:n]
            at += len(self._tokens[token] or b"")
        self._counts["known texts"] += 1
        if not matcher.is_complete:
            self._fail("a valid text is not complete at its end", ids, "")
        return ids

    def _wander(self, matchers: list[Any], path: list[int]) -> None:
        """Off the known text: random tokens, half of them bound for an early end."""
        for _ in range(self._rng.choice((0, 0, 1, 2, 3, 6, 12))):
            budget = {"budget": matchers[0].min_tokens + self._rng.randrange(3)} if self._rng.random() < 0.5 else {}
            token = self._choose(self._allowed(matchers[0], **budget))
            if token is None:
                return
            if not all(matcher.accept_token(token) for matcher in matchers):
                self._fail("an allowed token is refused by one of three", path, str(token))
                return
            path.append(token)

    def _compare(self, matchers: list[Any], path: list[int]) -> None:
        rows = [self._allowed(matcher) for matcher in matchers]
        ends = [(bool(m.is_complete), bool(m.is_terminated()), m.min_tokens) for m in matchers]
        for name, row, end in zip(("ahead of time", "reopened"), rows[1:], ends[1:]):
            self._counts["masks compared"] += 1
            if end != ends[0] or not np.array_equal(row, rows[0]):
                differing = np.flatnonzero(row != rows[0])[:5].tolist()
                self._fail(f"{name} differs from lazy", path, f"bits {differing}, ends {end} and {ends[0]}")

    def _sample(self, matcher: Any, path: list[int], judge: witness.Validate | None) -> None:
        allowed = self._allowed(matcher)
        refused = np.flatnonzero(~allowed)
        bound = matcher.min_tokens
        for _ in range(3 if len(refused) else 0):
            token = int(refused[self._rng.randrange(len(refused))])
            if matcher.accept_token(token) or matcher.min_tokens != bound:
                return self._fail("a token whose bit is 0 is accepted, or moves the state", path, str(token))
            self._counts["bits 0 tried"] += 1
        if not allowed.any():  # the end: nothing can follow
            return self._finish(matcher.fork(), list(path), judge)
        for _ in range(self._n_completions):
            chosen = self._choose(allowed)
            assert chosen is not None
            fork = matcher.fork()
            if not fork.accept_token(chosen):
                return self._fail("a token whose bit is 1 is refused", path, str(chosen))
            self._counts["bits 1 completed"] += 1
            self._finish(fork, [*path, chosen], judge)
        return None

    def _finish(self, matcher: Any, path: list[int], judge: witness.Validate | None) -> None:
        """Complete the value within the smallest budget, then ask the validator."""
        bound = matcher.min_tokens
        while bound > 0:
            token = self._choose(self._allowed(matcher, budget=bound))
            if token is None or not matcher.accept_token(token):
                return self._fail("no token leads on within the bound", path, f"bound {bound}, token {token}")
            path.append(token)
            if matcher.min_tokens >= bound:
                return self._fail("the bound does not fall", path, f"{bound} to {matcher.min_tokens}")
            bound = matcher.min_tokens
        if not matcher.is_complete:
            return self._fail("not complete where the bound is 0", path, "")
        try:
            value = witness.parse(b"".join(self._tokens[i] or b"" for i in path).decode("utf-8"))
        except ValueError as error:
            return self._fail("a completion is not JSON", path, str(error))
        if judge is None:
            return None
        try:
            why = judge(value)
        except (witness.NoWitnessError, witness.Disagreement):
            self._counts["completions without witness"] += 1
            return None
        self._counts["completions judged valid"] += why is None
        if why is not None:
            self._fail("a completion is invalid", path, why)
        return None


def serve(path: Path, whitespace: str, n_completions: int) -> tuple[dict[str, Any], Handler]:
    handler = Witness(path, whitespace, n_completions)
    return {"version": handler.version}, handler


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, default=corpus.DATA)
    p.add_argument("--vocabularies", default=",".join(VOCABULARIES), help="files below --tokenizers")
    p.add_argument("--tokenizers", type=Path, default=corpus.TOKENIZERS)
    p.add_argument("--states", type=int, default=10_000, help="over all vocabularies")
    p.add_argument("--per-schema", type=int, default=10, help="states of one schema")
    p.add_argument("--completions", type=int, default=1, help="bits 1 completed at each state")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--whitespace", default="flexible", choices=("flexible", "compact"))
    p.add_argument("--seconds", type=float, default=300.0, help="limit a schema")
    p.add_argument("--memory-gb", type=float, default=8.0, help="address space of the process")
    p.add_argument("--label", default="", help="goes into the names of the files written")
    p.add_argument("--record", action="store_true", help="write the summary into bench/record")
    options = p.parse_args(arguments)
    machine = clock.machine()
    names = [name for name in options.vocabularies.split(",") if name]
    target = -(-options.states // len(names))
    lines = corpus.read(options.data)
    date = datetime.date.today().isoformat()
    stem = "-".join(part for part in (date, "masks-witness", options.label) if part)
    corpus.OUT.mkdir(parents=True, exist_ok=True)
    counts: dict[str, Counter[str]] = {}
    version, n_failures, shown = "", 0, time.monotonic()
    with open(corpus.OUT / f"{stem}-failures.jsonl", "w", encoding="utf-8") as kept:
        for n, name in enumerate(names):
            count = counts[name] = Counter()
            about = (options.tokenizers / name, options.whitespace, options.completions)
            worker = Worker(serve, about, int(options.memory_gb * 2**30))
            if (hello := worker.start()).status != "ok":
                print(f"masks_witness: {name}: {hello.value}", file=sys.stderr)
                return 1
            version = worker.hello["version"]
            for index in corpus.choose(len(lines), None, options.seed + n):
                if count["states"] >= target:
                    break
                wanted = min(options.per_schema, target - count["states"])
                reply = worker.call(Request(lines[index], wanted, options.seed * 1_000_003 + index), options.seconds)
                if reply.status == "ok":
                    count += reply.value.counts
                else:
                    count[f"schema: {reply.status}"] += 1
                    count["failures"] += reply.status == "crash"
                lost = {"kind": reply.status, "schema": lines[index]["id"], "detail": str(reply.value)}
                failures = reply.value.failures if reply.status == "ok" else [lost]
                for failure in failures:
                    kept.write(json.dumps({"vocabulary": name, **failure}) + "\n")
                    n_failures += 1
                    if n_failures <= 20:
                        print(f"{name} {failure['schema']}: {failure['kind']}: {failure['detail']}", file=sys.stderr)
                if time.monotonic() - shown > 10:
                    shown = time.monotonic()
                    print(f"{name}: {count['states']} of {target} states", file=sys.stderr, flush=True)
            worker.stop()
            counts[name] = count

    rows = sorted({kind for count in counts.values() for kind in count})
    total = sum(counts.values(), Counter())
    show("counts", ["", *(name.partition(".")[0] for name in names), "all"],
         [[kind, *(str(count[kind]) for count in counts.values()), str(total[kind])] for kind in rows])
    if options.record:
        record = {
            "command": "python " + clock.command(["bench/masks_witness.py", *arguments]),
            "date": date,
            "machine": {**machine, "load_at_end": clock.load()},
            "version": version,
            "data_sha256": clock.sha256(options.data),
            "counts": {name: dict(count) for name, count in counts.items()}, "total": dict(total),
        }
        path = corpus.RECORD / f"{stem}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(f"\nrecorded in bench/record/{path.name}")
    return 1 if total["failures"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
