"""Signals: the quantities of a robot that expressions can name, in SI units and radians.

Unless stated otherwise, a signal is of the root body (the first body with a joint and a shape) at the end of a control step:

x, y, height: position of the root body's own frame in the world
forward_speed, side_speed, vertical_speed: mean speeds along x, y and z during the step
mass_speed: velocity of the robot's centre of mass along x at the end of the step
up: cosine between the body's own up and the world's
roll, pitch, yaw: rotation about the body's x axis, about its y axis (positive: forward), and of its x axis about the
    vertical (positive: counter-clockwise seen from above). For a robot that turns about one axis only, it is the angle of
    its joint, which continues past a full turn. For others, it is from -pi to pi: the angle of gravity in the body's
    y-z plane, that in its x-z plane, and that of its x axis seen from above
roll_rate, pitch_rate, yaw_rate: angular velocity about the body's x and y axes, and about the vertical
joint[NAME], joint_rate[NAME]: position and velocity of a joint
action[NAME]: the policy's action for an actuator, from -1 to 1; an actuator without a name has the name of its joint
x[GEOM], y[GEOM]: position of a geom's centre in the world
height[GEOM]: height of a geom's lowest point above the floor
contact[GEOM]: 1 if the geom can touch the floor and its lowest point is less than CONTACT_HEIGHT above the height at which
    contact forces begin, else 0
airborne: 1 if no geom of the root body's tree is in contact with the floor, else 0
time: seconds since the episode began
"""

import keyword
import unicodedata
from dataclasses import dataclass
from typing import Protocol

from core.types import Float64

CONTACT_HEIGHT = 0.005
"""Clearance in m below which a geom counts as touching the floor. It is measured from the sum of the two geoms' margins,
where MuJoCo's contact forces begin: a robot at rest may hover at that height."""

PLAIN = (
    *("x", "y", "height", "forward_speed", "side_speed", "vertical_speed", "mass_speed", "up"),
    *("roll", "pitch", "yaw", "roll_rate", "pitch_rate", "yaw_rate", "airborne", "time"),
)
"""Signals without a name in brackets."""
_NAMED_BY = {
    **{"joint": "joints", "joint_rate": "joints", "action": "actions"},
    **dict.fromkeys(("x", "y", "height", "contact"), "geoms"),
}
FAMILIES = tuple(_NAMED_BY)
"""Signals with a name in brackets."""
ANGLES = ("roll", "pitch", "yaw")


class Signals(Protocol):
    """Signals of one step of N environments, by name: 'pitch', 'joint[knee]'. Only those that are read are computed."""

    count: int
    """N"""
    wrapped: frozenset[str]
    """Those of ANGLES that are wrapped to [-pi, pi]; the others continue past a full turn."""

    def __getitem__(self, name: str) -> Float64:
        """Return the signal, (N,). Raises KeyError if the robot has none of this name."""
        ...


@dataclass(frozen=True)
class SignalNames:
    """Names that a robot's signals can have in brackets: of joints with one degree of freedom, actuators and geoms."""

    joints: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    geoms: tuple[str, ...] = ()
    slides: tuple[str, ...] = ()
    """Those of `joints` that slide instead of turning."""

    def of(self, family: str) -> tuple[str, ...]:
        """Return the names that a family of signals takes, such as 'joint'. Raises KeyError for another family."""
        return {"joints": self.joints, "actions": self.actions, "geoms": self.geoms}[_NAMED_BY[family]]

    def all(self) -> list[str]:
        """Return all signals of the robot, in the notation of expressions."""
        return [*PLAIN, *(write(family, name) for family in FAMILIES for name in self.of(family))]


CONDITIONS = ("airborne", "contact")
"""Signals and families that are 1 or 0."""


def write(family: str, name: str) -> str:
    """Return the canonical name of a signal: joint[knee], or joint['left-knee'] if the name is not a plain word."""
    plain = name.isidentifier() and not keyword.iskeyword(name) and unicodedata.is_normalized("NFKC", name)
    return f"{family}[{name if plain else repr(name)}]"
