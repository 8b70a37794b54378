"""Advantages (paper A.1), and what is PPO's alone; test_optimizers.py has what all optimizers share."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.policy.gae import advantages, following_values
from core.policy.on_policy import UpdateReport
from core.policy.ppo import PPO
from tests.core.toys import improved, one_step, optimizer


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
    ppo = optimizer("ppo", epochs=4)
    reports = improved(ppo, one_step(ppo.network, 0))
    assert len(reports) == 4
    assert reports[0].entropy == pytest.approx(0.5 * np.log(2 * np.pi * np.e), abs=0.1)


def test_an_update_ends_early_when_the_policy_has_moved_far() -> None:
    ppo = optimizer("ppo", epochs=50, target_kl=1e-3, learning_rate=0.03)
    reports = improved(ppo, one_step(ppo.network, 0))
    assert len(reports) < 50
    assert reports[-1].kl > 1e-3
    assert all(report.kl <= 1e-3 for report in reports[:-1])


def updated_twice(lag: int, learning_rate: float = 0.02) -> tuple[list[UpdateReport], dict[str, np.ndarray]]:
    """What the second update tells, of a batch gathered by the policy before the first one; and its weights."""
    ppo = optimizer("ppo", epochs=2, lag=lag, learning_rate=learning_rate)
    first, second = one_step(ppo.network, 0), one_step(ppo.network, 1)
    improved(ppo, first)
    return improved(ppo, second), ppo.network.to_arrays()


def test_how_far_an_update_may_go_is_measured_from_the_policy_before_it() -> None:
    ahead, behind = updated_twice(lag=1)[0], updated_twice(lag=0)[0]
    assert ahead[0].kl < behind[0].kl / 3  # else what the first update did would be counted again


def test_steps_of_an_earlier_policy_weigh_as_often_as_the_present_one_would_take_them() -> None:
    ppo = optimizer("ppo", lag=1)
    assert isinstance(ppo, PPO)
    old = one_step(ppo.network, 1)
    improved(ppo, one_step(ppo.network, 0))
    with torch.no_grad():
        prepared = ppo._prepare(old)
        now = ppo.network.log_probs(ppo.network.distribution(prepared.inputs), prepared.actions)
    caught_up = ppo._caught_up(prepared)
    oftener = np.exp((now - prepared.log_probs).numpy())
    assert oftener.max() > 1.05 and oftener.min() < 0.95
    assert caught_up.log_probs.numpy() == pytest.approx(now.numpy())
    assert caught_up.advantages.numpy() == pytest.approx(prepared.advantages.numpy() * oftener.clip(max=2), rel=1e-5)


def test_a_batch_of_the_present_policy_is_what_it_was() -> None:
    ahead, behind = (optimizer("ppo", lag=lag) for lag in (1, 0))
    for ppo in (ahead, behind):
        improved(ppo, one_step(ppo.network, 0))
    one, other = ahead.network.to_arrays(), behind.network.to_arrays()
    assert one["weights"] == pytest.approx(other["weights"], abs=1e-4)
