"""Segment returns computed in tiles, against the plain form."""

from __future__ import annotations

import pytest
import torch

from core.nn.stacked_mlp import StackedMLP

MEMBERS, INPUTS = 2, 5
SHAPES = {
    "tiles of three segments, the last of one": (4, 480),
    "longer than a tile": (2, 1500),
    "no segment at all": (0, 4),
}


@pytest.mark.parametrize("activation", ["leaky_relu", "silu"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_returns_and_gradients_are_those_of_the_plain_form(shape: tuple[int, int], activation: str) -> None:
    start = torch.Generator().manual_seed(0)
    network = StackedMLP(MEMBERS, INPUTS, 7, activation, start).double()
    x = torch.randn((MEMBERS, *shape, INPUTS), generator=start, dtype=torch.float64)
    pull = torch.randn((MEMBERS, shape[0]), generator=start, dtype=torch.float64)
    plain, tiled = network.untiled_segment_returns(x), network.segment_returns(x)
    assert torch.allclose(plain, network(x.flatten(1, 2)).reshape(*x.shape[:3]).sum(2))
    assert torch.allclose(tiled, plain)
    expected, found = (torch.autograd.grad((y * pull).sum(), list(network.parameters())) for y in (plain, tiled))
    assert all(torch.allclose(a, b) for a, b in zip(found, expected, strict=True))
    with torch.no_grad():
        assert torch.allclose(network.segment_returns(x), plain)
