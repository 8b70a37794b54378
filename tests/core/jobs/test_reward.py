"""The reward job: training, publishing, spreading a round over turns, and resuming."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from core.errors import NotFiniteError
from core.events import (
    AnswersPredicted,
    AnswersReplayed,
    Event,
    JobSpec,
    JobState,
    PolicyPublished,
    PredictionsRequested,
    PreferenceAdded,
    PreferenceChanged,
    PreferenceWithdrawn,
    RewardFitted,
    RewardPublished,
    RewardRequested,
    Waited,
)
from core.headless.lockstep import LocalPort
from core.session.job_states import published_weights
from core.types import Choice
from tests.core.builders import preference, same, tiny
from tests.core.played import Played, of, trained_reward, turn


def test_the_first_round_waits_for_the_answers_about_the_untrained_policy() -> None:
    reward = Played("reward", labels=12)  # a quarter of them
    reward.turn(AnswersReplayed())
    for number in range(2):
        assert of(RewardFitted, reward.turn(PreferenceAdded(preference(number)))) == []
    assert of(RewardFitted, reward.turn(PreferenceAdded(preference(2, Choice.CANT_TELL)))) == []
    events = reward.turn(PreferenceAdded(preference(3)))
    assert [fitted.preferences for fitted in of(RewardFitted, events)] == [3]
    assert len(of(RewardPublished, events)) == 1


def test_a_first_fit_whose_answers_are_undone_meanwhile_is_not_published() -> None:
    reward = Played("reward", labels=12, reward__epochs_first=20)
    reward.turn(AnswersReplayed(), *(PreferenceAdded(preference(number)) for number in range(2)))
    reward.job.receive(PreferenceAdded(preference(2)))
    events = reward.job.run()
    assert next(events) is None  # the fit has begun
    for number in range(3):
        reward.job.receive(PreferenceWithdrawn(number))
    said = [event for event in itertools.takewhile(lambda event: not isinstance(event, Waited), events) if event]
    assert of(RewardPublished, said) == of(RewardFitted, said) == []
    events = reward.turn(*(PreferenceAdded(preference(number)) for number in range(3, 6)))
    assert [fitted.preferences for fitted in of(RewardFitted, events)] == [3]
    assert len(of(RewardPublished, events)) == 1


def test_the_latest_snapshot_is_published_again_on_request() -> None:
    reward = Played("reward", labels=4)
    reward.turn(AnswersReplayed())
    assert of(RewardPublished, reward.turn(RewardRequested())) == []
    (first,) = of(RewardPublished, reward.turn(*(PreferenceAdded(preference(number)) for number in range(2))))
    (again,) = of(RewardPublished, reward.turn(RewardRequested()))
    assert same(again.weights, first.weights)
    assert of(RewardPublished, reward.turn()) == []


def test_a_request_for_the_snapshot_during_a_round_is_met_by_its_end() -> None:
    reward = Played("reward", labels=4)
    reward.turn(AnswersReplayed(), *(PreferenceAdded(preference(number)) for number in range(2)))
    reward.job.receive(PreferenceAdded(preference(2)))
    events = reward.job.run()
    next(events)
    reward.job.receive(RewardRequested())
    said = [event for event in itertools.takewhile(lambda event: not isinstance(event, Waited), events) if event]
    assert len(of(RewardPublished, said)) == 1


def test_the_first_round_is_a_long_one() -> None:
    reward = Played("reward", labels=4, reward__epochs_first=200, reward__epochs=3)
    reward.turn(AnswersReplayed())
    epochs = []
    for news in (PreferenceAdded(preference(1)), PreferenceAdded(preference(2))):
        reward.job.receive(news)
        events = itertools.takewhile(lambda event: not isinstance(event, Waited), reward.job.run())
        epochs.append(sum(event is None for event in events))
    # One event after the only gradient step of an epoch, one at its end; with two answers, one after validation too.
    assert epochs == [2 * 200, 3 * 3]


def test_with_paced_rounds_no_answer_starts_one_or_is_called_fitted() -> None:
    reward = Played("reward", labels=4, reward__steps_per_label=1e9)
    reward.turn(AnswersReplayed(), PreferenceAdded(preference(1)))
    answers = [PreferenceAdded(preference(2)), PreferenceChanged(preference(2, Choice.TIE)), PreferenceWithdrawn(2)]
    for news in answers:
        said = reward.turn(news)
        assert of(RewardPublished, said) == []
        assert [wait.reason for wait in of(Waited, said)] == ["new answers wait for the next reward fit"]


@pytest.mark.parametrize("breaths", [1, 3, None])
def test_a_reward_saved_during_its_first_round_repeats_it(breaths: int | None) -> None:
    """Otherwise all jobs would wait for each other forever. None: the state between the last two events."""
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


def test_with_small_batches_rounds_come_once_in_a_few_policies() -> None:
    reward = Played("reward", labels=4, reward__interval=700, rollout__environments=16, rollout__steps=20)
    reward.turn(AnswersReplayed())
    for number in (1, 2, 3, 4):
        reward.turn(PreferenceAdded(preference(number)))
    rounds = [bool(of(RewardPublished, reward.turn(PolicyPublished(version, {})))) for version in range(1, 7)]
    assert rounds == [False, False, True, False, False, True]  # 700 steps are more than two batches of 320


def test_a_weight_that_is_not_finite_is_never_published(monkeypatch: pytest.MonkeyPatch) -> None:
    reward = trained_reward()
    trainer = reward.job.trainer
    epochs = trainer.epochs

    def spoiled(count: int) -> Iterator[Any]:
        *_, last = epochs(count)
        with torch.no_grad():
            trainer.ensemble.network.weights[0][0, 0, 0] = float("nan")  # after the last loss
        yield last

    monkeypatch.setattr(trainer, "epochs", spoiled)
    with pytest.raises(NotFiniteError, match="reward fit: a weight"):
        reward.turn(PolicyPublished(1, {}))


NEWS = [
    PreferenceAdded(preference(9)),
    PreferenceWithdrawn(3),
    PreferenceChanged(preference(3, Choice.TIE)),
    PreferenceChanged(preference(3, Choice.CANT_TELL)),
    PolicyPublished(1, {}),
]


@pytest.mark.parametrize("news", NEWS)
def test_each_change_of_the_answers_causes_one_more_round(news: Event) -> None:
    reward = trained_reward()
    assert of(RewardFitted, reward.turn()) == []
    assert len(of(RewardPublished, reward.turn(news))) == 1
    assert of(RewardFitted, reward.turn()) == []


def test_without_answers_there_is_nothing_to_fit() -> None:
    reward = trained_reward()
    assert of(RewardFitted, reward.turn(*(PreferenceWithdrawn(number) for number in range(5)))) == []
    (fitted,) = of(RewardFitted, reward.turn(PreferenceAdded(preference(6))))
    assert fitted.preferences == 1


@pytest.mark.parametrize("restores", [False, True])
def test_the_only_answer_withdrawn_during_the_first_fit_ends_it_unpublished(restores: bool) -> None:
    reward = Played("reward", labels=4, reward__epochs_first=3)
    reward.job.receive(PreferenceAdded(preference(1)))
    reward.job.receive(AnswersReplayed())
    if restores:
        list(itertools.islice(reward.job.run(), 3))  # in the middle of the second epoch
        reward = Played("reward", reward.job.get_state(), labels=4, reward__epochs_first=3)
        reward.job.receive(PreferenceAdded(preference(1)))
        reward.job.receive(AnswersReplayed())
    events = reward.job.run()
    assert next(events) is None  # in the middle of an epoch
    reward.job.receive(PreferenceWithdrawn(1))
    said = list(itertools.takewhile(lambda event: not isinstance(event, Waited), events))
    assert of(RewardFitted, said) == of(RewardPublished, said) == []
    assert of(RewardFitted, reward.turn()) == []
    assert [fitted.preferences for fitted in of(RewardFitted, reward.turn(PreferenceAdded(preference(2))))] == [1]


def test_a_restored_reward_keeps_its_state_and_waits_until_all_answers_are_replayed() -> None:
    saved = trained_reward().job.get_state()
    restored = Played("reward", saved, labels=4)
    assert of(RewardFitted, restored.turn(PreferenceAdded(preference(0)), PolicyPublished(3, {}))) == []
    again = restored.job.get_state()
    assert again.values == saved.values and same(again.arrays, saved.arrays)


def test_a_restored_reward_that_has_all_answers_waits_for_none() -> None:
    restored = Played("reward", trained_reward().job.get_state(), labels=4)
    said = restored.turn(*(PreferenceAdded(preference(number)) for number in range(5)), AnswersReplayed())
    assert [wait.reason for wait in of(Waited, said)] == ["the reward is fitted to all answers"]


ANSWERS = [PreferenceAdded(preference(number)) for number in range(4)]
BATCH = 8 * 32
PACED = {"reward__epochs": 6, "reward__steps_per_label": BATCH / 10}
"""Ten answers a batch."""


def reward(state: JobState | None = None, **changes: Any) -> LocalPort:
    """Return a reward job after its first round, or restored from a state."""
    port = LocalPort(JobSpec("reward", tiny(labels=4, **changes).to_dict(), state), 1)
    events = turn(port, *ANSWERS, AnswersReplayed())
    assert state or len(events) == 1  # the first round is complete
    return port


def due() -> PolicyPublished:
    """Return the event that makes a round due."""
    return PolicyPublished(6 * 4 * BATCH, {})


def test_a_turn_passes_as_many_answers_as_go_with_a_batch() -> None:
    """Turns have three, two and one epochs of four answers; answers left over from a turn count for the next."""
    port = reward(**PACED)
    assert [len(events) for events in (turn(port, due()), turn(port), turn(port), turn(port))] == [0, 0, 1, 0]


def test_an_epoch_longer_than_the_share_of_a_batch_is_a_turn_of_its_own() -> None:
    port = reward(reward__epochs=3, reward__steps_per_label=BATCH / 2)
    assert [len(events) for events in (turn(port, due()), turn(port), turn(port))] == [0, 0, 1]


def test_a_round_due_during_another_follows_it() -> None:
    port = reward(**PACED)
    turn(port, due())
    later = PolicyPublished(2 * 6 * 4 * BATCH, {})
    assert [len(events) for events in (turn(port, later), *(turn(port) for _ in range(5)))] == [0, 1, 0, 0, 1, 0]


def test_a_state_during_a_round_has_the_last_published_snapshot() -> None:
    """It does not have the weights in training, because predictions for the history use it."""
    port = reward(**PACED)
    (published,) = turn(port, due()) + turn(port) + turn(port)
    between = published_weights(port.state())
    assert all(np.array_equal(between[name], array) for name, array in published.weights.items())
    turn(port, PolicyPublished(2 * 6 * 4 * BATCH, {}))
    amid = port.state()
    assert amid.values["in_round"]
    restored = LocalPort(JobSpec("reward", tiny(labels=4, **PACED).to_dict(), amid), 1)
    for event in (*ANSWERS, AnswersReplayed()):
        restored.send(event)
    again = restored.state()  # before the first turn
    assert again.values == amid.values
    for state in (amid, again):
        weights, moving = published_weights(state), state.arrays["ensemble_network.weights.0"]
        assert not np.array_equal(weights["network.weights.0"], moving)
        assert all(np.array_equal(weights[name], array) for name, array in published.weights.items())
    restored.send(PredictionsRequested(1))
    restored.start_turn()
    (predicted,) = [event for event in restored.finish_turn() if isinstance(event, AnswersPredicted)]
    assert predicted.generation == amid.values["generation"] and len(predicted.ids) == 4
