"""Imported robots that are held, tied, or among tables and loose objects: starts and observations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from core.envs.mujoco import MujocoVectorEnv
from core.errors import UserError
from core.portable.observation import observation_numbers
from core.robots.floor import floor_of
from core.robots.kinematics import Kinematics
from core.robots.models import load_model
from core.robots.signals import SignalSource, StepSignals, StepStates, constant_signals
from core.robots.structure import extent
from core.tasks.behaviour_tasks import unseen_by_predictors
from tests.core.robot_toys import MakeBatch, trial
from tests.core.surroundings_toys import ARM, FLOOR, MOTOR, imported, walker


def forwarded(env: MujocoVectorEnv) -> Iterator[mujoco.MjData]:
    """Yield poses and contacts of each robot in its current state, in one object that is reused."""
    data = mujoco.MjData(env.model)
    for state in env.states:
        mujoco.mj_setState(env.model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        mujoco.mj_forward(env.model, data)
        yield data


def deepest_contact(env: MujocoVectorEnv) -> float:
    """Return the smallest distance in m of any contact of any robot; 0 without penetration."""
    return min(float(data.contact.dist.min(initial=0.0)) for data in forwarded(env))


HELD = {
    "a slide with limits": '<joint type="slide" axis="0 0 1" range="-.2 .3"/><joint axis="0 1 0"/>',
    "no level hinge": '<joint type="slide" axis="0 0 1"/><joint axis="0 0 1"/>',
    "a hinge with limits": '<joint type="slide" axis="0 0 1"/><joint axis="0 1 0" range="-20 20"/>',
    "a motor": '<joint name="lift" type="slide" axis="0 0 1"/><joint axis="0 1 0"/>',
}


@pytest.mark.slow_after_first
@pytest.mark.parametrize("joints", HELD.values(), ids=HELD)
def test_a_held_robot_starts_only_as_in_its_file(joints: str) -> None:
    motor = '<position joint="lift" kp="500" ctrlrange="-.2 .2"/>' if "lift" in joints else ""
    model, _ = imported(FLOOR + walker(joints), last=MOTOR.replace("</", motor + "</"))
    assert not model.on_floor


TIES = {
    "to the ceiling": '<equality><connect body1="trunk" anchor="0 0 .3"/></equality>',
    "to a trailer": '<equality><weld body1="trunk" body2="trailer"/></equality>',
    "by a rope": '<tendon><spatial range="0 2"><site site="hook"/><site site="ring"/></spatial></tendon>',
}


@pytest.mark.slow_after_first
@pytest.mark.parametrize("tie", TIES.values(), ids=TIES)
def test_a_robot_that_is_tied_is_neither_lifted_nor_thrown(tie: str) -> None:
    trailer = '<body name="trailer" pos="-.6 0 -.5"><freejoint/><geom size=".1"/><site name="ring"/></body>'
    trunk = walker("<freejoint/><site name='hook'/>", -0.6)
    model, _ = imported(trunk + trailer, last=MOTOR + tie)
    assert not model.on_floor and model.start[2] == -0.6 and model.drawn_floor == pytest.approx((-0.83,), abs=0.01)


NO_TIES = {
    "a weld for later": '<equality><weld body1="trunk" active="false"/></equality>',
    "a slack line": '<tendon><spatial><site site="hook"/><site site="ring"/></spatial></tendon>',
}


@pytest.mark.parametrize("tie", NO_TIES.values(), ids=NO_TIES)
def test_a_constraint_without_force_ties_no_robot(tie: str) -> None:
    model, _ = imported("<site name='ring'/>" + FLOOR + walker("<freejoint/><site name='hook'/>"), last=MOTOR + tie)
    assert model.on_floor


def test_a_saved_robot_that_counts_as_held_now_still_starts(batch: MakeBatch) -> None:
    model, _ = imported(FLOOR + walker(HELD["a slide with limits"]))
    kept = replace(model, on_floor=True)
    task = trial(kept)
    env = batch(task, 8, varied_starts=0.5)
    assert not env.varies_starts and env.step(np.zeros((8, 1), np.float32)).observations.shape == (8, task.sizes[0])
    with pytest.raises(UserError, match="can't be lifted: set start to standing or random"):
        batch(replace(task, start="lying"), 2)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("start", ["standing", "lying", "tilted", "air", "random"])
def test_parts_without_collisions_do_not_start_below_the_floor(start: str, batch: MakeBatch) -> None:
    colliding = walker().replace("</body></body>", '<geom name="foot" pos="0 0 -.2" size=".03"/></body></body>')
    drawn = 'contype="0" conaffinity="0" type'
    only_foot = colliding.replace('"trunk" type', f'"trunk" {drawn}').replace('"leg" type', f'"leg" {drawn}')
    _, task = imported(FLOOR + only_foot)
    env = batch(replace(task, start=start), 100, varied_starts=0.5)
    parts = np.array([env.model.geom(name).id for name in ("trunk", "leg", "foot")])
    for data in forwarded(env):
        assert extent(env.model, data, parts)[0, 2] > -0.02  # the box around a capsule is larger than the capsule


@pytest.mark.slow_after_first
@pytest.mark.parametrize("joint", ["", "<freejoint/>"], ids=["fixed", "loose"])
@pytest.mark.parametrize("start", ["lying", "air", "random"])
def test_robots_start_above_a_table_not_inside_it(start: str, joint: str, batch: MakeBatch) -> None:
    table = f'<body pos="0 0 .15">{joint}<geom name="table" type="box" size="3 3 .15"/></body>'
    model, task = imported(FLOOR + walker(height=0.6) + table)
    env = batch(replace(task, start=start), 60)
    upright = env.states[:, 1 + 3] > 1 - 1e-3
    assert upright.mean() < 0.2  # they are placed as requested
    assert model.on_floor and deepest_contact(env) > -0.02


@pytest.mark.slow_after_first
@pytest.mark.parametrize("kind", ["box", "cylinder"])
def test_robots_start_on_the_high_table_that_they_stand_on(kind: str, batch: MakeBatch) -> None:
    size = "4 4 .4" if kind == "box" else "4 .4"
    table = f'<geom name="table" type="{kind}" size="{size}" pos="0 0 1.2"/>'
    _, task = imported(FLOOR + table + walker(height=1.9))
    for start in ("lying", "tilted", "air"):
        env = batch(replace(task, start=start), 40)
        assert env.states[:, 1 + 2].min() > 1.6  # above the top of the table
    env = batch(task, 40, varied_starts=0.5)
    assert env.states[:, 1 + 2].min() > 1.6


GROUNDS = {
    "a box": ('<geom type="box" size="6 6 .5" pos="0 0 -.5"/>', ""),
    "a low box": ('<geom type="box" size="6 6 .5" pos="0 0 -2.5"/>', ""),
    "a height field": (
        '<geom type="hfield" hfield="hills"/>',
        '<asset><hfield name="hills" nrow="2" ncol="2" size="6 6 .1 .1" elevation="0 0 0 0"/></asset>',
    ),
}


@pytest.mark.slow_after_first
@pytest.mark.parametrize("ground", GROUNDS)
def test_a_visual_plane_is_no_floor_beside_a_solid_one(ground: str, batch: MakeBatch) -> None:
    drawn = '<geom name="sea" type="plane" size="5 5 .1" contype="0" conaffinity="0"/>'
    solid, asset = GROUNDS[ground]
    height = -2.0 + 0.3 if "low" in ground else 0.3
    model, task = imported(drawn + solid + walker(height=height), asset)
    env = batch(replace(task, start="lying"), 20)
    for _ in range(40):
        env.step(np.zeros((20, 1), np.float32))
    kinematics = Kinematics(env.model)
    assert model.on_floor and np.abs(kinematics.lowest(env.states[:, 1 : 1 + env.model.nq])).max() < 0.02


def test_a_robot_does_not_fall_through_a_visual_plane(batch: MakeBatch) -> None:
    drawn = '<geom name="sea" type="plane" size="5 5 .1" pos="0 0 -1" contype="0" conaffinity="0"/>'
    model, task = imported(drawn + walker(height=-0.7))
    env = batch(replace(task, start="lying"), 20)
    for _ in range(40):
        env.step(np.zeros((20, 1), np.float32))
    kinematics = Kinematics(env.model)
    assert model.on_floor and kinematics.floor_height == -1
    assert np.abs(kinematics.lowest(env.states[:, 1 : 1 + env.model.nq])).max() < 0.02


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("first", "world"),
    [
        ('<option gravity="0 0 0"/>', walker()),
        ('<option><flag gravity="disable"/></option>', walker()),
        ("", walker().replace('<body name="trunk"', '<body name="trunk" gravcomp="1"')),
        ("", '<geom type="ellipsoid" size="3 3 .5" pos="0 0 -1"/>' + walker()),
        ("", '<geom type="plane" size="5 5 .1" zaxis=".2 0 1"/>' + walker()),
        ("", walker('<joint type="slide" axis="0 0 1" stiffness="90"/><joint type="hinge" axis="0 1 0"/>')),
    ],
)
def test_a_robot_that_does_not_fall_endlessly_keeps_its_visual_plane(first: str, world: str) -> None:
    drawn = '<geom name="sea" type="plane" size="5 5 .1" contype="0" conaffinity="0"/>'
    _, task = imported(drawn + world, first)
    model = load_model(task)
    assert model.geom(floor_of(model)[0]).name == "sea" and not model.geom("sea").contype[0]


@pytest.mark.parametrize("flag", ["contact", "constraint"])
def test_nothing_touches_the_floor_if_the_file_disables_contacts(flag: str) -> None:
    model, task = imported(FLOOR + walker(), f'<option gravity="0 0 0"><flag {flag}="disable"/></option>')
    same = constant_signals(load_model(task))
    assert model.sensed == 0 and {"contact[trunk]", "contact[leg]", "airborne"} <= {*same}


def test_a_robot_that_would_fall_through_its_floor_is_refused() -> None:
    """As in files whose contacts are defined by the scene that includes them."""
    ghost = '<default><geom contype="0" conaffinity="0"/></default>'
    with pytest.raises(
        UserError, match="none of its geoms can touch a floor, so it would fall for ever: give them contype"
    ):
        imported(walker(), ghost)
    imported(walker("<freejoint/>"), ghost + '<option gravity="0 0 0"/>')


def test_a_part_on_a_ball_joint_stays_above_the_visual_floor(batch: MakeBatch) -> None:
    rod = (
        '<body name="rod" pos="0 0 .5"><joint name="ball" type="ball" damping=".1"/>'
        '<geom name="rod" type="capsule" fromto="0 0 0 0 0 .3" size=".02"/>'
        '<body pos="0 0 .3"><geom name="tip" type="capsule" fromto="0 0 0 .6 0 0" size=".02"/></body></body>'
    )
    motor = '<actuator><motor joint="ball" gear="1 0 0 0 0 0" ctrlrange="-1 1"/></actuator>'
    model, task = imported(rod, last=motor)
    env = batch(replace(task, start="random"), 300)
    lowest = Kinematics(env.model).lowest(env.states[:, 1 : 1 + env.model.nq])
    assert model.drawn_floor[0] < 0 and lowest.min() > 0


def test_a_body_names_its_colliding_geom_rather_than_a_visual_one() -> None:
    seen = '<geom type="box" size=".2 .1 .06" contype="0" conaffinity="0" group="2"/>'
    trunk = walker().replace('<geom name="trunk"', seen + "<geom")
    model, task = imported(FLOOR + trunk)
    assert {"trunk", "trunk_2"} < set(model.geoms)
    assert "contact[trunk_2]" in constant_signals(load_model(task))
    assert "contact[trunk]" not in constant_signals(load_model(task))


def test_random_starts_do_not_move_loose_objects_and_coupled_joints(batch: MakeBatch) -> None:
    crate = '<body name="crate" pos="1 0 .3"><freejoint/><geom name="crate" type="box" size=".3 .3 .3"/></body>'
    foot = '<body name="foot"><joint name="toe" axis="0 1 0" range="-60 60"/><geom name="foot" size=".02"/></body>'
    coupling = '<equality><joint joint1="toe" joint2="hip"/></equality>'
    _, task = imported(FLOOR + walker(f"<freejoint/>{foot}") + crate, last=MOTOR + coupling)
    env = batch(replace(task, start="random"), 40)
    crates = env.states[:, 1 + env.model.jnt_qposadr[env.model.body("crate").jntadr[0]] :][:, :7]
    assert np.ptp(crates, axis=0).max() < 0.02
    for joint in ("toe", "hip"):
        assert np.ptp(env.states[:, 1 + env.model.joint(joint).qposadr[0]]) < 0.02


def test_loose_objects_fall_on_the_visual_floor_of_an_arm(batch: MakeBatch) -> None:
    cube = '<body name="cube" pos="1 0 1"><freejoint/><geom name="cube" type="box" size=".05 .05 .05"/></body>'
    model, task = imported(ARM.format(height=0.5, length=-0.7) + cube)
    (floor,) = model.drawn_floor
    assert floor == pytest.approx(0.5 - 0.73, abs=0.05)  # below the hanging arm, so that all of it is visible
    env = batch(task, 2)
    for _ in range(100):
        env.step(np.zeros((2, 1), np.float32))
    height = env.states[:, 1 + env.model.jnt_qposadr[env.model.body("cube").jntadr[0]] + 2]
    assert height == pytest.approx(floor + 0.05, abs=0.01)


@pytest.mark.parametrize(
    ("joint", "seen"),
    [("", False), ('range="-9 9"', True), ('stiffness="3"', True)],
    ids=["endless", "a long rail", "a spring"],
)
def test_the_position_on_a_rail_or_a_spring_is_observed(joint: str, seen: bool) -> None:
    model, task = imported(FLOOR + walker(f'<joint name="rail" type="slide" axis="1 0 0" {joint}/>'))
    assert (0 in model.plain) == seen
    assert not task.camera.fixed
    assert bool(unseen_by_predictors(task, "joint[rail]")) == (not seen)


def test_an_oracle_may_pay_for_the_place_of_a_ball_but_not_for_that_of_a_foot() -> None:
    ball = '<body pos="1 0 .1"><freejoint/><geom name="ball" size=".1"/></body>'
    foot = walker().replace("</body></body>", '<geom name="foot" pos="0 0 -.2" size=".03"/></body></body>')
    _, task = imported(FLOOR + foot + ball)
    assert "for x[foot]," in unseen_by_predictors(task, "x[ball] - x[foot]")
    assert not unseen_by_predictors(task, "x[ball]")


def test_a_robot_of_two_constrained_parts_stands_on_both() -> None:
    foot = '<body name="foot" pos="0 0 .12"><freejoint/><geom name="foot" type="box" size=".1 .1 .12"/></body>'
    _, task = imported(
        FLOOR + walker(height=0.3) + foot, last=MOTOR + '<equality><weld body1="trunk" body2="foot"/></equality>'
    )
    model = load_model(task)
    positions, nothing = np.array([model.qpos0]), np.zeros((1, 1))
    states = StepStates(positions, positions, np.zeros((1, model.nv)), nothing, np.zeros(1), 0.02)
    signals = StepSignals(SignalSource(Kinematics(model)), states)
    assert (signals["contact[foot]"][0], signals["contact[trunk]"][0], signals["airborne"][0]) == (1, 0, 0)


@pytest.mark.parametrize("kind", ["connect", "weld"])
def test_a_robot_of_several_free_bodies_does_not_observe_its_position(kind: str) -> None:
    part = '<body name="{0}" pos="{1} 0 .3"><freejoint/><geom size=".1"/></body>'
    parts = part.format("foot", 0.5) + part.format("ball", 3)
    anchor = ' anchor=".2 0 0"' if kind == "connect" else ""
    tie = f'<equality><{kind} body1="trunk" body2="foot"{anchor}/></equality>'
    _, task = imported(FLOOR + walker() + parts, last=MOTOR + tie)
    model = load_model(task)
    positions, velocities = np.tile(model.qpos0, (3, 1)), np.zeros((3, model.nv))
    trunk, foot, ball = (int(model.jnt_qposadr[model.body(name).jntadr[0]]) for name in ("trunk", "foot", "ball"))
    positions[1, [trunk, trunk + 1, foot, foot + 1]] += 2  # the whole robot moves, then the ball beside it
    positions[2, ball] += 2
    start, moved, rolled = task.observe(positions, velocities)
    assert np.array_equal(start, moved) and not np.array_equal(start, rolled)


def test_the_angle_of_a_hanging_pendulum_is_unwrapped() -> None:
    hanging = """<body name="pole" pos="0 0 2" euler="0 180 0"><joint name="hip" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 .5" size=".02"/></body>"""
    model = load_model(imported(hanging)[1])
    angles = []
    for turned in (0.0, 4.0, 8.0):
        states = StepStates(*[np.array([[turned]])] * 2, np.array([[1.5]]), np.zeros((1, 1)), np.zeros(1), 0.02)
        step = StepSignals(SignalSource(Kinematics(model)), states)
        angles.append(step["pitch"][0])
        assert (step["roll"][0], step["yaw"][0], step["pitch_rate"][0]) == (0, 0, 1.5)
    assert abs(angles[0]) == pytest.approx(np.pi) and np.diff(angles) == pytest.approx([4, 4])


