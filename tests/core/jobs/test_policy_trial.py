"""The policy that has explored is compared with one that starts anew, by the predicted reward."""

from __future__ import annotations

import numpy as np
import pytest

from core.events import Event, PolicyChosen, PolicyPublished, PolicySetAside, PreferenceAdded, RolloutBatchReady
from core.jobs.policy_trial import PolicyTrial
from core.nn.device import device_for
from core.reward.ensemble import RewardEnsemble, build_ensemble
from core.rollout.collector import RolloutBatch
from tests.core.builders import preference, same, tiny
from tests.core.played import Played, of, published, rewarded

BATCH = 8 * 32
CHANGES = {"rollout__exploration_steps": BATCH, "rollout__trial_steps": BATCH, "labels": 12, "steps": 100 * BATCH}


def batch_of(value: float) -> RolloutBatch:
    """Four steps of four Hoppers that all observe `value`."""
    observations, scalars = np.full((4, 4, 12), value, np.float32), np.zeros((4, 4), np.float32)
    actions, none = np.zeros((4, 4, 3), np.float32), np.zeros((0, 12), np.float32)
    ends = np.zeros((4, 4), np.bool_)
    return RolloutBatch(observations, actions, scalars, scalars, ends, none, observations[0], [], [], 0)


def ensemble_of() -> tuple[RewardEnsemble, list[float]]:
    """An ensemble, and two observations of which it predicts a higher reward for the second."""
    config = tiny(**CHANGES)
    ensemble = build_ensemble(config, device_for(config))
    assert isinstance(ensemble, RewardEnsemble)
    values = [-1.0, 1.0]
    predicted = [ensemble.predict(batch_of(v).observations, batch_of(v).actions)[:, 0, 0] for v in values]
    order = predicted[0] - predicted[1]
    return ensemble, values if order.mean() < 0 else values[::-1]


@pytest.mark.parametrize("better", ["the newest", "the first"])
def test_the_policy_of_the_higher_predicted_reward_is_kept(better: str) -> None:
    ensemble, (low, high) = ensemble_of()
    first, newest = (low, high) if better == "the newest" else (high, low)
    trial = PolicyTrial(tiny(**CHANGES))
    assert trial.next_phase(2 * BATCH, batch_of(low), ensemble) is None  # the first reward: the comparison begins
    assert trial.next_phase(2 * BATCH + BATCH // 2, batch_of(low), ensemble) is None
    assert trial.next_phase(3 * BATCH, batch_of(first), ensemble) == PolicySetAside()
    resumed = PolicyTrial(tiny(**CHANGES))
    resumed.set_state(*trial.get_state())
    for each in (trial, resumed):
        assert each.next_phase(3 * BATCH + BATCH // 2, batch_of(low), ensemble) is None
        assert each.next_phase(4 * BATCH, batch_of(newest), ensemble) == PolicyChosen(better == "the newest")
        assert each.next_phase(9 * BATCH, batch_of(low), ensemble) is None


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


def test_the_rollout_sets_the_first_policy_aside_and_waits_for_the_other() -> None:
    rollout = Played("rollout", **CHANGES)
    assert not of(PolicySetAside, rollout.turn(published(rollout, 0)))
    said = rollout.turn(published(rollout, 1), rewarded(rollout))
    assert not of(PolicySetAside, said)
    said = rollout.turn(published(rollout, 2))
    assert len(of(PolicySetAside, said)) == 1
    assert not of(RolloutBatchReady, rollout.turn())
    assert of(RolloutBatchReady, rollout.turn(published(rollout, 3)))


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
