"""The Half-Cheetah running on one leg: the paper's second novel behaviour of a robot (3.2).

Besides what Gymnasium shows of the Half-Cheetah its networks see whether its hind foot is near the floor, and whether
the rest of it is, as soles and skin that feel would tell. In joint angles alone a height of five centimetres is a
fine matter, which a predictor doesn't find in 200 answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from core.tasks.base import Physics, averages, forward
from core.tasks.half_cheetah import HALF_CHEETAH
from core.tasks.half_cheetah import observation as standard_observation
from core.types import Float64

_OFF_THE_FLOOR = 0.01
"""Metres: a point higher than this doesn't touch."""
_WELL_OFF = 0.1
"""Metres: a point higher than this is as well lifted as the reward asks for."""
_NEAR = 0.05
"""Metres: a foot higher than this is not paid for."""
_FAST_ENOUGH = 2.0
"""m/s: more isn't paid for. A bound at full speed is seven tenths flight."""
_ENDS = (1.0, -1.0)
_HIND_FOOT = tuple(("bfoot", end) for end in _ENDS)
_HIND = (*_HIND_FOOT, *(("bshin", end) for end in _ENDS))
_REST = tuple((geom, end) for geom in ("ffoot", "fshin", "torso", "head") for end in _ENDS)
"""What is to stay off the floor on the hind leg: the front leg, and the body, or it would slide on its back."""


@dataclass(frozen=True)
class _Link:
    """A body of the model: it hangs on `parent` at (x, z) in m, and turns with one of the positions."""

    parent: str
    turned_by: int
    x: float
    z: float


@dataclass(frozen=True)
class _Capsule:
    """On a body, its centre at (x, z) and its axis leant so many radians; `half` from the centre to an end, in m."""

    body: str
    x: float
    z: float
    lean: float
    half: float

    def end(self, sign: float) -> tuple[float, float]:
        return self.x + sign * self.half * np.sin(self.lean), self.z + sign * self.half * np.cos(self.lean)


_RADIUS = 0.046
_HEIGHT = 0.7
"""Of the torso in the model's own pose, from which the positions count, in m."""
_LINKS = {
    "bthigh": _Link("torso", 3, -0.5, 0.0),
    "bshin": _Link("bthigh", 4, 0.16, -0.25),
    "bfoot": _Link("bshin", 5, -0.28, -0.14),
    "fthigh": _Link("torso", 6, 0.5, 0.0),
    "fshin": _Link("fthigh", 7, -0.14, -0.24),
    "ffoot": _Link("fshin", 8, 0.13, -0.18),
}
_CAPSULES = {
    "bfoot": _Capsule("bfoot", 0.03, -0.097, -0.27, 0.094),
    "bshin": _Capsule("bshin", -0.14, -0.07, -2.03, 0.15),
    "ffoot": _Capsule("ffoot", 0.045, -0.07, -0.6, 0.07),
    "fshin": _Capsule("fshin", 0.065, -0.09, -0.6, 0.106),
    "torso": _Capsule("torso", 0.0, 0.0, -np.pi / 2, 0.5),
    "head": _Capsule("torso", 0.6, 0.1, 0.87, 0.15),
}


def heights(positions: Float64) -> Float64:
    """(N, points) of the touch points above the floor in m, from positions (N, 9), as MuJoCo would place them."""
    angles, levels = {"torso": positions[:, 2]}, {"torso": _HEIGHT + positions[:, 1]}
    for name, link in _LINKS.items():
        levels[name] = levels[link.parent] + _rise(angles[link.parent], link.x, link.z)
        angles[name] = angles[link.parent] + positions[:, link.turned_by]
    points = []
    for name, sign in (*_HIND, *_REST):
        capsule = _CAPSULES[name]
        points.append(levels[capsule.body] + _rise(angles[capsule.body], *capsule.end(sign)) - _RADIUS)
    return np.stack(points, axis=1)


def _rise(angle: Float64, x: float, z: float) -> Float64:
    """(N,) how far a point at (x, z) of a body turned by `angle` (N,) about y is above the body's origin, in m."""
    return z * np.cos(angle) - x * np.sin(angle)


def observation(positions: Float64, velocities: Float64, extras: Float64) -> Float64:
    """Gymnasium's, and how far hind foot and rest are lifted: from 0 on the floor to 1 at ten centimetres."""
    points = heights(positions)
    lifted = np.clip(np.stack([_foot(points), _clearance(points)], axis=1) / _WELL_OFF, 0, 1)
    return np.concatenate([standard_observation(positions, velocities, extras), lifted], axis=1)


def _foot(points: Float64) -> Float64:
    """(N,) height of the hind foot's lower end in m."""
    return points[:, : len(_HIND_FOOT)].min(axis=1)


def _clearance(points: Float64) -> Float64:
    """(N,) m between the floor and the lowest point of all but the hind leg."""
    return points[:, len(_HIND) :].min(axis=1)


def one_leg_reward(physics: Physics) -> Float64:
    """(1 + speed, up to 2 m/s) times how far the rest is lifted, 1 at ten centimetres, times how near the foot is.

    The last is 1 on the floor and 0 from five centimetres. Running with the front foot down is worth nothing, and
    neither is flight; standing on the hind leg is worth something, running on it most. It is of this project's own
    making: the paper had people alone judge this behaviour.
    """
    speed = np.minimum(physics.forward_speed, _FAST_ENOUGH)
    lifted = np.clip(_clearance(physics.contact_heights) / _WELL_OFF, 0, 1)
    return (1 + speed) * lifted * (1 - np.clip(_foot(physics.contact_heights) / _NEAR, 0, 1))


def on_one_leg(physics: Physics) -> Float64:
    """(N,) 1 where the hind foot touches the floor and all but the hind leg is off it; 0 in flight, too."""
    touches = _foot(physics.contact_heights) <= _OFF_THE_FLOOR
    return (touches & (_clearance(physics.contact_heights) > _OFF_THE_FLOOR)).astype(np.float64)


def in_flight(physics: Physics) -> Float64:
    """(N,) 1 where nothing touches the floor: what this and the share on one leg leave of the time, other parts do."""
    return (physics.contact_heights.min(axis=1) > _OFF_THE_FLOOR).astype(np.float64)


def running_on_one_leg(physics: Physics) -> Float64:
    """(N,) 1 where it is on one leg and moves forward."""
    return on_one_leg(physics) * (physics.forward_speed > 0)


HALF_CHEETAH_ONE_LEG = replace(
    HALF_CHEETAH,
    name="half-cheetah-one-leg",
    sizes=(19, 6),
    title="Half-Cheetah: on one leg",
    instruction=(
        "Choose the clip in which the robot moves to the right faster on its hind leg alone: its front foot (and its "
        "body) should stay off the ground. Standing on one leg is better than running on two."
    ),
    observe=observation,
    true_reward=one_leg_reward,
    measure=averages(
        share_on_one_leg=on_one_leg,
        share_running_on_one_leg=running_on_one_leg,
        share_in_flight=in_flight,
        forward_speed=forward,
    ),
    measure_name="share_on_one_leg",
    measure_title="Share of time on one leg",
    contact_points=(*_HIND, *_REST),
    presets={**HALF_CHEETAH.presets, "labels": 200},
)
