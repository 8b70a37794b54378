"""The progress bar of a sweep, on stderr."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tqdm import tqdm

from core.sweep.cell import Cell, CellState


class ProgressBar:
    """A progress bar on stderr: environment steps of the cells, remaining time, and number of cells in each state."""

    def __init__(self, cells: Sequence[Cell], states: Mapping[str, CellState]) -> None:
        """states: state of each cell, by digest"""
        self._taken = {cell.digest: 0 for cell in cells}
        done = 0
        for cell in cells:
            if states[cell.digest] == CellState.DONE:
                self._taken[cell.digest] = cell.config.steps
                done += cell.config.steps
        self._unreported: set[str] = set()
        """Running cells that have reported no steps yet; the first steps that a continued cell reports were taken before."""
        total = sum(cell.config.steps for cell in cells)
        # Cells end together, so only the mean speed since the start predicts the remaining time.
        self._bar: Any = tqdm(
            total=total,
            initial=done,
            unit="step",
            unit_scale=True,
            file=sys.stderr,
            mininterval=0.5,
            smoothing=0,
        )
        self._describe(Counter(states.values()))

    def close(self) -> None:
        self._bar.close()

    def changed(self, cell: Cell, state: CellState, counts: Counter[CellState], reason: str = "") -> None:
        """Show a cell's new state. counts: number of cells in each state; reason: why it failed or was queued again"""
        if reason:
            what = "failed" if state == CellState.FAILED else "restarts"
            self._bar.write(f"{cell.title} {what}: {reason}", file=sys.stderr)
        self._unreported.discard(cell.digest)
        match state:
            case CellState.RUNNING:
                self._unreported.add(cell.digest)
            case CellState.DONE:
                self._move(cell, cell.config.steps)
            case CellState.FAILED:
                self._move(cell, cell.config.steps, worked=False)
            case CellState.QUEUED:
                self._move(cell, 0, worked=False)  # it may continue, and report these steps again as taken before
        self._describe(counts)

    def progressed(self, cell: Cell, env_steps: int) -> None:
        self._move(cell, min(env_steps, cell.config.steps), worked=cell.digest not in self._unreported)
        self._unreported.discard(cell.digest)

    def _move(self, cell: Cell, env_steps: int, worked: bool = True) -> None:
        """Set the steps of a cell. worked: whether this run took the additional steps, so that they count for its speed"""
        more = env_steps - self._taken[cell.digest]
        self._taken[cell.digest] = env_steps
        if not worked:
            self._bar.initial += more
        self._bar.update(more)

    def _describe(self, states: Counter[CellState]) -> None:
        text = ", ".join(f"{states[state]} {state}" for state in CellState if states[state])
        self._bar.set_postfix_str(text)
