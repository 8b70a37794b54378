"""Sheets of stills of each robot, for judging whether its height is visible in a picture.

    .venv/bin/python -m tests.benchmarks.stills --out build/pictures

Writes stills-TASK.png for each robot: standing, tilted and lying, and at three heights of a backflip, each with the true
height of the root. Robots that can't rise are shown in six random poses. Every still is the end of a clip of one second.
"""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

import core  # noqa: F401  chooses the backend of OpenGL before MuJoCo is imported

# isort: split
import cv2
import mujoco
import numpy as np

from core.envs.renderer import MujocoRenderer
from core.io.image_codec import Pixels
from core.robots.models import load_model
from core.tasks import CATALOGUE
from core.tasks.base import RobotTask
from core.types import Float64

_SIZE, _FPS, _COLUMNS = 480, 30.0, 3
_FULL, _FREE = mujoco.mjtState.mjSTATE_FULLPHYSICS, mujoco.mjtJoint.mjJNT_FREE
_STILLS = ((0.0, 0.0), (0.0, -0.7), (0.0, -1.57), (0.3, -2.0), (0.7, -3.1), (1.1, -4.4))
"""Height in m of the lowest point above the floor, and angle in rad backward."""


def clip(task: RobotTask, lift: float, angle: float, rng: np.random.Generator) -> Float64:
    """Return states (k, S) of a rise to this height with a turn by this angle, or of a motion to a random pose."""
    model = load_model(task)
    states = np.zeros((round(1 / task.step_seconds) + 1, mujoco.mj_stateSize(model, _FULL)))
    free = model.jnt_type[0] == _FREE
    data, way = mujoco.MjData(model), 0.8 * rng.uniform(-1, 1, model.nv)
    for state, share in zip(states, np.linspace(0, 1, len(states)), strict=True):
        data.qpos[:] = model.qpos0
        if rises(model):
            data.qpos[0] = share - 1  # a metre from the start line
            if free:
                mujoco.mju_axisAngle2Quat(data.qpos[3:7], np.array([0.0, 1.0, 0.0]), angle * share)
            else:
                data.qpos[2] = angle * share
            mujoco.mj_forward(model, data)
            data.qpos[2 if free else 1] += lift * (1 - (1 - share) ** 2) - lowest_point(model, data)
        else:
            mujoco.mj_integratePos(model, data.qpos, way, share)
        state[1 : 1 + model.nq] = data.qpos
    return states


def rises(model: mujoco.MjModel) -> bool:
    """Return whether the root can move up and down."""
    first, second = model.jnt_type[:2]
    return bool(first == _FREE or (second == mujoco.mjtJoint.mjJNT_SLIDE and model.jnt_axis[1, 2]))


def lowest_point(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """Return the height in m of the robot's lowest point; its geoms are capsules and spheres."""
    robot = model.geom_bodyid > 0
    halves = np.where(model.geom_type == mujoco.mjtGeom.mjGEOM_CAPSULE, model.geom_size[:, 1], 0.0)
    ends = data.geom_xpos[:, 2] - halves * np.abs(data.geom_xmat[:, 8]) - model.geom_size[:, 0]
    return float(ends[robot].min())


def still(task: RobotTask, renderer: MujocoRenderer, states: Float64) -> Pixels:
    """Return the last picture of a clip, (_SIZE, _SIZE, 3), with the root's height."""
    *_, picture = renderer.pictures(states, _SIZE, _FPS)
    model = load_model(task)
    data = mujoco.MjData(model)
    data.qpos[:] = states[-1, 1 : 1 + model.nq]
    mujoco.mj_forward(model, data)
    text = f"root at {data.body(task.camera.body).xpos[2]:.2f} m"
    if rises(model):
        text += f", lowest point at {abs(lowest_point(model, data)):.2f} m"
    return np.asarray(cv2.putText(picture.copy(), text, (10, 24), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (0, 0, 0), 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    robots = {name: task for name, task in CATALOGUE.items() if isinstance(task, RobotTask)}
    parser.add_argument("--tasks", nargs="+", choices=robots, default=list(robots), metavar="TASK")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.tasks:
        task, rng = robots[name], np.random.default_rng(0)
        with closing(MujocoRenderer(task)) as renderer:
            stills = [still(task, renderer, clip(task, lift, angle, rng)) for lift, angle in _STILLS]
        sheet = np.vstack([np.hstack(stills[at : at + _COLUMNS]) for at in range(0, len(stills), _COLUMNS)])
        cv2.imwrite(str(args.out / f"stills-{name}.png"), cv2.cvtColor(sheet, cv2.COLOR_RGB2BGR))


if __name__ == "__main__":
    main()
