"""MuJoCo models of the robots, Gymnasium's and imported ones, with the same appearance."""

import logging
import re
import warnings
from pathlib import Path

import gymnasium
import mujoco
import numpy as np

from core.errors import UserError
from core.formatting import unique_name
from core.robots.actuators import complete_ranges
from core.robots.appearance import add_appearance, colour, lay_floor, show_every_body
from core.robots.floor import add_floor, needs_floor
from core.robots.kinematics import Kinematics
from core.robots.mjcf import unpack
from core.robots.signals import signal_names
from core.tasks.base import RobotTask

log = logging.getLogger(__name__)
mujoco.set_mju_user_warning(log.info)  # by default it writes MUJOCO_LOG.TXT into the current folder
_PLANE = mujoco.mjtGeom.mjGEOM_PLANE
_TOTAL_MASS = re.compile(r'settotalmass="([0-9.]+)"')
_START_KEYS = ("home", "stand", "standing", "default")
"""Keyframes to start from; without one of these, the first."""
_LINE = re.compile(r",? ?\(?line \d+\)?")
"""Matches a line number in a message of MuJoCo, which is meaningless in a text assembled from several files."""


def load_model(task: RobotTask) -> mujoco.MjModel:
    """Compile the task's robot. Raises UserError if it is an imported one that is damaged."""
    if task.packed_model:
        return compile_mjcf(*unpack(task.packed_model), task, task.floor_height)
    assets = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    spec = _read((assets / task.model).read_text())
    spec.option.timestep = task.timestep
    spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{task.integrator.upper()}")
    colour(spec, task)
    add_appearance(spec, task.floor_pattern)
    planes = [geom for geom in spec.geoms if geom.type == _PLANE] or [
        spec.worldbody.add_geom(name="floor", type=_PLANE, size=[1, 1, 1], contype=0, conaffinity=0)
    ]
    if task.floor_height is not None:
        planes[0].pos[2] = task.floor_height
    model = spec.compile()
    lay_floor(model, task.floor_pattern)
    return model


def compile_mjcf(
    xml: str, assets: dict[str, bytes], task: RobotTask | None = None, drawn_floor: float | None = None
) -> mujoco.MjModel:
    """Compile an imported robot, with a floor if it has none. Raises UserError if MuJoCo can't compile it.

    task: defines the timestep, and the parts that the robot must have
    drawn_floor: height in m of an added floor for loose objects only; None for a floor on which the robot stands
    """
    floor_pattern = task.floor_pattern if task else 1.0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about deprecated attributes without effect
            spec = _read(xml, assets)
            spec.compiler.discardvisual = False  # keep the floor's material and visual geoms
            for sensor in spec.sensors:  # nothing reads them
                spec.delete(sensor)
            for light in spec.lights:
                spec.delete(light)
            headlight = spec.visual.headlight  # as in every model that does not change it
            headlight.active, headlight.diffuse[:], headlight.specular[:] = 1, 0.4, 0.5
            if task:
                spec.option.timestep = task.timestep
            if spec.option.integrator == mujoco.mjtIntegrator.mjINT_RK4:  # four times the work
                spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
            _name_moving_bodies(spec)
            add_appearance(spec, floor_pattern)
            model = spec.compile()
            if needs_floor(model):
                add_floor(spec, model, drawn_floor)
                model = spec.compile()
    except (ValueError, RuntimeError, mujoco.FatalError) as error:  # RuntimeError: no memory for it
        said = _LINE.sub("", " ".join(str(error).split()))
        raise UserError(
            f"MuJoCo {mujoco.__version__} rejects it, although another version may accept it: correct what this message"
            f" names: {said[:200]}"
        ) from error
    _place_mocap_bodies(model)
    lay_floor(model, floor_pattern)
    show_every_body(model)
    complete_ranges(model)
    if task and not _has_parts(model, task):
        raise UserError("The robot in the behaviour is damaged: create the session again from its file.")
    return model


def _has_parts(model: mujoco.MjModel, task: RobotTask) -> bool:
    """Return whether an imported robot's files still have the parts that its task observes and draws."""
    counts = (model.nq, model.nv, model.na, len(Kinematics(model).sensed))
    expected = (len(task.start_positions), task.velocities, task.activations, task.sensed)
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, task.camera.body)
    return signal_names(model) == task.names and counts == expected and body >= 0


def start_key(model: mujoco.MjModel) -> int | None:
    """Return the keyframe to start from; None if there is none."""
    names = {model.key(index).name.lower(): index for index in reversed(range(model.nkey))}
    return next((names[name] for name in _START_KEYS if name in names), 0 if model.nkey else None)


def _place_mocap_bodies(model: mujoco.MjModel) -> None:
    """Place mocap bodies, which nothing moves, where the keyframe to start from has them."""
    key = start_key(model)
    for body in np.flatnonzero(model.body_mocapid >= 0) if key is not None else ():
        model.body_pos[body] = model.key_mpos[key].reshape(-1, 3)[model.body_mocapid[body]]
        model.body_quat[body] = model.key_mquat[key].reshape(-1, 4)[model.body_mocapid[body]]


def _name_moving_bodies(spec: mujoco.MjSpec) -> None:
    """Name the bodies that have joints and no name: 'root', 'root_2', ..."""
    moving = [body for body in spec.bodies if body.joints]
    if not moving:
        raise UserError("it has no joints, so it can't move.")
    taken = {body.name for body in spec.bodies}
    for body in moving:
        if not body.name:
            body.name = unique_name("root", taken)
            taken.add(body.name)


def _read(xml: str, assets: dict[str, bytes] | None = None) -> mujoco.MjSpec:
    """Read the XML text of a model. Its total mass is set here, as MuJoCo's attribute for it is deprecated."""
    spec = mujoco.MjSpec.from_string(_TOTAL_MASS.sub("", xml), assets=assets or {})
    total_mass = _TOTAL_MASS.search(xml)
    if total_mass and float(total_mass[1]) > 0:  # 0 leaves the masses as they are
        _set_total_mass(spec, float(total_mass[1]))
    return spec


def _set_total_mass(spec: mujoco.MjSpec, kilograms: float) -> None:
    scale = kilograms / spec.compile().body_mass.sum()
    for geom in spec.geoms:
        geom.density *= scale
        geom.mass *= scale  # NaN where the density counts
    for body in spec.bodies:
        if body.explicitinertial:
            body.mass *= scale
            body.inertia = np.array(body.inertia) * scale
            body.fullinertia = np.array(body.fullinertia) * scale
