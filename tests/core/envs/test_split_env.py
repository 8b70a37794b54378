"""Environments in two parts: what is collected, whatever takes turns, and their common state."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from core.envs import make_envs
from core.envs.atari import AtariVectorEnv
from core.envs.base import CaptureSchedule, VectorEnv
from core.envs.mujoco import MujocoVectorEnv
from core.envs.split_env import SplitEnv, parts_of
from core.rollout.collector import Collector, RolloutBatch, collect
from core.rollout.segments import SegmentBuilder
from core.tasks import get_task
from core.tasks.atari import AtariTask
from core.tasks.base import RobotTask
from core.types import Float32, Observations


def robots(count: int, rng: np.random.Generator, apart: bool = False) -> MujocoVectorEnv:
    task = get_task("pendulum")
    assert isinstance(task, RobotTask)
    return MujocoVectorEnv(task, count, rng, threads=1, apart=apart)


def games(count: int, rng: np.random.Generator) -> AtariVectorEnv:
    found = get_task("breakout")
    assert isinstance(found, AtariTask)
    return AtariVectorEnv(found, count, rng, 1, apart=True)


@pytest.fixture
def closing() -> Iterator[Callable[..., Any]]:
    made: list[VectorEnv] = []

    def keep(env: Any) -> Any:
        made.append(env)
        return env

    yield keep
    for env in made:
        env.close()


def by_sight(observations: Observations) -> tuple[Float32, Float32]:
    """Robots: what they do is decided by what they see, so a row that got another's action would show."""
    return np.cos(9 * observations[:, :1]), observations[:, 0]


def in_turn(actions: int) -> Callable[[Observations], tuple[Float32, Float32]]:
    """Games: likewise."""

    def act(observations: Observations) -> tuple[Float32, Float32]:
        chosen = observations.sum(axis=1, dtype=np.int64) % actions
        return np.eye(actions, dtype=np.float32)[chosen], np.zeros(len(observations), np.float32)

    return act


def batch(env: VectorEnv, act: Any, steps: int, length: int = 7) -> RolloutBatch:
    pictures = get_task("pong").pictures if env.depth > 1 else None
    parts = parts_of(env)
    crews = [
        Collector(
            part, act, SegmentBuilder(part, length, np.arange(part.count) % length, pictures, (number, len(parts)))
        )
        for number, part in enumerate(parts)
    ]
    *_, collected = collect(crews, steps, 0)
    assert collected is not None
    return collected


def test_what_takes_turns_does_what_its_parts_do_alone(closing: Callable[..., Any]) -> None:
    """Ends of episodes are among it, and breaths."""
    steps = get_task("pendulum").episode_steps
    halves = closing(SplitEnv([robots(n, np.random.default_rng(n), apart=True) for n in (3, 2)]))
    alone = [closing(robots(n, np.random.default_rng(n))) for n in (3, 2)]
    together, parts = batch(halves, by_sight, steps), [batch(env, by_sight, steps) for env in alone]
    assert together.ends.any()
    for name in ("observations", "actions", "log_probs", "true_rewards", "ends"):
        expected = np.concatenate([getattr(part, name) for part in parts], axis=1)
        assert np.array_equal(getattr(together, name), expected), name


def test_ends_are_told_in_the_order_of_steps_and_rows(closing: Callable[..., Any]) -> None:
    halves = closing(SplitEnv([closing(robots(n, np.random.default_rng(n), apart=True)) for n in (3, 2)]))
    steps = get_task("pendulum").episode_steps
    seen = batch(halves, by_sight, steps)
    times, rows = np.nonzero(seen.ends)
    assert len(times) == len(seen.end_observations) == 5
    again = closing(SplitEnv([closing(robots(n, np.random.default_rng(n))) for n in (3, 2)]))
    ends = []
    for t in range(steps):
        assert np.array_equal(seen.observations[t], again.observations)
        actions, _ = by_sight(again.observations)
        again.begin(actions)
        step = again.step(actions)
        assert np.array_equal(step.ended, seen.ends[t])
        ends.append(step.end_observations)
    assert np.array_equal(seen.end_observations, np.concatenate(ends))
    assert np.array_equal(seen.last_observations, again.observations)


