"""Actor-critic networks for images: convolutions shared by the action distribution and the value.

config.policy.vision names one of two networks. `nature` is that of Mnih et al. 2015, which the paper uses (A.2): 32
filters of 8 x 8, 64 of 4 x 4 and 64 of 3 x 3, then 512 units. `small`, the default, is that of Mnih et al. 2013 and of
A3C (2016): 16 filters of 8 x 8, 32 of 4 x 4, then 256 units. On a CPU it takes 40% of the time of `nature`.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import conv2d, relu

from core.nn.image_input import MAX_PIXEL, compute_dtype, to_channels_last
from core.nn.stacked_mlp import CPU
from core.policy.actor_critic import Categorical, linear
from core.policy.policy_network import Distribution

Layer = tuple[int, int, int]
"""Filters, their side, and the stride."""
KINDS: dict[str, tuple[tuple[Layer, ...], int]] = {
    "small": (((16, 8, 4), (32, 4, 2)), 256),
    "nature": (((32, 8, 4), (64, 4, 2), (64, 3, 1)), 512),
}
_CHUNK = 512
"""Images evaluated at once without gradients: bounds the memory of the hidden layers."""


class CNNActorCritic(Categorical):
    """Discrete actions from images, (B, n * h * w) uint8 rows in place of normalized observations."""

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        action_size: int,
        vision: str,
        generator: torch.Generator,
        device: torch.device = CPU,
        dtype: torch.dtype | None = None,
    ) -> None:
        """Create a network with orthogonal initial weights.

        image_shape: (n, h, w) of one input; vision: a name in KINDS
        dtype: data type of the convolutions; None for the device's fastest
        """
        layers, units = KINDS[vision]
        tensors: list[Tensor] = []
        channels, height, width = image_shape
        for filters, side, stride in layers:
            weight = torch.empty(filters, channels, side, side)
            tensors += [torch.nn.init.orthogonal_(weight, math.sqrt(2), generator=generator), torch.zeros(filters)]
            channels, height, width = filters, (height - side) // stride + 1, (width - side) // stride + 1
        tensors += linear(channels * height * width, units, math.sqrt(2), generator)
        policy = [*tensors, *linear(units, action_size, 0.01, generator)]
        super().__init__(0, policy, linear(units, 1, 1.0, generator), device)
        self._image_shape, self._layers = image_shape, layers
        self._dtype = dtype or compute_dtype(device)

    def normalize(self, observations: Tensor) -> Tensor:
        """Return the pixels unchanged; they stay uint8 until `evaluate`."""
        return observations

    def evaluate(self, normalized: Tensor) -> tuple[Distribution, Tensor]:
        """Return the log probabilities (B, a) and values (B,) of images (B, n * h * w) uint8."""
        if torch.is_grad_enabled() or len(normalized) <= _CHUNK:
            return self._evaluate(normalized)
        parts = [self._evaluate(part) for part in normalized.split(_CHUNK)]
        return (torch.cat([logs for (logs,), _ in parts]),), torch.cat([values for _, values in parts])

    def distribution(self, normalized: Tensor) -> Distribution:
        return self.evaluate(normalized)[0]

    def values(self, normalized: Tensor) -> Tensor:
        return self.evaluate(normalized)[1]

    def _evaluate(self, pixels: Tensor) -> tuple[Distribution, Tensor]:
        features = self.features(pixels)
        (weight, bias), (value_weight, value_bias) = self.policy_parameters[-2:], self.value_parameters
        logs = torch.log_softmax(torch.addmm(bias, features, weight), dim=-1)
        return (logs,), torch.addmm(value_bias, features, value_weight).squeeze(-1)

    def features(self, pixels: Tensor) -> Tensor:
        """Return the output (B, units) float32 of the shared layers for images (B, n * h * w) uint8."""
        parameters, dtype = self.policy_parameters, self._dtype
        x = to_channels_last(pixels.view(-1, *self._image_shape), dtype)
        for number, (_, _, stride) in enumerate(self._layers):
            weight, bias = parameters[2 * number : 2 * number + 2]
            filters = (weight / MAX_PIXEL if number == 0 else weight).to(dtype)
            x = relu(conv2d(x, filters.contiguous(memory_format=torch.channels_last), bias.to(dtype), stride))
        weight, bias = parameters[-4:-2]
        return relu(torch.addmm(bias.to(dtype), x.flatten(1), weight.to(dtype))).float()
