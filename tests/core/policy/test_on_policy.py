"""Properties of all policy optimizers (paper 2.2.1, A): learning, a changing reward, bounds, NaN, resuming."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from core.config import Config, replaced
from core.errors import NotFiniteError
from core.events import RolloutBatchReady
from core.jobs.policy import OPTIMIZERS
from core.policy.actor_critic import GaussianActorCritic
from core.policy.on_policy import OnPolicyOptimizer
from tests.core.builders import same, saved_state
from tests.core.policy_toys import ALGORITHMS, drifting, improve, matching, one_step, optimizer

every = pytest.mark.parametrize("algorithm", ALGORITHMS)
both_kinds = pytest.mark.parametrize("discrete", [False, True], ids=["continuous", "discrete"])
QUICK: dict[str, dict[str, Any]] = {
    "ppo": {"epochs": 10},
    "trpo": {"max_kl": 0.05, "epochs": 10},
    "a2c": {"learning_rate": 0.02},
}
UPDATES = {"ppo": 10, "trpo": 10, "a2c": 60}


def shuffled(observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Return the rewards of `matching` in a random order."""
    return np.random.default_rng(int(1e6 * abs(observations[0, 0]))).permutation(matching(observations, actions))


def taught(algorithm: str, discrete: bool, reward: Callable[..., np.ndarray]) -> float:
    """Return the mean of `matching` after training on `reward`."""
    made = optimizer(algorithm, discrete=discrete, **QUICK[algorithm])
    for seed in range(UPDATES[algorithm]):
        improve(made, one_step(made.network, seed, reward))
    return float(one_step(made.network, 999, count=2000).rewards.mean())


@every
def test_a_batch_may_have_fewer_steps_than_a_robot_has_actuators(algorithm: str) -> None:
    config = replaced(Config(), policy__algorithm=algorithm)
    network = GaussianActorCritic(2, 8, 16, 1.0, torch.Generator().manual_seed(0))
    before = network.weights.clone()
    batch = one_step(network, 0, lambda observations, actions: actions[:, 0], count=5)
    improve(OPTIMIZERS[algorithm](network, config, np.random.default_rng(0)), batch)
    assert not torch.equal(network.weights, before)


@pytest.mark.slow_after_first
@every
@both_kinds
def test_the_policy_learns_from_rewards_and_not_from_shuffled_ones(algorithm: str, discrete: bool) -> None:
    untrained = optimizer(algorithm, discrete=discrete)
    before = float(one_step(untrained.network, 999, count=2000).rewards.mean())
    best = 1.0 if discrete else 0.0
    assert taught(algorithm, discrete, matching) > before + 0.5 * (best - before)
    assert taught(algorithm, discrete, shuffled) < before + 0.25 * (best - before)


def value_correlation(made: OnPolicyOptimizer) -> float:
    """Return the correlation of the values with the first observed number, to which the reward of `drifting` is proportional."""
    observations = np.random.default_rng(5).standard_normal((500, 2)).astype(np.float32)
    with torch.no_grad():
        values = made.network.values(made.network.normalize(torch.as_tensor(observations)))
    return float(np.corrcoef(values.numpy(), observations[:, 0])[0, 1])


def value_error(made: OnPolicyOptimizer, batch: RolloutBatchReady) -> float:
    """Return the mean squared error of the values of a batch before an update that uses it."""
    prepared = made.prepare(batch)
    improve(made, batch)
    return float((prepared.values.detach() - prepared.returns).square().mean())


@pytest.mark.slow
@every
def test_the_value_function_follows_a_flipped_reward_at_once_and_learns_in_units_of_the_returns(algorithm: str) -> None:
    made = optimizer(algorithm, max_gradient=10.0, discount=0.9, minibatch=512)
    for seed in range(20 if algorithm != "a2c" else 100):
        improve(made, drifting(made.network, seed))
    assert value_correlation(made) > 0.9
    made.config = replace(made.config, epochs=1, minibatch=4096, learning_rate=1e-9)  # steps too small to matter
    for seed in range(2):
        small = value_error(made, drifting(made.network, 200 + seed))
        assert value_correlation(made) > 0.9
    for seed in range(6):
        large = value_error(made, drifting(made.network, 401 + seed, factor=100.0))
    assert large < 3 * small  # in units of the reward it would be 10,000 times larger
    improve(made, drifting(made.network, 300, factor=-100.0))
    assert value_correlation(made) < -0.9


