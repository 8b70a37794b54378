"""The true reward and the measure of the backflip task, on synthetic motions."""

from __future__ import annotations

import dataclasses
from typing import Any

import mujoco
import numpy as np
import pytest

from core.errors import UserError
from core.robots.physics import FULL
from core.robots.signals import signal_series
from core.tasks import CATALOGUE, get_task
from core.tasks.base import Physics
from core.tasks.hopper_backflip import (
    BackflipCounter,
    backflip_reward,
    openai_reward,
)
from tests.core.given_signals import Given
from tests.core.robot_toys import MakeBatch

TURN = 2 * np.pi
SECONDS = 0.025
FLIPS, LANDINGS = "backflips_per_episode", "upright_landings_per_episode"
CLEAN_FLIPS, CLEAN_LANDINGS = "clean_backflips_per_episode", "clean_landings_per_episode"


def heights(robots: int = 1, **parts: float) -> Given:
    """Return signals of robots that move alike: heights of their parts in m, 1 by default."""
    return Given(**{f"height[{part}_geom]": [parts.get(part, 1.0)] * robots for part in ("torso", "thigh", "foot")})


def physics(angle: float = 0.0, height: float = 1.0, rest: float = 1.0, rate: float = 0.0, **given: Any) -> Physics:
    """Return signals of one robot: angle of the torso in rad, heights of foot and knee in m, rate in rad/s, negative backward."""
    positions, velocities = np.zeros((1, 6)), np.zeros((1, 6))
    positions[:, 2], velocities[:, 2] = angle, rate
    plain = {
        "actions": np.zeros((1, 3), np.float32),
        "before": positions,
        "velocities_before": velocities,
        "signals": heights(foot=height, thigh=rest, torso=rest + 0.2),
    }
    return Physics(positions, velocities, **{**plain, **given})


def counted(angles: list[float] | np.ndarray, foot: float | list[float] = 1.0) -> dict[str, float]:
    counter = BackflipCounter(1, SECONDS)
    tape = np.broadcast_to(foot, len(angles))
    for angle, height in zip(angles, tape, strict=True):
        counter.step(physics(angle, float(height)))
    return counter.finish(0)


def turning(*corners: float) -> list[float]:
    """Return angles in turns that pass through these corners in small steps; backward is negative."""
    return list(np.concatenate([np.linspace(a, b, 21) for a, b in zip(corners[:-1], corners[1:], strict=True)]) * TURN)


@pytest.mark.parametrize(
    ("corners", "flips"),
    [
        ((0, -1.01), 1),
        ((0, -0.99), 0),
        ((0, 2), 0),  # forward flips
        ((0, 0.3, -0.3, 0.3, -0.3, 0.3), 0),  # rocking, even if it turns back by half a turn each time
        ((0, -1.1, -0.9, -1.1, -0.9, -1.1), 1),  # back and forth across the mark
        ((0, 1, -1.01), 1),
        ((0, -1.1, -2.05), 2),
    ],
)
def test_a_backflip_is_a_full_turn_backward_since_the_last_one(corners: tuple[float, ...], flips: int) -> None:
    assert counted(turning(*corners))[FLIPS] == flips


def landing(seconds_later: float, height: float = 0.0, tilt: float = 0.0) -> float:
    """Return a backflip in the air after which the foot comes to this height with the torso tilted."""
    in_the_air = round(seconds_later / SECONDS)
    angles = [0.0, -TURN, *[-TURN + 1.5] * (in_the_air - 1), -TURN + tilt, -TURN + 1.5]
    return counted(angles, [1.0, *[1.0] * in_the_air, height, 1.0])[LANDINGS]


def test_a_landing_is_upright_on_the_foot_within_half_a_second() -> None:
    assert [landing(0.1), landing(0.45), landing(0.1, tilt=0.45), landing(0.1, tilt=-0.45)] == [1] * 4
    assert [landing(0.6), landing(0.1, tilt=0.55), landing(0.1, tilt=-0.55), landing(0.1, height=0.05)] == [0] * 4


def test_a_flip_lands_once_and_standing_does_not_count_as_landing() -> None:
    assert counted([0.0, *[-TURN] * 10], 0.0) == {FLIPS: 1, CLEAN_FLIPS: 1, LANDINGS: 1, CLEAN_LANDINGS: 1}
    assert not any(counted([0.0] * 50, 0.0).values())


Tape = list[tuple[float, float, float]]
"""Angle in turns, height of the foot and of the rest in m, step by step."""
IN_THE_AIR, LANDED, FALLEN = (-0.5, 0.5, 0.5), (-1.0, 0.0, 0.5), (-1.1, 0.0, 0.0)


