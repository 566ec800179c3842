"""A witness for texts: the judge of `tests/judge.py`, and texts of values within the spelling profile.

What no validator can read has no witness, which is counted, not judged.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from judge import Disagreement, Judge, NoWitnessError  # noqa: E402
from judge import strict_json as parse  # noqa: E402

__all__ = ["Disagreement", "NoWitnessError", "Validate", "parse", "spell", "validator"]

Validate = Callable[[Any], "str | None"]


def validator(schema_text: str) -> Validate:
    """A function from a parsed value to why it is invalid, or None."""
    judge = Judge(schema_text)

    def why(value: Any) -> str | None:
        return None if judge.value_ok(value) else judge.why_invalid(value) or "invalid"

    return why


def spell(value: Any, rng: random.Random, *, spaces: bool = True, shuffle: bool = True) -> str:
    """A text of the value within the spelling profile: any order, white space in any gap.

    Iterative, so that depth costs no stack. Numbers are written without exponent, and as digits
    only where they are whole: both hold whatever the schema says of them.
    """

    def gap() -> str:
        return "".join(rng.choices(" \t\n\r", k=rng.choice((1, 1, 2, 5)))) if spaces and rng.random() < 0.3 else ""

    found: list[str] = []
    stack: list[Any] = [(value,)]  # a text, or a tuple with a value in it
    while stack:
        top = stack.pop()
        if isinstance(top, str):
            found.append(top)
            continue
        value = top[0]
        if isinstance(value, dict):
            names = list(value)
            if shuffle:
                rng.shuffle(names)
            parts: list[Any] = ["{" + gap()]
            for n, name in enumerate(names):
                parts += ["," + gap()] * (n > 0)
                parts += [json.dumps(name, ensure_ascii=False) + gap() + ":" + gap(), (value[name],), gap()]
            stack += [*parts, "}"][::-1]
        elif isinstance(value, list):
            parts = ["[" + gap()]
            for n, item in enumerate(value):
                parts += ["," + gap()] * (n > 0)
                parts += [(item,), gap()]
            stack += [*parts, "]"][::-1]
        elif isinstance(value, (float, Decimal)):
            digits = format(Decimal(repr(value)) if isinstance(value, float) else value, "f")
            found.append(digits.rstrip("0").rstrip(".") if "." in digits else digits)
        else:
            found.append(json.dumps(value, ensure_ascii=False))
    return "".join(found)
