"""The convolutional actor-critics, and the optimizers on images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from core.config import Config, replaced
from core.events import RolloutBatchReady
from core.jobs.policy import OPTIMIZERS
from core.policy.cnn_actor_critic import CNNActorCritic
from core.policy.on_policy import OnPolicyOptimizer
from tests.core.picture_toys import SHAPE, drawn
from tests.core.policy_toys import improve

COUNT = 96


def network(vision: str = "small", pictures: tuple[int, int, int] = SHAPE, **kinds: Any) -> CNNActorCritic:
    return CNNActorCritic(pictures, 3, vision, torch.Generator().manual_seed(0), **kinds)


def optimizer(algorithm: str, rng: np.random.Generator | None = None) -> OnPolicyOptimizer:
    rate = 5e-4 if algorithm == "a2c" else 3e-3
    numbers = {"algorithm": algorithm, "learning_rate": rate, "epochs": 4, "minibatch": 64, "entropy_bonus": 0.0}
    config = replaced(Config(), **{f"policy__{name}": value for name, value in {**numbers, "target_kl": 1e9}.items()})
    return OPTIMIZERS[algorithm](network(dtype=torch.float32), config, rng or np.random.default_rng(0))


def seen(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random places of the block and their observations."""
    places = np.random.default_rng(seed).integers(0, 6, COUNT)
    return places, drawn(np.stack([places, places], axis=1)).reshape(COUNT, -1)


def wanted(places: np.ndarray) -> np.ndarray:
    """Return the one of three actions that is rewarded at each place of the block."""
    return places // 2


def bandit(of: CNNActorCritic, seed: int) -> RolloutBatchReady:
    """Return a batch of one-step episodes."""
    places, observations = seen(seed)
    with torch.no_grad():
        parameters = of.distribution(of.normalize(torch.as_tensor(observations)))
        actions, logs = (x.numpy() for x in of.sample(parameters, np.random.default_rng(seed)))
    rewards = (actions.argmax(1) == wanted(places)).astype(np.float32)
    ends = np.ones((1, COUNT), np.bool_)
    return RolloutBatchReady(
        0, COUNT, observations[None], actions[None], logs[None], rewards[None], ends, observations, observations
    )


def right(of: CNNActorCritic) -> float:
    """Return the share of new pictures for which the likeliest action is the rewarded one."""
    places, observations = seen(1000)
    with torch.no_grad():
        (logs,) = of.distribution(torch.as_tensor(observations))
    return float((logs.argmax(1).numpy() == wanted(places)).mean())


@pytest.mark.parametrize(
    ("vision", "filters", "features", "units"),
    [
        ("small", (8 * 8 * 4 + 1) * 16 + (4 * 4 * 16 + 1) * 32, 9 * 9 * 32, 256),
        ("nature", (8 * 8 * 4 + 1) * 32 + (4 * 4 * 32 + 1) * 64 + (3 * 3 * 64 + 1) * 64, 7 * 7 * 64, 512),
    ],
)
def test_the_networks_are_those_of_2013_and_2015(vision: str, filters: int, features: int, units: int) -> None:
    made = network(vision, (4, 84, 84))
    assert made.weights.numel() == filters + (features + 1) * units + (units + 1) * 3 + (units + 1)
    assert made.weights.numel() - made.policy_size == units + 1  # everything except the value's own layer


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("algorithm", "updates"), [("ppo", 6), ("a2c", 60), ("trpo", 8)])
def test_every_algorithm_learns_the_right_action_for_each_picture(algorithm: str, updates: int) -> None:
    made = optimizer(algorithm)
    assert right(made.network) < 0.6
    for seed in range(updates):
        improve(made, bandit(made.network, seed))
    assert right(made.network) > 0.9


def test_a_batch_in_chunks_is_evaluated_as_each_part_alone() -> None:
    made, pixels = network(dtype=torch.float32), torch.as_tensor(np.concatenate([seen(i)[1] for i in range(6)]))
    with torch.no_grad():
        (logs,), values = made.evaluate(pixels)
        (part,), some = made.evaluate(pixels[520:570])
    assert (logs.shape, values.shape) == ((576, 3), (576,))
    assert torch.allclose(logs[520:570], part, atol=1e-5) and torch.allclose(values[520:570], some, atol=1e-5)
