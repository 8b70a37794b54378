"""Robots among other things, as texts of MJCF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.behaviours.robot_model import RobotModel
from tests.core.robot_toys import imported as import_with_task

FLOOR = '<geom name="floor" type="plane" size="5 5 .1"/>'
WALKER = """<body name="trunk" pos="0 0 {height}">{joints}<geom name="trunk" type="box" size=".2 .1 .05"/>
  <body name="leg" pos=".2 0 0"><joint name="hip" axis="0 1 0" range="-60 60"/>
    <geom name="leg" type="capsule" fromto="0 0 0 0 0 -.2" size=".03"/></body></body>"""
MOTOR = '<actuator><motor joint="hip" ctrlrange="-3 3"/></actuator>'
ARM = """<body name="base" pos="0 0 {height}"><geom name="base" size=".05"/><body name="arm">
  <joint name="hip" axis="0 1 0"/><geom name="arm" type="capsule" fromto="0 0 0 0 0 {length}" size=".03" rgba="1 0 0 1"/>
  </body></body>"""


def imported(world: str, first: str = "", last: str = MOTOR) -> tuple[RobotModel, Any]:
    Path("it.xml").write_text(f"<mujoco>{first}<worldbody>{world}</worldbody>{last}</mujoco>")
    return import_with_task(Path("it.xml"))


def walker(joints: str = "<freejoint/>", height: float = 0.3) -> str:
    return WALKER.format(joints=joints, height=height)