def played(counter: BackflipCounter, tape: Tape) -> None:
    for turns, foot, rest in tape:
        counter.step(physics(turns * TURN, foot, rest))


def figures(tape: Tape) -> tuple[float, ...]:
    """Return flips, clean flips, landings and clean landings."""
    counter = BackflipCounter(1, SECONDS)
    played(counter, tape)
    ended = counter.finish(0)
    return tuple(ended[name] for name in (FLIPS, CLEAN_FLIPS, LANDINGS, CLEAN_LANDINGS))


@pytest.mark.parametrize(
    ("tape", "expected"),
    [
        ([(0.0, 0.0, 0.5), IN_THE_AIR, LANDED], (1, 1, 1, 1)),  # jumps off its foot
        ([(-0.2, 0.0, 0.0), IN_THE_AIR, LANDED], (1, 0, 1, 0)),  # rolls
        ([(-0.2, 0.5, 0.009), IN_THE_AIR, LANDED], (1, 0, 1, 0)),
        ([(-0.2, 0.5, 0.011), IN_THE_AIR, LANDED], (1, 1, 1, 1)),
        ([IN_THE_AIR, (-1.0, 0.0, 0.0)], (1, 0, 1, 0)),  # touches the floor as the turn ends
        ([IN_THE_AIR, (-1.0, 0.5, 0.5), FALLEN, LANDED], (1, 1, 1, 0)),  # the turn is complete, the landing is not
        ([IN_THE_AIR, (-1.0, 0.5, 0.5), (-1.05, 0.0, 0.0)], (1, 1, 1, 0)),  # lands on foot and knee at once
        ([IN_THE_AIR, LANDED, FALLEN], (1, 1, 1, 1)),  # falls after landing
        ([IN_THE_AIR, LANDED, FALLEN, (-1.5, 0.5, 0.5), (-2.0, 0.0, 0.5)], (2, 1, 2, 1)),
        ([(-0.2, 0.0, 0.0), IN_THE_AIR, LANDED, (-1.5, 0.5, 0.5), (-2.0, 0.0, 0.5)], (2, 1, 2, 1)),
        ([IN_THE_AIR, (-1.0, 0.5, 0.5), (-1.5, 0.5, 0.5), (-2.0, 0.0, 0.5)], (2, 2, 1, 1)),  # two turns in one leap
        ([(0.5, 0.5, 0.5), (1.0, 0.0, 0.0), IN_THE_AIR, LANDED], (1, 0, 1, 0)),  # falling forward counts as well
    ],
)
def test_a_clean_flip_touches_the_floor_with_the_foot_alone(tape: Tape, expected: tuple[float, ...]) -> None:
    assert figures(tape) == expected


@pytest.mark.parametrize("part", ["torso", "thigh"])
def test_a_flip_touching_with_head_hip_or_knee_is_not_clean(part: str) -> None:
    """Head and hip are the ends of the torso, hip and knee the ends of the thigh."""
    counter = BackflipCounter(1, SECONDS)
    counter.step(physics(0.0, signals=heights(**{part: 0.0})))
    counter.step(physics(-TURN))
    ended = counter.finish(0)
    assert (ended[FLIPS], ended[CLEAN_FLIPS]) == (1, 0)


@pytest.mark.slow
def test_the_heights_of_foot_torso_and_thigh_reveal_every_floor_contact(batch: MakeBatch) -> None:
    """The leg is left out: its knee is inside the capsule of the thigh, its ankle inside that of the foot."""
    task = get_task("hopper-backflip")
    env, actions = batch(task, 1), np.random.default_rng(1).uniform(-1.2, 1.2, (3000, 3)).astype(np.float32)
    states = []
    for action in actions:
        states.append(env.states[0].copy())
        env.step(action[None])
    series = signal_series(env.model, np.array(states), actions, task.step_seconds)
    data, floor, touching = mujoco.MjData(env.model), env.model.geom("floor").id, set()
    for step, state in enumerate(states):
        mujoco.mj_setState(env.model, data, state, FULL)
        mujoco.mj_forward(env.model, data)
        on_floor = [one for one in data.contact[: data.ncon] if one.geom1 == floor and one.dist < -1e-6]
        parts = {env.model.geom(one.geom2).name for one in on_floor}
        foot, torso, thigh = (series[f"height[{part}_geom]"][step] for part in ("foot", "torso", "thigh"))
        assert ("foot_geom" in parts) == (foot < -1e-6)
        assert bool(parts - {"foot_geom"}) == (min(torso, thigh) < -1e-6)
        touching |= parts
    assert touching >= {"torso_geom", "thigh_geom", "foot_geom"}


