"""The jobs and reviewed answers: changed, repeated, and compared with the predictors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.events import (
    AnswersPredicted,
    AnswersReplayed,
    Event,
    PolicyPublished,
    PredictionsRequested,
    PreferenceAdded,
    PreferenceChanged,
    QueryOffered,
    RewardFitted,
)
from core.types import Choice
from tests.core.builders import preference
from tests.core.played import Played, of, published, trained_reward


def test_a_change_to_cant_tell_makes_a_label_due_until_it_is_changed_back() -> None:
    rollout = Played("rollout")
    offered = of(QueryOffered, rollout.turn(published(rollout, 0)))
    answers = [preference(i, Choice.LEFT, o.query) for i, o in enumerate(offered)]
    assert of(QueryOffered, rollout.turn(*map(PreferenceAdded, answers))) == []
    changed = PreferenceChanged(replace(answers[0], choice=Choice.TIE))
    assert of(QueryOffered, rollout.turn(changed)) == []
    (more,) = of(QueryOffered, rollout.turn(PreferenceChanged(replace(answers[0], choice=Choice.CANT_TELL))))
    rollout.turn(PreferenceAdded(preference(50, Choice.LEFT, more.query)))
    again = [PreferenceChanged(replace(answers[0], choice=Choice.LEFT)), PreferenceChanged(answers[1])]
    assert of(QueryOffered, rollout.turn(*again)) == []
    assert rollout.job.offers.usable == {*range(len(offered)), 50}


def test_a_reward_resumed_from_before_a_change_fits_again() -> None:
    reward = trained_reward()
    answers = [preference(number) for number in range(5)]
    for changed, rounds in ((answers, 0), ([*answers[:4], replace(answers[4], choice=Choice.TIE)], 1)):
        restored = Played("reward", reward.job.get_state(), labels=4)
        said = restored.turn(*map(PreferenceAdded, changed), AnswersReplayed())
        assert len(of(RewardFitted, said)) == rounds


def predicted(reward: Played, *news: Event) -> AnswersPredicted:
    (found,) = of(AnswersPredicted, reward.turn(*news, PredictionsRequested(77)))
    assert found.token == 77
    return found


def test_the_newest_snapshot_predicts_all_fitted_answers() -> None:
    reward = trained_reward()
    reward.turn(PolicyPublished(1, {}))
    found = predicted(reward, PreferenceChanged(preference(3, Choice.CANT_TELL)))
    assert (found.generation, found.ids.tolist()) == (2, [0, 1, 2, 4])
    after = predicted(reward)
    assert (after.generation, after.ids.tolist()) == (3, [0, 1, 2, 4])
    ensemble = reward.job.trainer.ensemble
    pairs = [preference(number).query for number in (0, 1, 2, 4)]
    sums = [ensemble.predicted_returns([p.left, p.right]) for p in pairs]
    expected = [np.mean(1 / (1 + np.exp(s[:, 1] - s[:, 0]))) for s in sums]
    assert after.left == pytest.approx(np.array(expected), abs=1e-5)


def test_predictions_do_not_use_weights_in_training() -> None:
    reward = trained_reward(reward__epochs=50)
    before = predicted(reward)
    reward.job.receive(PolicyPublished(1, {}))
    events = reward.job.run()
    for _ in range(20):
        assert next(events) is None  # in the middle of the round
    reward.job.receive(PredictionsRequested(77))
    found = next(event for event in events if event is not None)
    assert found.generation == 1 and found.left.tolist() == before.left.tolist()


def test_a_resumed_reward_predicts_with_the_snapshot_it_was_saved_with() -> None:
    reward = trained_reward()
    before = predicted(reward)
    restored = Played("reward", reward.job.get_state(), labels=4)
    assert of(AnswersPredicted, restored.turn(PredictionsRequested(5))) == []  # answers must be replayed first
    answers = [PreferenceAdded(preference(number)) for number in range(5)]
    (found,) = of(AnswersPredicted, restored.turn(*answers, AnswersReplayed()))
    assert found.generation == 1 and found.left.tolist() == before.left.tolist()
