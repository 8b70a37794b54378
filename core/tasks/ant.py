"""Ant: four legs in three dimensions.

Gymnasium controls it at 20 Hz already: a clip of 30 steps is 1.5 s (A.1). The physics steps are its own too, but of the
implicitfast integrator instead of the fourth-order Runge-Kutta: four times as fast, with the same forces to be seen.
"""

from __future__ import annotations

import numpy as np

from core.tasks.base import Camera, Physics, RobotTask, averages, forward, preset_for_steps
from core.types import Float64

_MOVED = 27
"""Numbers of an observation before the contact forces."""
_WORLD = 6
"""Forces and torques on the first body, the world, that are left out."""
_FALLEN = 0.2
"""Metres: below it Gymnasium calls the Ant fallen."""


def observation(positions: Float64, velocities: Float64, extras: Float64) -> Float64:
    """Gymnasium's: height, orientation, joints, all velocities, and the forces on each body, clipped to 1."""
    return np.concatenate([positions[:, 2:], velocities, np.clip(extras[:, _WORLD:], -1, 1)], axis=1)


def ant_reward(physics: Physics) -> Float64:
    """Speed to the right and z - 1.2 for the torso's height z instead of an end to the episode (A.1)."""
    return forward(physics) + physics.positions[:, 2] - 1.2


def upright(physics: Physics) -> Float64:
    """The torso is off the ground and its upper side up."""
    x, y = physics.positions[:, 4], physics.positions[:, 5]
    return ((physics.positions[:, 2] > _FALLEN) & (1 - 2 * (x**2 + y**2) > 0)).astype(np.float64)


ANT = RobotTask(
    name="ant",
    sizes=(105, 8),
    title="Ant",
    instruction=(
        "Choose the clip in which the robot stands upright; if neither does, the one whose middle is higher. If both "
        "stand, or neither, choose the one that moves to the right faster."
    ),
    model="ant.xml",
    timestep=0.01,
    integrator="implicitfast",
    frame_skip=5,
    segment_steps=30,
    episode_steps=200,
    observe=observation,
    standard_observe=observation,
    extras=("cfrc_ext",),
    true_reward=ant_reward,
    measure=averages(forward_speed=forward, share_upright=upright),
    measure_name="forward_speed",
    measure_title="Forward speed (m/s)",
    reset_noise=0.1,
    normal_speeds=True,
    camera=Camera((-1.3, -3.9, 2.2), (0.0, 0.0, 0.0), follows="torso"),
    # Noise as strong as its motors throws it on its back, where there is little to learn; and smaller batches let the
    # policy move more often. It has most weights to move, so a pass takes longest.
    # The predictors don't see the contact forces, as little as a person does: of most bodies they are zero nearly
    # always, and a rare one would count for a hundred deviations. A gait once begun seems seldom left, so that the
    # reward has to be right early, hence the early answers and the larger steps of its fit (RESULTS.md).
    presets={
        **preset_for_steps(2_500_000),
        "policy.initial_std": 0.15,
        "policy.entropy_bonus": 0.003,
        "policy.learning_rate": 5e-4,
        "policy.minibatch": 512,
        "policy.epochs": 5,
        "reward.observed": _MOVED,
        "reward.learning_rate": 3e-3,
        "reward.steps_per_label": 12,
        "query.half_life": 150_000,
        "rollout.steps": 16,
    },
)
