"""Types of the extension; documented in _mask_view.pyx."""

from typing import final

@final
class MaskView:
    kind: str
    row: memoryview | None
    ids: memoryview | None
    base: memoryview | None
    edits: tuple[tuple[str, memoryview | None, memoryview | None], ...] | None
    n_words: int
