"""Sums over segments by a stacked network on the CPU, a tile at a time: what a tile computes stays in the core's cache.

A minibatch's hidden layers have some three megabytes each. Done whole, every operation waited for memory, and a fit
took a quarter longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from core.nn.activations import Activation

_ROWS = 1440
"""Steps in a tile, whose layers of 64 units are 370 kB each: of fewer, the calls take longer than their products."""


def segment_returns(x: Tensor, parameters: Sequence[Tensor], activation: Activation) -> Tensor:
    """x (M, S, k, inputs), parameters of StackedMLP -> (M, S): outputs summed over the k steps of each segment.

    With gradients, where they are wanted, for the parameters and not for x. activation: of the hidden units
    """
    if torch.is_grad_enabled():
        found: Tensor = _Totals.apply(activation, x, *parameters)
        return found
    return _forward(activation, x, parameters, None)[1]


class _Totals(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, activation: Activation, x: Tensor, *parameters: Tensor) -> Tensor:
        layers = [x.new_empty(*x.shape[:3], weight.shape[-1]) for weight in parameters[:2]]
        sums, found = _forward(activation, x, parameters, layers)
        context.activation = activation
        context.save_for_backward(x, *parameters[:3], *layers, sums)
        return found

    @staticmethod
    @once_differentiable
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, *rest = context.saved_tensors
        weights, layers, sums = rest[:3], rest[3:5], rest[5]
        steps, (gradient,) = x.shape[2], gradients
        of_units = gradient[..., None] * weights[2].transpose(1, 2)  # (M, S, h)
        first, second = _backward(context.activation, x, weights, layers, of_units)
        last = torch.einsum("msh,ms->mh", sums, gradient)[..., None], steps * gradient.sum(1)[:, None, None]
        return None, None, first[0], second[0], last[0], first[1], second[1], last[1]


def _tiles(segments: int, steps: int) -> Iterator[slice]:
    """Of whole segments."""
    size = max(1, _ROWS // steps)
    return (slice(start, min(start + size, segments)) for start in range(0, segments, size))


def _forward(
    activation: Activation, x: Tensor, parameters: Sequence[Tensor], layers: Sequence[Tensor] | None
) -> tuple[Tensor, Tensor]:
    """What the second layer's units sum up to, (M, S, h), and the totals (M, S). layers: where to keep both layers'."""
    members, segments, steps, size = x.shape
    first, second, last, first_bias, second_bias, last_bias = parameters
    sums = x.new_empty(members, segments, last.shape[1])
    for m in range(members):
        for tile in _tiles(segments, steps):
            rows = x[m, tile].reshape(-1, size)
            one, other = (None, None) if layers is None else (layer[m, tile].flatten(0, 1) for layer in layers)
            below = activation.apply(torch.addmm(first_bias[m], rows, first[m], out=one))
            above = activation.apply(torch.addmm(second_bias[m], below, second[m], out=other))
            torch.sum(above.view(-1, steps, last.shape[1]), 1, out=sums[m, tile])
    # The last layer is linear, so it comes after the sum: a third less work than the sum of outputs.
    return sums, torch.baddbmm(last_bias * steps, sums, last).squeeze(-1)


def _backward(
    activation: Activation, x: Tensor, weights: Sequence[Tensor], layers: Sequence[Tensor], of_units: Tensor
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Gradients of both hidden layers' weights and biases, by that of each segment's sums of units, (M, S, h)."""
    members, segments, steps, size = x.shape
    first, second = (torch.zeros_like(weight) for weight in weights[:2])
    first_bias, second_bias = (x.new_zeros(members, 1, weight.shape[-1]) for weight in weights[:2])
    for m in range(members):
        for tile in _tiles(segments, steps):
            rows = x[m, tile].reshape(-1, size)
            below, above = (layer[m, tile].flatten(0, 1) for layer in layers)  # as `apply` left them
            spread = of_units[m, tile, None].expand(-1, steps, -1).reshape(above.shape)
            turned = activation.gradient(spread, above)
            second[m].addmm_(activation.again(below).t(), turned)
            second_bias[m].add_(turned.sum(0))
            turned = activation.gradient(turned @ weights[1][m].t(), below)
            first[m].addmm_(rows.t(), turned)
            first_bias[m].add_(turned.sum(0))
    return (first, first_bias), (second, second_bias)
