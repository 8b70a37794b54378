"""The jobs by themselves: what they wait for, and what they say when."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from core.envs.base import Step
from core.errors import NotFiniteError, UserError
from core.events import (
    AnswersReplayed,
    BatchCollected,
    ClipsRendered,
    ClipsRequested,
    DemonstrationRecorded,
    Event,
    JobState,
    PolicyPublished,
    PreferenceAdded,
    PreferenceChanged,
    PreferenceWithdrawn,
    QueryOffered,
    ReplayRefused,
    ReplayRendered,
    ReplayRequested,
    RewardFitted,
    RewardPublished,
    RolloutReported,
    Waited,
)
from core.jobs import build
from core.jobs.acting import Actor, untrained_policy
from core.jobs.rollout import RolloutJob
from core.processes import JobSpec
from core.records import Choice
from core.reward.ensemble import normalised
from core.tasks import find
from tests.core.builders import preference, segment, tiny


class Played:
    """A job, and its events turn by turn."""

    def __init__(self, name: str, state: Any = None, **changes: Any) -> None:
        self.config = tiny(**changes)
        self.job = build(JobSpec(name, self.config.to_dict(), state))
        if name == "rollout":
            self.job.receive(AnswersReplayed())  # there was none, or the test replays them itself
        self._events: Iterator[Event | None] = self.job.run()

    def turn(self, *received: Event) -> list[Event]:
        """What it yields after these, until it waits; the reason to wait comes last."""
        for event in received:
            self.job.receive(event)
        said: list[Event] = []
        for event in self._events:
            said += [event] if event is not None else []
            if isinstance(event, Waited):
                break
        return said


def of(kind: type[Event], events: list[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def published(played: Played, version: int) -> PolicyPublished:
    return PolicyPublished(version, untrained_policy(played.config).to_arrays())


def rewarded(rollout: Played) -> RewardPublished:
    """The snapshot of a reward fitted to a few answers."""
    reward = Played("reward", labels=4)
    answers = [PreferenceAdded(preference(number)) for number in range(2)]
    return of(RewardPublished, reward.turn(AnswersReplayed(), *answers))[0]


def test_the_rollout_waits_for_a_policy() -> None:
    assert [type(event) for event in Played("rollout").turn()] == [Waited]


@pytest.mark.parametrize("lag", [0, 1, 2])
def test_the_rollout_runs_so_many_batches_ahead_of_the_policy(lag: int) -> None:
    rollout = Played("rollout", policy__lag=lag)
    first = rollout.turn(published(rollout, 0), rewarded(rollout))
    assert len(of(BatchCollected, first)) == lag + 1
    assert of(BatchCollected, rollout.turn()) == []
    assert len(of(BatchCollected, rollout.turn(published(rollout, 1)))) == 1


def test_after_a_restart_of_the_policy_the_rollout_waits_for_no_lost_batch() -> None:
    rollout = Played("rollout")
    rollout.turn(published(rollout, 0), rewarded(rollout))
    for version in (1, 2, 3):
        rollout.turn(published(rollout, version))
    assert len(of(BatchCollected, rollout.turn(published(rollout, 1)))) == 1  # started again from a checkpoint
    assert of(BatchCollected, rollout.turn()) == []
    assert len(of(BatchCollected, rollout.turn(published(rollout, 2)))) == 1


@pytest.mark.parametrize("algorithm", ["ppo", "trpo", "a2c"])
def test_a_policy_that_meets_what_is_no_number_publishes_nothing_more(algorithm: str) -> None:
    rollout, policy = Played("rollout"), Played("policy", policy__algorithm=algorithm)
    (batch,) = of(BatchCollected, rollout.turn(*of(PolicyPublished, policy.turn()), rewarded(rollout)))
    (learned,) = of(PolicyPublished, policy.turn(batch))
    assert learned.version == 1
    assert all(np.isfinite(array).all() for array in learned.weights.values())
    batch.log_probs[0, 0] = np.nan
    said: list[Event] = []
    with pytest.raises(NotFiniteError, match="policy"):
        said += policy.turn(batch)
    assert said == []
    assert policy.job.get_state().values["version"] == 1


def test_a_restarted_rollout_waits_for_the_policy_it_acted_by() -> None:
    rollout = Played("rollout")
    rollout.turn(published(rollout, 7), rewarded(rollout))
    restarted = Played("rollout", rollout.job.get_state())
    assert of(BatchCollected, restarted.turn()) == []
    assert [b.policy_version for b in of(BatchCollected, restarted.turn(published(restarted, 7)))] == [7]


def test_a_person_always_has_some_pairs_ready() -> None:
    rollout = Played("rollout", teacher="human", query__ready=4, labels=100)
    offered = of(QueryOffered, rollout.turn(published(rollout, 0)))
    assert len(offered) == 4
    answers = [PreferenceAdded(preference(i, Choice.LEFT, offered[i].query)) for i in range(2)]
    assert len(of(QueryOffered, rollout.turn(*answers))) == 2


def turn_after(answers: int, bonus: float) -> list[Event]:
    """The rollout's first batch, once so many of four labels are given."""
    rollout = Played("rollout", labels=4, reward__bonus=bonus, reward__members=3)
    given = [PreferenceAdded(preference(number)) for number in range(answers)]
    return rollout.turn(*given, published(rollout, 0), rewarded(rollout))


