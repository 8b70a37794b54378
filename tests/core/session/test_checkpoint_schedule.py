"""The schedule of checkpoints, which follows the progress of training."""

from __future__ import annotations

import math

import pytest

from core.events import RewardFitted, RolloutReported
from core.session.checkpoint_schedule import CheckpointSchedule
from tests.clock import Clock


def batch(env_steps: int, batch_steps: int = 100) -> RolloutReported:
    return RolloutReported(env_steps, batch_steps, math.nan, math.nan, {}, math.nan, 0)


def fit(answers: int) -> RewardFitted:
    return RewardFitted(answers, (1.0,), (1.0,), (1.0,))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def schedule(clock: Clock) -> CheckpointSchedule:
    return CheckpointSchedule(20.0, clock)


def test_a_checkpoint_follows_a_fit_to_a_quarter_more_answers(schedule: CheckpointSchedule) -> None:
    saved = []
    for answers in (15, 15, 17, 18, 19, 20, 23, 24, 25, 20, 60):
        schedule.note(fit(answers))
        if schedule.due:
            schedule.saved()
            saved.append(answers)
    assert saved == [15, 19, 24, 60]


def test_checkpoints_follow_work_and_not_rest(schedule: CheckpointSchedule, clock: Clock) -> None:
    clock.now += 100.0
    schedule.note(batch(1000, batch_steps=0))  # progress that a resumed session already had
    assert not schedule.due
    schedule.note(batch(1100))
    assert schedule.due
    schedule.saved()
    clock.now += 19.0
    schedule.note(batch(1200))
    assert not schedule.due
    clock.now += 1.0
    assert schedule.due
