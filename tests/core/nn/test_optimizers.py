"""Adam and RMSprop: the steps of their formulas, and of PyTorch bit for bit, and a state that is restored exactly or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from core.nn.optimizers import Adam, Optimizer, RMSprop

Make = Callable[[list[Tensor]], Any]
Numbers = np.ndarray
KINDS: list[tuple[Make, Make]] = [
    (lambda own: Adam(own, 1e-2, 1e-5), lambda own: torch.optim.Adam(own, lr=1e-2, eps=1e-5, fused=True)),
    (lambda own: RMSprop(own, 1e-2, 0.9, 1e-5), lambda own: torch.optim.RMSprop(own, lr=1e-2, alpha=0.9, eps=1e-5)),
]
every = pytest.mark.parametrize("make", [make for make, _ in KINDS], ids=["adam", "rmsprop"])


def parameters(*shapes: tuple[int, ...]) -> list[Tensor]:
    start = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=start).requires_grad_() for shape in shapes or ((3, 17, 5), (7,), (1,))]


def descend(optimizer: Any, own: list[Tensor], seeds: range) -> None:
    """Take a step for each seed, with gradients of quite different sizes."""
    for seed in seeds:
        drawn = torch.Generator().manual_seed(seed)
        for each in own:
            each.grad = torch.randn(each.shape, generator=drawn) * 10.0 ** (seed % 5 - 2)
        optimizer.step()


def adam(gradients: list[Numbers]) -> Iterator[Numbers]:
    """Yield each step's change of a parameter (Kingma and Ba 2015, algorithm 1)."""
    first = second = np.zeros(1)
    for t, gradient in enumerate(gradients, start=1):
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        yield -1e-2 * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-5)


def rmsprop(gradients: list[Numbers]) -> Iterator[Numbers]:
    """Yield each step's change of a parameter."""
    square = np.zeros(1)
    for gradient in gradients:
        square = 0.9 * square + 0.1 * gradient**2
        yield -1e-2 * gradient / (np.sqrt(square) + 1e-5)


@pytest.mark.parametrize(("make", "formula"), [(KINDS[0][0], adam), (KINDS[1][0], rmsprop)], ids=["adam", "rmsprop"])
def test_steps_are_those_of_the_formula(make: Make, formula: Callable[[list[Numbers]], Iterator[Numbers]]) -> None:
    (own,) = parameters((3, 17))
    optimizer, gradients = make([own]), list[Numbers]()
    for seed in range(6):
        before = own.detach().numpy().astype(np.float64)
        descend(optimizer, [own], range(seed, seed + 1))
        gradients.append(own.grad.numpy().astype(np.float64))
        *_, change = formula(gradients)
        assert own.detach().numpy() == pytest.approx(before + change, abs=1e-6)


@pytest.mark.slow  # PyTorch's classes load its compiler
@pytest.mark.parametrize(("make", "reference"), KINDS, ids=["adam", "rmsprop"])
def test_steps_are_those_of_pytorch_bit_for_bit(make: Make, reference: Make) -> None:
    ours, theirs = parameters(), parameters()
    first, second = make(ours), reference(theirs)
    descend(first, ours, range(6))
    descend(second, theirs, range(6))
    first.learning_rate = second.param_groups[0]["lr"] = 0.5
    descend(first, ours, range(6, 9))
    descend(second, theirs, range(6, 9))
    assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))


@every
def test_gradients_are_zeroed_in_place(make: Make) -> None:
    own = parameters()
    optimizer: Optimizer = make(own)
    optimizer.zero_gradients()  # before the first backward pass, there are none
    descend(optimizer, own, range(1))
    gradients = [each.grad for each in own]
    optimizer.zero_gradients()
    assert all(each.grad is gradient and not gradient.any() for each, gradient in zip(own, gradients, strict=True))


@every
def test_a_restored_state_continues_exactly(make: Make) -> None:
    ours, restored = parameters(), parameters()
    first, second = make(ours), make(restored)
    descend(first, ours, range(4))
    second.set_state({**first.get_state(), "weights": np.zeros(3)})
    for one, other in zip(restored, ours, strict=True):
        one.data.copy_(other.data)
    descend(first, ours, range(4, 7))
    descend(second, restored, range(4, 7))
    assert all(torch.equal(one, other) for one, other in zip(ours, restored, strict=True))


@every
def test_a_state_without_any_array_is_that_of_a_new_optimizer(make: Make) -> None:
    own = parameters()
    optimizer: Optimizer = make(own)
    new = optimizer.get_state()
    descend(optimizer, own, range(2))
    optimizer.set_state({})
    assert all(np.array_equal(array, new[name]) for name, array in optimizer.get_state().items())


@every
def test_the_state_of_other_parameters_is_refused_and_changes_nothing(make: Make) -> None:
    """Adam's fused step would write past the end of its moments."""
    own, other = parameters((3, 4)), parameters((3, 5))
    optimizer: Optimizer = make(own)
    descend(optimizer, own, range(1))
    before = optimizer.get_state()
    integers = {name: array.astype(np.int64) for name, array in before.items()}
    for unfitting in (make(other).get_state(), integers):
        with pytest.raises(ValueError, match="instead of float32"):
            optimizer.set_state(unfitting)
    with pytest.raises(ValueError, match="incomplete"):
        optimizer.set_state({**before, "optimizer_99_step": np.zeros((), np.float32)})
    assert all(np.array_equal(array, before[name]) for name, array in optimizer.get_state().items())


@pytest.mark.parametrize("field", ["exp_avg", "exp_avg_sq", "step"])
def test_a_state_that_lacks_a_field_is_refused_when_loaded_and_not_at_the_next_step(field: str) -> None:
    own = parameters((3,))
    optimizer = Adam(own, 1e-3)
    descend(optimizer, own, range(1))
    arrays = {name: array for name, array in optimizer.get_state().items() if not name.endswith(f"_0_{field}")}
    with pytest.raises(ValueError, match="incomplete"):
        Adam(own, 1e-3).set_state(arrays)


def test_a_parameter_without_a_gradient_is_an_error_of_the_program() -> None:
    own = parameters((3,), (4,))
    own[0].grad = torch.ones(3)
    with pytest.raises(AssertionError, match="no gradient"):
        Adam(own, 1e-3).step()
