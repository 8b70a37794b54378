"""Starts of robots: in the air, lying or thrown, and never below the floor."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from core.behaviours.behaviour import STARTS
from core.errors import UserError
from core.robots.importing import import_robot
from core.robots.kinematics import Kinematics, Poses
from core.robots.structure import HINGE
from core.tasks import get_task
from core.tasks.base import RobotTask
from core.tasks.behaviour_tasks import task_text
from core.tasks.robots import ROBOTS
from tests.core.robot_toys import MakeBatch

FLOOR_ROBOTS = [name for name, robot in ROBOTS.items() if robot.floor_sense]


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", FLOOR_ROBOTS)
@pytest.mark.parametrize("start", STARTS[1:])
def test_a_robot_starts_as_asked_and_never_below_the_floor(name: str, start: str, batch: MakeBatch) -> None:
    env = batch(dataclasses.replace(ROBOTS[name], start=start), 400)
    kinematics, positions = Kinematics(env.model), env.states[:, 1 : 1 + env.model.nq]
    lowest, up = kinematics.lowest(positions), Poses(kinematics, positions).body(kinematics.root, 2)[1][:, 2]
    moved = (np.abs(up - 1) > 0.03) | (lowest > 0.25)
    assert lowest[moved].min() >= -1e-9
    if start == "random":
        limited = env.model.jnt_limited.astype(bool)
        joints, (low, high) = positions[:, env.model.jnt_qposadr[limited]], env.model.jnt_range[limited].T
        assert (low <= joints).all() and (joints <= high).all()
        assert (np.ptp(joints, axis=0) > 0.95 * (high - low)).all() and up.min() < -0.95 and up.max() > 0.95
    if start == "lying":
        level = name in ("half-cheetah", "ant")  # these lie on their backs, the others on their fronts or backs
        assert np.abs(up + level).max() < 0.25 and lowest.max() <= 0.02 + 1e-9
        assert level or np.ptp(np.sin(positions[:, 2])) > 1.9
    if start == "tilted":
        assert up.min() == pytest.approx(np.cos(0.8), abs=0.15) and up.max() > 0.98 and lowest.max() <= 0.02 + 1e-9
    if start == "air":
        assert (lowest.min(), lowest.max()) == pytest.approx((0.3, 1.0), abs=0.02)
        assert up.min() < -0.95 and up.max() > 0.95
    if start == "mixed":
        assert (lowest > 0.25).mean() == pytest.approx(
            0.5 if name == "ant" else 0.25, abs=0.08
        )  # the Ant's own start is a drop
        assert 0.3 < (np.abs(up) > 0.95).mean() < 0.8


@pytest.mark.slow_after_first
@pytest.mark.parametrize("start", ["lying", "tilted", "mixed"])
def test_no_robot_is_thrown_up_from_the_floor_by_its_joints(start: str, batch: MakeBatch) -> None:
    """The usual start of the Ant, a drop, has its ankles beyond their limits."""
    env = batch(dataclasses.replace(ROBOTS["ant"], start=start), 60)
    before, highest = env.states[:, 3].copy(), env.states[:, 3].copy()
    for _ in range(40):
        env.step(np.zeros((60, 8), np.float32))
        highest = np.maximum(highest, env.states[:, 3])
    assert (highest - before).max() < 0.3


def test_a_humanoid_lies_level_and_on_every_side(batch: MakeBatch) -> None:
    path = Path(gymnasium.__file__).parent / "envs/mujoco/assets/humanoid.xml"
    humanoid = get_task(task_text(f"mjcf:{path}", import_robot))
    assert isinstance(humanoid, RobotTask)
    env = batch(dataclasses.replace(humanoid, start="lying"), 200)
    kinematics, positions = Kinematics(env.model), env.states[:, 1 : 1 + env.model.nq]
    turned = Poses(kinematics, positions).body(kinematics.root, 2)[1]
    front, _, up = turned.T
    assert np.abs(up).max() < 0.25 and kinematics.lowest(positions).max() <= 0.02 + 1e-9
    assert front.min() < -0.9 and front.max() > 0.9


def test_a_small_robot_starts_less_high_in_the_air(batch: MakeBatch) -> None:
    env = batch(dataclasses.replace(ROBOTS["ant"], start="air", start_scale=0.25), 400)
    lowest = Kinematics(env.model).lowest(env.states[:, 1 : 1 + env.model.nq])
    assert (lowest.min(), lowest.max()) == pytest.approx((0.075, 0.25), abs=0.01)


def test_later_episodes_start_as_requested_too(batch: MakeBatch) -> None:
    env = batch(dataclasses.replace(ROBOTS["hopper"], start="air", episode_steps=3), 8)
    for _ in range(3):
        env.step(np.zeros((8, 3), np.float32))
    assert Kinematics(env.model).lowest(env.states[:, 1:7]).min() >= 0.3 - 1e-9


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", FLOOR_ROBOTS)
def test_a_share_of_robots_starts_in_any_way_and_is_left_out_of_the_figures(name: str, batch: MakeBatch) -> None:
    task = dataclasses.replace(ROBOTS[name], episode_steps=5)
    env, usual = batch(task, 200, varied_starts=0.25), batch(task, 800)
    kinematics, nq = Kinematics(env.model), env.model.nq
    highest = kinematics.lowest(usual.states[:, 1 : 1 + nq]).max()
    for _ in range(2):  # later episodes as well
        lowest = kinematics.lowest(env.states[:, 1 : 1 + nq])
        assert lowest[:150].max() < highest + 0.05 < lowest[150:].max()
        speeds = np.abs(env.states[:, 1 + nq :]).max(axis=1)
        assert (speeds[150:] > 1).mean() > 0.1 and speeds[150:].max() <= 9
        steps = [env.step(np.zeros((200, env.sizes[1]), np.float32)) for _ in range(5)]
        assert [len(step.finished) for step in steps] == [0] * 4 + [150]
        assert steps[-1].ended.all() and steps[-1].finished_rows.tolist() == list(range(150))
    env.varies_starts = False
    for _ in range(10):
        step = env.step(np.zeros((200, env.sizes[1]), np.float32))
    assert len(step.finished) == 200
    assert kinematics.lowest(env.states[:, 1 : 1 + nq]).max() < highest + 0.05


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", [name for name in ROBOTS if name not in FLOOR_ROBOTS])
def test_a_robot_without_a_floor_starts_in_any_pose(name: str, batch: MakeBatch) -> None:
    usual, env = batch(ROBOTS[name], 400), batch(dataclasses.replace(ROBOTS[name], start="random"), 400)
    model, positions = env.model, env.states[:, 1 : 1 + env.model.nq]
    limited = model.jnt_limited.astype(bool)
    own = model.body_treeid[model.jnt_bodyid] == 0
    low, high = np.where(limited[:, None], model.jnt_range, [-np.pi, np.pi]).T
    drawn = own & (limited | (model.jnt_type == HINGE))
    assert drawn.any() and (low <= positions)[:, drawn].all() and (positions <= high)[:, drawn].all()
    assert (np.ptp(positions, axis=0) > 0.95 * (high - low))[drawn].all()
    others = np.abs(positions - usual.states[:, 1 : 1 + model.nq])[:, ~drawn]
    assert others.max(initial=0) < 0.5  # positions of the Swimmer and of the Reacher's target are as usual
    for kind in ("lying", "air"):
        with pytest.raises(UserError, match="set start to standing or random"):
            batch(dataclasses.replace(ROBOTS[name], start=kind), 2)
