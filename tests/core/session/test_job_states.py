"""Readers of the jobs' states: the fitted reward, and the segments of the pool."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from core.events import JobState
from core.io.segment_codec import compress_segment
from core.session.job_states import (
    has_reward,
    kept_reward,
    pool_arrays,
    pool_segments,
    published_weights,
    request_publication,
)
from core.types import Segment
from tests.core.builders import same, segment

ENSEMBLE, SNAPSHOT, KEPT = (np.full(3, value, np.float32) for value in (1, 2, 3))


def reward_state(generation: int, amid_a_round: bool = False) -> JobState:
    snapshot = {"snapshot_weight": SNAPSHOT} if amid_a_round else {}
    return JobState({"ensemble_weight": ENSEMBLE, "l2": np.zeros(3), **snapshot}, {"generation": generation})


def rollout_state(received: bool) -> JobState:
    return JobState({"reward_weight": KEPT} if received else {}, {})


def test_no_weights_are_published_before_the_first_fit() -> None:
    assert not has_reward(reward_state(0)) and published_weights(reward_state(0)) == {}


@pytest.mark.parametrize(("amid_a_round", "weight"), [(False, ENSEMBLE), (True, SNAPSHOT)])
def test_published_weights_are_not_those_in_training(amid_a_round: bool, weight: np.ndarray) -> None:
    state = reward_state(1, amid_a_round)
    assert has_reward(state) and same(published_weights(state), {"weight": weight})


@pytest.mark.parametrize(("generation", "received", "asked"), [(0, False, False), (1, False, True), (1, True, False)])
def test_a_reward_not_yet_received_by_the_rollout_is_published_again(
    generation: int, received: bool, asked: bool
) -> None:
    states = {"reward": reward_state(generation), "rollout": rollout_state(received)}
    request_publication(states)
    assert states["reward"].values.get("unreceived", False) == asked
    kept = kept_reward(states)
    assert (kept is not None) == received and (kept is None or same(kept.weights, {"weight": KEPT}))


def test_a_checkpoint_without_reward_and_rollout_has_no_reward() -> None:
    request_publication({})
    assert kept_reward({}) is None


def compressed(number: int) -> Segment:
    """Return a segment whose packed pictures take more bytes for higher numbers."""
    pictures = np.zeros((8, 4, 4), np.uint8)
    pictures[:number] = np.random.default_rng(number).integers(256, size=(number, 4, 4))
    return compress_segment(segment(number), pictures)


@pytest.mark.parametrize("make", [segment, compressed])
def test_the_pool_is_read_unchanged(make: Callable[[int], Segment]) -> None:
    pool = [make(number) for number in (2, 5, 7)]
    again = pool_segments(JobState({**pool_arrays(pool), "other": np.zeros(1)}, {}))
    assert [(one.id, one.env_steps) for one in again] == [(one.id, one.env_steps) for one in pool]
    for one, other in zip(again, pool, strict=True):
        assert np.array_equal(one.observations, other.observations) and np.array_equal(one.states, other.states)
        assert np.array_equal(one.actions, other.actions)
    assert pool_arrays([]) == {} and pool_segments(JobState({}, {})) == []
