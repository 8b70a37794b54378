"""Cameras of imported robots: which robots are followed, and from how far away."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.behaviours.robot_model import RobotModel
from core.robots.models import load_model
from tests.core.robot_toys import imported

CAR = """<mujoco><worldbody><geom type="plane" size="5 5 1"/><body name="car" pos="0 0 .5">
  <joint name="rail" type="slide" axis="{axis}" {range}/><geom name="car" size=".1"/></body></worldbody>
  <actuator><motor joint="rail" ctrlrange="-1 1"/></actuator></mujoco>"""
LINK = '<body name="l{0}" pos=".2 0 0"><joint name="j{0}" axis="0 0 1" range="-3 3"/>{shape}{inner}</body>'
SHAPE = '<geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/>'


def model(text: str) -> RobotModel:
    Path("robot.xml").write_text(text)
    return imported(Path("robot.xml"))[0]


@pytest.mark.parametrize("axis", ["1 0 0", "0 0 1", "1 0 1"])
@pytest.mark.parametrize(("limits", "followed"), [("", True), ('range="0 20"', True), ('range="-.1 .1"', False)])
def test_a_robot_on_a_long_slide_of_any_direction_is_followed(axis: str, limits: str, followed: bool) -> None:
    car = model(CAR.format(axis=axis, range=limits))
    assert car.fixed != followed
    assert car.distance < 2  # the car, not its track, fills the picture


def test_the_camera_sees_a_robot_that_unfolds() -> None:
    links = ""
    for number in range(8, 0, -1):
        links = LINK.format(number, shape=SHAPE, inner=links)
    fold = " ".join(["2.2" if number % 2 else "-2.2" for number in range(8)])
    snake = f"""<mujoco><compiler angle="radian"/><worldbody><geom type="plane" size="5 5 1"/>
      <body name="head" pos="0 0 .1"><freejoint/>{SHAPE}{links}</body></worldbody>
      <actuator><motor joint="j1" ctrlrange="-1 1"/></actuator>{{}}</mujoco>"""
    folded = model(snake.format(f'<keyframe><key qpos="0 0 .1 1 0 0 0 {fold}"/></keyframe>'))
    stretched = model(snake.format(""))
    assert 0.3 * stretched.distance < folded.distance < stretched.distance
    assert 0.65 * folded.distance > 1.2  # m of picture, for links of 1.8 m that are seldom straight


@pytest.mark.slow_after_first
@pytest.mark.parametrize("size", [0.01, 0.1, 0.35, 1, 20])
def test_some_squares_of_the_floor_are_visible_for_any_size_of_robot(size: float) -> None:
    ball = f"""<mujoco><worldbody><geom name="floor" type="plane" size="9 9 1"/><body pos="0 0 {size}">
      <joint name="x" type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><geom size="{size}"/></body></worldbody>
      <actuator><motor joint="x" ctrlrange="-1 1"/></actuator></mujoco>"""
    Path("ball.xml").write_text(ball)
    _, task = imported(Path("ball.xml"))
    model = load_model(task)
    repeats, floor_metres = model.mat_texrepeat[model.geom_matid[0]], 2 * model.geom_size[0, :2]
    squares = 0.65 * task.camera.distance * 2 * repeats / floor_metres
    assert squares.min() > 5 and squares.max() < 20
