"""The policy network of SAC: Gaussians squashed by tanh, with standard deviations that depend on the observation."""

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from core.nn.stacked_mlp import CPU
from core.policy.actor_critic import three_layers
from core.policy.policy_network import Distribution, PolicyNetwork

_LOG_STD_CENTRE, _LOG_STD_REACH = -1.5, 2.5
"""The logarithm of a standard deviation stays within -4 and 1."""
_LOG_STD_START = 1.5
"""Offset at which tanh begins, for a standard deviation of 2: an untrained policy mostly drives joints at full effort."""


class SquashedPolicy(PolicyNetwork):
    """Continuous actions in (-1, 1): tanh of independent Gaussians (Haarnoja et al. 2018, appendix C).

    Distribution: means (B, a) and logarithms of the standard deviations (B, a), both before tanh
    """

    def __init__(
        self,
        observation_size: int,
        action_size: int,
        hidden: int,
        generator: torch.Generator,
        device: torch.device = CPU,
    ) -> None:
        layers = three_layers(observation_size, hidden, 2 * action_size, 0.01, generator)
        super().__init__(observation_size, layers, device)
        self.action_size = action_size

    def distribution(self, normalized: Tensor) -> Distribution:
        x, layers = normalized, self.policy_parameters
        for i in range(0, len(layers) - 2, 2):
            x = torch.relu(torch.addmm(layers[i + 1], x, layers[i]))
        means, spreads = torch.addmm(layers[-1], x, layers[-2]).split(self.action_size, dim=1)
        return means, _LOG_STD_CENTRE + _LOG_STD_REACH * torch.tanh(spreads + _LOG_STD_START)

    def sample(self, distribution: Distribution, rng: np.random.Generator | None) -> tuple[Tensor, Tensor]:
        means, _ = distribution
        drawn = np.zeros(means.shape, np.float32) if rng is None else rng.standard_normal(means.shape, np.float32)
        return self.squash(distribution, torch.as_tensor(drawn, device=self.device))

    def squash(self, distribution: Distribution, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Return the actions (B, a) for standard normal noise (B, a), and their log densities (B,); differentiable."""
        means, log_stds = distribution
        x = torch.addcmul(means, log_stds.exp(), noise)
        log_slope = 2 * (math.log(2) - x - softplus(-2 * x))  # log(1 - tanh(x)^2) without cancellation
        log_density = (-0.5 * noise.square() - log_stds - log_slope).sum(-1) - _HALF_LOG_TAU * self.action_size
        return torch.tanh(x), log_density


_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)