def rewards_after(answers: int, bonus: float) -> np.ndarray:
    return of(BatchCollected, turn_after(answers, bonus))[0].rewards


@pytest.mark.parametrize("std", [1.0, 0.05])
def test_the_predicted_reward_has_mean_zero_and_the_deviation_asked_for(std: float) -> None:
    rollout = Played("rollout", reward__std=std)
    (batch,) = of(BatchCollected, rollout.turn(published(rollout, 0), rewarded(rollout)))
    assert float(batch.rewards.mean()) == pytest.approx(0, abs=1e-6)
    assert float(batch.rewards.std()) == pytest.approx(std, rel=1e-4)


def test_the_reward_is_predicted_from_the_actions_as_they_were_carried_out() -> None:
    rollout = Played("rollout", policy__initial_std=3.0)
    (batch,) = of(BatchCollected, rollout.turn(published(rollout, 0), rewarded(rollout)))
    assert np.abs(batch.actions).max() > 2
    predict = rollout.job.ensemble.predict  # type: ignore[attr-defined]
    carried_out, drawn = (predict(batch.observations, a) for a in (batch.actions.clip(-1, 1), batch.actions))
    assert batch.rewards == pytest.approx(normalised(carried_out, 1.0), abs=1e-5)
    assert np.abs(batch.rewards - normalised(drawn, 1.0)).max() > 0.1


def test_disagreement_is_rewarded_the_less_the_more_is_answered() -> None:
    plain = rewards_after(0, 0.0)
    gains = [rewards_after(answers, 2.0) - plain for answers in (0, 2, 4)]
    assert gains[0].min() >= 0 and gains[0].max() > 0.5
    assert gains[1] == pytest.approx(gains[0] / 2, abs=1e-5)
    assert gains[2] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_true_reward_that_is_no_number_never_reaches_the_policy(value: float) -> None:
    rollout = Played("rollout", teacher="none", labels=0)
    assert isinstance(rollout.job, RolloutJob)
    env = rollout.job.gathering.env  # type: ignore[attr-defined]
    step = env.step

    def spoiled(actions: np.ndarray) -> Step:
        taken = step(actions)
        taken.true_rewards[0] = value
        return taken

    env.step = spoiled
    with pytest.raises(NotFiniteError, match="rollout: the true reward"):
        rollout.turn(published(rollout, 0))


def test_the_reported_correlation_is_the_predictors_own() -> None:
    plain, curious = (of(RolloutReported, turn_after(0, bonus))[0].correlation for bonus in (0.0, 50.0))
    assert plain == curious != 0


def test_cant_tell_is_asked_again_with_another_pair() -> None:
    """It teaches nothing, so the schedule still owes the label."""
    rollout = Played("rollout")
    offered = of(QueryOffered, rollout.turn(published(rollout, 0)))
    first = [PreferenceAdded(preference(i, Choice.CANT_TELL, o.query)) for i, o in enumerate(offered)]
    again = of(QueryOffered, rollout.turn(*first))
    assert len(again) >= len(offered) > 0
    told = [PreferenceAdded(preference(50 + i, Choice.TIE, o.query)) for i, o in enumerate(again)]
    assert of(QueryOffered, rollout.turn(*told)) == []


