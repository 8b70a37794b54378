"""Hopper and Walker: forward on one leg and on two.

Gymnasium runs both at 125 Hz with the fourth-order Runge-Kutta integrator, at which 1.5 s would be 188 steps. Here they
run at the 40 and 30 Hz at which the authors played their clips, with implicitfast at some 5 ms: several times faster,
as with the backflip.
"""

import numpy as np

from core.tasks.base import Camera, Physics, RobotTask, averages, forward, observe_turning
from core.types import Float64

_HEIGHT = 1
"""Index of the torso's height in the positions of both robots."""
_HOPPER_FALLEN, _WALKER_FALLEN = 0.7, 0.8
"""Heights in m below which Gymnasium calls them fallen."""


def hopper_reward(physics: Physics) -> Float64:
    """(N,) speed, 1 per step, and z - 1 for the torso's height z instead of an end to the episode (A)."""
    return forward(physics) + 1 + (physics.positions[:, _HEIGHT] - 1)


def walker_reward(physics: Physics) -> Float64:
    """(N,) speed, 1 per step, and z - 2 for the torso's height z instead of an end to the episode (A)."""
    return forward(physics) + 1 + (physics.positions[:, _HEIGHT] - 2)


def upright(physics: Physics, fallen: float) -> Float64:
    """(N,) 1 if the torso is above the height `fallen`, else 0."""
    return (physics.positions[:, _HEIGHT] > fallen).astype(np.float64)


HOPPER = RobotTask(
    name="hopper",
    robot="hopper",
    sizes=(16, 3),
    title="Hopper",
    instruction=(
        "Choose the clip in which the robot's middle joint, the one nearest to its pointed end, gets further to the "
        "right (moving left is worse than not moving). If that is about equal, choose the clip in which it is higher."
    ),
    model="hopper.xml",
    timestep=0.005,
    integrator="implicitfast",
    frame_skip=5,
    segment_steps=60,
    episode_steps=320,
    observe=observe_turning(1, slice(2, 3)),
    floor_sense=True,
    true_reward=hopper_reward,
    measure=averages(forward_speed=forward, share_upright=lambda physics: upright(physics, _HOPPER_FALLEN)),
    measure_name="forward_speed",
    measure_title="Forward speed (m/s)",
    camera=Camera("torso", height=1.15, distance=4.0),
)

WALKER = RobotTask(
    name="walker",
    robot="walker",
    sizes=(25, 6),
    title="Walker",
    instruction=(
        "Choose the clip in which the joint where the robot's three limbs meet gets further to the right. If that is "
        "about equal, choose the clip in which that joint is higher."
    ),
    model="walker2d_v5.xml",
    timestep=1 / 180,
    integrator="implicitfast",
    frame_skip=6,
    segment_steps=45,
    episode_steps=300,
    observe=observe_turning(1, slice(2, 3)),
    floor_sense=True,
    true_reward=walker_reward,
    measure=averages(forward_speed=forward, share_upright=lambda physics: upright(physics, _WALKER_FALLEN)),
    measure_name="forward_speed",
    measure_title="Forward speed (m/s)",
    camera=Camera("torso", height=1.15, distance=4.0),
)
