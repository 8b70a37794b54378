"""Normalization of small batches by a window of recent steps."""

from __future__ import annotations

import numpy as np
import pytest

from core.reward.ensemble import normalize_reward
from core.reward.normalization import WINDOW_STEPS, RunningWindow

BATCH = (5, 16)


def raw(seed: int, shape: tuple[int, ...] = BATCH, scale: float = 3.0) -> np.ndarray:
    return (7 + scale * np.random.default_rng(seed).standard_normal((2, *shape))).astype(np.float32)


def test_a_large_batch_is_normalised_by_itself() -> None:
    window = RunningWindow(2)
    window.normalized(raw(0), 1.0)
    large = raw(1, (WINDOW_STEPS // 16, 16))
    assert np.array_equal(window.normalized(large, 0.05), normalize_reward(large, 0.05))


def test_a_batch_in_which_nothing_happens_stays_near_what_nothing_is_worth() -> None:
    window = RunningWindow(2)
    for seed in range(25):
        window.normalized(raw(seed), 1.0)
    dull = window.normalized(raw(99, scale=0.01), 1.0)
    assert np.abs(dull).max() < 0.2
    assert np.abs(normalize_reward(raw(99, scale=0.01), 1.0)).max() > 1.5  # by itself it would be scaled up


def test_all_that_is_window_has_the_deviation_that_was_asked_for() -> None:
    window = RunningWindow(2)
    parts = [window.normalized(raw(seed), 0.05) for seed in range(300)]
    assert window.raw.shape == (2, WINDOW_STEPS)
    assert np.concatenate(parts[-50:]).std() == pytest.approx(0.05, rel=0.1)
    assert np.concatenate(parts[-50:]).mean() == pytest.approx(0, abs=0.005)


def test_another_snapshot_starts_anew() -> None:
    window = RunningWindow(2)
    window.normalized(raw(0), 1.0)
    window.forget()
    assert np.array_equal(window.normalized(raw(1), 1.0), normalize_reward(raw(1), 1.0))
