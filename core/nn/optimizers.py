"""Adam and RMSprop, with PyTorch's arithmetic and a state of plain NumPy arrays.

The classes of torch.optim load PyTorch's compiler, which takes each process a second and 70 MB.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

import numpy as np
import torch
from torch import Tensor

from core.nn.state import require_array

_PREFIX = "optimizer_"
_STEP = "step"
_BETAS = 0.9, 0.999
"""Decay rates of Adam's first and second moment."""


class Optimizer(ABC):
    """Changes parameters in place by their gradients. All parameters must have a gradient at each step.

    learning_rate, epsilon: may be changed between two steps
    """

    _averages: tuple[str, ...]
    """Names of the running averages that each parameter has, each of the parameter's shape."""

    def __init__(self, parameters: Iterable[Tensor], learning_rate: float, epsilon: float = 1e-8) -> None:
        self.parameters = list(parameters)
        self.learning_rate, self.epsilon = learning_rate, epsilon
        with torch.no_grad():
            self._state = {name: [torch.zeros_like(each) for each in self.parameters] for name in self._averages}
            self._state[_STEP] = [torch.zeros((), device=each.device) for each in self.parameters]

    @torch.no_grad()
    def step(self) -> None:
        """Take one step against the gradients."""
        gradients = [each.grad for each in self.parameters if each.grad is not None]
        assert len(gradients) == len(self.parameters), "a parameter has no gradient"
        torch._foreach_add_(self._state[_STEP], 1)
        self._descend(gradients)

    @abstractmethod
    def _descend(self, gradients: list[Tensor]) -> None:
        """Update averages and parameters by the gradients, in the order of the parameters."""

    def zero_gradients(self) -> None:
        """Set all gradients to zero, in place."""
        for each in self.parameters:
            if each.grad is not None:
                each.grad.zero_()

    def get_state(self) -> dict[str, np.ndarray]:
        """Return copies of averages and step counts, named optimizer_INDEX_FIELD by the parameter's index."""
        fields = self._state.items()
        return {f"{_PREFIX}{i}_{name}": each.cpu().numpy().copy() for name, own in fields for i, each in enumerate(own)}

    def set_state(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restore the state from `get_state`; if all its arrays are missing, reset to a new optimizer. Others are ignored.

        Raises ValueError if some are missing, or do not fit the parameters. Adam's fused step does not check this and would
        write out of bounds.
        """
        saved = {name: array for name, array in arrays.items() if name.startswith(_PREFIX)}
        expected = {f"{_PREFIX}{i}_{name}": each for name, own in self._state.items() for i, each in enumerate(own)}
        if saved and saved.keys() != expected.keys():
            raise ValueError("the optimizer's state is incomplete")
        fitting = {name: require_array(saved[name], np.float32, *expected[name].shape) for name in saved}
        for name, tensor in expected.items():
            tensor.copy_(torch.as_tensor(fitting.get(name, 0.0)))


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015), all parameters in one call."""

    _averages = ("exp_avg", "exp_avg_sq")

    def _descend(self, gradients: list[Tensor]) -> None:
        state = self._state
        torch._fused_adam_(
            self.parameters,
            gradients,
            state["exp_avg"],
            state["exp_avg_sq"],
            [],
            state[_STEP],
            lr=self.learning_rate,
            beta1=_BETAS[0],
            beta2=_BETAS[1],
            weight_decay=0.0,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )


class RMSprop(Optimizer):
    """RMSprop (Hinton 2012). Epsilon is added to the root of the mean square."""

    _averages = ("square_avg",)

    def __init__(self, parameters: Iterable[Tensor], learning_rate: float, decay: float, epsilon: float) -> None:
        """decay: decay rate of the mean square"""
        super().__init__(parameters, learning_rate, epsilon)
        self._decay = decay

    def _descend(self, gradients: list[Tensor]) -> None:
        for each, gradient, square in zip(self.parameters, gradients, self._state["square_avg"], strict=True):
            square.mul_(self._decay).addcmul_(gradient, gradient, value=1 - self._decay)
            each.addcdiv_(gradient, square.sqrt().add_(self.epsilon), value=-self.learning_rate)
