"""The networks of the paper, small and batched: an ensemble is one set of stacked weights, not a list of modules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from core.events import Arrays
from core.nn import tiled_mlp
from core.nn.activations import ACTIVATIONS

CPU = torch.device("cpu")
Drop = Callable[[Tensor], Tensor]
"""What is done to each hidden layer's output in training: dropout."""


class StackedMLP:
    """M two-layer networks with scalar output, evaluated in one batched product.

    x (M, B, inputs) -> (M, B). Parameters are stacked along the first axis.
    """

    def __init__(
        self,
        members: int,
        inputs: int,
        hidden: int,
        activation: str,
        generator: torch.Generator,
        device: torch.device = CPU,
    ) -> None:
        """activation: a name among ACTIVATIONS"""
        self._activation = ACTIVATIONS[activation]
        sizes = ((inputs, hidden), (hidden, hidden), (hidden, 1))
        self.weights = [uniform((members, a, b), a, generator).to(device) for a, b in sizes]
        self.biases = [uniform((members, 1, b), a, generator).to(device) for a, b in sizes]

    @property
    def parameters(self) -> list[Tensor]:
        return [*self.weights, *self.biases]

    def __call__(self, x: Tensor) -> Tensor:
        return torch.baddbmm(self.biases[-1], self._hidden(x, None), self.weights[-1]).squeeze(-1)

    def totals(self, x: Tensor, drop: Drop | None = None) -> Tensor:
        """x (M, S, k, inputs) -> (M, S): outputs summed over the k steps of each segment."""
        if drop is None and x.device.type == "cpu":
            return tiled_mlp.segment_returns(x, self.parameters, self._activation)
        members, segments, steps, size = x.shape
        hidden = self._hidden(x.reshape(members, segments * steps, size), drop)
        summed = hidden.reshape(members, segments, steps, hidden.shape[-1]).sum(2)
        return torch.baddbmm(self.biases[-1] * steps, summed, self.weights[-1]).squeeze(-1)

    def _hidden(self, x: Tensor, drop: Drop | None) -> Tensor:
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = self._activation.apply(torch.baddbmm(bias, x, weight))
            x = drop(x) if drop else x
        return x

    def to_arrays(self) -> Arrays:
        return {f"parameter_{i}": p.detach().cpu().numpy().copy() for i, p in enumerate(self.parameters)}

    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        with torch.no_grad():
            for i, parameter in enumerate(self.parameters):
                parameter.copy_(torch.as_tensor(np.ascontiguousarray(arrays[f"parameter_{i}"])))


def uniform(shape: tuple[int, ...], inputs: int, generator: torch.Generator) -> Tensor:
    """Weights or biases of a fresh layer with so many inputs to a unit."""
    bound = 1 / math.sqrt(inputs)
    return torch.empty(shape).uniform_(-bound, bound, generator=generator)
