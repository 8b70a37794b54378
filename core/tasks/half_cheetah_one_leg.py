"""The Half-Cheetah running on one leg: the paper's second novel behaviour of a robot (3.2).

In addition to Gymnasium's observation the networks see how near the floor the hind foot is, and how near the rest of
the robot, like a sense of touch. From joint angles alone a predictor can't tell heights of a few centimetres after 200
answers.
"""

from dataclasses import dataclass, replace

import numpy as np

from core.tasks.base import Physics, averages, forward
from core.tasks.half_cheetah import HALF_CHEETAH
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
"""Parts that must stay off the floor: the front leg, and the body, lest the robot slide on its back."""


@dataclass(frozen=True)
class _Link:
    """Body of the model: its joint is at (x, z) in m on `parent`, and its angle is one of the positions."""

    parent: str
    angle_index: int
    x: float
    z: float


@dataclass(frozen=True)
class _Capsule:
    """Geom on a body: centre at (x, z) in m, axis inclined by `lean` rad, `half` from the centre to an end in m."""

    body: str
    x: float
    z: float
    lean: float
    half: float

    def end(self, sign: float) -> tuple[float, float]:
        return self.x + sign * self.half * np.sin(self.lean), self.z + sign * self.half * np.cos(self.lean)


_RADIUS = 0.046
_HEIGHT = 0.7
"""Height of the torso in m at position 0."""
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
    """Heights of the contact points above the floor, positions (N, 9) -> (N, 12) in m, by the model's kinematics."""
    angles, levels = {"torso": positions[:, 2]}, {"torso": _HEIGHT + positions[:, 1]}
    for name, link in _LINKS.items():
        levels[name] = levels[link.parent] + _rise(angles[link.parent], link.x, link.z)
        angles[name] = angles[link.parent] + positions[:, link.angle_index]
    points = []
    for name, sign in (*_HIND, *_REST):
        capsule = _CAPSULES[name]
        points.append(levels[capsule.body] + _rise(angles[capsule.body], *capsule.end(sign)) - _RADIUS)
    return np.stack(points, axis=1)


def _rise(angle: Float64, x: float, z: float) -> Float64:
    """(N,) height in m above a body's origin of its point (x, z), with the body turned about y by `angle` (N,) rad."""
    return z * np.cos(angle) - x * np.sin(angle)


def observation(positions: Float64, velocities: Float64, extra_fields: Float64) -> Float64:
    """Gymnasium's observation, and heights of hind foot and rest, from 0 on the floor to 1 at ten centimetres.

    (N, 9), (N, 9), (N, 0) -> (N, 19)
    """
    points = heights(positions)
    lifted = np.clip(np.stack([_foot(points), _clearance(points)], axis=1) / _WELL_OFF, 0, 1)
    return np.concatenate([HALF_CHEETAH.observe(positions, velocities, extra_fields), lifted], axis=1)


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


HALF_CHEETAH_ONE_LEG = replace(
    HALF_CHEETAH,
    name="half-cheetah-one-leg",
    sizes=(19, 6),
    title="Half-Cheetah: on one leg",
    instruction=(
        "Choose the clip in which the robot moves faster to the right on its hind leg alone: its front foot (and its "
        "body) should stay off the ground. Standing on one leg is better than running on two."
    ),
    observe=observation,
    standard_observe=HALF_CHEETAH.observe,
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
    # Decided in docs/experiments/robots.md, Half-Cheetah on one leg.
    presets={**HALF_CHEETAH.presets, "labels": 200},
)
