"""What a task is. Light: numpy only, so that the window can show the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from core.types import Float32, Float64

_LABELS = 700
_HALF_LIFE = 0.2
"""Share of a session's steps after which its labelling rate has halved."""
_DECAY = 0.9
"""Share of the policy's step size that is gone at a session's end."""
_PACE = 15
"""Environment steps for each answer that an epoch of the reward fit goes through: at 700 one comes with each batch, at
1,400 with every second."""


@dataclass(frozen=True)
class Physics:
    """One control step of N environments, as reward and measure see it.

    positions (N, nq) and velocities (N, nv) after the step, `before` (N, nq) the positions before it
    actions (N, a), clipped, and standard_observations (N, o): before the step
    contact_heights (N, points): lowest height in m above the floor of each point in RobotTask.contact_points
    seconds: how long the step took
    """

    positions: Float64
    velocities: Float64
    actions: Float32
    standard_observations: Float64
    contact_heights: Float64
    before: Float64
    seconds: float

    @cached_property
    def forward_speed(self) -> Float64:
        """(N,) m/s along the first position, averaged over the step."""
        return (self.positions[:, 0] - self.before[:, 0]) / self.seconds


class Measure(Protocol):
    """A task's own measure, counted for N environments at once."""

    def step(self, physics: Physics) -> None: ...
    def finish(self, index: int) -> dict[str, float]:
        """The figures of the episode that environment `index` just ended; starts its next."""
        ...

    def state(self) -> dict[str, Any]: ...
    def restore(self, arrays: Mapping[str, Any]) -> None: ...


class Averages:
    """The usual measure: means over an episode's steps of figures that each step has."""

    def __init__(self, figures: Mapping[str, Callable[[Physics], Float64]], environments: int) -> None:
        """figures: name -> its value in one step, (N,)."""
        self._figures = dict(figures)
        self._sums = np.zeros((environments, len(self._figures)))
        self._steps = np.zeros(environments)

    def step(self, physics: Physics) -> None:
        for column, figure in enumerate(self._figures.values()):
            self._sums[:, column] += figure(physics)
        self._steps += 1

    def finish(self, index: int) -> dict[str, float]:
        means = self._sums[index] / max(1.0, self._steps[index])
        self._sums[index] = self._steps[index] = 0
        return dict(zip(self._figures, means.tolist(), strict=True))

    def state(self) -> dict[str, Any]:
        return {"sums": self._sums, "steps": self._steps}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        if arrays["sums"].shape[1] < len(self._figures):  # of a version that had fewer: counting starts here
            return
        self._sums[:], self._steps[:] = arrays["sums"], arrays["steps"]


def forward(physics: Physics) -> Float64:
    """(N,) speed to the right in m/s; as a reward without torque cost (A.1)."""
    return physics.forward_speed


def averages(**figures: Callable[[Physics], Float64]) -> Callable[[int, float], Measure]:
    """The measure that reports the episode's mean of each figure, under its name."""
    return lambda environments, _: Averages(figures, environments)


@dataclass(frozen=True, kw_only=True)
class Task:
    """One entry of the catalogue, as far as every kind of environment has it."""

    name: str
    title: str
    instruction: str
    """Shown to the labeller above the clips."""
    segment_steps: int
    episode_steps: int
    """Every episode has this length, whatever happens in it (A.1)."""
    measure_name: str
    """The figure of the measure that is plotted and reported first."""
    measure_title: str
    measure_tells_reward: bool = False
    """That figure is the true return, so where one is hidden the other must be too."""
    measure_falls: bool = False
    """Whether less of that figure is better."""
    presets: Mapping[str, Any] = field(default_factory=dict)
    """Config changes that suit the task, as for config.replaced."""
    paper_presets: Mapping[str, Any] = field(default_factory=dict)
    """Those that stand in their place where another optimizer than the task's own is chosen: the paper's numbers."""
    pictures: tuple[int, int, int] | None = None
    """(frames, height, width) where observations are pictures: each is then a flat row of so many uint8 pixels, the
    oldest frame first, which the networks bring to the range 0 to 1. None where observations are float32 numbers."""

    sizes: tuple[int, int] | None = None
    """Numbers in an observation (pixels, where it is pictures) and in an action; None where only the environment knows.
    """

    @property
    def step_seconds(self) -> float:
        """How long one environment step is seen in a clip."""
        raise NotImplementedError

    @property
    def has_true_reward(self) -> bool:
        raise NotImplementedError

    @property
    def longest_episode(self) -> int:
        """Steps after which every episode that the metrics count has ended."""
        return self.episode_steps

    @property
    def segment_seconds(self) -> float:
        return self.segment_steps * self.step_seconds


