"""Signals and poses compared with MuJoCo's own kinematics and distances."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from core.robots.kinematics import SENSED, Kinematics, Poses
from core.robots.models import load_model
from core.robots.signals import SignalSource, StepSignals, StepStates, signal_names
from core.tasks.robots import ROBOTS
from core.types import Float64
from tests.core.robot_toys import MakeBatch

SHAPES = """
<mujoco>
  <asset><mesh name="wedge" vertex="0 0 0  .3 0 0  0 .2 0  0 0 .4  .1 .1 .1"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 1" pos="0 0 -.5"/>
    <body pos="0 0 1" quat=".9 .1 .3 .2">
      <joint name="lift" type="slide" axis=".6 0 .8" ref=".2"/>
      <joint name="off" type="hinge" axis="1 2 2" pos=".1 .2 -.3"/>
      <geom name="box" type="box" size=".1 .2 .3" quat="1 .2 .3 .4"/>
      <geom name="ellipsoid" type="ellipsoid" size=".1 .2 .3" pos=".4 0 0" quat="1 .2 .3 .4"/>
      <body pos=".1 .2 .3"><joint type="ball" pos="0 .1 .1"/>
        <geom name="cylinder" type="cylinder" size=".1 .3" quat="1 .3 .2 .1"/><geom type="sphere" size=".1" pos="0 0 .5"/>
        <body name="tip" pos="0 .5 0"><joint axis="0 1 0" pos="0 0 .2"/><geom type="mesh" mesh="wedge"/></body>
      </body>
    </body>
    <body name="free"><freejoint/><geom type="capsule" size=".1 .3"/></body>
  </worldbody>
</mujoco>
"""


def model_of(name: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(SHAPES) if name == "shapes" else load_model(ROBOTS[name])


@pytest.mark.parametrize("name", ["shapes", *ROBOTS])
def test_poses_and_heights_match_mujoco(name: str) -> None:
    model = model_of(name)
    kinematics, data = Kinematics(model), mujoco.MjData(model)
    positions = np.random.default_rng(0).normal(size=(4, model.nq)) * 0.7
    for row in positions:
        mujoco.mj_normalizeQuat(model, row)
    poses = Poses(kinematics, positions)
    for number, row in enumerate(positions):
        data.qpos[:] = row
        mujoco.mj_kinematics(model, data)
        for body in range(model.nbody):
            for k in range(3):
                place, turned = poses.body(body, k)
                assert place[number] == pytest.approx(data.xpos[body, k], abs=1e-12)
                assert turned[number] == pytest.approx(data.xmat[body].reshape(3, 3)[k], abs=1e-12)
        for geom in kinematics.geoms.values():
            expected = mujoco.mj_geomDistance(model, data, geom, kinematics.floor, 100.0, None)
            assert poses.height(geom)[number] == pytest.approx(expected, abs=1e-6)
    beside = model.geom_bodyid == mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, "free")  # not part of the robot
    robot = [poses.height(geom) for geom in kinematics.geoms.values() if not beside[geom]]
    assert kinematics.lowest(positions) == pytest.approx(np.min(robot, 0))


@pytest.mark.parametrize("name", ROBOTS)
def test_the_catalogue_has_the_names_and_sizes_of_the_models(name: str, batch: MakeBatch) -> None:
    robot, env = ROBOTS[name], batch(ROBOTS[name], 2)
    assert signal_names(env.model) == robot.names and env.sizes[:2] == robot.sizes
    source = SignalSource(Kinematics(env.model))
    assert set(robot.names.all()) == set(source.signals)
    positions, velocities = env.states[:, 1 : 1 + env.model.nq], np.zeros((2, env.model.nv))
    states = StepStates(positions, positions, velocities, np.zeros((2, 99), np.float32), np.zeros(2), 0.1)
    for signal in robot.names.all():
        assert StepSignals(source, states)[signal].shape == (2,)


def step_of(name: str, positions: list[float], velocities: list[float] | None = None, dt: float = 0.0) -> StepSignals:
    """Return the signals of a robot that moved from these positions at these velocities for `dt` seconds."""
    model = load_model(ROBOTS[name])
    before, after, speeds = np.array(positions, np.float64), np.array(positions, np.float64), np.zeros(model.nv)
    speeds[: len(velocities or [])] = velocities or []
    mujoco.mj_integratePos(model, after, speeds, dt)
    states = StepStates(
        before[None], after[None], speeds[None], np.zeros((1, model.nu), np.float32), np.ones(1), dt or 1
    )
    return StepSignals(SignalSource(Kinematics(model)), states)


@pytest.mark.parametrize("name", ["shapes", "hopper", "ant"])
def test_the_speed_of_the_centre_of_mass_matches_mujoco(name: str) -> None:
    model = model_of(name)
    kinematics, data, rng = Kinematics(model), mujoco.MjData(model), np.random.default_rng(1)
    positions, velocities = rng.normal(size=(5, model.nq)), 3 * rng.normal(size=(5, model.nv))
    for row in positions:
        mujoco.mj_normalizeQuat(model, row)
    states = StepStates(positions, positions, velocities, np.zeros((5, model.nu), np.float32), np.zeros(5), 0.1)
    speeds = StepSignals(SignalSource(kinematics), states)["mass_speed"]
    for number in range(5):
        data.qpos[:], data.qvel[:] = positions[number], velocities[number]
        mujoco.mj_forward(model, data)
        mujoco.mj_subtreeVel(model, data)
        assert speeds[number] == pytest.approx(data.subtree_linvel[kinematics.root, 0], abs=1e-7)


def test_a_pair_of_the_model_has_its_own_margin() -> None:
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><geom name="floor" type="plane" size="9 9 1" contype="0" conaffinity="0"/>
        <body pos="0 0 0.13"><freejoint/><geom name="ball" size="0.1" contype="0" conaffinity="0"/></body></worldbody>
        <contact><pair geom1="floor" geom2="ball" margin="0.05"/></contact></mujoco>"""
    )
    for height, touches in ((0.13, 1), (0.16, 0)):
        positions = np.array([[0, 0, height, 1, 0, 0, 0]], np.float64)
        nothing = np.zeros((1, 0), np.float32)
        states = StepStates(positions, positions, np.zeros((1, model.nv)), nothing, np.zeros(1), 0.1)
        step = StepSignals(SignalSource(Kinematics(model)), states)
        assert (step["contact[ball]"][0], step["airborne"][0]) == (touches, 1 - touches)


