"""The task's true reward and its own measure, on made-up motions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.tasks.base import Physics
from core.tasks.hopper_backflip import BackflipCounter, backflip_reward, observation

TURN = 2 * np.pi
SECONDS = 0.025
NONE = np.zeros((1, 0))
"""No extras."""
FLIPS, LANDINGS = "backflips_per_episode", "upright_landings_per_episode"


def physics(angle: float = 0.0, height: float = 1.0, **given: Any) -> Physics:
    positions, velocities = np.zeros((1, 6)), np.zeros((1, 6))
    positions[:, 2] = angle
    plain = {"actions": np.zeros((1, 3), np.float32), "standard_observations": np.zeros((1, 11))}
    heights = np.array([[height, height + 0.2]])
    return Physics(
        positions, velocities, contact_heights=heights, before=positions, seconds=SECONDS, **{**plain, **given}
    )


def counted(angles: list[float] | np.ndarray, heights: float | list[float] = 1.0) -> dict[str, float]:
    counter = BackflipCounter(1, SECONDS)
    tape = np.broadcast_to(heights, len(angles))
    for angle, height in zip(angles, tape, strict=True):
        counter.step(physics(angle, float(height)))
    return counter.finish(0)


def turning(*corners: float) -> list[float]:
    """Angles in turns, from corner to corner in small steps; backward is negative."""
    return list(np.concatenate([np.linspace(a, b, 21) for a, b in zip(corners[:-1], corners[1:], strict=True)]) * TURN)


@pytest.mark.parametrize(
    ("corners", "flips"),
    [
        ((0, -1.01), 1),
        ((0, -0.99), 0),
        ((0, -3.5), 3),
        ((0, 2), 0),  # forward flips
        ((0, 0.3, -0.3, 0.3, -0.3, 0.3), 0),  # rocking to and fro, though half a turn back each time
        ((0, -1.1, -0.9, -1.1, -0.9, -1.1), 1),  # to and fro across the mark
        ((0, -1.1, 0, -1.1), 1),  # forward again what was turned back
        ((0, 1, -0.5), 0),
        ((0, 1, -1.01), 1),
        ((0, -1.1, -2.05), 2),
    ],
)
def test_a_backflip_is_a_full_turn_backward_since_the_last_one(corners: tuple[float, ...], flips: int) -> None:
    assert counted(turning(*corners))[FLIPS] == flips


def landing(seconds_later: float, height: float = 0.0, tilt: float = 0.0) -> float:
    """One backflip in the air; some time later the foot comes to that height, the torso tilted."""
    in_the_air = round(seconds_later / SECONDS)
    angles = [0.0, -TURN, *[-TURN + 1.5] * (in_the_air - 1), -TURN + tilt, -TURN + 1.5]
    heights = [1.0, *[1.0] * in_the_air, height, 1.0]
    return counted(angles, heights)[LANDINGS]


def test_upright_on_the_foot_within_half_a_second_is_a_landing() -> None:
    assert [landing(0.1), landing(0.45), landing(0.1, tilt=0.45), landing(0.1, tilt=-0.45)] == [1] * 4


def test_later_or_tilted_or_with_the_foot_in_the_air_is_none() -> None:
    assert [landing(0.6), landing(0.1, tilt=0.55), landing(0.1, tilt=-0.55), landing(0.1, height=0.05)] == [0] * 4


def test_a_flip_lands_once_by_either_end_of_the_foot_and_standing_is_no_landing() -> None:
    assert counted([0.0, -TURN], [1.0, 0.0])[LANDINGS] == 1  # physics() keeps the other end 0.2 m higher
    assert counted([0.0, *[-TURN] * 10], 0.0) == {FLIPS: 1, LANDINGS: 1}
    assert counted([0.0] * 50, 0.0) == {FLIPS: 0, LANDINGS: 0}


def test_the_next_episode_starts_from_nothing() -> None:
    counter = BackflipCounter(2, SECONDS)
    turned, still = np.full((2, 6), -TURN - 0.1), np.zeros((2, 6))
    both = Physics(turned, still, np.zeros((2, 3)), np.zeros((2, 11)), np.ones((2, 2)), turned, SECONDS)
    counter.step(both)
    assert counter.finish(1)[FLIPS] == 1
    assert counter.finish(1)[FLIPS] == 0
    assert counter.finish(0)[FLIPS] == 1  # the other environment's is not touched


def test_the_reward_that_openai_wrote_by_hand() -> None:
    o = np.array([[1.2, -0.3, 0.1, 0.2, 0.3, 0.5, -0.7, -4.0, 2.0, -1.0, 3.0]])
    a = np.array([[0.5, -1.0, 0.25]], np.float32)
    # 4 (1 + .3 * 1.2 + .1 (.5 * 2 + 1 + .25 * 3) - .05 * .5)
    expected = 4.0 * (1 + 0.36 + 0.275 - 0.025)
    assert backflip_reward(physics(standard_observations=o, actions=a)) == pytest.approx(expected)


def test_after_a_full_turn_the_networks_see_the_same() -> None:
    positions, velocities = np.random.default_rng(0).standard_normal((2, 4, 6))
    turned = positions.copy()
    turned[:, 2] -= TURN
    assert observation(turned, velocities, NONE) == pytest.approx(observation(positions, velocities, NONE), abs=1e-12)
    turned[:, 2] += 1.0
    assert np.abs(observation(turned, velocities, NONE) - observation(positions, velocities, NONE)).max() > 0.1