@pytest.mark.parametrize("length", [0, 1, 7])
def test_segments_are_as_long_as_the_config_or_the_task_says(length: int) -> None:
    rollout = Played("rollout", query__segment_steps=length)
    offered = of(QueryOffered, rollout.turn(published(rollout, 0)))
    lengths = {s.length for o in offered for s in (o.query.left, o.query.right)}
    assert lengths == {length or find("hopper-backflip").segment_steps}


def test_a_number_of_labels_is_asked_of_the_untrained_policy() -> None:
    rollout, reward = (Played(name, steps=10**9, query__first_labels=7) for name in ("rollout", "reward"))
    offered = of(QueryOffered, rollout.turn(published(rollout, 0)))
    assert len(offered) == 7
    answers = [PreferenceAdded(preference(i, Choice.LEFT, o.query)) for i, o in enumerate(offered)]
    assert of(RewardFitted, reward.turn(AnswersReplayed(), *answers[:6])) == []
    assert len(of(RewardFitted, reward.turn(answers[6]))) == 1


def test_the_oracle_is_told_of_the_pool_where_its_limits_need_it() -> None:
    rollout = Played("rollout", oracle__skip=0.2)
    offered = of(QueryOffered, rollout.turn(published(rollout, 0)))
    returns = [float(s.true_rewards.sum(dtype="float64")) for s in rollout.job.pool.all()]  # type: ignore[attr-defined]
    so_far = [(min(returns[:n]), np.mean(returns[:n])) for n in range(1, len(returns) + 1)]
    for told in (o.query.pool_returns for o in offered):
        assert any((told.worst, told.mean) == pytest.approx(expected) for expected in so_far)
    plain = Played("rollout")
    assert {o.query.pool_returns for o in of(QueryOffered, plain.turn(published(plain, 0)))} == {None}


def test_a_person_can_be_told_afterwards_what_each_member_expected() -> None:
    rollout = Played("rollout", teacher="human", query__ready=4, labels=100)
    before = of(QueryOffered, rollout.turn(published(rollout, 0)))
    assert [o.query.predicted for o in before] == [()] * 4
    ensemble = rewarded(rollout)
    answers = [PreferenceAdded(preference(i, Choice.LEFT, o.query)) for i, o in enumerate(before)]
    offered = of(QueryOffered, rollout.turn(ensemble, *answers))
    assert len(offered) == 4
    for query in (o.query for o in offered):
        left, right = rollout.job.ensemble.segment_sums([query.left, query.right]).T  # type: ignore[attr-defined]
        assert query.predicted == pytest.approx(1 / (1 + np.exp(right.astype(float) - left)))
        assert query.disagreement == pytest.approx(np.var(query.predicted))


def test_nothing_is_predicted_for_the_oracle() -> None:
    rollout = Played("rollout")
    rollout.turn(published(rollout, 0), rewarded(rollout))
    offered = of(QueryOffered, rollout.turn(published(rollout, 1)))
    assert {o.query.predicted for o in offered} == {()}


def test_an_answer_taken_back_is_owed_again() -> None:
    rollout = Played("rollout")
    offered = of(QueryOffered, rollout.turn(published(rollout, 0)))
    answers = [PreferenceAdded(preference(i, Choice.LEFT, o.query)) for i, o in enumerate(offered)]
    rollout.turn(*answers)
    assert len(of(QueryOffered, rollout.turn(PreferenceWithdrawn(0)))) == 1


def test_a_demonstration_is_one_episode_without_noise() -> None:
    rollout = Played("rollout", rollout__demonstrate_every=1)
    said = rollout.turn(published(rollout, 0), rewarded(rollout))
    (shown,) = of(DemonstrationRecorded, said)[-1:]
    actor = Actor(rollout.config, None)
    expected, _ = actor(shown.segment.observations)
    assert shown.segment.actions == pytest.approx(np.clip(expected, -1, 1), abs=1e-5)
    assert shown.predicted.shape == (shown.segment.length,)


