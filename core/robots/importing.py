"""Import of a robot from an MJCF file. A robot that can't be taught is rejected with one sentence that says why."""

from __future__ import annotations

import base64
import logging
import time
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import numpy.typing as npt

from core.behaviours.robot_model import LARGEST, MAX_PARTS, START_NOISE, RobotModel, is_part_name
from core.errors import UserError
from core.robots.actuators import rest_activations, rest_controls
from core.robots.floor import has_own_floor, has_weight
from core.robots.kinematics import Kinematics
from core.robots.meshes import simplify
from core.robots.mjcf import pack, read_mjcf
from core.robots.models import compile_mjcf, start_key
from core.robots.physics import RolloutPhysics, fresh_state, have_diverged, largest_state, placed, positions_of
from core.robots.signals import joint_names, signal_names
from core.robots.starts import Starts, can_lift_and_turn, randomize
from core.robots.structure import (
    BALL,
    FREE,
    HINGE,
    SLIDE,
    base_joints,
    carriers,
    drawn_geoms,
    extent,
    joint_axes,
    joints_in,
    lift_of,
    moved_trees,
    root_of,
    shown_trees,
)
from core.types import Float64, Mask

log = logging.getLogger(__name__)
_CONTROL_SECONDS = 1 / 40
_FASTEST, _SLOWEST = 1e-4, 0.05
"""Shortest and longest physics step in seconds."""
_MAX_ACTIONS, _MAX_POSITIONS = 128, 512
_TRIED_SECONDS = 1.0
_TRIALS, _AT_ONCE, _TRIAL_SECONDS, _TRIAL_PATIENCE = 8, 2, 2.0, 10.0
"""Number of further trials from the usual start, and of a thrown robot; of each kind at once; simulated seconds of each trial;
real seconds for all."""
_POSES = 40
"""Number of random poses, within the joints' ranges, in which the robot's extent is measured."""
_OUT_OF_THE_WAY = -100.0
"""Height in m of a floor out of reach of a robot that does not stand on it."""
_SLANT = 0.01
"""Largest component of gravity along x or y, relative to its norm."""
_PATIENCE = 30.0
"""Longest real time in seconds for simulating _TRIED_SECONDS."""
_HALVINGS = 3
"""Number of times the timestep is halved in search of a stable simulation."""
_PICTURE = 0.65
"""Extent of the picture in metres per metre of the camera's distance."""
_MARGIN, _FIXED_MARGIN = 1.9, 1.2
"""Width of the picture relative to the size of a robot, which may jump, and to the extent of a fixed robot in motion."""
_FAR = 5.0
"""Range of a slide joint, relative to the robot's size, above which the camera follows the robot."""
_ACROSS, _ALONG = 0.99, 0.01
"""Smallest normal component of an axis that counts as normal to a plane, and largest of one that counts as within it."""
_ABOVE = 0.12
"""Height of the picture's middle above the middle of a robot that may jump, relative to the robot's size."""


def import_robot(path: Path) -> RobotModel:
    """Read an MJCF file and the files it names. Raises UserError, with the path, if the robot can't be taught."""
    try:
        xml, assets = simplify(*read_mjcf(path))
        packed = pack(xml, assets)
        model = compile_mjcf(xml, assets)
        _require_teachable(model)
        _require_upright(model)
        _require_readable_names(model)
        start, drawn_floor = start_of(model), tuple[float, ...]()
        stands = has_own_floor(model) or lift_of(model, root_of(model)) is not None
        if not stands:
            model = compile_mjcf(xml, assets, drawn_floor=_OUT_OF_THE_WAY)
        extents = _try(model, start)
        if not stands:
            falls = (model.jnt_type[base_joints(model, root_of(model))] == FREE).any()
            lowest = float(extents[: 1 if falls else None, 0, 2].min())
            timestep, drawn_floor = model.opt.timestep, (min(0.0, lowest),)
            model = compile_mjcf(xml, assets, drawn_floor=drawn_floor[0])
            model.opt.timestep = timestep
        _require_contact(model)
        return _describe(model, packed, start, drawn_floor, extents)
    except UserError as error:
        named = str(error).startswith(str(path))
        raise UserError(str(error) if named else f"{path} can't be used as a robot: {error}") from error


