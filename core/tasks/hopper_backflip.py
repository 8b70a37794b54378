"""The Hopper doing backflips: the behaviour of section 3.2 for which it is hard to write a reward.

The oracle rewards the same things as the instruction to a human. The reward that OpenAI wrote by hand in two hours for the
announcement of the paper is available for comparison, as true_reward=openai: it rewards any turning backward.

A clip of 40 steps lasts one second (the paper: 1 to 2 s, 15 to 60 steps).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from core.behaviours.signals import Signals
from core.tasks.base import Physics, clipped_velocities
from core.tasks.robots import HOPPER
from core.types import Float64

_ANGLE = 2
"""Index of the torso's angle in the positions; backward is negative."""
_LANDING_SECONDS = 0.5
_LANDING_ANGLE = 0.5
_CONTACT_HEIGHT = 0.01
"""Height in m below which a point touches the floor."""
_KEPT = ("next", "flips", "clean", "landed", "clean_landed", "touched", "window", "window_clean")
_FAST_ENOUGH = 10.0
"""Backward angular velocity in rad/s above which the reward is constant: a person can still follow it."""
_WELL_OFF = 0.2
"""Height in m of the lowest point above which the reward is constant."""


def standard_observation(positions: Float64, velocities: Float64) -> Float64:
    """Return Gymnasium's observation (N, 11) of the Hopper: height, torso angle, joints, and velocities clipped to 10.

    positions, velocities: (N, 6) each
    """
    return np.concatenate([positions[:, 1:], clipped_velocities(velocities)], axis=1)


def _foot(signals: Signals) -> Float64:
    """Return the height of the foot's lowest point, (N,) in m."""
    return signals["height[foot_geom]"]


def _rest(signals: Signals) -> Float64:
    """Return the height of the lowest of head, hip and knee, (N,) in m.

    The leg is left out: its upper end is the knee, and its lower end, the ankle, is inside the foot's capsule.
    """
    return np.minimum(signals["height[torso_geom]"], signals["height[thigh_geom]"])


def backflip_reward(physics: Physics) -> Float64:
    """Return the reward (N,) for turning backward, highest for landing upright on the foot, minus a penalty for contacts.

    Turning at 10 rad/s or faster yields 0.4 on the floor, 1 from 20 cm above it, and 2.4 on the foot with the torso
    upright (less the more it leans). Turning forward at 10 rad/s costs 1.25 anywhere, so that nodding gains nothing. If
    anything but the foot touches the floor, 0.3 is subtracted and nothing counts as landing. So a clumsy turn is worth
    more than standing still, which yields 0: otherwise a policy that has learned not to fall would never turn.
    """
    foot, rest = _foot(physics.signals), _rest(physics.signals)
    turning = np.minimum(-physics.velocities[:, _ANGLE] / _FAST_ENOUGH, 1)
    lift = np.clip(np.minimum(foot, rest) / _WELL_OFF, 0, 1)
    touches = rest < _CONTACT_HEIGHT
    upright = np.maximum(np.cos(physics.positions[:, _ANGLE]), 0) * ((foot < _CONTACT_HEIGHT) & ~touches)
    return turning * np.where(turning < 0, 1.25, 0.4 + 0.6 * lift + 2 * upright) - 0.3 * touches


def openai_reward(physics: Physics) -> Float64:
    """Return OpenAI's handwritten backflip reward (N,), of Gymnasium's observation before the step and the action."""
    o, a = standard_observation(physics.before, physics.velocities_before), physics.actions
    push = a[:, 0] * o[:, 8] + a[:, 1] * o[:, 9] + a[:, 2] * o[:, 10]
    return -o[:, 7] * (1 + 0.3 * o[:, 0] + 0.1 * push + 0.05 * -o[:, 5])


class BackflipCounter:
    """Measure that counts full turns backward, the clean ones, and those landed upright.

    A backflip is a full turn of the torso backward since the last one (or the start). It is clean if nothing but the
    foot touched the floor during this turn. It is landed upright if, within half a second, the foot touches the floor
    with the torso within 0.5 rad of upright. A landing is clean if the flip was, and nothing else has touched the floor.
    """

    def __init__(self, environments: int, step_seconds: float) -> None:
        self._next = np.full(environments, -2 * np.pi)
        """Angle at which each robot completes its next flip."""
        self._flips, self._clean, self._landed, self._clean_landed = np.zeros((4, environments))
        self._touched = np.zeros(environments, np.bool_)
        """True if anything but the foot has touched the floor since the last flip."""
        self._window_clean = np.zeros(environments, np.bool_)
        """True if the last flip was clean, and nothing but the foot has touched the floor since then."""
        self._window = np.zeros(environments, np.int64)
        """Number of steps left in which the last flip may be landed."""
        self._window_steps = round(_LANDING_SECONDS / step_seconds)

    def step(self, physics: Physics) -> None:
        angle = physics.positions[:, _ANGLE]
        touches = _rest(physics.signals) < _CONTACT_HEIGHT
        self._touched |= touches
        self._window_clean &= ~touches
        turned = angle <= self._next
        if turned.any():
            clean = turned & ~self._touched
            self._flips += turned
            self._clean += clean
            self._next -= 2 * np.pi * turned
            self._window[turned] = self._window_steps
            self._window_clean[turned] = clean[turned]
            self._touched[turned] = False
        waiting = self._window > 0
        if waiting.any():
            tilt = np.abs((angle + np.pi) % (2 * np.pi) - np.pi)
            down = _foot(physics.signals) < _CONTACT_HEIGHT
            landed = waiting & down & (tilt < _LANDING_ANGLE)
            self._landed += landed
            self._clean_landed += landed & self._window_clean
            self._window[landed] = 0
            self._window[self._window > 0] -= 1

    def finish(self, index: int) -> dict[str, float]:
        figures = {
            "backflips_per_episode": float(self._flips[index]),
            "clean_backflips_per_episode": float(self._clean[index]),
            "upright_landings_per_episode": float(self._landed[index]),
            "clean_landings_per_episode": float(self._clean_landed[index]),
        }
        for values in self.get_state().values():
            values[index] = 0
        self._next[index] = -2 * np.pi
        return figures

    def get_state(self) -> dict[str, Any]:
        return {name: getattr(self, f"_{name}") for name in _KEPT}

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        for name, values in self.get_state().items():
            values[:] = arrays[name]


HOPPER_BACKFLIP = replace(
    HOPPER,
    name="hopper-backflip",
    title="Hopper: backflips",
    instruction=(
        "Choose the clip in which the robot does more of a backflip: rotating backward (to the left, counter-"
        "clockwise) off the ground is good; landing on its foot is better. Judge only what you see in the clip."
    ),
    segment_steps=40,
    true_reward=backflip_reward,
    other_rewards={"openai": openai_reward},
    measure=BackflipCounter,
    measure_name="backflips_per_episode",
    measure_title="Backflips per episode (8 s)",
    needs_signals=True,
)
