"""Signals of MuJoCo robots (listed in core.behaviours.signals), computed from states when an expression reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from core.behaviours.signals import ANGLES, CONTACT_HEIGHT, SignalNames, write
from core.robots.kinematics import Kinematics, Poses
from core.robots.physics import positions_of, velocities_of
from core.robots.structure import (
    BALL,
    FREE,
    HINGE,
    SLIDE,
    acts_on_joint,
    base_joints,
    data_at_zero,
    geom_names,
    joint_axes,
    unique_names,
)
from core.types import Float32, Float64

_POSES, _ROUNDING = 16, 1e-6
"""Number of random poses in which signals are compared, and largest difference of a constant signal."""
_LEVEL = 0.1
"""Smallest level component of a body's x axis at which it has a heading."""
_MOMENT = 1e-5
"""Seconds over which a velocity is computed from positions, to an accuracy of about nine digits."""


@dataclass(frozen=True)
class StepStates:
    """States of N robots around one control step: positions (N, nq) before and after it, velocities (N, nv) after it,
    actions (N, a), seconds since the episode began (N,), and the duration of the step."""

    before: Float64
    positions: Float64
    velocities: Float64
    actions: Float32
    times: Float64
    seconds: float


class StepSignals:
    """Signals of one step by name (core.behaviours.signals.Signals). Each is computed once, when first read."""

    def __init__(self, source: SignalSource, states: StepStates, poses: Poses | None = None) -> None:
        """poses: poses after the step, if they are already computed"""
        self.source, self.states = source, states
        self.count = len(states.positions)
        self.wrapped = source.wrapped
        self.poses = poses or Poses(source.kinematics, states.positions)
        self._earlier: Poses | None = None
        self._values: dict[str, Float64] = {}

    @property
    def earlier(self) -> Poses:
        """Poses before the step."""
        self._earlier = self._earlier or Poses(self.source.kinematics, self.states.before)
        return self._earlier

    def __getitem__(self, name: str) -> Float64:
        if name not in self._values:
            self._values[name] = self.source.signals[name](self)
        return self._values[name]


Signal = Callable[[StepSignals], Float64]


