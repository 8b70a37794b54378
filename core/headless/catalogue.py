"""Output of the commands `tasks`, `behaviours` and `robots` as JSON values."""

from collections.abc import Iterable
from typing import Any

from core.behaviours.behaviour import Behaviour
from core.tasks import CATALOGUE, behaviours
from core.tasks.base import RobotTask
from core.tasks.robots import ROBOTS

_TASK_FIELDS = ("name", "title", "instruction", "segment_steps", "segment_seconds", "episode_steps")


def task_entries() -> list[dict[str, Any]]:
    return [
        {
            **{name: getattr(task, name) for name in _TASK_FIELDS},
            "true_reward": task.has_true_reward,
            "measure": task.measure_name,
        }
        for task in CATALOGUE.values()
    ]


def behaviour_entries() -> list[dict[str, Any]]:
    """Return the robots' behaviours with the fields of a behaviour file; None for an oracle or figure defined in code."""
    robots = [task for task in (*CATALOGUE.values(), *behaviours().values()) if isinstance(task, RobotTask)]
    return [{**_behaviour_of(task), "true_reward": task.has_true_reward} for task in robots]


def _behaviour_of(task: RobotTask) -> dict[str, Any]:
    if task.behaviour:
        return task.behaviour.to_dict()
    words = Behaviour(task.name, task.robot, task.title, task.instruction, task.segment_seconds, task.start)
    return {**words.to_dict(), "measure": {"name": task.measure_name, "expression": None}}


def robot_entries(robots: Iterable[RobotTask] = ROBOTS.values()) -> list[dict[str, Any]]:
    """Return the robots with their signals, the constant ones among them, and the names of joints, actuators and geoms."""
    return [
        {
            "name": robot.name,
            "title": robot.title,
            "step_seconds": robot.step_seconds,
            "episode_seconds": robot.episode_steps * robot.step_seconds,
            "starts": list(robot.starts),
            "signals": robot.names.all(),
            "constant": _constant(robot),
            "joints": list(robot.names.joints),
            "actions": list(robot.names.actions),
            "geoms": list(robot.names.geoms),
        }
        for robot in robots
    ]


def _constant(robot: RobotTask) -> list[str]:
    from core.robots.models import load_model  # imported here: other commands do not need MuJoCo
    from core.robots.signals import constant_signals

    return constant_signals(load_model(robot))
