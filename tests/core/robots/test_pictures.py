"""Pictures of imported robots: in any unit of length, in the dark, behind walls, hanging, and on rails."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
import pytest

from core.envs.renderer import MujocoRenderer
from core.robots.models import load_model
from tests.core.robot_toys import MakeBatch
from tests.core.surroundings_toys import ARM, FLOOR, MOTOR, imported, walker


def red_pixels(task: Any, state: np.ndarray, size: int = 64) -> np.ndarray:
    """Return the mask (size, size) of red pixels in the picture of the robot in this state."""
    with closing(MujocoRenderer(task)) as renderer:
        picture = renderer.render(state[None], size, 10.0).pixels[0].astype(int)
    return picture[..., 0] - picture[..., 1:].max(-1) > 60


@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_a_robot_is_visible_in_any_unit_of_length(unit: float, batch: MakeBatch) -> None:
    arm = f"""<body name="arm" pos="0 0 {unit / 2}"><joint name="hip" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 {unit} 0 0" size="{unit / 15}" rgba="1 0 0 1"/></body>"""
    gravity = f'<option gravity="0 0 {-9.81 * unit}" timestep=".001"/>'
    _, task = imported('<geom type="plane" size="1 1 1"/>' + arm, gravity)
    assert red_pixels(task, batch(task, 1).states[0]).sum() > 30


@pytest.mark.slow
def test_a_robot_whose_file_disables_its_lights_is_lit() -> None:
    off = '<visual><headlight active="0" diffuse="0 0 0"/></visual>'
    pictures = []
    for first in ("", off):
        _, task = imported(FLOOR + walker(), first)
        with closing(MujocoRenderer(task)) as renderer:
            pictures.append(renderer.render(np.zeros((1, 1 + 8 + 7)) + [0, 0, 0, 0.3, 1, *[0] * 11], 64, 30.0).pixels)
    assert np.array_equal(*pictures)


@pytest.mark.slow
def test_a_wall_between_robot_and_camera_does_not_hide_the_robot() -> None:
    red = []
    for wall in ("", '<geom type="box" size="9 .05 2" pos="0 -1 2"/>', '<geom type="box" size="9 .05 2" pos="0 2 2"/>'):
        _, task = imported(FLOOR + wall + walker().replace('name="trunk" type', 'name="trunk" rgba="1 0 0 1" type'))
        state = np.zeros(1 + 8 + 7)
        state[3:5] = 0.3, 1
        red.append(red_pixels(task, state).sum())
    free, before, behind = red
    assert free > 50 and before > 0.8 * free and behind == free


def test_the_mount_of_a_robot_in_front_of_it_stays_opaque() -> None:
    """It is part of the robot, like a palm with fingers, and would flicker as they move behind it."""
    palm = '<body name="palm" pos="0 -.3 .3"><geom type="box" size=".2 .05 .2" rgba="1 0 0 1"/>{}</body>'
    finger = '<body pos="0 .3 {}"><joint name="hip" axis="0 1 0" damping="1"/><geom size=".1"/></body>'
    behind, above = (imported(FLOOR + palm.format(finger.format(height)))[1] for height in (0.0, 2.0))
    for task in (behind, above):
        red = red_pixels(replace(task, camera=behind.camera), np.zeros(3))
        assert red.sum() > 300


def test_the_near_side_of_a_flat_robot_below_its_usual_height_is_in_the_picture() -> None:
    flat = """<body name="root" pos="0 0 1.5"><freejoint/><geom type="box" size=".4 .4 .05" rgba="1 0 0 1"/>
      <body pos=".4 0 0"><joint name="hip" axis="0 1 0"/><geom size=".05" rgba="1 0 0 1"/></body></body>"""
    _, task = imported(FLOOR + flat)
    state = np.zeros(1 + 8 + 7)
    state[3:5] = 0.05, 1
    red = red_pixels(task, state)
    assert red.sum() > 100 and not red[-1].any()


def test_a_pole_that_hangs_down_is_in_the_picture() -> None:
    _, task = imported(ARM.format(height=0, length=0.6))
    model = load_model(task)
    red = []
    for angle in (0.0, np.pi):
        data = mujoco.MjData(model)
        data.qpos[0] = angle
        state = np.zeros(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
        mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        red.append(red_pixels(task, state, 96).sum())
    assert red[0] > 50 and red[1] > 0.5 * red[0]


def test_a_small_robot_in_a_large_hall_is_visible() -> None:
    small = """<body name="bug" pos="0 0 .03"><freejoint/><geom type="box" size=".03 .02 .01" rgba="1 0 0 1"/>
      <body pos=".03 0 0"><joint name="hip" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.02" size=".004"/></body>
      </body>"""
    wall = '<geom type="box" size=".1 20 1" pos="{} 0 1"/>'
    model, task = imported(FLOOR + small + wall.format(20) + wall.format(-20), last=MOTOR.replace("3", "1e-4"))
    state = np.array([0.0, *model.start, *[0.0] * 7])
    assert red_pixels(task, state, 96).sum() > 100
    assert task.reset_noise < 5e-4  # the noise for a robot of a metre would throw it about


def test_the_camera_follows_a_robot_on_an_endless_rail() -> None:
    model, task = imported(FLOOR + walker('<joint type="slide" axis="0 0 1"/>'))
    assert not model.fixed and not task.camera.fixed
    model, _ = imported(FLOOR + walker('<joint type="slide" axis="0 0 1" range="-.1 .3"/>'))
    assert model.fixed


LOAD = """<body name="load" pos="0 0 -.9"><freejoint/><geom name="load" size=".05" rgba="1 0 0 1"/><site name="eye"/></body>"""
ROPE = '<tendon><spatial range="0 1"><site site="hook"/><site site="eye"/></spatial></tendon>'
CRANE = """<body name="trolley"><joint name="hip" type="slide" axis="1 0 0" range="-.1 .1"/>
  <geom name="trolley" type="box" size=".05 .05 .02"/><site name="hook"/></body>"""


def test_a_part_hanging_from_the_robot_is_in_the_picture() -> None:
    model, task = imported(CRANE + LOAD, last=MOTOR + ROPE)
    assert not model.level
    state = np.array([0.0, *model.start, *[0.0] * 7])
    assert red_pixels(task, state, 96).sum() > 10


def test_a_robot_in_the_body_of_the_floor_is_visible() -> None:
    inside, _ = imported(f'<body name="scene">{FLOOR}{ARM.format(height=1, length=0.3)}</body>')
    alone, _ = imported(FLOOR + ARM.format(height=1, length=0.3))
    assert inside.distance == pytest.approx(alone.distance)
