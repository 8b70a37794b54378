"""Novelty reward of the policy while answers are few."""

from __future__ import annotations

import pytest

from core.events import RolloutBatchReady
from core.types import Float32
from tests.core.played import Played, of, published, rewarded

BATCH = 8 * 32


def rewards(**chosen: float) -> Float32:
    """Return the rewards of the first batch after the first reward snapshot, with one answer for each batch."""
    by_answers = {"query__schedule": "answers", "query__first_labels": 1, "rollout__steps_per_answer": BATCH}
    rollout = Played("rollout", **{"labels": 12, "steps": 100 * BATCH, **by_answers, **chosen})
    said = rollout.turn(published(rollout, 0), rewarded(rollout)) + rollout.turn(published(rollout, 1))
    return of(RolloutBatchReady, said)[0].rewards


def test_novelty_counts_less_when_answers_come_fast() -> None:
    """An answer comes after half the usual interval: its cube is an eighth, of weight and duration."""
    new = {"reward__novelty": 1.0, "reward__novelty_steps": 16 * BATCH}
    plain, usual, fast = rewards(), rewards(**new), rewards(**new, reward__answer_interval=2 * BATCH)
    assert (usual - plain).std() == pytest.approx(15 / 16, rel=1e-4)  # after one batch of sixteen
    assert (fast - plain).std() == pytest.approx(1 / 8 * 1 / 2, rel=1e-4)  # after one batch of two


def test_novelty_counts_for_two_fifths_of_a_short_session() -> None:
    short = {"labels": 2, "steps": 10 * BATCH}
    plain, new = rewards(**short), rewards(**short, reward__novelty=1.0)
    assert (new - plain).std() == pytest.approx(3 / 4, rel=1e-4)  # after one batch of four
