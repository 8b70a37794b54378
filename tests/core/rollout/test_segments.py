"""Segments cut from rollouts, and the pool that keeps a sample of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from core.envs.base import Step
from core.io.segment_codec import CompressedSegment
from core.rollout.segments import SegmentBuilder, SegmentPool
from core.types import Segment
from tests.core.builders import segment

SIZES = (2, 1, 3)


class Batch:
    """Minimal environment for a builder."""

    def __init__(self, count: int, kind: type = np.float64, states: int = SIZES[2]) -> None:
        self.sizes = (*SIZES[:2], states)
        self.count = count
        self.states = np.zeros((count, states), kind)


def new_builder(environments: int = 2, length: int = 3, stagger: tuple[int, ...] = ()) -> SegmentBuilder:
    return SegmentBuilder(Batch(environments), length, np.array(stagger or (0,) * environments))


def step_with(rewards: np.ndarray, ended: np.ndarray, diverged: np.ndarray) -> Step:
    none = np.zeros((0, 0), np.float32)
    return Step(none, rewards, ended, none, [], np.zeros(0, np.int64), diverged)


def feed(
    builder: SegmentBuilder,
    steps: range,
    ends: dict[int, int] | None = None,
    clip_available: Callable[[int], tuple[bool, ...]] | None = None,
    blows: dict[int, int] | None = None,
) -> list[Segment]:
    """Feed steps in which every number of step t of environment n is 100 n + t; return the segments.

    ends: step -> environment whose episode ends with it. blows: the same for failing simulations.
    clip_available: step -> environments with a clip of it; all by default.
    """
    n = builder.get_state()["filled"].size
    found: list[Segment] = []
    for t in steps:
        marks = 100.0 * np.arange(n) + t
        rows = [np.repeat(marks[:, None], size, axis=1) for size in SIZES]
        asked = np.array(clip_available(t) if clip_available else (True,) * n)
        ended, diverged = (np.arange(n) == (which or {}).get(t, -1) for which in (ends, blows))
        observations, actions = (row.astype(np.float32) for row in rows[:2])
        step = step_with(marks.astype(np.float32), ended, diverged)
        found += builder.add(observations, actions, rows[2], step, asked, 1000 + t)
    return found


def marks(one: Segment) -> list[float]:
    columns = {tuple(array[:, 0].tolist()) for array in (one.observations, one.actions, one.states)}
    assert len(columns) == 1  # all arrays of a step stay together
    assert one.true_rewards is not None and columns == {tuple(one.true_rewards.tolist())}
    return list(columns.pop())


def test_no_segment_crosses_the_end_of_an_episode() -> None:
    found = [marks(one) for one in feed(new_builder(), range(10), ends={4: 1})]
    assert [m for m in found if m[0] >= 100] == [[100, 101, 102], [105, 106, 107]]
    assert [m for m in found if m[0] < 100] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


@pytest.mark.parametrize("at", [3, 4, 5])
def test_no_segment_has_a_step_in_which_the_simulation_failed(at: int) -> None:
    """It is not even the last step, although a segment may end together with its episode."""
    found = [marks(one) for one in feed(new_builder(), range(at + 4), blows={at: 1}, ends={at: 1})]
    assert [m for m in found if m[0] >= 100] == [[100, 101, 102], [101 + at, 102 + at, 103 + at]]
    assert [m for m in found if m[0] < 100][:2] == [[0, 1, 2], [3, 4, 5]]


def test_environments_start_at_different_steps_to_spread_their_segments() -> None:
    builder = new_builder(3, 3, stagger=(0, 1, 2))
    first_marks = [[int(marks(s)[0]) for s in feed(builder, range(t, t + 1))] for t in range(6)]
    assert first_marks == [[], [], [0], [101], [202], [3]]


def test_short_segments_leave_a_gap_that_reaches_beyond_the_end_of_an_episode() -> None:
    builder = SegmentBuilder(Batch(2), 1, np.array([0, 2]), gap=3)
    found = [marks(one)[0] for one in feed(builder, range(10), ends={4: 1})]
    assert found == [0, 102, 4, 106, 8]


def test_a_segment_does_not_change_when_later_ones_are_cut() -> None:
    builder = new_builder(1)
    (one,) = feed(builder, range(3))
    assert one.env_steps == 1002
    feed(builder, range(50, 56))
    assert marks(one) == [0, 1, 2]


def test_a_restored_builder_continues_in_the_middle_of_a_segment() -> None:
    first, second = new_builder(), new_builder(stagger=(2, 2))
    feed(first, range(5))
    second.set_state({name: array.copy() for name, array in first.get_state().items()}, first.last_id)
    found = feed(second, range(5, 6))
    assert [marks(one) for one in found] == [[3, 4, 5], [103, 104, 105]]
    assert [one.id for one in found] == [3, 4]


def test_a_builder_refuses_a_state_of_another_size_and_restarts_without_captured_environments() -> None:
    given = new_builder().get_state()
    for name in ("filled", "observations", "rewards"):
        with pytest.raises(ValueError, match=f"{name} of a segment in progress has shape"):
            new_builder().set_state({**given, name: given[name][:1]}, 0)
    builder = SegmentBuilder(Batch(3), 3, np.zeros(3, np.int64), shown=2)
    builder.set_state(new_builder(3).get_state(), 7)
    assert builder.last_id == 7 and not builder.get_state()["filled"].any()


def test_segments_contain_only_steps_that_clips_can_show() -> None:
    builder = new_builder(1, 3, stagger=(1,))
    found = feed(builder, range(20), clip_available=lambda t: (t % 7 < 4,))
    assert [marks(one) for one in found] == [[1, 2, 3], [7, 8, 9], [14, 15, 16]]


def test_nothing_is_stored_of_environments_without_clips() -> None:
    builder = SegmentBuilder(Batch(3), 3, np.zeros(3, np.int64), shown=2)
    none = np.zeros((0, 0), np.float32)
    found: list[Segment] = []
    for t in range(7):
        marks_ = 100.0 * np.arange(3) + t
        rows = [np.repeat(marks_[:, None], size, axis=1) for size in SIZES]
        observations, actions = (row.astype(np.float32) for row in rows[:2])
        failed, ended = np.arange(3) == (1 if t == 1 else -1), np.arange(3) == (2 if t == 4 else -1)
        step = Step(none, marks_.astype(np.float32), ended, none, [], np.zeros(0, np.int64), failed)
        found += builder.add(observations, actions, rows[2], step, np.array([True, t != 0, False]), t)
    assert [marks(one) for one in found] == [[0, 1, 2], [102, 103, 104], [3, 4, 5]]
    assert all(len(array) == 2 for array in builder.get_state().values())


def test_each_picture_is_stored_once_and_observations_are_restored() -> None:
    """Two games run: in step 4 the second has no clip, so that its segment starts over; in step 10 neither has one."""
    steps, depth, side = 12, 4, 3
    films = np.random.default_rng(0).integers(0, 256, (2, steps + depth - 1, side, side), np.uint8)
    seen = np.stack([films[:, t : t + depth].reshape(2, -1) for t in range(steps)])
    batch = Batch(2, kind=np.uint8)
    batch.sizes = (depth * side**2, *SIZES[1:])
    builder = SegmentBuilder(batch, 5, np.zeros(2, np.int64), (depth, side, side))
    zeros, no = np.zeros((2, 1), np.float32), np.zeros(2, np.bool_)
    found = []
    for t in range(steps):
        asked = np.array([True, t != 4]) & (t != 10)
        found += builder.add(seen[t], zeros, batch.states, step_with(zeros[:, 0], no, no), asked, 2 * t)
    begins = [(0, 0), (0, 5), (1, 5)]
    for one, (game, first) in zip(found, begins, strict=True):
        assert isinstance(one, CompressedSegment) and one.pictures.shape == (5 + depth - 1, side, side)
        assert np.array_equal(one.observations, seen[first : first + 5, game])


def test_a_builder_with_pictures_restarts_from_a_state_without() -> None:
    plain, pictured = new_builder(), SegmentBuilder(Batch(2, states=7), 3, np.zeros(2, np.int64))
    feed(plain, range(5))
    pictured.set_state(plain.get_state(), plain.last_id)
    assert pictured.last_id == 2 and not pictured.get_state()["filled"].any()


@pytest.mark.parametrize(("added", "kept"), [(2, [0, 1]), (3, [0, 1, 2]), (7, [4, 5, 6])])
def test_the_pool_keeps_the_latest(added: int, kept: list[int]) -> None:
    pool = filled_pool(3, 0.0, added)
    assert [one.id for one in pool] == kept
    assert len(pool) == len(kept)


def filled_pool(capacity: int, old_share: float, added: int, seed: int = 0) -> SegmentPool:
    pool = SegmentPool(capacity, old_share, np.random.default_rng(seed))
    for number in range(added):
        pool.add(segment(number))
    return pool


def test_half_of_the_pool_is_an_even_sample_of_all_earlier_segments() -> None:
    pools = [filled_pool(8, 0.5, 40, seed) for seed in range(300)]
    assert all([one.id for one in pool][4:] == [36, 37, 38, 39] and len(pool) == 8 for pool in pools)
    drawn = np.bincount([one.id for pool in pools for one in list(pool)[:4]], minlength=36)
    assert len(drawn) == 36 and drawn.min() > 15 and drawn.max() < 60  # 33 expected of each


def test_segments_of_a_finish_displace_none_from_before_it() -> None:
    pool = filled_pool(8, 0.5, 40)
    for number in range(40, 60):  # the first four displace the latest from before the finish
        pool.add(replace(segment(number), env_steps=10**9), before=10**9)
    assert [one.id for one in pool][4:] == [56, 57, 58, 59] and pool.counts == (4, 40)
    assert max([one.id for one in pool][:4]) < 40
    for number in range(60, 200):
        pool.add(replace(segment(number), env_steps=2 * 10**9))
    assert [one.id for one in pool][4:] == [196, 197, 198, 199] and pool.counts == (4, 180)


def test_a_restored_pool_keeps_to_its_configured_size() -> None:
    large, small = filled_pool(16, 0.5, 40), SegmentPool(8, 0.5, np.random.default_rng(0))
    small.restore(list(large), large.counts)
    assert [one.id for one in small] == [one.id for one in list(large)[:4]] + [36, 37, 38, 39]
    small.add(segment(40))
    assert len(small) == 8 and [one.id for one in small][-1] == 40


def test_a_restored_pool_continues_its_sample() -> None:
    rngs = [np.random.default_rng(1) for _ in range(2)]
    pool, again = (SegmentPool(8, 0.5, rng) for rng in rngs)
    for number in range(60):
        if number == 20:
            again.restore(list(pool), pool.counts)
            rngs[1].bit_generator.state = rngs[0].bit_generator.state
        for kept in (pool, again) if number >= 20 else (pool,):
            kept.add(segment(number))
    assert [one.id for one in again] == [one.id for one in pool]
