"""What the runtimes are asked, and how their answers are judged: the same for all of them."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tokfsm

ROOT = Path(__file__).resolve().parents[2]
N_GENERATIONS = int(os.environ.get("TOKFSM_GENERATIONS", "0"))  # 0: a few; 200: those that the record is of
NEAR = 1e-3  # two logits that are no further apart may fall either way
# What was done, and where logits were that near; `conftest.py` lists both at the end.
TALLY: Counter[str] = Counter()
NEAR_TIES: list[str] = []


def folder() -> Path:
    """The model as a Hugging Face folder; kept in build/."""
    from model_folder import folder_at

    return folder_at(Path(os.environ.get("TOKFSM_MODEL_FOLDER", ROOT / "build" / "smollm2")))


def closed(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
            **more}


NAME = {"type": "string", "minLength": 1, "maxLength": 20}
SPIDER = closed({"animal": {"type": "string", "maxLength": 12}, "legs": {"type": "integer"},
                 "venomous": {"type": "boolean"}})
# (schema, what is asked)
CASES: list[tuple[Any, str]] = [
    (SPIDER, "Describe a spider as JSON."),
    (closed({"n": {"type": "integer", "minimum": 1, "maximum": 9999}}), "How many legs has a spider? JSON."),
    ({"enum": ["yes", "no", "perhaps"]}, "Is the sea blue?"),
    ({"type": "integer"}, "How much is 2 + 2? The number alone."),
    (closed({"city": NAME, "country": NAME}), "Name a city and its country as JSON."),
    ({"type": "array", "items": NAME, "minItems": 1, "maxItems": 3}, "List three colours."),
    (closed({"date": {"type": "string", "format": "date"}}), "JSON with the date of the moon landing."),
    (closed({"email": {"type": "string", "pattern": "^[a-z]{1,10}@[a-z]{1,10}\\.com$"}}), "An e-mail address as JSON."),
    ({"anyOf": [closed({"error": NAME}), closed({"result": {"type": "number"}})]}, "Divide 1 by 0. Answer as JSON."),
    (closed({"tool": {"const": "search"}, "arguments": closed({"query": NAME, "limit": {"enum": [5, 10, 20]}})}),
     "Search the web for spiders. Answer with a tool call in JSON."),
    ({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "minProperties": 1,
      "additionalProperties": False}, "JSON with a and b."),
    ({"$defs": {"tree": closed({"label": {"type": "string", "maxLength": 5},
                                "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 2}})},
      "$ref": "#/$defs/tree"}, "A small tree as JSON."),
    ({"type": "boolean"}, "Can birds fly?"),
    (closed({"rating": {"type": "number", "multipleOf": 0.5, "minimum": 0, "maximum": 5}}),
     "Rate this film from 0 to 5. JSON."),
    ({"type": "array", "uniqueItems": True, "items": {"enum": ["red", "green", "blue"]}, "minItems": 2, "maxItems": 3},
     "Which colours does a screen have?"),
    (closed({"name": NAME, "age": {"type": ["integer", "null"], "minimum": 0, "maximum": 150}}), "A person as JSON."),
    ({"type": "string", "maxLength": 30}, "Say hello."),
    (closed({"ok": {"type": "boolean"}, "é\"x": {"enum": ["naïve", "日本"]}}), "JSON, please."),
    ({"type": "object", "propertyNames": {"pattern": "^[a-z]{1,6}$"}, "minProperties": 1, "maxProperties": 2,
      "additionalProperties": {"type": "integer", "maximum": 99}}, "Count the letters of a word. JSON."),
    ({"type": "object", "properties": {"kind": {"enum": ["circle", "square"]}, "r": {"type": "integer"}},
      "required": ["kind"], "additionalProperties": False, "if": {"properties": {"kind": {"const": "circle"}}},
      "then": {"required": ["r"]}, "else": {"properties": {"r": False}}}, "A shape as JSON."),
]


# Raw prompts after which the model writes a value of the schema by itself, in `json.dumps`'s white space.
RIGHT_ALREADY: list[tuple[str, Any]] = [
    ("Lists of numbers as JSON:\n[1, 2, 3]\n[4, 5, 6]\n", {"type": "array", "items": {"type": "integer"}}),
    ('Records:\n{"name": "Ann", "age": 31}\n{"name": "Bob", "age": 27}\n',
     {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name"]}),
    ('"red"\n"green"\n"blue"\n', {"type": "string"}),
]


def first_value(text: str) -> str:
    """The value that a text begins with."""
    return text[: json.JSONDecoder().raw_decode(text)[1]]


def plan(n: int) -> list[tuple[int, int, float, int | None]]:
    """(case, seed, temperature, budget above the least, or None): greedy and sampled, with and without a budget."""
    out = []
    for k in range(n):
        case, turn = k % len(CASES), k // len(CASES)
        temperature = 0.0 if turn % 5 < 2 else (0.7, 1.0, 1.5)[turn % 3]
        out.append((case, k, temperature, None if turn % 2 else (0, 3, 15)[turn % 3]))
    return out


def assert_valid(text: str, schema: Any) -> Any:
    import jsonschema

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len(dict(found)) == len(found), f"a name twice: {text}"
        return dict(found)

    value = json.loads(text, object_pairs_hook=pairs)
    jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).validate(value)
    return value


def tally(vocab: tokfsm.Vocabulary, automaton: tokfsm.Automaton, ids: Sequence[int], schema: Any, temperature: float,
          budget: int | None) -> None:
    """Judge one generation: valid if it ended, or had a budget; else the tokens so far were legal, each of them."""
    ended = ids[-1] in vocab.stop_token_ids
    if ended or budget is not None:
        assert_valid(text_of(vocab, ids), schema)
    else:
        assert automaton.matcher().accept_tokens(ids)
    TALLY["generations"] += 1
    TALLY["greedy" if temperature == 0 else "sampled"] += 1
    TALLY["without a budget" if budget is None else "with a budget"] += 1
    TALLY["tokens"] += len(ids)
    TALLY["valid values" if ended or budget is not None else "legal so far, cut by the limit of the test"] += 1


def compared() -> list[tuple[int, int | None]]:
    """(case, budget above the least, or None) to be written plainly, drafted and batched: all cases in a full run."""
    chosen = range(len(CASES)) if N_GENERATIONS else (0, 2, 9, 1)
    return [(case, None if k % 2 else 12) for k, case in enumerate(chosen)]


def up_to_stop(ids: Sequence[int], stops: Sequence[int]) -> list[int]:
    """Ids up to the first stop token, which is the last of them then."""
    n = next((i + 1 for i, one in enumerate(ids) if one in stops), len(ids))
    return [int(one) for one in ids[:n]]


def assert_same(automaton: tokfsm.Automaton, plain: Sequence[int], other: Sequence[int], raw: Any, what: str) -> None:
    """Token for token; where they part, the raw logits of the plain way are a near tie, which is listed."""
    a, b = (up_to_stop(ids, automaton.stop_token_ids) for ids in (plain, other))
    TALLY[f"{what}: the same as plain"] += a == b
    if a == b:
        return
    i = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    assert i < min(len(a), len(b)), (what, a, b)
    apart = abs(float(raw[i][a[i]]) - float(raw[i][b[i]]))
    assert apart <= NEAR, (what, i, a, b, apart)
    TALLY[f"{what}: parted at a near tie"] += 1
    NEAR_TIES.append(f"{what}: at token {i}, {a[i]} or {b[i]}, {apart:.1e} apart")


def text_of(vocab: tokfsm.Vocabulary, ids: Sequence[int]) -> str:
    """The text of ids up to the first stop token."""
    stops = set(vocab.stop_token_ids)
    ids = list(ids)
    n = next((i for i, one in enumerate(ids) if one in stops), len(ids))
    return b"".join(vocab.token_bytes(one) or b"" for one in ids[:n]).decode()


def assert_greedy(automaton: tokfsm.Automaton, ids: Sequence[int], raw: Any, max_tokens: int | None = None) -> None:
    """Each id is the argmax over the legal tokens of the raw logits before it; near ties may fall either way."""
    matcher = automaton.matcher()
    row = tokfsm.allocate_token_bitmask(1, len(raw[0]))
    for i, (one, logits) in enumerate(zip(ids, raw)):
        matcher.fill_next_token_bitmask(row, 0, budget=None if max_tokens is None else max_tokens - i)
        legal = np.unpackbits(row.numpy().view(np.uint8)[0], bitorder="little")[: len(logits)].astype(bool)
        best = np.where(legal, np.asarray(logits, np.float64), -np.inf)
        assert legal[one] and best[one] >= best.max() - NEAR, (i, one, int(best.argmax()))
        TALLY["greedy steps that were compared"] += 1
        if best[one] < best.max():
            NEAR_TIES.append(f"greedy: at token {i}, {one} or {int(best.argmax())}, {best.max() - best[one]:.1e} apart")
        assert matcher.accept_token(int(one))
        if matcher.is_terminated():
            break
