"""What the hidden units of reward predictors make of their inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu, silu

LEAK = 0.01
"""Slope of the leaky ReLUs (A.1)."""


class Activation(NamedTuple):
    """Of x, a tensor of any shape. Where it overwrites x, `again` and `gradient` go by the result."""

    apply: Callable[[Tensor], Tensor]
    """x -> the result; x may hold it, too, from then on"""
    again: Callable[[Tensor], Tensor]
    """x, after `apply` -> the result"""
    gradient: Callable[[Tensor, Tensor], Tensor]
    """(gradient by the result, x after `apply`) -> gradient by x"""


def _leaky(x: Tensor) -> Tensor:
    return leaky_relu(x, LEAK, inplace=True)


def _itself(result: Tensor) -> Tensor:
    return result


def _leaky_gradient(gradient: Tensor, result: Tensor) -> Tensor:
    found: Tensor = torch.ops.aten.leaky_relu_backward(gradient, result, LEAK, True)
    return found


def _silu_gradient(gradient: Tensor, x: Tensor) -> Tensor:
    found: Tensor = torch.ops.aten.silu_backward(gradient, x)
    return found


ACTIVATIONS = {
    "leaky_relu": Activation(_leaky, _itself, _leaky_gradient),
    "silu": Activation(silu, silu, _silu_gradient),
}
"""By reward.activation. Sums of silu, x * sigmoid(x), have no kinks, where the paper's leaky ReLUs have."""
