"""What the fit has of each preference's two segments, and how it gets the ensemble's sums over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from core.config import RewardConfig
from core.io.segment_codec import CompressedArray, CompressedSegment, FrameSequence
from core.nn.image_input import TrainingPass
from core.nn.stacked_mlp import Drop
from core.reward.ensemble import RewardEnsemble
from core.reward.image_ensemble import ImageEnsemble
from core.types import Preference, Segment

P = TypeVar("P")
"""What training adds to a pass of the ensemble."""
E = TypeVar("E")
"""The kind of ensemble."""


class PreferenceDataset(ABC, Generic[P, E]):
    """The segments of preferences 0..D-1."""

    chunk: int
    """Preferences validated at once: bounds the memory of a long session."""

    @abstractmethod
    def insert(self, index: int, preference: Preference) -> None:
        """Takes one in; those after it move down."""

    @abstractmethod
    def remove(self, index: int) -> None:
        """Forgets one; those after it move up."""

    @abstractmethod
    def prepare(self) -> None:
        """Called before an epoch, when what was added or removed is settled."""

    @abstractmethod
    def training_pass(self, rng: np.random.Generator) -> P:
        """For one pass in training, by draws that the saved state of rng repeats."""

    @abstractmethod
    def update_moments(self, passes: list[P]) -> None:
        """Takes note of what passes in training saw, in their order."""

    @abstractmethod
    def segment_sums(self, indices: Tensor, training_pass: P | None) -> Tensor:
        """(M, B) preferences, each member its own -> (M, B, 2): its sums over the left segments and the right ones."""

    @abstractmethod
    def segment_returns(self, rows: list[int], ensemble: E) -> Tensor:
        """Any ensemble's sums over these preferences, (M, B, 2), outside of training."""


class VectorPreferences(PreferenceDataset[Drop | None, RewardEnsemble]):
    """Observations and actions as tensors that grow by doubling, normalized by their own moments."""

    chunk = 64

    def __init__(self, ensemble: RewardEnsemble, config: RewardConfig, device: torch.device) -> None:
        self._ensemble = ensemble
        self._dropout = config.dropout
        self._device = device
        self._moments: list[np.ndarray] = []
        """(2, inputs) of each preference: mean and variance of its inputs."""
        self._inputs = torch.zeros(0)
        self._normalised = torch.zeros(0)
        self._normal: Tensor | None = None
        """The inputs of all preferences, normalized; None once one was added or removed."""

    def insert(self, index: int, preference: Preference) -> None:
        sides = preference.query.left, preference.query.right
        pair = np.stack([self._ensemble.inputs(s.observations, s.actions) for s in sides])
        count = len(self._moments)
        if count == len(self._inputs):
            grown = torch.zeros((max(64, 2 * count), *pair.shape), device=self._device)
            if count:
                grown[:count] = self._inputs
            self._inputs = grown
        self._inputs[index + 1 : count + 1] = self._inputs[index:count].clone()
        self._inputs[index] = torch.as_tensor(pair)
        self._moments.insert(index, np.stack([pair.mean((0, 1), np.float64), pair.var((0, 1), np.float64)]))
        self._normal = None

    def remove(self, index: int) -> None:
        self._normal = None
        count = len(self._moments)
        self._moments.pop(index)
        self._inputs[index : count - 1] = self._inputs[index + 1 : count].clone()

    def prepare(self) -> None:
        """All inputs by the moments of the kept: when one was added or removed, not at each gradient step.

        Withdrawing an answer undoes its part. All have as many rows, so the variance is the mean of theirs plus that of
        their means. At least 1e-3, so that an input that never moves is not diverged up.
        """
        if self._normal is not None:
            return
        means, variances = np.stack(self._moments, axis=1)
        std = np.sqrt(np.maximum(variances.mean(axis=0) + means.var(axis=0), 1e-6))
        self._ensemble.mean = torch.as_tensor(means.mean(axis=0), dtype=torch.float32, device=self._device)
        self._ensemble.std = torch.as_tensor(std, dtype=torch.float32, device=self._device)
        # In place: a block that is a little larger after each answer would leave the last one's hole behind.
        if self._normalised.shape != self._inputs.shape:
            self._normalised = torch.empty_like(self._inputs)
        count = len(self._moments)
        self._normal = torch.sub(self._inputs[:count], self._ensemble.mean, out=self._normalised[:count])
        self._normal.div_(self._ensemble.std)

    def training_pass(self, rng: np.random.Generator) -> Drop | None:
        """Leaves out hidden units and scales the others up (A.2)."""
        if not self._dropout:
            return None
        kept, draws = 1 - self._dropout, np.random.default_rng(rng.integers(2**63))

        def drop(hidden: Tensor) -> Tensor:
            mask = draws.random(tuple(hidden.shape), np.float32) < kept
            return hidden * torch.as_tensor(mask / np.float32(kept), device=self._device)

        return drop

    def update_moments(self, passes: list[Drop | None]) -> None:
        """There are no moments to learn: those of the inputs are exact."""

    def segment_sums(self, indices: Tensor, training_pass: Drop | None) -> Tensor:
        assert self._normal is not None
        members, batch = indices.shape
        steps, size = self._normal.shape[2:]
        inputs = self._normal[indices].reshape(members, batch * 2, steps, size)
        return self._ensemble.network.totals(inputs, training_pass).reshape(members, batch, 2)

    def segment_returns(self, rows: list[int], ensemble: RewardEnsemble) -> Tensor:
        return ensemble.totals(self._inputs[rows].flatten(0, 1)).reshape(ensemble.members, -1, 2)


