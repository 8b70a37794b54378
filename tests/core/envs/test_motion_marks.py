"""Motion marks in a clip, as geoms in MuJoCo's scene."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from core.envs.motion_marks import MotionMarks
from core.robots.models import load_model
from core.tasks import get_task
from tests.core.robot_toys import imported

ORIGIN = np.zeros(3)


def shapes(name: str, kind: mujoco.mjtGeom, rise: float = 0.0, path: tuple = (ORIGIN,), start: object = None) -> list:
    """Return the geoms of one kind that are added for a robot whose root has risen by this many metres."""
    task = get_task(name)
    model = load_model(task)
    data, scene = mujoco.MjData(model), mujoco.MjvScene(model, 200)
    data.qpos[1] += rise
    mujoco.mj_forward(model, data)
    MotionMarks(model, task.camera).add(scene, data, path, start)
    return [geom for geom in scene.geoms[: scene.ngeom] if geom.type == kind]


@pytest.mark.parametrize(("name", "floor"), [("hopper", 0.0), ("swimmer", -0.1), ("double-pendulum", -1.4)])
def test_the_shadow_lies_on_the_floor_under_each_part(name: str, floor: float) -> None:
    task = get_task(name)
    model = load_model(task)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    shadow = shapes(name, mujoco.mjtGeom.mjGEOM_ELLIPSOID)
    assert np.allclose([geom.pos[:2] for geom in shadow], data.geom_xpos[model.geom_bodyid > 0, :2])
    for geom in shadow:
        top = geom.pos[2] + np.abs(geom.mat.reshape(3, 3)[2] * geom.size).sum()
        assert floor < geom.pos[2] < top < floor + 0.02


def test_the_shadow_stays_and_fades_as_the_robot_rises() -> None:
    low, high = (shapes("walker", mujoco.mjtGeom.mjGEOM_ELLIPSOID, rise) for rise in (0.0, 1.0))
    assert [geom.pos.tolist() for geom in low] == [geom.pos.tolist() for geom in high]
    assert all((before.rgba[:3] < after.rgba[:3]).all() for before, after in zip(low, high, strict=True))
    assert {float(geom.rgba[3]) for geom in low + high} == {1.0}  # overlapping parts are not darker


def test_the_trace_follows_the_path_and_starts_empty() -> None:
    path = tuple(np.array([0.1 * step, 0.0, 1.0]) for step in range(5))
    trace = shapes("hopper", mujoco.mjtGeom.mjGEOM_LINE, path=path)
    assert [geom.pos[0] for geom in trace] == pytest.approx([0.0, 0.1, 0.2, 0.3])
    assert {float(geom.pos[2]) for geom in trace} == {1.0}
    assert not shapes("hopper", mujoco.mjtGeom.mjGEOM_LINE)


def test_the_start_line_is_on_the_floor_where_the_clip_begins() -> None:
    (line,) = shapes("ant", mujoco.mjtGeom.mjGEOM_BOX, start=np.array([2.0, -3.0, 0.9]))
    assert line.pos[:2].tolist() == [2.0, -3.0] and 0 < line.pos[2] < 0.02
    assert not shapes("ant", mujoco.mjtGeom.mjGEOM_BOX)


ROVER = """<mujoco><asset><hfield name="hills" nrow="2" ncol="2" size="6 6 .1 .1" elevation="0 .5 0 1"/></asset><worldbody>
  <geom {ground}/><body pos="0 0 .5">{root}<geom size=".1"/><body><joint name="hip" axis="1 0 0"/><geom size=".05"/></body>
  </body></worldbody><actuator><motor joint="hip" ctrlrange="-1 1"/></actuator></mujoco>"""


def rover_marks(ground: str, root: str) -> list:
    """Return the boxes and ellipsoids that are added for this robot."""
    Path("rover.xml").write_text(ROVER.format(ground=ground, root=root))
    _, task = imported(Path("rover.xml"))
    model = load_model(task)
    data, scene = mujoco.MjData(model), mujoco.MjvScene(model, 200)
    mujoco.mj_forward(model, data)
    MotionMarks(model, task.camera).add(scene, data, (ORIGIN, ORIGIN + 1), ORIGIN)
    return [geom for geom in scene.geoms[: scene.ngeom] if geom.type != mujoco.mjtGeom.mjGEOM_LINE]


def test_nothing_is_marked_on_the_plane_under_a_height_field() -> None:
    assert len(rover_marks('type="plane" size="9 9 1"', "<freejoint/>")) == 3
    assert rover_marks('type="hfield" hfield="hills"', "<freejoint/>") == []


@pytest.mark.parametrize("way", ["x", "y"])
def test_the_start_line_crosses_the_path_of_a_planar_robot(way: str) -> None:
    axis = "1 0 0" if way == "x" else "0 1 0"
    root = f'<joint type="slide" axis="{axis}"/><joint type="slide" axis="0 0 1"/>'
    (line,) = (
        geom for geom in rover_marks('type="plane" size="9 9 1"', root) if geom.type == mujoco.mjtGeom.mjGEOM_BOX
    )
    assert (line.size[0] < line.size[1]) == (way == "x")
