"""Robots: the bodies to which behaviours can be taught, with observations that suit any behaviour.

Each is a RobotTask without reward and figures. Observations differ from Gymnasium's if those suit one behaviour only:
angles without limits are observed as sine and cosine, contact forces and forces at a rail's end are left out, and robots
on a floor observe the height of each part above it, up to ten centimetres.

The paper's clips last 1.5 s (A.1), which determines the control rates:

Reacher: 10 Hz, so that a clip has 15 steps. Physics steps are twice as long as Gymnasium's, which makes no difference for
    an arm that touches nothing.
Pendulums: Gymnasium's 20 Hz. The authors' 15 steps at 10 Hz last as long, but a pole falls within a quarter of a second,
    too fast to balance one pole at 10 Hz, let alone two. Episodes are short, as the authors' were: a single pole can't be
    swung up again, and clips of fallen poles teach nothing. With episodes of 5 s these were two thirds of all clips.
Swimmer: 40 Hz.
Half-Cheetah, Ant: Gymnasium's 20 Hz, at which the authors played the Half-Cheetah's clips. The Ant's physics steps are as
    long as Gymnasium's, but use implicitfast, which is four times as fast.
Hopper, Walker: Gymnasium runs them at 125 Hz with the fourth-order Runge-Kutta integrator, so 1.5 s would be 188 steps.
    Here they run at the 40 and 30 Hz at which the authors played their clips, with implicitfast at about 5 ms, which is
    several times faster. tests/benchmarks/physics.py evaluates trained policies in Gymnasium's own physics.
"""

import functools
import math

import numpy as np

from core.behaviours.robot_model import START_NOISE, RobotModel
from core.behaviours.signals import SignalNames
from core.tasks import reacher
from core.tasks.base import FASTEST, ORIENTATION, Camera, RobotTask, observe_turning, orientation
from core.types import Float64

_LARGE = 4.0
"""Distance in m of the camera from a robot for which starts in the air are as high as for the paper's robots."""
_SQUARES = 4.0
"""Ratio of the camera's distance to the size of two of the floor's squares: 5 to 13 squares fit into a picture's width."""
_SPINNING = 100.0
"""Limit in rad/s to which the observed speed of a hinge without limits, such as a wheel's, is clipped."""
_CLIP_SECONDS, _EPISODE_SECONDS = 1.5, 8.0

_ROOT_SLIDES = ("rootx", "rootz")
_ROOT = (*_ROOT_SLIDES, "rooty")
_CHEETAH = ("bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot")
_HOPPER = ("thigh_joint", "leg_joint", "foot_joint")
_HOPPER_GEOMS = ("torso_geom", "thigh_geom", "leg_geom", "foot_geom")
_WALKER = (*_HOPPER, "thigh_left_joint", "leg_left_joint", "foot_left_joint")
_ANT = ("hip_4", "ankle_4", "hip_1", "ankle_1", "hip_2", "ankle_2", "hip_3", "ankle_3")


def ant_observation(positions: Float64, velocities: Float64) -> Float64:
    """Return height, orientation, joints and velocities, (N, 28), for positions (N, 15) and velocities (N, 14)."""
    return np.concatenate([positions[:, 2:3], orientation(positions[:, 3:7]), positions[:, 7:], velocities], axis=1)


REACHER = RobotTask(
    name="reacher",
    robot="reacher",
    title="Reacher",
    names=SignalNames(
        ("joint0", "joint1", "target_x", "target_y"),
        ("joint0", "joint1"),
        ("link0", "link1", "fingertip", "target"),
        ("target_x", "target_y"),
    ),
    sizes=(11, 2),
    model="reacher.xml",
    timestep=0.02,
    integrator="rk4",
    frame_skip=5,
    segment_steps=15,
    episode_steps=50,
    observe=reacher.observation,
    reset_noise=reacher.START_SPEEDS,
    reset_hook=reacher.place_target,
    camera=Camera("fingertip", height=0.0, distance=0.94, elevation=78.0, fixed=True),
    floor_pattern=0.2,
    colours=reacher.COLOURS,
    # Decided in docs/experiments/robots.md, Reacher: a full push turns the arm by a radian in one step, so noise is
    # small.
    exploration_std=0.1,
)

PENDULUM = RobotTask(
    name="pendulum",
    robot="pendulum",
    title="Pendulum",
    names=SignalNames(("slider", "hinge"), ("slide",), ("cart", "cpole"), ("slider",)),
    sizes=(5, 1),
    model="inverted_pendulum.xml",
    timestep=0.01,
    integrator="rk4",
    frame_skip=5,
    segment_steps=30,
    episode_steps=60,
    observe=observe_turning(0, 1, 2),
    reset_noise=0.01,
    exploration_std=0.5,
    camera=Camera("pole", height=0.1, distance=5.4, fixed=True),
    floor_height=-0.5,
)

DOUBLE_PENDULUM = RobotTask(
    name="double-pendulum",
    robot="double-pendulum",
    title="Double pendulum",
    names=SignalNames(("slider", "hinge", "hinge2"), ("slide",), ("cart", "cpole", "cpole2"), ("slider",)),
    sizes=(8, 1),
    model="inverted_double_pendulum.xml",
    timestep=0.01,
    integrator="rk4",
    frame_skip=5,
    segment_steps=30,
    episode_steps=60,
    observe=observe_turning(0, 1, 3),
    reset_noise=0.1,
    exploration_std=0.5,
    normal_speeds=True,
    camera=Camera("pole", height=0.0, distance=7.0, fixed=True),
    floor_height=-1.4,
)