def test_the_first_fit_waits_for_the_untrained_policys_share() -> None:
    reward = Played("reward", labels=12)  # a quarter of them
    reward.turn(AnswersReplayed())
    for number in range(2):
        assert of(RewardFitted, reward.turn(PreferenceAdded(preference(number)))) == []
    assert of(RewardFitted, reward.turn(PreferenceAdded(preference(2, Choice.CANT_TELL)))) == []
    (fitted,) = of(RewardFitted, reward.turn(PreferenceAdded(preference(3))))
    assert (fitted.generation, fitted.preferences) == (1, 3)


def test_the_first_fit_is_a_long_one() -> None:
    reward = Played("reward", labels=4, reward__epochs_first=200, reward__epochs=3)
    reward.turn(AnswersReplayed())
    epochs = []
    for news in (PreferenceAdded(preference(1)), PreferenceAdded(preference(2))):
        reward.job.receive(news)
        events = itertools.takewhile(lambda event: not isinstance(event, Waited), reward.job.run())
        epochs.append(sum(event is None for event in events))
    # After the only gradient step of an epoch, and at its end; with two answers some are held out, and judged between.
    assert epochs == [2 * 200, 3 * 3]


def test_where_rounds_keep_a_pace_no_answer_starts_one_and_none_is_called_fitted() -> None:
    reward = Played("reward", labels=4, reward__pace=1e9)
    reward.turn(AnswersReplayed(), PreferenceAdded(preference(1)))
    answers = [PreferenceAdded(preference(2)), PreferenceChanged(preference(2, Choice.TIE)), PreferenceWithdrawn(2)]
    for news in answers:
        said = reward.turn(news)
        assert of(RewardPublished, said) == []
        assert [wait.reason for wait in of(Waited, said)] == ["new answers wait for the next reward fit"]


@pytest.mark.parametrize("breaths", [1, 3, None])
def test_a_reward_saved_amid_its_first_round_makes_it_anew(breaths: int | None) -> None:
    """Else all would wait for ever: no reward, no rollouts, no new policy. None: between the last two of its events."""
    reward = Played("reward", labels=4)
    for number in (1, 2):
        reward.job.receive(PreferenceAdded(preference(number)))
    reward.job.receive(AnswersReplayed())
    events = reward.job.run()
    if breaths is None:
        while not isinstance(next(events), RewardFitted):
            pass
    else:
        list(itertools.islice(events, breaths))
    restored = Played("reward", reward.job.get_state(), labels=4)
    answers = [PreferenceAdded(preference(number)) for number in (1, 2)]
    said = restored.turn(*answers, AnswersReplayed(), PolicyPublished(0, {}))
    assert len(of(RewardPublished, said)) == 1


def test_fewer_latest_than_first_answers_are_enough_for_the_first_round() -> None:
    reward = Played("reward", labels=40, reward__latest=3)
    answers = [PreferenceAdded(preference(number)) for number in range(10)]
    assert len(of(RewardPublished, reward.turn(AnswersReplayed(), *answers))) == 1


def test_with_small_batches_there_is_a_round_for_each_few_policies() -> None:
    reward = Played("reward", labels=4, reward__interval=700, rollout__environments=16, rollout__steps=20)
    reward.turn(AnswersReplayed())
    for number in (1, 2, 3, 4):
        reward.turn(PreferenceAdded(preference(number)))
    rounds = [bool(of(RewardPublished, reward.turn(PolicyPublished(version, {})))) for version in range(1, 7)]
    assert rounds == [False, False, True, False, False, True]  # 700 steps are more than two batches of 320