@pytest.mark.slow_after_first
@every
@pytest.mark.parametrize("factor", [5.0, 30.0])
def test_values_keep_their_meaning_when_their_unit_changes(algorithm: str, factor: float) -> None:
    made = optimizer(algorithm, discount=0.9, minibatch=512)
    for seed in range(3):
        improve(made, drifting(made.network, seed))
    states = torch.as_tensor(np.random.default_rng(5).standard_normal((50, 2)).astype(np.float32))
    with torch.no_grad():
        unit, values = made.return_scaling.value, made.network.values(states).numpy().copy()
        made.scale_rewards(drifting(made.network, 50, factor))
        after = made.network.values(states).numpy()
    assert not 0.8 < made.return_scaling.value / unit < 1.25
    assert after * made.return_scaling.value == pytest.approx(values * unit, rel=1e-4, abs=1e-6)


@every
@pytest.mark.parametrize(("length", "expected"), [(100.0, 0.5), (0.3, 0.3)])
def test_the_norm_of_the_gradient_is_clipped(algorithm: str, length: float, expected: float) -> None:
    made = optimizer(algorithm, max_gradient=0.5)
    gradient, inputs = made.network.weights.grad, torch.ones(1, 2)
    made.network.values(inputs).sum().backward()
    norm, direction = float(gradient.norm()), gradient / gradient.norm()
    made.descend(length * made.network.values(inputs).sum() / norm)
    assert float(gradient.norm()) == pytest.approx(expected, rel=1e-4)
    assert float(gradient @ direction) == pytest.approx(expected, rel=1e-4)


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_reward_that_is_not_finite_changes_nothing(algorithm: str, bad: float) -> None:
    made = optimizer(algorithm)
    batch = one_step(made.network, 0)
    batch.rewards[0, 17] = bad
    before = saved_state(made)
    with pytest.raises(NotFiniteError, match="policy: the reward"):
        list(made.update(batch))
    assert same(before, saved_state(made))


@every
def test_a_gradient_that_is_not_finite_changes_no_weight_of_the_policy(algorithm: str) -> None:
    made = optimizer(algorithm, minibatch=256)
    batch = one_step(made.network, 0)
    batch.actions[0, 17] = np.nan
    before = made.network.weights[: made.network.policy_size].clone()
    with pytest.raises(NotFiniteError, match="policy: the gradient"):
        list(made.update(batch))
    assert torch.equal(before, made.network.weights[: made.network.policy_size])


@every
def test_a_weight_that_is_not_finite_is_reported_by_the_update(algorithm: str) -> None:
    made = optimizer(algorithm, learning_rate=1.0)
    made.optimizer.epsilon = float("nan")
    with pytest.raises(NotFiniteError, match="policy: a weight"):
        list(made.update(one_step(made.network, 0)))


@pytest.mark.slow_after_first
@every
@both_kinds
def test_a_restored_optimizer_continues_exactly(algorithm: str, discrete: bool) -> None:
    rngs = [np.random.default_rng(seed) for seed in (0, 8)]
    made, restored = (optimizer(algorithm, seed, discrete, rng) for seed, rng in zip((0, 8), rngs, strict=True))
    improve(made, one_step(made.network, 0))
    restored.set_state(saved_state(made))
    rngs[1].bit_generator.state = rngs[0].bit_generator.state
    improve(made, one_step(made.network, 1))
    assert not same(saved_state(made), saved_state(restored))
    improve(restored, one_step(restored.network, 1))
    assert same(saved_state(made), saved_state(restored))


@every
def test_the_step_size_is_scaled_by_the_batch(algorithm: str) -> None:
    made = optimizer(algorithm, learning_rate=0.01)
    for scale in (1.0, 0.25):
        improve(made, replace(one_step(made.network, 0), learning_rate_scale=scale))
        assert made.optimizer.learning_rate == pytest.approx(0.01 * scale)


def test_inputs_are_normalized_by_all_observations() -> None:
    made = optimizer()
    observations = np.random.default_rng(0).normal((5, -3), (2, 0.5), (40, 30, 2)).astype(np.float32)
    made.observe(observations[:25])
    made.observe(observations[25:])
    assert made.network.mean.numpy() == pytest.approx(observations.mean((0, 1)), rel=1e-4)
    assert made.network.std.numpy() == pytest.approx(observations.std((0, 1)), rel=1e-4)


def deviation(algorithm: str, entropy_bonus: float) -> float:
    made = optimizer(algorithm, entropy_bonus=entropy_bonus, **QUICK[algorithm])
    for seed in range(5):
        improve(made, one_step(made.network, seed))
    return float(made.network.policy_parameters[-1].detach().exp())


@pytest.mark.slow
@every
def test_the_entropy_bonus_keeps_the_policy_exploring(algorithm: str) -> None:
    assert deviation(algorithm, entropy_bonus=1.0) > deviation(algorithm, entropy_bonus=0.0) + 0.05
