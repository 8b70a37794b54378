"""Activation functions of the reward predictors' hidden units, with written-out gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu, silu

aten = torch.ops.aten

LEAK = 0.01
"""Slope of the leaky ReLUs for negative inputs (A.1)."""


class Activation(NamedTuple):
    """An elementwise function for tensors of any shape, in the three forms that core.nn.tiled_mlp needs.

    `forward_` may overwrite its input. The tensor that it leaves in place of its input is `stored` below.
    """

    forward_: Callable[[Tensor], Tensor]
    """x -> result, of the same shape; x may share memory with the result afterwards."""
    recompute: Callable[[Tensor], Tensor]
    """stored -> result."""
    backward: Callable[[Tensor, Tensor], Tensor]
    """(gradient with respect to the result, stored) -> gradient with respect to x."""


ACTIVATIONS = {
    "leaky_relu": Activation(
        lambda x: leaky_relu(x, LEAK, inplace=True),
        lambda y: y,
        lambda gradient, y: aten.leaky_relu_backward(gradient, y, LEAK, True),
    ),
    "silu": Activation(silu, silu, aten.silu_backward),
}
"""Activations by the name in reward.activation. The paper has leaky ReLUs; silu, x * sigmoid(x), has no kink."""
