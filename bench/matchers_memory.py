"""What many matchers of one automaton hold: the allocator's count, and the process's resident set beside it.

A thousand matchers take a text's first 256 tokens, at the end of which four containers are open; with and without
a fill before each token, with all their history and with ``max_rollback=16``. Called from C (``matchers.c``, built
here with ``cc``), whose allocator counts what is asked for and not given back: matchers alone, since the
automaton has all its masks before. ``--record`` writes the figures.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import tokfsm

import clock
import recording
from maskbench import show
from probing import WHITESPACE, Error, build
from tokfsm.measure.walks import Cutter

UNBOUNDED = 0xFFFFFFFF
DEPTH = 4

ORDERS = {
    "type": "object",
    "properties": {"orders": {"type": "array", "items": {"$ref": "#/$defs/order"}}},
    "required": ["orders"],
    "$defs": {
        "order": {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "state": {"enum": ["open", "paid", "sent"]},
                "customer": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "maxLength": 100}, "mail": {"type": "string"},
                                   "age": {"type": "integer"}},
                    "required": ["name"],
                },
            },
            "required": ["id", "customer"],
        }
    },
}
DECLARED = [{"id": i, "state": "paid", "customer": {"name": f"Customer number {i}", "mail": "somebody@example.org",
                                                    "age": 30 + i}} for i in range(20)]
OTHERS = [{"id": i, "comment on it": "as soon as it can be", "customer": {
    "name": "A", f"preferred colour {i}": "blue", "favourite animal": "horse"}} for i in range(20)]
TEXTS = {"declared names": DECLARED, "other names": OTHERS}


def depth(text: bytes) -> int:
    """Containers open at the end of a text without brackets in strings."""
    return sum(text.count(b) for b in (b"{", b"[")) - sum(text.count(b) for b in (b"}", b"]"))


def tokens_of(value: Any, cutter: Cutter, tokens: list[bytes | None], n: int) -> list[int]:
    """`n` tokens of the text, at whose end DEPTH containers are open; from a little later on, if need be."""
    ids = cutter.cut(json.dumps({"orders": value}).encode())
    end = n
    while depth(b"".join(tokens[i] or b"" for i in ids[:end])) != DEPTH:
        end += 1
    return ids[:end]


def resident() -> int:
    """Bytes, what was freed given back before; 0 where the system does not tell."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    status = Path("/proc/self/status")
    found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) * 1024 if found else 0


def main(arguments: list[str]) -> int:
    p = recording.parser(__doc__)
    p.add_argument("--matchers", type=int, default=1000)
    p.add_argument("--tokens", type=int, default=256)
    p.add_argument("--quick", action="store_true", help="ten matchers")
    options = p.parse_args(arguments)
    machine = clock.machine()
    n_matchers = 10 if options.quick else options.matchers
    vocab = tokfsm.Vocabulary.from_file(options.tokenizer)
    tokens = [vocab.token_bytes(i) for i in range(vocab.size)]
    cutter = Cutter(tokens)
    schema = json.dumps(ORDERS).encode()
    row = np.zeros((vocab.size + 31) // 32, dtype=np.uint32)
    figures: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        c = build(Path(folder), "matchers")
        error, pack, fleet = Error(), ctypes.c_void_p(), (ctypes.c_void_p * 3)()
        data = vocab._pack.save()
        if c.fleet_pack(data, ctypes.c_size_t(len(data)), ctypes.byref(pack), ctypes.byref(error)):
            raise SystemExit(f"matchers: {error.message.decode()}")
        if c.fleet_start(fleet, pack, schema, ctypes.c_size_t(len(schema)),
                         ctypes.c_uint32(WHITESPACE["flexible"]), ctypes.byref(error)):
            raise SystemExit(f"matchers: {error.message.decode()}")

        def run(n: int, ids: list[int], max_rollback: int, fills: bool) -> tuple[int, int, int]:
            """Bytes and blocks of n matchers by the allocator, bytes by the resident set."""
            array = np.asarray(ids, dtype=np.uint32)
            n_bytes, n_blocks = ctypes.c_uint64(), ctypes.c_uint64()
            before = resident()
            status = c.fleet_run(
                fleet, ctypes.c_size_t(n), ctypes.c_uint32(max_rollback), ctypes.c_int32(fills),
                array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(len(array)),
                row.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(len(row)),
                ctypes.byref(n_bytes), ctypes.byref(n_blocks), ctypes.byref(error))
            if status:
                raise SystemExit(f"matchers: {error.message.decode() or status}")
            more = resident() - before
            c.fleet_rest(fleet)
            return n_bytes.value, n_blocks.value, more

        for name, value in TEXTS.items():
            ids = tokens_of(value, cutter, tokens, options.tokens)
            run(1, ids, UNBOUNDED, True)  # the masks of this text
            for max_rollback in (UNBOUNDED, 16):
                for fills in (False, True):
                    n_bytes, n_blocks, more = run(n_matchers, ids, max_rollback, fills)
                    figures.append({
                        "text": name, "tokens": len(ids), "matchers": n_matchers, "fills": fills,
                        "max_rollback": None if max_rollback == UNBOUNDED else max_rollback,
                        "bytes": n_bytes, "blocks": n_blocks, "resident_bytes": more,
                    })
        c.fleet_end(fleet)
    show(
        f"{n_matchers} matchers, {options.tokens} tokens in, depth {DEPTH}, {vocab.size:,} ids",
        ["text", "tokens", "max_rollback", "fills", "MB allocated", "KB a matcher", "blocks", "MB resident"],
        [[f["text"], str(f["tokens"]), str(f["max_rollback"]), str(f["fills"]), f"{f['bytes'] / 1e6:.2f}",
          f"{f['bytes'] / 1e3 / n_matchers:.2f}", f"{f['blocks'] / n_matchers:.1f}", f"{f['resident_bytes'] / 1e6:.2f}"]
         for f in figures],
    )
    if options.record:
        recording.write(__file__, options, arguments, machine, {"depth": DEPTH, "figures": figures})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
