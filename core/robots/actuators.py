"""Controls of an imported robot: control ranges that its file leaves out, and the controls that hold it at rest."""

from __future__ import annotations

import mujoco
import numpy as np

from core.robots.structure import HINGE, SLIDE, acts_on_joint
from core.types import Float64

_USUAL_SPEED = {HINGE: 10.0, SLIDE: 1.0}
"""Largest control of a velocity servo, in rad/s and m/s."""
_USUAL_REACH = {HINGE: float(np.pi), SLIDE: 1.0}
"""Largest control of a position servo of a joint without a range, in rad and m."""
_EDGE = 0.1
"""Share of the control range at each end that excludes a muscle's control at rest, so that actions of both signs act."""


def complete_ranges(model: mujoco.MjModel) -> None:
    """Give actuators without a control range the range implied by their joint, or by the limit of their force.

    A given range is used as a limit even if the file does not limit the control.
    """
    for index in range(min(model.nu, model.nactuator)):
        low, high = model.actuator_ctrlrange[index]
        if low > high:
            continue  # rejected later
        implied = (low, high) if low < high else _implied_range(model, index)
        if implied is not None and implied[0] < implied[1]:
            model.actuator_ctrlrange[index], model.actuator_ctrllimited[index] = implied, True


def _implied_range(model: mujoco.MjModel, index: int) -> tuple[float, float] | None:
    """Return the lowest and highest control that the model implies; None if it implies none."""
    if is_muscle(model, index):
        return 0.0, 1.0
    joint = joint_of(model, index)
    gears = model.actuator_gear[index, : 1 if joint is not None else 6]  # of a site, for three forces and three torques
    gain, gear = float(model.actuator_gainprm[index, 0]), float(gears[0] if len(gears) == 1 else np.linalg.norm(gears))
    if gain == 0 or gear == 0:
        return None
    if joint is not None and servo(model, index) and not integrates(model, index):
        reach = _USUAL_REACH[int(model.jnt_type[joint])]
        ends = model.jnt_range[joint] if model.jnt_limited[joint] else (-reach, reach)
        return _sorted(*(_holding(model, index, end * gear) for end in ends))
    if joint is None and servo(model, index):
        return _tendon_range(model, index)
    if joint is not None and (servo(model, index) or model.actuator_biasprm[index, 2]):
        speed = abs(gear) * _USUAL_SPEED[int(model.jnt_type[joint])]
        return -speed, speed
    if model.actuator_forcelimited[index]:
        return _sorted(*(model.actuator_forcerange[index] / gain))
    if joint is not None and model.jnt_actfrclimited[joint]:
        return _sorted(*(model.jnt_actfrcrange[joint] / (gain * gear)))
    return (-1.0, 1.0) if abs(gain * gear) != 1 else None  # MuJoCo's convention: the gear defines the effort at 1


def _tendon_range(model: mujoco.MjModel, index: int) -> tuple[float, float] | None:
    """Return the controls at which a position servo holds a tendon at the ends of its range; None if there is no such range."""
    tendon = int(model.actuator_trnid[index, 0])
    by_tendon = model.actuator_trntype[index] == int(mujoco.mjtTrn.mjTRN_TENDON)
    if not by_tendon or integrates(model, index) or not model.tendon_limited[tendon]:
        return None
    gear = model.actuator_gear[index, 0]
    return _sorted(*(_holding(model, index, end * gear) for end in model.tendon_range[tendon]))


def _sorted(one: float, other: float) -> tuple[float, float]:
    return min(float(one), float(other)), max(float(one), float(other))


def _holding(model: mujoco.MjModel, index: int, length: float) -> float:
    """Return the control, or activation, at which a position servo exerts no force at this actuator length."""
    bias = model.actuator_biasprm[index]
    return float(-(bias[0] + bias[1] * length) / model.actuator_gainprm[index, 0])


def joint_of(model: mujoco.MjModel, index: int) -> int | None:
    """Return the hinge or slide joint that the actuator acts on; None if it acts on something else."""
    joint = int(model.actuator_trnid[index, 0])
    return joint if acts_on_joint(model, index) and model.jnt_type[joint] in (HINGE, SLIDE) else None


def servo(model: mujoco.MjModel, index: int) -> bool:
    """Return whether the actuator holds a position."""
    affine = model.actuator_biastype[index] == mujoco.mjtBias.mjBIAS_AFFINE
    return bool(affine and model.actuator_biasprm[index, 1] < 0 and model.actuator_gainprm[index, 0])


def integrates(model: mujoco.MjModel, index: int) -> bool:
    """Return whether the actuator's control is the rate of change of its activation."""
    return bool(model.actuator_dyntype[index] == mujoco.mjtDyn.mjDYN_INTEGRATOR)


def is_muscle(model: mujoco.MjModel, index: int) -> bool:
    """Return whether the actuator is a muscle, whose control MuJoCo limits to 0 to 1."""
    return bool(model.actuator_dyntype[index] == mujoco.mjtDyn.mjDYN_MUSCLE)


def _lengths(model: mujoco.MjModel, positions: Float64) -> Float64:
    """Return the lengths (u,) of the actuators at positions (nq,): for a joint, its position times the gear."""
    data = mujoco.MjData(model)
    data.qpos[:] = positions
    mujoco.mj_fwdPosition(model, data)
    return np.array(data.actuator_length)


def rest_activations(model: mujoco.MjModel, start: Float64, rest: Float64, key: int | None = None) -> Float64:
    """Return the activations (na,) at the start, with which actuators with a state of their own hold the robot.

    They are the keyframe's, if it has any; otherwise a filter has settled at its control, and an integrating servo holds
    its joint.

    start: positions (nq,); rest: controls (u,) at rest; key: the keyframe in which the robot starts
    """
    if key is not None and model.key_act[key].any():
        return np.array(model.key_act[key])
    activations, lengths = np.zeros(model.na), _lengths(model, start)
    filters = int(mujoco.mjtDyn.mjDYN_FILTER), int(mujoco.mjtDyn.mjDYN_FILTEREXACT)
    for index in np.flatnonzero(model.actuator_actadr >= 0).tolist():
        at = int(model.actuator_actadr[index] + model.actuator_actnum[index] - 1)
        if int(model.actuator_dyntype[index]) in filters:
            activations[at] = rest[index]
        elif integrates(model, index) and servo(model, index):
            activations[at] = _holding(model, index, lengths[index])
    return activations


def rest_controls(model: mujoco.MjModel, start: Float64, key: int | None) -> Float64:
    """Return the controls (u,) for the action 0, which hold the starting positions (nq,) where that is possible.

    They are the keyframe's, if it has any; otherwise servos hold their joints or tendons, muscles are almost relaxed, and
    other controls are in the middle of their range.
    """
    low, high = model.actuator_ctrlrange.T
    rest, lengths = (low + high) / 2, _lengths(model, start)
    given = key is not None and bool(model.key_ctrl[key].any())
    for index in range(model.nu):
        if given and low[index] <= model.key_ctrl[key, index] <= high[index]:
            rest[index] = model.key_ctrl[key, index]
        elif integrates(model, index):  # its control is a speed
            rest[index] = 0.0
        elif servo(model, index):
            rest[index] = _holding(model, index, lengths[index])
        elif is_muscle(model, index):
            rest[index] = low[index]
    edge = _EDGE * (high - low) * [is_muscle(model, index) for index in range(model.nu)]
    return np.clip(rest, low + edge, high - edge)