def test_the_speed_of_a_wheel_is_observed(batch: MakeBatch) -> None:
    wheel = '<body name="hub" pos="0 0 1"><joint name="hip" axis="0 1 0"/><geom type="cylinder" size=".2 .05" mass=".1"/></body>'
    _, task = imported(wheel, last=MOTOR.replace("-3 3", "-.06 .06"))
    env = batch(task, 2)
    for _ in range(80):
        step = env.step(np.array([[1.0], [0.5]], np.float32))
    fast, half = step.observations[:, -1]
    assert fast > 1.5 * half > 20


NESTED = """<body name="along"><joint type="slide" axis="1 0 0"/><inertial mass=".1" pos="0 0 0" diaginertia="1 1 1"/>
  <body name="across"><joint name="y" type="slide" axis="0 1 0"/><inertial mass=".1" pos="0 0 0" diaginertia="1 1 1"/>
    <body name="base" pos="0 0 .2"><joint name="hip" axis="0 0 1"/><geom name="base" type="box" size=".2 .1 .05"/></body>
  </body></body>"""


def test_a_base_of_nested_bodies_is_one_body(batch: MakeBatch) -> None:
    both = '<actuator><motor joint="hip" ctrlrange="-.4 .4"/><motor joint="y" ctrlrange="-2 2"/></actuator>'
    model, task = imported(FLOOR + NESTED, last=both)
    assert (model.body, model.fixed, model.plain) == ("base", False, ())  # followed; position not observed
    env = batch(task, 2)
    for _ in range(100):
        env.step(np.ones((2, 2), np.float32))
    source = SignalSource(Kinematics(env.model))
    positions, velocities = env.states[:, 1:4], env.states[:, 4:7]
    states = StepStates(positions, positions, velocities, np.ones((2, 2), np.float32), np.ones(2), 0.02)
    step = StepSignals(source, states)
    assert step["yaw"] == pytest.approx(positions[:, 2]) and (step["yaw"] > 2 * np.pi).all()
    assert step["y"] == pytest.approx(positions[:, 1]) and (step["y"] > 0.5).all()


