"""Acting with a policy: the untrained network of a session, and the choice of actions."""

import numpy as np
import torch

from core.config import Config
from core.envs.spaces import spaces
from core.nn.device import device_for
from core.nn.stacked_mlp import CPU
from core.nn.state import load_state_arrays
from core.policy.actor_critic import GaussianActorCritic, actor_critic
from core.policy.cnn_actor_critic import CNNActorCritic
from core.policy.numpy_actor import NumpyActor
from core.policy.policy_network import PolicyNetwork
from core.policy.squashed_policy import SquashedPolicy
from core.seeding import seed_for
from core.types import Float32, Observations


def build_policy(config: Config, device: torch.device | None = None, dtype: torch.dtype | None = None) -> PolicyNetwork:
    """Return the untrained policy of a session, whose initial weights depend only on config.seed.

    device: None for the config's device; dtype: data type of the convolutions, None for the device's fastest
    """
    start = torch.Generator().manual_seed(seed_for(config.seed, "policy network"))
    space = spaces(config)
    device = device or device_for(config)
    if space.pictures:
        return CNNActorCritic(space.pictures, space.actions, config.policy.vision, start, device, dtype)
    if config.policy.algorithm == "sac":
        return SquashedPolicy(space.observations, space.actions, config.policy.hidden, start, device)
    return actor_critic(space.observations, space.actions, space.discrete, config.policy, start, device)


class Actor:
    """Chooses actions with the weights loaded last, on the CPU: its batches are too small for a GPU.

    rng: samples the actions; None to choose the likeliest ones
    """

    def __init__(self, config: Config, rng: np.random.Generator | None) -> None:
        network = build_policy(config, CPU)
        self._network, self._rng = network, rng
        self._numpy = NumpyActor(network) if isinstance(network, GaussianActorCritic) else None

    def load(self, weights: dict[str, np.ndarray]) -> None:
        """Load published weights. Raises KeyError or ValueError if they do not fit this network."""
        load_state_arrays(self._network, weights)

    @torch.no_grad()
    def __call__(self, observations: Observations) -> tuple[Float32, Float32]:
        """Return actions (N, a) and their log probabilities (N,) for observations (N, o)."""
        if self._numpy is not None:
            return self._numpy(observations, self._rng)
        inputs = self._network.normalize(torch.as_tensor(observations))
        actions, log_probs = self._network.sample(self._network.distribution(inputs), self._rng)
        return actions.numpy(), log_probs.numpy()
