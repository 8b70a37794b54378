"""TODO-DOC."""

from __future__ import annotations

from dataclasses import dataclass

from core.config import Config
from core.envs import make_envs
from core.errors import UserError
from core.seeding import generator
from core.tasks import get_task


@dataclass(frozen=True)
class Spaces:
    """Widths of an observation's and an action's row, and whether the action is a one-hot choice.

    pictures: the task's (core.tasks.base.Task.pictures)
    """

    observations: int
    actions: int
    discrete: bool
    pictures: tuple[int, int, int] | None


def spaces(config: Config) -> Spaces:
    task = get_task(config.task)
    env = make_envs(task, 1, generator(config.seed, "shapes"), threads=1)
    env.close()
    observations, actions, _ = env.sizes
    if task.pictures and not env.discrete:
        raise UserError(f"{task.name} shows pictures and has no actions to choose from: that can't be taught.")
    return Spaces(observations, actions, env.discrete, task.pictures)


def sizes(config: Config) -> tuple[int, int]:
    """Of the task's observations and actions."""
    found = spaces(config)
    return found.observations, found.actions
