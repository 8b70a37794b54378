"""Recorded series: bounded, thinned, rewound, and read by another thread."""

from __future__ import annotations

import itertools
import threading

import numpy as np

from core.metrics import Metrics, Series


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


def test_a_concurrent_reader_sees_complete_points() -> None:
    series = Series(capacity=128)
    ended = threading.Event()

    def write() -> None:
        for i in itertools.count():
            if ended.is_set():
                return
            series.append(i, 2.0 * i)

    writer = threading.Thread(target=write)
    writer.start()
    newest = {-1.0}
    try:
        while len(newest) < 100:
            x, y = series.snapshot()
            assert (y == 2 * x).all()
            if len(x):
                assert x[-1] >= max(newest)
                newest.add(float(x[-1]))
    finally:
        ended.set()
        writer.join()


def test_a_thinned_series_drops_earlier_x_and_counts_each_x_once() -> None:
    series = Series(capacity=4)
    for x in (0, 1, 2, 3, 4):
        series.append(x, x)
    assert series.stride == 2 and series.points()[:, 0].tolist() == [0, 2, 4]
    for x in (5, 5, 4.5):
        series.append(x, x)
    assert series.points()[:, 0].tolist() == [0, 2, 4]
    series.append(6, 6)
    assert series.points()[:, 0].tolist() == [0, 2, 4, 6]
    series.rewind(2)
    series.append(2, 20)
    assert series.points().tolist() == [[0, 0], [2, 20]]


def test_the_latest_number_at_an_x_is_kept_and_earlier_x_are_dropped() -> None:
    series = Series()
    for x, y in ((1, 3.0), (1, 4.0), (1, np.nan), (3, 30.0), (2, 20.0)):
        series.append(x, y)
    assert series.points().tolist() == [[1, 4], [3, 30]]


def test_all_series_are_rewound_together() -> None:
    metrics = Metrics()
    for x in range(5):
        metrics.append("a", x, x)
        metrics.append("b", 2 * x, x)
    metrics.rewind(3)
    assert metrics.snapshot("a")[0].tolist() == [0, 1, 2, 3]
    assert metrics.snapshot("b")[0].tolist() == [0, 2]
    metrics.append("a", 3.5, 9)
    assert metrics.snapshot("a")[1].tolist() == [0, 1, 2, 3, 9]
