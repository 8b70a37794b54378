"""Robots: the bodies that behaviours can be taught to, with observations that suit any behaviour.

Each is a RobotTask without a reward. Model, control rate, observation and camera are those of the paper's task of the
same name (the Hopper's camera that of the backflip). Observations differ from Gymnasium's where these suit one
behaviour only: an angle that can go round is seen as sine and cosine, contact forces and forces of a rail's end are
left out, and robots on a floor see the height of each part above it, up to ten centimetres.
"""

import functools
import math
from dataclasses import replace

import numpy as np

from core.behaviours.robot_model import RobotModel
from core.behaviours.signals import SignalNames
from core.tasks.base import FASTEST, INSTRUCTION, ORIENTATION, Camera, RobotTask, averages, forward, orientation
from core.tasks.hopper_backflip import HOPPER_BACKFLIP
from core.tasks.pendulum import DOUBLE_PENDULUM, PENDULUM
from core.tasks.reacher import REACHER
from core.tasks.runners import ANT, HALF_CHEETAH, SWIMMER, WALKER
from core.types import Float64

_LARGE = 4.0
"""Distance in m of the camera from a robot that starts as high in the air as the paper's do."""
_SQUARES = 4.0
"""Ratio of the camera's distance to the size of two of the floor's squares: 5 to 13 squares fit into a picture's width."""
_SPINNING = 100.0
"""Speed in rad/s beyond which networks see no difference in a hinge that can go round, such as a wheel's."""
_NOISE = 5e-3
"""Largest distance of the starting positions and velocities of an imported robot from its own."""
_CLIP_SECONDS, _EPISODE_SECONDS = 1.5, 8.0


def _robot(task: RobotTask, name: str, title: str, names: SignalNames) -> RobotTask:
    """Return the body of a task without its behaviour; `names` has the robot's joints, actuators and geoms."""
    return replace(
        task,
        name=name,
        robot=name,
        title=title,
        instruction=INSTRUCTION,
        names=names,
        true_reward=None,
        other_rewards={},
        measure=_FORWARD_SPEED,
        measure_name="forward_speed",
        measure_title="Forward speed (m/s)",
        measure_falls=False,
        contact_points=(),
    )


_FORWARD_SPEED = averages(forward_speed=forward)
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
        ),
        _robot(
            PENDULUM,
            "pendulum",
            "Pendulum",
            SignalNames(("slider", "hinge"), ("slide",), ("cart", "cpole")),
        ),
        _robot(
            DOUBLE_PENDULUM,
            "double-pendulum",
            "Double pendulum",
            SignalNames(("slider", "hinge", "hinge2"), ("slide",), ("cart", "cpole", "cpole2")),
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
        ),
        _robot(
            HALF_CHEETAH,
            "half-cheetah",
            "Half-Cheetah",
            SignalNames((*_ROOT, *_CHEETAH), _CHEETAH, ("torso", "head", *_CHEETAH)),
        ),
        _robot(
            HOPPER_BACKFLIP,
            "hopper",
            "Hopper",
            SignalNames((*_ROOT, *_HOPPER), _HOPPER, ("torso_geom", "thigh_geom", "leg_geom", "foot_geom")),
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
        ),
    )
}
"""By name. tests/core/robots/test_signals.py compares the names of joints, actuators and geoms with the models'."""


@functools.lru_cache(maxsize=4)
def imported_robot(name: str, model: RobotModel) -> RobotTask:
    """Return a robot that was read from an MJCF file, in episodes of 8 s.

    The latest are kept: unpacking megabytes takes milliseconds, and the window asks at each key press.
    """

    fastest = np.full(model.velocities, FASTEST)
    for angle in model.angles:  # an orientation has four positions and three velocities
        fastest[angle - sum(first < angle for first in model.quaternions)] = _SPINNING

    def observe(positions: Float64, velocities: Float64) -> Float64:
        turned = positions[:, list(model.angles)]
        parts = [positions[:, list(model.plain)], np.sin(turned), np.cos(turned)]
        parts += [orientation(positions[:, first : first + 4]) for first in model.quaternions]
        return np.concatenate([*parts, np.clip(velocities, -fastest, fastest)], axis=1)

    seen = {(90.0, 12.0): model.planar, (90.0, 78.0): model.level, (180.0, 12.0): model.frontal, (72.0, 20.0): True}
    azimuth, elevation = next(view for view, fits in seen.items() if fits)
    x, y = model.centre
    sensed = model.sensed if model.on_floor else 0
    seen_positions = len(model.plain) + 2 * len(model.angles) + len(ORIENTATION) * len(model.quaternions)
    numbers = seen_positions + model.velocities + sensed + model.activations
    step_seconds, scale = model.timestep * model.frame_skip, min(1.0, model.distance / _LARGE)
    return RobotTask(
        name=name,
        robot=name,
        title=name,
        instruction=INSTRUCTION,
        sizes=(numbers, len(model.names.actions)),
        names=model.names,
        model="",
        packed_model=model.content(),
        start_positions=model.start,
        rest_controls=model.rest,
        floor_height=next(iter(model.drawn_floor), None),
        timestep=model.timestep,
        integrator=model.integrator,
        frame_skip=model.frame_skip,
        segment_steps=max(1, round(_CLIP_SECONDS / step_seconds)),
        episode_steps=max(1, round(_EPISODE_SECONDS / step_seconds)),
        observe=observe,
        floor_sense=model.on_floor,
        activations=model.activations,
        start_scale=scale,
        reset_noise=_NOISE * scale,
        camera=Camera(model.body, model.height, model.distance, elevation, azimuth, model.fixed, (x, y)),
        floor_pattern=_round_down(model.distance / _SQUARES),
        true_reward=None,
        measure=_FORWARD_SPEED,
        measure_name="forward_speed",
        measure_title="Forward speed (m/s)",
    )


def _round_down(metres: float) -> float:
    """Return the largest size of the series 1, 2, 5, 10, 20, ... and its tenths that is at most this one."""
    decade = 10.0 ** math.floor(math.log10(metres))
    return decade * max((step for step in (1, 2, 5) if step * decade <= metres), default=1)
