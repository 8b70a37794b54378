"""Demonstrations, and replays of earlier policies."""

from __future__ import annotations

import numpy as np
import pytest

from core.events import DemonstrationRecorded, PreferenceAdded, Waited
from core.nn.state import state_arrays
from core.preferences.schedule import HOLDS
from core.rollout.actor import Actor, build_policy
from core.service_events import ClipsRendered, ClipsRequested, ReplayRefused, ReplayRendered, ReplayRequested
from core.tasks import get_task
from tests.core.builders import preference, segment
from tests.core.played import Played, of, published, rewarded

MEASURES = {f"{name}_per_episode" for name in ("backflips", "clean_backflips", "upright_landings", "clean_landings")}


def test_a_demonstration_is_one_episode_without_noise_with_its_measure() -> None:
    rollout = Played("rollout", rollout__demonstrate_every=1)
    said = rollout.turn(published(rollout, 0), rewarded(rollout))
    (shown,) = of(DemonstrationRecorded, said)[-1:]
    assert shown.segment.length == get_task(rollout.config.task).episode_steps - 1
    assert shown.measure.keys() == MEASURES
    actor = Actor(rollout.config, None)
    expected, _ = actor(shown.segment.observations)
    assert shown.segment.actions == pytest.approx(np.clip(expected, -1, 1), abs=1e-5)
    assert shown.predicted.shape == (shown.segment.length,)


def test_the_newest_policy_is_recorded_once_while_collecting_rests() -> None:
    held = {"teacher": "human", "query__schedule": "answers", "query__first_labels": 2, "labels": 50}
    changes = {"rollout__steps_per_answer": 512, "rollout__demonstrate_every": 100, "steps": 10**9, "policy__lag": 1}
    rollout = Played("rollout", **held, **changes)
    reward, answers = rewarded(rollout), [PreferenceAdded(preference(number)) for number in range(2)]
    rollout.turn(published(rollout, 0))
    assert not of(DemonstrationRecorded, rollout.turn(*answers, reward))  # two batches have not reached the policy yet
    assert not of(DemonstrationRecorded, rollout.turn(published(rollout, 1)))
    shown, hold = rollout.turn(published(rollout, 2))
    assert isinstance(shown, DemonstrationRecorded) and isinstance(hold, Waited) and hold.reason == HOLDS
    assert [type(event) for event in rollout.turn() + rollout.turn()] == [Waited, Waited]
    rollout.turn(PreferenceAdded(preference(2)))
    assert (
        len(of(DemonstrationRecorded, rollout.turn(published(rollout, 3)) + rollout.turn(published(rollout, 4)))) == 1
    )


def replayed(clips: Played, token: int = 7) -> list[ReplayRendered]:
    weights = state_arrays(build_policy(clips.config))
    return of(ReplayRendered, clips.turn(ReplayRequested(token, weights, 32, 10.0)))


def test_an_earlier_policy_acts_and_is_rendered() -> None:
    clips = Played("clips")
    (before,) = replayed(clips)
    assert before.token == 7 and before.clip.pixels.shape == (80, 32, 32, 3) and before.clip.fps == 10.0
    assert before.predicted.shape == (0,)  # no reward has been fitted
    assert before.measure.keys() == MEASURES
    clips.job.receive(rewarded(Played("rollout")))
    (after,) = replayed(clips)
    assert after.predicted.shape == (319,) and after.predicted.std() == pytest.approx(1, abs=1e-3)
    assert (after.clip.pixels == before.clip.pixels).all()  # every replay starts the same


def test_only_the_last_requested_policy_is_replayed_and_pairs_come_first() -> None:
    clips = Played("clips")
    weights = state_arrays(build_policy(clips.config))
    pair = tuple(segment(number) for number in (1, 2))
    drawn = clips.turn(
        ReplayRequested(1, weights, 16, 5.0), ReplayRequested(2, weights, 16, 5.0), ClipsRequested(3, pair, 16, 30.0)
    )
    assert [(type(event), event.token) for event in drawn[:2]] == [(ClipsRendered, 3), (ReplayRendered, 2)]


def test_the_newest_of_several_urgent_pairs_is_rendered_first() -> None:
    """Several undos request a pair each, and only the last one is shown."""
    clips, first = Played("clips"), (False, False, True, True)
    drawn = clips.turn(*(ClipsRequested(token, (segment(1),), 32, 10.0, first[token]) for token in range(4)))
    assert [event.token for event in of(ClipsRendered, drawn)] == [3, 2, 0, 1]


def test_weights_of_another_session_are_refused_and_pairs_still_drawn() -> None:
    clips = Played("clips")
    (refused,) = of(ReplayRefused, clips.turn(ReplayRequested(1, {"weights": np.zeros(3, np.float32)}, 16, 5.0)))
    assert refused.token == 1 and "not from this session" in refused.reason
    assert len(of(ClipsRendered, clips.turn(ClipsRequested(2, (segment(1),), 16, 30.0)))) == 1
