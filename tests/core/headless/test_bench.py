"""The benchmark command reports ratios."""

from __future__ import annotations

import functools
import json

import pytest

from core.__main__ import main
from core.headless import bench

TINY = {
    "labels": 4,
    "steps": 8 * 32 * 4,
    "rollout.environments": 8,
    "rollout.steps": 32,
    "reward.hidden": 8,
    "policy.hidden": 8,
    "policy.epochs": 1,
}


@pytest.mark.parametrize(
    "task",
    [
        "hopper-backflip",
        pytest.param("breakout", marks=pytest.mark.slow),
        pytest.param("gym:CartPole-v1", marks=pytest.mark.slow),
    ],
)
def test_bench_gives_positive_ratios(
    task: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quick = functools.partial(bench.measure, turns=1, turn_seconds=0.01, fit_preferences=8, **TINY)
    monkeypatch.setattr(bench, "measure", quick)
    monkeypatch.setattr("sys.argv", ["core", "bench", "--task", task, "--json"])
    assert main() == 0
    result = json.loads(capsys.readouterr().out)
    assert result.pop("task") == task and result.pop("device") in ("cpu", "cuda")
    assert {"collecting_of_raw", "teaching_of_raw", "fit_epoch_milliseconds"} <= result.keys()
    assert all(value > 0 for value in result.values()), result
