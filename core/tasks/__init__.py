"""Catalogue of tasks: one entry each, behaviours by name or as the text of a file, and Gymnasium environments by ID."""

import dataclasses
import functools

from core.behaviours.robot_model import MJCF_PREFIX
from core.behaviours.shipped import shipped_behaviours
from core.errors import UserError
from core.input_checks import nearest
from core.tasks.atari import GAMES
from core.tasks.base import RobotTask, Task
from core.tasks.behaviour_tasks import behaviour_task, behaviour_text_task, is_behaviour_text
from core.tasks.gymnasium import GYM_PREFIX, gym_task
from core.tasks.hopper_backflip import HOPPER_BACKFLIP

PAPER_ROBOTS = ("reacher", "pendulum", "double-pendulum", "swimmer", "half-cheetah", "hopper", "walker", "ant")
"""The eight tasks of figure 2."""

PAPER_GAMES = ("beam-rider", "breakout", "enduro", "pong", "qbert", "seaquest", "space-invaders")
"""The seven tasks of figure 3."""

CATALOGUE: dict[str, Task] = {
    task.name: task
    for task in (
        HOPPER_BACKFLIP,
        *(behaviour_task(shipped_behaviours()[name]) for name in ("half-cheetah-one-leg", *PAPER_ROBOTS)),
        *GAMES,
    )
}
"""The paper's tasks, by name."""


def get_task(name: str, true_reward: str = "task") -> Task:
    """Return the task with this name. Raises UserError, with advice, if there is none.

    name: name in the catalogue or of a behaviour that ships, gym:ENV_ID, or the text of a behaviour file
    true_reward: 'task' for the task's own, or the name of another one; UserError if the task does not have it
    """
    if name.startswith(GYM_PREFIX):
        task: Task = gym_task(name)
    elif is_behaviour_text(name):
        task = behaviour_text_task(name)
    elif name in CATALOGUE:
        task = CATALOGUE[name]
    elif name in behaviours():
        task = behaviours()[name]
    elif name.endswith(".xml"):
        path = name[len(MJCF_PREFIX) :] if name.lower().startswith(MJCF_PREFIX) else name
        raise UserError(f"There is no task {name!r:.80}: if it is an MJCF file, write {MJCF_PREFIX}{path:.80}.")
    else:
        names = (*CATALOGUE, *behaviours())
        near, others = nearest(name, names), "a behaviour file (.json), mjcf:FILE or gym:ENV_ID."
        advice = f"did you mean {near}? Else name {others}" if near else f"choose one of {', '.join(names)}, {others}"
        raise UserError(f"There is no task {name!r:.80}: {advice}")
    if true_reward == "task":
        return task
    if not isinstance(task, RobotTask) or true_reward not in task.other_rewards:
        raise UserError(f"{task.name} has no true reward {true_reward!r}: leave true_reward at 'task'.")
    return dataclasses.replace(task, true_reward=task.other_rewards[true_reward])


@functools.cache
def behaviours() -> dict[str, Task]:
    """Return the behaviours that ship, by name, except those of the paper, which are in CATALOGUE."""
    own = {name: behaviour for name, behaviour in shipped_behaviours().items() if name not in CATALOGUE}
    return {name: behaviour_task(behaviour) for name, behaviour in own.items()}
