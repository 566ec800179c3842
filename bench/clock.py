"""The clocks of `tokfsm.measure.clocks`, and the description of the machine."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokfsm.measure.clocks import TAIL, Empty, empty_intervals, percentiles, process_cpu, quote, thread_cpu, wall

__all__ = ["TAIL", "Empty", "command", "empty_intervals", "load", "machine", "percentiles", "process_cpu", "quote",
           "sha256", "thread_cpu", "wall"]


def machine() -> dict[str, object]:
    """What a reader needs to judge the figures; no names of hosts or folders."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "load_at_start": load(),
    }


def load() -> list[float]:
    """Mean numbers of runnable processes over 1, 5 and 15 minutes, where the system tells them."""
    return [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else []


def sha256(path: Path) -> str:
    """Digest of a file's content, to name an input without naming its place."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def command(arguments: Sequence[str] = sys.argv) -> str:
    """The command as given, each path cut down to its last two parts."""
    return " ".join("/".join(a.split("/")[-2:]) if a.startswith("/") else a for a in arguments)
