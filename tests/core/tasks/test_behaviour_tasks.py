"""Behaviours as tasks of robots and of Gymnasium's environments, shipped ones and a person's own."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.behaviours.behaviour import STARTS
from core.config import Config
from core.errors import UserError
from core.presets import DEFAULT
from core.tasks import CATALOGUE, PAPER_ROBOTS, behaviours, get_task
from core.tasks.base import RobotTask
from core.tasks.behaviour_tasks import task_text, unseen_by_predictors, with_own_rate, without_own_rate
from core.tasks.robots import ROBOTS
from tests.core.robot_toys import MakeBatch, random_steps

REST: dict[str, Any] = {
    "name": "rest",
    "robot": "hopper",
    "title": "Hopper: resting",
    "instruction": "Choose the quieter clip.",
    "clip_seconds": 1.2,
    "plots": [{"title": "Height (m)", "expression": "mean(height)"}],
    "oracle": "height - 0.5 * abs(joint_rate[foot_joint])",
    "measure": {"name": "turns", "expression": "turns(pitch)"},
}


def task_of(**changes: Any) -> Any:
    return get_task(json.dumps({**REST, **changes}))


def test_a_behaviour_is_a_task_of_its_robot(batch: MakeBatch) -> None:
    task = task_of()
    texts = "rest", "hopper", "Hopper: resting", "Choose the quieter clip.", 48, "turns", {"height_m": "Height (m)"}
    assert texts == (
        *(task.name, task.robot, task.title, task.instruction, task.segment_steps, task.measure_name, task.plots),
    )
    assert (
        task.presets == {**DEFAULT, "policy.initial_std": 1.0}
        and task.has_true_reward
        and not task_of(oracle=None).has_true_reward
    )
    env = batch(dataclasses.replace(task, episode_steps=20), 3)
    steps = random_steps(env, 20)
    (total, figures), *_ = steps[-1].finished
    assert total == pytest.approx(sum(float(step.true_rewards[0]) for step in steps), rel=1e-4)
    assert figures.keys() == {"turns", "height_m"} and 0 < figures["height_m"] < 1.5


def test_a_behaviour_may_have_its_own_episodes_and_control_rate(batch: MakeBatch) -> None:
    usual, own = task_of(), task_of(episode_seconds=5, control_rate=40, clip_seconds=0.5)
    assert (own.episode_steps, own.step_seconds, own.segment_steps) == (200, 0.025, 20)
    assert task_of(control_rate=40).episode_steps * 0.025 == usual.episode_steps * usual.step_seconds
    whole = task_of(episode_seconds=2.01, clip_seconds=2.01)  # 80.4 steps
    assert whole.segment_steps == whole.episode_steps == 80
    env = batch(own, 2)
    env.step(np.zeros((2, 3), np.float32))
    assert env.states[:, 0] == pytest.approx(0.025)


def test_the_oracle_sees_the_state_after_the_step(batch: MakeBatch) -> None:
    env = batch(task_of(oracle="height + 10 * joint_rate[foot_joint] + 100 * time + 1000 * action[leg_joint]"), 3)
    action = np.array([[0.1, 0.5, -0.2]] * 3, np.float32)
    env.step(action)
    rewards = env.step(action).true_rewards
    after = env.states[:, 2] + 10 * env.states[:, 12] + 100 * 0.05 + 1000 * 0.5
    assert rewards == pytest.approx(after, rel=1e-6)


def test_without_a_measure_the_first_plot_is_reported() -> None:
    assert task_of(measure=None).measure_name == "height_m"
    assert task_of(measure=None, plots=[], oracle=None).measure_name == "forward_speed"
    assert task_of(measure=None, plots=[]).measure_name == "mean_reward"
    arm = {"measure": None, "plots": [], "robot": "reacher", "start": "standing"}
    assert task_of(**arm, oracle="joint_rate[joint0] > 2").measure_name == "mean_reward"
    assert task_of(**arm, oracle=None).measure_name == "forward_speed"
    assert task_of(**arm, oracle=" + ".join(["height[fingertip]"] * 25)).measure_name == "forward_speed"
    assert task_of(**arm, oracle="-" * 198 + "height").measure_name == "forward_speed"


def test_a_plot_of_the_measure_is_reported_once() -> None:
    plots = [{"title": "Turns", "expression": "turns(pitch)"}, *REST["plots"]]
    assert task_of(plots=plots).plots == {"height_m": "Height (m)"}


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", behaviours())
def test_shipped_behaviours_can_be_taught_and_measured(name: str, batch: MakeBatch) -> None:
    task = behaviours()[name]
    assert isinstance(task, RobotTask) and task.behaviour and task.behaviour.oracle and task.behaviour.measure
    assert task is get_task(name) and name not in CATALOGUE and name.startswith(f"{task.robot}-")
    steps = random_steps(batch(dataclasses.replace(task, episode_steps=30), 4), 30)
    rewards = np.concatenate([step.true_rewards for step in steps])
    assert np.isfinite(rewards).all() and rewards.std() > 0.01 and np.abs(rewards).max() < 10
    figures = [figures for _, figures in steps[-1].finished]
    assert len(figures) == 4 and all(np.isfinite(list(one.values())).all() for one in figures)
    assert figures[0].keys() == {task.measure_name, *task.plots}


def test_every_robot_has_a_shipped_behaviour() -> None:
    assert {task.robot for task in behaviours().values() if isinstance(task, RobotTask)} == set(ROBOTS)


@pytest.mark.parametrize("name", [*PAPER_ROBOTS, "half-cheetah-one-leg"])
def test_the_papers_tasks_are_files_too(name: str) -> None:
    task = get_task(name)
    assert isinstance(task, RobotTask) and task.behaviour and task is CATALOGUE[name] and name not in behaviours()
    assert (task.robot, task.segment_seconds) == (name.removesuffix("-one-leg"), pytest.approx(1.5))
    assert get_task(task.behaviour.to_text()).measure_title == task.measure_title


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"robot": "hoper"}, "There is no robot 'hoper': did you mean hopper?"),
        ({"robot": "Hopper"}, "did you mean hopper?"),
        ({"robot": "humanoid"}, "ant, mjcf:FILE, gym:ENV_ID."),
        ({"robot": "rover.xml"}, "write mjcf:rover.xml."),
        ({"robot": "MJCF:rover.xml"}, "write mjcf:rover.xml."),
        ({"model": {}}, "model"),
        ({"oracle": "2 + 1"}, "The oracle gives the same reward at every step"),
        ({"robot": "mjcf"}, "did you mean mjcf:FILE?"),
        ({"robot": "mjcf robots/arm.xml"}, "write mjcf:robots/arm.xml."),
        ({"robot": "mjcf/arm.xml"}, "write mjcf:mjcf/arm.xml."),
        ({"clip_seconds": 9}, "an episode of hopper lasts 8"),
        ({"oracle": "height[knee]"}, "oracle, column 8: there is no height of knee: choose one of torso_geom"),
        ({"measure": {"name": "a", "expression": "height"}}, "measure, column 1: height has a value at each step"),
        ({"plots": [{"title": "Up", "expression": "mean(upp)"}]}, "plot 'Up', column 6: there is no signal upp"),
        (
            {"robot": "swimmer", "start": "lying", "oracle": None, "plots": []},
            "swimmer does not stand freely on a floor, or can't be turned over: make start standing",
        ),
        ({"control_rate": 70}, "whole number of physics steps (200 per second): give 66.6666"),
        ({"robot": "gym:CartPole-v1"}, "gym:CartPole-v1 has no signals, so the behaviour can't have an oracle"),
    ],
)
def test_a_behaviour_that_does_not_fit_the_robot_is_one_sentence(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(UserError) as refused:
        task_of(**changes)
    assert expected in str(refused.value) and "\n" not in str(refused.value)
    Path("mine.json").write_text(json.dumps({**REST, **changes}))
    with pytest.raises(UserError, match=r"mine\.json is invalid: "):
        task_text("mine.json")


@pytest.mark.parametrize(("rate", "near"), [(40, "33.33333333 or 50"), (90, "100 or 50"), (200, "100 or 50")])
def test_every_suggested_control_rate_is_accepted(rate: float, near: str) -> None:
    with pytest.raises(UserError, match=rf"give {near}\.$"):
        task_of(robot="ant", control_rate=rate, oracle=None, plots=[], measure=None)
    for named in near.split(" or "):
        task = task_of(robot="ant", control_rate=float(named), oracle=None, plots=[], measure=None)
        assert task.step_seconds == pytest.approx(1 / float(named))


def test_a_behaviour_of_a_gymnasium_environment_has_its_own_title_and_clip_length() -> None:
    task = task_of(robot="gym:CartPole-v1", oracle=None, measure=None, plots=[], start=STARTS[0])
    assert (task.name, task.title, task.segment_steps, task.has_true_reward) == ("rest", "Hopper: resting", 24, True)
    assert get_task("gym:CartPole-v1").title == "CartPole-v1"


@pytest.mark.parametrize(
    ("name", "seconds", "clip", "episode"),
    [("", 1 / 20, 30, 300), ("@50", 1 / 50, 50, 500), ("@125", 1 / 125, 125, 1250), ("@4", 1 / 4, 30, 300)],
)
def test_a_gymnasium_environment_has_steps_of_its_rate(name: str, seconds: float, clip: int, episode: int) -> None:
    task = get_task(f"gym:CartPole-v1{name}")
    assert (task.name, task.title) == (f"gym:CartPole-v1{name}", "CartPole-v1")
    assert (task.step_seconds, task.segment_steps, task.episode_steps) == (seconds, clip, episode)


@pytest.mark.parametrize("rate", ["", "fast", "0", "126", "nan", "1e400", "5@5"])
def test_a_wrong_rate_is_one_sentence(rate: str) -> None:
    with pytest.raises(
        UserError, match=r"has no rate that can be used: after @, write the steps per second, 1 to 125\.$"
    ):
        get_task(f"gym:CartPole-v1@{rate}")


def test_a_task_has_the_rate_of_its_environment_unless_it_sets_one() -> None:
    asked: list[str] = []

    def own(env_id: str) -> float:
        asked.append(env_id)
        return 62.5

    assert with_own_rate("gym:CartPole-v1", own) == "gym:CartPole-v1@62.5"
    values = {**REST, "robot": "gym:Ant-v5", "oracle": None, "measure": None, "plots": []}
    timed = with_own_rate(json.dumps(values), own)
    assert asked == ["CartPole-v1", "Ant-v5"]
    assert (get_task(timed).name, get_task(timed).step_seconds, get_task(timed).segment_steps) == ("rest", 1 / 62.5, 75)
    for other in ("hopper", "gym:CartPole-v1@20", timed, json.dumps(REST)):
        assert with_own_rate(other, own) == other
    assert len(asked) == 2
    assert without_own_rate("gym:CartPole-v1@62.5") == without_own_rate("gym:CartPole-v1") == "gym:CartPole-v1"
    assert get_task(without_own_rate(timed)).step_seconds == 1 / 20 and without_own_rate("hopper") == "hopper"


def test_a_config_keeps_the_text_of_a_file() -> None:
    Path("mine.json").write_text(json.dumps(REST, indent=4))
    kept = Config.from_dict(json.loads(json.dumps(Config(task=task_text("mine.json")).to_dict()))).task
    Path("mine.json").unlink()
    assert json.loads(kept) == REST and get_task(kept) is get_task(kept)
    assert get_task(kept).title == "Hopper: resting" and task_text("hopper") == "hopper"
    with pytest.raises(UserError, match="rest has no true reward 'openai'"):
        get_task(kept, "openai")


@pytest.mark.parametrize("named", ["arm/arm.xml", "MJCF:arm/arm.xml"])
def test_an_mjcf_file_in_place_of_a_task_is_answered_with_the_right_syntax(named: str) -> None:
    with pytest.raises(UserError, match=r"if it is an MJCF file, write mjcf:arm/arm\.xml\.$"):
        get_task(named)


@pytest.mark.parametrize(
    ("robot", "oracle", "unseen"),
    [
        ("hopper", "up - x * time", "time and x"),
        ("hopper", "up + y", "y"),
        ("hopper", "x[foot_geom] - x", ""),  # how far the foot is in front
        ("walker", "-abs(x[foot_geom] - 2)", "x[foot_geom]"),
        ("walker", "x[foot_geom] - x[foot_left_geom]", ""),
        ("walker", "abs(joint[rootx] - 3)", "joint[rootx]"),
        ("walker", "joint[rootz] + joint_rate[rootx]", ""),
        ("swimmer", "joint[slider2] * y[mid]", "joint[slider2] and y[mid]"),
        ("reacher", "-abs(x[fingertip])", ""),
        ("hopper", "action[foot_joint]", "action[foot_joint]"),
        ("pendulum", "-abs(x)", ""),  # it can't move away, and sees where it is
        ("hopper", "height + forward_speed - abs(joint[foot_joint])", ""),
    ],
)
def test_a_warning_is_given_for_an_oracle_of_unobserved_quantities(robot: str, oracle: str, unseen: str) -> None:
    warning = unseen_by_predictors(ROBOTS[robot], oracle, "Let them see actions.")
    assert f"a reward for {unseen}, which they do not see." in warning if unseen else warning == ""
    assert warning.endswith(" Let them see actions.") == ("action" in unseen)
    assert "action" not in unseen_by_predictors(ROBOTS[robot], oracle, see_actions=True)


@pytest.mark.parametrize("name", [*PAPER_ROBOTS, "half-cheetah-one-leg", *behaviours()])
def test_shipped_oracles_use_only_observed_quantities(name: str) -> None:
    task = get_task(name)
    assert isinstance(task, RobotTask) and task.behaviour
    assert not unseen_by_predictors(task, task.behaviour.oracle or "0")