def test_the_states_of_filtered_actuators_are_observed(batch: MakeBatch) -> None:
    slow = '<actuator><general joint="hip" dyntype="filter" dynprm=".5" ctrlrange="-3 3"/></actuator>'
    _, task = imported(FLOOR + walker(), last=slow)
    env = batch(task, 2)
    for _ in range(20):
        step = env.step(np.array([[1.0], [0.0]], np.float32))
    after = 3 * (1 - np.exp(-20 * task.step_seconds / 0.5))
    assert step.observations.shape[1] == task.sizes[0]
    assert step.observations[:, -1] == pytest.approx([after, 0.0], rel=0.02)
    *_, last = observation_numbers(task, load_model(task))
    assert last == {"name": "activation[hip]", "unit": "1", "source": "act", "index": 0}


@pytest.mark.parametrize("gravity", ["0 -9.81 0", "0 0 9.81", "1 0 -9.81"])
def test_gravity_must_point_down(gravity: str) -> None:
    with pytest.raises(UserError, match="gravity does not point along -z: turn the model"):
        imported(FLOOR + walker(), first=f'<option gravity="{gravity}"/>')


def test_a_servo_of_a_tendon_holds_the_start_and_a_muscle_is_relaxed(batch: MakeBatch) -> None:
    joint = '<tendon><fixed name="grip"><joint joint="hip" coef="2"/></fixed></tendon>'
    servo = '<actuator><position tendon="grip" kp="9" ctrlrange="-3 5"/></actuator>'
    key = '<keyframe><key qpos=".5"/></keyframe>'
    _, task = imported(ARM.format(height=1, length=-0.5), last=joint + servo + key)
    assert batch(task, 1).controls(np.zeros((1, 1), np.float32)) == pytest.approx(1.0)
    limited, free = joint.replace('name="grip"', 'name="grip" range=".1 .5"'), servo.replace(' ctrlrange="-3 5"', "")
    _, task = imported(ARM.format(height=1, length=-0.5), last=limited + free)
    ends = batch(task, 2).controls(np.array([[-1.0], [1.0]], np.float32))
    assert ends.ravel() == pytest.approx([0.1, 0.5])  # the range of the tendon that the servo holds
    with pytest.raises(UserError, match="has no ctrlrange of positive width"):
        imported(ARM.format(height=1, length=-0.5), last=joint + free)
    _, task = imported(FLOOR + walker(), last='<actuator><muscle joint="hip"/></actuator>')
    ends = batch(task, 2).controls(np.array([[-1.0], [1.0]], np.float32))
    assert ends.ravel() == pytest.approx([0, 1])