def test_a_weight_that_is_no_number_is_never_published(monkeypatch: pytest.MonkeyPatch) -> None:
    reward = trained_reward()
    fit = reward.job._fit  # type: ignore[attr-defined]
    step, steps = fit.optimiser.step, []

    def spoil() -> None:
        step()
        steps.append(1)
        if len(steps) == 3:  # the last one of its epoch: no loss can show it any more
            with torch.no_grad():
                fit.ensemble.network.weights[0][0, 0, 0] = float("nan")

    def validate(both: object) -> Iterator[Any]:
        yield None
        return torch.zeros(3), 0.5

    monkeypatch.setattr(fit, "_validate", validate)
    monkeypatch.setattr(fit.optimiser, "step", spoil)
    for version in (1, 2):
        assert len(of(RewardPublished, reward.turn(PolicyPublished(version, {})))) == 1
    reward.job.receive(PolicyPublished(3, {}))
    with pytest.raises(NotFiniteError, match="reward fit: a weight"):
        reward.turn()


def trained_reward(**changes: Any) -> Played:
    reward = Played("reward", labels=4, **changes)
    reward.turn(AnswersReplayed(), *(PreferenceAdded(preference(number)) for number in range(5)))
    return reward


NEWS = [
    PreferenceAdded(preference(9)),
    PreferenceWithdrawn(3),
    PreferenceChanged(preference(3, Choice.TIE)),
    PreferenceChanged(preference(3, Choice.CANT_TELL)),
    PolicyPublished(1, {}),
]


@pytest.mark.parametrize("news", NEWS)
def test_each_piece_of_news_is_worth_one_more_round(news: Event) -> None:
    reward = trained_reward()
    assert of(RewardFitted, reward.turn()) == []
    assert [fitted.generation for fitted in of(RewardFitted, reward.turn(news))] == [2]
    assert of(RewardFitted, reward.turn()) == []


def test_with_every_answer_taken_back_there_is_nothing_to_fit() -> None:
    reward = trained_reward()
    assert of(RewardFitted, reward.turn(*(PreferenceWithdrawn(number) for number in range(5)))) == []
    (fitted,) = of(RewardFitted, reward.turn(PreferenceAdded(preference(6))))
    assert fitted.preferences == 1


def test_a_restored_reward_waits_for_its_answers_and_then_goes_on() -> None:
    reward = trained_reward()
    restored = Played("reward", reward.job.get_state(), labels=4)
    assert of(RewardFitted, restored.turn(PolicyPublished(3, {}))) == []
    answers = [PreferenceAdded(preference(number)) for number in range(5)]
    expected = of(RewardPublished, reward.turn(PolicyPublished(3, {})))[0]
    said = restored.turn(*answers, AnswersReplayed(), PolicyPublished(3, {}))
    (got,) = of(RewardPublished, said)
    assert got.generation == expected.generation == 2
    assert all(np.array_equal(got.weights[name], expected.weights[name]) for name in expected.weights)


def test_a_reward_that_has_not_been_given_every_answer_keeps_what_was_saved() -> None:
    saved = trained_reward().job.get_state()
    restored = Played("reward", saved, labels=4)
    restored.turn(PreferenceAdded(preference(0)), PolicyPublished(3, {}))
    again = restored.job.get_state()
    assert again.values == saved.values and again.arrays.keys() == saved.arrays.keys()
    assert all(np.array_equal(again.arrays[name], saved.arrays[name]) for name in saved.arrays)


@pytest.mark.parametrize("latest", [0, 4])
def test_a_reward_restored_after_withdrawals_goes_on_bit_for_bit(latest: int) -> None:
    reward = trained_reward(reward__latest=latest)
    reward.turn(PreferenceAdded(preference(7)), PreferenceWithdrawn(7), PreferenceWithdrawn(3))
    standing = [PreferenceAdded(preference(number)) for number in (0, 1, 2, 4)]
    restored = Played("reward", reward.job.get_state(), labels=4, reward__latest=latest)
    restored.turn(*standing, AnswersReplayed())
    for news in (PolicyPublished(3, {}), PreferenceAdded(preference(8)), PreferenceWithdrawn(1)):
        expected, got = (of(RewardPublished, job.turn(news))[0] for job in (reward, restored))
        assert all(np.array_equal(got.weights[name], expected.weights[name]) for name in expected.weights)
        assert got.generation == expected.generation


