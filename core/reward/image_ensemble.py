"""Reward predictors that see pictures and no actions (A.2, footnote 1)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from core.config import RewardConfig
from core.events import Arrays
from core.nn.stacked_cnn import StackedConvolutions
from core.nn.stacked_mlp import CPU
from core.nn.threads import two_threads
from core.types import Float32, Observations, Segment

_CHUNK = 256
"""Pictures that are numbers in floating point at once."""


class ImageEnsemble:
    """M predictors of r(o), o being a stack of pictures. Their inputs' range is known, so no moments normalize them."""

    def __init__(
        self,
        pictures: tuple[int, int, int],
        config: RewardConfig,
        generator: torch.Generator,
        device: torch.device = CPU,
        kind: torch.dtype | None = None,
    ) -> None:
        """pictures, kind: as for StackedConvolutions."""
        members, hidden, start = config.members, config.hidden, config.last_layer_scale
        self.network = StackedConvolutions(members, pictures, hidden, generator, device, kind, start)
        self.members = config.members
        self._device = device

    def predict(self, observations: Observations, actions: Float32) -> Float32:
        """(..., o) uint8 -> raw predictions (M, ...); the actions tell nothing."""
        flat = torch.as_tensor(observations).reshape(-1, *self.network.pictures)
        if len(flat) <= _CHUNK:
            raw = self._raw(flat)
        else:
            one, other = flat.tensor_split(2)
            with two_threads() as both:
                raw = torch.cat(both(lambda: self._raw(one), lambda: self._raw(other)), dim=1)
        return raw.numpy().reshape(self.members, *observations.shape[:-1])

    @torch.no_grad()
    def _raw(self, pictures: Tensor) -> Tensor:
        """(B, n, h, w) -> (M, B)."""
        return torch.cat([self.network(part.to(self._device)).cpu() for part in pictures.split(_CHUNK)], dim=1)

    def segment_sums(self, segments: list[Segment]) -> Float32:
        """(M, segments): raw predictions summed over each segment; one after the other, as their pictures are large."""
        return np.stack([self.predict(s.observations, s.actions).sum(axis=-1) for s in segments], axis=1)

    def to_arrays(self) -> Arrays:
        return self.network.to_arrays()

    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.network.load_arrays(arrays)
