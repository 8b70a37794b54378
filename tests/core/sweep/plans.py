"""Small plans, and a backend that runs their cells in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.sweep.backend import Ended, Progressed, Report, Started
from core.sweep.cell import Cell, compute
from tests.core.builders import QUICK

STEPS = 8 * 32 * 5
CURVES = [{"name": "true reward", "teacher": "none"}, {"name": "4 labels", "labels": 4}, {"name": "6", "labels": 6}]


def plan_values(**changes: Any) -> dict[str, Any]:
    """Return the content of a plan file whose cells take a fraction of a second."""
    return {"tasks": ["reacher"], "seeds": [0], "steps": STEPS, "curves": CURVES, "settings": QUICK, **changes}


def journal(out: Path) -> list[tuple[str, str]]:
    """Return cell and state of each line in the journal of a sweep."""
    path = out / "journal.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(line["cell"], line["state"]) for line in map(json.loads, lines)]


class Inline:
    """Backend that runs one cell after another in this process."""

    slots = 1

    def __init__(self, folder_of: Callable[[Cell], Path], interfere: Callable[[Cell], Report | None] = lambda _: None):
        """interfere: called with each cell before it runs; a returned value replaces the result"""
        self._folder_of, self._interfere = folder_of, interfere
        self.computed: list[str] = []
        self._submitted: list[Cell] = []
        self.closed = False

    def check(self) -> None:
        """Do nothing: this process is the same program."""

    def submit(self, cell: Cell) -> None:
        self._submitted.append(cell)

    def reports(self, seconds: float) -> list[Report]:
        cell = self._submitted.pop(0)
        if instead := self._interfere(cell):
            return [Started(cell.digest), instead]
        steps: list[int] = []
        content = compute(cell.config, self._folder_of(cell), 1, steps.append)
        self.computed.append(cell.digest)
        return [Started(cell.digest), Progressed(cell.digest, steps[-1] if steps else 0), Ended(cell.digest, content)]

    def close(self) -> None:
        self.closed = True
