"""What do masks add to a token of a real model, in each runtime, and what does its native way add?

    python bench/runtimes.py mlx-lm | transformers | llama-cpp [--tokens 24] [--record]

SmolLM2-135M (49,152 tokens), one thread, in the environment of the runtime's tests (`make test-mlx-lm`
and so on). Prompts and schemas are those of the tests. In one run: free text with a processor that
does nothing, then tokfsm's, then the native ways: `LlamaGrammar`, and the processors of outlines and
XGrammar where they are installed (`pip install outlines xgrammar` into the environment; XGrammar's for
MLX needs PyTorch, and is left out). What a processor costs is read inside its call, by the CPU clock
(of the process in MLX, whose threads do the work), with all that was pending before it done; it is
the mask and its application. It is held against the median CPU time of the process from token to
token of free text. A `LlamaGrammar` is no processor: its cost is what a token takes longer.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "integrations"), str(ROOT / "bench")]

from clock import command, load, machine  # noqa: E402
from runtime_cases import CASES, folder  # noqa: E402

import tokfsm  # noqa: E402
from tokfsm.integrations.mlx_gguf import find_model  # noqa: E402

CHOSEN = (0, 4, 5, 6, 9, 15, 16, 18)


class Timed:
    """A processor, and the CPU time of each of its calls."""

    def __init__(self, inner: Callable[[Any, Any], Any], clock: Callable[[], int],
                 settle: Callable[[Any], Any] = lambda x: x) -> None:
        self.inner, self.clock, self.settle, self.ns = inner, clock, settle, list[int]()

    def __call__(self, tokens: Any, logits: Any) -> Any:
        self.settle(logits)
        self.settle(tokens)
        begin = self.clock()
        out = self.inner(tokens, logits)
        self.settle(out)
        self.ns.append(self.clock() - begin)
        return out


def outlines_processors(make_model: Callable[[Any], Any]) -> dict[str, Callable[[Any], Any]]:
    """Outlines' processor for a model, by the schema; none where it is not installed."""
    try:
        import outlines
        from outlines.backends import OutlinesCoreBackend
    except ImportError:
        return {}
    backend = OutlinesCoreBackend(make_model(outlines))
    return {f"outlines {importlib.metadata.version('outlines')}": lambda schema:
            backend.get_json_schema_logits_processor(json.dumps(schema), "")}


MOST_SECONDS = 20  # of CPU, in which a rival has to compile a schema


def too_dear(make: Callable[[Any], Any], schema: Any) -> bool:
    """Whether compiling takes more than MOST_SECONDS; tried in a child, where it can be ended."""
    import resource

    pid = os.fork()
    if pid == 0:
        now = int(time.process_time())
        resource.setrlimit(resource.RLIMIT_CPU, (now + MOST_SECONDS, now + MOST_SECONDS))
        try:
            make(schema)
        finally:
            os._exit(0)  # an exception comes again in the parent
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def nothing(tokens: Any, logits: Any) -> Any:
    return logits


