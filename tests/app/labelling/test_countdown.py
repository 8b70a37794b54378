"""Estimates of how long a wait still takes."""

from __future__ import annotations

import pytest

from app import settings
from app.labelling.countdown import Countdown, save_start_seconds, usual_start_seconds
from tests.clock import Clock


def test_an_estimate_is_the_median_of_measured_times() -> None:
    clock = Clock()
    estimate = Countdown(9.0, clock)
    assert estimate.left is None and estimate.expected == 9.0
    for seconds in (4.0, 30.0, 6.0):
        estimate.begin()
        clock.now += seconds
        assert estimate.end() == seconds
    estimate.begin()
    clock.now += 2.5
    assert estimate.left == 3.5
    clock.now += 4.0
    assert estimate.left == -0.5


@pytest.mark.parametrize("damage", ["soon", "-3", "nan", "inf"])
def test_saved_seconds_that_are_invalid_are_ignored(damage: str) -> None:
    settings.keep("start/gym:ALE Pong-v5", damage)
    assert usual_start_seconds("gym:ALE/Pong-v5") == 10.0
    save_start_seconds("gym:ALE/Pong-v5", 7.0)
    assert usual_start_seconds("gym:ALE/Pong-v5") == 7.0