def test_signals_that_never_change_are_named() -> None:
    _, task = imported(ARM.format(height=1, length=-0.5))
    same = constant_signals(load_model(task))
    assert "airborne" in same and "height" in same and "pitch" not in same and "pitch_rate" not in same
    _, task = imported(FLOOR + walker())
    assert constant_signals(load_model(task)) == []
    assert Kinematics(load_model(task)).floor_height == 0


ARM_ON_A_TABLE = """<body name="foot"><geom name="foot" size=".05"/>
  <body name="upper" pos="0 0 .1"><joint name="hip" axis="0 1 0"/>
    <geom name="upper" type="capsule" fromto="0 0 0 0 0 .3" size=".02"/>
    <body name="lower" pos="0 0 .3"><joint name="elbow" axis="0 1 0"/>
      <geom name="lower" type="capsule" fromto="0 0 0 0 0 .4" size=".02"/></body></body></body>"""


@pytest.mark.slow
def test_random_poses_of_an_arm_are_above_the_floor_without_self_collision(batch: MakeBatch) -> None:
    wall = '<geom name="wall" type="box" size=".05 1 1" pos="-.4 0 1"/>'
    _, task = imported(FLOOR + wall + ARM_ON_A_TABLE)
    env = batch(replace(task, start="random"), 200)
    angles = env.states[:, 1:3]
    assert (np.abs(angles).max(axis=1) > 0.1).mean() > 0.9 and np.ptp(angles, axis=0).min() > 2.5
    assert deepest_contact(env) > -0.011
    for number in range(40):
        env.step(np.random.default_rng(number).uniform(-1, 1, (200, 1)).astype(np.float32))
    assert env.divergences == 0


