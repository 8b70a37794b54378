"""The policy evaluated with NumPy, against its network."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.nn.state import load_state_arrays, state_arrays
from core.policy.actor_critic import GaussianActorCritic
from core.policy.numpy_actor import NumpyActor

_ROWS, _SEEN, _ACTIONS = 40, 7, 3


def _network() -> GaussianActorCritic:
    network = GaussianActorCritic(_SEEN, _ACTIONS, 16, 0.5, torch.Generator().manual_seed(0))
    network.weights += 0.3 * torch.randn(network.weights.shape, generator=torch.Generator().manual_seed(1))
    network.mean += 0.5
    network.std *= 2.0
    return network


@pytest.mark.parametrize("seed", [None, 3])
def test_it_acts_as_the_network_does(seed: int | None) -> None:
    """With noise and without; some observations are beyond the limit."""
    network = _network()
    observations = np.random.default_rng(2).normal(0, 15, (_ROWS, _SEEN)).astype(np.float32)
    ours = NumpyActor(network)(observations, None if seed is None else np.random.default_rng(seed))
    rng = None if seed is None else np.random.default_rng(seed)
    its = network.sample(network.distribution(network.normalize(torch.as_tensor(observations))), rng)
    for mine, wanted in zip(ours, its, strict=True):
        assert mine.dtype == np.float32
        np.testing.assert_allclose(mine, wanted.numpy(), rtol=1e-5, atol=1e-5)


def test_it_follows_the_network() -> None:
    """Weights and moments loaded later take effect at once; observations are not changed."""
    network, other = _network(), _network()
    policy = NumpyActor(network)
    observations = np.random.default_rng(2).standard_normal((_ROWS, _SEEN)).astype(np.float32)
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
