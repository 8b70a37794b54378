"""State of networks and optimizers as plain NumPy arrays, for checkpoints and messages between processes."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from core.events import Arrays

_PREFIX = "optimizer_"
_FIELDS = {torch.optim.Adam: {"step", "exp_avg", "exp_avg_sq"}, torch.optim.RMSprop: {"step", "square_avg"}}


def state_arrays(module: torch.nn.Module) -> Arrays:
    """Return copies of the module's parameters and persistent buffers, by their names in `state_dict()`."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in module.state_dict().items()}


def load_state_arrays(module: torch.nn.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Copy the arrays of `state_arrays` into the module, in place; other entries are ignored.

    Raises KeyError for a missing array and ValueError for one of another shape; the module is then unchanged.
    """
    state = module.state_dict()
    for name, tensor in state.items():
        if arrays[name].shape != tuple(tensor.shape):
            raise ValueError(f"{name} has shape {arrays[name].shape} instead of {tuple(tensor.shape)}")
    for name, tensor in state.items():
        tensor.copy_(torch.as_tensor(np.ascontiguousarray(arrays[name])))


def require_array(array: np.ndarray, dtype: type[np.generic], *shape: int) -> np.ndarray:
    """Return a copy of an array from a checkpoint. Raises ValueError if its dtype or shape differs; -1 is any length."""
    fits = array.ndim == len(shape) and all(n in (-1, have) for n, have in zip(shape, array.shape, strict=True))
    if array.dtype != dtype or not fits:
        raise ValueError(f"an array has type {array.dtype} and shape {array.shape} instead of {dtype.__name__} {shape}")
    return array.copy()


def optimizer_arrays(optimizer: torch.optim.Optimizer) -> dict[str, np.ndarray]:
    """Return copies of the optimizer's moments and step counts, named optimizer_INDEX_FIELD by the parameter's index."""
    state = optimizer.state_dict()["state"]
    return {f"{_PREFIX}{i}_{field}": value.cpu().numpy().copy() for i, s in state.items() for field, value in s.items()}


def load_optimizer_arrays(optimizer: torch.optim.Optimizer, arrays: Mapping[str, np.ndarray]) -> None:
    """Restore the state from `optimizer_arrays`; entries with other prefixes are ignored.

    Raises ValueError if a field is missing, or if a shape or type does not fit the optimizer's parameters. PyTorch's fused
    step does not check this and would write out of bounds.
    """
    state: dict[int, dict[str, Tensor]] = {}
    for name, array in arrays.items():
        if name.startswith(_PREFIX):
            index, field = name.removeprefix(_PREFIX).split("_", 1)
            state.setdefault(int(index), {})[field] = torch.as_tensor(array.copy())
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if not set(state) <= set(range(len(parameters))) or any(set(s) != _FIELDS[type(optimizer)] for s in state.values()):
        raise ValueError("the optimizer's state is incomplete")
    for number, fields in state.items():
        for field, values in fields.items():
            if values.ndim and values.shape != parameters[number].shape or not values.is_floating_point():
                raise ValueError(f"the optimizer's {field} has shape {tuple(values.shape)}")
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