def test_planar_angles_are_unwrapped() -> None:
    hopper = step_of("hopper", [5, 1.1, 7.0, 0.1, 0.2, 0.3], [0, 0, -2.0, 0.4])
    assert [
        hopper[name][0] for name in ("x", "height", "pitch", "pitch_rate", "roll", "yaw", "yaw_rate")
    ] == pytest.approx([5, 1.1, 7.0, -2.0, 0, 0, 0])
    assert hopper["up"][0] == pytest.approx(np.cos(7.0))
    assert (hopper["joint[thigh_joint]"], hopper["joint_rate[thigh_joint]"]) == (0.1, 0.4)
    assert step_of("swimmer", [0, 0, -4.0, 0, 0], [0, 0, 1.5])["yaw"][0] == -4.0
    assert step_of("half-cheetah", [0] * 9)["height"][0] == 0.7  # the position of the body, not of its joint


PLANAR = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 1" euler="{euler}">
  <joint axis="{axis}" ref="20"/><geom size=".1"/></body></worldbody></mujoco>"""


def turning(angles: Float64) -> StepStates:
    """Return states of robots with one hinge, at these positions (N,) in rad and at 1.5 rad/s."""
    count = len(angles)
    places, speeds, actions = angles[:, None], np.full((count, 1), 1.5), np.zeros((count, 0), np.float32)
    return StepStates(places, places, speeds, actions, np.zeros(count), 0.1)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", ["roll", "pitch", "yaw"])
@pytest.mark.parametrize("euler", ["0 0 0", "0 0 180", "0 180 0", "180 0 0", "own"])
@pytest.mark.parametrize("way", ["1", "-1"])
def test_planar_angles_are_unwrapped_in_any_direction_of_the_model(name: str, euler: str, way: str) -> None:
    k = ("roll", "pitch", "yaw").index(name)
    tilted = " ".join("70" if i == k else "0" for i in range(3))
    axis = ("1 0 0", "0 1 0", "0 0 1")[k].replace("1", way)
    model = mujoco.MjModel.from_xml_string(PLANAR.format(euler=tilted if euler == "own" else euler, axis=axis))
    kinematics, count = Kinematics(model), 40
    positions = np.linspace(-7, 7, count)
    source = SignalSource(kinematics)
    step, data = StepSignals(source, turning(positions)), mujoco.MjData(model)
    assert not source.wrapped and np.abs(np.diff(step[name])) == pytest.approx(np.diff(positions))
    own, world = np.zeros((2, 6))
    for number in range(count):
        data.qpos[:], data.qvel[:] = positions[number], 1.5
        mujoco.mj_forward(model, data)
        turned = data.xmat[kinematics.root].reshape(3, 3)
        sine, cosine = ((turned[2, 1], turned[2, 2]), (-turned[2, 0], turned[2, 2]), (turned[1, 0], turned[0, 0]))[k]
        angle = step[name][number]
        assert (np.sin(angle), np.cos(angle)) == pytest.approx((sine, cosine))
        for rates, of_body in ((own, 1), (world, 0)):
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, kinematics.root, rates, of_body)
        rates = [step[f"{angle}_rate"][number] for angle in ("roll", "pitch", "yaw")]
        assert rates == pytest.approx([own[0], own[1], world[2]], abs=1e-9)
    assert all(np.ptp(step[other]) == 0 for other in {"roll", "pitch", "yaw"} - {name})


@pytest.mark.parametrize(("name", "axis"), [("roll", "1 0 0"), ("pitch", "0 -1 0")])
@pytest.mark.parametrize("heading", [30, 90, -135])
def test_a_planar_robot_that_faces_another_way_has_unwrapped_angles_too(name: str, axis: str, heading: int) -> None:
    model = mujoco.MjModel.from_xml_string(PLANAR.format(euler=f"0 0 {heading}", axis=axis))
    positions = np.linspace(13, 27, 40)
    step = StepSignals(SignalSource(Kinematics(model)), turning(positions))
    sign = -1 if "-" in axis else 1
    assert step[name] == pytest.approx(sign * (positions - np.radians(20)))
    assert step[f"{name}_rate"] == pytest.approx(sign * 1.5)
    other = "pitch" if name == "roll" else "roll"
    assert not step[other].any() and step["yaw"] == pytest.approx(np.radians(heading)) and not step["yaw_rate"].any()


def test_a_tilted_body_that_turns_about_the_vertical_has_an_unwrapped_yaw() -> None:
    vertical = f"0.5 0 {np.sqrt(0.75)}"
    model = mujoco.MjModel.from_xml_string(PLANAR.format(euler="0 -30 0", axis=vertical))
    positions = np.linspace(13, 27, 40)
    step = StepSignals(SignalSource(Kinematics(model)), turning(positions))
    assert step["yaw"] == pytest.approx(positions - np.radians(20))
    assert step["pitch"] == pytest.approx(np.radians(-30))


def test_a_body_that_only_slides_has_the_angles_of_its_model() -> None:
    text = PLANAR.format(euler="0 30 0", axis="1 0 0").replace("<joint", '<joint type="slide"')
    states = StepStates(*[np.zeros((1, 1))] * 3, np.zeros((1, 0), np.float32), np.zeros(1), 0.1)
    step = StepSignals(SignalSource(Kinematics(mujoco.MjModel.from_xml_string(text))), states)
    assert (step["roll"][0], step["pitch"][0], step["yaw"][0]) == pytest.approx((0, np.pi / 6, 0))
    assert step["up"][0] == pytest.approx(np.cos(np.pi / 6)) and step["pitch_rate"][0] == 0


ANT_LEGS = [0.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0]


@pytest.mark.parametrize(("axis", "name"), [(0, "roll"), (1, "pitch"), (2, "yaw")])
@pytest.mark.parametrize("angle", [-3.0, -1.0, 0.5, 2.5])
def test_a_free_body_turns_all_the_way_round(axis: int, name: str, angle: float) -> None:
    quaternion = np.zeros(4)
    mujoco.mju_axisAngle2Quat(quaternion, np.eye(3)[axis], angle)
    place, spin = [0.3, 0.4, 2.0], np.zeros(6)
    spin[:3], spin[3 + axis] = (1.0, 2.0, 3.0), 1.2
    step = step_of("ant", [*place, *quaternion, *ANT_LEGS], spin.tolist(), 0.05)
    assert step[name][0] == pytest.approx(angle + 0.06) and step[f"{name}_rate"][0] == pytest.approx(1.2)
    others = {"roll", "pitch", "yaw"} - {name}
    assert all(step[f"{other}_rate"][0] == pytest.approx(0, abs=1e-12) for other in others)
    speeds = [step[f"{way}_speed"][0] for way in ("forward", "side", "vertical")]
    assert speeds == pytest.approx([1, 2, 3])
    assert [step[place][0] for place in ("x", "y", "height")] == pytest.approx([0.35, 0.5, 2.15])
    assert step["up"][0] == pytest.approx(1 if name == "yaw" else np.cos(angle + 0.06))


CARRIED = """
<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 1">
  <joint type="ball"/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>
  <body euler="0 40 30"><joint type="slide" axis="1 0 0"/><geom size=".1"/></body>