def _require_teachable(model: mujoco.MjModel) -> None:
    """Raise UserError if a part is missing or too large."""
    _require_actuators(model)
    if not model.geom_bodyid.any():
        raise UserError("its bodies have no geoms, so it can't be seen.")
    if not all(
        np.isfinite(places).all() for places in (model.body_pos, model.geom_pos, model.geom_size, model.jnt_pos)
    ):
        raise UserError("a position or size in it is not a number: correct it.")
    if not np.abs(model.jnt_range[model.jnt_limited.astype(bool)]).max(initial=0) <= LARGEST:
        raise UserError("a joint's range is larger than 1e6, or not a number: give a smaller one, or none.")
    if model.nu > _MAX_ACTIONS or model.nq > _MAX_POSITIONS or max(model.ngeom, model.njnt) > MAX_PARTS:
        raise UserError(
            f"it has {model.nu} actuators, {model.njnt} joints and {model.ngeom} geoms: use at most {_MAX_ACTIONS},"
            f" {MAX_PARTS} and {MAX_PARTS}."
        )
    if not _FASTEST <= model.opt.timestep <= _SLOWEST:
        raise UserError(f"its timestep is {model.opt.timestep:g} s: give one from {_FASTEST:g} to {_SLOWEST:g} s.")


def _require_actuators(model: mujoco.MjModel) -> None:
    """Raise UserError if nothing can move the robot, or if an actuator does not have exactly one control, with a range."""
    for index in np.flatnonzero(model.actuator_ctrlnum != 1).tolist():
        name, controls = _actuator_name(model, index), int(model.actuator_ctrlnum[index])
        raise UserError(f"actuator {name} has {controls or 'no'} controls: give it one, or remove it.")
    if model.nu == 0:
        raise UserError("it has no actuators, so nothing can move it.")
    disabled = 1 << np.clip(model.actuator_group, 0, 30) & model.opt.disableactuator
    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_ACTUATION or disabled.all():
        raise UserError("its actuators are switched off in <option>, so nothing can move it: switch them on.")
    low, high = model.actuator_ctrlrange.T
    for index in np.flatnonzero(~(model.actuator_ctrllimited.astype(bool) & (low < high))).tolist():
        name = _actuator_name(model, index)
        if low[index] > high[index]:
            raise UserError(f"the ctrlrange of actuator {name} has its larger end first: swap the two.")
        raise UserError(f"actuator {name} has no ctrlrange of positive width: give it one, to define full effort.")
    if not np.isfinite(model.actuator_ctrlrange).all() or np.abs(model.actuator_ctrlrange).max() > 1e6:
        raise UserError("an actuator's ctrlrange is larger than 1e6: give a smaller one.")


def _actuator_name(model: mujoco.MjModel, index: int) -> str:
    return model.actuator(index).name or f"number {index + 1}"


def _require_upright(model: mujoco.MjModel) -> None:
    """Raise UserError if gravity does not point along -z."""
    pull = model.opt.gravity
    if np.abs(pull[:2]).max() > _SLANT * np.linalg.norm(pull) or pull[2] > 0:
        raise UserError("its gravity does not point along -z: turn the model so that z points up.")


def _require_contact(model: mujoco.MjModel) -> None:
    """Raise UserError if the robot would fall through its floor. model: with the floor"""
    if lift_of(model, root_of(model)) is not None and has_weight(model) and not Kinematics(model).sensed:
        raise UserError(
            "none of its geoms can touch a floor, so it would fall for ever: give them contype and conaffinity, or import"
            " the file that does, such as its scene."
        )


def _require_readable_names(model: mujoco.MjModel) -> None:
    """Raise UserError if a name can't be written in an expression, or if the keyframe to start from is not finite."""
    names = signal_names(model)
    for name in (*names.joints, *names.actions, *names.geoms):
        if not is_part_name(name):
            shown = name[:40].encode("unicode_escape").decode()
            raise UserError(f"the name {shown} is too long or has characters that can't be shown: give another one.")
    key = start_key(model)
    if key is not None and not np.isfinite([*model.key_qpos[key], *model.key_act[key]]).all():
        raise UserError(
            f"keyframe {model.key(key).name or key} has positions or activations that are not numbers: correct it."
        )


