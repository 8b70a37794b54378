"""Imported robots, which behave like shipped ones: small models with one special feature each, and Gymnasium's."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import gymnasium
import mujoco
import numpy as np
import pytest

from core.behaviours.robot_model import RobotModel, robot_model
from core.envs.renderer import MujocoRenderer
from core.errors import UserError
from core.robots.floor import floor_of
from core.robots.kinematics import Kinematics, Poses
from core.robots.mjcf import read_mjcf, unpack
from core.robots.models import compile_mjcf, load_model
from core.robots.signals import SignalSource, StepSignals, StepStates
from tests.core.robot_toys import MakeBatch, imported

ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
BOX = """
<mujoco>{first}<worldbody>{world}
  <body name="box" pos="0 0 .3">{root}<geom name="box" type="box" size=".2 .1 .1" mass="2"/>
    <body name="arm" pos=".2 0 0"><joint name="elbow" axis="0 1 0" {joint}/>
      <geom name="arm" type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></body></worldbody>
  <actuator>{actuator}</actuator>{last}</mujoco>
"""
PARTS = {"first": "", "world": "", "root": "<freejoint/>", "joint": "", "last": ""}
MOTOR = '<motor name="elbow" joint="elbow" ctrlrange="-2 2"/>'
SERVO = '<position name="elbow" joint="elbow" kp="20" {}/>'
LIMITED = 'range="-1 2" limited="true"'


def robot(**parts: str) -> tuple[RobotModel, Any]:
    """Return the robot imported from BOX with these parts, and its task."""
    compiler = '<compiler angle="radian"/>'
    values = {**PARTS, "actuator": MOTOR, **parts, "first": compiler + parts.get("first", "")}
    Path("box.xml").write_text(BOX.format(**values))
    return imported(Path("box.xml"))


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("actuator", "joint", "ends"),
    [
        (SERVO.format(""), LIMITED, (-1, 2)),
        (SERVO.format('gear="2" kv="1"'), LIMITED, (-2, 4)),
        (SERVO.format('kv="1"'), "", (-np.pi, np.pi)),
        (SERVO.format('ctrlrange="-.5 1"'), LIMITED, (-0.5, 1)),
        ('<general joint="elbow" biastype="affine" gainprm="2" biasprm="0 -20 -2"/>', LIMITED, (-10, 20)),
        ('<velocity joint="elbow" kv="3"/>', "", (-10, 10)),
        ('<motor joint="elbow" gear="20"/>', "", (-1, 1)),
        ('<motor joint="elbow" forcerange="-7 7"/>', "", (-7, 7)),
        ('<motor joint="elbow" ctrllimited="false" ctrlrange="-3 3"/>', "", (-3, 3)),
        ('<motor site="nozzle" gear="0 0 1 0 0 0" forcerange="0 30"/>', "", (0, 30)),
        ('<motor site="nozzle" gear="0 0 6 0 0 8"/>', "", (-1, 1)),
        ('<motor joint="elbow" gear="4"/>', 'actuatorfrcrange="-8 8"', (-2, 2)),
        ('<intvelocity joint="elbow" actrange="-1 1" kp="5"/>', "", (-10, 10)),
    ],
)
def test_full_effort_is_the_range_implied_by_the_model(
    actuator: str, joint: str, ends: tuple[float, float], batch: MakeBatch
) -> None:
    env = batch(robot(actuator=actuator, joint=joint, root='<freejoint/><site name="nozzle"/>')[1], 2)
    assert env.controls(np.array([[-1.0], [1.0]], np.float32)).ravel() == pytest.approx(ends)


KEYS = '<keyframe><key name="lie" qpos="0 0 .5 1 0 0 0 0"/><key name="home" qpos="0 0 .5 1 0 0 0 1.2" {}/></keyframe>'


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("parts", "start", "rest"),
    [
        ({"last": KEYS.format("")}, 1.2, 1.2),  # servos hold the pose of the keyframe named home
        ({"last": KEYS.format('ctrl=".7"')}, 1.2, 0.7),
        ({"last": KEYS.format('ctrl="2"')}, 1.2, 2),  # at an end of the range as well
        ({"joint": 'range=".5 1.5" limited="true"'}, 0.6, 0.6),  # 0 is outside the joint's range
    ],
)
def test_a_servo_robot_starts_in_the_pose_its_servos_hold(
    parts: dict[str, str], start: float, rest: float, batch: MakeBatch
) -> None:
    model, task = robot(**{"joint": LIMITED, "actuator": SERVO.format(""), **parts})
    env = batch(task, 1)
    assert model.start[7] == pytest.approx(start)
    middle = env.controls(np.zeros((1, 1), np.float32))
    assert middle == pytest.approx(rest, abs=0.01)
    ends = env.controls(np.array([[-1.0], [1.0]], np.float32))
    assert ends.ravel() == pytest.approx(env.model.actuator_ctrlrange[0])


def test_a_robot_without_a_floor_gets_a_solid_or_a_visible_one() -> None:
    free, task = robot()
    assert free.drawn_floor == () and free.on_floor and Kinematics(load_model(task)).floor_height == 0
    fixed, task = robot(root="", world='<geom type="sphere" size=".1"/>', last="")
    (height,) = fixed.drawn_floor
    kinematics = Kinematics(load_model(task))
    assert (kinematics.floor_height, fixed.on_floor, fixed.fixed) == (height, False, True)
    assert not any(map(kinematics.touchable, kinematics.geoms.values()))


WALLS = (
    '<geom name="wall" type="plane" size="2 2 .1" pos="-3 0 0" zaxis="1 0 0"/><geom name="ground" type="plane" size="3 3 .1"'
    ' pos="0 0 -.2"/>'
)


def test_walls_are_not_floors_and_remain_unchanged() -> None:
    model = load_model(robot(world=WALLS)[1])
    floor, height = floor_of(model)
    assert (model.geom(floor).name, height) == ("ground", -0.2)
    assert model.geom("wall").size[0] == 2 and model.geom(floor).size[0] > 100


GROUND = '<geom name="ground" type="box" size="{0} {0} .2" pos=".3 0 -.5" friction="2 .01 .001" conaffinity="3"/>'


@pytest.mark.parametrize("shape", ["box", "cylinder"])
def test_a_wide_box_or_disc_below_the_robot_is_its_floor(shape: str, batch: MakeBatch) -> None:
    size = {"box": "3 3 .2", "cylinder": "3 .2"}[shape]
    model, task = robot(world=GROUND.format(3).replace("box", shape).replace("3 3 .2", size))
    env = batch(task, 1)
    floor, height = floor_of(env.model)
    assert env.model.geom(floor).name == "ground" and height == pytest.approx(-0.3)
    assert env.model.geom_friction[floor].tolist() == [2, 0.01, 0.001] and env.model.geom_conaffinity[floor] == 3
    assert [env.model.geom(geom).name for geom in range(env.model.ngeom)] == ["ground", "box", "arm"]
    assert model.on_floor
    for _ in range(80):
        env.step(np.zeros((1, 1), np.float32))
    lowest = Kinematics(env.model).lowest(env.states[:, 1 : 1 + env.model.nq])[0]
    assert lowest == pytest.approx(0, abs=0.01)


def test_a_small_box_is_a_pedestal_on_the_floor() -> None:
    model = load_model(robot(world=GROUND.format(0.4))[1])
    assert floor_of(model)[1] == 0 and model.geom("ground").size.tolist() == [0.4, 0.4, 0.2]
    level = load_model(robot(world=GROUND.format(0.4).replace("-.5", "-.2"))[1])
    assert floor_of(level)[1] == pytest.approx(-0.001)  # below the box's top: at one height, both would flicker


def test_a_height_field_lies_on_the_floor() -> None:
    field = '<asset><hfield name="hills" nrow="4" ncol="4" size="5 5 .3 .1" elevation="{}"/></asset>'
    world = '<geom name="hills" type="hfield" hfield="hills" pos="0 0 -.4"/>'
    model = load_model(robot(first=field.format("0 1 0 1 " * 4), world=world)[1])
    assert floor_of(model)[1] == pytest.approx(-0.401)  # below it: at one height, both would flicker


@pytest.mark.slow
def test_the_picture_of_a_height_field_keeps_its_narrow_ridges() -> None:
    heights = np.zeros((512, 512), np.uint8)
    heights[:, ::32] = 100
    heights[200:300, 200:300] = 200
    cv2.imwrite("hills.png", heights)
    field = '<asset><hfield name="hills" file="hills.png" size="5 5 .3 .1"/></asset>'
    _, task = robot(first=field, world='<geom name="hills" type="hfield" hfield="hills" pos="0 0 -.4"/>')
    terrain = load_model(task)
    assert terrain.hfield_nrow.tolist() == [512] and set(terrain.hfield_data.tolist()) == {0, 0.5, 1}


def test_a_robot_on_a_slope_is_refused() -> None:
    slope = '<geom type="plane" size="5 5 1" zaxis=".2 0 1"/>'
    ramp = '<geom type="box" size="5 5 .2" euler="0 .2 0" pos="0 0 -.5"/>'
    for ground in (slope, ramp):
        with pytest.raises(UserError, match="box.xml can't be used as a robot: its ground is a slope: replace it"):
            robot(world=ground)
    level = '<geom name="ground" type="plane" size="5 5 1" pos="0 0 -1"/>'
    assert floor_of(load_model(robot(world=slope + level)[1]))[1] == -1  # a ramp on a floor


def test_the_floor_is_the_plane_that_can_be_touched_even_through_a_pair() -> None:
    plane = '<geom name="{}" type="plane" size="1 1 1" contype="0" conaffinity="0" pos="0 0 {}"/>'
    pair = '<contact><pair geom1="deep" geom2="box"/></contact>'
    model = load_model(robot(world=plane.format("drawn", 0) + plane.format("deep", -1), last=pair)[1])
    assert floor_of(model)[1] == -1


def test_a_pair_that_the_model_names_is_a_contact() -> None:
    world = '<geom name="floor" type="plane" size="1 1 1" contype="0" conaffinity="0"/>'
    pair = '<contact><pair geom1="floor" geom2="box"/></contact>'
    nothing = '<default><geom contype="0" conaffinity="0"/></default>'
    model, task = robot(first=nothing, world=world, last=pair)
    kinematics = Kinematics(load_model(task))
    assert [name for name, geom in kinematics.geoms.items() if kinematics.touchable(geom)] == ["box"]
    assert model.on_floor and model.sensed == 1


def test_the_root_belongs_to_the_actuated_part() -> None:
    ball = '<body name="ball" pos="1 0 1"><freejoint/><geom name="ball" size=".1"/></body>'
    model, task = robot(world=ball)
    assert model.body == "box" and model.quaternions == (3, 10)
    assert len(model.plain) == 3 + 1  # the box without its position
    assert set(task.names.geoms) == {"ball", "box", "arm"}


BALL = '<body name="ball" pos="1 0 1"><freejoint/><geom name="ball" size=".1"/></body>'


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("parts", "actuator"),
    [
        ({}, '<motor name="thrust" site="nozzle" gear="0 0 1 0 0 0" ctrlrange="0 9"/>'),
        (
            {"last": '<tendon><fixed name="cord"><joint joint="elbow" coef="1"/></fixed></tendon>'},
            '<motor name="pull" tendon="cord" ctrlrange="-1 1"/>',
        ),
        (
            {"last": '<tendon><spatial name="cord"><site site="hook"/><site site="nozzle"/></spatial></tendon>'},
            '<motor name="pull" tendon="cord" ctrlrange="-1 1"/>',
        ),
    ],
    ids=["site", "tendon of joints", "tendon of sites"],
)
def test_a_robot_without_an_actuated_joint_is_found_behind_a_ball(parts: dict[str, str], actuator: str) -> None:
    nozzle = '<freejoint/><site name="nozzle"/>'
    model, _ = robot(world=BALL + '<site name="hook" pos="0 0 1"/>', root=nozzle, actuator=actuator, **parts)
    assert model.body == "box"


def test_given_names_are_kept_when_unnamed_parts_get_theirs() -> None:
    root = '<freejoint/><geom type="box" size=".1 .1 .1" contype="0" conaffinity="0"/>'
    motors = "".join(f"<motor {name} joint='elbow' ctrlrange='-1 1'/>" for name in ("", "name='elbow'", ""))
    model, task = robot(root=root, actuator=motors)
    assert model.geoms == ("box_2", "box", "arm") and model.actions == ("elbow_2", "elbow", "elbow_3")
    compiled = load_model(task)
    assert Kinematics(compiled).geoms["box"] == compiled.geom("box").id


RISER = """<mujoco><worldbody><body name="base" pos="0 0 .3" euler="{euler}"><joint name="slide" type="slide" axis="{axis}"/>
<joint name="turn" axis="{turn}"/><geom name="trunk" type="box" size=".2 .1 .1"/><body pos=".2 0 0"><joint name="elbow" axis="0 1 0"/>
<geom name="arm" type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></body></worldbody>
<actuator><motor joint="elbow" ctrlrange="-1 1"/></actuator></mujoco>"""


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("euler", "axis", "turn"),
    [("0 0 0", "0 0 1", "0 1 0"), ("0 0 0", "0 0 -1", "0 1 0"), ("90 0 0", "0 1 0", "0 0 1")],
    ids=["up", "down", "in a body on its side"],
)
def test_a_robot_lifted_by_a_slide_stands_on_a_floor(euler: str, axis: str, turn: str, batch: MakeBatch) -> None:
    Path("riser.xml").write_text(RISER.format(euler=euler, axis=axis, turn=turn))
    model, task = imported(Path("riser.xml"))
    assert model.on_floor
    kinematics = Kinematics(load_model(task))
    env = batch(task, 2)
    for _ in range(120):
        env.step(np.zeros((2, 1), np.float32))
    assert (kinematics.lowest(env.states[:, 1 : 1 + env.model.nq]) > -0.01).all()  # the robot has fallen on the floor
    air = batch(replace(task, start="air"), 64)
    lowest = kinematics.lowest(air.states[:, 1 : 1 + air.model.nq])
    assert lowest.min() > 0.1 and np.ptp(lowest) > 0.2


def test_random_starts_keep_the_limit_of_a_ball_joint(batch: MakeBatch) -> None:
    root = '<freejoint/><geom name="box2" size=".05" mass=".1"/>'
    ball = '<body pos="-.3 0 0"><joint name="neck" type="ball" limited="true" range="0 .5"/><geom name="head" size=".1"/></body>'
    _, task = robot(root=root + ball)
    env = batch(replace(task, start="random"), 256)
    address = int(env.model.joint("neck").qposadr[0])
    angles = 2 * np.arccos(np.clip(np.abs(env.states[:, 1 + address]), 0, 1))
    assert 0.4 < angles.max() <= 0.5 + 1e-6 and angles.min() < 0.1


@pytest.mark.parametrize(
    "change",
    [
        {"last": '<contact><exclude body1="world" body2="box"/></contact>'},
        {"first": '<option gravity="0 0 0"><flag contact="disable"/></option>'},
    ],
    ids=["excluded", "switched off"],
)
def test_contacts_excluded_by_the_model_are_not_counted(change: dict[str, str]) -> None:
    _, task = robot(world='<geom name="floor" type="plane" size="1 1 1"/>', **change)
    kinematics = Kinematics(load_model(task))
    assert not kinematics.touchable(kinematics.geoms["box"])
    assert kinematics.touchable(kinematics.geoms["arm"]) == ("last" in change)


def test_a_delayed_actuator_starts_as_in_mujoco(batch: MakeBatch) -> None:
    _, task = robot(actuator=f'{MOTOR[:-2]} delay="0.05" nsample="30"/>')
    env = batch(task, 2)
    model, before, pushed = env.model, env.states[0].copy(), np.ones((2, 1), np.float32)
    alone = mujoco.MjData(model)
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    fresh = np.zeros(mujoco.mj_stateSize(model, full))
    mujoco.mj_getState(model, alone, fresh, full)
    moving = 1 + model.nq + model.nv
    fresh[:moving] = before[:moving]
    mujoco.mj_setState(model, alone, fresh, full)
    alone.ctrl[:] = 2
    mujoco.mj_step(model, alone, task.frame_skip)
    env.step(pushed)
    assert env.states[0, 1 : 1 + model.nq] == pytest.approx(alone.qpos, abs=1e-9)


def test_static_geoms_touch_no_floor() -> None:
    table = '<body pos="1 0 .1"><geom name="table" type="box" size=".1 .1 .1"/></body>'
    model, task = robot(world=f'<geom name="floor" type="plane" size="1 1 1"/>{table}')
    kinematics = Kinematics(load_model(task))
    assert not kinematics.touchable(kinematics.geoms["table"]) and model.sensed == 2


def test_the_height_of_a_plane_in_a_body_is_its_surface() -> None:
    model, task = robot(world='<body pos="0 0 .1"><geom name="ground" type="plane" size="5 5 .1"/></body>')
    kinematics = Kinematics(load_model(task))
    height = Poses(kinematics, np.array([model.start])).height(kinematics.geoms["ground"])
    assert kinematics.floor_height == pytest.approx(0.1) and height == pytest.approx(0)


def test_a_ball_beside_the_robot_affects_neither_its_height_nor_whether_it_is_airborne() -> None:
    ball = '<body name="ball" pos="1 0 .1"><freejoint/><geom name="ball" size=".1"/></body>'
    model, task = robot(world=ball)
    compiled = load_model(task)
    positions = np.array([model.start] * 2)
    box = int(compiled.joint(compiled.body("box").jntadr[0]).qposadr[0])
    positions[:, box + 2] = [1, 0.02]  # in the air, and deep in the floor
    states = StepStates(positions, positions, np.zeros((2, compiled.nv)), np.zeros((2, 1)), np.zeros(2), 0.02)
    signals = StepSignals(SignalSource(Kinematics(compiled)), states)
    assert signals["contact[ball]"].tolist() == [1, 1] and signals["airborne"].tolist() == [1, 0]
    assert Kinematics(compiled).lowest(positions) == pytest.approx([0.9, -0.08])


def test_sensors_and_lights_are_left_out_and_the_heavy_integrator_replaced(batch: MakeBatch) -> None:
    first = '<option integrator="RK4"/>'
    _, task = robot(first=first, last='<sensor><jointpos joint="elbow"/></sensor>', world='<light pos="0 0 3"/>')
    env = batch(task, 3)
    env.step(np.zeros((3, 1), np.float32))
    assert env.model.nsensor == 0 and env.model.nlight == 1
    assert env.model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST


def test_an_unstable_model_gets_a_shorter_timestep(batch: MakeBatch) -> None:
    model, task = robot(first='<option timestep=".02"/>', joint='stiffness="800"')
    assert model.timestep < 0.02 and task.step_seconds == pytest.approx(0.025, abs=0.01)
    assert batch(task, 2).model.opt.timestep == model.timestep


def test_a_body_without_a_visible_geom_is_shown() -> None:
    hidden = '<default><geom group="3"/></default>'
    model = load_model(robot(first=hidden)[1])
    assert (model.geom_group[model.geom_bodyid > 0] == 0).all()


def sphere(rings: int) -> str:
    """Return a rough ball of 2 * rings ** 2 triangles as an .obj file, with a surrounding hull of 8 corners."""
    angles = np.linspace(0, 2 * np.pi, rings, endpoint=False)
    tilts = np.linspace(-1.5, 1.5, rings + 1)
    points = [(np.cos(t) * np.cos(a), np.cos(t) * np.sin(a), np.sin(t)) for t in tilts for a in angles]
    faces = []
    for i in range(rings):
        for j in range(rings):
            a, b = i * rings + j + 1, i * rings + (j + 1) % rings + 1
            faces += [(a, b, a + rings), (b, b + rings, a + rings)]
    corners = [(x, y, z) for x in (-1.1, 1.1) for y in (-1.1, 1.1) for z in (-1.1, 1.1)]
    count = len(points)
    faces += [(count + 1 + i, count + 1 + j, count + 1 + k) for i, j, k in ((0, 1, 3), (4, 5, 7), (2, 6, 7))]
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in (*points, *corners))
    return text + "".join(f"f {a} {b} {c}\n" for a, b, c in faces)


def bumpy_ball(rings: int) -> str:
    """Return a closed ball with bumps, of 2 * rings * (rings - 1) triangles, as an .obj file."""
    tilts, turns = np.linspace(0, np.pi, rings + 1)[1:-1, None], np.linspace(0, 2 * np.pi, rings, endpoint=False)
    radii = 0.1 + 0.02 * np.sin(5 * tilts) * np.cos(3 * turns)
    places = radii * np.sin(tilts) * np.cos(turns), radii * np.sin(tilts) * np.sin(turns), radii * np.cos(tilts)
    points = [*np.stack(places, axis=-1).reshape(-1, 3).tolist(), (0, 0, 0.1), (0, 0, -0.1)]
    last = (rings - 2) * rings
    faces = []
    for j in range(rings):
        after = (j + 1) % rings
        faces += [(last + rings, j, after), (last + rings + 1, last + after, last + j)]
        for i in range(0, last, rings):
            faces += [(i + j, i + rings + j, i + rings + after), (i + j, i + rings + after, i + after)]
    lines = [f"v {x} {y} {z}" for x, y, z in points] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    return "\n".join(lines)


def test_a_mesh_of_many_triangles_is_simplified_and_keeps_its_convex_hull() -> None:
    Path("ball.obj").write_text(sphere(90))
    asset = '<asset><mesh name="ball" file="ball.obj" scale=".1 .1 .2" inertia="shell"/></asset>'
    model, _ = robot(first=asset, root='<freejoint/><geom name="ball" type="mesh" mesh="ball"/>')
    simple = compile_mjcf(*unpack(model.content()))
    whole = compile_mjcf(*read_mjcf(Path("box.xml")))
    assert whole.nmeshface > 16_000 and 200 < simple.nmeshface <= 2000
    assert len(model.content()) < 40_000
    saved = mujoco.MjSpec.from_file("box.xml")
    saved.compile()
    Path("saved.xml").write_text(saved.to_xml())  # names the type of the mesh's file
    assert compile_mjcf(*unpack(imported(Path("saved.xml"))[0].content())).nmeshface == simple.nmeshface
    rows = np.random.default_rng(0).normal(size=(20, 8))
    one, other = Kinematics(simple), Kinematics(whole)
    assert one.lowest(rows) == pytest.approx(other.lowest(rows), abs=1e-4)


EXACT = {
    "a default": '<default><mesh inertia="exact"/></default><asset><mesh name="ball" file="ball.obj"/></asset>',
    "one of two uses": '<asset><mesh name="ball" file="ball.obj" inertia="exact"/><mesh name="same" file="ball.obj"/></asset>',
}


@pytest.mark.slow_after_first
@pytest.mark.parametrize("first", EXACT.values(), ids=EXACT)
def test_a_mesh_whose_exact_inertia_needs_all_its_triangles_keeps_them(first: str) -> None:
    Path("ball.obj").write_text(bumpy_ball(40))
    _, task = robot(first=first, root='<freejoint/><geom name="ball" type="mesh" mesh="ball"/>')
    assert load_model(task).mesh_facenum[0] == 3120


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("name", "numbers", "floor", "fixed"),
    [("ant", (8, 8, 13), True, False), ("humanoid", (17, 17, 17), True, False), ("pusher", (7, 11, 20), False, True)],
)
def test_gymnasiums_models_step_and_are_visible(
    name: str, numbers: tuple[int, int, int], floor: bool, fixed: bool, batch: MakeBatch
) -> None:
    model, task = imported(ASSETS / f"{name}.xml")
    assert (len(model.actions), len(model.joints), len(model.geoms)) == numbers
    assert (model.on_floor, model.fixed) == (floor, fixed) and 20 <= 1 / task.step_seconds <= 60
    env = batch(task, 8)
    before = env.states[0]
    for number in range(10):
        step = env.step(np.random.default_rng(number).uniform(-1, 1, (8, env.sizes[1])).astype(np.float32))
    assert env.divergences == 0 and np.isfinite(step.observations).all() and step.observations.std() > 0.01
    with closing(MujocoRenderer(task)) as renderer:
        frames = renderer.render(np.stack([before, env.states[0]]), 96, 1 / task.step_seconds).pixels
        changed = np.abs(frames[0].astype(int) - frames[1]).max(axis=-1) > 30
        assert 0.002 < changed.mean() < 0.7  # the robot moves in the picture, whether or not the camera follows it


LEVEL = '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint axis="0 0 1"/>'


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("root", "joint", "above"),
    [
        (LEVEL, 'axis="0 0 1"', True),
        ("", 'axis="0 0 1"', True),
        (LEVEL, "", False),
        ('<joint type="slide" axis="1 0 0"/>', "", False),
        ("<freejoint/>", 'axis="0 0 1"', False),
        ("", 'axis="0 .3 1"', False),
    ],
)
def test_a_robot_moving_in_a_horizontal_plane_is_seen_from_above(root: str, joint: str, above: bool) -> None:
    xml = BOX.replace('axis="0 1 0" ', "") if 'axis="' in joint else BOX
    Path("box.xml").write_text(xml.format(**{**PARTS, "actuator": MOTOR, "root": root, "joint": joint}))
    model, task = imported(Path("box.xml"))
    assert model.level == above and (task.camera.elevation > 60) == above
    assert robot_model({**model.to_dict(), "level": False}) == replace(model, level=False)
    assert not robot_model({name: value for name, value in model.to_dict().items() if name != "level"}).level


FRONTAL = '<joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/><joint axis="1 0 0"/>'


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("root", "axis", "azimuth"),
    [
        (FRONTAL, "1 0 0", 180),
        ("", "1 0 0", 180),
        (FRONTAL, "0 1 0", 72),
        ('<joint type="slide" axis="0 0 1"/>', "0 1 0", 90),
        ("<freejoint/>", "1 0 0", 72),
    ],
)
def test_a_robot_moving_across_x_is_seen_along_x(root: str, axis: str, azimuth: float) -> None:
    Path("box.xml").write_text(BOX.replace("0 1 0", axis).format(**{**PARTS, "actuator": MOTOR, "root": root}))
    model, task = imported(Path("box.xml"))
    assert model.frontal == (azimuth == 180) and task.camera.azimuth == azimuth
    assert not robot_model({name: value for name, value in model.to_dict().items() if name != "frontal"}).frontal


def test_a_quarter_turn_of_a_reacher_points_up_in_the_picture(batch: MakeBatch) -> None:
    _, task = imported(ASSETS / "reacher.xml")
    across = np.array(batch(task, 1).states[0])
    up = across.copy()
    up[1] += np.pi / 2  # the positions follow the time
    with closing(MujocoRenderer(task)) as renderer:
        frames = renderer.render(np.stack([across, up]), 96, 1 / task.step_seconds).pixels.astype(int)
    blue = frames[..., 2] - frames[..., 0] > 60
    wide, tall = blue.any(axis=1).sum(axis=1), blue.any(axis=2).sum(axis=1)
    assert wide[0] > 3 * tall[0] and tall[-1] > 3 * wide[-1]
