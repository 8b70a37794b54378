"""Robots in MJCF files, and random steps of any robot."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from core.behaviours.behaviour import Behaviour
from core.behaviours.robot_model import RobotModel
from core.envs.base import Step
from core.envs.mujoco import MujocoVectorEnv
from core.robots.importing import import_robot
from core.tasks.behaviour_tasks import behaviour_task

MakeBatch = Callable[..., MujocoVectorEnv]
"""Makes environments, as the fixture `batch` does."""

SWINGER = """<mujoco><worldbody><body><joint name="swing" axis="0 1 0"/><geom size=".1 .3" type="capsule"/></body>
</worldbody><actuator><motor joint="swing" ctrlrange="-1 1"/></actuator></mujoco>"""
CORNERS = [(x, y, z) for x in (-0.2, 0.2) for y in (-0.1, 0.1) for z in (-0.05, 0.05)]
FACES = "1 2 4,1 4 3,5 7 8,5 8 6,1 5 6,1 6 2,3 4 8,3 8 7,1 3 7,1 7 5,2 6 8,2 8 4"
TRUNK = "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS) + "".join(f"f {face}\n" for face in FACES.split(","))
COMMON = """<mujoco>
  <compiler meshdir="meshes"/><option timestep=".004" integrator="implicitfast"/><default><joint damping=".5"/></default>
</mujoco>"""
DOG = """<mujoco><include file="common.xml"/>
  <asset><mesh file="trunk.obj"/></asset>
  <worldbody>
    <body pos="0 0 .1"><freejoint/><geom type="mesh" mesh="trunk" mass="5"/>
      <body pos=".2 0 0"><joint name="hip" axis="0 1 0" range="-60 60" limited="true"/>
        <geom name="leg" type="capsule" fromto="0 0 0 0 0 -.3" size=".03"/></body>
      <body pos="-.2 0 0"><joint name="wheel" axis="0 1 0"/><geom name="tyre" type="cylinder" size=".2 .03"/></body>
    </body>
  </worldbody>
  <actuator><position name="hip" joint="hip" kp="20" ctrlrange="-1 2"/><motor joint="wheel" ctrlrange="-3 3"/></actuator>
  <keyframe><key qpos="0 0 .1 1 0 0 0 .5 0"/></keyframe>
</mujoco>"""
SIT: dict[str, Any] = {
    "name": "sit",
    "robot": "mjcf:dog.xml",
    "title": "Dog: sitting",
    "instruction": "Choose the clip in which it sits.",
    "clip_seconds": 1.5,
    "start": "mixed",
    "oracle": "-pitch + height[leg] + joint_rate[wheel] + action[wheel]",
}


def write_dog() -> None:
    """Write dog.xml, the files that it includes, and its behaviour sit.json into the current folder."""
    Path("meshes").mkdir()
    texts = {"dog.xml": DOG, "common.xml": COMMON, "meshes/trunk.obj": TRUNK, "sit.json": json.dumps(SIT)}
    for name, content in texts.items():
        Path(name).write_text(content)


def trial(model: RobotModel) -> Any:
    """Return a behaviour of the imported robot as a task."""
    return behaviour_task(Behaviour("trial", "mjcf:it.xml", "Trial", "Which one?", 1.0, model=model))


def imported(path: Path) -> tuple[RobotModel, Any]:
    """Return the robot of an MJCF file, and a task of it."""
    model = import_robot(path)
    return model, trial(model)


def random_steps(env: MujocoVectorEnv, steps: int, seed: int = 1) -> list[Step]:
    rng = np.random.default_rng(seed)
    return [env.step(rng.uniform(-1.2, 1.2, (env.count, env.sizes[1])).astype(np.float32)) for _ in range(steps)]
