"""Before anything is asked the policy may seek what is new to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.config import Config, replaced
from core.errors import UserError
from core.events import PreferenceAdded, QueryOffered, RolloutBatchReady
from core.preferences.schedule import HOLDS, labels_due, scheduled
from core.rollout.exploration import knn_entropy_bonus
from core.session.session import Session
from core.types import Float32
from tests.core.builders import preference, tiny
from tests.core.played import Played, of, published, rewarded

BATCH = 8 * 32


def test_it_is_the_distance_to_the_fifth_nearest_in_standard_deviations() -> None:
    seen = np.arange(12, dtype=np.float32).reshape(3, 4, 1) * 1000
    deviation = np.arange(12).std()
    expected = [max(sorted(abs(row - other) for other in range(12))[:5]) / deviation for row in range(12)]
    assert knn_entropy_bonus(seen).ravel() == pytest.approx(np.log1p(expected), rel=1e-5)


def test_the_schedule_begins_when_it_has_explored() -> None:
    config = tiny(labels=100, steps=20_000, rollout__exploration_steps=3000)
    assert [scheduled(steps, config) for steps in (0, 3000)] == [25, 25]
    for steps in (3001, 5000, 8000):
        assert scheduled(steps, config) == labels_due(steps - 3000, 100, 17_000, config.query)
    assert scheduled(19_999, config) >= 99 and scheduled(20_000, config) == 100


def test_meanwhile_the_policy_is_rewarded_for_novelty_and_nothing_is_asked() -> None:
    rollout = Played("rollout", rollout__exploration_steps=2 * BATCH, labels=12, steps=100 * BATCH)
    for version in range(2):
        said = rollout.turn(published(rollout, version))
        (batch,) = of(RolloutBatchReady, said)
        new = knn_entropy_bonus(batch.observations)
        assert batch.rewards == pytest.approx((new - new.mean()) / new.std(), abs=1e-4)
        assert not of(QueryOffered, said) or batch.env_steps == 2 * BATCH
    asked = of(QueryOffered, said + rollout.turn(published(rollout, 2)))
    assert len(asked) == 3 and not of(RolloutBatchReady, rollout.turn())  # a quarter; now it waits for the answers
    assert of(RolloutBatchReady, rollout.turn(rewarded(rollout)))


@pytest.mark.parametrize("teacher", ["human", "oracle"])
def test_nothing_is_asked_before_it_has_ended(teacher: str) -> None:
    rollout = Played("rollout", rollout__exploration_steps=BATCH, teacher=teacher, labels=12, steps=100 * BATCH)
    assert of(QueryOffered, rollout.turn()) == []
    said = [*rollout.turn(published(rollout, 0)), *rollout.turn()]
    assert len(of(QueryOffered, said)) == (rollout.config.query.ready if teacher == "human" else 3)


@pytest.mark.parametrize("answers", ["one", "a reward"])
def test_answers_that_it_begins_with_do_not_end_it(answers: str) -> None:
    """Nor do their steps of training begin before."""
    chosen = {"query__schedule": "answers", "query__first_labels": 1, "rollout__steps_per_answer": BATCH}
    rollout = Played("rollout", rollout__exploration_steps=3 * BATCH, steps=100 * BATCH, teacher="human", **chosen)
    said = rollout.turn(PreferenceAdded(preference(1)), PreferenceAdded(preference(2)), published(rollout, 0))
    news = [rewarded(rollout)] if answers == "a reward" else []
    said += rollout.turn(*news, published(rollout, 1))
    assert not of(QueryOffered, said)
    said = rollout.turn(published(rollout, 2))
    assert of(RolloutBatchReady, said)[0].env_steps == 3 * BATCH and of(QueryOffered, said)
    said = rollout.turn(rewarded(rollout), published(rollout, 3)) + rollout.turn(published(rollout, 4))
    assert [batch.env_steps for batch in of(RolloutBatchReady, said)] == [4 * BATCH, 5 * BATCH]
    assert rollout.turn(published(rollout, 5))[-1].reason == HOLDS


def test_nobody_explores_who_has_the_true_reward() -> None:
    rollout, plain = (Played("rollout", teacher="none", rollout__exploration_steps=steps) for steps in (5 * BATCH, 0))
    (one,), (other,) = (of(RolloutBatchReady, played.turn(published(played, 0))) for played in (rollout, plain))
    assert np.array_equal(one.rewards, other.rewards)


def test_a_game_seen_in_pictures_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    for name in ("rollout.exploration_steps", "reward.novelty"):
        config = replaced(Config(task="pong"), **{name: 1, "rollout.environments": 2})
        with pytest.raises(UserError, match=f"^pong has image observations.*set {name}=0"):
            Session.create(tmp_path / "s", config)
        assert not (tmp_path / "s").exists()


def test_novelty_counts_less_where_answers_come_fast() -> None:
    """An answer comes after each batch, half the usual interval: its cube is an eighth, of weight and duration."""

    def rewards(**chosen: float) -> Float32:
        by_answers = {"query__schedule": "answers", "query__first_labels": 1, "rollout__steps_per_answer": BATCH}
        rollout = Played("rollout", labels=12, steps=100 * BATCH, **by_answers, **chosen)
        said = rollout.turn(published(rollout, 0), rewarded(rollout)) + rollout.turn(published(rollout, 1))
        return of(RolloutBatchReady, said)[0].rewards

    new = {"reward__novelty": 1.0, "reward__novelty_steps": 16 * BATCH}
    plain, usual, fast = rewards(), rewards(**new), rewards(**new, reward__answer_interval=2 * BATCH)
    assert (usual - plain).std() == pytest.approx(15 / 16, rel=1e-4)  # after one batch of sixteen
    assert (fast - plain).std() == pytest.approx(1 / 8 * 1 / 2, rel=1e-4)  # after one batch of two
