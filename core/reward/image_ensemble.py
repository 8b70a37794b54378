"""Ensembles of reward predictors for images, which do not see actions (A.2, footnote 1)."""

import numpy as np
import torch
from torch import Tensor

from core.config import RewardConfig
from core.nn.stacked_cnn import StackedCNN
from core.nn.stacked_mlp import CPU
from core.nn.threads import two_threads
from core.types import Float32, Observations, Segment

_CHUNK = 256
"""Number of images evaluated at once, which limits the memory of the hidden layers."""


class ImageEnsemble(torch.nn.Module):
    """M predictors of r(o), where o is a stack of images. Pixels have a known range, so they are not normalized by moments."""

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        config: RewardConfig,
        generator: torch.Generator,
        device: torch.device = CPU,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        members, hidden, scale = config.members, config.hidden, config.last_layer_scale
        self.network = StackedCNN(members, image_shape, hidden, generator, device, dtype, scale)
        self.members = config.members
        self._device = device

    def predict(self, observations: Observations, actions: Float32) -> Float32:
        """Return raw predictions (M, ...) for observations (..., o) uint8; the actions are ignored."""
        flat = torch.as_tensor(observations).reshape(-1, *self.network.image_shape)
        if len(flat) <= _CHUNK:
            raw = self._predict(flat)
        else:
            first, second = flat.tensor_split(2)
            with two_threads() as both:
                raw = torch.cat(both(lambda: self._predict(first), lambda: self._predict(second)), dim=1)
        return raw.numpy().reshape(self.members, *observations.shape[:-1])

    @torch.no_grad()
    def _predict(self, images: Tensor) -> Tensor:
        """Return raw predictions (M, B), on the CPU, for images (B, n, h, w) uint8."""
        return torch.cat([self.network(part.to(self._device)).cpu() for part in images.split(_CHUNK)], dim=1)

    def predicted_returns(self, segments: list[Segment]) -> Float32:
        """Return raw predictions summed over each segment, (M, segments)."""
        at_once = max(1, _CHUNK // len(segments[0].actions))
        returns: list[Float32] = []
        for start in range(0, len(segments), at_once):
            some = segments[start : start + at_once]
            raw = self.predict(np.stack([s.observations for s in some]), np.stack([s.actions for s in some]))
            returns.append(raw.sum(axis=-1))
        return np.concatenate(returns, axis=1)