@dataclass(frozen=True)
class Camera:
    """Where clips are drawn from: metres, from the world's origin, or from where the robot is if it follows it."""

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    """What is in the middle of the picture, from the same origin."""
    follows: str = ""
    """The body whose centre of mass (with all it carries) is kept in place; '' for a camera that stands still."""
    field: float = 36.0
    """Vertical field of view in degrees."""


def preset_for_steps(steps: int) -> dict[str, Any]:
    """Presets of a session of so many steps and figure 2's 700 answers, which come as early in it as in the paper's.

    There the labelling rate has halved after two million steps (A.1) of many more. The same two million in a session of
    one or two would spread its answers evenly, and the predictor would lag behind the policy. The policy's step size
    falls, as a policy that goes on at full speed after the last answers finds out where the predictor is wrong. A
    reward is no older than a few batches: a Half-Cheetah left with one for 126,000 steps learned half as much.
    """
    return {
        "labels": _LABELS,
        "steps": steps,
        "query.half_life": steps * _HALF_LIFE,
        "reward.epochs": 1,  # rounds of more would be rarer, or cost more, and teach no better
        "reward.steps_per_label": _PACE,
        "policy.decay": _DECAY,
        "policy.lag": 1,  # policy and rollouts work at once
        "rollout.environments": 256,  # so many are two crews' work, and less of their time is Python's
        "rollout.steps": 48,
    }


Observe = Callable[[Float64, Float64, Float64], Float64]
"""(positions (N, nq), velocities (N, nv), extras (N, e)) -> (N, o)"""


@dataclass(frozen=True, kw_only=True)
class RobotTask(Task):
    """A MuJoCo robot, altered as in Appendix A.1."""

    model: str
    """File name of the MuJoCo model among Gymnasium's assets."""
    timestep: float
    """Seconds of one physics step."""
    integrator: str
    frame_skip: int
    """Physics steps in one environment step."""
    observe: Observe
    """What the networks see."""
    standard_observe: Observe
    """Gymnasium's observation, in which a true reward may be written."""
    true_reward: Callable[[Physics], Float64] | None
    measure: Callable[[int, float], Measure]
    """(environments, seconds in a step) -> a fresh measure."""
    paper_presets: Mapping[str, Any] = field(default_factory=lambda: {"policy.entropy_bonus": 0.01})
    """A.1: the same for all but the Swimmer."""
    extras: tuple[str, ...] = ()
    """Fields of MuJoCo's data, as the last physics step left them, that an observation wants besides the state."""
    contact_points: tuple[tuple[str, float], ...] = ()
    """(body geom, end): which ends of which capsules can touch the floor, +1 or -1 along the capsule."""
    reset_noise: float = 5e-3
    """Positions start within so much of the model's own, evenly spread."""
    normal_speeds: bool = False
    """Starting velocities are normal with reset_noise as deviation, rather than evenly spread within it."""
    reset_hook: Callable[[np.random.Generator, Float64, Float64], None] | None = None
    """Changes fresh positions and velocities in place, where a start is more than noise."""
    camera: Camera
    floor_height: float = 0.0
    """Where to draw a floor for a model that has none, in m; nothing touches it."""
    floor_pattern: float = 2 / 3
    """Metres after which the floor's pattern repeats."""
    colours: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    """Geom -> red, green and blue, where the model's own can't be told apart."""

    @property
    def step_seconds(self) -> float:
        return self.timestep * self.frame_skip

    @property
    def has_true_reward(self) -> bool:
        return self.true_reward is not None