def test_segments_are_of_one_row_each_and_have_what_it_saw_and_did(closing: Callable[..., Any]) -> None:
    halves = closing(SplitEnv([closing(robots(n, np.random.default_rng(n), apart=True)) for n in (3, 2)]))
    seen = batch(halves, by_sight, 60)
    found = np.zeros(5, np.int64)
    for segment in seen.segments:
        t = segment.env_steps // 5 - 6
        (row,) = np.flatnonzero((seen.observations[t : t + 7] == segment.observations[:, None]).all(axis=(0, 2)))
        assert np.array_equal(segment.observations, seen.observations[t : t + 7, row])
        assert np.array_equal(segment.actions, seen.carried_out[t : t + 7, row])
        assert np.array_equal(segment.true_rewards, seen.true_rewards[t : t + 7, row])
        found[row] += 1
    assert found.min() >= 7 and len({segment.id for segment in seen.segments}) == len(seen.segments)


@pytest.mark.parametrize("task", ["pendulum", "breakout"])
def test_it_is_the_same_however_many_cores_there_are(task: str, closing: Callable[..., Any]) -> None:
    count, act = (256, by_sight) if task == "pendulum" else (8, in_turn(4))
    envs = [closing(make_envs(get_task(task), count, np.random.default_rng(0), threads)) for threads in (1, 2, 5)]
    assert all(len(parts_of(env)) == 2 for env in envs)
    first, *others = (batch(env, act, 20) for env in envs)
    for other in others:
        assert np.array_equal(first.observations, other.observations)
        assert np.array_equal(first.true_rewards, other.true_rewards)


def test_few_are_not_divided(closing: Callable[..., Any]) -> None:
    for task, count in (("pendulum", 255), ("breakout", 7), ("gym:CartPole-v1", 300)):
        env = closing(make_envs(get_task(task), count, np.random.default_rng(0), 2))
        assert parts_of(env) == (env,)


def test_stacks_of_a_batch_are_those_that_were_seen(closing: Callable[..., Any]) -> None:
    """Though each of their pictures is kept once."""
    both = [
        closing(SplitEnv([games(n, rng) for n in (2, 1)]))
        for rng in (np.random.default_rng(1), np.random.default_rng(1))
    ]
    act, steps = in_turn(both[0].sizes[1]), 40
    for env in both:
        batch(env, act, 45)  # so that the pictures of the next one go over the end of the emulators' own strips
    seen = batch(both[0], act, steps)
    for t in range(steps):
        assert np.array_equal(seen.observations[t], both[1].observations)
        actions, _ = act(both[1].observations)
        both[1].begin(actions)
        both[1].step(actions)
    assert np.array_equal(seen.last_observations, both[1].observations)
    assert seen.observations.shape == (steps, 3, 4 * 84 * 84)
    assert np.shares_memory(seen.observations[0], seen.observations[1])


def test_those_that_are_filmed_are_shared_among_the_halves(closing: Callable[..., Any]) -> None:
    env = closing(make_envs(get_task("breakout"), 8, np.random.default_rng(0), 2, film=CaptureSchedule(3, 25)))
    assert [int(part.clip_available.sum()) for part in parts_of(env)] == [2, 1]
    assert env.clip_available.tolist() == [True, True, False, False, True, False, False, False]
    assert (env.states[:, 0] > 0).tolist() == env.clip_available.tolist()


@pytest.mark.parametrize("filmed", [1, 2, 3, 4, 7])
def test_the_halves_film_in_turns_as_the_whole_would(filmed: int, closing: Callable[..., Any]) -> None:
    """One in four: a labeller in a window is not to wait for clips while none is filmed."""
    env = closing(make_envs(get_task("breakout"), 8, np.random.default_rng(0), 2, film=CaptureSchedule(filmed, 1, 4)))
    act, numbers = in_turn(env.sizes[1]), []
    for _ in range(8):
        numbers.append(int(env.clip_available.sum()))
        actions, _ = act(env.observations)
        env.begin(actions)
        env.step(actions)
    assert numbers == [int(CaptureSchedule(filmed, 1, 4).rows(time, 8).sum()) for time in range(8)]


