"""Headless runs that are stopped and resumed end as if they had never stopped."""

from __future__ import annotations

from typing import Any

import pytest

from core.events import PolicyPublished, PolicyUpdated, PreferenceAdded, RewardFitted, RolloutBatchReady
from tests.e2e.taught import SHORT, Finished, Teach, assert_resumes

CASES: dict[str, tuple[int, dict[str, Any]]] = {
    "before the first fit": (2, {}),
    "late": (10, {}),
    "trpo": (7, {"policy__algorithm": "trpo", "policy__decay": 0.5}),
    "a2c": (7, {"policy__algorithm": "a2c", "policy__decay": 0.5}),
    "exploring": (3, {"rollout__exploration_steps": 8 * 32 * 5}),
    "after exploring": (7, {"rollout__exploration_steps": 8 * 32 * 5}),
    "an environment without a state": (7, {"task": "gym:Pendulum-v1"}),
    "episodes of different lengths": (7, {"task": "gym:CartPole-v1"}),
    "rollouts ahead of the policy": (7, {"policy__lag": 1}),
}


@pytest.mark.parametrize(("cycles", "changes"), CASES.values(), ids=CASES)
def test_a_resumed_run_ends_as_if_it_had_not_stopped(
    teach: Teach, finished: Finished, cycles: int, changes: dict[str, Any]
) -> None:
    chosen = {**SHORT, **changes}
    whole = finished(**chosen)
    resumed = assert_resumes(teach, whole, cycles, **chosen)
    first, published = resumed.all(RolloutBatchReady)[0], resumed.all(PolicyPublished)[0]
    assert first.policy_version == published.version  # it acts by the saved policy, not by an untrained one
    assert published.waiting == chosen.get("policy__lag", 0)
    if published.waiting:
        batches = zip(whole.all(RolloutBatchReady), whole.all(PolicyUpdated), strict=True)
        assert sum(batch.policy_version < update.version - 1 for batch, update in batches) > 5  # it does run ahead


@pytest.mark.parametrize("cycles", [10, pytest.param(11, marks=pytest.mark.slow), 12])
def test_a_fit_that_is_spread_over_batches_resumes_where_it_was(teach: Teach, finished: Finished, cycles: int) -> None:
    """Four epochs, one a batch."""
    chosen = {"policy__lag": 1, "reward__steps_per_label": 25, "reward__epochs": 4}
    whole = finished(**chosen)
    rounds = [event.generation for event in whole.all(RewardFitted)]
    assert rounds == list(range(1, len(rounds) + 1)) and 2 < len(rounds) < 8
    assert_resumes(teach, whole, cycles, **chosen)


def test_answers_since_the_last_checkpoint_are_not_lost(teach: Teach) -> None:
    stopped = teach("stopped", **SHORT)
    for _ in range(3):
        stopped.run.cycle()
    stopped.run.save()
    while len(stopped.all(PreferenceAdded)) < 9:
        stopped.run.cycle()
    stopped.close()
    resumed = teach("stopped")
    assert resumed.finished().labels == 12
    assert resumed.all(RewardFitted)[0].preferences >= 9
