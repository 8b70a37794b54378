from __future__ import annotations

import threading

import numpy as np
import pytest

from core.metrics import Metrics, Series


def test_a_snapshot_holds_what_was_written_in_order() -> None:
    series = Series()
    for i in range(5):
        series.append(i, i * i)
    x, y = series.snapshot()
    assert x.tolist() == [0, 1, 2, 3, 4]
    assert y.tolist() == [0, 1, 4, 9, 16]


def test_memory_stays_bounded_and_the_whole_run_stays_visible() -> None:
    series = Series(capacity=64)
    for i in range(10_000):
        series.append(i, i)
    x, _ = series.snapshot()
    assert len(series) <= 64
    assert x[0] < 300 and x[-1] > 9_500
    assert (np.diff(x) > 0).all()


def test_a_snapshot_is_thinned_to_the_limit_and_ends_with_the_newest() -> None:
    series = Series(capacity=4000)
    for i in range(3000):
        series.append(i, -i)
    x, y = series.snapshot(1000)
    assert len(x) == len(y) == 1000
    assert (x[0], x[-1], y[-1]) == (0, 2999, -2999)


def test_a_snapshot_does_not_change_when_more_is_written() -> None:
    series = Series(capacity=4)
    series.append(1, 1)
    x, _ = series.snapshot()
    for i in range(20):
        series.append(i, 0)
    assert x.tolist() == [1]


def test_nan_is_kept_for_the_plot_to_leave_a_gap() -> None:
    series = Series()
    series.append(0, np.nan)
    assert np.isnan(series.snapshot()[1][0])


def test_a_name_never_written_to_is_empty() -> None:
    x, y = Metrics().snapshot("loss")
    assert len(x) == len(y) == 0


def test_metrics_are_kept_by_name() -> None:
    metrics = Metrics()
    metrics.append("a", 1, 2)
    metrics.append("b", 3, 4)
    assert metrics.names() == ("a", "b")
    assert metrics.snapshot("b")[1].tolist() == [4]


def test_a_series_needs_room() -> None:
    with pytest.raises(ValueError, match="two points"):
        Series(capacity=1)


def test_a_reader_beside_the_writer_sees_whole_points() -> None:
    series = Series(capacity=128)
    writer = threading.Thread(target=lambda: [series.append(i, 2.0 * i) for i in range(20_000)])
    writer.start()
    while writer.is_alive():
        x, y = series.snapshot()
        assert (y == 2 * x).all()
    writer.join()


def test_one_place_has_one_figure_the_newest_that_is_a_number() -> None:
    series = Series()
    for y in (3.0, 4.0, np.nan):
        series.append(1, y)
    assert series.points().tolist() == [[1, 4]]


def test_what_comes_before_the_newest_is_dropped() -> None:
    series = Series()
    for x in (2, 1, 3):
        series.append(x, 10 * x)
    assert series.points().tolist() == [[2, 20], [3, 30]]


def test_all_series_go_back_together() -> None:
    metrics = Metrics()
    for x in range(5):
        metrics.append("a", x, x)
        metrics.append("b", 2 * x, x)
    metrics.rewind(3)
    assert metrics.snapshot("a")[0].tolist() == [0, 1, 2, 3]
    assert metrics.snapshot("b")[0].tolist() == [0, 2]
    metrics.append("a", 3.5, 9)
    assert metrics.snapshot("a")[1].tolist() == [0, 1, 2, 3, 9]