class SignalSource:
    """The signals of one robot, as functions by name."""

    def __init__(self, kinematics: Kinematics) -> None:
        self.kinematics, self.model = kinematics, kinematics.model
        self.wrapped = frozenset[str]()
        self.signals: dict[str, Signal] = {
            **dict(zip(("x", "y", "height"), map(self._place, range(3)), strict=True)),
            **dict(zip(("forward_speed", "side_speed", "vertical_speed"), map(self._speed, range(3)), strict=True)),
            "mass_speed": self._mass_speed,
            "up": lambda step: step.poses.body(self.kinematics.root, 2)[1][:, 2],
            **self._rotations(),
            "time": lambda step: step.states.times,
            **self._joints(),
            **self._actions(),
            **self._geoms(),
            **self._floor(),
        }

    def _place(self, k: int) -> Signal:
        return lambda step: step.poses.body(self.kinematics.root, k)[0]

    def _speed(self, k: int) -> Signal:
        root = self.kinematics.root
        return lambda step: (step.poses.body(root, k)[0] - step.earlier.body(root, k)[0]) / step.states.seconds

    def _mass_speed(self, step: StepSignals) -> Float64:
        """Return the velocity (N,) of the centre of mass along x in m/s, by a central difference along the velocities."""
        ahead, behind = (self._mass_centre(self._moved(step.states, sign * _MOMENT)) for sign in (1, -1))
        return (ahead - behind) / (2 * _MOMENT)

    def _moved(self, states: StepStates, seconds: float) -> Float64:
        """Return the positions (N, nq) after `seconds` at the current velocities."""
        if self.model.nq == self.model.nv:
            return states.positions + seconds * states.velocities
        moved = states.positions.copy()
        for position, velocity in zip(moved, states.velocities, strict=True):
            mujoco.mj_integratePos(self.model, position, velocity, seconds)
        return moved

    def _mass_centre(self, positions: Float64) -> Float64:
        """Return the x coordinate (N,) in m of the robot's centre of mass; the robot is all that moves with the root body."""
        model, poses = self.model, Poses(self.kinematics, positions)
        own = np.flatnonzero(self.kinematics.own)
        sums = np.zeros(len(positions))
        for body in own:
            place, row = poses.body(int(body), 0)
            sums += model.body_mass[body] * (place + row @ model.body_ipos[body])
        return sums / model.body_mass[own].sum()

    def _rotations(self) -> dict[str, Signal]:
        """Return angles and rates: of the joint if the root turns about one axis only, else of its rotation matrix.

        That axis is the vertical, or a level one that is also the root's own x or y axis.
        """
        model, root = self.model, self.kinematics.root
        joints = base_joints(model, root)
        turning = [joint for joint in joints if model.jnt_type[joint] != SLIDE]
        frame = data_at_zero(model).xmat[root].reshape(3, 3).round(12)
        constants = [_positive(float(_angle(k, frame.__getitem__))) for k in range(3)]
        if not turning:
            return _still(constants)
        joint = turning[0]
        axis = joint_axes(model)[joint] if model.jnt_type[joint] == HINGE else np.zeros(3)
        along = np.array([*(axis @ frame)[:2], axis[2]])  # roll and pitch are about the root's own axes
        k = int(np.abs(along).argmax())
        whole = abs(along[k]) > 1 - 1e-9 and (abs(axis[2]) < 1e-9 if k < 2 else np.hypot(*frame[:2, 0]) > _LEVEL)
        if len(turning) == 1 and whole:
            index, dof = model.jnt_qposadr[joint], model.jnt_dofadr[joint]
            sign = float(np.sign(along[k]))
            zero = float(_angle(k, frame.__getitem__)) - sign * float(model.qpos0[index])
            if k < 2:  # the other two jump by half a turn when the body's z axis is horizontal
                heading = frame[:2, 0] if k == 0 else (frame[1, 1], -frame[0, 1])
                constants = [0.0, 0.0, _positive(float(np.arctan2(*heading[::-1])))]
            name = ANGLES[k]
            planar = _still(constants)
            planar[name] = lambda step: sign * step.states.positions[:, index] + zero
            planar[f"{name}_rate"] = lambda step: sign * step.states.velocities[:, dof]
            return planar

        def row(step: StepSignals, k: int) -> Float64:
            return step.poses.body(root, k)[1]

        self.wrapped = frozenset(ANGLES)
        angles: dict[str, Signal] = {
            name: lambda step, k=k: _angle(k, lambda i: row(step, i))  # type: ignore[misc]
            for k, name in enumerate(ANGLES)
        }
        of_root = len(turning) == 1 and model.jnt_bodyid[joint] == root
        if of_root and model.jnt_type[joint] in (FREE, BALL):
            first = model.jnt_dofadr[joint] + 3 * (model.jnt_type[joint] == FREE)
            spin = slice(first, first + 3)  # in the body's own frame
            rates: dict[str, Signal] = {
                "roll_rate": lambda step: step.states.velocities[:, spin][:, 0],
                "pitch_rate": lambda step: step.states.velocities[:, spin][:, 1],
                "yaw_rate": lambda step: (row(step, 2) * step.states.velocities[:, spin]).sum(axis=1),
            }
        else:
            rates = {f"{name}_rate": self._mean_rate(k, name == "yaw") for k, name in enumerate(angles)}
        return {**angles, **rates}

    def _mean_rate(self, k: int, in_world: bool) -> Signal:
        """Return the mean angular velocity during the step about axis k of the body or of the world."""
        root = self.kinematics.root

        def rate(step: StepSignals) -> Float64:
            before, after = (
                np.stack([poses.body(root, i)[1] for i in range(3)], 1) for poses in (step.earlier, step.poses)
            )
            turned = after @ before.swapaxes(1, 2) if in_world else before.swapaxes(1, 2) @ after
            i, j = (k + 1) % 3, (k + 2) % 3
            cosine = np.clip((np.trace(turned, axis1=1, axis2=2) - 1) / 2, -1, 1)
            angle = np.arccos(cosine)
            return (
                (turned[:, j, i] - turned[:, i, j])
                / (2 * np.maximum(np.sinc(angle / np.pi), 1e-9))
                / step.states.seconds
            )

        return rate

    def _joints(self) -> dict[str, Signal]:
        model = self.model
        signals: dict[str, Signal] = {}
        for name, joint in joint_names(model).items():
            index, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
            signals[write("joint", name)] = lambda step, index=index: step.states.positions[:, index]  # type: ignore[misc]
            signals[write("joint_rate", name)] = lambda step, dof=dof: step.states.velocities[:, dof]  # type: ignore[misc]
        return signals

    def _actions(self) -> dict[str, Signal]:
        return {
            write("action", name): lambda step, index=index: step.states.actions[:, index].astype(np.float64)  # type: ignore[misc]
            for name, index in actuator_names(self.model).items()
        }

    def _geoms(self) -> dict[str, Signal]:
        return {
            write("xy"[k], name): lambda step, geom=geom, k=k: step.poses.centre(geom, k)  # type: ignore[misc]
            for name, geom in self.kinematics.geoms.items()
            for k in range(2)
        }

    def _floor(self) -> dict[str, Signal]:
        kinematics, signals = self.kinematics, dict[str, Signal]()
        for name, geom in kinematics.geoms.items():
            signals[write("height", name)] = lambda step, geom=geom: step.poses.height(geom)  # type: ignore[misc]
            if geom not in kinematics.sensed:
                signals[write("contact", name)] = lambda step: np.zeros(step.count)
                continue
            margin = kinematics.margin(geom) + CONTACT_HEIGHT
            signals[write("contact", name)] = lambda step, geom=geom, margin=margin: (  # type: ignore[misc]
                step.poses.height(geom) < margin
            ).astype(np.float64)

        own = [name for name, geom in kinematics.geoms.items() if geom in kinematics.standing]

        def airborne(step: StepSignals) -> Float64:
            touching = np.zeros(step.count)
            for name in own:
                np.maximum(touching, step[write("contact", name)], out=touching)
            return 1 - touching

        return {**signals, "airborne": airborne}


