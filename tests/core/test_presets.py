"""Choosing an algorithm brings its settings along; what the task or the person says goes before them."""

from __future__ import annotations

from typing import Any

import pytest

from core.config import Config, replaced
from core.presets import ALGORITHM_PRESETS, merge_presets
from core.tasks import CATALOGUE, get_task

TUNED = {"policy.minibatch": 512, "policy.discount": 0.98, "rollout.environments": 256, "policy.entropy_bonus": 1e-3}


def made(*, task: dict[str, Any], paper_presets: dict[str, Any] | None = None, algorithm: str | None = None) -> Config:
    return replaced(Config(), **merge_presets(task, paper_presets or {}, algorithm))


@pytest.mark.parametrize("algorithm", ALGORITHM_PRESETS)
@pytest.mark.parametrize("task", CATALOGUE)
def test_every_task_can_be_taught_with_every_algorithm(task: str, algorithm: str) -> None:
    assert made(task=dict(get_task(task).presets), algorithm=algorithm).policy.algorithm == algorithm


def test_what_a_task_says_about_its_own_algorithm_is_left_out_for_another() -> None:
    config = made(task=TUNED)
    assert (config.policy.algorithm, config.policy.minibatch, config.rollout.environments) == ("ppo", 512, 256)
    config = made(task=TUNED, algorithm="a2c")
    assert (config.rollout.environments, config.policy.discount, config.policy.entropy_bonus) == (16, 0.99, 1e-3)
    assert made(task=TUNED, algorithm="trpo").policy.minibatch == 256
    assert made(task=TUNED, paper_presets={"reward.epochs": 9}, algorithm="trpo").reward.epochs == 9
