"""The paper's reward network for vector observations (A.1), as one stack of weights for all members of an ensemble.

SAC's critics are such a stack too.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import Parameter, ParameterList
from torch.nn.functional import leaky_relu

CPU = torch.device("cpu")
LEAK = 0.01
"""Slope of the leaky ReLUs for negative inputs (A.1)."""
Dropout = Callable[[Tensor], Tensor]
"""Dropout of one training pass: sets some units of a hidden layer's output to 0."""


class StackedMLP(torch.nn.Module):
    """M networks with two hidden layers and scalar output, evaluated together with batched matrix products.

    weights: (M, inputs, hidden), (M, hidden, hidden), (M, hidden, 1); biases: (M, 1, hidden) twice and (M, 1, 1)
    """

    def __init__(
        self,
        members: int,
        inputs: int,
        hidden: int,
        generator: torch.Generator,
        device: torch.device = CPU,
        last_layer_scale: float = 1.0,
    ) -> None:
        """last_layer_scale: factor of the last layer's initial weights"""
        super().__init__()
        sizes = ((inputs, hidden), (hidden, hidden), (hidden, 1))
        self.weights = ParameterList(Parameter(uniform((members, a, b), a, generator)) for a, b in sizes)
        self.biases = ParameterList(Parameter(uniform((members, 1, b), a, generator)) for a, b in sizes)
        with torch.no_grad():
            self.weights[-1].mul_(last_layer_scale)
            self.biases[-1].mul_(last_layer_scale)
        self.to(device)

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs (M, B, inputs) to outputs (M, B)."""
        return torch.baddbmm(self.biases[2], self._hidden(x, None), self.weights[2]).squeeze(-1)

    def segment_returns(self, x: Tensor, dropout: Dropout | None = None) -> Tensor:
        """Map x (M, S, k, inputs) to outputs (M, S), summed over the k steps of each segment.

        The last layer is linear, so it is applied after the sum over the steps: a third less work than summing outputs.
        """
        members, segments, steps, size = x.shape
        hidden = self._hidden(x.reshape(members, segments * steps, size), dropout)
        sums = hidden.reshape(members, segments, steps, hidden.shape[-1]).sum(2)
        return torch.baddbmm(self.biases[2] * steps, sums, self.weights[2]).squeeze(-1)

    def _hidden(self, x: Tensor, dropout: Dropout | None) -> Tensor:
        """Map inputs (M, B, inputs) to the output (M, B, hidden) of the second hidden layer."""
        for layer in (0, 1):
            x = leaky_relu(torch.baddbmm(self.biases[layer], x, self.weights[layer]), LEAK, inplace=True)
            x = dropout(x) if dropout else x
        return x


def uniform(shape: tuple[int, ...], inputs: int, generator: torch.Generator) -> Tensor:
    """Return initial weights or biases of a layer: uniform in ±1/sqrt(inputs), float32, on the CPU."""
    bound = 1 / math.sqrt(inputs)
    return torch.empty(shape).uniform_(-bound, bound, generator=generator)
