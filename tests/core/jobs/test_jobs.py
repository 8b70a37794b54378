"""The jobs in isolation: when they wait, and which events they yield."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.envs.base import Step
from core.errors import NotFiniteError, UserError
from core.events import AnswersReplayed, JobState, PolicyPublished, RolloutBatchReady, RolloutReported
from core.reward.normalization import normalize_reward
from core.types import Float32
from tests.core.played import Played, of, published, rewarded


@pytest.mark.parametrize("lag", [0, 1, 2])
def test_the_rollout_runs_a_limited_number_of_batches_ahead_of_the_policy(lag: int) -> None:
    rollout = Played("rollout", policy__lag=lag)
    first = rollout.turn(published(rollout, 0), rewarded(rollout))
    assert len(of(RolloutBatchReady, first)) == lag + 1
    assert of(RolloutBatchReady, rollout.turn()) == []
    assert len(of(RolloutBatchReady, rollout.turn(published(rollout, 1)))) == 1


def test_the_rollout_waits_for_no_lost_batch_after_a_restart_of_the_policy() -> None:
    rollout = Played("rollout")
    rollout.turn(published(rollout, 0), rewarded(rollout))
    for version in (1, 2, 3):
        rollout.turn(published(rollout, version))
    assert len(of(RolloutBatchReady, rollout.turn(published(rollout, 1)))) == 1  # restarted from a checkpoint
    assert of(RolloutBatchReady, rollout.turn()) == []
    assert len(of(RolloutBatchReady, rollout.turn(published(rollout, 2)))) == 1


@pytest.mark.parametrize("algorithm", ["ppo", "trpo", "a2c"])
def test_a_policy_that_meets_nan_stops_publishing(algorithm: str) -> None:
    rollout, policy = Played("rollout"), Played("policy", policy__algorithm=algorithm)
    (batch,) = of(RolloutBatchReady, rollout.turn(*of(PolicyPublished, policy.turn()), rewarded(rollout)))
    (learned,) = of(PolicyPublished, policy.turn(batch))
    assert learned.version == 1
    assert all(np.isfinite(array).all() for array in learned.weights.values())
    batch.log_probs[0, 0] = np.nan
    with pytest.raises(NotFiniteError, match="policy"):
        policy.turn(batch)
    assert of(PolicyPublished, policy.said) == []
    assert policy.job.get_state().values["version"] == 1


def test_sac_predicts_the_reward_of_its_steps_with_each_new_snapshot() -> None:
    """Its batches carry the weights of both bonuses, which are not in their rewards."""
    changes = {
        "policy__algorithm": "sac",
        "policy__steps_per_gradient": 2.0,
        "reward__bonus": 2.0,
        "reward__novelty": 0.5,
    }
    rollout, policy = Played("rollout", **changes), Played("policy", **changes)
    reward = rewarded(rollout)
    (batch,) = of(RolloutBatchReady, rollout.turn(*of(PolicyPublished, policy.turn()), reward))
    assert 1.5 < batch.bonus <= 2 and 0.4 < batch.novelty <= 0.5
    raw = rollout.job.ensemble.predict(batch.observations, batch.actions)
    assert batch.rewards == pytest.approx(normalize_reward(raw, 1.0), abs=1e-5)

    def learned(sign: int) -> np.ndarray:
        job = Played("policy", **changes)
        job.turn()
        weights = {**reward.weights, "network.weights.2": sign * reward.weights["network.weights.2"]}
        (made,) = of(PolicyPublished, job.turn(replace(reward, weights=weights), batch))
        return made.weights["weights"]

    assert np.abs(learned(1) - learned(-1)).max() > 1e-3


def rolled_out(bonus: float, count: int, interval: int = 0) -> list[tuple[RolloutBatchReady, RolloutReported, float]]:
    """Return batches of a rollout under a fixed policy and reward, with its report and running agreement."""
    rollout = Played(
        "rollout", reward__bonus=bonus, reward__answer_interval=interval, reward__members=3, rollout__steps=64
    )
    made = []
    for version in range(count):
        events = rollout.turn(published(rollout, version), *([] if version else [rewarded(rollout)]))
        running = rollout.job.get_state().values["agreement"]
        made.append((of(RolloutBatchReady, events)[0], of(RolloutReported, events)[0], running))
    return made


def test_the_reward_is_predicted_from_the_executed_actions() -> None:
    rollout = Played("rollout", policy__initial_std=3.0, reward__std=0.5)
    (batch,) = of(RolloutBatchReady, rollout.turn(published(rollout, 0), rewarded(rollout)))
    assert np.abs(batch.actions).max() > 2
    predict = rollout.job.ensemble.predict
    carried_out, drawn = (predict(batch.observations, a) for a in (batch.actions.clip(-1, 1), batch.actions))
    assert batch.rewards == pytest.approx(normalize_reward(carried_out, 0.5), abs=1e-5)
    assert np.abs(batch.rewards - normalize_reward(drawn, 0.5)).max() > 0.05


def test_disagreement_is_rewarded_less_as_the_members_agree_more() -> None:
    def first_batch(bonus: float, agreement: float) -> tuple[Float32, float]:
        """Return the rewards of a rollout's first batch and its running agreement, which started at `agreement`."""
        changes = {"reward__bonus": bonus, "rollout__steps": 64}
        kept = Played("rollout", **changes).job.get_state()
        rollout = Played("rollout", JobState(kept.arrays, {**kept.values, "agreement": agreement}), **changes)
        (batch,) = of(RolloutBatchReady, rollout.turn(published(rollout, 0), rewarded(rollout)))
        return batch.rewards, rollout.job.get_state().values["agreement"]

    (plain, _), (less, high), (more, low) = first_batch(0.0, 0.0), first_batch(2.0, 0.75), first_batch(2.0, 0.0)
    assert high > 0.7 > 0.2 > low and (more - plain).max() > 1
    assert (less - plain) / (1 - high) == pytest.approx((more - plain) / (1 - low), abs=1e-5)


