"""Policy networks: their weights as one vector, the normalization of observations, and the choice of actions."""

from abc import ABC, abstractmethod

import numpy as np
import torch
from torch import Tensor

from core.nn.running_stats import RunningMeanStd

Distribution = tuple[Tensor, ...]
"""Parameters of the distributions of B actions; each network class defines its own."""
OBSERVATION_LIMIT = 10.0
"""Normalized observations are clipped to this many standard deviations."""


class PolicyNetwork(torch.nn.Module, ABC):
    """A network that maps normalized observations (B, o) to action distributions.

    weights: all parameters as one float32 vector (P,), the policy's first. So clipping, moving, comparing and restoring
        them takes one operation each; per parameter, this would dominate a small update's time.
    policy_parameters: views of that vector in the shapes of the policy's layers, for autograd
    mean, std: moments (o,) that normalize observations; empty for images, which are not normalized
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self, observation_size: int, policy: list[Tensor], device: torch.device, others: list[Tensor] | None = None
    ) -> None:
        """observation_size: length of `mean` and `std`; policy, others: initial parameters."""
        super().__init__()
        tensors = [*policy, *(others or [])]
        self.device = device
        vector = torch.cat([tensor.reshape(-1) for tensor in tensors]).to(device)
        self.weights = torch.nn.Parameter(vector, requires_grad=False)
        self.parameter_views = _views(self.weights, tensors)
        self.policy_parameters = self.parameter_views[: len(policy)]
        self.register_buffer("mean", torch.zeros(observation_size, device=device))
        self.register_buffer("std", torch.ones(observation_size, device=device))

    def enable_gradients(self) -> Tensor:
        """Make backward() accumulate gradients in one vector (P,), which is returned and becomes `weights.grad`."""
        gradient = torch.zeros_like(self.weights)
        for parameter, part in zip(self.parameter_views, _views(gradient, self.parameter_views), strict=True):
            parameter.requires_grad_(True)
            parameter.grad = part
        self.weights.grad = gradient
        return gradient

    def normalize(self, observations: Tensor) -> Tensor:
        """Return observations (B, o) in standard deviations from the mean, clipped to ±OBSERVATION_LIMIT."""
        return (observations - self.mean).div_(self.std).clamp_(-OBSERVATION_LIMIT, OBSERVATION_LIMIT)

    def set_moments(self, moments: RunningMeanStd) -> None:
        """Normalize observations by these moments from now on."""
        self.mean.copy_(torch.as_tensor(moments.mean))
        self.std.copy_(torch.as_tensor(moments.std))

    @abstractmethod
    def distribution(self, normalized: Tensor) -> Distribution:
        """Return the distributions of B actions for normalized observations (B, o)."""

    @abstractmethod
    def sample(self, distribution: Distribution, rng: np.random.Generator | None) -> tuple[Tensor, Tensor]:
        """Return actions (B, a) and their log probabilities (B,), both float32; the likeliest actions if rng is None."""


def _views(vector: Tensor, like: list[Tensor]) -> list[Tensor]:
    """Return consecutive parts of vector (P,) in the shapes of `like`; they share its memory and are leaves of autograd."""
    parts = vector.split([tensor.numel() for tensor in like])
    return [part.view(tensor.shape).detach() for part, tensor in zip(parts, like, strict=True)]
