"""Robots: the bodies that behaviours can be taught to, with observations that suit any behaviour.

Each is a RobotTask without a reward. Model, control rate and camera are those of the paper's task of the same name.
Observations differ from Gymnasium's where these suit one behaviour only: an angle that can go round is seen as sine and
cosine, contact forces and forces of a rail's end are left out, and robots on a floor see how near to it each part is.
"""

from dataclasses import replace

import numpy as np

from core.behaviours.robot_model import RobotModel
from core.behaviours.signals import SignalNames
from core.tasks.ant import ANT
from core.tasks.base import Camera, Observe, RobotTask, averages, forward
from core.tasks.half_cheetah import HALF_CHEETAH
from core.tasks.hopper_backflip import HOPPER_BACKFLIP
from core.tasks.pendulum import DOUBLE_PENDULUM, PENDULUM
from core.tasks.reacher import REACHER, fingertip_to_target
from core.tasks.swimmer import SWIMMER
from core.tasks.walkers import WALKER
from core.types import Float64

_FASTEST = 10.0
"""Velocities in m/s and rad/s beyond which networks see no difference, as in Gymnasium's Hopper and Walker."""
_EPISODE_SECONDS = 8.0
INSTRUCTION = "Choose the clip that comes closer to the behaviour you want to teach."


def observe_turning(first: int, angles: slice) -> Observe:
    """Return an observation of positions from index `first` on, of velocities, and of some angles as sine and cosine."""

    def observe(positions: Float64, velocities: Float64, _: Float64) -> Float64:
        turned, rest = positions[:, angles], positions[:, angles.stop :]
        parts = [positions[:, first : angles.start], np.sin(turned), np.cos(turned), rest]
        return np.concatenate([*parts, np.clip(velocities, -_FASTEST, _FASTEST)], axis=1)

    return observe


def observe_reacher(positions: Float64, velocities: Float64, _: Float64) -> Float64:
    """Gymnasium's observation, with the vector from target to fingertip of the present: (N, 4), (N, 4) -> (N, 10)."""
    joints, way = positions[:, :2], fingertip_to_target(positions)
    return np.concatenate([np.cos(joints), np.sin(joints), positions[:, 2:], velocities[:, :2], way], axis=1)


def observe_free(positions: Float64, velocities: Float64, _: Float64) -> Float64:
    """All but the place of a robot with a free joint: (N, nq), (N, nv) -> (N, nq - 2 + nv)."""
    return np.concatenate([positions[:, 2:], velocities], axis=1)


def _robot(
    task: RobotTask, name: str, title: str, names: SignalNames, observe: Observe, numbers: int, on_floor: bool = False
) -> RobotTask:
    """numbers: width of what `observe` returns; on_floor: the robot stands on a floor, which it senses"""
    return replace(
        task,
        name=name,
        robot=name,
        title=title,
        instruction=INSTRUCTION,
        observe=observe,
        standard_observe=None,
        extra_fields=(),
        floor_sense=on_floor,
        sizes=(numbers + on_floor * len(names.geoms), len(names.actions)),
        names=names,
        true_reward=None,
        other_rewards={},
        measure=averages(forward_speed=forward),
        measure_name="forward_speed",
        measure_title="Forward speed (m/s)",
        measure_tells_reward=False,
        measure_falls=False,
        contact_points=(),
        presets={},
    )


_HOPPER = ("thigh_joint", "leg_joint", "foot_joint")
_WALKER = (*_HOPPER, "thigh_left_joint", "leg_left_joint", "foot_left_joint")
_CHEETAH = ("bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot")
_ANT = ("hip_4", "ankle_4", "hip_1", "ankle_1", "hip_2", "ankle_2", "hip_3", "ankle_3")
_ROOT = ("rootx", "rootz", "rooty")

