"""The Ant: four legs in three dimensions.

Gymnasium controls it at 20 Hz: a clip of 30 steps lasts 1.5 s (A.1). Physics steps are as long as Gymnasium's, but with
the implicitfast integrator instead of the fourth-order Runge-Kutta: four times as fast.
"""

import numpy as np

from core.tasks.base import Camera, Physics, RobotTask, averages, forward, orientation
from core.types import Float64

_FALLEN = 0.2
"""Height in m below which Gymnasium calls it fallen."""


def observation(positions: Float64, velocities: Float64) -> Float64:
    """All but the place: height, orientation, joints and velocities, (N, 15), (N, 14) -> (N, 28)."""
    return np.concatenate([positions[:, 2:3], orientation(positions[:, 3:7]), positions[:, 7:], velocities], axis=1)


def ant_reward(physics: Physics) -> Float64:
    """(N,) speed to the right, and z - 1.2 for the torso's height z instead of an end to the episode (A)."""
    return forward(physics) + physics.positions[:, 2] - 1.2


def upright(physics: Physics) -> Float64:
    """(N,) 1 if the torso is off the ground with its upper side up, else 0."""
    x, y = physics.positions[:, 4], physics.positions[:, 5]
    return ((physics.positions[:, 2] > _FALLEN) & (1 - 2 * (x**2 + y**2) > 0)).astype(np.float64)


ANT = RobotTask(
    name="ant",
    robot="ant",
    sizes=(41, 8),
    title="Ant",
    instruction=(
        "Choose the clip in which the robot stands upright; if it stands in neither, the one in which its middle is "
        "higher. If it stands in both, or in neither, choose the clip in which it moves faster to the right."
    ),
    model="ant.xml",
    timestep=0.01,
    integrator="implicitfast",
    frame_skip=5,
    segment_steps=30,
    episode_steps=200,
    observe=observation,
    floor_sense=True,
    true_reward=ant_reward,
    measure=averages(forward_speed=forward, share_upright=upright),
    measure_name="forward_speed",
    measure_title="Forward speed (m/s)",
    reset_noise=0.1,
    normal_speeds=True,
    camera=Camera("torso", height=1.05, distance=5.3, elevation=20.0, azimuth=72.0),
    # Decided in docs/experiments/robots.md, Ant: more noise throws it on its back.
    exploration_std=0.15,
)
