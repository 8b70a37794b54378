"""Headless runs learn from answers alone: nothing of the true reward reaches policy or reward fit."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from core.events import PreferenceAdded, QueryOffered, RewardFitted, RolloutBatchReady
from core.preferences import oracle
from core.tasks import CATALOGUE, get_task
from core.types import Answer, Choice
from tests.e2e.taught import SHORT, TASK, Finished, Teach, garbage, same


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("other_reward", "changes"), [(garbage, {}), (None, {}), (garbage, {"oracle__equal": 0.2})])
def test_neither_policy_nor_reward_fit_sees_the_true_reward(
    teach: Teach, finished: Finished, monkeypatch: pytest.MonkeyPatch, other_reward: Any, changes: dict[str, Any]
) -> None:
    honest = finished(**SHORT, **changes)
    recorded = {p.preference.query.id: Answer(p.preference.choice) for p in honest.all(PreferenceAdded)}
    monkeypatch.setattr(oracle, "answer", lambda query, config: recorded[query.id])
    monkeypatch.setitem(CATALOGUE, TASK, dataclasses.replace(get_task(TASK), true_reward=other_reward))
    blind = teach("blind", **SHORT, **changes)
    blind.finished()
    assert len(recorded) == 12
    assert same(honest, blind)


def test_different_choices_lead_to_a_different_policy(
    teach: Teach, finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without this, the test above would also pass for a run that learns nothing."""
    honest = finished(**SHORT)
    monkeypatch.setattr(oracle, "answer", lambda query, config: Answer(Choice.TIE))
    other = teach("other", **SHORT)
    other.finished()
    assert not same(honest, other)


@pytest.mark.slow
def test_without_a_teacher_a_run_learns_from_the_true_reward_and_asks_nothing(
    teach: Teach, finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Garbage in place of the true reward then changes the result."""
    chosen = {**SHORT, "teacher": "none", "labels": 0}
    taught = finished(**chosen)
    assert taught.outcome and taught.outcome.labels == 0
    assert not taught.all(QueryOffered) and not taught.all(RewardFitted)
    assert taught.updates == 14
    assert all(abs(float(batch.rewards.mean())) < 1e-4 for batch in taught.all(RolloutBatchReady))
    monkeypatch.setitem(CATALOGUE, TASK, dataclasses.replace(get_task(TASK), true_reward=garbage))
    other = teach("other", **chosen)
    other.finished()
    assert not same(taught, other)
