"""The Half-Cheetah running on one leg: the paper's second novel behaviour of a robot (3.2).

The networks need to see how near the floor each part is (floor_sense): from joint angles alone a predictor can't tell
heights of a few centimetres after 200 answers.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from core.tasks.base import Physics
from core.tasks.robots import HALF_CHEETAH
from core.types import Float64

_OFF_THE_FLOOR = 0.01
"""Height in m below which a point touches the floor."""
_WELL_OFF = 0.1
"""Height in m from which the reward for lifting the rest grows no further."""
_NEAR = 0.05
"""Height in m of the hind foot from which there is no reward."""
_FAST_ENOUGH = 2.0
"""Speed in m/s from which the reward grows no further. At full speed the robot flies seven tenths of the time."""
_ENDS = (1.0, -1.0)
_HIND_FOOT = tuple(("bfoot", end) for end in _ENDS)
_HIND = (*_HIND_FOOT, *(("bshin", end) for end in _ENDS))
_REST = tuple((geom, end) for geom in ("ffoot", "fshin", "torso", "head") for end in _ENDS)
"""Parts that must stay off the floor: the front leg, and the body, so that the robot does not slide on its back."""


def _foot(points: Float64) -> Float64:
    """Height of the hind foot's lower end, (N, 12) -> (N,) in m."""
    return points[:, : len(_HIND_FOOT)].min(axis=1)


def _clearance(points: Float64) -> Float64:
    """Height of the lowest point of all but the hind leg, (N, 12) -> (N,) in m."""
    return points[:, len(_HIND) :].min(axis=1)


def one_leg_reward(physics: Physics) -> Float64:
    """(N,) product of 1 + speed (up to 2 m/s), height of the rest (1 at 10 cm) and nearness of the hind foot.

    The last is 1 on the floor and 0 from five centimetres. Running with the front foot down is worth nothing, and
    neither is flight; standing on the hind leg is worth something, running on it most. The paper has no such reward:
    its labellers of this behaviour were people.
    """
    speed = np.minimum(physics.forward_speed, _FAST_ENOUGH)
    lifted = np.clip(_clearance(physics.contact_heights) / _WELL_OFF, 0, 1)
    return (1 + speed) * lifted * (1 - np.clip(_foot(physics.contact_heights) / _NEAR, 0, 1))


def on_one_leg(physics: Physics) -> Float64:
    """(N,) 1 if the hind foot touches the floor and all but the hind leg is off it, else 0."""
    touches = _foot(physics.contact_heights) <= _OFF_THE_FLOOR
    return (touches & (_clearance(physics.contact_heights) > _OFF_THE_FLOOR)).astype(np.float64)


def in_flight(physics: Physics) -> Float64:
    """(N,) 1 if nothing touches the floor, else 0."""
    return (physics.contact_heights.min(axis=1) > _OFF_THE_FLOOR).astype(np.float64)


def running_on_one_leg(physics: Physics) -> Float64:
    """(N,) 1 if it is on one leg and moves forward, else 0."""
    return on_one_leg(physics) * (physics.forward_speed > 0)


_FIGURES = {
    "share_on_one_leg": on_one_leg,
    "share_running_on_one_leg": running_on_one_leg,
    "share_in_flight": in_flight,
    "forward_speed": lambda physics: physics.forward_speed,
}


class OneLegFigures:
    """Measure of the means of _FIGURES over the steps of an episode."""

    def __init__(self, environments: int, step_seconds: float) -> None:
        self._sums = np.zeros((environments, len(_FIGURES)))
        self._steps = np.zeros(environments)

    def step(self, physics: Physics) -> None:
        for column, figure in enumerate(_FIGURES.values()):
            self._sums[:, column] += figure(physics)
        self._steps += 1

    def finish(self, index: int) -> dict[str, float]:
        means = self._sums[index] / max(1.0, self._steps[index])
        self._sums[index] = self._steps[index] = 0
        return dict(zip(_FIGURES, means.tolist(), strict=True))

    def get_state(self) -> dict[str, Any]:
        return {"sums": self._sums, "steps": self._steps}

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        self._sums[:], self._steps[:] = arrays["sums"], arrays["steps"]


HALF_CHEETAH_ONE_LEG = replace(
    HALF_CHEETAH,
    name="half-cheetah-one-leg",
    title="Half-Cheetah: on one leg",
    instruction=(
        "Choose the clip in which the robot moves faster to the right on its hind leg alone: its front foot (and its "
        "body) should stay off the ground. Standing on one leg is better than running on two."
    ),
    true_reward=one_leg_reward,
    measure=OneLegFigures,
    measure_name="share_on_one_leg",
    measure_title="Share of time on one leg",
    contact_points=(*_HIND, *_REST),
)