def steps(tokens: Iterator[Any], n: int, stops: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Nanoseconds from token to token, by the wall and by the process's CPU clock."""
    wall, cpu = [time.perf_counter_ns()], [time.process_time_ns()]
    for _, token in zip(range(n), tokens):
        wall.append(time.perf_counter_ns())
        cpu.append(time.process_time_ns())
        if int(token) in stops:
            break
    # The first one has the prompt in it.
    return [b - a for a, b in zip(wall[1:], wall[2:])], [b - a for a, b in zip(cpu[1:], cpu[2:])]


# ---- the runtimes: ways to generate, by name ----


class MlxLm:
    def __init__(self) -> None:
        import mlx.core as mx
        import mlx_lm

        self.version = mlx_lm.__version__
        self.model, self.tokenizer = mlx_lm.load(str(folder()))[:2]
        self.vocab = tokfsm.Vocabulary.from_file(folder())
        self.clock, self.settle = time.process_time_ns, mx.eval
        self.native: dict[str, Any] = outlines_processors(lambda o: o.from_mlxlm(self.model, self.tokenizer))

    def tokens(self, question: str, processor: Any, n: int) -> Iterator[int]:
        import mlx.core as mx
        from mlx_lm.generate import generate_step

        prompt = mx.array(self.tokenizer.encode(f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"))
        for token, _ in generate_step(prompt, self.model, max_tokens=n, logits_processors=[processor]):
            yield token

    def ours(self, automaton: tokfsm.Automaton) -> Any:
        from tokfsm.integrations.mlx_lm import JSONLogitsProcessor

        return JSONLogitsProcessor(automaton)


class Transformers:
    def __init__(self) -> None:
        import torch
        import transformers

        torch.set_num_threads(1)
        self.version = transformers.__version__
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder()))
        self.model = transformers.AutoModelForCausalLM.from_pretrained(str(folder()), dtype=torch.float32).eval()
        self.vocab = tokfsm.Vocabulary.from_file(folder())
        self.clock, self.settle = time.thread_time_ns, lambda x: x
        self.native = outlines_processors(lambda o: o.from_transformers(self.model, self.tokenizer))
        try:
            import xgrammar
            from xgrammar.contrib.hf import LogitsProcessor

            info = xgrammar.TokenizerInfo.from_huggingface(self.tokenizer, vocab_size=self.model.config.vocab_size)
            compiler = xgrammar.GrammarCompiler(info)
            label = f"xgrammar {importlib.metadata.version('xgrammar')}"
            self.native[label] = lambda schema: LogitsProcessor(
                compiler.compile_json_schema(json.dumps(schema), any_whitespace=False, separators=(",", ":"),
                                             strict_mode=False))
        except ImportError:
            pass

    def tokens(self, question: str, processor: Any, n: int) -> Iterator[int]:
        import torch
        from transformers.generation.streamers import BaseStreamer

        at: list[tuple[int, int, int]] = []

        class Clock(BaseStreamer):  # type: ignore[misc]
            def put(self, value: Any) -> None:
                at.append((time.perf_counter_ns(), time.process_time_ns(), int(value.reshape(-1)[-1])))

            def end(self) -> None:
                pass

        ids = self.tokenizer.encode(f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n",
                                    add_special_tokens=False, return_tensors="pt")
        with torch.no_grad():
            self.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=n, do_sample=False,
                                pad_token_id=2, logits_processor=[processor], streamer=Clock())
        self.at = at[1:]  # without the prompt
        yield from [token for _, _, token in self.at]

    def ours(self, automaton: tokfsm.Automaton) -> Any:
        from tokfsm.integrations.transformers import JSONLogitsProcessor

        return JSONLogitsProcessor(automaton)


class LlamaCpp:
    def __init__(self) -> None:
        import llama_cpp

        from tokfsm.integrations.llama_cpp import vocabulary_of

        self.version = llama_cpp.__version__
        self.llm = llama_cpp.Llama(model_path=str(find_model("smollm2")), n_ctx=512, n_threads=1, n_threads_batch=1,
                                   verbose=False)
        self.vocab = vocabulary_of(self.llm)
        self.clock, self.settle = time.thread_time_ns, lambda x: x
        self.native = {"LlamaGrammar": lambda schema: llama_cpp.LlamaGrammar.from_json_schema(
            json.dumps(schema), verbose=False), **outlines_processors(lambda o: o.from_llamacpp(self.llm))}

    def tokens(self, question: str, processor: Any, n: int) -> Iterator[int]:
        import llama_cpp

        text = f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
        ids = self.llm.tokenize(text.encode(), add_bos=False, special=True)
        way = {"grammar": processor} if isinstance(processor, llama_cpp.LlamaGrammar) else {
            "logits_processor": [processor]}
        self.llm.reset()
        yield from self.llm.generate(ids, temp=0.0, repeat_penalty=1.0, **way)

    def ours(self, automaton: tokfsm.Automaton) -> Any:
        from tokfsm.integrations.llama_cpp import JSONLogitsProcessor

        return JSONLogitsProcessor(self.llm, automaton)


RUNTIMES = {"mlx-lm": MlxLm, "transformers": Transformers, "llama-cpp": LlamaCpp}


def intervals(runtime: Any, question: str, processor: Any, n: int) -> tuple[list[int], list[int]]:
    found = steps(runtime.tokens(question, processor, n), n, runtime.vocab.stop_token_ids)
    at = getattr(runtime, "at", None)
    if at is None:
        return found
    return [b[0] - a[0] for a, b in zip(at, at[1:])], [b[1] - a[1] for a, b in zip(at, at[1:])]


