"""Tests for the progress bar of a sweep."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from core.config import Config
from core.sweep.cell import Cell, CellState
from core.sweep.progress_bar import ProgressBar


def cells(count: int) -> list[Cell]:
    return [
        Cell("reacher", "4 labels", seed, "default", replace(Config(), seed=seed, steps=1000)) for seed in range(count)
    ]


def test_steps_of_a_run_that_was_lost_and_continues_leave_a_positive_speed(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = cells(2)
    states = {first.digest: CellState.QUEUED, second.digest: CellState.QUEUED}
    counts = Counter(states.values())
    bar = ProgressBar([first, second], states)
    bar.changed(first, CellState.RUNNING, counts)
    bar.progressed(first, 800)  # taken in an earlier run
    bar.progressed(first, 900)
    bar.changed(first, CellState.QUEUED, counts, reason="its process was killed")
    bar.changed(first, CellState.RUNNING, counts)
    bar.progressed(first, 880)
    bar.changed(first, CellState.DONE, counts)
    bar.close()
    speeds = [float(speed) for speed in re.findall(r"(-?[\d.]+)[kMG]?step/s", capsys.readouterr().err)]
    assert speeds[-1] > 0 and min(speeds) >= 0
