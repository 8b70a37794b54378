"""Collectors in sequence in this process or in their own processes, with the same results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.config import Config
from core.events import Arrays, JobState
from core.jobs.collectors import Collectors
from core.nn.stacked_mlp import CPU
from core.nn.state import state_arrays
from core.reward.ensemble import build_ensemble
from core.rollout.actor import build_policy
from core.rollout.collector import RolloutBatch, at_once, shares
from core.tasks import get_task
from tests.core.builders import same, tiny

STEPS = 20
LENGTH = 30
"""Steps of the pendulum's segments."""


def config(**changes: Any) -> Config:
    return tiny(task="pendulum", rollout__environments=256, rollout__steps=STEPS, **changes)


def collectors(processes: bool, chosen: Config | None = None) -> Collectors:
    chosen = chosen or config()
    made = Collectors(chosen, np.arange(chosen.rollout.environments) % LENGTH, processes)
    made.load_policy(policy(chosen))
    return made


def policy(chosen: Config, shift: float = 0.0) -> Arrays:
    arrays = state_arrays(build_policy(chosen))
    return {**arrays, "weights": arrays["weights"] + np.float32(shift)}


Pair = tuple[Collectors, Collectors]


@pytest.fixture(scope="module")
def started() -> Iterator[tuple[Pair, JobState]]:
    """Collectors in one process and in two, and their state before the first batch."""
    pair = collectors(False), collectors(True)
    yield pair, pair[0].get_state()
    for made in pair:
        made.close()


@pytest.fixture
def both(started: tuple[Pair, JobState]) -> Pair:
    """The same collectors, reset to before their first batch."""
    pair, state = started
    for made in pair:
        made.set_state(state)
        made.load_policy(policy(config()))
    return pair


def batch(made: Collectors, env_steps: int = 0) -> RolloutBatch:
    return at_once(made.collect(env_steps))


def require_same(one: RolloutBatch, other: RolloutBatch) -> None:
    arrays = ("observations", "actions", "log_probs", "true_rewards", "ends", "end_observations", "last_observations")
    for name in arrays:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.finished == other.finished and one.divergences == other.divergences
    assert [(s.id, s.env_steps) for s in one.segments] == [(s.id, s.env_steps) for s in other.segments]
    for mine, its in zip(one.segments, other.segments, strict=True):
        assert np.array_equal(mine.observations, its.observations) and np.array_equal(mine.states, its.states)


def require_same_state(one: JobState, other: JobState) -> None:
    assert one.values == other.values and same(one.arrays, other.arrays)


@pytest.mark.slow
def test_results_are_the_same_in_one_process_or_in_two(both: Pair) -> None:
    """The comparison includes ends of episodes, new policies, new rewards, and segments across batches."""
    ensemble = build_ensemble(config(), CPU)
    ended, segments = 0, []
    for number in range(4):
        mine, its = (batch(made, number * 256 * STEPS) for made in both)
        require_same(mine, its)
        ended += int(mine.ends.sum())
        segments += mine.segments
        ensemble.mean = ensemble.mean + number
        for made in both:
            made.load_policy(policy(config(), 0.01 * number))
            made.load_reward(state_arrays(ensemble))
        rewards = [made.predict() for made in both]
        assert np.array_equal(*rewards)
        assert rewards[0] == pytest.approx(ensemble.predict(mine.observations, mine.carried_out), abs=1e-5)
    require_same_state(both[0].get_state(), both[1].get_state())
    assert ended and mine.finished and both[0].state_size == both[1].state_size == segments[0].states.shape[1]
    assert len({segment.id for segment in segments}) == len(segments) > 256
    stamps = [segment.env_steps for segment in segments]
    assert min(stamps) == 256 * (len(segments[0].actions) - 1) and max(stamps) > 256 * 3 * STEPS
    assert all(stamp % 256 == 0 for stamp in stamps)


@pytest.mark.slow
def test_the_state_can_be_read_while_a_batch_is_collected(both: Pair) -> None:
    here, apart = both
    expected = batch(here)
    collecting = apart.collect(0)
    assert next(collecting) is None
    amid = apart.get_state()
    collected = at_once(collecting)
    require_same(expected, collected)
    for made in both:
        made.set_state(amid)
    require_same(batch(here), batch(apart))


@pytest.mark.slow
def test_a_policy_published_during_a_batch_reaches_the_other_process_after_it(both: Pair) -> None:
    here, apart = both
    newer = policy(config(), 0.5)
    batch(here)
    here.load_policy(newer)
    collecting = apart.collect(0)
    assert next(collecting) is None
    apart.load_policy(newer)
    at_once(collecting)
    expected, collected = batch(here, 256 * STEPS), batch(apart, 256 * STEPS)
    half = shares(get_task("pendulum"), 256)[0]
    assert np.array_equal(expected.actions[:, half:], collected.actions[:, half:])


def test_divergences_of_all_collectors_are_counted_and_kept(both: Pair) -> None:
    for made in both:
        state = made.get_state()
        arrays = {name: values.copy() for name, values in state.arrays.items()}
        for number, rows in ((0, [3]), (1, [72, 73])):
            arrays[f"collector_{number}_env_states"][rows, 1] = np.nan
        made.set_state(replace(state, arrays=arrays))
        assert batch(made).divergences == made.divergences == 3
        made.set_state(made.get_state())
        assert made.divergences == 3


def test_the_division_depends_on_the_task_and_the_number_alone() -> None:
    divided = {
        ("pendulum", 255): (255,),
        ("pendulum", 257): (129, 128),
        ("breakout", 7): (7,),
        ("breakout", 9): (5, 4),
        ("gym:CartPole-v1", 300): (300,),
    }
    assert {key: shares(get_task(key[0]), key[1]) for key in divided} == divided


Made = Callable[..., Collectors]


@pytest.fixture
def games() -> Iterator[Made]:
    made: list[Collectors] = []

    def make(task: str, processes: bool = False, **changes: Any) -> Collectors:
        chosen = tiny(task=task, rollout__environments=8, rollout__steps=12, query__first_labels=1, **changes)
        made.append(collectors(processes, chosen))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.slow
def test_games_are_the_same_in_one_process_or_in_two_and_resume_in_two(games: Made) -> None:
    here, apart = games("breakout"), games("breakout", processes=True)
    require_same(batch(here), batch(apart))
    apart.set_state(here.get_state())
    require_same(batch(here), batch(apart))


@pytest.mark.slow
def test_pictures_are_captured_in_turn_across_all_collectors(games: Made) -> None:
    """In every step as many are captured as by a single collector, so that a person never waits for clips."""
    made = games("breakout", rollout__captured_envs=4, query__segment_steps=2)
    envs = [collector.env for collector in made.local]
    nothing = np.eye(envs[0].sizes[1], dtype=np.float32)[[0] * 4]
    for _ in range(5):
        assert sum(int(env.clip_available.sum()) for env in envs) == 1
        for env in envs:
            env.step(nothing)
