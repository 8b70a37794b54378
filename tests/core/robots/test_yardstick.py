"""The yardstick's rewards as defined by the DeepMind Control Suite. tests/benchmarks/control_suite.py compares more."""

from __future__ import annotations

import numpy as np
import pytest

from core.behaviours.shipped import FOLDER
from core.headless.settings import named_task
from core.tasks import get_task
from core.tasks.base import RobotTask
from tests.core.robot_toys import MakeBatch


def task_of(name: str) -> RobotTask:
    task = get_task(named_task(str(FOLDER.parent / "yardstick" / f"{name}.json")))
    return task


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("name", "fastest"), [("walker-walk", 1.0), ("walker-run", 8.0)])
def test_a_walker_is_rewarded_for_standing_and_speed(name: str, fastest: float, batch: MakeBatch) -> None:
    env = batch(task_of(name), 4)
    env.states[:, 1:] = 0  # upright
    env.states[:, 1] = 0.5  # in the air, without friction
    env.states[:, 11] = [0, fastest / 2, 0.75 * fastest, 2 * fastest]  # the slide along x is the second joint
    rewards = env.step(np.zeros((4, 6), np.float32)).true_rewards
    assert rewards == pytest.approx([1 / 6, (5 * 0.5 + 1) / 6, (5 * 0.75 + 1) / 6, 1], abs=0.02)


def test_a_cheetah_is_rewarded_for_speed_up_to_ten(batch: MakeBatch) -> None:
    env = batch(task_of("cheetah-run"), 3)
    assert env.model.body_mass.sum() == pytest.approx(14)
    env.states[:, 1:] = 0
    env.states[:, 2] = 1.0
    env.states[:, 10] = [-1, 5, 12]
    assert env.step(np.zeros((3, 6), np.float32)).true_rewards == pytest.approx([0, 0.5, 1], abs=0.02)
