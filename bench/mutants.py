"""An instance -> others near it, for schemas whose own instances say little: each one edit away.

Values come from the instance itself and a few that break engines: other types, neighbours of a
number, a name or item twice as many, a name that is not declared.
"""

from __future__ import annotations

import copy
import random
from typing import Any

_LEAVES: tuple[Any, ...] = (None, True, False, 0, 1, -1, 0.5, 10**18, "", "a", "true", [], {}, [0], {"a": 1})


def mutant(value: Any, rng: random.Random) -> Any:
    """A copy with one edit, or two."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 2))):
        holder = [value]
        places = list(_places(holder))
        leaves = [container[key] for container, key in places]
        container, key = rng.choice(places)
        _edit(container, key, leaves, rng)
        value = holder[0]
    return value


def _places(holder: list[Any]) -> Any:
    """Every (container, key), the root's first."""
    work: list[Any] = [holder]
    while work:
        container = work.pop()
        for key in range(len(container)) if isinstance(container, list) else list(container):
            yield container, key
            if isinstance(container[key], (list, dict)):
                work.append(container[key])


def _edit(container: Any, key: Any, leaves: list[Any], rng: random.Random) -> None:
    value, p = container[key], rng.random()
    if p < 0.25:
        container[key] = copy.deepcopy(rng.choice(leaves) if rng.random() < 0.5 else rng.choice(_LEAVES))
    elif isinstance(value, dict) and p < 0.8:
        names = list(value)
        if names and p < 0.5:
            del value[rng.choice(names)]
        elif names and p < 0.65:
            name = rng.choice(names)
            value[name + rng.choice(("x", "_", name))] = value[name]
        else:
            value[rng.choice(("a", "x-y", "$ref", "name", "é"))] = copy.deepcopy(rng.choice(leaves))
    elif isinstance(value, list) and p < 0.8:
        if value and p < 0.5:
            del value[rng.randrange(len(value))]
        elif value and p < 0.7:
            value.insert(rng.randrange(len(value) + 1), copy.deepcopy(rng.choice(value)))
        else:
            value.append(copy.deepcopy(rng.choice(leaves)))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        container[key] = rng.choice((value + 1, value - 1, -value, value * 10, value + 0.5))
    elif isinstance(value, str):
        container[key] = rng.choice((value + "x", value[1:], value.upper(), value[:-1], value + value, "x" + value))
    else:
        container[key] = copy.deepcopy(rng.choice(leaves))
