"""The paper's robots that move forward: Swimmer, Half-Cheetah, Hopper, Walker and Ant.

Clips last 1.5 s (A.1). The Swimmer runs at 40 Hz; Half-Cheetah and Ant at Gymnasium's 20 Hz, at which the authors played
the Half-Cheetah's clips. Gymnasium runs Hopper and Walker at 125 Hz with the fourth-order Runge-Kutta integrator, at
which 1.5 s would be 188 steps. Here they run at the 40 and 30 Hz at which the authors played their clips, with
implicitfast at some 5 ms: several times faster, as with the backflip. The Ant's physics steps are as long as
Gymnasium's, but with implicitfast too: four times as fast.
"""

import numpy as np

from core.tasks.base import Camera, Physics, RobotTask, averages, forward, observe_turning, orientation
from core.types import Float64

_HEIGHT = 1
"""Index of the torso's height in the positions of Hopper and Walker."""
_HOPPER_FALLEN, _WALKER_FALLEN, _ANT_FALLEN = 0.7, 0.8, 0.2
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


def ant_observation(positions: Float64, velocities: Float64) -> Float64:
    """All but the place: height, orientation, joints and velocities, (N, 15), (N, 14) -> (N, 28)."""
    return np.concatenate([positions[:, 2:3], orientation(positions[:, 3:7]), positions[:, 7:], velocities], axis=1)


def ant_reward(physics: Physics) -> Float64:
    """(N,) speed to the right, and z - 1.2 for the torso's height z instead of an end to the episode (A)."""
    return forward(physics) + physics.positions[:, 2] - 1.2


def ant_upright(physics: Physics) -> Float64:
    """(N,) 1 if the torso is off the ground with its upper side up, else 0."""
    x, y = physics.positions[:, 4], physics.positions[:, 5]
    return ((physics.positions[:, 2] > _ANT_FALLEN) & (1 - 2 * (x**2 + y**2) > 0)).astype(np.float64)


SWIMMER = RobotTask(
    name="swimmer",
    robot="swimmer",
    sizes=(9, 2),
    title="Swimmer",
    instruction="Choose the clip in which the middle of the robot's body moves faster to the right.",
    model="swimmer.xml",
    timestep=0.0125,
    integrator="rk4",
    frame_skip=2,
    segment_steps=60,
    episode_steps=400,
    observe=observe_turning(2, 2, 3),  # front link and joints
    true_reward=forward,
    measure=averages(forward_speed=forward),
    measure_name="forward_speed",
    measure_title="Forward speed (m/s)",
    reset_noise=0.1,
    exploration_std=0.5,
    camera=Camera("torso", height=0.0, distance=5.3, elevation=60.0),
    paper_presets={"policy.entropy_bonus": 0.001},  # A.1, for the Swimmer alone
)

HALF_CHEETAH = RobotTask(
    name="half-cheetah",
    robot="half-cheetah",
    sizes=(26, 6),
    title="Half-Cheetah",
    instruction="Choose the clip in which the robot moves faster to the right.",
    model="half_cheetah.xml",
    timestep=0.01,
    integrator="euler",
    frame_skip=5,
    segment_steps=30,
    episode_steps=200,
    observe=observe_turning(1, 2, 3),  # height, pitch and joints
    floor_sense=True,
    true_reward=forward,
    measure=averages(forward_speed=forward),
    measure_name="forward_speed",
    measure_title="Forward speed (m/s)",
    reset_noise=0.1,
    exploration_std=0.5,
    normal_speeds=True,
    camera=Camera("torso", height=1.3, distance=4.4),
)

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
    observe=observe_turning(1, 2, 3),
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
    observe=observe_turning(1, 2, 3),
    floor_sense=True,
    true_reward=walker_reward,
    measure=averages(forward_speed=forward, share_upright=lambda physics: upright(physics, _WALKER_FALLEN)),
    measure_name="forward_speed",
    measure_title="Forward speed (m/s)",
    camera=Camera("torso", height=1.15, distance=4.0),
)

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
    observe=ant_observation,
    floor_sense=True,
    true_reward=ant_reward,
    measure=averages(forward_speed=forward, share_upright=ant_upright),
    measure_name="forward_speed",
    measure_title="Forward speed (m/s)",
    reset_noise=0.1,
    normal_speeds=True,
    camera=Camera("torso", height=1.05, distance=5.3, elevation=20.0, azimuth=72.0),
    # Decided in docs/experiments/robots.md, Ant: more noise throws it on its back.
    exploration_std=0.15,
)
