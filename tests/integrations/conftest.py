"""The end of a run says how much was compared, and lists near ties; TOKFSM_GENERATIONS_RECORD: a file for that."""

from __future__ import annotations

import datetime
import json
import os
import sys
from pathlib import Path
from typing import Any


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int) -> None:
    cases = sys.modules.get("runtime_cases")
    if cases is None or not cases.TALLY:
        return
    terminalreporter.section("generations of real models")
    for what, n in sorted(cases.TALLY.items()):
        terminalreporter.line(f"{n:6} {what}")
    for one in cases.NEAR_TIES:
        terminalreporter.line(f"near tie of logits, {one}")
    path = os.environ.get("TOKFSM_GENERATIONS_RECORD")
    if path:
        found = {"date": str(datetime.date.today()), "exit_status": int(exitstatus), "counts": dict(cases.TALLY),
                 "near_ties": cases.NEAR_TIES,
                 "tests": {kind: len(terminalreporter.stats.get(kind, [])) for kind in ("passed", "failed", "skipped")}}
        Path(path).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
