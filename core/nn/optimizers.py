"""Optimizers of one vector of weights, and their state as plain arrays, for checkpoints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor


class RMSprop(torch.optim.RMSprop):
    """torch's, of one tensor."""

    @torch.no_grad()
    def take_step(self) -> None:
        """As `step`, to the last digit, without its options and hooks, which take twice as long as all the rest."""
        (group,) = self.param_groups
        (weights,) = group["params"]
        state = self.state[weights]
        if not state:
            state.update(step=torch.zeros(()), square_avg=torch.zeros_like(weights))
        state["step"] += 1
        gradient, squares, memory = weights.grad, state["square_avg"], group["alpha"]
        squares.mul_(memory).addcmul_(gradient, gradient, value=1 - memory)
        weights.addcdiv_(gradient, squares.sqrt().add_(group["eps"]), value=-group["lr"])


def optimizer_arrays(optimizer: torch.optim.Optimizer) -> dict[str, np.ndarray]:
    """The optimizer's moments and step counts (Adam's, RMSprop's) as plain arrays."""
    state = optimizer.state_dict()["state"]
    return {f"adam_{i}_{name}": value.cpu().numpy().copy() for i, s in state.items() for name, value in s.items()}


def load_optimizer(optimizer: torch.optim.Optimizer, arrays: Mapping[str, np.ndarray]) -> None:
    saved = optimizer.state_dict()
    state: dict[int, dict[str, Tensor]] = {}
    for name, array in arrays.items():
        if name.startswith("adam_"):
            _, index, field = name.split("_", 2)
            state.setdefault(int(index), {})[field] = torch.as_tensor(array.copy())
    _require_fit(optimizer, state)
    saved["state"] = state
    optimizer.load_state_dict(saved)


def _require_fit(optimizer: torch.optim.Optimizer, state: Mapping[int, Mapping[str, Tensor]]) -> None:
    """ValueError where it is another network's. PyTorch's fused step doesn't look, and writes past the end."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if not set(state) <= set(range(len(parameters))) or len({frozenset(s) for s in state.values()}) > 1:
        raise ValueError("the optimizer's state lacks something")
    for index, moments in state.items():
        for name, values in moments.items():
            if values.ndim and values.shape != parameters[index].shape or not values.is_floating_point():
                raise ValueError(f"the optimizer's {name} has shape {tuple(values.shape)}")
