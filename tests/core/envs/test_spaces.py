"""Sizes of tasks, which must equal those of their environments."""

import pytest

from core.config import Config, replaced
from core.envs.spaces import require_environment, spaces
from core.errors import UserError
from core.tasks import CATALOGUE, behaviours

OTHERS = ["gym:Pendulum-v1", "gym:CartPole-v1"]


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", [*CATALOGUE, *behaviours(), *OTHERS])
def test_a_task_gives_the_sizes_of_its_environment(name: str) -> None:
    config = Config(task=name)
    assert spaces(config) == require_environment(config)


@pytest.mark.parametrize("name", ["pong", "gym:CartPole-v1"])
def test_discrete_actions_are_refused_by_sac(name: str) -> None:
    with pytest.raises(UserError, match="discrete actions, between which SAC can't choose"):
        spaces(replaced(Config(task=name), policy__algorithm="sac"))