@pytest.mark.slow
def test_random_poses_of_a_free_robot_have_no_self_collision(batch: MakeBatch) -> None:
    free = ARM_ON_A_TABLE.replace('<body name="foot">', '<body name="foot" pos="0 0 1"><freejoint/>')
    _, task = imported(FLOOR + free)
    env = batch(replace(task, start="random"), 200)
    angles = env.states[:, 8:10]
    assert (np.abs(angles).max(axis=1) > 0.1).mean() > 0.95 and np.ptp(angles, axis=0).min() > 5
    assert deepest_contact(env) > -0.011


@pytest.mark.parametrize("kind", ["connect", "weld"])
def test_the_parts_of_a_linkage_stay_together_in_any_pose(kind: str, batch: MakeBatch) -> None:
    links = """<body name="left" pos="-.1 0 1"><joint name="hip" axis="0 1 0"/>
        <geom name="left" type="capsule" fromto="0 0 0 0 0 .2" size=".02"/>
        <body name="bar" pos="0 0 .2"><joint axis="0 1 0"/>
          <geom name="bar" type="capsule" fromto="0 0 0 .2 0 0" size=".02"/>
          <body name="tip" pos=".2 0 0"><geom size=".02"/>
            <body name="hand"><joint name="wrist" axis="0 1 0"/><geom fromto="0 0 0 .1 0 0" type="capsule" size=".01"/>
        </body></body></body></body>
        <body name="right" pos=".1 0 1"><joint axis="0 1 0"/>
          <geom name="right" type="capsule" fromto="0 0 0 0 0 .2" size=".02"/></body>"""
    anchor = 'anchor="0 0 .2"' if kind == "connect" else ""
    _, task = imported(links, last=MOTOR + f'<equality><{kind} body1="right" body2="tip" {anchor}/></equality>')
    env = batch(replace(task, start="random"), 50)
    spread = np.ptp(env.states[:, 1 : 1 + env.model.nq], axis=0)
    assert spread[:2].max() < 0.1 and spread[2] > 5  # the wrist alone is free


