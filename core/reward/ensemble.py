"""Ensembles of reward predictors for vector observations."""

import numpy as np
import torch
from torch import Tensor

from core.config import Config, RewardConfig
from core.envs.spaces import spaces
from core.nn.stacked_mlp import CPU, StackedMLP
from core.reward.image_ensemble import ImageEnsemble
from core.seeding import seed_for
from core.tasks import get_task
from core.types import Float32, Segment

LIMIT = 5.0
"""Inputs are clipped to this many standard deviations: otherwise an outlier such as a contact force would dominate."""


class RewardEnsemble(torch.nn.Module):
    """M predictors of r(o, a), or of r(o), in one batched network, with the moments that normalize their inputs.

    mean, std: buffers (inputs,); see_actions: whether the inputs are observations and actions, or observations alone
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self, inputs: int, config: RewardConfig, generator: torch.Generator, device: torch.device = CPU
    ) -> None:
        super().__init__()
        self.see_actions = config.see_actions
        scale = config.last_layer_scale
        self.network = StackedMLP(config.members, inputs, config.hidden, generator, device, scale)
        self.register_buffer("mean", torch.zeros(inputs, device=device))
        self.register_buffer("std", torch.ones(inputs, device=device))
        self.members = config.members

    def inputs(self, observations: Float32, actions: Float32) -> Float32:
        """Return network inputs (..., inputs), before normalization, for observations (..., o) and actions (..., a)."""
        return np.concatenate([observations, actions], axis=-1) if self.see_actions else observations

    def normalized(self, inputs: Tensor, out: Tensor | None = None) -> Tensor:
        """Return inputs (..., inputs) in standard deviations from their mean, clipped to ±LIMIT. out: memory to use"""
        return torch.sub(inputs, self.mean, out=out).div_(self.std).clamp_(-LIMIT, LIMIT)

    @torch.no_grad()
    def predict(self, observations: Float32, actions: Float32) -> Float32:
        """Return raw predictions (M, ...) for observations (..., o) and actions (..., a)."""
        inputs = self.inputs(observations, actions)
        rows = torch.as_tensor(inputs.reshape(-1, inputs.shape[-1]), device=self.mean.device)
        raw: Float32 = self.raw(rows).cpu().numpy()
        return raw.reshape(self.members, *inputs.shape[:-1])

    def raw(self, inputs: Tensor) -> Tensor:
        """Return raw predictions (M, B) for inputs (B, inputs), before normalization."""
        x = self.normalized(inputs)
        raw: Tensor = self.network(x.expand(self.members, *x.shape))
        return raw

    def predicted_returns(self, segments: list[Segment]) -> Float32:
        """Return raw predictions summed over each segment, (M, segments)."""
        observations = np.stack([s.observations for s in segments])
        actions = np.stack([s.actions for s in segments])
        return self.predict(observations, actions).sum(axis=-1)

    def segment_returns(self, inputs: Tensor) -> Tensor:
        """Return raw predictions (M, S), summed over the k steps of each segment. inputs: (S, k, inputs), unnormalized"""
        x = self.normalized(inputs)
        return self.network.segment_returns(x.expand(self.members, *x.shape))


def build_ensemble(
    config: Config, device: torch.device, dtype: torch.dtype | None = None
) -> RewardEnsemble | ImageEnsemble:
    """Return the untrained ensemble of a session, whose initial weights depend only on config.seed.

    dtype: data type of the convolutions; None for the device's fastest
    """
    start = torch.Generator().manual_seed(seed_for(config.seed, "reward network"))
    task = get_task(config.task)
    if task.pictures:
        return ImageEnsemble(task.pictures, config.reward, start, device, dtype)
    space = spaces(config)
    inputs = space.observations + (space.actions if config.reward.see_actions else 0)
    return RewardEnsemble(inputs, config.reward, start, device)
