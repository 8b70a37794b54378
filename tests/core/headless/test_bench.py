"""The benchmark command reports ratios."""

from __future__ import annotations

import functools
import json

import pytest

from core.__main__ import main
from core.headless import bench
from tests.core.builders import QUICK

TINY = {**QUICK, "labels": 4, "steps": 8 * 32 * 4}


def test_bench_gives_positive_ratios(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    quick = functools.partial(bench.measure, turns=1, turn_seconds=0.01, fit_preferences=8, **TINY)
    monkeypatch.setattr(bench, "measure", quick)
    monkeypatch.setattr("sys.argv", ["core", "bench", "--task", "hopper-backflip", "--json"])
    assert main() == 0
    result = json.loads(capsys.readouterr().out)
    assert result.pop("task") == "hopper-backflip" and result.pop("device") in ("cpu", "cuda")
    assert {"collecting_of_raw", "teaching_of_raw", "fit_epoch_milliseconds"} <= result.keys()
    assert all(value > 0 for value in result.values()), result