FINGER = """<body name="{0}" pos="{1} 0 .5"><joint name="{0}" axis="0 1 0" range="-60 60"/>
  <geom name="{0}" type="capsule" fromto="0 0 0 0 0 .2" size=".02"/></body>"""
HAND = "".join(FINGER.format(name, place) for name, place in (("hip", -0.5), ("one", 0), ("two", 0.5)))
MOTORS = MOTOR + '<actuator><motor joint="one" ctrlrange="-3 3"/><motor joint="two" ctrlrange="-3 3"/></actuator>'
TENDON = '<tendon><fixed name="t" {}><joint joint="one" coef="1"/><joint joint="two" coef="-1"/></fixed></tendon>'


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("tendon", "drawn", "apart"),
    [
        ("", [True, True, True], (1.5, 2.1)),
        (TENDON.format("") + '<equality><tendon tendon1="t"/></equality>', [True, False, False], (0.0, 0.05)),
        (TENDON.format("") + '<equality><tendon tendon1="t" active="false"/></equality>', [True] * 3, (1.5, 2.1)),
        (TENDON.format('limited="true" range="-.6 .6"'), [True, True, True], (0.3, 0.62)),
    ],
    ids=["free", "coupled", "coupling switched off", "limited"],
)
def test_fingers_take_all_poses_allowed_by_their_tendons(
    tendon: str, drawn: list[bool], apart: tuple[float, float], batch: MakeBatch
) -> None:
    _, task = imported(HAND, last=MOTORS + tendon)
    angles = batch(replace(task, start="random"), 200).states[:, 1:4]
    assert (np.ptp(angles, axis=0) > 1.2).tolist() == drawn
    assert apart[0] <= np.abs(angles[:, 1] - angles[:, 2]).max() <= apart[1]


