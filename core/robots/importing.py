"""Import of a robot from an MJCF file: what can't be taught is refused with one sentence that says why."""

from __future__ import annotations

import base64
import logging
from pathlib import Path

import mujoco
import numpy as np

from core.behaviours.robot_model import MAX_PARTS, RobotModel
from core.errors import UserError
from core.robots.kinematics import FREE, HINGE, SLIDE, Kinematics, Poses, floor_of
from core.robots.mjcf import pack, read_mjcf
from core.robots.models import compile_mjcf
from core.robots.signals import signal_names
from core.robots.starts import Starts
from core.types import Float64

log = logging.getLogger(__name__)
_CONTROL_SECONDS = 1 / 40
_SLOWEST = 0.05
"""Longest physics step in seconds."""
_MAX_ACTIONS, _MAX_POSITIONS = 64, 512
_TRIED_SECONDS = 1.0
_PICTURE = 0.65
"""Metres that a picture shows for each metre of the camera's distance."""
_MARGIN = 1.9
"""Width of the picture relative to the robot."""


def import_robot(path: Path) -> RobotModel:
    """Read an MJCF file and the files that it names. Raises UserError, which names it, if the robot can't be taught."""
    try:
        xml, assets = read_mjcf(path)
        packed = pack(xml, assets)
        model = compile_mjcf(xml, assets)
        _require_teachable(model)
        return _describe(model, packed)
    except UserError as error:
        raise UserError(f"{path} can't be used as a robot: {error}") from error


def _require_teachable(model: mujoco.MjModel) -> None:
    """Raise UserError if a part is missing, or the simulation fails."""
    if model.nu == 0:
        raise UserError("it has no actuators, so nothing can move it.")
    if model.nu > _MAX_ACTIONS or model.nq > _MAX_POSITIONS or max(model.ngeom, model.njnt) > MAX_PARTS:
        raise UserError(
            f"it has {model.nu} actuators, {model.njnt} joints and {model.ngeom} geoms; at most {_MAX_ACTIONS},"
            f" {MAX_PARTS} and {MAX_PARTS} can be taught."
        )
    floor = floor_of(model)
    if abs(model.geom_quat[floor, 1]) + abs(model.geom_quat[floor, 2]) > 1e-6:
        raise UserError("its floor is not level: leave the plane's orientation out.")
    low, high = model.actuator_ctrlrange.T
    for index in np.flatnonzero(~(model.actuator_ctrllimited.astype(bool) & (low < high))):
        name = model.actuator(index).name or f"number {index + 1}"
        raise UserError(f"actuator {name} has no ctrlrange: give it one, so that it is known what full effort is.")
    if not 1e-5 <= model.opt.timestep <= _SLOWEST:
        raise UserError(f"its timestep is {model.opt.timestep:g} s: give one up to {_SLOWEST:g} s.")
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    data.qpos[:] = start_of(model)
    for _ in range(round(_TRIED_SECONDS / _CONTROL_SECONDS)):
        data.ctrl[:] = rng.uniform(low, high)
        mujoco.mj_step(model, data, max(1, round(_CONTROL_SECONDS / model.opt.timestep)))
    if data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number or not np.isfinite(data.qpos).all():
        raise UserError("its simulation becomes unstable within a second of random actions: give a smaller timestep.")


def start_of(model: mujoco.MjModel) -> Float64:
    """Return the positions (nq,) of the first keyframe, else the model's own, lifted so that nothing is in the floor."""
    start = np.array(model.key_qpos[0] if model.nkey else model.qpos0)
    mujoco.mj_normalizeQuat(model, start)
    kinematics = Kinematics(model)
    lift = lift_index(model, kinematics.root)
    if lift is not None:
        start[lift] += max(0.0, -float(kinematics.lowest(start[None])[0]))
    return start


def lift_index(model: mujoco.MjModel, root: int) -> int | None:
    """Return the index of the position that raises the root body, or None if none does."""
    for joint in range(model.body_jntadr[root], model.body_jntadr[root] + model.body_jntnum[root]):
        if model.jnt_type[joint] == FREE:
            return int(model.jnt_qposadr[joint]) + 2
        if model.jnt_type[joint] == SLIDE and model.jnt_axis[joint, 2] > 0.999:
            return int(model.jnt_qposadr[joint])
    return None


def _describe(model: mujoco.MjModel, packed: bytes) -> RobotModel:
    kinematics, start, names = Kinematics(model), start_of(model), signal_names(model)
    root = kinematics.root
    own = set(range(model.body_jntadr[root], model.body_jntadr[root] + model.body_jntnum[root]))
    plain, angles, moves, planar = list[int](), list[int](), False, True
    for joint in range(model.njnt):
        first, kind = int(model.jnt_qposadr[joint]), int(model.jnt_type[joint])
        width = 1 if kind in (HINGE, SLIDE) else (7 if kind == FREE else 4)
        endless = not model.jnt_limited[joint]
        planar &= (
            kind == SLIDE
            and abs(model.jnt_axis[joint, 1]) < 0.01
            or kind == HINGE
            and (abs(model.jnt_axis[joint, 1]) > 0.99)
        )
        if joint in own and kind == FREE:
            plain += range(first + 2, first + 7)  # not where it is
            moves = True
        elif joint in own and kind == SLIDE and endless and abs(model.jnt_axis[joint, 2]) < 0.5:
            moves = True
        elif kind == HINGE and endless:
            angles.append(first)
        else:
            plain += range(first, first + width)
    body, height, distance = _view(model, kinematics, start)
    return RobotModel(
        packed=base64.b64encode(packed).decode(),
        joints=names.joints,
        actions=names.actions,
        geoms=names.geoms,
        timestep=float(model.opt.timestep),
        integrator=mujoco.mjtIntegrator(model.opt.integrator).name.removeprefix("mjINT_").lower(),
        frame_skip=max(1, round(_CONTROL_SECONDS / model.opt.timestep)),
        positions=int(model.nq),
        velocities=int(model.nv),
        plain=tuple(plain),
        angles=tuple(angles),
        sensed=len(kinematics.sensed),
        start=tuple(start.tolist()),
        on_floor=_can_start_anyhow(kinematics),
        body=body,
        height=height,
        distance=distance,
        planar=bool(planar),
        fixed=not moves,
    )


def _can_start_anyhow(kinematics: Kinematics) -> bool:
    try:
        Starts(kinematics, "mixed")
    except ValueError:
        return False
    return any(kinematics.touchable(geom) for geom in kinematics.geoms.values())


def _view(model: mujoco.MjModel, kinematics: Kinematics, start: Float64) -> tuple[str, float, float]:
    """Return the body to follow, the height of the picture's middle in m, and the camera's distance in m."""
    poses = Poses(kinematics, start[None])
    tops, lows, reach = list[float](), list[float](), 0.1
    root = [poses.body(kinematics.root, k)[0][0] for k in range(3)]
    for geom in kinematics.geoms.values():
        body, radius = int(model.geom_bodyid[geom]), float(model.geom_rbound[geom])
        place = [poses.body(body, k)[0][0] + (poses.body(body, k)[1] @ model.geom_pos[geom])[0] for k in range(3)]
        tops.append(place[2] + radius)
        lows.append(place[2] - radius)
        reach = max(reach, float(np.hypot(place[0] - root[0], place[1] - root[1])) + radius)
    low, top = max(min(lows), kinematics.floor_height), max(tops)
    size = max(2 * reach, top - low)
    return model.body(kinematics.root).name, float((low + top) / 2), float(_MARGIN * size / _PICTURE)
