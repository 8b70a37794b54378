"""A policy as something that acts."""

from __future__ import annotations

import math

import numpy as np
import torch

from core.config import Config
from core.devices import device_for
from core.envs import make
from core.networks import CPU, GaussianActorCritic
from core.records import Float32
from core.seeding import generator, seed_for
from core.tasks import find


def sizes(config: Config) -> tuple[int, int]:
    """Of the task's observations and actions."""
    env = make(find(config.task), 1, generator(config.seed, "shapes"), threads=1)
    env.close()
    return env.sizes[:2]


def untrained_policy(config: Config, device: torch.device | None = None) -> GaussianActorCritic:
    """The policy before its first update: the same for the same seed."""
    start = torch.Generator().manual_seed(seed_for(config.seed, "policy network"))
    policy = config.policy
    return GaussianActorCritic(*sizes(config), policy.hidden, policy.initial_std, start, device or device_for(config))


class Actor:
    """Acts with the weights it was last given, with noise (rng) or without (None). On the CPU: batches are small."""

    def __init__(self, config: Config, rng: np.random.Generator | None) -> None:
        self._network = untrained_policy(config, CPU)
        self._rng = rng

    def load(self, weights: dict[str, np.ndarray]) -> None:
        self._network.load_arrays(weights)

    def __call__(self, observations: Float32) -> tuple[Float32, Float32]:
        """(N, o) -> actions (N, a) and log probabilities (N,)."""
        with torch.no_grad():
            means = self._network.means(self._network.normalise(torch.as_tensor(observations))).numpy()
        log_std = self._network.log_std.numpy()
        noise = np.zeros_like(means) if self._rng is None else self._rng.standard_normal(means.shape, np.float32)
        constant = log_std.sum() + 0.5 * math.log(2 * math.pi) * means.shape[1]
        return means + np.exp(log_std) * noise, -0.5 * (noise**2).sum(axis=1) - constant