def test_even_mode_goes_on_from_a_state_in_processes_or_without(closing: Callable[..., Any]) -> None:
    envs = [
        closing(make_envs(get_task("enduro-even"), 8, np.random.default_rng(seed), threads, film=CaptureSchedule(1, 5)))
        for seed, threads in ((0, 2), (1, 2), (2, 1))
    ]
    act = in_turn(envs[0].sizes[1])
    batch(envs[0], act, 12)
    state = {name: np.array(values) for name, values in envs[0].get_state().items()}
    for env in envs[1:]:
        env.set_state(state)
    first, *others = (batch(env, act, 20) for env in envs)
    for other, env in zip(others, envs[1:], strict=True):
        assert np.array_equal(first.observations, other.observations)
        assert np.array_equal(first.true_rewards, other.true_rewards)
        assert np.array_equal(envs[0].states, env.states)


def test_robots_go_on_from_a_state_divided_or_not(closing: Callable[..., Any]) -> None:
    """Up to the end of their episodes, after which resets draw from generators that are the job's to restore."""
    env = closing(SplitEnv([robots(n, np.random.default_rng(n), apart=True) for n in (3, 2)]))
    steps = get_task("pendulum").episode_steps
    batch(env, by_sight, 30)
    env.parts[1].divergences = 2
    state = {name: np.array(values) for name, values in env.get_state().items()}
    divided = closing(SplitEnv([robots(n, np.random.default_rng(9)) for n in (3, 2)]))
    whole = closing(robots(5, np.random.default_rng(8)))
    for again in (divided, whole):
        again.set_state(state)
        assert again.divergences == 2 and np.array_equal(again.states, env.states)
    first, *others = (batch(each, by_sight, steps) for each in (env, divided, whole))
    before = int(np.flatnonzero(first.ends.any(axis=1))[0]) + 1
    for other in others:
        assert np.array_equal(first.observations[:before], other.observations[:before])
        assert np.array_equal(first.true_rewards[:before], other.true_rewards[:before])
        assert np.array_equal(first.ends, other.ends)
        assert np.array_equal(first.end_observations[0], other.end_observations[0])
        assert len(first.finished) == len(other.finished)


def test_a_state_of_another_number_is_refused(closing: Callable[..., Any]) -> None:
    env = closing(SplitEnv([robots(n, np.random.default_rng(n)) for n in (3, 2)]))
    with pytest.raises(ValueError, match="not one of 5 environments"):
        env.set_state(closing(robots(6, np.random.default_rng(0))).get_state())


def test_games_go_on_from_a_state_divided_or_not(closing: Callable[..., Any]) -> None:
    """Their tapes are of different lengths, as one part's games began later."""
    parts = [games(n, np.random.default_rng(n)) for n in (2, 1)]
    batch(parts[1], in_turn(4), 25)
    env = closing(SplitEnv(parts))
    act = in_turn(env.sizes[1])
    batch(env, act, 30)
    state = {name: np.array(values) for name, values in env.get_state().items()}
    divided = closing(SplitEnv([games(n, np.random.default_rng(7)) for n in (2, 1)]))
    whole = closing(games(3, np.random.default_rng(8)))
    for again in (divided, whole):
        again.set_state(state)
        assert np.array_equal(again.observations, env.observations)
    first, second, third = (batch(each, act, 30) for each in (env, divided, whole))
    assert np.array_equal(first.observations, second.observations)
    assert np.array_equal(first.observations, third.observations)


def test_physics_go_on_in_a_thread_and_what_fails_there_is_raised_once(
    closing: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    env = closing(SplitEnv([robots(2, np.random.default_rng(n), apart=True) for n in (0, 1)]))
    where, step = [], env.parts[1].stepper.step

    def broken(*_: object) -> None:
        where.append(threading.current_thread().name)
        raise MemoryError("no room")

    monkeypatch.setattr(env.parts[1].stepper, "step", broken)
    with pytest.raises(MemoryError, match="no room"):
        batch(env, by_sight, 5)
    assert where[0].startswith("physics")
    monkeypatch.setattr(env.parts[1].stepper, "step", step)
    env.parts[1].step(np.zeros((2, 1), np.float32))


def test_all_parts_are_closed_whatever_one_fails_of() -> None:
    parts = [robots(2, np.random.default_rng(n), apart=True) for n in (0, 1)]
    closed = []

    def failing() -> None:
        raise OSError("gone")

    first, second = (part.close for part in parts)
    parts[1].close = failing  # type: ignore[method-assign]
    parts[0].close = lambda: closed.append(0)  # type: ignore[method-assign]
    with pytest.raises(OSError, match="gone"):
        SplitEnv(parts).close()
    assert closed == [0]
    first()
    second()
