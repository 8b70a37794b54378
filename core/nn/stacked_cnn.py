"""The convolutional predictor of A.2, all members of the ensemble in one grouped convolution a layer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import batch_norm, conv2d, leaky_relu

from core.events import Arrays
from core.nn.activations import LEAK
from core.nn.image_input import BRIGHTEST, TrainingPass, compute_dtype, to_channels_last
from core.nn.stacked_mlp import CPU, uniform

FILTERS = 16
LAYERS = ((7, 3), (5, 2), (3, 1), (3, 1))
"""(side of the filters, stride) of each convolution (A.2)."""
_MEMORY = 0.9
"""Of the running moments: one gradient step moves them a tenth of the way to its own."""
_EPSILON = 1e-5


class StackedConvolutions:
    """M networks with scalar output: four convolutions, each with batch norm, leaky ReLU and dropout, and two layers.

    Parameters are stacked along the first axis, as in StackedMLP. The running moments of batch norm, `means` and
    `variances` (M, FILTERS) of each convolution, travel with them: outside of training a picture's value is the same
    whatever else is in its batch.
    """

    def __init__(
        self,
        members: int,
        pictures: tuple[int, int, int],
        hidden: int,
        generator: torch.Generator,
        device: torch.device = CPU,
        kind: torch.dtype | None = None,
        start: float = 1.0,
    ) -> None:
        """pictures: (n, h, w) of one input; kind: number format of the convolutions, None for the device's best.

        start: the last layer's weights beside their usual size. With that a clip's sum, of 25 steps, says so much
        before anything is learned that ten to fifteen epochs over a thousand answers go by on unlearning it.
        """
        self.members, self.pictures = members, pictures
        self._kind = kind or compute_dtype(device)
        count, height, width = pictures
        self.weights: list[Tensor] = []
        for side, stride in LAYERS:
            shape = (members, FILTERS, count, side, side)
            self.weights.append(uniform(shape, count * side * side, generator).to(device))
            count, height, width = FILTERS, (height - side) // stride + 1, (width - side) // stride + 1
        sizes = ((FILTERS * height * width, hidden), (hidden, 1))
        self.weights += [uniform((members, a, b), a, generator).to(device) for a, b in sizes]
        self.biases = [uniform((members, 1, b), a, generator).to(device) for a, b in sizes]
        for last in (self.weights[-1], self.biases[-1]):
            last.mul_(start)
        channels = [torch.zeros(members, FILTERS, device=device) for _ in LAYERS]
        self.scales, self.shifts = [torch.ones_like(c) for c in channels], channels
        self.means, self.variances = [c.clone() for c in channels], [torch.ones_like(c) for c in channels]

    @property
    def parameters(self) -> list[Tensor]:
        """What is trained; `weights`, which decay, come first."""
        return [*self.weights, *self.biases, *self.scales, *self.shifts]

    def __call__(self, pictures: Tensor) -> Tensor:
        """(B, n, h, w) uint8, the same for all members -> (M, B)."""
        hidden = self._hidden(pictures, 1, None)
        return torch.baddbmm(self.biases[-1], hidden, self.weights[-1]).squeeze(-1)

    def totals(self, pictures: Tensor, training_pass: TrainingPass | None = None) -> Tensor:
        """(S, k, M, n, h, w) uint8, each member its own -> (M, S): outputs summed over the k steps of each segment.

        The last layer is linear, so it comes after the sum. training_pass: in training, else None
        """
        segments, steps = pictures.shape[:2]
        hidden = self._hidden(pictures.flatten(2, 3).flatten(0, 1), self.members, training_pass)
        summed = hidden.reshape(self.members, segments, steps, hidden.shape[-1]).sum(2)
        return torch.baddbmm(self.biases[-1] * steps, summed, self.weights[-1]).squeeze(-1)

    def _hidden(self, pictures: Tensor, groups: int, training_pass: TrainingPass | None) -> Tensor:
        """(B, groups * n, h, w) uint8 -> (M, B, hidden): what the last layer takes."""
        x = to_channels_last(pictures, self._kind)
        for layer, (_, stride) in enumerate(LAYERS):
            filters, offsets = self._filters(layer, training_pass is None)
            x = conv2d(x, filters, offsets, stride, groups=self.members if layer else groups)
            x = self._normalized_in_training(x, layer, training_pass) if training_pass else x
            x = leaky_relu(x, LEAK, inplace=True)
        flat = x.reshape(len(x), self.members, -1).transpose(0, 1)
        outer = torch.baddbmm(self.biases[0], flat.float(), self.weights[len(LAYERS)])
        return leaky_relu(outer, LEAK, inplace=True)

    def _filters(self, layer: int, settled: bool) -> tuple[Tensor, Tensor | None]:
        """Of one convolution; settled: outside of training, with batch norm by the running moments in them."""
        filters, offsets = self.weights[layer].flatten(0, 1), None
        if settled:
            scale = (self.scales[layer] / (self.variances[layer] + _EPSILON).sqrt()).flatten()
            filters = filters * scale.view(-1, 1, 1, 1)
            offsets = (self.shifts[layer].flatten() - self.means[layer].flatten() * scale).to(self._kind)
        if layer == 0:
            filters = filters / BRIGHTEST
        return filters.to(self._kind).contiguous(memory_format=torch.channels_last), offsets

    def _normalized_in_training(self, x: Tensor, layer: int, training_pass: TrainingPass) -> Tensor:
        """Batch norm by the batch's own moments, and dropout, which a leaky ReLU may as well come after as before.

        The factor that makes up for what is left out is in batch norm's scale.
        """
        scale, shift = self.scales[layer].flatten(), self.shifts[layer].flatten()
        mean, variance = torch.zeros_like(scale), torch.ones_like(scale)
        factor = training_pass.factor
        x = batch_norm(x, mean, variance, scale * factor, shift * factor, True, 1.0, _EPSILON)
        training_pass.moments.append((mean, variance))
        return training_pass.drop(x)

    @torch.no_grad()
    def learn_moments(self, passes: list[TrainingPass]) -> None:
        """Brings the running moments nearer to those of these passes, in their order."""
        for training_pass in passes:
            for layer, (mean, variance) in enumerate(training_pass.moments):
                for kept, seen in ((self.means[layer], mean), (self.variances[layer], variance)):
                    kept.lerp_(seen.view_as(kept), 1 - _MEMORY)

    @property
    def _kept(self) -> dict[str, Tensor]:
        named = {f"parameter_{i}": parameter for i, parameter in enumerate(self.parameters)}
        named |= {f"moment_mean_{i}": mean for i, mean in enumerate(self.means)}
        return named | {f"moment_variance_{i}": variance for i, variance in enumerate(self.variances)}

    def to_arrays(self) -> Arrays:
        return {name: tensor.detach().cpu().numpy().copy() for name, tensor in self._kept.items()}

    @torch.no_grad()
    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        for name, tensor in self._kept.items():
            tensor.copy_(torch.as_tensor(np.ascontiguousarray(arrays[name])))
