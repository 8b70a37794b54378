"""Segment returns of a StackedMLP on the CPU, computed in tiles whose hidden layers fit a core's cache.

The hidden layers of a whole minibatch take some three megabytes each, so that every operation waited for memory and a
reward fit took a quarter longer. StackedMLP.untiled_segment_returns is the plain form; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from core.nn.activations import Activation

_ROWS = 1440
"""Steps in a tile: a layer of 64 units takes 370 kB. With smaller tiles the calls take longer than their products."""


def segment_returns(x: Tensor, parameters: Sequence[Tensor], activation: Activation) -> Tensor:
    """x (M, S, k, inputs), StackedMLP's weights and biases -> (M, S): outputs summed over the steps of each segment.

    Differentiable, once, with respect to the parameters; x gets no gradient.
    """
    if torch.is_grad_enabled():
        returns: Tensor = _SegmentReturns.apply(activation, x, *parameters)
        return returns
    return _forward(activation, x, parameters, None)[1]


class _SegmentReturns(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, activation: Activation, x: Tensor, *parameters: Tensor) -> Tensor:
        layers = [x.new_empty(*x.shape[:3], weight.shape[-1]) for weight in parameters[:2]]
        sums, returns = _forward(activation, x, parameters, layers)
        context.activation = activation
        context.save_for_backward(x, *parameters[:3], *layers, sums)
        return returns

    @staticmethod
    @once_differentiable
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """gradients: one tensor (M, S)."""
        x, *rest = context.saved_tensors
        weights, layers, sums = rest[:3], rest[3:5], rest[5]
        steps, (gradient,) = x.shape[2], gradients
        sums_gradient = gradient[..., None] * weights[2].transpose(1, 2)  # (M, S, hidden)
        first, second = _backward(context.activation, x, weights, layers, sums_gradient)
        last = torch.einsum("msh,ms->mh", sums, gradient)[..., None], steps * gradient.sum(1)[:, None, None]
        return None, None, first[0], second[0], last[0], first[1], second[1], last[1]


def _tiles(segments: int, steps: int) -> Iterator[slice]:
    """Slices of whole segments with about _ROWS steps each."""
    size = max(1, _ROWS // steps)
    return (slice(start, min(start + size, segments)) for start in range(0, segments, size))


def _forward(
    activation: Activation, x: Tensor, parameters: Sequence[Tensor], layers: Sequence[Tensor] | None
) -> tuple[Tensor, Tensor]:
    """Second hidden layer summed over the steps (M, S, hidden), and segment returns (M, S).

    layers: buffers (M, S, k, hidden) that both hidden layers are stored in for the backward pass, or None
    """
    members, segments, steps, size = x.shape
    first, second, last, first_bias, second_bias, last_bias = parameters
    sums = x.new_empty(members, segments, last.shape[1])
    for m in range(members):
        for tile in _tiles(segments, steps):
            rows = x[m, tile].reshape(-1, size)
            out = (None, None) if layers is None else tuple(layer[m, tile].flatten(0, 1) for layer in layers)
            below = activation.forward_(torch.addmm(first_bias[m], rows, first[m], out=out[0]))
            above = activation.forward_(torch.addmm(second_bias[m], below, second[m], out=out[1]))
            torch.sum(above.view(-1, steps, last.shape[1]), 1, out=sums[m, tile])
    return sums, torch.baddbmm(last_bias * steps, sums, last).squeeze(-1)


def _backward(
    activation: Activation, x: Tensor, weights: Sequence[Tensor], layers: Sequence[Tensor], sums_gradient: Tensor
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Gradients of weight and bias of both hidden layers.

    layers: (M, S, k, hidden) as `forward_` left them; sums_gradient (M, S, hidden): gradient of the summed second layer
    """
    members, segments, steps, size = x.shape
    first, second = (torch.zeros_like(weight) for weight in weights[:2])
    first_bias, second_bias = (x.new_zeros(members, 1, weight.shape[-1]) for weight in weights[:2])
    for m in range(members):
        for tile in _tiles(segments, steps):
            rows = x[m, tile].reshape(-1, size)
            below, above = (layer[m, tile].flatten(0, 1) for layer in layers)
            gradient = sums_gradient[m, tile, None].expand(-1, steps, -1).reshape(above.shape)
            gradient = activation.backward(gradient, above)
            second[m].addmm_(activation.recompute(below).t(), gradient)
            second_bias[m].add_(gradient.sum(0))
            gradient = activation.backward(gradient @ weights[1][m].t(), below)
            first[m].addmm_(rows.t(), gradient)
            first_bias[m].add_(gradient.sum(0))
    return (first, first_bias), (second, second_bias)