def _positive(angle: float) -> float:
    """Return an angle in rad, 0 and pi in place of -0 and -pi."""
    return abs(angle) if abs(angle) in (0.0, np.pi) else angle


def _angle(k: int, row: Callable[[int], Float64]) -> Float64:
    """Return roll, pitch or yaw (k = 0, 1, 2) of rotation matrices (...). row: row i of them, (..., 3)"""
    if k == 2:
        return np.asarray(np.arctan2(row(1)[..., 0], row(0)[..., 0]))
    vertical = row(2)
    return np.asarray(np.arctan2(vertical[..., 1] if k == 0 else -vertical[..., 0], vertical[..., 2]))


def _still(angles: Sequence[float]) -> dict[str, Signal]:
    """Return signals of constant roll, pitch and yaw, and of rates of 0."""
    signals: dict[str, Signal] = {}
    for name, angle in zip(ANGLES, angles, strict=True):
        signals[name] = lambda step, angle=angle: np.full(step.count, angle)  # type: ignore[misc]
        signals[f"{name}_rate"] = lambda step: np.zeros(step.count)
    return signals


def signal_series(model: mujoco.MjModel, states: Float64, actions: Float32, step_seconds: float) -> dict[str, Float32]:
    """Return all signals of one robot's motion by name, (k,) each.

    states: (k, S), full physics states, before each of the actions (k, a)
    """
    positions, velocities = positions_of(model, states), velocities_of(model, states)
    before, acted = (np.concatenate([rows[:1], rows[:-1]]) for rows in (positions, actions))
    source = SignalSource(Kinematics(model))
    around = StepStates(before, positions, velocities, np.clip(acted, -1, 1), states[:, 0], step_seconds)
    step = StepSignals(source, around)
    return {name: step[name].astype(np.float32) for name in signal_names(model).all()}


def constant_signals(model: mujoco.MjModel) -> list[str]:
    """Return the signals that never change, whatever the robot does."""
    source, rng = SignalSource(Kinematics(model)), np.random.default_rng(0)
    before, after = np.tile(model.qpos0, (2, _POSES, 1))
    for pose in (*before, *after):
        mujoco.mj_integratePos(model, pose, rng.normal(size=model.nv), 1)
    rates, actions = rng.normal(size=(_POSES, model.nv)), rng.normal(size=(_POSES, model.nu)).astype(np.float32)
    around = StepStates(before, after, rates, actions, np.arange(_POSES, dtype=np.float64), 1)
    step = StepSignals(source, around)
    kinematics = source.kinematics
    may_touch = {write("contact", name) for name, geom in kinematics.geoms.items() if geom in kinematics.sensed}
    may_touch |= {"airborne"} if kinematics.standing else set()
    same = [name for name in signal_names(model).all() if np.ptp(step[name]) < _ROUNDING]
    return [name for name in same if name not in may_touch]


def joint_names(model: mujoco.MjModel) -> dict[str, int]:
    """Return the joints with one degree of freedom by name; a joint without a name has that of its body."""
    joints = [joint for joint in range(model.njnt) if model.jnt_type[joint] in (SLIDE, HINGE)]
    bodies = [model.body(model.jnt_bodyid[joint]).name or f"joint_{joint}" for joint in joints]
    return dict(zip(unique_names([model.joint(joint).name for joint in joints], bodies), joints, strict=True))


def actuator_names(model: mujoco.MjModel) -> dict[str, int]:
    """Return the actuators by name; an actuator without a name has that of its joint."""
    moved = []
    for index in range(model.nu):
        joint = model.joint(model.actuator_trnid[index, 0]).name if acts_on_joint(model, index) else ""
        moved.append(joint or f"actuator_{index}")
    names = unique_names([model.actuator(index).name for index in range(model.nu)], moved)
    return {name: index for index, name in enumerate(names)}


def signal_names(model: mujoco.MjModel) -> SignalNames:
    """Return the names that the model's signals can have in brackets."""
    joints = joint_names(model)
    slides = tuple(name for name, joint in joints.items() if model.jnt_type[joint] == SLIDE)
    return SignalNames(tuple(joints), tuple(actuator_names(model)), tuple(geom_names(model)), slides)