</body></worldbody></mujoco>
"""


def test_a_body_that_a_ball_joint_carries_has_rates_about_its_own_axes() -> None:
    model = mujoco.MjModel.from_xml_string(CARRIED)
    kinematics, data, moment = Kinematics(model), mujoco.MjData(model), 1e-4
    before, velocities = np.array(model.qpos0), np.array([0.5, -1.0, 0.7, 0.2])
    after = before.copy()
    mujoco.mj_integratePos(model, after, velocities, moment)
    nothing = np.zeros((1, 0), np.float32)
    states = StepStates(before[None], after[None], velocities[None], nothing, np.zeros(1), moment)
    step = StepSignals(SignalSource(kinematics), states)
    data.qpos[:], data.qvel[:] = after, velocities
    mujoco.mj_forward(model, data)
    own, world = np.zeros((2, 6))
    for rates, of_body in ((own, 1), (world, 0)):
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, kinematics.root, rates, of_body)
    rates = [step[f"{name}_rate"][0] for name in ("roll", "pitch", "yaw")]
    assert rates == pytest.approx([own[0], own[1], world[2]], abs=1e-3)


def test_forward_pitch_moves_the_head_towards_x() -> None:
    tilted = step_of("ant", [0, 0, 2, np.cos(0.2), 0, np.sin(0.2), 0, *ANT_LEGS])
    assert tilted["pitch"][0] == pytest.approx(0.4) and tilted.poses.body(1, 0)[1][0, 2] > 0


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", ["hopper", "walker", "half-cheetah", "ant"])
def test_contacts_match_mujoco(name: str) -> None:
    """Robots fall and kick: all geoms with a force on the floor are in contact, and others only if near it."""
    model = load_model(ROBOTS[name])
    kinematics, data = Kinematics(model), mujoco.MjData(model)
    source, rng, force = SignalSource(kinematics), np.random.default_rng(0), np.zeros(6)
    numbers, seen = {geom: name for name, geom in kinematics.geoms.items()}, {0.0, 1.0}
    for _ in range(150):
        data.ctrl[:] = rng.uniform(-1, 1, model.nu)
        mujoco.mj_step(model, data, 4)
        mujoco.mj_forward(model, data)
        touching = set()
        for number, contact in enumerate(data.contact[: data.ncon]):
            mujoco.mj_contactForce(model, data, number, force)
            if kinematics.floor in contact.geom and force[0] > 0:
                touching.add(numbers[max(contact.geom)])
        now = data.qpos[None].copy()
        states = StepStates(now, now, data.qvel[None], np.zeros((1, model.nu), np.float32), np.ones(1), 1.0)
        step = StepSignals(source, states)
        found = {geom for geom in kinematics.geoms if step[f"contact[{geom}]"][0]}
        assert touching <= found
        assert all(step[f"height[{geom}]"][0] < 0.026 for geom in found)
        assert step["airborne"][0] == (not found)
        seen.discard(float(step["airborne"][0]))
    assert not seen  # the robot was both on the floor and in the air


def test_robots_on_a_floor_observe_their_distance_to_it(batch: MakeBatch) -> None:
    robot = ROBOTS["walker"]
    env = batch(robot, 3)
    for _ in range(30):
        step = env.step(np.random.default_rng(0).uniform(-1, 1, (3, 6)).astype(np.float32))
    positions = env.states[:, 1 : 1 + env.model.nq]
    kinematics = Kinematics(env.model)
    poses = Poses(kinematics, positions)
    expected = np.clip(np.stack([poses.height(g) for g in kinematics.geoms.values()], axis=1) / SENSED, -1, 1)
    assert step.observations[:, -7:] == pytest.approx(expected, abs=1e-6)
    assert step.observations[:, 1:3] == pytest.approx(
        np.stack([np.sin(positions[:, 2]), np.cos(positions[:, 2])], 1), abs=1e-6
    )
