"""With reward.steps_per_label, a round is spread over the batches between two rounds if jobs run in turns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.events import (
    AnswersJudged,
    AnswersReplayed,
    Event,
    JobSpec,
    JobState,
    JudgementRequested,
    PolicyPublished,
    PreferenceAdded,
    RewardFitted,
    RewardPublished,
)
from core.headless.lockstep import LocalPort
from core.jobs.reward import published_weights
from tests.core.builders import preference, tiny

ANSWERS = [PreferenceAdded(preference(number)) for number in range(4)]
BATCH = 8 * 32
PACED = {"reward__epochs": 6, "reward__steps_per_label": BATCH / 10}
"""Ten answers a batch."""


def reward(state: JobState | None = None, **changes: Any) -> LocalPort:
    """After its first round, or restored."""
    port = LocalPort(JobSpec("reward", tiny(labels=4, **changes).to_dict(), state), 1)
    told = turn(port, *ANSWERS, AnswersReplayed())
    assert state or len(told) == 1  # the first round is whole
    return port


def turn(port: LocalPort, *events: Event) -> list[RewardPublished]:
    for event in events:
        port.send(event)
    port.start_turn()
    return [event for event in port.finish_turn() if isinstance(event, RewardPublished)]


def due() -> PolicyPublished:
    """Enough batches later for a round."""
    return PolicyPublished(6 * 4 * BATCH, {})


def test_a_turn_passes_as_many_answers_as_go_with_a_batch() -> None:
    """Epochs of four answers: three are twelve, two more make ten with what was left, and the last is one alone."""
    port = reward(**PACED)
    assert [len(told) for told in (turn(port, due()), turn(port), turn(port), turn(port))] == [0, 0, 1, 0]


def test_without_a_pace_a_round_is_one_turn() -> None:
    port = reward(reward__epochs=6)
    assert len(turn(port, PolicyPublished(1, {}))) == 1


def test_an_epoch_that_is_more_than_a_batch_is_worth_is_a_turn_of_its_own() -> None:
    port = reward(reward__epochs=3, reward__steps_per_label=BATCH / 2)
    assert [len(told) for told in (turn(port, due()), turn(port), turn(port))] == [0, 0, 1]


def test_what_is_learned_is_the_same_spread_or_not() -> None:
    spread, whole = reward(**PACED), reward(reward__epochs=6, reward__steps_per_label=1e-3)
    (expected,) = turn(whole, due())
    told = turn(spread, due()) + turn(spread) + turn(spread)
    assert all(np.array_equal(told[0].weights[name], array) for name, array in expected.weights.items())


@pytest.mark.parametrize("turns", [1, 2])
def test_one_saved_between_two_turns_of_a_round_goes_on_bit_for_bit(turns: int) -> None:
    port = reward(**PACED)
    turn(port, due())
    for _ in range(turns - 1):
        turn(port)
    state = port.state()
    assert state.values["epochs_left"] == (3, 1)[turns - 1]
    restored = LocalPort(JobSpec("reward", tiny(labels=4, **PACED).to_dict(), state), 1)
    expected = [told for _ in range(4 - turns) for told in turn(port)]
    got = turn(restored, *ANSWERS, AnswersReplayed()) + [told for _ in range(3 - turns) for told in turn(restored)]
    assert len(expected) == len(got) == 1
    assert all(np.array_equal(got[0].weights[name], array) for name, array in expected[0].weights.items())
    assert turn(port) == turn(restored) == []
    one, other = port.state().values, restored.state().values
    assert one == other


def test_a_round_that_came_due_during_another_comes_after_it() -> None:
    port = reward(**PACED)
    turn(port, due())
    later = PolicyPublished(2 * 6 * 4 * BATCH, {})
    assert [len(told) for told in (turn(port, later), *(turn(port) for _ in range(5)))] == [0, 1, 0, 0, 1, 0]


def test_a_state_amid_a_round_tells_what_was_published_last() -> None:
    """Not the weights that are moving: the history and others judge by it."""
    port = reward(**PACED)
    (published,) = turn(port, due()) + turn(port) + turn(port)
    between = published_weights(port.state())
    assert between is not None
    assert all(np.array_equal(between[name], array) for name, array in published.weights.items())
    turn(port, PolicyPublished(2 * 6 * 4 * BATCH, {}))
    amid = port.state()
    assert amid.values["in_round"]
    restored = LocalPort(JobSpec("reward", tiny(labels=4, **PACED).to_dict(), amid), 1)
    for event in (*ANSWERS, AnswersReplayed()):
        restored.send(event)
    again = restored.state()  # before its first turn
    assert again.values == amid.values
    for state in (amid, again):
        told, moving = published_weights(state), state.arrays["ensemble_network.weights.0"]
        assert told is not None and not np.array_equal(told["network.weights.0"], moving)
        assert all(np.array_equal(told[name], array) for name, array in published.weights.items())
    restored.send(JudgementRequested(1))
    restored.start_turn()
    (judged,) = [event for event in restored.finish_turn() if isinstance(event, AnswersJudged)]
    assert judged.generation == published.generation and len(judged.ids) == 4


def test_what_a_round_took_is_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10**6))
    monkeypatch.setattr("core.jobs.reward.time.perf_counter", lambda: next(clock))
    port = reward(**PACED)
    port.send(due())
    seconds = []
    for _ in range(3):
        port.start_turn()
        seconds += [event.seconds for event in port.finish_turn() if isinstance(event, RewardFitted)]
        for _ in range(1000):
            next(clock)
    # Six epochs of a gradient step, an evaluation and an end: each is one from tick to tick.
    assert seconds == [6 * 3]
