"""Sizes of a task's observations and actions."""

from dataclasses import dataclass

from core.config import Config
from core.envs import make_envs
from core.errors import UserError
from core.seeding import generator
from core.tasks import get_task


@dataclass(frozen=True)
class Spaces:
    """Widths of an observation row and an action row. Discrete actions are one-hot.

    pictures: shape of a stack of pictures, or None (see core.tasks.base.Task.pictures)
    """

    observations: int
    actions: int
    discrete: bool
    pictures: tuple[int, int, int] | None


def spaces(config: Config) -> Spaces:
    """Return the task's spaces. If the task does not know them, its environment is made (see `require_environment`)."""
    task = get_task(config.task)
    if task.sizes is None:
        return require_environment(config)
    return _require_fitting_actions(config, Spaces(*task.sizes, task.pictures is not None, task.pictures))


def require_environment(config: Config) -> Spaces:
    """Make the task's environment and return its spaces.

    Raises UserError if it can't be made, or if the optimizer can't choose its actions.
    """
    task = get_task(config.task, config.true_reward)
    env = make_envs(task, 1, generator(config.seed, "shapes"), threads=1)
    env.close()
    observations, actions, _ = env.sizes
    return _require_fitting_actions(config, Spaces(observations, actions, env.discrete, task.pictures))


def _require_fitting_actions(config: Config, space: Spaces) -> Spaces:
    if space.discrete and config.policy.algorithm == "sac":
        name = get_task(config.task).name
        raise UserError(f"{name} has discrete actions, between which SAC can't choose: set policy.algorithm=ppo.")
    return space