def test_a_pair_of_geoms_that_the_model_names_is_an_obstacle(batch: MakeBatch) -> None:
    untouched = 'contype="0" conaffinity="0"'
    arm = f"""<geom name="floor" type="plane" size="5 5 .1" {untouched}/><body name="arm" pos="0 0 .2">
      <joint name="hip" axis="0 1 0"/><geom name="arm" type="capsule" fromto="0 0 0 0 0 .6" size=".02" {untouched}/></body>"""
    _, task = imported(arm, last=MOTOR + '<contact><pair geom1="floor" geom2="arm"/></contact>')
    angles = batch(replace(task, start="random"), 200).states[:, 1]
    assert np.ptp(angles) > 2.5 and (0.2 + 0.6 * np.cos(angles)).min() > 0.0


def test_an_integrating_servo_holds_the_starting_pose(batch: MakeBatch) -> None:
    servo = '<actuator><intvelocity joint="hip" kp="50" ctrlrange="-1 1" actrange="-1.57 1.57"/></actuator>'
    _, task = imported(FINGER.format("hip", 0).replace("/>", ' damping="1"/>', 1), last=servo)
    env = batch(replace(task, start="random"), 100)
    before = env.states[:, 1].copy()
    for _ in range(10):
        env.step(np.zeros((100, 1), np.float32))
    assert np.ptp(before) > 1.8 and np.abs(env.states[:, 1] - before).max() < 0.2


def test_a_robot_stays_at_the_place_of_its_mount_in_the_keyframe(batch: MakeBatch) -> None:
    hook = '<body name="hook" mocap="true" pos="0 0 1"><geom size=".02" contype="0" conaffinity="0"/></body>'
    weld = '<equality><weld body1="hook" body2="trunk"/></equality>'
    turned = "0.8 0 0 0.6"
    key = f'<keyframe><key name="home" qpos="1 0 2 {turned} 0" mpos="1 0 2" mquat="{turned}"/></keyframe>'
    _, task = imported(FLOOR + hook + walker(height=1.0), last=MOTOR + weld + key)
    env = batch(task, 1)
    for _ in range(20):
        env.step(np.zeros((1, 1), np.float32))
    assert env.states[0, 1:8] == pytest.approx([1, 0, 2, 0.8, 0, 0, 0.6], abs=0.02)


def test_a_robot_with_its_frame_on_the_floor_starts_above_the_floor_beside_a_wall(batch: MakeBatch) -> None:
    low = (
        walker(height=0.0)
        .replace('size=".2 .1 .05"', 'size=".2 .1 .05" pos="0 0 .3"')
        .replace('pos=".2 0 0"', 'pos=".2 0 .3"')
    )
    _, task = imported(FLOOR + '<geom name="wall" type="box" size=".1 1 1" pos="4 0 1"/>' + low)
    env = batch(task, 40, varied_starts=0.5)
    assert Kinematics(env.model).lowest(env.states[:, 1 : 1 + env.model.nq]).min() > -0.05
