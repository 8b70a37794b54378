"""The policy that has explored is compared with one that starts anew, by the labeller's answers."""

from __future__ import annotations

import json

import pytest

from core.events import (
    Event,
    PolicyChosen,
    PolicyPublished,
    PolicySetAside,
    PreferenceAdded,
    QueryOffered,
    QueryWithdrawn,
    RolloutBatchReady,
)
from core.jobs.policy_trial import PAIRS, PolicyTrial
from core.types import Choice, Preference, Query, Segment
from tests.core.builders import preference, same, segment, tiny
from tests.core.played import Played, of, published, rewarded

BATCH = 8 * 32
CHANGES = {"rollout__exploration_steps": BATCH, "rollout__trial_steps": BATCH, "labels": 12, "steps": 100 * BATCH}


def pool_at(first: int) -> list[Segment]:
    return [segment(first + number) for number in range(100)]


def answered(query_id: int, left: Segment, right: Segment, choice: Choice) -> PreferenceAdded:
    return PreferenceAdded(Preference(query_id, Query(query_id, left, right, 0.0), choice, "human", 0.0))


def compared(wins: int, can_not_tell: int = 0) -> tuple[PolicyTrial, list[PreferenceAdded]]:
    """A trial whose pairs are all asked about, and the answers, of which some prefer the newest policy."""
    trial = PolicyTrial(tiny(**CHANGES))
    assert trial.next_phase(2 * BATCH, pool_at(0)) is None  # the first reward
    assert trial.next_phase(3 * BATCH - 1, pool_at(0)) is None
    assert trial.next_phase(3 * BATCH, pool_at(1000)) == PolicySetAside()
    assert trial.next_phase(4 * BATCH - 1, pool_at(2000)) is None and not list(trial.pairs())
    assert trial.next_phase(4 * BATCH, pool_at(3000)) is None
    answers = []
    for index, left, right in trial.pairs():
        assert sorted([left.id // 1000, right.id // 1000]) == [1, 3]
        trial.asks(index, 50 + index)
        prefers_newest, newest_left = index < wins, left.id > right.id
        choice = Choice.LEFT if prefers_newest == newest_left else Choice.RIGHT
        choice = Choice.CANT_TELL if index >= PAIRS - can_not_tell else choice
        answers.append(answered(50 + index, left, right, choice))
    assert len(answers) == PAIRS and not list(trial.pairs())
    return trial, answers


@pytest.mark.parametrize("resumed", [True, False])
@pytest.mark.parametrize(("wins", "silent", "newest"), [(8, 0, True), (4, 0, True), (3, 0, False), (3, 2, True)])
def test_the_policy_that_is_preferred_is_kept(wins: int, silent: int, newest: bool, resumed: bool) -> None:
    trial, answers = compared(wins, silent)
    for number, answer in enumerate(answers):
        assert trial.next_phase(5 * BATCH, pool_at(4000)) is None
        trial.receive(answer)
        if resumed and number == 5:
            values = json.loads(json.dumps(trial.get_state()))
            segments, trial = trial.segments, PolicyTrial(tiny(**CHANGES))
            trial.set_state(values, *segments)
    assert trial.next_phase(5 * BATCH, pool_at(4000)) == PolicyChosen(newest)
    assert trial.next_phase(9 * BATCH, pool_at(5000)) is None and not list(trial.pairs())


def test_a_withdrawn_pair_is_asked_about_again_and_other_answers_decide_nothing() -> None:
    trial, answers = compared(8)
    trial.receive(QueryWithdrawn(51))
    trial.receive(answered(9, segment(1), segment(2), Choice.LEFT))
    assert [index for index, *_ in trial.pairs()] == [1]


@pytest.mark.parametrize(("explored", "steps"), [(0, BATCH), (BATCH, 0)])
def test_nothing_is_compared_without_exploration_or_steps_for_it(explored: int, steps: int) -> None:
    changes = {"rollout__exploration_steps": explored, "rollout__trial_steps": steps, "steps": 100 * BATCH}
    rollout = Played("rollout", **changes)
    said = rollout.turn(published(rollout, 0), rewarded(rollout))
    for version in range(1, 5):
        said += rollout.turn(published(rollout, version))
    assert not of(PolicySetAside, said)


@pytest.mark.parametrize("taught", ["by an answer", "by a reward"])
def test_answers_of_an_earlier_session_leave_nothing_to_compare(taught: str) -> None:
    rollout = Played("rollout", **CHANGES | {"rollout__exploration_steps": 4 * BATCH})
    said = rollout.turn(PreferenceAdded(preference(1))) if taught == "by an answer" else []
    said += rollout.turn(rewarded(rollout), published(rollout, 0))
    for version in range(1, 5):
        said += rollout.turn(published(rollout, version))
    assert not of(PolicySetAside, said) and of(RolloutBatchReady, said)


def test_the_rollout_waits_for_the_other_policy_and_asks_about_both() -> None:
    rollout = Played("rollout", **CHANGES | {"teacher": "human", "query__ready": 3})
    said, kinds = [*rollout.turn(published(rollout, 0)), *rollout.turn(rewarded(rollout))], list[type[Event]]()
    for version in range(1, 20):
        kinds += [type(event) for event in said]
        if PolicyChosen in kinds:
            break
        queries = [event.query for event in of(QueryOffered, said)]
        said = rollout.turn(*(answered(q.id, q.left, q.right, Choice.LEFT) for q in queries))
        if of(PolicySetAside, said):
            assert not of(RolloutBatchReady, said[said.index(PolicySetAside()) :])  # waits for the other policy
        said += rollout.turn(published(rollout, version))
    assert kinds.count(PolicySetAside) == kinds.count(PolicyChosen) == 1
    assert kinds[kinds.index(PolicySetAside) :].count(QueryOffered) >= PAIRS


@pytest.mark.parametrize("newest", [True, False])
@pytest.mark.parametrize("resumed", [True, False])
def test_the_policy_job_starts_anew_and_can_return_to_the_first_one(newest: bool, resumed: bool) -> None:
    rollout, policy = Played("rollout", **CHANGES), Played("policy", **CHANGES)
    (untrained,) = of(PolicyPublished, policy.turn())
    batches = of(RolloutBatchReady, rollout.turn(untrained))
    (explored,) = of(PolicyPublished, policy.turn(*batches))
    assert not same(explored.weights, untrained.weights)
    (anew,) = of(PolicyPublished, policy.turn(PolicySetAside()))
    assert same(anew.weights, untrained.weights) and anew.version == explored.version
    if resumed:
        state, policy = policy.job.get_state(), Played("policy", **CHANGES)
        policy.job.set_state(state)
        policy.turn()
    (trained,) = of(PolicyPublished, policy.turn(*batches))
    (chosen,) = of(PolicyPublished, policy.turn(PolicyChosen(newest)))
    assert same(chosen.weights, (trained if newest else explored).weights)
