"""The paper's reward network for images (A.2): all members of an ensemble in one grouped convolution per layer."""

import torch
from torch import Tensor
from torch.nn import Parameter, ParameterList
from torch.nn.functional import batch_norm, conv2d, leaky_relu

from core.nn.image_input import MAX_PIXEL, TrainingPass, compute_dtype, to_channels_last
from core.nn.stacked_mlp import CPU, LEAK, uniform

FILTERS = 16
LAYERS = ((7, 3), (5, 2), (3, 1), (3, 1))
"""(side of the filters, stride) of each convolution (A.2)."""
_MOMENTUM = 0.9
"""Decay of the running moments: each half of a minibatch moves them by 10% towards its own moments."""
_EPSILON = 1e-5


class StackedCNN(torch.nn.Module):
    """M networks with scalar output: four convolutions with batch norm, leaky ReLU and dropout, and two linear layers.

    weights: four filters (M, FILTERS, channels, side, side), then (M, features, hidden) and (M, hidden, 1)
    biases: (M, 1, hidden) and (M, 1, 1); the convolutions have none
    scales, shifts: batch norm's affine parameters, (M, FILTERS) for each convolution
    means, variances: buffers (4, M, FILTERS), batch norm's running moments, used outside of training, so that an
        image's value does not depend on the rest of its batch
    """

    means: Tensor
    variances: Tensor

    def __init__(
        self,
        members: int,
        image_shape: tuple[int, int, int],
        hidden: int,
        generator: torch.Generator,
        device: torch.device = CPU,
        dtype: torch.dtype | None = None,
        last_layer_scale: float = 1.0,
    ) -> None:
        """Create networks with random weights.

        image_shape: (n, h, w) of one input
        dtype: data type of the convolutions; None for the device's fastest
        last_layer_scale: factor of the last layer's initial weights. At 1, the untrained network's returns of a clip,
            sums over 25 steps, are so large that the first ten to fifteen epochs over a thousand answers only reduce them
        """
        super().__init__()
        self.members, self.image_shape = members, image_shape
        self._dtype = dtype or compute_dtype(device)
        channels, height, width = image_shape
        weights: list[Tensor] = []
        for side, stride in LAYERS:
            weights.append(uniform((members, FILTERS, channels, side, side), channels * side * side, generator))
            channels, height, width = FILTERS, (height - side) // stride + 1, (width - side) // stride + 1
        sizes = ((FILTERS * height * width, hidden), (hidden, 1))
        weights += [uniform((members, a, b), a, generator) for a, b in sizes]
        biases = [uniform((members, 1, b), a, generator) for a, b in sizes]
        for last in (weights[-1], biases[-1]):
            last.mul_(last_layer_scale)
        self.weights = ParameterList(map(Parameter, weights))
        self.biases = ParameterList(map(Parameter, biases))
        self.scales = ParameterList(Parameter(torch.ones(members, FILTERS)) for _ in LAYERS)
        self.shifts = ParameterList(Parameter(torch.zeros(members, FILTERS)) for _ in LAYERS)
        self.register_buffer("means", torch.zeros(len(LAYERS), members, FILTERS))
        self.register_buffer("variances", torch.ones(len(LAYERS), members, FILTERS))
        self.to(device)

    def forward(self, images: Tensor) -> Tensor:
        """Evaluate images (B, n, h, w) uint8 with all members, outside of training; returns (M, B) float32."""
        hidden = self._hidden(images, 1, None)
        return torch.baddbmm(self.biases[-1], hidden, self.weights[-1]).squeeze(-1)

    def segment_returns(self, images: Tensor, training_pass: TrainingPass | None = None) -> Tensor:
        """Return the outputs (M, S), summed over the k steps of each segment.

        images: (S, k, M, n, h, w) uint8, with separate segments for each member
        training_pass: None outside of training
        """
        segments, steps = images.shape[:2]
        hidden = self._hidden(images.flatten(2, 3).flatten(0, 1), self.members, training_pass)
        sums = hidden.reshape(self.members, segments, steps, hidden.shape[-1]).sum(2)
        return torch.baddbmm(self.biases[-1] * steps, sums, self.weights[-1]).squeeze(-1)  # linear, so after the sum

    def _hidden(self, images: Tensor, groups: int, training_pass: TrainingPass | None) -> Tensor:
        """Map images (B, groups * n, h, w) uint8 to the input (M, B, hidden) of the last layer."""
        x = to_channels_last(images, self._dtype)
        for layer, (_, stride) in enumerate(LAYERS):
            filters, offsets = self._filters(layer, training_pass is None)
            x = conv2d(x, filters, offsets, stride, groups=self.members if layer else groups)
            x = self._batch_norm_and_dropout(x, layer, training_pass) if training_pass else x
            x = leaky_relu(x, LEAK, inplace=True)
        flat = x.reshape(len(x), self.members, -1).transpose(0, 1)
        linear = torch.baddbmm(self.biases[0], flat.float(), self.weights[len(LAYERS)])
        return leaky_relu(linear, LEAK, inplace=True)

    def _filters(self, layer: int, with_batch_norm: bool) -> tuple[Tensor, Tensor | None]:
        """Return filters (M * FILTERS, channels, side, side) and offsets (M * FILTERS,) or None of one convolution.

        with_batch_norm: fold batch norm with the running moments into both, for use outside of training
        """
        filters, offsets = self.weights[layer].flatten(0, 1), None
        if with_batch_norm:
            scale = (self.scales[layer] / (self.variances[layer] + _EPSILON).sqrt()).flatten()
            filters = filters * scale.view(-1, 1, 1, 1)
            offsets = (self.shifts[layer].flatten() - self.means[layer].flatten() * scale).to(self._dtype)
        if layer == 0:
            filters = filters / MAX_PIXEL
        return filters.to(self._dtype).contiguous(memory_format=torch.channels_last), offsets

    def folded_filters(self, layer: int) -> tuple[Tensor, Tensor]:
        """Return the filters and offsets of one convolution for use outside of training, with batch norm folded in."""
        filters, offsets = self._filters(layer, True)
        assert offsets is not None
        return filters, offsets

    def _batch_norm_and_dropout(self, x: Tensor, layer: int, training_pass: TrainingPass) -> Tensor:
        """Normalize x (B, M * FILTERS, h, w) by its own moments, which are added to the pass, and apply dropout.

        Dropout before a leaky ReLU is the same as after it. Its scale factor is part of batch norm's scale.
        """
        scale, shift = self.scales[layer].flatten(), self.shifts[layer].flatten()
        mean, variance = torch.zeros_like(scale), torch.ones_like(scale)
        factor = training_pass.scale
        x = batch_norm(x, mean, variance, scale * factor, shift * factor, True, 1.0, _EPSILON)
        training_pass.moments.append((mean, variance))
        return training_pass.drop(x)

    @torch.no_grad()
    def update_moments(self, passes: list[TrainingPass]) -> None:
        """Move the running moments towards those of the passes, in their order."""
        for training_pass in passes:
            for layer, moments in enumerate(training_pass.moments):
                for running, batch in zip((self.means[layer], self.variances[layer]), moments, strict=True):
                    running.lerp_(batch.view_as(running), 1 - _MOMENTUM)
