"""Sums over segments a tile at a time, against the network evaluated whole."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from core.nn.activations import ACTIVATIONS, LEAK, Activation
from core.nn.tiled_mlp import segment_returns

Bend = Callable[[Tensor], Tensor]
MEMBERS, INPUTS, HIDDEN = 2, 5, 7
LEAKY, SILU = ACTIVATIONS["leaky_relu"], ACTIVATIONS["silu"]
BENDS = {
    "leaky": (LEAKY, lambda x: torch.nn.functional.leaky_relu(x, LEAK)),
    "silu": (SILU, lambda x: x * torch.sigmoid(x)),
}
SHAPES = {"one tile": (3, 4), "tiles of three segments, the last of one": (4, 480), "longer than a tile": (2, 1500)}


def made(segments: int, steps: int) -> tuple[Tensor, list[Tensor]]:
    """Inputs and parameters, the weights before the biases."""
    start = torch.Generator().manual_seed(0)
    sizes = ((INPUTS, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 1))
    shapes = [(MEMBERS, a, b) for a, b in sizes] + [(MEMBERS, 1, b) for _, b in sizes]
    x, *parameters = (
        torch.randn(shape, generator=start, dtype=torch.float64)
        for shape in ((MEMBERS, segments, steps, INPUTS), *shapes)
    )
    return x, [parameter.requires_grad_() for parameter in parameters]


def whole(x: Tensor, parameters: list[Tensor], bend: Bend) -> Tensor:
    for weight, bias in zip(parameters[:2], parameters[3:5], strict=True):
        x = bend(torch.einsum("mski,mih->mskh", x, weight) + bias[:, :, None])
    return (torch.einsum("mski,mih->mskh", x, parameters[2]) + parameters[5][:, :, None]).sum((2, 3))


@pytest.mark.parametrize(("activation", "bend"), BENDS.values(), ids=BENDS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_sums_are_those_of_the_whole(shape: tuple[int, int], activation: Activation, bend: Bend) -> None:
    x, parameters = made(*shape)
    expected = whole(x, parameters, bend)
    assert torch.allclose(segment_returns(x, parameters, activation), expected)
    with torch.no_grad():
        assert torch.allclose(segment_returns(x, parameters, activation), expected)


@pytest.mark.parametrize(("activation", "bend"), BENDS.values(), ids=BENDS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_gradients_are_those_of_the_whole(shape: tuple[int, int], activation: Activation, bend: Bend) -> None:
    x, parameters = made(*shape)
    pull = torch.randn(MEMBERS, shape[0], generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    expected = torch.autograd.grad((whole(x, parameters, bend) * pull).sum(), parameters)
    found = torch.autograd.grad((segment_returns(x, parameters, activation) * pull).sum(), parameters)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        assert torch.allclose(ours, theirs)


def test_no_segment_at_all_moves_nothing() -> None:
    x, parameters = made(0, 4)
    found = torch.autograd.grad(segment_returns(x, parameters, SILU).sum(), parameters)
    assert all(not gradient.any() for gradient in found)
