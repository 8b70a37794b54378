"""Reward predictors that act together: raw predictions of all members, and the normalized reward."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from core.config import Config, RewardConfig
from core.envs.spaces import sizes
from core.errors import UserError
from core.events import Arrays
from core.nn.stacked_mlp import CPU, StackedMLP
from core.reward.image_ensemble import ImageEnsemble
from core.seeding import seed_for
from core.tasks import get_task
from core.types import Float32, Segment


def standardize_members(raw: Float32) -> Float32:
    """(M, ...) raw predictions -> each member to mean 0, std 1; one that is constant gives zeros."""
    axes = tuple(range(1, raw.ndim))
    centred = raw - raw.mean(axis=axes, keepdims=True)
    scale = centred.std(axis=axes, keepdims=True)
    return centred / np.where(scale > 1e-8, scale, np.inf)


def normalize_reward(raw: Float32, std: float) -> Float32:
    """(M, ...) raw predictions -> (...): the mean of the standardized members, to mean 0 and `std` (2.2.3, A).

    A mean that is constant gives zeros.
    """
    mean = standardize_members(raw).mean(axis=0)
    deviation = float(mean.std())
    return (mean * (std / deviation) if deviation > 1e-8 else np.zeros_like(mean)).astype(np.float32)


def disagreement_std(raw: Float32) -> Float32:
    """(M, ...) raw predictions -> (...): standard deviation over the standardized members.

    Added to the reward it draws the policy to where the members disagree, and so to clips worth asking about (Liang
    et al., Reward Uncertainty for Exploration in Preference-based Reinforcement Learning, 2022; not in the paper).
    """
    return standardize_members(raw).std(axis=0)


class RewardEnsemble:
    """M predictors of r(o, a) in one batched network, with the moments that normalize their inputs.

    `inputs`: how many numbers those are, observations (or their first `config.observed`) and actions together.
    """

    def __init__(
        self, inputs: int, config: RewardConfig, generator: torch.Generator, device: torch.device = CPU
    ) -> None:
        self.network = StackedMLP(config.members, inputs, config.hidden, config.activation, generator, device)
        self.mean = torch.zeros(inputs, device=device)
        self.std = torch.ones(inputs, device=device)
        self.members = config.members
        self._observed = config.observed or None

    def inputs(self, observations: Float32, actions: Float32) -> Float32:
        """(..., o) and (..., a) -> (..., inputs): what the predictors see of them, side by side."""
        return np.concatenate([observations[..., : self._observed], actions], axis=-1)

    def raw(self, inputs: Tensor) -> Tensor:
        """(B, inputs) observations and actions side by side -> (M, B)."""
        x = (inputs - self.mean) / self.std
        return self.network(x.expand(self.members, *x.shape))

    def predict(self, observations: Float32, actions: Float32) -> Float32:
        """(..., o) and (..., a) -> raw predictions (M, ...)."""
        inputs = self.inputs(observations, actions)
        with torch.no_grad():
            flat = self.raw(torch.as_tensor(inputs.reshape(-1, inputs.shape[-1])))
        return flat.numpy().reshape(self.members, *inputs.shape[:-1])

    def segment_sums(self, segments: list[Segment]) -> Float32:
        """(M, segments): raw predictions summed over each segment."""
        observations = np.stack([s.observations for s in segments])
        actions = np.stack([s.actions for s in segments])
        return self.predict(observations, actions).sum(axis=-1)

    def totals(self, inputs: Tensor) -> Tensor:
        """(S, k, inputs) -> (M, S): raw predictions summed over the steps of each segment."""
        x = (inputs - self.mean) / self.std
        return self.network.totals(x.expand(self.members, *x.shape))

    def to_arrays(self) -> Arrays:
        return {**self.network.to_arrays(), "mean": self.mean.cpu().numpy(), "std": self.std.cpu().numpy()}

    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.network.load_arrays(arrays)
        self.mean = torch.as_tensor(arrays["mean"], device=self.mean.device)
        self.std = torch.as_tensor(arrays["std"], device=self.std.device)


def build_ensemble(config: Config, device: torch.device) -> RewardEnsemble | ImageEnsemble:
    """The ensemble before its first fit: the same for the same seed."""
    start = torch.Generator().manual_seed(seed_for(config.seed, "reward network"))
    pictures = get_task(config.task).pictures
    if pictures:
        return ImageEnsemble(pictures, config.reward, start, device)
    observations, actions = sizes(config)
    seen = config.reward.observed
    if seen > observations:
        raise UserError(f"reward.observed is {seen}, and {config.task} has {observations} numbers to see: give fewer.")
    return RewardEnsemble((seen or observations) + actions, config.reward, start, device)
