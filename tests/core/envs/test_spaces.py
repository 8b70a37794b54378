"""Sizes of tasks, which must equal those of their environments."""

import pytest

from core.config import Config
from core.envs.spaces import require_environment, spaces
from core.tasks import CATALOGUE, behaviours

OTHERS = ["gym:Pendulum-v1", "gym:CartPole-v1"]


@pytest.mark.parametrize("name", [*CATALOGUE, *behaviours(), *OTHERS])
def test_a_task_gives_the_sizes_of_its_environment(name: str) -> None:
    config = Config(task=name)
    assert spaces(config) == require_environment(config)
