"""Progress of labelling: pace, speed, agreement, and the start of training."""

from __future__ import annotations

import math

import pytest

from app.labelling.progress import Progress
from core.config import Config, replaced
from tests.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def progress(clock: Clock) -> Progress:
    return Progress(replaced(Config(), labels=100, steps=15_000_000, query__half_life=1e6), clock)


def test_the_pace_counts_the_answers_of_the_last_minute(progress: Progress, clock: Clock) -> None:
    for _ in range(10):
        progress.answered()
        clock.now += 3
    clock.now -= 3
    assert progress.labels_per_minute == pytest.approx(20)
    clock.now += 120
    assert progress.labels_per_minute == 0
    progress.answered()
    assert math.isnan(progress.labels_per_minute)
    clock.now += 1
    progress.answered()
    assert progress.labels_per_minute == pytest.approx(6)  # two quick answers do not make a pace of 60 or 120


def test_a_withdrawn_answer_does_not_count_towards_the_pace(progress: Progress, clock: Clock) -> None:
    progress.withdrawn()  # given before the restart
    for _ in range(3):
        progress.answered()
        clock.now += 10
    assert progress.labels_per_minute == pytest.approx(4)
    progress.withdrawn()
    assert progress.labels_per_minute == pytest.approx(2)
    progress.answered()
    assert progress.labels_per_minute == pytest.approx(4)


def test_speed_is_end_to_end(progress: Progress, clock: Clock) -> None:
    assert progress.steps_per_second == 0
    for steps in (1000, 3000, 5000):
        progress.reported(steps)
        clock.now += 1
    assert progress.steps_per_second == pytest.approx(2000)


def test_the_time_of_the_last_noticeable_rise_in_agreement_is_known(progress: Progress, clock: Clock) -> None:
    for agreement in (math.nan, 0.5, 0.52, 0.4, 0.51):
        progress.reported(1, agreement=agreement)
        assert progress.seconds_since_better is None
    progress.reported(1, agreement=0.54)
    clock.now += 90
    progress.reported(1, agreement=0.56)
    assert progress.seconds_since_better == 90


def test_after_a_restart_the_best_agreement_is_that_of_the_whole_session(progress: Progress) -> None:
    progress.resumed(1000, 0.3, best=0.45, fitted=True)
    progress.reported(2000, agreement=0.4)
    assert progress.seconds_since_better is None
    progress.reported(3000, agreement=0.6)
    assert progress.seconds_since_better == 0


def test_the_next_pair_is_expected_at_the_recent_pace(progress: Progress, clock: Clock) -> None:
    assert progress.seconds_to_next_offer is None
    for _ in range(4):
        progress.offered()
        progress.offered()  # a burst
        clock.now += 6
    assert progress.seconds_to_next_offer == pytest.approx(1)
    progress.offered()
    assert progress.seconds_to_next_offer == pytest.approx(6)


def test_hours_of_sleep_do_not_count_as_teaching_time(progress: Progress, clock: Clock) -> None:
    progress.run(True)
    for _ in range(30):
        clock.now += 2
        progress.passed()
    clock.now += 8 * 3600  # without any report
    progress.passed()
    clock.now += 5
    assert progress.seconds == pytest.approx(30 * 2 + 60 + 5)
    progress.answered()
    assert math.isnan(progress.labels_per_minute) and progress.steps_per_second == 0
    progress.run(False)
    clock.now += 3600
    progress.passed()
    assert progress.seconds == pytest.approx(125)


def test_cant_tell_does_not_count_towards_the_start_of_training() -> None:
    progress = Progress(replaced(Config(), query__first_labels=2))
    missing = []
    for unsure in (True, False, True, False):
        progress.answered(unsure)
        missing.append(progress.labels_to_start)
    assert missing == [2, 1, 1, 0]
    progress.withdrawn(unsure=False)
    assert progress.labels_to_start == 1
    progress.counted(3, unsure=1)
    assert progress.labels_to_start == 0


def test_withdrawing_an_answer_does_not_start_training_twice() -> None:
    progress = Progress(replaced(Config(), query__first_labels=2))
    progress.counted(2)
    progress.course.reported(1000, 4.0, None)
    progress.withdrawn()
    assert progress.labels_to_start == 0
