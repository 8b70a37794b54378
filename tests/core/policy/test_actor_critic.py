"""Actor-critics compared with torch's distributions, and the NumPy policy compared with its network."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, Distribution, Independent, Normal, kl_divergence

from core.config import PolicyConfig
from core.nn.state import load_state_arrays, state_arrays
from core.policy.actor_critic import ActorCritic, GaussianActorCritic, actor_critic
from core.policy.numpy_actor import NumpyActor

KINDS = ("gaussian", "categorical")


def made(kind: str, seed: int = 0) -> ActorCritic:
    """Return a network whose actions vary greatly between rows, as after long training."""
    start = torch.Generator().manual_seed(seed)
    network = actor_critic(4, 3, kind == "categorical", PolicyConfig(hidden=8, initial_std=0.5), start)
    with torch.no_grad():
        network.weights += 0.5 * torch.randn(network.weights.shape, generator=start)
    return network


def rows(count: int = 7, seed: int = 1) -> torch.Tensor:
    return torch.randn((count, 4), generator=torch.Generator().manual_seed(seed))


def reference(network: ActorCritic, inputs: torch.Tensor) -> Distribution:
    distribution = network.distribution(inputs)
    if isinstance(network, GaussianActorCritic):
        means, log_std = distribution
        return Independent(Normal(means, log_std.exp().expand_as(means)), 1)
    return Categorical(probs=distribution[0].exp())


@pytest.mark.parametrize("kind", KINDS)
def test_log_probabilities_and_entropy_match_torch(kind: str) -> None:
    network, inputs = made(kind), rows()
    distribution = network.distribution(inputs)
    actions, log_probs = network.sample(distribution, np.random.default_rng(0))
    taken = actions if kind == "gaussian" else actions.argmax(1)
    expected = reference(network, inputs)
    assert torch.allclose(log_probs, expected.log_prob(taken), atol=1e-5)
    assert torch.allclose(network.log_probs(distribution, actions), expected.log_prob(taken), atol=1e-5)
    assert torch.allclose(network.entropy(distribution), expected.entropy().mean(), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_divergence_of_two_policies_matches_torch(kind: str) -> None:
    inputs, (old, new) = rows(), (made(kind, 0), made(kind, 1))
    expected = kl_divergence(reference(old, inputs), reference(new, inputs)).mean()
    found = old.kl(old.distribution(inputs), new.distribution(inputs))
    assert float(found) > 0.1
    assert torch.allclose(found, expected, rtol=1e-4)
    assert float(old.kl(old.distribution(inputs), old.distribution(inputs))) == pytest.approx(0, abs=1e-6)


def test_samples_follow_the_distribution() -> None:
    network = made("categorical")
    distribution = network.distribution(rows(1).expand(20_000, 4))
    actions, _ = network.sample(distribution, np.random.default_rng(0))
    assert actions.dtype == torch.float32
    assert (actions.sum(1) == 1).all() and ((actions == 0) | (actions == 1)).all()
    assert torch.allclose(actions.mean(0), distribution[0][0].exp(), atol=0.015)
    network = made("gaussian")
    means, log_std = distribution = network.distribution(rows(1).expand(20_000, 4))
    actions, _ = network.sample(distribution, np.random.default_rng(0))
    assert torch.allclose(actions.mean(0), means[0], atol=0.03)
    assert torch.allclose(actions.std(0), log_std.exp(), rtol=0.03)


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_rescaled_exactly(kind: str) -> None:
    network, inputs = made(kind), rows()
    before, acting = network.values(inputs), network.distribution(inputs)
    network.rescale_values(-3.0, 0.5)
    assert torch.allclose(network.values(inputs), -3 * before + 0.5, atol=1e-5)
    assert all(torch.equal(a, b) for a, b in zip(network.distribution(inputs), acting, strict=True))


ROWS, SEEN, ACTIONS = 40, 7, 3


def numpy_network() -> GaussianActorCritic:
    network = GaussianActorCritic(SEEN, ACTIONS, 16, 0.5, torch.Generator().manual_seed(0))
    network.weights += 0.3 * torch.randn(network.weights.shape, generator=torch.Generator().manual_seed(1))
    network.mean += 0.5
    network.std *= 2.0
    return network


@pytest.mark.parametrize("seed", [None, 3])
def test_the_numpy_policy_acts_like_the_network(seed: int | None) -> None:
    """It acts with and without noise; some observations are beyond the limit."""
    network = numpy_network()
    observations = np.random.default_rng(2).normal(0, 15, (ROWS, SEEN)).astype(np.float32)
    ours = NumpyActor(network)(observations, None if seed is None else np.random.default_rng(seed))
    rng = None if seed is None else np.random.default_rng(seed)
    its = network.sample(network.distribution(network.normalize(torch.as_tensor(observations))), rng)
    for mine, wanted in zip(ours, its, strict=True):
        assert mine.dtype == np.float32
        np.testing.assert_allclose(mine, wanted.numpy(), rtol=1e-5, atol=1e-5)


def test_the_numpy_policy_follows_changes_of_the_network() -> None:
    """Weights and moments loaded later take effect at once; observations are not modified."""
    network, other = numpy_network(), numpy_network()
    policy = NumpyActor(network)
    observations = np.random.default_rng(2).standard_normal((ROWS, SEEN)).astype(np.float32)
    shown = observations.copy()
    before, _ = policy(observations, None)
    other.weights *= -1.0
    other.mean += 1.0
    load_state_arrays(network, state_arrays(other))
    after, _ = policy(observations, None)
    wanted, _ = NumpyActor(other)(observations, None)
    assert np.array_equal(after, wanted)
    assert np.abs(after - before).max() > 0.01
    assert np.array_equal(observations, shown)
