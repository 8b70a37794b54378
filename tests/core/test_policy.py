"""Advantages, and the policy's update on them (paper 2.2.1, A.1)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from core.config import PolicyConfig
from core.errors import NotFiniteError
from core.events import BatchCollected
from core.networks import GaussianActorCritic
from core.policy.advantages import advantages, following_values
from core.policy.ppo import PPO


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


def new_ppo(seed: int = 0, **numbers: float) -> PPO:
    plain = {"hidden": 16, "learning_rate": 1e-2, "epochs": 5, "minibatch": 64, "entropy_bonus": 0.0, "target_kl": 1e9}
    config = PolicyConfig(**{**plain, **numbers})
    network = GaussianActorCritic(2, 1, config.hidden, config.initial_std, torch.Generator().manual_seed(seed))
    return PPO(network, config, np.random.default_rng(seed))


def bandit(ppo: PPO, seed: int, sign: float = 1.0) -> BatchCollected:
    """One step, then the episode ends; the larger the action (or the smaller, by sign), the better."""
    rng = np.random.default_rng(seed)
    observations = rng.standard_normal((1, 256, 2)).astype(np.float32)
    with torch.no_grad():
        means = ppo.network.means(ppo.network.normalise(torch.as_tensor(observations[0])))
        noise = torch.as_tensor(rng.standard_normal((256, 1)).astype(np.float32))
        actions = means + ppo.network.log_std.exp() * noise
        log_probs = ppo.network.log_probs(means, actions)
    ends = np.ones((1, 256), np.bool_)
    rewards = sign * actions.numpy().T
    return BatchCollected(
        0, 256, observations, actions.numpy()[None], log_probs.numpy()[None], rewards, ends, *2 * [observations[0]]
    )


def mean_action(ppo: PPO) -> float:
    inputs = torch.as_tensor(np.random.default_rng(3).standard_normal((100, 2)).astype(np.float32))
    with torch.no_grad():
        return float(ppo.network.means(ppo.network.normalise(inputs)).mean())


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_policy_moves_towards_what_is_rewarded(sign: float) -> None:
    ppo = new_ppo()
    before = mean_action(ppo)
    for seed in range(3):
        list(ppo.update(bandit(ppo, seed, sign)))
    assert sign * (mean_action(ppo) - before) > 0.1


def test_the_value_function_follows_a_reward_that_changes() -> None:
    ppo = new_ppo(epochs=30)
    batch = bandit(ppo, 0)
    for reward in (1.0, -1.0):
        *_, last = ppo.update(replace(batch, rewards=np.full_like(batch.rewards, reward)))
        assert last.value_loss < 0.1


def test_one_report_an_epoch() -> None:
    ppo = new_ppo(epochs=4)
    reports = list(ppo.update(bandit(ppo, 0)))
    assert len(reports) == 4
    assert reports[0].entropy == pytest.approx(0.5 * np.log(2 * np.pi * np.e), abs=0.1)


def test_an_update_ends_early_when_the_policy_has_moved_far() -> None:
    ppo = new_ppo(epochs=50, target_kl=1e-3, learning_rate=0.03)
    reports = list(ppo.update(bandit(ppo, 0)))
    assert len(reports) < 50
    assert reports[-1].kl > 1e-3
    assert all(report.kl <= 1e-3 for report in reports[:-1])


def deviation(entropy_bonus: float) -> float:
    ppo = new_ppo(entropy_bonus=entropy_bonus)
    for seed in range(3):
        list(ppo.update(bandit(ppo, seed)))
    return float(ppo.network.log_std.detach().exp())


def test_the_entropy_bonus_keeps_the_policy_exploring() -> None:
    assert deviation(entropy_bonus=1.0) > deviation(entropy_bonus=0.0) + 0.05


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_reward_that_is_no_number_changes_nothing(bad: float) -> None:
    ppo = new_ppo()
    batch = bandit(ppo, 0)
    batch.rewards[0, 17] = bad
    before = copied(ppo)
    with pytest.raises(NotFiniteError, match="policy"):
        list(ppo.update(batch))
    assert same(before, copied(ppo))


def test_a_gradient_that_is_no_number_changes_nothing() -> None:
    ppo = new_ppo(minibatch=256)
    batch = bandit(ppo, 0)
    batch.observations[0, 17] = np.nan
    before = copied(ppo)
    with pytest.raises(NotFiniteError, match="policy"):
        list(ppo.update(batch))
    assert same(before, copied(ppo))


def copied(ppo: PPO) -> dict[str, np.ndarray]:
    return {name: np.array(array) for name, array in ppo.get_state().items()}


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all((one[name] == other[name]).all() for name in one)


def one_iteration(ppo: PPO, seed: int) -> None:
    batch = bandit(ppo, seed)
    list(ppo.update(batch))
    ppo.observe(batch.observations)


def test_a_restored_policy_goes_on_exactly() -> None:
    ppo, restored = new_ppo(), new_ppo(seed=8)
    one_iteration(ppo, 0)
    state, rng = copied(ppo), ppo._rng.bit_generator.state
    one_iteration(ppo, 1)
    restored.set_state(state)
    restored._rng.bit_generator.state = rng
    assert not same(copied(ppo), copied(restored))
    one_iteration(restored, 1)
    assert same(copied(ppo), copied(restored))


def test_inputs_are_normalised_by_all_that_was_seen() -> None:
    ppo = new_ppo()
    seen = np.random.default_rng(0).normal((5, -3), (2, 0.5), (40, 30, 2)).astype(np.float32)
    ppo.observe(seen[:25])
    ppo.observe(seen[25:])
    assert ppo.network.mean.numpy() == pytest.approx(seen.mean((0, 1)), rel=1e-4)
    assert ppo.network.std.numpy() == pytest.approx(seen.std((0, 1)), rel=1e-4)


def test_log_densities_and_entropy_are_those_of_a_gaussian() -> None:
    network = GaussianActorCritic(2, 3, 8, 0.5, torch.Generator().manual_seed(0))
    means, actions = torch.zeros(1, 3), torch.tensor([[0.5, -1.0, 0.0]])
    gaussian = torch.distributions.Normal(means, torch.full((1, 3), 0.5))
    assert float(network.log_probs(means, actions)) == pytest.approx(float(gaussian.log_prob(actions).sum()), rel=1e-6)
    assert float(network.entropy()) == pytest.approx(float(gaussian.entropy().sum()), rel=1e-6)
