"""Types of the extension; documented in _batch.pyx."""

from collections.abc import Iterable
from typing import Any

from tokfsm._matcher import Matcher

def fill_batch(matchers: Iterable[Matcher], bitmask: Any, rows: Iterable[int] | None = None, threads: int = 1, *,
               budgets: Iterable[int | None] | None = None) -> bool: ...
