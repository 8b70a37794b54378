"""The Reacher's observation and colours, and its target, which is placed anew in each episode."""

import numpy as np

from core.types import Float64

_INNER, _OUTER = 0.1, 0.11
"""Distances in m between the joints, and from the outer joint to the fingertip."""
_TARGET_RADIUS = 0.2
_START_JOINTS, START_SPEEDS = 0.1, 5e-3
"""Largest deviations of the starting joint angles, in rad, and of all other starting values."""
_FRAME, _ARM = (0.45, 0.48, 0.55), (0.15, 0.4, 0.75)
COLOURS = {
    **dict.fromkeys(("sideN", "sideE", "sideS", "sideW", "root"), _FRAME),
    **dict.fromkeys(("link0", "link1"), _ARM),
    "fingertip": (0.1, 0.75, 0.15),
    "target": (0.95, 0.1, 0.1),
}


def fingertip_to_target(positions: Float64) -> Float64:
    """Return the vector (N, 2) in m from the target to the fingertip, for positions (N, 4)."""
    first, both = positions[:, 0], positions[:, 0] + positions[:, 1]
    x = _INNER * np.cos(first) + _OUTER * np.cos(both)
    y = _INNER * np.sin(first) + _OUTER * np.sin(both)
    return np.stack([x, y], axis=1) - positions[:, 2:4]


def observation(positions: Float64, velocities: Float64) -> Float64:
    """Return Gymnasium's observation and the distance to the target, (N, 11), for positions and velocities (N, 4).

    The numbers are cosines and sines of the joints, the target, the joints' speeds, and vector and distance to the target.
    """
    joints, way = positions[:, :2], fingertip_to_target(positions)
    far = np.linalg.norm(way, axis=1, keepdims=True)
    return np.concatenate([np.cos(joints), np.sin(joints), positions[:, 2:], velocities[:, :2], way, far], axis=1)


def place_target(rng: np.random.Generator, positions: Float64, velocities: Float64) -> None:
    """Place the target, at rest, uniformly on the disc within reach. Changes positions and velocities (n, 4) in place."""
    radius = _TARGET_RADIUS * np.sqrt(rng.uniform(size=len(positions)))
    angle = rng.uniform(-np.pi, np.pi, len(positions))
    positions[:, 2], positions[:, 3] = radius * np.cos(angle), radius * np.sin(angle)
    velocities[:, 2:] = 0
    positions[:, :2] *= _START_JOINTS / START_SPEEDS
