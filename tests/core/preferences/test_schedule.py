"""Answers that drive training: when each is due, and how long training lasts."""

from __future__ import annotations

import math
from bisect import bisect_left
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from core.config import Config, replaced
from core.preferences.schedule import exploration_share, finishing, scheduled, steps_for_answers


def by_answers(**changes: Any) -> Config:
    """Return a config with ten first answers, then one every 100 steps up to twenty, then 400 steps."""
    settings: dict[str, Any] = {
        "teacher": "oracle",
        "labels": 20,
        "query__schedule": "answers",
        "query__first_labels": 10,
        "rollout__steps_per_answer": 100,
        "rollout__finish_steps": 400,
    }
    config = replaced(Config(), **{**settings, **changes})
    return config if "steps" in changes else replaced(config, steps=steps_for_answers(config))


def test_each_answer_allows_the_same_number_of_steps() -> None:
    config = by_answers()
    assert config.steps == 11 * 100 + 400
    assert [scheduled(t, config) for t in (0, 99, 100, 150, 1000, 1500)] == [10, 10, 11, 11, 20, 20]


def test_too_few_steps_are_shared_among_the_answers() -> None:
    config = by_answers(steps=1000)
    assert config.finishing_steps == 200
    due = [scheduled(t, config) for t in range(0, 1001)]
    assert due[0] == 10 and due[600] == 20 and due == sorted(due)
    assert np.diff(np.flatnonzero(np.diff(due))).tolist() == pytest.approx([600 / 11] * 9, abs=1)


def test_a_short_session_has_all_answers_in_its_first_half() -> None:
    config = by_answers(steps=440)
    assert config.finishing_steps == 110
    assert [scheduled(t, config) for t in (0, 19, 20, 199, 200, 440)] == [10, 10, 11, 19, 20, 20]


def test_a_humans_answers_allow_the_same_steps_in_a_session_with_a_limit() -> None:
    config = by_answers(teacher="human", labels=10_000, steps=1000, reward__answer_interval=100)
    assert [scheduled(t, config) for t in (0, 99, 100, 999)] == [10, 10, 11, 19]
    assert exploration_share(config) == 1.0


@pytest.mark.parametrize("pace", [4.0, 12.0, 40.0])
def test_a_person_slower_than_the_budget_gets_the_same_training_as_the_oracle(pace: float) -> None:
    config = by_answers(teacher="person", person__pace=pace, person__speed=1e6)
    assert [scheduled(t, config) for t in range(0, 1500, 50)] == [
        scheduled(t, by_answers()) for t in range(0, 1500, 50)
    ]


def test_a_fast_person_leaves_less_training_between_two_answers() -> None:
    config = by_answers(labels=1000, teacher="person", person__pace=60.0, person__speed=10.0)
    last = next(t for t in range(config.steps) if scheduled(t, config) == 1000)
    assert 12 < last / 990 < 14.5  # ten steps per second, one answer per second, and pauses


def test_a_persons_pace_is_a_mean_and_most_answers_take_less() -> None:
    """A mean of 1 second and a deviation of 0.5 of its logarithm belong to a median of exp(-0.5^2 / 2) seconds.

    The 4% of the answers that follow a pause take longer, so that the median of all is a quantile of 0.52 without them.
    """
    person = {"person__pace": 60.0, "person__speed": 1000.0, "rollout__steps_per_answer": 1_000_000}
    config = by_answers(labels=1010, teacher="person", **person)
    steps = range(config.steps)
    given = [bisect_left(steps, n, key=lambda step: scheduled(step, config)) for n in range(11, 1011)]
    expected = 1000 * math.exp(-(0.5**2) / 2 + 0.5 * NormalDist().inv_cdf(0.5 / 0.96))
    assert np.median(np.diff(given)) == pytest.approx(expected, rel=0.05)


def test_training_after_the_last_answer_runs_from_0_to_1() -> None:
    assert [finishing(t, end=1800, falling_steps=200) for t in (0, 1600, 1650, 1700, 1800, 2000)] == [
        0,
        0,
        0.25,
        0.5,
        1,
        1,
    ]
    assert finishing(1800, end=1800, falling_steps=0) == 0
    config = by_answers()
    assert (config.planned_steps, config.finishing_steps) == (1500, 200)


def test_there_is_less_exploration_when_answers_come_faster() -> None:
    assert exploration_share(by_answers(reward__answer_interval=80)) == 1  # a hundred steps per answer
    assert exploration_share(by_answers(reward__answer_interval=80, steps=750)) == pytest.approx((375 / 11 / 80) ** 3)
    assert exploration_share(by_answers(reward__answer_interval=0, steps=1000)) == 1
