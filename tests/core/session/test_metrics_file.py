"""The file of a session's curves: exact restoration, and damage."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from core.io.tensor_file import as_file
from core.metrics import CAPACITY, Metrics
from core.session import metrics_file


@pytest.fixture
def metrics() -> Metrics:
    made = Metrics()
    for i in range(50):
        made.append("loss", i / 8, 0.1 * i)
        made.append("gaps", float(i), np.nan if i % 2 else -1e9)
    return made


def loaded(folder: Path) -> Metrics:
    made = Metrics()
    metrics_file.load(folder, made)
    return made


def test_every_point_is_restored_exactly(metrics: Metrics, tmp_path: Path) -> None:
    metrics_file.save(tmp_path, metrics)
    again = loaded(tmp_path)
    assert set(again.series()) == {"loss", "gaps"}
    for name, series in metrics.series().items():
        assert np.array_equal(again.series()[name].points(), series.points(), equal_nan=True)
    assert [path.name for path in tmp_path.iterdir()] == [metrics_file.NAME]


def test_a_restored_series_continues_its_thinning_exactly(tmp_path: Path) -> None:
    def append(metrics: Metrics, start: int, end: int) -> None:
        for i in range(start, end):
            metrics.append("a", i, i)

    metrics, half = Metrics(), CAPACITY + 1  # right after a thinning, so that no point is pending
    append(metrics, 0, half)
    metrics_file.save(tmp_path, metrics)
    again = loaded(tmp_path)
    for one in (metrics, again):
        append(one, half, 3 * CAPACITY)
    assert (again.series()["a"].points() == metrics.series()["a"].points()).all()


def test_a_new_session_without_curves_is_not_damaged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert loaded(tmp_path).series() == {} and caplog.records == []


def lying(arrays: dict[str, np.ndarray], strides: object, version: int = 1) -> bytes:
    """Write a file with a valid digest and invalid content."""
    return as_file({"version": version, "strides": strides}, arrays)


POINTS = np.array([[0.0, 1.0], [1.0, 2.0]])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content[:-1],
        lambda content: lying({"a": POINTS}, {"a": 1}, version=2),
        lambda content: lying({"a": POINTS}, {}),
        lambda content: lying({"a": POINTS}, {"a": 0}),
        lambda content: lying({"a": POINTS}, [1]),
        lambda content: lying({"a": POINTS.astype(np.float32)}, {"a": 1}),
        lambda content: lying({"a": POINTS[::-1].copy()}, {"a": 1}),
        lambda content: lying({"a": np.array([[np.nan, 0.0]])}, {"a": 1}),
        lambda content: lying({"a": np.arange(2.0 * CAPACITY + 2).reshape(-1, 2)}, {"a": 1}),
        lambda content: lying({str(i): POINTS for i in range(513)}, dict.fromkeys(map(str, range(513)), 1)),
    ],
)
def test_damage_is_logged_in_a_sentence_and_no_curve_is_loaded(
    metrics: Metrics, tmp_path: Path, caplog: pytest.LogCaptureFixture, spoil: Callable[[bytes], bytes]
) -> None:
    metrics_file.save(tmp_path, metrics)
    path = tmp_path / metrics_file.NAME
    path.write_bytes(spoil(path.read_bytes()))
    assert loaded(tmp_path).series() == {}
    (record,) = caplog.records
    assert record.levelno == logging.WARNING and "so they start again." in record.getMessage()


def test_the_session_continues_when_curves_cannot_be_written(
    metrics: Metrics, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(b"")
    metrics_file.save(tmp_path / "file", metrics)
    assert "The plots were not saved" in caplog.text