def run(name: str, n: int) -> dict[str, Any]:
    runtime = RUNTIMES[name]()
    free: tuple[list[int], list[int]] = ([], [])
    mine: list[int] = []
    masked: tuple[list[int], list[int]] = ([], [])
    native: dict[str, dict[str, Any]] = {
        key: {"make_ns": [], "wall_ns": [], "cpu_ns": [], "call_ns": [], "failed": {}} for key in runtime.native}
    compile_ns, first = [], []
    runtime.vocab._pack  # built once, not with the first schema
    for case in CHOSEN:
        schema, question = CASES[case]
        for kept, more in zip(free, intervals(runtime, question, Timed(nothing, runtime.clock, runtime.settle), n)):
            kept += more
        begin = time.thread_time_ns()
        automaton = tokfsm.compile(schema, runtime.vocab)
        compile_ns.append(time.thread_time_ns() - begin)
        for again in range(2):  # the second time all masks are there, as in a server
            timed = Timed(runtime.ours(automaton), runtime.clock, runtime.settle)
            for kept, more in zip(masked, intervals(runtime, question, timed, n)):
                kept += more
            (mine if again else first).extend(timed.ns)
        for key, make in runtime.native.items():
            if key.startswith("outlines") and too_dear(make, schema):
                native[key]["failed"][str(case)] = f"not compiled in {MOST_SECONDS} s of CPU"
                continue
            try:
                begin = time.process_time_ns()
                other = make(schema)
                native[key]["make_ns"].append(time.process_time_ns() - begin)
                timed_too = other if key == "LlamaGrammar" else Timed(other, runtime.clock, runtime.settle)
                wall, cpu = intervals(runtime, question, timed_too, n)
                native[key]["wall_ns"] += wall
                native[key]["cpu_ns"] += cpu
                native[key]["call_ns"] += getattr(timed_too, "ns", [])
            except Exception as error:
                native[key]["failed"][str(case)] = f"{type(error).__name__}: {error}"[:200]
    return {"runtime": name, "version": runtime.version, "vocab_size": runtime.vocab.size, "cases": CHOSEN,
            "free_wall_ns": free[0], "free_cpu_ns": free[1], "first_ns": first, "again_ns": mine,
            "masked_wall_ns": masked[0], "masked_cpu_ns": masked[1], "compile_ns": compile_ns, "native": native}


def report(found: dict[str, Any]) -> None:
    def ms(values: list[int]) -> str:
        return f"{statistics.median(values) / 1e6:.2f} ms"

    token = statistics.median(found["free_cpu_ns"])
    print(f"{found['runtime']} {found['version']}: free text {ms(found['free_wall_ns'])} a token by the wall, "
          f"{ms(found['free_cpu_ns'])} of CPU ({len(found['free_wall_ns'])} tokens)")
    for key, label in (("first_ns", "first use of a schema"), ("again_ns", "again")):
        values = sorted(found[key])
        mean = statistics.mean(values)
        print(f"  tokfsm, {label}: mean {mean / 1e3:.0f} us, median {statistics.median(values) / 1e3:.0f}, "
              f"most {values[-1] / 1e3:.0f} us of CPU a call = {mean / token:.2%} of a token ({len(values)} calls)")
    print(f"  tokfsm: {ms(found['masked_wall_ns'])} a token by the wall, {ms(found['masked_cpu_ns'])} of CPU; "
          f"compile {ms(found['compile_ns'])}")
    for key, one in found["native"].items():
        if one["wall_ns"]:
            print(f"  {key}: {ms(one['wall_ns'])} a token by the wall, {ms(one['cpu_ns'])} of CPU; "
                  f"compile {ms(one['make_ns'])}", end="")
            calls = sorted(one["call_ns"])
            print(f"; mean {statistics.mean(calls) / 1e3:.0f} us, median {statistics.median(calls) / 1e3:.0f}, most "
                  f"{calls[-1] / 1e3:.0f} us a call = {statistics.mean(calls) / token:.2%} of a token"
                  if calls else "")
        for case, why in one["failed"].items():
            print(f"  {key}, case {case}: {why}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("runtime", choices=RUNTIMES)
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    here = machine()
    found = run(args.runtime, args.tokens)
    report(found)
    if args.record:
        path = ROOT / "bench" / "record" / f"{datetime.date.today()}-runtime-{args.runtime}.json"
        found = {"command": command(), "machine": here, "load_at_end": load(), **found}
        path.write_text(json.dumps(found, indent=None) + "\n", encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
