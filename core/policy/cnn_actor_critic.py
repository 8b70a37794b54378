"""The policies that see pictures: convolutions shared by the actions' distribution and the value.

Two are to be had (config.policy.vision). `nature` is that of Mnih et al. 2015, which the paper names (A.2): 32 filters
of 8 x 8, 64 of 4 x 4 and 64 of 3 x 3, then 512 units. `small`, the default, is that of Mnih et al. 2013 and of A3C
(2016): 16 filters of 8 x 8, 32 of 4 x 4, then 256 units. It takes 40% of the time of the other on a CPU.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import conv2d, relu

from core.nn.image_input import BRIGHTEST, compute_dtype, to_channels_last
from core.nn.stacked_mlp import CPU
from core.policy.actor_critic import Categorical, Parameters

Layer = tuple[int, int, int]
"""Filters, their side, and the stride."""
KINDS: dict[str, tuple[tuple[Layer, ...], int]] = {
    "small": (((16, 8, 4), (32, 4, 2)), 256),
    "nature": (((32, 8, 4), (64, 4, 2), (64, 3, 1)), 512),
}
"""The convolutions of each, and the units after them."""
_CHUNK = 512
"""Pictures that are numbers in floating point at once, where no gradient is wanted."""


class CNNActorCritic(Categorical):
    """Discrete actions from pictures. What the value shares with the policy counts as the policy's."""

    shares = True

    def __init__(
        self,
        pictures: tuple[int, int, int],
        actions: int,
        vision: str,
        generator: torch.Generator,
        device: torch.device = CPU,
        kind: torch.dtype | None = None,
    ) -> None:
        """pictures: (n, h, w) of one input; kind: number format of the convolutions, None for the device's best."""
        self._pictures = pictures
        self._kind = kind or compute_dtype(device)
        self._layers, units = KINDS[vision]
        seen = _trunk(pictures, self._layers, units, generator)
        actor = [*seen, *_linear(units, actions, 0.01, generator)]
        super().__init__(0, actor, [], _linear(units, 1, 1.0, generator), device)

    def normalize(self, observations: Tensor) -> Tensor:
        """Pixels stay bytes until they are looked at."""
        return observations

    def evaluate(self, normalized: Tensor) -> tuple[Parameters, Tensor]:
        """(B, n * h * w) uint8 -> log probabilities (B, a), and values (B,)."""
        if torch.is_grad_enabled() or len(normalized) <= _CHUNK:
            return self._evaluate(normalized)
        parts = [self._evaluate(part) for part in normalized.split(_CHUNK)]
        return (torch.cat([logs for (logs,), _ in parts]),), torch.cat([values for _, values in parts])

    def distribution(self, normalized: Tensor) -> Parameters:
        return self.evaluate(normalized)[0]

    def values(self, normalized: Tensor) -> Tensor:
        return self.evaluate(normalized)[1]

    def _evaluate(self, pixels: Tensor) -> tuple[Parameters, Tensor]:
        features = self._features(pixels)
        (weight, bias), (critic_weight, critic_bias) = self._actor[-2:], self._critic
        logs = torch.log_softmax(torch.addmm(bias, features, weight), dim=-1)
        return (logs,), torch.addmm(critic_bias, features, critic_weight).squeeze(-1)

    def _features(self, pixels: Tensor) -> Tensor:
        """(B, n * h * w) uint8 -> (B, units)."""
        kind = self._kind
        x = to_channels_last(pixels.view(-1, *self._pictures), kind)
        for number, (_, _, stride) in enumerate(self._layers):
            weight, bias = self._actor[2 * number : 2 * number + 2]
            filters = (weight / BRIGHTEST if number == 0 else weight).to(kind)
            x = relu(conv2d(x, filters.contiguous(memory_format=torch.channels_last), bias.to(kind), stride))
        weight, bias = self._actor[-4:-2]
        return relu(torch.addmm(bias.to(kind), x.flatten(1), weight.to(kind))).float()


def _trunk(
    pictures: tuple[int, int, int], layers: tuple[Layer, ...], units: int, generator: torch.Generator
) -> list[Tensor]:
    """Weights and biases in turn of the convolutions and of the units after them."""
    tensors: list[Tensor] = []
    count, height, width = pictures
    for filters, side, stride in layers:
        weight = torch.empty(filters, count, side, side)
        tensors += [torch.nn.init.orthogonal_(weight, math.sqrt(2), generator=generator), torch.zeros(filters)]
        count, height, width = filters, (height - side) // stride + 1, (width - side) // stride + 1
    return [*tensors, *_linear(count * height * width, units, math.sqrt(2), generator)]


def _linear(inputs: int, outputs: int, gain: float, generator: torch.Generator) -> list[Tensor]:
    weight = torch.nn.init.orthogonal_(torch.empty(outputs, inputs), gain, generator=generator)
    return [weight.t().contiguous(), torch.zeros(outputs)]