def test_the_learning_rate_falls_with_the_steps_taken() -> None:
    rollout = Played("rollout", policy__decay=0.5, steps=8 * 32 * 4)
    events, scales = rollout.turn(published(rollout, 0), rewarded(rollout)), []
    for version in (1, 2, 3, 4):
        scales += [batch.learning_rate_scale for batch in of(RolloutBatchReady, events)]
        events = rollout.turn(published(rollout, version))
    assert scales == [0.875, 0.75, 0.625, 0.5]


def test_disagreement_is_rewarded_less_when_answers_come_fast() -> None:
    """The answers are 614.4 steps apart: 0.6 of the usual 1,024, whose cube is 0.216."""
    fast, slow, less = rolled_out(2.0, 2, interval=1024), rolled_out(2.0, 2, interval=600), rolled_out(2.0 * 0.216, 2)
    assert fast[-1][0].rewards == pytest.approx(less[-1][0].rewards, abs=1e-5)
    assert np.abs(fast[-1][0].rewards - slow[-1][0].rewards).max() > 0.1


def test_the_reported_agreement_is_the_mean_over_the_pairs_seen_so_far() -> None:
    """The running mean starts at 0 and would appear to rise for about twenty batches."""
    made = rolled_out(0.0, 4)
    assert 0.2 < made[-1][1].agreement < 0.8
    assert all(report.agreement > 10 * running for _, report, running in made[1:])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_true_reward_that_is_nan_never_reaches_the_policy(value: float) -> None:
    rollout = Played("rollout", teacher="none", labels=0)
    env = rollout.job.collectors.local[0].env
    step = env.step

    def spoiled(actions: np.ndarray) -> Step:
        taken = step(actions)
        taken.true_rewards[0] = value
        return taken

    env.step = spoiled
    with pytest.raises(NotFiniteError, match="rollout: the true reward"):
        rollout.turn(published(rollout, 0))


def test_the_reported_correlation_is_the_predictors_own() -> None:
    plain, curious = (rolled_out(bonus, 1)[0][1].correlation for bonus in (0.0, 50.0))
    assert plain == curious != 0


@pytest.mark.parametrize("name", ["rollout", "reward", "policy"])
@pytest.mark.parametrize("damage", ["another task's", "nothing in it", "no numbers"])
def test_a_state_that_does_not_fit_is_reported_in_one_sentence(name: str, damage: str) -> None:
    kept = Played(name).job.get_state()
    state = {
        "another task's": JobState({n: np.zeros((2, 3, 5), np.float32) for n in kept.arrays}, kept.values),
        "nothing in it": JobState({}, {}),
        "no numbers": JobState(kept.arrays, dict.fromkeys(kept.values, "x")),
    }[damage]
    with pytest.raises(UserError, match="does not fit the .* stage"):
        Played(name, state).turn(AnswersReplayed())
