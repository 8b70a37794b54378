"""Poles on a cart that slides along a rail of two metres: a single pole, and two on top of each other.

Gymnasium's models at 20 Hz with clips of 30 steps, 1.5 s. The authors' 15 steps at 10 Hz last as long, but a pole falls
within a quarter of a second, too fast to balance it at 10 Hz, let alone two.

Episodes of the single pole are short, as the authors' were: it can't be swung up again, and clips of fallen
poles teach nothing. With episodes of 5 s these were two thirds of all clips.
"""

import numpy as np

from core.tasks.base import Camera, Physics, RobotTask, averages, observe_turning
from core.types import Float64

_POLE = 0.6
"""Length of each pole of the double pendulum in m."""
_UPRIGHT = 0.2
"""Angle from the vertical in rad beyond which Gymnasium calls the pendulum fallen."""
_TIP_UP = 1.0
"""Height in m above which Gymnasium calls the double pendulum balanced."""


def pendulum_reward(physics: Physics) -> Float64:
    """(N,) 1 - angle^2. Episodes continue after a fall, so falling costs reward (A)."""
    return 1 - physics.positions[:, 1] ** 2


def pendulum_upright(physics: Physics) -> Float64:
    """(N,) 1 if the pole has not fallen, else 0."""
    return (np.abs(physics.positions[:, 1]) < _UPRIGHT).astype(np.float64)


def tip(positions: Float64) -> tuple[Float64, Float64]:
    """Return x (N,) and height (N,) in m of the upper pole's end, from positions (N, 3)."""
    lower, upper = positions[:, 1], positions[:, 1] + positions[:, 2]
    x = positions[:, 0] + _POLE * (np.sin(lower) + np.sin(upper))
    return x, _POLE * (np.cos(lower) + np.cos(upper))


def double_reward(physics: Physics) -> Float64:
    """(N,) Gymnasium's reward of a balanced pendulum, and 10 (z - 1) for its tip's height z instead of an end (A)."""
    x, z = tip(physics.positions)
    lower, upper = physics.velocities[:, 1], physics.velocities[:, 2]
    return 10 - 0.01 * x**2 - (z - 2) ** 2 - 1e-3 * lower**2 - 5e-3 * upper**2 + 10 * (z - 1)


def double_upright(physics: Physics) -> Float64:
    """(N,) 1 if the tip is up, else 0."""
    return (tip(physics.positions)[1] > _TIP_UP).astype(np.float64)


PENDULUM = RobotTask(
    name="pendulum",
    robot="pendulum",
    sizes=(5, 1),
    title="Pendulum",
    instruction=(
        "Choose the clip in which the pole points up, more or less. If both have fallen, answer with a tie or can't "
        "tell."
    ),
    model="inverted_pendulum.xml",
    timestep=0.01,
    integrator="rk4",
    frame_skip=5,
    segment_steps=30,
    episode_steps=60,
    observe=observe_turning(0, 1, 2),
    true_reward=pendulum_reward,
    measure=averages(share_upright=pendulum_upright),
    measure_name="share_upright",
    measure_title="Share of time upright",
    reset_noise=0.01,
    exploration_std=0.5,
    camera=Camera("pole", height=0.1, distance=5.4, fixed=True),
    floor_height=-0.5,
)

DOUBLE_PENDULUM = RobotTask(
    name="double-pendulum",
    robot="double-pendulum",
    sizes=(8, 1),
    title="Double pendulum",
    instruction=(
        "Choose the clip in which both poles point up, more or less, with the cart near the middle of its rail; if "
        "they fall, it should swing them up again. High for a while and low for a while is worse than a medium height "
        "all the time."
    ),
    model="inverted_double_pendulum.xml",
    timestep=0.01,
    integrator="rk4",
    frame_skip=5,
    segment_steps=30,
    episode_steps=60,
    observe=observe_turning(0, 1, 3),
    true_reward=double_reward,
    measure=averages(share_upright=double_upright, tip_height=lambda physics: tip(physics.positions)[1]),
    measure_name="share_upright",
    measure_title="Share of time upright",
    reset_noise=0.1,
    exploration_std=0.5,
    normal_speeds=True,
    camera=Camera("pole", height=0.0, distance=7.0, fixed=True),
    floor_height=-1.4,
)