def test_actions_come_with_the_density_they_were_drawn_with() -> None:
    config = tiny(policy__initial_std=0.5)
    observations = np.random.default_rng(0).standard_normal((50, 12)).astype(np.float32)
    noisy, still = Actor(config, np.random.default_rng(1)), Actor(config, None)
    actions, log_probs = noisy(observations)
    means, _ = still(observations)
    densities = -0.5 * ((actions - means) / 0.5) ** 2 - np.log(0.5) - 0.5 * np.log(2 * np.pi)
    assert log_probs == pytest.approx(densities.sum(1), abs=1e-4)
    assert 0.3 < (actions - means).std() < 0.7


@pytest.mark.parametrize("name", ["rollout", "reward", "policy"])
@pytest.mark.parametrize("damage", ["another task's", "nothing in it", "no numbers"])
def test_a_state_that_does_not_fit_is_told_in_one_sentence(name: str, damage: str) -> None:
    kept = Played(name).job.get_state()
    state = {
        "another task's": JobState({n: np.zeros((2, 3, 5), np.float32) for n in kept.arrays}, kept.values),
        "nothing in it": JobState({}, {}),
        "no numbers": JobState(kept.arrays, dict.fromkeys(kept.values, "x")),
    }[damage]
    with pytest.raises(UserError, match="does not fit the .* stage"):
        Played(name, state).turn(AnswersReplayed())


def test_a_demonstration_tells_the_measure_of_its_episode() -> None:
    rollout = Played("rollout", rollout__demonstrate_every=1)
    (shown,) = of(DemonstrationRecorded, rollout.turn(published(rollout, 0), rewarded(rollout)))[-1:]
    assert shown.segment.length == find(rollout.config.task).episode_steps - 1
    assert shown.measure.keys() == {"backflips_per_episode", "upright_landings_per_episode"}


def replayed(clips: Played, token: int = 7) -> list[ReplayRendered]:
    weights = untrained_policy(clips.config).to_arrays()
    return of(ReplayRendered, clips.turn(ReplayRequested(token, weights, 32, 10.0)))


def test_a_policy_of_the_past_acts_and_is_drawn() -> None:
    clips = Played("clips")
    (before,) = replayed(clips)
    assert before.token == 7 and before.clip.pixels.shape == (80, 32, 32, 3) and before.clip.fps == 10.0
    assert before.predicted.shape == (0,)  # no reward has been fitted
    assert before.measure.keys() == {"backflips_per_episode", "upright_landings_per_episode"}
    clips.job.receive(rewarded(Played("rollout")))
    (after,) = replayed(clips)
    assert after.predicted.shape == (319,) and after.predicted.std() == pytest.approx(1, abs=1e-3)
    assert (after.clip.pixels == before.clip.pixels).all()  # it starts the same each time


def test_of_policies_that_a_slider_passed_over_only_the_last_acts_and_pairs_come_first() -> None:
    clips = Played("clips")
    weights = untrained_policy(clips.config).to_arrays()
    pair = tuple(segment(number) for number in (1, 2))
    drawn = clips.turn(
        ReplayRequested(1, weights, 16, 5.0), ReplayRequested(2, weights, 16, 5.0), ClipsRequested(3, pair, 16, 30.0)
    )
    assert [(type(event), event.token) for event in drawn[:2]] == [(ClipsRendered, 3), (ReplayRendered, 2)]


def test_weights_of_another_session_are_refused_and_pairs_still_drawn() -> None:
    clips = Played("clips")
    (refused,) = of(ReplayRefused, clips.turn(ReplayRequested(1, {"weights": np.zeros(3, np.float32)}, 16, 5.0)))
    assert refused.token == 1 and "not one of this session's" in refused.reason
    assert len(of(ClipsRendered, clips.turn(ClipsRequested(2, (segment(1),), 16, 30.0)))) == 1


def test_the_policy_says_of_which_steps_it_is() -> None:
    policy = Played("policy")
    (first,) = of(PolicyPublished, policy.turn())
    assert first.env_steps == 0
    policy.job._env_steps = 4096
    resumed = Played("policy", policy.job.get_state())
    assert of(PolicyPublished, resumed.turn())[0].env_steps == 4096
    state = policy.job.get_state()
    del state.values["env_steps"]  # as an older checkpoint
    assert of(PolicyPublished, Played("policy", state).turn())[0].env_steps is None