SWIMMER = RobotTask(
    name="swimmer",
    robot="swimmer",
    title="Swimmer",
    names=SignalNames(
        ("slider1", "slider2", "free_body_rot", "motor1_rot", "motor2_rot"),
        ("motor1_rot", "motor2_rot"),
        ("torso", "mid", "back"),
        ("slider1", "slider2"),
    ),
    sizes=(9, 2),
    model="swimmer.xml",
    timestep=0.0125,
    integrator="rk4",
    frame_skip=2,
    segment_steps=60,
    episode_steps=400,
    unseen_joints=("slider1", "slider2"),
    observe=observe_turning(2, 2, 3),  # front link and joints
    reset_noise=0.1,
    exploration_std=0.5,
    camera=Camera("torso", height=0.0, distance=5.3, elevation=60.0),
    paper_presets={"policy.entropy_bonus": 0.001},  # A.1, for the Swimmer alone
)

HALF_CHEETAH = RobotTask(
    name="half-cheetah",
    robot="half-cheetah",
    title="Half-Cheetah",
    names=SignalNames((*_ROOT, *_CHEETAH), _CHEETAH, ("torso", "head", *_CHEETAH), _ROOT_SLIDES),
    sizes=(26, 6),
    model="half_cheetah.xml",
    timestep=0.01,
    integrator="euler",
    frame_skip=5,
    segment_steps=30,
    episode_steps=200,
    unseen_joints=("rootx",),
    observe=observe_turning(1, 2, 3),  # height, pitch and joints
    floor_sense=True,
    reset_noise=0.1,
    exploration_std=0.5,
    normal_speeds=True,
    camera=Camera("torso", height=1.3, distance=4.4),
)

HOPPER = RobotTask(
    name="hopper",
    robot="hopper",
    title="Hopper",
    names=SignalNames((*_ROOT, *_HOPPER), _HOPPER, _HOPPER_GEOMS, _ROOT_SLIDES),
    sizes=(16, 3),
    model="hopper.xml",
    timestep=0.005,
    integrator="implicitfast",
    frame_skip=5,
    segment_steps=60,
    episode_steps=320,
    unseen_joints=("rootx",),
    observe=observe_turning(1, 2, 3),
    floor_sense=True,
    camera=Camera("torso", height=1.35, distance=4.6),
)

WALKER = RobotTask(
    name="walker",
    robot="walker",
    title="Walker",
    names=SignalNames(
        (*_ROOT, *_WALKER),
        _WALKER,
        (*_HOPPER_GEOMS, "thigh_left_geom", "leg_left_geom", "foot_left_geom"),
        _ROOT_SLIDES,
    ),
    sizes=(25, 6),
    model="walker2d_v5.xml",
    timestep=1 / 180,
    integrator="implicitfast",
    frame_skip=6,
    segment_steps=45,
    episode_steps=300,
    unseen_joints=("rootx",),
    observe=observe_turning(1, 2, 3),
    floor_sense=True,
    camera=Camera("torso", height=1.15, distance=4.0),
)

ANT = RobotTask(
    name="ant",
    robot="ant",
    title="Ant",
    names=SignalNames(
        tuple(f"{part}_{leg}" for leg in range(1, 5) for part in ("hip", "ankle")),
        _ANT,
        (
            *("torso_geom", "aux_1_geom", "left_leg_geom", "left_ankle_geom"),
            *("aux_2_geom", "right_leg_geom", "right_ankle_geom"),
            *("aux_3_geom", "back_leg_geom", "third_ankle_geom"),
            *("aux_4_geom", "rightback_leg_geom", "fourth_ankle_geom"),
        ),
    ),
    sizes=(41, 8),
    model="ant.xml",
    timestep=0.01,
    integrator="implicitfast",
    frame_skip=5,
    segment_steps=30,
    episode_steps=200,
    observe=ant_observation,
    floor_sense=True,
    reset_noise=0.1,
    normal_speeds=True,
    camera=Camera("torso", height=1.05, distance=5.3, elevation=20.0, azimuth=72.0),
    # Decided in docs/experiments/robots.md, Ant: more noise throws it on its back.
    exploration_std=0.15,
    # Its gait takes more updates than others', so batches are a third as large (docs/experiments/fast-answers.md).
    most_environments=86,
)

ROBOTS = {
    robot.name: robot for robot in (REACHER, PENDULUM, DOUBLE_PENDULUM, SWIMMER, HALF_CHEETAH, HOPPER, WALKER, ANT)
}
"""Robots by name. tests/core/robots/test_signals.py compares the names of joints, actuators and geoms with the models'."""


@functools.lru_cache(maxsize=4)
def imported_robot(name: str, model: RobotModel) -> RobotTask:
    """Return the task of a robot from an MJCF file, with episodes of 8 s.

    The latest results are cached: unpacking megabytes takes milliseconds, and the window calls this at each key press.
    """

    fastest = np.full(model.velocities, FASTEST)
    for angle in model.angles:
        fastest[model.velocity_of(angle)] = _SPINNING

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
        velocities=model.velocities,
        sensed=model.sensed,
        unseen_joints=model.unseen_joints,
        surroundings=model.surroundings,
        start_scale=scale,
        reset_noise=START_NOISE * scale,
        camera=Camera(model.body, model.height, model.distance, elevation, azimuth, model.fixed, (x, y)),
        floor_pattern=_round_down(model.distance / _SQUARES),
    )


def _round_down(metres: float) -> float:
    """Return the largest number of the series ..., 0.1, 0.2, 0.5, 1, 2, 5, 10, ... that is at most `metres`."""
    decade = 10.0 ** math.floor(math.log10(metres))
    return decade * max((step for step in (1, 2, 5) if step * decade <= metres), default=1)
