"""The value function's unit, and its correction when the reward changes."""

from __future__ import annotations

import numpy as np
import pytest

from core.policy.return_scaling import ReturnScaling
from core.policy.value_calibration import ValueCalibration

DISCOUNT = 0.9


def no_ends(rewards: np.ndarray) -> np.ndarray:
    return np.zeros(rewards.shape, np.bool_)


def white(seed: int, steps: int = 400, count: int = 50) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((steps, count)).astype(np.float32)


@pytest.mark.parametrize(("discount", "constant"), [(DISCOUNT, 0.0), (0.5, 50.0)])
def test_the_scale_of_independent_rewards_ignores_a_constant(discount: float, constant: float) -> None:
    scale = ReturnScaling(discount)
    for seed in range(5):
        scale.update(white(seed) + constant, no_ends(white(seed)))
    assert scale.value == pytest.approx(1 / np.sqrt(1 - discount**2), rel=0.1)


def test_sums_continue_from_batch_to_batch_and_stop_at_an_episodes_end() -> None:
    whole, parts = ReturnScaling(DISCOUNT), ReturnScaling(DISCOUNT)
    rewards = np.array([[1], [2], [4]], np.float32)
    whole.update(rewards, np.array([[False], [True], [False]]))
    assert whole.get_state()["returns_running"].tolist() == [4]
    for part in np.split(rewards, 3):
        parts.update(part, no_ends(part))
    assert parts.get_state()["returns_running"] == pytest.approx([4 + 0.9 * (2 + 0.9)])
    assert parts.value == pytest.approx(np.std([1, 2.9, 6.61]), rel=1e-3)


def implied(seed: int, steps: int = 100) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (T, N) rewards, and the values and next values of the value function that fits them.

    A value v becomes 0.9 v plus noise in the next step.
    """
    rng = np.random.default_rng(seed)
    values = np.zeros((steps + 1, 64), np.float32)
    values[0] = rng.standard_normal(64)
    for t in range(steps):
        values[t + 1] = 0.9 * values[t] + np.sqrt(1 - 0.81) * rng.standard_normal(64)
    expected = values[:-1] * (1 - DISCOUNT * 0.9)
    return expected, values[:-1], values[1:]


@pytest.mark.parametrize(
    ("factor", "offset", "more"),
    [(-1.0, 0.0, 0.0), (5.0, 0.0, 0.0), (0.2, 1.0, 0.0), (-3.0, -0.5, 0.0), (-1.0, 0.0, 7.0), (5.0, 1.0, -2.0)],
)
def test_the_calibration_finds_scale_and_offset_of_a_changed_reward(factor: float, offset: float, more: float) -> None:
    """Values that are too high by `more` are corrected as well."""
    rewards, values, following = implied(0)
    found = ValueCalibration(DISCOUNT).update(factor * rewards + offset, values + more, following + more)
    assert found[0] == pytest.approx(factor, rel=0.15)
    assert found[0] * more + found[1] == pytest.approx(offset / (1 - DISCOUNT), abs=0.1 * abs(factor))


@pytest.mark.parametrize("factor", [0.7, 1.0, 1.6])
def test_a_value_function_that_nearly_fits_is_left_alone(factor: float) -> None:
    rewards, values, following = implied(0)
    assert ValueCalibration(DISCOUNT).update(factor * rewards, values, following) is None


def test_small_batches_are_combined_into_one_correction() -> None:
    rewards, values, following = implied(0)
    calibration, found = ValueCalibration(DISCOUNT), []
    for t in range(0, 100, 5):
        part = slice(t, t + 5)
        found.append(calibration.update(-rewards[part], values[part], following[part]))
    assert [correction is not None for correction in found] == [n == 12 for n in range(20)]
