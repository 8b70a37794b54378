"""Headless runs that are stopped and resumed: as if they had never stopped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.events import (
    PolicyPublished,
    PolicyUpdated,
    PreferenceAdded,
    RewardFitted,
    RolloutBatchReady,
)
from tests.e2e.taught import Taught, Teach, same, stopped_and_resumed


@pytest.mark.parametrize("cycles", [2, 5, 10], ids=["before the first fit", "after it", "late"])
def test_stopped_and_resumed_is_as_never_stopped(teach: Teach, cycles: int) -> None:
    whole = teach("whole", seed=1)
    expected = whole.finished()
    resumed, outcome = stopped_and_resumed(teach, cycles, seed=1)
    assert 0 < outcome.steps_taken < outcome.env_steps
    assert same(whole, resumed)
    assert outcome.true_return == expected.true_return and outcome.measure == expected.measure
    assert outcome.labels == expected.labels == 12


@pytest.mark.parametrize("algorithm", ["trpo", "a2c"])
def test_every_algorithm_resumes_as_if_it_had_not_stopped(teach: Teach, algorithm: str) -> None:
    chosen = {"policy__algorithm": algorithm, "policy__decay": 0.5}
    whole = teach("whole", **chosen)
    whole.finished()
    resumed, outcome = stopped_and_resumed(teach, 7, **chosen)
    assert 0 < outcome.steps_taken < outcome.env_steps
    assert same(whole, resumed)


@pytest.mark.parametrize("cycles", [3, 7], ids=["while it explores", "afterwards"])
def test_one_that_explores_first_resumes_as_if_it_had_not_stopped(teach: Teach, cycles: int) -> None:
    whole = teach("whole", rollout__exploration_steps=8 * 32 * 5)
    whole.finished()
    resumed, outcome = stopped_and_resumed(teach, cycles, rollout__exploration_steps=8 * 32 * 5)
    assert 0 < outcome.steps_taken < outcome.env_steps and outcome.labels == 12
    assert same(whole, resumed)


@pytest.mark.parametrize("task", ["gym:CartPole-v1", "gym:Pendulum-v1"])
def test_environments_that_cannot_be_saved_resume_as_if_they_had_not_stopped(teach: Teach, task: str) -> None:
    chosen = {"task": task, "labels": 8, "steps": 8 * 32 * 24}
    whole = teach("whole", **chosen)
    expected = whole.finished()
    resumed, outcome = stopped_and_resumed(teach, 7, **chosen)
    assert 0 < outcome.steps_taken < outcome.env_steps
    assert same(whole, resumed) and outcome.true_return == expected.true_return


def test_a_resumed_rollout_acts_as_the_policy_that_was_saved(teach: Teach) -> None:
    """Not as the untrained one, which it is built with."""
    resumed, _ = stopped_and_resumed(teach, 10)
    first = resumed.all(RolloutBatchReady)[0]
    published = resumed.all(PolicyPublished)[0]
    assert first.policy_version == published.version > 0


@pytest.mark.parametrize("cycles", [6, 7, 13])
def test_where_rollouts_run_ahead_the_batch_under_way_is_kept(teach: Teach, cycles: int) -> None:
    chosen = {"policy__lag": 1, "seed": 1}
    whole = teach("whole", **chosen)
    expected = whole.finished()
    stale = [batch.policy_version < update.version - 1 for batch, update in pairs(whole)]
    assert sum(stale) > 10  # they do run ahead
    resumed, outcome = stopped_and_resumed(teach, cycles, **chosen)
    assert resumed.all(PolicyPublished)[0].waiting == 1
    assert same(whole, resumed) and outcome.true_return == expected.true_return


def pairs(taught: Taught) -> Iterator[tuple[RolloutBatchReady, PolicyUpdated]]:
    """Each batch and what was learned from it."""
    return zip(taught.all(RolloutBatchReady), taught.all(PolicyUpdated), strict=True)


@pytest.mark.parametrize("cycles", [10, 11, 12, 13])
def test_a_round_of_the_reward_that_is_spread_over_batches_resumes_where_it_was(teach: Teach, cycles: int) -> None:
    """Of four epochs, one a batch."""
    chosen = {"policy__lag": 1, "reward__steps_per_label": 25, "reward__epochs": 4}
    whole = teach("whole", **chosen)
    whole.finished()
    rounds = [event.generation for event in whole.all(RewardFitted)]
    assert rounds == list(range(1, len(rounds) + 1)) and 2 < len(rounds) < 8
    resumed, outcome = stopped_and_resumed(teach, cycles, **chosen)
    assert 0 < outcome.steps_taken < outcome.env_steps
    assert same(whole, resumed)


def test_a_finished_run_resumed_tells_what_was_reached(teach: Teach) -> None:
    first = teach("a").finished()
    again = teach("a").finished()
    assert (again.env_steps, again.steps_taken, again.labels) == (first.env_steps, 0, 12)
    assert again.true_return == first.true_return and again.measure == first.measure


def test_answers_since_the_last_checkpoint_are_not_lost(teach: Teach) -> None:
    stopped = teach("stopped")
    for _ in range(3):
        stopped.run.cycle()
    stopped.run.save()
    while len(stopped.all(PreferenceAdded)) < 9:
        stopped.run.cycle()
    stopped.close()
    resumed = teach("stopped")
    assert resumed.finished().labels == 12
    assert resumed.all(RewardFitted)[0].preferences >= 9
