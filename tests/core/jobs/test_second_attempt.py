"""A new policy's attempt after the last answer: when it begins, and which policy stays."""

from __future__ import annotations

import numpy as np
import pytest

from core.events import PolicyPublished, RolloutBatchReady
from core.jobs.second_attempt import SecondAttempt
from core.reward.ensemble import RewardEnsemble
from core.rollout.collector import RolloutBatch
from core.types import Float32, PolicyChange
from tests.core.played import Played, of, rewarded


class FirstNumber(RewardEnsemble):
    """Two predictors of another scale and level, by both of which the first number observed is the reward."""

    def __init__(self) -> None:
        self.members = 2

    def predict(self, observations: Float32, actions: Float32) -> Float32:
        assert observations.shape[:-1] == actions.shape[:-1]
        return np.stack([observations[..., 0], 5 * observations[..., 0] - 3])


def batch(level: float) -> RolloutBatch:
    """A batch of four steps of three environments, in which the first number observed is near `level`."""
    observations = np.random.default_rng(0).normal(level, 0.1, (4, 3, 2)).astype(np.float32)
    zeros, nothing = np.zeros((4, 3), np.float32), np.zeros((0, 2), np.float32)
    actions, ends = np.zeros((4, 3, 1), np.float32), np.zeros((4, 3), np.bool_)
    return RolloutBatch(observations, actions, zeros, zeros, ends, nothing, observations[-1], [], [], 0)


@pytest.mark.parametrize(("earlier", "new", "verdict"), [(1.0, 2.0, "stay"), (2.0, 1.0, "return"), (1.0, 1.0, "stay")])
def test_the_policy_of_the_higher_predicted_reward_stays(earlier: float, new: float, verdict: str) -> None:
    attempt, ensemble = SecondAttempt(), FirstNumber()
    assert attempt.change(False, batch(9), ensemble) == PolicyChange.NONE and not attempt.running
    assert attempt.change(True, batch(earlier), ensemble) == PolicyChange.START_ANEW and attempt.running
    resumed = SecondAttempt()
    resumed.set_state(attempt.get_state())
    for one in (attempt, resumed):
        assert one.change(True, batch(9), ensemble) == PolicyChange.NONE and one.running
        assert one.change(False, batch(new), ensemble) == PolicyChange(verdict) and not one.running
        assert one.change(False, batch(9), ensemble) == PolicyChange.NONE and one.get_state() == {}


def test_a_rollout_begins_the_attempt_with_the_finish_and_ends_it() -> None:
    """Of 24 batches the last twelve are the finish, and four of them the attempt."""
    steps = 8 * 32
    rollout = Played(
        "rollout",
        query__schedule="answers",
        query__first_labels=3,
        rollout__steps_per_answer=steps,
        rollout__finish_steps=12 * steps,
        rollout__attempt_steps=4 * steps,
        policy__lag=0,
    )
    policy = Played("policy", policy__lag=0)
    said = rollout.turn(*of(PolicyPublished, policy.turn()), rewarded(rollout))
    changes: list[str] = []
    while batches := of(RolloutBatchReady, said):
        changes += [each.change for each in batches]
        said = rollout.turn(*of(PolicyPublished, policy.turn(*batches)))
    assert changes[:12] == 11 * ["none"] + ["start anew"]
    assert changes[12:15] == 3 * ["none"] and changes[15] in ("stay", "return")
    assert changes[16:] == 8 * ["none"]


def test_a_policy_that_is_set_aside_returns_as_it_was() -> None:
    """It is the session's policy until then. A batch that the other one gathered is used by neither."""
    rollout, policy = Played("rollout", policy__lag=0), Played("policy", policy__lag=0)
    untrained = of(PolicyPublished, policy.turn())
    (gathered,) = of(RolloutBatchReady, rollout.turn(*untrained, rewarded(rollout)))

    def after(change: PolicyChange, version: int) -> PolicyPublished:
        fields = {name: getattr(gathered, name) for name in gathered.__dataclass_fields__}
        (learned,) = of(
            PolicyPublished,
            policy.turn(RolloutBatchReady(**{**fields, "change": change, "policy_version": version})),
        )
        return learned

    trained = after(PolicyChange.NONE, 0)
    anew = after(PolicyChange.START_ANEW, 1)
    assert anew.version == 2 and (anew.weights["weights"] == untrained[0].weights["weights"]).all()
    late = after(PolicyChange.NONE, 1)  # of the policy before
    assert late.version == 3 and (late.weights["weights"] == untrained[0].weights["weights"]).all()
    improved = after(PolicyChange.NONE, 2)
    assert (improved.weights["weights"] != untrained[0].weights["weights"]).any()
    saved = policy.job.get_state()
    assert (saved.arrays["weights"] == trained.weights["weights"]).all()
    resumed = Played("policy", policy__lag=0)
    resumed.job.set_state(saved)
    (published,) = of(PolicyPublished, resumed.turn())
    assert (published.weights["weights"] == improved.weights["weights"]).all()
    back = after(PolicyChange.RETURN, 4)
    assert all((back.weights[name] == trained.weights[name]).all() for name in ("weights",))
    assert "attempt_weights" not in policy.job.get_state().arrays