class ImagePreferences(PreferenceDataset[TrainingPass, ImageEnsemble]):
    """Pictures, each kept once, and packed unless there is a GPU to keep them on; stacked for a gradient step only.

    The latest 3,000 preferences (A.2) of 25 steps would take 4.2 GB as stacks; so they take some 50 MB, and 1.2 GB of a
    GPU's memory.
    """

    chunk = 8

    def __init__(self, ensemble: ImageEnsemble, config: RewardConfig, device: torch.device) -> None:
        self._ensemble = ensemble
        self._dropout = config.dropout
        self._device = device
        self._clips: list[tuple[_Clip, _Clip]] = []

    def insert(self, index: int, preference: Preference) -> None:
        query = preference.query
        self._clips.insert(index, (self._clip(query.left), self._clip(query.right)))

    def _clip(self, segment: Segment) -> _Clip:
        if not isinstance(segment, CompressedSegment):
            raise ValueError(f"the pictures of segment {segment.id} are not packed")
        return _Clip(segment.reel, self._device)

    def remove(self, index: int) -> None:
        self._clips.pop(index)

    def prepare(self) -> None:
        """Pixels need no normalization."""

    def training_pass(self, rng: np.random.Generator) -> TrainingPass:
        return TrainingPass(self._dropout, int(rng.integers(2**63)))

    def update_moments(self, passes: list[TrainingPass]) -> None:
        self._ensemble.network.learn_moments(passes)

    def segment_sums(self, indices: Tensor, training_pass: TrainingPass | None) -> Tensor:
        members, batch = indices.shape
        network = self._ensemble.network
        if not batch:  # half of a single preference: a batch without pictures has no moments
            nothing = torch.zeros(members, 0, 2, device=self._device)
            return nothing * torch.stack([parameter.sum() for parameter in network.parameters]).sum()
        rows = [self._members_own(chosen, side) for chosen in indices.t().tolist() for side in (0, 1)]
        return network.totals(torch.stack(rows), training_pass).reshape(members, batch, 2)

    def segment_returns(self, rows: list[int], ensemble: ImageEnsemble) -> Tensor:
        if not rows:
            return torch.zeros(ensemble.members, 0, 2)
        clips = [self._clips[row][side] for row in rows for side in (0, 1)]
        sums = [ensemble.network(clip.stacked()).sum(1) for clip in clips]
        return torch.stack(sums, dim=1).reshape(ensemble.members, -1, 2)

    def _members_own(self, chosen: list[int], side: int) -> Tensor:
        """(k, M, n, h, w): of each member's preference."""
        return torch.stack([self._clips[index][side].stacked() for index in chosen], dim=1)


class _Clip:
    """One segment as the fit keeps it."""

    def __init__(self, reel: FrameSequence, device: torch.device) -> None:
        self._stacks = torch.as_tensor(reel.stacks, dtype=torch.int64, device=device)
        self._pictures: CompressedArray | Tensor = CompressedArray(
            reel.pictures.payload, reel.pictures.shape
        )  # packed by now at least
        if device.type != "cpu":
            self._pictures = torch.as_tensor(reel.pictures.array(), device=device)

    def stacked(self) -> Tensor:
        """(k, n, h, w) uint8."""
        pictures = self._pictures
        if isinstance(pictures, CompressedArray):
            pictures = torch.from_numpy(pictures.array())
        return pictures[self._stacks]


def make_dataset(
    ensemble: RewardEnsemble | ImageEnsemble, config: RewardConfig, device: torch.device
) -> PreferenceDataset[Any, Any]:
    if isinstance(ensemble, ImageEnsemble):
        return ImagePreferences(ensemble, config, device)
    return VectorPreferences(ensemble, config, device)
