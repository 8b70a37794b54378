"""A policy as something that acts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from core.actor_critic import ActorCritic, actor_critic
from core.config import Config
from core.devices import device_for
from core.envs import make
from core.networks import CPU
from core.records import Float32
from core.seeding import generator, seed_for
from core.tasks import find


@dataclass(frozen=True)
class Spaces:
    """Widths of an observation's and an action's row, and whether the action is a one-hot choice."""

    observations: int
    actions: int
    discrete: bool


def spaces(config: Config) -> Spaces:
    env = make(find(config.task), 1, generator(config.seed, "shapes"), threads=1)
    env.close()
    observations, actions, _ = env.sizes
    return Spaces(observations, actions, env.discrete)


def sizes(config: Config) -> tuple[int, int]:
    """Of the task's observations and actions."""
    found = spaces(config)
    return found.observations, found.actions


def untrained_policy(config: Config, device: torch.device | None = None) -> ActorCritic:
    """The policy before its first update: the same for the same seed."""
    start = torch.Generator().manual_seed(seed_for(config.seed, "policy network"))
    found = spaces(config)
    place = device or device_for(config)
    return actor_critic(found.observations, found.actions, found.discrete, config.policy, start, place)


class Actor:
    """Acts with the weights it was last given, with noise (rng) or without (None). On the CPU: batches are small."""

    def __init__(self, config: Config, rng: np.random.Generator | None) -> None:
        self._network = untrained_policy(config, CPU)
        self._rng = rng

    def load(self, weights: dict[str, np.ndarray]) -> None:
        self._network.load_arrays(weights)

    @torch.no_grad()
    def __call__(self, observations: Float32) -> tuple[Float32, Float32]:
        """(N, o) -> actions (N, a) and log probabilities (N,)."""
        parameters = self._network.parameters_of(self._network.normalise(torch.as_tensor(observations)))
        actions, log_probs = self._network.sample(parameters, self._rng)
        return actions.numpy(), log_probs.numpy()
