"""The Half-Cheetah: running as in the paper's eight tasks, and running on one leg, its second novel behaviour (3.2).

Gymnasium's physics are at 20 Hz already, which the authors played as they were: a clip of 30 steps is 1.5 s (A.1).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.records import Float64
from core.tasks.base import Camera, Physics, RobotTask, averages, forward, taught_in

_OFF_THE_FLOOR = 0.01
"""Metres: a point higher than this doesn't touch."""
_WELL_OFF = 0.1
"""Metres: a point higher than this is as well lifted as the reward asks for."""
_ENDS = (1.0, -1.0)
_HIND_FOOT = tuple(("bfoot", end) for end in _ENDS)
_HIND = (*_HIND_FOOT, *(("bshin", end) for end in _ENDS))
_REST = tuple((geom, end) for geom in ("ffoot", "fshin", "torso", "head") for end in _ENDS)
"""What is to stay off the floor on the hind leg: the front leg, and the body, or it would slide on its back."""


def observation(positions: Float64, velocities: Float64, extras: Float64) -> Float64:
    """Gymnasium's: height, pitch, joints, and all velocities; x is left out."""
    return np.concatenate([positions[:, 1:], velocities], axis=1)


def clearance(physics: Physics) -> Float64:
    """(N,) m between the floor and the lowest point of all but the hind leg."""
    return physics.heights[:, len(_HIND) :].min(axis=1)


def one_leg_reward(physics: Physics) -> Float64:
    """(1 + speed) times how far the rest is lifted, from 0 on the floor to 1 at ten centimetres.

    Running with the front foot down is worth nothing, standing on the hind leg something, running on it most. While the
    hind foot is off the floor as well it still pays, as a run has flights between its strides; the measure doesn't
    count those. It is of this project's own making: the paper had people alone judge this behaviour.
    """
    return (1 + physics.forward_speed) * np.clip(clearance(physics) / _WELL_OFF, 0, 1)


def on_one_leg(physics: Physics) -> Float64:
    """(N,) 1 where the hind foot touches the floor and all but the hind leg is off it; 0 in flight, too."""
    foot = physics.heights[:, : len(_HIND_FOOT)].min(axis=1) <= _OFF_THE_FLOOR
    return (foot & (clearance(physics) > _OFF_THE_FLOOR)).astype(np.float64)


def in_flight(physics: Physics) -> Float64:
    """(N,) 1 where nothing touches the floor: what this and the share on one leg leave of the time, other parts do."""
    return (physics.heights.min(axis=1) > _OFF_THE_FLOOR).astype(np.float64)


def running_on_one_leg(physics: Physics) -> Float64:
    """(N,) 1 where it is on one leg and moves forward."""
    return on_one_leg(physics) * (physics.forward_speed > 0)


HALF_CHEETAH = RobotTask(
    name="half-cheetah",
    sizes=(17, 6),
    title="Half-Cheetah",
    instruction="Choose the clip in which the robot moves to the right faster.",
    model="half_cheetah.xml",
    timestep=0.01,
    integrator="euler",
    frame_skip=5,
    segment_steps=30,
    episode_steps=200,
    observe=observation,
    standard_observe=observation,
    true_reward=forward,
    measure=averages(forward_speed=forward),
    measure_name="forward_speed",
    measure_title="Forward speed (m/s)",
    reset_noise=0.1,
    normal_speeds=True,
    camera=Camera((0.0, -3.7, 0.5), (0.0, 0.0, 0.0), follows="torso"),
    presets=taught_in(1_500_000),
)

HALF_CHEETAH_ONE_LEG = replace(
    HALF_CHEETAH,
    name="half-cheetah-one-leg",
    title="Half-Cheetah: on one leg",
    instruction=(
        "Choose the clip in which the robot moves to the right faster on its hind leg alone: its front foot (and its "
        "body) should stay off the ground. Standing on one leg is better than running on two."
    ),
    true_reward=one_leg_reward,
    measure=averages(
        share_on_one_leg=on_one_leg,
        share_running_on_one_leg=running_on_one_leg,
        share_in_flight=in_flight,
        forward_speed=forward,
    ),
    measure_name="share_on_one_leg",
    measure_title="Share of time on one leg",
    touch_points=(*_HIND, *_REST),
    presets={**HALF_CHEETAH.presets, "labels": 200},
)