ROBOTS: dict[str, RobotTask] = {
    robot.name: robot
    for robot in (
        _robot(
            REACHER,
            "reacher",
            "Reacher",
            SignalNames(
                ("joint0", "joint1", "target_x", "target_y"),
                ("joint0", "joint1"),
                ("link0", "link1", "fingertip", "target"),
            ),
            observe_reacher,
            10,
        ),
        _robot(
            PENDULUM,
            "pendulum",
            "Pendulum",
            SignalNames(("slider", "hinge"), ("slide",), ("cart", "cpole")),
            observe_turning(0, slice(1, 2)),
            5,
        ),
        _robot(
            DOUBLE_PENDULUM,
            "double-pendulum",
            "Double pendulum",
            SignalNames(("slider", "hinge", "hinge2"), ("slide",), ("cart", "cpole", "cpole2")),
            observe_turning(0, slice(1, 3)),
            8,
        ),
        _robot(
            SWIMMER,
            "swimmer",
            "Swimmer",
            SignalNames(
                ("slider1", "slider2", "free_body_rot", "motor1_rot", "motor2_rot"),
                ("motor1_rot", "motor2_rot"),
                ("torso", "mid", "back"),
            ),
            observe_turning(2, slice(2, 3)),
            9,
        ),
        _robot(
            HALF_CHEETAH,
            "half-cheetah",
            "Half-Cheetah",
            SignalNames((*_ROOT, *_CHEETAH), _CHEETAH, ("torso", "head", *_CHEETAH)),
            observe_turning(1, slice(2, 3)),
            18,
            on_floor=True,
        ),
        _robot(
            HOPPER_BACKFLIP,
            "hopper",
            "Hopper",
            SignalNames((*_ROOT, *_HOPPER), _HOPPER, ("torso_geom", "thigh_geom", "leg_geom", "foot_geom")),
            observe_turning(1, slice(2, 3)),
            12,
            on_floor=True,
        ),
        _robot(
            WALKER,
            "walker",
            "Walker",
            SignalNames(
                (*_ROOT, *_WALKER),
                _WALKER,
                (
                    *("torso_geom", "thigh_geom", "leg_geom", "foot_geom"),
                    *("thigh_left_geom", "leg_left_geom", "foot_left_geom"),
                ),
            ),
            observe_turning(1, slice(2, 3)),
            18,
            on_floor=True,
        ),
        _robot(
            ANT,
            "ant",
            "Ant",
            SignalNames(
                tuple(f"{part}_{leg}" for leg in range(1, 5) for part in ("hip", "ankle")),
                _ANT,
                (
                    *("torso_geom", "aux_1_geom", "left_leg_geom", "left_ankle_geom"),
                    *("aux_2_geom", "right_leg_geom", "right_ankle_geom"),
                    *("aux_3_geom", "back_leg_geom", "third_ankle_geom"),
                    *("aux_4_geom", "rightback_leg_geom", "fourth_ankle_geom"),
                ),
            ),
            observe_free,
            27,
            on_floor=True,
        ),
    )
}
"""By name. tests/core/robots/test_signals.py compares the names of joints, actuators and geoms with the models'."""


def imported_robot(name: str, model: RobotModel) -> RobotTask:
    """Return a robot that was read from an MJCF file, controlled at about 40 Hz, in episodes of 8 s."""

    def observe(positions: Float64, velocities: Float64, _: Float64) -> Float64:
        turned = positions[:, list(model.angles)]
        parts = [positions[:, list(model.plain)], np.sin(turned), np.cos(turned)]
        return np.concatenate([*parts, np.clip(velocities, -_FASTEST, _FASTEST)], axis=1)

    side = {"elevation": 12.0, "azimuth": 90.0} if model.planar else {"elevation": 20.0, "azimuth": 72.0}
    x, y = model.centre
    camera = Camera(model.body, model.height, model.distance, fixed=model.fixed, centre=(x, y), **side)
    numbers = len(model.plain) + 2 * len(model.angles) + model.velocities
    task = replace(
        HOPPER_BACKFLIP,
        model="",
        packed_model=model.content(),
        start_positions=model.start,
        rest_controls=model.rest,
        floor_height=next(iter(model.drawn_floor), None),
        timestep=model.timestep,
        integrator=model.integrator,
        frame_skip=model.frame_skip,
        episode_steps=max(1, round(_EPISODE_SECONDS / (model.timestep * model.frame_skip))),
        camera=camera,
    )
    robot = _robot(task, name, name, model.names, observe, numbers)
    sensed = model.sensed if model.on_floor else 0
    return replace(robot, floor_sense=model.on_floor, sizes=(numbers + sensed, len(model.actions)))
