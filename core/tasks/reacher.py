"""The Reacher: an arm with two joints in a plane, and a target that moves with each episode.

Control is at 10 Hz, so that a clip of 15 steps lasts 1.5 s (A.1). The integrator is Gymnasium's, with physics steps
twice as long, which makes no difference to an arm that touches nothing.
"""

import numpy as np

from core.tasks.base import Camera, Physics, RobotTask, averages
from core.types import Float64

_INNER, _OUTER = 0.1, 0.11
"""Distances in m between the joints, and from the outer joint to the fingertip."""
_TARGET_RADIUS = 0.2
_START_JOINTS, _START_SPEEDS = 0.1, 5e-3
"""Ranges of the starting joint angles and of everything else."""
_FRAME, _ARM = (0.45, 0.48, 0.55), (0.15, 0.4, 0.75)
_COLOURS = {
    **dict.fromkeys(("sideN", "sideE", "sideS", "sideW", "root"), _FRAME),
    **dict.fromkeys(("link0", "link1"), _ARM),
    "fingertip": (0.1, 0.75, 0.15),
    "target": (0.95, 0.1, 0.1),
}


def fingertip_to_target(positions: Float64) -> Float64:
    """Vector from the target to the fingertip, positions (N, 4) -> (N, 2) in m."""
    first, both = positions[:, 0], positions[:, 0] + positions[:, 1]
    x = _INNER * np.cos(first) + _OUTER * np.cos(both)
    y = _INNER * np.sin(first) + _OUTER * np.sin(both)
    return np.stack([x, y], axis=1) - positions[:, 2:4]


def observation(positions: Float64, velocities: Float64) -> Float64:
    """Gymnasium's observation, and the distance to the target, which a person sees at once: (N, 4), (N, 4) -> (N, 11).

    These are cosines and sines of the joints, the target, the joints' speeds, and vector and distance to the target.
    """
    joints, way = positions[:, :2], fingertip_to_target(positions)
    far = np.linalg.norm(way, axis=1, keepdims=True)
    return np.concatenate([np.cos(joints), np.sin(joints), positions[:, 2:], velocities[:, :2], way, far], axis=1)


def distance(physics: Physics) -> Float64:
    """(N,) distance from the fingertip to the target in m."""
    return np.linalg.norm(fingertip_to_target(physics.positions), axis=1)


def reacher_reward(physics: Physics) -> Float64:
    """(N,) minus the distance to the target in m, without torque cost (A.1)."""
    return -distance(physics)


def place_target(rng: np.random.Generator, positions: Float64, velocities: Float64) -> None:
    """Place the target, at rest, uniformly on the disc within reach, in place: positions (n, 4), velocities (n, 4)."""
    radius = _TARGET_RADIUS * np.sqrt(rng.uniform(size=len(positions)))
    angle = rng.uniform(-np.pi, np.pi, len(positions))
    positions[:, 2], positions[:, 3] = radius * np.cos(angle), radius * np.sin(angle)
    velocities[:, 2:] = 0
    positions[:, :2] *= _START_JOINTS / _START_SPEEDS


REACHER = RobotTask(
    name="reacher",
    robot="reacher",
    sizes=(11, 2),
    title="Reacher",
    instruction=(
        "Choose the clip in which the tip of the arm (green) is nearer to the red dot. Near for a while and far for a "
        "while is worse than a medium distance all the time."
    ),
    model="reacher.xml",
    timestep=0.02,
    integrator="rk4",
    frame_skip=5,
    segment_steps=15,
    episode_steps=50,
    observe=observation,
    true_reward=reacher_reward,
    measure=averages(mean_distance=distance),
    measure_name="mean_distance",
    measure_title="Distance to the target (m)",
    measure_falls=True,
    reset_noise=_START_SPEEDS,
    reset_hook=place_target,
    camera=Camera("fingertip", height=0.0, distance=0.94, elevation=78.0, fixed=True),
    floor_pattern=0.2,
    colours=_COLOURS,
    # Decided in docs/experiments/robots.md, Reacher: a full push turns the arm by a radian in one step, so noise is
    # small.
    exploration_std=0.1,
)
