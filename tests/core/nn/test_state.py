"""State of networks as arrays: restored exactly, and refused if it does not fit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.nn.stacked_mlp import StackedMLP
from core.nn.state import load_state_arrays, require_array, state_arrays


def network(seed: int = 0, hidden: int = 4) -> StackedMLP:
    return StackedMLP(2, 3, hidden, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("hidden", "missing", "error"), [(5, "", ValueError), (4, "weights.0", KeyError)])
def test_the_arrays_of_another_network_are_refused_and_change_nothing(
    hidden: int, missing: str, error: type[Exception]
) -> None:
    one, other = network(0), network(1, hidden)
    arrays = {name: array for name, array in state_arrays(other).items() if name != missing}
    before = state_arrays(one)
    with pytest.raises(error):
        load_state_arrays(one, arrays)
    assert all(np.array_equal(array, before[name]) for name, array in state_arrays(one).items())


@pytest.mark.parametrize("spoiled", [np.zeros((2, 3)), np.zeros((2, 4), np.int8), np.zeros(4), np.zeros((1, 4))])
def test_an_array_of_another_shape_or_type_is_refused(spoiled: np.ndarray) -> None:
    assert np.array_equal(require_array(np.ones((2, 4)), np.float64, 2, -1), np.ones((2, 4)))
    with pytest.raises(ValueError, match="instead of float64"):
        require_array(spoiled, np.float64, 2, 4)
