"""The policy optimisers by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from core.config import Config
from core.events import BatchCollected
from core.policy.a2c import A2C
from core.policy.actor_critic import ActorCritic
from core.policy.on_policy import UpdateReport
from core.policy.ppo import PPO
from core.policy.trpo import TRPO


class PolicyOptimiser(Protocol):
    """What improves a policy; see OnPolicyOptimiser for what each method does."""

    network: ActorCritic

    def update(self, batch: BatchCollected) -> Iterator[UpdateReport]: ...
    def observe(self, observations: np.ndarray) -> None: ...
    def get_state(self) -> dict[str, Any]: ...
    def set_state(self, arrays: Mapping[str, Any]) -> None: ...


OPTIMISERS: dict[str, Callable[[ActorCritic, Config, np.random.Generator], PolicyOptimiser]] = {
    "ppo": PPO,
    "trpo": TRPO,
    "a2c": A2C,
}


def policy_optimiser(network: ActorCritic, config: Config, rng: np.random.Generator) -> PolicyOptimiser:
    """The optimiser that config.policy.algorithm names; it draws from rng and moves the network's weights."""
    return OPTIMISERS[config.policy.algorithm](network, config, rng)
