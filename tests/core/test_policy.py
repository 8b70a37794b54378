"""Advantages (paper A.1), and what is PPO's alone; test_optimisers.py has what all optimisers share."""

from __future__ import annotations

import numpy as np
import pytest

from core.policy.advantages import advantages, following_values
from tests.core.toys import improved, one_step, optimiser


def column(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float32)[:, None]


def test_generalised_advantages_by_hand() -> None:
    ends = np.zeros((3, 1), np.bool_)
    result = advantages(column(1, 2, 3), column(10, 20, 30), column(20, 30, 40), ends, 0.5, 0.5)
    # deltas 1 + 10 - 10, 2 + 15 - 20, 3 + 20 - 30; carried back by 1/4
    assert result[:, 0].tolist() == [1 - 3 / 4 - 7 / 16, -3 - 7 / 4, -7]


def test_an_episodes_end_stops_the_sum_but_its_value_counts() -> None:
    ends = np.array([[False], [True], [False]])
    result = advantages(column(1, 2, 3), column(10, 20, 30), column(20, 100, 40), ends, 0.5, 0.5)
    # the second delta is 2 + 50 - 20: what followed was worth 100, a time limit being no failure
    assert result[:, 0].tolist() == [1 + 32 / 4, 32, -7]


def test_environments_do_not_mix() -> None:
    rng = np.random.default_rng(0)
    rewards, values, following = rng.standard_normal((3, 6, 2)).astype(np.float32)
    ends = rng.random((6, 2)) < 0.3
    both = advantages(rewards, values, following, ends, 0.9, 0.8)
    second = advantages(rewards[:, 1:], values[:, 1:], following[:, 1:], ends[:, 1:], 0.9, 0.8)
    assert (both[:, 1:] == second).all()


def test_with_lambda_1_it_is_the_discounted_return_above_the_value() -> None:
    ends, values = np.zeros((3, 1), np.bool_), column(5, 6, 7)
    result = advantages(column(1, 2, 4), values, column(6, 7, 8), ends, 0.5, 1.0)
    assert result[0, 0] == pytest.approx(1 + 2 / 2 + 4 / 4 + 8 / 8 - 5)


def test_the_value_that_follows_is_the_next_row_or_the_one_before_the_reset() -> None:
    values = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    ends = np.array([[False, True], [True, False], [False, True]])
    result = following_values(values, np.array([7, 8], np.float32), ends, np.array([20, 10, 60], np.float32))
    assert result.tolist() == [[3, 20], [10, 6], [7, 60]]


def test_n_step_returns_by_hand() -> None:
    """What A2C learns its values from (A.2: five steps an update)."""
    values, following = column(1, 2, 3, 4, 5), column(2, 3, 4, 5, 64)
    ends = np.array([[False], [True], [False], [False], [False]])
    following[1] = 8  # seen before the reset
    returns = advantages(column(1, 2, 3, 4, 5), values, following, ends, 0.5, 1.0) + values
    assert returns[:, 0].tolist() == [1 + (2 + 4) / 2, 2 + 8 / 2, 3 + (4 + (5 + 32) / 2) / 2, 4 + (5 + 32) / 2, 5 + 32]


def test_one_report_a_pass() -> None:
    ppo = optimiser("ppo", epochs=4)
    reports = improved(ppo, one_step(ppo.network, 0))
    assert len(reports) == 4
    assert reports[0].entropy == pytest.approx(0.5 * np.log(2 * np.pi * np.e), abs=0.1)


def test_an_update_ends_early_when_the_policy_has_moved_far() -> None:
    ppo = optimiser("ppo", epochs=50, target_kl=1e-3, learning_rate=0.03)
    reports = improved(ppo, one_step(ppo.network, 0))
    assert len(reports) < 50
    assert reports[-1].kl > 1e-3
    assert all(report.kl <= 1e-3 for report in reports[:-1])
