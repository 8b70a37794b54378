"""Meaning of each number of a robot's observation, found by probing the task's own function.

Each number is compared, for random values, with each position and velocity of MuJoCo's data, unchanged and as sine and
cosine, and with the rotation of each quaternion. So the description can't differ from the networks' inputs.
"""

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from core.robots.kinematics import SENSED, Kinematics
from core.robots.signals import actuator_names, joint_names
from core.robots.structure import BALL, FREE, HINGE
from core.tasks.base import ORIENTATION, RobotTask, orientation
from core.types import Float64

_ROWS = 64
_QUATERNION = ".qw"
"""Suffix of the name of a quaternion's first number."""
_FORMS: dict[str, Callable[[Float64], Float64]] = {"": np.positive, "sin": np.sin, "cos": np.cos}
_Source = tuple[str, int, str, str]
"""Field of MuJoCo's data, index in it, name, unit."""


def observation_numbers(task: RobotTask, model: mujoco.MjModel) -> list[dict[str, Any]]:
    """Describe each number of the task's observation, in order.

    Each has a name and a unit, and either a source and index in MuJoCo's data, with a form if it is converted and limits
    if it is clipped, or `depends_on` if it is computed from several. The form is 'sin', 'cos' or 'rotation[i][j]': row i,
    column j of the rotation matrix of the normalized quaternion that begins at this index.
    """
    rng = np.random.default_rng(0)
    sources = [*position_sources(model), *velocity_sources(model)]
    # large enough to show where something is clipped
    values = rng.normal(0, 300, (_ROWS, len(sources)))

    def observe(inputs: Float64) -> Float64:
        positions, velocities = np.split(inputs, [model.nq], axis=1)
        return np.asarray(task.observe(positions, velocities))

    observed = observe(values)
    numbers = [_describe(observed[:, column], column, values, sources, observe) for column in range(observed.shape[1])]
    if task.floor_sense:
        kinematics = Kinematics(model)
        names = {geom: name for name, geom in kinematics.geoms.items()}
        for geom in kinematics.sensed:
            text = (
                f"height of the lowest point of this geom above the floor, divided by {SENSED} m, after mj_kinematics"
            )
            numbers.append(
                {
                    "name": f"floor[{names[geom]}]",
                    "unit": "1",
                    "limits": [-1.0, 1.0],
                    "meaning": text,
                    "divisor": SENSED,
                }
                | _geom(model, "geom", int(geom))
                | _geom(model, "floor_geom", int(kinematics.floor))
            )
    return numbers + (_activation_numbers(model) if task.activations else [])


def _geom(model: mujoco.MjModel, key: str, geom: int) -> dict[str, Any]:
    """Describe a geom by its number, its name, its body, and its index among the geoms of that body."""
    body = int(model.geom_bodyid[geom])
    return {
        key: geom,
        f"{key}_name": model.geom(geom).name,
        f"{key}_body": body,
        f"{key}_in_body": geom - int(model.body_geomadr[body]),
    }


def _activation_numbers(model: mujoco.MjModel) -> list[dict[str, Any]]:
    """Describe each number of the actuators' states, in order."""
    numbers = []
    for name, index in actuator_names(model).items():
        first, count = int(model.actuator_actadr[index]), int(model.actuator_actnum[index])
        for k in range(count):
            shown = f"activation[{name}]" + (f".{k}" if count > 1 else "")
            numbers.append({"name": shown, "unit": "1", "source": "act", "index": first + k})
    return numbers


def _describe(column: Float64, number: int, values: Float64, sources: list[_Source], observe: Any) -> dict[str, Any]:
    low, high = float(column.min()), float(column.max())
    for index, (field, place, name, unit) in enumerate(sources if low < high else ()):
        for form, function in _FORMS.items():
            plain = function(values[:, index])
            if not np.array_equal(np.clip(plain, low, high), column):
                continue
            clipped = {"limits": [low, high]} if low > plain.min() or high < plain.max() else {}
            shown = f"{form}({name})" if form else name
            own = {"form": form} if form else {}
            return {"name": shown, "unit": "1" if form else unit, "source": field, "index": place, **own, **clipped}
    entries = (
        (source, place, entry)
        for index, source in enumerate(sources)
        if source[2].endswith(_QUATERNION)
        for place, entry in zip(ORIENTATION, orientation(values[:, index : index + 4]).T, strict=True)
    )
    for (field, first, name, _), (i, j), entry in entries:
        if np.array_equal(entry, column):
            form = f"rotation[{i}][{j}]"
            shown = f"{name.removesuffix(_QUATERNION)}.{form}"
            return {"name": shown, "unit": "1", "source": field, "index": first, "form": form}
    changed = []
    for index, (_, _, name, _) in enumerate(sources):
        moved = values.copy()
        moved[:, index] += 0.37
        if not np.array_equal(observe(moved)[:, number], column):
            changed.append(name)
    return {"name": f"observation[{number}]", "unit": "", "depends_on": changed}


def position_sources(model: mujoco.MjModel) -> list[_Source]:
    """Describe each number of qpos."""
    sources: list[_Source] = []
    for name, kind in zip(_joint_names(model), model.jnt_type, strict=True):
        parts = {FREE: ("x", "y", "z"), BALL: ()}.get(int(kind))
        if parts is None:
            unit = "rad" if kind == HINGE else "m"
            sources.append(("qpos", len(sources), f"joint[{name}]", unit))
            continue
        for part in parts:
            sources.append(("qpos", len(sources), f"joint[{name}].{part}", "m"))
        for part in ("qw", "qx", "qy", "qz"):
            sources.append(("qpos", len(sources), f"joint[{name}].{part}", "1"))
    return sources


def velocity_sources(model: mujoco.MjModel) -> list[_Source]:
    """Describe each number of qvel."""
    sources: list[_Source] = []
    for name, kind in zip(_joint_names(model), model.jnt_type, strict=True):
        if kind in (FREE, BALL):
            turns = [(f"joint_rate[{name}].{part}", "rad/s") for part in ("wx", "wy", "wz")]
            moves = [(f"joint_rate[{name}].{part}", "m/s") for part in ("x", "y", "z")] if kind == FREE else []
            parts = [*moves, *turns]
        else:
            parts = [(f"joint_rate[{name}]", "rad/s" if kind == HINGE else "m/s")]
        for shown, unit in parts:
            sources.append(("qvel", len(sources), shown, unit))
    return sources


def _joint_names(model: mujoco.MjModel) -> list[str]:
    """Return the name of each joint, as in signals if it has one there (free and ball joints do not)."""
    names = {joint: name for name, joint in joint_names(model).items()}
    return [names.get(joint) or model.joint(joint).name or f"joint_{joint}" for joint in range(model.njnt)]
