"""A robot from an MJCF file: its packed files, and the properties needed where MuJoCo is not loaded."""

from __future__ import annotations

import base64
import binascii
import dataclasses
from dataclasses import dataclass
from typing import Any

from core.behaviours.signals import SignalNames
from core.errors import UserError
from core.types import is_number

MJCF_PREFIX = "mjcf:"
MAX_PACKED = 2 << 20
"""Largest size of the packed files in bytes. A session keeps them in its config, as text."""
LARGEST = 1e6
"""Bound on the absolute value of every number; for a distance, in metres."""
MAX_PARTS = 512
"""Largest number of joints, actuators or geoms."""
START_NOISE = 5e-3
"""Largest deviation of the starting positions and velocities from the usual ones; less for a small robot, in proportion."""
_INTEGRATORS = ("euler", "rk4", "implicit", "implicitfast")


@dataclass(frozen=True)
class RobotModel:
    """Contents of the field `model` of a behaviour file, which core.robots.importing creates."""

    packed: str
    """The files as base64 text (core.robots.mjcf)."""
    joints: tuple[str, ...]
    actions: tuple[str, ...]
    geoms: tuple[str, ...]
    timestep: float
    integrator: str
    frame_skip: int
    positions: int
    velocities: int
    plain: tuple[int, ...]
    """Indices of the positions that the networks observe unchanged."""
    angles: tuple[int, ...]
    """Indices of the positions observed as sine and cosine: hinges that can make a full turn."""
    sensed: int
    """Number of geoms that can touch the floor; the networks see their heights above it if `on_floor`."""
    start: tuple[float, ...]
    """Positions at the start of an episode, without noise."""
    on_floor: bool
    """True if the robot can be lifted and turned, so that starts other than standing and random are possible."""
    body: str
    """Body that the camera follows."""
    height: float
    """Height in m of the middle of the picture."""
    distance: float
    """Distance of the camera in m."""
    planar: bool
    """True if the robot moves in the plane of the picture, seen from the side."""
    fixed: bool
    """True if the robot can't move away from its place."""
    centre: tuple[float, ...] = (0.0, 0.0)
    """Position (x, y) in m of the middle of the picture, for a fixed robot."""
    rest: tuple[float, ...] = ()
    """Controls for the action 0; () for the middle of their ranges."""
    quaternions: tuple[int, ...] = ()
    """Index of the first of the four positions of each orientation (core.tasks.base.orientation)."""
    drawn_floor: tuple[float, ...] = ()
    """Height in m of the floor drawn below a robot that does not stand on one; () if it stands on one."""
    activations: int = 0
    """Number of states of the actuators, such as muscles and filters; the networks observe them."""
    level: bool = False
    """True if the robot moves in a horizontal plane, seen from above."""
    frontal: bool = False
    """True if the robot moves in the y-z plane, seen along x."""
    unseen_joints: tuple[str, ...] = ()
    """Slide joints that move the whole robot, whose positions the networks do not observe."""
    slides: tuple[str, ...] = ()
    """Those of `joints` that slide instead of turning."""
    surroundings: tuple[str, ...] = ()
    """Geoms that do not belong to the robot, such as a ball's, whose positions the networks observe."""

    @property
    def names(self) -> SignalNames:
        return SignalNames(self.joints, self.actions, self.geoms, self.slides)

    def velocity_of(self, position: int) -> int:
        """Return the index of a hinge's or slide's velocity. An orientation has four positions and three velocities."""
        return position - sum(first < position for first in self.quaternions)

    def content(self) -> bytes:
        return base64.b64decode(self.packed)

    def to_dict(self) -> dict[str, Any]:
        values = dataclasses.asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def robot_model(values: Any) -> RobotModel:
    """Read the field `model`, which is not written by hand. Raises UserError if it is damaged."""
    fields = {field.name: str(field.type) for field in dataclasses.fields(RobotModel)}
    needed = {field.name for field in dataclasses.fields(RobotModel) if field.default is dataclasses.MISSING}
    if not isinstance(values, dict) or not needed <= values.keys() <= fields.keys():
        raise UserError("model was not written by this program: name the robot's file in robot, and leave out model.")
    for name in values:
        if not _VALID[fields[name]](values[name]):
            raise UserError(f"model.{name} is damaged: name the robot's file in robot, and leave out model.")
    checked: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    model = RobotModel(**checked)
    sound = (
        _is_packed(model.packed)
        and is_part_name(model.body)
        and model.integrator in _INTEGRATORS
        and 1e-5 <= model.timestep <= 1
        and 1 <= model.frame_skip <= 10_000
        and len(model.start) == model.positions
        and all(0 <= index < model.positions for index in (*model.plain, *model.angles))
        and all(0 <= first <= model.positions - 4 for first in model.quaternions)
        and model.velocities <= model.positions
        and all(model.velocity_of(angle) < model.velocities for angle in model.angles)
        and 0 <= model.sensed <= len(model.geoms)
        and model.actions
        and model.distance > 0
        and len(model.centre) == 2
        and len(model.rest) in (0, len(model.actions))
        and len(model.drawn_floor) <= 1
    )
    if not sound:
        raise UserError("model is damaged: name the robot's file in robot, and leave out model.")
    return model


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 100_000


def _is_number(value: Any) -> bool:
    return is_number(value) and abs(value) < LARGEST


def is_part_name(value: Any) -> bool:
    """Return whether a part of a robot may have this name."""
    return isinstance(value, str) and 0 < len(value) <= 200 and value.isprintable()


def _is_packed(value: Any) -> bool:
    if not isinstance(value, str) or len(value) > MAX_PACKED * 4 // 3 + 4:
        return False
    try:
        return bool(base64.b64decode(value, validate=True))
    except (binascii.Error, ValueError):
        return False


_VALID = {
    "str": lambda value: isinstance(value, str),
    "float": _is_number,
    "int": _is_whole,
    "bool": lambda value: isinstance(value, bool),
    "tuple[str, ...]": lambda value: (
        isinstance(value, list) and len(value) <= MAX_PARTS and all(map(is_part_name, value))
    ),
    "tuple[int, ...]": lambda value: isinstance(value, list) and len(value) <= 4096 and all(map(_is_whole, value)),
    "tuple[float, ...]": lambda value: isinstance(value, list) and len(value) <= 4096 and all(map(_is_number, value)),
}
