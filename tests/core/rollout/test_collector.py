"""Rewards of one collector's environments, and the batches of several as one."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from core.rollout.collector import Collector, RolloutBatch, at_once, collect, join_batches
from core.rollout.segments import SegmentBuilder
from tests.core.builders import tiny
from tests.core.robot_toys import MakeBatch


def collected(**changes: object) -> RolloutBatch:
    config = tiny(**changes)
    collector = Collector(config, 0, np.zeros(config.rollout.environments, np.int64), threads=1)
    with closing(collector.env):
        return at_once(collector.collect(0))


def test_the_chosen_true_reward_is_given_at_every_step() -> None:
    own, openai = collected(), collected(true_reward="openai")
    assert (own.observations == openai.observations).all()
    o, a = openai.observations, openai.carried_out
    push = (a * o[..., 9:12]).sum(axis=-1)
    expected = -o[..., 8] * (1 + 0.3 * o[..., 0] + 0.1 * push - 0.05 * o[..., 6])
    assert openai.true_rewards == pytest.approx(expected, abs=1e-4)
    assert np.abs(own.true_rewards - expected).max() > 0.5


def test_a_segment_has_the_chosen_true_reward() -> None:
    batch = collected(true_reward="openai", query__segment_steps=8)
    sums = sorted(float(one.true_rewards.sum()) for one in batch.segments if one.true_rewards is not None)
    first = batch.true_rewards[:8].sum(axis=0)  # the next ones begin one usual clip length later
    assert sums == pytest.approx(sorted(first.tolist()), abs=1e-4)


def test_a_segment_has_the_actions_as_they_were_carried_out(batch: MakeBatch) -> None:
    env = batch()
    loud = np.array([[3.0, -2.0, 0.5]] * 4, np.float32), np.zeros(4, np.float32)
    collected = at_once(collect(env, lambda _: loud, 4, SegmentBuilder(env, 4, np.zeros(4, np.int64))))
    assert (collected.actions == loud[0]).all() and len(collected.segments) == 4
    assert all((one.actions == [1, -1, 0.5]).all() for one in collected.segments)


@pytest.mark.parametrize(
    ("interval", "teacher", "varied"), [(0, "oracle", 8), (10**9, "oracle", 0), (0, "none", 0)], ids=str
)
def test_robots_start_in_any_way_unless_answers_come_fast(interval: int, teacher: str, varied: int) -> None:
    settings = {"rollout__varied_starts": 0.5, "reward__answer_interval": interval, "rollout__environments": 16}
    collector = Collector(tiny(teacher=teacher, **settings), 0, np.zeros(16, np.int64), threads=1)
    with closing(collector.env):
        assert collector.env.varied.sum() == varied


def ended(mark: int, *ends: tuple[int, int]) -> RolloutBatch:
    """Return three steps of three environments with these ends, given by step and row."""
    nothing, flags = np.zeros((3, 3, 1), np.float32), np.zeros((3, 3), np.bool_)
    flags[tuple(zip(*ends, strict=True))] = True
    seen = np.array([[100 * (step + 1) + mark + row] for step, row in ends], np.float32)
    return RolloutBatch(nothing, nothing, *[nothing[..., 0]] * 2, flags, seen, nothing[0], [], [], 0)


def test_ends_are_joined_in_the_order_of_steps_and_rows() -> None:
    joined = join_batches([ended(0, (0, 2), (2, 0), (2, 1)), ended(10, (0, 0), (1, 1), (1, 2), (2, 2))])
    assert joined.end_observations[:, 0].tolist() == [102, 110, 211, 212, 300, 301, 312]
    assert np.argwhere(joined.ends).tolist() == [[0, 2], [0, 3], [1, 4], [1, 5], [2, 0], [2, 1], [2, 5]]
