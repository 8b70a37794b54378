"""State of networks as plain NumPy arrays, for checkpoints and messages between processes."""

from collections.abc import Mapping

import numpy as np
import torch

from core.events import Arrays


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
