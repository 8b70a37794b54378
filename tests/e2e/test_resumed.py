"""Headless runs that are stopped and resumed, which end as if never stopped."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from core.errors import StageFailedError
from core.events import (
    Event,
    PolicyPublished,
    PreferenceAdded,
    RewardFitted,
    RewardPublished,
    RolloutBatchReady,
)
from tests.e2e.taught import SHORT, Finished, Taught, Teach, assert_resumes, same, stored

CASES: dict[str, tuple[int, dict[str, Any]]] = {
    "without a checkpoint": (0, {}),
    "a person": (7, {"teacher": "person", "person__ties": 0.2, "person__cant_tell": 0.3}),
    "trpo": (7, {"policy__algorithm": "trpo"}),
    "a2c": (7, {"policy__algorithm": "a2c"}),
    "sac": (7, {"policy__algorithm": "sac", "policy__lag": 1}),
    "an environment without a state": (7, {"task": "gym:Pendulum-v1"}),
    "episodes of different lengths": (7, {"task": "gym:CartPole-v1"}),
    "rollouts ahead of the policy": (7, {"policy__lag": 1, "policy__decay": 0.5}),
}
_REPEATED = ("episodes of different lengths", "a2c", "trpo")
"""Cases that differ little from the others."""


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("cycles", "changes"),
    [pytest.param(*case, marks=[pytest.mark.slow] * (name in _REPEATED)) for name, case in CASES.items()],
    ids=CASES,
)
def test_a_resumed_run_ends_as_if_never_stopped(
    teach: Teach, finished: Finished, cycles: int, changes: dict[str, Any]
) -> None:
    chosen = {**SHORT, **changes}
    whole = finished(**chosen)
    resumed = assert_resumes(teach, whole, cycles, **chosen)
    first, published = resumed.all(RolloutBatchReady)[0], resumed.all(PolicyPublished)[0]
    assert first.policy_version == published.version  # the saved policy acts, not an untrained one
    assert published.waiting == (chosen.get("policy__lag", 0) if cycles else 0)
    if published.waiting:
        batches = zip(whole.all(RolloutBatchReady), whole.all(PolicyPublished)[1:], strict=True)
        assert sum(batch.policy_version < update.version - 1 for batch, update in batches) > 5  # the rollout runs ahead


@pytest.mark.slow
@pytest.mark.parametrize("cycles", [10, 11, 12])
def test_a_fit_spread_over_batches_resumes_in_the_middle(teach: Teach, finished: Finished, cycles: int) -> None:
    """The fit has four epochs, one per batch."""
    chosen = {"policy__lag": 1, "reward__steps_per_label": 25, "reward__epochs": 4}
    whole = finished(**chosen)
    assert 2 < len(whole.all(RewardPublished)) < 8
    assert_resumes(teach, whole, cycles, **chosen)


class Killed(Exception):
    """Exception in place of a SIGKILL, which ends a run between any two events without saving."""


def killed(taught: Taught, events: int) -> None:
    def count(event: Event) -> None:
        if len(taught.events) == events:
            raise Killed

    taught.hook = count
    with pytest.raises(StageFailedError, match="Killed"):
        taught.run.run()
    taught.close()


@pytest.mark.slow
def test_a_run_killed_repeatedly_ends_as_if_undisturbed(teach: Teach, finished: Finished) -> None:
    """The kills come during the first answers, and later between the checkpoints that follow the fits."""
    chosen = {**SHORT, "teacher": "person", "policy__lag": 1}
    whole = finished(**chosen)
    for events in (4, 5, 14, 23, 16, 30):
        killed(teach("stopped", **chosen), events)
    resumed = teach("stopped")
    outcome = resumed.finished()
    assert whole.outcome is not None and outcome.steps_taken < outcome.env_steps
    assert same(whole, resumed) and stored(resumed) == stored(whole)
    assert (outcome.labels, outcome.measure) == (whole.outcome.labels, whole.outcome.measure)


def test_a_run_that_is_resumed_after_its_end_ends_with_the_same_figures(teach: Teach) -> None:
    """The person answers can't tell so often that more pairs would be asked."""
    first = teach("s", **SHORT, teacher="person", person__cant_tell=0.4)
    ended, again = first.finished(), teach("s").finished()
    assert again.steps_taken == 0
    assert (again.labels, again.measure, again.env_steps) == (ended.labels, ended.measure, ended.env_steps)


@pytest.mark.slow
def test_replayed_answers_to_other_pairs_are_all_used_at_once(teach: Teach, finished: Finished) -> None:
    """This includes a session made from the answers of another one; a kill right after they are used changes nothing."""
    chosen = {**SHORT, "labels": 15, "seed": 7}
    old, runs = finished(**SHORT).session.folder / "preferences", list[Taught]()
    for name, kills in (("whole", ()), ("stopped", (20, 40))):
        teach(name, **chosen).close()
        shutil.rmtree(Path(name) / "preferences")
        shutil.copytree(old, Path(name) / "preferences")
        for events in kills:
            killed(teach(name), events)
        runs.append(teach(name))
        runs[-1].finished()
    whole, resumed = runs
    assert whole.all(RewardFitted)[0].preferences == 12
    assert [event.preference.id for event in whole.all(PreferenceAdded)] == list(range(1, 16))
    assert same(whole, resumed) and stored(whole) == stored(resumed)
