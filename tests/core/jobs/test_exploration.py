"""While answers are few the policy is also rewarded for what is new to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.config import Config, replaced
from core.errors import UserError
from core.events import RolloutBatchReady
from core.rollout.exploration import knn_entropy_bonus
from core.session.session import Session
from core.types import Float32
from tests.core.played import Played, of, published, rewarded

BATCH = 8 * 32


def test_it_is_the_distance_to_the_fifth_nearest_in_standard_deviations() -> None:
    seen = np.arange(12, dtype=np.float32).reshape(3, 4, 1) * 1000
    deviation = np.arange(12).std()
    expected = [max(sorted(abs(row - other) for other in range(12))[:5]) / deviation for row in range(12)]
    assert knn_entropy_bonus(seen).ravel() == pytest.approx(np.log1p(expected), rel=1e-5)


@pytest.mark.parametrize("setting", ["reward.novelty", "reward.sparsity"])
def test_a_game_seen_in_pictures_is_refused_before_anything_is_made(setting: str, tmp_path: Path) -> None:
    config = replaced(Config(task="pong"), **{setting: 1, "rollout.environments": 2})
    with pytest.raises(UserError, match=f"^pong has image observations.*set {setting}=0"):
        Session.create(tmp_path / "s", config)
    assert not (tmp_path / "s").exists()


def rewards(**chosen: float) -> Float32:
    """Rewards of the first batch after the first reward snapshot, with one answer for each batch."""
    by_answers = {"query__schedule": "answers", "query__first_labels": 1, "rollout__steps_per_answer": BATCH}
    rollout = Played("rollout", **{"labels": 12, "steps": 100 * BATCH, **by_answers, **chosen})
    said = rollout.turn(published(rollout, 0), rewarded(rollout)) + rollout.turn(published(rollout, 1))
    return of(RolloutBatchReady, said)[0].rewards


def test_novelty_counts_less_where_answers_come_fast() -> None:
    """An answer comes after half the usual interval: its cube is an eighth, of weight and duration."""
    new = {"reward__novelty": 1.0, "reward__novelty_steps": 16 * BATCH}
    plain, usual, fast = rewards(), rewards(**new), rewards(**new, reward__answer_interval=2 * BATCH)
    assert (usual - plain).std() == pytest.approx(15 / 16, rel=1e-4)  # after one batch of sixteen
    assert (fast - plain).std() == pytest.approx(1 / 8 * 1 / 2, rel=1e-4)  # after one batch of two


def test_novelty_counts_for_two_fifths_of_a_short_session() -> None:
    short = {"labels": 2, "steps": 10 * BATCH}
    plain, new = rewards(**short), rewards(**short, reward__novelty=1.0)
    assert (new - plain).std() == pytest.approx(3 / 4, rel=1e-4)  # after one batch of four
