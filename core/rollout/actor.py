"""A policy as something that acts."""

from __future__ import annotations

import numpy as np
import torch

from core.config import Config
from core.envs.spaces import spaces
from core.nn.device import device_for
from core.nn.stacked_mlp import CPU
from core.policy.actor_critic import ActorCritic, GaussianActorCritic, actor_critic
from core.policy.cnn_actor_critic import CNNActorCritic
from core.policy.numpy_actor import NumpyActor
from core.seeding import seed_for
from core.tasks import get_task
from core.types import Float32, Observations


def build_policy(config: Config, device: torch.device | None = None) -> ActorCritic:
    """The policy before its first update: the same for the same seed."""
    start = torch.Generator().manual_seed(seed_for(config.seed, "policy network"))
    found = spaces(config)
    place = device or device_for(config)
    if found.pictures:
        return CNNActorCritic(found.pictures, found.actions, config.policy.vision, start, place)
    return actor_critic(found.observations, found.actions, found.discrete, config.policy, start, place)


def acting_device(config: Config) -> torch.device:
    """Where rollouts compute: on the CPU, as their batches are small, unless those are of pictures."""
    return device_for(config) if get_task(config.task).pictures else CPU


class Actor:
    """Acts with the weights it was last given, with noise (rng) or without (None)."""

    def __init__(self, config: Config, rng: np.random.Generator | None) -> None:
        network = build_policy(config, acting_device(config))
        self._network, self._rng = network, rng
        on_cpu = network.device.type == CPU.type
        self._plain = NumpyActor(network) if on_cpu and isinstance(network, GaussianActorCritic) else None

    def load(self, weights: dict[str, np.ndarray]) -> None:
        self._network.load_arrays(weights)

    @torch.no_grad()
    def __call__(self, observations: Observations) -> tuple[Float32, Float32]:
        """(N, o) -> actions (N, a) and log probabilities (N,)."""
        if self._plain is not None:
            return self._plain(observations, self._rng)
        seen = torch.as_tensor(observations, device=self._network.device)
        parameters = self._network.distribution(self._network.normalize(seen))
        actions, log_probs = self._network.sample(parameters, self._rng)
        return actions.cpu().numpy(), log_probs.cpu().numpy()