@pytest.mark.parametrize("cut", range(9))
def test_a_counter_resumes_from_the_saved_state_of_another(cut: int) -> None:
    tape: Tape = [
        IN_THE_AIR,
        (-1.0, 0.5, 0.5),
        (-1.05, 0.0, 0.5),
        FALLEN,
        (-1.5, 0.5, 0.5),
        (-2.0, 0.0, 0.5),
        (-2.5, 0.5, 0.5),
        (-3.0, 0.5, 0.5),
        (-3.05, 0.0, 0.5),
    ]
    saved, resumed = BackflipCounter(1, SECONDS), BackflipCounter(1, SECONDS)
    played(saved, tape[:cut])
    resumed.set_state({name: values.copy() for name, values in saved.get_state().items()})
    played(resumed, tape[cut:])
    assert resumed.finish(0) == {FLIPS: 3, CLEAN_FLIPS: 2, LANDINGS: 3, CLEAN_LANDINGS: 2}


def test_the_next_episode_starts_from_nothing() -> None:
    counter = BackflipCounter(2, SECONDS)
    turned, still = np.full((2, 6), -TURN - 0.1), np.zeros((2, 6))
    both = Physics(turned, still, np.zeros((2, 3)), turned, still, heights(2))
    counter.step(both)
    assert counter.finish(1)[FLIPS] == 1
    assert counter.finish(1)[FLIPS] == 0
    assert counter.finish(0)[FLIPS] == 1  # the other environment is not affected


def test_the_reward_of_openai_is_computed_correctly() -> None:
    positions = np.array([[99.0, 1.2, -0.3, 0.1, 0.2, 0.3]])
    velocities = np.array([[0.5, -0.7, -4.0, 2.0, -1.0, 3.0]])
    a = np.array([[0.5, -1.0, 0.25]], np.float32)
    # 4 (1 + .3 * 1.2 + .1 (.5 * 2 + 1 + .25 * 3) - .05 * .5)
    expected = 4.0 * (1 + 0.36 + 0.275 - 0.025)
    assert openai_reward(physics(before=positions, velocities_before=velocities, actions=a)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("motion", "paid"),
    [
        ({"rate": -10, "height": 0.5}, 1.0),
        ({"rate": -20, "height": 0.5}, 1.0),  # spinning faster is not rewarded more
        ({"rate": -5, "height": 0.5}, 0.5),
        ({"rate": -10, "height": 0.1}, 0.4 + 0.6 / 2),  # half the height with the full reward
        ({"rate": -10, "height": 0.5, "rest": 0.1}, 0.4 + 0.6 / 2),
        ({"rate": -10, "height": 0.0}, 2.4),  # lands upright
        ({"rate": -10, "height": 0.0, "angle": np.pi / 3}, 0.4 + 1.0),  # leans by 60 degrees
        ({"rate": -10, "height": 0.0, "angle": np.pi}, 0.4),
        ({"rate": 0, "height": 0.0}, 0.0),  # stands
        ({"rate": 0, "height": 0.5}, 0.0),
        ({"rate": 10, "height": 0.5}, -1.25),  # forward
        ({"rate": 0, "height": 0.0, "rest": 0.0}, -0.3),  # lies
        ({"rate": -10, "height": 0.0, "rest": 0.0}, 0.1),  # rolls: more than standing, far less than a flip
    ],
)
def test_backward_turns_in_the_air_are_rewarded_and_landings_on_the_foot_more(
    motion: dict[str, float], paid: float
) -> None:
    assert backflip_reward(physics(**motion)).tolist() == [pytest.approx(paid)]


def test_openais_reward_can_be_chosen_only_for_this_task() -> None:
    task, chosen = (get_task("hopper-backflip", name) for name in ("task", "openai"))
    assert task is CATALOGUE["hopper-backflip"] and task.true_reward is backflip_reward
    assert chosen == dataclasses.replace(task, true_reward=openai_reward)
    for name in ("hopper", "pong", "gym:CartPole-v1"):
        with pytest.raises(UserError, match=rf"{name} has no true reward 'openai': leave true_reward at 'task'\."):
            get_task(name, "openai")


def test_observations_repeat_after_a_full_turn() -> None:
    positions, velocities = np.random.default_rng(0).standard_normal((2, 4, 6))
    turned, task = positions.copy(), get_task("hopper-backflip")
    turned[:, 2] -= TURN
    assert task.observe(turned, velocities) == pytest.approx(task.observe(positions, velocities), abs=1e-12)
    turned[:, 2] += 1.0
    assert np.abs(task.observe(turned, velocities) - task.observe(positions, velocities)).max() > 0.1
