"""Optimiser state as plain arrays, for checkpoints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor


def optimiser_arrays(optimiser: torch.optim.Optimizer) -> dict[str, np.ndarray]:
    """Adam's moments and step counts as plain arrays."""
    state = optimiser.state_dict()["state"]
    return {f"adam_{i}_{name}": value.cpu().numpy().copy() for i, s in state.items() for name, value in s.items()}


def load_optimiser(optimiser: torch.optim.Optimizer, arrays: Mapping[str, np.ndarray]) -> None:
    saved = optimiser.state_dict()
    state: dict[int, dict[str, Tensor]] = {}
    for name, array in arrays.items():
        if name.startswith("adam_"):
            _, index, field = name.split("_", 2)
            state.setdefault(int(index), {})[field] = torch.as_tensor(array.copy())
    saved["state"] = state
    optimiser.load_state_dict(saved)
