"""Definition of a task. Imports neither MuJoCo nor torch, so that the window can show the catalogue."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from core.behaviours.behaviour import STARTS, STARTS_ANYWHERE, Behaviour
from core.behaviours.figures import EpisodeFigures
from core.behaviours.signals import SignalNames, Signals
from core.presets import DEFAULT
from core.types import Float32, Float64

INSTRUCTION = "Choose the clip that comes closer to the behaviour you want to teach."
"""Instruction of a task without a goal of its own."""


class _NoSignals:
    count = 0
    wrapped: frozenset[str] = frozenset()

    def __getitem__(self, name: str) -> Float64:
        raise KeyError(f"{name}: the task does not ask for signals")


NO_SIGNALS: Signals = _NoSignals()


@dataclass(frozen=True)
class Physics:
    """One control step of N robots: the input of true reward and measure.

    positions (N, nq), velocities (N, nv): after the step, in m, rad, m/s and rad/s
    before (N, nq), velocities_before (N, nv): before the step
    actions (N, a): clipped to [-1, 1]
    signals: signals by name, if RobotTask.needs_signals
    """

    positions: Float64
    velocities: Float64
    actions: Float32
    before: Float64
    velocities_before: Float64
    signals: Signals = NO_SIGNALS


class Measure(Protocol):
    """A task's own figures of an episode, counted for N environments at once."""

    def step(self, physics: Physics) -> None: ...
    def finish(self, index: int) -> dict[str, float]:
        """Return the figures of the episode that has ended in environment `index`, and start its next episode."""
        ...

    def get_state(self) -> dict[str, Any]: ...
    def set_state(self, arrays: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """Entry of the catalogue: the properties that all kinds of environments have in common."""

    name: str
    title: str
    instruction: str
    """Shown to the labeller above the clips."""
    segment_steps: int
    episode_steps: int
    """Fixed length of every episode in steps (A)."""
    measure_name: str
    """Name of the figure that is plotted and reported first; larger values are better."""
    measure_title: str
    plots: Mapping[str, str] = field(default_factory=dict)
    """Titles of further figures to plot, by the figures' names."""
    paper_presets: Mapping[str, Any] = field(default_factory=dict)
    """The paper's settings, used with an optimizer other than the preset's (core.presets.merge_presets)."""
    pictures: tuple[int, int, int] | None = None
    """(frames, height, width) if observations are pictures: flat rows of uint8 pixels, the oldest frame first, which
    the networks scale to [0, 1]. None if observations are float32 numbers."""
    sizes: tuple[int, int] | None = None
    """Widths of an observation and an action; None if they are known only from the environment."""

    @property
    def presets(self) -> Mapping[str, Any]:
        """Config changes of the preset 'default' (see core.config.replaced)."""
        return DEFAULT

    @property
    @abstractmethod
    def step_seconds(self) -> float:
        """Duration of one environment step in a clip, in seconds."""

    @property
    @abstractmethod
    def has_true_reward(self) -> bool:
        """True if the task has a true reward, and so an oracle."""

    @property
    def longest_episode(self) -> int:
        """Largest number of steps of an episode, as counted in the metrics."""
        return self.episode_steps

    @property
    def segment_seconds(self) -> float:
        return self.segment_steps * self.step_seconds


@dataclass(frozen=True)
class Camera:
    """Camera of the clips. It follows the robot horizontally, and vertically only if the robot would leave the picture.

    So a jump looks like a jump.
    """

    body: str
    """Body that is followed and leaves a trace: the centre of mass of its subtree."""
    height: float
    """Height in m of the point at the centre of the picture."""
    distance: float
    """Distance in m to that point. A picture shows about 0.65 m, in width and height, per metre of distance."""
    elevation: float = 12.0
    """Angle in degrees by which the camera looks down."""
    azimuth: float = 90.0
    """Direction of view in degrees: 0 along x, 90 along y."""
    fixed: bool = False
    """True if the camera stands still and looks at `centre`."""
    centre: tuple[float, float] = (0.0, 0.0)
    """Point (x, y) in m at which a fixed camera looks."""


Observe = Callable[[Float64, Float64], Float64]
"""Maps positions (N, nq) and velocities (N, nv) to observations (N, o)."""
FASTEST = 10.0
"""Limit in m/s and rad/s to which observed velocities are clipped, as in Gymnasium's Hopper and Walker."""


def observe_turning(first: int, start: int, stop: int) -> Observe:
    """Return a function that observes positions from index `first` on, velocities, and some angles as sine and cosine.

    start, stop: range of the indices of these angles, which are periodic
    """

    def observe(positions: Float64, velocities: Float64) -> Float64:
        turned, rest = positions[:, start:stop], positions[:, stop:]
        parts = [positions[:, first:start], np.sin(turned), np.cos(turned), rest]
        return np.concatenate([*parts, clipped_velocities(velocities)], axis=1)

    return observe


def quaternion_row(quaternions: Float64, k: int) -> Float64:
    """Return row k of the rotation matrices of quaternions (N, 4), normalized: (N, 3)."""
    w, x, y, z = (quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)).T
    rows = (
        lambda: (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        lambda: (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        lambda: (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack(rows[k](), axis=1)


ORIENTATION = ((2, 0), (2, 1), (2, 2), (0, 0), (1, 0))
"""Row and column, in the rotation matrix from body to world, of each number of `orientation`."""


def orientation(quaternions: Float64) -> Float64:
    """Return the orientation (N, 5) of MuJoCo's quaternions (N, 4): the z component of each body axis, and x and y of its x axis.

    With quaternions, a network would have to learn everything twice: a quaternion and its negative are the same
    orientation, and a full turn leads from one to the other.
    """
    rows = [quaternion_row(quaternions, k) for k in range(3)]
    return np.stack([rows[i][:, j] for i, j in ORIENTATION], axis=1)


def clipped_velocities(velocities: Float64) -> Float64:
    """Return velocities of any shape, clipped to ±FASTEST."""
    return np.clip(velocities, -FASTEST, FASTEST)


@dataclass(frozen=True, kw_only=True)
class RobotTask(Task):
    """A MuJoCo robot, modified as in Appendix A.1: the body alone, or with a behaviour.

    The defaults of instruction, true reward and measure are for a body alone.
    """

    instruction: str = INSTRUCTION
    measure_name: str = ""
    measure_title: str = ""
    robot: str
    """Name of the body in core.tasks.robots."""
    names: SignalNames
    """Names of joints, actuators and geoms for the signals."""
    model: str
    """File name of the model among Gymnasium's assets."""
    packed_model: bytes = b""
    """An imported robot (core.robots.mjcf), in place of `model`."""
    start_positions: tuple[float, ...] = ()
    """Positions (nq) at the start of an episode, before noise; () for the model's own."""
    rest_controls: tuple[float, ...] = ()
    """Controls of the actuators for the action 0; () for the middle of their ranges."""
    timestep: float
    """Duration of one physics step in seconds."""
    integrator: str
    """MuJoCo's integrator: euler, rk4, implicit or implicitfast."""
    frame_skip: int
    """Physics steps in one environment step."""
    observe: Observe
    """Input of the networks, the same in all tasks of a robot. Angles without limits are observed as sine and cosine."""
    true_reward: Callable[[Physics], Float64] | None = None
    """Reward (N,) of one step; None if the task has none."""
    other_rewards: Mapping[str, Callable[[Physics], Float64]] = field(default_factory=dict)
    """Alternatives to the true reward, by their names in Config.true_reward."""
    measure: Callable[[int, float], Measure] = partial(EpisodeFigures, {})
    """Creates a measure for a number of environments and a step duration in seconds."""
    paper_presets: Mapping[str, Any] = field(default_factory=lambda: {"policy.entropy_bonus": 0.01})
    """A.1, for all robots except the Swimmer."""
    activations: int = 0
    """Number of states of actuators, which are the last inputs of the networks."""
    velocities: int = 0
    """Number of velocities of an imported robot."""
    sensed: int = 0
    """Number of geoms of an imported robot that can touch the floor."""
    unseen_joints: tuple[str, ...] = ()
    """Slide joints that move the whole robot, whose positions `observe` leaves out."""
    surroundings: tuple[str, ...] = ()
    """Geoms that do not belong to the robot, whose positions `observe` includes."""
    exploration_std: float = 1.0
    """Standard deviation of an untrained policy's actions, which are in [-1, 1] (docs/experiments/person.md)."""
    most_environments: int | None = None
    """Most environments of a session for which a number of steps is given (docs/experiments/fast-answers.md); None for no limit."""
    reset_noise: float = 5e-3
    """Largest deviation of uniformly distributed starting positions from the model's own, in m and rad."""
    normal_speeds: bool = False
    """True if starting velocities are normal with standard deviation `reset_noise`, instead of uniform within it."""
    reset_hook: Callable[[np.random.Generator, Float64, Float64], None] | None = None
    """Changes starting positions (n, nq) and velocities (n, nv) in place, for starts that need more than noise."""
    start: str = "standing"
    """Start of episodes: one of `starts`."""
    start_scale: float = 1.0
    """Heights of starts in the air, relative to those of the paper's robots: less for a small robot."""
    needs_signals: bool = False
    """True if true reward or measure read Physics.signals."""
    floor_sense: bool = False
    """True if the networks also observe, after `observe`, the height above the floor of each geom that can touch it."""
    behaviour: Behaviour | None = None
    """The behaviour file from which the task was made."""
    camera: Camera
    floor_height: float | None = None
    """Height in m of the floor that is added for a robot that does not stand on one; None for the model's own."""
    floor_pattern: float = 1.0
    """Period of the floor's pattern in m."""
    colours: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    """Red, green and blue, from 0 to 1, of geoms by name, in place of the model's own."""

    @property
    def presets(self) -> Mapping[str, Any]:
        return {**DEFAULT, "policy.initial_std": self.exploration_std}

    @property
    def step_seconds(self) -> float:
        return self.timestep * self.frame_skip

    @property
    def starts(self) -> tuple[str, ...]:
        """Possible starts of episodes (core.behaviours.behaviour.STARTS)."""
        return STARTS if self.floor_sense else STARTS_ANYWHERE

    @property
    def has_true_reward(self) -> bool:
        return self.true_reward is not None
