"""Choosing an algorithm brings its settings along; what the task or the person says goes before them."""

from __future__ import annotations

from typing import Any

import pytest

from core.config import Config, replaced
from core.preferences.schedule import first_labels
from core.presets import ALGORITHM_PRESETS, merge_presets
from core.tasks import CATALOGUE, PAPER_GAMES, get_task

TUNED = {"policy.minibatch": 512, "policy.discount": 0.98, "rollout.environments": 256, "policy.entropy_bonus": 1e-3}


def made(*, task: dict[str, Any], paper_presets: dict[str, Any] | None = None, algorithm: str | None = None) -> Config:
    return replaced(Config(), **merge_presets(task, paper_presets or {}, algorithm))


def made_of(name: str, algorithm: str | None = None) -> Config:
    task = get_task(name)
    return replaced(Config(task=name), **merge_presets(task.presets, task.paper_presets, algorithm))


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


@pytest.mark.parametrize("task", PAPER_GAMES)
def test_games_have_the_papers_numbers_where_they_do_not_say_why_not(task: str) -> None:
    config = made_of(task)
    assert (config.reward.std, config.reward.members) == (0.05, 3)
    assert (config.policy.discount, config.policy.entropy_bonus) == (0.99, 0.01)
    asked = (config.reward.max_labels, config.query.half_life, first_labels(config.labels, config.query))
    assert asked == ((2000, 2e6, 600) if task == "pong" else (3000, 1.25e6, asked[2]))
    assert 300 <= asked[2] <= (600 if task == "pong" else 500)
    a2c = made_of(task, "a2c")
    assert (a2c.policy.vision, a2c.reward.std) == ("nature", 0.05)
    assert (a2c.reward.dropout, a2c.reward.epochs_first, a2c.reward.steps_per_label) == (0.5, 200, 10)
    assert first_labels(5500, a2c.query) == 500
