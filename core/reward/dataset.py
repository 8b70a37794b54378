"""The segments that a reward ensemble is trained on, and the predicted returns of minibatches of them."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.config import RewardConfig
from core.io.segment_codec import CompressedArray, CompressedSegment
from core.nn.image_input import TrainingPass
from core.nn.stacked_mlp import Dropout
from core.reward.ensemble import RewardEnsemble
from core.reward.image_ensemble import ImageEnsemble
from core.types import Preference, Segment


class PreferenceDataset(ABC):
    """Segments of preferences 0..D-1, in the form in which an ensemble is trained on them.

    A predicted return is the sum of a member's raw predictions over the k steps of a segment. Left and right segments
    are along the last axis, in this order.
    """

    chunk: int
    """Number of preferences evaluated at once outside of training, which limits memory in long sessions."""

    @abstractmethod
    def insert(self, index: int, preference: Preference) -> None:
        """Insert a preference's segments before `index`; later ones are shifted."""

    @abstractmethod
    def remove(self, index: int) -> None:
        """Remove a preference's segments; later ones are shifted."""

    def prepare(self) -> None:
        """Apply pending insertions and removals. Call it before each epoch."""
        return

    @abstractmethod
    def training_pass(self, rng: np.random.Generator) -> Any:
        """Return the state of one forward pass in training: dropout drawn from rng, and batch moments if there are any."""

    def update_moments(self, passes: list[Any]) -> None:
        """Update the network's running moments, if it has any, from these training passes, in order."""
        return

    @abstractmethod
    def member_returns(self, indices: Tensor, training_pass: Any) -> Tensor:
        """Return differentiable predicted returns (M, B, 2). indices: (M, B), preferences for each member"""

    @abstractmethod
    def predicted_returns(self, indices: list[int], ensemble: Any) -> Tensor:
        """Return predicted returns (M, B, 2) of any ensemble for B preferences, outside of training."""


class VectorDataset(PreferenceDataset):
    """Observations and actions as float32 tensors that grow by doubling, normalized by their own moments."""

    chunk = 64

    def __init__(self, ensemble: RewardEnsemble, config: RewardConfig, device: torch.device) -> None:
        self._ensemble = ensemble
        self._dropout = config.dropout
        self._device = device
        self._moments: list[np.ndarray] = []
        """(2, inputs) float64 for each preference: mean and variance of its inputs."""
        self._inputs = torch.zeros(0)
        """(capacity, 2, k, inputs); the first len(self._moments) rows are in use."""
        self._buffer = torch.zeros(0)
        """Memory of `_normalized`, in the shape of `_inputs`."""
        self._normalized: Tensor | None = None
        """(D, 2, k, inputs), or None after an insertion or removal."""

    def insert(self, index: int, preference: Preference) -> None:
        sides = preference.query.left, preference.query.right
        pair = np.stack([self._ensemble.inputs(s.observations, s.actions) for s in sides])  # (2, k, inputs)
        count = len(self._moments)
        if count == len(self._inputs):
            grown = torch.zeros((max(64, 2 * count), *pair.shape), device=self._device)
            if count:
                grown[:count] = self._inputs
            self._inputs = grown
        self._inputs[index + 1 : count + 1] = self._inputs[index:count].clone()
        self._inputs[index] = torch.as_tensor(pair)
        self._moments.insert(index, np.stack([pair.mean((0, 1), np.float64), pair.var((0, 1), np.float64)]))
        self._normalized = None

    def remove(self, index: int) -> None:
        self._normalized = None
        count = len(self._moments)
        self._moments.pop(index)
        self._inputs[index : count - 1] = self._inputs[index + 1 : count].clone()

    def prepare(self) -> None:
        """Normalize all inputs by their moments, if preferences were inserted or removed since the last call.

        All preferences have equally many steps, so the variance of all inputs is the mean of their variances plus the
        variance of their means. The standard deviation is at least 1e-3, so that a constant input is not scaled up.
        """
        if self._normalized is not None:
            return
        means, variances = np.stack(self._moments, axis=1)
        std = np.sqrt(np.maximum(variances.mean(axis=0) + means.var(axis=0), 1e-6))
        self._ensemble.mean = torch.as_tensor(means.mean(axis=0), dtype=torch.float32, device=self._device)
        self._ensemble.std = torch.as_tensor(std, dtype=torch.float32, device=self._device)
        # Reuses memory: allocating a slightly larger block after each answer would fragment it.
        if self._buffer.shape != self._inputs.shape:
            self._buffer = torch.empty_like(self._inputs)
        count = len(self._moments)
        self._normalized = self._ensemble.normalized(self._inputs[:count], out=self._buffer[:count])

    def training_pass(self, rng: np.random.Generator) -> Dropout | None:
        """Return the dropout of hidden units (A.2), with the remaining ones scaled up; None without dropout."""
        if not self._dropout:
            return None
        share, draws = 1 - self._dropout, np.random.default_rng(rng.integers(2**63))

        def drop(hidden: Tensor) -> Tensor:
            mask = draws.random(tuple(hidden.shape), np.float32) < share
            return hidden * torch.as_tensor(mask / np.float32(share), device=self._device)

        return drop

    def member_returns(self, indices: Tensor, training_pass: Dropout | None) -> Tensor:
        assert self._normalized is not None
        members, batch = indices.shape
        steps, size = self._normalized.shape[2:]
        inputs = self._normalized[indices].reshape(members, batch * 2, steps, size)
        return self._ensemble.network.segment_returns(inputs, training_pass).reshape(members, batch, 2)

    def predicted_returns(self, indices: list[int], ensemble: RewardEnsemble) -> Tensor:
        return ensemble.segment_returns(self._inputs[indices].flatten(0, 1)).reshape(ensemble.members, -1, 2)


