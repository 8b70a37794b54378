"""Titles and units of the signals in the list, and the figures and titles of their plots."""

import ast

from core.behaviours.signals import PLAIN, SignalNames

_PLAIN = {
    "height": ("Height", "m"),
    "forward_speed": ("Forward speed", "m/s"),
    "side_speed": ("Sideways speed", "m/s"),
    "vertical_speed": ("Vertical speed", "m/s"),
    "mass_speed": ("Speed of the centre of mass", "m/s"),
    "up": ("Uprightness", "1 upright, -1 upside down"),
    "pitch": ("Pitch: turned forward", "rad"),
    "roll": ("Roll: tilted sideways", "rad"),
    "yaw": ("Yaw: heading", "rad"),
    "pitch_rate": ("Pitch rate", "rad/s"),
    "roll_rate": ("Roll rate", "rad/s"),
    "yaw_rate": ("Yaw rate", "rad/s"),
    "airborne": ("In the air", "share of the time"),
    "x": ("Position along x", "m"),
    "y": ("Position along y", "m"),
}
_FAMILIES = {
    "x": ("Position of {} along x", "m"),
    "y": ("Position of {} along y", "m"),
    "height": ("Height of {}", "m"),
    "contact": ("{} on the floor", "share of the time"),
    "joint": ("Joint {}", ""),
    "joint_rate": ("Speed of joint {}", ""),
    "action": ("Action of {}", "-1 to 1"),
}


def plottable(names: SignalNames) -> dict[str, str]:
    """Return the titles of a robot's signals, with units, by name; without `time`, whose mean is of no use."""
    of_parts = [name for name in names.all() if name not in PLAIN]
    return {name: title_of(name) for name in (*_PLAIN, *of_parts)}


def title_of(signal: str) -> str:
    """Return the title of a signal: 'height[foot]' -> 'Height of foot (m)'."""
    if signal in _PLAIN:
        title, unit = _PLAIN[signal]
    else:
        family, _, rest = signal.partition("[")
        name = rest.removesuffix("]")
        quoted = name[0] in "'\""
        title, unit = _FAMILIES[family]
        title = title.format(ast.literal_eval(name) if quoted else name)
    return f"{title} ({unit})" if unit else title


def mean_of(signal: str) -> str:
    """Return the figure that is plotted for a signal."""
    return f"mean({signal})"
