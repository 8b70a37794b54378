"""What a task is. Light: numpy only, so that the window can show the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.records import Float32, Float64


@dataclass(frozen=True)
class Physics:
    """One control step of N environments, as reward and measure see it.

    positions (N, nq) and velocities (N, nv) after the step; actions (N, a), clipped, and observations (N, o) before
    it; heights (N, points): lowest height in m above the floor of each point in Task.touch_points.
    """

    positions: Float64
    velocities: Float64
    actions: Float32
    standard_observations: Float64
    heights: Float64


class Measure(Protocol):
    """A task's own measure, counted for N environments at once."""

    def step(self, physics: Physics) -> None: ...
    def finish(self, index: int) -> dict[str, float]:
        """The figures of the episode that environment `index` just ended; starts its next."""
        ...

    def state(self) -> dict[str, Any]: ...
    def restore(self, arrays: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True)
class Task:
    """One entry of the catalogue."""

    name: str
    title: str
    instruction: str
    """Shown to the labeller above the clips."""
    model: str
    """File name of the MuJoCo model among Gymnasium's assets."""
    timestep: float
    """Seconds of one physics step."""
    integrator: str
    frame_skip: int
    """Physics steps in one environment step."""
    segment_steps: int
    episode_steps: int
    observe: Callable[[Float64, Float64], Float64]
    """(positions, velocities) -> (N, o): what the networks see."""
    standard_observe: Callable[[Float64, Float64], Float64]
    """(positions, velocities) -> (N, o): Gymnasium's observation, which the true reward is written in."""
    true_reward: Callable[[Physics], Float64] | None
    measure: Callable[[int, float], Measure]
    """(environments, seconds in a step) -> a fresh measure."""
    measure_name: str
    """The figure of the measure that is plotted and reported first."""
    measure_title: str
    touch_points: tuple[tuple[str, float], ...] = ()
    """(body geom, end): which ends of which capsules can touch the floor, +1 or -1 along the capsule."""
    reset_noise: float = 5e-3
    camera: str = "track"
    presets: Mapping[str, Any] = field(default_factory=dict)
    """Config changes that suit the task, as for config.replaced."""

    @property
    def step_seconds(self) -> float:
        return self.timestep * self.frame_skip

    @property
    def segment_seconds(self) -> float:
        return self.segment_steps * self.step_seconds
