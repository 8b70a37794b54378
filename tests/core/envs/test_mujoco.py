"""Batched physics compared with MuJoCo itself. (tests/core/tasks/test_robots.py compares with Gymnasium.)"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from core.envs.mujoco import MujocoVectorEnv, Step
from core.robots.models import load_model
from core.robots.physics import largest_state
from core.rollout.collector import at_once, collect
from core.rollout.segments import SegmentBuilder
from core.tasks import get_task
from tests.core.robot_toys import MakeBatch

HOPPER = get_task("hopper-backflip")
SHORT = dataclasses.replace(HOPPER, episode_steps=12)


def random_actions(count: int, steps: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.2, 1.2, (steps, count, 3)).astype(np.float32)


def test_environments_are_independent(batch: MakeBatch) -> None:
    both, alone = (batch(environments=count) for count in (2, 1))
    alone.set_state({name: np.array(array[1:] if array.ndim else array) for name, array in both.get_state().items()})
    for action in random_actions(2, 30):
        both.step(action)
        alone.step(action[1:])
    assert (both.states[1] == alone.states[0]).all()


def ends_of(env: MujocoVectorEnv, steps: int) -> tuple[np.ndarray, list[Step]]:
    taken = [env.step(action) for action in random_actions(env.count, steps)]
    return np.stack([step.ended for step in taken]), taken


def test_episodes_have_one_length_and_only_whole_ones_are_reported(batch: MakeBatch) -> None:
    """They are reported with the sum of their rewards. Environments start at different ages to spread the ends over time."""
    ends, taken = ends_of(batch(SHORT, staggered=True), 26)
    assert sorted(np.flatnonzero(column)[0] for column in ends.T) == [2, 5, 8, 11]
    assert all(np.diff(np.flatnonzero(column)).tolist() == [12] for column in ends.T)
    assert [len(step.finished) for step in taken] == [int(t in (11, 14, 17, 20, 23)) for t in range(26)]
    rewards = np.stack([step.true_rewards for step in taken])
    for t, step in enumerate(taken):
        for row, (total, _) in zip(step.finished_rows, step.finished, strict=True):
            assert total == pytest.approx(float(rewards[t - 11 : t + 1, row].sum(dtype=np.float64)), rel=1e-5)
    together, _ = ends_of(batch(SHORT), 40)
    assert [np.flatnonzero(column).tolist() for column in together.T] == [[11, 23, 35]] * 4


def test_an_episode_ends_with_its_own_observation_before_a_fresh_start(batch: MakeBatch) -> None:
    env, twin = batch(SHORT), batch(dataclasses.replace(SHORT, episode_steps=99))
    for action in random_actions(4, 12):
        step, longer = env.step(action), twin.step(action)
    assert (step.end_observations == longer.observations).all()
    assert np.abs(step.observations[:, 0] - 1.25).max() <= 0.005  # upright again except for the noise
    assert (env.observations == step.observations).all()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("broken", [np.nan, 1e15])
def test_a_diverged_robot_is_reset_counted_and_not_reported(batch: MakeBatch, threads: int, broken: float) -> None:
    env = batch(SHORT, environments=3, threads=threads)
    actions = random_actions(3, 24)
    steps = [env.step(action) for action in actions[:5]]
    last_seen = env.observations[1]
    env.states[1, 4] = broken
    steps += [env.step(action) for action in actions[5:]]
    assert env.divergences == 1
    assert [int(np.flatnonzero([s.ended[n] for s in steps])[0]) for n in range(3)] == [11, 5, 11]
    assert [len(s.finished) for s in steps] == [2 * (t in (11, 23)) + (t == 17) for t in range(24)]
    assert all(np.isfinite(s.observations).all() and np.isfinite(s.true_rewards).all() for s in steps)
    assert np.isfinite([total for s in steps for total, _ in s.finished]).all()
    assert np.abs(steps[5].observations[1, 0] - 1.25) <= 0.005
    assert (steps[5].end_observations == last_seen).all() and steps[5].true_rewards[
        1
    ] == 0  # the rewards are not those of a fresh start
    assert np.argwhere([s.diverged for s in steps]).tolist() == [[5, 1]]
    assert not Path("MUJOCO_LOG.TXT").exists()  # the file in which MuJoCo reports warnings


@pytest.mark.parametrize(("number", "value"), [(1, -9e4), (7, 2e3), (12, 2e5)], ids=["place", "speed", "turn"])
def test_a_robot_at_an_absurd_place_or_speed_diverges_before_it_is_observed(
    batch: MakeBatch, number: int, value: float
) -> None:
    env = batch(SHORT, environments=2)
    env.states[1, number] = value
    step = env.step(np.zeros((2, 3), np.float32))
    assert step.diverged.tolist() == [False, True] and env.divergences == 1
    assert np.abs(step.observations).max() < 100 and np.abs(env.states).max() < 100


def test_a_robot_far_from_the_origin_or_in_millimetres_has_not_diverged() -> None:
    model, far = load_model(HOPPER), np.array([2e5, *[0.0] * 5])
    metres, away = largest_state(model, np.zeros(6)), largest_state(model, far)
    assert metres[7] < 5e3 and metres[1] < 2e5 < away[1]
    for gravity in (-9810.0, 0.0):
        model.opt.gravity[2] = gravity
        assert largest_state(model, np.zeros(6))[7] > 5e5


@pytest.mark.parametrize("break_at", [5, 9])
def test_nothing_of_a_divergence_reaches_a_segment_or_the_policy(batch: MakeBatch, break_at: int) -> None:
    env, count = batch(environments=2), iter(range(20))

    def act(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if next(count) == break_at:
            env.states = env.states.copy()
            env.states[1] = np.nan
        return np.zeros((2, 3), np.float32), np.zeros(2, np.float32)

    collected = at_once(collect(env, act, 20, SegmentBuilder(env, 5, np.zeros(2, np.int64)), 0))
    assert len(collected.segments) == 4 + 3  # one of environment 1 was dropped
    for one in collected.segments:
        assert all(np.isfinite(a).all() for a in (one.observations, one.actions, one.states, one.true_rewards))
    for array in (collected.observations, collected.true_rewards, collected.end_observations):
        assert np.isfinite(array).all()


def test_a_task_without_a_true_reward_returns_none(batch: MakeBatch) -> None:
    env = batch(dataclasses.replace(HOPPER, true_reward=None))
    assert np.isnan(env.step(np.zeros((4, 3), np.float32)).true_rewards).all()