def _try(model: mujoco.MjModel, start: Float64) -> Float64:
    """Simulate random actions, with a shorter timestep if necessary for stability.

    Returns the lowest and highest coordinates (poses, 2, 3) in m of the robot's visible parts: at the start, during the
    simulation, and in random poses. Raises UserError if the simulation is unstable or slow.
    """
    for _ in range(_HALVINGS + 1):
        extents = _simulate(model, start)
        if extents is not None and _is_stable(model, start, float(np.ptp(extents[0], axis=0).max())):
            return extents
        model.opt.timestep /= 2
    raise UserError(
        "its simulation becomes unstable within seconds of random actions: give a smaller timestep, weaker actuators or, if"
        " it has many contacts, a larger <size memory>."
    )


def _simulate(model: mujoco.MjModel, start: Float64) -> Float64 | None:
    """Simulate random actions and return the coordinates as `_try` does; None if the simulation is unstable."""
    rng, began, seen = np.random.default_rng(0), time.monotonic(), _seen_geoms(model)
    trials, data = _Trials(model, start, rng, start[None], np.zeros((1, model.nv))), mujoco.MjData(model)
    data.qpos[:] = start
    mujoco.mj_forward(model, data)
    extents = [extent(model, data, seen)]
    for _ in range(round(_TRIED_SECONDS / _CONTROL_SECONDS)):
        if not trials.act():
            return None
        if time.monotonic() - began > _PATIENCE:
            raise UserError("it takes too long to simulate: give a larger timestep, or fewer and simpler parts.")
        extents.append(_extent_at(model, data, positions_of(model, trials.states[0]), seen))
    poses = np.tile(start, (_POSES, 1))
    joints = np.flatnonzero(joints_in(model, moved_trees(model)) & (model.jnt_type != FREE))
    randomize(model, joints.tolist(), rng, poses)
    return np.stack([*extents, *(_extent_at(model, data, pose, seen) for pose in poses)])


def _extent_at(model: mujoco.MjModel, data: mujoco.MjData, positions: Float64, seen: npt.NDArray[np.int64]) -> Float64:
    """Return the lowest and highest coordinates (2, 3) in m of the geoms `seen` at these positions (nq,)."""
    data.qpos[:] = positions
    mujoco.mj_kinematics(model, data)
    return extent(model, data, seen)


def _is_stable(model: mujoco.MjModel, start: Float64, size: float) -> bool:
    """Return whether further trials, within a time limit, are stable. size: size of the robot in m"""
    kinematics, rng, began = Kinematics(model), np.random.default_rng(1), time.monotonic()
    scale = min(1.0, size)
    noise = START_NOISE * scale
    positions = start + rng.uniform(-noise, noise, (2 * _TRIALS, model.nq))
    velocities = rng.uniform(-noise, noise, (2 * _TRIALS, model.nv))
    if can_lift_and_turn(kinematics):
        Starts(kinematics, "mixed", scale).throw(rng, positions[_TRIALS:], velocities[_TRIALS:])
    for first in range(0, _TRIALS, _AT_ONCE):
        rows = np.r_[first : first + _AT_ONCE, _TRIALS + first : _TRIALS + first + _AT_ONCE]
        trials = _Trials(model, start, rng, positions[rows], velocities[rows])
        for _ in range(round(_TRIAL_SECONDS / _CONTROL_SECONDS)):
            if not trials.act():
                return False
            if time.monotonic() - began > _TRIAL_PATIENCE:
                return True
    return True