class ImageDataset(PreferenceDataset):
    """Segments of images: each image stored once, compressed unless they lie on a GPU, and stacked when needed.

    The latest 3,000 preferences (A.2) of 25 steps would take 4.2 GB as stacks. They take some 50 MB, or 1.2 GB of a
    GPU's memory.
    """

    chunk = 8

    def __init__(self, ensemble: ImageEnsemble, config: RewardConfig, device: torch.device) -> None:
        self._ensemble = ensemble
        self._dropout = config.dropout
        self._device = device
        self._pairs: list[tuple[_StoredSegment, _StoredSegment]] = []

    def insert(self, index: int, preference: Preference) -> None:
        """Insert a preference's segments before `index`. Raises ValueError if a segment's images are not compressed."""
        left, right = (_StoredSegment(s, self._device) for s in (preference.query.left, preference.query.right))
        self._pairs.insert(index, (left, right))

    def remove(self, index: int) -> None:
        self._pairs.pop(index)

    def training_pass(self, rng: np.random.Generator) -> TrainingPass:
        return TrainingPass(self._dropout, int(rng.integers(2**63)))

    def update_moments(self, passes: list[TrainingPass]) -> None:
        self._ensemble.network.update_moments(passes)

    def member_returns(self, indices: Tensor, training_pass: TrainingPass | None) -> Tensor:
        members, batch = indices.shape
        network = self._ensemble.network
        if not batch:  # a half of a single preference: a batch without images has no moments, but needs gradients of 0
            nothing = torch.zeros(members, 0, 2, device=self._device)
            return nothing * torch.stack([parameter.sum() for parameter in network.parameters()]).sum()
        rows = [self._stacked(chosen, side) for chosen in indices.t().tolist() for side in (0, 1)]
        return network.segment_returns(torch.stack(rows), training_pass).reshape(members, batch, 2)

    def predicted_returns(self, indices: list[int], ensemble: ImageEnsemble) -> Tensor:
        if not indices:
            return torch.zeros(ensemble.members, 0, 2)
        segments = [self._pairs[index][side] for index in indices for side in (0, 1)]
        returns = [ensemble.network(segment.stacked()).sum(1) for segment in segments]
        return torch.stack(returns, dim=1).reshape(ensemble.members, -1, 2)

    def _stacked(self, chosen: list[int], side: int) -> Tensor:
        """Return the stacks (k, M, n, h, w) uint8 of one preference per member: its left (side 0) or right segment."""
        return torch.stack([self._pairs[index][side].stacked() for index in chosen], dim=1)


class _StoredSegment:
    """One segment's images, (k + n - 1, h, w) uint8, compressed or on a GPU."""

    def __init__(self, segment: Segment, device: torch.device) -> None:
        if not isinstance(segment, CompressedSegment):
            raise ValueError(f"the images of segment {segment.id} are not compressed")
        self._depth, pictures = segment.depth, segment.pictures
        self._images: CompressedArray | Tensor = pictures
        if device.type != "cpu":
            self._images = torch.as_tensor(pictures.array(), device=device)

    def stacked(self) -> Tensor:
        """Return the stacks of images (k, n, h, w) uint8."""
        images = self._images
        if isinstance(images, CompressedArray):
            images = torch.from_numpy(images.array())
        steps = len(images) - self._depth + 1
        return torch.stack([images[i : i + steps] for i in range(self._depth)], dim=1)


def make_dataset(
    ensemble: RewardEnsemble | ImageEnsemble, config: RewardConfig, device: torch.device
) -> PreferenceDataset:
    if isinstance(ensemble, ImageEnsemble):
        return ImageDataset(ensemble, config, device)
    return VectorDataset(ensemble, config, device)