class _Trials:
    """N simulations of random actions around the controls at rest, which start like episodes.

    states: (N, S), full physics states
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        start: Float64,
        rng: np.random.Generator,
        positions: Float64,
        velocities: Float64,
    ) -> None:
        """start: usual positions (nq,); positions (N, nq) and velocities (N, nv): where the simulations begin"""
        key = start_key(model)
        self._rest = rest_controls(model, start, key)
        activations = rest_activations(model, start, self._rest, key)
        self.states = placed(fresh_state(model), positions, velocities, activations)
        self._model, self._rng, self._largest = model, rng, largest_state(model, start)
        self._frame_skip = max(1, round(_CONTROL_SECONDS / model.opt.timestep))
        self._physics = RolloutPhysics(model, self._frame_skip, len(positions), threads=1)

    def act(self) -> bool:
        """Simulate one action in each. Returns whether all are stable."""
        low, high = self._model.actuator_ctrlrange.T
        controls = self._rng.normal(self._rest, (high - low) / 2, (len(self.states), len(low))).clip(low, high)
        timestep = self._model.opt.timestep
        clocks = self.states[:, 0] + self._frame_skip * timestep
        self.states = self._physics.step(self.states, controls)
        return not have_diverged(self.states, clocks, timestep, self._largest).any()


def _seen_geoms(model: mujoco.MjModel) -> npt.NDArray[np.int64]:
    """Return the visible geoms of the robot: of its trees, of trees tied to them, and of the bodies that carry its root."""
    mounts = carriers(model, root_of(model))[1:]
    bodies, finite = model.geom_bodyid, model.geom_type != int(mujoco.mjtGeom.mjGEOM_PLANE)
    ours = finite & (np.isin(model.body_treeid[bodies], shown_trees(model)) | np.isin(bodies, mounts))
    choices = ours & drawn_geoms(model), ours, finite & (bodies > 0), bodies > 0
    return np.flatnonzero(next(chosen for chosen in choices if chosen.any()))


def start_of(model: mujoco.MjModel) -> Float64:
    """Return the positions (nq,) at the start: the keyframe's, else the model's own within the joints' ranges.

    A robot that can be lifted is lifted out of the floor.
    """
    key = start_key(model)
    start = np.array(model.qpos0 if key is None else model.key_qpos[key])
    mujoco.mj_normalizeQuat(model, start)
    if key is None:
        for joint in np.flatnonzero(model.jnt_limited):
            if model.jnt_type[joint] in (HINGE, SLIDE):
                low, high = model.jnt_range[joint]
                index, edge = model.jnt_qposadr[joint], 0.1 * (high - low)
                if not low <= start[index] <= high:
                    start[index] = np.clip(start[index], low + edge, high - edge)
    kinematics = Kinematics(model)
    lift = lift_of(model, kinematics.root)
    if lift is not None:
        index, _, sign = lift
        start[index] += sign * max(0.0, -float(kinematics.lowest(start[None])[0]))
    return start


@dataclass(frozen=True)
class _Joints:
    """How the joints are observed. moves: True if the robot can leave its place

    plain, angles, quaternions: indices of qpos: seen as they are, as sine and cosine, and first entries of four
    unseen: joints that are not observed, as a slide along x
    """

    moves: bool
    plain: tuple[int, ...]
    angles: tuple[int, ...]
    quaternions: tuple[int, ...]
    unseen: tuple[int, ...]


def _observed_joints(model: mujoco.MjModel, kinematics: Kinematics, axes: Float64, extents: Float64) -> _Joints:
    """Sort the joints by how they are observed. axes (J, 3): directions in the world in the usual start"""
    own = set(base_joints(model, kinematics.root))
    far = np.ptp(model.jnt_range, axis=1) > _FAR * float(np.ptp(extents[0], axis=0).max())
    plain, angles, quaternions, unseen = list[int](), list[int](), list[int](), list[int]()
    moves = lift_of(model, kinematics.root) is not None
    for joint in range(model.njnt):
        first, kind = int(model.jnt_qposadr[joint]), int(model.jnt_type[joint])
        endless = not model.jnt_limited[joint]
        held = model.jnt_limited[joint] or model.jnt_stiffness[joint] > 0
        if kind == FREE:
            without_place = 2 * kinematics.own[model.jnt_bodyid[joint]]  # the robot's own x and y
            plain += range(first + without_place, first + 3)
            quaternions.append(first + 3)
            moves |= joint in own
        elif kind == BALL:
            quaternions.append(first)
        elif joint in own and kind == SLIDE and (endless or far[joint]):
            moves = True
            if held or abs(axes[joint, 2]) >= 0.5:  # its position on a rail or a spring matters, or its height
                plain.append(first)
            else:
                unseen.append(joint)
        elif kind == HINGE and endless:
            angles.append(first)
        else:
            plain.append(first)
    return _Joints(moves, tuple(plain), tuple(angles), tuple(quaternions), tuple(unseen))


def _describe(
    model: mujoco.MjModel, packed: bytes, start: Float64, drawn_floor: tuple[float, ...], extents: Float64
) -> RobotModel:
    kinematics, names = Kinematics(model), signal_names(model)
    root, axes = kinematics.root, joint_axes(model)
    joints = _observed_joints(model, kinematics, axes, extents)
    frontal, upright, level = (_in_plane(model, axes[:, k]) for k in range(3))
    moved = joints_in(model, moved_trees(model))
    place, distance = _view(kinematics, extents, joints.moves)
    if not np.abs([*start, *place, distance]).max() < LARGEST:
        raise UserError(
            f"it is farther than {LARGEST:,.0f} m from the origin, or larger than that: move it closer or make it smaller."
        )
    return RobotModel(
        packed=base64.b64encode(packed).decode(),
        joints=names.joints,
        slides=names.slides,
        actions=names.actions,
        geoms=names.geoms,
        timestep=float(model.opt.timestep),
        integrator=mujoco.mjtIntegrator(model.opt.integrator).name.removeprefix("mjINT_").lower(),
        frame_skip=max(1, round(_CONTROL_SECONDS / model.opt.timestep)),
        positions=int(model.nq),
        velocities=int(model.nv),
        plain=joints.plain,
        angles=joints.angles,
        quaternions=joints.quaternions,
        sensed=len(kinematics.sensed),
        start=tuple(start.tolist()),
        on_floor=can_lift_and_turn(kinematics) and bool(kinematics.sensed),
        body=model.body(root).name,
        height=float(place[2]),
        distance=distance,
        planar=bool(upright.all()),
        fixed=not joints.moves,
        centre=tuple(place[:2].tolist()),
        rest=tuple(rest_controls(model, start, start_key(model)).tolist()),
        drawn_floor=drawn_floor,
        activations=int(model.na),
        level=bool(level[moved].all()) and not upright[moved].all(),
        frontal=bool(frontal[moved].all()) and not (upright[moved].all() or level[moved].all()),
        unseen_joints=tuple(name for name, joint in joint_names(model).items() if joint in joints.unseen),
        surroundings=tuple(
            name for name, geom in kinematics.geoms.items() if not kinematics.own[model.geom_bodyid[geom]]
        ),
    )


def _in_plane(model: mujoco.MjModel, across: Float64) -> Mask:
    """Return which joints move bodies within a plane only. across (joints,): their axes' components normal to the plane"""
    turns = (model.jnt_type == HINGE) & (np.abs(across) > _ACROSS)
    return turns | (model.jnt_type == SLIDE) & (np.abs(across) < _ALONG)


def _view(kinematics: Kinematics, extents: Float64, moves: bool) -> tuple[Float64, float]:
    """Return the middle of the picture (3,) and the camera's distance, in m.

    extents: result of `_try`
    moves: True if the camera follows the robot, so that only its sizes at the start and in random poses matter
    """
    low, high = extents[0] if moves else (extents[:, 0].min(axis=0), extents[:, 1].max(axis=0))
    low = np.maximum(low, [-np.inf, -np.inf, kinematics.floor_height])
    size = max(0.02, float((high - low).max()))
    middle = (low + np.maximum(high, low)) / 2
    if not moves:
        return middle, _FIXED_MARGIN * size / _PICTURE
    middle[2] += _ABOVE * size
    unfolded = float(np.ptp(extents[-_POSES:], axis=1).max())
    return middle, max(_MARGIN * size, _FIXED_MARGIN * unfolded) / _PICTURE
